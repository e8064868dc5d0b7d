"""``headcount monitor``: options in, text and exit code out."""

from __future__ import annotations

import json as json_text
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as shared
from headcount.cli.options import flag, option

if TYPE_CHECKING:
    from headcount.monitor.history import MonitorStatus
    from headcount.monitor.monitor import Monitor
    from headcount.monitor.updates import Update

monitor = typer.Typer(
    name="monitor",
    help="Watch shares and accuracy over time; exit code 3 while an alert is open.",
    no_args_is_help=True,
)

_WATCH = Annotated[Path, typer.Argument(metavar="WATCH", help="Folder of the monitor.")]
_REPORT = Annotated[Path | None, option("Write a page with the timeline, as HTML.")]
_PROM = Annotated[Path | None, option("Write the latest values as a Prometheus text file.")]


_REFERENCE = Annotated[
    Path,
    typer.Argument(
        metavar="REFERENCE",
        help="Labelled table with the classifier's posteriors or decisions, or a .skops "
        "file that headcount estimate --save wrote.",
    ),
]
_BY = Annotated[str | None, option("Period of a chunk: day, week, month ...; or a column.")]
_GROUP = Annotated[str | None, option("Column of groups that are watched one by one.")]
_VERDICT = Annotated[str | None, option("Column of decisions, if there are no posteriors.")]
_ACCURACY_FLOOR = Annotated[float | None, option("Raise an alert below this value, too.")]
_LABELS = Annotated[str, option("Rows that get labels: complete (in the end all), or random.")]
_COMPARE_REFERENCE = Annotated[
    bool,
    flag(
        "--compare-reference/--no-compare-reference",
        "Raise an alert also if the first chunks differ from the reference.",
    ),
]


@monitor.command()
def create(
    watch: _WATCH,
    reference: _REFERENCE,
    target: Annotated[str | None, option("Column of the labels in the reference.")] = None,
    by: _BY = None,
    chunk_size: Annotated[int | None, option("Instead of --by: rows of a chunk.")] = None,
    date_column: Annotated[str | None, option("Column of the dates.")] = None,
    group: _GROUP = None,
    key: Annotated[str | None, option("Column that identifies a row, for late labels.")] = None,
    prediction: Annotated[str | None, option("Column of the predicted classes.")] = None,
    verdict: _VERDICT = None,
    method: Annotated[str, option("Quantifier.")] = "PACC",
    metric: Annotated[str, option("Measure of accuracy.")] = "accuracy",
    accuracy_floor: _ACCURACY_FLOOR = None,
    false_alarms: Annotated[float, option("Mean number of chunks between false alarms.")] = 365,
    labels: _LABELS = "complete",
    maturity: Annotated[int, option("Later chunks after which labels are complete.")] = 0,
    separator: shared.SEPARATOR = None,
    date_order: shared.DATE_ORDER = None,
    compare_reference: _COMPARE_REFERENCE = True,
) -> str:
    """Create a monitor in a new folder."""
    options = locals()
    from headcount.monitor.monitor import Monitor

    Monitor.create(watch, **shared.arguments(Monitor.create, options))
    return f"created {watch}: go on with headcount monitor update {watch} NEW"


_NEW = Annotated[
    list[Path] | None, typer.Argument(metavar="[NEW]...", help="Tables of new rows.")
]
_LABELS_OF_UPDATE = Annotated[
    Path | None, option("Table with the key column and labels that came later.")
]
_ON_ALERT = Annotated[
    str | None,
    option(
        "Run a command for each open alert until it succeeds once, with the alert as JSON "
        "on its input.",
        "COMMAND",
    ),
]


