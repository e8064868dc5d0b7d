"""Tables that are larger than memory: read once in batches, and analysed by statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.analysis.analysis import Analysis, Part
from headcount.analysis.from_items import analysis_of_parts, caught_warnings, make_part
from headcount.analysis.groups import MISSING, group_names, order_names
from headcount.analysis.histograms import BINS, histograms_of_bins
from headcount.analysis.models import ScoreModel, TableModel
from headcount.data.column_kinds import without_marks
from headcount.data.dates import ORDERS, find_date_form
from headcount.data.preparation import Tally
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.quantify.statistics_parts import Form, NeedsStatistics
from headcount.quantify.statistics_parts import Part as NeededPart
from headcount.representation import Binned, Histograms, MeanOf, PredictedClass
from headcount.scores import ItemScorer
from headcount.statistics import Statistics
from headcount.statistics.group_names import Numbered, number_groups

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Summary", "analyse_statistics", "empty_statistics", "summarise_table"]


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of the rows of a table.

    Attributes
    ----------
    statistics : Statistics
        Statistics by group.
    tally : Tally
        Numbers of values that could not be used as they are.
    notes : tuple of str
        Sentences on how groups were read.
    """

    statistics: Statistics
    tally: Tally
    notes: tuple[str, ...]


def empty_statistics(model: TableModel | ScoreModel) -> Statistics:
    """Statistics of a model without items, with those that a report shows.

    Parameters
    ----------
    model : TableModel or ScoreModel
        Fitted model.

    Returns
    -------
    Statistics
    """
    return Statistics(_needs(model))


def summarise_table(
    model: TableModel | ScoreModel,
    table: TableFile,
    by: str | None,
    column: str | None,
    date_order: str | None = None,
) -> Summary:
    """Read a table once, in batches, into statistics.

    Parameters
    ----------
    model : TableModel or ScoreModel
        Fitted model.
    table : TableFile
        The items.
    by, column : str or None
        Groups, as given to and found by `group_column`.
    date_order : {"day-first", "month-first"}, default=None
        Order of day and month in dates; found from the first rows by default.

    Returns
    -------
    Summary
    """
    statistics, tally = empty_statistics(model), Tally()
    reader = None if by is None or column is None else _GroupReader(by, table.name, date_order)
    statistics.update_many(
        (items, None if reader is None or values is None else reader.read(values))
        for items, values in model.item_batches(table, date_order, tally, column)
    )
    if not statistics.n:
        raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
    tally.check(table.name)
    return Summary(statistics, tally, () if reader is None else reader.notes(column))


def analyse_statistics(
    model: TableModel | ScoreModel,
    statistics: Statistics,
    *,
    of_time: bool = False,
    data_facts: Mapping[str, str] | None = None,
    title: str = "How many of each?",
    level: float = 0.95,
    random_state: Any = 0,
) -> Analysis:
    """Analysis of items by their statistics, as `analyse_items` makes it of items.

    Parameters
    ----------
    model : TableModel or ScoreModel
        Model that the statistics were made with.
    statistics : Statistics
        Statistics by group.
    of_time : bool, default=False
        True if the groups are periods of time.
    data_facts : mapping of str to str, default=None
        Facts about the data: names and texts.
    title : str, default="How many of each?"
        Heading of the report.
    level : float, default=0.95
        Probability that an interval contains the share.
    random_state : int, RandomState, Generator or None, default=0
        Random seed of the intervals.

    Returns
    -------
    Analysis
    """
    quantifier, page = model.quantifier, _PageParts(model.quantifier)
    together, ordered = statistics.pooled(), False
    found: list[tuple[Any, Statistics]] = [(None, together)]
    if statistics.groups != [None]:
        found.append((statistics.groups, statistics))
    parts: list[Part] = []
    warnings: dict[str, None] = {}

    def parts_of(names: Sequence[Any], own: Statistics) -> list[Part]:
        counted = page.counted(own) or [None] * len(names)
        # Read one by one: all draws together would not fit into memory.
        estimates = quantifier.estimate_statistics(own, random_state=random_state).values()
        return [
            make_part(name, estimate, level, shares, None)
            for name, estimate, shares in zip(names, estimates, counted, strict=True)
        ]

    for names, own in found:
        made, caught = caught_warnings(partial(parts_of, names or [None], own))
        warnings |= dict.fromkeys(caught)
        if names is not None:
            named = {MISSING if each.name is None else str(each.name): each for each in made}
            order, ordered = order_names(list(named), of_time)
            made = [replace(named[name], name=name) for name in order]
        parts.extend(made)
    histograms = page.histograms(together, parts[0].estimate.shares)
    return analysis_of_parts(
        quantifier, parts, ordered, histograms, tuple(warnings), data_facts, title, level
    )


