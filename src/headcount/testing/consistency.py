"""Checks on exact mixtures: a sample has the shares that it was mixed with.

Scores take a few values. For each value the training set has whole numbers of items of each
class, and the score is the vector of their shares, so posteriors are exactly calibrated. Each
item of class j is taken m_j times into the sample: nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount.quantify import OneVsRest
from headcount.scores import Scored
from headcount.testing.cases import Array, Case
from headcount.testing.expectations import NotApplicable, close, expect

# Items of each class (columns) on each score (rows).
_COUNTS = {
    2: [[19, 1], [12, 3], [8, 7], [4, 9], [1, 14], [0, 5]],
    3: [[15, 2, 1], [7, 3, 2], [2, 14, 3], [3, 9, 1], [1, 2, 16], [2, 4, 9], [5, 5, 4]],
}
_TIMES: dict[int, Sequence[tuple[int, ...]]] = {
    2: [(1, 1), (1, 6), (7, 1), (3, 2), (1, 0), (0, 1)],
    3: [(1, 1, 1), (5, 1, 2), (1, 9, 1), (2, 3, 7), (0, 1, 1), (3, 0, 1), (1, 4, 0), (0, 0, 1)],
}
# Shares on a straight line along the three classes, of which there are 35, 39 and 36 items.
_STRAIGHT = [(6, 5, 5), (6, 11, 18), (0, 6, 13), (78, 35, 0)]


@dataclass(frozen=True)
class _Exact:
    scores: Array
    codes: Array
    samples: list[Array]
    shares: Array


def _exact(K: int, all_times: Sequence[tuple[int, ...]]) -> _Exact:
    counts = np.array(_COUNTS[K])
    posteriors = counts / counts.sum(axis=1, keepdims=True)
    value, codes = (
        np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape)
    )
    items = np.arange(len(codes))
    samples = [np.repeat(items, np.array(times)[codes]) for times in all_times]
    mass = np.array(all_times) * counts.sum(axis=0)
    return _Exact(posteriors[value], codes, samples, mass / mass.sum(axis=1, keepdims=True))


def _predicted(case: Case, data: _Exact) -> NDArray[np.float64]:
    items = Scored(data.scores) if case.takes_scores else data.scores
    return case.make().fit(items, data.codes).predict_many(items, data.samples)


def _inconsistency(case: Case) -> str:
    """Reason why the method cannot be expected to be exact; empty if it can."""
    if case.n_classes > 2 and (case.wrapped or isinstance(case.prototype, OneVsRest)):
        return "the rest is a mixture too, which shifts with the others"
    if case.smooth:
        return "expects smooth shares, and bends what it sees towards a straight line"
    if case.brings_learner:
        return "sees its training items again, on which it errs less often than on others"
    return case.info.inconsistency


def check_exact_mixtures(case: Case) -> None:
    """The shares of exact mixtures are recovered, unless ``info.inconsistency`` is declared."""
    data, reason = _exact(case.n_classes, _TIMES[case.n_classes]), _inconsistency(case)
    given = _predicted(case, data)
    if not reason:
        close(given, data.shares, 1e-6)
        return
    shifted = np.abs(data.shares - data.shares[0]).max(axis=1) > 0.1
    error = np.abs(given - data.shares)[shifted].max()
    expect(error > 1e-4, f"the shares are exact, but it is declared that it {reason!r}")


def check_straight_shares(case: Case) -> None:
    """Methods that expect smooth shares recover shares on a straight line."""
    if not case.smooth:
        raise NotApplicable("does not expect smooth shares")
    data = _exact(3, _STRAIGHT)
    close(_predicted(case, data), data.shares, 1e-5)
