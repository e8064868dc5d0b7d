"""Published tables of errors, and the agreement of a study with them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FLAGGED", "Agreement", "agreement", "plain_name", "read_published"]

FLAGGED = 0.25
"""Median relative difference from which on a method is flagged."""

_SUMMARIES = ("mean", "average")


def plain_name(name: str) -> str:
    """A name without case, hyphens and blanks, which papers write differently.

    Examples
    --------
    >>> plain_name("SVM-Q") == plain_name("svm q")
    True
    """
    return re.sub(r"[\W_]", "", name).casefold()


def read_published(path: str | Path) -> pl.DataFrame:
    """Read a published table of errors.

    Parameters
    ----------
    path : str or Path
        CSV with one row per dataset and one column per method; the first column has the
        names of the datasets. Rows of means and empty cells are left out.

    Returns
    -------
    polars.DataFrame
        Columns dataset, method and published; one row per dataset and method.
    """
    import polars as pl

    try:
        table = pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HeadcountError(
            f"The published figures {str(path)!r} cannot be read ({error}): pass a CSV with "
            "one row per dataset and one column per method."
        ) from None
    first, *methods = table.columns
    try:
        numbers = table.select(pl.col(first).cast(pl.String), pl.col(methods).cast(pl.Float64))
    except pl.exceptions.PolarsError:
        raise HeadcountError(
            f"The published figures {str(path)!r} have something else than numbers after the "
            "names of the datasets: leave it out."
        ) from None
    return (
        numbers.rename({first: "dataset"})
        .filter(~pl.col("dataset").str.to_lowercase().is_in(_SUMMARIES))
        .unpivot(index="dataset", variable_name="method", value_name="published")
        .drop_nulls()
    )


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of the errors of a study with published ones.

    Attributes
    ----------
    pairs : polars.DataFrame
        Columns dataset, method, ours and published: the errors in common, by our names.
    methods : polars.DataFrame
        One row per method, in our order: method, datasets, ours, published (means over the
        same datasets), rank, published_rank (mean ranks among the methods in common),
        difference (the median over the datasets of ``ours / published - 1``), near (share of
        the datasets where it is at most `FLAGGED`), flagged.
    of_means, of_ranks : float
        Spearman's correlation, over the methods, of mean errors and of mean ranks; NaN with
        fewer than three methods.
    """

    pairs: pl.DataFrame
    methods: pl.DataFrame
    of_means: float
    of_ranks: float

    @classmethod
    def of_pairs(cls, pairs: pl.DataFrame) -> Agreement | None:
        """Agreement of some pairs; None if there are none."""
        if pairs.is_empty():
            return None
        methods = _by_method(pairs)
        return cls(
            pairs,
            methods,
            _spearman(methods, "ours", "published"),
            _spearman(methods, "rank", "published_rank"),
        )


def agreement(ours: pl.DataFrame, published: pl.DataFrame) -> Agreement | None:
    """Compare mean errors with published ones.

    Parameters
    ----------
    ours : polars.DataFrame
        Columns dataset, method and ours.
    published : polars.DataFrame
        Table that `read_published` returned.

    Returns
    -------
    Agreement or None
        None without a dataset and method in common.

    Examples
    --------
    >>> import polars as pl
    >>> from headcount_studies.published_tables import agreement
    >>> methods = ["MS", "PCC", "CC"]
    >>> ours = pl.DataFrame({"dataset": "wine", "method": methods, "ours": [0.1, 0.3, 0.6]})
    >>> theirs = pl.DataFrame(
    ...     {"dataset": "wine", "method": methods, "published": [0.1, 0.4, 0.5]})
    >>> found = agreement(ours, theirs)
    >>> found.of_means, found.methods["difference"].round(2).to_list()
    (1.0, [0.0, -0.25, 0.2])
    """
    import polars as pl

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
    return Agreement.of_pairs(pairs)


def _by_method(pairs: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

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


def _spearman(methods: pl.DataFrame, a: str, b: str) -> float:
    import polars as pl

    if len(methods) < 3:
        return float("nan")
    # Beyond these digits numbers differ by how they were summed only.
    ranks = methods.select(pl.col(a, b).round(9).rank())
    return float(ranks.select(pl.corr(a, b)).item())
