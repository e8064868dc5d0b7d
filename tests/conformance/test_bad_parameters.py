"""Parameters of the wrong kind or value are refused by name, when the quantifier is fitted."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from headcount.errors import HeadcountError
from headcount.quantify import DyS, Ensemble, HDx
from headcount.sampling import UPP
from tests.conformance.cases import METHODS, labelled, labelled_scores, make, pool

COUNT = (0, -1, 1.5, "x", True, None)
POSITIVE = (0, -1, np.nan, np.inf, "x")
NOT_NEGATIVE = (-1, np.nan, np.inf, "x", True)
BAD = {
    "C": POSITIVE,
    "alpha": (*POSITIVE, None),
    "bandwidth": (*POSITIVE, None),
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
    "divergence": ("foo", 3, None),
    "flatness": (*NOT_NEGATIVE, None),
    "gamma": (*POSITIVE, None),
    "keep": (0, -1, 1.5, np.nan, "x", True, None),
    "kernel": ("foo", 3, None),
    "max_depth": COUNT[:-1],
    "max_features": COUNT[:-1],
    "max_iter": COUNT,
    "min_samples_leaf": COUNT,
    "n_components": COUNT[:-1],
    "n_estimators": COUNT,
    "n_jobs": (0, 1.5, "x", True),
    "n_members": COUNT,
    "n_neighbors": COUNT,
    "n_points": COUNT,
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
    "stop": ("foo", 3, None),
    "subset_size": COUNT[:-1],
    "threshold": (0, 1.5, -1, np.nan, "x", True),
    "tol": POSITIVE,
    "weights": ("foo", 3, [1.0], [1.0] * 9, [-1.0, 2.0, 1.0], [-1.0, 2.0, 1.0, 1.0], ["x"] * 3),
}


def fine(method, name, value):
    """True for values that are bad for other methods only."""
    # Methods that do not learn from scores need folds for estimates only.
    return name == "cv" and value is None and not make(method).learns_from_scores


class Unheard:
    """What no parameter knows what to do with."""

    def __repr__(self):
        return "something unheard of"


def checked_parameters(method):
    return [name for name in inspect.signature(method).parameters if name != "random_state"]


# Parameters that are not listed are tried with the last one at least.
BAD_CALLS = [
    pytest.param(method, name, value, id=f"{method.__name__}({name}={value!r})")
    for method in METHODS.values()
    for name in checked_parameters(method)
    for value in (*BAD.get(name, ()), Unheard())
    if not fine(method, name, value)
]
# What makes scores is not looked at by those who bring their own.
UNUSED_WITH_SCORES = {"classifier", "cv", "scoring"}
BAD_CALLS_WITH_SCORES = [
    call
    for call in BAD_CALLS
    if call.values[0]().takes_scores and call.values[1] not in UNUSED_WITH_SCORES
]


@pytest.mark.parametrize(("method", "name", "value"), BAD_CALLS)
def test_bad_parameters(method, name, value):
    X, y = labelled(2)
    quantifier = make(method).set_params(**{name: value})
    with pytest.raises(HeadcountError, match=name) as caught:
        quantifier.fit(X, y)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("method", "name", "value"), BAD_CALLS_WITH_SCORES)
def test_bad_parameters_with_scores(method, name, value):
    quantifier = make(method).set_params(**{name: value})
    with pytest.raises(HeadcountError, match=name):
        quantifier.fit(*labelled_scores(2))


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, id=name)
        for name, method in METHODS.items()
        if "random_state" in inspect.signature(method).parameters
    ],
)
def test_a_bad_source_of_chance(method):
    with pytest.raises(HeadcountError, match="random_state"):
        make(method, seed="x").fit(*labelled(2))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_bad_parameter_leaves_what_was_learnt(method):
    X, y = labelled(2)
    quantifier = make(method).fit(X, y)
    before = quantifier.predict(pool(2))
    for name in checked_parameters(method):
        good = getattr(quantifier, name)
        with pytest.raises(HeadcountError):
            quantifier.set_params(**{name: Unheard()}).fit(X, y)
        quantifier.set_params(**{name: good})
        np.testing.assert_array_equal(quantifier.predict(pool(2)), before)
