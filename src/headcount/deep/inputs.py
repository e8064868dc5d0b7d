"""Items as networks take them: numbers of similar size, and scores of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from headcount.data import count_rows, take_rows
from headcount.quantify.base import Quantifier
from headcount.representation.feature_table import Features, Header
from headcount.sampling import Samples
from headcount.scores import Scored, Scorer

__all__ = ["ClassifierInputs", "ItemInputs", "Pool"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ItemInputs:
    """Features as numbers of similar size, reduced to principal directions if they are many.

    Attributes
    ----------
    header : Header
        Columns of the features.
    directions : ndarray of shape (d, p), or None
        Directions that wide tables are reduced to.
    centre, scale : ndarray
        Mean and scale of each number.
    """

    header: Header
    directions: NDArray[np.float64] | None
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def learn(cls, X: Any, most: int, seed: int) -> ItemInputs:
        """Learn from items.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Items.
        most : int
            Largest number of columns that are kept as they are. More are replaced by so many
            principal directions.
        seed : int
            Random seed of the search for directions.

        Returns
        -------
        ItemInputs
        """
        features = Features.of(X)
        table, directions = _numbers(features), None
        if table.shape[1] > most:
            # Sparse tables are not centred, which would fill them.
            centred = table if sparse.issparse(table) else table - table.mean(axis=0)
            rank = min(most, *table.shape)
            found = randomized_svd(centred, rank, random_state=seed % 2**32)[2]
            directions = np.ascontiguousarray(found.T)
            table = np.asarray(table @ directions)
        elif sparse.issparse(table):
            table = table.toarray()
        scale = table.std(axis=0)
        if directions is not None:
            # Directions that hardly vary stay small.
            scale = np.full_like(scale, np.sqrt((scale**2).mean()))
        scale[scale == 0] = 1
        return cls(features.header, directions, table.mean(axis=0), scale)

    @property
    def width(self) -> int:
        """Number of inputs per item."""
        return len(self.centre)

    def apply(self, X: Any) -> Floats:
        """Inputs of items, one row per item."""
        features = Features.of(X)
        self.header.check(features.header)
        table: Any = _numbers(features)
        if self.directions is not None:
            table = np.asarray(table @ self.directions)
        elif sparse.issparse(table):
            table = table.toarray()
        return ((table - self.centre) / self.scale).astype(np.float32)


def _numbers(features: Features) -> Any:
    """The table as a matrix of numbers; a sparse one stays sparse."""
    if features.is_sparse:
        return features.table.astype(np.float64)
    return features.numbers()


@dataclass(frozen=True, eq=False)
class ClassifierInputs:
    """Posteriors of a classifier, and estimates by methods that use them.

    Attributes
    ----------
    scorer : Scorer
        Fitted on some of the items.
    methods : sequence of Quantifier
        Fitted on the out-of-fold posteriors of these items.
    """

    scorer: Scorer
    methods: Sequence[Quantifier]

    @classmethod
    def learn(
        cls,
        scorer: Scorer,
        methods: Sequence[Quantifier],
        X: Any,
        codes: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> tuple[ClassifierInputs, NDArray[np.float64]]:
        """Train the classifier on some rows; score them out-of-fold, and the others.

        Parameters
        ----------
        scorer : Scorer
            Unfitted scorer.
        methods : sequence of Quantifier
            Unfitted methods.
        X : array, sparse matrix or frame
            Items.
        codes : ndarray of shape (n,)
            Their classes.
        rows : ndarray of int64
            Items to train on.

        Returns
        -------
        ClassifierInputs
            The fitted classifier and methods.
        ndarray of shape (n, K)
            Posteriors of all items.
        """
        known = codes[rows]
        scorer = scorer.fit(take_rows(X, rows), known)
        fitted = [each.fit(Scored(scorer.posteriors_), known) for each in methods]
        posteriors = np.empty((count_rows(X), len(scorer.classes_)))
        posteriors[rows] = scorer.posteriors_
        others = np.setdiff1d(np.arange(len(posteriors)), rows)
        if len(others):
            posteriors[others] = scorer.posteriors(take_rows(X, others))
        return cls(scorer, fitted), posteriors

    def posteriors(self, X: Any) -> NDArray[np.float64]:
        """Posteriors of new items."""
        return self.scorer.posteriors(X)


@dataclass(frozen=True, eq=False)
class Pool:
    """Items as a network takes them.

    Attributes
    ----------
    inputs : ndarray of shape (n, d)
        Features, and posteriors if there is a classifier.
    posteriors : ndarray of shape (n, K), or None
        Posteriors in double precision, for the methods.
    methods : sequence of Quantifier
        Methods whose estimates the head is given.
    n_classes : int
        Number of classes.
    """

    inputs: Floats
    posteriors: NDArray[np.float64] | None
    methods: Sequence[Quantifier]
    n_classes: int

    @classmethod
    def of(
        cls,
        values: Floats,
        posteriors: NDArray[np.float64] | None,
        classifier: ClassifierInputs | None,
        n_classes: int,
    ) -> Pool:
        """Join features and posteriors."""
        if classifier is None or posteriors is None:
            return cls(values, None, (), n_classes)
        inputs = np.hstack([values, posteriors.astype(np.float32)])
        return cls(inputs, posteriors, classifier.methods, n_classes)

    def estimates(self, samples: Samples) -> NDArray[np.float64]:
        """Estimates by the methods, of shape (samples, methods, classes)."""
        if self.posteriors is None or not self.methods:
            return np.empty((len(samples), 0, self.n_classes))
        scored = Scored(self.posteriors)
        return np.stack([each.predict_many(scored, samples) for each in self.methods], axis=1)
