from __future__ import annotations

import numpy as np


def scores(codes, K, rng, *, apart=2.0, moved=0.0):
    """Posteriors of items whose own class's log-odds are raised."""
    logits = rng.normal(size=(len(codes), K))
    logits[np.arange(len(codes)), codes] += apart - moved
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True)


def drawn(K, n, rng, shares=None):
    return np.repeat(
        np.arange(K), rng.multinomial(n, np.full(K, 1 / K) if shares is None else shares)
    )
