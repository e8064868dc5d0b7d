"""Columns of tables: their dates, numbers and kinds, and the features made of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin

from headcount._support.arrays import Floats, Ints
from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError

ORDERS = ("day-first", "month-first")
"""Orders of day and month in dates such as 03/04/2024."""

_TIMES = (
    "", " %H:%M", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p", " %H.%M",
    " %H.%M.%S",
)  # fmt: skip
# Formats with one meaning.
_CLEAR = (
    "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z", *(f"%Y/%m/%d{time}" for time in _TIMES),
    *(f"%d.%m.%Y{time}" for time in _TIMES), "%d.%m.%y",
    "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y",
    "%d %b %Y %H:%M", "%d %b %Y %H:%M:%S", "%b %Y", "%B %Y", "%Y-%m", "%Y/%m", "%m/%Y",
    "%m.%Y", "%m-%Y", "%G-W%V", "%GW%V", "%Y%m%d", *(f"%Y-%m-%d{time}" for time in _TIMES[3:]),
    "%a, %d %b %Y %H:%M:%S%#z", "%d %b %Y %H:%M:%S%#z", "%a %b %d %H:%M:%S%#z %Y",
)  # fmt: skip
# Months with a year of two or four digits, and quarters.
_MONTHS = (
    "%b %Y", "%B %Y", "%b-%y", "%b-%Y", "%b %y", "%B-%y", "%B-%Y", "%B %y",
)  # fmt: skip
# Numbers, and those of them that may be dates or count seconds: 3.2024, 202403, 20240304 ...
_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_DATE_AS_NUMBER = r"^(0?[1-9]|1[0-2])\.[1-9]\d{3}$|^\d{6,8}$|^\d{10}(\d{3})?(\.\d+)?$"
_NAMED_MONTH = r"^\s*\p{L}{3,9}[- ]'?(\d{2}|\d{4})\s*$"
_QUARTER, _IN_QUARTERS = r"^(\d{4})[-\s]?[Qq]([1-4])$", "quarters"
_QUARTER_FIRST = r"^[Qq]([1-4])[-/\s]?(\d{4})$"
# Offsets to UTC and names of it, before a year or at the end.
_OFFSET, _WITH_OFFSET = r"\s?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)( \d{4})?$", "%#z"
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
_DAYLESS = {
    "%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%m-%Y", "%b %Y", "%B %Y", "%Y%m", *_MONTHS,
}  # fmt: skip
_WEEKS = {"%G-W%V", "%GW%V"}


@dataclass(frozen=True)
class DateForm:
    """Format of the dates of a column."""

    form: str = ""
    order: str = ""

    @property
    def period(self) -> str:
        """Shortest period of time that the dates tell apart."""
        coarse = {_IN_QUARTERS: "quarter"} | dict.fromkeys(_WEEKS, "week")
        return coarse.get(self.form, "month" if self.form in _DAYLESS else "day")


def check_order(dates: str | None) -> str | None:
    """Check the order of day and month that a caller names."""
    return None if dates is None else check_choice("`date_order`", dates, ORDERS)


def allowed_bad(n_values: int) -> int:
    """Number of values of a column that may be unreadable: one of ten, then two per cent."""
    return 0 if n_values < 10 else max(1, n_values // 50)


def find_date_form(
    values: pl.Series, *, order: str | None = None, expected: bool = False
) -> DateForm | None:
    """Find the format of the dates of a column."""
    if values.dtype in (pl.Date, pl.Datetime):
        return DateForm()
    present = values.drop_nulls()
    if not len(present):
        return None
    if values.dtype.is_numeric():
        return _form_of_numbers(present, expected)
    if values.dtype != pl.String:
        return None
    return _form_of_texts(present, order, expected)


def _form_of_texts(texts: pl.Series, order: str | None, expected: bool) -> DateForm | None:
    head = texts.head(20)
    quarters = f"{_QUARTER}|{_QUARTER_FIRST}"
    for pattern, forms in ((_NAMED_MONTH, _MONTHS), (quarters, (_IN_QUARTERS,))):
        if head.str.contains(pattern).all():
            form = _fitting(texts, forms)
            return None if form is None else DateForm(form)
    # Most columns are excluded at once: dates have four digits and are seldom plain numbers.
    few_digits = head.str.count_matches(r"\d") < 4
    number = head.str.contains(_NUMBER) & ~head.str.contains(_DATE_AS_NUMBER)
    if 2 * int((few_digits | number).sum()) > len(head):
        return None
    form = _fitting(texts, _CLEAR)
    if form is not None and (form != "%Y%m%d" or _are_years(texts)):
        return DateForm(form)
    if texts.str.contains(r"^(\d{6}|\d{10}(\d{3})?(\.\d+)?)$").all():
        return _form_of_numbers(texts.cast(pl.Float64), expected)
    return _ordered_form(texts, order)


def read_dates(values: pl.Series, form: str) -> pl.Series:
    """Convert dates of a format to times, others to nulls."""
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
    if form == _IN_QUARTERS:
        texts = texts.str.replace(_QUARTER_FIRST, "$2-Q$1")
        year, quarter = (texts.str.extract(_QUARTER, place) for place in (1, 2))
        first_month = (3 * quarter.cast(pl.Int64) - 2).cast(pl.String)
        texts, form = year + "-" + first_month, "%Y-%m"
    if form in _DAYLESS:
        texts, form = texts.str.strip_chars().str.replace("'", "") + " 1", f"{form} %d"
    if form in _WEEKS:
        # Its Thursday is in the year that the week belongs to.
        texts, form = texts + " 4", f"{form} %u"
    if _WITH_OFFSET in form:
        # The time on the clock of the place: the day that people there call it.
        texts = texts.str.replace(_OFFSET, "$1")
        form = form.replace(_WITH_OFFSET, "")
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


def _form_of_numbers(numbers: pl.Series, expected: bool) -> DateForm | None:
    if numbers.dtype.is_float() and not (numbers == numbers.round(0)).all():
        return None
    if _are_years(numbers) and read_dates(numbers, "%Y%m%d").null_count() == 0:
        return DateForm("%Y%m%d")
    if not (expected or _NAME_OF_TIME.search(numbers.name)):
        return None
    if _are_years(numbers, 100) and read_dates(numbers, "%Y%m").null_count() == 0:
        return DateForm("%Y%m")
    for form in _EPOCHS:
        years = read_dates(numbers, form).dt.year()
        if _all_between(years, _FIRST_YEAR, _LAST_YEAR):
            return DateForm(form)
    return None


def _are_years(values: pl.Series, divisor: int = 10_000) -> bool:
    """True for whole numbers that start with a plausible year, divided by the rest."""
    numbers = values.cast(pl.Int64, strict=False) // divisor
    return _all_between(numbers, 1900, _LAST_YEAR)


def _all_between(numbers: pl.Series, low: int, high: int) -> bool:
    least: Any = numbers.min()
    most: Any = numbers.max()
    return least is not None and bool(least >= low and most <= high)


_DECORATION = r"(?i)[\s'$€£¥₹%]|usd|eur|gbp|chf|\bkr\b"
# Digits apart that are no group of three: not one number.
_APART = r"\d[\s']+(\d{1,2}(\D|$)|\d{4})"
# Whole numbers in groups of three digits, such as 1,234 and 1.234.567.
_GROUPED = {".": r"^[-+]?\d{1,3}(,\d{3})+(\.\d*)?$", ",": r"^[-+]?\d{1,3}(\.\d{3})+(,\d*)?$"}
_PROOFS = {
    # A comma that does not separate thousands, or points that do.
    ",": r"^[-+]?\d*,(\d{1,2}|\d{4,})$|^[-+]?\d{4,},\d+$|^[-+]?\d{1,3}(\.\d{3})+,\d*$"
    r"|^[-+]?\d{1,3}(\.\d{3}){2,}$",
    ".": r"^[-+]?\d*\.(\d{1,2}|\d{4,})$|^[-+]?\d{4,}\.\d+$|^[-+]?\d{1,3}(,\d{3})+\.\d*$"
    r"|^[-+]?\d{1,3}(,\d{3}){2,}$",
}


def find_number_form(texts: pl.Series, default: str = ".") -> str:
    """Sign of decimals in a column of numbers that are written as texts, such as "29,85"."""
    plain = _plain(texts.drop_nulls())
    counts = {sign: int(plain.str.contains(proof).sum()) for sign, proof in _PROOFS.items()}
    if counts["."] == counts[","]:
        return default
    return max(counts, key=counts.__getitem__)


def read_numbers(values: pl.Series, form: str = "") -> pl.Series:
    """Convert a column to numbers, values that are none to nulls."""
    if values.dtype.is_temporal():
        return values.clear(len(values)).cast(pl.Float64)
    numbers = values.cast(pl.Float64, strict=False).fill_nan(None)
    if not form or values.dtype != pl.String:
        return numbers
    if form == "." and numbers.null_count() == values.null_count():
        return numbers
    plain = _plain(values)
    thousands = "," if form == "." else "."
    written = plain.set(
        plain.str.contains(thousands, literal=True) & ~plain.str.contains(_GROUPED[form]), None
    )
    numbers = written.str.replace_all(thousands, "", literal=True)
    if form == ",":
        numbers = numbers.str.replace_all(",", ".", literal=True)
    return numbers.cast(pl.Float64, strict=False).fill_nan(None)


def _plain(texts: pl.Series) -> pl.Series:
    """Texts without signs of currencies, per cent and others that numbers are written with."""
    if texts.str.contains(r"^[-+\d.,]*$").all():
        return texts
    one = texts.set(texts.str.contains(_APART).fill_null(False), None)
    stripped = one.str.replace_all(_DECORATION, "")
    return stripped.str.replace(r"^\((.*)\)$", "-$1").str.replace("\u2212", "-")


Kind = Literal["number", "flag", "date", "category", "text", "dropped"]

_DONE = {
    "number": "median for missing values, with a flag, standardised",
    "flag": "most frequent for missing values, standardised",
    "date": "days, year, month, weekday and hour, standardised; dates after training count as "
    "its last day",
    "category": "one feature per value, one for rare and unknown values",
    "text": "words weighted by tf-idf",
}
_WORDS = {
    "number": "number", "flag": "yes or no", "date": "date", "category": "category",
    "text": "text", "dropped": "not used",
}  # fmt: skip
_PLURALS = {
    "number": "numbers", "flag": "true and false only", "date": "dates", "category": "texts",
    "text": "texts",
}  # fmt: skip
# Texts that stand for a missing value.
_MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "#N/A", "-", "?")
_TRUTHS = {"true": True, "false": False}
_NAME_OF_ID = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|index|row|key)$)|[a-z]I[Dd]$")
# A column is prose if its values have this many words on average and are mostly different.
_WORDS_OF_PROSE = 3
_FEWEST_TEXTS = 20
# Categories that are kept to find new ones.
_MOST_KNOWN = 10_000


@dataclass(frozen=True)
class Column:
    """A column of the training table."""

    name: str  # name of the column
    kind: Kind  # kind of the column
    treatment: str  # description of the features that are made from it
    n_missing: int  # number of missing values in training
    n_values: int  # number of all values in training
    form: str = ""  # format of dates, or sign of decimals of numbers, that are written as texts
    known: tuple[str, ...] = ()
    order: str = ""  # order of day and month of the dates, where it matters
    note: str = ""  # sentence for the reader; empty if there is none

    @property
    def is_used(self) -> bool:
        """True if features are made from the column."""
        return self.kind != "dropped"

    def describe(self) -> str:
        """Describe the kind and the treatment of the column in words."""
        missing = f" ({self.n_missing:,} of {self.n_values:,} missing)"
        return f"{_WORDS[self.kind]}; {self.treatment}{missing if self.n_missing else ''}"

    def __str__(self) -> str:
        return f"{self.name}: {self.describe()}"

    def read(self, values: pl.Series) -> tuple[pl.Series, pl.Series]:
        """Convert values of any table to this kind."""
        if self.kind == "number" and self.form != ",":
            is_text = values.dtype == pl.String
            numbers = values.cast(pl.Float64, strict=False) if is_text else values
            is_read = numbers.null_count() == values.null_count()
            # A sum is finite only if all numbers are.
            if is_read and numbers.dtype == pl.Float64 and isfinite(numbers.sum()):
                return numbers, pl.Series([False]).new_from_index(0, len(values))
        texts = without_marks(values)
        try:
            converted = self._cast(texts)
        except pl.exceptions.PolarsError:
            converted = texts.clear(len(texts)).cast(pl.Null)
        if self.kind == "number" and converted.dtype.is_float():
            converted = converted.set(converted.is_infinite().fill_null(False), None)
        return converted, texts.is_not_null() & converted.is_null()

    def conform(self, values: pl.Series, table: str, first_row: int = 0) -> pl.Series:
        """Convert values of another table to this kind, or raise an error."""
        converted, wrong = self.read(values)
        if wrong.any():
            place = int(wrong.arg_max() or 0)
            raise HeadcountError(
                f"{table!r} has {short(values[place])} in column {self.name!r} (row "
                f"{first_row + place + 1:,}), but the column had {_PLURALS[self.kind]} in "
                "training: correct that cell or leave it empty."
            )
        return converted

    def n_unseen(self, converted: pl.Series) -> int:
        """Number of values of a category that were never seen in training."""
        if not self.known:
            return 0
        return int((converted.is_not_null() & ~converted.is_in(self.known)).sum())

    def of_table(self, values: pl.Series, dates: str | None = None) -> Column:
        """Column with the format that the values of another table have."""
        if self.kind == "number" and values.dtype == pl.String:
            return replace(self, form=find_number_form(values, self.form or "."))
        if self.kind != "date" or (values.dtype != pl.String and not values.dtype.is_numeric()):
            return self
        texts = without_marks(values)
        date_form = find_date_form(texts, order=dates, expected=True)
        if date_form is None:
            return self
        if date_form.order == "undecided":
            # Then the order is that of training.
            order = self.order if self.order in ORDERS else None
            date_form = find_date_form(texts, order=order, expected=True) or date_form
        return replace(self, form=date_form.form, order=date_form.order)

    def _cast(self, values: pl.Series) -> pl.Series:
        if self.kind == "date":
            return read_dates(values, self.form)
        if self.kind == "number":
            return read_numbers(values, self.form)
        if self.kind == "flag":
            return _as_flags(values)
        return values.cast(pl.String, strict=False)


def infer_column(
    values: pl.Series, why_not: str | None = None, *, dates: str | None = None
) -> Column:
    """Infer the kind of a column."""
    texts = without_marks(values)
    counts = texts.null_count(), len(texts)
    if why_not:
        return Column(values.name, "dropped", why_not, *counts)
    parsed, form, order, note = _known_values(texts, dates)
    if order == "undecided":
        why = "its dates may have the day first or the month first: `dates` can name the order"
        left_out = f"{values.name} is left out: {why}."
        return Column(values.name, "dropped", why, *counts, form, (), order, left_out)
    kind, why = _kind(parsed)
    categories: tuple[str, ...] = ()
    if kind == "category" and parsed.n_unique() <= _MOST_KNOWN:
        categories = tuple(sorted(parsed.drop_nulls().cast(str).unique().to_list()))
    if kind == "dropped":
        note = ""
    treatment = why or _DONE[kind]
    if kind == "date" and order:
        treatment += f"; read {order}"
    return Column(values.name, kind, treatment, *counts, form, categories, order, note)


def _known_values(texts: pl.Series, dates: str | None) -> tuple[pl.Series, str, str, str]:
    """Values as numbers, dates or booleans where they are; format, order and note."""
    name = texts.name
    if texts.dtype.is_integer() or texts.dtype == pl.String:
        date_form = None
        if texts.dtype != pl.String or plain_number(texts) is None or _may_be_dates(texts):
            date_form = find_date_form(texts, order=dates)
        if date_form is not None:
            times = read_dates(texts, date_form.form)
            note = _unreadable_note(name, texts, times, "dates")
            if date_form.order in ORDERS and dates is None:
                note += f" The dates of {name} were read {date_form.order}."
            return times, date_form.form, date_form.order, note.strip()
    parsed = _parsed(texts)
    if parsed.dtype != pl.String or parsed.null_count() == len(parsed):
        return parsed, "", "", ""
    form = find_number_form(parsed)
    numbers = read_numbers(parsed, form)
    n_bad, n_values = numbers.null_count() - parsed.null_count(), len(parsed.drop_nulls())
    if n_bad > allowed_bad(n_values):
        return parsed, "", "", ""
    note = _unreadable_note(name, parsed, numbers, "numbers")
    plain = read_numbers(parsed)
    odd = parsed.filter(plain.is_null() & numbers.is_not_null())
    if len(odd):
        value: Any = read_numbers(odd.head(1), form)[0]
        note += f" {name}: {short(odd[0])} was read as {value:g}."
    return numbers, form, "", note.strip()


def _may_be_dates(texts: pl.Series) -> bool:
    """True for texts of 8, 10 or 13 digits."""
    return bool(texts.drop_nulls().head(20).str.contains(r"^\d{8}$|^\d{10}$|^\d{13}$").all())


def _unreadable_note(name: str, texts: pl.Series, converted: pl.Series, what: str) -> str:
    wrong = texts.is_not_null() & converted.is_null()
    if not wrong.any():
        return ""
    one = short(texts.filter(wrong)[0])
    return (
        f"{int(wrong.sum()):,} of {len(texts):,} values of {name} are not {what}, such as "
        f"{one}, and count as missing."
    )


def plain_number(texts: pl.Series) -> pl.Series | None:
    """Texts as numbers; None if some are none."""
    for dtype in (pl.Int64, pl.Float64):
        numbers = texts.cast(dtype, strict=False)
        if numbers.null_count() == texts.null_count():
            return numbers.fill_nan(None) if dtype == pl.Float64 else numbers
    return None


def parse_texts(values: pl.Series) -> pl.Series:
    """Convert texts that are all numbers or booleans; return others without marks."""
    return _parsed(without_marks(values))


def _parsed(values: pl.Series) -> pl.Series:
    if values.dtype != pl.String or values.null_count() == len(values):
        return values
    numbers = plain_number(values)
    if numbers is not None:
        return numbers
    flags = _as_flags(values)
    return flags if flags.null_count() == values.null_count() else values


def _kind(values: pl.Series) -> tuple[Kind, str]:
    dtype, present = values.dtype, values.drop_nulls()
    if not len(present):
        return "dropped", "has no values"
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return "dropped", f"has values of type {dtype}"
    n_unique = present.n_unique()
    if n_unique == 1 and not values.null_count():
        return "dropped", "has a single value"
    if dtype.is_numeric():
        if dtype.is_integer() and n_unique == len(present) and _numbers_rows(values):
            return "dropped", "all values are different, as in identifiers"
        return "number", ""
    if dtype == pl.Boolean:
        return "flag", ""
    if dtype in (pl.Date, pl.Datetime):
        return "date", ""
    if dtype.is_temporal():
        return "dropped", f"has values of type {dtype}"
    return _kind_of_texts(present.cast(pl.String), n_unique)


def _numbers_rows(values: pl.Series) -> bool:
    """Return True for whole numbers that are identifiers, by name or by counting up."""
    if len(values) < 3 or values.null_count():
        return False
    return bool(_NAME_OF_ID.search(values.name)) or bool(
        (values.diff().drop_nulls() == 1).all()
    )


def _kind_of_texts(texts: pl.Series, n_unique: int) -> tuple[Kind, str]:
    different = n_unique == len(texts) and len(texts) > 2
    words: Any = texts.str.count_matches(r"\S+").mean()
    prose = words >= _WORDS_OF_PROSE
    if prose and (different or (n_unique > _FEWEST_TEXTS and n_unique > 0.2 * len(texts))):
        return "text", ""
    if different:
        return "dropped", "all values are different, as in identifiers"
    return "category", ""


def without_marks(values: pl.Series, missing: Collection[str] = _MISSING) -> pl.Series:
    """Replace NaN, and texts that stand for missing values, by nulls."""
    if values.dtype.is_float():
        return values.fill_nan(None)
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        return values
    stripped = values.str.strip_chars()
    marks = stripped.is_in(missing)
    return stripped.set(marks, None) if marks.any() else stripped


def _as_flags(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        return values.str.to_lowercase().replace_strict(
            _TRUTHS, default=None, return_dtype=pl.Boolean
        )
    if values.dtype.is_numeric():
        return values.replace_strict({0: False, 1: True}, default=None, return_dtype=pl.Boolean)
    return values.cast(pl.Boolean, strict=False)


def short(value: Any) -> str:
    """Value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


