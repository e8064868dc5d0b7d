"""Synthetic scores in the place of those of the training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from headcount._support.arrays import Array, Floats
from headcount._support.parameters import check_flag, check_fraction
from headcount.errors import HeadcountError
from headcount.parts.aggregation import Aggregation, Model, Moments
from headcount.parts.classifier_outputs import Histograms, as_if_half
from headcount.parts.fitted import Input, MethodInfo
from headcount.parts.solvers import Divergence, Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import quantifier_class
from headcount.quantifiers.one_vs_rest import OfTwoClasses
from headcount.samples.samples import Samples

# Synthetic scores of a class, and bins of the histogram by which the overlap is chosen. With
# this number no score is at the edge of a bin, where classes would not be treated alike.
_N_SCORES, _BINS = 1004, 12


@quantifier_class
class QuaDapt(OfTwoClasses):
    """Learn from synthetic scores that are as hard to tell apart as those of the sample.

    For classifiers that have got worse, or better, so that their scores differ from those of
    the training set. Scores of the positive class are ``u**m`` and those of the other class
    ``1 - u**m``, with ``u`` uniform on [0, 1]. For each sample, the overlap ``m`` is chosen
    whose best mixture is nearest to the histogram of the scores, and the quantifier learns from
    its synthetic scores. If the scores of the training set still fit, methods that use them are
    better.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Quantifier of two classes that learns from the synthetic scores; `DyS` by default.
    overlaps : sequence of float, default=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        Values of ``m``: near 0 for classes that are easy to tell apart, near 1 for those
        whose scores are nearly the same.
    balanced : bool, default=True
        Rescale the scores to what they would be if both classes had been equally common in
        training. False takes the scores as they are, as in published results.
    """

    info: ClassVar = MethodInfo(
        title="synthetic scores as hard to tell apart as those of the sample",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Maletzke et al., ICDM 2021; Ortega et al. (2025)",
        inconsistency="learns from synthetic scores",
        needs_overlap=True,
        aliases=("DySyn",),
    )

    quantifier: Any = field(default=None, kw_only=False)
    overlaps: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    balanced: bool = True

    def _takes(self) -> Input:
        return self._posteriors_alone()

    def _aggregation(self) -> Aggregation:
        numbers: Any = self.overlaps
        if not isinstance(numbers, Sequence | np.ndarray) or not len(numbers):
            raise HeadcountError(
                f"overlaps is {numbers!r}; it must be a sequence of numbers, such as "
                "(0.2, 0.5)."
            )
        overlaps = tuple(check_fraction("an entry of overlaps", m) for m in numbers)
        return _Synthetic(
            self._base()._aggregation(), super()._takes(), overlaps,
            check_flag("balanced", self.balanced),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Synthetic(Aggregation):
    """A two-class aggregation for each overlap of synthetic scores."""

    base: Aggregation
    input: Input
    overlaps: tuple[float, ...]
    balanced: bool
    prior: Floats = field(default_factory=lambda: np.full(2, 0.5))
    matched: tuple[Model, ...] = ()  # models that choose the overlap
    fitted: tuple[Model, ...] = ()

    def fit(self, training: Training) -> _Synthetic:
        matched, fitted = [], []
        codes = np.repeat([1, 0], _N_SCORES)
        for overlap in self.overlaps:
            positive = synthetic_scores(_N_SCORES, overlap)
            scores = np.concatenate([positive, 1 - positive])
            posteriors = np.column_stack([1 - scores, scores])
            histograms = Moments(Histograms((_BINS,), every_class=False), Divergence("topsoe"))
            matched.append(histograms.fit(Training(posteriors, codes, 2)))
            fitted.append(self.base.fit(Training(self._view(posteriors), codes, 2)))
        return replace(self, prior=training.prior, matched=tuple(matched), fitted=tuple(fitted))

    def solve(self, items: Array, samples: Samples) -> Solution:
        if self.balanced:
            items = as_if_half(items, self.prior)
        distances = [model.solve(items, samples).objective for model in self.matched]
        # Rounded, as several may be as near; then the least overlap is taken.
        nearest = np.argmin(np.round(distances, 9), axis=0)
        solutions = [model.solve(self._view(items), samples) for model in self.fitted]
        rows = np.arange(len(nearest))
        return Solution(
            *(
                np.stack([getattr(solution, name) for solution in solutions])[nearest, rows]
                for name in ("prevalence", "converged", "iterations", "objective")
            )
        )

    def _view(self, posteriors: Floats) -> Array:
        """Posteriors as the method takes them."""
        if self.input == "labels":
            return (posteriors[:, 1] > 0.5).astype(np.int64)
        return posteriors


def synthetic_scores(n: int, overlap: float) -> Floats:
    """Scores of n positive items, at the middles of n equal parts of their distribution."""
    return np.asarray(((np.arange(n) + 0.5) / n) ** overlap)
