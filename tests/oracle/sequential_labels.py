"""Labelling the items of a sample one after the other, written down plainly."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray


def likeliest(row: Sequence[float], shares: Sequence[float], prior: Sequence[float]) -> int:
    """The class after correction; shares may be given up to a factor."""
    corrected = [p * new / old for p, new, old in zip(row, shares, prior, strict=True)]
    return corrected.index(max(corrected))


def label_in_turn(
    posteriors: NDArray[np.float64],
    prior: NDArray[np.float64],
    *,
    threshold: float | None = None,
    share: float = 0.0,
    soft: bool = False,
) -> NDArray[np.float64]:
    """Shares of one sample; sure are posteriors from `threshold` on, or a share of it."""
    rows = sorted((list(row) for row in posteriors), key=max, reverse=True)
    n = len(rows)
    if threshold is None:
        number = ceil(n * share)
        threshold = max(rows[number - 1]) if number else np.inf
    counts = [0] * len(prior)
    left = n
    for row in rows:
        if max(row) >= threshold:
            counts[row.index(max(row))] += 1
            left -= 1
    others = [row for row in rows if max(row) < threshold]
    for level in sorted({max(row) for row in others}, reverse=True):
        tied = [row for row in others if max(row) == level]
        running = [c + left * p for c, p in zip(counts, prior, strict=True)]
        for row in tied:
            counts[likeliest(row, running, prior)] += 1
            left -= 1
    assert left == 0
    out = np.zeros(len(prior))
    for row in rows:
        if soft:
            corrected = np.array(row) * counts / prior
            out += corrected / corrected.sum()
        else:
            out[likeliest(row, counts, prior)] += 1
    return out / n


def mean_recall(posteriors: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    called = posteriors.argmax(axis=1)
    return float(np.mean([np.mean(called[codes == j] == j) for j in np.unique(codes)]))
