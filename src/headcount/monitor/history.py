"""Course of a monitor: summaries of all chunks, with the alerts that follow from them.

It is computed from the summaries each time, so that late rows and labels count as if they had
come in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.text import html_result
from headcount.monitor.deliveries import MonitorSpec
from headcount.monitor.detector import Alarm, Detection, Restart, WatchedSeries, detect
from headcount.monitor.folder import Chunk, ChunkEstimates, ChunkSummary
from headcount.monitor.reference import MonitorReference

State = Literal["open", "acknowledged", "resolved", "rebased"]


@dataclass(frozen=True)
class Alert:
    """A change in a stream.

    Attributes
    ----------
    name : str
        Identity of the alert: the chunk that raised it, and its stream.
    stream : str
        The stream.
    chunk : str
        Chunk at which the alert was raised.
    since : str
        First changed chunk, as estimated.
    series : tuple of str
        Series that have changed: "share:CLASS", "accuracy", "form" or "floor".
    reason : str
        One sentence.
    state : {"open", "acknowledged", "resolved", "rebased"}
        State after the last chunk.
    ended : str
        Chunk at which it ended; empty if it has not.
    """

    name: str
    stream: str
    chunk: str
    since: str
    series: tuple[str, ...]
    reason: str
    state: State
    ended: str = ""

    @property
    def active(self) -> bool:
        """True if the change has not ended."""
        return self.state in ("open", "acknowledged")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "alert": self.name, "stream": self.stream, "chunk": self.chunk,
            "since": self.since, "series": list(self.series), "reason": self.reason,
            "state": self.state, "ended": self.ended,
        }  # fmt: skip


Floats = NDArray[np.float64]

# Chunks of fewer items are put together for the detector.
_LEAST_ITEMS = 50
# Parts of the evidence of a stream for a floor and for late labels. That for labels is free
# before any arrive, as alerts of the past would change otherwise.
_FLOOR_WEIGHT, ERROR_WEIGHT = 0.25, 0.1
# Labels of a chunk count if so many of its rows have one.
_COMPLETE = 0.95


@dataclass(frozen=True, eq=False)
class MonitorStatus:
    """State of a monitor after its last chunk.

    Attributes
    ----------
    chunks : int
        Number of chunks.
    last : str
        Name of the last chunk; empty if there is none.
    open : tuple of Alert
        Alerts that nobody has acknowledged.
    acknowledged : tuple of Alert
        Acknowledged alerts whose change goes on.
    unreliable : tuple of str
        Groups whose last chunk does not look like a mixture of the reference classes.
    evidence : float
        Value of the detector, 0 after an alert; one is raised at ``false_alarms``.
    false_alarms : float
        Mean number of chunks between false alarms.
    """

    chunks: int
    last: str
    open: tuple[Alert, ...]
    acknowledged: tuple[Alert, ...]
    unreliable: tuple[str, ...]
    evidence: float
    false_alarms: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "chunks": self.chunks,
            "last": self.last,
            "open": [alert.to_dict() for alert in self.open],
            "acknowledged": [alert.to_dict() for alert in self.acknowledged],
            "unreliable": list(self.unreliable),
            "evidence": self.evidence,
            "false_alarms": self.false_alarms,
        }

    def _repr_html_(self) -> str:
        head, *lines = str(self).split("\n")
        return html_result(head, [], lines)

    def __repr__(self) -> str:
        n = len(self.open)
        alerts = f"{n} alert{'' if n == 1 else 's'} open" if n else "no alert is open"
        head = f"{self.chunks:,} chunks, the last {self.last or 'not there yet'}: {alerts}"
        lines = [f"  {alert.name}: {alert.reason}" for alert in self.open]
        lines += [
            f"  {alert.name} (acknowledged): {alert.reason}" for alert in self.acknowledged
        ]
        if self.unreliable:
            groups = "" if len(self.unreliable) == 1 else f" ({', '.join(self.unreliable)})"
            lines.append(
                f"  the last chunk{groups} does not look like a mixture of the reference "
                "classes: do not rely on its shares and accuracy"
            )
        level = f"evidence of a new change {self.evidence:.3g} of {self.false_alarms:g}"
        return "\n".join([head, *lines, level])


@dataclass(frozen=True, eq=False)
class History:
    """Chunks of a monitor in the order of time, and its alerts."""

    spec: MonitorSpec  # settings
    chunks: tuple[Chunk, ...]
    summaries: tuple[ChunkSummary, ...]  # summary of each chunk
    times: tuple[str, ...]  # names of the chunks, each once
    detection: Detection  # result of the detector, one row per time
    alerts: tuple[Alert, ...]  # alerts in the order of time

    @classmethod
    def of(
        cls,
        spec: MonitorSpec,
        series: tuple[tuple[str, float], ...],
        reference: MonitorReference,
        summaries: dict[Chunk, ChunkSummary],
        events: list[dict[str, Any]],
    ) -> History:
        """Detect changes in the summaries, and apply the decisions of people."""
        chunks = tuple(summaries)
        times = tuple(sorted({chunk.name for chunk in chunks}))
        streams = tuple(sorted({chunk.stream for chunk in chunks}))
        table = _SeriesTable.of(spec, series, reference, summaries, times, streams)
        restarts = [
            Restart(
                streams.index(event["stream"]),
                times.index(event["chunk"]),
                times.index(event["last"]),
            )
            for event in events
            if event["kind"] == "rebase"
        ]
        detection = detect(table.series, spec.false_alarms, restarts)
        acknowledged = {event["alert"] for event in events if event["kind"] == "acknowledge"}
        alerts = tuple(
            _alert(alarm, table, restarts, acknowledged) for alarm in detection.alarms
        )
        return cls(spec, chunks, tuple(summaries.values()), times, detection, alerts)

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the streams."""
        return tuple(sorted({chunk.stream for chunk in self.chunks}))

    @property
    def _last(self) -> dict[str, int]:
        """Position of the last chunk of each stream."""
        return {chunk.stream: i for i, chunk in enumerate(self.chunks)}

    def status(self) -> MonitorStatus:
        """State after the last chunk."""
        return MonitorStatus(
            len(self.chunks),
            self.times[-1] if self.times else "",
            tuple(alert for alert in self.alerts if alert.state == "open"),
            tuple(alert for alert in self.alerts if alert.state == "acknowledged"),
            tuple(stream for stream, i in self._last.items() if self.summaries[i].is_broken),
            self.detection.remaining,
            self.spec.false_alarms,
        )

    def to_frame(self) -> pl.DataFrame:
        """Table of the chunks, one row per chunk and stream."""
        labels = [str(label) for label in self.spec.classes]
        raised = {(alert.chunk, alert.stream): alert.name for alert in self.alerts}
        evidence = dict(zip(self.times, self.detection.evidence.tolist(), strict=True))
        rows = []
        for chunk, summary in zip(self.chunks, self.summaries, strict=True):
            estimates = summary.estimates
            row: dict[str, Any] = {
                "group": chunk.stream, "chunk": chunk.name, "items": summary.n,
                "missing": summary.missing,
            }  # fmt: skip
            for j, label in enumerate(labels):
                ends = (None, None, None) if estimates is None else estimates.end_points(j)
                row[f"share {label}"], row[f"low {label}"], row[f"high {label}"] = ends
                realised = summary.realised
                row[f"realised {label}"] = None if realised is None else realised[j]
            ends = (None, None, None) if estimates is None else estimates.end_points(None)
            row["accuracy"], row["accuracy_low"], row["accuracy_high"] = ends
            row["realised_accuracy"] = summary.realised_accuracy
            row["labelled"] = summary.labelled
            row["basis"] = "shift" if estimates is None else estimates.basis
            row["fit_p_value"] = None if estimates is None else estimates.fit_p_value
            row["reliable"] = not summary.is_broken
            row["evidence"] = evidence[chunk.name]
            row["alert"] = raised.get((chunk.name, chunk.stream))
            row["notes"] = "" if estimates is None else " ".join(estimates.notes)
            rows.append(row)
        texts = dict.fromkeys(("group", "chunk", "basis", "alert", "notes"), pl.String)
        counts = dict.fromkeys(("items", "missing", "labelled"), pl.Int64)
        names = list(rows[0]) if rows else [*texts, *counts]
        types = {**texts, **counts, "reliable": pl.Boolean}
        return pl.DataFrame(rows, schema={name: types.get(name, pl.Float64) for name in names})

    def share_frame(self, stream: str) -> pl.DataFrame:
        """Estimated and realised shares of a stream, as `plots.by_group` reads them."""
        rows = [
            {
                "group": chunk.name, "class": str(label), "share": share, "low": low,
                "high": high, "reference": summary.realised and summary.realised[j],
            }
            for chunk, summary in zip(self.chunks, self.summaries, strict=True)
            if chunk.stream == stream and summary.estimates is not None
            for j, label in enumerate(self.spec.classes)
            for share, low, high in [summary.estimates.end_points(j)]
        ]  # fmt: skip
        kinds = dict.fromkeys(("share", "low", "high", "reference"), pl.Float64)
        frame = pl.DataFrame(rows, {"group": pl.String, "class": pl.String, **kinds})
        return frame.drop("reference") if frame["reference"].is_null().all() else frame

    def to_prometheus(self) -> str:
        """Values of the last chunk of each stream, in Prometheus' text format."""
        last = {stream: self.summaries[i].to_dict() for stream, i in self._last.items()}
        lines = []
        for name, key in (("share", "shares"), ("share_low", "low"), ("share_high", "high")):
            lines.append(f"# TYPE headcount_{name} gauge")
            for stream, summary in last.items():
                for label, value in zip(self.spec.classes, summary.get(key, ()), strict=False):
                    names = f'group="{_escaped(stream)}",class="{_escaped(str(label))}"'
                    lines.append(f"headcount_{name}{{{names}}} {value!r}")
        for name in ("accuracy", "accuracy_low", "accuracy_high", "fit_p_value", "n"):
            lines.append(f"# TYPE headcount_{name} gauge")
            for stream, summary in last.items():
                if (value := summary.get(name)) is not None:
                    lines.append(f'headcount_{name}{{group="{_escaped(stream)}"}} {value!r}')
        status = self.status()
        lines += ["# TYPE headcount_alerts_open gauge"]
        lines += [f"headcount_alerts_open {len(status.open)}"]
        lines += ["# TYPE headcount_evidence gauge", f"headcount_evidence {status.evidence!r}"]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass(frozen=True, eq=False)
