"""How sure an estimate is: intervals for every method, at any level."""

from __future__ import annotations

from headcount.uncertainty.estimate import Counts, Estimate
from headcount.uncertainty.intervals import Intervals, Region
from headcount.uncertainty.making import make_estimates
from headcount.uncertainty.replicates import Problem

__all__ = ["Counts", "Estimate", "Intervals", "Problem", "Region", "make_estimates"]
