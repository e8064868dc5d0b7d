"""Nearest neighbours with votes weighted by class frequency."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_count, check_positive
from headcount.learn.checks import check_items

_ROUNDING = 1e-9


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
        self.weights_ = vote_weights(self._codes, self.alpha)
        self.neighbors_ = NearestNeighbors(
            n_neighbors=min(n_neighbors, len(self._codes)),
            metric=self.metric,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
        ).fit(X)
        return self

    @documented(fit)
    def predict_proba(self, X: Any) -> Floats:
        """Return the share of each class in the weighted votes.

        Returns
        -------
        ndarray of shape (n, K)
            Shares that sum to 1, with columns in the order of ``classes_``.
        """
        votes = self._votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    @documented(fit)
    def predict(self, X: Any) -> Array:
        """Predict the class with the largest weighted vote, on a tie the first.

        Returns
        -------
        ndarray of shape (n,)
            Predicted classes.
        """
        leading = leading_class(self._votes(X))
        return self.classes_[leading]

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
        return counts.reshape(len(near), K) * self.weights_


def vote_weights(codes: Ints, alpha: float) -> Floats:
    """Weight of a vote for each class, 1 for the rarest."""
    sizes = np.bincount(codes)
    return np.asarray((sizes / sizes.min()) ** (-1.0 / alpha), dtype=np.float64)


def leading_class(votes: Floats) -> Ints:
    """Class with the largest vote, the first one on a tie."""
    # With a tolerance, so that three votes of weight 1/3 tie with one vote of weight 1.
    leading = votes >= (1.0 - _ROUNDING) * votes.max(axis=1, keepdims=True)
    return leading.argmax(axis=1)
