"""Studies from the command line: list, run, look, report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headcount.cli.writing import lay_out, printable
from headcount.data.datasets.folder import data_folder
from headcount.errors import HeadcountError
from headcount.study.kinds import datasets_there
from headcount.study.run import StudyRun, run_study
from headcount.study.spec import Spec, built_in_specs, read_spec
from headcount.study.status import Failure, Status
from headcount.study.store import Store

__all__ = ["RunWishes", "list_studies", "run_spec", "show_status", "write_report"]

_MOST_SHOWN = 20


@dataclass(frozen=True)
class RunWishes:
    """What was asked for on the command line; see ``headcount study run --help``."""

    spec: str
    store: Path | None = None
    data: Path | None = None
    datasets: str | None = None
    methods: str | None = None
    workers: int | None = None
    scheduler: str | None = None
    resume: bool = False


def list_studies(*, data: Path | None = None, as_json: bool = False) -> str:
    """The built-in studies, their size, and how many of their datasets are there.

    Parameters
    ----------
    data : Path, default=None
        Folder of the datasets.
    as_json : bool, default=False
        For machines.

    Returns
    -------
    str
    """
    folder = _folder(data)
    listed = [_listed(read_spec(name), folder) for name in built_in_specs()]
    if as_json:
        return json.dumps(listed, ensure_ascii=False, indent=2)
    rows = [
        [
            each["name"],
            each["title"],
            *map(str, (each["datasets"], each["methods"])),
            "?" if each["there"] is None else str(len(each["there"])),
        ]
        for each in listed
    ]
    head = ["study", "title", "datasets", "methods", "datasets there"]
    where = "no folder: set HEADCOUNT_DATA or add --data" if folder is None else str(folder)
    return f"{lay_out(head, rows, 2)}\n\nDatasets: {printable(where)}"


def _folder(data: Path | None) -> Path | None:
    """The folder of the datasets; only one that was named has to be there."""
    try:
        return data_folder(data)
    except HeadcountError:
        if data is not None or os.environ.get("HEADCOUNT_DATA"):
            raise
        return None


def _listed(spec: Spec, data: Path | None) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "paper": spec.paper,
        "kind": spec.kind,
        "datasets": len(spec.datasets),
        "methods": len(spec.methods),
        "there": [] if data is None else datasets_there(spec, data),
    }


def run_spec(wishes: RunWishes, *, as_json: bool = False) -> str:
    """Run a study and say what came of it.

    Parameters
    ----------
    wishes : RunWishes
        What was asked for.
    as_json : bool, default=False
        For machines.

    Returns
    -------
    str
    """
    spec = read_spec(wishes.spec).restricted(methods=_names(wishes.methods, "--methods"))
    try:
        done = run_study(
            spec,
            wishes.store or Path(f"{spec.name}-results"),
            data=wishes.data,
            workers=wishes.workers,
            scheduler=wishes.scheduler,
            resume=wishes.resume,
            datasets=_names(wishes.datasets, "--datasets"),
        )
    except KeyboardInterrupt as stopped:
        if stopped.args:
            sys.stderr.write(f"headcount: {printable(stopped)}\n")
        raise
    return json.dumps(_facts(done), indent=2, ensure_ascii=False) if as_json else _told(done)


def _names(given: str | None, option: str) -> list[str] | None:
    if given is None:
        return None
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise HeadcountError(f"{option} is {given!r}; it must name at least one.")
    return names


def _facts(done: StudyRun) -> dict[str, Any]:
    facts = asdict(done) | {"store": str(done.store.folder)}
    return facts | {"failures": [asdict(each) for each in done.failures]}


def _told(done: StudyRun) -> str:
    there = done.tasks - done.done - len(done.failures)
    pace = f" ({done.runs / done.seconds:,.0f} a second)" if done.runs else ""
    lines = [
        f"{done.done} of {done.tasks} tasks done now, {there} before; {done.runs:,} runs in "
        f"{_clock(done.seconds)}{pace}."
    ]
    if done.failed_runs:
        lines += [f"{done.failed_runs:,} runs failed: see headcount study status."]
    if done.failures:
        lines += [f"{len(done.failures)} tasks failed; --resume tries them again:"]
        lines += _failure_lines(done.failures)
    return "\n".join([*lines, f"Results: {done.store.folder.resolve()}"])


def show_status(store: Path, *, as_json: bool = False) -> str:
    """How far a study has come.

    Parameters
    ----------
    store : Path
        Folder that it is written to.
    as_json : bool, default=False
        For machines.

    Returns
    -------
    str
    """
    there = Store(store)
    spec, status = there.spec, there.status()
    if as_json:
        return json.dumps(_status_facts(spec, status), indent=2, ensure_ascii=False)
    rows = [
        [
            each.dataset,
            *map(str, (each.tasks, each.done, each.failed, each.missing)),
            f"{each.runs:,}",
            f"{each.seconds:,.1f}",
        ]
        for each in status.datasets
    ]
    head = ["dataset", "tasks", "done", "failed", "missing", "runs", "seconds"]
    pace = status.runs_per_second
    lines = [
        f"{spec.name}: {status.done} of {status.tasks} tasks done, {status.failed} failed, "
        f"{status.missing} missing.",
        f"{status.runs:,} runs in {_clock(status.seconds)}"
        + ("." if pace is None else f", {pace:,.0f} a second."),
        "",
        lay_out(head, rows, 1),
    ]
    if status.failures:
        lines += ["", "Failures:", *_failure_lines(status.failures)]
    return "\n".join(lines)


def _status_facts(spec: Spec, status: Status) -> dict[str, Any]:
    totals = ("tasks", "done", "failed", "missing", "runs", "runs_per_second")
    return {
        "study": spec.name,
        **{name: getattr(status, name) for name in totals},
        **asdict(status),
    }


def _failure_lines(failures: Sequence[Failure]) -> list[str]:
    """One line a failure; the same reason over and over is said once a dataset and method."""
    grouped: dict[tuple[str, str, str], list[Failure]] = {}
    for each in failures:
        what = each.method or "whole tasks"
        grouped.setdefault((each.dataset, what, each.reason), []).append(each)
    lines = []
    for (dataset, what, reason), group in list(grouped.items())[:_MOST_SHOWN]:
        runs = sum(each.runs for each in group)
        which = f" ({group[0].task})" if len(group) == 1 and group[0].task else ""
        lines.append(printable(f"  {dataset}, {what}{which}, {runs:,} runs: {reason}"))
    more = len(grouped) - _MOST_SHOWN
    return [*lines, f"  and {more} more: add --json to see all"] if more > 0 else lines


def write_report(
    store: Path, *, output: Path | None, published: Path | None, as_json: bool = False
) -> str:
    """Write the tables and figures of a study.

    Parameters
    ----------
    store : Path
        Folder of its results.
    output : Path or None
        Folder for the report; ``report`` inside the store by default.
    published : Path or None
        Folder of published figures.
    as_json : bool, default=False
        For machines.

    Returns
    -------
    str
    """
    from headcount.report.study_page import write_study

    there = Store(store)
    folder = output or store / "report"
    written = write_study(there, folder, published=published)
    if as_json:
        return json.dumps(
            {
                "study": there.spec.name,
                "page": str(written.page),
                "tables": list(map(str, written.tables)),
                "figures": list(map(str, written.figures)),
            },
            indent=2,
        )
    return (
        f"Page: {written.page.resolve()}\nBeside it: {len(written.tables)} files of tables, "
        f"{len(written.figures)} figures"
    )


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
