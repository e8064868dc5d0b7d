"""Labelled items from which a representation is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.representation.embedding import Embedding
from headcount.sampling import Samples


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
