"""Time of every method in two versions of the package, measured in turn.

    python old_and_new.py OLD/src [--starts 2] [--rounds 5] [--methods SLD DyS] [--out results]

Each version runs in a process of its own. Within a round both do the same work one after the
other; every start begins with new processes. The best CPU time of all rounds counts, as other
work on the machine disturbs it least. One thread everywhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from environment import RESULTS, describe_machine, pin_blas_threads
from versions import (
    SOURCE,
    check_version,
    describe_version,
    environment_of,
    make,
    quantifiers,
    run,
    with_scores,
)

# Shorter work is repeated until it takes so many seconds of CPU time.
LEAST = 0.1
# A method is slower if it takes 5% and a millisecond longer.
LIMIT, SLACK = 1.05, 1e-3
IMPORT = "import headcount as hc; hc.SLD"
ESTIMATED = ("GPAC", "SLD", "KDEyML", "AutoQuantifier")
Times = dict[str, float]
Row = tuple[dict[str, str], list[Times], str]


def load(name: str) -> Any:
    """Workload of a name; with 28 classes, a fifth of the pool and of the samples."""
    from dataclasses import replace

    from workloads import make as make_workload

    work = make_workload(name)
    if name == "binary":
        return work
    n = len(work.y_pool) // 5
    pool = {"X_pool": work.X_pool[:n], "y_pool": work.y_pool[:n]}
    return replace(work, repeats=work.repeats // 5, **pool)


class Worker:
    """Fits methods and times their calls, for the version that is imported."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        from ours import protocol
        from workloads import make as make_workload

        warnings.simplefilter("ignore")
        check_version()
        self.data: dict[str, Any] = {}
        for name in ("binary", "multiclass"):
            work = load(name)
            small = make_workload(name, quick=True) if name == "multiclass" else work
            with np.load(folder / f"{name}.npz") as kept:
                scores, pool_scores = kept["scores"], kept["pool_scores"]
            self.data[name] = work, small, scores, pool_scores, protocol(work), protocol(small)
        self.call: Callable[[], Any] = lambda: None

    def prepare(self, kind: str, name: str, workload: str) -> Times:
        """Fit a method and run the call, so that everything is compiled; its seconds."""
        self.call = getattr(self, f"_{kind}")(name, workload)
        first = self.time(1)
        return first if first["cpu"] > 2 else self.time(1)

    def time(self, repeats: int) -> Times:
        """Seconds of one call: mean over repeats."""
        wall, cpu = perf_counter(), process_time()
        for _ in range(repeats):
            self.call()
        return {
            "wall": (perf_counter() - wall) / repeats,
            "cpu": (process_time() - cpu) / repeats,
        }

    def _quantifier(self, name: str, n_classes: int) -> Any:
        from sklearn.naive_bayes import GaussianNB

        import headcount as hc

        shared = {
            "random_state": 0, "n_members": 10, "n_estimators": 20, "replicates": 500,
            "classifiers": [GaussianNB(), GaussianNB(var_smoothing=0.1)],
        }  # fmt: skip
        made = make(quantifiers()[name], shared)
        if n_classes > 2 and made.info.multiclass == "one-vs-rest":
            return hc.OneVsRest(made)
        return made

    def _predict(self, name: str, workload: str) -> Callable[[], Any]:
        """Shares of all samples: from scores, or from items for methods that need them."""
        work, small, scores, pool_scores, draws, few = self.data[workload]
        model = self._quantifier(name, work.n_classes)
        if model.info.input == "features" or name == "Median":
            model.fit(small.X, small.y)
            samples = few.draw(small.y_pool)
            return lambda: model.predict_many(small.X_pool, samples)
        with_scores(model, "fit", scores, work.y)
        samples = draws.draw(work.y_pool)
        return lambda: with_scores(model, "predict_many", pool_scores, samples)

    def _estimate(self, name: str, workload: str) -> Callable[[], Any]:
        """Estimates with intervals of 20 samples."""
        work, _, scores, pool_scores, draws, _ = self.data[workload]
        model = with_scores(self._quantifier(name, work.n_classes), "fit", scores, work.y)
        samples = draws.draw(work.y_pool)[:20]

        def estimate() -> None:
            for each in with_scores(
                model, "estimate_many", pool_scores, samples, random_state=0, replicates=1000
            ):
                each.interval()

        return estimate

    def _fit(self, name: str, workload: str) -> Callable[[], Any]:
        """Fit on items with the default classifier, cross-fitted."""
        _, small, *_ = self.data[workload]
        model = self._quantifier(name, small.n_classes)
        return lambda: model.fit(small.X, small.y)

    def _draw(self, name: str, workload: str) -> Callable[[], Any]:
        """Draw the samples."""
        work, _, _, _, draws, _ = self.data[workload]
        return lambda: draws.draw(work.y_pool)

    def _accuracy(self, name: str, workload: str) -> Callable[[], Any]:
        """Accuracy on all samples, from scores."""
        from headcount import accuracy

        work, _, scores, pool_scores, draws, _ = self.data[workload]
        shared = {"random_state": 0, "n_samples": 20, "size": 500}
        model = with_scores(make(accuracy.predictors()[name], shared), "fit", scores, work.y)
        samples = draws.draw(work.y_pool)
        return lambda: with_scores(model, "predict_many", pool_scores, samples)


def serve(folder: Path) -> None:
    """Do what lines of the standard input name, and print the seconds."""
    worker = Worker(folder)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            timed = "repeats" in task
            result = worker.time(task["repeats"]) if timed else worker.prepare(**task)
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


