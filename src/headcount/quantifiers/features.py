"""Methods that work on features and need no classifier."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._support.arrays import Floats, Ints
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_choice, check_count
from headcount.parts.aggregation import Aggregation, Moments, MomentSolver
from headcount.parts.binning import FeatureHistograms, FeaturePatterns
from headcount.parts.distances import EuclideanDistance, ManhattanDistance
from headcount.parts.fitted import MethodInfo
from headcount.parts.solvers import Divergence, EnergyDistance, KernelDistance, Solution
from headcount.parts.training import Dense, Training
from headcount.quantifiers.base import Quantifier, quantifier_class
from headcount.samples.samples import Samples

# Numbers held for a block of pattern shares or of their sample means: 64 MB.
_BLOCK_NUMBERS = 8_000_000

Rows = Ints


def _info(title: str, reference: str, *aliases: str) -> MethodInfo:
    return MethodInfo(
        title=title,
        family="distribution matching",
        input="features",
        reference=reference,
        aliases=aliases,
    )


@quantifier_class
class HDx(Quantifier):
    """Match the histograms of all features by Hellinger distance; no classifier.

    Numeric features are cut into bins of about equal mass on the training set. A feature with
    no more distinct values than bins has one bin per value, and a value that was not in
    training goes to the bin of the next larger one. Categories (strings, categorical columns
    of frames) have one bin each; those that were not in training share one more bin.
    Histograms are not smoothed.

    Parameters
    ----------
    bins : int, default=8
        Number of bins of a numeric feature.
    combine : {"stacked", "mean"}, default="stacked"
        "stacked" minimises the sum over the features of squared distances, which is the
        squared distance between the concatenated histograms: a convex problem, solved to a
        proven optimum. "mean" minimises the mean of the distances, as its authors did, which
        can have several minima. It starts at the stacked solution and descends by convex
        problems that bound the mean from above, to a local minimum that is never worse than
        the stacked solution.
    """

    info: ClassVar = _info(
        "Hellinger distance between feature histograms",
        "González-Castro, Alaiz-Rodríguez & Alegre, Information Sciences 218 (2013)",
    )
    bins: int = 8
    combine: str = "stacked"

    def _aggregation(self) -> Aggregation:
        histograms = FeatureHistograms(check_count("bins", self.bins, 2))
        combine = check_choice("combine", self.combine, ("stacked", "mean"))
        return MatchedHistograms(histograms, Divergence("hellinger"), combine=combine)


@dataclass(frozen=True, eq=False)
class MatchedHistograms(Moments):
    """Histograms of features, matched by the sum or the mean of their distances."""

    combine: str = "stacked"

    def fit(self, training: Training) -> MatchedHistograms:
        """Histograms of the classes, and a solver for their number of bins."""
        fitted = super().fit(training)
        histograms: Any = fitted.representation
        solver = self.solver_of(histograms.fitted.edges)
        return replace(self, representation=histograms, solver=solver, profiles=fitted.profiles)

    def solver_of(self, edges: Ints) -> MomentSolver:
        """Solver for histograms of features that end at some edges."""
        return self.solver if self.combine == "stacked" else _MeanHellinger(edges)


@dataclass(frozen=True, eq=False)
class _MeanHellinger:
    """Minimise the mean over channels of the Hellinger distance.

    The root is concave, so a weighted sum of squared distances, weights 1 / (2 distance),
    bounds the sum of distances from above and touches it at the current shares: its
    minimum is lower on both, and gives new weights.
    """

    edges: Ints
    tol: float = 1e-9
    max_iter: int = 20_000

    def solve(self, profiles: Floats, seen: Floats) -> Solution:
        squared = Divergence("hellinger")
        start = squared.solve(profiles, seen)
        shares, rounds = start.prevalence.copy(), start.iterations.copy()
        converged = start.converged.copy()
        moving = np.arange(len(seen))
        for _ in range(self.max_iter):
            if not len(moving):
                break
            weights = 1 / np.sqrt(self._squares(profiles, seen[moving], shares[moving]) + 1e-14)
            weights /= weights.mean(axis=1, keepdims=True)
            # A weight w on a channel, whose histogram and mixture both sum to 1, is the same
            # as w^2 times the histogram, up to a constant.
            weighted = seen[moving] * np.repeat(weights**2, np.diff(self.edges), axis=1)
            solution = squared.solve(profiles, weighted)
            step = np.abs(solution.prevalence - shares[moving]).max(axis=1)
            shares[moving] = solution.prevalence
            rounds[moving] += solution.iterations
            converged[moving] = solution.converged
            moving = moving[step > self.tol]
        converged[moving] = False
        objective = np.sqrt(self._squares(profiles, seen, shares)).mean(axis=1)
        # The root has a cusp where a distance vanishes, which may be where a share does. It
        # is never quite reached, and steep.
        without = np.where(shares < 10 * self.tol, 0.0, shares)
        without /= without.sum(axis=1, keepdims=True)
        lower = np.sqrt(self._squares(profiles, seen, without)).mean(axis=1)
        shares = np.where((lower <= objective)[:, None], without, shares)
        return Solution(shares, converged, rounds, np.minimum(lower, objective))

    def _squares(self, profiles: Floats, seen: Floats, shares: Floats) -> Floats:
        """Squared distance in each channel. Sums run in the same order for any batch."""
        mixed = sum(share[:, None] * row for share, row in zip(shares.T, profiles, strict=True))
        squares = (np.sqrt(seen) - np.sqrt(mixed)) ** 2
        return np.add.reduceat(squares, self.edges[:-1], axis=1) / 2


@dataclass(eq=False, repr=False, kw_only=True)
class ReadMe(Quantifier):
    """Match the joint patterns of small random sets of features; no classifier.

    For each set, the shares of the patterns in the sample are matched by those in the
    classes, by least squares on the simplex; the answer is the mean over the sets.
    Patterns of the sample that were not seen in training are left out of its shares. A
    set that has seen none of a sample's patterns is left out; if that is true of all sets,
    the training shares are returned.

    Features are binned as in `HDx`. Of a sparse matrix only the drawn features are read, so
    it may have any width; a feature that is mostly zero has the bins zero and not zero.

    Parameters
    ----------
    n_subsets : int, default=50
        Number of sets drawn; if there are no more than that, each is used once.
    subset_size : int, default=None
        Number of features in a set; floor(log2 D + 1) of D features by default.
    bins : int, default=2
        Number of bins of a numeric feature.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the sets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import ReadMe
    >>> X, y = load_iris(return_X_y=True)
    >>> ReadMe(bins=3, random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = _info(
        "joint patterns of sets of features",
        "Hopkins & King, American Journal of Political Science 54 (2010)",
    )
    n_subsets: int = 50
    subset_size: int | None = None
    bins: int = 2
    random_state: Any = None

    def _aggregation(self) -> Aggregation:
        size = self.subset_size
        return MeanOverSubsets(
            FeaturePatterns(
                check_count("bins", self.bins, 2),
                check_count("n_subsets", self.n_subsets),
                None if size is None else check_count("subset_size", size),
                base_seeds(self.random_state, 1)[0],
            )
        )


@dataclass(frozen=True, eq=False)
class MeanOverSubsets(Aggregation):
    """Patterns of several sets of features, each matched alone; the mean of the shares.

    The squared distance |q - M'p|^2 needs of q, the sample's pattern shares, only M q: the
    mean over its items of the share of their pattern in each class.
    """

    patterns: FeaturePatterns
    prior: Floats = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> MeanOverSubsets:
        """Patterns of the training items."""
        return MeanOverSubsets(self.patterns.fit(training), training.prior)

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Mean of the shares by each set of features."""
        S, K = len(samples), len(self.prior)
        tables, codes = self.patterns.tables, self.patterns.codes(items)
        votes = SubsetVotes.none(S, K)
        together = max(1, _BLOCK_NUMBERS // (samples.n_pool * (K + 1)))
        for first in range(0, len(tables), together):
            block = tables[first : first + together]
            embedding = Dense(np.hstack([table.look_up(codes) for table in block]))
            step = max(1, _BLOCK_NUMBERS // embedding.width)
            for start in range(0, S, step):
                batch = slice(start, start + step)
                means = embedding.means(samples[batch]).reshape(-1, len(block), K + 1)
                for number, table in enumerate(block):
                    of_table = means[:, number]
                    votes.cast(table.overlap, of_table[:, :-1], of_table[:, -1], batch)
        return votes.mean(self.prior)


@dataclass(frozen=True, eq=False)
class SubsetVotes:
    """Estimates of the sets of features for each sample, added up."""

    shares: Floats
    voters: Floats
    rounds: NDArray[np.int32]
    values: Floats

    @classmethod
    def none(cls, S: int, K: int) -> SubsetVotes:
        """No votes yet, for S samples and K classes."""
        return cls(np.zeros((S, K)), np.zeros(S), np.zeros(S, np.int32), np.zeros(S))

    def cast(
        self, overlap: Floats, products: Floats, mass: Floats, batch: slice = slice(None)
    ) -> None:
        """Add the vote of one set: inner products with the classes, share of known patterns."""
        means = products / np.where(mass > 0, mass, 1)[:, None]
        solution = KernelDistance().solve(overlap, means)
        self.shares[batch] += np.where(mass[:, None] > 0, solution.prevalence, 0)
        self.voters[batch] += mass > 0
        self.rounds[batch] = np.maximum(self.rounds[batch], solution.iterations)
        self.values[batch] += np.where(mass > 0, solution.objective, 0)

    def mean(self, otherwise: Floats) -> Solution:
        """Mean of the votes, or other shares where there is none."""
        voters = np.maximum(self.voters, 1)
        shares = self.shares / voters[:, None]
        shares[self.voters == 0] = otherwise
        converged = np.ones(len(shares), bool)
        return Solution(shares, converged, self.rounds, self.values / voters)


@quantifier_class
class ED(Quantifier):
    """Least energy distance between the items of the sample and of the mixture.

    Features are not scaled, so those with large numbers have more
    influence: scale them first if they should have equal influence. All pairs of training
    items, and of training items and pool, are visited once, block by block; a single feature
    is sorted instead, and so is each for Manhattan distances.

    Parameters
    ----------
    distance : {"euclidean", "manhattan"}, default="euclidean"
        Distance between items.
    """

    info: ClassVar = _info(
        "energy distance of features",
        "Kawakubo, du Plessis & Sugiyama, IEICE Transactions E99.D (2016)",
        "EDx",
    )
    distance: str = field(default="euclidean", kw_only=False)

    def _aggregation(self) -> Aggregation:
        distance = check_choice("distance", self.distance, ("euclidean", "manhattan"))
        representation = EuclideanDistance() if distance == "euclidean" else ManhattanDistance()
        return Moments(representation, EnergyDistance())
