"""Course of a monitor: summaries of all chunks, with the alerts that follow from them.

It is computed from the summaries each time, so that late rows and labels count as if they had
come in time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.stats import chi2

from headcount._support.arrays import Floats
from headcount._support.text import ShownAsPrinted, escaped, printable
from headcount.monitor.deliveries import MonitorSpec
from headcount.monitor.folder import COMPLETE, Chunk, ChunkSummary
from headcount.monitor.series import Alarm, Detection, Restart, WatchedSeries, detect

State = Literal["open", "acknowledged", "resolved", "rebased"]
Start = dict[str, tuple[float, float, float]]
"""Value, unit variance and items of the reference, by the series of the first chunks; under
"reference" with the realised accuracy as the value."""


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
        Series that have changed: "share:CLASS", "accuracy", "form:NUMBER" or "floor"; by
        labels "realised:accuracy", "realised:share:CLASS", "realised:floor" or
        "error:share:CLASS"; "start:" and one of them in the first chunks, compared with the
        reference.
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

    def is_of(self, event: dict[str, Any]) -> bool:
        """Return True if an event is about this change, whose first chunk may have moved."""
        if "stream" not in event:
            return bool(event["alert"] == self.name)
        return (
            event["stream"] == self.stream
            and event["since"] <= self.chunk
            and self.since <= event["chunk"]
            and not set(self.series).isdisjoint(event["series"])
        )

    def to_event(self, kind: str) -> dict[str, Any]:
        """Plain values of an event about this change."""
        names = ("alert", "stream", "since", "chunk", "series")
        values = self.to_dict()
        return {"kind": kind, **{name: values[name] for name in names}}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = vars(self) | {"series": list(self.series)}
        return {"alert": values.pop("name"), **values}


# Chunks of fewer items are put together for the detector.
_LEAST_ITEMS = 50
# Parts of the evidence of a stream. That for labels is free before any arrive, as alerts of the
# past would change otherwise. Labels of random rows are sure to come.
_START_WEIGHT, LABEL_WEIGHT = 0.05, {"complete": 0.3, "random": 0.5}
# Part of the floor in that of the estimates; parts of realised accuracy, floor, realised shares
# and errors of the estimates in that of labels.
_FLOOR_WEIGHT = 0.25
_OF_LABELS = {"accuracy": 0.5, "floor": 0.25, "share": 0.1, "error": 0.15}
# Periods of a reference that show how much series usually vary.
_FEWEST_PERIODS = 5
# Chance that the usual variance is below the one that is used.
_SURE = 0.9


@dataclass(frozen=True, eq=False)
class MonitorStatus(ShownAsPrinted):
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
        alerts = {"open": self.open, "acknowledged": self.acknowledged}
        lists = {name: [alert.to_dict() for alert in group] for name, group in alerts.items()}
        return vars(self) | lists | {"unreliable": list(self.unreliable)}

    def __repr__(self) -> str:
        n = len(self.open)
        alerts = f"{n} alert{'' if n == 1 else 's'} open" if n else "no alert is open"
        last = printable(self.last) or "not there yet"
        head = f"{self.chunks:,} chunks, the last {last}: {alerts}"
        lines = [f"  {printable(alert.name)}: {alert.reason}" for alert in self.open]
        lines += [
            f"  {printable(alert.name)} (acknowledged): {alert.reason}"
            for alert in self.acknowledged
        ]
        if self.unreliable:
            names = ", ".join(map(printable, self.unreliable))
            groups = "" if len(self.unreliable) == 1 else f" ({names})"
            lines.append(
                f"  the last chunk{groups} does not look like a mixture of the reference "
                "classes: do not rely on its shares and accuracy"
            )
        level = f"evidence of a new change {self.evidence:.3g} of {self.false_alarms:g}"
        return "\n".join([head, *lines, level])


@dataclass(frozen=True, eq=False)
class MonitorHistory:
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
        start: Start,
        past: Sequence[ChunkSummary],
        summaries: dict[Chunk, ChunkSummary],
        events: list[dict[str, Any]],
    ) -> MonitorHistory:
        """Detect changes in the summaries, and apply the decisions of people."""
        chunks = tuple(summaries)
        times = tuple(sorted({chunk.name for chunk in chunks}))
        streams = tuple(sorted({chunk.stream for chunk in chunks}))
        table = _SeriesTable.of(spec, series, start, past, summaries, times, streams)
        # Chunks without a summary, whose update was killed, are left out until the next one.
        restarts = [
            Restart(streams.index(event["stream"]), bisect_left(times, event["chunk"]), last)
            for event in events
            if event["kind"] == "rebase" and event["stream"] in streams
            and (last := bisect_right(times, event["last"]) - 1) >= 0
        ]  # fmt: skip
        detection = detect(table.series, spec.false_alarms, restarts)
        acknowledged = [event for event in events if event["kind"] == "acknowledge"]
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

    def to_prometheus(self, monitor: str) -> str:
        """Values of the last chunk of each stream, in Prometheus' text format."""
        monitor_label = f'monitor="{_label(monitor)}"'
        last: dict[str, dict[str, Any]] = {}
        for stream, i in self._last.items():
            estimates = self.summaries[i].estimates
            last[stream] = {"n": self.summaries[i].n} | (vars(estimates) if estimates else {})
        lines = []
        for name, key in (("share", "shares"), ("share_low", "low"), ("share_high", "high")):
            lines.append(f"# TYPE headcount_{name} gauge")
            for stream, summary in last.items():
                for label, value in zip(self.spec.classes, summary.get(key, ()), strict=False):
                    names = f'group="{_label(stream)}",class="{_label(str(label))}"'
                    lines.append(f"headcount_{name}{{{monitor_label},{names}}} {value!r}")
        for name in ("accuracy", "accuracy_low", "accuracy_high", "fit_p_value", "n"):
            lines.append(f"# TYPE headcount_{name} gauge")
            for stream, summary in last.items():
                if (value := summary.get(name)) is not None:
                    names = f'{monitor_label},group="{_label(stream)}"'
                    lines.append(f"headcount_{name}{{{names}}} {value!r}")
        status = self.status()
        for name, value in (("alerts_open", len(status.open)), ("evidence", status.evidence)):
            lines.append(f"# TYPE headcount_{name} gauge")
            lines.append(f"headcount_{name}{{{monitor_label}}} {value!r}")
        return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    """Value of a label in Prometheus' text format."""
    # The format knows no other escapes, so that backslashes of control characters are doubled.
    return escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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
        start: Start,
        past: Sequence[ChunkSummary],
        summaries: dict[Chunk, ChunkSummary],
        times: tuple[str, ...],
        streams: tuple[str, ...],
    ) -> _SeriesTable:
        weights = _weights(spec, dict(series))
        names = list(weights)
        mature = set(times[: len(times) - spec.maturity])
        C, G, T = len(names), len(streams), len(times)
        values, variances, sizes = (np.full((T, G * C), np.nan) for _ in range(3))
        row = {name: i for i, name in enumerate(times)}
        place = {name: i for i, name in enumerate(streams)}
        by_place: dict[tuple[str, str], ChunkSummary] = {}
        for chunk, summary in summaries.items():
            by_place[chunk.name, chunk.stream] = summary
            if not summary.values:
                continue
            # All series of a stream are side by side.
            columns = slice(place[chunk.stream] * C, (place[chunk.stream] + 1) * C)
            counted = spec.labels == "random" or (chunk.name in mature and _complete(summary))
            observed = _observed(spec, summary, names, counted and summary.labelled > 0)
            for table, numbers in zip((values, variances, sizes), observed.T, strict=True):
                table[row[chunk.name], columns] = numbers
        _pool_small(values, variances, sizes)
        kinds = [_kind(name) for name in names]
        families = np.array([kinds.index(kind) for kind in kinds])
        limits = np.array([_limit(spec, name, start) for name in names])
        starts = np.array([start.get(name, (np.nan,) * 3) for name in names])
        watched = WatchedSeries(
            values, variances, sizes, np.repeat(np.arange(G), C), np.tile(families, G),
            np.tile(list(weights.values()), G), np.tile(limits, G), np.tile(starts, (G, 1)),
            np.tile(_usual_variances(spec, past, names), G),
        )  # fmt: skip
        return cls(spec, tuple(names), watched, by_place, times, streams)

    def mean(self, stream: str, name: str, first: int, last: int) -> tuple[float, float, float]:
        """Mean of a share or the accuracy over some times, with its ends."""
        label = None
        if "share:" in name:
            labels = [str(label) for label in self.spec.classes]
            label = labels.index(name.partition("share:")[2])
        summaries = [self.summaries.get((time, stream)) for time in self.times[first:last]]
        present = [summary for summary in summaries if summary is not None]
        if "realised:" in name:
            pairs = [(summary.labelled, _realised(summary, label)[0]) for summary in present]
            labelled = np.array([pair for pair in pairs if pair[0]], np.float64)
            n, shares = labelled.T
            return _with_ends(float(n @ shares), float(n.sum()))
        rows = [
            (summary.n, *summary.estimates.end_points(label))
            for summary in present
            if summary.estimates is not None
        ]
        table = np.array(rows, np.float64)
        middle, low, high = np.average(table[:, 1:], axis=0, weights=table[:, 0])
        return float(middle), float(low), float(high)


