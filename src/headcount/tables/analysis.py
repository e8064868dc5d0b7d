"""Results of analyses, as plain data: shares of classes or tags, and what they are made of."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from headcount._support.arrays import Array, Floats
from headcount._support.documentation import documented
from headcount._support.files import check_writable
from headcount._support.text import Table, first_of, printable
from headcount.errors import HeadcountError
from headcount.estimates.assumption import BROKEN_LEVEL, FAR, p_value_of
from headcount.estimates.changes import Changes
from headcount.estimates.estimate import Estimate
from headcount.estimates.estimates import Estimates
from headcount.estimates.history import HistoryEstimate
from headcount.estimates.labels.from_labels import LabelledEstimate
from headcount.report.page import Page, Reported
from headcount.tables.models import ScoreModel, TableModel
from headcount.tables.pages import share_page
from headcount.tables.words import MARK, MethodFacts, Verdict, plain, printed_groups, verdict_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = (
    "group", "class", "share", "low", "high", "items", "count", "classify_and_count",
    "p_value", "reliable", "warning", "truth",
)  # fmt: skip
# Columns that may have nothing but missing values.
_NUMBERS, _TEXTS = ("classify_and_count", "p_value", "truth", "raw"), ("warning",)
# What estimates rest on if the test of the assumption does not matter.
_TESTED = ("labels", "history")
# Names of groups in a note.
_MOST_NAMED = 5
# p-values of groups that may be relied on although all items together are unlike: of each, and
# of all of them. In simulations, 0 to 13% of the groups that are unlike have no mark then (0 to
# 44% if each is tested at 0.01), and a third of those that are not have one.
_CLEAR_ALONE, _CLEAR_TOGETHER = 0.1, 0.2
# Rows of groups and classes that notebooks and the prompt show.
_MOST_ROWS = 40


class Result(Reported):
    """Base of all results of tables: a table, a print and a page."""

    @property
    @abstractmethod
    def table_columns(self) -> tuple[str, ...]:
        """Columns of `to_frame`."""

    @abstractmethod
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `to_frame`."""

    @abstractmethod
    def to_text(self) -> str:
        """Text that `print` shows."""

    def to_frame(self) -> pl.DataFrame:
        """Table of the result, one row per group and class, all items first."""
        kinds: dict[str, Any] = dict.fromkeys(_NUMBERS, pl.Float64)
        kinds |= dict.fromkeys(_TEXTS, pl.String)
        columns = dict(zip(self.table_columns, zip(*self.rows(), strict=True), strict=True))
        if all(name is None for name in columns["group"]):
            kinds["group"] = pl.String
        return pl.DataFrame(
            [
                pl.Series(name, values, dtype=kinds.get(name), strict=False)
                for name, values in columns.items()
            ]
        )

    def __repr__(self) -> str:
        return self.to_text()


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """Distribution of the posterior of one class, in training and in the sample.

    `training` are the parts of the class's own training items in each bin, `sample` those of
    the sample, and `mixture` those expected: the training classes, mixed as estimated.
    """

    label: Any
    share: float
    edges: Floats
    training: Floats
    sample: Floats
    mixture: Floats


