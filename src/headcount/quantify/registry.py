"""The methods, found by looking."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headcount.quantify.base import Quantifier

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MethodTable", "methods", "quantifiers"]

_PACKAGE = "headcount.quantify"
_COLUMNS = ("method", "title", "family", "input", "multiclass", "shift", "reference")


def quantifiers() -> dict[str, type[Quantifier]]:
    """Every quantifier of the library by name.

    A method needs no entry anywhere: a public class with an ``info``, in any module of the
    package, is found.

    Returns
    -------
    dict of str to type
        Sorted by name, capitals and small letters alike.

    Examples
    --------
    >>> from headcount.quantify.registry import quantifiers
    >>> quantifiers()["SLD"].info.title
    'maximum likelihood from posteriors'
    """
    found: dict[str, type[Quantifier]] = {}
    package = importlib.import_module(_PACKAGE)
    for module in pkgutil.iter_modules(package.__path__):
        contents = vars(importlib.import_module(f"{_PACKAGE}.{module.name}"))
        for name, value in contents.items():
            if (
                inspect.isclass(value)
                and issubclass(value, Quantifier)
                and "info" in vars(value)
            ):
                found[name] = value
    return dict(sorted(found.items(), key=lambda entry: entry[0].lower()))


@dataclass(frozen=True)
class MethodTable:
    """The methods and what they say of themselves; prints as a table.

    Examples
    --------
    >>> import headcount as hc
    >>> table = hc.methods()
    >>> "SLD" in table
    True
    """

    rows: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self.rows)

    def __contains__(self, name: object) -> bool:
        return any(row[0] == name for row in self.rows)

    def __repr__(self) -> str:
        table = [_COLUMNS, *self.rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(_COLUMNS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in table
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join(line.rstrip() for line in (lines[0], rule, *lines[1:]))

    def to_frame(self) -> pl.DataFrame:
        """The table as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), schema=list(_COLUMNS), orient="row")


def methods() -> MethodTable:
    """All methods, with family, input, classes, assumed shift and reference.

    Returns
    -------
    MethodTable
        Prints as a table; ``.to_frame()`` gives a Polars frame.

    Examples
    --------
    >>> import headcount as hc
    >>> hc.methods().to_frame().columns
    ['method', 'title', 'family', 'input', 'multiclass', 'shift', 'reference']
    """
    rows = []
    for name, quantifier in quantifiers().items():
        facts = [str(getattr(quantifier.info, column)) for column in _COLUMNS[1:]]
        rows.append((name, *facts))
    return MethodTable(tuple(rows))
