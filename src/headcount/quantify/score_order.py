"""Methods of two classes that compare scores in their order, without bins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.score_order import (
    match_distributions,
    match_quantiles,
    quantile_means,
)
from headcount._parameters import check_count, check_positive
from headcount._threads import each_range
from headcount.quantify.aggregation import Aggregation
from headcount.quantify.base import AggregativeQuantifier, Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.solve import Solution

# Shares that are tried first, equally spaced from 0 to 1.
_GRID = np.linspace(0, 1, 101)


class SORD(Quantifier):
    """Sample ordinal distance: least earth mover's distance of the positive scores.

    Two classes. Minimises the area between the distribution functions of the scores in the
    sample and in the mixture of the classes. There are no bins, and the share is found
    exactly, as a weighted median. `FMM` sums the same differences at the ends of bins.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SORD
    >>> X, y = make_classification(400, random_state=0)
    >>> SORD(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="earth mover's distance of scores",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Maletzke et al., AAAI 2019",
        aliases=("SORDy",),
    )

    def _aggregation(self) -> Aggregation:
        return _MatchedDistributions()


@dataclass(eq=False, repr=False, kw_only=True)
class QUANTy(AggregativeQuantifier):
    """Match the mean scores of groups between quantiles, by least squares; two classes.

    The sample, ordered by score, is divided into groups of equal size, and so is the mixture
    of the classes. With one group it is `PACC`. The distance may have several minima: the
    best of 101 shares is improved between its neighbours.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    n_quantiles : int, default=8
        Number of groups.
    tol : float, default=1e-6
        Largest error of the share.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import QUANTy
    >>> X, y = make_classification(400, random_state=0)
    >>> QUANTy(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="quantiles of scores",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Castaño et al., SoftwareX 26 (2024)",
    )
    n_quantiles: int = 8
    tol: float = 1e-6

    def _aggregation(self) -> Aggregation:
        n_quantiles = check_count("n_quantiles", self.n_quantiles)
        return _MatchedQuantiles(n_quantiles, check_positive("tol", self.tol))


@dataclass(frozen=True, eq=False)
class _OrderedScores(Aggregation):
    """Training scores of the positive class in order, and their weights in each class."""

    centres: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), kw_only=True)
    masses: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)), kw_only=True)

    def fit(self, training: Training) -> Self:
        scores = np.asarray(training.items, dtype=np.float64)[:, 1]
        order = np.argsort(scores, kind="stable")
        of_class = training.codes[order, None] == np.arange(2)
        masses = np.where(of_class, training.class_weights[order, None], 0.0)
        return replace(self, centres=scores[order], masses=masses)


@dataclass(frozen=True, eq=False)
class _MatchedDistributions(_OrderedScores):
    """Share with the least area between distribution functions."""

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        scores = np.ascontiguousarray(items[:, 1], dtype=np.float64)
        positive, values = np.empty(len(samples)), np.empty(len(samples))

        def work(start: int, stop: int) -> None:
            match_distributions(
                self.centres, self.masses, scores, samples.indices, samples.offsets,
                start, stop, positive, values,
            )  # fmt: skip

        each_range(work, len(samples), grain=50)
        return Solution.closed_form(np.column_stack([1 - positive, positive]), values)


@dataclass(frozen=True, eq=False)
class _MatchedQuantiles(_OrderedScores):
    """Share with the least distance between mean scores of groups."""

    n_quantiles: int
    tol: float
    grid: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, training: Training) -> Self:
        fitted, grid = super().fit(training), np.empty((len(_GRID), self.n_quantiles))
        for share, row in zip(_GRID, grid, strict=True):
            quantile_means(fitted.centres, fitted.masses, share, row)
        return replace(fitted, grid=grid)

    def solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        scores = np.ascontiguousarray(items[:, 1], dtype=np.float64)
        positive, values = np.empty(len(samples)), np.empty(len(samples))
        steps = np.empty(len(samples), np.int32)

        def work(start: int, stop: int) -> None:
            match_quantiles(
                self.centres, self.masses, self.grid, self.tol, scores, samples.indices,
                samples.offsets, start, stop, positive, steps, values,
            )  # fmt: skip

        each_range(work, len(samples), grain=20)
        shares = np.column_stack([1 - positive, positive])
        return Solution(shares, np.ones(len(samples), bool), steps, values)
