"""``headcount judge``: options in, text out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcount._support.text import first_of, printable
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

if TYPE_CHECKING:
    from headcount.tables.judges import JudgeAnalysis

_PLAN = "Planning"


_ITEMS = Annotated[
    Path,
    typer.Argument(
        metavar="ITEMS",
        help="Table of the judged items, or a file of Inspect AI, promptfoo, DeepEval, the "
        "LM Evaluation Harness or OpenAI Evals.",
    ),
]
_VERDICT = Annotated[
    list[str] | None,
    option(
        "Column of the judge's verdicts: texts, numbers or scores. Repeat it for several "
        "judges.",
        "COLUMN",
        LEARNING,
    ),
]
_GOLD = Annotated[
    str | None,
    option(
        "Column of the true classes or numbers, empty where they are not known. Items with "
        "gold must be a random part, of all items or of those with the same verdict.",
        "COLUMN",
        LEARNING,
    ),
]
_GOLD_TABLE = Annotated[
    Path | None, option("Table with the gold labels, joined by --id.", "TABLE", LEARNING)
]
_ID = Annotated[
    list[str] | None,
    option("Column that names the items in both tables; id by default.", "COLUMN", LEARNING),
]
_BY = Annotated[
    str | None,
    option("Column of groups to compare, such as the model judged.", "COLUMN", GROUPS),
]
_COVARIATE = Annotated[
    list[str] | None,
    option(
        "Column on which verdicts should not depend, such as the length: tested.",
        "COLUMN",
        GROUPS,
    ),
]
_CALIBRATION = Annotated[
    Path | None,
    option("Table of other items, all with verdict and gold.", "TABLE", LEARNING),
]
_POSITIVE = Annotated[
    str | None,
    option("Class whose rate is shown; the second of two by default.", "CLASS", METHOD),
]
_MEAN = Annotated[
    bool | None,
    flag(
        "--mean/--rates",
        "Mean of numeric gold labels, or rates of classes; by default a mean if gold has "
        "more than ten numbers.",
        METHOD,
    ),
]
_SCALE = Annotated[
    tuple[float, float] | None,
    option("Lowest and highest possible gold label, for means.", "LOW HIGH", METHOD),
]
_SEQUENTIAL = Annotated[
    str | None,
    option(
        "Column with the order in which gold labels were taken: intervals are then valid "
        "however often one looks.",
        "COLUMN",
        METHOD,
    ),
]
_HALF_WIDTH = Annotated[
    float | None,
    option(
        "Half-width that intervals should have. With --strict, exit code 3 if one is longer.",
        panel=_PLAN,
    ),
]
_JUDGE_PRICE = Annotated[
    float | None, option("Price of a verdict: plans --half-width.", panel=_PLAN)
]
_HUMAN_PRICE = Annotated[
    float | None, option("Price of a gold label: plans --half-width.", panel=_PLAN)
]


def judge(
    items: _ITEMS,
    verdict: _VERDICT = None,
    gold: _GOLD = None,
    gold_table: _GOLD_TABLE = None,
    id: _ID = None,
    by: _BY = None,
    covariate: _COVARIATE = None,
    calibration: _CALIBRATION = None,
    cluster: CLUSTER = None,
    weight: WEIGHT = None,
    positive: _POSITIVE = None,
    mean: _MEAN = None,
    scale: _SCALE = None,
    sequential: _SEQUENTIAL = None,
    level: LEVEL = 0.95,
    half_width: _HALF_WIDTH = None,
    judge_price: _JUDGE_PRICE = None,
    human_price: _HUMAN_PRICE = None,
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
    remark = "" if half_width is None else _about_width(rates, half_width)
    if remark and not json:
        text += f"\n{remark}: label more items."
    return text, UNRELIABLE if remark and strict else code


def _about_width(rates: JudgeAnalysis, half_width: float) -> str:
    """Sentence on intervals that are longer than wanted; empty if there are none."""
    wide = [name for name, half in rates.half_widths().items() if half > half_width]
    if not wide or len(rates.groups) == 1:
        return f"The interval is longer than ±{half_width:g}" if wide else ""
    named = first_of(map(printable, wide), 5)
    n_groups = len(rates.groups)
    return f"{len(wide)} of {n_groups} intervals are longer than ±{half_width:g} ({named})"
