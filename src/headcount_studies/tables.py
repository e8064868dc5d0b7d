"""Tables of mean errors: the best is marked, and methods that do not clearly differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from headcount.errors import HeadcountError
from headcount.evaluation.significance import compare
from headcount.evaluation.summary import lowest

BEST = "best"
NOTE = "Bold is the best; † 0.001 < p < 0.05 and ‡ p >= 0.05 against it, no mark: p <= 0.001."
_FEWEST = 3  # methods that a correlation of ranks needs

Marks = dict[tuple[int, str], str]


def marks_of(errors: pl.DataFrame, test: str) -> dict[str, str]:
    """Mark of each method against the best, by paired errors; none if they are too few."""
    errors = errors.drop_nulls()
    if errors.height < 2 or errors.width < 2:
        return {}
    compared = compare(errors, test=test)
    marks = dict(zip(compared.methods, compared.marks, strict=True))
    return {name: mark for name, mark in marks.items() if mark} | {compared.best: BEST}


def best_marks(table: pl.DataFrame, columns: Sequence[str], axis: int) -> Marks:
    """Marks for the lowest numbers of every row (axis 1) or column (axis 0)."""
    values = table.select(columns).to_numpy().astype(np.float64)
    places = zip(*np.nonzero(lowest(values, axis=axis)), strict=True)
    return {(int(i), columns[j]): BEST for i, j in places}


def published_file(published: Path | None, name: str) -> Path | None:
    """File of published figures; None if it is not there."""
    path = None if published is None else published / name
    return path if path is not None and path.is_file() else None


def published_errors(published: Path | None, name: str) -> pl.DataFrame | None:
    """Published table of errors, a row per error; None if it is not there."""
    path = published_file(published, name)
    return None if path is None else read_published(path)


def paired_errors(
    results: pl.DataFrame, sample: Sequence[str], methods: Sequence[str], metric: str
) -> pl.DataFrame:
    """One row per sample and one column per method; methods without results are left out."""
    measured = results.filter(pl.col(metric).is_not_null())
    wide = measured.pivot(
        "method", index=list(sample), values=metric, aggregate_function="first"
    )
    return wide.select(*sample, *(method for method in methods if method in wide.columns))


def by_method(
    methods: Sequence[str], columns: Mapping[str, Mapping[str, float | None]]
) -> pl.DataFrame:
    """Table with a row per method, of numbers by method.

    >>> by_method(["CC", "SLD"], {"all": {"SLD": 0.1}}).rows()
    [('CC', None), ('SLD', 0.1)]
    """
    numbers = {name: [of.get(method) for method in methods] for name, of in columns.items()}
    schema = {"method": pl.String} | dict.fromkeys(columns, pl.Float64)
    return pl.DataFrame({"method": methods} | numbers, schema)


def marked_means(
    wide: pl.DataFrame, by: str, methods: Sequence[str], *, test: str = "wilcoxon"
) -> tuple[pl.DataFrame, Marks]:
    """Mean errors by the values of a column, with marks.

    >>> wide = pl.DataFrame({"degree": [0, 0, 1], "CC": [0.1, 0.3, 0.5], "SLD": [0.1, 0.1, 0]})
    >>> table, marks = marked_means(wide, "degree", ["CC", "SLD"])
    >>> table.rows()
    [(0, 0.2, 0.1), (1, 0.5, 0.0)]
    >>> marks[0, "SLD"]
    'best'
    """
    present = [method for method in methods if method in wide.columns]
    means = wide.group_by(by).agg(pl.col(present).mean()).sort(by)
    marks: Marks = {}
    for row, value in enumerate(means[by]):
        errors = wide.filter(pl.col(by) == value).select(present)
        marks |= {(row, name): mark for name, mark in marks_of(errors, test).items()}
    lacking = [
        pl.lit(None, pl.Float64).alias(method) for method in methods if method not in present
    ]
    return means.with_columns(lacking).select(by, *methods), marks


def marked_datasets(
    wide: pl.DataFrame, order: Sequence[str], methods: Sequence[str], *, test: str = "wilcoxon"
) -> tuple[pl.DataFrame, Marks]:
    """Mean errors by dataset, in an order, with marks; see `marked_means`."""
    present = [name for name in order if name in wide["dataset"]]
    wide = wide.with_columns(pl.col("dataset").cast(pl.Enum(present)))
    table, marks = marked_means(wide, "dataset", methods, test=test)
    return table.with_columns(pl.col("dataset").cast(pl.String)), marks


def with_mean(
    table: pl.DataFrame, marks: Marks, wide: pl.DataFrame, methods: Sequence[str], *, test: str
) -> tuple[pl.DataFrame, Marks]:
    """Add the mean over datasets as last row, tested on the samples of all of them."""
    mean = table.select(pl.lit("mean").alias("dataset"), pl.col(methods).mean())
    everywhere = [name for name in methods if table[name].null_count() == 0]
    tested = marks_of(wide.select(everywhere), test)
    foot = {(table.height, name): mark for name, mark in tested.items()}
    return pl.concat([table, mean]), marks | foot


def mean_ranks(table: pl.DataFrame, methods: Sequence[str]) -> pl.DataFrame:
    """Mean rank of each method over the rows of a table, and how often it is first."""
    return (
        table.unpivot(index="dataset", on=methods, variable_name="method", value_name="error")
        .drop_nulls()
        .with_columns(pl.col("error").rank().over("dataset").alias("rank"))
        .group_by("method", maintain_order=True)
        .agg(pl.col("rank").mean(), (pl.col("rank") == 1).sum().alias("first on"))
    )


def rank_correlation(rows: pl.DataFrame, ours: str, published: str) -> float | None:
    """Spearman's correlation of two columns of errors; None if too few rows have both.

    >>> rows = pl.DataFrame({"ours": [0.3, 0.1, 0.05, None], "published": [9, 2, 1, 5]})
    >>> rank_correlation(rows, "ours", "published")
    1.0
    """
    pairs = rows.select(pl.col(ours, published).cast(pl.Float64)).drop_nulls().to_numpy()
    if len(pairs) < _FEWEST or (np.ptp(pairs, axis=0) == 0).any():
        return None  # with equal numbers there are no ranks
    # Beyond these digits numbers differ by how they were summed only.
    return float(stats.spearmanr(pairs.round(9)).statistic)


FLAGGED = 0.25
"""Median relative difference from which on a method is flagged."""

_SUMMARIES = ("mean", "average")


def plain_name(name: str) -> str:
    """A name without case, hyphens and blanks, which papers write differently.

    >>> plain_name("SVM-Q") == plain_name("svm q")
    True
    """
    return re.sub(r"[\W_]", "", name).casefold()


def read_published(path: str | Path) -> pl.DataFrame:
    """Read a published table of errors."""
    try:
        table = pl.read_csv(path, infer_schema_length=None)
        first, *methods = table.columns
        numbers = table.select(pl.col(first).cast(pl.String), pl.col(methods).cast(pl.Float64))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HeadcountError(
            f"The published figures {str(path)!r} cannot be read ({error}): pass a CSV with "
            "one row per dataset and one column of numbers per method."
        ) from None
    return (
        numbers.rename({first: "dataset"})
        .filter(~pl.col("dataset").str.to_lowercase().is_in(_SUMMARIES))
        .unpivot(index="dataset", variable_name="method", value_name="published")
        .drop_nulls()
    )


@dataclass(frozen=True, eq=False)
class PublishedAgreement:
    """Agreement of the errors of a study with published ones."""

    pairs: pl.DataFrame
    methods: pl.DataFrame
    of_means: float
    of_ranks: float

    @classmethod
    def of_pairs(cls, pairs: pl.DataFrame) -> PublishedAgreement | None:
        """Agreement of some pairs; None if there are none."""
        if pairs.is_empty():
            return None
        methods = _by_method(pairs)
        columns = (("ours", "published"), ("rank", "published_rank"))
        correlations = [rank_correlation(methods, *pair) for pair in columns]
        return cls(pairs, methods, *(float("nan") if c is None else c for c in correlations))


def agreement(ours: pl.DataFrame, published: pl.DataFrame) -> PublishedAgreement | None:
    """Compare mean errors with published ones.

    >>> methods = ["MS", "PCC", "CC"]
    >>> ours = pl.DataFrame({"dataset": "wine", "method": methods, "ours": [0.1, 0.3, 0.6]})
    >>> theirs = pl.DataFrame(
    ...     {"dataset": "wine", "method": methods, "published": [0.1, 0.4, 0.5]})
    >>> found = agreement(ours, theirs)
    >>> found.of_means, found.methods["difference"].round(2).to_list()
    (1.0, [0.0, -0.25, 0.2])
    """
    names = [
        pl.col(name).map_elements(plain_name, return_dtype=pl.String).alias(f"plain {name}")
        for name in ("dataset", "method")
    ]
    pairs = (
        ours.drop_nulls("ours")
        .with_columns(names)
        .join(
            published.select(*names, "published"),
            on=["plain dataset", "plain method"],
            maintain_order="left",
        )
        .select("dataset", "method", "ours", "published")
    )
    return PublishedAgreement.of_pairs(pairs)


def _by_method(pairs: pl.DataFrame) -> pl.DataFrame:
    relative = pl.col("ours") / pl.col("published") - 1
    return (
        pairs.with_columns(
            relative.alias("difference"),
            pl.col("ours").rank().over("dataset").alias("rank"),
            pl.col("published").rank().over("dataset").alias("published_rank"),
        )
        .group_by("method", maintain_order=True)
        .agg(
            pl.len().alias("datasets"),
            pl.col("ours", "published", "rank", "published_rank").mean(),
            # A published 0.000 has no relative difference from anything.
            pl.col("difference").filter(pl.col("published") > 0).median(),
            (pl.col("difference").abs() <= FLAGGED)
            .filter(pl.col("published") > 0)
            .mean()
            .alias("near"),
        )
        .with_columns((pl.col("difference").abs() > FLAGGED).alias("flagged"))
    )
