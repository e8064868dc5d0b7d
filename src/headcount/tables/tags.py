"""From two tables with several columns of tags to one analysis per tag."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headcount import plots
from headcount._support.arrays import Bools
from headcount._support.documentation import documented
from headcount._support.text import Table, first_of, html_result, printable
from headcount.errors import HeadcountError
from headcount.estimates.estimates import Estimates
from headcount.items.arrays import Scored
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.multi_label import MultiLabel
from headcount.report.page import Page
from headcount.tables.analysis import (
    COLUMNS,
    Analysis,
    Result,
    blocks_of_text,
    share_rows,
    share_table,
)
from headcount.tables.backtests import learn_history
from headcount.tables.columns import parse_texts
from headcount.tables.from_items import analyse_items
from headcount.tables.models import NamedMethod, TableModel, make_classifier
from headcount.tables.pages import tag_page
from headcount.tables.preparation import Preparation, Tally, prepare, prepared_batches
from headcount.tables.readers import TableFile, frame_table
from headcount.tables.roles import (
    LabelledItems,
    Options,
    read_clusters,
    read_weights,
    stripped,
)
from headcount.tables.words import MARK, printed_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST = 2
_WORDS = {"yes": "1", "no": "0", "y": "1", "n": "0"}
_NUMBERS = ["0", "1", "0.0", "1.0"]
# Position of the items with a tag among the classes of its analysis.
_TAGGED = 1


@dataclass(frozen=True, eq=False, repr=False)
class TagAnalysis(Result):
    """Shares of tags in a table and its groups, with intervals. Prints as a table.

    Made by `headcount.analyse` with a pattern of columns as its target. An item may have
    several tags or none, so shares need not sum to 1.

    Attributes
    ----------
    title : str
        Heading of the report.
    analyses : mapping of str to Analysis
        One analysis per tag, of the classes 0 and 1: items without and with the tag.
    notes : tuple of str
        Notes about the tables.
    columns : mapping of str to str
        Treatment of each column of the tables.
    """

    title: str
    analyses: Mapping[str, Analysis]
    notes: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> Analysis:
        """Analysis of the first tag, with facts that all tags have in common."""
        return next(iter(self.analyses.values()))

    @property
    def estimates(self) -> Estimates:
        """Estimates by tag, or with groups by tag and group; None is that of all items."""
        return Estimates(
            {
                (tag, item.name) if analysis.groups else tag: item.estimate
                for tag, analysis in self.analyses.items()
                for item in analysis.slices
            }
        )

    @property
    def is_reliable(self) -> bool:
        """False if the items, or a group, fail the assumption test for any tag."""
        return all(analysis.is_reliable for analysis in self.analyses.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, one sentence each, with the name of the tag."""
        return tuple(
            f"{tag}: {text}"
            for tag, analysis in self.analyses.items()
            for text in dict.fromkeys([*analysis.warnings, *analysis.overall.estimate.warnings])
        )

    @property
    def table_columns(self) -> tuple[str, ...]:
        """Columns of `to_frame`: those of ``Analysis.to_frame``, with tag instead of class."""
        return tuple("tag" if name == "class" else name for name in COLUMNS)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `to_frame`, those of items with a tag: one per tag and group."""
        for tag, analysis in self.analyses.items():
            yield from share_rows(analysis.slices, {_TAGGED: tag})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values for JSON.

        Returns
        -------
        dict
            ``title``, ``created``, ``level``, ``method``, ``versions``, ``data``, ``columns``,
            ``notes``, and ``tags``: one dict per tag with ``tag``, ``training`` (its share in
            training), and ``overall`` and ``groups`` as in ``Analysis.to_dict``, with lists
            over items without and with the tag.
        """
        shared = self.first.to_dict()
        names = ("created", "level", "ordered", "method", "versions", "data")
        tags = []
        for tag, analysis in self.analyses.items():
            content = analysis.to_dict()
            estimates = {name: content[name] for name in ("overall", "groups")}
            tags.append(
                {"tag": tag, "training": float(analysis.training[_TAGGED]), **estimates}
            )
        return {
            "title": self.title,
            **{name: shared[name] for name in names},
            "columns": dict(self.columns),
            "notes": list(self.notes),
            "tags": tags,
        }

    def _printed(self) -> str:
        """The table as text; of very many groups, only some."""
        sizes = [item.estimate.n_items for item in self.first.groups]
        places, note = printed_groups(sizes, self.first.ordered)
        table = self.to_table([0, *(place + 1 for place in places)])
        return table.to_text(ruled=False) + (f"\n{note}" if note else "")

    def to_table(self, places: Sequence[int] | None = None) -> Table:
        """Shares to print, one row per group and tag; of groups at some places, or of all."""
        tables = [
            share_table(
                analysis.slices
                if places is None
                else [analysis.slices[place] for place in places],
                {_TAGGED: tag},
                level=analysis.level,
                named="tag",
                grouped=bool(analysis.groups),
                flagged=not self.is_reliable,
            )
            for tag, analysis in self.analyses.items()
        ]
        rows = [row for table in tables for row in table.rows]
        return Table(tables[0].columns, rows, tables[0].numeric)

    def to_text(self, *, verbose: bool = False) -> str:
        """Table and notes as plain text, with the treatment of each column if verbose."""
        return blocks_of_text(
            self.summary,
            self._printed(),
            self.columns if verbose else {},
            f"method: {self.first.method.name}, {self.first.method.title}, for each tag.",
            [*self.warnings, *self.notes],
        )

    @property
    def summary(self) -> str:
        """The shares in a sentence, and how far to trust them."""
        shares = {
            tag: float(analysis.overall.estimate.shares[_TAGGED])
            for tag, analysis in self.analyses.items()
        }
        n_items = self.first.overall.estimate.n_items
        largest = max(shares, key=shares.__getitem__)
        sentence = (
            f"Of {n_items:,} items, {shares[largest]:.1%} have the tag “{largest}”, the most "
            f"frequent of {len(shares):,}."
        )
        broken = [tag for tag, analysis in self.analyses.items() if not analysis.is_reliable]
        if not broken:
            return sentence
        return (
            f"{sentence} Rows with “{MARK}” fail the test that only the "
            f"share of the tag has changed ({first_of(broken, 3)})."
        )

    def page(self) -> Page:
        """Page that `report` writes."""
        return tag_page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Raise an error: models of several tags cannot be saved."""
        raise HeadcountError(
            f"a model of {len(self.analyses)} tags cannot be saved: save the model of each "
            "tag, with the name of its column as the target."
        )

    @documented(Analysis.plot)
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the shares of the tags among all items, with their intervals.

        Returns
        -------
        matplotlib Axes
            True shares are drawn if they are known, training shares if not.
        """
        frame = self.to_frame().filter(pl.col("group").is_null())
        frame = frame.rename({"tag": "class", "truth": "reference"})
        if self.first.overall.truth is None:
            training = [
                float(analysis.training[_TAGGED]) for analysis in self.analyses.values()
            ]
            frame = frame.with_columns(reference=np.array(training))
        return plots.bars(frame, ax=ax)

    def __repr__(self) -> str:
        return f"{printable(self.title)}\n{self.to_text()}"

    def _repr_html_(self) -> str:
        return html_result(self.title, [self.to_table()], (*self.warnings, *self.notes))


