"""A method in a package of its own: means and mean squares of the posteriors."""

from dataclasses import dataclass

import numpy as np

from headcount.parts import MethodInfo
from headcount.parts.aggregation import Moments
from headcount.parts.solvers import LeastSquares
from headcount.parts.training import Dense
from headcount.quantifiers import Quantifier


@dataclass(frozen=True)
class PosteriorAndSquare:
    def fit(self, training):
        return self

    def embed(self, items):
        return Dense(np.hstack([items, items**2]))


class TwoMoments(Quantifier):
    """Match means and mean squares of the posteriors, by least squares."""

    info = MethodInfo("first two moments of the posteriors", "distribution matching", "ours")

    def _aggregation(self):
        return Moments(PosteriorAndSquare(), LeastSquares())
