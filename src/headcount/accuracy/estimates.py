"""Estimated accuracy of a classifier on a sample, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import base_seeds
from headcount._support.frames import pl
from headcount._support.parameters import check_choice, check_count, check_fraction
from headcount._support.text import Table, html_result
from headcount.accuracy.fitted import (
    FittedPredictor,
    MetricModel,
    answers_with_shares,
    mixture_test,
    statistics_needs,
)
from headcount.accuracy.metrics import (
    ModelOutputs,
    Reference,
    ReferenceRanking,
    TableMetric,
    among,
)
from headcount.errors import HeadcountError
from headcount.estimates.assumption import (
    BROKEN_LEVEL,
    FEW_ITEMS,
    UNLIKE,
    FitTest,
    format_p_value,
)
from headcount.estimates.conditioning import (
    Conditional,
    Conditioning,
    Prior,
    Simulated,
    WeightedDraws,
    check_prior,
    size_factor,
)
from headcount.estimates.estimate import Estimand
from headcount.estimates.estimates import deviations
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
from headcount.parts.fitted import GroupStatistics, solved
from headcount.parts.training import Training
from headcount.samples.samples import Samples

if TYPE_CHECKING:
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

    def facts(self) -> dict[str, Any]:
        """Values of the fields that all estimates have."""
        return {part.name: getattr(self, part.name) for part in fields(AccuracyEstimate)}

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
        columns = ("method", "metric", "value", "raw", "low", "high", "level", "estimand")
        facts = self.to_dict(level)
        return pl.DataFrame({name: [facts[name]] for name in columns})

    def plot(self, *, level: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the table, if there is one, with the metric and its interval above it.

        Parameters
        ----------
        level : float, default=None
            Level of the interval; ``self.level`` by default.
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
            [name, *(f"{share:.1%}" for share in row)]
            for name, row in zip(names, self.table, strict=True)
        ]
        return [Table.of(["true \\ predicted", *names], rows)]


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
    """Estimate a metric on samples of a pool from labels of some of its items."""
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
    facts = {"value": value, "draws": draws, "table": cells.table, "reduction_error": None}
    return LabelledAccuracy(
        **under_shift.facts() | facts | {"warnings": ()},
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


# Numbers held for a batch of tables.
_BATCH_NUMBERS = 8_000_000
# Draws with a smaller range are equal up to rounding.
_ROUNDING = 1e-9
ASSUMES = "the estimate assumes that only"
"""Start of the warning about the assumption of an estimate."""
_SHIFT_WARNINGS = {
    "prior": "",
    "covariate": (
        f"{ASSUMES} the shares of the classes have changed (prior shift): "
        "if only the distribution of the inputs has changed, use the value raw."
    ),
    "none": (
        "the answer of this method does not depend on the sample: the interval covers all "
        "shares of the classes that the prior allows."
    ),
}


@dataclass(frozen=True, eq=False)
class Observed:
    """Answers of a cross-fitted model to samples, besides those of the model of `predict`."""

    answers: Floats
    raw: Floats
    statistics: Floats
    tests: Sequence[FitTest | None]
    sizes: Ints
    effective: Ints
    errors: Sequence[float | None]

    @classmethod
    def of_samples(
        cls, fitted: FittedPredictor, pool: ModelOutputs, samples: Samples, metric: TableMetric
    ) -> Observed:
        """Answers to samples of a pool."""
        of_new, _ = fitted.model.cross_fitted()
        statistics = fitted.model.solve(pool, samples)
        return cls(
            _answers(of_new, pool, samples, metric),
            fitted.model.answers(pool, samples, metric, statistics),
            statistics,
            _fit_tests(fitted.training, pool, samples),
            samples.sizes,
            samples.sizes,
            [None] * len(samples),
        )

    @classmethod
    def of_groups(
        cls, fitted: FittedPredictor, statistics: GroupStatistics, metric: TableMetric
    ) -> Observed:
        """Answers to groups whose items were read elsewhere."""
        if isinstance(metric, ReferenceRanking):
            raise HeadcountError(
                f"{metric.name!r} needs the order of all items, which statistics do not keep: "
                "choose another metric, or pass the items to estimate."
            )
        needs = statistics_needs(fitted, statistics.form)
        effective = statistics.effective_sizes([*needs.answers, *needs.raw])
        of_new, variants = solved(needs.model.solve_reduced, statistics, needs.answers)
        answers = needs.model.values(of_new, metric)
        of_predict, _ = solved(fitted.model.solve_reduced, statistics, needs.raw)
        tests: list[FitTest | None] = [None] * len(answers)
        if needs.mixture is not None:
            (means,) = statistics.reduced(needs.test, slice(0, len(answers)))
            tests = list(needs.mixture.test_means(np.asarray(means), statistics.sizes))
        errors: list[float | None] = [None] * len(answers)
        if variants is not None:
            values = np.stack([needs.model.values(variant, metric) for variant in variants])
            sampled = effective < statistics.sizes
            errors = deviations(answers[:, None], values[:, :, None], sampled)[:, 0].tolist()
        return cls(
            answers[:, None],
            fitted.model.values(of_predict, metric),
            of_predict,
            tests,
            statistics.sizes,
            effective,
            errors,
        )


class AccuracyOptions(NamedTuple):
    """Options of `estimate`, as a caller passes them."""

    estimand: Any
    prior: Any
    replicates: Any
    level: Any
    random_state: Any


def accuracy_estimates(
    fitted: FittedPredictor, metric: TableMetric, observed: Observed, options: AccuracyOptions
) -> list[AccuracyEstimate]:
    """Estimate a metric on each sample, given the answers."""
    estimand, prior, replicates, level, random_state = options
    check_choice("estimand", estimand, ("realised", "expected"))
    level = check_fraction("level", level)
    replicates = check_count("replicates", replicates, 100)
    _, of_reference = fitted.model.cross_fitted()
    rows = fitted.model.simulation_rows(fitted.training)
    conditioning = _MetricConditioning(
        of_reference,
        fitted.training,
        rows,
        metric,
        estimand == "expected",
        # Where a class is absent, metrics such as the AUROC have no value.
        Prior(all_present=True)
        if prior is None
        else check_prior(prior, len(np.unique(fitted.training.codes[rows]))),
        min(replicates, fitted.model.most_simulations),
        base_seeds(random_state, 1)[0],
        fitted.shift == "prior" and fitted.info.gives == "table",
    )
    estimates = []
    posteriors = conditioning.posteriors(observed.answers, observed.effective)
    for i, posterior in enumerate(posteriors):
        draws, test = posterior.draws[:, 0], observed.tests[i]
        estimates.append(
            AccuracyEstimate(
                method=fitted.method,
                measure=metric,
                value=float(posterior.mean[0]),
                raw=float(observed.raw[i]),
                n_items=int(observed.sizes[i]),
                estimand=estimand,
                level=level,
                draws=draws,
                classes=fitted.classes,
                table=observed.statistics[i] if fitted.has_table else None,
                fit_test=test,
                warnings=_warnings(fitted, test, int(observed.effective[i]), draws),
                reduction_error=observed.errors[i],
            )
        )
    return estimates


@dataclass(frozen=True, eq=False)
class _MetricConditioning:
    """Distribution of a metric on samples given the answers of a method to simulated ones."""

    model: MetricModel
    reference: Reference
    rows: Ints
    metric: TableMetric
    of_population: bool
    prior: Prior
    replicates: int
    seed: int
    exact: bool

    def posteriors(self, answers: Floats, sizes: Ints) -> list[WeightedDraws]:
        """Distribution of the metric on each sample, given its answer and its size."""
        present, codes = np.unique(self.reference.codes[self.rows], return_inverse=True)
        training = Training(None, codes.astype(np.int64), len(present))
        conditioning = Conditioning(
            training, self._outcomes, self.prior, self.replicates, self.seed
        )
        class_sizes, shares = self.reference.class_sizes, self.reference.prior
        posteriors = []
        for answer, size in zip(answers, sizes.tolist(), strict=True):
            draws, weights = conditioning.given(answer, size)
            draws = draws[:, :1]
            if self.exact:
                mean = weights @ draws
                draws = mean + size_factor(class_sizes, shares, size) * (draws - mean)
            draws = np.clip(draws, self.metric.low, self.metric.high)
            posteriors.append(WeightedDraws(draws, weights))
        return posteriors

    def _outcomes(self, simulated: Simulated) -> Conditional:
        samples, n_pool = simulated.samples, len(self.reference)
        if len(self.rows) < n_pool:
            samples = Samples(self.rows[samples.indices], samples.offsets, n_pool=n_pool)
        answers = _answers(self.model, self.reference.items, samples, self.metric)
        truths = self._truths(samples)[:, None]
        if answers.shape[1] > 1:
            K = self.reference.n_classes
            shares = samples.prevalence_of(self.reference.codes, K)
            truths = np.hstack([truths, shares[:, 1:]])
        return Conditional(answers, truths)

    def _truths(self, samples: Samples) -> Floats:
        """Metric on each sample of the reference, or on its population."""
        K, rng = self.reference.n_classes, np.random.default_rng([self.seed, 1])
        step, truths = max(1, _BATCH_NUMBERS // (K * K)), []
        for first in range(0, len(samples), step):
            batch = samples[first : first + step]
            if self.of_population:
                truth = self.metric.on_populations(self.reference, self.rows, batch, rng)
            else:
                truth = self.metric.on_samples(self.reference, batch)
            truths.append(truth)
        return np.concatenate(truths)


def _answers(
    model: MetricModel, pool: ModelOutputs, samples: Samples, metric: TableMetric
) -> Floats:
    """Answers to samples of a pool that metrics are conditioned on."""
    statistics = model.solve(pool, samples)
    answers = model.answers(pool, samples, metric, statistics)
    return answers_with_shares(model, metric, answers, statistics)


def _fit_tests(
    reference: Reference, pool: ModelOutputs, samples: Samples
) -> list[FitTest] | list[None]:
    """Test of prior shift for each sample; None without posteriors or a second class."""
    mixture = None if pool.scores is None else mixture_test(reference)
    if mixture is None or pool.scores is None:
        return [None] * len(samples)
    return list(mixture.test(among(pool.scores, reference.present), samples))


def _warnings(
    fitted: FittedPredictor, test: FitTest | None, n: int, draws: Floats
) -> tuple[str, ...]:
    """Reasons to doubt an estimate, one sentence each."""
    warnings = [_SHIFT_WARNINGS[fitted.shift]]
    if test is not None and test.p_value < BROKEN_LEVEL:
        warnings.append(
            f"{UNLIKE} the classes of the reference ({format_p_value(test)}), so an "
            "accuracy estimated under prior shift may be far off: label a few of its items; if "
            "only the distribution of the inputs has changed (pure covariate shift), use CBPE "
            "and its value raw."
        )
    if n < FEW_ITEMS:
        warnings.append(
            f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}: the "
            "estimate is little more than a guess; add items."
        )
    if np.ptp(draws) < _ROUNDING:
        warnings.append(
            "All simulated samples have the same value, as where the classifier makes no "
            "errors on the labelled items: the interval does not show how rare errors are; "
            "label more items."
        )
    return tuple(filter(None, warnings))
