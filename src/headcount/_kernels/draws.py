"""Random draws with one stream per sample: of items by stratum, and of posterior shares.

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


# Draws from posterior distributions of the shares in a mixture, one stream per sample.

# Smallest mixture density, relative to the largest density of an item, and the product of
# densities whose logarithm is taken.
_LEAST, _SMALL = 1e-100, 1e-150
# Binomial numbers of more trials are divided in two.
_FEW_TRIALS = 12
# Halvings of the range in which a level is searched.
_HALVINGS = 60


@njit(cache=True, nogil=True, error_model="numpy")
def _uniform(state):
    """A number between 0 and 1, both excluded, from the state, which advances by one word."""
    state[0] = state[0] + GOLDEN
    return (np.float64(_mix(state[0]) >> _S11) + 0.5) * _TO_MINUS_53


@njit(cache=True, nogil=True, error_model="numpy")
def gamma(shape, state):
    """A gamma number, by the method of Marsaglia & Tsang (2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = _uniform(state) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        # A normal number, by the method of Box & Muller.
        radius = np.sqrt(-2.0 * np.log(_uniform(state)))
        x = radius * np.cos(2.0 * np.pi * _uniform(state))
        v = (1.0 + c * x) ** 3
        if v > 0.0 and np.log(_uniform(state)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return boost * d * v


@njit(cache=True, nogil=True, error_model="numpy")
def binomial(n, p, state):
    """A binomial number; many trials are divided at the median of n uniform numbers."""
    successes = 0
    while n > _FEW_TRIALS:
        half = n // 2 + 1
        low, high = gamma(float(half), state), gamma(float(n + 1 - half), state)
        median = low / (low + high)
        if median >= p:
            n = half - 1
            p = p / median
        else:
            successes += half
            n -= half
            p = (p - median) / (1.0 - median)
    for _ in range(n):
        if _uniform(state) < p:
            successes += 1
    return successes


@njit(cache=True, nogil=True, error_model="numpy")
def _log_density(t, total, base, slope, counts, power, first, second):
    """Log-density of the part t of two classes' shares that the first of them has.

    `base` holds the densities of the items if the second has both shares, and `slope` what
    the first adds; `counts` the numbers of items, or nothing if each is one. The likelihood
    is raised to a power.
    """
    product, log_density = 1.0, 0.0
    for i in range(base.size):
        density = max(base[i] + t * slope[i], _LEAST)
        if counts.size:
            log_density += counts[i] * np.log(density)
        else:
            product *= density
            if product < _SMALL:
                log_density += np.log(product)
                product = 1.0
    log_density = power * (log_density + np.log(product))
    if first != 1.0:
        log_density += (first - 1.0) * np.log(t * total)
    if second != 1.0:
        log_density += (second - 1.0) * np.log((1.0 - t) * total)
    return log_density


@njit(cache=True, nogil=True, error_model="numpy")
def _renew_pair(j, k, ratios, counts, power, prior, shares, base, slope, state):
    """Renew the division of two shares, by slice sampling."""
    K = shares.size
    total = shares[j] + shares[k]
    for i in range(base.size):
        density = 0.0
        for c in range(K):
            if c != j and c != k:
                density += shares[c] * ratios[i, c]
        base[i] = density + total * ratios[i, k]
        slope[i] = total * (ratios[i, j] - ratios[i, k])
    t = shares[j] / total
    level = _log_density(t, total, base, slope, counts, power, prior[j], prior[k])
    level += np.log(_uniform(state))
    low, high = 0.0, 1.0
    while True:
        new = low + (high - low) * _uniform(state)
        if _log_density(new, total, base, slope, counts, power, prior[j], prior[k]) >= level:
            break
        if new < t:
            low = new
        else:
            high = new
        if high - low < 1e-14:
            new = t
            break
    # Shares never vanish, so that any pair can be divided again.
    shares[j] = max(total * new, 1e-300)
    shares[k] = max(total * (1.0 - new), 1e-300)


@njit(cache=True, nogil=True, error_model="numpy")
def _renew_shares(ratios, counts, power, prior, shares, base, slope, state):
    """Renew random pairs of shares, as many as there are classes."""
    K = shares.size
    for _ in range(K if K > 2 else 1):
        j = int(K * _uniform(state))
        k = int((K - 1) * _uniform(state))
        if k >= j:
            k += 1
        _renew_pair(j, k, ratios, counts, power, prior, shares, base, slope, state)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_from_ratios(
    ratios, indices, offsets, powers, prior, seed, warm_up, start, stop, out
):  # fmt: skip
    """Draws of the realised shares of samples whose items have known likelihoods.

    `ratios` has one row per item of the pool, the largest number of each being 1. `powers`
    are those of the likelihoods of the samples, and `prior` the parameters of a Dirichlet
    distribution. `out` (S, n_draws, K) is filled.
    """
    K = ratios.shape[1]
    shares, none, state = np.empty(K), np.empty(0), np.empty(1, np.uint64)
    for s in range(start, stop):
        m = offsets[s + 1] - offsets[s]
        sample_ratios, base, slope = np.empty((m, K)), np.empty(m), np.empty(m)
        for i in range(m):
            sample_ratios[i] = ratios[indices[offsets[s] + i]]
        state[0] = seed
        for j in range(K):
            shares[j] = 1.0 / K
        for turn in range(-warm_up, out.shape[1]):
            _renew_shares(sample_ratios, none, powers[s], prior, shares, base, slope, state)
            if turn < 0:
                continue
            counts = out[s, turn]
            counts[:] = 0.0
            for i in range(m):
                density = 0.0
                for j in range(K):
                    density += shares[j] * sample_ratios[i, j]
                remaining = density * _uniform(state)
                j = 0
                while j < K - 1 and remaining >= shares[j] * sample_ratios[i, j]:
                    remaining -= shares[j] * sample_ratios[i, j]
                    j += 1
                counts[j] += 1.0 / m


@njit(cache=True, nogil=True, error_model="numpy")
def draw_from_counts(
    reference, observed, prior, smoothing, seed, warm_up, thinning, start, stop, out
):  # fmt: skip
    """Draws of the realised shares of samples that are counts in bins.

    `reference` (K, B) are the counts of the training items of each class, `observed` (S, B)
    those of the samples, `prior` the parameters of the shares' Dirichlet distribution and
    `smoothing` that of the bins' in each class. `out` (S, n_draws, K) is filled; there are
    `thinning` (S,) steps between two draws.
    """
    K, B = reference.shape
    shares, base, slope = np.empty(K), np.empty(B), np.empty(B)
    rates, counts, split = np.empty((B, K)), np.empty(B), np.empty((B, K))
    state = np.empty(1, np.uint64)
    for s in range(start, stop):
        state[0] = seed
        m = 0.0
        for b in range(B):
            counts[b] = observed[s, b]
            m += counts[b]
        for j in range(K):
            shares[j] = 1.0 / K
            total = 0.0
            for b in range(B):
                total += reference[j, b] + smoothing
            for b in range(B):
                rates[b, j] = (reference[j, b] + smoothing) / total
        for turn in range(-warm_up, out.shape[1] * thinning[s]):
            _renew_shares(rates, counts, 1.0, prior, shares, base, slope, state)
            for b in range(B):
                remaining = int(counts[b])
                density = 0.0
                for j in range(K):
                    density += shares[j] * rates[b, j]
                for j in range(K - 1):
                    weight = shares[j] * rates[b, j]
                    split[b, j] = binomial(remaining, min(weight / density, 1.0), state)
                    remaining -= int(split[b, j])
                    density = max(density - weight, weight * 1e-16 + 1e-300)
                split[b, K - 1] = remaining
            for j in range(K):
                total = 0.0
                for b in range(B):
                    rates[b, j] = max(
                        gamma(reference[j, b] + smoothing + split[b, j], state), 1e-300
                    )
                    total += rates[b, j]
                for b in range(B):
                    rates[b, j] /= total
            if turn >= 0 and (turn + 1) % thinning[s] == 0:
                shares_out = out[s, turn // thinning[s]]
                for j in range(K):
                    shares_out[j] = 0.0
                    for b in range(B):
                        shares_out[j] += split[b, j] / m


# Quantiles of several distributions at one level, such that they have a given sum.


@njit(cache=True, nogil=True, error_model="numpy")
def _quantile(values, middles, wanted):
    """Value at a cumulated mass, interpolated between the middles of the masses."""
    last = len(values) - 1
    if wanted <= middles[0]:
        return values[0]
    if wanted >= middles[last]:
        return values[last]
    i = np.searchsorted(middles, wanted)
    width = middles[i] - middles[i - 1]
    if width <= 0.0:
        return values[i]
    return values[i - 1] + (values[i] - values[i - 1]) * (wanted - middles[i - 1]) / width


@njit(cache=True, nogil=True, error_model="numpy")
def quantiles_with_sum(values, middles, totals, wanted_sum, out):
    """Write quantiles to `out` that sum to `wanted_sum`, or a little more.

    Rows of `values` are sorted, those of `middles` hold the cumulated mass up to the middle
    of each value, and `totals` are the masses of the rows. The quantile of row k is that at
    the mass (totals[k] + moved) / 2, with the same `moved` for all rows, found by bisection.
    """
    high = totals.max()
    low = -high
    for _ in range(_HALVINGS):
        moved = (low + high) / 2
        total = 0.0
        for k in range(len(values)):
            total += _quantile(values[k], middles[k], (totals[k] + moved) / 2)
        if total < wanted_sum:
            low = moved
        else:
            high = moved
    for k in range(len(values)):
        out[k] = _quantile(values[k], middles[k], (totals[k] + high) / 2)
