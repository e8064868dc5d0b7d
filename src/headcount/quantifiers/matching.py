"""Methods that match the distribution of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from headcount._kernels.score_order import match_distributions, match_quantiles, quantile_means
from headcount._support.arrays import Array, Floats
from headcount._support.documentation import documented
from headcount._support.execution import each_range
from headcount._support.parameters import (
    check_choice,
    check_count,
    check_counts,
    check_flag,
    check_positive,
)
from headcount.errors import HeadcountError
from headcount.parts.aggregation import Aggregation, MedianOfHistograms, Moments
from headcount.parts.classifier_outputs import Histograms
from headcount.parts.distances import EuclideanDistance, MeanDistance
from headcount.parts.fitted import MethodInfo
from headcount.parts.losses import Loss, Losses
from headcount.parts.solvers import DIVERGENCES, Divergence, EnergyDistance, Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import AggregativeQuantifier, WithSmoothness, quantifier_class
from headcount.samples.samples import Samples


@quantifier_class
class DyS(AggregativeQuantifier):
    """Match the histogram of the positive score by a divergence; two classes.

    Bins have equal width on [0, 1] and are not smoothed. The best share is found
    exactly, not on a grid.

    Parameters
    ----------
    bins : int or sequence of int, default=12
        Number of bins of the histogram; of several numbers, the median of the estimates.
    balanced : bool, default=True
        Rescale the scores to what they would be if both classes had been equally common in
        training, so that bins differ for rare classes too. False takes the scores as they
        are, as in published results.
    divergence : {"topsoe", "hellinger", "probsymm", "l1", "l2"}, default="topsoe"
        Divergence to minimise.
    """

    info: ClassVar = MethodInfo(
        title="histogram matching, two classes",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Maletzke et al., AAAI 2019",
    )
    posterior_kind = "scores"
    bins: int | Sequence[int] = 12
    balanced: bool = True
    divergence: str = "topsoe"

    def _aggregation(self) -> Aggregation:
        single = isinstance(self.bins, int | np.integer)
        bins: tuple[int, ...] = (
            (check_count("bins", self.bins, 2),)
            if single
            else check_counts("bins", self.bins, 2)
        )
        divergence = Divergence(check_choice("divergence", self.divergence, DIVERGENCES))
        histograms = Histograms(
            bins, every_class=False, balanced=check_flag("balanced", self.balanced)
        )
        if len(bins) == 1:
            return Moments(histograms, divergence)
        return MedianOfHistograms(histograms, divergence)


@documented(DyS)
@quantifier_class
class HDy(AggregativeQuantifier):
    """Match histograms of the positive score by Hellinger distance; two classes.

    The median of the estimates for several numbers of bins.

    Parameters
    ----------
    bins : sequence of int, default=(12,)
        Numbers of bins, one histogram for each. The authors used ``range(10, 111, 10)``,
        which needs thousands of training items.
    """

    info: ClassVar = MethodInfo(
        title="Hellinger distance between score histograms",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="González-Castro et al., Information Sciences 218 (2013)",
    )
    posterior_kind = "scores"
    bins: Sequence[int] = (12,)
    balanced: bool = True

    def _aggregation(self) -> Aggregation:
        bins = check_counts("bins", self.bins, 2)
        histograms = Histograms(
            bins, every_class=False, balanced=check_flag("balanced", self.balanced)
        )
        return MedianOfHistograms(histograms, Divergence("hellinger"))


@quantifier_class
class DM(WithSmoothness):
    """Match the histograms of the posteriors of all classes at once.

    Parameters
    ----------
    bins : int, default=8
        Number of bins of each histogram, of equal width on [0, 1], not smoothed.
    divergence : {"hellinger", "topsoe", "probsymm", "l1", "l2"} or callable, \
            default="hellinger"
        Divergence to minimise, summed over the histograms; or a function of the histograms of
        the sample and of the mixture, one behind the other, that returns a number.
    cumulative : bool, default=False
        Compare cumulative histograms, that is distribution functions.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the divergence (not "l1"); classes have the order of ``classes_``.
    """

    info: ClassVar = MethodInfo(
        title="histogram matching, any number of classes",
        family="distribution matching",
        reference="Firat, arXiv:1606.00868 (2016); Bunse & Morik, LQ workshop (2022)",
        aliases=("DMy",),
    )
    bins: int = 8
    divergence: str | Loss = "hellinger"
    cumulative: bool = False

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        histograms = Histograms(bins, cumulative=check_flag("cumulative", self.cumulative))
        smoothness = self._checked_smoothness()
        if callable(self.divergence):
            return Moments(histograms, Losses([self.divergence], smoothness))
        divergence = check_choice("divergence", self.divergence, DIVERGENCES)
        return Moments(histograms, Divergence(divergence, smoothness=smoothness))


@quantifier_class
class FMM(AggregativeQuantifier):
    """Forman's mixture model: match the distribution function of the positive score.

    Two classes. The sum of absolute differences is minimised.

    Parameters
    ----------
    bins : int, default=100
        Number of bins of equal width on [0, 1], at whose ends the distribution functions are
        compared.
    """

    info: ClassVar = MethodInfo(
        title="Forman's mixture model",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Forman, ECML 2005",
        aliases=("MM",),
    )
    bins: int = 100

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        cumulative = Histograms(bins, every_class=False, cumulative=True)
        return Moments(cumulative, Divergence("l1"))


@quantifier_class
class EDy(WithSmoothness):
    """Least energy distance between the posteriors of the sample and of the mixture.

    Distances between posteriors are Manhattan distances by default. With two classes the
    estimates are those of Euclidean distances. For any number of classes they are computed by
    sorting, without visiting pairs of items.

    Parameters
    ----------
    ordered : bool, default=False
        For ordered classes, in the order of ``classes_``: the distance of two posteriors is
        the earth mover's distance.
    distance : {"manhattan", "euclidean"}, default="manhattan"
        Distance between posteriors.
    """

    info: ClassVar = MethodInfo(
        title="energy distance of posteriors",
        family="distribution matching",
        reference="Kawakubo et al., IEICE Transactions E99.D (2016)",
    )

    ordered: bool = False
    distance: str = "manhattan"

    def _aggregation(self) -> Aggregation:
        ordered = check_flag("ordered", self.ordered)
        distance = check_choice("distance", self.distance, ("manhattan", "euclidean"))
        if ordered and distance == "euclidean":
            raise HeadcountError(
                "distance is 'euclidean', but with ordered it must be 'manhattan', which is "
                "then the earth mover's distance."
            )
        solver = EnergyDistance(self._checked_smoothness())
        if distance == "euclidean":
            return Moments(EuclideanDistance(), solver)
        return Moments(MeanDistance(ordered=ordered), solver)


@quantifier_class
class CvMy(WithSmoothness):
    """Least Cramér-von Mises distance between the posteriors of sample and mixture.

    The energy distance of ranks: each posterior is replaced by its rank among the training
    posteriors of the same class, and distances are summed over the classes.
    """

    info: ClassVar = MethodInfo(
        title="Cramér-von Mises distance of posteriors",
        family="distribution matching",
        reference="Castaño et al., SoftwareX 26 (2024)",
    )

    def _aggregation(self) -> Aggregation:
        distance = EnergyDistance(self._checked_smoothness())
        return Moments(MeanDistance(by_rank=True), distance)


# Shares that are tried first, equally spaced from 0 to 1.
_GRID = np.linspace(0, 1, 101)


@quantifier_class
class SORD(AggregativeQuantifier):
    """Sample ordinal distance: least earth mover's distance of the positive scores.

    Two classes. Minimises the area between the distribution functions of the scores in the
    sample and in the mixture of the classes. There are no bins, and the share is found
    exactly, as a weighted median. `FMM` sums the same differences at the ends of bins.
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


