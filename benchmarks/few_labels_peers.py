"""Intervals of the peers for the share of the last class, on the same labels."""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["peer_ends"]


@cache
def peers():
    """Functions of the peers that can be imported."""
    found = {}
    try:
        from ppi_py import ppi_mean_ci
    except ImportError:
        pass
    else:
        found["ppi"] = ppi_mean_ci
    try:
        from glide.estimators import PPIMeanEstimator, StratifiedPPIMeanEstimator
    except ImportError:
        pass
    else:
        found["glide"] = PPIMeanEstimator()
        found["glide strata"] = StratifiedPPIMeanEstimator()
    return found


def peer_ends(pool, sample, codes, strata, level):
    """Ends by peer. A peer that refuses the labels gets an interval from 0 to 1."""
    K = pool.values.shape[1]
    f = pool.values[:, -1]
    y = (codes == K - 1).astype(float)
    found = {}
    if strata.max() == 0:
        rest = np.ones(len(f), bool)
        rest[sample.rows] = False
        if "ppi" in peers():
            low, high = peers()["ppi"](y, f[sample.rows], f[rest], alpha=1 - level)
            found["ppi-python"] = (np.ravel(low), np.ravel(high))
        if "glide" in peers():
            found["glide"] = _glide("glide", f, sample, y, level)
    elif "glide strata" in peers():
        found["glide, strata"] = _glide("glide strata", f, sample, y, level, strata)
    return {
        name: tuple(np.broadcast_to(np.clip(end, 0, 1)[-1:], K) for end in ends)
        for name, ends in found.items()
    }


def _glide(name, f, sample, y, level, *strata):
    truth = np.full(len(f), np.nan)
    truth[sample.rows] = y
    try:
        result = peers()[name].estimate(truth, f, *strata, confidence_level=level)
    except ValueError:
        return np.zeros(1), np.ones(1)
    interval = result.confidence_interval
    return np.array([interval.lower_bound]), np.array([interval.upper_bound])
