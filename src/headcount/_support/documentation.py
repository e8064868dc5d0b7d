"""Docstrings that are completed: what several classes or functions share is described once."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from inspect import Parameter, cleandoc, signature
from itertools import chain
from typing import Any, TypeVar, dataclass_transform

_Subject = TypeVar("_Subject", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)
_HEADING = re.compile(r"\n\n(\w+(?: \w+)*)\n-{3,}\n")
_FIRST = ("Parameters", "Attributes", "Returns")


def documented(*sources: Any) -> Callable[[_Subject], _Subject]:
    r"""Complete the docstring of a function or class by those of sources, in numpydoc form.

    A parameter that the docstring does not describe gets the description of the first source
    that has one, with the default that it has here. Parameters are in the order of the
    signature; ``**options`` stand for the keywords of the sources, unless described.
    Attributes, and results of the same type, are copied if there are none.
    """

    def complete(subject: _Subject) -> _Subject:
        text, completed = _divided(subject)
        alike = [source for source in sources if _result(source) == _result(subject)]
        for name, places in {"Attributes": sources, "Returns": alike}.items():
            texts = (_divided(source)[1].get(name, "") for source in places)
            completed = {name: next(filter(None, texts), ""), **completed}
        completed["Parameters"] = "\n".join(_parameters(subject, sources))
        order = sorted(completed, key=[*_FIRST, *completed].index)
        written = [(name, completed[name]) for name in order if completed[name]]
        subject.__doc__ = text + "".join(
            f"\n\n{name}\n{'-' * len(name)}\n{section}" for name, section in written
        )
        return subject

    return complete


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parametrised(cls: _Class) -> _Class:
    """Make an estimator of a class: fields are parameters, which it or its bases describe."""
    with_fields: Any = dataclass(eq=False, repr=False, kw_only=True)(cls)
    return documented(*cls.__mro__[1:-1])(with_fields)


def with_example(cls: _Class, template: str) -> _Class:
    """Add an example to the docstring of an estimator that has none, with its name."""
    if "\nExamples\n" not in (cls.__doc__ or ""):
        seed = "random_state=0" if "random_state" in signature(cls).parameters else ""
        home = cls.__module__
        home = "headcount" if home.startswith("headcount.") else home
        more = seed and f", {seed}"
        text = template.format(home=home, name=cls.__name__, seed=seed, more=more)
        cls.__doc__ = f"{cls.__doc__}\n\nExamples\n--------\n{text}"
    return cls


def _divided(subject: Any) -> tuple[str, dict[str, str]]:
    """Docstring of a function or class: its text, and its sections by name."""
    return _divided_text(subject.__doc__ or "")


@cache
def _divided_text(docstring: str) -> tuple[str, dict[str, str]]:
    text, *sections = _HEADING.split(cleandoc(docstring))
    return text, dict(zip(sections[::2], sections[1::2], strict=True))


def _result(subject: Any) -> Any:
    """Type of the result of a function; that of a class is the same for all."""
    return None if isinstance(subject, type) else subject.__annotations__.get("return")


def _entries(subject: Any) -> dict[str, str]:
    """Descriptions of parameters by name; some have one together."""
    section = _divided(subject)[1].get("Parameters", "")
    return {
        name: entry.rstrip()
        for entry in re.split(r"\n(?=\S)", section)
        for name in re.split(r" : |\n", entry)[0].replace("*", "").split(", ")
    }


def _parameters(subject: Any, sources: tuple[Any, ...]) -> Iterator[str]:
    """Description of each parameter of the signature that has one."""
    described, shared = _entries(subject), ChainMap(*map(_entries, sources))
    written = {""}
    for name, parameter in signature(subject).parameters.items():
        entry = described.get(name) or shared.get(name, "")
        if not entry and parameter.kind is Parameter.VAR_KEYWORD:
            yield from (shared[keyword] for keyword in _keywords(sources) if keyword in shared)
        elif entry not in written:
            written.add(entry)
            yield entry if name in described else _with_default(entry, parameter.default)


def _keywords(sources: tuple[Any, ...]) -> dict[str, None]:
    """Names of the parameters of functions that are passed by keyword alone."""
    parameters = (signature(source).parameters.values() for source in sources)
    keyword_only = (p.name for p in chain(*parameters) if p.kind is Parameter.KEYWORD_ONLY)
    return dict.fromkeys(keyword_only)


def _with_default(entry: str, default: Any) -> str:
    text = f'"{default}"' if isinstance(default, str) else repr(default)
    return re.sub("default=.*", lambda _: f"default={text}", entry, count=1)
