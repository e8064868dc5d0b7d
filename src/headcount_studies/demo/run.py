"""Rodents on fenced plots: estimates compared with the truth, a picture and report pages."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.files import write_bytes
from headcount._support.text import text_table
from headcount.estimates.history import POSTERIORS, PRIOR_SHIFT
from headcount.tables.analysis import Analysis, Slice
from headcount.tables.backtests import TableBacktest, backtest
from headcount.tables.from_tables import analyse, plan_labels
from headcount.tables.readers import write_table
from headcount_studies.data.folder import make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_LABELLED = 1_000
N_LABELS = 200
"""Labels per year of the last act."""
_MEASURED = ("weight", "hindfoot_length", "genus")
# Two genera are too rare on open plots to learn from.
_TOO_RARE = ("Sigmodon", "Baiomys")
_FENCES = "Rodent Exclosure"
_NEWCOMER = "Chaetodipus"
_LAST_LABELLED_YEAR = 1985
_WIDTH = 88


def rodents() -> pl.DataFrame:
    """Animals of the seven common genera, from the file that the package contains."""
    source = files("headcount_studies.demo").joinpath("data", "portal_rodents.parquet")
    with as_file(source) as path:
        return pl.read_parquet(path).filter(~pl.col("genus").is_in(_TOO_RARE))


def plot_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labelled animals from open plots, and all animals from fenced ones."""
    animals, is_open = rodents(), pl.col("treatment") == "Control"
    labelled = animals.filter(is_open).sample(N_LABELLED, shuffle=True, seed=seed)
    columns = ["plot", "treatment", *_MEASURED]
    return labelled.select(columns), animals.filter(~is_open).select(columns)