def _kind(name: str) -> str:
    """Series of one kind change together: all shares, or all numbers of the form."""
    match = re.match(r"((start|realised|error):)*[a-z]+", name)
    assert match is not None
    return match[0]


def _weights(spec: MonitorSpec, series: dict[str, float]) -> dict[str, float]:
    """Series of a stream with their parts of its evidence, which sum to 1."""
    has_floor = spec.accuracy_floor >= 0
    firsts: list[str] = []
    if spec.compare_reference:
        # Shares and accuracy of a group need not be those of the whole reference.
        firsts = [name for name in series if name.startswith("form:") or not spec.group]
    label_weight = LABEL_WEIGHT[spec.labels]
    part = 1 - label_weight - (_START_WEIGHT if firsts else 0.0)
    of_floor = _FLOOR_WEIGHT if has_floor else 0.0
    weights = {name: part * (1 - of_floor) * weight for name, weight in series.items()}
    if has_floor:
        weights["floor"] = part * of_floor
    weights |= {f"start:{name}": _START_WEIGHT / len(firsts) for name in firsts}
    of_labels = dict(_OF_LABELS)
    if spec.labels == "random":
        of_labels["accuracy"] += of_labels.pop("error")
    if not has_floor:
        of_labels["accuracy"] += of_labels.pop("floor")
    shares = [name for name in series if name.startswith("share:")]
    for kind, weight in of_labels.items():
        if kind in ("accuracy", "floor"):
            weights[f"realised:{kind}"] = label_weight * weight
        else:
            prefix = "realised" if kind == "share" else "error"
            added = label_weight * weight / len(shares)
            weights |= {f"{prefix}:{name}": added for name in shares}
    return weights


