"""Statistics of items that methods need, and answers to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows, take_rows
from headcount.representation import Reduced, Reduction
from headcount.scores import Scored, ScoredPool

if TYPE_CHECKING:
    from headcount.quantify.base import Quantifier

__all__ = [
    "EvidenceItems",
    "Form",
    "GroupStatistics",
    "NeedsStatistics",
    "Part",
    "ScoredItems",
    "deviations",
    "solved",
]

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


@dataclass(frozen=True, eq=False)
class ScoredItems:
    """Items in the form that a quantifier takes.

    Attributes
    ----------
    quantifier : Quantifier
        Fitted quantifier.
    by_folds : bool
        True if items are scored by the classifiers of all folds.
    """

    quantifier: Quantifier
    by_folds: bool

    def items(self, X: Any) -> Any:
        """Items of a pool."""
        return self.quantifier.items_of(X, by_folds=self.by_folds)

    def identity(self) -> Any:
        """Classifiers that score the items."""
        return _identity(self.quantifier, self.quantifier.takes, self.by_folds)

    def take(self, items: Any, rows: slice) -> Any:
        """Consecutive rows."""
        if isinstance(items, np.ndarray):
            return items[rows]
        return take_rows(items, np.arange(rows.start, rows.stop))

    def count(self, items: Any) -> int:
        """Number of rows."""
        return count_rows(items)


@dataclass(frozen=True, eq=False)
class EvidenceItems(ScoredItems):
    """Posteriors that the assumption is tested on, by all folds if there are any."""

    def items(self, X: Any) -> Any:
        """Posteriors of a pool."""
        scorer, classes = self.quantifier.scorer_, self.quantifier.classes_
        if isinstance(X, Scored):
            given: Sequence[Scored] = X.folds if self.by_folds else [X]
            return np.concatenate([each.posteriors_of(classes) for each in given])
        pooled = isinstance(X, ScoredPool)
        by_folds = X.fold_posteriors(scorer) if pooled else scorer.fold_posteriors(X)
        return by_folds.reshape(-1, len(classes))

    def identity(self) -> Any:
        """Classifiers that score the items."""
        return _identity(self.quantifier, "posteriors", self.by_folds)


def _identity(quantifier: Quantifier, kind: str, by_folds: bool) -> Any:
    scorer = quantifier.scorer_
    if scorer is None:
        return kind, quantifier.classes_
    return kind, quantifier.classes_, scorer.fold_judge_ if by_folds else scorer.judge_


class NeedsStatistics(ABC):
    """Fitted object that needs statistics of items: a method, or a part of a report."""

    @abstractmethod
    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that are needed of items of a form."""


class GroupStatistics(Protocol):
    """Statistics of the items of groups, as `headcount.Statistics` has them."""

    @property
    def form(self) -> Form:
        """Form of the items."""

    @property
    def groups(self) -> Sequence[Any]:
        """Names of the groups."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items of each group."""

    def n_variants(self, parts: Sequence[Part]) -> int:
        """Number of variants of the statistics whose answers show their error."""

    def effective_sizes(self, parts: Sequence[Part]) -> NDArray[np.int64]:
        """Number of items of each group that are left: all of them, or those of a sample."""

    def reduced(self, parts: Sequence[Part], groups: slice, variant: int = 0) -> Reduced:
        """Values of the parts for some groups."""


def solved(
    solve: Callable[[Reduced, NDArray[np.int64]], Floats],
    statistics: GroupStatistics,
    parts: Sequence[Part],
) -> tuple[Floats, Floats | None]:
    """Answers of a model to all groups, and to variants of their statistics.

    Parameters
    ----------
    solve : callable
        Returns the answers of the model, given its statistics and the numbers of items.
    statistics : GroupStatistics
        Statistics of the groups.
    parts : sequence of Part
        Parts that the model needs.

    Returns
    -------
    answers : ndarray of shape (G, ...)
    variants : ndarray of shape (V, G, ...) or None
        Answers to variants of the statistics, which show the error; None if there is none.
    """
    sizes = statistics.sizes
    n_variants = statistics.n_variants(parts)
    found: list[list[Floats]] = [[] for _ in range(n_variants + 1)]
    for first in range(0, len(sizes), _GROUPS_AT_ONCE):
        groups = slice(first, min(first + _GROUPS_AT_ONCE, len(sizes)))
        for variant, parts_found in enumerate(found):
            reduced = statistics.reduced(parts, groups, variant)
            parts_found.append(solve(reduced, sizes[groups]))
    each = [np.concatenate(answers) for answers in found]
    return each[0], np.stack(each[1:]) if n_variants else None


def deviations(answers: Floats, variants: Floats, sampled: NDArray[np.bool_]) -> Floats:
    """Errors of answers, from those to variants of the statistics.

    For cells, twice the largest difference between answers with these cells, with cells of
    twice the width and, divided by four, with cells of four times the width: about six times
    the error, which is of second order. For samples, four standard errors by the jackknife,
    of the class with the largest.
    """
    wider = np.abs(variants[1] - variants[0]) / 4
    found = 2 * np.maximum(np.abs(variants[0] - answers), wider)
    if sampled.any():
        V = len(variants)
        spread = ((variants - variants.mean(axis=0)) ** 2).sum(axis=0)
        found = np.where(sampled[:, None], 4 * np.sqrt((V - 1) / V * spread), found)
    return np.repeat(found.max(axis=1, keepdims=True), found.shape[1], axis=1)
