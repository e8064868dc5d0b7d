"""Page of rates that were corrected for the errors of a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from headcount._text import Table
from headcount.analysis.facts import plain, words
from headcount.analysis.judge_analysis import JudgeAnalysis
from headcount.analysis.verdict import percent
from headcount.report.assets import packed_csv, rendered, rounded
from headcount.report.charts import Row, rows_chart, share_axis
from headcount.report.wording import Note

__all__ = ["judge_page"]

_MOST_GROUPS = 60
_MOST_CLASSES = 12


@dataclass(frozen=True)
class _RateRow(Row):
    """Corrected rate of a group, compared with the raw one."""

    @property
    def hint(self) -> str:
        """Text that is shown on hovering."""
        return super().hint.replace("classify and count:", "raw:")


def judge_page(analysis: JudgeAnalysis) -> str:
    """Render corrected rates as one self-contained HTML page.

    Parameters
    ----------
    analysis : JudgeAnalysis
        Result of `headcount.judge`.

    Returns
    -------
    str
        HTML that loads nothing and is readable without scripts.

    Examples
    --------
    >>> import polars as pl
    >>> import headcount as hc
    >>> from headcount.report import judge_page
    >>> items = pl.DataFrame({
    ...     "judge": ["pass", "fail", "pass", "pass", "fail"] * 60,
    ...     "human": (["pass", "fail", "fail"] * 20 + [None] * 40) * 3,
    ... })
    >>> html = judge_page(hc.judge(items, verdict="judge", gold="human"))
    >>> html.startswith("<!doctype html>"), len(html) < 100_000
    (True, True)
    """
    shown = [(k, words(analysis.classes.tolist()[k])) for k in analysis.shown_classes]
    groups = analysis.groups[:_MOST_GROUPS]
    several = len(analysis.groups) > 1
    rates, *others = analysis.tables(analysis.level)
    return rendered(
        "judge.html",
        {
            "title": analysis.heading,
            "created": analysis.created,
            "n_items": sum(group.n_items for group in analysis.groups),
            "n_gold": sum(group.n_gold for group in analysis.groups),
            "several": several,
            "level": f"{100 * analysis.level:.6g}%",
            "sentences": _sentences(analysis),
            "status": "unsure" if analysis.warnings else "fits",
            "answer": "Read with care" if analysis.warnings else "Corrected for its errors",
            "has_raw": any(group.raw is not None for group in analysis.groups),
            "charts": [
                (name, _chart(analysis, k, f"Rate of {name}"))
                for k, name in shown[:_MOST_CLASSES]
            ],
            "hidden_groups": len(analysis.groups) - len(groups),
            "rates": _markup(rates, "Corrected rates"),
            "differences": _markup(others[0], "Differences") if len(others) > 1 else "",
            "verdicts": _markup(others[-1], "Verdicts by true class"),
            "reasons": [
                Note(words(group.group) if several else "", _reason(group)) for group in groups
            ],
            "warnings": [Note("", text) for text in analysis.warnings],
            "facts_of_data": dict(analysis.data_facts),
        },
        data=_embedded(analysis),
    )


def _chart(analysis: JudgeAnalysis, k: int, label: str) -> Markup:
    rows = []
    for group in analysis.groups[:_MOST_GROUPS]:
        ends = group.interval(analysis.level)
        rows.append(
            _RateRow(
                words(group.group) if len(analysis.groups) > 1 else "all items",
                float(group.shares[k]),
                float(ends.low[k]),
                float(ends.high[k]),
                group.n_items,
                counted=None if group.raw is None else float(group.raw[k]),
            )
        )
    return rows_chart(rows, f"{label} by group, with intervals", share_axis(rows))


def _sentences(analysis: JudgeAnalysis) -> list[str]:
    """First sentences: the rates, and the difference that is clearest."""
    k = analysis.shown_classes[-1]
    name = words(analysis.classes.tolist()[k])
    first = analysis.groups[0]
    ends = first.interval(analysis.level)
    level = f"{100 * analysis.level:.6g}%"
    between = f"{level} interval {percent(ends.low[k])} to {percent(ends.high[k])}"
    raw = "" if first.raw is None else f" The judge alone counts {percent(first.raw[k])}."
    if len(analysis.groups) == 1:
        return [
            f"Of {first.n_items:,} items, about {percent(first.shares[k])} are “{name}” "
            f"({between}).{raw}"
        ]
    listed = sorted(analysis.groups, key=lambda group: -float(group.shares[k]))
    most, least = listed[0], listed[-1]
    found = (
        f"The corrected rate of “{name}” goes from {percent(least.shares[k])} "
        f"({words(least.group)}) to {percent(most.shares[k])} ({words(most.group)})."
    )
    pairs = [
        pair
        for pair in analysis.differences(analysis.level)
        if {pair.first, pair.second} == {most.group, least.group}
    ]
    clear = pairs[0].low[k] > 0 or pairs[0].high[k] < 0
    low, high = sorted((abs(pairs[0].low[k]), abs(pairs[0].high[k])))
    told = (
        f"Their difference is clear: {100 * low:.1f} to {100 * high:.1f} points."
        if clear
        else "Their difference may be chance: its interval contains 0."
    )
    return [found, told]


def _reason(group: Any) -> str:
    text = str(group.reason)
    if group.agreement is not None:
        text += f" {group.agreement.sentence('the error rates of the judge')}"
    return text


def _markup(table: Table, label: str) -> Markup:
    return table.to_html(css_class="sortable", label=label)


def _embedded(analysis: JudgeAnalysis) -> dict[str, Any]:
    frame = analysis.to_frame(analysis.level)
    rows = ([rounded(plain(value)) for value in row] for row in frame.iter_rows())
    content = {"title": analysis.heading, "created": analysis.created}
    content |= analysis.to_dict(analysis.level) | {"data": dict(analysis.data_facts)}
    return {"csv_gzip": packed_csv(frame.columns, rows), "analysis": rounded(content)}
