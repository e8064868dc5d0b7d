"""A test of prior shift: whether a sample is a mixture of the training classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f

from headcount._kernels.mixture_distances import nearest_mixtures
from headcount._parameters import check_fraction
from headcount._threads import each_range
from headcount.data import check_features
from headcount.diagnose.ranks import RankMoments
from headcount.errors import HeadcountError
from headcount.representation import Dense, Training
from headcount.sampling import Samples, as_samples
from headcount.scores import check_scores

__all__ = ["FitTest", "FitTests", "MixtureTest", "fit_test"]

# Times that the covariance is taken at the shares found last; more change nothing.
_STEPS = 4
# Directions with less than this part of the largest variance within classes say nothing.
_LEAST_VARIANCE = 1e-6
# Samples whose covariances are held at a time, and what keeps these from being singular.
_AT_ONCE, _RIDGE = 1024, 1e-12


@dataclass(frozen=True, eq=False)
class FitTest:
    """Whether a sample looks like a mixture of the training classes.

    Attributes
    ----------
    statistic : float
        Squared distance from the sample to the nearest mixture, in standard errors.
    df : int
        Degrees of freedom: numbers compared, less shares that were free to fit them.
    p_value : float
        Chance of so large a statistic under prior shift; NaN if nothing can be tested.
    prevalence : ndarray of shape (K,)
        Shares of the nearest mixture.
    n : int
        Number of items in the sample.

    Examples
    --------
    >>> import numpy as np
    >>> test = FitTest(14.2, 2, 0.0008, np.array([0.3, 0.7]), 500)
    >>> test.rejects()
    True
    >>> print(test)
    The sample does not look like a mixture of the training classes (p = 0.0008).
    """

    statistic: float
    df: int
    p_value: float
    prevalence: NDArray[np.float64]
    n: int

    def rejects(self, level: float = 0.05) -> bool:
        """Whether prior shift is rejected at this level."""
        return bool(self.p_value < check_fraction("level", level))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON and tables; no p-value if nothing can be tested."""
        return {
            "statistic": self.statistic,
            "df": self.df,
            "p_value": None if np.isnan(self.p_value) else self.p_value,
            "prevalence": self.prevalence.tolist(),
            "n": self.n,
        }

    def __str__(self) -> str:
        if np.isnan(self.p_value):
            return (
                "Whether the sample is a mixture of the training classes cannot be tested: its "
                "scores take too few different values."
            )
        verb = "does not look" if self.rejects() else "looks"
        return f"The sample {verb} like a mixture of the training classes ({said(self)})."


def said(test: FitTest) -> str:
    """The p-value as a person would write it."""
    return "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class FitTests:
    """The tests of many samples: a sequence of `FitTest`, held as arrays.

    Attributes
    ----------
    statistic, p_value : ndarray of float64, shape (S,)
    df, n : ndarray of int64, shape (S,)
    prevalence : ndarray of float64, shape (S, K)
        One entry or row per sample, as in `FitTest`.

    Examples
    --------
    >>> import numpy as np
    >>> tests = FitTests(np.array([14.2]), np.array([2]), np.array([0.0008]),
    ...     np.array([[0.3, 0.7]]), np.array([500]))
    >>> tests.rejects()
    array([ True])
    >>> tests[0].df
    2
    """

    statistic: NDArray[np.float64]
    df: NDArray[np.int64]
    p_value: NDArray[np.float64]
    prevalence: NDArray[np.float64]
    n: NDArray[np.int64]

    def rejects(self, level: float = 0.05) -> NDArray[np.bool_]:
        """Which samples prior shift is rejected for at this level."""
        return np.asarray(self.p_value < check_fraction("level", level))

    def __len__(self) -> int:
        return len(self.statistic)

    def __getitem__(self, number: int) -> FitTest:
        return FitTest(
            float(self.statistic[number]),
            int(self.df[number]),
            float(self.p_value[number]),
            self.prevalence[number],
            int(self.n[number]),
        )

    def __iter__(self) -> Iterator[FitTest]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"FitTests({len(self):,} samples, {int(self.rejects().sum()):,} rejected at 5%)"


