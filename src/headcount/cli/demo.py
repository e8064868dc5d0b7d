"""Demo: shares that are right where only the mix changes; a warning, and labels, elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount._files import write_bytes
from headcount._text import text_table
from headcount.analysis import Analysis, analyse, plan_labels
from headcount.cli.demo_data import digit_tables, flight_tables, has_flights
from headcount.cli.demo_picture import DARK, LIGHT, Series, draw
from headcount.data.writers import write_table
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["STORIES", "Demo", "Story", "StoryResult", "run_demo"]

_WIDTH = 88
_MOST_ROWS = 10


@dataclass(frozen=True)
class Story:
    """A set of items to estimate from.

    Attributes
    ----------
    name : str
        Start of the names of its files.
    question : str
        Heading of the page.
    target, counted : str
        Column of the labels, and the label whose share is shown.
    by : str
        Period of a group.
    title, subtitle : str
        Headings of the picture.
    text : str
        Description in a few sentences.
    tables : callable
        Function of a seed that returns the labelled items and the later ones.
    n_labels : int
        Labels of each period that a second analysis uses; 0 for none.
    """

    name: str
    question: str
    target: str
    counted: str
    by: str
    title: str
    subtitle: str
    text: str
    tables: Callable[[int], tuple[pl.DataFrame, pl.DataFrame]]
    n_labels: int = 0


DIGITS = Story(
    "digits",
    "How many eights each week?",
    "digit",
    "eight",
    "week",
    "Only the mix changes",
    "Share of eights among handwritten digits, by week",
    "Handwritten digits: 600 labelled ones, a tenth of them eights, then 150 new ones a week. "
    "The digits are real, the calendar is made up: only the share of eights changes.",
    digit_tables,
)
FLIGHTS = Story(
    "flights",
    "How many late flights each month?",
    "arrival",
    "late",
    "month",
    "More than the mix changes: most intervals miss",
    "Share of flights from New York that arrive late, by month",
    "Flights from New York in 2013: who will arrive more than 15 minutes late, by what is "
    "known at departure, learnt from January to March. Winds and storms change how a late "
    "flight looks, which no method can correct without labels.",
    flight_tables,
    n_labels=200,
)
STORIES = (DIGITS, FLIGHTS)


@dataclass(frozen=True, eq=False)
class StoryResult:
    """A story with its analysis.

    Attributes
    ----------
    story : Story
        The story.
    analysis : Analysis
        Its shares.
    page : Path
        File of its report.
    with_labels : Analysis or None
        The shares with some labels of each period.
    page_with_labels : Path or None
        File of its report.
    """

    story: Story
    analysis: Analysis
    page: Path
    with_labels: Analysis | None = None
    page_with_labels: Path | None = None

    def series(self, analysis: Analysis | None = None) -> Series:
        """Numbers of the picture, as arrays over the periods; of another analysis if given."""
        analysis = analysis or self.analysis
        j = analysis.classes.index(self.story.counted)
        rows = [
            (
                part.estimate.shares[j], part.low[j], part.high[j],
                np.nan if part.classify_and_count is None else part.classify_and_count[j],
                np.nan if part.truth is None else part.truth[j],
                part.is_broken,
            )
            for part in analysis.groups
        ]  # fmt: skip
        share, low, high, counted, truth, broken = np.array(rows, dtype=np.float64).T
        return Series(
            title=self.story.title,
            subtitle=self.story.subtitle,
            periods=tuple(str(part.name) for part in analysis.groups),
            share=share,
            low=low,
            high=high,
            counted=counted,
            truth=truth,
            broken=broken > 0,
            training=float(analysis.training[j]),
            method=analysis.method.name,
        )

    def text(self) -> str:
        """Description, a table of the periods, and the errors."""
        found = self.series()
        head = [self.story.by, "truth", "headcount", "from", "to", "classify and count", ""]
        step = -(-len(found.periods) // _MOST_ROWS)
        rows = []
        for i in range(0, len(found.periods), step):
            shares = (found.truth, found.share, found.low, found.high, found.counted)
            cells = [f"{each[i]:.1%}" for each in shares]
            warning = "do not rely on it" if found.broken[i] else ""
            rows.append([found.periods[i], *cells, warning])
        every = "" if step == 1 else f" Every {step}th {self.story.by} is shown."
        errors = (
            f"Mean error over {len(found.periods)} {self.story.by}s: {found.method} "
            f"{100 * found.error:.1f} points, classify and count "
            f"{100 * found.counted_error:.1f}. The truth is within {found.held.sum()} of the "
            f"{len(found.periods)} intervals (95%). {found.misses(self.story.by)}{every}"
        )
        table = "\n".join(text_table(head, rows))
        parts = [fill(self.story.text, _WIDTH), table, fill(errors, _WIDTH)]
        return "\n\n".join([*parts, *self._ending()])

    def _ending(self) -> list[str]:
        """Description and table of the shares with labels."""
        if self.with_labels is None:
            return []
        found = self.series(self.with_labels)
        n, by = self.story.n_labels, self.story.by
        told = (
            f"With labels of {n} random items of each {by} the truth is within "
            f"{found.held.sum()} of the {len(found.periods)} intervals, and the mean error is "
            f"{100 * found.error:.1f} points: labels correct whatever has changed."
        )
        columns = zip(found.truth, found.share, found.low, found.high, strict=True)
        rows = [
            [period, *(f"{share:.1%}" for share in shares)]
            for period, shares in zip(found.periods, columns, strict=True)
        ]
        table = text_table([by, "truth", f"with {n} labels", "from", "to"], rows)
        return [fill(told, _WIDTH), "\n".join(table)]

    def to_dict(self) -> dict[str, Any]:
        """Results as plain values for JSON."""
        content = self.analysis.to_dict() | {"page": str(self.page)}
        if self.with_labels is not None:
            content["with_labels"] = self.with_labels.to_dict()
            content["with_labels"] |= {"page": str(self.page_with_labels)}
        return content


@dataclass(frozen=True)
class Demo:
    """Results of the demo and its files.

    Attributes
    ----------
    results : tuple of StoryResult
        One per story.
    picture : Path
        File of the picture.
    """

    results: tuple[StoryResult, ...]
    picture: Path

    def text(self, *, as_json: bool = False) -> str:
        """Results as text for people, or as JSON."""
        if as_json:
            content = {result.story.name: result.to_dict() for result in self.results}
            return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
        files = [f"picture: {self.picture.resolve()}"]
        pages = [(result.page, result.page_with_labels) for result in self.results]
        files += [f"page:    {page.resolve()}" for pair in pages for page in pair if page]
        if len(self.results) < len(STORIES):
            files.append("(real flights as well: pip install 'headcount[demo]')")
        return "\n\n".join([*(result.text() for result in self.results), "\n".join(files)])


def run_demo(folder: Path, *, seed: int = 0) -> Demo:
    """Write tables of real items, estimate from them, and write pages and a picture.

    Parameters
    ----------
    folder : Path
        Created if it does not exist. Gets for each story a labelled table, a new one, and the
        shares (``digits-labelled.csv``, ``digits-new.csv``, ``digits-shares.csv``), a page
        (``report.html``, ``report-flights.html``, and ``report-flights-with-labels.html`` from
        the labels in ``flights-to-label.csv``), and the picture (``demo.png``, and
        ``demo-dark.png`` for dark backgrounds).
    seed : int, default=0
        Random seed of the items.

    Returns
    -------
    Demo
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror}): choose another."
        ) from None
    stories = [story for story in STORIES if story is not FLIGHTS or has_flights()]
    results = tuple(_run_story(story, folder, seed) for story in stories)
    picture = folder / "demo.png"
    drawn = [each.series() for each in results]
    write_bytes(picture, draw(drawn, LIGHT))
    write_bytes(folder / "demo-dark.png", draw(drawn, DARK))
    return Demo(results, picture)


