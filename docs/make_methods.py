"""Write the tables of methods in methods.md from the declared facts of the methods.

python docs/make_methods.py
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headcount.quantifiers.registry import one_class_quantifiers, quantifiers

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
    "network",
    "ensemble",
    "meta",
    "one class",
)
HEAD = ("method", "description", "input", "classes", "unbiased under", "other names")
CLASSES = {"native": "any", "one-vs-rest": "two"}
SHIFTS = {"prior": "prior shift", "covariate": "covariate shift", "none": "no shift"}


def rows(family: str) -> Iterable[tuple[str, ...]]:
    """One row per method of a family."""
    for name, method in (quantifiers() | one_class_quantifiers()).items():
        info = method.info
        if info.family == family:
            one = info.labels != "all classes"
            yield (
                f"`{name}`",
                f"{info.title}. *{info.reference}*",
                info.input,
                "one" if one else CLASSES[info.multiclass],
                SHIFTS[info.shift],
                ", ".join(info.aliases),
            )


def tables() -> str:
    """Heading and table in Markdown for each family."""
    others = {method.info.family for method in quantifiers().values()} - set(FAMILIES)
    parts = []
    for family in (*FAMILIES, *sorted(others)):
        lines = [HEAD, ("---",) * len(HEAD), *rows(family)]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        parts.append(f"### {family.capitalize()}\n\n{table}")
    return "\n\n".join(parts)


def renewed(page: str) -> str:
    """Page with new tables between its marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
