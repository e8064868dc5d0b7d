"""Training sets drawn from one labelled pool: what they have in common is computed once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from headcount.data import check_features, count_rows, take_rows
from headcount.quantify.aggregation import Aggregation
from headcount.quantify.base import Quantifier, is_simple
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.scores.checks import check_labels, check_lengths
from headcount.solve import Solution

__all__ = ["LabelledPool", "SharedAggregation", "SharedTraining", "TrainingPool"]

Rows = NDArray[np.int64]
Solve = Callable[[Samples], Solution]


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Items of a pool, with what is known about them.

    Attributes
    ----------
    training : Training
        All items of the pool.
    categorical : bool
        True if features are categories, given by whole numbers.
    seed : int or None
        Seed of the lots that decide between equally near items; None leaves it open.
    """

    training: Training
    categorical: bool = False
    seed: int | None = None


class SharedTraining(Protocol):
    """Computations on a pool that serve all training sets drawn from it."""

    def fit_many(self, training_sets: Sequence[Rows]) -> Sequence[Solve]:
        """Functions that solve samples of the pool, one per training set."""


class SharedAggregation(Aggregation):
    """Aggregation whose training sets can share computations."""

    @abstractmethod
    def share(self, pool: LabelledPool) -> SharedTraining | None:
        """Shared computations; None if this pool does not allow any."""


class TrainingPool:
    """Fit a quantifier on many training sets, and predict samples, of one labelled pool.

    `ED` measures each distance between two items once, `PWK` searches the neighbours of an
    item once, `HDx` and `ReadMe` number the values of categories once. Other quantifiers, and
    these where the items do not allow it, are fitted on each training set by itself.

    Shares are those of a quantifier that was fitted on the training set alone; those of `ED`
    to about 1e-5, as distances are then in single precision.

    Parameters
    ----------
    quantifier : Quantifier
        Quantifier to fit; it is cloned.
    X : array-like, sparse matrix or frame of shape (n, d)
        Items of the pool.
    y : array-like of shape (n,)
        Their labels.
    categorical : bool, default=False
        Treat the features, an array of whole numbers from 0 on, as categories.
    random_state : int, default=None
        Random seed. Decides which of equally near items are neighbours (`PWK`). By default
        the order of the items decides, and nothing is shared.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> from headcount.quantify.training_pool import TrainingPool
    >>> X, y = np.array([[0, 0], [3, 4], [0, 1], [3, 5]]), np.array(["a", "b", "a", "b"])
    >>> predict, _ = TrainingPool(hc.ED(), X, y).fit_many([[0, 1], [2, 3]])
    >>> predict(hc.Samples.whole(4)).round(1)
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        quantifier: Quantifier,
        X: Any,
        y: ArrayLike,
        *,
        categorical: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.quantifier = quantifier
        self.X = check_features(X)
        self.classes, codes = check_labels(y)
        check_lengths("X", count_rows(self.X), codes)
        items = Training(self.X, codes, len(self.classes))
        self.pool = LabelledPool(items, categorical, random_state)

    @cached_property
    def _shared(self) -> SharedTraining | None:
        if not is_simple(self.quantifier):
            return None
        aggregation = self.quantifier._aggregation()
        if not isinstance(aggregation, SharedAggregation):
            return None
        return aggregation.share(self.pool)

    def fit_many(
        self, training_sets: Sequence[ArrayLike]
    ) -> list[Callable[[Samples], NDArray[np.float64]]]:
        """Fit the quantifier on each training set.

        Parameters
        ----------
        training_sets : sequence of array-like of int
            Rows of the pool; each set has items of every class.

        Returns
        -------
        list of callable
            For each training set a function from samples of the pool to their shares, one
            row per sample, in the order of the sorted classes. Where nothing is shared, the
            first call fits the quantifier.
        """
        rows = [np.asarray(each, dtype=np.int64) for each in training_sets]
        if self._shared is None:
            return [_Alone(self.quantifier, self._items, self._labels, each) for each in rows]
        return [partial(_prevalence, solve) for solve in self._shared.fit_many(rows)]

    @cached_property
    def _items(self) -> Any:
        """The items as a quantifier takes them: categories as texts."""
        return np.asarray(self.X).astype(str) if self.pool.categorical else self.X

    @cached_property
    def _labels(self) -> NDArray[Any]:
        return self.classes[self.pool.training.codes]


@dataclass(frozen=True, eq=False)
class _Alone:
    """A quantifier that is fitted on one training set when it is first called."""

    quantifier: Quantifier
    X: Any
    y: NDArray[Any]
    rows: Rows

    @cached_property
    def fitted(self) -> Quantifier:
        copy: Quantifier = clone(self.quantifier)
        return copy.fit(take_rows(self.X, self.rows), self.y[self.rows])

    def __call__(self, samples: Samples) -> NDArray[np.float64]:
        return self.fitted.predict_many(self.X, samples)


def _prevalence(solve: Solve, samples: Samples) -> NDArray[np.float64]:
    return solve(samples).prevalence
