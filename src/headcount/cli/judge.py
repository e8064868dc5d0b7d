"""``headcount judge``: options in, text out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import (
    CLUSTER,
    GROUPS,
    JSON,
    LEARNING,
    LEVEL,
    METHOD,
    OUTPUT,
    REPORT,
    SEPARATOR,
    WEIGHT,
    check_outputs,
    finish,
    plain_separator,
)


def judge(
    items: Annotated[
        Path,
        typer.Argument(metavar="ITEMS", help="Table of the judged items."),
    ],
    verdict: Annotated[
        str,
        typer.Option(
            "--verdict",
            help="Column of the judge's verdicts: texts, numbers or scores.",
            rich_help_panel=LEARNING,
        ),
    ],
    gold: Annotated[
        str,
        typer.Option(
            "--gold",
            help="Column of the true classes, empty where they are not known. Items with gold "
            "must be a random part, of all items or of those with the same verdict.",
            rich_help_panel=LEARNING,
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help="Column of groups to compare, such as the model judged.",
            rich_help_panel=GROUPS,
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            help="Table of other items, all with verdict and gold.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    cluster: CLUSTER = None,
    weight: WEIGHT = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            help="Class whose rate is shown; the second of two by default.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    level: LEVEL = 0.95,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    json: JSON = False,
) -> tuple[str, int]:
    """Correct the rates that an LLM judge measures, by gold labels of some items."""
    check_outputs(output, report)
    from headcount.tables.judges import judge as corrected

    rates = corrected(
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
    text = "" if json else rates.to_text()
    return finish(rates, text, output=output, report=report, json=json)
