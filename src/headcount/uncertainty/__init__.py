"""Intervals for every method, from samples simulated with known shares."""

from __future__ import annotations

from headcount.uncertainty.conditioning import Conditional, Conditioning, Posterior
from headcount.uncertainty.estimate import Counts, Estimate, Target
from headcount.uncertainty.intervals import Intervals, Region
from headcount.uncertainty.prior import Prior, check_prior
from headcount.uncertainty.shares import ShareConditioning, SharePosterior
from headcount.uncertainty.simulation import Simulated, simulate, simulated_size, size_factor
from headcount.uncertainty.smoothing import smooth

__all__ = [
    "Conditional",
    "Conditioning",
    "Counts",
    "Estimate",
    "Intervals",
    "Posterior",
    "Prior",
    "Region",
    "ShareConditioning",
    "SharePosterior",
    "Simulated",
    "Target",
    "check_prior",
    "simulate",
    "simulated_size",
    "size_factor",
    "smooth",
]
