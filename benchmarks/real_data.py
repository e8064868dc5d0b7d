"""Coverage of intervals and errors of estimates on real data, compared with the peers.

    python benchmarks/real_data.py                        # small run: minutes
    python benchmarks/real_data.py --full                 # all development datasets
    python benchmarks/real_data.py --full --final         # and those looked at once, at the end
    python benchmarks/real_data.py --full --peers         # in .venv-bench, with the peers
    python benchmarks/real_data.py --full --plain         # errors only, no intervals
    python benchmarks/real_data_report.py                 # results/real_data.md from the store

A task is a dataset, a training size, a training set and a classifier. The classifier is
cross-fitted once per task and shared by all methods, the pool is classified once, and each
method is called once per sample size. The rows of a task are written atomically to the store;
what is in the store is not measured again, so a run that was stopped continues. Samples depend
on dataset, training size, training set and sample size alone: stores of two versions of the
code hold the same samples.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from environment import PROJECT, enter_venv, pin_blas_threads

STORE = PROJECT / "benchmarks" / ".real_data"
TRAINING = (200, 1000, 5000)
SIZES = (100, 1000)
SMALL = ("spam", "wine", "nurse", "womens_clothing_reviews")
SMALL_TRAINING = (200, 1000)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in _names(text))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--full", action="store_true", help="all development datasets, 20 training sets")
    add("--final", action="store_true", help="the FINAL datasets too: once, at the end")
    add("--datasets", type=_names, help="names, separated by commas")
    add("--methods", type=_names, help="names, separated by commas; default: the core")
    add("--all-methods", action="store_true", help="every method, also the slow ones")
    add("--plain", action="store_true", help="no estimates with intervals: errors only")
    add("--training-sizes", type=_numbers, help="default: 200,1000,5000")
    add("--sizes", type=_numbers, default=SIZES, help="items of a sample")
    add("--sets", type=int, help="training sets per dataset and training size")
    add("--samples", type=int, default=4, help="samples per training set, n and shares")
    add("--classifier", choices=("lr", "hgb", "rf"), default="lr")
    add("--peers", action="store_true", help="the peers on the same scores and samples")
    add("--peer-intervals", action="store_true", help="QuaPy's intervals too (slow)")
    add("--store", type=Path, default=STORE)
    add("--workers", type=int, default=2)
    add("--plan", action="store_true", help="print the plan and stop")
    add("--no-venv", action="store_true", help="with --peers: use the interpreter at hand")
    return parser.parse_args()


def settings_of(given: argparse.Namespace):
    from real_data_methods import CORE, known_methods
    from real_data_tasks import Settings

    methods = known_methods() if given.all_methods else CORE
    if given.methods is not None:
        unknown = set(given.methods) - set(known_methods())
        if unknown:
            raise SystemExit(f"unknown methods {sorted(unknown)}: see real_data_methods.py.")
        methods = given.methods
    peers = ()
    if given.peers or given.peer_intervals:
        from real_data_peers import PEERS, WITH_INTERVALS

        peers = (PEERS if given.peers else ()) + (
            WITH_INTERVALS if given.peer_intervals else ()
        )
    return Settings(
        given.store, methods, peers, given.sizes, given.samples, intervals=not given.plain
    )


def datasets_of(given: argparse.Namespace) -> tuple[str, ...]:
    from real_datasets import ALL, DEVELOPMENT, FINAL

    chosen = given.datasets or (DEVELOPMENT if given.full else SMALL)
    unknown = set(chosen) - set(ALL)
    if unknown:
        raise SystemExit(f"unknown datasets {sorted(unknown)}: see real_datasets.py.")
    if given.final and not given.datasets:
        return (*chosen, *FINAL)
    kept_back = set(chosen) & set(FINAL)
    if kept_back and not given.final:
        raise SystemExit(f"{sorted(kept_back)} are for the final run: add --final.")
    return tuple(chosen)


def plan(given: argparse.Namespace, settings) -> list:
    """Tasks with anything left to measure, one training set of every dataset first."""
    from real_data_tasks import Task, cells, pending
    from real_datasets import prepared

    sizes = given.training_sizes or (TRAINING if given.full else SMALL_TRAINING)
    n_sets = given.sets or (20 if given.full else 2)
    pairs, left_out = [], defaultdict(list)
    for name in datasets_of(given):
        items = prepared(name, given.store / "prepared")
        if given.classifier == "hgb" and items.kind == "text":
            print(f"{name} is left out: gradient boosting does not take sparse features")
            continue
        for training in sizes:
            allowed = cells(items.counts, training, given.sizes)
            if allowed:
                pairs.append((name, training))
            for n in set(given.sizes) - set(allowed):
                left_out[training, n].append(name)
    for (training, n), names in sorted(left_out.items()):
        print(f"too few items for training {training:,}, n {n:,}: {', '.join(names)}")
    tasks = [
        Task(name, training, number, given.classifier)
        for number in range(n_sets)
        for name, training in sorted(pairs, key=lambda pair: -pair[1])
    ]
    todo = [task for task in tasks if any(pending(task, settings))]
    print(
        f"{len(pairs)} pairs of dataset and training size x {n_sets} training sets: "
        f"{len(tasks):,} tasks, {len(tasks) - len(todo):,} of them in {given.store}"
    )
    return todo


def expected_seconds(todo: list, store: Path) -> dict:
    """Seconds of each task, from tasks with the same dataset and training size in the store."""
    found = defaultdict(list)
    log = store / "seconds.jsonl"
    if log.exists():
        for line in log.read_text().splitlines():
            note = json.loads(line)
            found[note["dataset"], note["training"]].append(_total(note))
    means = {key: sum(values) / len(values) for key, values in found.items()}
    overall = sum(means.values()) / len(means) if means else None
    return {task: means.get((task.dataset, task.training), overall) for task in todo}


def _total(note: dict) -> float:
    return note["classifier"] + note["headcount"] + note["peers"]


def run_all(todo: list, settings, workers: int) -> None:
    from real_data_tasks import run

    expected = expected_seconds(todo, settings.store)
    if todo and None not in expected.values():
        minutes = sum(expected.values()) / workers / 60
        print(f"about {minutes:,.0f} minutes with {workers} workers, judged by the store")
    start = shown = perf_counter()
    sums = defaultdict(float)
    # Not forked: polars has threads, whose locks a fork would copy in any state.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run, task, settings): task for task in todo}
        for done, future in enumerate(as_completed(futures), start=1):
            note = future.result()
            for part in ("classifier", "headcount", "peers"):
                sums[part] += note[part]
            now = perf_counter()
            if now - shown > 15 or done == len(todo):
                shown = now
                left = (now - start) / done * (len(todo) - done) / 60
                task = f"{note['dataset']} {note['training']:,} #{note['number']}"
                print(
                    f"{done:,}/{len(todo):,} {task}: {_total(note):.1f} s; "
                    f"about {left:,.0f} min left",
                    flush=True,
                )
    parts = ", ".join(f"{part} {value:,.0f} s" for part, value in sums.items())
    print(f"{perf_counter() - start:,.0f} s; of the workers' time: {parts}")


def check_store(given: argparse.Namespace) -> None:
    """A store holds samples of one kind: refuse to add others."""
    path = given.store / "samples.json"
    wanted = {"sizes": list(given.sizes), "samples": given.samples}
    if not path.exists():
        given.store.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(wanted) + "\n")
    elif (there := json.loads(path.read_text())) != wanted:
        raise SystemExit(
            f"{given.store} has samples {there}, not {wanted}: name another --store."
        )


def main() -> None:
    given = parse()
    if (given.peers or given.peer_intervals) and not given.no_venv:
        enter_venv()
    pin_blas_threads()
    for variable in ("HEADCOUNT_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[variable] = "1"
    settings = settings_of(given)
    check_store(given)
    todo = plan(given, settings)
    if given.plan:
        seconds = expected_seconds(todo, given.store)
        if todo and None not in seconds.values():
            print(f"about {sum(seconds.values()) / given.workers / 60:,.0f} minutes")
        sys.exit()
    run_all(todo, settings, given.workers)
    print(f"report: python benchmarks/real_data_report.py --store {given.store}")


if __name__ == "__main__":
    main()
