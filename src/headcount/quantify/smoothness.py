"""The parameter `smoothness` of methods for ordered classes."""

from __future__ import annotations

from dataclasses import dataclass

from headcount._parameters import check_not_negative
from headcount.quantify.base import AggregativeQuantifier


@dataclass(eq=False, repr=False, kw_only=True)
class WithSmoothness(AggregativeQuantifier):
    """Base of methods that can expect smooth shares along ordered classes."""

    smoothness: float = 0.0

    def _checked_smoothness(self) -> float:
        return check_not_negative("smoothness", self.smoothness)