class _SeriesTable:
    """Summaries by time and stream, and as series with one row per time."""

    spec: MonitorSpec
    names: tuple[str, ...]
    series: WatchedSeries
    summaries: dict[tuple[str, str], ChunkSummary]
    times: tuple[str, ...]
    streams: tuple[str, ...]

    @classmethod
    def of(
        cls,
        spec: MonitorSpec,
        series: tuple[tuple[str, float], ...],
        reference: MonitorReference,
        summaries: dict[Chunk, ChunkSummary],
        times: tuple[str, ...],
        streams: tuple[str, ...],
    ) -> _SeriesTable:
        names = [name for name, _ in series]
        weights = np.array([weight for _, weight in series])
        limits = np.full(len(names), np.nan)
        if spec.accuracy_floor >= 0:
            names.append("floor")
            weights = np.append(weights * (1 - _FLOOR_WEIGHT), _FLOOR_WEIGHT)
            # The reference is too small to know the accuracy better than this.
            floor = spec.accuracy_floor
            error = np.sqrt(floor * (1 - floor) / len(reference.labels))
            limits = np.append(limits, 2 * error - floor)
        mature = set(times[: len(times) - spec.maturity])
        complete = {
            chunk
            for chunk, summary in summaries.items()
            if spec.labels == "complete" and chunk.name in mature and _complete(summary)
        }
        if spec.labels == "complete":
            errors = [f"error:{name}" for name in names if name.startswith("share:")]
            names += errors
            added = np.full(len(errors), ERROR_WEIGHT / len(errors))
            weights = np.concatenate([weights * (1 - ERROR_WEIGHT), added])
            limits = np.append(limits, np.full(len(errors), np.nan))
        labels = [str(label) for label in spec.classes]
        C, G, T = len(names), len(streams), len(times)
        values, variances, sizes = (np.full((T, G * C), np.nan) for _ in range(3))
        row = {name: i for i, name in enumerate(times)}
        place = {name: i for i, name in enumerate(streams)}
        by_place: dict[tuple[str, str], ChunkSummary] = {}
        for chunk, summary in summaries.items():
            by_place[chunk.name, chunk.stream] = summary
            if summary.estimates is None:
                continue
            # All series of a stream are side by side.
            columns = slice(place[chunk.stream] * C, (place[chunk.stream] + 1) * C)
            realised = summary.realised if chunk in complete else None
            observed = _observed(summary.estimates, realised, names, labels)
            values[row[chunk.name], columns], variances[row[chunk.name], columns] = observed
            sizes[row[chunk.name], columns] = summary.n
        _pool_small(values, variances, sizes)
        kinds = [name.split(":")[0] for name in names]
        families = np.array([kinds.index(kind) for kind in kinds])
        table = WatchedSeries(
            values, variances, sizes, np.repeat(np.arange(G), C), np.tile(families, G),
            np.tile(weights, G), np.tile(limits, G),
        )  # fmt: skip
        return cls(spec, tuple(names), table, by_place, times, streams)

    def mean(self, stream: str, name: str, first: int, last: int) -> tuple[float, float, float]:
        """Mean estimate of a share or the accuracy over some times, with its ends."""
        label = None
        if name.startswith("share:"):
            labels = [str(label) for label in self.spec.classes]
            label = labels.index(name.removeprefix("share:"))
        summaries = [self.summaries.get((time, stream)) for time in self.times[first:last]]
        rows = [
            (summary.n, *summary.estimates.end_points(label))
            for summary in summaries
            if summary is not None and summary.estimates is not None
        ]
        table = np.array(rows, np.float64)
        middle, low, high = np.average(table[:, 1:], axis=0, weights=table[:, 0])
        return float(middle), float(low), float(high)


