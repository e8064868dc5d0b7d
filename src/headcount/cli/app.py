"""The commands. Commands return the text to print.

Other packages add commands by entry points of the group ``headcount.commands``: a function with
options, or an application of Typer for several commands under one name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from headcount.cli.accuracy import accuracy
from headcount.cli.estimate import backtest, estimate, label
from headcount.cli.judge import judge
from headcount.cli.monitor import monitor
from headcount.cli.options import JSON, as_json, examples
from headcount.cli.statistics import statistics
from headcount.errors import HeadcountError

_AUTO = ["auto", "strong methods combined, see AutoQuantifier", "native", "prior"]


class _Commands(TyperGroup):
    """The commands of headcount, and those of other packages, loaded when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        commands = super().list_commands(ctx)
        return [*commands, *sorted(_added_commands().keys() - set(commands))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in (added := _added_commands()):
            return _loaded(added[cmd_name])
        return command


def _added_commands() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="headcount.commands")}


def _loaded(entry: EntryPoint) -> Any:
    try:
        command = entry.load()
    except (ImportError, AttributeError) as error:
        raise HeadcountError(
            f"The command {entry.name!r} cannot be loaded from {entry.value!r} ({error}): "
            "install the package that it belongs to again."
        ) from None
    if not isinstance(command, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(entry.name)(command)
        command = single
    return get_command(command)


app = typer.Typer(
    name="headcount",
    cls=_Commands,
    help="Estimate the share of each class among items nobody has labelled.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_EVERYDAY = "Everyday"
_commands: dict[Callable[..., Any], tuple[str, ...]] = {
    estimate: (
        "estimate new.csv --train labelled.csv --target label --report report.html",
        "estimate new.csv --train labelled.csv --target label --by month --save m.skops",
        "estimate new.csv --model m.skops --labelled to-label.csv",
    ),
    backtest: (
        "backtest labelled.csv --target label --by month",
        "backtest labelled.csv --target label --by site --report backtest.html",
        "backtest scored.csv --target label --by month --scores",
    ),
    label: (
        "label new.csv --model m.skops --precision 0.03 --output to-label.csv",
        "label new.csv --model m.skops --budget 200 --by month --output to-label.xlsx",
        "label new.csv --model m.skops --budget 100 --show text --output to-label.csv",
    ),
    judge: (
        "judge items.csv --verdict judge --gold human",
        "judge items.csv --verdict judge --gold human --by model --report judge.html",
        "judge items.csv --verdict score --gold human --calibration past.csv",
    ),
    accuracy: (
        "accuracy new.csv --reference labelled.csv --target label",
        "accuracy new.csv --reference labelled.csv --target label --metric f1 --by week",
        "accuracy new.csv --reference labelled.csv --target label --report accuracy.html",
    ),
}
for _command, _calls in _commands.items():
    app.command(epilog=examples(*_calls), rich_help_panel=_EVERYDAY)(_command)
app.add_typer(monitor, rich_help_panel=_EVERYDAY)
app.add_typer(statistics, rich_help_panel="Large data")


def _version(is_asked: bool) -> None:
    if is_asked:
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


@app.command(
    epilog=examples("methods", "methods --json", "estimate --help"),
    rich_help_panel="Research",
)
def methods(json: JSON = False) -> str:
    """List the methods."""
    import headcount as hc
    from headcount._support.text import text_table

    rows = hc.methods().to_frame().to_dicts()
    if json:
        return as_json(rows)
    cells = [
        [str(row[name]) for name in ("method", "title", "multiclass", "shift")] for row in rows
    ]
    head = ["method", "title", "more than two classes", "assumed shift"]
    return "\n".join(text_table(head, [_AUTO, *cells], n_texts=4))
