"""Training sets and test samples of the comparison, drawn from one dataset.

The comparison wants, for a share r of training items, a training distribution p and a test
distribution q, as many items as there are: with N items, n_i of them of class i, a total of

    n(p, q) = floor(min(N, min over i of n_i / (r p_i + (1 - r) q_i)))

of which n r p_i are drawn for training and n (1 - r) q_i for the test, truncated, without
replacement. That makes the training set depend on the test distribution. So that one
training serves all test distributions, its size here is the mean over them of r n(p, q), and
each class has an item at least. A test sample has the size that the formula says,
(1 - r) n(p, q), if the items left over allow it, and otherwise as many as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headcount.sampling import Samples
from headcount.study.task import task_seed

__all__ = ["Drawer", "Trial", "test_counts", "training_counts"]

Indices = NDArray[np.int64]
# Products such as 0.3 * 10 come out a little below what they are.
_ROUNDING = 1e-9


def _total(counts: Indices, r: float, p: Sequence[float], q: Sequence[float]) -> int:
    wanted = r * np.asarray(p) + (1 - r) * np.asarray(q)
    asked = wanted > 0
    most = (counts[asked] / wanted[asked]).min()
    return int(min(counts.sum(), np.floor(most + _ROUNDING)))


def training_counts(
    counts: Indices, r: float, p: Sequence[float], tests: Sequence[Sequence[float]]
) -> Indices:
    """How many items of each class a training set has.

    Parameters
    ----------
    counts : ndarray of shape (K,)
        Items of each class in the dataset.
    r : float
        Share of items for training.
    p : sequence of float
        Their distribution.
    tests : sequence of sequences of float
        The test distributions.

    Examples
    --------
    >>> import numpy as np
    >>> training_counts(np.array([300, 700]), 0.8, [0.4, 0.6], [[0.4, 0.6]])
    array([240, 360])
    """
    total = np.mean([_total(counts, r, p, q) for q in tests])
    return np.maximum(1, np.floor(total * r * np.asarray(p) + _ROUNDING).astype(np.int64))


def test_counts(
    counts: Indices, used: Indices, r: float, p: Sequence[float], q: Sequence[float]
) -> Indices:
    """How many items of each class a test sample has.

    Parameters
    ----------
    counts, used : ndarray of shape (K,)
        Items of each class in the dataset, and in the training set.
    r : float
        Share of items for training.
    p, q : sequence of float
        The training and the test distribution.

    Examples
    --------
    >>> import numpy as np
    >>> test_counts(np.array([300, 700]), np.array([240, 360]), 0.8, [0.4, 0.6], [0.4, 0.6])
    array([60, 90])
    """
    shares = np.asarray(q, dtype=np.float64)
    asked = shares > 0
    left = ((counts - used)[asked] / shares[asked]).min()
    size = min((1 - r) * _total(counts, r, p, q), left)
    found = np.floor(size * shares + _ROUNDING).astype(np.int64)
    if not found.any():
        found[shares.argmax()] = 1
    return found


test_counts.__test__ = False  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Trial:
    """Which draw: share of training items, training distribution, number of the draw."""

    split: float
    train: int
    number: int


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws from one dataset; the same trial always gives the same draw.

    Parameters
    ----------
    y : ndarray of shape (N,)
        Classes of the items.
    trains, tests : sequence of distributions
        Those of the protocol.
    seed : int
        That of the study.
    name : str
        That of the dataset: draws of two datasets are independent.
    """

    y: Indices
    trains: Sequence[Sequence[float]]
    tests: Sequence[Sequence[float]]
    seed: int
    name: str

    @cached_property
    def by_class(self) -> list[Indices]:
        """Rows of each class."""
        return [np.flatnonzero(self.y == k) for k in range(int(self.y.max()) + 1)]

    def training_counts(self, trial: Trial) -> Indices:
        """How many training items of each class there are."""
        counts = np.array([len(own) for own in self.by_class])
        return training_counts(counts, trial.split, self.trains[trial.train], self.tests)

    def training(self, trial: Trial) -> Indices:
        """Rows of the training items.

        Their order says which fold they are in: it is mixed, not by class.
        """
        return self._training(trial)[0]

    def testing(self, trial: Trial) -> Samples:
        """One sample a test distribution, with the true shares."""
        return self.draw(trial)[1]

    def draw(self, trial: Trial) -> tuple[Indices, Samples]:
        """The training items and the samples."""
        chosen, rest = self._training(trial)
        counts = np.array([len(own) for own in self.by_class])
        used = counts - np.array([len(own) for own in rest])
        samples, shares = [], []
        for number, q in enumerate(self.tests):
            sizes = test_counts(counts, used, trial.split, self.trains[trial.train], q)
            rng = self._rng(trial, "test", number)
            parts = zip(rest, sizes, strict=True)
            samples.append(
                np.concatenate([rng.choice(own, n, replace=False) for own, n in parts])
            )
            shares.append(sizes / sizes.sum())
        offsets = np.cumsum([0, *map(len, samples)])
        pool = len(self.y)
        drawn = Samples(np.concatenate(samples), offsets, n_pool=pool, prevalence=shares)
        return chosen, drawn

    def _training(self, trial: Trial) -> tuple[Indices, list[Indices]]:
        """The training items, and what is left of each class."""
        wanted = self.training_counts(trial)
        rng = self._rng(trial, "train")
        mixed = [rng.permutation(own) for own in self.by_class]
        chosen = [own[:n] for own, n in zip(mixed, wanted, strict=True)]
        rest = [own[n:] for own, n in zip(mixed, wanted, strict=True)]
        return rng.permutation(np.concatenate(chosen)), rest

    def _rng(self, trial: Trial, *purpose: object) -> np.random.Generator:
        names = (self.name, trial.split, trial.train, trial.number, *purpose)
        return np.random.default_rng(task_seed(self.seed, *names))