_TIME = nw.Datetime("us")
_DAY = 86_400_000_000  # in microseconds


class _Stateless(TransformerMixin, BaseEstimator):
    """Transformer of frames without a fitted state."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing."""
        self.n_features_in_ = X.shape[1]
        return self


class Flags(_Stateless):
    """Booleans as 1 and 0, missing values as NaN."""

    def transform(self, X: Any) -> Floats:
        """Turn a frame into a table of numbers."""
        columns = nw.from_native(X, eager_only=True).iter_columns()
        return np.column_stack(
            [np.asarray(column.cast(nw.Float64).to_numpy(), np.float64) for column in columns]
        )


class Categories(TransformerMixin, BaseEstimator):
    """Positions of categories among those of training, missing included; -1 for others."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the categories."""
        self.n_features_in_ = X.shape[1]
        columns = nw.from_native(X, eager_only=True).iter_columns()
        categories = (sorted(set(_texts(column))) for column in columns)
        self.positions_ = [{text: i for i, text in enumerate(texts)} for texts in categories]
        return self

    def transform(self, X: Any) -> Ints:
        """Turn a frame into a table of numbers."""
        columns = nw.from_native(X, eager_only=True).iter_columns()
        return np.column_stack(
            [
                np.array([positions.get(text, -1) for text in _texts(column)], np.int64)
                for column, positions in zip(columns, self.positions_, strict=True)
            ]
        )


