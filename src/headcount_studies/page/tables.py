"""Tables of a study, with the decimals that their numbers need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._text import Cell, Table

if TYPE_CHECKING:
    import polars as pl

    from headcount_studies.engine.sections import Section

__all__ = ["study_table"]

# Rows that summarise the others stay below them, however those are sorted.
_MEAN, _RANK = "mean", "mean rank"
_BEST = "best"


def study_table(section: Section) -> Table:
    """Table of a section, its numbers with as many decimals as they need.

    Parameters
    ----------
    section : Section
        A section with a table.

    Returns
    -------
    Table

    Examples
    --------
    >>> import polars as pl
    >>> from headcount_studies import Section
    >>> errors = pl.DataFrame({"method": ["MS", "CC"], "error": [0.04, 0.31]})
    >>> section = Section("Errors", table=errors, marks={(0, "error"): "best"})
    >>> print(study_table(section).to_markdown())
    | method | error |
    | --- | ---: |
    | MS | **0.040** |
    | CC | 0.310 |
    """
    frame = section.table
    assert frame is not None
    n_body = len(frame) - _foot_length(frame)
    marks = section.marks or {}
    foot = [str(name) for name in frame.to_series(0)[n_body:]] if frame.width else []
    columns = [_column(column, foot, marks) for column in frame]
    rows = tuple(zip(*columns, strict=True))
    numeric = tuple(dtype.is_numeric() for dtype in frame.dtypes)
    return Table(frame.columns, rows[:n_body], numeric, rows[n_body:])


def _foot_length(frame: pl.DataFrame) -> int:
    names = [str(name) for name in frame.to_series(0)][::-1] if frame.width else []
    return next((i for i, name in enumerate(names) if name not in (_MEAN, _RANK)), 0)


def _column(
    column: pl.Series, foot: Sequence[str], marks: Mapping[tuple[int, str], str]
) -> list[Cell]:
    body = column[: len(column) - len(foot)]
    usual, of_ranks = _writer(body), _writer(column, decimals=2)
    writers = [usual] * len(body) + [of_ranks if each == _RANK else usual for each in foot]
    cells = []
    for i, (value, write) in enumerate(zip(column, writers, strict=True)):
        mark = marks.get((i, column.name), "")
        best = mark == _BEST
        cells.append(Cell(write(value), best, "" if best else mark))
    return cells


def _writer(column: pl.Series, decimals: int | None = None) -> Callable[[Any], str]:
    if column.dtype.is_float():
        if decimals is None:
            decimals = _decimals(column.drop_nulls().to_numpy())
        return lambda x: "" if x is None or not np.isfinite(x) else f"{x:.{decimals}f}"
    if column.dtype.is_integer():
        return lambda x: "" if x is None else f"{x:,}"
    return _words


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    return str(value)


def _decimals(values: NDArray[np.float64]) -> int:
    """Three, or what shows three digits of the largest number."""
    known = np.abs(values[np.isfinite(values)])
    largest = known.max(initial=0.0)
    return 1 if largest >= 100 else 2 if largest >= 10 else 3 if largest >= 0.1 else 4