@dataclass(frozen=True, eq=False)
class MixtureTest:
    """The test, learnt from labelled items: means and covariances of their vectors, by class.

    Make one by `of_posteriors` for any method that scores items, or by `of_vectors` for the
    representation of a moment method; then test samples by `test`.

    Attributes
    ----------
    representation : RankMoments or None
        How posteriors become vectors, to which covariates may be added; None if vectors are
        given.
    means : ndarray of shape (K, d)
        Mean of each class, in the directions that vary.
    covariances : ndarray of shape (K, d, d)
        Covariance within each class.
    sizes : ndarray of shape (K,)
        Items of each class; with weights, the number that equal ones would have.
    directions : ndarray of shape (D, d)
        What vectors are multiplied with.
    """

    representation: RankMoments | None
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    sizes: NDArray[np.float64]
    directions: NDArray[np.float64]

    @classmethod
    def of_posteriors(
        cls, training: Training, covariates: NDArray[np.float64] | None = None
    ) -> MixtureTest:
        """Learn from posteriors that are out-of-fold or held-out, and columns beside them."""
        assert training.items is not None
        representation = RankMoments().fit(training)
        vectors = representation.embed(np.asarray(training.items, np.float64)).values
        return _learn(representation, _beside(vectors, covariates), training)

    @classmethod
    def of_vectors(cls, training: Training) -> MixtureTest:
        """Learn from vectors whose mean describes a sample, one row per item."""
        return _learn(None, np.asarray(training.items, np.float64), training)

    def test(
        self,
        items: NDArray[np.float64],
        samples: Samples,
        covariates: NDArray[np.float64] | None = None,
    ) -> FitTests:
        """Test samples of a pool of items, given in the form the training items had."""
        vectors = items
        if self.representation is not None:
            vectors = _beside(self.representation.embed(items).values, covariates)
        seen = Dense(vectors).means(samples)
        S, K = len(samples), len(self.means)
        shares, statistics = np.empty((S, K)), np.empty(S)
        counts = samples.sizes.astype(np.float64)

        def work(start: int, stop: int) -> None:
            nearest_mixtures(
                self.means, self.covariances, self.sizes, self.directions, seen, counts, _STEPS,
                start, stop, shares, statistics,
            )  # fmt: skip

        d = self.means.shape[1]
        each_range(work, S, grain=max(1, 20_000 // (K * (d + 1) ** 2)))
        # On a face of the simplex the distance to it counts too: a direction more for every
        # share that is held at zero.
        df = d + 1 - (shares > 0).sum(axis=1)
        spare = self._spare(shares, counts)
        p_values = np.where(df > 0, _chance(statistics, np.maximum(df, 1), spare), np.nan)
        return FitTests(statistics, df, p_values, shares, samples.sizes)

    def _spare(
        self, shares: NDArray[np.float64], counts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Degrees of freedom that the covariance of each sample's distance was estimated with.

        Those of a Wishart matrix whose moments are those of the sum of the classes' parts.
        """
        d = self.means.shape[1]
        found = np.empty(len(shares))
        for first in range(0, len(shares), _AT_ONCE):
            batch = slice(first, first + _AT_ONCE)
            p, n = shares[batch], counts[batch, None]
            amounts = p / n + p**2 / self.sizes
            means = np.einsum("sj,ja->sa", p, self.means)
            away = self.means - means[:, None]
            covariance = np.einsum("sj,jab->sab", amounts, self.covariances)
            covariance += np.einsum("sj,sja,sjb->sab", p / n, away, away)
            covariance += _RIDGE * np.eye(d)
            parts = np.linalg.solve(covariance[:, None], self.covariances[None])
            parts *= amounts[:, :, None, None]
            trace = np.einsum("sjaa->sj", parts)
            square = np.einsum("sjab,sjba->sj", parts, parts)
            noise = (square + trace**2) / np.maximum(self.sizes - 1, 1)
            found[batch] = (d + d**2) / np.maximum(noise.sum(axis=1), 1e-300)
        return found


def _chance(
    statistics: NDArray[np.float64], df: NDArray[np.int64], spare: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Chance of larger statistics: Hotelling's, as the covariance was estimated, too."""
    left = np.maximum(spare - df + 1, 1.0)
    return np.asarray(f.sf(statistics * left / (np.maximum(spare, df) * df), df, left))


def _beside(
    vectors: NDArray[np.float64], covariates: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    return vectors if covariates is None else np.column_stack([vectors, covariates])


def _learn(
    representation: RankMoments | None, vectors: NDArray[np.float64], training: Training
) -> MixtureTest:
    weights, codes, K = training.class_weights, training.codes, training.n_classes
    means = training.class_means(Dense(vectors))
    D = vectors.shape[1]
    sizes = 1 / np.bincount(codes, weights**2, K)
    covariances = np.empty((K, D, D))
    for j in range(K):
        own = codes == j
        centred = vectors[own] - means[j]
        covariances[j] = (centred * weights[own, None]).T @ centred
    spare = np.maximum(sizes - 1, 0)
    pooled = np.einsum("j,jab->ab", sizes, covariances) / max(spare.sum(), 1)
    # A class borrows from all as if it had one item more: enough for one with a single item.
    own = sizes[:, None, None] * covariances + pooled
    covariances = own / (spare[:, None, None] + 1)
    values, axes = np.linalg.eigh(pooled)
    there = values > _LEAST_VARIANCE * max(values[-1], 1e-12)
    directions = np.ascontiguousarray(axes[:, there] / np.sqrt(values[there]))
    return MixtureTest(
        representation,
        np.ascontiguousarray(means @ directions),
        np.ascontiguousarray(directions.T @ covariances @ directions),
        sizes,
        directions,
    )


def fit_test(
    training_posteriors: Any,
    codes: ArrayLike,
    n_classes: int,
    posteriors: Any,
    samples: Any = None,
    weights: NDArray[np.float64] | None = None,
    *,
    training_covariates: ArrayLike | None = None,
    covariates: ArrayLike | None = None,
) -> FitTests:
    """Test whether samples are mixtures of the training classes, as prior shift has it.

    Under prior shift a class looks the same in the sample as in training, so that the mean of
    any function of the scores is a mixture of its class means. Smooth functions of the
    scores' ranks are compared with the nearest mixture; what is left over has
    Hotelling's distribution: chi-squared, but for the covariances being estimated, too.

    Parameters
    ----------
    training_posteriors : array-like of shape (n, K)
        Posteriors of labelled items, made by a classifier that was not trained on them.
    codes : array-like of int of shape (n,)
        Their classes, from 0 to ``n_classes - 1``.
    n_classes : int
        Number of classes.
    posteriors : array-like of shape (m, K)
        Posteriors of the pool. They must be made as those of the training items were: by the
        same classifier, or, where those are out-of-fold, each by the classifier of some fold
        chosen at random. The classifier trained on everything gives scores that are not
        quite like those of the folds', which a large sample shows.
    samples : Samples or iterable of index arrays, default=None
        Samples of the pool; by default one, of all of it.
    weights : ndarray of shape (n,), default=None
        Weights of the training items.
    training_covariates, covariates : array-like of shape (n, c) and (m, c), default=None
        Numbers that are known of training items and of the pool, to be looked at beside the
        scores, such as indicators of a group. The same columns in both.

    Returns
    -------
    FitTests
        One test per sample.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> def scores(centres):
    ...     positive = 1 / (1 + np.exp(1 - rng.normal(centres)))
    ...     return np.column_stack([1 - positive, positive])
    >>> codes = np.repeat([0, 1], 500)
    >>> training = scores(2 * codes)
    >>> print(fit_test(training, codes, 2, scores(np.repeat([0, 2], [50, 450])))[0])
    The sample looks like a mixture of the training classes (p = ...).
    >>> print(fit_test(training, codes, 2, scores(np.ones(500)))[0])
    The sample does not look like a mixture of the training classes (p < 0.0001).
    """
    training = _checked(training_posteriors, codes, n_classes, weights)
    pool = check_scores(posteriors, n_classes, name="posteriors")
    chosen = Samples.whole(len(pool)) if samples is None else as_samples(samples, len(pool))
    if (training_covariates is None) != (covariates is None):
        raise HeadcountError(
            "training_covariates and covariates go together, but one of them is missing: pass "
            "the same columns for the training items and for the pool."
        )
    own = _columns("training_covariates", training_covariates, len(training.codes))
    new = _columns("covariates", covariates, len(pool))
    if own is not None and new is not None and own.shape[1] != new.shape[1]:
        raise HeadcountError(
            f"covariates has {new.shape[1]} columns, but training_covariates has "
            f"{own.shape[1]}: pass the same columns in the same order."
        )
    return MixtureTest.of_posteriors(training, own).test(pool, chosen, new)


def _columns(name: str, given: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    columns = np.asarray(check_features(given, name=name), np.float64)
    if len(columns) != n:
        raise HeadcountError(
            f"{name} has {len(columns):,} rows, but there are {n:,} items: pass one per item."
        )
    return columns


def _checked(
    posteriors: Any, codes: ArrayLike, K: int, weights: NDArray[np.float64] | None
) -> Training:
    scored = check_scores(posteriors, K, name="training_posteriors")
    labels = np.asarray(codes)
    if labels.shape != (len(scored),) or labels.dtype.kind not in "iu":
        raise HeadcountError(
            f"codes must be {len(scored):,} whole numbers, one per row of training_posteriors, "
            f"but is an array of {labels.dtype} of shape {labels.shape}: pass positions in the "
            "list of classes."
        )
    counts = np.bincount(labels, minlength=K) if labels.min() >= 0 else np.empty(0)
    if len(counts) != K or not counts.all():
        raise HeadcountError(
            f"codes must hold every whole number from 0 to {K - 1} and no others: leave out "
            "classes without items."
        )
    if weights is not None and np.shape(weights) != labels.shape:
        raise HeadcountError(
            f"weights has shape {np.shape(weights)}, but there are {len(labels):,} training "
            "items: pass one weight per item."
        )
    return Training(scored, labels.astype(np.int64), K, weights)
