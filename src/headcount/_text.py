"""Tables as plain text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["text_table"]


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    n_texts: int = 1,
    ruled: bool = False,
) -> list[str]:
    """Lines of a table with texts aligned left and numbers aligned right.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        Cells, row by row.
    n_texts : int, default=1
        Number of columns, from the first one, that hold texts.
    ruled : bool, default=False
        Draw a line between the header and the rows.

    Examples
    --------
    >>> text_table(["class", "share"], [["spam", "9%"]])
    ['class  share', 'spam      9%']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = [["-" * width for width in widths]] if ruled else []
    return [
        "  ".join(
            cell.ljust(width) if i < n_texts else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [header, *rule, *rows]
    ]
