"""The commands and their execution: a failure is one sentence and an exit code, no traceback.

Commands return the text to print. Other packages add commands by entry points of the group
``headcount.commands``: a function with options, or an application of Typer for several commands
under one name.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command

from headcount._support.text import escaped
from headcount.cli.accuracy import accuracy
from headcount.cli.estimate import backtest, estimate, label
from headcount.cli.judge import judge
from headcount.cli.monitor import monitor
from headcount.cli.options import DONE, FAILED, INTERRUPTED, JSON, WRONG, as_json, examples
from headcount.cli.statistics import statistics
from headcount.errors import HeadcountError

# Environment variable that shows where an error came from.
_DEBUG = "HEADCOUNT_TRACEBACK"
# Parameters as the messages of the library write them.
_PARAMETER = re.compile(r"`(\w+)`")


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: one of those in `headcount.cli.options`."""
    try:
        with _collected_warnings() as notes:
            result = _invoke(arguments)
            text, code = result if isinstance(result, tuple) else (result, DONE)
            if isinstance(text, str):
                _print(text, sys.stdout)
            if sys.stdout is not None:
                sys.stdout.flush()
        for note in notes:
            _print(f"note: {_with_options(note)}", sys.stderr)
    except KeyboardInterrupt:
        return _end("Interrupted: nothing was left half-written.", INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output has closed it, as `head` does.
        _discard_output()
        return DONE
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        return _end(*_explained(error))
    return text if isinstance(text, int) else code


def _invoke(arguments: Sequence[str] | None) -> str | int | tuple[str, int] | None:
    """Text that a command returns, with or without an exit code, or an exit code alone."""
    called = None if arguments is None else list(arguments)
    try:
        result = get_command(app).main(called, prog_name="headcount", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if result == INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _explained(error: Exception) -> tuple[str, int]:
    """Sentence and exit code of an error."""
    if isinstance(error, HeadcountError):
        return _with_options(str(error)), WRONG
    if hasattr(error, "format_message"):  # a call that the parser refused
        message = error.format_message().strip().rstrip(".")
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "headcount"
        joint = " See" if message.endswith("?") else ": see"
        return f"{message}{joint} {command} --help.", WRONG
    if isinstance(error, OSError):
        _discard_output()
        what = f" to {error.filename!r}" if error.filename else ""
        return f"Reading or writing{what} failed: {error.strerror or error}.", WRONG
    if isinstance(error, MemoryError):
        return "There is not enough memory for this table: use fewer rows or columns.", WRONG
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return (
        f"headcount failed, which is a defect of it ({what}): set {_DEBUG}=1 to see where, "
        "and please report it.",
        FAILED,
    )


def _with_options(sentence: str) -> str:
    """Message of the library with its parameters as options of the command."""
    sentence = sentence.replace("`new`", "NEW")  # an argument, not an option
    options = _PARAMETER.sub(lambda name: f"--{name[1].replace('_', '-')}", sentence)
    return options.replace("hc.methods()", "headcount methods")


def _end(sentence: str, code: int) -> int:
    _print(f"headcount: {' '.join(sentence.split())}", sys.stderr)
    return code


def _print(text: str, stream: TextIO | None) -> None:
    """Write a text without control characters, and with those that its encoding has."""
    if stream is None:  # closed by the caller, who does not want it
        return
    text, encoding = escaped(text), stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = "".join(
            sign if sign.encode(encoding, "ignore") else json.dumps(sign)[1:-1] for sign in text
        )
    stream.write(f"{text}\n")


def _discard_output() -> None:
    """Keep Python from writing the rest of the output again at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


@contextmanager
def _collected_warnings() -> Iterator[dict[str, None]]:
    """Collect warnings, once each, to be printed after the result."""
    notes: dict[str, None] = {}

    def note(message: Any, category: type[Warning], *more: Any, **options: Any) -> None:
        if issubclass(category, UserWarning):
            notes[" ".join(str(message).split())] = None

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note
        yield notes


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
    epilog=examples("methods", "methods --json", "estimate --help"), rich_help_panel="Research"
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
