"""The parameter `smoothness` of methods for ordered classes."""

from __future__ import annotations

from typing import Any

from headcount._parameters import check_not_negative
from headcount.quantify.base import Quantifier


class WithSmoothness(Quantifier):
    """Base of methods that can expect smooth shares along ordered classes."""

    def __init__(
        self,
        classifier: Any = None,
        *,
        smoothness: float = 0.0,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.smoothness = smoothness

    def _checked_smoothness(self) -> float:
        return check_not_negative("smoothness", self.smoothness)
