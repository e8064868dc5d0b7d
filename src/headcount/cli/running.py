"""Runs a command: what goes wrong is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headcount.errors import HeadcountError

__all__ = ["DONE", "FAILED", "INTERRUPTED", "WRONG", "run"]

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
# Set it to see where an error came from.
_DEBUG = "HEADCOUNT_TRACEBACK"


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Those of the program by default.

    Returns
    -------
    int
        0 if all went well, 2 for a bad call or bad data, 130 if interrupted, 1 for a defect
        of headcount.
    """
    try:
        with _noted() as notes:
            result = _invoke(arguments)
            if isinstance(result, str):
                sys.stdout.write(f"{result}\n")
            sys.stdout.flush()
        for note in notes:
            sys.stderr.write(f"note: {note}\n")
    except KeyboardInterrupt:
        return _end("Interrupted: nothing was left half-written.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has had enough of it, as `head` has.
        _discard_output()
        return DONE
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        return _end(*_told(error))
    return result if isinstance(result, int) else DONE


def _invoke(arguments: Sequence[str] | None) -> str | int | None:
    """The text a command returns, or an exit code."""
    from typer import Abort
    from typer.main import get_command

    from headcount.cli.app import app

    given = None if arguments is None else list(arguments)
    try:
        result = get_command(app).main(given, prog_name="headcount", standalone_mode=False)
    except Abort:
        raise KeyboardInterrupt from None
    if result == INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _told(error: Exception) -> tuple[str, int]:
    if isinstance(error, HeadcountError):
        return str(error), WRONG
    if hasattr(error, "format_message"):  # a call that the parser refused
        said = error.format_message().strip().rstrip(".")
        return f"{said}: see headcount --help.", WRONG
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


def _end(sentence: str, code: int) -> int:
    sys.stderr.write(f"headcount: {' '.join(sentence.split())}\n")
    return code


def _discard_output() -> None:
    """Keep Python from trying once more, at its end, to write what could not be written."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


@contextmanager
def _noted() -> Iterator[dict[str, None]]:
    """Collect what warnings say, once each; only who gets an answer has a use for it."""
    notes: dict[str, None] = {}

    def note(message: Any, category: type[Warning], *rest: Any, **options: Any) -> None:
        if issubclass(category, UserWarning):
            notes[" ".join(str(message).split())] = None

    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("always", UserWarning)
        warnings.showwarning = note
        yield notes
