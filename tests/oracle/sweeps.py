"""Continuous sweep as it is described: barriers found, counts integrated piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erfc

Rate = Callable[[float], float]


def rates(means: Sequence[float], sds: Sequence[float]) -> tuple[Rate, Rate]:
    """False and true positive rate by threshold."""

    def above(j: int) -> Rate:
        return lambda t: erfc((t - means[j]) / (np.sqrt(2) * sds[j])) / 2

    return above(0), above(1)


def best_threshold(means: Sequence[float], sds: Sequence[float]) -> float:
    false, true = rates(means, sds)
    reach = 3 * max(sds)
    grid = np.concatenate(
        [np.linspace(mean - reach, mean + reach, 2001) for mean in means]
        + [mean + sd * np.linspace(-6, 6, 2001) for mean, sd in zip(means, sds, strict=True)]
    )
    grid.sort()
    at = int(np.argmax(true(grid) - false(grid)))
    around = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda t: false(t) - true(t), bounds=around, method="bounded", options={"xatol": 1e-12}
    )
    return float(found.x)


def barriers(
    means: Sequence[float], sds: Sequence[float], p_delta: float
) -> tuple[float, float]:
    """Where the rates differ by p_delta, on either side of where they differ most."""
    false, true = rates(means, sds)
    best = best_threshold(means, sds)
    far = 40 * max(sds) + abs(means[1] - means[0])

    def excess(t: float) -> float:
        return true(t) - false(t) - p_delta

    return (
        brentq(excess, best - far, best, xtol=1e-14),
        brentq(excess, best, best + far, xtol=1e-14),
    )


def mean_adjusted_count(
    scores: Sequence[float],
    means: Sequence[float],
    sds: Sequence[float],
    left: float,
    right: float,
) -> float:
    """The mean over thresholds from left to right, not clipped."""
    false, true = rates(means, sds)
    marks = [m + k * s for m, s in zip(means, sds, strict=True) for k in range(-6, 7)]
    inner = sorted(x for x in {*scores, *marks} if left < x < right)
    total = 0.0
    for low, high in pairwise([left, *inner, right]):
        count = np.mean([score >= (low + high) / 2 for score in scores])
        total += quad(
            lambda t, count=count: (count - false(t)) / (true(t) - false(t)),
            low,
            high,
            epsabs=1e-13,
            epsrel=1e-12,
        )[0]
    return total / (right - left)


def variance(
    means: Sequence[float],
    sds: Sequence[float],
    left: float,
    right: float,
    share: float,
    n: int = 1500,
) -> float:
    """Variance of the estimate times the size of the sample, of which `share` is positive.

    The double integral of the covariance of the counts at two thresholds, as a sum.
    """
    false, true = rates(means, sds)
    t = left + (right - left) * (np.arange(n) + 0.5) / n
    spread = true(t) - false(t)
    total = 0.0
    for weight, rate in ((1 - share, false), (share, true)):
        above = rate(t)
        both = np.minimum(above[:, None], above)
        covariance = both - above[:, None] * above
        total += weight * np.mean(covariance / (spread[:, None] * spread))
    return total
