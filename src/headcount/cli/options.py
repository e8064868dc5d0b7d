"""Options that several commands share, and exit codes."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
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


def option(text: str, metavar: str | None = None, panel: str | None = None, **more: Any) -> Any:
    """Option with the name of its parameter."""
    return typer.Option(metavar=metavar, help=text, rich_help_panel=panel, **more)


def flag(names: str, text: str, panel: str | None = None) -> Any:
    """Option without a value."""
    return typer.Option(*names.split(), help=text, rich_help_panel=panel)


BY = Annotated[
    list[str] | None,
    option(
        "Also by group: a column, or year, quarter, month, week or day; repeat it for each "
        "combination of columns.",
        "COLUMN",
        GROUPS,
    ),
]
CLUSTER = Annotated[
    str | None,
    option("Column of clusters, such as authors or conversations.", "COLUMN", GROUPS),
]
DATE_COLUMN = Annotated[
    str | None,
    option("Column of the dates, for --by month and other periods.", "COLUMN", GROUPS),
]
DATE_ORDER = Annotated[
    str | None,
    option(
        "Order in dates such as 03/04/2024: day-first or month-first; else detected.",
        "ORDER",
        GROUPS,
    ),
]
HISTORY = Annotated[
    str,
    option(
        "Rely on what held in labelled months or groups: auto, yes (there must be some) or "
        "no (assume that only the mix of the classes changes).",
        "auto|yes|no",
        METHOD,
    ),
]
JSON = Annotated[bool, flag("--json", "Print machine-readable JSON.", RESULTS)]
LEVEL = Annotated[float, option("Confidence level.", "LEVEL", METHOD)]
MODEL = Annotated[Path, option("File that headcount estimate --save wrote.", "FILE")]
OUTPUT = Annotated[
    Path | None,
    option(
        "Write the table: .csv, .tsv, .xlsx, .parquet, .feather or .jsonl.", "FILE", RESULTS
    ),
]
REPORT = Annotated[Path | None, option("Write an HTML report.", "FILE", RESULTS)]
SEED = Annotated[int, option("Random seed.", "N", METHOD, min=0)]
SEPARATOR = Annotated[
    str | None,
    option(
        "Separator of columns in CSV files; detected by default.",
        "CHAR",
        GROUPS,
        callback=lambda text: None if text is None else text.replace("\\t", "\t"),
    ),
]
STRICT = Annotated[
    bool, flag("--strict", "Exit with code 3 if a result cannot be relied on.", RESULTS)
]
WEIGHT = Annotated[
    str | None, option("Column of survey weights of the items.", "COLUMN", GROUPS)
]


def examples(*commands: str) -> str:
    """Text below the help of a command: calls to copy."""
    return "\n\n".join(["Examples:", *(f"headcount {command}" for command in commands)])


def arguments(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command that a function takes, by name, apart from those left out."""
    values = dict(options)
    if "seed" in values:
        values["random_state"] = values["seed"]
    names = signature(function).parameters
    return {name: values[name] for name in names if values.get(name) is not None}


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
    """Raise an error if a file cannot be written, or is one of the sources: paths or lists."""
    paths = [
        path
        for source in sources
        for path in (source if isinstance(source, list) else [source])
    ]
    for path, name, endings in (
        (output, "--output", TABLE_ENDINGS),
        (report, "--report", (".html", ".htm")),
        (save, "--save", (".skops",)),
    ):
        if path is not None:
            check_writable(path, name, endings)
            check_other_file(path, name, [source for source in paths if source is not None])


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
