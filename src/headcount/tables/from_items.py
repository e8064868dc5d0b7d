"""One path to an analysis: from items, or from the statistics of items read in batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import versions
from headcount._support.parameters import check_fraction
from headcount._support.text import first_of
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.estimates.assumption import p_value_of
from headcount.estimates.estimate import Estimate
from headcount.estimates.estimation import (
    SHARED,
    EstimateOptions,
    estimate_groups,
    estimate_pool,
)
from headcount.estimates.labels.from_labels import check_labelled_rows
from headcount.estimates.labels.plan import LabelPlan
from headcount.estimates.statistics.needed_parts import Numbered, number_groups
from headcount.estimates.statistics.statistics import Statistics
from headcount.items.arrays import Scored, Verdicts, encode_labels
from headcount.parts.classifier_outputs import Histograms, LargestPosterior, PredictedClass
from headcount.parts.fitted import Form, NeedsStatistics
from headcount.parts.fitted import Part as NeededPart
from headcount.parts.training import MeanOf, Training
from headcount.quantifiers.base import Quantifier
from headcount.report.page import now
from headcount.samples.samples import Samples
from headcount.scores.scorer import ItemScorer, ScoredPool
from headcount.tables.analysis import Analysis, ScoreHistogram, Slice, clear_groups
from headcount.tables.columns import ORDERS, find_date_form, without_marks
from headcount.tables.models import ScoreModel, TableModel
from headcount.tables.preparation import Tally
from headcount.tables.readers import TableFile
from headcount.tables.roles import (
    MISSING,
    Groups,
    Options,
    group_names,
    order_names,
)
from headcount.tables.words import method_facts, plain

# Bins of the posteriors of a class.
_BINS = 20
# Groups that a warning names.
_NAMED = 5
# Part of the items by which groups and all items may differ without a note.
_LEAST_DIFFERENCE = 0.02

Value = TypeVar("Value")


def analyse_items(
    quantifier: Quantifier,
    X: Any,
    *,
    groups: ArrayLike | Groups | None = None,
    order: Sequence[Any] | None = None,
    truth: ArrayLike | None = None,
    labelled: Any = None,
    design: LabelPlan | None = None,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    data_facts: Mapping[str, str] | None = None,
    title: str = "How many of each?",
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Estimate the shares of the classes among items, and in groups of them.

    `headcount.analyse` does the same for tables that are not prepared yet.

    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> from headcount.tables import analyse_items
    >>> X, y = make_classification(1200, class_sep=2, random_state=0)
    >>> quantifier = hc.PACC(random_state=0).fit(X[:600], y[:600])
    >>> months = ["2024-01"] * 300 + ["2024-02"] * 300
    >>> analysis = analyse_items(quantifier, X[600:], groups=months)
    >>> analysis.to_frame().shape
    (6, 12)
    >>> print(analysis.verdict)
    Of 600 items, about ...
    """
    if not isinstance(quantifier, Quantifier):
        raise HeadcountError(
            f"quantifier is {quantifier!r}; it must be a fitted quantifier: pass for instance "
            "PACC().fit(X, y)."
        )
    check_is_fitted(quantifier, "fitted_")
    check_fraction("level", level)
    pool = X if isinstance(X, Scored | Verdicts) else ScoredPool(X)
    if not isinstance(groups, Groups):
        groups = Groups.of(groups, len(pool), order)
    source = TableItems(quantifier, pool, groups, truth, labelled, design, weights, clusters)
    return analyse_source(
        source, data_facts=data_facts, title=title, level=level, random_state=random_state
    )


