"""Discovery of the methods."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from headcount._support.frames import pl
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError, warn
from headcount.parts.fitted import MethodInfo
from headcount.quantifiers.base import Quantifier
from headcount.quantifiers.one_class import OneClassQuantifier

ENTRY_POINTS = "headcount.methods"
"""Group of entry points by which other packages add methods."""


_Method = TypeVar("_Method")
_FACTS = ("title", "family", "input", "multiclass", "shift", "reference", "aliases")


def find_methods(package: str, base: type[_Method]) -> dict[str, type[_Method]]:
    """Methods that a package exports: its classes with an ``info`` of their own."""
    module = importlib.import_module(package)
    exported = {name: getattr(module, name) for name in module.__all__}
    methods = {
        name: value
        for name, value in exported.items()
        if inspect.isclass(value) and issubclass(value, base) and "info" in vars(value)
    }
    return dict(sorted(methods.items(), key=lambda entry: entry[0].lower()))


def quantifiers() -> dict[str, type[Quantifier]]:
    """All quantifiers of the library by name.

    Returns
    -------
    dict of str to type
        Quantifiers by name, sorted without regard to case.

    Examples
    --------
    >>> from headcount.quantifiers import quantifiers
    >>> quantifiers()["SLD"].info.title
    'maximum likelihood from posteriors'
    """
    by_name = find_methods("headcount.quantifiers", Quantifier)
    return {name: method for name, method in by_name.items() if not method.info.needs_groups}


def one_class_quantifiers() -> dict[str, type[OneClassQuantifier]]:
    """Methods that learn from labelled items of a single class, by name.

    Returns
    -------
    dict of str to type
        Methods by name, sorted without regard to case.

    Examples
    --------
    >>> from headcount.quantifiers import one_class_quantifiers
    >>> list(one_class_quantifiers())
    ['PAT', 'TCPU']
    """
    return find_methods("headcount.quantifiers", OneClassQuantifier)


def installed_methods() -> dict[str, type[Quantifier]]:
    """Methods of other packages that are installed: entry points ``headcount.methods``.

    An entry point that cannot be used is left out with a warning.

    Returns
    -------
    dict of str to type
        Quantifiers by the names of their entry points, sorted without regard to case.

    Examples
    --------
    >>> from headcount.quantifiers import installed_methods
    >>> isinstance(installed_methods(), dict)
    True
    """
    names = {_plain(name) for name in _all_names(quantifiers())}
    methods: dict[str, type[Quantifier]] = {}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name.lower()):
        try:
            loaded = _load(entry, names)
        except HeadcountError as error:
            warn(str(error))
            continue
        methods[entry.name] = loaded
        names |= {_plain(name) for name in _all_names({entry.name: loaded})}
    return methods


def _load(entry: EntryPoint, used_names: set[str]) -> type[Quantifier]:
    """Class of an entry point."""
    package = entry.dist.name if entry.dist is not None else entry.value.partition(":")[0]
    where = f"The method {entry.name!r} of the package {package!r} is left out:"
    try:
        loaded = entry.load()
    except Exception as error:  # a package of a stranger may raise anything on import
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise HeadcountError(f"{where} {entry.value} cannot be imported ({reason}).") from error
    if not (inspect.isclass(loaded) and issubclass(loaded, Quantifier)):
        raise HeadcountError(f"{where} {entry.value} is not a subclass of Quantifier.")
    if not isinstance(vars(loaded).get("info"), MethodInfo):
        raise HeadcountError(f"{where} {entry.value} has no info of type MethodInfo.")
    doubled = [name for name in _all_names({entry.name: loaded}) if _plain(name) in used_names]
    if doubled:
        raise HeadcountError(f"{where} another method has the name {doubled[0]!r}.")
    return loaded


def _all_names(methods: Mapping[str, type[Quantifier]]) -> list[str]:
    """Names and aliases."""
    return [label for name, value in methods.items() for label in (name, *value.info.aliases)]


def method(name: str) -> type[Quantifier]:
    """Find a quantifier by its name in this library or in the literature.

    Methods of other packages that are installed are found as well.

    Case, spaces, hyphens, underscores and brackets are ignored.

    Parameters
    ----------
    name : str
        Name of a class, or one of ``info.aliases``.

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
    named = quantifiers() | installed_methods()
    aliased = {
        alias: named_class
        for named_class in named.values()
        for alias in named_class.info.aliases
    }
    spellings = {_plain(written): written for written in (*aliased, *named)}
    written = spellings.get(_plain(name))
    if written is None:
        for quantifier in one_class_quantifiers():
            if _plain(quantifier) == _plain(name):
                raise HeadcountError(
                    f"name is {name!r}, which learns from labelled items of one class and is "
                    f"not made by name: use hc.{quantifier}."
                )
        close = [
            spellings[match]
            for match in get_close_matches(_plain(name), spellings, cutoff=0.65)
        ]
        advice = f"did you mean {' or '.join(close)}? " if close else ""
        raise HeadcountError(
            f"name is {name!r}, which is not a method: {advice}hc.methods() lists them all."
        )
    return (aliased | named)[written]


def _plain(name: str) -> str:
    """Name without the characters that are ignored."""
    return re.sub(r"[\W_]", "", name).lower()


@dataclass(frozen=True)
class MethodTable:
    """Methods and their declared facts; prints as a table.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns; the first one holds the names of the methods.
    rows : tuple of tuple of str
        One row per method.

    Examples
    --------
    >>> import headcount as hc
    >>> table = hc.methods()
    >>> "SLD" in table
    True
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, methods: Mapping[str, Any], facts: Sequence[str]) -> MethodTable:
        """Table of methods with an ``info``.

        Parameters
        ----------
        found : mapping of str to type
            Methods by name.
        facts : sequence of str
            Fields of ``info`` to show.
        """
        rows = [
            (name, *(_text(getattr(value.info, fact)) for fact in facts))
            for name, value in methods.items()
        ]
        return cls(("method", *facts), tuple(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self.rows)

    def __contains__(self, name: object) -> bool:
        return any(row[0] == name for row in self.rows)

    def to_table(self) -> Table:
        """The table to print."""
        return Table.of(self.columns, self.rows, [False] * len(self.columns))

    def __repr__(self) -> str:
        return self.to_table().to_text()

    def _repr_html_(self) -> str:
        return html_result(f"{len(self)} methods", [self.to_table()], ())

    def to_frame(self) -> pl.DataFrame:
        """Table as a Polars frame."""
        return pl.DataFrame(list(self.rows), schema=list(self.columns), orient="row")


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def methods() -> MethodTable:
    """All methods: family, input, classes, assumed shift, reference and other names.

    Methods of other packages that are installed are included.

    Returns
    -------
    MethodTable
        Prints as a table; ``.to_frame()`` returns a Polars frame.

    Examples
    --------
    >>> import headcount as hc
    >>> hc.methods().to_frame().columns
    ['method', 'title', 'family', 'input', 'multiclass', 'shift', 'reference', 'aliases']
    """
    available = quantifiers() | installed_methods()
    ordered = dict(sorted(available.items(), key=lambda entry: entry[0].lower()))
    return MethodTable.of(ordered, _FACTS)