@dataclass(frozen=True, eq=False)
class Slice:
    """All items, or those of one group: the estimate and what it is compared with."""

    name: Any
    estimate: Estimate
    low: Floats
    high: Floats
    count: Array
    classify_and_count: Floats | None = None
    truth: Floats | None = None
    doubt: str = ""
    in_labelled: Floats | None = None

    @property
    def p_value(self) -> float | None:
        """p-value of the test of the assumption; None if it was not tested."""
        return p_value_of(self.estimate)

    @property
    def is_unlike(self) -> bool:
        """True if the items do not look like a mixture of the training classes."""
        return self.p_value is not None and self.p_value < BROKEN_LEVEL

    @property
    def is_broken(self) -> bool:
        """True if the shares are not to be relied on: a failed test, or another doubt.

        Shares that rest on labels, or on what held in labelled groups, do not need the test.
        """
        return (bool(self.doubt) or self.is_unlike) and self.estimate.basis not in _TESTED

    @property
    def is_far(self) -> bool:
        """True if labelled groups may say little about the items, which are far from them."""
        return any(text.startswith(FAR) for text in self.estimate.warnings)

    @property
    def under_usual_drift(self) -> HistoryEstimate | None:
        """The estimate, if there are no labelled groups that show the drift; else None."""
        estimate = self.estimate
        if not isinstance(estimate, HistoryEstimate) or estimate.n_groups:
            return None
        return estimate

    @property
    def labelled(self) -> LabelledEstimate | None:
        """The estimate, if it rests on labels of the items themselves; else None."""
        return self.estimate if isinstance(self.estimate, LabelledEstimate) else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with lists over the classes."""
        test, labelled = self.estimate.fit_test, self.labelled
        return {
            "group": plain(self.name),
            "items": self.estimate.n_items,
            "shares": self.estimate.shares.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "counts": self.count.tolist(),
            "classify_and_count": _listed(self.classify_and_count),
            "truth": _listed(self.truth),
            "fit_test": None
            if test is None
            else {"statistic": test.statistic, "df": test.df, "p_value": self.p_value},
            "reliable": not self.is_broken,
            "warnings": list(self.estimate.warnings),
            "basis": self.estimate.basis,
            "labels": None if labelled is None else labelled.n_labels,
            "agreement": None if labelled is None else labelled.agreement.to_dict(),
            "without_labels": None
            if labelled is None
            else labelled.under_shift.shares.tolist(),
        }


def clear_groups(
    p_values: Sequence[float | None], together: Callable[[list[int]], float | None]
) -> list[int]:
    """Places, from 1, of groups to rely on although all items together are unlike training.

    Small groups seldom show by themselves that they are unlike. So there must be no evidence
    against a group, and none against these groups together, which the callback tests.
    """
    clear = [
        place
        for place, p_value in enumerate(p_values, 1)
        if p_value is not None and p_value >= _CLEAR_ALONE
    ]
    p_value = together(clear) if clear else None
    return clear if p_value is not None and p_value >= _CLEAR_TOGETHER else []


def share_rows(slices: Iterable[Slice], labels: Mapping[int, Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of `COLUMNS`: those of some classes, by position, with their names."""
    for item in slices:
        warning = " ".join(item.estimate.warnings) or None
        for j, label in labels.items():
            yield (
                plain(item.name), plain(label), float(item.estimate.shares[j]),
                float(item.low[j]), float(item.high[j]), item.estimate.n_items,
                item.count[j].item(), _at(item.classify_and_count, j), item.p_value,
                not item.is_broken, warning, _at(item.truth, j),
            )  # fmt: skip