def analyse_source(
    source: TableItems | TableStatistics,
    *,
    data_facts: Mapping[str, str] | None = None,
    title: str = "How many of each?",
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Analysis of items, or of their statistics."""
    quantifier = source.quantifier
    slices, ordered, caught = source.slices(level, random_state)
    training = quantifier.fitted_.training
    return Analysis(
        title=title,
        created=now(),
        classes=tuple(quantifier.classes_.tolist()),
        level=float(level),
        overall=slices[0],
        groups=tuple(slices[1:]),
        ordered=ordered,
        training=quantifier.prior_,
        n_training=None if training is None else len(training.codes),
        method=method_facts(quantifier, slices[0].estimate.n_items),
        histograms=source.histograms(slices[0].estimate.shares),
        warnings=caught,
        versions=versions(),
        data_facts={str(key): str(text) for key, text in (data_facts or {}).items()},
        notes=tuple(filter(None, [_sum_note(slices, quantifier.classes_)])),
    )


def _sum_note(slices: Sequence[Slice], classes: Array) -> str:
    """Why the counts of the groups do not add up to that of all items; empty if they do."""
    overall, *groups = slices
    if not groups:
        return ""
    n = overall.estimate.n_items
    counts = [item.estimate.shares * item.estimate.n_items for item in groups]
    together = np.sum(counts, axis=0)
    differences = together - overall.estimate.shares * n
    # Of two classes, both differ by as much: rounding does not decide which is named.
    j = int(np.argmax(np.abs(differences).round(6)))
    if abs(differences[j]) < max(_LEAST_DIFFERENCE * n, 1):
        return ""
    label = str(plain(classes.tolist()[j]))
    return (
        f"The groups add up to {together[j]:,.0f} items of class {label!r}, not "
        f"{overall.estimate.shares[j] * n:,.0f}: each is estimated by itself, from fewer items "
        "and with a mix of its own. For the whole, rely on the row of all items."
    )


@dataclass(frozen=True, eq=False)
class TableItems:
    """Items in memory, their groups, and what is known of them besides."""

    quantifier: Any
    pool: ScoredPool | Scored | Verdicts
    groups: Groups
    truth: ArrayLike | None = None
    labelled: Any = None
    design: LabelPlan | None = None
    weights: ArrayLike | None = None
    clusters: ArrayLike | None = None

    def slices(
        self, level: float, random_state: Any
    ) -> tuple[list[Slice], bool, tuple[str, ...]]:
        """All items and each group, True if these are a sequence, and warnings."""
        classes, groups = self.quantifier.classes_, self.groups
        few = self._groups_with_few_labels()
        many_labels = [place for place in range(len(groups.names)) if place not in few]
        estimates, caught = caught_warnings(lambda: self._estimates(many_labels, random_state))
        if few:
            alone = replace(self, labelled=None, design=None)
            without, _ = caught_warnings(lambda: alone._estimates(few, random_state))
            by_place = dict(zip(many_labels + few, [*estimates, *without], strict=True))
            estimates = [by_place[place] for place in range(len(groups.names))]
            names = first_of((plain(groups.names[place]) for place in few), _NAMED)
            caught += (
                f"Groups with fewer labels than classes are estimated without them: {names}.",
            )
        codes = None
        if self.truth is not None:
            codes = encode_labels(self.truth, name="truth", classes=classes)[1]
        counted = _shares(self._classified[1], groups.samples, len(classes))
        truths = _shares(codes, groups.samples, len(classes))
        slices = make_slices(groups.names, estimates, level, counted, truths)

        def p_value(places: list[int]) -> float | None:
            united = replace(self, groups=groups.united(places))
            estimates, _ = caught_warnings(lambda: united._estimates([0], random_state))
            return p_value_of(estimates[0])

        return _with_doubts(slices, p_value), groups.ordered, caught

    def _groups_with_few_labels(self) -> list[int]:
        """Places of groups with too few labels to estimate their shares from them."""
        groups = self.groups
        if self.labelled is None:
            return []
        rows = check_labelled_rows(self.labelled, groups.samples.n_pool)
        least = max(len(self.quantifier.classes_), 2)
        return [
            place
            for place, items in enumerate(groups.samples)
            if place and int(np.isin(rows, items).sum()) < least
        ]

    def _estimates(self, places: list[int], random_state: Any) -> list[Estimate]:
        """Estimates of some of the groups."""
        groups = self.groups
        samples = groups.samples
        if len(places) < len(groups.names):
            arrays = list(samples)
            samples = Samples.from_arrays(
                [arrays[place] for place in places], n_pool=samples.n_pool
            )
        names = tuple(groups.names[place] for place in places)
        return list(
            estimate_pool(
                self.quantifier.fitted_,
                self.pool,
                samples,
                EstimateOptions(
                    prior=None if self.labelled is not None else SHARED,
                    random_state=random_state,
                    groups=names,
                ),
                labelled=self.labelled,
                design=self.design,
                weights=self.weights,
                clusters=self.clusters,
            )
        )

    def histograms(self, shares: Floats) -> tuple[ScoreHistogram, ...]:
        """Posteriors of each class, compared with the mixture of the estimated shares."""
        posteriors = self._classified[0]
        evidence = self.quantifier.fitted_.evidence(self.pool)
        if evidence is None or posteriors is None:
            return ()
        return score_histograms(evidence.training, posteriors, self.quantifier.classes_, shares)

    @cached_property
    def _classified(self) -> tuple[Floats | None, Ints | None]:
        """Posteriors and predicted classes of the items, None if they are not known."""
        pool, quantifier = self.pool, self.quantifier
        classes, scorer = quantifier.classes_, quantifier.fitted_.scorer
        if isinstance(pool, Verdicts):
            return None, pool.codes_of(classes)
        if isinstance(pool, Scored):
            return pool.posteriors_of(classes), pool.codes_of(classes)
        if not isinstance(scorer, ItemScorer):
            return None, None  # works on features, or has several classifiers
        posteriors = None
        if scorer.has_posteriors_ or quantifier.fitted_.takes == "posteriors":
            posteriors = pool.posteriors(scorer)
        if posteriors is not None and quantifier.fitted_.takes != "labels":
            return posteriors, posteriors.argmax(axis=1)
        labels = pool.labels(scorer)
        # Classifiers of each class against the rest do not predict the class of an item.
        return posteriors, labels if labels.ndim == 1 else None


@dataclass(frozen=True, eq=False)
class TableStatistics:
    """Statistics by group, which may be periods of time, of items that were read in batches."""

    quantifier: Any
    statistics: Statistics
    of_time: bool = False

    @cached_property
    def _together(self) -> Statistics:
        return self.statistics.pooled()

    def slices(
        self, level: float, random_state: Any
    ) -> tuple[list[Slice], bool, tuple[str, ...]]:
        """All items and each group, True if these are a sequence, and warnings."""
        slices, caught = caught_warnings(
            lambda: self._slices(self._together, [None], level, random_state)
        )
        groups = self.statistics.groups
        if groups == [None]:
            return slices, False, caught
        by_group, of_groups = caught_warnings(
            lambda: self._slices(self.statistics, groups, level, random_state)
        )
        named = {
            MISSING if group.name is None else str(group.name): group for group in by_group
        }
        order, ordered = order_names(list(named), self.of_time)
        slices += [replace(named[name], name=name) for name in order]
        numbers = {name: number for number, name in enumerate(named)}

        def p_value(places: list[int]) -> float | None:
            united = {numbers[order[place - 1]] for place in places}
            names = ["these" if i in united else "others" for i in range(len(groups))]
            divided, options = (
                self.statistics.regrouped(names),
                EstimateOptions(random_state=random_state),
            )
            fitted = self.quantifier.fitted_
            estimates, _ = caught_warnings(
                lambda: estimate_groups(fitted, divided, None, options)["these"]
            )
            return p_value_of(estimates)

        slices = _with_doubts(slices, p_value)
        return slices, ordered, tuple(dict.fromkeys([*caught, *of_groups]))

    def _slices(
        self, statistics: Statistics, names: Sequence[Any], level: float, random_state: Any
    ) -> list[Slice]:
        counted = _PageParts(self.quantifier).counted(statistics) or [None] * len(names)
        # Read one by one: all draws together would not fit into memory.
        options = EstimateOptions(prior=SHARED, random_state=random_state, groups=names)
        estimates = estimate_groups(self.quantifier.fitted_, statistics, None, options)
        return make_slices(names, estimates.values(), level, counted, [None] * len(names))

    def histograms(self, shares: Floats) -> tuple[ScoreHistogram, ...]:
        """Posteriors of each class, compared with the mixture of the estimated shares."""
        return _PageParts(self.quantifier).histograms(self._together, shares)


def caught_warnings(compute: Callable[[], Value]) -> tuple[Value, tuple[str, ...]]:
    """Result of a call, and the warnings of the library that were raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HeadcountWarning)
        value = compute()
    ours = [warning for warning in caught if issubclass(warning.category, HeadcountWarning)]
    for warning in caught:
        if warning not in ours:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return value, tuple(dict.fromkeys(str(warning.message) for warning in ours))


