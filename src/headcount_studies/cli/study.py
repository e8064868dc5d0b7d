"""``headcount study``: options in, text out."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount._support.text import printable, text_table
from headcount.cli.options import DONE, INCOMPLETE, JSON
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from headcount_studies.engine.run import StudyRun
    from headcount_studies.engine.store import Failure

study = typer.Typer(
    name="study",
    help="Rerun published experiments, or your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_DATA = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the datasets; HEADCOUNT_DATA by default."),
]
_SPEC = Annotated[
    str, typer.Argument(metavar="SPEC", help="A name of study list, or a TOML file.")
]
_STORE = Annotated[
    Path, typer.Argument(metavar="STORE", help="Folder that study run wrote to.")
]
_ALLOW_IMPORTS = Annotated[
    bool,
    typer.Option(
        "--allow-imports",
        help="Import classes that the spec names from any package, which runs its code.",
    ),
]
_ONLY = "Only these, with commas between them."
_MOST_SHOWN = 20


@study.command("list")
def list_(data: _DATA = None, json: JSON = False) -> str:
    """List the studies that come with headcount."""
    from headcount_studies.engine.spec import built_in_specs, read_spec
    from headcount_studies.engine.task import datasets_there

    folder = _folder(data)
    listed: list[dict[str, Any]] = [
        {
            **{name: getattr(spec, name) for name in ("name", "title", "paper", "kind")},
            "datasets": len(spec.datasets),
            "methods": len(spec.methods),
            "there": [] if folder is None else datasets_there(spec, folder),
        }
        for spec in map(read_spec, built_in_specs())
    ]
    if json:
        return json_text.dumps(listed, ensure_ascii=False, indent=2)
    rows = [
        [
            entry["name"],
            entry["title"],
            *map(str, (entry["datasets"], entry["methods"])),
            "?" if entry["there"] is None else str(len(entry["there"])),
        ]
        for entry in listed
    ]
    head = ["study", "title", "datasets", "methods", "datasets there"]
    where = "no folder: set HEADCOUNT_DATA or add --data" if folder is None else str(folder)
    return "\n".join([*text_table(head, rows, n_texts=2), "", f"Datasets: {printable(where)}"])


@study.command("data")
def data_(
    spec: _SPEC,
    data: _DATA = None,
    json: JSON = False,
) -> tuple[str, int]:
    """Show which files a study needs, where they come from, and check those that are there.

    The exit code is 4 if files are missing or damaged.
    """
    from headcount_studies.data.sources import needed_files
    from headcount_studies.engine.spec import read_spec

    files = needed_files(read_spec(spec), _folder(data))
    code = DONE if all(file.status == "there" for file in files) else INCOMPLETE
    if json:
        listed = [asdict(file) for file in files]
        return json_text.dumps(listed, ensure_ascii=False, indent=2), code
    rows = [[file.file, file.datasets, file.status] for file in files]
    sources = dict.fromkeys((file.what, f"  From: {file.source}") for file in files)
    table = text_table(["file", "datasets", "status"], rows, n_texts=3)
    return "\n".join([*table, "", *map(printable, chain.from_iterable(sources))]), code


@study.command()
def run(
    spec: _SPEC,
    store: Annotated[
        Path | None,
        typer.Option("--store", help="Folder for the results; SPEC-results by default."),
    ] = None,
    data: _DATA = None,
    datasets: Annotated[str | None, typer.Option("--datasets", help=_ONLY)] = None,
    methods: Annotated[str | None, typer.Option("--methods", help=_ONLY)] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; one per core by default.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", help="Run on a Dask cluster instead, such as tcp://host:8786."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue; methods that failed are tried again.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of the study, marked as such.")
    ] = False,
    allow_imports: _ALLOW_IMPORTS = False,
    json: JSON = False,
) -> tuple[str, int]:
    """Run a study, or the rest of it. The exit code is 4 if tasks failed."""
    from headcount_studies.engine.run import run_study
    from headcount_studies.engine.spec import check_imports, read_spec

    study_spec = read_spec(spec)
    if not allow_imports:
        check_imports(study_spec)
    try:
        done = run_study(
            study_spec,
            store or Path(f"{study_spec.name}{'-quick' * quick}-results"),
            data=data,
            workers=workers,
            scheduler=scheduler,
            resume=resume,
            quick=quick,
            datasets=_names(datasets, "--datasets"),
            methods=_names(methods, "--methods"),
        )
    except KeyboardInterrupt as stopped:
        if stopped.args:
            sys.stderr.write(f"headcount: {printable(stopped)}\n")
        raise
    code = INCOMPLETE if done.failures else DONE
    if not json:
        return _summary(done), code
    facts = asdict(done) | {
        "store": str(done.store.folder),
        "failures": [asdict(failure) for failure in done.failures],
    }
    return json_text.dumps(facts, indent=2, ensure_ascii=False), code


@study.command()
def status(store: _STORE, json: JSON = False) -> str:
    """Show the progress of a study, and its failures."""
    from headcount_studies.engine.spec import duration
    from headcount_studies.engine.store import Store

    opened = Store(store)
    spec, progress = opened.spec, opened.status()
    if json:
        totals = ("tasks", "done", "failed", "missing", "runs", "runs_per_second")
        facts = {"study": spec.name, **{name: getattr(progress, name) for name in totals}}
        return json_text.dumps(facts | asdict(progress), indent=2, ensure_ascii=False)
    rows = [
        [
            dataset.dataset,
            *map(str, (dataset.tasks, dataset.done, dataset.failed, dataset.missing)),
            f"{dataset.runs:,}",
            f"{dataset.seconds:,.1f}",
        ]
        for dataset in progress.datasets
    ]
    head = ["dataset", "tasks", "done", "failed", "missing", "runs", "seconds"]
    pace = progress.runs_per_second
    lines = [
        f"{spec.name}{' (quick: a small part)' * spec.is_quick}: {progress.done} of "
        f"{progress.tasks} tasks done, {progress.failed} failed, {progress.missing} missing.",
        f"{progress.runs:,} runs in {duration(progress.seconds)}"
        + ("." if pace is None else f", {pace:,.0f} per second."),
        "",
        *text_table(head, rows),
    ]
    if progress.failures:
        lines += ["", "Failures:", *_failure_lines(progress.failures)]
    return "\n".join(lines)


@study.command()
def report(
    store: _STORE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="Folder for page, tables and figures; STORE/report by default."
        ),
    ] = None,
    published: Annotated[
        Path | None,
        typer.Option("--published", help="Folder of published figures to compare with."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Add a metric, such as nkld; may be repeated."),
    ] = None,
    allow_imports: _ALLOW_IMPORTS = False,
    json: JSON = False,
) -> str:
    """Write tables and figures of a study, as a page, in Markdown and in LaTeX."""
    from headcount_studies.engine.spec import check_imports
    from headcount_studies.engine.store import Store
    from headcount_studies.page import write_study

    opened = Store(store)
    if not allow_imports:
        check_imports(opened.spec)
    written = write_study(
        opened, output or store / "report", published=published, metrics=metric or ()
    )
    if json:
        facts = {
            "study": opened.spec.name,
            "page": str(written.page),
            "tables": list(map(str, written.tables)),
            "figures": list(map(str, written.figures)),
        }
        return json_text.dumps(facts, indent=2)
    return (
        f"Page: {written.page.resolve()}\nIn the same folder: {len(written.tables)} files of "
        f"tables, {len(written.figures)} figures"
    )


def _folder(data: Path | None) -> Path | None:
    """Folder of the datasets; only one that was named has to exist."""
    from headcount_studies.data.folder import data_folder

    try:
        return data_folder(data)
    except HeadcountError:
        if data is not None or os.environ.get("HEADCOUNT_DATA"):
            raise
        return None


def _names(text: str | None, option: str) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise HeadcountError(f"{option} is {text!r}; it must name at least one.")
    return names


def _summary(study: StudyRun) -> str:
    from headcount_studies.engine.spec import duration

    before = study.tasks - study.done - len(study.failures)
    pace = f" ({study.runs / study.seconds:,.0f} per second)" if study.runs else ""
    lines = [
        f"{study.done} of {study.tasks} tasks done now, {before} before; {study.runs:,} runs "
        f"in {duration(study.seconds)}{pace}."
    ]
    if study.failed_runs:
        lines += [f"{study.failed_runs:,} runs failed: see headcount study status."]
    if study.failures:
        lines += [f"{len(study.failures)} tasks failed; --resume tries them again:"]
        lines += _failure_lines(study.failures)
    return "\n".join([*lines, f"Results: {study.store.folder.resolve()}"])


def _failure_lines(failures: Sequence[Failure]) -> list[str]:
    """One line per dataset, method and reason."""
    grouped: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in failures:
        what = failure.method or "whole tasks"
        grouped.setdefault((failure.dataset, what, failure.reason), []).append(failure)
    lines = []
    for (dataset, what, reason), group in list(grouped.items())[:_MOST_SHOWN]:
        runs = sum(failure.runs for failure in group)
        which = f" ({group[0].task})" if len(group) == 1 and group[0].task else ""
        lines.append(printable(f"  {dataset}, {what}{which}, {runs:,} runs: {reason}"))
    more = len(grouped) - _MOST_SHOWN
    return [*lines, f"  and {more} more: add --json to see all"] if more > 0 else lines
