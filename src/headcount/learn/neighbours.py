"""Nearest neighbours with votes weighted by class frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._kernels.distances import count_near
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount._support.parameters import check_count, check_positive
from headcount.learn.checks import check_items

Floats32 = NDArray[np.float32]

_ROUNDING = 1e-9
# Pairs of items at a time: 64 MB of distances.
_BLOCK_PAIRS = 1 << 24
_LONGEST_LIST = 1024
# Average number of members in a list, per neighbour wanted, that makes lists worth while.
_ENOUGH = 3
# Squared distances up to this are exact in single precision, with room for lots.
_LARGEST_SQUARE = 2**22


@dataclass(eq=False, repr=False)
class ProportionWeightedKNN(ClassifierMixin, BaseEstimator):
    """Nearest neighbours whose votes have less weight for more frequent classes.

    A neighbour of class c votes with weight ``(n_c / n_min) ** (-1 / alpha)``, where n_c is
    the number of training items of its class and n_min that of the rarest class. A frequent
    class therefore does not win votes by its number alone. Known as PWK.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours that vote. All training items if there are fewer.
    alpha : float, default=1.0
        Exponent of the weights. With 1 they are inversely proportional to the size of the
        class. Larger values make them more equal.
    metric : str or callable, default="euclidean"
        Metric of scikit-learn's ``NearestNeighbors``.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Algorithm of the search, as in ``NearestNeighbors``.
    n_jobs : int or None, default=None
        Number of jobs of the search, as in ``NearestNeighbors``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Classes, sorted.
    weights_ : ndarray of shape (K,)
        Weight of a vote for each class. 1 for the rarest.
    neighbors_ : NearestNeighbors
        Index of the training items.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of ``X``, if it had any.

    References
    ----------
    Barranquero, González, Díez and del Coz (2013), On the study of nearest neighbor
    algorithms for prevalence estimation in binary problems. Pattern Recognition 46(2).

    Examples
    --------
    >>> from headcount.learn import ProportionWeightedKNN
    >>> X, y = [[0], [1], [2], [3], [4]], ["many", "many", "many", "many", "few"]
    >>> knn = ProportionWeightedKNN(n_neighbors=3).fit(X, y)
    >>> knn.predict([[0], [4]])
    array(['many', 'few'], dtype='<U4')
    >>> knn.predict_proba([[4]]).round(2)
    array([[0.67, 0.33]])
    """

    n_neighbors: int = 10
    _: KW_ONLY
    alpha: float = 1.0
    metric: Any = "euclidean"
    algorithm: str = "auto"
    n_jobs: int | None = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Store the labelled items.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.
        y : array-like of shape (n,)
            Labels of any type.
        """
        n_neighbors = check_count("n_neighbors", self.n_neighbors)
        check_positive("alpha", self.alpha)
        X, self.classes_, self._codes = check_items(self, X, y)
        self.weights_ = _vote_weights(self._codes, self.alpha)
        self.neighbors_ = NearestNeighbors(
            n_neighbors=min(n_neighbors, len(self._codes)),
            metric=self.metric,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
        ).fit(X)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of each class in the weighted votes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n, K)
            Shares that sum to 1, with columns in the order of ``classes_``.
        """
        votes = self._votes(X)
        shares: Floats = votes / votes.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Any) -> Array:
        """Predict the class with the largest weighted vote, on a tie the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n,)
            Predicted classes.
        """
        leading = _leading(self._votes(X))
        labels: Array = self.classes_[leading]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _votes(self, X: Any) -> Floats:
        """Weighted votes of every item's neighbours, one column per class."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        near = self._codes[self.neighbors_.kneighbors(X, return_distance=False)]
        K = len(self.classes_)
        rows = np.arange(len(near))[:, None] * K
        counts = np.bincount((rows + near).ravel(), minlength=len(near) * K)
        votes: Floats = counts.reshape(len(near), K) * self.weights_
        return votes


def _vote_weights(codes: Ints, alpha: float) -> Floats:
    """Weight of a vote for each class, 1 for the rarest."""
    sizes = np.bincount(codes)
    return np.asarray((sizes / sizes.min()) ** (-1.0 / alpha), dtype=np.float64)


def _leading(votes: Floats) -> Ints:
    """Class with the largest vote, the first one on a tie."""
    # With a tolerance, so that three votes of weight 1/3 tie with one vote of weight 1.
    leading = votes >= (1.0 - _ROUNDING) * votes.max(axis=1, keepdims=True)
    return leading.argmax(axis=1)


