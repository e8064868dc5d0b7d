"""The commands and their options. Commands return the text to print."""

from __future__ import annotations

import json as json_text
from importlib.metadata import entry_points
from typing import Annotated

import typer

from headcount.cli.accuracy import accuracy
from headcount.cli.estimate import estimate
from headcount.cli.judge import judge
from headcount.cli.label import label
from headcount.cli.monitor import monitor
from headcount.cli.options import JSON
from headcount.cli.sql import sql
from headcount.cli.summarise import merge, summarise

__all__ = ["app"]

app = typer.Typer(
    name="headcount",
    help="How much of each class is in a set of items nobody has labelled.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(monitor)
app.command()(estimate)
app.command()(accuracy)
app.command()(judge)
app.command()(label)
app.command()(sql)
app.command()(summarise)
app.command()(merge)

_AUTO = ["auto", "strong methods combined, see AutoQuantifier", "native", "prior"]


def _version(wanted: bool) -> None:
    if wanted:
        from headcount import __version__

        typer.echo(f"headcount {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def methods(json: JSON = False) -> str:
    """List the methods."""
    import headcount as hc
    from headcount._text import text_table

    rows = hc.methods().to_frame().to_dicts()
    if json:
        return json_text.dumps(rows, ensure_ascii=False, indent=2)
    shown = [
        [str(row[name]) for name in ("method", "title", "multiclass", "shift")] for row in rows
    ]
    head = ["method", "title", "more than two classes", "assumed shift"]
    return "\n".join(text_table(head, [_AUTO, *shown], n_texts=4))


# Commands of other packages.
for _entry in sorted(entry_points(group="headcount.commands")):
    _command = _entry.load()
    if isinstance(_command, typer.Typer):
        app.add_typer(_command)
    else:
        app.command(_entry.name)(_command)
