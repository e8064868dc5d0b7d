"""Time and memory of the command line, from its start to its end.

Seeded tables of customers. CPU time is that of the whole process, imports included, on all of
its threads, in the second of two runs: the first compiles. Goals are printed as pass or FAIL.
`--only NAME` runs one case.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from environment import RESULTS, describe_machine


def customers(n: int, seed: int, *, n_classes: int = 2, n_groups: int = 0) -> Any:
    """Customers with eight columns of features, a label and a group."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(seed)
    share = 0.3 if seed == 0 else 0.6
    y = rng.choice(n_classes, n, p=_shares(n_classes, share))
    numbers = {f"x{i}": (rng.normal(size=n) + (y % (i + 2)) * 0.8).round(3) for i in range(5)}
    places = np.array(["Rome", "Oslo", "Bern", "Lima", "Cork"])
    days = np.datetime64("2024-01-01") + rng.integers(0, 90, n)
    frame = pl.DataFrame(
        {
            **numbers,
            "place": places[(y + rng.integers(0, 3, n)) % 5],
            "member": rng.random(n) < 0.3 + 0.3 * (y % 2),
            "day": days.astype(str),
            "label": np.char.add("c", y.astype(str)),
        }
    )
    if n_groups:
        frame = frame.with_columns(shop=pl.Series(rng.integers(0, n_groups, n).astype(str)))
    return frame


def _shares(n_classes: int, last: float) -> list[float]:
    if n_classes == 2:
        return [1 - last, last]
    total = n_classes * (n_classes + 1) / 2
    return [k / total for k in range(1, n_classes + 1)]


# Name: labelled rows, new rows, classes, groups, goal in seconds of CPU time.
CASES = {
    "5,000 new rows": (3_000, 5_000, 2, 0, 2.5),
    "1,000,000 new rows": (3_000, 1_000_000, 2, 0, 60.0),
    "1,000,000 labelled rows": (1_000_000, 5_000, 2, 0, 60.0),
    "52 classes": (20_000, 5_000, 52, 0, 60.0),
    "50,000 groups": (3_000, 200_000, 2, 50_000, None),
}


def make(folder: Path, name: str) -> None:
    """Write the tables of a case."""
    n_labelled, n_new, n_classes, n_groups, _ = CASES[name]
    customers(n_labelled, 0, n_classes=n_classes).write_csv(folder / "labelled.csv")
    new = customers(n_new, 1, n_classes=n_classes, n_groups=n_groups).drop("label")
    new.write_csv(folder / "new.csv")


def measure(folder: Path, name: str) -> str:
    # In a process of its own: a child starts with the peak memory of its parent.
    subprocess.run([sys.executable, __file__, "--only", name, "--make", folder], check=True)
    by = ["--by", "shop"] if CASES[name][3] else []
    given = [
        "new.csv",
        "--train",
        "labelled.csv",
        "--target",
        "label",
        "--output",
        "o.csv",
        *by,
    ]
    return f"| {name} | {_run(folder, ['estimate', *given], CASES[name][4])} |"


def _run(folder: Path, arguments: list[str], goal: float | None, code: int = 0) -> str:
    command = [sys.executable, "-m", "headcount", *arguments]
    # Installed packages have compiled modules, which a variable of the shell may prevent.
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(2):
        with subprocess.Popen(
            command, cwd=folder, env=variables, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as running:  # fmt: skip
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        assert running.returncode == code, running.returncode
    seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    met = "" if goal is None else "pass" if seconds < goal else "FAIL"
    return f"{seconds:.2f} | {memory:,.0f} | {'' if goal is None else goal} | {met}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    only = given.only
    if given.make is not None:
        make(given.make, only)
        return
    lines = [
        "| case | CPU seconds | peak MB | goal (s) | |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in [only] if only else CASES:
            lines.append(measure(folder, case))
            print(lines[-1], flush=True)
        mistyped = ["estimate", "nwe.csv", "--train", "labelled.csv", "--target", "label"]
        lines.insert(2, f"| a mistyped file name | {_run(folder, mistyped, 0.5, code=2)} |")
    if not only:
        facts = describe_machine()
        known = [f"{name}: {facts[name]}" for name in ("date", "machine", "python", "load")]
        text = "\n".join(["; ".join(known) + ".", "", *lines])
        (RESULTS / "command_line.md").write_text(
            f"# Time and memory of the command line\n\n{text}\n"
        )


if __name__ == "__main__":
    main()
