"""Intervals beside quapy's AggregativeBootstrap: seconds, coverage and width.

    python intervals_versus_quapy.py [--out results]

Both sides resample with the classifier trained once; each fits its own. Seconds are of one
call with 500 replicates of the sample, its classification included, on one thread, the best of
three. Replicates of the training set (n_train_samples > 1) are left out: with quapy 0.2.3 they
end in an AttributeError. Coverage is of the shares that the sample really has.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("HEADCOUNT_NUM_THREADS", "1")

import argparse
import json
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from quapy.method.aggregative import ACC, EMQ, PACC, DyS
from quapy.method.confidence import AggregativeBootstrap
from sklearn.linear_model import LogisticRegression

import headcount as hc
from intervals import drawn, labelled
from timing import best_of_three

LEVEL = 0.95
N_TRAINING, SIZE, REPLICATES = 1000, 500, 500


def classifier():
    return LogisticRegression(max_iter=1000)


def pairs(n_classes):
    """Ours, and theirs with the same classifier and folds."""
    found = {
        "ACC": (hc.ACC(classifier()), ACC(classifier(), val_split=5)),
        "PACC": (hc.PACC(classifier()), PACC(classifier(), val_split=5)),
        "SLD": (
            hc.SLD(classifier(), calibration="bcts"),
            EMQ(classifier(), calib="bcts", val_split=5),
        ),
    }
    if n_classes == 2:
        found["DyS"] = (hc.DyS(classifier()), DyS(classifier(), val_split=5))
    return found


def seconds(n_classes):
    """Ours and theirs for each method, for one sample."""
    rng = np.random.default_rng(n_classes)
    X, y = labelled(n_classes, N_TRAINING, rng)
    sample, _, _ = drawn(n_classes, SIZE, 1, rng)
    options = {"replicates": REPLICATES, "training_replicates": 0, "random_state": 0}
    rows = []
    for name, (ours, theirs) in pairs(n_classes).items():
        ours.fit(X, y)
        peer = AggregativeBootstrap(theirs, n_test_samples=REPLICATES, random_state=0)
        peer.fit(X, y)
        for target in ("expected", "realised"):
            ours.estimate(sample, target=target, **options)
        fast, _ = best_of_three(
            lambda q=ours: q.estimate(sample, target="expected", **options).interval()
        )
        slow, _ = best_of_three(lambda q=peer: q.predict_conf(sample))
        rows.append(
            {
                "method": name, "classes": n_classes,
                "ours": fast, "quapy": slow, "ratio": slow / fast,
            }
        )  # fmt: skip
    return rows


def coverage(n_training, size, n_sets, per_set):
    """Shares of intervals that hold the true share, and their mean width, of both sides.

    Of two classes, and of the methods that do not take quapy minutes.
    """
    hits = {}
    for seed in range(n_sets):
        rng = np.random.default_rng([n_training, size, seed])
        X, y = labelled(2, n_training, rng)
        pool, samples, truth = drawn(2, size, per_set, rng)
        for name, (ours, theirs) in pairs(2).items():
            if name not in ("SLD", "DyS"):
                continue
            estimates = ours.fit(X, y).estimate_many(
                pool, samples, replicates=400, training_replicates=200, random_state=seed
            )
            peer = AggregativeBootstrap(theirs, n_test_samples=100, random_state=seed)
            peer.fit(X, y)
            for estimate, rows, shares in zip(estimates, samples, truth, strict=True):
                inner = (shares >= 0.1) & (shares <= 0.9) & [False, True]
                ends = estimate.interval(LEVEL)
                _, region = peer.predict_conf(pool[rows])
                low, high = np.asarray(region.I_low), np.asarray(region.I_high)
                for side, a, b in (("ours", ends.low, ends.high), ("quapy", low, high)):
                    held = (a <= shares + 1e-9) & (shares <= b + 1e-9)
                    counts = hits.setdefault((name, side), [[], []])
                    counts[0] += held[inner].tolist()
                    counts[1] += (b - a)[inner].tolist()
    return [
        {
            "method": name, "training": n_training, "size": size, "side": side,
            "coverage": float(np.mean(held)), "width": float(np.mean(widths)),
        }
        for (name, side), (held, widths) in hits.items()
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    times = [row for k in (2, 5) for row in seconds(k)]
    for row in times:
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
    covered = [
        row
        for n_training, size in ((500, 2000), (5000, 200))
        for row in coverage(n_training, size, given.sets, given.samples)
    ]
    for row in covered:
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "intervals_versus_quapy.json").write_text(
        json.dumps({"quapy": version("quapy"), "seconds": times, "coverage": covered}, indent=1)
        + "\n"
    )


if __name__ == "__main__":
    main()
