"""Report: errors by task and method, selected settings, comparison with the paper's table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from headcount import metrics
from headcount_studies.data.lequa import TASKS, LequaTask
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.figures import Panel, box_panels, line_panels, mean_curves, values_by
from headcount_studies.lequa2024.official import (
    PUBLISHED_FILE,
    Score,
    read_published_runs,
    score,
)
from headcount_studies.tables import (
    NOTE,
    agreement,
    marks_of,
    paired_errors,
    published_file,
)

_MOST_POINTS = 1000
_BINS = 20  # of shares and of shifts in the figures
_TOP = 5  # methods in a figure
_LEVELS = 10  # of jaggedness
_DOMAINS = 10  # levels of the share of a domain


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Per task: errors, settings, and the published results."""
    tables = []
    for name in spec.datasets:
        rows = results.filter((pl.col("dataset") == name) & pl.col("failure").is_null())
        if rows.is_empty():
            continue
        task = TASKS[name]
        scores = _scores(spec, rows, task)
        tables += [_errors(rows, task, scores), *_figures(rows, task, scores)]
        if published is not None and published_file(published, PUBLISHED_FILE):
            tables.append(_compared(task, scores, published))
        tables.append(_settings(rows, task))
    return tables


def score_sections(task: LequaTask, scores: Score, published: Path | None) -> list[Section]:
    """Sections of the page of one submission."""
    rows = [
        (name, f"{at.mean:.5f}", f"{at.deviation:.5f}") for name, at in scores.named.items()
    ]
    table = pl.DataFrame(rows, ["figure", "mean", "standard deviation"], orient="row")
    text = "Means over the samples, with population standard deviations."
    if scores.closed is not None:
        text += (
            " Macro-NMD is a mean over bins of the mean star, and its deviation is over the "
            "bins; the official script leaves out samples with a mean of exactly 5 stars."
        )
    tables = [Section("Official figures", text, table, _error_figure(task, scores))]
    if published is not None:
        tables.append(_compared(task, {"this submission": scores}, published))
    worst = scores.samples.sort(task.metric, descending=True).head(10)
    largest = worst.select("id", *[pl.col(name).round(5) for name in _metrics(task)])
    tables.append(
        Section("Largest errors", "The ten samples with the largest errors.", largest)
    )
    return tables


def _metrics(task: LequaTask) -> list[str]:
    return ["nmd"] if task.metric == "nmd" else ["rae", "ae"]


def _error_figure(task: LequaTask, scores: Score) -> Callable[[], Figure]:
    """Function that draws true and estimated shares, or stars for ordered classes."""

    def draw() -> Figure:
        K = task.n_classes
        true, estimated = (
            scores.samples.select(f"{kind}_{k}" for k in range(K)).to_numpy()
            for kind in ("true", "estimate")
        )
        figure = Figure(figsize=(5.0, 4.2), layout="constrained")
        ax = figure.subplots()
        limits: tuple[float, float] = (0, 1)
        if task.metric == "nmd":
            stars = np.arange(1, K + 1)
            x, y, what, limits = true @ stars, estimated @ stars, "mean star", (1, K)
        elif K == 2:
            x, y, what = true[:, 1], estimated[:, 1], "share of class 1"
        else:
            x, y, what = true.ravel(), estimated.ravel(), "share of a class"
            limits = (0, float(max(x.max(), y.max())))
        if len(x) <= _MOST_POINTS:
            ax.scatter(x, y, s=10, alpha=0.5, linewidths=0)
        else:
            bins: Any = ax.hexbin(x, y, gridsize=50, mincnt=1, bins="log", cmap="Blues")
            figure.colorbar(bins, ax=ax, label="number")
        ax.plot(limits, limits, color="0.4", linewidth=0.8)
        ax.set(xlabel=f"true {what}", ylabel=f"estimated {what}", xlim=limits, ylim=limits)
        return figure

    return draw


def _scores(spec: Spec, rows: pl.DataFrame, task: LequaTask) -> dict[str, Score]:
    """Official figures of each method."""
    scores = {}
    for method in spec.methods:
        of_method = rows.filter(pl.col("method") == method.name).sort("sample")
        if of_method.height:
            true, estimated = (
                np.array(of_method[name].to_list(), np.float64)
                for name in ("true", "estimated")
            )
            scores[method.name] = score(task, true, estimated)
    return dict(sorted(scores.items(), key=lambda entry: entry[1].figures[0].mean))