class Texts(_Stateless):
    """Texts of one column, missing values as empty texts."""

    def transform(self, X: Any) -> list[str]:
        """Turn a frame with one column into a list of texts."""
        column = next(iter(nw.from_native(X, eager_only=True).iter_columns()))
        return _texts(column)


class DateParts(TransformerMixin, BaseEstimator):
    """Days since 1970 and year, within those of training, month, weekday and hour of dates."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the range of the dates."""
        self.n_features_in_ = X.shape[1]
        dates = _parts(X)[..., :2]
        present = ~np.isnan(dates)
        self.earliest_ = np.where(present, dates, np.inf).min(axis=0)
        self.latest_ = np.where(present, dates, -np.inf).max(axis=0)
        return self

    def transform(self, X: Any) -> Floats:
        """Turn a frame of dates into a table of numbers, five per column."""
        dates = _parts(X)
        dates[..., :2] = np.clip(dates[..., :2], self.earliest_, self.latest_)
        return dates.reshape(len(dates), -1)


def _texts(column: nw.Series[Any]) -> list[str]:
    # Only NaN differs from itself.
    return ["" if text is None or text != text else str(text) for text in column.to_list()]


def _parts(X: Any) -> Floats:
    """Array of rows, columns and parts, with NaN where a date is missing."""
    tables = []
    for column in nw.from_native(X, eager_only=True).iter_columns():
        zoned = getattr(column.dtype, "time_zone", None) is not None
        dates = (column.dt.replace_time_zone(None) if zoned else column).cast(_TIME).dt
        date_parts = (
            dates.timestamp("us").cast(nw.Float64) / _DAY,
            dates.year(),
            dates.month(),
            dates.weekday(),
            dates.hour(),
        )
        tables.append(np.column_stack([_floats(date_part) for date_part in date_parts]))
    return np.stack(tables, axis=1)


def _floats(column: nw.Series[Any]) -> Floats:
    return np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)
