"""Metrics regressed on one statistic of a sample, learnt on samples of the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from headcount._parameters import check_count
from headcount._random import base_seeds
from headcount.accuracy.base import Model, Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.tables import TableMetric
from headcount.errors import HeadcountError
from headcount.representation import Dense, MeanOf, Reduced, Reduction
from headcount.sampling import NPP, UPP, Samples

__all__ = [
    "RCA",
    "DoC",
    "RCAStar",
    "Regression",
    "RegressionPredictor",
    "Rows",
    "Statistic",
    "split",
]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Statistic = Callable[[ModelOutputs, Samples], Floats]
"""One number for each sample of a pool."""

# Share of the reference that the statistic is compared with; samples are drawn from the rest.
_KEPT = 0.6
_RCA_REFERENCE = "Elsahar & Galle, EMNLP 2019"


class RegressionPredictor(Predictor):
    """Base of methods that regress metrics on one statistic of a sample.

    The reference is split, 60 to 40. For samples of the 40%, the difference of a metric to
    its value on the 60% is regressed on the statistic.
    """

    def __init__(
        self,
        classifier: Any = None,
        *,
        n_samples: int = 100,
        size: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.n_samples = n_samples
        self.size = size
        self.random_state = random_state

    def _statistic(self, reference: Reference, kept: Rows) -> Statistic:
        """Statistic of samples, compared with the kept rows of the reference."""
        raise NotImplementedError

    def _learn(self, reference: Reference) -> Regression:
        n_samples = check_count("n_samples", self.n_samples, 2)
        size = check_count("size", self.size)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        kept, rest = split(reference, rng)
        statistic = self._statistic(reference, kept)
        samples = _drawn_samples(reference, rest, n_samples, size, rng)
        return Regression(
            statistic,
            statistic(reference.outputs, samples),
            reference,
            samples,
            Samples(kept, np.array([0, len(kept)]), n_pool=len(reference)),
            rest,
        )

    def _table_obstacle(self) -> str:
        return "it regresses one metric at a time; use LEAP, QuAcc or CBPE."


class DoC(RegressionPredictor):
    """Difference of confidences: the accuracy regressed on the mean confidence.

    The reference is split, 60 to 40. For samples with various shares drawn from the 40%, the
    difference of the metric to that on the 60% is regressed on the difference of the mean
    highest posterior.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    n_samples : int, default=100
        Number of samples for the regression, with shares uniform on the simplex.
    size : int, default=1000
        Number of items in each of these samples.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the split and of the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> doc = accuracy.DoC(model, random_state=0).fit(X[500:1500], y[500:1500])
    >>> round(doc.predict(X[1500:]), 1)
    0.9
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the mean confidence",
        input="posteriors",
        gives="metrics",
        shift="prior",
        reference="Guillory et al., ICCV 2021",
    )

    def _statistic(self, reference: Reference, kept: Rows) -> Statistic:
        return _ConfidenceGap(float(reference.take(kept).outputs.confidence.mean()))


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


class _ReverseClassification(RegressionPredictor):
    """Base of methods that train a learner on the predicted classes of each sample."""

    # A learner is trained for each simulated sample.
    _most_simulations: ClassVar[int] = 500

    def __init__(
        self,
        classifier: Any = None,
        *,
        learner: Any = None,
        n_samples: int = 100,
        size: int = 1000,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, n_samples=n_samples, size=size, random_state=random_state)
        self.learner = learner

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

    def _simulation_rows(self) -> Rows:
        # Learners are tested on the other items, and must not be trained on them.
        rows: Rows = self.model_.rows
        return rows


class RCA(_ReverseClassification):
    """Reverse classification accuracy: disagreement with a learner of pseudo-labels.

    A learner is trained on the sample with the predicted classes as labels. Its disagreement
    with the classifier on held-out labelled items measures how much the sample has changed.
    Metrics are regressed on that, with samples of various shares drawn from the reference.
    One learner is trained for each sample.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The classifier whose accuracy is predicted.
    learner : scikit-learn classifier, default=None
        Learner that is trained on predicted classes; a clone of the classifier by default.
    n_samples : int, default=100
        Number of samples for the regression, with shares uniform on the simplex.
    size : int, default=1000
        Number of items in each of these samples, drawn with replacement.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the split and of the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(1500, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> rca = accuracy.RCA(model, n_samples=20, size=200, random_state=0)
    >>> round(rca.fit(X[500:1000], y[500:1000]).predict(X[1000:]), 1)
    0.8
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the disagreement with a learner of pseudo-labels",
        input="features",
        gives="metrics",
        shift="prior",
        reference=_RCA_REFERENCE,
    )

    def _statistic(self, reference: Reference, kept: Rows) -> Statistic:
        held_out = reference.outputs.take(kept)
        return _Disagreement(self._checked_learner(), held_out.X, held_out.labels)


class RCAStar(_ReverseClassification):
    """`RCA` with learners of pseudo-labels on both sides.

    A learner of the sample is compared not with the classifier but with a learner of its
    predictions: trained on one half of the held-out items and compared on the other half.
    Errors that come from training on predicted classes are then on both sides.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The classifier whose accuracy is predicted.
    learner : scikit-learn classifier, default=None
        Learner that is trained on predicted classes; a clone of the classifier by default.
    n_samples : int, default=100
        Number of samples for the regression, with shares uniform on the simplex.
    size : int, default=1000
        Number of items in each of these samples, drawn with replacement.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the split and of the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(1500, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> rca = accuracy.RCAStar(model, n_samples=20, size=200, random_state=0)
    >>> round(rca.fit(X[500:1000], y[500:1000]).predict(X[1000:]), 1)
    0.8
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the disagreement of two learners of pseudo-labels",
        input="features",
        gives="metrics",
        shift="prior",
        reference=_RCA_REFERENCE,
    )

    def _statistic(self, reference: Reference, kept: Rows) -> Statistic:
        learner = self._checked_learner()
        train, test = (reference.outputs.take(kept[half::2]) for half in (0, 1))
        predicted = _predicted(learner, train.X, train.labels, test.X)
        return _Disagreement(learner, test.X, predicted)