def share_table(
    slices: Sequence[Slice],
    labels: Mapping[int, Any],
    *,
    level: float,
    named: str = "class",
    grouped: bool,
    flagged: bool,
) -> Table:
    """Shares to print, one row per slice and class, with a mark on those not to rely on."""
    overall = slices[0]
    columns = ["group"] * grouped + [named, "share", f"{100 * level:.6g}% from", "to"]
    has_labelled = any(item.in_labelled is not None for item in slices)
    columns += ["items", "of"] + ["labelled"] * has_labelled
    columns += ["without labels"] * (overall.labelled is not None)
    columns += ["true share"] * (overall.truth is not None) + [""] * flagged
    rows = []
    for item in slices:
        for j, label in labels.items():
            shares = (item.estimate.shares[j], item.low[j], item.high[j])
            cells = ["all" if item.name is None else str(item.name)] * grouped
            cells += [str(plain(label)), *(f"{share:.1%}" for share in shares)]
            cells += [f"{item.count[j].item():,}", f"{item.estimate.n_items:,}"]
            if has_labelled:
                in_labelled = item.in_labelled
                cells.append("" if in_labelled is None else f"{in_labelled[j]:.1%}")
            if item.labelled is not None:
                cells.append(f"{item.labelled.under_shift.shares[j]:.1%}")
            if item.truth is not None:
                cells.append(f"{item.truth[j]:.1%}")
            cells += [MARK if item.is_broken else ""] * flagged
            rows.append(cells)
    numeric = [i > grouped and name != "" for i, name in enumerate(columns)]
    return Table.of(columns, rows, numeric)


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Result):
    """Shares of the classes in a table and its groups, with intervals and a verdict.

    Made by `headcount.analyse`; prints as its verdict and a table.

    Attributes
    ----------
    title : str
        Heading of the report.
    created : str
        Date and time, UTC.
    classes : tuple
        The classes.
    level : float
        Probability that an interval contains the share.
    overall : Slice
        All items.
    groups : tuple of Slice
        The groups; empty if there are none.
    ordered : bool
        True if the groups are a sequence, such as months.
    training : ndarray of shape (K,)
        Shares in the training set.
    n_training : int or None
        Number of training items, if it is known.
    method : MethodFacts
        The method, its settings, and why it was chosen.
    histograms : tuple of ScoreHistogram
        One per class; empty if there are no scores of training items.
    warnings : tuple of str
        Warnings about the whole analysis.
    versions, data_facts : mapping of str to str
        Versions of packages; facts about the data.
    columns : mapping of str to str
        Treatment of each column of the tables.
    notes : tuple of str
        Notes about the tables.
    history : str
        Which reading of the data held in labelled groups, in a sentence; empty without.
    changes : Changes or None
        Columns that changed beyond what a change of the mix explains, if the new items do not
        look like the labelled ones; None if they do, and without a labelled table.
    model : TableModel, ScoreModel or None
        Fitted model, for `save` and for `headcount.analyse(..., model=analysis.model)`; None
        for an analysis of items that were not in a table.
    """

    title: str
    created: str
    classes: tuple[Any, ...]
    level: float
    overall: Slice
    groups: tuple[Slice, ...]
    ordered: bool
    training: Floats
    n_training: int | None
    method: MethodFacts
    histograms: tuple[ScoreHistogram, ...]
    warnings: tuple[str, ...]
    versions: Mapping[str, str]
    data_facts: Mapping[str, str]
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    history: str = ""
    changes: Changes | None = None
    model: TableModel | ScoreModel | None = None

    @property
    def verdict(self) -> Verdict:
        """The shares in a sentence or two, and how far to trust them."""
        return verdict_of(self)

    @property
    def broken_groups(self) -> list[Slice]:
        """Groups that do not look like mixtures of the training classes."""
        return [item for item in self.groups if item.is_broken]

    @property
    def is_reliable(self) -> bool:
        """False if all items or a group do not look like a mixture of the training classes."""
        return not self.overall.is_broken and not self.broken_groups

    def to_dict(self) -> dict[str, Any]:
        """Everything but the model, as plain values for JSON.

        Returns
        -------
        dict
            ``title``, ``created``, ``verdict`` (status, sentences), ``level``, ``classes``,
            ``training`` (shares, items), ``overall`` and ``groups``, which are a dict or a
            list of dicts with ``group``, ``items``, ``shares``, ``low``, ``high``,
            ``counts``, ``classify_and_count``, ``truth``, ``fit_test`` (statistic, df,
            p_value), ``reliable``, ``warnings``, ``basis``, and with labels of new items
            ``labels`` (their number), ``agreement`` and ``without_labels``; ``method``,
            ``histograms`` (class, edges, training, sample, mixture), ``warnings``,
            ``versions``, ``data``, ``columns`` and ``notes``. Lists over classes are in the
            order of ``classes``.
        """
        verdict = self.verdict
        return {
            "title": self.title,
            "created": self.created,
            "verdict": {"status": verdict.status, "sentences": list(verdict.sentences)},
            "level": self.level,
            "classes": [plain(label) for label in self.classes],
            "training": {"shares": self.training.tolist(), "items": self.n_training},
            "overall": self.overall.to_dict(),
            "groups": [item.to_dict() for item in self.groups],
            "ordered": self.ordered,
            "method": asdict(self.method),
            "histograms": [
                {
                    "class": plain(histogram.label),
                    "edges": histogram.edges.tolist(),
                    "training": histogram.training.tolist(),
                    "sample": histogram.sample.tolist(),
                    "mixture": histogram.mixture.tolist(),
                }
                for histogram in self.histograms
            ],
            "warnings": list(self.warnings),
            "versions": dict(self.versions),
            "data": dict(self.data_facts),
            "columns": dict(self.columns),
            "notes": list(self.notes),
            "history": self.history or None,
            "changed": None if self.changes is None else list(self.changes.changed),
        }

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of `to_frame`."""
        return COLUMNS

    @property
    def estimates(self) -> Estimates:
        """Estimates by group; None is the name of all items."""
        return Estimates({item.name: item.estimate for item in self.slices})

    @property
    def slices(self) -> tuple[Slice, ...]:
        """All items, then the groups."""
        return (self.overall, *self.groups)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `to_frame`."""
        return share_rows(self.slices, dict(enumerate(self.classes)))

    def to_table(self, most_rows: int | None = None) -> Table:
        """Shares to print, one row per group and class; of many rows, the first."""
        table = self._table_of(self.slices)
        return Table(table.columns, table.rows[:most_rows], table.numeric)

    def _table_of(self, slices: Sequence[Slice]) -> Table:
        return share_table(
            slices,
            dict(enumerate(self.classes)),
            level=self.level,
            grouped=bool(self.groups),
            flagged=not self.is_reliable,
        )

    def to_text(self, *, verbose: bool = False, most_rows: int | None = None) -> str:
        """Verdict, table and notes as plain text; of very many groups, only some.

        Parameters
        ----------
        verbose : bool, default=False
            True adds the treatment of each column.
        most_rows : int, default=None
            Rows above which the rest of the table is left out; all by default.
        """
        table, note = self.to_table(most_rows), self._left_out(most_rows)
        if most_rows is None:
            sizes = [item.estimate.n_items for item in self.groups]
            places, note = printed_groups(sizes, self.ordered)
            table = self._table_of([self.overall, *(self.groups[place] for place in places)])
        text = table.to_text(ruled=False) + (f"\n{note}" if note else "")
        method = self.method.why or f"{self.method.name}, {self.method.title}."
        treatments = self.columns if verbose else {}
        return blocks_of_text(
            str(self.verdict), text, treatments, f"method: {method}", self._all_notes()
        )

    def page(self) -> Page:
        """Page that `report` writes."""
        return share_page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model, for ``headcount.analyse(new, model=path)``.

        Parameters
        ----------
        path : str or path
            File that ends in .skops. It cannot run code when it is read.
        """
        from headcount.tables.model_files import save_model

        if self.model is None:
            raise HeadcountError(
                "This analysis was not made of tables, so there is no model of a table to "
                "save: keep the quantifier instead."
            )
        path = Path(path)
        check_writable(path, "path", (".skops",))
        save_model(self.model, path)

    @documented(Estimates.plot)
    def plot(self, *, positive: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the shares with their intervals, over the groups if there are any.

        Returns
        -------
        matplotlib Axes
            True shares are drawn if they are known; without groups, training shares if not.
        """
        from headcount import plots

        frame = self.to_frame().rename({"truth": "reference"})
        if self.groups:
            if self.overall.truth is None:
                frame = frame.drop("reference")
            frame = frame.filter(pl.col("group").is_not_null())
            doubtful = [plain(item.name) for item in self.broken_groups]
            return plots.by_group(
                frame, positive=positive, line=self.ordered, doubtful=doubtful, ax=ax
            )
        if self.overall.truth is None:
            frame = frame.with_columns(reference=self.training)
        return plots.bars(frame, ax=ax)

    def __repr__(self) -> str:
        return f"{printable(self.title)}\n{self.to_text(most_rows=_MOST_ROWS)}"

    def _repr_html_(self) -> str:
        sentences = [
            Markup("<p>{}</p>").format(sentence) for sentence in self.verdict.sentences
        ]
        left_out = Markup("<p>{}</p>").format(self._left_out(_MOST_ROWS))
        notes = [Markup("<li>{}</li>").format(note) for note in self._all_notes()]
        return Markup("\n").join(
            [
                Markup("<h3>{}</h3>").format(self.title),
                *sentences,
                self.to_table(_MOST_ROWS).to_html(label=self.title),
                *([left_out] if self._left_out(_MOST_ROWS) else []),
                *([Markup("<ul>"), *notes, Markup("</ul>")] if notes else []),
            ]
        )

    def _all_notes(self) -> list[str]:
        notes = [*self.warnings, *self.overall.estimate.warnings, *self.notes]
        far = [plain(item.name) for item in self.groups if item.is_far]
        if far:
            notes.append(
                f"Far from any mixture of the training classes, so that shares may be further "
                f"off than their intervals say: {first_of(far, _MOST_NAMED)}."
            )
        return list(dict.fromkeys(notes))

    def _left_out(self, most_rows: int | None) -> str:
        n_rows = (1 + len(self.groups)) * len(self.classes)
        if most_rows is None or n_rows <= most_rows:
            return ""
        return f"{n_rows - most_rows:,} more rows are in to_frame()."


def blocks_of_text(
    summary: str, table: str, treatments: Mapping[str, str], method: str, notes: Sequence[str]
) -> str:
    """Summary, table, treatment of columns, method and notes as plain text."""
    blocks = [
        summary,
        table,
        "\n".join(f"{name}: {treatment}" for name, treatment in treatments.items()),
        "\n".join([method, *(f"note: {note}" for note in notes)]),
    ]
    lines = "\n\n".join(filter(None, blocks)).split("\n")
    return "\n".join(map(printable, lines))


def _listed(values: Floats | None) -> list[float] | None:
    return None if values is None else values.tolist()


def _at(values: Floats | None, j: int) -> float | None:
    return None if values is None else float(values[j])
