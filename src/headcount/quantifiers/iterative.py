"""Methods that label the items of a sample by the shares counted so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from headcount._kernels.score_order import iterate_threshold, label_in_turn
from headcount._support.arrays import Array, Floats
from headcount._support.execution import each_range
from headcount._support.parameters import check_count, check_number, check_positive
from headcount.errors import HeadcountError
from headcount.parts.aggregation import Aggregation
from headcount.parts.fitted import MethodInfo
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import AggregativeQuantifier, quantifier_class
from headcount.samples.samples import Samples


@quantifier_class
class CDE(AggregativeQuantifier):
    """Class distribution estimation: count, move the threshold accordingly, repeat.

    Two classes. An item is positive if its posterior exceeds c0 / (c0 + c1), where c0
    and c1 are the ratios of the current shares of the negative and the positive class to
    their shares in training. A count of none or all positive is final.

    Parameters
    ----------
    tol : float, default=1e-6
        Stop when the threshold changes by no more than this.
    max_iter : int, default=1000
        Largest number of counts.
    """

    info: ClassVar = MethodInfo(
        title="class distribution estimation",
        family="iterative",
        multiclass="one-vs-rest",
        reference="Xue & Weiss, KDD 2009",
        inconsistency="stops where threshold and count agree",
        aliases=("CDE-Iterate",),
    )
    tol: float = 1e-6
    max_iter: int = 1000

    def _learns_from_scores(self) -> bool:
        return False

    def _aggregation(self) -> Aggregation:
        return _MovingThreshold(
            check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        )


@dataclass(frozen=True, eq=False)
class _MovingThreshold(Aggregation):
    """Count the items above a threshold that follows the count."""

    tol: float
    max_iter: int
    prior: float = 0.5

    def fit(self, training: Training) -> _MovingThreshold:
        return replace(self, prior=float(training.prior[1]))

    def solve(self, items: Array, samples: Samples) -> Solution:
        scores = np.ascontiguousarray(items[:, 1])
        positive, changes = np.empty(len(samples)), np.empty(len(samples))
        steps = np.empty(len(samples), np.int32)

        def work(start: int, stop: int) -> None:
            iterate_threshold(
                scores, samples.indices, samples.offsets, self.prior, self.tol,
                self.max_iter, start, stop, positive, steps, changes,
            )  # fmt: skip

        each_range(work, len(samples), grain=50)
        return Solution(
            np.column_stack([1 - positive, positive]),
            changes <= self.tol,
            steps,
            np.full(len(samples), np.nan),
        )


@quantifier_class
class LEIP(AggregativeQuantifier):
    """Label the items one by one, the most confident first, by the shares counted so far.

    Confident items are counted as the classifier labels them. The others are labelled in
    order of decreasing confidence, by their posteriors corrected for the shares counted so
    far. In these shares, items that are not labelled yet count by the training shares.
    Finally all items are labelled again, by the shares then reached, and counted. A class that
    no item was labelled as stays empty.

    The confidence of an item is its largest posterior. Items of equal confidence are labelled
    together, so their order makes no difference.

    Parameters
    ----------
    threshold : float or None, default=None
        Confidence from which on an item is counted as the classifier labels it. None takes
        the most confident part of each sample, as large as the mean recall of the classes in
        out-of-fold predictions.
    soft : bool, default=False
        Return the mean of the corrected posteriors instead of counting labels. It is often
        more accurate.
    """

    info: ClassVar = MethodInfo(
        title="incremental update of the prior",
        family="iterative",
        reference="Zhang, Batista & Kanhere, SDM 2025",
        scoring="classifier",
        inconsistency="does not correct wrong labels",
    )
    threshold: float | None = None
    soft: bool = False

    def _learns_from_scores(self) -> bool:
        return self.threshold is None

    def _aggregation(self) -> Aggregation:
        if not isinstance(self.soft, bool | np.bool_):
            raise HeadcountError(
                f"soft is {self.soft!r}; it must be True (mean corrected posteriors) or False "
                "(counted labels)."
            )
        return _SequentialLabels(_check_threshold(self.threshold), bool(self.soft))


def _check_threshold(threshold: Any) -> float | None:
    if threshold is None:
        return None
    allowed = "a posterior above 0 and at most 1, or None to take a part of each sample"
    return check_number("threshold", threshold, lambda x: 0 < x <= 1, allowed)


@dataclass(frozen=True, eq=False)
class _SequentialLabels(Aggregation):
    """Label the items in order of confidence."""

    threshold: float | None
    soft: bool
    prior: Floats = field(default_factory=lambda: np.empty(0))
    share: float = 0.0

    def fit(self, training: Training) -> _SequentialLabels:
        share = 0.0
        if self.threshold is None:
            assert training.items is not None
            right = np.asarray(training.items).argmax(axis=1) == training.codes
            # A little less than the mean recall: rounding alone must not add an item.
            share = training.class_weights[right].sum() / training.n_classes - 1e-9
        return replace(self, prior=training.prior, share=float(share))

    def solve(self, items: Array, samples: Samples) -> Solution:
        confidence = items.max(axis=1)
        order = np.argsort(-confidence, kind="stable")
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        falls = np.diff(confidence[order], prepend=confidence[order[0]]) < 0
        n_sure = 0
        if self.threshold is not None:
            n_sure = int(np.count_nonzero(confidence >= self.threshold))
        posteriors, ranks = np.ascontiguousarray(items[order]), np.cumsum(falls)
        out = np.empty((len(samples), len(self.prior)))

        def work(start: int, stop: int) -> None:
            label_in_turn(
                posteriors, ranks, places, samples.indices, samples.offsets, self.prior,
                n_sure, self.share, self.soft, start, stop, out,
            )  # fmt: skip

        each_range(work, len(samples), grain=50)
        return Solution.closed_form(out)