def _observed(
    estimates: ChunkEstimates,
    realised: list[float] | None,
    names: list[str],
    labels: list[str],
) -> tuple[Floats, Floats]:
    """Values of the series of one chunk, and their variances for one item."""
    values, unit = list(estimates.values), list(estimates.unit_variances)
    for name in names[len(values) :]:
        if name == "floor":
            place = names.index("accuracy")
            values.append(-values[place])
            unit.append(unit[place])
        else:
            share = name.removeprefix("error:")
            place = names.index(share)
            label = labels.index(share.removeprefix("share:"))
            truth = np.nan if realised is None else realised[label]
            values.append(values[place] - truth)
            unit.append(unit[place])
    return np.array(values), np.array(unit)


def _complete(summary: ChunkSummary) -> bool:
    return bool(summary.n and summary.labelled >= _COMPLETE * summary.n)


def _pool_small(values: Floats, variances: Floats, sizes: Floats) -> None:
    """Put chunks with few items together with the next ones, in place."""
    for c in np.flatnonzero((sizes < _LEAST_ITEMS).any(axis=0)).tolist():
        rows = np.flatnonzero(np.isfinite(values[:, c]))
        n, first, held = sizes[rows, c], 0, 0.0
        for place, more in enumerate(n.tolist()):
            held += more
            if held < _LEAST_ITEMS:
                continue
            pooled, last = slice(first, place + 1), rows[place]
            if place > first:
                for column in (values, variances):
                    column[last, c] = np.average(column[rows[pooled], c], weights=n[pooled])
                sizes[last, c] = held
                values[rows[first:place], c] = np.nan
            first, held = place + 1, 0.0
        values[rows[first:], c] = np.nan


