"""The methods, found by looking."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from headcount._text import text_table
from headcount.errors import HeadcountError
from headcount.quantify.base import Quantifier

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MethodTable", "find_methods", "method", "methods", "quantifiers"]

_PACKAGE = "headcount.quantify"
_Method = TypeVar("_Method")
_COLUMNS = (
    "method",
    "title",
    "family",
    "input",
    "multiclass",
    "shift",
    "reference",
    "aliases",
)


def find_methods(package: str, base: type[_Method]) -> dict[str, type[_Method]]:
    """The methods of a package: classes with an ``info`` of their own.

    Parameters
    ----------
    package : str
        Where to look, in all its modules.
    base : type
        What all of them are.

    Returns
    -------
    dict of str to type
        Sorted by name, capitals and small letters alike.
    """
    path = importlib.import_module(package).__path__
    found = {
        name: value
        for module in pkgutil.walk_packages(path, f"{package}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if inspect.isclass(value) and issubclass(value, base) and "info" in vars(value)
    }
    return dict(sorted(found.items(), key=lambda entry: entry[0].lower()))


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
    return find_methods(_PACKAGE, Quantifier)


def method(name: str) -> type[Quantifier]:
    """The quantifier of a name, as this library or a paper writes it.

    Capitals, spaces, hyphens, underscores and brackets make no difference.

    Parameters
    ----------
    name : str
        A name, or one of ``info.aliases``.

    Returns
    -------
    type
        The class, to be called with parameters.

    Examples
    --------
    >>> import headcount as hc
    >>> hc.method("SVM-Q").__name__, hc.method("emq").__name__, hc.method("kdey_ml").__name__
    ('SVMQ', 'SLD', 'KDEyML')
    """
    if not isinstance(name, str):
        raise HeadcountError(f"name is {name!r}; it must be a string, such as 'SLD'.")
    named = quantifiers()
    aliased = {each: found for found in named.values() for each in found.info.aliases}
    known = {_plain(written): written for written in (*aliased, *named)}
    written = known.get(_plain(name))
    if written is None:
        close = [known[each] for each in get_close_matches(_plain(name), known, cutoff=0.65)]
        advice = f"did you mean {' or '.join(close)}? " if close else ""
        raise HeadcountError(
            f"name is {name!r}, which is no method: {advice}hc.methods() lists them all."
        )
    return (aliased | named)[written]


def _plain(name: str) -> str:
    """A name without what papers write in several ways."""
    return re.sub(r"[\W_]", "", name).lower()


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
    columns: tuple[str, ...] = _COLUMNS

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self.rows)

    def __contains__(self, name: object) -> bool:
        return any(row[0] == name for row in self.rows)

    def __repr__(self) -> str:
        return "\n".join(
            text_table(self.columns, self.rows, n_texts=len(self.columns), ruled=True)
        )

    def to_frame(self) -> pl.DataFrame:
        """The table as a Polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.rows), schema=list(self.columns), orient="row")


def methods() -> MethodTable:
    """All methods: family, input, classes, assumed shift, reference and other names.

    Returns
    -------
    MethodTable
        Prints as a table; ``.to_frame()`` gives a Polars frame.

    Examples
    --------
    >>> import headcount as hc
    >>> hc.methods().to_frame().columns
    ['method', 'title', 'family', 'input', 'multiclass', 'shift', 'reference', 'aliases']
    """
    rows = []
    for name, quantifier in quantifiers().items():
        info = quantifier.info
        facts = [str(getattr(info, column)) for column in _COLUMNS[1:-1]]
        rows.append((name, *facts, ", ".join(info.aliases)))
    return MethodTable(tuple(rows))
