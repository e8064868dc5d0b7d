"""Names of groups, as one column of texts, numbers or dates."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import number_distinct
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

Integers = NDArray[np.int64]

# Slots of the first table of hashes, and how many times larger the next one is.
_SLOTS, _GROWTH = 1 << 12, 16


class Numbered(NamedTuple):
    """Groups of rows: the different names as they come, and the number of each row's name."""

    names: pl.Series
    codes: NDArray[np.int64]

    def renamed(self, names: pl.Series) -> Numbered:
        """The same rows with other names, some of which may be equal now."""
        again = number_groups(names, len(names))
        if len(again.names) == len(names):  # numbered as they come, so the numbers are the same
            return Numbered(again.names, self.codes)
        return Numbered(again.names, again.codes[self.codes])


def number_groups(groups: Any, n_rows: int) -> Numbered:
    """Number the groups of rows.

    Examples
    --------
    >>> number_groups(["b", "a", "b"], 3).codes
    array([0, 1, 0])
    """
    import polars as pl

    if groups is None:
        return Numbered(pl.Series([None], dtype=pl.Null), np.zeros(n_rows, np.int64))
    if isinstance(groups, Numbered):
        return groups
    values = _as_column(groups)
    if len(values) != n_rows:
        raise HeadcountError(
            f"groups has {len(values):,} values, but there are {n_rows:,} items: pass one per "
            "item."
        )
    # Two hashes of 64 bits, so that no two names have the same pair. Chunks need no copy.
    columns = pl.DataFrame({"name": values}).select(
        pl.col("name").hash(seed).alias(str(seed)) for seed in (0, 1)
    )
    words, others = ([part.to_numpy() for part in each.get_chunks()] for each in columns)
    hashes = list(zip(words, others, strict=True))
    codes, size, n_distinct = np.empty(n_rows, np.int64), _SLOTS, -1
    while n_distinct < 0:
        n_distinct, first = _number_in(size, hashes, codes)
        size *= _GROWTH
    return Numbered(values.gather(first[:n_distinct]), codes)


def _number_in(
    size: int, hashes: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]], codes: Integers
) -> tuple[int, Integers]:
    """Number rows by their hashes, in a table of some size.

    Returns the number of different ones, -1 if the table is too small, and the first row of
    each.
    """
    slots, first = np.full(size, -1, np.int64), np.empty(size // 2, np.int64)
    known = np.empty((size // 2, 2), np.uint64)
    start = n_distinct = 0
    for words, others in hashes:
        n_distinct = number_distinct(
            words, others, start, n_distinct, slots, known, first, codes
        )
        if n_distinct < 0:
            break
        start += len(words)
    return n_distinct, first


def _as_column(groups: Any) -> pl.Series:
    """Groups as a column of one of the kinds of names."""
    import polars as pl

    try:
        if isinstance(groups, pl.Series):
            values = groups
        elif hasattr(groups, "__arrow_c_stream__") or hasattr(groups, "__arrow_c_array__"):
            values = pl.Series(groups)
        else:
            given = np.asarray(groups)
            if given.dtype.kind == "M":
                days = np.datetime_data(given.dtype)[0] in ("Y", "M", "W", "D")
                given = given.astype("datetime64[D]" if days else "datetime64[us]")
            values = pl.Series(given.tolist() if given.dtype == object else given)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        values = pl.Series([[]])
    kind = values.dtype
    if kind in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    elif kind.is_float():
        # Zero is added, as 0 and -0 are one name.
        values = pl.Series(values.cast(pl.Float64).to_numpy() + 0.0).fill_nan(None)
    elif kind.is_integer():
        values = values.cast(pl.Int64)
    elif kind == pl.Datetime:
        values = values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    elif kind not in (pl.String, pl.Boolean, pl.Date, pl.Null):
        raise HeadcountError(
            "groups must be one text, number or date per item: pass a list, an array or a "
            "column of a frame."
        )
    return values


class GroupNames:
    """Different names of groups, in the order in which they came."""

    def __init__(self, names: pl.Series | None = None) -> None:
        import polars as pl

        self._names = pl.Series([], dtype=pl.Null) if names is None else names

    def __len__(self) -> int:
        return len(self._names)

    def find(self, names: pl.Series) -> tuple[GroupNames, NDArray[np.int64]]:
        """Numbers of names here, and these names with those that are new."""
        import polars as pl

        own, given = self._names, names
        kinds = {each.dtype for each in (own, given)} - {pl.Null()}
        if len(kinds) > 1:
            first, second = (_kind(each) for each in (own, given))
            raise HeadcountError(
                f"Names of groups are of the kind {first!r} here and {second!r} there: make "
                "them alike, for instance all texts."
            )
        kind = kinds.pop() if kinds else pl.Null()
        together = pl.concat([own.cast(kind), given.cast(kind)])
        # Names are numbered as they come, so those that are here keep their numbers.
        found = number_groups(together, len(together))
        return GroupNames(found.names), found.codes[len(own) :]

    def order(self) -> NDArray[np.int64]:
        """Numbers of the names in sorted order, a missing one last."""
        return self._names.arg_sort(nulls_last=True).to_numpy().astype(np.int64)

    def take(self, numbers: NDArray[np.int64]) -> GroupNames:
        """Some of the names."""
        return GroupNames(self._names.gather(numbers))

    @property
    def column(self) -> pl.Series:
        """The names as a column."""
        return self._names

    def to_list(self) -> list[Any]:
        """The names as plain values."""
        return self._names.to_list()

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = self.to_list()
        kind = _kind(self._names)
        if kind in ("date", "time"):
            values = [None if value is None else value.isoformat() for value in values]
        return {"kind": kind, "names": values}

    @classmethod
    def from_json(cls, content: Any) -> GroupNames:
        """Names from what `to_json` made, checked."""
        import polars as pl

        types = {
            "none": (type(None), pl.Null()),
            "text": (str, pl.String()),
            "whole": (int, pl.Int64()),
            "number": (float, pl.Float64()),
            "truth": (bool, pl.Boolean()),
            "date": (str, pl.Date()),
            "time": (str, pl.Datetime("us")),
        }
        try:
            kind, values = content["kind"], list(content["names"])
            plain, dtype = types[kind]
            if kind == "date":
                values = [None if each is None else date.fromisoformat(each) for each in values]
                plain = date
            elif kind == "time":
                values = [
                    None if each is None else datetime.fromisoformat(each) for each in values
                ]
                plain = datetime
            fine = all(each is None or type(each) is plain for each in values)
            if not fine or len(set(values)) < len(values):
                raise ValueError
            return cls(pl.Series(values, dtype=dtype))
        except (KeyError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            raise HeadcountError(
                "The statistics are damaged: their names of groups cannot be read. Make the "
                "file again."
            ) from None


def _kind(names: pl.Series) -> str:
    import polars as pl

    kinds = {
        pl.String(): "text",
        pl.Int64(): "whole",
        pl.Float64(): "number",
        pl.Boolean(): "truth",
        pl.Date(): "date",
    }
    if names.dtype == pl.Null:
        return "none"
    return kinds.get(names.dtype, "time")
