"""Random streams: one per sample, determined by the seed and the number of the sample.

Nothing is consumed in sequence. Sample i is the same whatever is drawn before it and on any
number of threads.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.stratified_draws import GOLDEN, mix
from headcount._support.parameters import check_random_state

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def base_seeds(random_state: RandomState, n: int) -> list[int]:
    """Turn a ``random_state`` into ``n`` independent 64-bit seeds."""
    return [int(seed) for seed in _seed_sequence(random_state).generate_state(n, np.uint64)]


def _seed_sequence(random_state: Any) -> np.random.SeedSequence:
    check_random_state(random_state)
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**63 - 1, dtype=np.int64)))
    return np.random.SeedSequence(int(random_state))


def stream_seeds(base: int, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Seeds of the streams with these numbers, all different for one base."""
    return _words(np.uint64(base), numbers.astype(np.uint64))


def uniforms(base: int, numbers: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """First ``n`` uniforms of each numbered stream, strictly between 0 and 1."""
    words = _words(stream_seeds(base, numbers)[:, None], np.arange(n, dtype=np.uint64))
    # 52 bits and a half, which a double holds exactly: neither end is reached.
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _words(
    seeds: np.uint64 | NDArray[np.uint64], numbers: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = mix(seeds + (numbers + np.uint64(1)) * GOLDEN)
    return words