@quantifier_class
class QUANTy(AggregativeQuantifier):
    """Match the mean scores of groups between quantiles, by least squares; two classes.

    The sample, ordered by score, is divided into groups of equal size, and so is the mixture
    of the classes. With one group it is `PACC`. The distance may have several minima: the
    best of 101 shares is improved between its neighbours.

    Parameters
    ----------
    n_quantiles : int, default=8
        Number of groups.
    tol : float, default=1e-6
        Largest error of the share.
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

    centres: Floats = field(default_factory=lambda: np.empty(0), kw_only=True)
    masses: Floats = field(default_factory=lambda: np.empty((0, 2)), kw_only=True)

    def fit(self, training: Training) -> Self:
        scores = np.asarray(training.items, dtype=np.float64)[:, 1]
        order = np.argsort(scores, kind="stable")
        of_class = training.codes[order, None] == np.arange(2)
        masses = np.where(of_class, training.class_weights[order, None], 0.0)
        return replace(self, centres=scores[order], masses=masses)


@dataclass(frozen=True, eq=False)
class _MatchedDistributions(_OrderedScores):
    """Share with the least area between distribution functions."""

    def solve(self, items: Array, samples: Samples) -> Solution:
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
    grid: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def fit(self, training: Training) -> Self:
        fitted, grid = super().fit(training), np.empty((len(_GRID), self.n_quantiles))
        for share, row in zip(_GRID, grid, strict=True):
            quantile_means(fitted.centres, fitted.masses, share, row)
        return replace(fitted, grid=grid)

    def solve(self, items: Array, samples: Samples) -> Solution:
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
