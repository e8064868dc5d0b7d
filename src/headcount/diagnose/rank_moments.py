"""Smooth functions of the ranks of scores among the training items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import add_rank_moments, ranks_of
from headcount.representation import Dense, Training
from headcount.sampling import Samples

# Degrees of the polynomials. The effect of a shift on scores is smooth, so low degrees have
# the most power.
_DEGREES_OF_TWO_CLASSES, _DEGREES_OF_MORE = 3, 2
_SMALLEST = 1e-150
# Bits of the number of bins of all posteriors together, which narrow the search for a rank.
# A power of two, so that no rounding moves a posterior to the next bin.
_BITS_OF_BINS = 16


@dataclass(frozen=True, eq=False)
class RankMoments:
    """Legendre polynomials of the ranks of posteriors.

    A posterior is replaced by its rank, between -1 and 1, among the training items, with all
    classes weighted equally. With two classes the posterior of the last one is used, in
    polynomials up to the third degree. With more classes all posteriors are used, in
    polynomials up to the second degree.

    Attributes
    ----------
    values, ranks : tuple of ndarray
        Distinct training values and their ranks, for each posterior that is used.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    >>> ranks = RankMoments().fit(Training(P, np.array([0, 0, 1, 1]), 2))
    >>> ranks.embed(P).values[:, 0]
    array([-0.75, -0.25,  0.25,  0.75])
    """

    values: tuple[NDArray[np.float64], ...] = ()
    ranks: tuple[NDArray[np.float64], ...] = ()

    def fit(self, training: Training) -> RankMoments:
        """Compute the ranks of the training items."""
        assert training.items is not None
        pairs = [
            _ranks(column, training.class_weights)
            for column in _used(np.asarray(training.items, np.float64))
        ]
        values, ranks = zip(*pairs, strict=True)
        return RankMoments(values, ranks)

    def embed(self, items: NDArray[np.float64]) -> RankEmbedding:
        """Embed items given as posteriors."""
        return RankEmbedding(self, items)

    @property
    def degrees(self) -> int:
        """Number of polynomials of each posterior."""
        return _DEGREES_OF_TWO_CLASSES if len(self.values) == 1 else _DEGREES_OF_MORE

    @cached_property
    def search(self) -> tuple[NDArray[Any], ...]:
        """Values of all posteriors, lines between their ranks, edges, and numbers by bin."""
        n_bins = 1 << (_BITS_OF_BINS - (len(self.values) - 1).bit_length())
        bins = np.arange(n_bins + 1) / n_bins
        starts = np.stack([np.searchsorted(own, bins, side="right") for own in self.values])
        # A value in the first bin can be 0.
        starts[:, 0] = 0
        starts[:, -1] = sizes = [len(own) for own in self.values]
        return (
            np.concatenate([np.append(own, np.inf) for own in self.values]),
            np.concatenate(
                [_lines(*each) for each in zip(self.values, self.ranks, strict=True)]
            ),
            np.concatenate([[0], np.cumsum(np.add(sizes, 1))]),
            starts.astype(np.int32),
        )


@dataclass(frozen=True, eq=False)
class RankEmbedding:
    """Items as polynomials of their ranks, computed when they are used.

    Attributes
    ----------
    moments : RankMoments
        The fitted ranks.
    items : ndarray of shape (n, K)
        Posteriors.
    """

    moments: RankMoments
    items: NDArray[np.float64]

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.moments.degrees * len(self.moments.values)

    @property
    def values(self) -> NDArray[np.float64]:
        """Polynomials, one row per item."""
        moments = self.moments
        columns: list[NDArray[np.float64]] = []
        values, lines, edges, starts = moments.search
        for c, column in enumerate(np.ascontiguousarray(_used(self.items))):
            x = np.empty(len(column))
            ranks_of(column, values, lines, edges[c], starts[c], 0.0, x)
            polynomials = (x, (3 * x**2 - 1) / 2, (5 * x**3 - 3 * x) / 2)
            columns.extend(polynomials[: moments.degrees])
        return np.column_stack(columns)

    def means(
        self, samples: Samples, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Mean vector of each sample."""
        return Dense(self.values).means(samples, weights)

    def add_sums(self, groups: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """Add the items to the sums of their groups."""
        items = np.ascontiguousarray(self.items, dtype=np.float64)
        moments = self.moments
        first = 1 if items.shape[1] == 2 else 0
        rule: tuple[Any, ...] = (*moments.search, moments.degrees, _SMALLEST)
        add_rank_moments(*(items, first, *rule, groups, sums))


def _used(posteriors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Posteriors that are used, one row per class."""
    used = posteriors.T[1:] if posteriors.shape[1] == 2 else posteriors.T
    # Interpolation between values that are closer than this overflows.
    return np.where(used < _SMALLEST, 0.0, used)


def _lines(values: NDArray[np.float64], ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Value, rank and slope of the line between each two values, and of those outside."""
    slopes = np.concatenate([[0.0], np.diff(ranks) / np.diff(values), [0.0]])
    return np.column_stack([np.append(values[0], values), np.append(ranks[0], ranks), slopes])


def _ranks(
    column: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct values, and the middle rank of each, from -1 to 1."""
    there = weights > 0
    values, which = np.unique(column[there], return_inverse=True)
    mass = np.bincount(which, weights[there])
    return values, (2 * np.cumsum(mass) - mass) / mass.sum() - 1
