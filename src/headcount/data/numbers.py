"""Numbers as people write them: decimal commas, thousands separators, currencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["find_number_form", "read_numbers"]

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
    """Sign of decimals in a column of numbers that are written as texts.

    Parameters
    ----------
    texts : polars.Series
        Texts.
    default : {".", ","}, default="."
        Result where no value shows which one it is.

    Returns
    -------
    {".", ","}

    Examples
    --------
    >>> import polars as pl
    >>> find_number_form(pl.Series(["29,85", "1.234"])), find_number_form(pl.Series(["1,234"]))
    (',', '.')
    """
    plain = _plain(texts.drop_nulls())
    counts = {sign: int(plain.str.contains(proof).sum()) for sign, proof in _PROOFS.items()}
    if counts["."] == counts[","]:
        return default
    return max(counts, key=counts.__getitem__)


def read_numbers(values: pl.Series, form: str = "") -> pl.Series:
    """Convert a column to numbers, values that are none to nulls.

    Parameters
    ----------
    values : polars.Series
        A column, or a part of it.
    form : {"", ".", ","}, default=""
        Sign of decimals in texts; empty reads plain numbers only.

    Returns
    -------
    polars.Series

    Examples
    --------
    >>> import polars as pl
    >>> read_numbers(pl.Series(["$29.85", "1,234", "(3)", "old"]), ".").to_list()
    [29.85, 1234.0, -3.0, None]
    """
    import polars as pl

    if values.dtype.is_temporal():
        return values.clear(len(values)).cast(pl.Float64)
    made = values.cast(pl.Float64, strict=False).fill_nan(None)
    if not form or values.dtype != pl.String:
        return made
    if form == "." and made.null_count() == values.null_count():
        return made
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
    one = texts.set(texts.str.contains(_APART).fill_null(False), None)
    stripped = one.str.replace_all(_DECORATION, "")
    return stripped.str.replace(r"^\((.*)\)$", "-$1").str.replace("\u2212", "-")
