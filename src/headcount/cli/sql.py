"""``headcount sql``: options in, a query out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["sql"]


def sql(
    model: Annotated[
        Path, typer.Option("--model", help="File that headcount estimate --save wrote.")
    ],
    dialect: Annotated[
        str, typer.Option("--dialect", help="duckdb, bigquery, snowflake or postgres.")
    ],
    table: Annotated[
        str, typer.Option("--table", help="Table of the scored items, as a query names it.")
    ] = "scored",
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            help="Column of the posteriors of the second class; by default that of the model.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Column of the groups; repeatable.")
    ] = None,
) -> str:
    """Print the query that counts scores of two classes in cells, in a database."""
    from headcount.analysis import counting_query

    return counting_query(model, dialect, table=table, score=score, by=by or ())
