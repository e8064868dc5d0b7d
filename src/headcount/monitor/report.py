"""Page of a monitor: what is open, and the course of shares and accuracy."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from headcount._support.execution import versions
from headcount._support.text import Table
from headcount.monitor.history import Alert, MonitorHistory, MonitorStatus
from headcount.report import page as html
from headcount.report.charts import Axis, Row, share_axis, trend_chart
from headcount.report.page import Page

# A page shows at most so many groups and classes, and the last chunks of long monitors.
_MOST_GROUPS, _MOST_CLASSES, _MOST_CHUNKS = 12, 6, 400
_MOST_ROWS = 400


def monitor_page(history: MonitorHistory) -> Page:
    """Page of the course of a monitor."""
    status, metric = history.status(), history.spec.metric_name
    streams = history.streams[:_MOST_GROUPS]
    n_hidden = len(history.streams) - len(streams)
    frame = history.to_frame()
    alerts = _alert_table(history.alerts).to_html(css_class="sortable", label="Alerts")
    chunks = _chunk_table(history).to_html(css_class="sortable", label="Chunks")
    return Page(
        title="What the monitor sees",
        eyebrow=[
            f"{status.chunks:,} chunks, the last {status.last or 'not there yet'}",
            html.now(),
        ],
        headline=_headline(status, metric),
        sections=[
            html.advice(_advice(metric)) if status.open else Markup(""),
            *(
                html.section(
                    "Over time" if len(streams) == 1 else stream,
                    html.legend(
                        ("estimate", "estimate, 95% interval"),
                        ("truth line", "by labels that arrived"),
                        ("flag", "do not rely on it"),
                        ("alert", "alert"),
                    ),
                    html.panels(_panels(history, stream), wide=True, scrolls=True),
                )
                for stream in streams
            ),
            html.note(f"{n_hidden} more groups are in the downloads." if n_hidden else ""),
            html.section(
                "Alerts",
                html.scrolled(alerts) if history.alerts else html.paragraph("None so far."),
            ),
            html.section(
                "Chunks",
                html.scrolled(chunks, "tall dates"),
                html.hidden_rows(len(history.chunks) - _MOST_ROWS, "earlier chunks"),
            ),
            _method_section(history, status),
        ],
        columns=frame.columns,
        rows=frame.rows(),
        content={
            "status": status.to_dict(),
            "alerts": [alert.to_dict() for alert in history.alerts],
            "chunks": frame.to_dicts(),
        },
    )


def _method_section(history: MonitorHistory, status: MonitorStatus) -> Markup:
    return html.section(
        "How it was done",
        html.paragraph(
            "Each chunk is compared with the mean of all earlier ones. Without any change, the "
            f"mean number of chunks between alerts is at least {status.false_alarms:g}."
        ),
        html.folded(
            "How alerts are raised",
            html.paragraph(
                "The detector adds up evidence of a change in the shares, in the "
                f"{history.spec.metric_name} and in the form of the scores, over all groups "
                f"together. It is {status.evidence:.1f} now, and an alert is raised at "
                f"{status.false_alarms:g}. Shares are conditioned on a quantifier's answers, "
                "and p is the chance of scores at least so unlike a mixture of the reference "
                "classes."
            ),
        ),
        html.pair(html.facts("Monitor", _facts(history)), html.facts("Versions", versions())),
    )


def _headline(status: MonitorStatus, metric: str) -> Markup:
    changes = status.open or status.acknowledged
    if status.open:
        answer = f"{len(status.open)} alert{'' if len(status.open) == 1 else 's'} open"
    elif status.acknowledged:
        answer = "A known change goes on"
    else:
        answer = "No alert is open"
    sentences = [alert.reason[:1].upper() + alert.reason[1:] for alert in changes] or [
        f"Shares and {metric} are where they were, as far as the rows can show."
    ]
    doubts = []
    if status.unreliable:
        doubts.append(
            "The last chunk does not look like the reference, whatever the mix: do not rely on "
            f"its shares and {metric}."
        )
    kind = "unsure" if status.acknowledged or status.unreliable else "fits"
    return html.headline(
        "broken" if status.open else kind,
        answer,
        [*sentences, *doubts],
        question="Has anything changed?",
        n_leads=len(sentences),
    )


def _advice(metric: str) -> list[str]:
    return [
        "Look at some rows of the first changed chunk, and ask what changed at the source on "
        "that day.",
        f"Label a random sample of the new rows if shares or {metric} matter now.",
        Markup(
            "Note that the alert has been seen: <code>headcount monitor ack</code>. If the new "
            "level is right, accept it: <code>headcount monitor rebase</code>."
        ),
    ]


def _panels(history: MonitorHistory, stream: str) -> list[tuple[str, Markup]]:
    """Charts of the shares of a group, then of its accuracy."""
    summaries = [
        (chunk.name, summary, summary.estimates)
        for chunk, summary in zip(history.chunks, history.summaries, strict=True)
        if chunk.stream == stream and summary.estimates is not None
    ][-_MOST_CHUNKS:]
    if not summaries:
        return []
    names = [name for name, _, _ in summaries]
    marked = [
        names.index(alert.chunk)
        for alert in history.alerts
        if alert.stream == stream and alert.chunk in names
    ]
    labels = [str(label) for label in history.spec.classes]
    last = summaries[-1][2].shares
    places = sorted(range(len(labels)), key=lambda j: -last[j])[:_MOST_CLASSES]
    if len(labels) == 2:
        places = [
            min(
                range(2),
                key=lambda j: sum(estimates.shares[j] for _, _, estimates in summaries),
            )
        ]
    panels = []
    for j in places:
        rows = [
            Row(
                name, *estimates.end_points(j), summary.n,
                truth=None if summary.realised is None else summary.realised[j],
                is_broken=summary.is_broken,
            )
            for name, summary, estimates in summaries
        ]  # fmt: skip
        chart = _chart(rows, f"Share of {labels[j]} over time", share_axis(rows), marked)
        panels.append((f"Share of {labels[j]}", chart))
    rows = [
        Row(
            name, *estimates.end_points(None), summary.n,
            truth=summary.realised_accuracy, is_broken=summary.is_broken,
        )
        for name, summary, estimates in summaries
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
    columns = ["state", "raised", "since", "reason", "ended"]
    return Table.of(columns, rows, [False] * len(columns))


def _chunk_table(history: MonitorHistory) -> Table:
    labels = [str(label) for label in history.spec.classes]
    metric = history.spec.metric_name
    several = len(history.streams) > 1
    head = [*(["group"] if several else []), "chunk", "items", *labels, metric, "p", "notes"]
    rows = []
    pairs = list(zip(history.chunks, history.summaries, strict=True))
    for chunk, summary in reversed(pairs[-_MOST_ROWS:]):
        estimates = summary.estimates
        shares, accuracy, p_value = [""] * len(labels), "", None
        if estimates is not None:
            shares = [f"{share:.1%}" for share in estimates.shares]
            accuracy, p_value = f"{estimates.accuracy:.3f}", estimates.fit_p_value
        rows.append(
            [
                *([chunk.stream] if several else []),
                chunk.name,
                f"{summary.n:,}",
                *shares,
                accuracy,
                "" if p_value is None else f"{p_value:.2g}",
                "do not rely on it" if summary.is_broken else "",
            ]
        )
    numbers = ["items", *labels, metric, "p"]
    return Table.of(head, rows, [name in numbers for name in head])


def _facts(history: MonitorHistory) -> dict[str, Any]:
    spec = history.spec
    chunks = f"{spec.chunk_size:,} rows" if spec.chunk_size else f"by {spec.by}"
    return {
        "Method": "ACC" if spec.kind == "verdicts" else spec.method,
        "Chunks": chunks,
        "Classes": ", ".join(map(str, spec.classes)),
        "False alarms": f"one in {spec.false_alarms:g} chunks or fewer, over all groups",
    }
