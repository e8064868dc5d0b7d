"""Page of a monitor: what is open, and the course of shares and accuracy."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headcount._files import check_writable, write_bytes
from headcount._text import Cell, Table
from headcount._versions import versions
from headcount.monitor.history import Alert, History
from headcount.report.assets import packed_csv, rendered, rounded
from headcount.report.charts import Row, share_axis
from headcount.report.svg import Axis
from headcount.report.trends import trend_chart

__all__ = ["monitor_page", "write_monitor_page"]

# A page shows at most so many groups and classes, and the last chunks of long monitors.
_MOST_GROUPS, _MOST_CLASSES, _MOST_CHUNKS = 12, 6, 400
_MOST_ROWS = 400


def write_monitor_page(history: History, path: str | os.PathLike[str]) -> None:
    """Write the page of a monitor atomically.

    Parameters
    ----------
    history : History
        Course of the monitor.
    path : str or path
        HTML file.
    """
    file = Path(path)
    check_writable(file, "`path`", (".html", ".htm"))
    write_bytes(file, monitor_page(history).encode())


def monitor_page(history: History) -> str:
    """Render the course of a monitor as one self-contained HTML page.

    Parameters
    ----------
    history : History
        Course of the monitor.

    Returns
    -------
    str
        HTML that loads nothing and is readable without scripts.
    """
    status = history.status()
    streams = history.streams[:_MOST_GROUPS]
    values = {
        "title": "What the monitor sees",
        "created": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "status": status,
        "alerts": list(reversed(history.alerts)),
        "alert_table": _alert_table(history.alerts),
        "groups": [(stream, _panels(history, stream)) for stream in streams],
        "hidden_groups": len(history.streams) - len(streams),
        "table": _chunk_table(history),
        "hidden_rows": max(0, len(history.chunks) - _MOST_ROWS),
        "metric": history.spec.metric_name,
        "facts_of": _facts(history),
        "versions": versions(),
    }
    frame = history.to_frame()
    data = {
        "csv_gzip": packed_csv(frame.columns, map(rounded, map(list, frame.rows()))),
        "analysis": rounded(
            {
                "status": status.to_dict(),
                "alerts": [alert.to_dict() for alert in history.alerts],
                "chunks": frame.to_dicts(),
            }
        ),
    }
    filters = {"capitalize_first": lambda text: text[:1].upper() + text[1:]}
    return rendered("monitor.html", values, data=data, filters=filters)


def _panels(history: History, stream: str) -> list[tuple[str, Markup]]:
    """Charts of the shares of a group, then of its accuracy."""
    pairs = zip(history.chunks, history.summaries, strict=True)
    own = [
        (chunk.name, each, each.estimates)
        for chunk, each in pairs
        if chunk.stream == stream and each.estimates is not None
    ][-_MOST_CHUNKS:]
    if not own:
        return []
    names = [name for name, _, _ in own]
    marked = [
        names.index(alert.chunk)
        for alert in history.alerts
        if alert.stream == stream and alert.chunk in names
    ]
    labels = [str(label) for label in history.spec.classes]
    last = own[-1][2].shares
    shown = sorted(range(len(labels)), key=lambda j: -last[j])[:_MOST_CLASSES]
    if len(labels) == 2:
        shown = [min(range(2), key=lambda j: sum(item.shares[j] for _, _, item in own))]
    panels = []
    for j in shown:
        rows = [
            Row(
                name, *estimates.end_points(j), each.n,
                truth=None if each.realised is None else each.realised[j],
                is_broken=each.is_broken,
            )
            for name, each, estimates in own
        ]  # fmt: skip
        chart = _chart(rows, f"Share of {labels[j]} over time", share_axis(rows), marked)
        panels.append((f"Share of {labels[j]}", chart))
    rows = [
        Row(
            name, *estimates.end_points(None), each.n,
            truth=each.realised_accuracy, is_broken=each.is_broken,
        )
        for name, each, estimates in own
    ]  # fmt: skip
    axis = Axis.around([value for row in rows for value in row.values], 1.0)
    metric = history.spec.metric_name
    panels.append(
        (metric[:1].upper() + metric[1:], _chart(rows, f"{metric} over time", axis, marked))
    )
    return panels


def _chart(rows: list[Row], label: str, axis: Axis, alerts: list[int]) -> Markup:
    return trend_chart(rows, label, axis, line=True, wide=True, height=230, alerts=alerts)


def _alert_table(alerts: tuple[Alert, ...]) -> Table:
    rows = [
        [alert.state, alert.chunk, alert.since, alert.reason, alert.ended]
        for alert in reversed(alerts)
    ]
    return _table(["state", "raised", "since", "reason", "ended"], rows, [])


def _chunk_table(history: History) -> Table:
    labels = [str(label) for label in history.spec.classes]
    metric = history.spec.metric_name
    several = len(history.streams) > 1
    head = [*(["group"] if several else []), "chunk", "items", *labels, metric, "p", "notes"]
    rows = []
    pairs = list(zip(history.chunks, history.summaries, strict=True))
    for chunk, each in reversed(pairs[-_MOST_ROWS:]):
        estimates = each.estimates
        shares, accuracy, p_value = [""] * len(labels), "", None
        if estimates is not None:
            shares = [f"{share:.1%}" for share in estimates.shares]
            accuracy, p_value = f"{estimates.accuracy:.3f}", estimates.fit_p_value
        rows.append(
            [
                *([chunk.stream] if several else []),
                chunk.name,
                f"{each.n:,}",
                *shares,
                accuracy,
                "" if p_value is None else f"{p_value:.2g}",
                "do not rely on it" if each.is_broken else "",
            ]
        )
    return _table(head, rows, ["items", *labels, metric, "p"])


def _table(head: list[str], rows: list[list[str]], numbers: list[str]) -> Table:
    cells = [[Cell(text) for text in row] for row in rows]
    return Table(head, cells, [name in numbers for name in head])


def _facts(history: History) -> dict[str, Any]:
    spec = history.spec
    chunks = f"{spec.chunk_size:,} rows" if spec.chunk_size else f"by {spec.by}"
    return {
        "Method": "ACC" if spec.kind == "verdicts" else spec.method,
        "Chunks": chunks,
        "Classes": ", ".join(map(str, spec.classes)),
        "False alarms": f"one in {spec.false_alarms:g} chunks or fewer, over all groups",
    }