def _limit(spec: MonitorSpec, name: str, start: Start) -> float:
    """Value above which a series raises an alert, whatever it was before; NaN for none."""
    floor = spec.accuracy_floor
    if name == "floor":
        estimated, unit, n = start["start:accuracy"]
        # The estimate is off as far as it is in the reference, which is too small to know the
        # accuracy better than this: neither that of its rows nor, if the classes are hard to
        # tell apart, how the scores depend on it.
        off = estimated - start["reference"][0]
        return float(2 * np.sqrt((floor * (1 - floor) + unit) / n) - floor - off)
    if name == "realised:floor":
        return -float(_stable(floor, np.inf) if spec.is_mean else floor)
    return float("nan")


def _stable(share: float, n: float) -> float:
    """Share of a sample on a scale where its variance is 1 / n, and nearly normal."""
    near = share if np.isinf(n) else (share * n + 0.375) / (n + 0.75)
    return 2 * float(np.arcsin(np.sqrt(near)))


def _observed(
    spec: MonitorSpec, summary: ChunkSummary, names: list[str], is_labelled: bool
) -> Floats:
    """Values of the series of one chunk, their variances for one item, and numbers of items."""
    labels = [str(label) for label in spec.classes]
    pairs = zip(summary.values, summary.unit_variances, strict=True)
    rows: dict[str, tuple[float, float, float]] = {}
    for name, (value, unit) in zip(names, pairs, strict=False):
        rows[name] = (value, unit, summary.n)
    for name in names[len(rows) :]:
        kind, _, series = name.partition(":")
        if kind == "floor":
            value, unit, n = rows["accuracy"]
            rows[name] = (-value, unit, n)
        elif kind == "start":
            rows[name] = rows[series]
        elif not is_labelled:
            rows[name] = (np.nan,) * 3
        elif kind == "error":
            value, unit, n = rows[series]
            truth, _ = _realised(summary, labels.index(series.removeprefix("share:")))
            rows[name] = (value - truth, unit, n)
        elif series == "floor":
            value, unit, n = rows["realised:accuracy"]
            rows[name] = (-value, unit, n)
        else:
            label = (
                labels.index(series.removeprefix("share:")) if series != "accuracy" else None
            )
            value, unit = _realised(summary, label)
            if label is not None or spec.is_mean:
                value, unit = _stable(value, summary.labelled), 1.0
            rows[name] = (value, unit, summary.labelled)
    return np.array([rows[name] for name in names], np.float64)


