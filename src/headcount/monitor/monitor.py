"""Monitor of a classifier in production: shares and accuracy over time, and alerts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from headcount._support.documentation import documented
from headcount._support.execution import check_fork
from headcount._support.files import locked, new_folder, write_bytes
from headcount._support.parameters import check_choice, check_count
from headcount._support.text import ShownAsPrinted
from headcount.accuracy.metrics import METRIC_NAMES, RANKINGS
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts
from headcount.monitor.deliveries import Delivery, MonitorSpec, as_frame, read_delivery
from headcount.monitor.folder import Chunk, ChunkSummary, MonitorFolder
from headcount.monitor.history import Alert, MonitorHistory, MonitorStatus
from headcount.monitor.reference import MonitorReference, read_reference
from headcount.monitor.series import ChunkSummaries
from headcount.monitor.updates import Update, find_additions
from headcount.tables.columns import check_order
from headcount.tables.model_files import load_model, save_model
from headcount.tables.models import TableModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Seconds to wait for another update, to note that somebody was told about an alert.
_NOTICE_WAIT = 60.0


class Monitor(ShownAsPrinted):
    """Shares and accuracy of chunks over time, with alerts when they have changed.

    The monitor lives in a folder. Each update adds rows to chunks and estimates them: shares
    of the classes, accuracy of the classifier, and the assumption test. A detector
    compares each chunk with all earlier ones, and raises an alert on a change. Without
    changes, the mean number of chunks between alerts is at least `false_alarms`, over all
    groups together.

    Make one by `create`, and open it later by `open`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> rng = np.random.default_rng(0)
    >>> def scored(n, share):
    ...     fraud = rng.random(n) < share
    ...     return pl.DataFrame({
    ...         "fraud": rng.beta(1 + 3 * fraud, 1 + 3 * ~fraud),
    ...         "label": np.where(fraud, "fraud", "ok"),
    ...     })
    >>> def day(date, share):
    ...     return scored(500, share).drop("label").with_columns(day=pl.lit(date))
    >>> folder = tempfile.mkdtemp()
    >>> monitor = hc.Monitor.create(f"{folder}/watch", scored(2000, 0.3), target="label",
    ...     by="day", compare_reference=False)
    >>> dates = [f"2026-03-{number:02d}" for number in range(1, 21)]
    >>> _ = monitor.update(pl.concat(day(date, 0.1) for date in dates))
    >>> monitor.status().open
    ()
    >>> found = monitor.update(pl.concat(day(f"2026-04-0{k}", 0.3) for k in (1, 2, 3)))
    >>> found.alerts[0].since
    '2026-04-01'
    """

    def __init__(self, folder: MonitorFolder, spec: MonitorSpec, wait: float = 0) -> None:
        check_fork()
        self._folder, self._spec, self._wait = folder, spec, wait

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        reference: Any,
        *,
        target: Any = None,
        by: str | None = None,
        chunk_size: int | None = None,
        date_column: str | None = None,
        group: str | None = None,
        key: str | None = None,
        prediction: str | None = None,
        verdict: str | None = None,
        method: str = "PACC",
        metric: str = "accuracy",
        accuracy_floor: float | None = None,
        false_alarms: float = 365,
        labels: str = "complete",
        maturity: int = 0,
        separator: str | None = None,
        date_order: str | None = None,
        compare_reference: bool = True,
        dates: ArrayLike | None = None,
    ) -> Monitor:
        """Create a monitor in a new folder.

        Parameters
        ----------
        path : str or path
            Folder of the monitor; it must not exist, or be empty.
        reference : frame or path, Scored, Verdicts, or model
            Labelled items that the classifier was not trained on: a table with its posteriors
            (one column named after each class, or one for the positive class) or its decisions
            (named by `verdict`), or the same as `Scored` or `Verdicts`. For items that
            headcount scores itself, a model: file written by `Analysis.save`, or
            ``Analysis.model``. If a table has the column of the dates, what held in its
            periods decides: estimates follow the history, and alerts mean more than the
            change that was usual between its periods.
        target : str or array-like of shape (n,)
            Column of the labels; the labels, for `Scored` and `Verdicts`.
        by : {"year", "quarter", "month", "week", "day"} or str, default=None
            Period of a chunk, or a column with the name of the chunk; names are sorted.
        chunk_size : int, default=None
            Instead of `by`: number of rows of a chunk, in the order of delivery.
        date_column : str, default=None
            Column of the dates; needed if there are several.
        group : str, default=None
            Column of groups that are watched one by one, such as regions.
        key : str, default=None
            Column that identifies a row, for late labels and for rows that are delivered
            twice. By default a row is identified by its content.
        prediction : str, default=None
            Column of the predicted classes; by default the likeliest class.
        verdict : str, default=None
            Column of the decisions, if there are no posteriors.
        method : str, default="PACC"
            Quantifier of the estimates; decisions are always counted with `ACC`. Changes are
            detected in adjusted counts, whatever the method.
        metric : str, default="accuracy"
            Measure in `headcount.accuracy.METRIC_NAMES`.
        accuracy_floor : float, default=None
            Raise an alert also if the measure is below this value.
        false_alarms : float, default=365
            Mean number of chunks between false alarms, over all groups together.
        labels : {"complete", "random"}, default="complete"
            Rows that get labels: in the end all, or a random sample of each chunk. Estimates
            of chunks with at least 20 labels of a random sample rest on these labels, and are
            valid whatever has changed.
        maturity : int, default=0
            Number of later chunks after which complete labels count, as the first labels to
            arrive are not a random sample.
        separator : str, default=None
            Separator of columns in CSV files.
        date_order : {"day-first", "month-first"}, default=None
            How dates such as 05/06/2024 are read; by default as other dates of a file show.
        compare_reference : bool, default=True
            Raise an alert also if shares, accuracy or scores of the first ten chunks differ
            from those of the reference. Pass False if the mix of the reference is not the usual
            one, as when it was sampled by class. With `group` only the scores are compared.
        dates : array-like of shape (n,), default=None
            With `Scored` or `Verdicts`: date of each item of the reference, which says what
            held in its periods.
        """
        path = Path(path)
        _check_new(path, by, chunk_size, metric, labels, false_alarms)
        spec = MonitorSpec(
            "scores",
            (),
            "",
            prediction=prediction or "",
            by=by or "",
            date=date_column or "",
            chunk_size=0 if chunk_size is None else check_count("`chunk_size`", chunk_size, 2),
            group=group or "",
            key=key or "",
            method=method,
            metric=metric,
            accuracy_floor=-1.0 if accuracy_floor is None else float(accuracy_floor),
            false_alarms=float(false_alarms),
            labels=check_choice("`labels`", labels, ("complete", "random")),
            maturity=check_count("`maturity`", maturity, 0),
            compare_reference=bool(compare_reference),
            date_order=check_order(date_order) or "",
        )
        spec, labelled, model = read_reference(
            spec, reference, target, verdict, separator, dates
        )
        ChunkSummaries(spec, labelled).check()
        with new_folder(path) as partial:
            write_bytes(partial / "reference.parquet", labelled.to_bytes())
            if model is not None:
                save_model(model, partial / "model.skops")
            folder = MonitorFolder(partial, spec.chunk_size, bool(spec.key))
            spec = replace(spec, checksum=folder.checksum())
            write_bytes(partial / "spec.toml", spec.to_toml().encode())
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, wait: float = 0) -> Monitor:
        """Open the monitor in a folder.

        Parameters
        ----------
        path : str or path
            The folder.
        wait : float, default=0
            Seconds to wait while another process writes to the folder.
        """
        path = Path(path)
        spec = MonitorSpec.read(path / "spec.toml")
        return cls(MonitorFolder(path, spec.chunk_size, bool(spec.key)), spec, wait)

    @property
    def spec(self) -> MonitorSpec:
        """Settings."""
        return self._spec

    @property
    def path(self) -> Path:
        """Folder."""
        return self._folder.path

    def update(
        self,
        new: Any = None,
        labels: Any = None,
        *,
        dates: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        keys: ArrayLike | None = None,
        separator: str | None = None,
    ) -> Update:
        """Add rows, labels or both. The same rows a second time change nothing.

        Parameters
        ----------
        new : frame, path, Scored or Verdicts, default=None
            New rows. Those of earlier chunks revise them. A row that has a label in the column
            of the labels brings that as well.
        labels : frame, path or array-like, default=None
            Labels: a table with the key column and the column of the labels, or with `Scored`
            or `Verdicts` one label per row of `new` (None if unknown).
        dates, groups, keys : array-like of shape (n,), default=None
            With `Scored` or `Verdicts`: date, group and key of each row.
        separator : str, default=None
            Separator of columns in CSV files.
        """
        if new is None and labels is None:
            raise HeadcountError("Pass `new` rows, `labels`, or both.")
        row_labels = None
        if isinstance(new, Scored | Verdicts):
            row_labels, labels = labels, None
        new = as_frame(
            new,
            classes=np.asarray(self._spec.classes),
            dates=dates,
            groups=groups,
            keys=keys,
            labels=row_labels,
        )
        with self._locked() as summaries:
            before = {alert.name: alert for alert in self._history(summaries).alerts}
            delivery = Delivery([], ())
            if new is not None:
                delivery = read_delivery(self._spec, self._model, new, separator)
            additions = find_additions(self._folder, self._spec, delivery, labels, separator)
            additions.write(self._folder)
            history = self._history(self._summaries.complete(self._folder))
            self._folder.pack()
        changed = tuple(
            alert for alert in history.alerts
            if alert.name not in before or before[alert.name].state != alert.state
        )  # fmt: skip
        return Update(additions.names, changed, (*delivery.notes, *additions.notes))

    def acknowledge(self, alert: str | None = None) -> None:
        """Note that open alerts have been seen: they no longer count as open.

        Parameters
        ----------
        alert : str, default=None
            Name of the alert; all open ones by default.
        """
        with self._locked() as summaries:
            open_alerts = self._history(summaries).status().open
            named = [item for item in open_alerts if alert in (None, item.name)]
            if alert is not None and not named:
                open_names = ", ".join(repr(item.name) for item in open_alerts) or "none"
                raise HeadcountError(f"`alert` is {alert!r}; open alerts are: {open_names}.")
            for item in named:
                self._folder.add_event(item.to_event("acknowledge"))

    def unnotified(self) -> tuple[Alert, ...]:
        """Open alerts that nobody was told about: see `notified`."""
        notices = [event for event in self._folder.events() if event["kind"] == "notified"]
        alerts = self.status().open
        return tuple(
            alert for alert in alerts if not any(alert.is_of(event) for event in notices)
        )

    def notified(self, alert: Alert) -> None:
        """Note that somebody was told about an alert.

        Parameters
        ----------
        alert : Alert
            One of `unnotified`.
        """
        with locked(self.path / "lock", max(self._wait, _NOTICE_WAIT)):
            self._folder.add_event(alert.to_event("notified"))

    def rebase(self, chunk: str | None = None, *, group: str | None = None) -> None:
        """Accept a change: from a chunk on, later chunks are compared with the new level.

        Parameters
        ----------
        chunk : str, default=None
            First chunk of the new level; by default the first changed chunk of the alerts
            that are open.
        group : str, default=None
            Group; all by default.
        """
        with self._locked() as summaries:
            history = self._history(summaries)
            streams = {item.stream for item in history.chunks}
            if group is not None and group not in streams:
                raise HeadcountError(f"`group` is {group!r}, of which there are no rows.")
            if chunk is None:
                active = [a for a in history.alerts if a.active and group in (None, a.stream)]
                if not active:
                    raise HeadcountError("No alert is open: name the `chunk` to begin with.")
                starts = {alert.stream: alert.since for alert in active}
            else:
                names = sorted({item.name for item in history.chunks})
                if chunk not in names:
                    raise HeadcountError(
                        f"`chunk` is {chunk!r}, of which there are no rows; the last one is "
                        f"{names[-1] if names else 'none'}."
                    )
                starts = dict.fromkeys(sorted(streams if group is None else {group}), chunk)
            for stream, name in starts.items():
                event = {"kind": "rebase", "stream": stream, "chunk": name}
                self._folder.add_event({**event, "last": history.times[-1]})

    @documented(update)
    def replay(self, history: Any, *, separator: str | None = None) -> Monitor:
        """Try the monitor on rows of the past, without a trace in its folder.

        Parameters
        ----------
        history : frame or path
            Rows of the past, with the columns of new rows.

        Returns
        -------
        Monitor
            A monitor in a temporary folder, which is removed with it.
        """
        path = Path(mkdtemp(prefix="headcount-monitor-"))
        for name in ("spec.toml", "reference.parquet", "model.skops"):
            if (self.path / name).exists():
                write_bytes(path / name, (self.path / name).read_bytes())
        monitor = type(self).open(path)
        finalize(monitor, rmtree, path, ignore_errors=True)
        monitor.update(history, separator=separator)
        return monitor

    def status(self) -> MonitorStatus:
        """State after the last chunk: open alerts and the latest values.

        Returns
        -------
        MonitorStatus
            Prints as a few lines.
        """
        return self._history().status()

    def alerts(self) -> tuple[Alert, ...]:
        """All alerts, in the order of time."""
        return self._history().alerts

    def to_frame(self) -> pl.DataFrame:
        """Table of the chunks, one row per chunk and group.

        Returns
        -------
        polars.DataFrame
            Columns group, chunk, items, missing, for each class share, low, high and realised
            share, accuracy with its ends and realised value, fit_p_value, evidence of the
            detector, alert, and notes.
        """
        return self._history().to_frame()

    def to_prometheus(self) -> str:
        """Return the values of the last chunk of each group, in Prometheus' text format."""
        return self._history().to_prometheus(self.path.resolve().name)

    def plot(self, *, group: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw shares over time with intervals, and mark alerts.

        Parameters
        ----------
        group : str, default=None
            Group; the first one by default.
        ax : matplotlib Axes, default=None
            Axes to draw on. By default those of a new figure.
        """
        return _plotted(self._history(), group, ax)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page with the timeline and the alerts.

        Parameters
        ----------
        path : str or path
            HTML file.
        """
        from headcount.monitor.report import monitor_page

        monitor_page(self._history()).write(path)

    def __repr__(self) -> str:
        return f"Monitor({str(self.path)!r})\n{self.status()}"

    @contextmanager
    def _locked(self) -> Iterator[dict[Chunk, ChunkSummary]]:
        """Lock the folder; gives the summaries of all chunks."""
        with locked(self.path / "lock", self._wait):
            self._folder.clean()
            self._check_reference()
            yield self._summaries.complete(self._folder)

    def _check_reference(self) -> None:
        if self._folder.checksum() != self._spec.checksum:
            raise HeadcountError(
                f"The reference or the model of the monitor in {str(self.path)!r} is not the "
                "one it was created with: restore it, or create a new monitor."
            )

    @cached_property
    def _reference(self) -> MonitorReference:
        self._check_reference()
        return MonitorReference.from_bytes((self.path / "reference.parquet").read_bytes())

    @cached_property
    def _model(self) -> TableModel | None:
        if self._spec.kind != "items":
            return None
        model = load_model(self.path / "model.skops")
        assert isinstance(model, TableModel)
        return model

    @cached_property
    def _summaries(self) -> ChunkSummaries:
        return ChunkSummaries(self._spec, self._reference)

    def _history(self, summaries: dict[Chunk, ChunkSummary] | None = None) -> MonitorHistory:
        """Course of the monitor; by default without chunks that have no summary yet."""
        if summaries is None:
            chunks = self._folder.chunks()
            stored = self._folder.summaries(chunks)
            summaries = {chunk: stored[chunk] for chunk in chunks if chunk in stored}
        series, start = self._summaries.series, self._summaries.start
        events, past = self._folder.events(), self._summaries.past
        return MonitorHistory.of(self._spec, series, start, past, summaries, events)


def _check_new(
    path: Path,
    by: str | None,
    chunk_size: int | None,
    metric: str,
    labels: str,
    false_alarms: float,
) -> None:
    """Raise an error if a monitor cannot be created here, or with these settings."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise HeadcountError(
            f"{str(path)!r} exists already: choose a new folder, or open the monitor in it."
        )
    if (by is None) == (chunk_size is None):
        raise HeadcountError("Pass one of `by`, such as day, and `chunk_size`, such as 1000.")
    check_choice("`metric`", metric, METRIC_NAMES)
    if metric in RANKINGS and labels == "random":
        raise HeadcountError(
            f"`metric` is {metric!r}, which labels of a random sample do not correct: "
            "choose another, such as accuracy, or complete `labels`."
        )
    if false_alarms < 1:
        raise HeadcountError(
            f"`false_alarms` is {false_alarms!r}; it must be at least 1: a false alarm in "
            "so many chunks."
        )


def _plotted(history: MonitorHistory, group: str | None, ax: Axes | None) -> Axes:
    """Draw the shares of a group over time; alerts are dotted lines with the time since."""
    from headcount import plots

    streams = history.streams
    if not streams:
        raise HeadcountError("The monitor has no chunks yet: update it first.")
    stream = streams[0] if group is None else group
    if stream not in streams:
        raise HeadcountError(f"`group` is {group!r}; it must be one of {', '.join(streams)}.")
    frame = history.share_frame(stream)
    ax = plots.by_group(frame, labels={"reference": "realised"}, ax=ax, width=8.0)
    names = frame["group"].unique(maintain_order=True).to_list()
    for alert in history.alerts:
        if alert.stream == stream:
            since, at = names.index(alert.since), names.index(alert.chunk)
            ax.axvline(at, color="0.3", linestyle=":")
            ax.axvspan(since, at, color="0.5", alpha=0.15)
    return ax
