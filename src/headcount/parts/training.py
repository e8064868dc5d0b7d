"""Labelled items from which a representation is fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headcount.parts.embedding import Embedding
from headcount.samples.samples import Samples


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled items, in the form that a method uses.

    Attributes
    ----------
    items : ndarray or None
        Posteriors (n, K), predicted classes (n,) or features. Outputs of a classifier are
        out-of-fold. None for methods that use the labels alone.
    codes : ndarray of int64, shape (n,)
        Positions of the true classes in the list of classes.
    n_classes : int
        Number of classes.
    weights : ndarray of float64, shape (n,), or None
        Weights of the items. None if all are equal.

    Examples
    --------
    >>> import numpy as np
    >>> Training(None, np.array([0, 1, 1, 1]), 2).prior
    array([0.25, 0.75])
    """

    items: NDArray[np.generic] | None
    codes: NDArray[np.int64]
    n_classes: int
    weights: NDArray[np.float64] | None = None

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """Weighted shares of the classes."""
        mass = np.bincount(self.codes, self.weights, self.n_classes)
        return np.asarray(mass / mass.sum(), dtype=np.float64)

    @cached_property
    def class_weights(self) -> NDArray[np.float64]:
        """Weight of each item within its class. Those of a class sum to 1."""
        weights = np.ones(len(self.codes)) if self.weights is None else self.weights
        mass = np.bincount(self.codes, weights, self.n_classes)
        return np.asarray(weights / mass[self.codes], dtype=np.float64)

    @cached_property
    def effective_size(self) -> float:
        """Number of equally weighted items whose mean has the same variance."""
        if self.weights is None:
            return float(len(self.codes))
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @cached_property
    def class_sizes(self) -> NDArray[np.int64]:
        """Effective number of items of each class, rounded."""
        if self.weights is None:
            return np.bincount(self.codes, minlength=self.n_classes)
        mass = np.bincount(self.codes, self.weights, self.n_classes)
        squares = np.bincount(self.codes, self.weights**2, self.n_classes)
        return np.rint(mass**2 / squares).astype(np.int64)

    @property
    def are_posteriors(self) -> bool:
        """True if the items are posteriors of all classes, not predictions or features."""
        items: Any = self.items
        if items is None or isinstance(items, list):
            return False
        return bool(items.shape[1:] == (self.n_classes,) and items.dtype.kind == "f")

    def class_means(self, embedding: Embedding) -> NDArray[np.float64]:
        """Mean of the embedded training items, one row per class."""
        by_class = Samples.by_code(self.codes, self.n_classes)
        return embedding.means(by_class, self.weights)


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
