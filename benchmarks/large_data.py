"""Statistics of many scored rows in Parquet files: time and memory, compared with Polars.

Each step runs in a process of its own, with two threads, so that its peak of memory is its
own. The table is compared with a plain mean of the scores by month on the same files.

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


def step_statistics(folder: Path, *, reader: str = "polars") -> dict:
    import polars as pl

    import headcount as hc

    scores, y = training()
    q = hc.AutoQuantifier(random_state=0).fit(
        hc.Scored(scores, ["no", "yes"]), np.where(y, "yes", "no")
    )
    hc.Statistics(q).update(hc.Scored([0.2, 0.9], ["no", "yes"]), ["a", "b"])  # compiles
    if reader == "polars":
        source = pl.scan_parquet(folder / "part-*.parquet").select("yes", "month")
    else:
        from pyarrow import dataset

        files = dataset.dataset(sorted(map(str, folder.glob("part-*.parquet"))))
        source = files.scanner(columns=["yes", "month"], batch_size=1 << 20).to_batches()
    start, busy = time.perf_counter(), time.process_time()
    statistics = hc.Statistics(q).update_stream(source, by="month")
    read, busy = time.perf_counter(), time.process_time() - busy
    estimates = q.estimate_statistics(statistics)
    assert len(estimates) == MONTHS
    done = time.perf_counter()
    return {
        "seconds": read - start,
        "cpu": busy,
        "solve": done - read,
        "rows": statistics.n,
        "bytes per group": len(statistics.to_bytes()) / MONTHS,
    }


def items(rows: int) -> tuple:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, FEATURES))
    y = (X[:, :4].sum(axis=1) + rng.normal(size=4000) > 0).astype(int)
    return X, y, rng.normal(size=(rows, FEATURES))


def step_items(folder: Path, *, rows: int = 2_000_000) -> dict:
    import headcount as hc
    from headcount.scores import ScoredPool

    X, y, new = items(rows)
    q = hc.AutoQuantifier(random_state=0).fit(X, y)
    statistics, months = hc.Statistics(q), np.arange(rows) % MONTHS
    statistics.update(new[:1000], months[:1000])
    parts = np.array_split(np.arange(rows), max(1, rows // 200_000))
    start, busy = time.perf_counter(), time.process_time()
    for part in parts:
        pool = ScoredPool(new[part])
        for member in q.members_:
            member.items_of(pool, by_folds=True)
    scored, busy_scored = time.perf_counter(), time.process_time()
    for part in parts:
        statistics.update(new[part], months[part])
    return {
        "scoring alone": scored - start,
        "scoring alone, cpu": busy_scored - busy,
        "seconds": time.perf_counter() - scored,
        "cpu": time.process_time() - busy_scored,
        "rows": rows,
    }


STEPS = {
    "polars": step_polars,
    "statistics": step_statistics,
    "statistics-pyarrow": lambda folder: step_statistics(folder, reader="pyarrow"),
    "items": step_items,
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
            for name in STEPS:
                found = run_step(name, given.folder)
                shown = ", ".join(f"{key} {value:,.2f}" for key, value in found.items())
                print(f"{turn} {name}: {shown}", flush=True)
    finally:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
