"""Kinds of columns in a table, inferred from their types and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Column", "Kind", "infer_column", "parse_texts"]

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
# Formats of dates. The last ones are used only if the dates of training fit no other.
_CLEAR_FORMS = (
    "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z", "%Y/%m/%d", "%d.%m.%Y",
)  # fmt: skip
_FORMS = (*_CLEAR_FORMS, "%d/%m/%Y", "%m/%d/%Y")
_TRUTHS = {"true": True, "false": False}
_NAME_OF_ID = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|index|row|key)$)|[a-z]I[Dd]$")
# A column is prose if its values have this many words on average and are mostly different.
_WORDS_OF_PROSE = 3
_FEWEST_TEXTS = 20


@dataclass(frozen=True)
class Column:
    """A column of the training table.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : Kind
        Kind of the column.
    treatment : str
        Description of the features that are made from it.
    n_missing, n_values : int
        Numbers of missing values and of all values in training.
    form : str
        Format of the dates, if they are texts.
    """

    name: str
    kind: Kind
    treatment: str
    n_missing: int
    n_values: int
    form: str = ""

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

    def conform(self, values: pl.Series, table: str, first_row: int = 0) -> pl.Series:
        """Convert values of another table to this kind, or raise an error."""
        import polars as pl

        given = _without_marks(values)
        try:
            made = self._cast(given)
        except pl.exceptions.PolarsError:
            made = given.clear(len(given)).cast(pl.Null)
        wrong = given.is_not_null() & made.is_null()
        self._refuse_first(
            wrong,
            values,
            table,
            first_row,
            f"the column had {_PLURALS[self.kind]} in training",
        )
        if self.kind == "number":
            self._refuse_first(
                made.is_infinite().fill_null(False),
                values,
                table,
                first_row,
                "numbers must be finite",
            )
        return made

    def _cast(self, values: pl.Series) -> pl.Series:
        import polars as pl

        if self.kind == "date":
            return _as_dates(values, (self.form, *_CLEAR_FORMS) if self.form else _CLEAR_FORMS)
        if self.kind == "number":
            return _as_numbers(values)
        if self.kind == "flag":
            return _as_flags(values)
        return values.cast(pl.String, strict=False)

    def _refuse_first(
        self, wrong: pl.Series, values: pl.Series, table: str, first_row: int, what: str
    ) -> None:
        if not wrong.any():
            return
        place = int(wrong.arg_max() or 0)
        raise HeadcountError(
            f"{table!r} has {_short(values[place])} in column {self.name!r} (row "
            f"{first_row + place + 1:,}), but {what}: correct that cell or leave it empty."
        )


def infer_column(values: pl.Series, why_not: str | None = None) -> Column:
    """Infer the kind of a column.

    Parameters
    ----------
    values : polars.Series
        Column of the training table.
    why_not : str, default=None
        Reason to leave the column out, if there is one.

    Returns
    -------
    Column

    Examples
    --------
    >>> import polars as pl
    >>> from headcount.data.column_kinds import infer_column
    >>> infer_column(pl.Series("price", ["1.5", "", "3"])).kind
    'number'
    >>> print(infer_column(pl.Series("user_id", [17, 12, 90])))
    user_id: not used; all values are different, as in identifiers
    """
    known = parse_texts(values)
    counts = known.null_count(), len(known)
    if why_not:
        return Column(values.name, "dropped", why_not, *counts)
    kind, why = _kind(known)
    form = _form(_without_marks(values)) if kind == "date" else ""
    return Column(values.name, kind, why or _DONE[kind], *counts, form)


def parse_texts(values: pl.Series) -> pl.Series:
    """Convert texts that are all numbers, dates or booleans; return others unchanged."""
    import polars as pl

    values = _without_marks(values)
    if values.dtype != pl.String or values.null_count() == len(values):
        return values
    for dtype in (pl.Int64, pl.Float64):
        made = values.cast(dtype, strict=False)
        if made.null_count() == values.null_count():
            return made.fill_nan(None) if dtype == pl.Float64 else made
    made = _as_flags(values)
    if made.null_count() == values.null_count():
        return made
    form = _form(values)
    return _read_dates(values, form) if form else values


def _kind(values: pl.Series) -> tuple[Kind, str]:
    import polars as pl

    dtype, there = values.dtype, values.drop_nulls()
    if not len(there):
        return "dropped", "has no values"
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return "dropped", f"has values of type {dtype}"
    n_unique = there.n_unique()
    if n_unique == 1 and not values.null_count():
        return "dropped", "has a single value"
    if dtype.is_numeric():
        if dtype.is_integer() and n_unique == len(there) and _numbers_rows(values):
            return "dropped", "all values are different, as in identifiers"
        return "number", ""
    if dtype == pl.Boolean:
        return "flag", ""
    if dtype in (pl.Date, pl.Datetime):
        return "date", ""
    if dtype.is_temporal():
        return "dropped", f"has values of type {dtype}"
    return _kind_of_texts(there.cast(pl.String), n_unique)


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


def _without_marks(values: pl.Series) -> pl.Series:
    """Replace texts that stand for missing values by nulls."""
    import polars as pl

    if values.dtype.is_float():
        return values.fill_nan(None)
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        return values
    stripped = values.str.strip_chars()
    marks = stripped.is_in(_MISSING)
    return stripped.set(marks, None) if marks.any() else stripped


def _as_numbers(values: pl.Series) -> pl.Series:
    import polars as pl

    if values.dtype.is_temporal():
        return values.clear(len(values)).cast(pl.Float64)
    return values.cast(pl.Float64, strict=False).fill_nan(None)


def _as_flags(values: pl.Series) -> pl.Series:
    import polars as pl

    if values.dtype == pl.String:
        return values.str.to_lowercase().replace_strict(
            _TRUTHS, default=None, return_dtype=pl.Boolean
        )
    if values.dtype.is_numeric():
        return values.replace_strict({0: False, 1: True}, default=None, return_dtype=pl.Boolean)
    return values.cast(pl.Boolean, strict=False)


def _as_dates(values: pl.Series, forms: Sequence[str]) -> pl.Series:
    """Convert dates to times. Texts are read in the first format that fits all of them."""
    import polars as pl

    if values.dtype.is_numeric() or values.dtype == pl.Boolean:
        return values.clear(len(values)).cast(_time())
    if values.dtype != pl.String:
        if getattr(values.dtype, "time_zone", None):
            values = values.dt.replace_time_zone(None)
        return values.cast(_time(), strict=False)
    made = [_read_dates(values, form) for form in forms[:1]]
    for form in forms[1:]:
        if made[-1].null_count() == values.null_count():
            return made[-1]
        made.append(_read_dates(values, form))
    # No format fits. The best one shows which values are wrong.
    return min(made, key=lambda each: each.null_count())


def _read_dates(texts: pl.Series, form: str) -> pl.Series:
    made = texts.str.to_datetime(form, strict=False, time_unit="us")
    return made.dt.replace_time_zone(None)


def _form(texts: pl.Series) -> str:
    """Format of all the dates; empty if no format fits."""
    import polars as pl

    if texts.dtype != pl.String:
        return ""
    fits = (form for form in _FORMS if _fits(texts, form))
    return next(fits, "")


def _fits(texts: pl.Series, form: str) -> bool:
    # A few values are enough to exclude most formats.
    head = texts.drop_nulls().head(20)
    return all(
        _read_dates(part, form).null_count() == part.null_count() for part in (head, texts)
    )


def _time() -> Any:
    import polars as pl

    return pl.Datetime("us")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
