"""Parameters of the wrong kind or value are refused by name, when the quantifier is fitted."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from headcount.errors import HeadcountError
from headcount.quantify import DyS
from tests.conformance.cases import METHODS, labelled, make, pool, scored

COUNT = (0, -1, 1.5, "x", True, None)
POSITIVE = (0, -1, np.nan, np.inf, "x")
BAD = {
    "bandwidth": (*POSITIVE, None),
    "bins": (*COUNT, 1, (), (0,), (1.5,), (True,), "10"),
    "calibration": ("foo", 3),
    "classifier": (3, "x", LogisticRegression),
    "cv": (1, 0, -1, 2.5, "x", True, None),
    "decimals": (-1, 1.5, "x", True),
    "divergence": ("foo", 3, None),
    "levels": (*COUNT, 1),
    "max_iter": COUNT,
    "n_points": COUNT,
    "quantifier": ("x", 3, DyS),
    "scoring": ("x", None),
    "stop": ("foo", 3, None),
    "tol": POSITIVE,
}


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
]
# What makes scores is not looked at by those who bring their own.
UNUSED_WITH_SCORES = {"classifier", "cv", "scoring"}
BAD_CALLS_WITH_SCORES = [
    call
    for call in BAD_CALLS
    if call.values[0].info.input != "features" and call.values[1] not in UNUSED_WITH_SCORES
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
        quantifier.fit_scores(*scored(2))


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
