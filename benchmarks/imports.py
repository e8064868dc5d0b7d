"""How long until the first answer: imports, the first prediction ever, the second process.

python benchmarks/imports.py [--no-venv] [--output benchmarks/results]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from environment import PROJECT, describe_machine, enter_venv, pin_blas_threads

_RUNS = 5
_IMPORT = """
from time import perf_counter
start = perf_counter()
import {package}
print(perf_counter() - start)
"""
_PREDICT = """
from time import perf_counter
start = perf_counter()
import headcount as hc
import numpy as np
rng = np.random.default_rng(0)
y = rng.integers(2, size=1000)
X = rng.standard_normal((1000, 5)) + y[:, None]
hc.{method}().fit(X, y).predict(X[:300])
print(perf_counter() - start)
"""


def fresh_process(code: str, **environment: str) -> float:
    """The seconds a piece of code printed, run by a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout.split()[-1])


def import_seconds(package: str) -> float:
    return median(fresh_process(_IMPORT.format(package=package)) for _ in range(_RUNS))


def first_predictions(method: str) -> tuple[float, float]:
    """Import, fit and predict: with nothing compiled yet, then in a second process."""
    with tempfile.TemporaryDirectory() as compiled:
        code = _PREDICT.format(method=method)
        first, second = (fresh_process(code, NUMBA_CACHE_DIR=compiled) for _ in range(2))
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PROJECT / "benchmarks" / "results")
    parser.add_argument("--no-venv", action="store_true", help="use this interpreter as it is")
    parser.add_argument("--methods", nargs="+", default=["PACC", "SLD", "DyS", "KDEyML"])
    options = parser.parse_args()
    if not options.no_venv:
        enter_venv()
    pin_blas_threads()

    from writing import markdown_table

    rows = [
        [f"import {package}", f"{import_seconds(package):.2f}", ""]
        for package in ("headcount", "quapy")
    ]
    for method in options.methods:
        first, second = first_predictions(method)
        rows.append([f"first prediction, {method}", f"{first:.2f}", f"{second:.2f}"])
    header = ["fresh process", "seconds", "second process, compiled code on disk"]
    table = markdown_table(header, rows)
    head = describe_machine()
    print(table)
    options.output.mkdir(parents=True, exist_ok=True)
    text = "\n".join(f"- {key}: {value}" for key, value in head.items())
    note = f"Imports: median of {_RUNS} fresh processes. Predictions: import, fit and predict."
    (options.output / "imports.md").write_text(
        f"# Time to a first answer\n\n{text}\n\n{note}\n\n{table}\n"
    )
    (options.output / "imports.json").write_text(
        json.dumps({"head": head, "columns": header, "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
