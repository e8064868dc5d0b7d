"""Test of prior shift: samples are compared with mixtures of the training classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f

from headcount._kernels.mixture_distances import nearest_mixtures
from headcount._parameters import check_fraction
from headcount._text import Cell, Table, html_result
from headcount._threads import each_range
from headcount.data import check_features
from headcount.diagnose.rank_moments import RankMoments
from headcount.errors import HeadcountError
from headcount.representation import Dense, Training
from headcount.sampling import Samples, as_samples
from headcount.scores import Scored, one_fold_each
from headcount.scores.checks import check_labels, check_lengths, check_weights, class_shares

# Number of updates of the covariance with the last shares. More make no difference.
_STEPS = 4
# Directions with a smaller fraction of the largest variance within classes are ignored.
_LEAST_VARIANCE = 1e-6
# Number of samples whose covariances are in memory at a time, and their regularisation.
_AT_ONCE, _RIDGE = 1024, 1e-12
# Numbers that are computed with at once: 64 MB.
_MOST_NUMBERS = 8_000_000


@dataclass(frozen=True, eq=False)
class FitTest:
    """Result of the test that a sample is a mixture of the training classes.

    Attributes
    ----------
    statistic : float
        Squared distance from the sample to the nearest mixture, in standard errors.
    df : int
        Degrees of freedom: compared numbers minus fitted shares.
    p_value : float
        Probability of a larger statistic under prior shift. NaN if nothing can be tested.
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
        """Return True if prior shift is rejected at this level."""
        return bool(self.p_value < check_fraction("level", level))

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for JSON and tables. The p-value may be None."""
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
                "It cannot be tested if the sample is a mixture of the training classes: its "
                "scores have too few different values."
            )
        verb = "does not look" if self.rejects() else "looks"
        p_value = format_p_value(self)
        return f"The sample {verb} like a mixture of the training classes ({p_value})."

    def _repr_html_(self) -> str:
        cells = [f"{self.statistic:.4g}", str(self.df), f"{self.p_value:.4g}", f"{self.n:,}"]
        head = ["statistic", "degrees of freedom", "p-value", "items"]
        return html_result(str(self), [Table(head, [list(map(Cell, cells))], [True] * 4)], ())


def format_p_value(test: FitTest) -> str:
    """Text of the p-value, such as "p = 0.03"."""
    return "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class FitTests:
    """Tests of many samples: a sequence of `FitTest`, stored as arrays.

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
        """Mark the samples for which prior shift is rejected at this level."""
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

    def _repr_html_(self) -> str:
        return html_result(repr(self), [], ())