class NeighbourLists:
    """Proportion-weighted nearest neighbours in many training sets of one pool of items.

    An item's nearest neighbours in a training set are the first of its neighbours in the pool
    that are in the training set. Lists of a thousand nearly always suffice. Where a list is
    too short, because the training set is small, distances to it are measured directly.

    Features are whole numbers, so many items are equally near. Random numbers, drawn once for
    the pool, decide between them.
    """

    def __init__(self, X: Array, y: Ints, random_state: int) -> None:
        self.items = _centred(X).astype(np.float32)
        self.y, self.n_classes = y, int(y.max()) + 1
        squares = np.einsum("ij,ij->i", self.items, self.items)
        # Squared distances differ by 1 at least.
        lots = np.random.default_rng(random_state).permutation(len(y)) / (2 * len(y))
        self.offsets = squares + lots.astype(np.float32)

    @staticmethod
    def takes(X: Any) -> bool:
        """True for a dense array of whole numbers of moderate size."""
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "iuf":
            return False
        if X.dtype.kind == "f" and not np.array_equal(X, np.rint(X)):
            return False
        largest = np.abs(_centred(X)).max(axis=0)
        return bool((largest**2).sum() * 4 <= _LARGEST_SQUARE)

    def predict(
        self, training_sets: Sequence[Ints], *, n_neighbors: int = 10, alpha: float = 1.0
    ) -> list[NDArray[np.int32]]:
        """Classes of all items of the pool, by the neighbours in each training set of rows."""
        k = check_count("n_neighbors", n_neighbors)
        check_positive("alpha", alpha)
        return [
            _leading(counts * _vote_weights(self.y[rows], alpha)).astype(np.int32)
            for rows, counts in zip(training_sets, self.counts(training_sets, k), strict=True)
        ]

    def counts(self, training_sets: Sequence[Ints], k: int) -> list[NDArray[np.int16]]:
        """Classes of the k nearest neighbours of every item, (n, K), by training set."""
        n = len(self.y)
        members = np.zeros((len(training_sets), n), np.min_scalar_type(self.n_classes))
        for member, rows in zip(members, training_sets, strict=True):
            member[rows] = self.y[rows] + 1
        out = [np.full((n, self.n_classes), -1, np.int16) for _ in training_sets]
        length = min(n, _LONGEST_LIST)
        listed = [
            t for t, rows in enumerate(training_sets) if len(rows) * length >= _ENOUGH * k * n
        ]
        if listed:
            self._count_by_lists(listed, members, k, length, out)
        for counts, rows in zip(out, training_sets, strict=True):
            short = np.flatnonzero(counts[:, 0] < 0)
            counts[short] = self._count_directly(short, rows, k)
        return out

    def _count_by_lists(
        self,
        listed: list[int],
        members: Array,
        k: int,
        length: int,
        out: list[NDArray[np.int16]],
    ) -> None:
        step = max(1, _BLOCK_PAIRS // len(self.y))
        for first in range(0, len(self.y), step):
            rows = np.arange(first, min(first + step, len(self.y)))
            near = _nearest(self._distances(rows, slice(None)), length)

            def work(
                start: int, stop: int, near: NDArray[np.int32] = near, rows: Ints = rows
            ) -> None:
                for t in listed[start:stop]:
                    count_near(
                        near, members[t], k, 0, len(near), out[t][rows[0] : rows[-1] + 1]
                    )

            each_range(work, len(listed))

    def _count_directly(self, items: Ints, rows: Ints, k: int) -> NDArray[np.int16]:
        k = min(k, len(rows))
        counts = np.empty((len(items), self.n_classes), np.int16)
        step = max(1, _BLOCK_PAIRS // len(rows))
        for first in range(0, len(items), step):
            block = slice(first, first + step)
            near = self.y[rows[_nearest(self._distances(items[block], rows), k)]]
            for c in range(self.n_classes):
                counts[block, c] = (near == c).sum(axis=1)
        return counts

    def _distances(self, rows: Ints, columns: Ints | slice) -> Floats32:
        """Squared distances up to a constant per row, with the lots that break ties."""
        table = self.items[rows] @ self.items[columns].T
        table *= -2
        table += self.offsets[columns]
        return table


def _centred(X: Array) -> Floats:
    """Whole numbers around zero: single precision is then exact for longer."""
    return np.asarray(X - np.floor(X.mean(axis=0)), dtype=np.float64)


def _nearest(table: Floats32, length: int) -> NDArray[np.int32]:
    """Columns of the smallest values of each row, in order."""
    if length < table.shape[1]:
        nearest = np.argpartition(table, length - 1, axis=1)[:, :length]
        table = np.take_along_axis(table, nearest, axis=1)
        order = np.argsort(table, axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)
    else:
        nearest = np.argsort(table, axis=1)
    return nearest.astype(np.int32)