@dataclass(frozen=True, eq=False)
class _Disagreement:
    """Share of items whose class differs from that by a learner trained on the sample."""

    learner: Any
    X: Any
    labels: Rows

    def __call__(self, pool: ModelOutputs, samples: Samples) -> Floats:
        found = np.empty(len(samples))
        for number, rows in enumerate(samples):
            sample = pool.take(rows)
            predicted = _predicted(self.learner, sample.X, sample.labels, self.X)
            found[number] = np.mean(predicted != self.labels)
        return found


def _predicted(learner: Any, X: Any, labels: Rows, new: Any) -> Rows:
    """Predictions for new items by a learner trained on these labels."""
    if (labels == labels[0]).all():
        return np.full(new.shape[0], labels[0])
    return np.asarray(clone(learner).fit(X, labels).predict(new), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Regression(Model):
    """Line through the metrics of samples whose classes are known.

    Attributes
    ----------
    statistic : callable
        Returns a number for each sample of a pool.
    known : ndarray of shape (m,)
        These numbers for the samples with known classes.
    reference : Reference
        The labelled items.
    samples : Samples
        The samples, as rows of the reference.
    base : Samples
        One sample, whose metric those of the others are compared with.
    rows : ndarray of int
        Items of the reference that the samples consist of.
    """

    statistic: Statistic
    known: Floats
    reference: Reference
    samples: Samples
    base: Samples
    rows: Rows

    def statistics(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Statistic of each sample."""
        return self.statistic(pool, samples)

    def reduction(self) -> tuple[Reduction, ...] | None:
        """The mean confidence, if the statistic is made of it."""
        if not isinstance(self.statistic, _ConfidenceGap):
            return None
        return (MeanOf(_Confidence()),)

    def reduced_statistics(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        """Statistic of samples given by their mean confidence."""
        assert isinstance(self.statistic, _ConfidenceGap)
        return self.statistic.of_means(np.asarray(reduced[0]))

    def values(self, statistics: Floats, metric: TableMetric) -> Floats:
        """Metric on each sample, within its range."""
        base = metric.on_samples(self.reference, self.base)
        drop = base - metric.on_samples(self.reference, self.samples)
        away = self.known - self.known.mean()
        spread = float(away @ away)
        slope = float(away @ drop) / spread if spread > 1e-20 else 0.0
        fitted = drop.mean() + slope * (statistics - self.known.mean())
        return np.clip(base - fitted, metric.low, metric.high)


def split(reference: Reference, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows of the 60% and of the 40% of a reference, alike in every class."""
    if len(reference) < 2:
        raise HeadcountError(
            "y has a single label, but the labelled items are split in two: pass more of them."
        )
    order = rng.permutation(len(reference))
    order = order[np.argsort(reference.codes[order], kind="stable")]
    # Every row at which the running 40% passes a whole number.
    part = np.floor((np.arange(len(order)) + 1) * (1 - _KEPT) + 0.5)
    chosen = np.diff(part, prepend=0.0) > 0
    if not chosen.any():
        chosen[-1] = True
    return np.sort(order[~chosen]), np.sort(order[chosen])


def _drawn_samples(
    reference: Reference, rows: Rows, n_samples: int, size: int, rng: np.random.Generator
) -> Samples:
    """Samples of these rows of a reference, with shares uniform on the simplex."""
    codes = reference.codes[rows]
    protocol = NPP if (codes == codes[0]).all() else UPP
    drawn = protocol(n_samples=n_samples, size=size, random_state=rng).draw(codes)
    return Samples(rows[drawn.indices], drawn.offsets, n_pool=len(reference))
