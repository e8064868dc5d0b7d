"""Progress bars for long computations in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")


def track(
    items: Iterable[_Item], total: int, what: str, *, show: bool | None = None
) -> Generator[_Item, None, None]:
    """Yield the items, with a progress bar and the remaining time on standard error."""
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as bar

    yield from bar(items, what, total=total, console=Console(stderr=True), transient=True)
