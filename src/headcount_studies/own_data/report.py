"""Report: errors by table and method with marks and ranks, errors by shift, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from headcount.evaluation.significance import compare
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.figures import figure_of, line_panels, mean_curves
from headcount_studies.tables import (
    BEST,
    NOTE,
    agreement,
    marked_datasets,
    mean_ranks,
    paired_errors,
    published_errors,
)

# Published errors of built-in studies, by metric.
_PUBLISHED = {("uci-multiclass", "ae"): "em_stabilisation_uci_ae.csv"}
_SAMPLE = ("dataset", "training_set", "sample")
_BINS = 15  # of shifts and shares
_FEWEST_RANKED = 3  # datasets and methods of a diagram of ranks


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Per metric: mean errors by table with marks, mean and ranks; then the settings."""
    tables = []
    for metric in spec.metrics:
        measured = results.filter(pl.col(metric).is_not_null())
        methods = [method.name for method in spec.methods if method.name in measured["method"]]
        if methods:
            tables.append(_errors(spec, measured, methods, metric))
            tables += _ranked(measured, methods, metric)
            tables += _compared(spec, measured, metric, published)
    tables += _diagonals(spec, results)
    fits = results.unique(["method", "dataset", "training_set"], maintain_order=True)
    settings = fits.group_by("method", "parameters", maintain_order=True).agg(
        pl.col("dataset").unique(maintain_order=True).str.join(", ").alias("datasets"),
        pl.len().alias("training sets"),
    )
    tables.append(
        Section("Settings", "Parameters of the methods; of a grid, those chosen.", settings)
    )
    return tables


def _errors(spec: Spec, rows: pl.DataFrame, methods: list[str], metric: str) -> Section:
    wide, test = paired_errors(rows, _SAMPLE, methods, metric), "wilcoxon"
    tested = "Wilcoxon signed-rank tests of the samples"
    if wide["training_set"].n_unique() > 1:
        # Samples of a training set share its errors.
        present = [method for method in methods if method in wide.columns]
        by_set = wide.drop_nulls(present).group_by("dataset", "training_set")
        wide, test = by_set.agg(pl.col(present).mean()).sort("dataset", "training_set"), "ttest"
        tested = "Paired t-tests of the means of the training sets"
    table, marks = marked_datasets(wide, spec.datasets, methods, test=test)
    foot = [table.select(pl.lit("mean").alias("dataset"), pl.col(methods).mean())]
    if table.height > 1:
        ranks = dict(mean_ranks(table, methods).select("method", "rank").iter_rows())
        foot.append(pl.DataFrame({"dataset": "mean rank"} | {m: ranks.get(m) for m in methods}))
    for number, row in enumerate(foot, table.height):
        errors = {name: row[name][0] for name in methods if row[name][0] is not None}
        if len(errors) > 1:
            marks[number, min(errors, key=lambda name: errors[name])] = BEST
    return Section(
        metric.upper(),
        f"Mean {metric.upper()} over all samples. {tested}: {NOTE}",
        pl.concat([table, *foot]),
        _by_shift(rows, metric),
        marks,
    )


def _by_shift(rows: pl.DataFrame, metric: str) -> Callable[[], Figure]:
    """Errors by the distance of the mix from that of training, one panel per dataset."""
    panels = [
        mean_curves(of_dataset, str(name), "method", "shift", metric, bins=_BINS)
        for (name,), of_dataset in rows.group_by("dataset", maintain_order=True)
    ]
    labels = ("shift from training", f"mean {metric.upper()}")
    across, height = (1, 4.2) if len(panels) == 1 else (3, 2.4)
    return lambda: line_panels(panels, across, labels, height=height)


def _ranked(rows: pl.DataFrame, methods: list[str], metric: str) -> Iterator[Section]:
    """Average ranks over the datasets with the critical difference."""
    means = rows.group_by("dataset", "training_set", "method").agg(pl.col(metric).mean())
    means = means.group_by("dataset", "method").agg(pl.col(metric).mean())
    wide = means.pivot("method", index="dataset", values=metric).select(methods).drop_nulls()
    if min(wide.shape) < _FEWEST_RANKED:
        return
    ranks = compare(wide, "nemenyi")
    yield Section(
        f"Ranks by {metric.upper()}",
        f"Average ranks over {len(wide)} datasets. Methods that a line connects do not "
        "differ clearly (Nemenyi's test).",
        figure=lambda: figure_of(ranks.plot(width=8.0)),
    )


def _diagonals(spec: Spec, results: pl.DataFrame) -> Iterator[Section]:
    """Mean estimate by the true share, one panel per dataset, with the shares in training."""
    estimated = results.filter(pl.col("estimated").is_not_null())
    panels = []
    for (name,), of_dataset in estimated.group_by("dataset", maintain_order=True):
        K = len(of_dataset["prior"][0])
        classes = [1] if K == 2 else list(range(K))
        columns = ("true", "estimated", "prior")
        rows = pl.concat(
            of_dataset.select("method", *(pl.col(column).list.get(j) for column in columns))
            for j in classes
        )
        curves = mean_curves(rows, str(name), "method", "true", "estimated", bins=_BINS)
        priors = tuple(rows["prior"].unique().sort().to_list())
        panels.append(replace(curves, points=priors))
    if not panels:
        return
    yield Section(
        "Estimated and true shares",
        "Mean estimate by the true share: of the second class if there are two, of all "
        "classes if there are more. Points on the diagonal are the shares in training.",
        figure=lambda: line_panels(
            panels, min(3, len(panels)), ("true share", "estimated share"), diagonal=True
        ),
    )


def _compared(
    spec: Spec, measured: pl.DataFrame, metric: str, published: Path | None
) -> Iterator[Section]:
    """Errors beside the published ones, where a built-in study has them."""
    name = _PUBLISHED.get((spec.name, metric))
    errors = None if name is None else published_errors(published, name)
    by_method = measured.group_by("dataset", "method", maintain_order=True)
    means = by_method.agg(pl.col(metric).mean().alias("ours"))
    order = pl.DataFrame({"dataset": spec.datasets})
    means = order.join(means, on="dataset", maintain_order="left")
    if errors is None or (compared := agreement(means, errors)) is None:
        return
    by_dataset = compared.pairs.pivot(
        "method", index="dataset", values=["ours", "published"], maintain_order=True
    )
    methods = compared.methods
    distances = ", ".join(
        f"{row['method']} {row['difference']:+.0%} (within 25% on {row['near']:.0%})"
        for row in methods.iter_rows(named=True)
    )
    pairs = [
        f"{kind}_{method}" for method in methods["method"] for kind in ("ours", "published")
    ]
    table = by_dataset.select("dataset", *pairs)
    foot = table.select(pl.lit("mean").alias("dataset"), pl.col(pairs).mean())
    table = pl.concat([table, foot])
    names = {pair: " ".join(reversed(pair.split("_", 1))) for pair in pairs}
    yield Section(
        f"{metric.upper()} compared with the paper",
        f"Over {len(by_dataset)} datasets in common. Median distance from the published "
        f"errors: {distances}.",
        table.rename(names),
    )
