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
    flag,
    option,
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
        option(
            "Column of the judge's verdicts: texts, numbers or scores. Repeat it for several "
            "judges.",
            "COLUMN",
            LEARNING,
        ),
    ] = None,
    gold: Annotated[
        str | None,
        option(
            "Column of the true classes or numbers, empty where they are not known. Items with "
            "gold must be a random part, of all items or of those with the same verdict.",
            "COLUMN",
            LEARNING,
        ),
    ] = None,
    gold_table: Annotated[
        Path | None, option("Table with the gold labels, joined by --id.", "TABLE", LEARNING)
    ] = None,
    id: Annotated[
        list[str] | None,
        option(
            "Column that names the items in both tables; id by default.", "COLUMN", LEARNING
        ),
    ] = None,
    by: Annotated[
        str | None,
        option("Column of groups to compare, such as the model judged.", "COLUMN", GROUPS),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        option(
            "Column on which verdicts should not depend, such as the length: tested.",
            "COLUMN",
            GROUPS,
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        option("Table of other items, all with verdict and gold.", "TABLE", LEARNING),
    ] = None,
    cluster: CLUSTER = None,
    weight: WEIGHT = None,
    positive: Annotated[
        str | None,
        option("Class whose rate is shown; the second of two by default.", "CLASS", METHOD),
    ] = None,
    mean: Annotated[
        bool | None,
        flag(
            "--mean/--rates",
            "Mean of numeric gold labels, or rates of classes; by default a mean if gold has "
            "more than ten numbers.",
            METHOD,
        ),
    ] = None,
    scale: Annotated[
        tuple[float, float] | None,
        option("Lowest and highest possible gold label, for means.", "LOW HIGH", METHOD),
    ] = None,
    sequential: Annotated[
        str | None,
        option(
            "Column with the order in which gold labels were taken: intervals are then valid "
            "however often one looks.",
            "COLUMN",
            METHOD,
        ),
    ] = None,
    level: LEVEL = 0.95,
    half_width: Annotated[
        float | None,
        option(
            "Half-width that intervals should have. With --strict, exit code 3 if one is "
            "longer.",
            panel=_PLAN,
        ),
    ] = None,
    judge_price: Annotated[
        float | None, option("Price of a verdict: plans --half-width.", panel=_PLAN)
    ] = None,
    human_price: Annotated[
        float | None, option("Price of a gold label: plans --half-width.", panel=_PLAN)
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
