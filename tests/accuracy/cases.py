"""Data and one quick instance of every method, for the conformance tests."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.accuracy.base import predictors

SIMPLE = hc.PACC(LogisticRegression(C=0.1, max_iter=1000), cv=2, random_state=0)
PARAMETERS = {
    "LEAP": {"quantifier": hc.SLD()},
    "OLEAP": {"quantifier": hc.PACC()},
    "SLEAP": {"quantifier": hc.KDEyML()},
    "DispersionScore": {"n_samples": 20, "size": 200, "random_state": 0},
    "DoC": {"n_samples": 20, "size": 200, "random_state": 0},
    "NuclearNorm": {"n_samples": 20, "size": 200, "random_state": 0},
    "PAPE": {"learner": LogisticRegression()},
    "RCA": {"n_samples": 6, "size": 80, "random_state": 0},
    "RCAStar": {"n_samples": 6, "size": 80, "random_state": 0},
    "QuAcc": {"quantifier": SIMPLE},
    "QuAccSearch": {
        "quantifier": SIMPLE,
        "param_grid": {"variant": ["nxn"]},
        "n_samples": 5,
        "size": 100,
        "random_state": 0,
    },
}
NAMES = list(predictors())
OF_SCORES = [name for name in NAMES if predictors()[name].info.input != "features"]
QUICK = {"replicates": 200, "random_state": 0}


def make(name, model=None, **more):
    return predictors()[name](model, **PARAMETERS.get(name, {}), **more)


@cache
def data(K):
    """A trained model, labelled items, and a pool with other shares and its labels."""
    rng = np.random.default_rng(K)
    centres = 0.9 * rng.normal(size=(K, 3))
    labels = np.array(["ant", "bee", "cat", "dog"][:K])

    def draw(n, shares):
        codes = rng.choice(K, n, p=shares)
        return centres[codes] + rng.normal(size=(n, 3)), labels[codes]

    prior = np.arange(K, 0, -1) / np.arange(1, K + 1).sum()
    X, y = draw(300, prior)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    return model, draw(320, prior), draw(260, prior[::-1])


def fitted(name, K):
    model, (X, y), _ = data(K)
    return make(name, model).fit(X, y)


def some_samples(n, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(n, size=size) for size in (60, 1, 35, 90)]
