"""Page of the accuracy of a model on unlabelled items."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from headcount._text import Cell, Table
from headcount._versions import versions
from headcount.accuracy import AccuracyEstimate, predictors
from headcount.analysis.accuracy import COLUMNS, AccuracyAnalysis
from headcount.analysis.facts import words
from headcount.analysis.verdict import chance
from headcount.diagnose.diagnostics import BROKEN_LEVEL
from headcount.report.assets import packed_csv, rendered, rounded
from headcount.report.charts import Row, rows_chart
from headcount.report.page import group_chart
from headcount.report.svg import Axis
from headcount.report.wording import ADVICE, Note, answer, grouped_notes

__all__ = ["accuracy_page"]

_MOST_ROWS = 2000
# Classes up to which the table of true and predicted classes is shown.
_MOST_CLASSES = 12


def accuracy_page(analysis: AccuracyAnalysis, title: str = "How accurate is the model?") -> str:
    """Render the accuracy of a model as one self-contained HTML page.

    Parameters
    ----------
    analysis : AccuracyAnalysis
        Result of `headcount.analysis.accuracy.analyse_accuracy`.
    title : str, default="How accurate is the model?"
        Heading.

    Returns
    -------
    str
        HTML that loads nothing and is readable without scripts.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from headcount.analysis.accuracy import analyse_accuracy
    >>> from headcount.report import accuracy_page
    >>> rng = np.random.default_rng(0)
    >>> late = rng.random(900) < 0.4
    >>> table = pl.DataFrame(
    ...     {"yes": rng.beta(1 + 3 * late, 1 + 3 * ~late), "late": np.where(late, "yes", "no")}
    ... )
    >>> new = table[600:].drop("late")
    >>> html = accuracy_page(analyse_accuracy(new, reference=table[:600], target="late"))
    >>> html.startswith("<!doctype html>"), len(html) < 100_000
    (True, True)
    """
    first, *others = _rows(analysis)
    values = [value for row in (first, *others) for value in row.values]
    axis = Axis.around(values, analysis.estimates[0].measure.high)
    found = analysis.estimates[0]
    tested = [p for p in map(_p_value, analysis.estimates[1:]) if p is not None]
    shown = {
        "title": title,
        "created": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "found": found,
        "metric": found.metric,
        "level": f"{100 * found.level:.6g}%",
        "p_value": _p_value(found),
        "status": _status(analysis),
        "answer": _answer(analysis),
        "sentences": _sentences(analysis),
        "advice": ADVICE[:2],
        "first": first,
        "chart": rows_chart([first], f"{found.metric} on all items, with its interval", axis),
        "group_chart": ""
        if not others
        else group_chart(others, f"{found.metric} by group", axis, ordered=analysis.ordered),
        "ordered": analysis.ordered,
        "rows": [
            (row, _p_value(each))
            for row, each in zip(others, analysis.estimates[1:], strict=True)
        ][:_MOST_ROWS],
        "hidden_rows": max(0, len(others) - _MOST_ROWS),
        "broken": [row for row in others if row.is_broken],
        "n_tested": len(tested),
        "broken_level": BROKEN_LEVEL,
        "known": analysis.truths is not None,
        "table": _class_table(found),
        "warnings": grouped_notes(
            (
                (name, each.warnings)
                for name, each in zip(analysis.groups, analysis.estimates, strict=True)
            ),
            len(analysis.groups),
        ),
        "notes": [Note("", text) for text in analysis.notes],
        "method_facts": _method_facts(found),
        "versions": versions(),
    }
    return rendered(
        "accuracy.html", shown, data=_embedded(analysis), filters={"chance": chance}
    )


def _p_value(estimate: AccuracyEstimate) -> float | None:
    test = estimate.fit_test
    return None if test is None or math.isnan(test.p_value) else float(test.p_value)


def _rows(analysis: AccuracyAnalysis) -> list[Row]:
    rows = []
    for i, (name, each) in enumerate(zip(analysis.groups, analysis.estimates, strict=True)):
        low, high = each.interval()
        truth = None if analysis.truths is None else analysis.truths[i]
        rows.append(
            Row(
                words(name), each.value, low, high, each.size,
                truth=None if truth is None or math.isnan(truth) else truth,
                is_broken=analysis.is_broken(i),
                text="{:.3f}".format,
            )
        )  # fmt: skip
    return rows


def _status(analysis: AccuracyAnalysis) -> str:
    if analysis.is_broken(0):
        return "broken"
    tested = _p_value(analysis.estimates[0]) is not None
    return "fits" if tested and analysis.is_reliable else "unsure"


def _answer(analysis: AccuracyAnalysis) -> str:
    parts = [
        (_p_value(each), analysis.is_broken(i)) for i, each in enumerate(analysis.estimates)
    ]
    return answer(parts[0], parts[1:], f"the {analysis.estimates[0].metric}")


def _sentences(analysis: AccuracyAnalysis) -> list[str]:
    found = analysis.estimates[0]
    low, high = found.interval()
    text = (
        f"On {found.size:,} new items the {found.metric} is about {found.value:.3f} "
        f"({100 * found.level:.6g}% interval {low:.3f} to {high:.3f})"
    )
    if analysis.before is not None and not math.isnan(analysis.before):
        text += f"; on the labelled ones it is {analysis.before:.3f}"
    text += "."
    if analysis.is_broken(0):
        doubt, *others = analysis.sentences
        return [doubt, f"If only the mix had changed: {text}", *others]
    return [text, *analysis.sentences]


def _class_table(found: AccuracyEstimate) -> Table | None:
    if found.table is None or len(found.classes) > _MOST_CLASSES:
        return None
    names = [words(name) for name in found.classes.tolist()]
    rows = [
        [Cell(name), *(Cell(f"{share:.1%}") for share in row)]
        for name, row in zip(names, found.table, strict=True)
    ]
    head = ["really", *(f"predicted {name}" for name in names)]
    return Table(head, rows, [False] + [True] * len(names))


def _method_facts(found: AccuracyEstimate) -> dict[str, str]:
    info = predictors()[found.method].info
    return {
        "name": f"{found.method}: {info.title}",
        "metric": found.metric,
        "answer of the method itself": f"{found.raw:.3f}",
        "reference": info.reference,
    }


def _embedded(analysis: AccuracyAnalysis) -> dict[str, Any]:
    rows = analysis.to_frame().fill_nan(None).rows()
    packed = packed_csv(COLUMNS, map(rounded, rows))
    return {"csv_gzip": packed, "analysis": rounded(analysis.to_dict())}
