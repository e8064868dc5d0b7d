"""Results of an analysis, as plain data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from headcount._files import check_writable
from headcount._text import Cell, Table, printable
from headcount.analysis.facts import MethodFacts, plain
from headcount.analysis.histograms import ScoreHistogram
from headcount.analysis.models import ScoreModel, TableModel
from headcount.analysis.pages import share_page
from headcount.analysis.verdict import MARK, Verdict, verdict_of
from headcount.diagnose.diagnostics import BROKEN_LEVEL
from headcount.errors import HeadcountError
from headcount.labels import LabelledEstimate
from headcount.uncertainty import Estimate

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["COLUMNS", "Analysis", "Part"]

COLUMNS = (
    "group", "class", "share", "low", "high", "items", "count", "classify_and_count",
    "p_value", "reliable", "warning", "truth",
)  # fmt: skip
# Rows of groups and classes that notebooks and the prompt show.
_MOST_ROWS = 40


@dataclass(frozen=True, eq=False)
class Part:
    """All items, or those of one group.

    Attributes
    ----------
    name : Any
        The group; None for all items.
    estimate : Estimate
        Shares of the classes.
    low, high : ndarray of shape (K,)
        Ends of the intervals.
    count : ndarray of shape (K,)
        Estimated numbers of items.
    classify_and_count : ndarray of shape (K,) or None
        Shares of the classes that the classifier predicts; None if none is there.
    truth : ndarray of shape (K,) or None
        The true shares, if labels were given.
    doubt : str
        Reason not to rely on the shares, besides the test; empty if there is none.
    """

    name: Any
    estimate: Estimate
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    count: NDArray[Any]
    classify_and_count: NDArray[np.float64] | None = None
    truth: NDArray[np.float64] | None = None
    doubt: str = ""

    @property
    def p_value(self) -> float | None:
        """p-value of the test of the assumption; None if it was not tested."""
        test = self.estimate.fit_test
        return None if test is None or np.isnan(test.p_value) else float(test.p_value)

    @property
    def is_unlike(self) -> bool:
        """True if the items do not look like a mixture of the training classes."""
        return self.p_value is not None and self.p_value < BROKEN_LEVEL

    @property
    def is_broken(self) -> bool:
        """True if the shares are not to be relied on: a failed test, or another doubt."""
        return (bool(self.doubt) or self.is_unlike) and self.labelled is None

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


@dataclass(frozen=True, eq=False)
class Analysis:
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
    overall : Part
        All items.
    groups : tuple of Part
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
    model : TableModel, ScoreModel or None
        Fitted model, for `save` and for `headcount.analyse(..., model=analysis.model)`; None
        for an analysis of items that were not in a table.
    """

    title: str
    created: str
    classes: tuple[Any, ...]
    level: float
    overall: Part
    groups: tuple[Part, ...]
    ordered: bool
    training: NDArray[np.float64]
    n_training: int | None
    method: MethodFacts
    histograms: tuple[ScoreHistogram, ...]
    warnings: tuple[str, ...]
    versions: Mapping[str, str]
    data_facts: Mapping[str, str]
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    model: TableModel | ScoreModel | None = None

    @property
    def verdict(self) -> Verdict:
        """The shares in a sentence or two, and how far to trust them."""
        return verdict_of(self)

    @property
    def broken_groups(self) -> list[Part]:
        """Groups that do not look like mixtures of the training classes."""
        return [part for part in self.groups if part.is_broken]

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
            "groups": [part.to_dict() for part in self.groups],
            "ordered": self.ordered,
            "method": asdict(self.method),
            "histograms": [
                {
                    "class": plain(each.label),
                    "edges": each.edges.tolist(),
                    "training": each.training.tolist(),
                    "sample": each.sample.tolist(),
                    "mixture": each.mixture.tolist(),
                }
                for each in self.histograms
            ],
            "warnings": list(self.warnings),
            "versions": dict(self.versions),
            "data": dict(self.data_facts),
            "columns": dict(self.columns),
            "notes": list(self.notes),
        }

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of `to_frame`."""
        return COLUMNS

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `to_frame`."""
        for part in (self.overall, *self.groups):
            said = " ".join(part.estimate.warnings) or None
            for j, label in enumerate(self.classes):
                yield (
                    plain(part.name), plain(label), float(part.estimate.shares[j]),
                    float(part.low[j]), float(part.high[j]), part.estimate.n_items,
                    part.count[j].item(), _at(part.classify_and_count, j), part.p_value,
                    not part.is_broken, said, _at(part.truth, j),
                )  # fmt: skip

    def to_frame(self) -> pl.DataFrame:
        """One row per group and class, all items first, with no group.

        Returns
        -------
        polars.DataFrame
            With the columns group, class, share, low, high, items, count,
            classify_and_count, p_value, reliable, warning, truth.
        """
        import polars as pl

        columns = zip(*self.rows(), strict=True)
        numbers = {"classify_and_count": pl.Float64, "p_value": pl.Float64, "truth": pl.Float64}
        kinds = numbers | {"warning": pl.String}
        if not self.groups:
            kinds["group"] = pl.String
        return pl.DataFrame(
            [
                pl.Series(name, column, dtype=kinds.get(name), strict=False)
                for name, column in zip(COLUMNS, columns, strict=True)
            ]
        )

    def to_table(self, most_rows: int | None = None) -> Table:
        """Shares to print, one row per group and class.

        Parameters
        ----------
        most_rows : int, default=None
            Rows above which the rest is left out; all by default.

        Returns
        -------
        Table
        """
        known, marked = self.overall.truth is not None, not self.is_reliable
        level = f"{100 * self.level:.6g}%"
        head = ["class", "share", f"{level} from", "to", "items", "of"]
        head += ["without labels"] * (self.overall.labelled is not None)
        rows = []
        for part in (self.overall, *self.groups):
            for j, label in enumerate(self.classes):
                shares = (part.estimate.shares[j], part.low[j], part.high[j])
                cells = [str(plain(label)), *(f"{share:.1%}" for share in shares)]
                cells += [f"{part.count[j].item():,}", f"{part.estimate.n_items:,}"]
                if part.labelled is not None:
                    cells.append(f"{part.labelled.under_shift.shares[j]:.1%}")
                if part.truth is not None:
                    cells.append(f"{part.truth[j]:.1%}")
                if self.groups:
                    cells.insert(0, "all" if part.name is None else str(part.name))
                if marked:
                    cells.append(MARK if part.is_broken else "")
                rows.append([Cell(cell) for cell in cells])
        grouped = bool(self.groups)
        columns = ["group"] * grouped + head + ["true share"] * known + [""] * marked
        numeric = [i > grouped and name != "" for i, name in enumerate(columns)]
        return Table(columns, rows[:most_rows], numeric)

    def to_text(self, *, verbose: bool = False, most_rows: int | None = None) -> str:
        """Verdict, table and notes as plain text.

        Parameters
        ----------
        verbose : bool, default=False
            True adds the treatment of each column.
        most_rows : int, default=None
            Rows above which the rest of the table is left out; all by default.

        Returns
        -------
        str
        """
        parts = [str(self.verdict), self.to_table(most_rows).to_text(ruled=False)]
        if left_out := self._left_out(most_rows):
            parts[1] += f"\n{left_out}"
        if verbose:
            parts.append("\n".join(f"{name}: {done}" for name, done in self.columns.items()))
        parts.append("\n".join([self._method(), *(f"note: {n}" for n in self._all_notes())]))
        lines = "\n\n".join(part for part in parts if part).split("\n")
        return "\n".join(map(printable, lines))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page to show to others: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or path
            File that ends in .html, in a folder that exists.
        """
        share_page(self).write(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model, for ``headcount.analyse(new, model=path)``.

        Parameters
        ----------
        path : str or path
            File that ends in .skops. It cannot run code when it is read.
        """
        from headcount.analysis.model_files import save_model

        if self.model is None:
            raise HeadcountError(
                "This analysis was not made of tables, so there is no model of a table to "
                "save: keep the quantifier instead."
            )
        path = Path(path)
        check_writable(path, "path", (".skops",))
        save_model(self.model, path)

    def plot(self, *, positive: Any = None, ax: Axes | None = None) -> Axes:
        """Draw the shares with their intervals, over the groups if there are any.

        Parameters
        ----------
        positive : class label, default=None
            Class to draw over groups; by default the second of two classes, or all of more.
        ax : matplotlib Axes, default=None
            Axes to draw into; a new figure by default.

        Returns
        -------
        matplotlib Axes
            True shares are drawn if they are known; without groups, training shares if not.
        """
        import polars as pl

        from headcount import plots

        frame = self.to_frame().rename({"truth": "reference"})
        if self.groups:
            if self.overall.truth is None:
                frame = frame.drop("reference")
            frame = frame.filter(pl.col("group").is_not_null())
            return plots.by_group(frame, positive=positive, line=self.ordered, ax=ax)
        if self.overall.truth is None:
            frame = frame.with_columns(reference=self.training)
        return plots.bars(frame, ax=ax)

    def __repr__(self) -> str:
        return f"{printable(self.title)}\n{self.to_text(most_rows=_MOST_ROWS)}"

    def _repr_html_(self) -> str:
        sentences = [Markup("<p>{}</p>").format(each) for each in self.verdict.sentences]
        left_out = Markup("<p>{}</p>").format(self._left_out(_MOST_ROWS))
        notes = [Markup("<li>{}</li>").format(each) for each in self._all_notes()]
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
        return list(
            dict.fromkeys([*self.warnings, *self.overall.estimate.warnings, *self.notes])
        )

    def _method(self) -> str:
        """Method and why it was chosen, in a line."""
        if self.method.why:
            return f"method: {self.method.why}"
        return f"method: {self.method.name}, {self.method.title}."

    def _left_out(self, most_rows: int | None) -> str:
        n_rows = (1 + len(self.groups)) * len(self.classes)
        if most_rows is None or n_rows <= most_rows:
            return ""
        return f"{n_rows - most_rows:,} more rows are in to_frame()."


def _listed(values: NDArray[np.float64] | None) -> list[float] | None:
    return None if values is None else values.tolist()


def _at(values: NDArray[np.float64] | None, j: int) -> float | None:
    return None if values is None else float(values[j])
