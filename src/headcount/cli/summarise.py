"""``headcount summarise`` and ``headcount merge``: options in, text out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import BY, DATE, DATES, SEPARATOR, check_inputs, plain_separator

__all__ = ["ENDING", "merge", "summarise"]

ENDING = ".hcs"
_OUTPUT = Annotated[Path, typer.Option("--output", help="File for the statistics, as a.hcs.")]


def summarise(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="NEW",
            help="Tables of items: files, patterns, folders; read once in batches.",
        ),
    ],
    model: Annotated[
        Path, typer.Option("--model", help="File that headcount estimate --save wrote.")
    ],
    output: _OUTPUT,
    by: BY = None,
    date: DATE = None,
    dates: DATES = None,
    separator: SEPARATOR = None,
) -> str:
    """Reduce tables to statistics, so that parts can be read on several machines."""
    from headcount._files import check_writable

    check_inputs(new)
    check_writable(output, "--output", (ENDING,))
    from headcount.analysis import summarise as summarise_files

    statistics = summarise_files(
        new, model=model, by=by, date=date, dates=dates, separator=plain_separator(separator)
    )
    statistics.save(output)
    return f"{statistics!r}\nWritten to {output.name}: pass it to headcount merge or estimate."


def merge(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Files of headcount summarise.")
    ],
    output: _OUTPUT,
) -> str:
    """Merge statistics of several parts of a table."""
    from headcount._files import check_writable

    check_inputs(files)
    check_writable(output, "--output", (ENDING,))
    from headcount.analysis import merge_files

    together = merge_files(files)
    together.save(output)
    return f"{together!r}\nWritten to {output.name}: pass it to headcount estimate."
