"""Exit codes of the command."""

from __future__ import annotations

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headcount._support.files import TABLE_ENDINGS, check_writable, input_files

DONE, FAILED, WRONG, UNRELIABLE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 4, 130
ALERT = UNRELIABLE


# Panels of the help of a command.
LEARNING = "What to learn from"
GROUPS = "Groups and dates"
METHOD = "Method"
RESULTS = "Results"
STATISTICS_ENDING = ".hcs"

BY = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Also by group: a column, or year, quarter, month, week or day.",
        rich_help_panel=GROUPS,
    ),
]
CLUSTER = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Column of clusters, such as authors or conversations.",
        rich_help_panel=GROUPS,
    ),
]
DATE_COLUMN = Annotated[
    str | None,
    typer.Option(
        "--date-column",
        help="Column of the dates, for --by month and other periods.",
        rich_help_panel=GROUPS,
    ),
]
DATE_ORDER = Annotated[
    str | None,
    typer.Option(
        "--date-order",
        help="Order in dates such as 03/04/2024: day-first or month-first; found by default.",
        rich_help_panel=GROUPS,
    ),
]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=RESULTS)]
LEVEL = Annotated[
    float, typer.Option("--level", help="Level of the intervals.", rich_help_panel=METHOD)
]
MODEL = Annotated[
    Path, typer.Option("--model", help="File that headcount estimate --save wrote.")
]
OUTPUT = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="Write the table as .csv, .tsv, .parquet, .feather or .jsonl.",
        rich_help_panel=RESULTS,
    ),
]
REPORT = Annotated[
    Path | None,
    typer.Option("--report", help="Write a shareable page, as HTML.", rich_help_panel=RESULTS),
]
SEED = Annotated[
    int, typer.Option("--seed", min=0, help="Random seed.", rich_help_panel=METHOD)
]
SEPARATOR = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Separator of columns in CSV files; found by default.",
        rich_help_panel=GROUPS,
    ),
]
STRICT = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit with code 3 if a result is not to be relied on.",
        rich_help_panel=RESULTS,
    ),
]
WEIGHT = Annotated[
    str | None,
    typer.Option(
        "--weight", help="Column of survey weights of the items.", rich_help_panel=GROUPS
    ),
]


def plain_separator(text: str | None) -> str | None:
    r"""Separator as a character: a tab may be written as ``\t``."""
    return None if text is None else text.replace("\\t", "\t")


def check_inputs(*sources: Sequence[str] | None) -> None:
    """Raise an error if an input file is not there, before anything heavy is imported."""
    for source in (path for paths in sources for path in paths or ()):
        input_files(source, ("",))


def check_outputs(
    output: Path | None, report: Path | None = None, save: Path | None = None
) -> None:
    """Raise an error if a file cannot be written, before anything heavy is imported."""
    for path, option, endings in (
        (output, "--output", TABLE_ENDINGS),
        (report, "--report", (".html", ".htm")),
        (save, "--save", (".skops",)),
    ):
        if path is not None:
            check_writable(path, option, endings)


def as_json(content: Any) -> str:
    """Plain values as text that machines read."""
    return json_text.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


def finish(
    result: Any,
    text: str,
    *,
    output: Path | None,
    report: Path | None,
    json: bool,
    strict: bool = False,
) -> tuple[str, int]:
    """Write the table and the page of a result; text or JSON to print, and the exit code."""
    if output is not None:
        from headcount.tables.readers import write_table

        write_table(result.to_frame(), output)
    if report is not None:
        result.report(report)
    if json:
        text = as_json(result.to_dict())
    return text, UNRELIABLE if strict and not result.is_reliable else DONE
