"""Points on the simplex, and the nearest whole counts."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from headcount._random import uniforms

__all__ = [
    "dirichlet_shares",
    "grid_length",
    "grid_shares",
    "nearest_counts",
    "uniform_shares",
]

_TIES = 0  # Base seed of the fixed streams that break ties, independent of random_state.
_REMAINDER_DECIMALS = 9


def grid_length(n_steps: int, n_classes: int) -> int:
    """Number of points of the grid with step ``1 / n_steps`` on the simplex."""
    return comb(n_steps + n_classes - 1, n_classes - 1)


def grid_shares(n_steps: int, n_classes: int) -> NDArray[np.float64]:
    """Points of the grid, from all in the first class to all in the last."""
    # Stars and bars: each point is a row of n_steps stars, separated by K - 1 bars.
    n_places, n_bars = n_steps + n_classes - 1, n_classes - 1
    length = grid_length(n_steps, n_classes)
    places = chain.from_iterable(combinations(range(n_places), n_bars))
    bars = np.fromiter(places, np.int64, count=length * n_bars).reshape(length, n_bars)
    stars = np.diff(bars, axis=1, prepend=-1, append=n_places) - 1
    return stars[::-1] / n_steps


def uniform_shares(base: int, rows: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Draw uniformly from the simplex: the gaps between sorted uniforms (Kraemer)."""
    cuts = np.sort(uniforms(base, rows, n_classes - 1), axis=1)
    return np.diff(cuts, axis=1, prepend=0.0, append=1.0)


def dirichlet_shares(
    base: int, rows: NDArray[np.int64], alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw from a Dirichlet distribution by inverting gamma distributions.

    In logarithms, and through gamma(a) = gamma(a + 1) * U ** (1 / a), because with a
    small ``alpha`` the plain gamma variates are often all zero in double precision.
    """
    n_classes = len(alpha)
    both = uniforms(base, rows, 2 * n_classes)
    logs = np.log(gammaincinv(alpha + 1, both[:, :n_classes]))
    logs += np.log(both[:, n_classes:]) / alpha
    shares: NDArray[np.float64] = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def nearest_counts(
    shares: NDArray[np.float64], sizes: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Round ``shares * sizes`` to counts that sum to ``sizes``, by largest remainder.

    Ties are broken by a fixed hash of the row's number in ``rows`` and the class. No class
    is favoured over many rows, and repetitions of a row have equal counts.
    """
    quotas = shares * sizes[:, None]
    floors = np.floor(quotas)
    # Rounded, so that floating point does not break ties.
    remainders = np.round(quotas - floors, _REMAINDER_DECIMALS)
    hashes = uniforms(_TIES, rows, shares.shape[1])
    ranking = np.lexsort((hashes, -remainders), axis=1)
    counts = floors.astype(np.int64, order="C")
    missing = sizes - counts.sum(axis=1)
    extra = np.arange(shares.shape[1]) < missing[:, None]
    np.put_along_axis(counts, ranking, np.take_along_axis(counts, ranking, 1) + extra, 1)
    return counts
