"""Report: errors of the weights and gains of accuracy, compared with the published medians."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from headcount.plots._style import method_styles
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.label_shift.study import data_of
from headcount_studies.tables import best_marks, published_file, rank_correlation

_FILE = "label_shift_networks.csv"
_CONDITION = ("shift", "alpha", "n")
_ESTIMATORS = {"em": "EM", "bbse": "BBSE", "rlls": "RLLS"}


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Tables for each set of images, and the comparison with the paper."""
    results = results.with_columns(pl.col("dataset").str.split("_").list.first().alias("data"))
    tables = []
    theirs = _published(published)
    for data in dict.fromkeys(map(data_of, spec.datasets)):
        rows = results.filter(pl.col("data") == data)
        if rows["mse_weights"].count():
            medians = _medians(rows)
            tables += [
                _by_condition(spec, medians, data, "mse_weights", "Errors of the weights"),
                _by_condition(spec, medians, data, "gain_accuracy", "Gains of accuracy"),
            ]
            if theirs is not None:
                tables += _compared(spec, medians, theirs.filter(data=data), data)
    return [*tables, _runs(spec, results)]


def _medians(rows: pl.DataFrame) -> pl.DataFrame:
    """Medians over networks and trials by condition and method."""
    return rows.group_by(*_CONDITION, "method", maintain_order=True).agg(
        pl.col("mse_weights", "gain_accuracy").median(), pl.len().alias("trials")
    )


def _ordered(spec: Spec, table: pl.DataFrame) -> pl.DataFrame:
    """Rows of methods in the order of the spec."""
    order = pl.DataFrame({"method": [method.name for method in spec.methods]})
    return order.join(table, on="method", how="inner", maintain_order="left")


_NOTES = {
    "mse_weights": "Median over networks and trials of the mean squared error of the weights, "
    "the shares of a sample divided by those of the source; the lowest of each column in bold.",
    "gain_accuracy": "Median gain of the accuracy of predictions by adapting them with the "
    "weights; the highest of each column in bold.",
}


def _by_condition(
    spec: Spec, medians: pl.DataFrame, data: str, value: str, title: str
) -> Section:
    """Medians by method, a column per condition."""
    condition = pl.format("{} {}, n = {}", *_CONDITION).alias("condition")
    wide = medians.with_columns(condition).pivot(
        "condition", index="method", values=value, maintain_order=True
    )
    table = _ordered(spec, wide)
    sign = 1 if value == "mse_weights" else -1
    ranked = table.select("method", *(sign * table[name] for name in table.columns[1:]))
    marks = best_marks(ranked, table.columns[1:], axis=0)
    return Section(f"{title}: {data}", _NOTES[value], table, marks=marks)


def _published(published: Path | None) -> pl.DataFrame | None:
    """Published medians with the names of methods of the spec."""
    if not (path := published_file(published, _FILE)):
        return None
    table = pl.read_csv(path)
    suffixes = ["" if name == "None" else f" {name}" for name in table["calibration"]]
    estimators = table["estimator"].str.split("-")
    names = [
        " ".join([_ESTIMATORS.get(first, first), *words]) + suffix
        for (first, *words), suffix in zip(estimators, suffixes, strict=True)
    ]
    return table.with_columns(pl.Series("method", names))


def _compared(
    spec: Spec, medians: pl.DataFrame, theirs: pl.DataFrame, data: str
) -> Iterator[Section]:
    """Ratios to the published errors, of other sizes to those of the nearest published one."""
    if theirs.is_empty():
        return
    sizes = sorted(theirs["n"].unique())
    nearest = {n: min(sizes, key=lambda size: abs(size - n)) for n in medians["n"].unique()}
    pairs = medians.with_columns(
        pl.col("n").replace_strict(nearest, return_dtype=pl.Int64).alias("published_n"),
        pl.col("alpha").cast(pl.Float64),
    ).join(
        theirs.select(
            "method", "shift", "median_mse_weights", "median_gain_accuracy",
            pl.col("alpha").cast(pl.Float64), pl.col("n").alias("published_n"),
        ),
        on=["method", "shift", "alpha", "published_n"],
        maintain_order="left",
    )  # fmt: skip
    if pairs.is_empty():
        return
    ratio = pl.col("mse_weights") / pl.col("median_mse_weights")
    gained = pl.col("gain_accuracy") - pl.col("median_gain_accuracy")
    by_method = pairs.group_by("method").agg(
        pl.len().alias("conditions"),
        ratio.median().alias("error, ours / published"),
        gained.median().alias("gain, ours - published"),
    )
    table = _ordered(spec, by_method)
    inexact = {n: size for n, size in nearest.items() if n != size}
    notes = [f"n = {n:,} is compared with the published n = {m:,}." for n, m in inexact.items()]
    yield Section(
        f"Compared with the paper: {data}",
        " ".join(
            [
                "Medians over the conditions. Networks are others than the paper's, so "
                "levels differ; the order of the methods can be compared.",
                _correlations(pairs),
                *notes,
            ]
        ),
        table,
        lambda: _figure(pairs),
    )


def _correlations(pairs: pl.DataFrame) -> str:
    """Rank correlation of the methods' errors, by condition."""
    correlations = []
    for (shift, alpha, n), rows in pairs.group_by(*_CONDITION, maintain_order=True):
        correlation = rank_correlation(rows, "mse_weights", "median_mse_weights")
        if correlation is not None:
            correlations.append(f"{shift} {alpha:g}, n = {n:,}: {correlation:.2f}")
    return (
        f"Rank correlation of the methods' errors: {'; '.join(correlations)}."
        if correlations
        else ""
    )


def _figure(pairs: pl.DataFrame) -> Figure:
    """Our median errors against the published ones, a colour per estimator."""
    figure = Figure(figsize=(5, 4.5), layout="constrained")
    ax = figure.add_subplot()
    estimators = pairs["method"].str.split(" ").list.first()
    styles = method_styles(list(dict.fromkeys(estimators)))
    for name, style in styles.items():
        rows = pairs.filter(estimators == name)
        ax.scatter(
            rows["median_mse_weights"], rows["mse_weights"], s=14, alpha=0.7,
            color=style.colour, label=name, linewidth=0,
        )  # fmt: skip
    values = pairs.select(pl.col("median_mse_weights", "mse_weights")).to_numpy()
    ends = values.min() / 1.5, values.max() * 1.5
    ax.plot(ends, ends, color="0.6", linewidth=0.8)
    ax.set(
        xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal",
        xlabel="published median error of the weights", ylabel="our median error",
    )  # fmt: skip
    ax.legend(frameon=False)
    return figure


def _runs(spec: Spec, results: pl.DataFrame) -> Section:
    table = results.group_by("data", "n", maintain_order=True).agg(
        pl.col("dataset").n_unique().alias("networks"),
        pl.struct("dataset", "trial").n_unique().alias("trials"),
        pl.struct("shift", "alpha").n_unique().alias("shifts"),
        pl.len().alias("results"),
        pl.col("failure").count().alias("failed"),
    )
    return Section(
        "Experiments",
        f"{len(spec.methods)} methods. The source of a trial comes from one half of the images "
        "of a network, samples from the other; the paper has sets of images for each, and 100 "
        "trials.",
        table,
    )
