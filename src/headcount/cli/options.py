"""Options that several commands share, and exit codes."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headcount._support.files import (
    TABLE_ENDINGS,
    check_other_file,
    check_writable,
    input_files,
)

DONE, FAILED, WRONG, UNRELIABLE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 4, 130
ALERT = UNRELIABLE


# Panels of the help of a command.
LEARNING = "What to learn from"
GROUPS = "Groups and dates"
METHOD = "Method"
RESULTS = "Results"
STATISTICS_ENDING = ".hcs"

BY = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Also by group: a column, or year, quarter, month, week or day; repeat it for "
        "each combination of columns.",
        rich_help_panel=GROUPS,
    ),
]
CLUSTER = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="COLUMN",
        help="Column of clusters, such as authors or conversations.",
        rich_help_panel=GROUPS,
    ),
]
DATE_COLUMN = Annotated[
    str | None,
    typer.Option(
        "--date-column",
        metavar="COLUMN",
        help="Column of the dates, for --by month and other periods.",
        rich_help_panel=GROUPS,
    ),
]
DATE_ORDER = Annotated[
    str | None,
    typer.Option(
        "--date-order",
        metavar="ORDER",
        help="Order in dates such as 03/04/2024: day-first or month-first; else detected.",
        rich_help_panel=GROUPS,
    ),
]
HISTORY = Annotated[
    str,
    typer.Option(
        "--history",
        metavar="auto|yes|no",
        help="Rely on what held in labelled months or groups: auto, yes (there must be "
        "some) or no (assume that only the mix of the classes changes).",
        rich_help_panel=METHOD,
    ),
]
JSON = Annotated[
    bool, typer.Option("--json", help="Print machine-readable JSON.", rich_help_panel=RESULTS)
]
LEVEL = Annotated[
    float,
    typer.Option("--level", metavar="LEVEL", help="Confidence level.", rich_help_panel=METHOD),
]
MODEL = Annotated[
    Path,
    typer.Option("--model", metavar="FILE", help="File that headcount estimate --save wrote."),
]
OUTPUT = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write the table: .csv, .tsv, .xlsx, .parquet, .feather or .jsonl.",
        rich_help_panel=RESULTS,
    ),
]
REPORT = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", help="Write an HTML report.", rich_help_panel=RESULTS
    ),
]
SEED = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Random seed.", rich_help_panel=METHOD)
]
SEPARATOR = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        help="Separator of columns in CSV files; detected by default.",
        rich_help_panel=GROUPS,
    ),
]
STRICT = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Exit with code 3 if a result cannot be relied on.",
        rich_help_panel=RESULTS,
    ),
]
WEIGHT = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column of survey weights of the items.",
        rich_help_panel=GROUPS,
    ),
]


def examples(*commands: str) -> str:
    """Text below the help of a command: calls to copy."""
    return "\n\n".join(["Examples:", *(f"headcount {command}" for command in commands)])


def plain_separator(text: str | None) -> str | None:
    r"""Separator as a character: a tab may be written as ``\t``."""
    return None if text is None else text.replace("\\t", "\t")


def check_inputs(*sources: Sequence[str] | None) -> None:
    """Raise an error if an input file is not there, before anything heavy is imported."""
    for source in (path for paths in sources for path in paths or ()):
        input_files(source, ("",))


def check_outputs(
    output: Path | None,
    report: Path | None = None,
    save: Path | None = None,
    *,
    sources: Iterable[Any] = (),
) -> None:
    """Raise an error if a file cannot be written, or is one of the sources.

    Sources are paths, lists of them, or None. Nothing heavy has been imported yet.
    """
    paths = [
        path
        for source in sources
        for path in (source if isinstance(source, list) else [source])
    ]
    for path, option, endings in (
        (output, "--output", TABLE_ENDINGS),
        (report, "--report", (".html", ".htm")),
        (save, "--save", (".skops",)),
    ):
        if path is not None:
            check_writable(path, option, endings)
            check_other_file(path, option, [source for source in paths if source is not None])


def as_json(content: Any) -> str:
    """Plain values as JSON."""
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
