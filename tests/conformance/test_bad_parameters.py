"""Parameters of the wrong kind or value are refused by name, when the quantifier is fitted."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from headcount.errors import HeadcountError
from headcount.quantifiers.base import ScoringPlan
from headcount.quantifiers.ensemble import Ensemble
from headcount.quantifiers.features import HDx
from headcount.quantifiers.matching import DyS
from headcount.samples.protocols import UPP
from headcount.testing.bad_input import UNUSED_WITH_SCORES, checked_parameters
from tests.conformance.cases import CASES, labelled, labelled_scores

COUNT = (0, -1, 1.5, "x", True, None)
POSITIVE = (0, -1, np.nan, np.inf, "x")
NOT_NEGATIVE = (-1, np.nan, np.inf, "x", True)
BAD = {
    "C": POSITIVE,
    "alpha": (*POSITIVE, None),
    "bandwidth": (*POSITIVE, None),
    "blocks": COUNT,
    "branches": COUNT,
    "budget": (0, -1, np.nan, "x", "10", "10 days"),
    "bins": (*COUNT, 1, (), (0,), (1.5,), (True,), "10"),
    "calibration": ("foo", 3),
    "classifier": (3, "x", LogisticRegression),
    "classifiers": (3, "x", [], [3], [LogisticRegression], LogisticRegression()),
    "combine": ("foo", 3, None),
    "concentration": (
        *(0, 0.5, -1, np.nan, np.inf, "x", None, True),
        *([], [2.0, 0.5], [2.0, np.nan], [[2.0, 2.0]], [2.0, [2.0]], ["x", "y"], [2.0] * 4),
    ),
    "criterion": ("foo", 3, None),
    "cv": (1, 0, -1, 2.5, "x", True, None),
    "decimals": (-1, 1.5, "x", True),
    "device": ("foo", 3, None),
    "dimensions": COUNT,
    "dropout": (1, 1.5, -1, np.nan, "x", True, None),
    "epochs": COUNT,
    "estimates": ("SLD", 3, None, ["foo"], ["HDx"], [3]),
    "features": COUNT,
    "gaussians": COUNT,
    "head": (3, "x", (), (0,), None),
    "heads": (*COUNT, 3),
    "inducing": COUNT,
    "learning_rate": (*POSITIVE, None),
    "loss": ("foo", 3, None),
    "patience": COUNT[:-1],
    "pooling": ("foo", 3, None),
    "units": COUNT,
    "votes": ("foo", 3, None),
    "width": (*COUNT, 0),
    "distance": ("foo", 3, None),
    "divergence": ("foo", 3, None),
    "flatness": (*NOT_NEGATIVE, None),
    "gamma": (*POSITIVE, None),
    "keep": (0, -1, 1.5, np.nan, "x", True, None),
    "kernel": ("foo", 3, None),
    "max_depth": COUNT[:-1],
    "max_features": COUNT[:-1],
    "max_iter": COUNT,
    "midpoints": ("x", 3, None),
    "min_samples_leaf": COUNT,
    "n_components": COUNT[:-1],
    "n_estimators": COUNT,
    "n_jobs": (0, 1.5, "x", True),
    "n_members": COUNT,
    "n_neighbors": COUNT,
    "n_points": COUNT,
    "n_projections": COUNT,
    "n_quantiles": COUNT,
    "n_subsets": COUNT,
    "p_delta": (0, 1, -1, np.nan, "x", True),
    "policy": ("foo", 3, None),
    "prior": (0, -1.0, "x", [1.0], [1.0, 0.0], [[0.5, 0.6]], np.nan, [[]]),
    "protocol": (3, "x", UPP),
    "quantifier": ("x", 3, DyS),
    "quantifiers": (3, "x", [], [3], [DyS], DyS(), [Ensemble()], [HDx()]),
    "replicates": (*COUNT, 99, np.nan),
    "scope": ("foo", 3, None),
    "scoring": ("x", None),
    "shrinkage": (*NOT_NEGATIVE, None),
    "size": (*COUNT[:-1], 1),
    "smoothness": (*NOT_NEGATIVE, None),
    "soft": ("x", 3, None),
    "steps": COUNT,
    "stop": ("foo", 3, None),
    "subset_size": COUNT[:-1],
    "threshold": (0, 1.5, -1, np.nan, "x", True),
    "thresholds": ("foo", 3, None),
    "tol": POSITIVE,
    "weights": ("foo", 3, [1.0], [1.0] * 9, [-1.0, 2.0, 1.0], [-1.0, 2.0, 1.0, 1.0], ["x"] * 3),
}


def fine(case, name, value):
    """True for values that are bad for other methods only."""
    if (
        value is None
        and inspect.signature(type(case.prototype)).parameters[name].default is None
    ):
        return True
    # Methods that do not learn from scores need folds for estimates only.
    return name == "cv" and value is None and not ScoringPlan(case.prototype).learns


BAD_CALLS = [
    pytest.param(case, name, value, id=f"{case.name}({name}={value!r})")
    for case in CASES
    if case.n_classes == 2
    for name in checked_parameters(case)
    for value in BAD.get(name, ())
    if not fine(case, name, value)
]
BAD_CALLS_WITH_SCORES = [
    call
    for call in BAD_CALLS
    if call.values[0].takes_scores and call.values[1] not in UNUSED_WITH_SCORES
]


@pytest.mark.parametrize(("case", "name", "value"), BAD_CALLS)
def test_bad_parameters(case, name, value):
    X, y = labelled(2)
    quantifier = case.make().set_params(**{name: value})
    with pytest.raises(HeadcountError, match=name) as caught:
        quantifier.fit(X, y)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("case", "name", "value"), BAD_CALLS_WITH_SCORES)
def test_bad_parameters_with_scores(case, name, value):
    quantifier = case.make().set_params(**{name: value})
    with pytest.raises(HeadcountError, match=name):
        quantifier.fit(*labelled_scores(2))
