"""Coverage of intervals for the realised accuracy, under prior shift.

    python accuracy_intervals.py [--out results] [--trials 40] [--samples 5]

Generated clouds of two and of four classes; a model trained on 3,000 items with equal shares;
for every trial a new reference of 500 or 5,000 items with shares of 0.7 and 0.3, or 0.1 to 0.4,
and new samples of 100 to 1,000 items with shares uniform on the simplex. The goal is 90% to 98%
at the level of 95%.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

os.environ.setdefault("HEADCOUNT_NUM_THREADS", "1")

from environment import describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import headcount as hc  # noqa: E402
from headcount import accuracy  # noqa: E402
from tables import markdown_table  # noqa: E402

LEVEL = 0.95
SIZES = (100, 300, 1000)
REFERENCES = (500, 5000)
SHARES = {2: (0.7, 0.3), 4: (0.1, 0.2, 0.3, 0.4)}


def items(n_classes, codes, rng):
    """Overlapping clouds, ten features; the model is right on some 80% of them."""
    centres = np.random.default_rng(n_classes).normal(size=(n_classes, 10))
    centres *= (1.6 if n_classes == 2 else 2.2) / np.linalg.norm(centres, axis=1, keepdims=True)
    return rng.normal(size=(len(codes), 10)) + centres[codes]


def methods(model):
    scores_only = hc.SLD(calibration="bcts")
    return {
        "LEAP(KDEy)": accuracy.LEAP(model),
        "SLEAP(SLD)": accuracy.SLEAP(model, quantifier=scores_only),
        "QuAcc(SLD)": accuracy.QuAcc(model),
        "CBPE": accuracy.CBPE(model),
        "CBPE, prior shift": accuracy.CBPE(model, correction="prior"),
    }


def trial(n_classes, n_reference, seed, samples_each, model):
    """Coverage, width and error of every method and size, with one reference."""
    rng = np.random.default_rng([n_classes, n_reference, seed])
    shares = np.asarray(SHARES[n_classes])
    y = rng.permutation(
        np.repeat(np.arange(n_classes), np.round(shares * n_reference).astype(int))
    )
    X = items(n_classes, y, rng)
    labels = rng.integers(n_classes, size=30000)
    pool = items(n_classes, labels, rng)
    right = model.predict(pool) == labels
    rows = []
    drawn = {
        size: hc.UPP(n_samples=samples_each, size=size, random_state=seed).draw(labels)
        for size in SIZES
    }
    for name, predictor in methods(model).items():
        predictor.fit(X, y)
        for size, samples in drawn.items():
            found = predictor.estimate_many(pool, samples, random_state=seed)
            for estimate, rows_ in zip(found, samples, strict=True):
                true = right[rows_].mean()
                low, high = estimate.interval(LEVEL)
                rows.append((name, size, low - 1e-12 <= true <= high + 1e-12, high - low,
                             abs(estimate.value - true)))  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--samples", type=int, default=5)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    results = []
    for n_classes in SHARES:
        rng = np.random.default_rng(n_classes)
        codes = rng.integers(n_classes, size=3000)
        model = LogisticRegression(max_iter=1000).fit(items(n_classes, codes, rng), codes)
        for n_reference in REFERENCES:
            rows = [
                row
                for seed in range(given.trials)
                for row in trial(n_classes, n_reference, seed, given.samples, model)
            ]
            for key in dict.fromkeys((name, size) for name, size, *_ in rows):
                part = np.array([row[2:] for row in rows if row[:2] == key], dtype=float)
                covered, width, error = part.mean(axis=0)
                results.append(
                    {"classes": n_classes, "reference": n_reference, "method": key[0],
                     "size": key[1], "trials": len(part), "covered": float(covered),
                     "width": float(width), "error": float(error)}
                )  # fmt: skip
            content = {"head": describe_machine(), "level": LEVEL, "rows": results}
            (given.out / "accuracy_intervals.json").write_text(
                json.dumps(content, indent=1) + "\n"
            )
            (given.out / "accuracy_intervals.md").write_text(table(results) + "\n")
            print(table(results), flush=True)


def table(results):
    """Markdown: coverage in percent (mean width), one column per size."""
    lines = {}
    for row in results:
        key = (str(row["classes"]), f"{row['reference']:,}", row["method"])
        lines.setdefault(key, {})[row["size"]] = (
            f"{100 * row['covered']:.1f} ({row['width']:.2f})"
        )
    header = ["classes", "reference", "method", *(f"n = {size:,}" for size in SIZES)]
    return markdown_table(
        header, [[*key, *map(cells.get, SIZES)] for key, cells in lines.items()]
    )


if __name__ == "__main__":
    main()
