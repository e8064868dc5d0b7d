"""Embeddings: the items of a pool as vectors, with the mean vector of each sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.accumulation import add_codes, add_rows
from headcount._kernels.statistics import count_codes, sum_rows
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.sampling import Samples

LARGEST_SUMMAND = 1024.0
"""Largest absolute value of an item that sums are taken of, in fixed point."""
_NO_WEIGHTS = np.empty(0)
# Number of items to sum that justifies another thread.
_GRAIN_ITEMS = 20_000


class Embedding(Protocol):
    """Items of a pool, of which the means over samples can be computed."""

    @property
    def width(self) -> int:
        """Length of a mean vector."""

    def means(
        self, samples: Samples, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Mean vector of each sample. `weights` has one entry per item."""

    def add_sums(self, groups: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """Add the items to the sums of their groups, in whole numbers.

        `groups` has one number per item. If there are several rows per item, all first rows
        come first. ``sums[group, 0]`` are multiples of 2**-30, and ``sums[group, 1]`` are the
        remainders, multiples of 2**-61.
        """


@dataclass(frozen=True, eq=False)
class Dense:
    """Items as rows of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> Dense(np.array([[0.0, 1.0], [1.0, 0.0]])).means(Samples.whole(2))
    array([[0.5, 0.5]])
    """

    values: NDArray[np.float64]

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.values.shape[1]

    def means(
        self, samples: Samples, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Mean vector of each sample."""
        values = np.ascontiguousarray(self.values, dtype=np.float64)
        weights = _NO_WEIGHTS if weights is None else weights
        out = np.empty((len(samples), self.width))

        def work(start: int, stop: int) -> None:
            sum_rows(values, weights, samples.indices, samples.offsets, start, stop, out)

        each_range(work, len(samples), grain=_grain(samples, self.width))
        return out

    def add_sums(self, groups: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """Add the items to the sums of their groups."""
        values = np.ascontiguousarray(self.values, dtype=np.float64)
        largest = max(values.max(), -values.min())
        if not largest <= LARGEST_SUMMAND:
            raise HeadcountError(
                f"A value of the items is {largest:.3g}; sums of a representation allow values "
                f"up to {LARGEST_SUMMAND:.0f}: scale the features."
            )
        add_rows(values, groups, sums)


@dataclass(frozen=True, eq=False)
class Binned:
    """Items as indicators: each item is in one bin of each channel.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, channels)
        Bins of each item, numbered consecutively over all channels.
    n_bins : int
        Total number of bins of all channels.
    cumulative : bool, default=False
        Return cumulative sums of the means: the share of items in a bin or before it.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.sampling import Samples
    >>> Binned(np.array([[0], [2], [2], [1]], dtype=np.int32), 3).means(Samples.whole(4))
    array([[0.25, 0.25, 0.5 ]])
    """

    codes: NDArray[np.int32]
    n_bins: int
    cumulative: bool = False

    @property
    def width(self) -> int:
        """Length of a mean vector."""
        return self.n_bins

    def means(
        self, samples: Samples, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Share of the items of each sample in each bin."""
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        weights = _NO_WEIGHTS if weights is None else weights
        out = np.empty((len(samples), self.n_bins))

        def work(start: int, stop: int) -> None:
            count_codes(codes, weights, samples.indices, samples.offsets, start, stop, out)

        each_range(work, len(samples), grain=_grain(samples, codes.shape[1]))
        return np.cumsum(out, axis=1) if self.cumulative else out

    def add_sums(self, groups: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """Add the items to the sums of their groups."""
        codes = np.ascontiguousarray(self.codes, dtype=np.int32)
        if not self.cumulative:
            add_codes(codes, groups, sums)
            return
        own = np.zeros_like(sums)
        add_codes(codes, groups, own)
        sums += np.cumsum(own, axis=2)


def _grain(samples: Samples, width: int) -> int:
    """Number of samples that justifies another thread."""
    return max(1, int(_GRAIN_ITEMS * 4 // max(1.0, samples.sizes.mean() * width)))
