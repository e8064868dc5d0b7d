"""Samples with known shares, simulated from labelled items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.stratified_draws import draw_resampled
from headcount._threads import each_range
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling.samples import sort_by_code
from headcount.uncertainty.prior import Prior

Floats = NDArray[np.float64]

# Sizes up to the first are simulated as they are. Larger ones are rounded to powers of the
# ratio, so that samples of many sizes share simulations, and are at most the last.
_EXACT_SIZE, _SIZE_RATIO, _LARGEST_SIZE = 20, 1.1, 20_000
# Items that one set of simulations has at most, as long as at least so many samples are left.
_MOST_ITEMS, _FEWEST_SAMPLES = 20_000_000, 1000
_FEWEST_ITEMS_PER_THREAD = 20_000


@dataclass(frozen=True, eq=False)
class Simulated:
    """Samples of labelled items, and their composition.

    Attributes
    ----------
    samples : Samples
        Rows of the labelled items.
    shares : ndarray of shape (B, K)
        Shares of the classes in each sample.
    """

    samples: Samples
    shares: Floats


def simulate(
    training: Training,
    size: int,
    n: int,
    prior: Prior,
    seed: int,
    counts: NDArray[np.int64] | None = None,
    foreign: float = 0.0,
) -> Simulated:
    """Simulate samples of one size with shares drawn from a prior.

    For each sample every class is first resampled: a class of m items is replaced by m - 1 of
    them, drawn with replacement. The resampled class differs from the class in training as
    that one differs from the class in the population, so that the noise of the training set
    is part of the simulation. (The mean of m - 1 draws varies as much as that of m items.)

    Parameters
    ----------
    training : Training
        Labelled items; only their classes and weights are used.
    size : int
        Items in each sample.
    n : int
        Number of samples; fewer of large ones, but at least 1,000.
    prior : Prior
        Distribution of the shares.
    seed : int
        Random seed.
    counts : ndarray of shape (K,), default=None
        Number of items that each class stands for; ``training.class_sizes`` by default.
    foreign : float, default=0.0
        Number of items of any class that each resampled class gets on average. They count as
        items of that class.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> import numpy as np
    >>> training = Training(None, np.array([0, 0, 0, 1, 1]), 2)
    >>> simulated = simulate(training, 10, 1000, Prior(np.array([9.0, 1.0])), 0)
    >>> simulated.samples
    Samples(1,000 samples of 10 items, from a pool of 5)
    >>> simulated.shares.mean(axis=0).round(1)
    array([0.9, 0.1])
    """
    n = min(n, max(_FEWEST_SAMPLES, _MOST_ITEMS // size))
    rng = np.random.default_rng([seed, size])
    if counts is None:
        counts = training.class_sizes
    resampled = np.maximum(counts - 1, 1)
    composition = whole_counts(prior.draw(n, training.prior, rng), size, rng)
    items, strata = sort_by_code(training.codes, training.n_classes)
    mass = np.empty(0)
    if training.weights is not None:
        mass = np.concatenate([[0.0], np.cumsum(training.class_weights[items])])
    offsets = np.arange(n + 1) * size
    indices = np.empty(n * size, items.dtype)
    seeds = rng.integers(2**64, size=n, dtype=np.uint64)

    def work(start: int, stop: int) -> None:
        # Here, as other threads do not inherit it: the kernel relies on overflow.
        with np.errstate(over="ignore"):
            draw_resampled(
                start,
                stop,
                seeds,
                composition,
                items,
                strata,
                resampled,
                foreign,
                mass,
                offsets,
                indices,
            )

    each_range(work, n, grain=1 + _FEWEST_ITEMS_PER_THREAD // size)
    samples = Samples.unchecked(indices, offsets, len(training.codes))
    return Simulated(samples, composition / size)


def whole_counts(shares: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Counts that sum to `size` and are `shares` times `size` on average.

    Each count is one of the two whole numbers next to its expectation.
    """
    ends = np.floor(np.cumsum(shares, axis=1) * size + rng.random((len(shares), 1)))
    ends[:, -1] = size
    ends = np.minimum(ends, size).astype(np.int64)
    return np.ascontiguousarray(np.diff(ends, axis=1, prepend=0))


def simulated_size(size: int) -> int:
    """The size that samples of `size` items are simulated with."""
    if size <= _EXACT_SIZE:
        return size
    steps = round(np.log(size / _EXACT_SIZE) / np.log(_SIZE_RATIO))
    return min(round(_EXACT_SIZE * _SIZE_RATIO**steps), _LARGEST_SIZE)


def size_factor(counts: NDArray[np.int64], shares: Floats, size: int) -> float:
    """Ratio of the standard errors at `size` items and at the size that was simulated.

    ``counts`` are the numbers of training items of the classes.

    The squared error of an estimate has a part for the sample, which falls with its size,
    and a part for the training items of each class, which does not.
    """
    of_training = float((shares**2 / np.maximum(counts, 1)).sum())
    simulated = simulated_size(size)
    return float(np.sqrt((of_training + 1 / size) / (of_training + 1 / simulated)))