class Process:
    """A worker in a process of its own."""

    def __init__(self, source: Path, folder: Path) -> None:
        command = [sys.executable, "-W", "ignore", __file__, "--serve", str(folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment_of(source), text=True, **pipes)

    def __call__(self, **task: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(task), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


@contextmanager
def processes(sources: list[Path], folder: Path) -> Iterator[list[Process]]:
    started = [Process(source, folder) for source in sources]
    try:
        yield started
    finally:
        for each in started:
            each.close()


def tasks(chosen: list[str] | None) -> list[dict[str, str]]:
    """Everything that is timed."""
    sys.path.insert(0, str(SOURCE))
    from headcount import accuracy

    found = []
    for workload in ("binary", "multiclass"):
        found += [("predict", name, workload) for name in quantifiers()]
        found += [("estimate", name, workload) for name in ESTIMATED]
        found += [("fit", "SLD", workload), ("draw", "samples", workload)]
    predictors = accuracy.predictors().items()
    names = [name for name, each in predictors if each.info.input != "features"]
    found += [("accuracy", name, "binary") for name in names]
    keys = ("kind", "name", "workload")
    return [
        dict(zip(keys, task, strict=True)) for task in found if not chosen or task[1] in chosen
    ]


def keep_best(best: list[Times], number: int, times: Times) -> None:
    best[number] = {
        key: min(best[number].get(key, value), value) for key, value in times.items()
    }


def measure(
    workers: list[Process], task: dict[str, str], best: list[Times], rounds: int
) -> str:
    """Time a task in turn, after a first run that compiles; why it fails, if it does."""
    first = [worker(**task) for worker in workers]
    problems = [each["error"] for each in first if "error" in each]
    if problems:
        return " / ".join(problems)
    repeats = max(1, min(200, round(LEAST / max(first[0]["cpu"], 1e-4))))
    for turn in range(rounds if first[0]["cpu"] < 2 else 2):
        order = range(len(workers)) if turn % 2 else reversed(range(len(workers)))
        for number in order:
            keep_best(best, number, workers[number](repeats=repeats))
    return ""


def time_import(source: Path) -> Times:
    """Seconds of a new process that imports the package and a method."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = perf_counter()
    run(source, "-c", IMPORT)
    wall = perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {"wall": wall, "cpu": user + system}


def save_scores(folder: Path) -> None:
    """Scores of both workloads by logistic regression, the same for all versions."""
    import numpy as np

    from classifier import shared_scores

    for name in ("binary", "multiclass"):
        scores, pool_scores = shared_scores(load(name))
        np.savez(folder / f"{name}.npz", scores=scores, pool_scores=pool_scores)


def report(rows: list[Row], facts: dict[str, str], how: str) -> str:
    """Table of the rows that have been timed."""
    from tables import bullets, markdown_table

    header = [
        "workload",
        "what",
        "method",
        "old, CPU s",
        "new, CPU s",
        "new / old, CPU",
        "wall",
    ]
    lines, slower = [], 0
    for task, best, problem in rows:
        head = [task["workload"], task["kind"], task["name"]]
        if not (problem or best[0]):
            continue
        if problem:
            lines.append([*head, problem, "", "", ""])
            continue
        new, old = best
        ratio, wall = (new[key] / old[key] for key in ("cpu", "wall"))
        longer = new["cpu"] > max(LIMIT * old["cpu"], old["cpu"] + SLACK)
        slower += longer
        mark = "**" if longer else ""
        seconds = [f"{each['cpu']:.4g}" for each in (old, new)]
        lines.append([*head, *seconds, f"{mark}{ratio:.2f}{mark}", f"{wall:.2f}"])
    return "\n\n".join([
        "# Old and new version, timed in turn",
        bullets(facts),
        f"{how} {slower} of {len(lines)} rows take "
        f"more than {LIMIT - 1:.0%} and {SLACK * 1e3:.0f} ms longer than before (bold).",
        "*predict*: shares of all samples of a workload (workloads.py; with 28 classes a fifth "
        "of the pool and of the samples), from scores. Methods on features, and Median, "
        "predict from items, of a small workload if there are 28 classes. "
        "*estimate*: 20 samples with intervals, 1,000 replicates. *fit*: with the default "
        "classifier, cross-fitted. *accuracy*: accuracy of all samples, from scores.",
        markdown_table(header, lines),
    ]) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, nargs="?", help="source folder of the old version")
    parser.add_argument(
        "--starts", type=int, default=2, help="number of times that processes are started"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each start")
    parser.add_argument("--methods", nargs="+", help="methods to time (default: all)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of old_and_new.md")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    pin_blas_threads()
    sources = [SOURCE, given.old]
    names = ("date", "machine", "packages", "BLAS", "load")
    facts = {name: describe_machine()[name] for name in names}
    facts["threads"] = "1 for BLAS, OpenMP and headcount"
    how = (
        f"Old: {describe_version(given.old)}. New: {describe_version(SOURCE)}. Best CPU time "
        f"of {given.starts} x {given.rounds} rounds."
    )
    given.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = [(task, [{}, {}], "") for task in tasks(given.methods)]
    imported: list[Times] = [{}, {}]
    import_row = ({"workload": "", "kind": "import", "name": IMPORT}, imported, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_scores(folder)
        for _ in range(given.starts):
            for _ in range(given.rounds):
                for number, source in enumerate(sources):
                    keep_best(imported, number, time_import(source))
            with processes(sources, folder) as workers:
                for place, (task, best, _) in enumerate(rows):
                    rows[place] = task, best, measure(workers, task, best, given.rounds)
                    print(*rows[place], file=sys.stderr, flush=True)
                    text = report([import_row, *rows], facts, how)
                    (given.out / "old_and_new.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
