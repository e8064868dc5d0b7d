"""Methods on features with few values: values and patterns of them are numbered once.

`HDx` and `ReadMe` learn bins from each training set anew. Where a feature has few values all
over the dataset, each value is a bin, and a training set or a sample is no more than how often
each value, or each joint pattern of some features, is met in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headcount.quantify.aggregation import MomentSolver
from headcount.quantify.features import HDx, ReadMe, _MeanHellinger
from headcount.representation import Binned, FeaturePatterns
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.solve import Divergence, KernelDistance
from headcount.study.comparison.draws import Trial
from headcount.study.comparison.estimates import attempted
from headcount.study.comparison.groups import Answers, Bench, made, quantifier_of, wanted
from headcount.study.spec import MethodSpec
from headcount.study.task import task_seed

__all__ = ["FINITE", "by_finite"]

FINITE = (HDx, ReadMe)
Floats = NDArray[np.float64]
# Values of each column, numbered from 0, and where a column starts if all are numbered through.
Numbered = tuple[NDArray[np.generic], NDArray[np.int64]]

# Shares of patterns held at a time: 64 MB.
_BLOCK_NUMBERS = 8_000_000
# So many numbers may have gaps between them.
_MANY_PATTERNS = 1_000_000


@dataclass(frozen=True, eq=False)
class _Training:
    """A training set as one sample a class, and their shares."""

    classes: Samples
    prior: Floats

    @classmethod
    def of(cls, bench: Bench, rows: NDArray[np.int64]) -> _Training:
        y = bench.dataset.y
        own = [rows[y[rows] == k] for k in range(bench.dataset.n_classes)]
        prior = np.array([len(each) for each in own]) / len(rows)
        return cls(Samples.from_arrays(own, n_pool=len(y)), prior)


def by_finite(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[Answers]:
    """Estimates of HDx and readme on features with few values."""
    K = bench.dataset.n_classes
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        training = _Training.of(bench, rows)
        found = {}
        for method in wanted(methods, trial):
            by_values = quantifier_of(method.quantifier) is HDx
            estimate = (
                partial(_by_values, bench, method, training)
                if by_values
                else partial(_by_patterns, bench, trial, method, training)
            )
            found[method.name] = attempted(estimate, samples, K)
        yield Answers(trial, len(rows), samples, found)


def _by_values(
    bench: Bench, method: MethodSpec, training: _Training, samples: Samples
) -> Floats:
    """Histograms of all features matched at once, as by `HDx`."""
    quantifier = made(method)
    quantifier._aggregation()  # refuses wrong parameters
    codes, edges = _numbered(bench.binned)
    histograms = _counted(codes, edges)
    stacked = quantifier.get_params()["combine"] == "stacked"
    solver: MomentSolver = Divergence("hellinger") if stacked else _MeanHellinger(edges)
    return solver.solve(
        histograms.means(training.classes), histograms.means(samples)
    ).prevalence


def _by_patterns(
    bench: Bench, trial: Trial, method: MethodSpec, training: _Training, samples: Samples
) -> Floats:
    """The mean of what each set of features says, as by `ReadMe`."""
    codes, edges = bench.remembered(
        f"{method} {trial.number}", lambda: _patterns(bench, trial, method)
    )
    votes, voters = np.zeros((len(samples), len(training.prior))), np.zeros(len(samples))
    for first, last in _blocks(edges, len(samples)):
        patterns = _counted(codes[:, first:last], edges[first : last + 1])
        profiles, seen = patterns.means(training.classes), patterns.means(samples)
        for left, right in pairwise(edges[first : last + 1] - edges[first]):
            shares, knows = _vote(profiles[:, left:right], seen[:, left:right])
            votes += shares
            voters += knows
    votes[voters == 0] = training.prior
    return votes / np.maximum(voters, 1)[:, None]


def _vote(profiles: Floats, seen: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Shares by one set of features, zero where it knows none of a sample's patterns."""
    met = profiles.any(axis=0)
    profiles, seen = profiles[:, met], seen[:, met]
    known = seen.sum(axis=1)
    products = seen @ profiles.T / np.where(known > 0, known, 1)[:, None]
    shares = KernelDistance().solve(profiles @ profiles.T, products).prevalence
    return np.where(known[:, None] > 0, shares, 0), known > 0


def _patterns(bench: Bench, trial: Trial, method: MethodSpec) -> Numbered:
    """The patterns of random sets of features; a draw has the same sets in every cell."""
    readme = made(method)
    assert isinstance(readme, ReadMe)
    seed = task_seed(bench.drawer.seed, bench.dataset.name, trial.number, method.name)
    readme.set_params(random_state=seed)
    size, seeds = readme.subset_size, base_seeds(seed, 1)
    drawn = FeaturePatterns(readme.bins, readme.n_subsets, size, seeds[0])
    table = bench.binned.astype(np.int64)
    columns = []
    for members in drawn.draw(table.shape[1]):
        pattern = np.zeros(len(table), np.int64)
        for column in table[:, members].T:
            pattern = pattern * (column.max() + 1) + column
            if pattern.max() > _MANY_PATTERNS:
                pattern = np.unique(pattern, return_inverse=True)[1]
        columns.append(_without_gaps(pattern))
    return _numbered(np.column_stack(columns))


def _without_gaps(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same order of numbers, of which none is skipped."""
    there = np.zeros(numbers.max() + 1, np.int64)
    there[numbers] = 1
    return (np.cumsum(there) - 1)[numbers]


def _numbered(table: NDArray[np.generic]) -> Numbered:
    """The columns as small as can be, as many of them are kept."""
    edges = np.concatenate([[0], np.cumsum(table.max(axis=0).astype(np.int64) + 1)])
    return table.astype(np.min_scalar_type(table.max()), copy=False), edges


def _counted(codes: NDArray[np.generic], edges: NDArray[np.int64]) -> Binned:
    """The items as indicators of the values of some columns."""
    starts = (edges[:-1] - edges[0]).astype(np.int32)
    return Binned(codes.astype(np.int32) + starts, int(edges[-1] - edges[0]))


def _blocks(edges: NDArray[np.int64], n_samples: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns whose bins are few enough to be counted at once."""
    most = max(1, _BLOCK_NUMBERS // n_samples)
    first = 0
    while first < len(edges) - 1:
        last = int(np.searchsorted(edges, edges[first] + most, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
