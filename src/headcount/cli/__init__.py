"""The command line: options in, text out. The work is done by the packages below."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``headcount`` and end the program with its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Arguments of the command; by default those of the program.
    """
    from headcount.cli.execute import execute

    raise SystemExit(execute(arguments))
