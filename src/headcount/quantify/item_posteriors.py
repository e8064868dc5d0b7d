"""Scores of a pool that labels of some of its items are combined with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows
from headcount.representation import Training

if TYPE_CHECKING:
    from headcount.labels import PoolPosteriors
    from headcount.quantify.base import Quantifier

__all__ = ["ItemPosteriors"]


@dataclass(frozen=True, eq=False)
class ItemPosteriors:
    """Scores of a pool that labels are combined with.

    Posteriors, or predicted classes if there are none. Without either, labels are used alone.
    """

    n_items: int
    key: str
    posteriors: NDArray[np.float64] | None
    decisions: NDArray[np.int64] | None
    training: Training | None

    @classmethod
    def of(cls, quantifier: Quantifier, X: Any) -> ItemPosteriors:
        """Scores of a pool by the classifier of a fitted quantifier."""
        from headcount.labels import pool_key

        n_items = count_rows(X)
        evidence = quantifier.evidence(X)
        if evidence is not None:
            posteriors = evidence.posteriors
            key = pool_key(n_items, posteriors)
            return cls(n_items, key, posteriors, None, evidence.training)
        answering, training = quantifier.answering_, quantifier.training_
        if answering.takes == "labels" and training is not None and training.items is not None:
            codes = answering.items_of(X, by_folds=False)
            one_hot = (codes[:, None] == np.arange(training.n_classes)).astype(np.float64)
            return cls(n_items, pool_key(n_items, one_hot), None, codes, training)
        return cls(n_items, pool_key(n_items, None), None, None, None)

    def corrected(
        self,
        items: NDArray[Any],
        shares: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
    ) -> PoolPosteriors:
        """Posteriors of some items, corrected to their shares."""
        from headcount.labels import PoolPosteriors

        if self.training is None:
            return PoolPosteriors.none(len(items), shares)
        if self.posteriors is not None:
            return PoolPosteriors.of(self.posteriors[items], self.training, shares, weights)
        assert self.decisions is not None
        return PoolPosteriors.of_decisions(
            self.decisions[items], self.training, shares, weights
        )
