"""Support vector machine trained to minimise the error of the count of a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._kernels.structural_svm import q_loss, solve_planes, worst_counts_for_q
from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import each_range
from headcount._support.parameters import check_choice, check_count, check_positive
from headcount.errors import warn
from headcount.learn.checks import check_items, seeds_of

_KERNELS = ("linear", "rbf")
_MANY_ITEMS = 10_000
_IDLE_ROUNDS = 50
_CLOSE = 0.005
_MAX_STEPS = 30_000
_ROOM = 64

# Losses that depend on a + b alone, and those that do not.
_OF_COUNTS = ("ae", "rae", "kld", "nkld")
LOSSES = ("q", *_OF_COUNTS, "error")


@dataclass(eq=False, repr=False)
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

    loss: str = "q"
    _: KW_ONLY
    C: float | None = 1.0
    kernel: str = "linear"
    gamma: float | str = "scale"
    n_components: int | None = 300
    tol: float = 0.1
    max_iter: int = 5000
    fit_intercept: bool = True
    random_state: Any = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on labelled items.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The items.
        y : array-like of shape (n,)
            Labels of any type.
        """
        check_choice("loss", self.loss, LOSSES)
        tol, max_iter = check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        self._check_kernel()
        X, self.classes_, codes = check_items(self, X, y)
        C = _usual_weight(len(codes)) if self.C is None else check_positive("C", self.C)
        self.kernel_map_ = self._fit_kernel(X) if self.kernel == "rbf" else None
        features = self._features(X)
        sides = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        planes: list[Hyperplane | None] = [None] * len(sides)

        def work(start: int, stop: int) -> None:
            for i in range(start, stop):
                positive = codes == sides[i]
                finder = labelling_finder(self.loss, positive)
                planes[i] = train(
                    features,
                    positive,
                    finder,
                    C=C,
                    tol=tol,
                    max_iter=max_iter,
                    constant=float(bool(self.fit_intercept)),
                )

        each_range(work, len(sides))
        self._keep([plane for plane in planes if plane is not None])
        return self

    @documented(fit)
    def decision_function(self, X: Any) -> Floats:
        """Return signed distances from the hyperplanes, times the length of w.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            Decision values. For two classes a vector, above 0 for the second class. For
            more, one column per class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        values: Floats = self._features(X) @ self.coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    @documented(fit)
    def predict(self, X: Any) -> Array:
        """Predict the classes of items.

        Returns
        -------
        ndarray of shape (n,)
            For two classes the second where the decision value is above 0. For more, the
            class with the largest decision value.
        """
        values = self.decision_function(X)
        codes = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(np.int64)
        return self.classes_[codes]

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
        n_components = n if self.n_components is None else min(n, self.n_components)
        if isinstance(self.gamma, str):
            spread = _variance(X) if self.gamma == "scale" else 1.0
            gamma = 1.0 / (d * spread) if spread > 0 else 1.0
        else:
            gamma = self.gamma
        seed = int(seeds_of(self.random_state, 1)[0])
        return Nystroem("rbf", gamma=gamma, n_components=n_components, random_state=seed).fit(X)

    def _features(self, X: Any) -> Any:
        return X if self.kernel_map_ is None else self.kernel_map_.transform(X)

    def _keep(self, planes: list[Hyperplane]) -> None:
        self.coef_ = np.array([plane.coef for plane in planes])
        self.intercept_ = np.array([plane.intercept for plane in planes])
        self.n_iter_ = np.array([plane.n_rounds for plane in planes])
        self.objective_ = np.array([plane.objective for plane in planes])
        self.gap_ = np.array([plane.gap for plane in planes])
        if not all(plane.converged for plane in planes):
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


# Search for the most violated of all 2^n labellings, given the scores of all items: True for
# positives, with its loss in percent. It has the largest loss plus (100 / n) times the sum of
# the scores of its positives. Below, a and b are true and false positives, c and d false and
# true negatives, P = a + c and N = b + d.
WorstLabelling = Callable[[Floats], tuple[Bools, float]]


def labelling_finder(loss: str, positive: Bools) -> WorstLabelling:
    """Make the search for items with these true labels."""
    if loss == "error":
        return _by_item(positive)
    if loss == "q":
        return _by_recall_and_balance(positive)
    return _by_count(losses_of_counts(loss, int(positive.sum()), len(positive)))


def losses_of_counts(loss: str, positives: int, n: int) -> Floats:
    """Loss in percent of predicting k = 0, ..., n positives when `positives` is true."""
    k = np.arange(n + 1)
    off = np.abs(positives - k)
    if loss == "ae":
        return 100.0 * off / n
    if loss == "rae":
        return 50.0 * off * (1.0 / (positives + 0.5) + 1.0 / (n - positives + 0.5))
    true, predicted = (positives + 0.5) / (n + 1), (k + 0.5) / (n + 1)
    divergence = true * np.log(true / predicted)
    divergence = divergence + (1 - true) * np.log((1 - true) / (1 - predicted))
    if loss == "kld":
        return 100.0 * divergence
    # 200 / (1 + exp(KLD)), in a form that does not overflow.
    return 100.0 - 200.0 * np.exp(-divergence) / (1.0 + np.exp(-divergence))


def _by_item(positive: Bools) -> WorstLabelling:
    signs = np.where(positive, 1.0, -1.0)

    def find(scores: Floats) -> tuple[Bools, float]:
        wrong = signs * scores < 1.0
        return positive ^ wrong, 100.0 * float(wrong.mean())

    return find


def _by_count(losses: Floats) -> WorstLabelling:
    n = len(losses) - 1

    def find(scores: Floats) -> tuple[Bools, float]:
        order = np.argsort(-scores)
        values = losses + (100.0 / n) * _sums_of_first(scores[order])
        k = int(values.argmax())
        labelling = np.zeros(n, dtype=bool)
        labelling[order[:k]] = True
        return labelling, float(losses[k])

    return find


def _by_recall_and_balance(positive: Bools) -> WorstLabelling:
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    P, N, n = len(positives), len(negatives), len(positive)
    before = (0, 0)  # the last result is a good starting point

    def find(scores: Floats) -> tuple[Bools, float]:
        nonlocal before
        first = positives[np.argsort(-scores[positives])]
        second = negatives[np.argsort(-scores[negatives])]
        sums = _sums_of_first(scores[first]), _sums_of_first(scores[second])
        before = worst_counts_for_q(*sums, 100.0 / n, *before)
        a, b = before
        labelling = np.zeros(n, dtype=bool)
        labelling[first[:a]] = True
        labelling[second[:b]] = True
        return labelling, q_loss(a, 1.0 - abs(P - a - b) / max(P, N), P)

    return find


def _sums_of_first(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane, and the accuracy of its training."""

    coef: Floats
    intercept: float
    n_rounds: int
    objective: float
    gap: float
    converged: bool


