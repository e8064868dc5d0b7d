"""Errors of maximum likelihood with priors: fixed, of learnt strength, or none.

Samples have uniform random shares, shares near those of training (mild shift), or the same
shares. The data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from real_datasets import load
from tables import bullets, markdown_table

DATASETS = ("adult", "bike", "contra", "drugs", "fifa", "nurse", "spam", "wine")
N_TRAIN, SIZE, N_SAMPLES, N_SETS = 500, 200, 30, 3
SHIFTS = ("uniform", "mild", "none")


def methods() -> dict[str, Any]:
    return {
        "SLD": hc.SLD(calibration=None),
        "SLD, converged": hc.SLD(calibration=None, stop="converged"),
        "MAPLS, concentration 2": hc.RegularizedLikelihood(smoothness=0, concentration=2.0),
        "HierarchicalLikelihood": hc.HierarchicalLikelihood(),
    }


def shares(shift: str, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if shift == "uniform":
        return rng.dirichlet(np.ones(len(prior)), N_SAMPLES)
    if shift == "mild":
        return rng.dirichlet(20 * prior + 0.1, N_SAMPLES)
    return np.tile(prior, (N_SAMPLES, 1))


def errors_of(name: str, seed: int) -> np.ndarray:
    """Mean absolute error in points, one row per method and one column per shift."""
    found = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(found.y))
    train, pool = order[:N_TRAIN], order[N_TRAIN:]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scorer = hc.Scorer(classifier, random_state=0).fit(found.X[train], found.y[train])
    known = np.isin(found.y[pool], scorer.classes_)
    X, y = found.X[pool][known], np.searchsorted(scorer.classes_, found.y[pool][known])
    scored = scorer.score(X)
    columns = []
    for shift in SHIFTS:
        wanted = shares(shift, scorer.prior_, rng)
        samples = hc.Prevalences(wanted, size=SIZE, random_state=seed).draw(y)
        truth = samples.prevalence_of(y, len(scorer.classes_))
        answers = [q.fit_scorer(scorer).predict_many(scored, samples)
                   for q in methods().values()]  # fmt: skip
        columns.append([100 * np.abs(answer - truth).mean() for answer in answers])
    return np.array(columns).T


def main(only: list[str]) -> None:
    warnings.simplefilter("ignore")
    table = []
    for name in only or DATASETS:
        table.append(np.mean([errors_of(name, seed) for seed in range(N_SETS)], axis=0))
        sys.stderr.write(f"{name} {table[-1].round(2).tolist()}\n")
    names = only or DATASETS
    cells = [
        [method, shift, *(f"{own[i, j]:.2f}" for own in table),
         f"{np.mean([own[i, j] for own in table]):.2f}"]
        for j, shift in enumerate(SHIFTS)
        for i, method in enumerate(methods())
    ]  # fmt: skip
    text = (
        "# Maximum likelihood with priors\n\n"
        "Written by `benchmarks/frontier_priors.py`. Mean absolute error of the shares in "
        f"percentage points: {N_TRAIN} labelled items, logistic regression, {N_SETS} training "
        f"sets, {N_SAMPLES} samples of {SIZE} items for each kind of shift.\n\n"
        + markdown_table(["method", "shift", *names, "mean"], cells)
        + "\n\n"
        + bullets(describe_machine())
        + "\n"
    )
    (RESULTS / "frontier_priors.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
