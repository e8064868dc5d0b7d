"""How often intervals hold what they are for, and how wide they are.

    python intervals.py [--quick] [--workers 2] [--out results]

Classes are Gaussian clouds that overlap, so that there is always something to get wrong. In a
cell (classes, training items, items in a sample) many training sets are drawn, each with a mix
of its own, and for each a few samples whose mix is uniform on the simplex. A regression is
cross-fitted on the training set; every method is fitted on its scores. The truth is the mix of
the sample itself (target "realised"). An interval counts as interior if the true share of its
class is between 0.1 and 0.9, and as near the boundary otherwise; of two classes only one is
counted, as the other's interval is its mirror image.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("HEADCOUNT_NUM_THREADS", "1")

import argparse
import json
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.sampling import Samples

LEVEL = 0.95
TRAINING = (500, 5000)
SIZES = (50, 500, 2000)
CLASSES = (2, 5)
FEATURES = 10
SEPARATION = 0.6
RULES = ("auto", "percentile", "centred", "bca", "delta", "profile", "bayes", "region")
SLOW, FEW = ("bayes", "profile"), 1


def methods(n_classes):
    two = n_classes == 2
    return {
        "ACC": hc.ACC(),
        "PACC": hc.PACC(),
        "GPAC": hc.GPAC(),
        "SLD (bcts)": hc.SLD(calibration="bcts"),
        "DyS": hc.DyS() if two else hc.OneVsRest(hc.DyS()),
        "KDEyML": hc.KDEyML(),
    }


def items_of(codes, n_classes, rng):
    centres = np.random.default_rng(7).normal(size=(n_classes, FEATURES)) * SEPARATION
    return centres[codes] + rng.normal(size=(len(codes), FEATURES))


def labelled(n_classes, n_training, rng):
    """A training set with a mix of its own, no class of which is tiny."""
    while True:
        codes = rng.choice(n_classes, n_training, p=rng.dirichlet(np.full(n_classes, 10.0)))
        if np.bincount(codes, minlength=n_classes).min() >= 20:
            return items_of(codes, n_classes, rng), codes


def drawn(n_classes, size, n_samples, rng):
    """A pool cut into samples, and the shares these really have."""
    shares = rng.dirichlet(np.ones(n_classes), n_samples)
    counts = np.stack([rng.multinomial(size, row) for row in shares])
    codes = np.concatenate([np.repeat(np.arange(n_classes), row) for row in counts])
    rows = np.arange(len(codes)).reshape(n_samples, size)
    samples = Samples.from_arrays(list(rows), n_pool=len(codes))
    return items_of(codes, n_classes, rng), samples, counts / size


def simulate(task):
    """All methods on a few training sets of a cell; sums that add up over tasks."""
    (n_classes, n_training, size), seeds, per_set, replicates, training_replicates, other = task
    sums = defaultdict(lambda: np.zeros(3))
    warnings.simplefilter("ignore", hc.HeadcountWarning)
    for seed in seeds:
        rng = np.random.default_rng([n_classes, n_training, size, seed, *other])
        X, y = labelled(n_classes, n_training, rng)
        pool, samples, truth = drawn(n_classes, size, per_set, rng)
        scorer = hc.Scorer(LogisticRegression(max_iter=1000), random_state=0).fit(X, y)
        for name, quantifier in methods(n_classes).items():
            start = perf_counter()
            estimates = quantifier.fit_scorer(scorer).estimate_many(
                pool,
                samples,
                replicates=replicates,
                training_replicates=training_replicates,
                random_state=seed,
            )
            sums[name, "", "seconds"] += perf_counter() - start
            for number, (estimate, shares) in enumerate(zip(estimates, truth, strict=True)):
                tally(sums, name, estimate, shares, number < FEW)
    return (n_classes, n_training, size), dict(sums)


def tally(sums, name, estimate, shares, all_rules):
    """Count hits and add up widths, of rules that take their time on a few samples only."""
    counted = np.arange(len(shares)) > 0 if len(shares) == 2 else np.ones(len(shares), bool)
    inner = (shares >= 0.1) & (shares <= 0.9)
    for rule in ("auto", *estimate.interval_methods):
        if rule in SLOW and not all_rules:
            continue
        ends = estimate.interval(LEVEL, rule)
        hit = (ends.low <= shares + 1e-9) & (shares <= ends.high + 1e-9)
        for place, where in (("interior", inner), ("boundary", ~inner)):
            chosen = counted & where
            width = (ends.high - ends.low)[chosen].sum()
            sums[name, rule, place] += (chosen.sum(), hit[chosen].sum(), width)
    inside = estimate.region(LEVEL).contains(shares)
    sums[name, "region", "interior" if inner.all() else "boundary"] += (1, inside, 0)


def run(n_sets, per_set, replicates, training_replicates, workers, cells, other):
    tasks = [
        (cell, seeds.tolist(), per_set, replicates, training_replicates, other)
        for cell in cells
        for seeds in np.array_split(np.arange(n_sets), max(1, n_sets // 10))
    ]
    # The long ones first, so that no worker is left with one at the end.
    tasks.sort(key=lambda task: -task[0][0] * (task[0][1] + per_set * task[0][2]))
    total = defaultdict(lambda: np.zeros(3))
    with ProcessPoolExecutor(workers) as pool:
        for cell, sums in pool.map(simulate, tasks):
            for key, values in sums.items():
                total[(*cell, *key)] += values
    return total


def rows_of(total):
    rows = []
    for (n_classes, n_training, size, name, rule, place), (n, hits, width) in total.items():
        if place == "seconds" or not n:
            continue
        rows.append(
            {
                "classes": n_classes, "training": n_training, "size": size, "method": name,
                "rule": rule, "place": place, "intervals": int(n), "coverage": hits / n,
                "width": width / n,
            }
        )  # fmt: skip
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


def table(rows, rule, place):
    """Coverage (and mean width) as Markdown: a row a cell, a column a method."""
    names = [name for name in methods(2) if any(_is(row, rule, place, name) for row in rows)]
    header = ["classes", "training", "n", *names]
    lines = ["| " + " | ".join(header) + " |", "|" + " ---: |" * len(header)]
    for cell in sorted({(row["classes"], row["training"], row["size"]) for row in rows}):
        shown = [f"{number:,}" for number in cell]
        for name in names:
            here = [
                row
                for row in rows
                if _is(row, rule, place, name)
                and (row["classes"], row["training"], row["size"]) == cell
            ]
            shown.append(" ".join(_shown(row) for row in here))
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _is(row, rule, place, name):
    return (row["rule"], row["place"], row["method"]) == (rule, place, name)


def _shown(row):
    width = f" ({row['width']:.3f})" if row["width"] else ""
    return f"{row['coverage']:.3f}{width}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--samples", type=int, default=5, help="of each training set")
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--training-replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="other data for another number")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    cells = [(k, t, n) for k in CLASSES for t in TRAINING for n in SIZES]
    n_sets, per_set = (10, 5) if given.quick else (given.sets, given.samples)
    start = perf_counter()
    total = run(
        n_sets,
        per_set,
        given.replicates,
        given.training_replicates,
        given.workers,
        cells,
        [given.seed] if given.seed else [],
    )
    rows = rows_of(total)
    settings = {
        "level": LEVEL, "training_sets": n_sets, "samples_each": per_set,
        "replicates": given.replicates, "training_replicates": given.training_replicates,
        "seed": given.seed, "seconds": round(perf_counter() - start),
    }  # fmt: skip
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "coverage.json").write_text(
        json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n"
    )
    for rule in RULES:
        for place in ("interior", "boundary"):
            print(f"\n{rule}, {place}\n\n{table(rows, rule, place)}")
    print(settings)


if __name__ == "__main__":
    main()