def make_slices(
    names: Iterable[Any],
    estimates: Iterable[Estimate],
    level: float,
    counted: Iterable[Floats | None],
    truths: Iterable[Floats | None],
) -> list[Slice]:
    """Slices of an analysis from their estimates."""
    slices = []
    for name, estimate, predicted, truth in zip(names, estimates, counted, truths, strict=True):
        ends = estimate.interval(level)
        slices.append(
            Slice(plain(name), estimate, ends.low, ends.high, estimate.count, predicted, truth)
        )
    return slices


def _with_doubts(
    slices: list[Slice], p_value: Callable[[list[int]], float | None]
) -> list[Slice]:
    """Slices with doubts about groups of items that look unlike the training items together."""
    overall, *groups = slices
    if not groups or not overall.is_broken:
        return slices
    clear = clear_groups([item.p_value for item in groups], p_value)
    doubt = "all items together do not look like the labelled ones"
    return [
        item if place in (0, *clear) else replace(item, doubt=doubt)
        for place, item in enumerate(slices)
    ]


def _shares(codes: Ints | None, samples: Samples, K: int) -> Sequence[Floats | None]:
    """Shares of the classes in each sample; None for each if the codes are not known."""
    return [None] * len(samples) if codes is None else list(samples.prevalence_of(codes, K))