def _run_story(story: Story, folder: Path, seed: int) -> StoryResult:
    labelled, new = (folder / f"{story.name}-{part}.csv" for part in ("labelled", "new"))
    tables = story.tables(seed)
    for frame, path in zip(tables, (labelled, new), strict=True):
        write_table(frame, path)
    page = folder / ("report.html" if story is DIGITS else f"report-{story.name}.html")
    analysis = analyse(
        new,
        train=labelled,
        target=story.target,
        by=story.by,
        date_column="date",
        random_state=seed,
        title=story.question,
    )
    assert isinstance(analysis, Analysis)
    analysis.report(page)
    write_table(analysis.to_frame(), folder / f"{story.name}-shares.csv")
    if not story.n_labels:
        return StoryResult(story, analysis, page)
    periods: dict[str, Any] = {"by": story.by, "date_column": "date", "random_state": seed}
    periods["model"] = analysis.model
    _, table = plan_labels(new, budget=story.n_labels, **periods)
    truth = tables[1][story.target]
    to_label = folder / f"{story.name}-to-label.csv"
    # Who labels here is the table itself, in which the truth is known.
    write_table(table.with_columns(label=truth[table["row"].to_list()]), to_label)
    better = analyse(new, labelled=to_label, title=story.question, **periods)
    assert isinstance(better, Analysis)
    second = folder / f"report-{story.name}-with-labels.html"
    better.report(second)
    return StoryResult(story, analysis, page, better, second)
