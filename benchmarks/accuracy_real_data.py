"""Coverage of intervals for the accuracy of a model on real data, under prior shift.

    python accuracy_real_data.py [--out results] [--splits 20] [--samples 10] [--data adult ...]

A logistic regression trained on 1,000 items, a reference of 500 or 2,000 items, and samples of
500 of the other items, with shares uniform on the simplex, or near those of the reference
(Dirichlet, 20 x shares). Each split has new training items, reference and samples. The goal is
90% to 98% at the level of 95%.
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
from sklearn.feature_extraction.text import TfidfTransformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

from headcount import accuracy  # noqa: E402
from headcount.accuracy.metrics import METRICS, table_of  # noqa: E402
from headcount.scores.scorer import ScoredPool  # noqa: E402
from real_datasets import SelectWords, load  # noqa: E402
from tables import markdown_table  # noqa: E402

DATASETS = ("adult", "elec2", "spam", "nurse", "womens_clothing_reviews")
LEVEL, N_TRAINING, SIZE = 0.95, 1000, 500
REFERENCES = (500, 2000)
SHIFTS = ("uniform", "mild")


def methods(model):
    return {
        "LEAP": accuracy.LEAP(model),
        "OLEAP": accuracy.OLEAP(model),
        "SLEAP": accuracy.SLEAP(model),
        "CBPE": accuracy.CBPE(model),
        "CBPE, prior shift": accuracy.CBPE(model, correction="prior"),
        "ATC": accuracy.ATC(model),
        "DoC": accuracy.DoC(model, random_state=0),
        "QuAcc": accuracy.QuAcc(model),
        "Naive": accuracy.Naive(model),
    }


def classifier(items):
    logistic = LogisticRegression(max_iter=1000)
    if items.kind != "text":
        return logistic
    return make_pipeline(SelectWords(), TfidfTransformer(sublinear_tf=True), logistic)


def split(y, sizes, rng):
    """Rows of parts of these sizes and of the rest, with the same shares of the classes."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    place = (np.arange(len(y)) + rng.random()) % len(y)
    # Items of each class are spread evenly over [0, 1), in random order.
    within = np.concatenate([
        (np.arange(count) + rng.random()) / count for count in np.bincount(y)
    ])  # fmt: skip
    ranked = order[np.lexsort((place, within))]
    edges = np.cumsum(sizes)
    return np.split(ranked, edges)


def draw(codes, shift, shares, n_samples, rng):
    """Samples without replacement; shares that the pool has too few items for are redrawn."""
    by_class = [np.flatnonzero(codes == j) for j in range(len(shares))]
    available = np.array([len(rows) for rows in by_class])
    alpha = np.ones(len(shares)) if shift == "uniform" else 20 * shares
    found = []
    while len(found) < n_samples:
        counts = rng.multinomial(SIZE, rng.dirichlet(alpha))
        if (counts <= available).all():
            parts = zip(by_class, counts, strict=True)
            found.append(np.concatenate([rng.choice(r, c, replace=False) for r, c in parts]))
    return found


def run_split(items, n_reference, seed, n_samples):
    """One row per method, metric, shift and sample: covered, width, errors."""
    rng = np.random.default_rng([n_reference, seed])
    training, reference, rest = split(items.y, [N_TRAINING, n_reference], rng)
    model = classifier(items).fit(items.X[training], items.y[training])
    K, codes = items.n_classes, items.y[rest]
    pool, labels = ScoredPool(items.X[rest]), model.predict(items.X[rest])
    shares = np.bincount(items.y[reference], minlength=K) / n_reference
    drawn = {shift: draw(codes, shift, shares, n_samples, rng) for shift in SHIFTS}
    rows = []
    for name, predictor in methods(model).items():
        predictor.fit(items.X[reference], items.y[reference])
        for metric in ("accuracy", "f1"):
            if not predictor.supports(metric):
                continue
            both = [rows_ for shift in SHIFTS for rows_ in drawn[shift]]
            found = predictor.estimate_many(pool, both, metric, random_state=seed)
            for number, (estimate, rows_) in enumerate(zip(found, both, strict=True)):
                true = float(METRICS[metric](table_of(codes[rows_], labels[rows_], K)))
                low, high = estimate.interval(LEVEL)
                rows.append(
                    {"method": name, "metric": metric, "shift": SHIFTS[number // n_samples],
                     "covered": bool(low - 1e-12 <= true <= high + 1e-12),
                     "width": high - low, "error": abs(estimate.value - true),
                     "raw_error": abs(estimate.raw - true)}
                )  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=DATASETS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    results = []
    for name in given.data:
        items = load(name)
        for n_reference in REFERENCES:
            rows = [
                row
                for seed in range(given.splits)
                for row in run_split(items, n_reference, seed, given.samples)
            ]
            results += summary(rows, {"data": name, "reference": n_reference})
            content = {"head": describe_machine(), "level": LEVEL, "rows": results}
            path = given.out / "accuracy_real_data.json"
            path.write_text(json.dumps(content, indent=1) + "\n")
            (given.out / "accuracy_real_data.md").write_text(table(results) + "\n")
            print(name, n_reference, flush=True)
    print(table(results))


def summary(rows, facts):
    """Means over splits and samples."""
    found = []
    for key in dict.fromkeys((r["method"], r["metric"], r["shift"]) for r in rows):
        part = [r for r in rows if (r["method"], r["metric"], r["shift"]) == key]
        means = {
            name: float(np.mean([r[name] for r in part]))
            for name in ("covered", "width", "error", "raw_error")
        }
        labels = dict(zip(("method", "metric", "shift"), key, strict=True))
        found.append({**facts, **labels, "n": len(part), **means})
    return found


def table(results):
    """Markdown: coverage in percent (mean width), one column per dataset."""
    datasets = list(dict.fromkeys(row["data"] for row in results))
    lines = {}
    for row in results:
        key = (row["metric"], row["shift"], f"{row['reference']:,}", row["method"])
        cells = lines.setdefault(key, {})
        cells[row["data"]] = f"{100 * row['covered']:.0f} ({row['width']:.2f})"
    header = ["metric", "shift", "reference", "method", *datasets]
    rows = [
        [*key, *(cells.get(name, "") for name in datasets)]
        for key, cells in sorted(lines.items())
    ]
    return markdown_table(header, rows)


if __name__ == "__main__":
    main()
