"""Random draws of the items of a pool, stratum by stratum, with one stream per sample.

The stream is SplitMix64: word ``k`` of the stream with seed ``s`` is
``mix(s + (k + 1) * GOLDEN)``, in arithmetic modulo 2**64. Without compilation numpy warns
of the overflow that this relies on: call under ``np.errstate(over="ignore")``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30 = np.uint64(11), np.uint64(27), np.uint64(30)
_S31, _S32 = np.uint64(31), np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_TWO_TO_32 = np.uint64(1 << 32)
_TO_MINUS_53 = 2.0**-53
_MOST_FOREIGN = 20


def mix(word: Any) -> Any:
    """Scramble 64-bit words, one to one. Accepts numpy arrays and compiled scalars."""
    word = (word ^ (word >> _S30)) * _FIRST_FACTOR
    word = (word ^ (word >> _S27)) * _SECOND_FACTOR
    return word ^ (word >> _S31)


_mix = njit(cache=True, nogil=True)(mix)


@njit(cache=True, nogil=True, error_model="numpy")
def _below(bound: np.uint64, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return an unbiased integer below ``bound`` (at most 2**32), and the next state.

    Lemire's method: the high half of a 32 x 32 bit product. In the rare case in which the
    low half is among the values that would favour one result, the word is drawn again.
    """
    while True:
        state = state + GOLDEN
        product = (_mix(state) >> _S32) * bound
        low = product & _LOW_HALF
        if low >= bound or low >= (_TWO_TO_32 - bound) % bound:
            return product >> _S32, state


@njit(cache=True, nogil=True, error_model="numpy")
def _poisson(mean: float, word: np.uint64) -> np.uint64:
    """Return a Poisson number from one random word, by inversion. For small means."""
    uniform = np.float64(word >> _S11) * _TO_MINUS_53
    number, probability = 0, np.exp(-mean)
    while uniform >= probability and number < _MOST_FOREIGN:
        uniform -= probability
        number += 1
        probability *= mean / number
    return np.uint64(number)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_items(
    start: int,
    stop: int,
    seeds: NDArray[np.uint64],
    counts: NDArray[np.int64],
    items: NDArray[Any],
    strata: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Fill ``out[offsets[i]:offsets[i + 1]]`` for the samples i from start to stop.

    Sample i takes ``counts[i, j]`` of ``items[strata[j]:strata[j + 1]]`` for each stratum
    j: without replacement if there are that many, with replacement otherwise.
    """
    # places[p] == p between samples, so that samples are independent of one another.
    places = np.empty_like(items)
    for p in range(len(places)):
        places[p] = p
    for sample in range(start, stop):
        state = seeds[sample]
        position = offsets[sample]
        for stratum in range(counts.shape[1]):
            first = strata[stratum]
            n_items = strata[stratum + 1] - first
            count = counts[sample, stratum]
            if count > n_items:
                for k in range(position, position + count):
                    pick, state = _below(np.uint64(n_items), state)
                    out[k] = items[first + np.int64(pick)]
            else:
                for k in range(count):
                    pick, state = _below(np.uint64(n_items - k), state)
                    place_drawn = first + k + np.int64(pick)
                    out[position + k] = places[place_drawn]
                    places[place_drawn] = places[first + k]
                # A place loses its original value only when that value is drawn.
                for k in range(count):
                    place = out[position + k]
                    places[place] = place
                    out[position + k] = items[place]
            position += count


@njit(cache=True, nogil=True, error_model="numpy")
def draw_resampled(
    start: int,
    stop: int,
    seeds: NDArray[np.uint64],
    counts: NDArray[np.int64],
    items: NDArray[Any],
    strata: NDArray[np.int64],
    n_resampled: NDArray[np.int64],
    foreign: float,
    mass: NDArray[np.float64],
    offsets: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Fill ``out[offsets[i]:offsets[i + 1]]`` for the samples i from start to stop.

    For sample i, each stratum j is first resampled: ``n_resampled[j]`` of its items are drawn
    with replacement, and a Poisson number, ``foreign`` on average, of items of any stratum.
    The probabilities are proportional to ``mass`` (cumulated over all items, from 0), or equal
    if it is empty. Then ``counts[i, j]`` items of the resampled stratum are drawn with
    replacement. A resampled item is computed from its number only when it is drawn, so that
    the time does not depend on the size of the strata.
    """
    for sample in range(start, stop):
        state = seeds[sample]
        position = offsets[sample]
        for stratum in range(counts.shape[1]):
            first = strata[stratum]
            n_items = strata[stratum + 1] - first
            base = _mix(seeds[sample] ^ _mix(np.uint64(stratum + 1) * GOLDEN))
            n_own = np.uint64(n_resampled[stratum])
            bound = n_own + _poisson(foreign, _mix(base))
            for k in range(position, position + counts[sample, stratum]):
                number, state = _below(bound, state)
                word = _mix(base + (number + np.uint64(1)) * GOLDEN)
                low, high = first, first + n_items
                if number >= n_own:
                    low, high = 0, len(items)
                if len(mass) == 0:
                    place_drawn = low + np.int64(
                        ((word >> _S32) * np.uint64(high - low)) >> _S32
                    )
                else:
                    uniform = np.float64(word >> _S11) * _TO_MINUS_53
                    aim = mass[low] + uniform * (mass[high] - mass[low])
                    place_drawn = np.searchsorted(mass, aim, side="right") - 1
                    # Rounding can move the target past the end of its stratum.
                    place_drawn = min(max(place_drawn, low), high - 1)
                out[k] = items[place_drawn]
            position += counts[sample, stratum]
