"""``headcount label``: options in, text out."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import BY, DATE, JSON, LEVEL, SEED, SEPARATOR, plain_separator

__all__ = ["label"]


def label(
    new: Annotated[
        Path,
        typer.Argument(metavar="NEW", help="Table of the items whose shares are wanted."),
    ],
    model: Annotated[
        Path, typer.Option("--model", help="File that headcount estimate --save wrote.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", help="Table of the rows to label; .csv, .xlsx or another."),
    ],
    precision: Annotated[
        float | None,
        typer.Option("--precision", help="Half the width that intervals should have, as 0.01."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", help="Instead of --precision: number of labels.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive", help="The only class whose share matters; all classes by default."
        ),
    ] = None,
    by: BY = None,
    date: DATE = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="COLUMN",
            help="Column of NEW that people need to see to label a row; repeatable. All "
            "columns by default, but for those that hold scores or labels.",
        ),
    ] = None,
    level: LEVEL = 0.95,
    seed: SEED = 0,
    separator: SEPARATOR = None,
    json: JSON = False,
) -> str:
    """Choose rows to label, at random, so that few labels buy much precision."""
    from headcount._files import TABLE_ENDINGS, check_writable
    from headcount.analysis import plan_labels
    from headcount.data.writers import write_table

    check_writable(output, "--output", TABLE_ENDINGS)
    plan, table = plan_labels(
        new,
        model=model,
        precision=precision,
        budget=budget,
        positive=positive,
        by=by,
        date=date,
        show=show,
        level=level,
        random_state=seed,
        separator=plain_separator(separator),
    )
    write_table(table, output)
    if json:
        content = plan.to_dict() | {"output": str(output)}
        return json_text.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    return (
        f"{plan!r}\nFill in the column label of {output.name}, keep all its rows, and pass it "
        f"to headcount estimate as --labelled."
    )
