"""Base class of the shift protocols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._parameters import check_count, check_flag, check_fraction
from headcount._random import RandomState, base_seeds
from headcount.shift._cells import Cells
from headcount.shift._design import Design, check_enough, check_learnable
from headcount.shift.experiments import ShiftedSamples

__all__ = ["TENTHS", "ShiftProtocol"]

TENTHS = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftProtocol(ABC):
    """Draws training sets and tests by the design that ``_plan`` of a subclass returns."""

    train_size: int = 5000
    test_size: int = 500
    repeats: int = 10
    test_repeats: int = 50
    split: float = 0.6
    replace: bool = False
    random_state: RandomState = None

    @abstractmethod
    def _pairs(self) -> NDArray[np.bool_]:
        """Check the parameters; return the kinds of tests of each kind of training set."""

    @abstractmethod
    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        """Divide the pool into cells; return them with the counts to draw."""

    @property
    def n_training_sets(self) -> int:
        """Number of training sets."""
        return len(self._pairs()) * check_count("repeats", self.repeats)

    @property
    def n_samples(self) -> int:
        """Total number of test samples of all training sets."""
        each = check_count("repeats", self.repeats)
        each *= check_count("test_repeats", self.test_repeats)
        return int(self._pairs().sum()) * each

    def draw(
        self,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        ratings: ArrayLike | None = None,
    ) -> ShiftedSamples:
        """Make the experiments of a pool. Items are drawn when an experiment is accessed.

        Each protocol uses the columns that it needs and ignores the others.

        Parameters
        ----------
        y : array-like of shape (n_pool,), optional
            Labels of the pool. With two classes, the last one (classes are sorted) is the
            positive one.
        groups : array-like of shape (n_pool,), optional
            Group of each item, such as a product, a site or an author.
        ratings : array-like of numbers of shape (n_pool,), optional
            Ordinal ratings, such as 1 to 5 stars.

        Returns
        -------
        ShiftedSamples
            One experiment per training set.
        """
        self._pairs()
        repeats = check_count("repeats", self.repeats)
        test_repeats = check_count("test_repeats", self.test_repeats)
        check_count("train_size", self.train_size)
        check_count("test_size", self.test_size)
        share = check_fraction("split", self.split)
        replace = check_flag("replace", self.replace)
        split_seed, train_seed, test_seed = base_seeds(self.random_state, 3)
        cells, design = self._plan(y, groups, ratings)
        check_learnable(cells, design.train)
        train_part, test_part = cells.split(share, split_seed)
        check_enough(cells, train_part, design.train, training=True, replace=replace)
        check_enough(cells, test_part, design.test, training=False, replace=replace)
        return ShiftedSamples(
            type(self).__name__,
            cells,
            design,
            (train_part, test_part),
            (repeats, test_repeats),
            (train_seed, test_seed),
        )
