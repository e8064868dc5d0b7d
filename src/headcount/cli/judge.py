"""``headcount judge``: options in, text out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headcount._support.text import printable
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
    STRICT,
    UNRELIABLE,
    WEIGHT,
    check_outputs,
    finish,
    plain_separator,
)
from headcount.errors import HeadcountError

_PLAN = "Planning"


def judge(
    items: Annotated[
        Path,
        typer.Argument(
            metavar="ITEMS",
            help="Table of the judged items, or a file of Inspect AI, promptfoo, DeepEval, the "
            "LM Evaluation Harness or OpenAI Evals.",
        ),
    ],
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            "--verdict",
            metavar="COLUMN",
            help="Column of the judge's verdicts: texts, numbers or scores. Repeat it for "
            "several judges.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold",
            metavar="COLUMN",
            help="Column of the true classes or numbers, empty where they are not known. Items "
            "with gold must be a random part, of all items or of those with the same verdict.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    gold_table: Annotated[
        Path | None,
        typer.Option(
            "--gold-table",
            metavar="TABLE",
            help="Table with the gold labels, joined by --id.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    id: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column that names the items in both tables; id by default.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Column of groups to compare, such as the model judged.",
            rich_help_panel=GROUPS,
        ),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate",
            metavar="COLUMN",
            help="Column on which verdicts should not depend, such as the length: tested.",
            rich_help_panel=GROUPS,
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="TABLE",
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
            metavar="CLASS",
            help="Class whose rate is shown; the second of two by default.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    mean: Annotated[
        bool | None,
        typer.Option(
            "--mean/--rates",
            help="Mean of numeric gold labels, or rates of classes; by default a mean if gold "
            "has more than ten numbers.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    scale: Annotated[
        tuple[float, float] | None,
        typer.Option(
            "--scale",
            metavar="LOW HIGH",
            help="Lowest and highest possible gold label, for means.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    sequential: Annotated[
        str | None,
        typer.Option(
            "--sequential",
            metavar="COLUMN",
            help="Column with the order in which gold labels were taken: intervals are then "
            "valid however often one looks.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    level: LEVEL = 0.95,
    half_width: Annotated[
        float | None,
        typer.Option(
            "--half-width",
            help="Half-width that intervals should have. With --strict, exit code 3 if one is "
            "longer.",
            rich_help_panel=_PLAN,
        ),
    ] = None,
    judge_price: Annotated[
        float | None,
        typer.Option(
            "--judge-price",
            help="Price of a verdict: plans --half-width.",
            rich_help_panel=_PLAN,
        ),
    ] = None,
    human_price: Annotated[
        float | None,
        typer.Option(
            "--human-price",
            help="Price of a gold label: plans --half-width.",
            rich_help_panel=_PLAN,
        ),
    ] = None,
    strict: STRICT = False,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    json: JSON = False,
) -> tuple[str, int]:
    """Correct an LLM judge's rates with gold labels."""
    check_outputs(output, report, sources=(items, calibration, gold_table))
    prices = judge_price, human_price
    if any(price is not None for price in prices) and None in (*prices, half_width):
        raise HeadcountError(
            "A plan needs `half_width`, `judge_price` and `human_price`: pass all three."
        )
    from headcount.tables.judges import judge as corrected

    rates = corrected(
        items,
        verdict=verdict or None,
        gold=gold,
        by=by,
        calibration=calibration,
        cluster=cluster,
        weight=weight,
        positive=positive,
        mean=mean,
        scale=scale,
        covariate=covariate or (),
        sequential=sequential,
        gold_table=gold_table,
        id=id or "id",
        level=level,
        separator=plain_separator(separator),
    )
    if half_width is not None and judge_price is not None and human_price is not None:
        plan = rates.plan(half_width, judge_price=judge_price, human_price=human_price)
        rates = replace(rates, cost=plan)
    text = "" if json else rates.to_text()
    text, code = finish(rates, text, output=output, report=report, json=json, strict=strict)
    if half_width is not None:
        wide = [name for name, half in rates.half_widths().items() if half > half_width]
        if wide and not json:
            of_groups = (
                f"{len(wide)} of {len(rates.groups)} intervals are longer than ±{half_width:g} "
                f"({', '.join(printable(name) for name in wide[:5])})"
                if len(rates.groups) > 1
                else f"The interval is longer than ±{half_width:g}"
            )
            text += f"\n{of_groups}: label more items."
        code = UNRELIABLE if wide and strict else code
    return text, code
