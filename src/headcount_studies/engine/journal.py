"""Journal of the runs of a study: one line of JSON per executed task."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Entry", "Journal"]


@dataclass(frozen=True)
class Entry:
    """Record of one executed task.

    Parameters
    ----------
    task : str
        Name of the task.
    seconds : float
        Duration of the task.
    elapsed : float
        End of the task, in seconds from the start of its run.
    runs : int
        Number of results, including failures.
    failures : int
        Number of results that are failures.
    reason : str, default=None
        Reason if the task failed as a whole.
    methods : dict of str to float
        Seconds that each method took, if they were measured.
    """

    task: str
    seconds: float
    elapsed: float
    runs: int
    failures: int
    reason: str | None = None
    methods: dict[str, float] = field(default_factory=dict)


class Journal:
    """A file to which lines are appended. Incomplete lines of a killed run are skipped.

    Parameters
    ----------
    path : Path
        File of the journal; created with the first line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, facts: dict[str, Any]) -> None:
        """Record the start of a run, with facts about it."""
        self._add({"start": facts})

    def note(self, entry: Entry) -> None:
        """Record an executed task."""
        self._add(asdict(entry))

    def _add(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, ensure_ascii=False) + "\n"
        with open(self._path, "a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else "\n" + line
            file.write(line.encode("utf-8", "replace"))

    def runs(self) -> list[tuple[dict[str, Any], list[Entry]]]:
        """Facts and entries of each run so far."""
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
