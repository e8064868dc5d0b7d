"""Statistics of many scored rows in Parquet files: time and memory, compared with Polars.

Each step runs in a process of its own, with two threads, so that its peak of memory is its
own. The table is compared with a plain mean of the scores by month on the same files, and
statistics of items with ``predict_proba`` of the classifiers of the same five folds.

    python benchmarks/large_data.py --rows 100000000 --folder /tmp/large
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

FILES, MONTHS, FEATURES = 20, 120, 20


def make(folder: Path, rows: int) -> None:
    import polars as pl

    months = [f"{2015 + m // 12}-{m % 12 + 1:02}" for m in range(MONTHS)]
    each = rows // FILES
    for number in range(FILES):
        rng = np.random.default_rng(number)
        share = rng.uniform(0.05, 0.6)
        yes = rng.random(each) < share
        score = 1 / (1 + np.exp(1 - 1.5 * rng.normal(1.5 * yes, size=each)))
        month = pl.Series(months)[rng.integers(MONTHS, size=each)]
        pl.DataFrame({"yes": score, "month": month}).write_parquet(
            folder / f"part-{number:02}.parquet"
        )


def training() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(99)
    yes = rng.random(4000) < 0.4
    return 1 / (1 + np.exp(1 - 1.5 * rng.normal(1.5 * yes, size=4000))), yes


def step_polars(folder: Path) -> dict:
    import polars as pl

    lazy = pl.scan_parquet(folder / "part-*.parquet")
    start, busy = time.perf_counter(), time.process_time()
    lazy.group_by("month").agg(pl.col("yes").mean()).collect(engine="streaming")
    return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - busy}


def step_statistics(folder: Path) -> dict:
    import polars as pl

    import headcount as hc

    scores, y = training()
    q = hc.AutoQuantifier(random_state=0).fit(
        hc.Scored(scores, ["no", "yes"]), np.where(y, "yes", "no")
    )
    hc.Statistics(q).update(hc.Scored([0.2, 0.9], ["no", "yes"]), ["a", "b"])  # compiles
    source = pl.scan_parquet(folder / "part-*.parquet").select("yes", "month")
    start, busy = time.perf_counter(), time.process_time()
    statistics = hc.Statistics(q).update_stream(source, by="month")
    read, busy = time.perf_counter(), time.process_time() - busy
    intervals = [each.interval() for each in q.estimate_statistics(statistics).values()]
    assert len(intervals) == MONTHS
    return {
        "seconds": read - start,
        "cpu": busy,
        "solve": time.perf_counter() - read,
        "rows": statistics.n,
        "bytes per group": len(statistics.to_bytes()) / MONTHS,
    }


def step_summarise(folder: Path) -> dict:
    """As ``headcount statistics make`` does, with what a report shows besides the estimates."""
    import polars as pl

    import headcount as hc
    from headcount.tables.from_tables import summarise

    scores, y = training()
    labelled = pl.DataFrame({"yes": scores, "label": np.where(y, "yes", "no")})
    few = pl.read_parquet(folder / "part-00.parquet", n_rows=1000)
    model = hc.analyse(few, scores=labelled, target="label").model
    summarise(few, model=model, by="month")  # compiles
    start, busy = time.perf_counter(), time.process_time()
    found = summarise(str(folder / "part-*.parquet"), model=model, by="month")
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - busy,
        "rows": found.n,
    }


def step_items(folder: Path, *, features: int, rows: int = 1_000_000) -> dict:
    """Processor seconds of scoring by the classifiers of five folds, and of statistics."""
    import headcount as hc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, features))
    y = (X[:, :4].sum(axis=1) + rng.normal(size=4000) > 0).astype(int)
    q = hc.AutoQuantifier(random_state=0).fit(X, y)
    scorer = q.members_[0].fitted_.scorer
    statistics, months = hc.Statistics(q), np.arange(200_000) % MONTHS
    statistics.update(X[:1000], months[:1000])
    totals = {"predict_proba": 0.0, "scoring": 0.0, "cpu": 0.0}
    for _ in range(rows // len(months)):
        new = rng.normal(size=(len(months), features))
        start = time.process_time()
        for classifier in scorer.fold_classifiers_:
            classifier.predict_proba(new)
        called = time.process_time()
        scorer.fold_posteriors(new)
        scored = time.process_time()
        statistics.update(new, months)
        done = time.process_time()
        for name, seconds in zip(
            totals, (called - start, scored - called, done - scored), strict=True
        ):
            totals[name] += seconds
    return {**totals, "rows": rows, "ratio": totals["cpu"] / totals["predict_proba"]}


def step_item_files(folder: Path, *, features: int, rows: int = 2_000_000) -> dict:
    """The same with items in Parquet files, which both read in batches: scoring, statistics."""
    import polars as pl

    import headcount as hc

    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(features)]
    X = rng.normal(size=(4000, features))
    y = (X[:, :4].sum(axis=1) + rng.normal(size=4000) > 0).astype(int)
    q = hc.AutoQuantifier(random_state=0).fit(X, y)
    months = rng.integers(MONTHS, size=rows // 10)
    for number in range(10):
        values = rng.normal(size=(len(months), features))
        frame = pl.DataFrame(values, schema=names).with_columns(month=pl.Series(months))
        frame.write_parquet(folder / f"items-{number}.parquet")
    source = pl.scan_parquet(folder / "items-*.parquet")
    hc.Statistics(q).update_stream(source.head(1000).collect(), by="month")  # compiles
    start = time.process_time()
    for batch in source.collect_batches(chunk_size=250_000, engine="streaming"):
        new = batch.select(names).to_numpy()
        for classifier in q.members_[0].fitted_.scorer.fold_classifiers_:
            classifier.predict_proba(new)
    scored = time.process_time()
    statistics = hc.Statistics(q).update_stream(source, by="month")
    done = time.process_time()
    assert statistics.n == rows
    totals = {"scoring": scored - start, "cpu": done - scored}
    return {**totals, "rows": rows, "ratio": totals["cpu"] / totals["scoring"]}


def step_groups(folder: Path, *, groups: int = 1_000_000) -> dict:
    """As many groups as a shop has customers, with three items each."""
    import headcount as hc

    scores, y = training()
    q = hc.SLD().fit(hc.Scored(scores), y)
    rng = np.random.default_rng(0)
    statistics = hc.Statistics(q)
    statistics.update(hc.Scored(scores[:3]), [0, 0, 1])
    busy = time.process_time()
    for _ in range(3):
        statistics.update(hc.Scored(rng.choice(scores, groups)), rng.permutation(groups))
    read = time.process_time()
    n_bytes = len(statistics.to_bytes())
    written = time.process_time()
    estimates = q.estimate_statistics(statistics)
    solved = time.process_time()
    assert len(estimates) == groups
    assert estimates[7].n_items == 3
    return {
        "cpu": read - busy,
        "write": written - read,
        "solve": solved - written,
        "rows": statistics.n,
        "bytes per group": n_bytes / groups,
    }


STEPS = {
    "polars": step_polars,
    "statistics": step_statistics,
    "summarise": step_summarise,
    "items-20": lambda folder: step_items(folder, features=20),
    "items-100": lambda folder: step_items(folder, features=100),
    "item-files-20": lambda folder: step_item_files(folder, features=20),
    "item-files-100": lambda folder: step_item_files(folder, features=100),
    "groups": step_groups,
}


def run_step(name: str, folder: Path) -> dict:
    environment = {
        **os.environ, "POLARS_MAX_THREADS": "2", "HEADCOUNT_NUM_THREADS": "2",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/headcount-large"))
    parser.add_argument("--step", choices=list(STEPS))
    parser.add_argument("--only", choices=list(STEPS), nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    if given.step:
        found = STEPS[given.step](given.folder)
        found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    try:
        make(given.folder, given.rows)
        for turn in range(given.repeat):
            for name in given.only or STEPS:
                found = run_step(name, given.folder)
                shown = ", ".join(f"{key} {value:,.2f}" for key, value in found.items())
                print(f"{turn} {name}: {shown}", flush=True)
    finally:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