@dataclass(frozen=True)
class Learning:
    """Choices of a caller who learns from a labelled table: items, or `scored` ones."""

    method: str
    classifier: Any
    leave_out: Mapping[str, str]  # columns that do not become features, and why
    history: str = "auto"
    scored: bool = False


def analyse_tags(
    table: TableFile, source: TableFile, tags: list[str], learning: Learning, options: Options
) -> TagAnalysis:
    """Estimate the shares of several tags in a table, and in its groups."""
    indicators, rows, notes = _read_tags(source, tags)
    frame = source.read([name for name in source.columns if name not in tags], rows)
    description = f"{source.name}, {len(frame):,} rows"
    preparation = prepare(
        frame,
        leave_out=learning.leave_out,
        name=repr(source.name),
        dates=options.date_order,
    )
    quantifier = _quantifier(preparation, learning, options.random_state)
    fitted = MultiLabel(quantifier).fit(preparation.conform(frame), indicators)
    scored, tally = _scored_by_tag(fitted, preparation, table, options.date_order)
    groups = options.groups(table)
    truth, note = _known_tags(table, fitted.tags_.tolist())
    facts = {
        "Labelled table": description,
        "New table": f"{table.name}, {len(scored[0]):,} rows",
    }
    shared: dict[str, Any] = {
        "groups": groups, "weights": read_weights(table, options.weight),
        "clusters": read_clusters(table, options.cluster), "data_facts": facts,
        "level": options.level, "random_state": options.random_state,
    }  # fmt: skip
    analyses = {}
    for tag, of_tag, items in zip(fitted.tags_, fitted.quantifiers_, scored, strict=True):
        name, labels = str(tag), indicators[tag].cast(int).to_numpy()
        labelled = LabelledItems(frame_table(frame, source.name), labels, "", ())
        of_table = TableModel(
            of_tag, name, preparation, None, description, of_tag.fitted_.scorer
        )
        model, reason = learn_history(of_table, labelled, options, learning.history)
        true_codes = None if truth is None else truth[name].cast(int).to_numpy()
        analysis = analyse_items(
            model.quantifier, items, truth=true_codes, title=name, **shared
        )
        analyses[name] = replace(
            analysis, columns=preparation.facts(), history=model.why_history
        )
        notes.append(f"{name}: {model.why_history}" if model.why_history else reason)
    heading = options.title or f"{len(analyses)} tags in {table.name}"
    notes = [*dict.fromkeys(notes), note, *preparation.notes(), groups.note if groups else ""]
    notes += tally.notes(table.name)
    return TagAnalysis(heading, analyses, tuple(filter(None, notes)), preparation.facts())


