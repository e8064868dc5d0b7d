"""Report: errors by table and method with marks and ranks, errors by shift, settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.tables import (
    NOTE,
    agreement,
    marked_datasets,
    paired_errors,
    read_published,
    shift_figure,
)

if TYPE_CHECKING:
    import polars as pl

# Published errors of built-in studies, by metric.
_PUBLISHED = {("uci-multiclass", "ae"): "em_stabilisation_uci_ae.csv"}
_SAMPLE = ("dataset", "training_set", "sample")


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Per metric: mean errors by table with marks, mean and ranks; then the settings."""
    import polars as pl

    tables = []
    for metric in spec.metrics:
        measured = results.filter(pl.col(metric).is_not_null())
        methods = [method.name for method in spec.methods if method.name in measured["method"]]
        if methods:
            tables.append(_errors(spec, measured, methods, metric))
            tables += _compared(spec, measured, metric, published)
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
    import polars as pl

    wide = paired_errors(rows, _SAMPLE, methods, metric)
    table, marks = marked_datasets(wide, spec.datasets, methods)
    foot = [table.select(pl.lit("mean").alias("dataset"), pl.col(methods).mean())]
    if table.height > 1:
        foot.append(_ranks(table, methods))
    return Section(
        metric.upper(),
        f"Mean {metric.upper()} over all samples. Wilcoxon signed-rank tests: {NOTE}",
        pl.concat([table, *foot]),
        shift_figure(rows, methods, metric),
        marks,
    )


def _compared(
    spec: Spec, measured: pl.DataFrame, metric: str, published: Path | None
) -> list[Section]:
    """Errors beside the published ones, where a built-in study has them."""
    import polars as pl

    name = _PUBLISHED.get((spec.name, metric))
    if name is None or published is None or not (published / name).is_file():
        return []
    ours = measured.group_by("dataset", "method").agg(pl.col(metric).mean().alias("ours"))
    order = pl.DataFrame({"dataset": spec.datasets})
    ours = order.join(ours, on="dataset", maintain_order="left")
    compared = agreement(ours, read_published(published / name))
    if compared is None:
        return []
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
    return [
        Section(
            f"{metric.upper()} compared with the paper",
            f"Over {len(by_dataset)} datasets in common. Median distance from the published "
            f"errors: {distances}.",
            table.rename(names),
        )
    ]


def _ranks(table: pl.DataFrame, methods: Sequence[str]) -> pl.DataFrame:
    """Mean rank of each method over the tables; missing errors have no rank."""
    import polars as pl

    long = table.unpivot(index="dataset", on=methods, variable_name="method", value_name="e")
    ranks = long.with_columns(pl.col("e").rank().over("dataset"))
    means = dict(ranks.group_by("method").agg(pl.col("e").mean()).iter_rows())
    return pl.DataFrame(
        {"dataset": ["mean rank"]} | {method: [means[method]] for method in methods}
    )
