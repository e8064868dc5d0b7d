"""Intervals for every method, from samples simulated with known shares."""

from __future__ import annotations

from headcount.uncertainty.conditioning import Conditional, Conditioning, Posterior
from headcount.uncertainty.ellipses import Ellipse
from headcount.uncertainty.estimate import Counts, Estimand, Estimate
from headcount.uncertainty.estimates import (
    Answers,
    ConditionedEstimates,
    Estimates,
    GroupAnswers,
    deviations,
)
from headcount.uncertainty.intervals import Intervals, Region, around_shares
from headcount.uncertainty.posterior_draws import (
    check_dirichlet,
    posteriors_from_counts,
    posteriors_from_ratios,
)
from headcount.uncertainty.prior import Prior, check_prior
from headcount.uncertainty.shares import RepeatedPosterior, ShareConditioning, SharePosterior
from headcount.uncertainty.simulation import Simulated, simulate, simulated_size, size_factor
from headcount.uncertainty.smoothing import smooth

__all__ = [
    "Answers",
    "Conditional",
    "ConditionedEstimates",
    "Conditioning",
    "Counts",
    "Ellipse",
    "Estimand",
    "Estimate",
    "Estimates",
    "GroupAnswers",
    "Intervals",
    "Posterior",
    "Prior",
    "Region",
    "RepeatedPosterior",
    "ShareConditioning",
    "SharePosterior",
    "Simulated",
    "around_shares",
    "check_dirichlet",
    "check_prior",
    "deviations",
    "posteriors_from_counts",
    "posteriors_from_ratios",
    "simulate",
    "simulated_size",
    "size_factor",
    "smooth",
]
