"""Alerts: changes that the detector found, with the decisions of people about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Alert", "State"]

State = Literal["open", "acknowledged", "resolved", "rebased"]


@dataclass(frozen=True)
class Alert:
    """A change in a stream.

    Attributes
    ----------
    name : str
        Identity of the alert: the chunk that raised it, and its stream.
    stream : str
        The stream.
    chunk : str
        Chunk at which the alert was raised.
    since : str
        First changed chunk, as estimated.
    series : tuple of str
        Series that have changed: "share:CLASS", "accuracy", "form" or "floor".
    reason : str
        One sentence.
    state : {"open", "acknowledged", "resolved", "rebased"}
        State after the last chunk.
    ended : str
        Chunk at which it ended; empty if it has not.
    """

    name: str
    stream: str
    chunk: str
    since: str
    series: tuple[str, ...]
    reason: str
    state: State
    ended: str = ""

    @property
    def active(self) -> bool:
        """True if the change has not ended."""
        return self.state in ("open", "acknowledged")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "alert": self.name, "stream": self.stream, "chunk": self.chunk,
            "since": self.since, "series": list(self.series), "reason": self.reason,
            "state": self.state, "ended": self.ended,
        }  # fmt: skip
