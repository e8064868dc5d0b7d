"""``headcount judge``: options in, text out."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import (
    CLUSTER,
    JSON,
    LEVEL,
    OUTPUT,
    REPORT,
    SEPARATOR,
    WEIGHT,
    plain_separator,
)

__all__ = ["judge"]


def judge(
    items: Annotated[
        Path,
        typer.Argument(metavar="ITEMS", help="Table of the judged items."),
    ],
    verdict: Annotated[
        str,
        typer.Option(
            "--verdict", help="Column of the judge's verdicts: texts, numbers or scores."
        ),
    ],
    gold: Annotated[
        str,
        typer.Option(
            "--gold",
            help="Column of the true classes, empty where they are not known. Items with gold "
            "must be a random part, of all items or of those with the same verdict.",
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option("--by", help="Column of groups to compare, such as the model judged."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option("--calibration", help="Table of other items, all with verdict and gold."),
    ] = None,
    cluster: CLUSTER = None,
    weight: WEIGHT = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive", help="Class whose rate is shown; the second of two by default."
        ),
    ] = None,
    level: LEVEL = 0.95,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    json: JSON = False,
) -> str:
    """Correct the rates that an LLM judge measures, by gold labels of some items."""
    from headcount._files import TABLE_ENDINGS, check_writable
    from headcount.analysis import judge as corrected
    from headcount.data.writers import write_table

    # Before any work is done.
    if report is not None:
        check_writable(report, "--report", (".html", ".htm"))
    if output is not None:
        check_writable(output, "--output", TABLE_ENDINGS)
    found = corrected(
        items,
        verdict=verdict,
        gold=gold,
        by=by,
        calibration=calibration,
        cluster=cluster,
        weight=weight,
        positive=positive,
        level=level,
        separator=plain_separator(separator),
    )
    if output is not None:
        write_table(found.to_frame(level), output)
    if report is not None:
        found.report(report)
    if json:
        content = found.to_dict(level)
        return json_text.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    return found.to_text(level)
