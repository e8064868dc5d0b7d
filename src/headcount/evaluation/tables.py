"""Tables of mean errors, the best marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headcount._text import Cell, Table

__all__ = ["DIGITS", "error_table", "lowest"]

Floats: TypeAlias = NDArray[np.float64]

DIGITS = 4
_TIE = 1e-12


def lowest(values: Floats, axis: int) -> NDArray[np.bool_]:
    """Mask of the lowest numbers along an axis, which missing ones never are."""
    known = np.where(np.isnan(values), np.inf, values)
    return np.isfinite(known) & (known <= known.min(axis=axis, keepdims=True) + _TIE)


def error_table(
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Floats,
    best: NDArray[np.bool_],
    *,
    spread: Floats | None = None,
    marks: Sequence[Sequence[str]] | None = None,
    title: str = "",
    digits: int = DIGITS,
) -> Table:
    """Table of numbers with names of rows and columns.

    Parameters
    ----------
    corner : str
        Heading of the names of the rows.
    rows, columns : sequence of str
        Their names.
    values : ndarray of shape (R, C)
        The numbers; missing ones are NaN.
    best : ndarray of bool of shape (R, C)
        Numbers to emphasise.
    spread : ndarray of shape (R, C), default=None
        Printed after each number and a plus-minus sign.
    marks : sequence of R sequences of C strings, default=None
        Printed after the numbers, such as a dagger.
    title : str, default=""
        Description of the numbers.
    digits : int, default=4
        Decimals of the numbers.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.evaluation.tables import error_table, lowest
    >>> errors = np.array([[0.01, 0.2], [0.03, 0.1]])
    >>> best = lowest(errors, axis=0)
    >>> print(error_table("method", ["SLD", "CC"], ["ae", "rae"], errors, best).to_text())
    method       ae      rae
    ------  -------  -------
    SLD     0.0100*  0.2000
    CC      0.0300   0.1000*
    """
    body = [
        [
            Cell(name),
            *(
                Cell(
                    _number(values[i, j], digits),
                    bool(best[i, j]),
                    "" if marks is None else marks[i][j],
                    "" if spread is None else _number(spread[i, j], digits),
                )
                for j in range(len(columns))
            ),
        ]
        for i, name in enumerate(rows)
    ]
    numeric = [False, *[True] * len(columns)]
    return Table([corner, *columns], body, numeric, title=title)


def _number(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"
