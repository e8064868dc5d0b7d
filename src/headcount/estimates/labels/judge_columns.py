"""Columns of verdicts and gold labels as numbers: kinds, classes, means, predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from headcount._support.arrays import Array, Floats, Ints
from headcount.errors import HeadcountError
from headcount.items.arrays import Verdicts, encode_labels, plain_column

# Different numbers above which verdicts are scores, which are cut into bins.
_MOST_KINDS, _BINS = 10, 5
# Different gold labels, or verdicts in words, above which they are not classes.
_MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class VerdictKinds:
    """Kinds of verdicts.

    >>> kinds = VerdictKinds.of(["ok", "bad", "ok"])
    >>> kinds.names, kinds.codes(["bad", "ok"], "verdicts").tolist()
    (('bad', 'ok'), [0, 1])
    """

    names: tuple[Any, ...]
    edges: Floats | None

    @classmethod
    def of(cls, verdicts: Any, *more: Any) -> VerdictKinds:
        """Kinds of the verdicts on some items; scores are cut at the quintiles of the first."""
        first, *more_values = (_values(labels, "verdicts") for labels in (verdicts, *more))
        every = [label for values in (first, *more_values) for label in values.tolist()]
        names = encode_labels(every if more_values else first, name="verdicts")[0]
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


def _values(verdicts: Any, name: str) -> Array:
    return plain_column(verdicts.labels if isinstance(verdicts, Verdicts) else verdicts, name)


def gold_codes(gold: Any, name: str, classes: Array | None = None) -> tuple[Array, Ints]:
    """Classes of gold labels, and the class of each item; -1 where there is no label.

    None, NaN and empty texts are missing labels. The classes are by default those found,
    sorted.

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
    classes, codes[filled] = encode_labels(labels, name=name, classes=classes)
    if len(classes) > _MOST_CLASSES:
        raise HeadcountError(
            f"{name} has {len(classes)} different labels, but at most {_MOST_CLASSES} classes "
            "make sense here: cut numbers into a few classes first."
        )
    return classes, codes


def _is_filled(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return False
    return bool(value == value)


def _whole_numbers(labels: Array) -> list[Any]:
    """Labels as a list; whole numbers that missing values made floats are whole again."""
    values = labels.tolist()
    if all(isinstance(label, float) and label == int(label) for label in values):
        return [int(label) for label in values]
    return values


def gold_numbers(
    gold: Any, scale: tuple[float, float] | None
) -> tuple[tuple[float, float], Floats]:
    """Ends of the scale of numeric gold labels, and the labels from 0 to 1; NaN where missing.

    The scale goes by default from the lowest to the highest label.

    >>> ends, places = gold_numbers([2, None, 10, 4], None)
    >>> ends, places.tolist()
    ((2.0, 10.0), [0.0, nan, 1.0, 0.25])
    """
    values = plain_column(gold, "gold").astype(object)
    filled = np.array([_is_filled(value) for value in values.tolist()], bool)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[filled] = values[filled].astype(np.float64)
    except (TypeError, ValueError):
        raise HeadcountError(
            "gold has texts, but a mean is asked for: pass numbers, or leave out `mean`."
        ) from None
    if not filled.any():
        raise HeadcountError("gold is empty, but a mean needs gold labels of these items.")
    low, high = (np.nanmin(numbers), np.nanmax(numbers)) if scale is None else scale
    if not np.isfinite([low, high]).all() or low >= high:
        raise HeadcountError(
            f"gold goes from {low:g} to {high:g}, but a mean needs finite numbers that differ: "
            "label more items, or pass the ends of the scale."
        )
    outside = numbers[filled & ((numbers < low) | (numbers > high))]
    if len(outside):
        raise HeadcountError(
            f"gold has {outside[0]:g}, which is not on the scale from {low:g} to {high:g}: "
            "pass its lowest and highest possible value."
        )
    return (float(low), float(high)), (numbers - low) / (high - low)


def has_many_values(gold: Any) -> bool:
    """Return True if gold labels are numbers of so many values that only their mean counts."""
    column = plain_column(gold, "gold")
    values = [value for value in column.tolist() if _is_filled(value)]
    if not values or not all(isinstance(value, int | float) for value in values):
        return False
    return len(set(values)) > _MOST_KINDS


def feature_columns(kinds: VerdictKinds, verdicts: Any) -> Floats:
    """Verdicts of a judge as features: columns of 0 and 1, and a score itself, standardised."""
    codes = kinds.codes(verdicts, "verdicts")
    one_hot = (codes[:, None] == np.arange(len(kinds.names))).astype(np.float64)
    if kinds.edges is None:
        return one_hot
    scores = _values(verdicts, "verdicts").astype(np.float64)
    return np.column_stack([one_hot, (scores - scores.mean()) / (scores.std() or 1.0)])


# Folds of the gold labels, and the penalty of the regression: one item of each verdict.
_FOLDS, _PENALTY = 10, 1.0


def cross_fitted(
    features: Floats, outcomes: Floats, rows: Ints, clusters: Ints | None
) -> tuple[Floats, Floats]:
    """Ridge regressions of outcomes (n, K) on features (N, F) of all items.

    Returns the mean predictions for all items, (N, K), and for labelled rows those of the
    regression that did not see them (nor their cluster). Predictions of shares sum to 1.
    """
    units = rows if clusters is None else clusters[rows]
    labels = np.unique(units, return_inverse=True)[1]
    n_folds = min(_FOLDS, int(labels.max()) + 1)
    shuffled = np.random.default_rng(0).permutation(int(labels.max()) + 1)
    folds = (shuffled % n_folds)[labels]
    everywhere, out_of_fold = np.zeros((len(features), outcomes.shape[1])), outcomes.copy()
    for fold in range(n_folds):
        inside = folds != fold
        X, y = features[rows[inside]], outcomes[inside]
        means, level = X.mean(axis=0), y.mean(axis=0)
        gram = (X - means).T @ (X - means) + _PENALTY * np.eye(X.shape[1])
        slopes = np.linalg.solve(gram, (X - means).T @ (y - level))
        predicted = level + (features - means) @ slopes
        everywhere += predicted / n_folds
        out_of_fold[~inside] = predicted[rows[~inside]]
    return everywhere, out_of_fold
