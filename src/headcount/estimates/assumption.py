"""Tests of the shift assumption, checks of an estimate, and the warnings that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.stats import f

from headcount._kernels.accumulation import add_outside, add_rank_moments, ranks_of
from headcount._kernels.quadratic_programs import nearest_mixtures
from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import each_range
from headcount._support.parameters import check_count, check_fraction, check_one_each
from headcount._support.text import ShownAsPrinted, Table, first_of, html_result
from headcount.errors import HeadcountError
from headcount.items.arrays import (
    Scored,
    check_features,
    check_labels,
    check_lengths,
    check_weights,
    class_shares,
    count_rows,
)
from headcount.parts.training import Dense, MeanOf, Training
from headcount.samples.samples import Samples, as_samples
from headcount.scores.folds import one_fold_each
from headcount.scores.scorer import Scorer


def components(
    training_items: Any, items: Any, n_components: int = 8, *, random_state: Any = 0
) -> tuple[Floats, Floats]:
    """Principal directions of training and new items together, as covariates for `fit_test`."""
    # Imported here, as estimates do not need it.
    from sklearn.decomposition import TruncatedSVD

    most = check_count("n_components", n_components)
    training, new = _numbers("training_items", training_items), _numbers("items", items)
    if training.shape[1] != new.shape[1]:
        raise HeadcountError(
            f"items has {new.shape[1]:,} columns, but training_items has "
            f"{training.shape[1]:,}: pass the same columns in the same order."
        )
    n = training.shape[0]
    if sparse.issparse(training) or sparse.issparse(new):
        together: Any = sparse.vstack([training, new], format="csr")
    else:
        together = _scaled(np.concatenate([training, new]))
    if together.shape[1] > most:
        search = TruncatedSVD(most, random_state=random_state)
        together = search.fit_transform(together)
    elif sparse.issparse(together):
        together = together.toarray()
    scores = np.asarray(together, np.float64)
    return scores[:n], scores[n:]


def fit_test_items(
    scorer: Scorer,
    training_items: Any,
    items: Any,
    samples: Any = None,
    *,
    n_components: int = 8,
    random_state: Any = 0,
) -> FitTests:
    """Test if samples are mixtures of the training classes, by scores and by features.

    The test of estimates uses scores alone and misses changes that do not affect them. This
    test also uses the principal directions of the features. It detects more shifts,
    including harmless ones.

    Parameters
    ----------
    scorer : Scorer
        Scorer fitted on the training items, such as ``fitted_.scorer`` of a quantifier.
    training_items : array-like or sparse matrix of shape (n, d)
        Features of the training items, in the order in which the scorer was fitted.
    items : array-like or sparse matrix of shape (m, d)
        Features of the pool.
    samples : Samples or iterable of index arrays, default=None
        Samples of the pool. By default one sample, the whole pool.
    n_components : int, default=8
        Number of directions.
    random_state : int, RandomState or None, default=0
        Random seed.

    Returns
    -------
    FitTests
        One test per sample.

    Examples
    --------
    >>> import headcount as hc
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(3000, n_informative=4, random_state=0)
    >>> quantifier = hc.PACC(random_state=0).fit(X[:2000], y[:2000])
    >>> new = X[2000:].copy()
    >>> print(fit_test_items(quantifier.fitted_.scorer, X[:2000], new)[0])
    The sample looks like a mixture of the training classes (p = ...).
    >>> new[:, 3] += 0.5
    >>> print(fit_test_items(quantifier.fitted_.scorer, X[:2000], new)[0])
    The sample does not look like a mixture of the training classes (p < 0.0001).
    """
    if not scorer.has_posteriors_:
        raise HeadcountError(
            "scorer has no out-of-fold posteriors of the training items: pass a Scorer that "
            "was fitted on them, such as fitted_.scorer of a fitted PACC."
        )
    if count_rows(training_items) != len(scorer.codes_):
        raise HeadcountError(
            f"training_items has {count_rows(training_items):,} rows, but scorer was fitted on "
            f"{len(scorer.codes_):,} items: pass the same items in the same order."
        )
    known_components, new = components(
        training_items, items, n_components, random_state=random_state
    )
    return fit_test(
        Scored(scorer.posteriors_, scorer.classes_),
        scorer.classes_[scorer.codes_],
        scorer.score(items),
        samples,
        scorer.weights_,
        training_covariates=known_components,
        covariates=new,
    )


def _numbers(name: str, items: Any) -> Any:
    checked = check_features(items, name=name)
    if sparse.issparse(checked):
        return checked
    try:
        numbers = np.asarray(checked, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 2:
        raise HeadcountError(
            f"{name} must be numbers, one row per item: convert texts and categories to "
            "columns of numbers first."
        )
    return numbers


def _scaled(columns: Floats) -> Floats:
    """Standardise columns, and leave out constant ones."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    varying = spread > 1e-12 * np.maximum(np.abs(columns).max(axis=0), 1e-300)
    return np.asarray(centred[:, varying] / spread[varying])


