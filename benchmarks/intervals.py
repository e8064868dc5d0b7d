"""How often intervals hold what they are for, and how wide they are.

    python intervals.py [--quick] [--workers 2] [--out results]
    python intervals.py --classes 5 --training 500 --sizes 50 500 --methods KDEyML --out other

Classes are Gaussian clouds that overlap, so that there is always something to get wrong. In a
cell (classes, training items, items in a sample) many training sets are drawn, each with a mix
of its own, and for each a few samples whose mix is uniform on the simplex. A regression is
cross-fitted on the training set; every method is fitted on its scores. The truth is the mix of
the sample itself (target "realised"). An interval counts as interior if the true share of its
class is between 0.1 and 0.9, and as near the boundary otherwise; of two classes only one is
counted, as the other's interval is its mirror image. A region counts by itself: as interior
if all shares are.

SLD is calibrated by "bcts", but for "SLD (plain)", which was given out-of-fold scores and no
calibration; CC is there for its posterior alone, as all else takes it to be right.
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
RULES = (
    "auto", "percentile", "centred", "bca", "inverted", "delta", "profile", "bayes", "region",
)  # fmt: skip
SLOW = ("bayes", "profile")
ON_SCORES = ("SLD (plain)", "CC")


def methods(n_classes):
    two = n_classes == 2
    return {
        "ACC": hc.ACC(),
        "PACC": hc.PACC(),
        "GPAC": hc.GPAC(),
        "SLD (bcts)": hc.SLD(calibration="bcts"),
        "DyS": hc.DyS() if two else hc.OneVsRest(hc.DyS()),
        "KDEyML": hc.KDEyML(),
        "SLD (plain)": hc.SLD(),
        "CC": hc.CC(),
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
    """Methods on a few training sets of a cell; sums that add up over tasks."""
    (n_classes, n_training, size), seeds, given = task
    sums = defaultdict(lambda: np.zeros(3))
    warnings.simplefilter("ignore", hc.HeadcountWarning)
    for seed in seeds:
        other = [given.seed] if given.seed else []
        rng = np.random.default_rng([n_classes, n_training, size, seed, *other])
        X, y = labelled(n_classes, n_training, rng)
        pool, samples, truth = drawn(n_classes, size, given.samples, rng)
        scorer = hc.Scorer(LogisticRegression(max_iter=1000), random_state=0).fit(X, y)
        for name, quantifier in methods(n_classes).items():
            if name not in given.methods:
                continue
            start = perf_counter()
            estimates = estimated(name, quantifier, scorer, pool, samples, given, seed)
            sums[name, "", "seconds"] += perf_counter() - start
            for number, (estimate, shares) in enumerate(zip(estimates, truth, strict=True)):
                tally(sums, name, estimate, shares, number < given.slow)
    return (n_classes, n_training, size), dict(sums)


def estimated(name, quantifier, scorer, pool, samples, given, seed):
    options = {
        "replicates": given.replicates, "training_replicates": given.training_replicates,
        "random_state": seed,
    }  # fmt: skip
    if name not in ON_SCORES:
        return quantifier.fit_scorer(scorer).estimate_many(pool, samples, **options)
    quantifier.fit_scores(scorer.posteriors_, scorer.codes_)
    return quantifier.estimate_many_scores(scorer.posteriors(pool), samples, **options)


def tally(sums, name, estimate, shares, all_rules):
    """Count hits and add up widths, of rules that take their time on a few samples only."""
    counted = np.arange(len(shares)) > 0 if len(shares) == 2 else np.ones(len(shares), bool)
    inner = (shares >= 0.1) & (shares <= 0.9)
    rules = ("bayes",) if name == "CC" else ("auto", *estimate.interval_methods)
    for rule in rules:
        if rule in SLOW and not all_rules:
            continue
        ends = estimate.interval(LEVEL, rule)
        hit = (ends.low <= shares + 1e-9) & (shares <= ends.high + 1e-9)
        for place, where in (("interior", inner), ("boundary", ~inner)):
            chosen = counted & where
            width = (ends.high - ends.low)[chosen].sum()
            sums[name, rule, place] += (chosen.sum(), hit[chosen].sum(), width)
    if name != "CC":
        inside = estimate.region(LEVEL).contains(shares)
        sums[name, "region", "interior" if inner.all() else "boundary"] += (1, inside, 0)
        noted = any("biased here" in text for text in estimate.warnings)
        sums[name, "noted as biased", "all"] += (1, noted, 0)


def run(cells, given):
    tasks = [
        (cell, seeds.tolist(), given)
        for cell in cells
        for seeds in np.array_split(np.arange(given.sets), max(1, given.sets // 10))
    ]
    # The long ones first, so that no worker is left with one at the end.
    tasks.sort(key=lambda task: -task[0][0] * (task[0][1] + given.samples * task[0][2]))
    total = defaultdict(lambda: np.zeros(3))
    with ProcessPoolExecutor(given.workers) as pool:
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


def keep(path, settings, rows):
    """Write results beside those of other cells and methods that are there already."""
    old = json.loads(path.read_text()) if path.exists() else {"settings": [], "rows": []}
    before = old["settings"] if isinstance(old["settings"], list) else [old["settings"]]

    def place(row):
        return row["classes"], row["training"], row["size"], row["method"]

    new = {place(row) for row in rows}
    rows = [row for row in old["rows"] if place(row) not in new] + rows
    kept = {"settings": [*before, settings], "rows": rows}
    path.write_text(json.dumps(kept, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--samples", type=int, default=5, help="of each training set")
    parser.add_argument("--slow", type=int, default=1, help="of these, with the slow rules")
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--training-replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="other data for another number")
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES)
    parser.add_argument("--training", type=int, nargs="+", default=TRAINING)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--methods", nargs="+", default=list(methods(2)))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    if given.quick:
        given.sets, given.samples = 10, 5
    cells = [(k, t, n) for k in given.classes for t in given.training for n in given.sizes]
    start = perf_counter()
    rows = rows_of(run(cells, given))
    settings = {
        "level": LEVEL, "cells": cells, "methods": given.methods, "training_sets": given.sets,
        "samples_each": given.samples, "with_slow_rules": given.slow,
        "replicates": given.replicates, "training_replicates": given.training_replicates,
        "seed": given.seed, "seconds": round(perf_counter() - start),
    }  # fmt: skip
    for row in rows:
        row["sets"] = given.sets
    given.out.mkdir(parents=True, exist_ok=True)
    keep(given.out / "coverage.json", settings, rows)
    for rule in RULES:
        for place in ("interior", "boundary"):
            if not any(row["rule"] == rule for row in rows):
                continue
            print(f"\n{rule}, {place}\n\n{table(rows, rule, place)}")
    print(settings)


if __name__ == "__main__":
    main()
