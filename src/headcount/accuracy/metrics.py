"""Metrics of a classifier: functions of the table of true and predicted classes, or of ranks.

A table has one row per true class and one column per predicted class; its cells are the shares
of the items and sum to 1. Metrics of ranked items are not functions of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from headcount._kernels.score_order import rank_areas
from headcount._support.arrays import Array, Floats, Ints, divided_by_sums
from headcount._support.execution import base_seeds, each_range
from headcount.errors import HeadcountError
from headcount.items.arrays import (
    Scored,
    Verdicts,
    as_narwhals,
    check_features,
    count_rows,
    take_rows,
)
from headcount.parts.fitted import ItemSource, ScoredItems
from headcount.parts.training import Training
from headcount.samples.samples import Samples
from headcount.scores.folds import Fold, allows_nan, predict_codes, score
from headcount.scores.scorer import ScoredPool

# Smaller shares are zero up to rounding.
_NOTHING = 1e-12

# Thresholds of a curve of the reference; items between two of them count as equal.
_MOST_THRESHOLDS = 1000
# Numbers held at a time.
_BATCH_NUMBERS = 4_000_000


def accuracy(tables: ArrayLike) -> Floats:
    """Share of the items that are predicted correctly, in tables of shape (..., K, K)."""
    return np.trace(_tables(tables), axis1=-2, axis2=-1)


def error(tables: ArrayLike) -> Floats:
    """Share of the items that are predicted incorrectly: 1 - `accuracy`."""
    return 1.0 - accuracy(tables)


def f1(tables: ArrayLike) -> Floats:
    """F1 of the second of two classes; with more classes, the mean over the classes.

    F1 is 1 for a class without items that is never predicted.
    """
    return _of_the_positive(_f1_by_class(_tables(tables)))


def macro_f1(tables: ArrayLike) -> Floats:
    """Mean F1 over the classes, also for two classes."""
    return _f1_by_class(_tables(tables)).mean(axis=-1)


def precision(tables: ArrayLike) -> Floats:
    """Share of correct ones among items predicted as a class; classes as for `f1`.

    0 for a class that is never predicted, or 1 if it has no items either.
    """
    shares = _tables(tables)
    return _of_the_positive(_diagonal_share(shares, shares.sum(axis=-2), shares.sum(axis=-1)))


def recall(tables: ArrayLike) -> Floats:
    """Share of correct ones among items of a class; classes as for `f1`.

    0 for a class without items, or 1 if it is never predicted either.
    """
    shares = _tables(tables)
    return _of_the_positive(_diagonal_share(shares, shares.sum(axis=-1), shares.sum(axis=-2)))


def balanced_accuracy(tables: ArrayLike) -> Floats:
    """Mean recall over the classes that have items."""
    shares = _tables(tables)
    total = shares.sum(axis=-1)
    present = total > _NOTHING
    recalls = np.diagonal(shares, axis1=-2, axis2=-1) / np.where(present, total, 1.0)
    return np.where(present, recalls, 0.0).sum(axis=-1) / present.sum(axis=-1)


def mcc(tables: ArrayLike) -> Floats:
    """Correlation of true and predicted classes (Matthews); 0 if either is constant."""
    shares = _tables(tables)
    true, predicted = shares.sum(axis=-1), shares.sum(axis=-2)
    together = np.trace(shares, axis1=-2, axis2=-1) - (true * predicted).sum(axis=-1)
    spread = (1 - (true**2).sum(axis=-1)) * (1 - (predicted**2).sum(axis=-1))
    varies = spread > _NOTHING
    return np.where(varies, together / np.sqrt(np.where(varies, spread, 1.0)), 0.0)


def kappa(tables: ArrayLike) -> Floats:
    """Agreement of true and predicted classes beyond chance (Cohen); 0 if both are constant."""
    shares = _tables(tables)
    by_chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    room = 1 - by_chance
    varies = room > _NOTHING
    beyond = np.trace(shares, axis1=-2, axis2=-1) - by_chance
    return np.where(varies, beyond / np.where(varies, room, 1.0), 0.0)


@dataclass(frozen=True)
class TableMetric:
    """Metric of tables, with its range.

    Attributes
    ----------
    name : str
        Name of the metric.
    function : callable
        Returns a number for each table; any axes may precede the last two.
    low, high : float
        Lowest and highest possible value.
    """

    name: str
    function: Callable[[Floats], Floats]
    low: float = 0.0
    high: float = 1.0

    def __call__(self, tables: Floats) -> Floats:
        """Metric of each table."""
        return np.asarray(self.function(tables), dtype=np.float64)

    def on_samples(self, reference: Reference, samples: Samples) -> Floats:
        """Metric on each sample of labelled items."""
        return self(reference.tables(samples))

    def on_populations(
        self, reference: Reference, rows: Ints, samples: Samples, rng: np.random.Generator
    ) -> Floats:
        """Metric on random populations that samples of these rows may be from.

        Shares of the classes, and rates of the predictions within each class, have Dirichlet
        distributions given the counts of the sample. The rates also use the counts of the
        rows, whose classes are those of the population.
        """
        K = reference.n_classes
        totals = np.bincount(reference.cells[rows], minlength=K * K).reshape(K, K)
        counts = samples.sizes[:, None, None] * reference.tables(samples)
        shares = counts.sum(axis=2) + 1 / K
        shares = rng.standard_gamma(np.where(totals.sum(axis=1) > 0, shares, 0.0))
        rates = rng.standard_gamma(counts + totals)
        tables = shares[:, :, None] * divided_by_sums(rates, 0.0)
        return self(np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True)))


METRICS: dict[str, TableMetric] = {
    function.__name__: TableMetric(function.__name__, function, low)
    for function, low in (
        (accuracy, 0.0),
        (error, 0.0),
        (f1, 0.0),
        (macro_f1, 0.0),
        (precision, 0.0),
        (recall, 0.0),
        (balanced_accuracy, 0.0),
        (mcc, -1.0),
        (kappa, -1.0),
    )
}


def cost(matrix: ArrayLike) -> TableMetric:
    """Mean cost, or value, of a prediction.

    Parameters
    ----------
    matrix : array-like of shape (K, K)
        Cost of an item by its true class (row) and its predicted class (column).

    Returns
    -------
    TableMetric
        Metric for `predict` and `estimate`.

    Examples
    --------
    >>> import headcount as hc
    >>> missed_costs_ten = hc.accuracy.cost([[0, 1], [10, 0]])
    >>> missed_costs_ten([[0.5, 0.1], [0.2, 0.2]]).round(6)
    np.float64(2.1)
    """
    costs = np.asarray(matrix, dtype=np.float64)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not np.isfinite(costs).all():
        raise HeadcountError(
            f"matrix has the shape {costs.shape}; it must be K x K numbers: one row per true "
            "class and one column per predicted class."
        )

    def mean(tables: Floats) -> Floats:
        shares = _tables(tables)
        if shares.shape[-1] != len(costs):
            raise HeadcountError(
                f"The cost matrix has {len(costs)} classes, but there are {shares.shape[-1]}."
            )
        return np.asarray((shares * costs).sum(axis=(-2, -1)))

    return TableMetric("cost", mean, float(costs.min()), float(costs.max()))


def table_metric(function: Callable[[Floats], float]) -> TableMetric:
    """Metric from a function of a single table."""
    name = getattr(function, "__name__", type(function).__name__)
    return TableMetric(name, _one_by_one(function), -np.inf, np.inf)


def table_of(codes: ArrayLike, labels: ArrayLike, n_classes: int) -> Floats:
    """Table of items with known true and predicted classes, as shares.

    Examples
    --------
    >>> from headcount.accuracy.metrics import table_of
    >>> table_of([0, 0, 1, 1], [0, 1, 1, 1], 2)
    array([[0.25, 0.25],
           [0.  , 0.5 ]])
    """
    cells = np.asarray(codes) * n_classes + np.asarray(labels)
    counts = np.bincount(cells, minlength=n_classes**2) / len(cells)
    return counts.reshape(n_classes, n_classes)


def _one_by_one(function: Callable[[Floats], float]) -> Callable[[Floats], Floats]:
    """Apply a function of one table to tables with leading axes."""

    def values(tables: Floats) -> Floats:
        flat = tables.reshape(-1, *tables.shape[-2:])
        return np.array([_number(function(table)) for table in flat]).reshape(tables.shape[:-2])

    return values


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise HeadcountError(
            f"metric returned {value!r} for a table; it must return one number."
        ) from None


def _tables(tables: ArrayLike) -> Floats:
    """Tables as numbers, checked."""
    shares = np.asarray(tables, dtype=np.float64)
    if shares.ndim < 2 or shares.shape[-1] != shares.shape[-2]:
        raise HeadcountError(
            f"tables has the shape {shares.shape}; it must end in K x K: one row per true "
            "class and one column per predicted class."
        )
    return shares


def _f1_by_class(tables: Floats) -> Floats:
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    total = tables.sum(axis=-1) + tables.sum(axis=-2)
    present = total > _NOTHING
    return np.where(present, 2 * right / np.where(present, total, 1.0), 1.0)


def _diagonal_share(tables: Floats, total: Floats, opposite: Floats) -> Floats:
    """Share of the diagonal in a total; of zero, 1 if the other total is zero as well."""
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    present = total > _NOTHING
    return np.where(present, right / np.where(present, total, 1.0), opposite <= _NOTHING)


def _of_the_positive(by_class: Floats) -> Floats:
    return by_class[..., 1] if by_class.shape[-1] == 2 else by_class.mean(axis=-1)


@dataclass(frozen=True)
class RankingMetric:
    """Metric of ranked items: a column of the results of the kernel.

    With two classes, items are ranked by the posterior of the second one. With more, a metric
    is the mean over the classes, each compared with all others and ranked by its own
    posterior. Classes that have no items, or all of them, are left out; ``undefined`` is the
    value of a sample without items of one of the two kinds.
    """

    name: str
    column: int
    undefined: float
    low: float = 0.0
    high: float = 1.0

    def realised(
        self, scores: Floats, codes: ArrayLike, samples: Samples | None = None
    ) -> Floats:
        """Metric on samples of items with known classes; on all items by default."""
        samples = Samples.whole(len(scores)) if samples is None else samples
        classes = np.asarray(codes)[samples.indices]
        return self.expected(scores, np.eye(scores.shape[1])[classes], samples)

    def expected(self, scores: Floats, masses: Floats, samples: Samples) -> Floats:
        """Metric on samples of items whose classes are known with a probability only."""
        K = scores.shape[1]
        of_sample = np.repeat(np.arange(len(samples)), samples.sizes)
        total, offsets = masses.sum(axis=1), np.asarray(samples.offsets, np.int64)
        by_class = np.empty((len(samples), len(_compared(K))))
        for place, c in enumerate(_compared(K)):
            ranks = np.unique(scores[:, c], return_inverse=True)[1][samples.indices]
            order = np.argsort(of_sample * (len(scores) + 1) + ranks, kind="stable")
            mass = np.ascontiguousarray(masses[order, c])
            areas = _areas(ranks[order], mass, total[order] - mass, offsets)
            by_class[:, place] = areas[:, self.column]
        return _mean_over(by_class, self.undefined)

    def given(self, reference: Reference) -> ReferenceRanking:
        """Metric as a function of tables, by the scores within each class of a reference."""
        return ReferenceRanking(self.name, _Curves.of(self, reference), ranking=self)


def _areas(ranks: Ints, mass: Floats, opposite: Floats, offsets: Ints) -> Floats:
    """Both areas of each sample, whose items are in the order of their ranks."""
    out = np.empty((len(offsets) - 1, 2))

    def work(start: int, stop: int) -> None:
        rank_areas(ranks, mass, opposite, offsets, start, stop, out)

    each_range(work, len(out), grain=64)
    return out


def _compared(K: int) -> list[int]:
    """Classes that are compared with all others."""
    return [1] if K == 2 else list(range(K))


def _mean_over(by_class: Floats, undefined: float) -> Floats:
    """Mean over the classes in which the metric is defined."""
    defined = np.isfinite(by_class)
    total = np.where(defined, by_class, 0.0).sum(axis=1)
    counts = defined.sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), undefined)


RANKINGS = {
    "auroc": RankingMetric("auroc", 0, 0.5),
    "average_precision": RankingMetric("average_precision", 1, 0.0),
}
"""Metrics of ranked items, by name."""


@dataclass(frozen=True)
class ReferenceRanking(TableMetric):
    """Ranking metric on samples of a reference, or on mixtures of its classes.

    As a metric of tables it is that of a mixture of the classes of the reference with the
    shares of the table: right under prior shift. With two classes, the area under the ROC
    curve does not depend on the shares.
    """

    ranking: RankingMetric = field(kw_only=True)

    def on_samples(self, reference: Reference, samples: Samples) -> Floats:
        """Metric on the items of each sample of the reference."""
        scores = reference.items.posteriors
        return self.ranking.realised(scores, reference.codes, samples)

    def on_populations(
        self, reference: Reference, rows: Ints, samples: Samples, rng: np.random.Generator
    ) -> Floats:
        """Metric on populations with Dirichlet shares, and weights of items, given samples."""
        K, n = reference.n_classes, len(rows)
        codes, scores = reference.codes[rows], reference.items.posteriors[rows]
        one_hot, counted = np.eye(K)[codes], np.zeros(len(reference), np.int64)
        counted[rows] = np.arange(n)
        values, step = [], max(1, _BATCH_NUMBERS // (n * K))
        for first in range(0, len(samples), step):
            batch = samples[first : first + step]
            of_sample = np.repeat(np.arange(len(batch)), batch.sizes)
            places = of_sample * n + counted[batch.indices]
            counts = np.bincount(places, minlength=len(batch) * n).reshape(-1, n)
            weights = rng.standard_gamma(1.0 + counts)
            within = weights @ one_hot
            shares = np.where(within > 0, counts @ one_hot + 1 / K, 0.0)
            shares = rng.standard_gamma(shares)
            weights *= (shares / np.where(within > 0, within, 1.0))[:, codes]
            masses = (weights[:, :, None] * one_hot).reshape(-1, K)
            rows_of_all = np.tile(np.arange(n), len(batch))
            every = Samples(rows_of_all, n * np.arange(len(batch) + 1), n_pool=n)
            values.append(self.ranking.expected(scores, masses, every))
        return np.concatenate(values)


@dataclass(frozen=True, eq=False)
class _Curves:
    """Metric of mixtures of the classes of a reference.

    ``areas`` are the probabilities that an item of a class has a higher posterior of it than
    one of another class has. ``above`` has, for each class that is compared with all others,
    the shares of each class at or above thresholds of its posterior, from the highest one on.
    """

    ranking: RankingMetric
    areas: Floats
    above: list[Floats]

    @classmethod
    def of(cls, ranking: RankingMetric, reference: Reference) -> _Curves:
        K, codes, scores = reference.n_classes, reference.codes, reference.items.posteriors
        counts = np.maximum(np.bincount(codes, minlength=K), 1)
        areas, above = np.full((K, K), 0.5), []
        for c in _compared(K):
            of_class = np.sort(scores[codes == c, c])
            for k in reference.present.tolist():
                rival = scores[codes == k, c]
                below = np.searchsorted(of_class, rival, "right")
                below = below + np.searchsorted(of_class, rival)
                if len(of_class):
                    areas[c, k] = 1 - below.mean() / (2 * len(of_class))
            values, places = np.unique(scores[:, c], return_inverse=True)
            step = -(-len(values) // _MOST_THRESHOLDS)
            cells = (len(values) - 1 - places) // step
            shares = np.zeros((int(cells.max()) + 1, K))
            np.add.at(shares, (cells, codes), 1.0)
            above.append(np.cumsum(shares, axis=0) / counts)
        return cls(ranking, areas, above)

    def __call__(self, tables: Floats) -> Floats:
        """Metric of mixtures with the shares of the true classes of tables."""
        shares = tables.sum(axis=-1)
        flat = shares.reshape(-1, shares.shape[-1])
        K = flat.shape[1]
        by_class = np.full((len(flat), len(self.above)), np.nan)
        for place, c in enumerate(_compared(K)):
            rivals = np.where(np.arange(K) == c, 0.0, flat)
            defined = (flat[:, c] > 0) & (self.above[place][-1, c] > 0)
            if self.ranking.column == 0:
                total = rivals.sum(axis=1)
                value = (rivals @ self.areas[c]) / np.where(total > 0, total, 1.0)
                defined &= total > 0
            else:
                value = _average_precision(self.above[place], flat, c)
            by_class[:, place] = np.where(defined, value, np.nan)
        values = _mean_over(by_class, self.ranking.undefined)
        return values.reshape(shares.shape[:-1])


def _average_precision(above: Floats, shares: Floats, c: int) -> Floats:
    """Mean over the items of a class of the precision at their posteriors."""
    gained = np.diff(above[:, c], prepend=0.0)
    values, step = np.empty(len(shares)), max(1, _BATCH_NUMBERS // len(above))
    for first in range(0, len(shares), step):
        batch = shares[first : first + step]
        of_class = batch[:, c, None] * above[:, c]
        total = batch @ above.T
        precision = np.divide(of_class, total, out=np.zeros_like(of_class), where=total > 0)
        values[first : first + step] = (precision * gained).sum(axis=1)
    return values


Metric = str | TableMetric | Callable[[Floats], float]
"""Name of a metric, a metric, or a function of one K x K table."""

METRIC_NAMES = (*METRICS, *RANKINGS)
"""Names of all metrics."""


def as_metric(metric: Metric, reference: Reference | None = None) -> TableMetric:
    """Metric with a name, or from a function of a single table.

    Parameters
    ----------
    metric : str, TableMetric or callable
        One of ``METRIC_NAMES``, or a function that takes a K x K table, rows true and columns
        predicted, and returns a number.
    reference : Reference, default=None
        Labelled items that metrics of ranked items need.

    Examples
    --------
    >>> import numpy as np
    >>> missed = as_metric(lambda table: table[1, 0])
    >>> missed(np.array([[[0.5, 0.1], [0.2, 0.2]], [[0.4, 0.2], [0.3, 0.1]]]))
    array([0.2, 0.3])
    """
    if isinstance(metric, TableMetric):
        return metric
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]
    if isinstance(metric, str) and metric in RANKINGS:
        if reference is None or reference.items.scores is None:
            raise HeadcountError(
                f"metric is {metric!r}, which ranks items by their posteriors, and there are "
                "none: pass hc.Scored(posteriors), or choose another metric."
            )
        return RANKINGS[metric].given(reference)
    if not callable(metric) or isinstance(metric, type | str):
        allowed = ", ".join(map(repr, METRIC_NAMES))
        raise HeadcountError(
            f"metric is {metric!r}; it must be one of {allowed}, or a function of a K x K "
            "table, rows true and columns predicted."
        )
    return table_metric(metric)


def realised(metric: str, items: Scored | Verdicts, codes: ArrayLike, classes: Array) -> float:
    """Metric on items whose classes are known.

    Parameters
    ----------
    metric : str
        One of ``METRIC_NAMES``.
    items : Scored or Verdicts
        Outputs of the classifier.
    codes : array-like of shape (n,)
        True classes, as positions in `classes`.
    classes : ndarray of shape (K,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> realised("auroc", hc.Scored([0.1, 0.6, 0.3, 0.8]), [0, 0, 1, 1], np.arange(2))
    0.75
    """
    outputs = ModelOutputs.of(items, classes)
    if metric in RANKINGS:
        return float(RANKINGS[metric].realised(outputs.posteriors, codes)[0])
    table = table_of(codes, outputs.labels, len(classes))
    return float(as_metric(metric)(table))


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """`Scored` or `Verdicts` in the order of the classes, and the items if they are known."""

    scores: Floats | None
    labels: Ints
    X: Any = None

    @classmethod
    def of(cls, X: Scored | Verdicts, classes: Array) -> ModelOutputs:
        """Outputs of items that were classified elsewhere."""
        scores = X.posteriors_of(classes) if isinstance(X, Scored) else None
        return cls(scores, X.codes_of(classes))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def posteriors(self) -> Floats:
        """Posteriors, which must be known."""
        assert self.scores is not None
        return self.scores

    @property
    def confidence(self) -> Floats:
        """Highest posterior of each item."""
        return np.asarray(self.posteriors.max(axis=1))

    @property
    def negative_entropy(self) -> Floats:
        """Sum of p log p: 0 where the classifier is certain, negative elsewhere."""
        logs = np.log(np.where(self.posteriors > 0, self.posteriors, 1.0))
        return np.asarray((self.posteriors * logs).sum(axis=1))

    def take(self, rows: NDArray[np.integer[Any]]) -> ModelOutputs:
        """Outputs of some of the items."""
        return ModelOutputs(
            None if self.scores is None else self.scores[rows],
            self.labels[rows],
            None if self.X is None else take_rows(self.X, rows),
        )


@dataclass(frozen=True, eq=False)
class Reference(Training):
    """Training items of a predictor: outputs of a classifier that was not trained on them."""

    items: ModelOutputs

    @property
    def cells(self) -> Ints:
        """Cell of the table that each item belongs to: true class x K + predicted class."""
        return self.codes * self.n_classes + self.items.labels

    @cached_property
    def table(self) -> Floats:
        """Shares of the items by true and predicted class."""
        return self.tables(Samples.whole(len(self)))[0]

    @property
    def rates(self) -> Floats:
        """Shares of the predicted classes within each class; zeros for one without items."""
        prior = self.prior[:, None]
        return np.divide(self.table, prior, out=np.zeros_like(self.table), where=prior > 0)

    @cached_property
    def present(self) -> Ints:
        """Classes with at least one item."""
        return np.flatnonzero(self.class_sizes)

    @cached_property
    def posteriors(self) -> Training:
        """Posteriors of the items among the present classes, and positions in these."""
        codes = np.searchsorted(self.present, self.codes)
        return Training(among(self.items.posteriors, self.present), codes, len(self.present))

    def take(self, rows: NDArray[np.integer[Any]]) -> Reference:
        """Some of the items."""
        return Reference(self.items.take(rows), self.codes[rows], self.n_classes)

    def tables(self, samples: Samples) -> Floats:
        """Table of each sample of the items, (S, K, K)."""
        K = self.n_classes
        return samples.prevalence_of(self.cells, K * K).reshape(-1, K, K)


@dataclass(frozen=True, eq=False)
class OutputSource(ItemSource):
    """Maker of the outputs of a classifier, its ``scorer``, for the items of a pool."""

    deciding: ClassVar[str] = "Naive, or LEAP, OLEAP or SLEAP with quantifier=hc.ACC()"

    def items(self, X: Any, *, by_folds: bool = False) -> ModelOutputs:
        """Outputs for a pool."""
        if not isinstance(X, Scored | Verdicts):
            self.check_scorer()
            return self.scorer.outputs(X)
        self.check_classified(X)
        return ModelOutputs.of(X, self.classes)


@dataclass(frozen=True, eq=False)
class OutputItems(ScoredItems):
    """Outputs of a classifier as statistics are taken of them."""

    by_folds: bool = False

    def identity(self) -> Any:
        """The classifier."""
        return self.source.identity("outputs", self.by_folds)

    def take(self, items: ModelOutputs, rows: slice) -> ModelOutputs:
        """Consecutive rows."""
        scores = None if items.scores is None else items.scores[rows]
        return ModelOutputs(scores, items.labels[rows])


class FittedClassifier:
    """Fitted classifier, which is used and never changed."""

    def __init__(self, classifier: Any) -> None:
        _check_classifier(classifier)
        self.classifier = classifier
        self.classes = np.asarray(classifier.classes_)
        # Equal to that of a scorer with this classifier: a pool then scores once for both.
        self.judge_ = (classifier, None, self.classes)

    def posteriors(self, X: Any) -> Floats:
        """Posteriors of the items, one column per class."""
        return score(self.classifier, X, self.classes)

    def labels(self, X: Any) -> Ints:
        """Classes that ``predict`` of the classifier returns, as codes."""
        return predict_codes(self.classifier, X, self.classes)

    def outputs(self, X: Any) -> ModelOutputs:
        """Outputs for items; those of a `ScoredPool` are computed once."""
        pool = X if isinstance(X, ScoredPool) else None
        items = check_features(
            X if pool is None else pool.X, allow_nan=allows_nan(self.classifier)
        )
        self._check_width(items)
        if pool is not None:
            return ModelOutputs(pool.posteriors(self), pool.labels(self), items)
        return ModelOutputs(self.posteriors(items), self.labels(items), items)

    def _check_width(self, X: Any) -> None:
        expected = getattr(self.classifier, "n_features_in_", None)
        width = X.shape[1] if len(X.shape) == 2 else None
        if expected is not None and width is not None and width != expected:
            raise HeadcountError(
                f"X has {width} columns, but the classifier was trained on {expected}: pass "
                f"the same columns in the same order ({count_rows(X):,} rows were given)."
            )


def among(posteriors: Floats, present: Ints) -> Floats:
    """Posteriors given that the class is one of these; uniform where none is possible."""
    if len(present) == posteriors.shape[1]:
        return posteriors
    return divided_by_sums(posteriors[:, present])


def _check_classifier(classifier: Any) -> None:
    """Refuse what is not a fitted classifier with posteriors."""
    name = type(classifier).__name__
    if classifier is None:
        raise HeadcountError(
            "classifier is None, so X cannot be classified: pass the fitted classifier whose "
            "accuracy is to be predicted, or its outputs as hc.Scored(posteriors)."
        )
    if isinstance(classifier, type) or not hasattr(classifier, "predict"):
        raise HeadcountError(
            f"classifier is {classifier!r}; it must be a fitted scikit-learn classifier: pass "
            "the one whose accuracy is to be predicted."
        )
    try:
        check_is_fitted(classifier)
        fitted = hasattr(classifier, "classes_")
    except (NotFittedError, TypeError):
        fitted = False
    if not fitted:
        raise HeadcountError(
            f"classifier is a {name} that was never fitted: pass the trained classifier whose "
            "accuracy is to be predicted, as it is used and not trained here."
        )
    if not hasattr(classifier, "predict_proba"):
        raise HeadcountError(
            f"classifier is a {name}, which has no predict_proba, and accuracy is predicted "
            "from posteriors: wrap it in scikit-learn's CalibratedClassifierCV, or pass its "
            "predicted labels as hc.Verdicts(labels) to a method that works on them, such as "
            "LEAP(quantifier=hc.ACC())."
        )


def features_of(X: Any, model: Any = None) -> Any:
    """Items as numbers, dense or CSR; with a pipeline, the input of its last step."""
    inside = model.estimator if isinstance(model, FrozenEstimator) else model
    if isinstance(inside, Pipeline) and len(inside) > 1:
        X = inside[:-1].transform(X)
    if sparse.issparse(X):
        return X.tocsr()
    frame = as_narwhals(X, "X")
    if isinstance(frame, nw.DataFrame):
        X = frame.to_numpy()
    numbers = np.asarray(X)
    if numbers.ndim != 2 or numbers.dtype.kind not in "biuf":
        raise HeadcountError(
            "X is not a table of numbers, which the method computes with: use a pipeline as "
            "the classifier (the input of its last step is taken), or encode X."
        )
    return numbers


@dataclass(frozen=True)
class CellFolds:
    """Folds for classes of any size: items of a class are assigned to the folds in turn."""

    n_splits: int
    random_state: Any = None

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Yield the rows to train on and those to score, fold by fold."""
        labels = np.asarray(y)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        shuffled = rng.permutation(len(labels))
        by_cell = shuffled[np.argsort(labels[shuffled], kind="stable")]
        fold = np.empty(len(labels), np.int64)
        fold[by_cell] = np.arange(len(labels)) % self.n_splits
        for number in range(min(self.n_splits, len(labels))):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
