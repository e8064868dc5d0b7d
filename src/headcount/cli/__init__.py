"""The command line. Its modules can be called from Python as well, `app` only parses."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``headcount`` and end the program with its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Those of the program by default.
    """
    from headcount.cli.running import run

    raise SystemExit(run(arguments))
