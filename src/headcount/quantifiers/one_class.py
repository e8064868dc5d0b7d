"""Share of one class, of which alone there are labelled items."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds
from headcount._support.parameters import (
    check_choice,
    check_count,
    check_positive,
    check_random_state,
    check_share,
)
from headcount.errors import HeadcountError, warn
from headcount.estimates.conditioning import SharePosterior, check_prior, whole_counts
from headcount.estimates.estimate import Estimate
from headcount.items.arrays import (
    check_features,
    check_lengths,
    count_rows,
    encode_labels,
    take_rows,
)
from headcount.parts.distances import FourierFeatures
from headcount.parts.fitted import MethodInfo, pool_samples
from headcount.parts.training import Binned, Dense, Training
from headcount.quantifiers.base import ShareEstimator
from headcount.samples.samples import Samples
from headcount.scores.folds import numeric_space

# Parameters of the Dirichlet distribution of the shares: any share, and often 0 or 1.
_PRIOR = 0.5
# Edges of the bins of ranks that estimates are conditioned on.
_EDGES = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
# Ranges of the two parameters of a binormal curve of other items.
_SEPARATIONS, _SPREADS = (0.0, 4.0), (0.5, 1.1)
# Part of the simulations in which some of the other items look like those of the class.
_ALIKE = 0.1
# Draws from the prior for each draw that an estimate keeps, and the number of items that
# counts at most, as the draws are not dense enough for more.
_DRAWS_PER_KEPT, _MOST_ITEMS = 10, 5000


class OneClassQuantifier(BaseEstimator):
    """Base of methods that learn from labelled items of a single class.

    A method is a subclass with an ``info``, ``_learn``, ``_shares`` and ``_posteriors``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labelled class, then "other": everything else.
    """

    info: ClassVar[MethodInfo]
    other: Any
    random_state: Any

    def fit(self, X: Any, y: ArrayLike | None = None, unlabelled: Any = None) -> Self:
        """Learn from items of one class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            Items of the class.
        y : array-like of shape (n,), default=None
            Their labels, which are all the same: the name of the class. "positive" by
            default.
        unlabelled : array-like, sparse matrix or frame of shape (u, d), list of texts
            Further items, of the class and of others, for methods that learn from them.
        """
        check_random_state(self.random_state)
        X = check_features(X)
        label: Any = "positive"
        if y is not None:
            classes, codes = encode_labels(y)
            check_lengths("X", count_rows(X), codes)
            if len(classes) > 1:
                raise HeadcountError(
                    f"y has {len(classes)} classes, but {type(self).__name__} learns from one: "
                    "pass the items of that class alone, or use a quantifier for all classes."
                )
            label = classes.tolist()[0]
        if self.other == label:
            raise HeadcountError(
                f"other is {self.other!r}, which is the class of y: choose another name."
            )
        self._learn(X, None if unlabelled is None else check_features(unlabelled))
        names = np.empty(2, dtype=object)
        names[:] = [label, self.other]
        same = np.array([label, self.other])
        self.classes_ = same if same.tolist() == names.tolist() else names
        return self

    def _learn(self, X: Any, unlabelled: Any) -> None:
        """Learn from checked items."""
        raise NotImplementedError

    def _shares(self, X: Any, samples: Samples) -> Floats:
        """Share of the class in each sample."""
        raise NotImplementedError

    def _posteriors(
        self, X: Any, samples: Samples, prior: Any, replicates: int, seed: int
    ) -> list[SharePosterior]:
        """Distribution of the realised shares of each sample."""
        raise NotImplementedError

    def predict(self, X: Any) -> Floats:
        """Shares of the class and of "other" among the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            One sample.

        Returns
        -------
        ndarray of shape (2,)
            Shares in the order of ``classes_``, on the simplex.
        """
        return self.predict_many(X, None)[0]

    @documented(ShareEstimator.predict_many)
    def predict_many(self, X: Any, samples: Any) -> Floats:
        """Shares in many samples of a pool, scored once.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts
            The pool.

        Returns
        -------
        ndarray of shape (S, 2)
            Shares, one row per sample, in the order of ``classes_``.
        """
        check_is_fitted(self, "classes_")
        X = check_features(X)
        shares = np.clip(self._shares(X, pool_samples(samples, X)), 0.0, 1.0)
        return np.column_stack([shares, 1 - shares])

    @documented(predict_many)
    def estimate_many(
        self,
        X: Any,
        samples: Any,
        *,
        estimand: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> list[Estimate]:
        """Estimate the shares in many samples of a pool, such as months or groups.

        Parameters
        ----------
        estimand : {"realised", "expected"}, default="realised"
            Shares among the items of a sample, or in the population behind them.
        prior : None, float, array-like of shape (2,) or (M, 2), default=None
            Shares that are thought possible: parameters of a Dirichlet distribution, or
            draws. Uniform by default.
        replicates : int, default=4000
            Number of simulated samples, or of draws.
        random_state : int, RandomState, Generator or None, default=None
            Random seed; None takes the quantifier's own.

        Returns
        -------
        list of Estimate
            One per sample.
        """
        kind: Any = check_choice("estimand", estimand, ("realised", "expected"))
        name = type(self).__name__
        check_count("replicates", replicates, 100)
        raw = self.predict_many(X, samples)
        pool = pool_samples(samples, X)
        seed = base_seeds(self.random_state if random_state is None else random_state, 1)[0]
        posteriors = self._posteriors(check_features(X), pool, prior, replicates, seed)
        return [
            Estimate(
                method=name,
                classes=self.classes_,
                shares=posterior.mean,
                raw=predicted,
                n_items=size,
                estimand=kind,
                posterior=posterior,
            )
            for posterior, predicted, size in zip(
                posteriors, raw, pool.sizes.tolist(), strict=True
            )
        ]

    @documented(predict, estimate_many)
    def estimate(self, X: Any, **options: Any) -> Estimate:
        """Estimate the shares of the class and of "other", with intervals."""
        return self.estimate_many(X, None, **options)[0]


@dataclass(eq=False, repr=False)
class PAT(OneClassQuantifier):
    """Share of a class by the part of its items that a detector finds most typical.

    A detector scores how typical items are of the class. A threshold that a known part of
    the labelled items exceeds is exceeded by the same part of the class in a sample. If no
    other item exceeds it, the share of the class follows. The result is the mean over many
    thresholds: low ones let other items pass, and high ones leave few items to count (passive
    aggressive thresholds).

    Other items above the thresholds raise the result of `predict`. `estimate` allows for
    them: it simulates samples with other items of many kinds, less typical of the class than
    its own items, and compares the distribution of the scores, not only the result. If other
    items look exactly like those of the class, no method can count them. Labelled items must be
    like the items of the class in the sample: those that have changed count as other, and
    nothing shows it.

    Parameters
    ----------
    detector : scikit-learn outlier detector or density, default=None
        With ``fit(X)`` and ``score_samples(X)``, higher for typical items. By default the
        Mahalanobis distance of standardised features. For sparse features and texts pass for
        instance ``IsolationForest()``, or a pipeline that ends with it.
    quantiles : pair of float, default=(0.25, 0.75)
        Lowest and highest threshold, as the part of the labelled items below it.
    cv : int, default=5
        Number of parts of the labelled items. Each is scored by a detector that was fitted
        on the others, and sets the thresholds of this detector.
    other : Any, default="other"
        Name of everything that is not of the class.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the parts.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labelled class, then "other".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import headcount as hc
    >>> X, y = load_digits(return_X_y=True)
    >>> zeros = X[:900][y[:900] == 0]
    >>> quantifier = hc.PAT(random_state=0).fit(zeros)
    >>> quantifier.predict(X[900:]).round(2)  # a tenth of them are zeros
    array([0.09, 0.91])
    """

    info: ClassVar = MethodInfo(
        title="thresholds on typical items of one class",
        family="one class",
        reference="dos Reis, de Souto, de Sousa & Batista, arXiv 2004.10356 (2020)",
        input="features",
        labels="one class",
    )

    detector: Any = None
    _: KW_ONLY
    quantiles: tuple[float, float] = (0.25, 0.75)
    cv: int = 5
    other: Any = "other"
    random_state: Any = None

    def _learn(self, X: Any, unlabelled: Any) -> None:
        low, high = _check_quantiles(self.quantiles)
        n, cv = count_rows(X), check_count("cv", self.cv, 2)
        if n < 2 * cv:
            raise HeadcountError(
                f"X has {n} items of the class; {2 * cv} are needed for cv={cv}: label more."
            )
        detector = _default_detector() if self.detector is None else self.detector
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        fold = rng.permutation(n) % cv
        folds = []
        for number in range(cv):
            fitted = clone(detector).fit(take_rows(X, np.flatnonzero(fold != number)))
            held = take_rows(X, np.flatnonzero(fold == number))
            folds.append((fitted, np.sort(_typicality(fitted, held))))
        self.folds_, self.n_items_ = folds, n
        # Step of 0.01, as in the paper.
        self.thresholds_ = np.linspace(low, high, max(round((high - low) * 100), 0) + 1)

    def _ranks(self, X: Any) -> Floats:
        """Rank of each item among the labelled ones, from 0 to 1: one copy per detector."""
        ranks = []
        for detector, labelled in self.folds_:
            scores = _typicality(detector, X)
            below = np.searchsorted(labelled, scores, "left")
            equal = np.searchsorted(labelled, scores, "right")
            ranks.append((below + equal + 1) / (2 * len(labelled) + 2))
        return np.concatenate(ranks)

    def _histograms(self, X: Any, samples: Samples, edges: Floats) -> Floats:
        """Share of the items of each sample between consecutive edges of the ranks."""
        ranks = self._ranks(X)
        codes = np.searchsorted(edges[1:-1], ranks, "right").astype(np.int32)
        return Binned(codes[:, None], len(edges) - 1).means(samples.over(len(ranks)))

    def _shares(self, X: Any, samples: Samples) -> Floats:
        edges = np.concatenate([[0.0], self.thresholds_, [1.0]])
        above = 1 - np.cumsum(self._histograms(X, samples, edges), axis=1)[:, :-1]
        return np.minimum(above / (1 - self.thresholds_), 1.0).mean(axis=1)

    def _posteriors(
        self, X: Any, samples: Samples, prior: Any, replicates: int, seed: int
    ) -> list[SharePosterior]:
        rng = np.random.default_rng(seed)
        n_draws = _DRAWS_PER_KEPT * replicates
        shares = check_prior(_PRIOR if prior is None else prior, 2).draw(
            n_draws, np.array([0.5, 0.5]), rng
        )
        of_class, of_other = np.diff(_EDGES), _other_ranks(n_draws, rng)
        logs = np.log(shares[:, :1] * of_class + shares[:, 1:] * of_other + 1e-12)
        posteriors = []
        for histogram, size in zip(
            self._histograms(X, samples, _EDGES), samples.sizes.tolist(), strict=True
        ):
            # The noise of the ranks is that of both the sample and the labelled items.
            n = 1 / (1 / size + 1 / self.n_items_)
            fit = min(n, _MOST_ITEMS) * (logs @ histogram)
            edges = np.cumsum(np.exp(fit - fit.max()))
            places = (np.arange(replicates) + 0.5) / replicates * edges[-1]
            draws = shares[np.searchsorted(edges, places)]
            draws = whole_counts(draws, size, np.random.default_rng(seed)) / size
            posteriors.append(SharePosterior(draws, np.full(replicates, 1 / replicates)))
        return posteriors


def _other_ranks(n: int, rng: np.random.Generator) -> Floats:
    """Random distributions of other items over the bins of ranks.

    Each is a mixture of two binormal curves: the normal quantiles of the ranks are normal,
    with a lower mean than those of the class. In some, a part of the items looks like those
    of the class.
    """
    ranks = np.zeros((n, len(_EDGES) - 1))
    first = rng.random((n, 1))
    for fraction in (first, 1 - first):
        separation = rng.uniform(*_SEPARATIONS, (n, 1))
        spread = rng.uniform(*_SPREADS, (n, 1))
        ranks += fraction * np.diff(ndtr((ndtri(_EDGES) + separation) / spread), axis=1)
    alike = np.where(rng.random((n, 1)) < _ALIKE, rng.random((n, 1)), 0.0)
    return np.asarray(alike * np.diff(_EDGES) + (1 - alike) * ranks)


def _check_quantiles(quantiles: Any) -> tuple[float, float]:
    try:
        low, high = (float(value) for value in quantiles)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low <= high < 1:
        raise HeadcountError(
            f"quantiles is {quantiles!r}; it must be two numbers from 0 to below 1, the lower "
            "one first, such as (0.25, 0.75)."
        )
    return low, high


def _default_detector() -> Any:
    from sklearn.mixture import GaussianMixture
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # The log-density of one Gaussian falls with the Mahalanobis distance.
    return make_pipeline(StandardScaler(), GaussianMixture(reg_covar=0.01))


def _typicality(detector: Any, X: Any) -> Floats:
    return np.asarray(detector.score_samples(X), dtype=np.float64)


# Lines through resampled items, and the part of a squared length that counts at least.
_RESAMPLED_LINES, _LEAST_LENGTH = 200, 0.1
_ROWS_AT_ONCE = 5000


@dataclass(eq=False, repr=False)
class TCPU(OneClassQuantifier):
    """Share of a class from labelled items of it and a mixed sample with a known share.

    Means of a kernel embedding are points. Those of all mixtures of the class and the rest
    are on a line, through the labelled items and the unlabelled ones that `fit` takes. A new
    sample is projected onto that line, and its position shows its share: with the share s of
    the class among the unlabelled items, and the mean embeddings P of the class, U of the
    unlabelled items and T of the new sample, it is::

        1 - (1 - s) <T - P, U - P> / <U - P, U - P>

    The products are corrected for the noise of the means, and the kernel is a Gaussian one,
    approximated by random Fourier features. The estimator was derived from what the abstract
    of the paper states. Correct if "other" is the same mixture of things in both samples.

    Parameters
    ----------
    source_share : float or None, default=None
        Share of the class among the unlabelled items. None estimates it by `PAT`, which
        counts too many where other items look typical of the class.
    n_projections : int, default=300
        Number of random Fourier features; each is a cosine and a sine.
    bandwidth : float or None, default=None
        Standard deviation of the kernel, for standardised features. None is the root of the
        number of features.
    other : Any, default="other"
        Name of everything that is not of the class.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the projections.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labelled class, then "other".
    source_share_ : float
        Share of the class among the unlabelled items, given or estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> import headcount as hc
    >>> X, y = load_digits(return_X_y=True)
    >>> quantifier = hc.TCPU(source_share=0.1, random_state=0)
    >>> quantifier = quantifier.fit(X[:900][y[:900] == 0], unlabelled=X[:900])
    >>> new = np.r_[X[900:], X[900:][y[900:] == 0]]  # zeros twice: 18%
    >>> quantifier.predict(new).round(2)
    array([0.18, 0.82])
    """

    info: ClassVar = MethodInfo(
        title="projection of kernel means of one class and a mixture",
        family="one class",
        reference="Mielniczuk, Rejchel & Teisseyre, arXiv 2502.21194 (2025)",
        input="features",
        labels="one class and unlabelled",
        resamples=True,
    )

    source_share: float | None = None
    _: KW_ONLY
    n_projections: int = 300
    bandwidth: float | None = None
    other: Any = "other"
    random_state: Any = None

    def _learn(self, X: Any, unlabelled: Any) -> None:
        if unlabelled is None:
            raise HeadcountError(
                "unlabelled is None, but TCPU compares new samples with a mixed one: pass "
                "unlabelled items, or use PAT, which needs none."
            )
        source = self.source_share
        if source is not None and check_share("source_share", source) == 1:
            raise HeadcountError("source_share is 1; it must be below 1.")
        bandwidth = self.bandwidth
        if bandwidth is not None:
            check_positive("bandwidth", bandwidth)
        n_projections = check_count("n_projections", self.n_projections)
        seed = base_seeds(self.random_state, 1)[0]
        positives, mixed = numeric_space(None, X), numeric_space(None, unlabelled)
        if positives.shape[1] != mixed.shape[1]:
            raise HeadcountError(
                f"unlabelled has {mixed.shape[1]} features, but X has {positives.shape[1]}: "
                "pass the same features."
            )
        if min(positives.shape[0], mixed.shape[0]) < 2:
            raise HeadcountError(
                "X or unlabelled has a single item; two of each are needed at least: pass more."
            )
        self._scaler = StandardScaler(with_mean=not issparse(mixed)).fit(mixed)
        width = np.sqrt(positives.shape[1]) if bandwidth is None else float(bandwidth)
        scaled = self._scaler.transform(positives)
        everyone = Training(scaled, np.zeros(positives.shape[0], np.int64), 1)
        self._waves = FourierFeatures(n_projections, width, seed).fit(everyone)
        of_own, of_mixed = self._waves.embed(scaled).values, self._embed(mixed)
        if source is None:
            pat = PAT(random_state=seed).fit(X)
            self.source_share_ = float(pat.predict(unlabelled)[0])
            self._sources = pat.estimate(unlabelled).draws[:, 0]
        else:
            self.source_share_ = float(source)
            self._sources = np.array([self.source_share_])
        rng = np.random.default_rng(seed)
        lines = [_line(of_own, of_mixed)] + [
            _line(_resampled(of_own, rng), _resampled(of_mixed, rng), times=2)
            for _ in range(_RESAMPLED_LINES)
        ]
        if lines[0][2] <= 0:
            warn(
                "unlabelled items hardly differ from those of the class, so the shares are "
                "very uncertain: use a sample with fewer items of the class."
            )
        directions, offsets, lengths = zip(*lines, strict=True)
        # A length that noise explains counts for nothing; the share is then hardly determined.
        least = np.maximum(_LEAST_LENGTH * np.sum(np.square(directions), axis=1), 1e-12)
        scale = np.maximum(lengths, least)
        self._directions = np.array(directions).T / scale
        self._offsets = np.array(offsets) / scale

    def _embed(self, X: Any) -> Floats:
        return self._waves.embed(self._scaler.transform(numeric_space(None, X))).values

    def _positions(self, X: Any, n_lines: int) -> Floats:
        """Position of each item on the line: 0 for the class and 1 for the unlabelled items."""
        n = count_rows(X)
        blocks = np.array_split(np.arange(n), 1 + n // _ROWS_AT_ONCE)
        waves = (self._embed(take_rows(X, rows)) for rows in blocks)
        positions = [wave @ self._directions[:, :n_lines] for wave in waves]
        return np.concatenate(positions) - self._offsets[:n_lines]

    def _shares(self, X: Any, samples: Samples) -> Floats:
        position = Dense(self._positions(X, 1)).means(samples)[:, 0]
        return np.asarray(1 - (1 - self.source_share_) * position)

    def _posteriors(
        self, X: Any, samples: Samples, prior: Any, replicates: int, seed: int
    ) -> list[SharePosterior]:
        if prior is not None:
            raise HeadcountError("prior is for PAT; TCPU has none: leave it out.")
        rng = np.random.default_rng(seed)
        positions = self._positions(X, 1 + _RESAMPLED_LINES)
        means = Dense(positions).means(samples)
        squares = Dense(positions[:, :1] ** 2).means(samples)[:, 0]
        line = 1 + rng.integers(_RESAMPLED_LINES, size=replicates)
        complement = 1 - rng.choice(self._sources, replicates)
        noise = rng.normal(size=replicates)
        posteriors = []
        for mean, square, n in zip(means, squares, samples.sizes.tolist(), strict=True):
            share = np.clip(1 - (1 - self.source_share_) * mean[0], 0, 1)
            # Variance between the two classes is not uncertainty about these very items.
            variance = (1 - self.source_share_) ** 2 * max(square - mean[0] ** 2, 0.0)
            within = max(variance - share * (1 - share), variance / 10) / n
            draws = np.clip(1 - complement * mean[line] + np.sqrt(within) * noise, 0, 1)
            pairs = np.column_stack([draws, 1 - draws])
            posteriors.append(SharePosterior(pairs, np.full(replicates, 1 / replicates)))
        return posteriors


def _resampled(rows: Floats, rng: np.random.Generator) -> Floats:
    return rows[rng.integers(len(rows), size=len(rows))]


def _line(positives: Floats, mixed: Floats, times: int = 1) -> tuple[Floats, float, float]:
    """Direction from the class to the mixture, offset, and squared length without its noise."""
    start = positives.mean(axis=0)
    direction = mixed.mean(axis=0) - start
    noise = times * positives.var(axis=0, ddof=1).sum() / len(positives)
    noises = noise + times * mixed.var(axis=0, ddof=1).sum() / len(mixed)
    return direction, float(start @ direction + noise), float(direction @ direction - noises)
