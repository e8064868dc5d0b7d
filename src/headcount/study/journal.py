"""What happened during the runs of a study: one line of JSON a task, whatever comes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Entry", "Journal"]


@dataclass(frozen=True)
class Entry:
    """How a task went.

    Parameters
    ----------
    task : str
        Its key.
    seconds : float
        What it took where it ran.
    elapsed : float
        When it ended, counted from the start of the run it was part of.
    runs : int
        How many results it made, those that failed among them.
    failures : int
        How many of them failed.
    reason : str, default=None
        Why the whole task failed, if it did.
    """

    task: str
    seconds: float
    elapsed: float
    runs: int
    failures: int
    reason: str | None = None


class Journal:
    """Lines are only ever added; one that a killed run has left torn is passed over.

    Parameters
    ----------
    path : Path
        The file; made with the first line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, facts: dict[str, Any]) -> None:
        """Note that a run starts, and what is known of it."""
        self._add({"start": facts})

    def note(self, entry: Entry) -> None:
        """Note how a task went."""
        self._add(asdict(entry))

    def _add(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, ensure_ascii=False) + "\n"
        with open(self._path, "a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else "\n" + line
            file.write(line.encode("utf-8", "replace"))

    def runs(self) -> list[tuple[dict[str, Any], list[Entry]]]:
        """The runs so far: what is known of each, and its entries."""
        runs: list[tuple[dict[str, Any], list[Entry]]] = []
        for content in self._lines():
            if "start" in content:
                runs.append((content["start"], []))
            elif runs:
                runs[-1][1].append(Entry(**content))
        return runs

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self._path.exists():
            return
        for line in self._path.read_bytes().splitlines():
            try:
                content = json.loads(line)
            except ValueError:
                continue
            if isinstance(content, dict):
                yield content
