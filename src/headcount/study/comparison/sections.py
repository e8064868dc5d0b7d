"""What the report of a comparison shows: tables, tests and figures, as the paper has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.study.comparison import drawing
from headcount.study.comparison.against import against_published
from headcount.study.comparison.summary import (
    LITTLE_TRAINING,
    Means,
    View,
    best_marks,
    errors_of,
    group_means,
    mean_errors,
    partial_among,
    shift_groups,
)
from headcount.study.sections import Section

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from headcount.study.spec import Spec

__all__ = ["sections"]


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """The sections of the report of a comparison.

    Parameters
    ----------
    spec : Spec
        What was run.
    results : polars.DataFrame
        A row for each method on each sample: dataset, method, failure, the metrics, shift
        (L1 distance of the mix from that of training) and split (share of training items).
    published : Path or None
        A folder with the figures that the paper prints.

    Returns
    -------
    list of Section
    """
    made: list[Section] = []
    for metric in spec.metrics:
        view = View(spec, results, metric, mean_errors(spec, results, metric))
        if not view.means.methods:
            continue
        made += [_mean_table(view), *_ranks(view), _distribution(view)]
        made += [*_by_shift(view), *_little_training(view), *against_published(view, published)]
    return [*made, _runs(spec, results)]


def _mean_table(view: View) -> Section:
    import polars as pl

    means = view.means
    foot: list[dict[str, object]] = [{"dataset": "mean", **means.overall}]
    if means.ranks:
        foot.append({"dataset": "mean rank", **means.ranks})
    table = pl.concat([means.table, pl.DataFrame(foot, schema=means.table.schema)])
    marks = best_marks(table, means.methods, axis=1)
    partial = partial_among(table["dataset"])
    for i, name in enumerate(table["dataset"]):
        if name in partial:
            marks[i, "dataset"] = "*"
    said = ["The lowest of each row in bold."]
    if view.metric == "tae":
        said.insert(0, "The error of a sample is the sum over the classes.")
    if partial:
        said.append("* Part of the data that the paper used.")
    text = f"Mean over all training sets and samples of a dataset. {' '.join(said)}"
    return Section(f"Mean {view.title}", text, table, marks=marks)


def _ranks(view: View) -> Iterator[Section]:
    if view.means.ranked is not None:
        yield Section(
            f"Ranks by {view.title}",
            _rank_text(view.means),
            figure=lambda: _rank_figure(view.means),
        )


def _rank_text(means: Means) -> str:
    ranked = means.ranked
    assert ranked is not None
    assert ranked.friedman is not None
    left_out = len(means.table) - ranked.n_units
    without = f" ({left_out} without results of all methods are left out)" if left_out else ""
    p = ranked.friedman[1]
    return (
        f"Mean ranks over {ranked.n_units} datasets{without}, 1 for the best. Friedman's test "
        f"that no methods differ: p {'< 0.0001' if p < 0.0001 else f'= {p:.4f}'}. Bars join "
        f"methods whose ranks are within {ranked.critical_difference:.2f}, the critical "
        "difference of Nemenyi's test at 5%."
    )


def _rank_figure(means: Means) -> Figure:
    ranked = means.ranked
    assert ranked is not None
    assert ranked.critical_difference is not None
    return drawing.rank_figure(means.ranks, ranked.critical_difference)


def _distribution(view: View) -> Section:
    text = (
        "All runs of each method. The widest box holds half of them, the next, with it, three "
        "quarters, and so on; the line across is the median. The scale is linear up to the "
        "dotted line and logarithmic beyond."
    )

    def figure() -> Figure:
        errors = errors_of(view.spec, view.results, view.metric)
        return drawing.letter_figure(errors, linear_below=view.linear_below, error=view.title)

    return Section(f"Distribution of the {view.title}", text, figure=figure)


def _by_shift(view: View) -> Iterator[Section]:
    groups = shift_groups(view.results, view.classes)
    if len(groups) < 2:
        return
    table = group_means(view.means.methods, groups, view.metric)

    def figure() -> Figure:
        parts = {name: errors_of(view.spec, part, view.metric) for name, part in groups.items()}
        return drawing.letter_panels(parts, linear_below=view.linear_below, error=view.title)

    yield Section(
        f"{view.heading} by shift",
        "Samples by how far their mix is from that of training (L1 distance). Means of the "
        "datasets' means; the lowest of each column in bold.",
        table,
        figure,
        best_marks(table, table.columns[1:], axis=0),
    )


def _little_training(view: View) -> Iterator[Section]:
    import polars as pl

    little = view.results.filter((pl.col("split") - LITTLE_TRAINING).abs() < 1e-9)
    if little.is_empty() or len(little) == len(view.results):
        return
    means = mean_errors(view.spec, little, view.metric)
    columns: dict[str, dict[str, float | None]] = {
        "all": dict(view.means.overall),
        "10% for training": dict(means.overall),
    }
    if means.ranks and view.means.ranks:
        columns |= {
            "mean rank, all": dict(view.means.ranks),
            "mean rank, 10%": dict(means.ranks),
        }
    table = pl.DataFrame(
        {"method": means.methods}
        | {
            name: [each.get(method) for method in means.methods]
            for name, each in columns.items()
        }
    )
    yield Section(
        f"{view.heading} with little training data",
        "Runs in which 10% of the items were for training and 90% for the test, beside all "
        "runs; the lowest of each column in bold."
        + (f"\n\n{_rank_text(means)}" if means.ranked else ""),
        table,
        (lambda: _rank_figure(means)) if means.ranked else None,
        best_marks(table, table.columns[1:], axis=0),
    )


def _runs(spec: Spec, results: pl.DataFrame) -> Section:
    import polars as pl

    counts = (
        results.lazy()
        .group_by("method")
        .agg(
            pl.col("dataset").n_unique().alias("datasets"),
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("failure").count().cast(pl.Int64).alias("failed"),
        )
        .collect()
    )
    order = pl.DataFrame({"method": [each.name for each in spec.methods]})
    table = order.join(counts, on="method", how="left", maintain_order="left")
    table = table.with_columns(pl.col("datasets", "runs", "failed").fill_null(0))
    text = "A run is a method on a sample."
    usual = spec.protocol["draws"]
    fewer = [
        f"{each.name} ({each.options['draws']})"
        for each in spec.methods
        if each.options.get("draws", usual) < usual
    ]
    if fewer:
        text += (
            f"\n\nFewer than {usual} draws of every setting were used by {', '.join(fewer)}."
        )
    return Section("Runs and failures by method", text, table)