def year_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labelled animals of the first years, and all animals of every second later year."""
    animals, year = rodents(), pl.col("year")
    early = animals.filter(year <= _LAST_LABELLED_YEAR)
    later = animals.filter(year > _LAST_LABELLED_YEAR, year % 2 == 0)
    labelled = early.sample(N_LABELLED, shuffle=True, seed=seed)
    return labelled.select("year", *_MEASURED), later.select("year", *_MEASURED)


@dataclass(frozen=True)
class Score:
    """Estimates of groups compared with the truth."""

    error: float
    counted_error: float
    n_contained: int
    n_intervals: int
    n_warned: int
    n_groups: int
    width: float

    @classmethod
    def of(cls, analysis: Analysis) -> Score:
        """Score of an analysis of a table with labels."""
        groups = analysis.groups
        share, low, high, counted, truth = _columns(groups)
        inside = (low <= truth) & (truth <= high)
        return cls(
            error=float(np.abs(share - truth).mean()),
            counted_error=float(np.abs(counted - truth).mean()),
            n_contained=int(inside.sum()),
            n_intervals=inside.size,
            n_warned=sum(group.is_broken for group in groups),
            n_groups=len(groups),
            width=float((high - low).mean()),
        )


def _columns(groups: tuple[Slice, ...]) -> NDArray[np.float64]:
    """Shares, limits, counted shares and true shares, by group and class."""
    rows = [
        (group.estimate.shares, group.low, group.high, group.classify_and_count, group.truth)
        for group in groups
    ]
    return np.array(rows, dtype=np.float64).transpose(1, 0, 2)


@dataclass(frozen=True, eq=False)
class Demo:
    """Analyses of the demo, and the folder of its files."""

    folder: Path
    plots: Analysis
    fences: Analysis
    mix_only: Analysis
    past: TableBacktest
    default: Analysis
    with_labels: Analysis

    def text(self, *, as_json: bool = False) -> str:
        """The story in the terminal, or its numbers as JSON."""
        if as_json:
            content = {
                name: getattr(self, name).to_dict()
                for name in ("plots", "mix_only", "past", "default", "with_labels")
            }
            return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
        names = {
            "page": "report.html",
            "by year": "years.html",
            "backtest": "backtest.html",
            "with labels": "years-with-labels.html",
            "picture": "rodents.png",
        }
        listed = [
            f"{kind + ':':13}{(self.folder / name).resolve()}" for kind, name in names.items()
        ]
        return "\n\n".join([*self._fenced(), *self._years(), "\n".join(listed)])

    def _fenced(self) -> list[str]:
        score = Score.of(self.plots)
        n_new = self.plots.overall.estimate.n_items
        story = (
            f"FENCES. {N_LABELLED:,} labelled rodents from open plots, {n_new:,} others from "
            f"fenced plots, where the mix is different. {len(self.plots.classes)} genera, told "
            "apart by weight and hind-foot length. The fences changed the mix and little else."
        )
        head = ["genus", "truth", "headcount", "95% from", "to", "counted"]
        n_fenced = self.fences.overall.estimate.n_items
        title = f"{n_fenced:,} rodents on plots fenced against all rodents:"
        result = (
            f"Over {score.n_groups} plots, counting predictions is off by "
            f"{100 * score.counted_error:.1f} points on average, headcount by "
            f"{100 * score.error:.1f}, and {score.n_contained} of {score.n_intervals} 95% "
            f"intervals contain the truth. The assumption test warns of {score.n_warned} plots."
        )
        table = "\n".join(text_table(head, _genus_rows(self.fences)))
        return [fill(story, _WIDTH), f"{title}\n{table}", fill(result, _WIDTH)]

    def _years(self) -> list[str]:
        last = self.mix_only.groups[-1].name
        story = (
            f"YEARS. The same animals, labelled up to {_LAST_LABELLED_YEAR} and estimated for "
            f"every second year to {last}. More than the mix changes: measurements drift, and "
            "a species never seen before takes over."
        )
        mix, default, labelled = map(Score.of, (self.mix_only, self.default, self.with_labels))
        rows = [
            ["only the mix changes (--history no)", *_cells(mix)],
            ["what held in labelled years (default)", *_cells(default)],
            [f"{N_LABELS} labels per year", *_cells(labelled)],
        ]
        head = ["estimates rest on", "error", "intervals contain the truth", "mean width"]
        errors = self.past.errors
        alarm = (
            f"The alarm rings: the assumption test warns of {mix.n_warned} of {mix.n_groups} "
            f"years. The backtest has no such change: in labelled years the prior-shift "
            f"estimate was off by {100 * errors[PRIOR_SHIFT]:.1f} points, mean posteriors by "
            f"{100 * errors[POSTERIORS]:.1f}. As they disagree far more in the new years, "
            f"intervals become wide. Labels repair it: {N_LABELS} per year bring the error "
            f"from {100 * mix.error:.1f} to {100 * labelled.error:.1f} points."
        )
        table = "\n".join(text_table(head, rows))
        readings = self.past.to_table().to_text(ruled=False)
        past = f"{self.past.heading()}\n{readings}"
        return [fill(story, _WIDTH), table, past, fill(alarm, _WIDTH)]


def _cells(score: Score) -> list[str]:
    return [
        f"{100 * score.error:.1f} points",
        f"{score.n_contained} of {score.n_intervals}",
        f"{100 * score.width:.1f} points",
    ]


def _genus_rows(analysis: Analysis) -> list[list[str]]:
    """Rows of the table of genera, the most frequent first."""
    share, low, high, counted, truth = _columns((analysis.overall,))[:, 0]
    return [
        [str(analysis.classes[j])]
        + [f"{column[j]:.1%}" for column in (truth, share, low, high, counted)]
        for j in np.argsort(-truth, kind="stable")
    ]


def run_demo(folder: Path, *, seed: int = 0) -> Demo:
    """Write the tables, estimate from them, and write pages and pictures."""
    make_folder(folder)
    learn = partial(_analysis, target="genus", classifier="auto", random_state=seed)
    labelled, fenced = _written(folder, "plots", plot_tables(seed))
    plots = learn(
        fenced,
        train=labelled,
        by="plot",
        leave_out=["treatment"],
        history="no",
        title="Which rodents live behind the fences?",
    )
    fences = _analysis(
        _of_treatment(fenced, _FENCES), model=plots.model, history="no", random_state=seed
    )
    early, later = _written(folder, "years", year_tables(seed))
    years: dict[str, Any] = {"train": early, "by": "year", "title": "Which rodents, by year?"}
    mix_only, default = (learn(later, history=word, **years) for word in ("no", "auto"))
    past = backtest(early, target="genus", by="year", classifier="auto", random_state=seed)
    with_labels = _labelled(folder, later, mix_only, seed)
    demo = Demo(folder, plots, fences, mix_only, past, default, with_labels)
    _write_files(demo)
    return demo


def _analysis(new: Any, **options: Any) -> Analysis:
    analysis = analyse(new, **options)
    assert isinstance(analysis, Analysis)
    return analysis


def _written(
    folder: Path, name: str, tables: tuple[pl.DataFrame, pl.DataFrame]
) -> tuple[Path, Path]:
    """Paths of a labelled and a new table, written as CSV."""
    labelled, new = (folder / f"{name}-{kind}.csv" for kind in ("labelled", "new"))
    for frame, path in zip(tables, (labelled, new), strict=True):
        write_table(frame, path)
    return labelled, new


def _of_treatment(path: Path, treatment: str) -> pl.DataFrame:
    return pl.read_csv(path).filter(pl.col("treatment") == treatment)


def _labelled(folder: Path, new: Path, analysis: Analysis, seed: int) -> Analysis:
    """Analysis with labels of some rows, which the table itself provides."""
    options: dict[str, Any] = {"model": analysis.model, "by": "year", "random_state": seed}
    _, plan = plan_labels(new, budget=N_LABELS, **options)
    truth = pl.read_csv(new)["genus"]
    to_label = folder / "years-to-label.csv"
    write_table(plan.with_columns(label=truth[plan["row"].to_list()]), to_label)
    title = f"Which rodents, by year, with {N_LABELS} labels per year?"
    return _analysis(new, labelled=to_label, title=title, **options)


def _write_files(demo: Demo) -> None:
    folder = demo.folder
    demo.plots.report(folder / "report.html")
    demo.default.report(folder / "years.html")
    demo.past.report(folder / "backtest.html")
    demo.with_labels.report(folder / "years-with-labels.html")
    write_table(demo.plots.to_frame(), folder / "plots-shares.csv")
    for theme, ending in ((LIGHT, ""), (DARK, "-dark")):
        write_bytes(folder / f"rodents{ending}.png", draw_genera(demo.fences, theme))
        picture = draw_years(demo.mix_only, demo.with_labels, theme)
        write_bytes(folder / f"years{ending}.png", picture)


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


def draw_genera(analysis: Analysis, theme: Theme) -> bytes:
    """Share of each genus: interval, estimate, counted predictions and truth."""
    share, low, high, counted, truth = _columns((analysis.overall,))[:, 0]
    order = np.argsort(truth, kind="stable")
    at = np.arange(len(order))
    figure, axes = _figure(theme, (7.2, 4.4))
    widths = (high - low)[order]
    axes.barh(at, widths, left=low[order], height=0.34, color=theme.ours, alpha=0.3)
    axes.scatter(share[order], at, s=64, color=theme.ours, zorder=3)
    axes.scatter(
        counted[order], at, s=80, marker="D", facecolor="none", edgecolor=theme.counted,
        linewidth=2.2, zorder=4,
    )  # fmt: skip
    axes.scatter(truth[order], at, s=64, marker="x", color=theme.ink, linewidth=2.2, zorder=5)
    axes.set_yticks(at, [str(analysis.classes[j]) for j in order], style="italic", fontsize=12)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_xlim(left=-0.01)
    axes.grid(axis="x", color=theme.line, linewidth=0.8)
    _genus_legend(axes, theme)
    _title(
        axes,
        theme,
        f"{analysis.overall.estimate.n_items:,} rodents behind fences",
        "Share of each genus; the classifier has seen open plots only",
    )
    return _png(figure)


def _genus_legend(axes: Axes, theme: Theme) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dots: dict[str, Any] = {"linestyle": "none", "markersize": 8, "markeredgewidth": 2.2}
    entries: dict[str, Any] = {
        "truth": Line2D([], [], marker="x", color=theme.ink, **dots),
        "headcount": Line2D([], [], marker="o", color=theme.ours, **dots),
        "its 95% interval": Patch(color=theme.ours, alpha=0.3, linewidth=0),
        "counted predictions": Line2D(
            [], [], marker="D", color=theme.counted, markerfacecolor="none", **dots
        ),
    }
    axes.legend(
        list(entries.values()), list(entries), loc="lower right", frameon=False, fontsize=12,
        labelcolor=theme.ink,
    )  # fmt: skip


def draw_years(mix_only: Analysis, with_labels: Analysis, theme: Theme) -> bytes:
    """Share of the genus that takes over, by year, with and without labels."""
    j = mix_only.classes.index(_NEWCOMER)
    figure, axes = _figure(theme, (7.2, 4.4))
    groups = mix_only.groups
    at = np.arange(len(groups))
    truth = _columns(groups)[4, :, j]
    for analysis, colour, name, offset in (
        (mix_only, theme.counted, "assuming that only the mix changes", -0.12),
        (with_labels, theme.ours, f"with {N_LABELS} labels per year", 0.12),
    ):
        share, low, high = _columns(analysis.groups)[:3, :, j]
        axes.errorbar(
            at + offset, share, [share - low, high - share], color=colour, marker="o",
            linestyle="none", linewidth=3, markersize=7, label=f"{name}, 95% interval",
        )  # fmt: skip
    axes.scatter(
        at, truth, s=64, marker="x", color=theme.ink, linewidth=2.2, label="truth", zorder=5
    )
    warned = np.array([group.is_broken for group in groups])
    axes.scatter(
        at[warned], np.full(warned.sum(), -0.045), marker="^", s=56, color=theme.warning,
        label="the assumption test warns",
    )  # fmt: skip
    axes.set_xticks(at, [str(group.name) for group in groups])
    axes.set_ylim(-0.08, 0.95)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.grid(axis="y", color=theme.line, linewidth=0.8)
    axes.legend(loc="upper left", frameon=False, fontsize=11, labelcolor=theme.ink)
    _title(
        axes,
        theme,
        "A newcomer takes over",
        f"Share of pocket mice ({_NEWCOMER}); the classifier has seen 1977 to 1985",
    )
    return _png(figure)


def _figure(theme: Theme, size: tuple[float, float]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor=theme.paper)
    axes = figure.add_subplot(facecolor=theme.paper)
    axes.set_axisbelow(True)
    axes.tick_params(colors=theme.ink, length=0, labelsize=12)
    for side in axes.spines:
        axes.spines[side].set_visible(False)
    return figure, axes


def _title(axes: Axes, theme: Theme, title: str, subtitle: str) -> None:
    axes.set_title(
        f"{title}\n", color=theme.ink, fontsize=15, fontweight="bold", loc="left", pad=8
    )
    axes.text(0, 1.03, subtitle, color=theme.faint, fontsize=11.5, transform=axes.transAxes)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()
