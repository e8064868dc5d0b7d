"""Execution of a command: a failure is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from headcount._support.text import escaped
from headcount.cli.options import DONE, FAILED, INTERRUPTED, WRONG
from headcount.errors import HeadcountError

# Environment variable that shows where an error came from.
_DEBUG = "HEADCOUNT_TRACEBACK"
# Parameters as the messages of the library write them.
_PARAMETER = re.compile(r"`(\w+)`")


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 on success, 2 for a bad call or bad data, 3 for results that are not to be relied on (with
    ``--strict``), 4 if tasks of a study failed, 130 if interrupted, 1 for a defect of
    headcount.
    """
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
    from typer import Abort
    from typer.main import get_command

    from headcount.cli.app import app

    called = None if arguments is None else list(arguments)
    try:
        result = get_command(app).main(called, prog_name="headcount", standalone_mode=False)
    except Abort:
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