# Histograms of the scores.


def score_histograms(
    training: Training, posteriors: Floats, classes: Array, shares: Floats
) -> tuple[ScoreHistogram, ...]:
    """Histogram of the posterior of each class, in training and in a sample."""
    sample = [
        np.bincount(_bins(posterior), minlength=_BINS) / len(posterior)
        for posterior in posteriors.T
    ]
    return _histograms_of_bins(training, np.stack(sample), classes, shares)


def _histograms_of_bins(
    training: Training, sample: Floats, classes: Array, shares: Floats
) -> tuple[ScoreHistogram, ...]:
    """Like `score_histograms`, for a sample given by its histograms, (K, 20)."""
    assert training.items is not None
    posteriors = np.asarray(training.items, np.float64)
    K, edges = len(classes), np.linspace(0, 1, _BINS + 1)
    histograms = []
    for j in range(K):
        cells = _bins(posteriors[:, j]) + _BINS * training.codes
        by_class = np.bincount(cells, training.class_weights, _BINS * K).reshape(K, _BINS)
        histograms.append(
            ScoreHistogram(
                classes.tolist()[j], float(shares[j]), edges, by_class[j], sample[j],
                shares @ by_class,
            )
        )  # fmt: skip
    return tuple(histograms)


def _bins(posterior: Floats) -> Ints:
    return np.clip((posterior * _BINS).astype(np.int64), 0, _BINS - 1)


# Statistics of tables that are larger than memory.


@dataclass(frozen=True, eq=False)
class ItemSummary:
    """Statistics of the rows of a table, unusable values, and notes on how groups were read."""

    statistics: Statistics
    tally: Tally
    notes: tuple[str, ...]


def empty_statistics(model: TableModel | ScoreModel) -> Statistics:
    """Statistics of a model without items, with those that a report shows."""
    return Statistics([model.quantifier, _PageParts(model.quantifier)])


def summarise_table(
    model: TableModel | ScoreModel, table: TableFile, options: Options
) -> ItemSummary:
    """Read a table once, in batches, into statistics by group."""
    statistics, tally = empty_statistics(model), Tally()
    reader, column = None, options.column
    if options.by is not None and column is not None:
        reader = _GroupReader(options.by, table.name, options.date_order)
    statistics.update_many(
        (items, None if reader is None or values is None else reader.read(values))
        for items, values in model.item_batches(table, options.date_order, tally, column)
    )
    if not statistics.n:
        raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
    tally.check(table.name)
    return ItemSummary(statistics, tally, () if reader is None else reader.notes(column))


