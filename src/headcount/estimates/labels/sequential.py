"""Intervals that are valid at all times: label until they are short enough.

A capital bets against each possible share, label by label, and grows beyond ``1 / (1 - level)``
with probability ``1 - level`` at most if the share is true, however often one looks
(Waudby-Smith and Ramdas, JRSS B 2024). The bets are on what a label adds to a prediction from
the verdict and the labels before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headcount._support.arrays import Floats, Ints

# Shares that are tried; part of the capital that is bet at most; labels that the mean over all
# verdicts counts for in a prediction.
_GRID, _MOST_BET, _PRIOR = 1000, 0.5, 2.0


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Shares among items of which some were labelled, one after the other, at random.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = (rng.random(2000) < 0.3).astype(float)
    >>> verdicts = np.where(rng.random(2000) < 0.1, 1 - truth, truth).astype(int)
    >>> rows = rng.permutation(2000)[:300]
    >>> outcomes = np.column_stack([1 - truth, truth])[rows]
    >>> found = ConfidenceSequence.of(outcomes, verdicts[rows], np.bincount(verdicts))
    >>> low, high = found.ends(0.95)
    >>> bool(low[1] < truth.mean() < high[1]), float((high - low)[1].round(2))
    (True, 0.11)
    """

    centre: Floats
    capital: Floats

    @classmethod
    def of(cls, outcomes: Floats, verdicts: Ints, sizes: Ints) -> ConfidenceSequence:
        """Bet on labels in the order of ``outcomes``; ``sizes`` counts items by verdict."""
        K = outcomes.shape[1]
        predictions, remaining = _predictions(outcomes, verdicts, sizes)
        capital = np.stack(
            [
                _capital(outcomes[:, k], verdicts, predictions[:, :, k], remaining)
                for k in range(K)
            ]
        )
        means = np.array(
            [
                outcomes[verdicts == v].mean(axis=0)
                if (verdicts == v).any()
                else outcomes.mean(axis=0)
                for v in range(len(sizes))
            ]
        )
        return cls(sizes @ means / sizes.sum(), capital)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the intervals: shares against which no capital has ever grown too much."""
        low, high = np.zeros(len(self.capital)), np.ones(len(self.capital))
        for k, capital in enumerate(self.capital):
            possible = np.flatnonzero(capital < -np.log1p(-level))
            if len(possible):
                low[k] = max(possible[0] - 1, 0) / _GRID
                high[k] = min(possible[-1] + 1, _GRID) / _GRID
        return np.minimum(low, self.centre), np.maximum(high, self.centre)


def _predictions(outcomes: Floats, verdicts: Ints, sizes: Ints) -> tuple[Floats, Ints]:
    """Predicted outcomes by verdict before each label (n, V, K), and items left by verdict."""
    n, K = outcomes.shape
    one_hot = (verdicts[:, None] == np.arange(len(sizes))).astype(np.float64)
    products = one_hot[:, :, None] * outcomes[:, None]
    sums = np.cumsum(products, axis=0) - products
    counts = np.cumsum(one_hot, axis=0) - one_hot
    before = np.cumsum(outcomes, axis=0) - outcomes
    overall = (before + 1 / K) / (np.arange(n)[:, None] + 1.0)
    predicted = (sums + _PRIOR * overall[:, None]) / (counts[:, :, None] + _PRIOR)
    return predicted, (sizes - counts).astype(np.int64)


def _capital(values: Floats, verdicts: Ints, predicted: Floats, remaining: Ints) -> Floats:
    """Largest logarithm of the capital so far against each share that is tried."""
    shares = np.linspace(0, 1, _GRID + 1)
    left = remaining.sum(axis=1)
    expected = (remaining * predicted).sum(axis=1) / left
    residuals = values - predicted[np.arange(len(values)), verdicts]
    before = np.cumsum(values) - values
    squares = np.cumsum(residuals**2) - residuals**2
    steps = np.arange(1, len(values) + 1)
    variance = (0.25 + squares) / steps
    bets = np.sqrt(2 * np.log(2 / 0.05) / (variance * steps * np.log1p(steps)))
    up, down = np.zeros(_GRID + 1), np.zeros(_GRID + 1)
    best = np.full(_GRID + 1, -np.inf)
    total = left[0]
    for t, residual in enumerate(residuals):
        mean = (total * shares - before[t]) / left[t]  # of the items left, if the share is true
        best[(mean < -1e-9) | (mean > 1 + 1e-9)] = np.inf
        gain = residual - (np.clip(mean, 0, 1) - expected[t])
        # The largest loss of a bet that the residual is higher, and lower, than expected.
        lowest = predicted[t].max() + np.clip(mean, 0, 1) - expected[t]
        highest = 1 - predicted[t].min() - np.clip(mean, 0, 1) + expected[t]
        up += np.log1p(np.minimum(bets[t], _MOST_BET / np.maximum(lowest, 1e-9)) * gain)
        down += np.log1p(-np.minimum(bets[t], _MOST_BET / np.maximum(highest, 1e-9)) * gain)
        best = np.maximum(best, np.logaddexp(up, down) - np.log(2))
    return best
