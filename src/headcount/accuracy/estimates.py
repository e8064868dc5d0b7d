"""Estimated accuracy of a classifier on a sample, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from headcount._support.arrays import Array, Floats
from headcount._support.parameters import check_fraction
from headcount._support.text import Cell, Table, html_result
from headcount.accuracy.fitted import FittedPredictor
from headcount.accuracy.metrics import ReferenceRanking, TableMetric
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Estimand
from headcount.estimates.labels.from_labels import (
    Agreement,
    check_design,
    check_enough,
    check_labelled,
    draw_of,
    places_within,
)
from headcount.estimates.labels.plan import LabelPlan
from headcount.estimates.labels.pool import LabelledTable, PoolPosteriors
from headcount.parts.training import Training
from headcount.samples.samples import Samples

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from headcount.estimates.assumption import FitTest

# Classes up to which the table of true and predicted classes is printed.
_MOST_CLASSES = 10
_OF = {"realised": "on these", "expected": "behind these"}
_N_DRAWS = 1000


class Interval(NamedTuple):
    """Ends of an interval."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class AccuracyEstimate:
    """Metric of a classifier on a sample, with intervals at any level.

    The metric is conditioned on the answer of a method: samples are simulated from labelled
    items, and those with similar answers of the method show which values are likely.
    ``value`` is their mean, and intervals are quantiles. This holds under prior shift.

    Attributes
    ----------
    method : str
        Name of the predictor.
    measure : TableMetric
        The metric; its name is ``metric``.
    value : float
        The estimate: the mean of the draws.
    raw : float
        The answer of the method itself, as `predict` returns it.
    n_items : int
        Number of items in the sample.
    estimand : {"realised", "expected"}
        Metric on these very items, or on the population that the items are a random sample
        of.
    level : float
        Default level of intervals.
    draws : ndarray of shape (B,)
        Equally likely values of the metric, given the answer of the method.
    classes : ndarray of shape (K,)
        The classes.
    table : ndarray of shape (K, K) or None
        Shares by true and predicted class as the method itself estimates them; None if it
        gives no table.
    fit_test : FitTest or None
        Result of a test of prior shift; None if the reference has a single class, or
        without posteriors.
    warnings : tuple of str
        Sentences for the reader.
    reduction_error : float or None
        Error that comes from cells or a sample of items in place of all items, in estimates
        from `Statistics`. None for estimates from items, and if there is none.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(3000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X[1000:2000], y[1000:2000])
    >>> estimate = leap.estimate(X[2000:], random_state=0)
    >>> low, high = estimate.interval(0.9)
    >>> low < estimate.value < high
    True
    """

    method: str
    measure: TableMetric
    value: float
    raw: float
    n_items: int
    estimand: Estimand
    level: float
    draws: Floats
    classes: Array
    table: Floats | None = None
    fit_test: FitTest | None = None
    warnings: tuple[str, ...] = ()
    reduction_error: float | None = None

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.measure.name

    @property
    def basis(self) -> str:
        """Foundation of the value: "prior shift", or "labels" of the items themselves."""
        return "prior shift"

    @property
    def quantity(self) -> str:
        """What is estimated: the metric."""
        return self.metric

    def in_words(self, level: float | None = None) -> dict[str, str]:
        """The metric and its interval as text."""
        low, high = self.interval(level)
        return {self.metric: f"{self.value:.3f} ({low:.3f} to {high:.3f})"}

    def interval(self, level: float | None = None) -> Interval:
        """Interval for the metric.

        Parameters
        ----------
        level : float, default=None
            Probability that the interval contains the truth; ``self.level`` by default.

        Returns
        -------
        Interval
            The pair (low, high).
        """
        level = self.level if level is None else check_fraction("level", level)
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2])
        # At least as wide as the weight of one item, and around the estimate.
        least, most = self.measure.low, self.measure.high
        width = (most - least if np.isfinite(most - least) else 1.0) / self.n_items
        half = max((width - (high - low)) / 2, 0.0)
        low, high = np.clip([low - half, high + half], least, most)
        low, high = max(min(low, high - width), least), min(max(high, low + width), most)
        return Interval(min(float(low), self.value), max(float(high), self.value))

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Everything but the draws, as plain values for JSON."""
        low, high = self.interval(level)
        return {
            "method": self.method,
            "metric": self.metric,
            "value": self.value,
            "raw": self.raw,
            "low": low,
            "high": high,
            "level": self.level if level is None else float(level),
            "n_items": self.n_items,
            "estimand": self.estimand,
            "classes": self.classes.tolist(),
            "table": None if self.table is None else self.table.tolist(),
            "fit_test": None if self.fit_test is None else self.fit_test.to_dict(),
            "warnings": list(self.warnings),
        }

    def to_frame(self, level: float | None = None) -> pl.DataFrame:
        """One row: method, metric, value, raw, low, high, level, estimand."""
        import polars as pl

        columns = ("method", "metric", "value", "raw", "low", "high", "level", "estimand")
        facts = self.to_dict(level)
        return pl.DataFrame({name: [facts[name]] for name in columns})

    def plot(self, *, level: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the table, if there is one, with the metric and its interval above it.

        Parameters
        ----------
        level : float, default=None
            As for `interval`.
        ax : matplotlib Axes, default=None
            Axes to draw into; a new figure by default.
        """
        from headcount.accuracy.plots import plot_estimate

        return plot_estimate(self, level, ax)

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, level: float | None = None) -> str:
        """Text that `print` shows, at any level."""
        lines = [self._title(level), f"answer of {self.method} itself: {self.raw:.3f}"]
        lines += [table.to_text(ruled=False) for table in self._tables()]
        return "\n".join([*lines, *(f"note: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        raw = f"answer of {self.method} itself: {self.raw:.3f}"
        return html_result(self._title(), self._tables(), [raw, *self.warnings])

    def _title(self, level: float | None = None) -> str:
        low, high = self.interval(level)
        return (
            f"{self.method}: {self.metric} {_OF[self.estimand]} {self.n_items:,} "
            f"item{'' if self.n_items == 1 else 's'} {self.value:.3f}, "
            f"{100 * (self.level if level is None else level):.6g}% interval {low:.3f} to "
            f"{high:.3f}"
        )

    def _tables(self) -> list[Table]:
        if self.table is None or len(self.classes) > _MOST_CLASSES:
            return []
        names = [str(name) for name in self.classes.tolist()]
        rows = [
            [Cell(name), *(Cell(f"{share:.1%}") for share in row)]
            for name, row in zip(names, self.table, strict=True)
        ]
        return [Table(["true \\ predicted", *names], rows, [False] + [True] * len(names))]


@dataclass(frozen=True, eq=False, repr=False)
class HistoryAccuracy(AccuracyEstimate):
    """Metric of a classifier on a sample, from the readings that held in labelled groups.

    Attributes
    ----------
    under_shift : AccuracyEstimate
        The estimate of the method alone.
    readings : mapping of str to float
        Values under each reading of the data: "past mean", "last share", "mean posteriors"
        (the metric changes as the confidence of the classifier does) and "prior shift" (the
        method is right).
    weights : mapping of str to float
        Weight of each reading. They sum to 1.
    n_groups : int
        Number of labelled groups that the weights rest on.
    history : str
        Which reading held in the labelled groups, in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(9), 200)
    >>> y = (rng.random(1800) < 0.4).astype(int)
    >>> scores = hc.Scored(rng.beta(1 + 3 * y, 4 - 3 * y))
    >>> old = month < 8
    >>> leap = hc.accuracy.LEAP().fit(
    ...     scores.take(np.flatnonzero(old)), y[old], groups=month[old], ordered=True)
    >>> estimate = leap.estimate(scores.take(np.flatnonzero(~old)), random_state=0)
    >>> estimate.basis, estimate.n_groups
    ('history', 4)
    """

    under_shift: AccuracyEstimate = field(kw_only=True)
    readings: Mapping[str, float] = field(kw_only=True)
    weights: Mapping[str, float] = field(kw_only=True)
    n_groups: int = field(kw_only=True)
    history: str = field(kw_only=True, default="")

    @property
    def basis(self) -> str:
        """Foundation of the value: the "history" of labelled groups, if there are any."""
        return "history" if self.n_groups else "no history: two readings"


@dataclass(frozen=True, eq=False, repr=False)
class LabelledAccuracy(AccuracyEstimate):
    """Metric of a classifier on a sample, from labels of some items.

    The labels make it valid under any shift, if their rows were drawn at random. The scores of
    the other items make its interval shorter.

    Attributes
    ----------
    n_labels : int
        Number of labels.
    cells : LabelledTable
        Shares by true and predicted class from the labels, with their uncertainty.
    under_shift : AccuracyEstimate
        Estimate of the same metric by the method, without the labels.
    agreement : Agreement
        Test whether the two estimates agree.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(4000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:1000], y[:1000])
    >>> leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X[1000:2000], y[1000:2000])
    >>> new, truth = X[2000:], y[2000:]
    >>> rows = np.random.default_rng(0).choice(2000, 200, replace=False)
    >>> estimate = leap.estimate(new, labelled=(rows, truth[rows]), random_state=0)
    >>> low, high = estimate.interval()
    >>> low < model.score(new, truth) < high, estimate.basis
    (True, 'labels')
    """

    n_labels: int = field(kw_only=True)
    cells: LabelledTable = field(kw_only=True)
    under_shift: AccuracyEstimate = field(kw_only=True)
    agreement: Agreement = field(kw_only=True)

    @property
    def basis(self) -> str:
        """Foundation of the value: "labels" of the items themselves."""
        return "labels"

    def interval(self, level: float | None = None) -> Interval:
        """Interval for the metric, by the labels."""
        level = self.level if level is None else check_fraction("level", level)
        measure = self.measure
        rate = self.cells.metric(
            _single(measure), level=level, low=measure.low, high=measure.high
        )
        return Interval(rate.low, rate.high)

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Plain values for JSON, with those of the estimate without labels."""
        return super().to_dict(level) | {
            "basis": self.basis,
            "n_labels": self.n_labels,
            "agreement": self.agreement.to_dict(),
            "under_shift": self.under_shift.to_dict(level),
        }

    def to_text(self, level: float | None = None) -> str:
        """Text that `print` shows, at any level, with the estimate without labels."""
        lines = super().to_text(level).split("\n")
        low, high = self.under_shift.interval(level)
        lines[0] = f"{self.n_labels:,} labels and {lines[0]}"
        lines[1] = (
            f"without labels: {self.under_shift.value:.3f}, interval {low:.3f} to {high:.3f}"
        )
        return "\n".join([*lines[:2], repr(self.agreement), *lines[2:]])


def accuracy_from_labels(
    fitted: FittedPredictor,
    pool: ModelOutputs,
    samples: Samples,
    under_shift: Sequence[AccuracyEstimate],
    labelled: Any,
    design: LabelPlan | None,
) -> list[AccuracyEstimate]:
    """Estimate a metric on samples of a pool from labels of some of its items.

    ``under_shift`` are the estimates of the same metric without labels.
    """
    if any(isinstance(estimate.measure, ReferenceRanking) for estimate in under_shift):
        raise HeadcountError(
            f"metric is {under_shift[0].metric!r}, which is not a function of the table that "
            "labels of some items give: choose another metric, or pass no labels."
        )
    n_pool, classes = len(pool), fitted.classes
    rows, codes = check_labelled(labelled, n_pool, classes)
    # Plans are made for shares, with scores of the folds: only the size can be compared.
    plan = check_design(design, str(n_pool))
    estimates: list[AccuracyEstimate] = []
    for items, estimate in zip(samples, under_shift, strict=True):
        places, within = places_within(rows, items, n_pool)
        check_enough(len(places), len(classes), "a sample")
        plan_within = None if plan is None else plan.within(items)
        scores = None if pool.scores is None else pool.scores[items]
        outputs = ModelOutputs(scores, pool.labels[items])
        sample = draw_of(places, len(items), plan_within, None, None)
        cells = LabelledTable.of(
            _posteriors(fitted.training, outputs, estimate.table),
            outputs.labels,
            sample,
            codes[within],
            expected=estimate.estimand == "expected",
        )
        estimates.append(_from_cells(estimate, cells))
    return estimates


def _from_cells(under_shift: AccuracyEstimate, cells: LabelledTable) -> LabelledAccuracy:
    """Estimate from the labelled cells of a sample, and its agreement with that without."""
    measure = under_shift.measure
    difference = cells.difference(_single(measure))
    value = float(difference.centre[0])
    spread = difference.with_unseen() + np.diag(difference.population)
    normal = np.random.default_rng(0).standard_normal(_N_DRAWS)
    draws = np.clip(value + normal * np.sqrt(spread[0, 0]), measure.low, measure.high)
    total = spread + np.var(under_shift.draws)
    return LabelledAccuracy(
        under_shift.method,
        measure,
        value,
        under_shift.raw,
        under_shift.n_items,
        under_shift.estimand,
        under_shift.level,
        draws,
        under_shift.classes,
        cells.table,
        under_shift.fit_test,
        n_labels=len(cells.codes),
        cells=cells,
        under_shift=under_shift,
        agreement=Agreement.of(difference.centre - under_shift.value, total, difference.df),
    )


def _posteriors(
    reference: Reference, outputs: ModelOutputs, table: Floats | None
) -> PoolPosteriors:
    """Posteriors of the items, corrected to the shares that the method estimates."""
    K = reference.n_classes
    shares = reference.prior if table is None else table.sum(axis=1)
    labelled = reference.items
    if len(reference.present) < K:
        if outputs.scores is None:
            return PoolPosteriors.none(len(outputs), shares)
        return PoolPosteriors(outputs.scores, 1.0)
    if outputs.scores is None or labelled.scores is None:
        training = Training(labelled.labels, reference.codes, K)
        return PoolPosteriors.of_decisions(outputs.labels, training, shares)
    return PoolPosteriors.of(outputs.scores, reference.posteriors, shares)


def _single(measure: Any) -> Any:
    """Metric as a function of one table."""
    return lambda table: float(measure(table[None])[0])
