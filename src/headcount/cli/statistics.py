"""``headcount statistics``: statistics of large tables, made, merged, or counted by SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount._support.files import check_other_file, check_writable
from headcount.cli.options import (
    BY,
    DATE_COLUMN,
    DATE_ORDER,
    MODEL,
    SEPARATOR,
    STATISTICS_ENDING,
    check_inputs,
    option,
    plain_separator,
)

statistics = typer.Typer(
    name="statistics",
    help="Reduce large tables to small files of statistics, for headcount estimate.",
    no_args_is_help=True,
)

_OUTPUT = Annotated[Path, option("File for the statistics, as a.hcs.")]


@statistics.command()
def make(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Tables of items: files, patterns, folders; read once in batches.",
        ),
    ],
    model: MODEL,
    output: _OUTPUT,
    by: BY = None,
    date_column: DATE_COLUMN = None,
    date_order: DATE_ORDER = None,
    separator: SEPARATOR = None,
) -> str:
    """Reduce tables to statistics, so that parts can be read on several machines."""
    check_inputs(new)
    check_writable(output, "--output", (STATISTICS_ENDING,))
    check_other_file(output, "--output", [*new, model])
    from headcount.tables.from_tables import summarise

    result = summarise(
        new,
        model=model,
        by=by,
        date_column=date_column,
        date_order=date_order,
        separator=plain_separator(separator),
    )
    result.save(output)
    return (
        f"{result!r}\nWritten to {output.name}: pass it to headcount statistics merge or "
        "headcount estimate."
    )


@statistics.command()
def merge(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Files of headcount statistics make.")
    ],
    output: _OUTPUT,
) -> str:
    """Merge statistics of several parts of a table."""
    check_inputs(files)
    check_writable(output, "--output", (STATISTICS_ENDING,))
    check_other_file(output, "--output", files)
    from headcount.tables.from_tables import merge_files

    together = merge_files(files)
    together.save(output)
    return f"{together!r}\nWritten to {output.name}: pass it to headcount estimate."


@statistics.command()
def sql(
    model: MODEL,
    dialect: Annotated[str, option("duckdb, bigquery, snowflake or postgres.")],
    table: Annotated[str, option("Table of the scored items, as a query names it.")] = "scored",
    score: Annotated[
        str | None,
        option("Column of the posteriors of the second class; by default that of the model."),
    ] = None,
    by: Annotated[list[str] | None, option("Column of the groups; repeatable.")] = None,
) -> str:
    """Print the query that counts scores of two classes in cells, in a database."""
    from headcount.tables.from_tables import counting_query

    return counting_query(model, dialect, table=table, score=score, by=by or ())
