"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headcount._files import input_files

__all__ = [
    "BY",
    "DATE",
    "DATES",
    "JSON",
    "LEVEL",
    "OUTPUT",
    "REPORT",
    "SEED",
    "SEPARATOR",
    "STRICT",
    "check_inputs",
    "plain_separator",
]

BY = Annotated[
    str | None,
    typer.Option("--by", help="Also by group: a column, or year, quarter, month, week or day."),
]
DATE = Annotated[
    str | None,
    typer.Option("--date", help="Column of the dates, for --by month and other periods."),
]
DATES = Annotated[
    str | None,
    typer.Option(
        "--dates",
        help="Order in dates such as 03/04/2024: day-first or month-first; found by default.",
    ),
]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
LEVEL = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
OUTPUT = Annotated[
    Path | None,
    typer.Option(
        "--output", help="Write the table as .csv, .tsv, .parquet, .feather or .jsonl."
    ),
]
REPORT = Annotated[
    Path | None, typer.Option("--report", help="Write a page to show to others, as HTML.")
]
SEED = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
SEPARATOR = Annotated[
    str | None,
    typer.Option("--separator", help="Separator of columns in CSV files; found by default."),
]
STRICT = Annotated[
    bool,
    typer.Option("--strict", help="Exit with code 3 if a result is not to be relied on."),
]


def plain_separator(given: str | None) -> str | None:
    r"""Separator as a character: a tab may be written as ``\t``."""
    return None if given is None else given.replace("\\t", "\t")


def check_inputs(*sources: Sequence[str] | None) -> None:
    """Raise an error if an input file is not there, before anything heavy is imported."""
    for source in (each for given in sources for each in given or ()):
        input_files(source, ("",))
