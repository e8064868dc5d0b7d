"""Write the table of methods in methods.md from the declared facts of the methods.

python docs/make_methods.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headcount.quantify import Quantifier, quantifiers

PAGE = Path(__file__).with_name("methods.md")
BEGIN, END = "<!-- methods: begin -->", "<!-- methods: end -->"

# Order of the families; others come last.
FAMILIES = (
    "baseline",
    "counting",
    "adjusted count",
    "threshold",
    "distribution matching",
    "kernel density",
    "maximum likelihood",
    "ordinal",
    "iterative",
    "learner",
    "ensemble",
    "meta",
)
HEAD = (
    "method",
    "description",
    "family",
    "input",
    "classes",
    "unbiased under",
    "parameters",
    "reference",
    "other names",
)
SHARED = {"classifier", "cv", "random_state"}
CLASSES = {"native": "any", "one-vs-rest": "two"}
SHIFTS = {"prior": "prior shift", "covariate": "covariate shift", "none": "no shift"}


def settings(method: type[Quantifier]) -> str:
    """Parameters of a method that not all methods have, with their defaults."""
    parameters = inspect.signature(method).parameters.values()
    own = [parameter for parameter in parameters if parameter.name not in SHARED]
    return ", ".join(f"`{each.name}={shown(each.default)}`" for each in own)


def shown(value: Any) -> str:
    """Default as it is written in code, with long sequences shortened."""
    if isinstance(value, tuple) and len(value) > 4:
        return f"({value[0]!r}, {value[1]!r}, ..., {value[-1]!r})"
    return repr(value).replace("'", '"')


def rows() -> Iterable[tuple[str, ...]]:
    """One row per method, ordered by family."""
    place = {family: i for i, family in enumerate(FAMILIES)}
    found = quantifiers().items()
    for name, method in sorted(found, key=lambda e: place.get(e[1].info.family, len(place))):
        info = method.info
        yield (
            f"`{name}`",
            info.title,
            info.family,
            info.input,
            CLASSES[info.multiclass],
            SHIFTS[info.shift],
            settings(method),
            info.reference,
            ", ".join(info.aliases),
        )


def table() -> str:
    """Table in Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *rows()]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def renewed(page: str) -> str:
    """Page with a new table between its marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
