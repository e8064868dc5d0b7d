"""Support vector machine trained to minimise the error of the count of a class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._parameters import check_choice, check_count, check_positive
from headcount._threads import each_range
from headcount.errors import warn
from headcount.learn._checks import check_items, seeds_of
from headcount.learn._cutting_planes import Hyperplane, train
from headcount.learn._labellings import LOSSES, labelling_finder

__all__ = ["MultivariateSVC"]

_KERNELS = ("linear", "rbf")
_MANY_ITEMS = 10_000


class MultivariateSVC(ClassifierMixin, BaseEstimator):
    r"""Linear or kernel SVM that minimises a loss of the whole set of predictions.

    Ordinary classifiers minimise errors item by item. This one minimises a loss of the
    table of errors, such as the error of the *number* of predicted positives. It is a
    structural SVM whose only example is the training set: with labels y of -1 and +1,

    .. math:: \min_{w, \xi} \tfrac12 \|w\|^2 + C \xi \quad\text{such that for all } y'\quad
              w \cdot (\Psi(y) - \Psi(y')) \ge \Delta(y') - \xi,

    where :math:`\Psi(y') = (50 / n) \sum_i y'_i x_i` and :math:`\Delta` is the loss in
    percent. It is solved by cutting planes: the most violated of the 2^n labellings is
    found exactly, in O(n log n) (for "q" by branch and bound), and added to a small
    quadratic problem, until none is violated by more than ``tol``.

    Parameters
    ----------
    loss : {"q", "kld", "nkld", "ae", "rae", "error"}, default="q"
        Loss to minimise. With a true and b false positives, c false and d true negatives,
        P = a + c, N = b + d, n = P + N:

        - "q": 100 (1 - 2qr / (q + r)) with recall r = a / P and q = 1 - |c - b| / max(P, N);
        - "ae": absolute error, 100 |c - b| / n;
        - "rae": relative absolute error, 50 |c - b| (1 / (P + .5) + 1 / (N + .5));
        - "kld": 100 times the Kullback-Leibler divergence of (a + b + .5) / (n + 1) from
          (P + .5) / (n + 1);
        - "nkld": that divergence D normalised, 100 - 200 / (1 + exp D);
        - "error": error rate, 100 (b + c) / n. This is the usual linear SVM:
          ``LinearSVC(loss="hinge", C=100 * C / n)``.
    C : float or None, default=1.0
        Weight of the loss relative to the margin. None means 1, or 0.1 for more than 10,000
        training items, to save time.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel. With "rbf" the items are first mapped to features whose inner products
        approximate the Gaussian kernel exp(-gamma |x - x'|^2) (Nystroem's method).
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of the Gaussian kernel. "scale" is 1 / (d X.var()), "auto" is 1 / d.
    n_components : int or None, default=300
        Number of random training items for the features of the kernel. None uses all, which
        gives the exact kernel with memory and time of order n^2.
    tol : float, default=0.1
        Tolerated violation beyond the slack, in percent. The final objective is at most
        ``C * tol`` above its minimum, and at most 0.5% of itself if that is less.
    max_iter : int, default=5000
        Largest number of rounds of cutting planes for each class.
    fit_intercept : bool, default=True
        Append a constant feature of 1. Its weight is part of w and regularised like the
        others, as in the original method.
    random_state : int, RandomState, Generator or None, default=None
        Random seed for the items of the kernel.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Classes, sorted. The second of two classes is the positive one.
    coef_ : ndarray of shape (1 or K, d or n_components)
        Weights of the features (of those of the kernel with "rbf").
    intercept_ : ndarray of shape (1 or K,)
        Weights of the constant feature.
    n_iter_ : ndarray of shape (1 or K,)
        Number of rounds.
    objective_, gap_ : ndarray of shape (1 or K,)
        Final objective, and a bound on its distance from the minimum.
    kernel_map_ : Nystroem or None
        Map from items to the features of the kernel.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns of ``X``, if it had any.

    Notes
    -----
    The classifier has decision values, not probabilities. With more than two classes there
    is one hyperplane for each class against the rest, and the largest decision value wins.
    Features should have similar scales. With a loss of counts alone ("ae", "rae", "kld",
    "nkld"), only the margin depends on which items are predicted as positive.

    References
    ----------
    Joachims (2005), A support vector method for multivariate performance measures. ICML.

    Joachims, Finley and Yu (2009), Cutting-plane training of structural SVMs. Machine
    Learning 77.

    Esuli and Sebastiani (2015), Optimizing text quantifiers for multivariate loss
    functions. ACM TKDD 9(4).

    Barranquero, Díez and del Coz (2015), Quantification-oriented learning based on
    reliable classifiers. Pattern Recognition 48(2).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount.learn import MultivariateSVC
    >>> X, y = make_classification(2000, weights=[0.8], flip_y=0.1, random_state=0)
    >>> svm = MultivariateSVC(loss="kld").fit(X[:1000], y[:1000])
    >>> float(svm.predict(X[1000:]).mean().round(2)), float(y[1000:].mean().round(2))
    (0.19, 0.22)
    """

    def __init__(
        self,
        loss: str = "q",
        *,
        C: float | None = 1.0,
        kernel: str = "linear",
        gamma: float | str = "scale",
        n_components: int | None = 300,
        tol: float = 0.1,
        max_iter: int = 5000,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on labelled items.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.
        y : array-like of shape (n,)
            Labels of any type.

        Returns
        -------
        MultivariateSVC
            The fitted classifier.
        """
        check_choice("loss", self.loss, LOSSES)
        tol, max_iter = check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        self._check_kernel()
        X, self.classes_, codes = check_items(self, X, y)
        C = _usual_weight(len(codes)) if self.C is None else check_positive("C", self.C)
        self.kernel_map_ = self._fit_kernel(X) if self.kernel == "rbf" else None
        features = self._features(X)
        sides = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        found: list[Hyperplane | None] = [None] * len(sides)

        def work(start: int, stop: int) -> None:
            for i in range(start, stop):
                positive = codes == sides[i]
                finder = labelling_finder(self.loss, positive)
                found[i] = train(
                    features,
                    positive,
                    finder,
                    C=C,
                    tol=tol,
                    max_iter=max_iter,
                    constant=float(bool(self.fit_intercept)),
                )

        each_range(work, len(sides))
        self._keep([trained for trained in found if trained is not None])
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return signed distances from the hyperplanes, times the length of w.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            Decision values. For two classes a vector, above 0 for the second class. For
            more, one column per class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        values: NDArray[np.float64] = self._features(X) @ self.coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the classes of items.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n,)
            For two classes the second where the decision value is above 0. For more, the
            class with the largest decision value.
        """
        values = self.decision_function(X)
        codes = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(np.int64)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_kernel(self) -> None:
        check_choice("kernel", self.kernel, _KERNELS)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_positive("gamma", self.gamma)
        if self.n_components is not None:
            check_count("n_components", self.n_components)

    def _fit_kernel(self, X: Any) -> Nystroem:
        n, d = X.shape
        kept = n if self.n_components is None else min(n, self.n_components)
        if isinstance(self.gamma, str):
            spread = _variance(X) if self.gamma == "scale" else 1.0
            gamma = 1.0 / (d * spread) if spread > 0 else 1.0
        else:
            gamma = self.gamma
        seed = int(seeds_of(self.random_state, 1)[0])
        return Nystroem("rbf", gamma=gamma, n_components=kept, random_state=seed).fit(X)

    def _features(self, X: Any) -> Any:
        return X if self.kernel_map_ is None else self.kernel_map_.transform(X)

    def _keep(self, trained: list[Hyperplane]) -> None:
        self.coef_ = np.array([one.coef for one in trained])
        self.intercept_ = np.array([one.intercept for one in trained])
        self.n_iter_ = np.array([one.n_rounds for one in trained])
        self.objective_ = np.array([one.objective for one in trained])
        self.gap_ = np.array([one.gap for one in trained])
        if not all(one.converged for one in trained):
            warn(
                f"MultivariateSVC stopped after max_iter={self.max_iter} rounds, objective at "
                f"most {self.gap_.max():.3g} above the minimum: raise max_iter, lower C or "
                "scale the features."
            )


def _usual_weight(n_items: int) -> float:
    """Default of C."""
    return 0.1 if n_items > _MANY_ITEMS else 1.0


def _variance(X: Any) -> float:
    """Variance of all numbers of a dense or sparse table."""
    if isinstance(X, np.ndarray):
        return float(X.var())
    return float(X.multiply(X).mean() - X.mean() ** 2)
