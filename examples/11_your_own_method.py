"""
Your own method
===============

A method is a representation of items and a solver. This one matches the means of the posteriors
and of their squares. Intervals, many samples and error messages come from the base class.
"""

# %%
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import headcount as hc
from headcount.parts import Dense, LeastSquares, MethodInfo, Moments
from headcount.quantifiers.base import AggregativeQuantifier


@dataclass(frozen=True)
class PosteriorAndSquare:
    """Representation: posteriors and their squares."""

    def fit(self, training):
        return self

    def embed(self, items):
        return Dense(np.hstack([items, items**2]))


@dataclass(eq=False, repr=False, kw_only=True)
class TwoMoments(AggregativeQuantifier):
    """Least squares on both moments."""

    info: ClassVar = MethodInfo(title="two moments", family="mine", reference="an example")

    def _aggregation(self):
        return Moments(PosteriorAndSquare(), LeastSquares())


# %%
# Compare it with others on the same samples.
X, digit = load_digits(return_X_y=True)
X, y = X / 16, np.select([digit == 8, digit % 2 == 1], ["eight", "odd"], "even")
X_train, X_pool, y_train, y_pool = train_test_split(X, y, train_size=400, random_state=0)
classifier = LogisticRegression()
methods = [
    method(classifier, random_state=0).fit(X_train, y_train)
    for method in (hc.CC, hc.GPAC, TwoMoments)
]
protocol = hc.UPP(n_samples=200, size=50, random_state=0)
evaluation = hc.evaluate(methods, X_pool, y_pool, protocol)
print(evaluation)
ax = evaluation.plot_letter_values("ae")
