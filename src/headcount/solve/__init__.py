"""Batched solvers: every sample is solved to its own optimum, independent of its batch.

Moment solvers have ``solve(profiles, seen)``: `profiles` (K, d), one row per class, and
`seen` (S, d), one row per sample. Likelihood solvers have ``solve(ratios, samples, prior)``:
`ratios` (n, K), one row per item, and `prior` (K,), the training shares.
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
