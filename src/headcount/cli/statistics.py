"""``headcount statistics``: statistics of large tables, made, merged, or counted by SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount._support.files import check_other_file, check_writable
from headcount.cli import options as shared
from headcount.cli.options import option

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
    model: shared.MODEL,
    output: _OUTPUT,
    by: shared.BY = None,
    date_column: shared.DATE_COLUMN = None,
    date_order: shared.DATE_ORDER = None,
    separator: shared.SEPARATOR = None,
) -> str:
    """Reduce tables to statistics, so that parts can be read on several machines."""
    options = locals()
    shared.check_inputs(new)
    check_writable(output, "--output", (shared.STATISTICS_ENDING,))
    check_other_file(output, "--output", [*new, model])
    from headcount.tables.from_tables import summarise

    result = summarise(**shared.arguments(summarise, options))
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
    shared.check_inputs(files)
    check_writable(output, "--output", (shared.STATISTICS_ENDING,))
    check_other_file(output, "--output", files)
    from headcount.tables.from_tables import merge_files

    together = merge_files(files)
    together.save(output)
    return f"{together!r}\nWritten to {output.name}: pass it to headcount estimate."


@statistics.command()
def sql(
    model: shared.MODEL,
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
