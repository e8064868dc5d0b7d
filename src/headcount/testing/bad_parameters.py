"""Checks that parameters of a wrong kind are refused by name, when the quantifier is fitted."""

from __future__ import annotations

from typing import Any

from headcount.testing.cases import Case, labelled, labelled_scores, pool
from headcount.testing.expectations import NotApplicable, equal, refuses

__all__ = ["UNUSED_WITH_SCORES", "Unknown", "checked_parameters"]

# Parameters of the classifier are not used by those who bring scores.
UNUSED_WITH_SCORES = {"classifier", "cv", "scoring"}


class Unknown:
    """A value that no parameter can use."""

    def __repr__(self) -> str:
        return "a value of an unknown kind"


def checked_parameters(case: Case) -> list[str]:
    """Parameters that `fit` checks; random seeds have a check of their own."""
    return [name for name in case.parameters if name != "random_state"]


def check_unknown_values(case: Case) -> None:
    """Every parameter is checked: an unknown kind of value is refused by name."""
    case.require_two_classes()
    for name in checked_parameters(case):
        refuses(name, lambda name=name: _spoilt(case, name).fit(*labelled(2)))
        if case.takes_scores and name not in UNUSED_WITH_SCORES:
            refuses(name, lambda name=name: _spoilt(case, name).fit(*labelled_scores(2)))


def _spoilt(case: Case, name: str) -> Any:
    return case.make().set_params(**{name: Unknown()})


def check_bad_random_state(case: Case) -> None:
    """A random seed that is none is refused."""
    case.require_two_classes()
    if "random_state" not in case.parameters:
        raise NotApplicable("has no random_state")
    refuses("random_state", lambda: case.make(seed="x").fit(*labelled(2)))


def check_bad_parameters_lose_nothing(case: Case) -> None:
    """A fit with a bad parameter leaves the quantifier as it was."""
    case.require_two_classes()
    X, y = labelled(2)
    quantifier = case.make().fit(X, y)
    before = quantifier.predict(pool(2))
    for name in checked_parameters(case):
        good = getattr(quantifier, name)
        quantifier.set_params(**{name: Unknown()})
        refuses("", lambda: quantifier.fit(X, y))
        quantifier.set_params(**{name: good})
        equal(quantifier.predict(pool(2)), before)
