"""Statistics of items that methods need, and answers to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Reduced, Reduction

Floats = NDArray[np.float64]
Form = Literal["items", "scored", "verdicts"]
"""Form of the items: scored here or by all folds, by one classifier, or decided."""

# Groups that are solved at a time.
_GROUPS_AT_ONCE = 1024


class Source(Protocol):
    """Maker of the items that statistics are taken of."""

    def items(self, X: Any) -> Any:
        """Items of a pool in the form that a method takes, with one or several rows each."""

    def identity(self) -> Any:
        """Everything that the items of a pool depend on."""

    def take(self, items: Any, rows: slice) -> Any:
        """Consecutive rows of items."""

    def count(self, items: Any) -> int:
        """Number of rows."""


@dataclass(frozen=True, eq=False)
class Part:
    """Statistic that a method needs: what is kept of which items."""

    source: Source
    reduction: Reduction


class NeedsStatistics(ABC):
    """Fitted object that needs statistics of items: a method, or a part of a report."""

    @abstractmethod
    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that are needed of items of a form."""


class GroupStatistics(ABC):
    """Statistics of the items of groups, as `headcount.Statistics` has them."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """Form of the items."""

    @property
    @abstractmethod
    def groups(self) -> Sequence[Any]:
        """Names of the groups."""

    @property
    @abstractmethod
    def sizes(self) -> NDArray[np.int64]:
        """Number of items of each group."""

    @abstractmethod
    def n_variants(self, parts: Sequence[Part]) -> int:
        """Number of variants of the statistics whose answers show their error."""

    @abstractmethod
    def effective_sizes(self, parts: Sequence[Part]) -> NDArray[np.int64]:
        """Number of items of each group that are left: all of them, or those of a sample."""

    @abstractmethod
    def reduced(self, parts: Sequence[Part], groups: slice, variant: int = 0) -> Reduced:
        """Values of the parts for some groups."""


def solved(
    solve: Callable[[Reduced, NDArray[np.int64]], Floats],
    statistics: GroupStatistics,
    parts: Sequence[Part],
) -> tuple[Floats, Floats | None]:
    """Answers of a model to all groups, and to variants of their statistics.

    The variants, of shape (V, G, ...), show the error of statistics; None if there is none.
    """
    sizes = statistics.sizes
    n_variants = statistics.n_variants(parts)
    by_variant: list[list[Floats]] = [[] for _ in range(n_variants + 1)]
    for first in range(0, len(sizes), _GROUPS_AT_ONCE):
        groups = slice(first, min(first + _GROUPS_AT_ONCE, len(sizes)))
        for variant, batches in enumerate(by_variant):
            reduced = statistics.reduced(parts, groups, variant)
            batches.append(solve(reduced, sizes[groups]))
    answers = [np.concatenate(batches) for batches in by_variant]
    return answers[0], np.stack(answers[1:]) if n_variants else None