def _scored_by_tag(
    fitted: MultiLabel, preparation: Preparation, table: TableFile, date_order: str | None
) -> tuple[list[Any], Tally]:
    """Scores of the rows of a table for each tag, read in batches; unusable values."""
    tally = Tally()
    batches = prepared_batches(preparation, table, date_order, tally)
    scored = [fitted.score(batch) for batch, _ in batches]
    if not scored:
        raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
    tally.check(table.name)
    return [Scored.concatenate(of_tag) for of_tag in zip(*scored, strict=True)], tally


def _quantifier(preparation: Preparation, learning: Learning, seed: int) -> Quantifier:
    """Quantifier of every tag."""
    if learning.classifier == "auto":
        raise HeadcountError(
            "`classifier` is 'auto', which chooses for one target: name one for all tags, such "
            "as logistic or boosting."
        )
    model = make_classifier(preparation, learning.classifier, seed)
    named = NamedMethod.of(learning.method)
    if not named.uses_classifier:
        raise HeadcountError(
            f"`method` is {learning.method!r}, which has no classifier: choose another for "
            "several tags."
        )
    return named.quantifier(np.array([0, 1]), seed, model)


def _known_tags(table: TableFile, tags: list[str]) -> tuple[pl.DataFrame | None, str]:
    """Tags of the new items; None if some are missing, and a note."""
    if not set(tags) <= set(table.columns):
        return None, ""
    truth = _indicators(table, tags)
    if truth.null_count().sum_horizontal()[0]:
        return None, f"Some tags of rows of {table.name} are missing, so none was used."
    return truth, ""


def _read_tags(table: TableFile, tags: list[str]) -> tuple[pl.DataFrame, Any, list[str]]:
    """Tags of the labelled rows, these rows, and notes on what was left out."""
    indicators = _indicators(table, tags)
    missing = np.array([indicators[name].is_null().to_numpy() for name in tags])
    complete: Bools = np.logical_not(missing).all(axis=0)
    notes = []
    if not complete.all():
        notes.append(
            f"{int((~complete).sum()):,} of {len(complete):,} rows of {table.name} lack a tag "
            "and were not learnt from."
        )
    labelled = indicators.filter(complete)
    counts = {name: int(labelled[name].sum()) for name in tags}
    rare = [name for name in tags if not _FEWEST <= counts[name] <= len(labelled) - _FEWEST]
    if len(rare) == len(tags):
        raise HeadcountError(
            f"{table.name!r} has fewer than {_FEWEST} rows with, or without, each of the tags "
            f"{first_of(tags, 3)}: pass a table with more labelled rows."
        )
    if rare:
        notes.append(
            f"tag{'' if len(rare) == 1 else 's'} {first_of(rare, 3)} of {table.name}: "
            f"fewer than {_FEWEST} rows with or without it, so it was left out."
        )
    rows = None if complete.all() else np.flatnonzero(complete)
    return labelled.drop(rare), rows, notes


def _indicators(table: TableFile, tags: list[str]) -> pl.DataFrame:
    """Columns of true and false, with nulls where they are missing."""
    frame = table.read(tags)
    columns = []
    for name in tags:
        values = parse_texts(stripped(frame[name]))
        if values.dtype == pl.String:
            values = values.str.to_lowercase().replace(_WORDS)
        filled = values.drop_nulls()
        if values.dtype != pl.Boolean and not filled.cast(pl.String).is_in(_NUMBERS).all():
            strange = filled.filter(~filled.cast(pl.String).is_in(_NUMBERS))[0]
            raise HeadcountError(
                f"Column {name!r} of {table.name!r} has values such as {str(strange)[:40]!r}, "
                "but tags are marked by 1 and 0, true and false, or yes and no: name other "
                "columns by `target`."
            )
        values = values.cast(pl.Float64, strict=False).cast(pl.Boolean)
        columns.append(values.alias(name))
    return pl.DataFrame(columns)