@monitor.command()
def update(
    watch: _WATCH,
    new: _NEW = None,
    labels: _LABELS_OF_UPDATE = None,
    report: _REPORT = None,
    prom: _PROM = None,
    on_alert: _ON_ALERT = None,
    wait: Annotated[float, option("Seconds to wait for another update.", min=0)] = 0,
    separator: shared.SEPARATOR = None,
    json: shared.JSON = False,
) -> tuple[str, int]:
    """Add rows or labels; the same rows a second time change nothing."""
    from headcount.monitor.monitor import Monitor

    opened = Monitor.open(watch, wait=wait)
    updates: list[Update] = []
    try:
        for table in new or ():
            updates.append(opened.update(table, separator=separator))
        if labels is not None or not updates:
            updates.append(opened.update(None, labels, separator=separator))
    finally:
        # Also if a later table is refused, or if an earlier process was killed before this.
        if on_alert is not None:
            _run_hook(on_alert, opened)
    _write(opened, report, prom)
    state = opened.status()
    if json:
        lines = [json_text.dumps(done.to_dict(), ensure_ascii=False) for done in updates]
    else:
        changed = {alert.name for done in updates for alert in done}
        lines = [str(done) for done in updates]
        earlier = [alert for alert in state.open if alert.name not in changed]
        lines += [f"still open: {alert.reason}" for alert in earlier]
    return "\n".join(lines), _code(state)


@monitor.command()
def status(
    watch: _WATCH, report: _REPORT = None, prom: _PROM = None, json: shared.JSON = False
) -> tuple[str, int]:
    """Print open alerts and the state of the detector."""
    from headcount.monitor.monitor import Monitor

    opened = Monitor.open(watch)
    _write(opened, report, prom)
    state = opened.status()
    text = json_text.dumps(state.to_dict(), ensure_ascii=False) if json else str(state)
    return text, _code(state)


_ALERT = Annotated[
    str | None, typer.Argument(metavar="[ALERT]", help="Name of the alert; all by default.")
]


@monitor.command()
def ack(
    watch: _WATCH,
    alert: _ALERT = None,
) -> tuple[str, int]:
    """Note that alerts have been seen."""
    from headcount.monitor.monitor import Monitor

    opened = Monitor.open(watch)
    opened.acknowledge(alert)
    state = opened.status()
    return str(state), _code(state)


_CHUNK = Annotated[
    str | None, typer.Argument(metavar="[CHUNK]", help="First chunk of the new level.")
]


@monitor.command()
def rebase(
    watch: _WATCH,
    chunk: _CHUNK = None,
    group: Annotated[str | None, option("Group; all of them by default.")] = None,
) -> tuple[str, int]:
    """Accept a change: later chunks are compared with the new level."""
    from headcount.monitor.monitor import Monitor

    opened = Monitor.open(watch)
    opened.rebase(chunk, group=group)
    state = opened.status()
    return str(state), _code(state)


_HISTORY = Annotated[Path, typer.Argument(metavar="HISTORY", help="Table of rows of the past.")]


@monitor.command()
def replay(
    watch: _WATCH,
    history: _HISTORY,
    report: _REPORT = None,
    separator: shared.SEPARATOR = None,
    json: shared.JSON = False,
) -> str:
    """Show the alerts that rows of the past would have raised; the monitor is unchanged."""
    from headcount._support.text import printable
    from headcount.monitor.monitor import Monitor

    replayed = Monitor.open(watch).replay(history, separator=separator)
    _write(replayed, report, None)
    alerts = replayed.alerts()
    if json:
        return json_text.dumps([alert.to_dict() for alert in alerts], ensure_ascii=False)
    n, s = len(replayed.to_frame()), "" if len(alerts) == 1 else "s"
    lines = [f"{printable(alert.name)} ({alert.state}): {alert.reason}" for alert in alerts]
    return "\n".join([f"{n:,} chunks, {len(alerts)} alert{s}", *lines])


def _code(state: MonitorStatus) -> int:
    return shared.ALERT if state.open else shared.DONE


def _write(opened: Monitor, report: Path | None, prom: Path | None) -> None:
    if report is not None:
        opened.report(report)
    if prom is not None:
        from headcount._support.files import write_bytes

        write_bytes(prom, opened.to_prometheus().encode())


def _run_hook(command: str, opened: Monitor) -> None:
    """Run a command for each open alert for which none has succeeded yet."""
    from headcount.errors import warn

    for alert in opened.unnotified():
        text = json_text.dumps(alert.to_dict(), ensure_ascii=False) + "\n"
        done = subprocess.run(command, shell=True, input=text, text=True, check=False)
        if done.returncode:
            warn(
                f"the command of --on-alert ended with exit code {done.returncode}: the next "
                "update runs it again."
            )
        else:
            opened.notified(alert)
