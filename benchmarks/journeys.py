"""Files, packages and functions of headcount that a call passes, in versions of the package.

    python journeys.py [OLD/src ...]

Each journey is walked once to warm up, then with a profiler. A version runs in a process of its
own; this tree is the last one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import markdown_table
from versions import SOURCE, check_version, describe_version, run

PACKAGES = ("headcount", "headcount_studies")


def trace(call: Callable[[], Any]) -> dict[str, Any]:
    """Files, packages, functions and greatest depth of headcount in a call."""
    root = str(Path(os.environ["PYTHONPATH"]))
    functions: set[tuple[str, int]] = set()
    depth = deepest = 0

    def profile(frame: Any, event: str, _: Any) -> None:
        nonlocal depth, deepest
        if not frame.f_code.co_filename.startswith(root):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            functions.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))
        elif event == "return":
            depth -= 1

    sys.setprofile(profile)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call()
    finally:
        sys.setprofile(None)
    files = sorted({str(Path(file).relative_to(root)) for file, _ in functions})
    packages = {Path(file).parts[1] for file in files}
    return {
        "files": files,
        "packages": len(packages),
        "functions": len(functions),
        "depth": deepest,
    }


def journeys(folder: Path) -> dict[str, Callable[[], Any]]:
    """Calls by name; their input is made here."""
    import numpy as np
    import polars as pl
    from sklearn.linear_model import LogisticRegression

    import headcount as hc
    from headcount import accuracy
    from headcount.cli.execute import execute

    rng = np.random.default_rng(0)
    y = rng.random(1200) < 0.4
    X = rng.normal(y[:, None] * [1.0, 0.5, 0.0], 1.0)
    days = np.datetime64("2024-01-01") + np.arange(1200) % 90
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "day": days.astype(str)})
    labelled = table.with_columns(label=pl.Series(np.where(y, "yes", "no")))
    labelled[:600].write_csv(folder / "labelled.csv")
    table[600:].write_csv(folder / "new.csv")
    train, new = (X[:600], y[:600]), X[600:]
    fitted = hc.SLD(random_state=0).fit(*train)
    leap = accuracy.LEAP(LogisticRegression().fit(X[:300], y[:300])).fit(X[300:600], y[300:600])
    command = [
        "estimate", str(folder / "new.csv"), "--train", str(folder / "labelled.csv"),
        "--target", "label", "--by", "month", "--report", str(folder / "page.html"),
    ]  # fmt: skip
    scored = pl.DataFrame({"score": 1 / (1 + np.exp(-X[:, 0])), "day": days.astype(str)})
    reference = scored[:600].with_columns(label=pl.Series(y[:600]))
    monitor = hc.Monitor.create(folder / "watch", reference, target="label", by="week")
    halves = iter(np.array_split(np.arange(600, 1200), 2))

    def update() -> Any:
        return monitor.update(scored[next(halves)])

    return {
        "SLD.fit": lambda: hc.SLD(random_state=0).fit(*train),
        "SLD.predict": lambda: fitted.predict(new),
        "SLD.estimate": lambda: fitted.estimate(new, random_state=0),
        "headcount estimate --by --report": lambda: execute(command),
        "Monitor.update": update,
        "LEAP.estimate": lambda: leap.estimate(new, random_state=0),
        "a study task": study_task(folder, labelled),
    }


def study_task(folder: Path, labelled: Any) -> Callable[[], Any]:
    """One task of a study of a table."""
    labelled.drop("day").write_csv(folder / "study.csv")
    try:
        engine: Any = importlib.import_module("headcount_studies.engine.run")
        spec_module: Any = importlib.import_module("headcount_studies.engine.spec")
        kinds: Any = importlib.import_module("headcount_studies.engine.task")
    except ModuleNotFoundError:
        engine = importlib.import_module("headcount.study.execute")
        spec_module = importlib.import_module("headcount.study.spec")
        kinds = importlib.import_module("headcount.study.kinds")
    spec = spec_module.parse_spec(
        f"""
name = "journey"
kind = "own-data"
metrics = ["ae"]
[data.people]
file = "{folder / "study.csv"}"
target = "label"
[protocol]
name = "UPP"
n_samples = 20
size = 100
[[methods]]
name = "SLD"
[[methods]]
name = "PACC"
"""
    )
    task = kinds.find_experiment(spec.kind).plan(spec, folder)[0]
    return lambda: engine.execute_task(spec, task, folder)


def here() -> None:
    """Trace the journeys of the version that this process imports."""
    check_version()
    passed = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in journeys(Path(folder)).items():
            with contextlib.redirect_stdout(io.StringIO()):
                call()
            passed[name] = trace(call)
    print(json.dumps(passed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", type=Path, nargs="*", help="source folders to compare")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--files", metavar="JOURNEY", help="list the files of one journey")
    options = parser.parse_args()
    if options.here:
        return here()
    sources = [*options.sources, SOURCE]
    traces = [json.loads(run(source, __file__, "--here")) for source in sources]
    if options.files:
        print("\n".join(traces[-1][options.files]["files"]))
        return None
    header = ["journey"]
    for source in sources:
        header += [f"files, {describe_version(source)}", "packages", "functions", "depth"]
    rows = [
        [name]
        + [
            str(value)
            for passed in traces
            for value in (
                len(passed[name]["files"]),
                *(passed[name][key] for key in ("packages", "functions", "depth")),
            )
        ]
        for name in traces[-1]
    ]
    print(markdown_table(header, rows))
    return None


if __name__ == "__main__":
    main()
