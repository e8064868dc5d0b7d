"""Errors of LeQua's baselines on generated tasks, compared with the published ones.

python benchmarks/lequa_difficulty.py [--tasks T1 T3] [--seeds 0 1 2 3] [--published FOLDER]

The protocol is that of the organisers: settings of logistic regression are selected on the
development samples, and ACC, PACC and DM learn from 40% of the labelled items. The grid is
smaller. Published errors are read from lequa2024.csv.
"""

from __future__ import annotations

import csv
import json
import os
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from environment import command_line, describe_machine, start
from lequa_tasks import Task, errors_of, generated

Published = dict[str, dict[str, dict[str, float]]]
_TASKS = ("T1", "T2", "T3", "T4")
_METHODS = ("CC", "PCC", "ACC", "PACC", "SLD", "DM")
_HELD_OUT = ("ACC", "PACC", "DM")
_GRIDS = {
    "T1": (0.001, 0.01, 0.1, 1.0),
    "T2": (0.1, 1.0),
    "T3": (0.1, 1.0),
    "T4": (0.001, 0.01, 0.1, 1.0),
}
_BINS = {"T2": 4}  # of DM; 8 otherwise


def quantifier_of(name: str, task: str) -> Any:
    """Baseline as the organisers ran it."""
    import headcount as hc

    more = {"SLD": {"calibration": None, "stop": "classic"}, "DM": {"bins": _BINS.get(task, 8)}}
    return hc.method(name)(**more.get(name, {}))


def measured(task: Task) -> dict[str, dict[str, Any]]:
    """Test errors of each method in the setting that is best on the development samples."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    from headcount import Scored

    rows = np.arange(len(task.y))
    fit, held = train_test_split(rows, test_size=0.4, stratify=task.y, random_state=0)
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    for C in _GRIDS[task.name]:
        for weight in (None, "balanced"):
            logistic = LogisticRegression(C=C, class_weight=weight, max_iter=3000)
            for names, trained, used in (
                (_HELD_OUT, fit, held),
                ([name for name in _METHODS if name not in _HELD_OUT], rows, rows),
            ):
                logistic.fit(task.X[trained], task.y[trained])
                known, dev, test = (
                    Scored(logistic.predict_proba(X))
                    for X in (task.X[used], task.X_dev, task.X_test)
                )
                for name in names:
                    quantifier = quantifier_of(name, task.name).fit(known, task.y[used])
                    error = errors_of(quantifier, dev, task.dev)[task.measure]
                    if name not in best or error < best[name][0]:
                        found = errors_of(quantifier, test, task.test)
                        setting = f"C={C:g}, class_weight={weight}"
                        best[name] = error, found | {"setting": setting}
    return {name: best[name][1] for name in _METHODS}


def published_errors(folder: Path) -> Published:
    """Published means by task, method and measure."""
    found: Published = {}
    with open(folder / "lequa2024.csv", newline="") as file:
        for row in csv.DictReader(file):
            means = {row[f"measure{i}"]: float(row[f"mean{i}"]) for i in (1, 2)}
            found.setdefault(row["task"], {})[row["run"]] = means
    return found


def report(results: dict[str, Any], published: Published) -> str:
    """Tables of all tasks that have been measured."""
    from tables import bullets, markdown_table

    lines = ["# Difficulty of generated LeQua tasks", "", bullets(results["head"]), ""]
    lines += [
        "Mean test errors of baselines on logistic regression, compared with those that the "
        "organisers published. Each seed has labelled items, development and test samples of "
        "its own. `published` is the difference from the published mean, `by seed` that of the "
        "first error. AE, and NMD on T3, is what the generator is tuned to.",
        "",
    ]
    for name in (each for each in _TASKS if each in results):
        found = results[name]
        measures = ("NMD",) if name == "T3" else ("AE", "RAE")
        rows = []
        for method in _METHODS:
            row = [method]
            for measure in measures:
                errors = [seed[method][measure] for seed in found["seeds"]]
                row += [
                    f"{fmean(errors):.4f}",
                    _percent(fmean(errors), published[name][method][measure]),
                ]
            known = published[name][method][measures[0]]
            errors = [seed[method][measures[0]] for seed in found["seeds"]]
            row.append(", ".join(_percent(each, known) for each in errors))
            rows.append(row)
        header = ["method"]
        for measure in measures:
            header += [measure, "published"]
        lines += [
            f"## {name}",
            "",
            f"{len(found['seeds'])} seeds, {found['dev']} development and {found['test']} test "
            "samples.",
            "",
            markdown_table([*header, "by seed"], rows),
            "",
        ]
    return "\n".join(lines)


def _percent(error: float, published: float) -> str:
    return f"{100 * (error / published - 1):+.0f}%"


def main() -> None:
    parser = command_line(__doc__ or "", quick=True)
    parser.set_defaults(no_venv=True)
    parser.add_argument("--tasks", nargs="+", choices=_TASKS, default=list(_TASKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--dev", type=int, default=200, help="number of development samples")
    parser.add_argument("--test", type=int, default=500, help="number of test samples")
    parser.add_argument("--published", type=Path, help="folder of lequa2024.csv")
    options = start(parser)
    default = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data")).parent / "published"
    published = published_errors(options.published or default)
    n_dev, n_test = (10, 20) if options.quick else (options.dev, options.test)
    path = options.output / "lequa_difficulty.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for name in options.tasks:
        started = time.process_time()
        seeds = [measured(generated(name, n_dev, n_test, seed)) for seed in options.seeds]
        results["head"] = describe_machine()
        results[name] = {
            "dev": n_dev,
            "test": n_test,
            "seeds": seeds,
        }
        print(name, f"{time.process_time() - started:.0f} CPU seconds", flush=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
        path.with_suffix(".md").write_text(report(results, published))


if __name__ == "__main__":
    main()