@dataclass(frozen=True, eq=False)
class MixtureTest:
    """Test of prior shift, fitted on labelled items.

    `of_posteriors` makes one for any method that scores items, `of_vectors` for the
    representation of a moment method. `test` tests samples.

    Attributes
    ----------
    representation : RankMoments or None
        Representation of posteriors by vectors, to which covariates may be added. None if
        vectors are given.
    means : ndarray of shape (K, d)
        Mean of each class, in the directions with variance.
    covariances : ndarray of shape (K, d, d)
        Covariance within each class.
    sizes : ndarray of shape (K,)
        Number of items of each class, with weights the effective number.
    directions : ndarray of shape (D, d)
        Matrix that projects vectors on these directions.
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
        """Fit it on out-of-sample posteriors, and covariates if given."""
        assert training.items is not None
        representation = RankMoments().fit(training)
        vectors = representation.embed(np.asarray(training.items, np.float64)).values
        return _learn(representation, _with_covariates(vectors, covariates), training)

    @classmethod
    def of_vectors(cls, training: Training) -> MixtureTest:
        """Fit it on vectors whose mean describes a sample, one row per item."""
        return _learn(None, np.asarray(training.items, np.float64), training)

    def test(
        self,
        items: NDArray[np.float64],
        samples: Samples,
        covariates: NDArray[np.float64] | None = None,
    ) -> FitTests:
        """Test samples of a pool, whose items have the form of the training items."""
        return self.test_means(self.sample_means(items, samples, covariates), samples.sizes)

    def sample_means(
        self,
        items: NDArray[np.float64],
        samples: Samples,
        covariates: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Means of the vectors of samples of a pool, as `test_means` takes them."""
        vectors = items
        if self.representation is not None:
            vectors = _with_covariates(self.representation.embed(items).values, covariates)
        return Dense(vectors).means(samples)

    def test_means(self, seen: NDArray[np.float64], sizes: NDArray[np.int64]) -> FitTests:
        """Test samples given by the means of their vectors, and their numbers of items."""
        S, K = len(seen), len(self.means)
        shares, statistics = np.empty((S, K)), np.empty(S)
        counts = sizes.astype(np.float64)

        def work(start: int, stop: int) -> None:
            nearest_mixtures(
                self.means, self.covariances, self.sizes, self.directions, seen, counts, _STEPS,
                start, stop, shares, statistics,
            )  # fmt: skip

        d = self.means.shape[1]
        each_range(work, S, grain=max(1, 20_000 // (K * (d + 1) ** 2)))
        # On a face of the simplex, every share that is held at zero adds a degree of freedom.
        df = d + 1 - (shares > 0).sum(axis=1)
        spare = self._spare(shares, counts)
        p_values = np.where(df > 0, _chance(statistics, np.maximum(df, 1), spare), np.nan)
        return FitTests(statistics, df, p_values, shares, sizes)

    def invariants(self, items: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions of items whose means are the same in all classes.

        Under prior shift their mean over a sample does not depend on the shares.

        Parameters
        ----------
        items : ndarray of shape (n, K)
            Posteriors.

        Returns
        -------
        ndarray of shape (n, d - K + 1)
            Without columns if there are no such functions.
        """
        vectors = items
        if self.representation is not None:
            vectors = self.representation.embed(items).values
        differences = self.means[1:] - self.means[0]
        axes = np.linalg.svd(differences, full_matrices=True)[2][len(differences) :]
        return np.asarray(vectors @ (self.directions @ axes.T))

    def _spare(
        self, shares: NDArray[np.float64], counts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Degrees of freedom of the estimated covariance of each sample's distance.

        Those of a Wishart matrix with the moments of the sum over the classes.
        """
        d = self.means.shape[1]
        degrees = np.empty(len(shares))
        at_once = max(1, min(_AT_ONCE, _MOST_NUMBERS // max(1, self.covariances.size)))
        for first in range(0, len(shares), at_once):
            batch = slice(first, first + at_once)
            p, n = shares[batch], counts[batch, None]
            amounts = p / n + p**2 / self.sizes
            means = np.einsum("sj,ja->sa", p, self.means)
            away = self.means - means[:, None]
            covariance = np.einsum("sj,jab->sab", amounts, self.covariances)
            covariance += np.einsum("sj,sja,sjb->sab", p / n, away, away)
            covariance += _RIDGE * np.eye(d)
            shares_of_variance = np.linalg.inv(covariance)[:, None] @ self.covariances
            shares_of_variance *= amounts[:, :, None, None]
            trace = np.einsum("sjaa->sj", shares_of_variance)
            square = np.einsum("sjab,sjba->sj", shares_of_variance, shares_of_variance)
            noise = (square + trace**2) / np.maximum(self.sizes - 1, 1)
            degrees[batch] = (d + d**2) / np.maximum(noise.sum(axis=1), 1e-300)
        return degrees


def _chance(
    statistics: NDArray[np.float64], df: NDArray[np.int64], spare: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability of larger statistics, by Hotelling's distribution."""
    remaining = np.maximum(spare - df + 1, 1.0)
    return np.asarray(
        f.sf(statistics * remaining / (np.maximum(spare, df) * df), df, remaining)
    )


def _with_covariates(
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
    # The pooled covariance counts as one more item of each class, so that a class with a
    # single item has a covariance.
    own = sizes[:, None, None] * covariances + pooled
    covariances = own / (spare[:, None, None] + 1)
    values, axes = np.linalg.eigh(pooled)
    varying = values > _LEAST_VARIANCE * max(values[-1], 1e-12)
    directions = np.ascontiguousarray(axes[:, varying] / np.sqrt(values[varying]))
    return MixtureTest(
        representation,
        np.ascontiguousarray(means @ directions),
        np.ascontiguousarray(directions.T @ covariances @ directions),
        sizes,
        directions,
    )


def fit_test(
    training: Any,
    y: ArrayLike,
    items: Any,
    samples: Any = None,
    weights: ArrayLike | None = None,
    *,
    training_covariates: ArrayLike | None = None,
    covariates: ArrayLike | None = None,
) -> FitTests:
    """Test if samples are mixtures of the training classes, as prior shift implies.

    Under prior shift a class looks the same in the sample as in training. The mean of any
    function of the scores is then a mixture of its class means. Smooth functions of the
    ranks of the scores are compared with the nearest mixture. The squared distance has
    Hotelling's distribution: chi-squared, corrected for the estimated covariances.

    Parameters
    ----------
    training : Scored, or array-like of shape (n, K) or (n,)
        Posteriors of labelled items, from a classifier that was not trained on them.
    y : array-like of shape (n,)
        Labels of these items.
    items : Scored, or array-like of shape (m, K) or (m,)
        Posteriors of the pool, from the classifier that scored the training items. For
        out-of-fold posteriors, pass the result of `Scorer.score`: each item then has the
        posteriors of one of its ``folds``, chosen at random. The classifier trained on all
        items has slightly different scores, which a large sample reveals.
    samples : Samples or iterable of index arrays, default=None
        Samples of the pool. By default one sample, the whole pool.
    weights : array-like of shape (n,), default=None
        Weights of the training items.
    training_covariates, covariates : array-like of shape (n, c) and (m, c), default=None
        Further numbers about the training items and the pool, such as indicators of a
        group, with the same columns in both.

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
    >>> training, y = scores(np.repeat([0, 2], 500)), np.repeat(["ham", "spam"], 500)
    >>> print(fit_test(training, y, scores(np.repeat([0, 2], [50, 450])))[0])
    The sample looks like a mixture of the training classes (p = ...).
    >>> print(fit_test(training, y, scores(np.ones(500)))[0])
    The sample does not look like a mixture of the training classes (p < 0.0001).
    """
    classes, codes = check_labels(y)
    known = _scored(training).posteriors_of(classes)
    check_lengths("training", len(known), codes)
    if weights is not None:
        weights = check_weights(weights, len(codes))
        class_shares(codes, weights, classes)
    pool = _one_score_each(_scored(items), classes)
    chosen = Samples.whole(len(pool)) if samples is None else as_samples(samples, len(pool))
    if (training_covariates is None) != (covariates is None):
        raise HeadcountError(
            "only one of training_covariates and covariates is given: pass the same columns "
            "for the training items and for the pool."
        )
    own = _columns("training_covariates", training_covariates, len(known))
    new = _columns("covariates", covariates, len(pool))
    if own is not None and new is not None and own.shape[1] != new.shape[1]:
        raise HeadcountError(
            f"covariates has {new.shape[1]} columns, but training_covariates has "
            f"{own.shape[1]}: pass the same columns in the same order."
        )
    fitted = MixtureTest.of_posteriors(Training(known, codes, len(classes), weights), own)
    return fitted.test(pool, chosen, new)


def _scored(items: Any) -> Scored:
    return items if isinstance(items, Scored) else Scored(items)


def _one_score_each(items: Scored, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Posteriors as the training items have them: by one fold per item, if there are folds."""
    if not items.folds:
        return items.posteriors_of(classes)
    return one_fold_each(np.stack([fold.posteriors_of(classes) for fold in items.folds]))


def _columns(name: str, given: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    columns = np.asarray(check_features(given, name=name), np.float64)
    if len(columns) != n:
        raise HeadcountError(
            f"{name} has {len(columns):,} rows, but there are {n:,} items: pass one per item."
        )
    return columns
