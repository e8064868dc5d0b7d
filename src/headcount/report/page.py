"""Page of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup

from headcount.analysis.analysis import COLUMNS, Analysis, Part
from headcount.analysis.facts import words
from headcount.analysis.verdict import chance, compared_with_truth, percent
from headcount.diagnose.diagnostics import BROKEN_LEVEL
from headcount.report.assets import (
    asset,
    content_policy,
    packed_csv,
    script_json,
    template_of,
)
from headcount.report.charts import class_rows, group_rows, rows_chart
from headcount.report.densities import histogram_chart
from headcount.report.trends import trend_chart

__all__ = ["page"]

# Beyond these a page would be too large to read or to send; downloads have all of it.
_MOST_PANELS = 12
_MOST_ROWS = 2000
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
    style, script = asset("page.css"), asset("page.js")
    return _template().render(
        analysis=analysis,
        verdict=analysis.verdict,
        style=Markup(style),
        script=Markup(script),
        policy=content_policy(style, script),
        data=Markup(script_json(_embedded(analysis))),
        level=f"{100 * analysis.level:.6g}%",
        shares_chart=rows_chart(class_rows(analysis), "Share of each class, with its interval"),
        panels=_panels(analysis),
        wide=_wide(analysis),
        histograms=_histograms(analysis),
        rows=_table(analysis),
        hidden_rows=max(0, len(analysis.groups) * len(analysis.classes) - _MOST_ROWS),
        hidden_panels=max(0, len(analysis.classes) - _MOST_PANELS),
        broken=analysis.broken_groups,
        all_broken=analysis.overall.is_broken,
        compared_with_truth=compared_with_truth(analysis),
        tested=sum(part.p_value is not None for part in analysis.groups),
        broken_level=BROKEN_LEVEL,
        warnings=_warnings(analysis),
    )


@cache
def _template() -> Any:
    return template_of("page.html", {"percent": percent, "words": words, "chance": chance})


def _embedded(analysis: Analysis) -> dict[str, Any]:
    rows = ([_rounded(value) for value in row] for row in analysis.rows())
    return {"csv_gzip": packed_csv(COLUMNS, rows), "analysis": _rounded(analysis.to_dict())}


def _rounded(value: Any) -> Any:
    """The same with numbers of six digits, which take less space."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return value


def _shown(analysis: Analysis) -> Sequence[int]:
    """Classes that have panels: one of two, or the largest."""
    if len(analysis.classes) == 2:
        return [1]
    largest = np.argsort(-analysis.overall.estimate.shares, kind="stable")[:_MOST_PANELS]
    return np.sort(largest).tolist()


def _as_rows(analysis: Analysis) -> bool:
    return not analysis.ordered and len(analysis.groups) <= _MOST_GROUP_ROWS


def _wide(analysis: Analysis) -> bool:
    return len(_shown(analysis)) == 1 or len(analysis.groups) > _MOST_NARROW


def _panels(analysis: Analysis) -> list[tuple[str, Markup]]:
    if not analysis.groups:
        return []
    panels, shown = [], _shown(analysis)
    height = 260 if len(shown) == 1 else 190
    for j in shown:
        name, rows = words(analysis.classes[j]), group_rows(analysis, j)
        label = f"Share of {name} by group, with intervals"
        if _as_rows(analysis):
            panels.append((name, rows_chart(rows, label)))
        else:
            drawn = trend_chart(
                rows, label, line=analysis.ordered, wide=_wide(analysis), height=height
            )
            panels.append((name, drawn))
    return panels


def _histograms(analysis: Analysis) -> list[tuple[str, Markup]]:
    if not analysis.histograms:
        return []
    n = analysis.overall.estimate.n_items
    return [
        (words(analysis.classes[j]), histogram_chart(analysis.histograms[j], n))
        for j in _shown(analysis)
    ]


def _table(analysis: Analysis) -> list[tuple[Part, int]]:
    rows = [(part, j) for part in analysis.groups for j in range(len(analysis.classes))]
    return rows[:_MOST_ROWS]


def _warnings(analysis: Analysis) -> list[tuple[str, str]]:
    """Each warning once, with the groups it is about."""
    about: dict[str, list[str]] = {text: [] for text in analysis.warnings}
    for part in (analysis.overall, *analysis.groups):
        for text in part.estimate.warnings:
            about.setdefault(text, []).append(words(part.name))
    return [(_listed(names, len(analysis.groups) + 1), text) for text, names in about.items()]


def _listed(names: list[str], everyone: int) -> str:
    if not names or len(names) == everyone:
        return "everything"
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
