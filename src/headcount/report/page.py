"""Page of an analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from headcount.analysis.analysis import COLUMNS, Analysis, Part
from headcount.analysis.facts import words
from headcount.analysis.verdict import chance, compared_with_truth, percent
from headcount.diagnose.diagnostics import BROKEN_LEVEL
from headcount.report.assets import packed_csv, rendered, rounded
from headcount.report.charts import Row, class_rows, group_rows, rows_chart, share_axis
from headcount.report.densities import histogram_chart
from headcount.report.svg import Axis
from headcount.report.trends import trend_chart
from headcount.report.wording import ADVICE, Note, about_counting, answer, grouped_notes

__all__ = ["group_chart", "is_wide", "page"]

# Beyond these a page would be too large to read or to send; downloads have all of it.
_MOST_PANELS = 12
_MOST_ROWS = 2000
# Classes above which they are sorted by size, and those that then stay in view.
_MANY_CLASSES = 12
_LARGEST = 10
# Groups above which each no longer has a row of its own in a chart, and panels are wide.
_MOST_GROUP_ROWS = 24
_MOST_NARROW = 20


def page(analysis: Analysis) -> str:
    """Render an analysis as one self-contained HTML page.

    Parameters
    ----------
    analysis : Analysis
        Result of `headcount.analyse`.

    Returns
    -------
    str
        HTML that loads nothing and is readable without scripts.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> from headcount.analysis import analyse_items
    >>> from headcount.report import page
    >>> scores, y = hc.Scored(np.linspace(0.01, 0.99, 200)), np.repeat(["ham", "spam"], 100)
    >>> html = page(analyse_items(hc.PACC().fit(scores, y), scores))
    >>> html.startswith("<!doctype html>"), len(html) < 100_000
    (True, True)
    """
    classes, tail = _split(analysis)
    shown = _shown(analysis)
    values = {
        "title": analysis.title,
        "analysis": analysis,
        "verdict": analysis.verdict,
        "answer": _answer(analysis),
        "advice": ADVICE,
        "level": f"{100 * analysis.level:.6g}%",
        "classes": classes,
        "shares_chart": _class_chart(analysis, classes),
        "tail": tail,
        "tail_share": float(analysis.overall.estimate.shares[tail].sum()),
        "tail_chart": _class_chart(analysis, tail) if tail else "",
        "panels": _panels(analysis, shown),
        "wide": is_wide(len(shown), len(analysis.groups)),
        "histograms": _histograms(analysis, shown),
        "rows": _table(analysis, shown),
        "hidden_rows": max(0, len(analysis.groups) * len(shown) - _MOST_ROWS),
        "hidden_classes": max(0, len(analysis.classes) - _MOST_PANELS),
        "broken": analysis.broken_groups,
        "all_broken": analysis.overall.is_broken,
        "compared_with_truth": compared_with_truth(analysis),
        "counting": about_counting(analysis),
        "tested": sum(part.p_value is not None for part in analysis.groups),
        "broken_level": BROKEN_LEVEL,
        "warnings": _warnings(analysis),
        "notes": [Note("", text) for text in analysis.notes],
        "method_facts": _method_facts(analysis),
        "data_facts": _data_facts(analysis),
    }
    filters = {"percent": percent, "words": words, "chance": chance}
    return rendered("page.html", values, data=_embedded(analysis), filters=filters)


def _answer(analysis: Analysis) -> str:
    if analysis.method.shift != "prior":
        return "Read with care"
    overall, *groups = (
        (part.p_value, part.is_broken) for part in (analysis.overall, *analysis.groups)
    )
    return answer(overall, groups, "the shares")


def is_wide(n_panels: int, n_groups: int) -> bool:
    """True if panels need the whole width."""
    return n_panels == 1 or n_groups > _MOST_NARROW


def group_chart(
    rows: list[Row], label: str, axis: Axis, *, ordered: bool, n_panels: int = 1
) -> Markup:
    """Chart of groups: one line each if they are few and no sequence, else left to right."""
    if not ordered and len(rows) <= _MOST_GROUP_ROWS:
        return rows_chart(rows, label, axis)
    wide, height = is_wide(n_panels, len(rows)), 260 if n_panels == 1 else 190
    return trend_chart(rows, label, axis, line=ordered, wide=wide, height=height)


def _embedded(analysis: Analysis) -> dict[str, Any]:
    rows = map(rounded, analysis.rows())
    return {"csv_gzip": packed_csv(COLUMNS, rows), "analysis": rounded(analysis.to_dict())}


def _by_size(analysis: Analysis) -> list[int]:
    return np.argsort(-analysis.overall.estimate.shares, kind="stable").tolist()


def _split(analysis: Analysis) -> tuple[list[int], list[int]]:
    """Classes in view, and those that are folded: the second of two; the largest of many."""
    K = len(analysis.classes)
    if K <= _MANY_CLASSES:
        return ([1] if K == 2 else list(range(K))), []
    order = _by_size(analysis)
    return order[:_LARGEST], order[_LARGEST:]


def _shown(analysis: Analysis) -> list[int]:
    """Classes that have panels: one of two, or the largest."""
    return [1] if len(analysis.classes) == 2 else sorted(_by_size(analysis)[:_MOST_PANELS])


def _class_chart(analysis: Analysis, classes: list[int]) -> Markup:
    rows = class_rows(analysis, classes)
    return rows_chart(rows, "Share of each class, with its interval", share_axis(rows))


def _panels(analysis: Analysis, shown: list[int]) -> list[tuple[str, Markup]]:
    if not analysis.groups:
        return []
    panels = []
    for j in shown:
        name, rows = words(analysis.classes[j]), group_rows(analysis, j)
        label = f"Share of {name} by group, with intervals"
        drawn = group_chart(
            rows, label, share_axis(rows), ordered=analysis.ordered, n_panels=len(shown)
        )
        panels.append((name, drawn))
    return panels


def _histograms(analysis: Analysis, shown: list[int]) -> list[tuple[str, Markup]]:
    if not analysis.histograms:
        return []
    n = analysis.overall.estimate.n_items
    return [
        (words(analysis.classes[j]), histogram_chart(analysis.histograms[j], n)) for j in shown
    ]


def _table(analysis: Analysis, shown: list[int]) -> list[tuple[Part, int]]:
    return [(part, j) for part in analysis.groups for j in shown][:_MOST_ROWS]


def _warnings(analysis: Analysis) -> list[Note]:
    parts = (analysis.overall, *analysis.groups)
    about_parts = ((part.name, part.estimate.warnings) for part in parts)
    found = grouped_notes(about_parts, len(parts))
    return [*(Note("", text) for text in analysis.warnings), *found]


def _method_facts(analysis: Analysis) -> dict[str, str | Markup]:
    method = analysis.method
    facts: dict[str, str | Markup] = {"name": f"{method.name}: {method.title}"}
    facts |= {
        name: Markup("<code>{}</code>").format(value) for name, value in method.settings.items()
    }
    return facts | ({"reference": method.reference} if method.reference else {})


def _data_facts(analysis: Analysis) -> dict[str, str]:
    n = analysis.n_training
    known = {} if n is None else {"training items": f"{n:,}"}
    return {**analysis.data_facts, **known, **analysis.versions}
