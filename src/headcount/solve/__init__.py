"""Batched solvers: every sample to its own optimum, whatever batch it is in.

Moment solvers have ``solve(profiles, seen)``: `profiles` (K, d), one row a class, and
`seen` (S, d), one row a sample. Likelihood solvers have ``solve(ratios, samples)``.
"""

from headcount.solve.adjusted import AdjustedCount
from headcount.solve.divergence import DIVERGENCES, Divergence
from headcount.solve.likelihood import ExpectationMaximisation, MaximumLikelihood
from headcount.solve.quadratic import (
    CauchySchwarz,
    EnergyDistance,
    KernelDistance,
    LeastSquares,
)
from headcount.solve.solution import Solution

__all__ = [
    "DIVERGENCES",
    "AdjustedCount",
    "CauchySchwarz",
    "Divergence",
    "EnergyDistance",
    "ExpectationMaximisation",
    "KernelDistance",
    "LeastSquares",
    "MaximumLikelihood",
    "Solution",
]