def _alert(
    alarm: Alarm, table: _SeriesTable, restarts: list[Restart], acknowledged: set[str]
) -> Alert:
    stream, C = table.streams[alarm.stream], len(table.names)
    series = tuple(table.names[c % C] for c in alarm.series)
    chunk = table.times[alarm.at]
    name = chunk if len(table.streams) == 1 else f"{chunk} {stream}"
    state: State = "acknowledged" if name in acknowledged else "open"
    ended = ""
    if alarm.end is not None:
        rebased = any(
            (restart.stream, restart.at) == (alarm.stream, alarm.end) for restart in restarts
        )
        state, ended = ("rebased" if rebased else "resolved"), table.times[alarm.end]
    since = table.times[alarm.since]
    reason = _reason(alarm, table, stream, series[0], restarts)
    return Alert(name, stream, chunk, since, series, reason, state, ended)


def _reason(
    alarm: Alarm, table: _SeriesTable, stream: str, name: str, restarts: list[Restart]
) -> str:
    since = f"since {table.times[alarm.since]}"
    where = f"{stream}: " if len(table.streams) > 1 else ""
    if name.startswith("form:"):
        return (
            f"{where}the rows no longer look like a mixture of the reference classes {since}: "
            "do not rely on shares and accuracy; label some rows."
        )
    if name.startswith("error:"):
        label = name.removeprefix("error:share:")
        return (
            f"{where}the estimated share of {label!r} is off by another amount than before, "
            f"by the labels that arrived, {since}: renew the reference."
        )
    after = table.mean(
        stream, "accuracy" if name == "floor" else name, alarm.since, alarm.at + 1
    )
    now = f"{after[0]:.1%} [{100 * after[1]:.1f}, {100 * after[2]:.1f}]"
    metric = table.spec.metric_name
    if name == "floor":
        floor = f"below the floor of {table.spec.accuracy_floor:.1%}"
        return f"{where}{metric} is {now}, {floor}, {since}"
    starts = [
        restart.since
        for restart in restarts
        if restart.at < alarm.at and restart.stream == alarm.stream
    ]
    before = table.mean(stream, name, max(starts, default=0), alarm.since)
    what = metric if name == "accuracy" else f"share of {name.removeprefix('share:')!r}"
    verb = "rose" if after[0] > before[0] else "fell"
    changed = [
        table.summaries.get((time, stream)) for time in table.times[alarm.since : alarm.at + 1]
    ]
    doubt = ""
    if any(summary is not None and summary.is_broken for summary in changed):
        doubt = (
            "; do not rely on it, as the rows do not look like a mixture of the reference "
            "classes: label some"
        )
    return f"{where}{what} {verb} from {before[0]:.1%} to {now} {since}{doubt}"
