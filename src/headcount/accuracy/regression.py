"""Metrics regressed on one statistic of a sample, learnt on samples of the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from headcount._support.arrays import Floats, Ints
from headcount._support.documentation import parametrised
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_count
from headcount.accuracy.base import Predictor, predictor_class
from headcount.accuracy.fitted import MetricModel
from headcount.accuracy.metrics import ModelOutputs, Reference, TableMetric, features_of
from headcount.errors import HeadcountError
from headcount.parts.fitted import MethodInfo
from headcount.parts.training import Dense, MeanOf, Reduced, Reduction
from headcount.samples.protocols import NPP, UPP
from headcount.samples.samples import Samples

Rows = Ints
Statistic = Callable[[ModelOutputs, Samples], Floats]
"""One number for each sample of a pool."""

# Share of the reference that the statistic is compared with; samples are drawn from the
# other items.
_KEPT = 0.6
_RCA_REFERENCE = "Elsahar & Galle, EMNLP 2019"

# Squared distances below this are zero up to rounding.
_LEAST_DISTANCE = 1e-12


@dataclass(frozen=True)
class _ConfidenceGap:
    """Mean confidence on the reference minus that on a sample."""

    level: float

    def __call__(self, pool: ModelOutputs, samples: Samples) -> Floats:
        return self.of_means(_Confidence().embed(pool).means(samples))

    def of_means(self, means: Floats) -> Floats:
        """Statistic of samples with these means of the confidence."""
        return self.level - means[:, 0]


@dataclass(frozen=True)
class _Confidence:
    """Highest posterior of each item."""

    def embed(self, items: ModelOutputs) -> Dense:
        return Dense(items.confidence[:, None])


@dataclass(frozen=True, eq=False)
class Regression(MetricModel):
    """Line through the metrics of samples of the reference, whose statistics are ``levels``."""

    statistic: Statistic
    levels: Floats
    reference: Reference
    samples: Samples
    base: Samples
    rows: Rows

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Statistic of each sample."""
        return self.statistic(pool, samples)

    def reduction(self) -> tuple[Reduction, ...] | None:
        """The mean confidence, if the statistic is made of it."""
        if not isinstance(self.statistic, _ConfidenceGap):
            return None
        return (MeanOf(_Confidence()),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Floats:
        """Statistic of samples given by their mean confidence."""
        assert isinstance(self.statistic, _ConfidenceGap)
        return self.statistic.of_means(np.asarray(reduced[0]))

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric on each sample, within its range."""
        base = metric.on_samples(self.reference, self.base)
        drop = base - metric.on_samples(self.reference, self.samples)
        away = self.levels - self.levels.mean()
        spread = float(away @ away)
        slope = float(away @ drop) / spread if spread > 1e-20 else 0.0
        fitted = drop.mean() + slope * (statistics - self.levels.mean())
        return np.clip(base - fitted, metric.low, metric.high)

    def table_obstacle(self) -> str:
        """The reason is the same for all."""
        return "it regresses one metric at a time; use LEAP, QuAcc or CBPE."


@dataclass(frozen=True, eq=False)
class _ReverseRegression(Regression):
    """Regression on a statistic for which a learner is trained on each sample."""

    most_simulations: ClassVar[int] = 500

    def simulation_rows(self, reference: Reference) -> Rows:
        # Learners are tested on the other items, and must not be trained on them.
        return self.rows


@parametrised
class RegressionPredictor(Predictor):
    """Base of methods that regress metrics on one statistic of a sample.

    The reference is split, 60 to 40. For samples of the 40%, the difference of a metric to
    its value on the 60% is regressed on the statistic.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples for the regression, with shares uniform on the simplex.
    size : int, default=1000
        Number of items in each of these samples.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the split and of the samples.
    """

    n_samples: int = 100
    size: int = 1000
    random_state: Any = None
    _regression: ClassVar = Regression

    def _statistic(self, reference: Reference, rows: Rows) -> Statistic:
        """Statistic of samples, compared with these rows of the reference."""
        raise NotImplementedError

    def _learn(self, reference: Reference) -> Regression:
        n_samples = check_count("n_samples", self.n_samples, 2)
        size = check_count("size", self.size)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        compared, rows = split(reference, rng)
        statistic = self._statistic(reference, compared)
        samples = _drawn_samples(reference, rows, n_samples, size, rng)
        return self._regression(
            statistic,
            statistic(reference.items, samples),
            reference,
            samples,
            Samples(compared, np.array([0, len(compared)]), n_pool=len(reference)),
            rows,
        )


@predictor_class
class DoC(RegressionPredictor):
    """Difference of confidences: the accuracy regressed on the mean confidence.

    The reference is split, 60 to 40. For samples with various shares drawn from the 40%, the
    difference of the metric to that on the 60% is regressed on the difference of the mean
    highest posterior.
    """

    info: ClassVar = MethodInfo(
        title="regression on the mean confidence",
        family="regression",
        gives="metrics",
        reference="Guillory et al., ICCV 2021",
    )

    def _statistic(self, reference: Reference, rows: Rows) -> Statistic:
        return _ConfidenceGap(float(reference.take(rows).items.confidence.mean()))


@parametrised
class _ReverseClassification(RegressionPredictor):
    """Base of methods that train a learner on the predicted classes of each sample.

    Parameters
    ----------
    learner : scikit-learn classifier, default=None
        Learner that is trained on predicted classes; a clone of the classifier by default.
    """

    _regression: ClassVar = _ReverseRegression
    learner: Any = None

    def _checked_learner(self) -> Any:
        if self.learner is None:
            model = self.classifier
            return model.estimator if isinstance(model, FrozenEstimator) else model
        if isinstance(self.learner, type) or not hasattr(self.learner, "fit"):
            raise HeadcountError(
                f"learner is {self.learner!r}; it must be a scikit-learn classifier, such as "
                "LogisticRegression()."
            )
        return self.learner


@predictor_class
class RCA(_ReverseClassification):
    """Reverse classification accuracy: disagreement with a learner of pseudo-labels.

    A learner is trained on the sample with the predicted classes as labels. Its disagreement
    with the classifier on held-out labelled items measures how much the sample has changed.
    Metrics are regressed on that, with samples of various shares drawn from the reference, with
    replacement. One learner is trained for each sample.
    """

    info: ClassVar = MethodInfo(
        title="regression on the disagreement with a learner of pseudo-labels",
        family="regression",
        input="features",
        gives="metrics",
        reference=_RCA_REFERENCE,
    )

    def _statistic(self, reference: Reference, rows: Rows) -> Statistic:
        held_out = reference.items.take(rows)
        return _Disagreement(self._checked_learner(), held_out.X, held_out.labels)


@predictor_class
class RCAStar(_ReverseClassification):
    """`RCA` with learners of pseudo-labels on both sides.

    A learner of the sample is compared not with the classifier but with a learner of its
    predictions: trained on one half of the held-out items and compared on the other half.
    Errors that come from training on predicted classes are then on both sides.
    """

    info: ClassVar = MethodInfo(
        title="regression on the disagreement of two learners of pseudo-labels",
        family="regression",
        input="features",
        gives="metrics",
        reference=_RCA_REFERENCE,
    )

    def _statistic(self, reference: Reference, rows: Rows) -> Statistic:
        learner = self._checked_learner()
        train, test = (reference.items.take(rows[half::2]) for half in (0, 1))
        predicted = _predicted(learner, train.X, train.labels, test.X)
        return _Disagreement(learner, test.X, predicted)


@dataclass(frozen=True, eq=False)
class _Disagreement:
    """Share of items whose class differs from that by a learner trained on the sample."""

    learner: Any
    X: Any
    labels: Rows

    def __call__(self, pool: ModelOutputs, samples: Samples) -> Floats:
        shares = np.empty(len(samples))
        for number, rows in enumerate(samples):
            sample = pool.take(rows)
            predicted = _predicted(self.learner, sample.X, sample.labels, self.X)
            shares[number] = np.mean(predicted != self.labels)
        return shares


def _predicted(learner: Any, X: Any, labels: Rows, new: Any) -> Rows:
    """Predictions for new items by a learner trained on these labels."""
    if (labels == labels[0]).all():
        return np.full(new.shape[0], labels[0])
    return np.asarray(clone(learner).fit(X, labels).predict(new), dtype=np.int64)


def split(reference: Reference, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows of the 60% and of the 40% of a reference, alike in every class."""
    if len(reference) < 2:
        raise HeadcountError(
            "y has a single label, but the labelled items are split in two: pass more of them."
        )
    order = rng.permutation(len(reference))
    order = order[np.argsort(reference.codes[order], kind="stable")]
    # Every row at which the running 40% passes a whole number.
    reached = np.floor((np.arange(len(order)) + 1) * (1 - _KEPT) + 0.5)
    second = np.diff(reached, prepend=0.0) > 0
    if not second.any():
        second[-1] = True
    return np.sort(order[~second]), np.sort(order[second])


def _drawn_samples(
    reference: Reference, rows: Rows, n_samples: int, size: int, rng: np.random.Generator
) -> Samples:
    """Samples of these rows of a reference, with shares uniform on the simplex."""
    codes = reference.codes[rows]
    protocol = NPP if (codes == codes[0]).all() else UPP
    samples = protocol(n_samples=n_samples, size=size, random_state=rng).draw(codes)
    return Samples(rows[samples.indices], samples.offsets, n_pool=len(reference))


@predictor_class
class NuclearNorm(RegressionPredictor):
    """Metrics regressed on the nuclear norm of the posteriors of a sample.

    The norm, the sum of singular values, is high if the posteriors are confident and the
    predicted classes are many. The reference is split, 60 to 40. For samples with various
    shares drawn from the 40%, the difference of the metric to that on the 60% is regressed on
    the norm.
    """

    info: ClassVar = MethodInfo(
        title="regression on the nuclear norm of the posteriors",
        family="regression",
        gives="metrics",
        reference="Deng et al., ICML 2023",
    )

    def _statistic(self, reference: Reference, rows: Rows) -> Statistic:
        return nuclear_norms


def nuclear_norms(pool: ModelOutputs, samples: Samples) -> Floats:
    """Sum of the singular values of the posteriors of each sample, at most 1."""
    P = pool.posteriors
    K = P.shape[1]
    products = np.empty((len(samples), K, K))
    for j in range(K):
        products[:, :, j] = Dense(P * P[:, [j]]).means(samples)
    squares = np.maximum(np.linalg.eigvalsh(products), 0.0)
    return np.asarray(np.sqrt(squares).sum(axis=1) / np.sqrt(np.minimum(samples.sizes, K)))


@predictor_class
class DispersionScore(RegressionPredictor):
    """Metrics regressed on the distances between predicted classes.

    The score is the logarithm of the mean squared distance between the centre of the features
    of a sample and those of its predicted classes. Metrics are regressed on it as in
    `NuclearNorm`. Features are divided by their standard deviations on the reference, unless
    they are sparse. The published score counts items where this one uses shares, so
    samples of any size can be compared.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The classifier whose accuracy is predicted. Of a pipeline, the features are the input
        of its last step.
    """

    info: ClassVar = MethodInfo(
        title="regression on distances between predicted classes",
        family="regression",
        input="features",
        gives="metrics",
        reference="Xie et al., NeurIPS 2023",
    )

    def _statistic(self, reference: Reference, rows: Rows) -> Statistic:
        X = features_of(reference.items.X, self.classifier)
        scale = np.ones(X.shape[1])
        if not sparse.issparse(X):
            spread = X.std(axis=0)
            scale = np.where(spread > 0, spread, 1.0)
        return _Dispersion(self.classifier, scale)


@dataclass(frozen=True, eq=False)
class _Dispersion:
    """Logarithm of the mean squared distance of predicted classes to the centre."""

    classifier: Any
    scale: Floats

    def __call__(self, pool: ModelOutputs, samples: Samples) -> Floats:
        X, logs = features_of(pool.X, self.classifier), np.empty(len(samples))
        for number, rows in enumerate(samples):
            classes, codes = np.unique(pool.labels[rows], return_inverse=True)
            members = sparse.csr_matrix(
                (np.ones(len(rows)), (codes, np.arange(len(rows)))), (len(classes), len(rows))
            )
            sums = members @ X[rows]
            sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
            counts = np.bincount(codes)
            away = (sums / counts[:, None] - sums.sum(axis=0) / len(rows)) / self.scale
            distance = counts @ (away**2).sum(axis=1) / len(rows)
            logs[number] = np.log(max(distance, _LEAST_DISTANCE))
        return logs
