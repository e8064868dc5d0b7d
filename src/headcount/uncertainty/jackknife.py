"""How skewed the error of an estimate is, by leaving items out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows
from headcount.sampling import Samples
from headcount.uncertainty.drawing import ClassDraws
from headcount.uncertainty.refitting import refits
from headcount.uncertainty.replicates import BATCH_ITEMS, Problem, Target

__all__ = ["accelerations"]

Floats = NDArray[np.float64]

# Parts of a sample that are left out one by one: its items, if these are no more; and parts
# of the training set, for each of which the method is fitted.
_BLOCKS, _TRAINING_BLOCKS = 100, 20


def accelerations(
    problem: Problem, target: Target, n_training: int, rng: np.random.Generator
) -> Floats | None:
    """The acceleration of BCa intervals, one row a sample: a sixth of the error's skewness.

    To first order an error is a sum of what each item brings in. Estimates without a block of
    items tell what these bring: for the sample, and for the training set if it is drawn anew.
    None if composition is fixed and no item is known to be of a class: what an item brings in
    cannot then be told from what its label does.
    """
    if target == "realised" and problem.shift != "none" and not _has_labelled(problem):
        return None
    of_training = _of_training(problem, rng) if n_training and problem.learns else None
    found = np.empty_like(problem.shares)
    for number, parts in enumerate(_of_samples(problem, target, rng)):
        if of_training is not None:
            parts = np.concatenate([parts, of_training[:, number]])
        spread = np.maximum(np.sqrt((parts**2).sum(axis=0)), 1e-12)
        found[number] = ((parts / spread) ** 3).sum(axis=0) / 6
    return found


@dataclass(frozen=True, eq=False)
class _Blocks:
    """A sample cut into blocks of items of a class, as far as these are known."""

    rows: NDArray[Any]
    classes: NDArray[np.int64]
    step: int

    @classmethod
    def of(
        cls, rows: NDArray[Any], classes: NDArray[np.int64], rng: np.random.Generator
    ) -> _Blocks:
        order = np.lexsort((rng.random(len(rows)), classes))
        return cls(rows[order], classes[order], -(-len(rows) // _BLOCKS))

    @property
    def firsts(self) -> NDArray[np.int64]:
        return np.arange(0, len(self.rows), self.step)

    def without_each(self) -> list[NDArray[Any]]:
        """The items less those of a block, for each; all of them if there is but one block."""
        if len(self.rows) == self.step:
            return [self.rows]
        return [np.delete(self.rows, slice(at, at + self.step)) for at in self.firsts]

    def brought_in(self, without: Floats) -> Floats:
        """What blocks bring in, beside others of their class, by the estimates without."""
        of_class = self.classes[self.firsts]
        totals = np.stack([np.bincount(of_class, column) for column in without.T], axis=1)
        means = totals / np.maximum(np.bincount(of_class), 1)[:, None]
        return np.asarray(means[of_class] - without) * (1 - self.step / len(self.rows))


def _has_labelled(problem: Problem) -> bool:
    return problem.shift == "prior" and problem.relearns


def _of_samples(problem: Problem, target: Target, rng: np.random.Generator) -> list[Floats]:
    """What blocks of the items of each sample bring in, one row a block.

    With the composition fixed, samples of training items stand in for the real ones: their
    classes are known, and what a block brings in is seen beside others of its class.
    """
    samples, items, training = problem.samples, problem.items, problem.training
    codes = np.zeros(samples.n_pool, np.int64)
    if target == "realised" and _has_labelled(problem):
        assert training is not None
        samples = ClassDraws.of(training).samples(problem.shares, samples.sizes, rng)
        items, codes = training.items, training.codes
    blocks = [_Blocks.of(rows, codes[rows], rng) for rows in samples]
    without = _solved(problem, items, [left for each in blocks for left in each.without_each()])
    ends = np.cumsum([len(each.firsts) for each in blocks])
    return [
        each.brought_in(part)
        for each, part in zip(blocks, np.split(without, ends[:-1]), strict=True)
    ]


def _solved(problem: Problem, items: Any, arrays: list[NDArray[Any]]) -> Floats:
    """Estimates of samples, as many at a time as fit into memory."""
    most = max(1, BATCH_ITEMS // max(len(rows) for rows in arrays))
    found = []
    for first in range(0, len(arrays), most):
        samples = Samples.from_arrays(arrays[first : first + most], n_pool=count_rows(items))
        found.append(problem.model.solve(items, samples).prevalence)
    return np.concatenate(found)


def _of_training(problem: Problem, rng: np.random.Generator) -> Floats | None:
    """What blocks of the training set bring in, as an array of shape (blocks, S, K)."""
    training = problem.training
    if training is None or training.items is None:
        return None
    N = len(training.codes)
    G = min(_TRAINING_BLOCKS, int(np.bincount(training.codes).min()))
    if G < 3:
        return None
    # Items of a class are dealt out in turn, so that every block has its share of each.
    order = np.lexsort((rng.random(N), training.codes))
    blocks = np.empty(N, np.int64)
    blocks[order] = np.arange(N) % G
    given = np.ones(N) if training.weights is None else training.weights
    weights = given * (blocks != np.arange(G)[:, None])
    whole = np.bincount(training.codes, given)
    for row in weights:
        mass = np.bincount(training.codes, row)
        if not mass.all():
            return None
        row *= (whole / mass)[training.codes]
    found = [
        model.solve(items, problem.samples).prevalence
        for model, items in refits(problem.model, training, weights, problem.items)
    ]
    return (np.mean(found, axis=0) - np.stack(found)) * (1 - 1 / G)