def _usual_variances(
    spec: MonitorSpec, past: Sequence[ChunkSummary], names: list[str]
) -> Floats:
    """Upper ends of the variances between periods of the reference, by series."""
    observed = [_observed(spec, summary, names, is_labelled=True) for summary in past]
    periods = [numbers for numbers in observed if (numbers[:, 2] >= _LEAST_ITEMS).all()]
    if len(periods) < _FEWEST_PERIODS:
        return np.zeros(len(names))
    values, unit, sizes = np.moveaxis(np.stack(periods), 2, 0)
    earlier = np.cumsum(sizes, axis=0)[:-1]
    level = np.cumsum(sizes * values, axis=0)[:-1] / earlier
    by_chance = unit[1:] * (1 / sizes[1:] + 1 / earlier)
    # The mean of t earlier periods varies as well.
    factor = 1 + 1 / np.arange(1, len(periods))[:, None]
    beyond = (((values[1:] - level) ** 2 - by_chance) / factor).mean(axis=0)
    highest = len(level) / chi2.ppf(1 - _SURE, len(level))
    return np.asarray(np.where(np.isfinite(beyond), highest * np.maximum(beyond, 0.0), 0.0))


def _realised(summary: ChunkSummary, label: int | None) -> tuple[Any, Any]:
    """Realised share of a class, or accuracy for None, and the variance of the latter."""
    if label is not None:
        return (None if summary.realised is None else summary.realised[label]), None
    return summary.realised_accuracy, summary.realised_variance


def _with_ends(count: float, n: float) -> tuple[float, float, float]:
    """Share of labelled items with its 95% interval, by the score of the binomial."""
    z, share = 1.959963984540054, count / n
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    width = z * float(np.sqrt(share * (1 - share) / n + (z / 2 / n) ** 2))
    return float(share), float((middle - width) / scale), float((middle + width) / scale)


def _complete(summary: ChunkSummary) -> bool:
    return bool(summary.n and summary.labelled >= COMPLETE * summary.n)


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
    alarm: Alarm,
    table: _SeriesTable,
    restarts: list[Restart],
    acknowledged: list[dict[str, Any]],
) -> Alert:
    stream, C = table.streams[alarm.stream], len(table.names)
    series = tuple(table.names[c % C] for c in alarm.series)
    chunk = table.times[alarm.at]
    name = f"{chunk} {stream}" if table.spec.group else chunk
    since = table.times[alarm.since]
    reason = _reason(alarm, table, stream, series[0], restarts)
    alert = Alert(name, stream, chunk, since, series, reason, "open")
    if alarm.end is None:
        seen = any(alert.is_of(event) for event in acknowledged)
        return replace(alert, state="acknowledged") if seen else alert
    rebased = any(
        (restart.stream, restart.at) == (alarm.stream, alarm.end) for restart in restarts
    )
    ended = table.times[alarm.end]
    return replace(alert, state="rebased" if rebased else "resolved", ended=ended)


def _reason(
    alarm: Alarm, table: _SeriesTable, stream: str, name: str, restarts: list[Restart]
) -> str:
    since = f"since {printable(table.times[alarm.since])}"
    where = f"{printable(stream)}: " if len(table.streams) > 1 else ""
    if "form:" in name:
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
    after = table.mean(stream, name, alarm.since, alarm.at + 1)
    now = f"{after[0]:.1%} [{100 * after[1]:.1f}, {100 * after[2]:.1f}]"
    by_labels = ", by the labels that arrived," if "realised:" in name else ""
    metric = table.spec.metric_name
    if name.endswith("floor"):
        floor = f"below the floor of {table.spec.accuracy_floor:.1%}"
        return f"{where}{metric} is {now}, {floor},{by_labels.lstrip(',')} {since}"
    share = name.partition("share:")[2]
    what = f"share of {share!r}" if "share:" in name else metric
    if name.startswith("start:"):
        return (
            f"{where}{what} is {now} {since}, but {alarm.before[0]:.1%} in the reference: if "
            "that is usual, accept it by rebase."
        )
    starts = [
        restart.since
        for restart in restarts
        if restart.at < alarm.at and restart.stream == alarm.stream
    ]
    before = table.mean(stream, name, max(starts, default=0), alarm.since)
    verb = "rose" if after[0] > before[0] else "fell"
    changed = [
        table.summaries.get((time, stream)) for time in table.times[alarm.since : alarm.at + 1]
    ]
    doubt = ""
    if not by_labels and any(summary and summary.is_broken for summary in changed):
        doubt = (
            "; do not rely on it, as the rows do not look like a mixture of the reference "
            "classes: label some"
        )
    return f"{where}{what} {verb} from {before[0]:.1%} to {now}{by_labels} {since}{doubt}"
