"""Statistics of a sample that a fitted method needs in place of its items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.representation.embedding import Embedding
from headcount.sampling import Samples

# Number of values in a batch of sample statistics: 64 MB.
_BATCH_NUMBERS = 8_000_000


class Embedder(Protocol):
    """Turns items into vectors."""

    def embed(self, items: Any) -> Embedding:
        """The items as vectors whose mean describes a sample."""


class RowMap(Protocol):
    """Turns items into positive numbers, one per class."""

    def ratios(self, items: NDArray[Any]) -> NDArray[np.float64]:
        """Numbers of each item, up to a factor."""


@dataclass(frozen=True, eq=False)
class MeanOf:
    """The mean of a representation over the items of a sample. Its sums are exact.

    Attributes
    ----------
    representation : Representation
        Fitted representation.
    """

    representation: Embedder


@dataclass(frozen=True, eq=False)
class CellsOf:
    """The distribution of the posteriors in a sample, in narrow cells.

    Each cell has the number of its items and the sum of their posteriors.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    before : RowMap or None
        Likelihood whose values have cells, divided by their sum; None for the posteriors
        themselves. Needed if it is not a smooth function of the posteriors.
    """

    n_classes: int
    before: RowMap | None = None

    def rows(self, items: NDArray[Any]) -> NDArray[np.float64]:
        """Numbers of each item that have cells; each row sums to 1."""
        if self.before is None:
            return np.ascontiguousarray(items, np.float64)
        values = np.asarray(self.before.ratios(items), np.float64)
        total = values.sum(axis=1, keepdims=True)
        even = np.full_like(values, 1 / values.shape[1])
        return np.divide(values, total, out=even, where=total > 0)


Reduction = MeanOf | CellsOf


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Cells of samples, each as a row that stands for a number of items.

    Attributes
    ----------
    rows : ndarray of shape (m, K)
        Mean of the items of each cell, or an item.
    weights : ndarray of shape (m,) or None
        Number of rows of the pool that each one stands for; None if that is 1.
    samples : Samples
        Rows of each sample, one sample after the other. ``samples.copies`` is the number of
        rows of the pool per item.
    """

    rows: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    samples: Samples


Reduced = Sequence[NDArray[np.float64] | WeightedRows]
"""Values of the reductions of a model: means, one row per sample, or weighted rows."""


def reduce_in_batches(
    reductions: Sequence[Reduction], items: Any, samples: Samples
) -> Iterator[tuple[Reduced, NDArray[np.int64]]]:
    """Statistics of samples of items, exact, and the numbers of items.

    Means are in batches, so that memory does not grow with the number of samples.
    """
    embeddings = {
        place: reduction.representation.embed(items)
        for place, reduction in enumerate(reductions)
        if isinstance(reduction, MeanOf)
    }
    rows = {
        place: items if reduction.before is None else reduction.before.ratios(items)
        for place, reduction in enumerate(reductions)
        if isinstance(reduction, CellsOf)
    }
    width = sum(embedding.width for embedding in embeddings.values())
    step = len(samples) if rows or not width else max(1, _BATCH_NUMBERS // width)
    for first in range(0, len(samples), step):
        batch = samples[first : first + step]
        yield (
            [
                embeddings[place].means(batch)
                if place in embeddings
                else WeightedRows(rows[place], None, batch)
                for place in range(len(reductions))
            ],
            batch.n_items,
        )