def train(
    X: Any,
    positive: Bools,
    worst: WorstLabelling,
    *,
    C: float,
    tol: float,
    max_iter: int,
    constant: float,
) -> Hyperplane:
    """Minimise |w|^2 / 2 + C xi, so that no labelling is violated by more than xi + tol."""
    n, d = X.shape
    planes = _Planes(d + 1, C)
    w, slack = np.zeros(d + 1), 0.0
    rounds, converged = 0, False
    while not converged and rounds < max_iter:
        rounds += 1
        labelling, loss = worst(X @ w[:-1] + constant * w[-1])
        shares = (100.0 / n) * (positive.astype(np.float64) - labelling)
        plane = np.append(X.T @ shares, constant * shares.sum())
        violation = max(loss - float(plane @ w), slack)
        objective = 0.5 * float(w @ w) + C * violation
        gap = objective - planes.dual(w)
        converged = gap <= min(C * tol, _CLOSE * objective)
        if not converged and rounds < max_iter:
            planes.add(plane, loss)
            # No more accurate than the planes found so far describe the problem.
            w, slack = planes.solve(0.1 * gap / C)
    return Hyperplane(
        coef=w[:-1],
        intercept=float(constant * w[-1]),
        n_rounds=rounds,
        objective=objective,
        gap=gap,
        converged=converged,
    )


class _Planes:
    """Constraints found so far, with their weights in the dual problem."""

    def __init__(self, width: int, C: float) -> None:
        self.n = 1
        self.planes = np.zeros((_ROOM, width))
        self.losses, self.slopes, self.weights = np.zeros((3, _ROOM))
        self.gram = np.zeros((_ROOM, _ROOM))
        self.idle = np.zeros(_ROOM, dtype=np.int64)
        self.weights[0] = C

    def add(self, plane: Floats, loss: float) -> None:
        if self.n == len(self.planes):
            self._rearrange(np.arange(self.n), 2 * self.n)
        at = self.n
        self.n += 1
        self.planes[at] = plane
        self.losses[at], self.weights[at], self.idle[at] = loss, 0.0, 0
        products = self.planes[: self.n] @ plane
        self.gram[at, : self.n] = self.gram[: self.n, at] = products

    def solve(self, tol: float) -> tuple[Floats, float]:
        """Return the best w for these planes, and its slack."""
        solve_planes(self.gram, self.losses, self.weights, self.n, tol, _MAX_STEPS, self.slopes)
        weights = self.weights[: self.n]
        w: Floats = weights @ self.planes[: self.n]
        slack = float(self.slopes[: self.n].max())
        self.idle[: self.n] = np.where(weights > 0.0, 0, self.idle[: self.n] + 1)
        self.idle[0] = 0
        active = np.flatnonzero(self.idle[: self.n] < _IDLE_ROUNDS)
        if len(active) < self.n:
            self._rearrange(active, len(self.planes))
        return w, slack

    def dual(self, w: Floats) -> float:
        """Return a lower bound on the objective."""
        return float(self.weights[: self.n] @ self.losses[: self.n]) - 0.5 * float(w @ w)

    def _rearrange(self, rows: Ints, room: int) -> None:
        n = len(rows)
        for name in ("planes", "losses", "slopes", "weights", "idle"):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
            new[:n] = old[rows]
            setattr(self, name, new)
        gram = np.zeros((room, room))
        gram[:n, :n] = self.gram[np.ix_(rows, rows)]
        self.gram, self.n = gram, n