def _errors(rows: pl.DataFrame, task: LequaTask, scores: dict[str, Score]) -> Section:
    """Means and deviations, with marks of methods that do not differ from the best."""
    methods = list(scores)
    first, second = next(iter(scores.values())).figures
    wide = paired_errors(rows, ("dataset", "sample"), methods, task.metric)
    marked = {first.measure: marks_of(wide.select(methods), "wilcoxon")}
    if task.metric == "nmd":
        # Macro-NMD is a mean over bins, so it is tested on them, as in the paper.
        tested = pl.DataFrame({name: result.bins for name, result in scores.items()})
    else:
        by_second = paired_errors(rows, ("dataset", "sample"), methods, second.measure.lower())
        tested = by_second.select(methods)
    marked[second.measure] = marks_of(tested, "wilcoxon")
    lines = [
        (name, *(value for at in result.figures for value in (at.mean, at.deviation)))
        for name, result in scores.items()
    ]
    names = [name for at in (first, second) for name in (at.measure, f"sd of {at.measure}")]
    table = pl.DataFrame(lines, ["method", *names], orient="row")
    return Section(
        f"{task.name}: errors on the test samples",
        f"{wide.height:,} samples, ranked by mean {first.measure}. Wilcoxon tests for either "
        f"measure: {NOTE}",
        table,
        None,
        {
            (row, measure): of_measure[method]
            for measure, of_measure in marked.items()
            for row, method in enumerate(methods)
            if method in of_measure
        },
    )


def _figures(
    rows: pl.DataFrame, task: LequaTask, scores: dict[str, Score]
) -> Iterator[Section]:
    """Figures of the paper for a task, of the facts that the results have."""
    order = pl.Enum(list(scores))
    rows = rows.filter(pl.col("method").is_in(list(scores))).with_columns(
        pl.col("method").cast(order)
    )
    rows = rows.sort("method", "sample").with_columns(pl.col("method").cast(pl.String))
    if "shift" in rows.columns:
        if task.n_classes == 2:
            yield _diagonal(rows, task)
        if task.metric == "rae":
            yield _by_shift(rows, task)
    if task.metric == "nmd":
        yield _by_jaggedness(rows, task, list(scores))
    if "domain" in rows.columns and rows["domain"].count():
        yield from _by_domain(rows, task, scores)


def _diagonal(rows: pl.DataFrame, task: LequaTask) -> Section:
    shares = rows.select("method", pl.col("true").list.get(1), pl.col("estimated").list.get(1))
    return Section(
        f"{task.name}: estimated and true shares",
        "Mean estimate of the positive class by its true share. The point on the dashed "
        "diagonal is the share in training.",
        figure=lambda: line_panels(
            [
                replace(
                    mean_curves(shares, "", "method", "true", "estimated", bins=_BINS),
                    points=(float(rows["p_train"][0]),),
                )
            ],
            1,
            ("true share of the positive class", "estimated share"),
            diagonal=True,
            width=6.0,
            height=5.4,
        ),
    )


def _by_shift(rows: pl.DataFrame, task: LequaTask) -> Section:
    signed = task.n_classes == 2
    x = "share of positives in training less that of the sample"
    return Section(
        f"{task.name}: errors by shift",
        "Mean RAE, on a logarithmic axis, by "
        + (x if signed else "the distance (AE) of the sample from training")
        + ". Behind the lines, the number of samples.",
        figure=lambda: line_panels(
            [mean_curves(rows, "", "method", "shift", "rae", bins=_BINS)],
            1,
            (x if signed else "distance from training (AE)", "RAE"),
            log=True,
            height=4.6,
        ),
    )


