"""Errors beside those that the paper printed: their shape, as reviews and sizes differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.study.marked_tables import rank_correlation
from headcount.study.sections import Section
from headcount.study.spec import Spec

if TYPE_CHECKING:
    import polars as pl

__all__ = ["beside_the_paper"]

_PRIOR, _GLOBAL = "shift_prior_mae.csv", "shift_global_covariate_mae.csv"


def beside_the_paper(spec: Spec, results: pl.DataFrame, published: Path) -> list[Section]:
    """Correlations of ranks with the paper's tables, of those that are there."""
    made = []
    prior, mixed = (results.filter(results["protocol"] == name) for name in ("prior", "global"))
    if (published / _PRIOR).is_file() and prior["ae"].count():
        made.append(_section(spec, prior, published / _PRIOR, ("degree",), "prior shift"))
    if (published / _GLOBAL).is_file() and mixed["ae"].count():
        keys = ("p_train", "p_test", "degree")
        made.append(_section(spec, mixed, published / _GLOBAL, keys, "global covariate shift"))
    return made


def _section(
    spec: Spec, rows: pl.DataFrame, path: Path, keys: Sequence[str], what: str
) -> Section:
    """Spearman's correlation of the methods' errors, a column a dataset."""
    import polars as pl

    paper = _rounded(pl.read_csv(path), keys)
    methods = [each.name for each in spec.methods if each.name in paper.columns]
    theirs = {
        row[: len(keys)]: row[len(keys) :] for row in paper.select(*keys, *methods).rows()
    }
    columns = {}
    for dataset in spec.datasets:
        part = rows.filter(pl.col("dataset") == dataset)
        if part["ae"].count():
            columns[dataset] = _correlations(part, keys, methods, theirs)
    table = paper.select(keys).with_columns(
        pl.Series(dataset, [found.get(key) for key in theirs], dtype=pl.Float64)
        for dataset, found in columns.items()
    )
    table = table.filter(pl.any_horizontal(pl.col(*columns).is_not_null()))
    means = ", ".join(f"{_mean(table[name])} on {name}" for name in columns)
    groups = list(keys[:-1])
    if groups:
        table = table.group_by(groups).agg(pl.col(*columns).mean()).sort(groups)
    over = f"mean over degrees for each {' and '.join(groups)}" if groups else "by degree"
    return Section(
        f"Beside the paper: {what}",
        "Spearman's correlation of the methods' mean errors with those in the paper, "
        f"{over}: 1 if the methods come in the same order. Mean: {means}.",
        table,
    )


def _mean(values: pl.Series) -> str:
    numbers = values.drop_nulls().to_list()
    return f"{sum(numbers) / len(numbers):.2f}" if numbers else "nothing to compare"


def _correlations(
    part: pl.DataFrame,
    keys: Sequence[str],
    methods: Sequence[str],
    theirs: Mapping[tuple[Any, ...], tuple[float, ...]],
) -> dict[tuple[Any, ...], float | None]:
    import polars as pl

    means = part.group_by(*keys, "method").agg(pl.col("ae").mean())
    ours: dict[tuple[Any, ...], dict[str, float]] = {}
    for *key, method, error in _rounded(means, keys).iter_rows():
        ours.setdefault(tuple(key), {})[method] = error
    return {
        key: rank_correlation(ours[key], dict(zip(methods, row, strict=True)))
        for key, row in theirs.items()
        if key in ours
    }


def _rounded(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Keys as numbers that can be compared, and no -0."""
    import polars as pl

    return table.with_columns((pl.col(key).cast(pl.Float64).round(6) + 0.0) for key in keys)
