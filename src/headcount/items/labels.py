"""Labels of any kind as integer codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.errors import HeadcountError
from headcount.items.features import plain_column

_NUMBERS = "biuf"


def encode_labels(
    y: ArrayLike, *, name: str = "y", classes: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Encode labels as the positions of their classes.

    >>> from headcount.items import encode_labels
    >>> classes, codes = encode_labels(["ham", "spam", "ham"])
    >>> print(classes, codes)
    ['ham' 'spam'] [0 1 0]
    >>> encode_labels([2, 1], classes=[3, 2, 1])[1]
    array([1, 2])
    """
    labels = _labels(y, name)
    if classes is None:
        unique_labels = _sorted_unique(labels, name)
        return unique_labels, _look_up(labels, unique_labels)
    class_labels = _labels(classes, "classes")
    ordered = _sorted_unique(class_labels, "classes")
    if len(ordered) != len(class_labels):
        raise HeadcountError("classes has a class twice: pass each once.")
    _check_known(labels, ordered, name)
    return class_labels, np.argsort(class_labels).astype(np.int64)[_look_up(labels, ordered)]


def _labels(y: ArrayLike, name: str) -> NDArray[Any]:
    labels = plain_column(y, name)
    if not len(labels):
        raise HeadcountError(f"{name} is empty: pass at least one label.")
    missing = _missing(labels)
    if missing.any():
        raise HeadcountError(
            f"{name} misses {int(missing.sum()):,} of {len(labels):,} labels, the first at "
            f"position {int(missing.argmax())}: drop these items or label them."
        )
    return labels


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype != object:
        # Only NaN and NaT differ from themselves.
        return np.asarray(labels != labels)
    return np.fromiter(map(_is_missing, labels), np.bool_, len(labels))


def _is_missing(value: Any) -> bool:
    same = value == value
    # A comparison with the NA of pandas is neither true nor false.
    return value is None or not isinstance(same, bool | np.bool_) or not same


def _sorted_unique(labels: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise HeadcountError(
            f"{name} mixes labels of types {', '.join(kinds)}, which have no common order: "
            "make them all of one type, for example all strings."
        ) from None


def _look_up(labels: NDArray[Any], ordered: NDArray[Any]) -> NDArray[np.int64]:
    return np.searchsorted(ordered, labels).astype(np.int64, copy=False)


def _check_known(labels: NDArray[Any], ordered: NDArray[Any], name: str) -> None:
    present = _sorted_unique(labels, name)
    # In comparisons of different types, numpy takes the number 1 for the string "1".
    if _kind(present) == _kind(ordered):
        unknown = present[~np.isin(present, ordered)]
    else:
        unknown = present
    if len(unknown):
        raise HeadcountError(
            f"{name} has labels that are not among the classes: {_some(unknown)}; "
            f"the classes are {_some(ordered)}: drop these items or add their classes."
        )


def _kind(labels: NDArray[Any]) -> str:
    kind = labels.dtype.kind
    return "number" if kind in _NUMBERS else kind


def _some(labels: Iterable[Any]) -> str:
    texts = [repr(label) for label in np.asarray(labels).tolist()]
    more = f" and {len(texts) - 3:,} more" if len(texts) > 3 else ""
    return ", ".join(texts[:3]) + more
