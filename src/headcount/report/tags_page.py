"""Page of the shares of tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from markupsafe import Markup

from headcount.analysis.tags import TagAnalysis
from headcount.report.assets import packed_csv, rendered, rounded
from headcount.report.charts import Row, class_rows, group_rows, rows_chart, share_axis
from headcount.report.page import group_chart, is_wide
from headcount.report.wording import Note

__all__ = ["tags_page"]

_MOST_PANELS = 12
_MOST_ROWS = 2000


def tags_page(analysis: TagAnalysis) -> str:
    """Render the shares of tags as one self-contained HTML page.

    Parameters
    ----------
    analysis : TagAnalysis
        Result of `headcount.analyse` for several tags.

    Returns
    -------
    str
        HTML that loads nothing and is readable without scripts.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> from headcount.report.tags_page import tags_page
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> items = pl.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    >>> tags = {"tag_a": (x[:, 0] > 0) * 1, "tag_b": (x[:, 1] > 1) * 1}
    >>> found = hc.analyse(items, train=items.with_columns(**tags), target="tag_*", method="CC")
    >>> html = tags_page(found)
    >>> html.startswith("<!doctype html>"), len(html) < 100_000
    (True, True)
    """
    first = analysis.first
    rows = _tag_rows(analysis)
    by_size = sorted(analysis.analyses, key=lambda tag: -_share(analysis, tag))
    shown = by_size[:_MOST_PANELS]
    table = analysis.to_table()
    warnings = [Note("", text) for text in analysis.warnings]
    return rendered(
        "tags.html",
        {
            "title": analysis.title,
            "created": first.created,
            "n_items": first.overall.estimate.n_items,
            "n_tags": len(analysis.analyses),
            "level": f"{100 * first.level:.6g}%",
            "status": "fits" if analysis.is_reliable else "unsure",
            "answer": "Shares of tags" if analysis.is_reliable else "Read with care",
            "summary": analysis.summary,
            "flagged": not analysis.is_reliable,
            "has_truth": first.overall.truth is not None,
            "chart": rows_chart(rows, "Share of each tag, with its interval", share_axis(rows)),
            "panels": _panels(analysis, shown),
            "wide": is_wide(len(shown), len(first.groups)),
            "hidden_tags": len(by_size) - len(shown),
            "ordered": first.ordered,
            "table": replace(table, rows=table.rows[:_MOST_ROWS]).to_html(
                css_class="sortable", label="Shares of tags"
            ),
            "hidden_rows": max(0, len(table.rows) - _MOST_ROWS),
            "warnings": warnings,
            "notes": [Note("", text) for text in analysis.notes],
            "method": f"{first.method.name}: {first.method.title}, for each tag",
            "facts_of_data": {**first.data_facts, **first.versions},
        },
        data=_embedded(analysis),
    )


def _share(analysis: TagAnalysis, tag: str) -> float:
    return float(analysis.analyses[tag].overall.estimate.shares[1])


def _tag_rows(analysis: TagAnalysis) -> list[Row]:
    """One row per tag, for all items."""
    return [
        replace(class_rows(each, [1])[0], label=tag) for tag, each in analysis.analyses.items()
    ]


def _panels(analysis: TagAnalysis, shown: list[str]) -> list[tuple[str, Markup]]:
    panels = []
    for tag in shown if analysis.first.groups else ():
        rows = group_rows(analysis.analyses[tag], 1)
        drawn = group_chart(
            rows,
            f"Share of {tag} by group, with intervals",
            share_axis(rows),
            ordered=analysis.first.ordered,
            n_panels=len(shown),
        )
        panels.append((tag, drawn))
    return panels


def _embedded(analysis: TagAnalysis) -> dict[str, Any]:
    rows = map(rounded, analysis.rows())
    return {
        "csv_gzip": packed_csv(analysis.table_columns, rows),
        "analysis": rounded(analysis.to_dict()),
    }
