"""One random stream a sample, found from the seed and the sample's number alone.

Nothing is consumed in sequence, so sample i is the same whatever is drawn before it,
beside it or on how many threads.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.stratified_draws import GOLDEN, mix
from headcount.errors import HeadcountError

__all__ = ["RandomState", "base_seeds", "check_random_state", "stream_seeds", "uniforms"]

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def base_seeds(random_state: RandomState, n: int) -> list[int]:
    """Turn a ``random_state`` into ``n`` unrelated 64-bit seeds."""
    return [int(seed) for seed in _seed_sequence(random_state).generate_state(n, np.uint64)]


def check_random_state(random_state: Any) -> None:
    """Refuse what is no source of chance."""
    if random_state is None or isinstance(
        random_state, np.random.Generator | np.random.RandomState
    ):
        return
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise HeadcountError(
            f"random_state is {random_state!r}; it must be None, a whole number of at least 0, "
            "or a numpy Generator or RandomState."
        )


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
    """Seed the streams of these numbers: no two of one base share a seed."""
    return _words(np.uint64(base), numbers.astype(np.uint64))


def uniforms(base: int, numbers: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Give the first ``n`` uniforms of each numbered stream, all strictly within (0, 1)."""
    words = _words(stream_seeds(base, numbers)[:, None], np.arange(n, dtype=np.uint64))
    # Of 52 bits and a half, which a double holds exactly: neither end can be reached.
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _words(
    seeds: np.uint64 | NDArray[np.uint64], numbers: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = mix(seeds + (numbers + np.uint64(1)) * GOLDEN)
    return words