# Degrees of the polynomials. The effect of a shift on scores is smooth, so low degrees have
# the most power.
_DEGREES_OF_TWO_CLASSES, _DEGREES_OF_MORE = 3, 2
_SMALLEST = 1e-150
# Bits of the number of bins of all posteriors together, which narrow the search for a rank.
# A power of two, so that no rounding moves a posterior to the next bin.
_BITS_OF_BINS = 16


@dataclass(frozen=True, eq=False)
class RankMoments:
    """Legendre polynomials of the ranks of posteriors.

    A posterior is replaced by its rank, between -1 and 1, among the training items, with all
    classes weighted equally. With two classes the posterior of the last one is used, in
    polynomials up to the third degree. With more classes all posteriors are used, in
    polynomials up to the second degree.
    """

    values: tuple[Floats, ...] = ()
    ranks: tuple[Floats, ...] = ()

    def fit(self, training: Training) -> RankMoments:
        """Compute the ranks of the training items."""
        assert training.items is not None
        pairs = [
            _ranks(column, training.class_weights)
            for column in _used(np.asarray(training.items, np.float64))
        ]
        values, ranks = zip(*pairs, strict=True)
        return RankMoments(values, ranks)

    def embed(self, items: Floats) -> RankEmbedding:
        """Embed items given as posteriors."""
        return RankEmbedding(self, items)

    @property
    def degrees(self) -> int:
        """Number of polynomials of each posterior."""
        return _DEGREES_OF_TWO_CLASSES if len(self.values) == 1 else _DEGREES_OF_MORE

    @cached_property
    def search(self) -> tuple[Array, ...]:
        """Values of all posteriors, lines between their ranks, edges, and numbers by bin."""
        n_bins = 1 << (_BITS_OF_BINS - (len(self.values) - 1).bit_length())
        bins = np.arange(n_bins + 1) / n_bins
        starts = np.stack([np.searchsorted(value, bins, side="right") for value in self.values])
        # A value in the first bin can be 0.
        starts[:, 0] = 0
        starts[:, -1] = sizes = [len(value) for value in self.values]
        return (
            np.concatenate([np.append(value, np.inf) for value in self.values]),
            np.concatenate(
                [_lines(*column) for column in zip(self.values, self.ranks, strict=True)]
            ),
            np.concatenate([[0], np.cumsum(np.add(sizes, 1))]),
            starts.astype(np.int32),
        )


@dataclass(frozen=True, eq=False)
class RankEmbedding:
    """Items as polynomials of their ranks, computed when they are used."""

    moments: RankMoments
    items: Floats

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.moments.degrees * len(self.moments.values)

    @property
    def values(self) -> Floats:
        """Polynomials, one row per item."""
        moments = self.moments
        columns: list[Floats] = []
        values, lines, edges, starts = moments.search
        for c, column in enumerate(np.ascontiguousarray(_used(self.items))):
            x = np.empty(len(column))
            ranks_of(column, values, lines, edges[c], starts[c], 0.0, x)
            polynomials = (x, (3 * x**2 - 1) / 2, (5 * x**3 - 3 * x) / 2)
            columns.extend(polynomials[: moments.degrees])
        return np.column_stack(columns)

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        """Mean vector of each sample."""
        return Dense(self.values).means(samples, weights)

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        """Add the items to the sums of their groups."""
        items = np.ascontiguousarray(self.items, dtype=np.float64)
        moments = self.moments
        first = 1 if items.shape[1] == 2 else 0
        rule: tuple[Any, ...] = (*moments.search, moments.degrees, _SMALLEST)
        add_rank_moments(*(items, first, *rule, groups, sums))


def _used(posteriors: Floats) -> Floats:
    """Posteriors that are used, one row per class."""
    columns = posteriors.T[1:] if posteriors.shape[1] == 2 else posteriors.T
    # Interpolation between values that are closer than this overflows.
    return np.where(columns < _SMALLEST, 0.0, columns)


def _lines(values: Floats, ranks: Floats) -> Floats:
    """Value, rank and slope of the line between each two values, and of those outside."""
    slopes = np.concatenate([[0.0], np.diff(ranks) / np.diff(values), [0.0]])
    return np.column_stack([np.append(values[0], values), np.append(ranks[0], ranks), slopes])


