"""``headcount judge``: options in, text out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcount._support.text import first_of, printable
from headcount.cli import options as shared
from headcount.cli.options import flag, option
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
        shared.LEARNING,
    ),
]
_GOLD = Annotated[
    str | None,
    option(
        "Column of the true classes or numbers, empty where they are not known. Items with "
        "gold must be a random part, of all items or of those with the same verdict.",
        "COLUMN",
        shared.LEARNING,
    ),
]
_GOLD_TABLE = Annotated[
    Path | None, option("Table with the gold labels, joined by --id.", "TABLE", shared.LEARNING)
]
_ID = Annotated[
    list[str] | None,
    option(
        "Column that names the items in both tables; id by default.", "COLUMN", shared.LEARNING
    ),
]
_BY = Annotated[
    str | None,
    option("Column of groups to compare, such as the model judged.", "COLUMN", shared.GROUPS),
]
_COVARIATE = Annotated[
    list[str] | None,
    option(
        "Column on which verdicts should not depend, such as the length: tested.",
        "COLUMN",
        shared.GROUPS,
    ),
]
_CALIBRATION = Annotated[
    Path | None,
    option("Table of other items, all with verdict and gold.", "TABLE", shared.LEARNING),
]
_POSITIVE = Annotated[
    str | None,
    option("Class whose rate is shown; the second of two by default.", "CLASS", shared.METHOD),
]
_MEAN = Annotated[
    bool | None,
    flag(
        "--mean/--rates",
        "Mean of numeric gold labels, or rates of classes; by default a mean if gold has "
        "more than ten numbers.",
        shared.METHOD,
    ),
]
_SCALE = Annotated[
    tuple[float, float] | None,
    option("Lowest and highest possible gold label, for means.", "LOW HIGH", shared.METHOD),
]
_SEQUENTIAL = Annotated[
    str | None,
    option(
        "Column with the order in which gold labels were taken: intervals are then valid "
        "however often one looks.",
        "COLUMN",
        shared.METHOD,
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
    cluster: shared.CLUSTER = None,
    weight: shared.WEIGHT = None,
    positive: _POSITIVE = None,
    mean: _MEAN = None,
    scale: _SCALE = None,
    sequential: _SEQUENTIAL = None,
    level: shared.LEVEL = 0.95,
    half_width: _HALF_WIDTH = None,
    judge_price: _JUDGE_PRICE = None,
    human_price: _HUMAN_PRICE = None,
    strict: shared.STRICT = False,
    separator: shared.SEPARATOR = None,
    report: shared.REPORT = None,
    output: shared.OUTPUT = None,
    json: shared.JSON = False,
) -> tuple[str, int]:
    """Correct an LLM judge's rates with gold labels."""
    options = locals()
    shared.check_outputs(output, report, sources=(items, calibration, gold_table))
    prices = judge_price, human_price
    if any(price is not None for price in prices) and None in (*prices, half_width):
        raise HeadcountError(
            "A plan needs `half_width`, `judge_price` and `human_price`: pass all three."
        )
    from headcount.tables.judges import judge as corrected

    rates = corrected(**shared.arguments(corrected, options))
    if half_width is not None and judge_price is not None and human_price is not None:
        plan = rates.plan(half_width, judge_price=judge_price, human_price=human_price)
        rates = replace(rates, cost=plan)
    text = "" if json else rates.to_text()
    text, code = shared.finish(
        rates, text, output=output, report=report, json=json, strict=strict
    )
    remark = "" if half_width is None else _about_width(rates, half_width)
    if remark and not json:
        text += f"\n{remark}: label more items."
    return text, shared.UNRELIABLE if remark and strict else code


def _about_width(rates: JudgeAnalysis, half_width: float) -> str:
    """Sentence on intervals that are longer than wanted; empty if there are none."""
    wide = [name for name, half in rates.half_widths().items() if half > half_width]
    if not wide or len(rates.groups) == 1:
        return f"The interval is longer than ±{half_width:g}" if wide else ""
    named = first_of(map(printable, wide), 5)
    n_groups = len(rates.groups)
    return f"{len(wide)} of {n_groups} intervals are longer than ±{half_width:g} ({named})"