def _by_jaggedness(rows: pl.DataFrame, task: LequaTask, methods: list[str]) -> Section:
    true = np.array(rows["true"].to_list(), np.float64)
    top = methods[:_TOP]
    jagged = rows.with_columns(pl.Series("jaggedness", metrics.jaggedness(true)))
    jagged = jagged.filter(pl.col("method").is_in(top))
    # Equal numbers of samples: few distributions are very jagged.
    ranks = (
        pl.col("jaggedness").rank("dense") / pl.col("jaggedness").n_unique() * _LEVELS
    ).ceil()
    jagged = jagged.with_columns(
        pl.col("jaggedness").mean().over(ranks.cast(pl.Int32)).alias("level")
    )
    return Section(
        f"{task.name}: errors by jaggedness",
        f"Mean NMD of the best {len(top)} methods by the jaggedness of the true distribution, "
        f"in {_LEVELS} groups of equally many samples.",
        figure=lambda: line_panels(
            [replace(mean_curves(jagged, "", "method", "level", "nmd"), density=None)],
            1,
            ("jaggedness", "NMD"),
            height=4.2,
        ),
    )


def _by_domain(
    rows: pl.DataFrame, task: LequaTask, scores: dict[str, Score]
) -> Iterator[Section]:
    """Errors by the share of the first domain: of the best, and of PCC beside the first."""
    level = ((pl.col("domain") * _DOMAINS).floor().clip(0, _DOMAINS - 1) + 0.5) / _DOMAINS
    rows = rows.with_columns(level.round(3).alias("level"))
    labels = ("share of the first domain (books)", task.metric.upper())

    def drawn(methods: list[str]) -> Callable[[], Figure]:
        values = values_by(
            rows.filter(pl.col("method").is_in(methods)), "method", "level", task.metric
        )
        return lambda: box_panels([Panel("", values)], 1, labels, height=3.6, log=True)

    top, pair = list(scores)[:_TOP], ["PCC", next(iter(scores))]
    yield Section(
        f"{task.name}: errors by domain",
        f"{labels[1]} of the best {len(top)} methods by the share of the first domain.",
        figure=drawn(top),
    )
    if pair[0] in scores and pair[1] != pair[0]:
        yield Section(
            f"{task.name}: errors by domain of PCC and the best",
            f"{labels[1]} by the share of the first domain, of PCC and {pair[1]}.",
            figure=drawn(pair),
        )


def _compared(task: LequaTask, scores: dict[str, Score], published: Path) -> Section:
    """Published results with ours among them."""
    published_runs = read_published_runs(published, task)
    title = f"{task.name}: compared with the published results"
    if published_runs.is_empty():
        return Section(title, f"There are no published results of {task.name}.")
    rows = [
        (name, "ours", *(value for at in result.figures for value in (at.mean, at.deviation)))
        for name, result in scores.items()
    ]
    our_runs = pl.DataFrame(rows, ["run", "kind", "mean1", "sd1", "mean2", "sd2"], orient="row")
    first, second = published_runs["measure1"][0], published_runs["measure2"][0]
    runs = pl.concat([published_runs.select(our_runs.columns), our_runs])
    runs = runs.sort("mean1", maintain_order=True)
    marks = {(row, "run"): "*" for row, kind in enumerate(runs["kind"]) if kind == "ours"}
    text = "Results of the teams, of the organisers' baselines, and ours (*)."
    names = pl.lit(task.name).alias("dataset"), pl.col("run").alias("method")
    agreed = agreement(
        our_runs.select(*names, pl.col("mean1").alias("ours")),
        published_runs.filter(kind="baseline").select(
            *names, pl.col("mean1").alias("published")
        ),
    )
    if agreed is not None and len(agreed.methods) >= 3:
        text += (
            f" Spearman's correlation with the {len(agreed.methods)} baselines: "
            f"{agreed.of_means:.2f}. On generated data compare ranks, not errors."
        )
    columns = ("run", "kind", first, f"sd of {first}", second, f"sd of {second}")
    renamed = runs.rename(dict(zip(runs.columns, columns, strict=True)))
    return Section(title, text, renamed, None, marks)


def _settings(rows: pl.DataFrame, task: LequaTask) -> Section:
    table = (
        rows.group_by("method", maintain_order=True)
        .first()
        .select("method", "dev_error", "setting")
        .rename({"dev_error": f"{task.metric.upper()} on development samples"})
    )
    return Section(
        f"{task.name}: selected settings",
        "Settings with the least mean error on the development samples.",
        table,
    )
