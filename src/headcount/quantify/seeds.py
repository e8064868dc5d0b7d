"""Random seeds of quantifiers and classifiers."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import clone

from headcount.quantify.base import Quantifier
from headcount.scores import Scorer

__all__ = ["seeded"]

_Seeded = TypeVar("_Seeded", Quantifier, Scorer)


def seeded(estimator: _Seeded, seed: int) -> _Seeded:
    """Copy of the estimator in which every `random_state` of None is replaced by a seed."""
    copied: Any = clone(estimator)
    unset = [
        name
        for name, value in copied.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    ]
    # scikit-learn takes seeds below 2**32.
    return copied.set_params(**dict.fromkeys(unset, seed % 2**32))
