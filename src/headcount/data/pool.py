"""A pool: items with their features and what else is known of them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.data.columns import plain_column
from headcount.data.features import check_features, count_rows, take_rows
from headcount.data.labels import encode_labels
from headcount.errors import HeadcountError

__all__ = ["Pool"]


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """Items to draw samples from.

    Parameters
    ----------
    X : array-like of shape (n, d), sparse matrix, frame, or sequence of n texts
        The features, which are not copied. Numbers may be missing, for a pipeline to fill
        in, but not infinite.
    y : array-like of shape (n,), optional
        The labels.
    groups : array-like of shape (n,), optional
        To which group each item belongs: a product, a site, an author.
    time : array-like of shape (n,), optional
        When each item was seen: dates, times or numbers.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes. Pools taken from this one have the same, also those they lack items of.
    codes : ndarray of shape (n,)
        The position of each item's class in ``classes``.

    Examples
    --------
    >>> from headcount.data import Pool
    >>> pool = Pool([[0.1, 2.0], [0.3, 1.0], [0.2, 5.0]], y=["ham", "spam", "ham"])
    >>> pool
    Pool(3 items, 2 features, 2 classes)
    >>> pool.take([0, 2]).codes
    array([0, 0])
    """

    X: Any
    y: Any = None
    groups: Any = None
    time: Any = None
    _classes: NDArray[Any] | None = field(default=None, init=False)
    _codes: NDArray[np.int64] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._set("X", check_features(self.X, allow_nan=True))
        for name in ("y", "groups", "time"):
            if getattr(self, name) is not None:
                self._set(name, self._column(name))
        if self.y is not None:
            classes, codes = encode_labels(self.y)
            self._set("_classes", classes)
            self._set("_codes", codes)

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, sorted."""
        return self._labelled(self._classes)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The position of each item's class in ``classes``."""
        return self._labelled(self._codes)

    def take(self, indices: ArrayLike) -> Pool:
        """Take some items, in the order asked for; an item may be taken repeatedly.

        Parameters
        ----------
        indices : array-like of int
            Positions of the items.

        Returns
        -------
        Pool
            These items, with the classes of this pool.
        """
        if not np.size(indices):
            raise HeadcountError("indices is empty: take at least one item.")
        taken = copy.copy(self)
        for name in ("X", "y", "groups", "time", "_codes"):
            part = getattr(self, name)
            if part is not None:
                taken._set(name, take_rows(part, indices))
        return taken

    def __len__(self) -> int:
        return count_rows(self.X)

    def __repr__(self) -> str:
        shape: tuple[int, ...] = self.X.shape
        if len(shape) == 2:
            items = [_counted(shape[0], "item"), _counted(shape[1], "feature")]
        else:
            items = [_counted(shape[0], "text")]
        classes = "no labels" if self.y is None else _counted(len(self.classes), "class", "es")
        also = [name for name in ("groups", "time") if getattr(self, name) is not None]
        return f"Pool({', '.join([*items, classes, *also])})"

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # frozen for everyone else

    def _column(self, name: str) -> NDArray[Any]:
        column = plain_column(getattr(self, name), name)
        if len(column) != len(self):
            raise HeadcountError(
                f"{name} has {len(column):,} values, but X has {len(self):,} rows: "
                "pass one value per row."
            )
        return column

    def _labelled(self, known: NDArray[Any] | None) -> NDArray[Any]:
        if known is None:
            raise HeadcountError("This pool has no labels: make it with y= to have classes.")
        return known


def _counted(number: int, what: str, plural: str = "s") -> str:
    return f"{number:,} {what}{'' if number == 1 else plural}"