class _GroupReader:
    """Groups of batches, whose dates are read in one order."""

    def __init__(self, by: str, table: str, date_order: str | None) -> None:
        self._by, self._table, self._date_order = by, table, date_order
        self._first: dict[str, None] = {}
        self._n_missing = self._n_rows = 0

    def read(self, values: pl.Series) -> Numbered:
        texts = values.name == self._by and values.dtype == pl.String
        # Each text is read once, not each row.
        distinct = number_groups(values, len(values)) if texts else None
        column = values if distinct is None else distinct.names
        names, notes = group_names(column, self._by, self._table, self._date_order)
        if not self._n_rows:
            self._first = dict.fromkeys(notes)
            if values.name != self._by and self._date_order is None:
                form = find_date_form(without_marks(values), expected=True)
                if form is not None and form.order in ORDERS:
                    self._date_order = form.order
        if distinct is None:
            numbered = number_groups(names, len(names))
        else:
            numbered = distinct.renamed(names)
        missing = numbered.names.is_null().arg_max() if numbered.names.null_count() else None
        if missing is not None:
            self._n_missing += int((numbered.codes == missing).sum())
        self._n_rows += len(values)
        return numbered

    def notes(self, column: str | None) -> tuple[str, ...]:
        notes = list(self._first)
        if self._n_missing:
            notes.append(
                f"{self._n_missing:,} of {self._n_rows:,} rows have no {column}: group "
                f"{MISSING}."
            )
        return tuple(notes)


@dataclass(frozen=True, eq=False)
class _PageItems:
    """Posteriors by the classifier itself, or its decisions, for a report."""

    quantifier: Any
    decisions: bool

    def items(self, X: Any) -> Array:
        classes = self.quantifier.classes_
        if self.decisions:
            return np.asarray(X.codes_of(classes))
        return np.asarray(X.posteriors_of(classes))

    def identity(self) -> Any:
        scorer = self.quantifier.fitted_.scorer
        judge = scorer.judge_ if isinstance(scorer, ItemScorer) else None
        return "decisions" if self.decisions else "scores", self.quantifier.classes_, judge

    def take(self, items: Array, rows: slice) -> Array:
        return items[rows]

    def count(self, items: Array) -> int:
        return len(items)


class _PageParts(NeedsStatistics):
    """Statistics that a report shows besides the estimates."""

    def __init__(self, quantifier: Any) -> None:
        self.quantifier = quantifier
        self.classes_ = quantifier.classes_

    def statistics_parts(self, form: Form) -> list[NeededPart]:
        if self.quantifier.fitted_.takes == "features":
            return []
        K = len(self.classes_)
        if form == "verdicts" or self.quantifier.fitted_.takes == "labels":
            source = _PageItems(self.quantifier, True)
            return [NeededPart(source, MeanOf(PredictedClass(K)))]
        source = _PageItems(self.quantifier, False)
        reductions = (MeanOf(LargestPosterior(K)), MeanOf(Histograms((_BINS,))))
        return [NeededPart(source, reduction) for reduction in reductions]

    def counted(self, statistics: Statistics) -> list[Any]:
        """Shares of the predicted classes in each group; empty if there are none."""
        predicted = self.statistics_parts(statistics.form)[:1]
        if not predicted:
            return []
        every = slice(0, len(statistics.groups))
        return list(np.asarray(statistics.reduced(predicted, every)[0]))

    def histograms(self, together: Statistics, shares: Floats) -> tuple[ScoreHistogram, ...]:
        """Histograms of the posteriors of all items."""
        needed = self.statistics_parts(together.form)[1:]
        training = self.quantifier.fitted_.evidence_training(together.form)
        if not needed or training is None:
            return ()
        K = len(self.classes_)
        sample = np.asarray(together.reduced(needed, slice(0, 1))[0]).reshape(K, _BINS)
        return _histograms_of_bins(training, sample, self.classes_, shares)
