"""Steps for single tables before the common recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ads", "cappl", "complete", "fifa", "flare", "mush"]

_FIFA_DROPPED = (
    "Unnamed: 0",
    "ID",
    "Name",
    "Photo",
    "Flag",
    "Loaned From",
    "Club",
    "Club Logo",
    "Real Face",
    "Nationality",
    "Release Clause",
    "Value",
    "Jersey Number",
)
_FIFA_SEASON = 2018
_CM_A_FOOT, _CM_AN_INCH = 30.48, 2.54


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove rows with missing values, also in columns that are dropped later."""
    return frame.drop_nulls()


def ads(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert sizes of pictures to numbers, and remove rows with a question mark."""
    import polars as pl

    sizes = ["height", "width", "aratio", "local"]
    return frame.with_columns(pl.col(sizes).cast(pl.Float64, strict=False))


def cappl(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert columns with two letters to 0 and 1."""
    import polars as pl

    letters = {"A1": "a", "A9": "t", "A10": "t", "A12": "t"}
    return frame.with_columns((pl.col(c) == v).cast(pl.Int8) for c, v in letters.items())


def fifa(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert wages, heights, weights, dates and ratings such as 88+2 to numbers."""
    import polars as pl

    frame = frame.drop(_FIFA_DROPPED)
    ratings = [
        column
        for column, kind in frame.schema.items()
        if kind == pl.String and frame[column].str.contains(r"^\d+\+\d+$").any()
    ]
    year = r"(\d{4})$"
    return frame.with_columns(
        *(_rating(column) for column in ratings),
        _number("Wage"),
        _number("Weight"),
        _number("Height") * _CM_A_FOOT
        + pl.col("Height").str.extract(r"'(\d+)$").cast(pl.Float64) * _CM_AN_INCH,
        (_FIFA_SEASON - pl.col("Joined").str.extract(year).cast(pl.Float64)).alias("Joined"),
        pl.col("Contract Valid Until").str.extract(year).cast(pl.Float64) - _FIFA_SEASON,
    )


def _number(column: str) -> pl.Expr:
    import polars as pl

    return pl.col(column).str.extract(r"(\d+(?:\.\d+)?)").cast(pl.Float64)


def _rating(column: str) -> pl.Expr:
    import polars as pl

    base = pl.col(column).str.extract(r"^(\d+)\+").cast(pl.Float64)
    return (base + pl.col(column).str.extract(r"\+(\d+)$").cast(pl.Float64)).alias(column)


def flare(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace 2 by 0 in two columns of ones and twos."""
    import polars as pl

    pair = pl.col("att7", "att8")
    return frame.with_columns(pl.when(pair > 1).then(0).otherwise(pair).name.keep())


def mush(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert the number of rings to a number."""
    import polars as pl

    rings = pl.col("ring-number").replace_strict({"n": 0, "o": 1, "t": 2})
    return frame.with_columns(rings.cast(pl.Int8))
