"""Report: errors by collection and method, ranks, comparison with the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Section
from headcount_studies.tables import (
    NOTE,
    agreement,
    marked_datasets,
    paired_errors,
    rank_correlation,
    read_published,
    shift_figure,
)

if TYPE_CHECKING:
    import polars as pl

_PUBLISHED_NAMES = {
    f"SemEval{year}": f"semeval20{year}" for year in ("13", "14", "15", "16")
} | {"HCR": "hcr", "OMD": "omd", "Sanders": "sanders", "SST": "sst"}
_MEAN = "mean"
_FRONT, _BEHIND = ("SLD", "PACC", "ACC"), ("CC", "PCC")


def sections(spec: Spec, results: pl.DataFrame, published: Path | None) -> list[Section]:
    """Per metric: errors by collection and by shift, ranks, comparison with the paper."""
    import polars as pl

    tables = []
    for metric in spec.metrics:
        # Settings are not chosen by a metric that was added to the report.
        by = metric if metric in results["chosen_by"] else spec.metrics[0]
        rows = results.filter((pl.col("chosen_by") == by) & pl.col(metric).is_not_null())
        if rows.is_empty():
            continue
        methods = [method.name for method in spec.methods if method.name in rows["method"]]
        table, section = _errors(spec, rows, methods, (metric, by))
        tables += [section, _ranks(table, methods, metric)]
        path = None if published is None else published / f"tweets_{metric}.csv"
        if path is not None and path.is_file():
            tables.append(_compared(table, methods, metric, path))
    failed = results.filter(pl.col("failure").is_not_null())
    if failed.height:
        reasons = failed.group_by("dataset", "method", "failure").len("samples").sort("dataset")
        tables.append(Section("Failures", "Methods without results.", reasons))
    return tables


def _errors(
    spec: Spec, part: pl.DataFrame, methods: list[str], metrics: tuple[str, str]
) -> tuple[pl.DataFrame, Section]:
    import polars as pl

    metric, by = metrics

    wide = paired_errors(part, ("dataset", "sample"), methods, metric)
    table, marks = marked_datasets(wide, spec.datasets, methods, test="ttest")
    mean = table.select(pl.lit(_MEAN).alias("dataset"), pl.col(methods).mean())
    return table, Section(
        f"{metric.upper()} by collection",
        f"Mean {metric.upper()} over all mixes, C selected by {by.upper()}. "
        f"Paired t-tests: {NOTE}",
        pl.concat([table, mean]),
        shift_figure(part, methods, metric),
        marks,
    )


def _ranks(table: pl.DataFrame, methods: list[str], metric: str) -> Section:
    import polars as pl

    ranks = (
        table.unpivot(index="dataset", on=methods, variable_name="method", value_name="error")
        .drop_nulls()
        .with_columns(pl.col("error").rank().over("dataset").alias("rank"))
        .group_by("method", maintain_order=True)
        .agg(pl.col("rank").mean(), (pl.col("rank") == 1).sum().alias("first on"))
        .sort("rank", maintain_order=True)
    )
    order = ranks["method"].to_list()
    front = [name for name in order if name in _FRONT]
    behind = [name for name in order if name in _BEHIND or name.startswith("SVM")]
    holds = bool(front and behind) and max(map(order.index, front)) < min(
        map(order.index, behind)
    )
    return Section(
        f"Ranks by {metric.upper()}",
        "Mean rank over the collections. The paper finds SLD, PACC and ACC ahead of CC, of PCC "
        f"and of all machines: this {'holds' if holds else 'does not fully hold'} here.",
        ranks,
    )


def _compared(table: pl.DataFrame, methods: list[str], metric: str, path: Path) -> Section:
    import polars as pl

    names = pl.col("dataset").replace(_PUBLISHED_NAMES)
    paper = read_published(path).with_columns(names)
    ours = table.unpivot(index="dataset", on=methods, variable_name="method", value_name="ours")
    title = f"Compared with the paper: {metric.upper()}"
    agreed = agreement(ours, paper)
    if agreed is None:
        return Section(title, "No collection and method in common.")
    correlations = []
    for name in table["dataset"]:
        pairs = agreed.pairs.filter(pl.col("dataset") == name)
        mine, theirs = (
            dict(zip(pairs["method"], pairs[column], strict=True))
            for column in ("ours", "published")
        )
        correlation = rank_correlation(mine, theirs)
        correlations.append(
            f"{name} {'-' if correlation is None else format(correlation, '.2f')}"
        )
    return Section(
        title,
        "Means over the collections in common, and the median relative difference. The "
        "vectors of the paper have features made for tweets, so compare ranks, not errors. "
        f"Spearman's correlation with the paper: {agreed.of_means:.2f} of mean errors, "
        f"{agreed.of_ranks:.2f} of mean ranks; by collection: {', '.join(correlations)}.",
        agreed.methods.select(
            "method", "ours", "published", "rank", "published_rank", "difference"
        ),
    )