def _ranks(column: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Distinct values, and the middle rank of each, from -1 to 1."""
    has_weight = weights > 0
    values, which = np.unique(column[has_weight], return_inverse=True)
    mass = np.bincount(which, weights[has_weight])
    return values, (2 * np.cumsum(mass) - mass) / mass.sum() - 1


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
    prevalence: Floats
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
        return html_result(str(self), [Table.of(head, [cells], [True] * 4)], ())


def p_value_of(estimate: Any) -> float | None:
    """p-value of the assumption test of an estimate; None if it was not tested."""
    test = estimate.fit_test
    return None if test is None or np.isnan(test.p_value) else float(test.p_value)


def format_p_value(test: FitTest) -> str:
    """Text of the p-value, such as "p = 0.03"."""
    return "p < 0.0001" if test.p_value < 1e-4 else f"p = {test.p_value:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class FitTests(ShownAsPrinted):
    """Tests of many samples: a sequence of `FitTest`, stored as arrays."""

    statistic: Floats
    df: Ints
    p_value: Floats
    prevalence: Floats
    n: Ints

    def rejects(self, level: float = 0.05) -> Bools:
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


@dataclass(frozen=True, eq=False)
class MixtureTest:
    """Test of prior shift, fitted on labelled items: `of_posteriors` makes one."""

    representation: RankMoments
    means: Floats
    covariances: Floats
    sizes: Floats
    directions: Floats

    @classmethod
    def of_posteriors(cls, training: Training, covariates: Floats | None = None) -> MixtureTest:
        """Fit it on out-of-sample posteriors, and covariates if given."""
        assert training.items is not None
        representation = RankMoments().fit(training)
        vectors = representation.embed(np.asarray(training.items, np.float64)).values
        return _learn(representation, _with_covariates(vectors, covariates), training)

    def test(
        self, items: Floats, samples: Samples, covariates: Floats | None = None
    ) -> FitTests:
        """Test samples of a pool, whose items have the form of the training items."""
        return self.test_means(self.sample_means(items, samples, covariates), samples.sizes)

    def sample_means(
        self, items: Floats, samples: Samples, covariates: Floats | None = None
    ) -> Floats:
        """Means of the vectors of samples of a pool, as `test_means` takes them."""
        vectors = self.representation.embed(items).values
        return Dense(_with_covariates(vectors, covariates)).means(samples)

    def test_means(self, seen: Floats, sizes: Ints) -> FitTests:
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

    def invariants(self, items: Floats) -> Floats:
        """Functions of items whose means are the same in all classes and mixtures."""
        vectors = self.representation.embed(items).values
        differences = self.means[1:] - self.means[0]
        axes = np.linalg.svd(differences, full_matrices=True)[2][len(differences) :]
        return np.asarray(vectors @ (self.directions @ axes.T))

    def _spare(self, shares: Floats, counts: Floats) -> Floats:
        """Degrees of freedom of a Wishart matrix with the moments of the covariance."""
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


def _chance(statistics: Floats, df: Ints, spare: Floats) -> Floats:
    """Probability of larger statistics, by Hotelling's distribution."""
    remaining = np.maximum(spare - df + 1, 1.0)
    return np.asarray(
        f.sf(statistics * remaining / (np.maximum(spare, df) * df), df, remaining)
    )


def _with_covariates(vectors: Floats, covariates: Floats | None) -> Floats:
    return vectors if covariates is None else np.column_stack([vectors, covariates])


def _learn(representation: RankMoments, vectors: Floats, training: Training) -> MixtureTest:
    weights, codes, K = training.class_weights, training.codes, training.n_classes
    means = training.class_means(Dense(vectors))
    D = vectors.shape[1]
    sizes = 1 / np.bincount(codes, weights**2, K)
    covariances = np.empty((K, D, D))
    for j in range(K):
        members = codes == j
        centred = vectors[members] - means[j]
        covariances[j] = (centred * weights[members, None]).T @ centred
    spare = np.maximum(sizes - 1, 0)
    pooled = np.einsum("j,jab->ab", sizes, covariances) / max(spare.sum(), 1)
    # The pooled covariance counts as one more item of each class, so that a class with a
    # single item has a covariance.
    members = sizes[:, None, None] * covariances + pooled
    covariances = members / (spare[:, None, None] + 1)
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


@documented(fit_test_items)
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
    weights : array-like of shape (n,), default=None
        Weights of the training items.
    training_covariates, covariates : array-like of shape (n, c) and (m, c), default=None
        Further numbers about the training items and the pool, such as indicators of a
        group, with the same columns in both.

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
    training_posteriors = _scored(training).posteriors_of(classes)
    check_lengths("training", len(training_posteriors), codes)
    if weights is not None:
        weights = check_weights(weights, len(codes))
        class_shares(codes, weights, classes)
    pool = _one_score_each(_scored(items), classes)
    pool_samples = (
        Samples.whole(len(pool)) if samples is None else as_samples(samples, len(pool))
    )
    if (training_covariates is None) != (covariates is None):
        raise HeadcountError(
            "only one of training_covariates and covariates is given: pass the same columns "
            "for the training items and for the pool."
        )
    known_covariates = _columns(
        "training_covariates", training_covariates, len(training_posteriors)
    )
    new = _columns("covariates", covariates, len(pool))
    if (
        known_covariates is not None
        and new is not None
        and known_covariates.shape[1] != new.shape[1]
    ):
        raise HeadcountError(
            f"covariates has {new.shape[1]} columns, but training_covariates has "
            f"{known_covariates.shape[1]}: pass the same columns in the same order."
        )
    fitted = MixtureTest.of_posteriors(
        Training(training_posteriors, codes, len(classes), weights), known_covariates
    )
    return fitted.test(pool, pool_samples, new)


def _scored(items: Any) -> Scored:
    return items if isinstance(items, Scored) else Scored(items)


def _one_score_each(items: Scored, classes: Array) -> Floats:
    """Posteriors as the training items have them: by one fold per item, if there are folds."""
    if not items.folds:
        return items.posteriors_of(classes)
    return one_fold_each(np.stack([fold.posteriors_of(classes) for fold in items.folds]))


def _columns(name: str, features: ArrayLike | None, n: int) -> Floats | None:
    if features is None:
        return None
    columns = np.asarray(check_features(features, name=name), np.float64)
    check_one_each(name, columns, n)
    return columns


BROKEN_LEVEL = 0.01
"""P-value below which a warning reports that the assumption is violated."""
WEAK_LEVEL = 0.05
"""P-value below which there is weak evidence that it is."""
FEW_ITEMS = 30
"""Number of items below which a warning reports that a sample is small."""
HARDLY_APART = 0.5
"""Distance of classes, in standard deviations, below which there is a warning."""
AT_BOUNDARY = 1e-6
"""Distance from 0 or 1 at which a share counts as 0 or 1."""
MUCH_OUTSIDE = 0.05
"""Share of scores outside the range of training above which there is a warning."""

UNLIKE = "The sample does not look like a mixture of"
"""Start of the warnings that report a violated assumption."""
FAR = "The sample is far from any mixture of the training classes"
"""Start of the warnings that report a sample unlike all that labelled groups tell about."""


class Diagnosis(NamedTuple):
    """Test and warnings of one estimate."""

    fit_test: FitTest | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Separation:
    """Separation of the classes by the scores."""

    distance: float
    condition: float
    pair: tuple[int, int]

    @classmethod
    def of(cls, means: Floats) -> Separation:
        """Compute it from class means, in standard deviations within classes."""
        K = len(means)
        # The last contrast is the vector of ones, with singular value 0.
        contrasts, sizes, _ = np.linalg.svd(means - means.mean(axis=0))
        sizes = np.concatenate([sizes, np.zeros(K)])[: K - 1]
        worst = contrasts[:, K - 2]
        first, second = sorted((int(worst.argmin()), int(worst.argmax())))
        # For two classes, the contrast (1, -1) / sqrt 2 is their distance / sqrt 2.
        condition = sizes[0] / sizes[-1] if sizes[-1] > 0 else np.inf
        return cls(float(np.sqrt(2) * sizes[-1]), float(condition), (first, second))


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Statistics of the training items, for checks of estimates."""

    classes: tuple[Any, ...]
    mixture: MixtureTest
    separation: Separation
    low: Floats
    high: Floats
    n_training: int

    @classmethod
    def learn(cls, training: Training, classes: Sequence[Any]) -> Diagnostics:
        """Compute the statistics of labelled items with out-of-sample posteriors."""
        posteriors = np.asarray(training.items, np.float64)
        if posteriors.ndim != 2 or posteriors.shape[1] != len(classes):
            raise HeadcountError(
                f"training has items of shape {posteriors.shape}, but diagnostics need "
                f"posteriors: pass one column for each of the {len(classes)} classes."
            )
        mixture = MixtureTest.of_posteriors(training)
        return cls(
            tuple(np.asarray(classes).tolist()),
            mixture,
            Separation.of(mixture.means),
            posteriors.min(axis=0),
            posteriors.max(axis=0),
            len(posteriors),
        )

    @property
    def reduction(self) -> tuple[MeanOf, MeanOf]:
        """Statistics of a sample that `examine` takes."""
        return MeanOf(self.mixture.representation), MeanOf(_Outside(self.low, self.high))

    def means(self, posteriors: Floats, samples: Samples) -> tuple[Floats, Floats]:
        """Means of each `reduction` in samples of a pool, as `examine` takes them."""
        outside = _Outside(self.low, self.high).embed(posteriors)
        return self.mixture.sample_means(posteriors, samples), outside.means(samples)

    def examine(
        self, seen: Floats, outside: Floats, sizes: Ints, prevalence: Floats
    ) -> list[Diagnosis]:
        """Test and warn about the estimates of samples given by their statistics."""
        # A new item exceeds either end of N training items with probability 1 / (N + 1).
        usual = 2 * max(1, len(self.classes) - 1) / (self.n_training + 1)
        return [
            Diagnosis(
                test,
                assumption_warnings(
                    shares,
                    self.classes,
                    n=test.n,
                    fit_test=test,
                    separation=self.separation,
                    outside=float(share_outside - usual),
                ),
            )
            for test, shares, share_outside in zip(
                self.mixture.test_means(seen, sizes), prevalence, outside[:, 0], strict=True
            )
        ]


@dataclass(frozen=True, eq=False)
class _Outside:
    """Indicator of items with a posterior outside the range of training."""

    low: Floats
    high: Floats

    def embed(self, items: Floats) -> _OutsideEmbedding:
        return _OutsideEmbedding(self.low, self.high, items)


@dataclass(frozen=True, eq=False)
class _OutsideEmbedding:
    """The indicator for items, computed when it is used."""

    low: Floats
    high: Floats
    items: Floats

    @property
    def width(self) -> int:
        return 1

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        beyond = np.any((self.items < self.low) | (self.items > self.high), axis=1)
        return Dense(beyond.astype(np.float64).reshape(-1, 1)).means(samples, weights)

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        items = np.ascontiguousarray(self.items, dtype=np.float64)
        add_outside(items, self.low, self.high, groups, sums)


def assumption_warnings(
    prevalence: Floats,
    classes: Sequence[Any],
    *,
    n: int,
    fit_test: FitTest | None = None,
    separation: Separation | None = None,
    outside: float = 0.0,
) -> tuple[str, ...]:
    """Return warnings about an estimate, one sentence each."""
    warnings = [
        _broken(fit_test),
        _few(n),
        _hardly_apart(separation, classes),
        _at_boundary(prevalence, classes),
        _outside(outside),
    ]
    return tuple(sentence for sentence in warnings if sentence)


def _broken(test: FitTest | None) -> str:
    if test is None or not test.p_value < BROKEN_LEVEL:
        return ""
    return (
        f"{UNLIKE} the training classes ({format_p_value(test)}), so shares estimated "
        "under prior shift may be far off: label a few of its items, or retrain; if only the "
        "inputs have changed and not their relation to the classes (pure covariate shift), use "
        "the method PCC."
    )


def _few(n: int) -> str:
    if n >= FEW_ITEMS:
        return ""
    return (
        f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}, so its "
        "shares are very uncertain: add items."
    )


def _hardly_apart(separation: Separation | None, classes: Sequence[Any]) -> str:
    if separation is None or separation.distance >= HARDLY_APART:
        return ""
    first, second = (classes[j] for j in separation.pair)
    return (
        f"The scores hardly distinguish class {first!r} from class {second!r} (their means are "
        f"{separation.distance:.2g} standard deviations apart), so only their total is "
        "reliable: use a better classifier, or merge them."
    )


def _at_boundary(prevalence: Floats, classes: Sequence[Any]) -> str:
    empty = [repr(name) for name, share in zip(classes, prevalence, strict=True)
             if share <= AT_BOUNDARY]  # fmt: skip
    if not empty:
        return ""
    named, one = first_of(empty, 3), len(empty) == 1
    return (
        f"The share of class{'' if one else 'es'} {named} is estimated as 0, the end of its "
        f"range: {'it' if one else 'they'} may be rare, not absent, so read the interval."
    )


def _outside(part: float) -> str:
    if part <= MUCH_OUTSIDE:
        return ""
    return (
        f"{part:.0%} of the sample's items have scores outside the range of training, so "
        "their classes are extrapolated: inspect some of them."
    )
