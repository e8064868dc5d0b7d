"""Time of estimates with intervals: 1,000 samples of 500 items, and a single sample.

    python estimate_speed.py [--source FOLDER ...] [--rounds 3] [--out results]

``--source`` names folders with other versions of the package (their ``src``): all versions are
timed in turn, round by round, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from environment import PROJECT, describe_machine, pin_blas_threads

METHODS = ("PACC", "SLD", "KDEyML", "AutoQuantifier")


def timed_here() -> None:
    """Print the seconds of every case, for the version that is imported."""
    import warnings
    from time import perf_counter

    import numpy as np
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    import headcount as hc

    warnings.simplefilter("ignore")
    rows = []
    for K in (2, 5):
        X, y = make_classification(
            15_000, 20, n_informative=10, n_classes=K, class_sep=0.8, random_state=0
        )
        samples = hc.UPP(n_samples=1000, size=500, random_state=0).draw(y[5000:])
        for name in METHODS:
            method = hc.GPAC if name == "PACC" and K > 2 else getattr(hc, name)
            quantifier = method(LogisticRegression(max_iter=1000), random_state=0)
            quantifier.fit(X[:5000], y[:5000])
            single = samples[0]
            quantifier.estimate(X[5000:][single])  # compiles
            start = perf_counter()
            estimate = quantifier.estimate(X[5000:][single])
            one = perf_counter() - start
            estimate.interval()
            start = perf_counter()
            found = quantifier.estimate_many(X[5000:], samples)
            many = perf_counter() - start
            ends = [each.interval() for each in found]
            with_ends = perf_counter() - start
            low, high = (np.stack([getattr(e, side) for e in ends]) for side in ("low", "high"))
            true = samples.prevalence
            inside = float(((low <= true) & (true <= high)).mean())
            rows.append(
                {"classes": K, "method": name, "one": one, "thousand": many,
                 "with_intervals": with_ends, "coverage": inside}
            )  # fmt: skip
    print(json.dumps(rows))


def main() -> None:
    """Time all versions in turn and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=PROJECT / "benchmarks" / "results")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        timed_here()
        return
    sources = [PROJECT / "src", *given.source]
    best: dict[tuple[int, str, int], dict[str, float]] = {}
    for _ in range(given.rounds):
        for number, source in enumerate(sources):
            environment = os.environ | {"PYTHONPATH": str(source)}
            command = [sys.executable, __file__, "--here"]
            done = subprocess.run(command, env=environment, capture_output=True, check=True)
            for row in json.loads(done.stdout):
                key = (row.pop("classes"), row.pop("method"), number)
                old = best.get(key, row)
                best[key] = {name: min(old[name], value) for name, value in row.items()}
    facts = describe_machine()
    lines = [
        "# Time of estimates with intervals", "",
        *(f"- {name}: {facts[name]}" for name in ("date", "machine", "packages", "load")),
        "",
        "Training 5,000 items, a pool of 10,000, 1,000 samples of 500 items; seconds, best of "
        f"{given.rounds}. Version 0 is this one.", "",
        "| classes | method | version | one sample | 1,000 samples | + intervals | coverage |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for (K, name, number), row in sorted(best.items()):
        values = f"{row['one']:.3f} | {row['thousand']:.2f} | {row['with_intervals']:.2f}"
        lines.append(f"| {K} | {name} | {number} | {values} | {row['coverage']:.3f} |")
    (given.out / "estimate_speed.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    pin_blas_threads()
    main()
