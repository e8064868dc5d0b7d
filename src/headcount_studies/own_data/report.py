"""Report: errors by table and method with marks and ranks, errors by shift, settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.tables import NOTE, marked_datasets, paired_errors, shift_figure

if TYPE_CHECKING:
    import polars as pl

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
    fits = results.unique(["method", "dataset", "training_set"], maintain_order=True)
    settings = fits.group_by("method", "parameters", maintain_order=True).agg(
        pl.col("dataset").unique(maintain_order=True).str.join(", ").alias("datasets"),
        pl.len().alias("training sets"),
    )
    tables.append(
        Section("Settings", "Parameters of the methods; of a grid, those chosen.", settings)
    )
    return tables


def _errors(spec: Spec, known: pl.DataFrame, methods: list[str], metric: str) -> Section:
    import polars as pl

    wide = paired_errors(known, _SAMPLE, methods, metric)
    table, marks = marked_datasets(wide, spec.datasets, methods)
    foot = [table.select(pl.lit("mean").alias("dataset"), pl.col(methods).mean())]
    if table.height > 1:
        foot.append(_ranks(table, methods))
    return Section(
        metric.upper(),
        f"Mean {metric.upper()} over all samples. Wilcoxon signed-rank tests: {NOTE}",
        pl.concat([table, *foot]),
        shift_figure(known, methods, metric),
        marks,
    )


def _ranks(table: pl.DataFrame, methods: Sequence[str]) -> pl.DataFrame:
    """Mean rank of each method over the tables; missing errors have no rank."""
    import polars as pl

    long = table.unpivot(index="dataset", on=methods, variable_name="method", value_name="e")
    ranks = long.with_columns(pl.col("e").rank().over("dataset"))
    means = dict(ranks.group_by("method").agg(pl.col("e").mean()).iter_rows())
    return pl.DataFrame(
        {"dataset": ["mean rank"]} | {method: [means[method]] for method in methods}
    )
