"""Verdicts of any kind as numbered kinds: texts, numbers of a few values, or binned scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import encode_labels
from headcount.data.columns import plain_column
from headcount.errors import HeadcountError
from headcount.scores import Verdicts

Ints = NDArray[np.int64]

# Different numbers above which verdicts are scores, which are cut into bins.
_MOST_KINDS, _BINS = 10, 5
# Different gold labels, or verdicts in words, above which they are no classes.
_MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class VerdictKinds:
    """Kinds of verdicts.

    Examples
    --------
    >>> kinds = VerdictKinds.of(["ok", "bad", "ok"])
    >>> kinds.names, kinds.codes(["bad", "ok"], "verdicts").tolist()
    (('bad', 'ok'), [0, 1])
    """

    names: tuple[Any, ...]
    edges: NDArray[np.float64] | None

    @classmethod
    def of(cls, verdicts: Any, *more: Any) -> VerdictKinds:
        """Kinds of the verdicts on some items; scores are cut at the quintiles of the first."""
        first, *others = (_values(given, "verdicts") for given in (verdicts, *more))
        every = [label for given in (first, *others) for label in given.tolist()]
        names = encode_labels(every if others else first, name="verdicts")[0]
        if names.dtype.kind not in "iuf" and len(names) > _MOST_CLASSES:
            raise HeadcountError(
                f"verdicts has {len(names):,} different texts, but at most {_MOST_CLASSES} "
                "kinds make sense here: pass the verdicts themselves, not texts about them."
            )
        if names.dtype.kind not in "iuf" or len(names) <= _MOST_KINDS:
            return cls(tuple(names.tolist()), None)
        if not np.isfinite(names).all():
            raise HeadcountError("verdicts has infinite scores: drop these items.")
        scores = first.astype(np.float64)
        edges = np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS))
        edges = edges[edges > scores.min()]
        texts = [f"{edge:.3g}" for edge in edges]
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        return cls((f"below {texts[0]}", *inner, f"from {texts[-1]}"), edges)

    def codes(self, verdicts: Any, name: str) -> Ints:
        """Number of the kind of each verdict."""
        values = _values(verdicts, name)
        if self.edges is not None:
            return np.searchsorted(self.edges, values, side="right").astype(np.int64)
        return encode_labels(values, name=name, classes=list(self.names))[1]


def _values(verdicts: Any, name: str) -> NDArray[Any]:
    return plain_column(verdicts.labels if isinstance(verdicts, Verdicts) else verdicts, name)


def gold_codes(
    gold: Any, name: str, classes: NDArray[Any] | None = None
) -> tuple[NDArray[Any], Ints]:
    """Classes of gold labels, and the class of each item; -1 where there is no label.

    None, NaN and empty texts are missing labels. The classes are by default those found,
    sorted.

    Examples
    --------
    >>> gold_codes(["yes", None, "no", ""], "gold")[1]
    array([ 1, -1,  0, -1])
    """
    column = plain_column(gold, name)
    values = column.astype(object)
    if column.dtype.kind in "iufb":
        filled = column == column  # not NaN
    else:
        filled = np.array([_is_filled(value) for value in values.tolist()], bool)
    codes = np.full(len(values), -1, np.int64)
    if not filled.any():
        return np.empty(0, column.dtype) if classes is None else classes, codes
    labels = _whole_numbers(values[filled])
    found, codes[filled] = encode_labels(labels, name=name, classes=classes)
    if len(found) > _MOST_CLASSES:
        raise HeadcountError(
            f"{name} has {len(found)} different labels, but at most {_MOST_CLASSES} classes "
            "make sense here: cut numbers into a few classes first."
        )
    return found, codes


def _is_filled(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return False
    return bool(value == value)


def _whole_numbers(labels: NDArray[Any]) -> list[Any]:
    """Labels as a list; whole numbers that missing values made floats are whole again."""
    given = labels.tolist()
    if all(isinstance(label, float) and label == int(label) for label in given):
        return [int(label) for label in given]
    return given
