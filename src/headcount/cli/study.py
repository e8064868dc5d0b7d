"""The commands of ``headcount study`` and their options: parsing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["study"]

study = typer.Typer(
    name="study",
    help="Rerun published experiments, or your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_As = typer.Option
_JSON = Annotated[bool, _As("--json", help="Print JSON, for machines.")]
_DATA = Annotated[
    Path | None, _As("--data", help="Folder of the datasets; HEADCOUNT_DATA by default.")
]
_STORE = Annotated[
    Path, typer.Argument(metavar="STORE", help="Folder that study run wrote to.")
]


@study.command("list")
def list_(data: _DATA = None, json: _JSON = False) -> str:
    """List the studies that come with headcount."""
    from headcount.cli.studying import list_studies

    return list_studies(data=data, as_json=json)


@study.command()
def run(
    spec: Annotated[
        str, typer.Argument(metavar="SPEC", help="A name of study list, or a TOML file.")
    ],
    store: Annotated[
        Path | None,
        _As("--store", help="Folder for the results; SPEC-results by default."),
    ] = None,
    data: _DATA = None,
    datasets: Annotated[
        str | None, _As("--datasets", help="Only these, with commas between them.")
    ] = None,
    methods: Annotated[
        str | None, _As("--methods", help="Only these, with commas between them.")
    ] = None,
    workers: Annotated[
        int | None, _As("--workers", min=1, help="Processes; one a core by default.")
    ] = None,
    scheduler: Annotated[
        str | None,
        _As("--scheduler", help="Run on a Dask cluster instead, such as tcp://host:8786."),
    ] = None,
    resume: Annotated[bool, _As("--resume", help="Go on with what is in the store.")] = False,
    json: _JSON = False,
) -> str:
    """Run a study, or what is missing of it."""
    from headcount.cli.studying import RunWishes, run_spec

    wishes = RunWishes(
        spec=spec, store=store, data=data, datasets=datasets, methods=methods,
        workers=workers, scheduler=scheduler, resume=resume,
    )  # fmt: skip
    return run_spec(wishes, as_json=json)


@study.command()
def status(store: _STORE, json: _JSON = False) -> str:
    """Say how far a study has come, and what failed."""
    from headcount.cli.studying import show_status

    return show_status(store, as_json=json)


@study.command()
def report(
    store: _STORE,
    output: Annotated[
        Path | None,
        _As("--output", help="Folder for page, tables and figures; STORE/report by default."),
    ] = None,
    published: Annotated[
        Path | None, _As("--published", help="Folder of published figures to compare with.")
    ] = None,
    json: _JSON = False,
) -> str:
    """Write tables and figures of a study, as a page, in Markdown and in LaTeX."""
    from headcount.cli.studying import write_report

    return write_report(store, output=output, published=published, as_json=json)
