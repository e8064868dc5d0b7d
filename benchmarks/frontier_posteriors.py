"""Posterior distributions of headcount and of QuaPy's Bayesian methods, on the same scores.

The models are the same where both have them, the samplers differ: Gibbs and slice sampling
here, Hamiltonian Monte Carlo there. Both sides get the same posteriors of all items.
Needs QuaPy with its extra `bayes`, as `frontier_intervals.py`. The data are read from
HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from quapy.method import AGGREGATIVE_METHODS
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from real_data_peers import PosteriorsAsFeatures
from real_datasets import load
from tables import bullets, markdown_table

DATASETS = ("adult", "spam", "contra")
N_TRAIN, SIZE, N_SAMPLES = 300, 200, 3
HEAD = (
    "headcount", "QuaPy", "shares of", "samples", "means", "ends", "means, two seeds",
    "ends, two seeds", "remark",
)  # fmt: skip


class Pair(NamedTuple):
    """Methods with the same likelihood, and the shares that QuaPy's draws are of."""

    ours: Any
    theirs: str
    target: str
    remark: str = ""


PAIRS = (
    Pair(hc.ACC, "BayesianCC", "expected"),
    Pair(hc.DyS, "PQ", "realised", "4 bins of scores, two classes"),
    Pair(hc.SLD, "BayesianMAPLS", "expected", "a normal prior of log-ratios there"),
    Pair(hc.KDEyML, "BayesianKDEy", "expected"),
)


def summary(draws: np.ndarray) -> np.ndarray:
    """Mean and ends of 95% intervals, one row each."""
    return np.concatenate(
        [draws.mean(axis=0)[None], np.quantile(draws, [0.025, 0.975], axis=0)]
    )


def differences(name: str) -> dict[str, list[np.ndarray]]:
    """Differences between both sides, and between two seeds of ours, of each pair."""
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    train, rest = order[:N_TRAIN], order[N_TRAIN:]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scorer = hc.Scorer(classifier, random_state=0).fit(data.X[train], data.y[train])
    known, scores = scorer.posteriors_, scorer.posteriors(data.X[rest])
    samples = hc.UPP(n_samples=N_SAMPLES, size=SIZE, random_state=0).draw(data.y[rest])
    methods = {method.__name__: method for method in AGGREGATIVE_METHODS}
    found = defaultdict(list)
    for pair in PAIRS:
        if known.shape[1] > 2 and pair.theirs == "PQ":
            continue
        ours = pair.ours(random_state=0).fit(hc.Scored(known), scorer.codes_)
        theirs = methods[pair.theirs](PosteriorsAsFeatures()).fit(known, scorer.codes_)
        for sample in samples:
            draws = [
                ours.estimate(
                    hc.Scored(scores[sample]),
                    posterior=True,
                    target=pair.target,
                    random_state=s,
                ).draws
                for s in (0, 1)
            ]
            mean, region = theirs.predict_conf(scores[sample])
            other = np.array([np.ravel(each) for each in (mean, region.I_low, region.I_high)])
            first, second = (summary(each) for each in draws)
            found[pair.theirs].append(np.abs([first - other, first - second]).mean(axis=2))
        sys.stderr.write(f"{name} {pair.theirs} {np.mean(found[pair.theirs], axis=0)}\n")
    return found


def main(only: list[str]) -> None:
    warnings.simplefilter("ignore")
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    names = only or list(DATASETS)
    for name in names:
        for pair, rows in differences(name).items():
            found[pair] += rows
    cells = []
    for pair in PAIRS:
        (mean, *ends), (mean_2, *ends_2) = 100 * np.mean(found[pair.theirs], axis=0)
        cells.append([
            f"`{pair.ours.__name__}`", f"`{pair.theirs}`", pair.target,
            str(len(found[pair.theirs])), f"{mean:.2f}", f"{np.mean(ends):.2f}",
            f"{mean_2:.2f}", f"{np.mean(ends_2):.2f}", pair.remark,
        ])  # fmt: skip
    text = (
        "# Posteriors of headcount and QuaPy\n\n"
        f"Written by `benchmarks/frontier_posteriors.py`. Datasets: {', '.join(names)}; "
        f"{N_TRAIN} labelled items, {N_SAMPLES} samples of {SIZE} items with uniform random "
        "shares from each, the same posteriors for both. Mean absolute differences in "
        "percentage points, of the posterior means and of the ends of 95% intervals; then "
        "those between two random seeds of headcount, the noise of 1,000 draws.\n\n"
        + markdown_table(list(HEAD), cells)
        + "\n\n"
        + bullets(describe_machine())
        + "\n"
    )
    (RESULTS / "frontier_posteriors.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
