"""Dates in columns: their format, found from the whole column, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount._parameters import check_choice

if TYPE_CHECKING:
    import polars as pl

ORDERS = ("day-first", "month-first")
"""Orders of day and month in dates such as 03/04/2024."""

_TIMES = ("", " %H:%M", " %H:%M:%S%.f")
# Formats with one meaning.
_CLEAR = (
    "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z", *(f"%Y/%m/%d{time}" for time in _TIMES),
    *(f"%d.%m.%Y{time}" for time in _TIMES), "%d.%m.%y",
    "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y",
    "%d %b %Y %H:%M", "%d %b %Y %H:%M:%S", "%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%Y%m%d",
)  # fmt: skip
# Formats in which day and month can be mistaken for each other, by order.
_ORDERED = {
    order: [
        *(f"{first}{s}{second}{s}{y}{t}" for s in "/-" for y in ("%Y", "%y") for t in _TIMES),
        f"{first} {second}, %Y",
    ]
    for order, first, second in zip(ORDERS, ("%d", "%m"), ("%m", "%d"), strict=True)
}
# Numbers of units since 1970, and their size in microseconds.
_EPOCHS = {"seconds since 1970": 1_000_000, "milliseconds since 1970": 1_000}
_FIRST_YEAR, _LAST_YEAR = 1990, 2100
_NAME_OF_TIME = re.compile(r"(?i)date|time|stamp|epoch|day|created|updated|(^|[_\W])(ts|at)$")
# Formats without a day, which chrono needs.
_DAYLESS = {"%Y-%m", "%Y/%m", "%b %Y", "%B %Y"}


@dataclass(frozen=True)
class DateForm:
    """Format of the dates of a column."""

    form: str = ""
    order: str = ""


def check_order(dates: str | None) -> str | None:
    """Check the order of day and month that a caller names."""
    return None if dates is None else check_choice("`date_order`", dates, ORDERS)


def allowed_bad(n_values: int) -> int:
    """Number of values of a column that may be unreadable: one of ten, then two per cent.

    Examples
    --------
    >>> allowed_bad(9), allowed_bad(20), allowed_bad(1000)
    (0, 1, 20)
    """
    return 0 if n_values < 10 else max(1, n_values // 50)


def find_date_form(
    values: pl.Series, *, order: str | None = None, wanted: bool = False
) -> DateForm | None:
    """Find the format of the dates of a column.

    Examples
    --------
    >>> import polars as pl
    >>> find_date_form(pl.Series(["03/04/2024", "25/04/2024"]))
    DateForm(form='%d/%m/%Y', order='day-first')
    >>> find_date_form(pl.Series(["03/04/2024", "05/04/2024"])).order
    'undecided'
    >>> find_date_form(pl.Series("created_at", [1717500000, 1717590000])).form
    'seconds since 1970'
    """
    import polars as pl

    if values.dtype in (pl.Date, pl.Datetime):
        return DateForm()
    present = values.drop_nulls()
    if not len(present):
        return None
    if values.dtype.is_numeric():
        return _form_of_numbers(present, wanted)
    if values.dtype != pl.String:
        return None
    # Most columns of texts are excluded at once: dates have at least four digits.
    head = present.head(20)
    if 2 * int((head.str.count_matches(r"\d") < 4).sum()) > len(head):
        return None
    form = _fitting(present, _CLEAR)
    if form == "%Y%m%d" and not _are_years(present):
        form = None
    if form is not None:
        return DateForm(form)
    digits = present.str.contains(r"^\d{10}(\d{3})?(\.\d+)?$")
    if digits.all():
        return _form_of_numbers(present.cast(pl.Float64), wanted)
    return _ordered_form(present, order)


def read_dates(values: pl.Series, form: str) -> pl.Series:
    """Convert dates of a format to times, others to nulls."""
    import polars as pl

    time = pl.Datetime("us")
    if values.dtype in (pl.Date, pl.Datetime):
        if getattr(values.dtype, "time_zone", None):
            values = values.dt.replace_time_zone(None)
        return values.cast(time, strict=False)
    if values.dtype == pl.Boolean or not form:
        return values.clear(len(values)).cast(time)
    if form in _EPOCHS:
        numbers = values.cast(pl.Float64, strict=False) * _EPOCHS[form]
        return numbers.cast(pl.Int64, strict=False).cast(time)
    if values.dtype.is_numeric():
        values = values.cast(pl.Int64, strict=False)
    texts = values.cast(pl.String)
    if form in _DAYLESS:
        texts, form = texts + " 1", f"{form} %d"
    times = texts.str.to_datetime(form, strict=False, time_unit="us").dt.replace_time_zone(None)
    # A year of one or two digits is part of another format.
    clear = pl.when(pl.col(times.name).dt.year() >= 1000).then(pl.col(times.name))
    return times.to_frame().select(clear.alias(times.name)).to_series()


def _fitting(texts: pl.Series, forms: Iterable[str]) -> str | None:
    """First format that fits all values but a few."""
    bad = allowed_bad(len(texts))
    head = texts.head(20)
    for form in forms:
        # A few values are enough to exclude most formats.
        if read_dates(head, form).null_count() > min(bad, len(head) // 2):
            continue
        if read_dates(texts, form).null_count() <= bad:
            return form
    return None


def _ordered_form(texts: pl.Series, order: str | None) -> DateForm | None:
    if order is not None:
        form = _fitting(texts, _ORDERED[order])
        return None if form is None else DateForm(form, order)
    pairs = zip(_ORDERED["day-first"], _ORDERED["month-first"], strict=True)
    for by_order in pairs:
        form = _fitting(texts, by_order)
        if form is None:
            continue
        read = [read_dates(texts, form) for form in by_order]
        if read[0].equals(read[1]):
            return DateForm(by_order[0])
        # Values that only one of the orders can read decide.
        proofs = [
            swapped.null_count() - times.null_count() for times, swapped in (read, read[::-1])
        ]
        if proofs[0] == 0:
            return DateForm(by_order[0], "undecided")
        k = 0 if proofs[0] > 0 else 1
        return DateForm(by_order[k], ORDERS[k])
    return None


def _form_of_numbers(numbers: pl.Series, wanted: bool) -> DateForm | None:
    if numbers.dtype.is_float() and not (numbers == numbers.round(0)).all():
        return None
    if _are_years(numbers) and read_dates(numbers, "%Y%m%d").null_count() == 0:
        return DateForm("%Y%m%d")
    if not (wanted or _NAME_OF_TIME.search(numbers.name)):
        return None
    for form in _EPOCHS:
        years = read_dates(numbers, form).dt.year()
        if _all_between(years, _FIRST_YEAR, _LAST_YEAR):
            return DateForm(form)
    return None


def _are_years(values: pl.Series) -> bool:
    """True for whole numbers of eight digits that start with a plausible year."""
    import polars as pl

    numbers = values.cast(pl.Int64, strict=False) // 10_000
    return _all_between(numbers, 1900, _LAST_YEAR)


def _all_between(numbers: pl.Series, low: int, high: int) -> bool:
    least: Any = numbers.min()
    most: Any = numbers.max()
    return least is not None and bool(least >= low and most <= high)