def _needs(model: TableModel | ScoreModel) -> list[NeedsStatistics]:
    return [model.quantifier, _PageParts(model.quantifier)]


class _GroupReader:
    """Groups of batches, whose dates are read in one order."""

    def __init__(self, by: str, table: str, date_order: str | None) -> None:
        self._by, self._table, self._date_order = by, table, date_order
        self._first: dict[str, None] = {}
        self._n_missing = self._n_rows = 0

    def read(self, values: pl.Series) -> Numbered:
        import polars as pl

        texts = values.name == self._by and values.dtype == pl.String
        # Each text is read once, not each row.
        numbered = number_groups(values, len(values)) if texts else None
        given = values if numbered is None else numbered.names
        names, notes = group_names(given, self._by, self._table, self._date_order)
        if not self._n_rows:
            self._first = dict.fromkeys(notes)
            if values.name != self._by and self._date_order is None:
                found = find_date_form(without_marks(values), wanted=True)
                if found is not None and found.order in ORDERS:
                    self._date_order = found.order
        made = number_groups(names, len(names)) if numbered is None else numbered.renamed(names)
        missing = made.names.is_null().arg_max() if made.names.null_count() else None
        if missing is not None:
            self._n_missing += int((made.codes == missing).sum())
        self._n_rows += len(values)
        return made

    def notes(self, column: str | None) -> tuple[str, ...]:
        found = list(self._first)
        if self._n_missing:
            found.append(
                f"{self._n_missing:,} of {self._n_rows:,} rows have no {column}: group "
                f"{MISSING}."
            )
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _PageItems:
    """Posteriors by the classifier itself, or its decisions, for a report."""

    quantifier: Any
    decisions: bool

    def items(self, X: Any) -> NDArray[Any]:
        classes = self.quantifier.classes_
        if self.decisions:
            return np.asarray(X.codes_of(classes))
        return np.asarray(X.posteriors_of(classes))

    def identity(self) -> Any:
        scorer = self.quantifier.scorer_
        judge = scorer.judge_ if isinstance(scorer, ItemScorer) else None
        return "decisions" if self.decisions else "scores", self.quantifier.classes_, judge

    def take(self, items: NDArray[Any], rows: slice) -> NDArray[Any]:
        return items[rows]

    def count(self, items: NDArray[Any]) -> int:
        return len(items)


@dataclass(frozen=True)
class _LargestPosterior:
    """Class with the largest posterior."""

    n_classes: int

    def embed(self, items: NDArray[np.float64]) -> Binned:
        # The same as argmax, which numpy computes slowly along short rows.
        two = self.n_classes == 2
        largest = items[:, 1] > items[:, 0] if two else items.argmax(axis=1)
        return PredictedClass(self.n_classes).embed(largest.astype(np.int64))


class _PageParts(NeedsStatistics):
    """Statistics that a report shows besides the estimates."""

    def __init__(self, quantifier: Any) -> None:
        self.quantifier = quantifier
        self.model_ = quantifier.model_
        self.classes_ = quantifier.classes_

    def statistics_parts(self, form: Form) -> list[NeededPart]:
        if self.quantifier.takes == "features":
            return []
        K = len(self.classes_)
        if form == "verdicts" or self.quantifier.takes == "labels":
            source = _PageItems(self.quantifier, True)
            return [NeededPart(source, MeanOf(PredictedClass(K)))]
        source = _PageItems(self.quantifier, False)
        reductions = (MeanOf(_LargestPosterior(K)), MeanOf(Histograms((BINS,))))
        return [NeededPart(source, reduction) for reduction in reductions]

    def counted(self, statistics: Statistics) -> list[Any]:
        """Shares of the predicted classes in each group; empty if there are none."""
        part = self.statistics_parts(statistics.form)[:1]
        if not part:
            return []
        return list(np.asarray(statistics.reduced(part, slice(0, len(statistics.groups)))[0]))

    def histograms(self, together: Statistics, shares: NDArray[np.float64]) -> Any:
        """Histograms of the posteriors of all items."""
        parts = self.statistics_parts(together.form)[1:]
        training = self.quantifier.evidence_training(together.form)
        if not parts or training is None:
            return ()
        K = len(self.classes_)
        sample = np.asarray(together.reduced(parts, slice(0, 1))[0]).reshape(K, BINS)
        return histograms_of_bins(training, sample, self.classes_, shares)
