"""Gaussian kernels, one pair of points at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad


def squared_distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def kernel(a: Sequence[float], b: Sequence[float], bandwidth: float) -> float:
    return math.exp(-squared_distance(a, b) / (2 * bandwidth**2))


def mean_kernels(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    codes: Sequence[int],
    weights: Sequence[float],
    n_classes: int,
    bandwidth: float,
) -> NDArray[np.float64]:
    """Weighted mean kernel between each point and the centres of each class."""
    out = np.zeros((len(points), n_classes))
    for i, point in enumerate(points):
        for j in range(n_classes):
            own = [c for c in range(len(centres)) if codes[c] == j]
            mass = math.fsum(weights[c] for c in own)
            out[i, j] = math.fsum(
                weights[c] / mass * kernel(point, centres[c], bandwidth) for c in own
            )
    return out


def mean_kernels_without(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    codes: Sequence[int],
    weights: Sequence[float],
    n_classes: int,
    bandwidth: float,
    copied: Sequence[int],
) -> NDArray[np.float64]:
    """Mean kernels between each point and all centres but the one that it is a copy of."""
    rows = []
    for point, row in zip(points, copied, strict=True):
        keep = [i for i in range(len(centres)) if i != row]
        others = centres[keep], [codes[i] for i in keep], [weights[i] for i in keep]
        rows.append(mean_kernels(point[None], *others, n_classes, bandwidth)[0])
    return np.array(rows)


def log_mean_kernels(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    codes: Sequence[int],
    n_classes: int,
    bandwidth: float,
) -> NDArray[np.float64]:
    """Logarithms of the mean kernels, which may be far too small to be held otherwise."""
    out = np.zeros((len(points), n_classes))
    for i, point in enumerate(points):
        for j in range(n_classes):
            exponents = [
                -squared_distance(point, centre) / (2 * bandwidth**2)
                for centre, code in zip(centres, codes, strict=True)
                if code == j
            ]
            top = max(exponents)
            rest = math.fsum(math.exp(e - top) for e in exponents)
            out[i, j] = top + math.log(rest / len(exponents))
    return out


def line_density(scores: Sequence[float], bandwidth: float) -> Callable[[float], float]:
    """Density of the second posterior; along it the kernel's deviation is h / sqrt 2."""
    deviation = bandwidth / math.sqrt(2)
    height = 1 / (len(scores) * deviation * math.sqrt(2 * math.pi))

    def density(x: float) -> float:
        return height * math.fsum(
            math.exp(-((x - s) ** 2) / (2 * deviation**2)) for s in scores
        )

    return density


def affinity(
    f: Callable[[float], float], g: Callable[[float], float], bandwidth: float
) -> float:
    """Integral of sqrt(f g) over the line: one less the squared Hellinger distance."""
    low, high = -6 * bandwidth, 1 + 6 * bandwidth
    pieces = np.linspace(low, high, 21)
    return math.fsum(
        quad(lambda x: math.sqrt(f(x) * g(x)), a, b, epsabs=1e-13, limit=200)[0]
        for a, b in pairwise(pieces)
    )
