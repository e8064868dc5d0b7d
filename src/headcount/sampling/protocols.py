"""Protocols: which prevalences the samples of an experiment have, and how items are drawn.

All of them draw alike. A requested prevalence becomes whole counts that sum to the size
of the sample exactly, by largest remainder; the items of each class are then drawn at
random, without replacement where the pool has enough of the class and with replacement
where it has not. Sample ``i`` is decided by ``random_state`` and ``i`` alone: it is the same
in ``draw`` and in ``batches``, on any number of threads, and if fewer or more samples
are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.data import encode_labels
from headcount.errors import HeadcountError
from headcount.sampling._checks import checked_shares, whole_array, whole_number
from headcount.sampling._plan import Plan, Wanted
from headcount.sampling._shares import (
    dirichlet_shares,
    grid_length,
    grid_shares,
    uniform_shares,
)
from headcount.sampling._streams import RandomState, base_seeds
from headcount.sampling.samples import Samples

__all__ = ["APP", "NPP", "UPP", "Dirichlet", "Prevalences"]

Sizes: TypeAlias = int | Sequence[int] | NDArray[np.integer[Any]]

_DEFAULT_SIZE = 500
_DEFAULT_PREVALENCES = 21
_STEP_TOLERANCE = 1e-9


class _Protocol(ABC):
    """Draws what ``_wanted`` of a subclass asks for."""

    size: Any
    random_state: Any

    @abstractmethod
    def _wanted(self, n_classes: int, seed: int) -> Wanted:
        """Check the parameters and say what is wanted of a pool with so many classes."""

    def draw(self, y_pool: ArrayLike, classes: ArrayLike | None = None) -> Samples:
        """Draw all samples.

        Parameters
        ----------
        y_pool : array-like of shape (n_pool,)
            Labels of the pool.
        classes : array-like of shape (K,), optional
            The classes, in the order of the columns of a prevalence. By default those
            found in ``y_pool``, sorted.

        Returns
        -------
        Samples
            With the prevalences that the samples really have.
        """
        plan = self._plan(y_pool, classes)
        return plan.draw(0, plan.wanted.n_samples)

    def batches(
        self, y_pool: ArrayLike, size: int, classes: ArrayLike | None = None
    ) -> Iterator[Samples]:
        """Draw the same samples as ``draw``, a batch at a time, never all in memory.

        Parameters
        ----------
        y_pool : array-like of shape (n_pool,)
            Labels of the pool.
        size : int
            Number of samples in a batch; the last one may have fewer.
        classes : array-like of shape (K,), optional
            As in ``draw``.

        Returns
        -------
        iterator of Samples
        """
        size = whole_number(size, "size of a batch")
        plan = self._plan(y_pool, classes)
        n_samples = plan.wanted.n_samples
        return (
            plan.draw(start, min(start + size, n_samples))
            for start in range(0, n_samples, size)
        )

    def _plan(self, y_pool: ArrayLike, classes: ArrayLike | None) -> Plan:
        names, codes = encode_labels(y_pool, name="y_pool", classes=classes)
        share_seed, item_seed = base_seeds(self.random_state, 2)
        wanted = self._wanted(len(names), share_seed)
        sizes = _check_sizes(self.size, wanted.n_samples)
        return Plan(names, codes, wanted, sizes, item_seed)


@dataclass(frozen=True, eq=False)
class APP(_Protocol):
    """Artificial prevalences: every point of a regular grid on the simplex, repeated.

    With two classes the last one (classes are sorted) has prevalences 0, 0.05, ..., 1 by
    default. With more, every combination of multiples of the step that sums to 1 is
    drawn: 231 points for three classes, 1,771 for four, 10,626 for five.

    Items are drawn without replacement where the pool has enough of a class, and with
    replacement where it has not. Where the size times a prevalence is not a whole number
    the largest remainders are rounded up; a fixed rule that favours no class settles ties,
    and all repeats of a point have equal counts.

    Parameters
    ----------
    n_prevalences : int, optional
        Number of prevalences from 0 to 1 of each class; 21 unless ``step`` is given.
    repeats : int, default=10
        Number of samples at each point of the grid.
    size : int, default=500
        Number of items in a sample.
    step : float, optional
        Distance between prevalences, instead of ``n_prevalences``; it must divide 1.
    max_samples : int, default=1_000_000
        The most samples to agree to: the grid grows fast with the number of classes.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the draws. None takes a new one at each draw; of a numpy generator one
        integer is taken at each draw.

    Examples
    --------
    >>> import headcount.sampling as hs
    >>> samples = hs.APP(n_prevalences=5, repeats=2, size=8, random_state=0).draw([0, 1] * 50)
    >>> samples
    Samples(10 samples of 8 items, from a pool of 100, 2 classes)
    >>> samples.prevalence[::2, 1]
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    n_prevalences: int | None = None
    repeats: int = 10
    size: int = _DEFAULT_SIZE
    _: KW_ONLY
    step: float | None = None
    max_samples: int = 1_000_000
    random_state: RandomState = None

    def _wanted(self, n_classes: int, seed: int) -> Wanted:
        _check_several_classes(n_classes, "APP")
        whole_number(self.size, "size")  # One size for all: repeats share their counts.
        repeats = whole_number(self.repeats, "repeats")
        n_steps = self._n_steps()
        n_points = grid_length(n_steps, n_classes)
        if n_points * repeats > whole_number(self.max_samples, "max_samples"):
            raise HeadcountError(
                f"APP would draw {n_points * repeats:,} samples ({n_points:,} prevalences of "
                f"{n_classes} classes, {repeats:,} times each), more than max_samples="
                f"{self.max_samples:,}: lower n_prevalences or repeats, raise max_samples, or "
                "use UPP, which draws as many samples as you say."
            )
        grid = grid_shares(n_steps, n_classes)
        return Wanted(n_points, repeats, lambda rows: grid[rows])

    def _n_steps(self) -> int:
        if self.step is None:
            n = _DEFAULT_PREVALENCES if self.n_prevalences is None else self.n_prevalences
            return whole_number(n, "n_prevalences", least=2) - 1
        if self.n_prevalences is not None:
            raise HeadcountError(
                f"n_prevalences={self.n_prevalences} and step={self.step} are both given, but "
                "each decides the grid: give one of them."
            )
        return _check_step(self.step)


@dataclass(frozen=True, eq=False)
class UPP(_Protocol):
    """Prevalences drawn uniformly from the simplex, for any number of classes.

    The prevalences are the gaps between sorted uniform numbers (Kraemer's method). Items
    are drawn without replacement where the pool has enough of a class, and with
    replacement where it has not; counts are rounded by largest remainder.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. The first ones do not depend on how many there are.
    size : int or sequence of int, default=500
        Number of items in every sample, or in each of the ``n_samples``.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the draws. None takes a new one at each draw; of a numpy generator one
        integer is taken at each draw.

    Examples
    --------
    >>> import headcount.sampling as hs
    >>> y_pool = ["bad", "fair", "good"] * 100
    >>> hs.UPP(n_samples=50, size=20, random_state=0).draw(y_pool)
    Samples(50 samples of 20 items, from a pool of 300, 3 classes)
    """

    n_samples: int = 1000
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _wanted(self, n_classes: int, seed: int) -> Wanted:
        _check_several_classes(n_classes, "UPP")
        n_samples = whole_number(self.n_samples, "n_samples")
        return Wanted(n_samples, 1, lambda rows: uniform_shares(seed, rows, n_classes))


@dataclass(frozen=True, eq=False)
class NPP(_Protocol):
    """Natural prevalences: items drawn from the whole pool, whatever their class.

    Without replacement within a sample if the pool is as large as it, and with
    replacement if the pool is smaller. The prevalence varies about that of the pool.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. The first ones do not depend on how many there are.
    size : int or sequence of int, default=500
        Number of items in every sample, or in each of the ``n_samples``.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the draws. None takes a new one at each draw; of a numpy generator one
        integer is taken at each draw.

    Examples
    --------
    >>> import headcount.sampling as hs
    >>> samples = hs.NPP(n_samples=3, size=[10, 20, 40], random_state=0).draw([0, 1] * 50)
    >>> samples.sizes
    array([10, 20, 40])
    """

    n_samples: int = 1000
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _wanted(self, n_classes: int, seed: int) -> Wanted:
        return Wanted(whole_number(self.n_samples, "n_samples"), 1, None)


@dataclass(frozen=True, eq=False)
class Dirichlet(_Protocol):
    """Prevalences drawn from a Dirichlet distribution.

    All ones is the uniform distribution (see ``UPP``, which is faster); smaller values
    prefer samples with few classes, larger ones keep near ``alpha / sum(alpha)``. Items are
    drawn without replacement where the pool has enough of a class, and with replacement
    where it has not; counts are rounded by largest remainder.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        The concentration, above 0: one for all classes, or one a class.
    n_samples : int, default=1000
        Number of samples. The first ones do not depend on how many there are.
    size : int or sequence of int, default=500
        Number of items in every sample, or in each of the ``n_samples``.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the draws. None takes a new one at each draw; of a numpy generator one
        integer is taken at each draw.

    Examples
    --------
    >>> import headcount.sampling as hs
    >>> protocol = hs.Dirichlet(alpha=[90, 10], n_samples=200, size=100, random_state=0)
    >>> protocol.draw([0, 1] * 500).prevalence.mean(axis=0).round(1)
    array([0.9, 0.1])
    """

    alpha: float | Sequence[float] | NDArray[np.floating[Any]] = 1.0
    n_samples: int = 1000
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _wanted(self, n_classes: int, seed: int) -> Wanted:
        _check_several_classes(n_classes, "Dirichlet")
        n_samples = whole_number(self.n_samples, "n_samples")
        alpha = self._checked_alpha(n_classes)
        return Wanted(n_samples, 1, lambda rows: dirichlet_shares(seed, rows, alpha))

    def _checked_alpha(self, n_classes: int) -> NDArray[np.float64]:
        try:
            alpha = np.asarray(self.alpha, dtype=np.float64)
        except (TypeError, ValueError):
            alpha = np.full(1, np.nan)
        if alpha.shape not in ((), (n_classes,)) or not (
            np.isfinite(alpha).all() and (alpha > 0).all()
        ):
            raise HeadcountError(
                f"alpha is {self.alpha!r}; it must be a number above 0, or one for each of "
                f"the {n_classes} classes."
            )
        return np.broadcast_to(alpha, n_classes)


@dataclass(frozen=True, eq=False)
class Prevalences(_Protocol):
    """Prevalences that you give.

    Items are drawn without replacement where the pool has enough of a class, and with
    replacement where it has not. Where the size times a prevalence is not a whole number
    the largest remainders are rounded up; a fixed rule that favours no class settles ties,
    and repeats of a row have equal counts if they have equal sizes.

    Parameters
    ----------
    prevalences : array-like of shape (R, K)
        One row a prevalence, one column a class (classes are sorted), each row summing
        to 1.
    repeats : int, default=1
        Number of samples of each row, one after the other.
    size : int or sequence of int, default=500
        Number of items in every sample, or in each of the ``R * repeats``.
    random_state : int, Generator, RandomState or None, default=None
        The seed of the draws. None takes a new one at each draw; of a numpy generator one
        integer is taken at each draw.

    Examples
    --------
    >>> import headcount.sampling as hs
    >>> protocol = hs.Prevalences([[0.9, 0.1], [0.25, 0.75]], size=20, random_state=0)
    >>> protocol.draw([0, 1] * 50).prevalence
    array([[0.9 , 0.1 ],
           [0.25, 0.75]])
    """

    prevalences: ArrayLike
    repeats: int = 1
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _wanted(self, n_classes: int, seed: int) -> Wanted:
        repeats = whole_number(self.repeats, "repeats")
        shares = checked_shares(self.prevalences, name="prevalences")
        if not len(shares):
            raise HeadcountError("prevalences has no rows: pass one row a sample to draw.")
        if shares.shape[1] != n_classes:
            raise HeadcountError(
                f"prevalences has {shares.shape[1]} columns, but there are {n_classes} "
                "classes: pass one column a class."
            )
        return Wanted(len(shares), repeats, lambda rows: shares[rows])


def _check_several_classes(n_classes: int, protocol: str) -> None:
    if n_classes < 2:
        raise HeadcountError(
            f"y_pool has only one class, but {protocol} varies the prevalence of at least two: "
            "pass labels of two or more classes, or use NPP."
        )


def _check_step(step: Any) -> int:
    if isinstance(step, int | float | np.number) and 0 < step <= 1:
        n_steps = round(1 / float(step))
        if abs(n_steps * step - 1) <= _STEP_TOLERANCE:
            return n_steps
    raise HeadcountError(f"step is {step!r}; it must divide 1, as 0.05, 0.1 and 0.25 do.")


def _check_sizes(size: Any, n_samples: int) -> NDArray[np.int64]:
    if np.ndim(size) == 0:
        return np.broadcast_to(np.int64(whole_number(size, "size")), n_samples)
    advice = f"pass one whole number, or one for each of the {n_samples:,} samples"
    sizes = whole_array(size, "size", advice=advice)
    if len(sizes) != n_samples:
        raise HeadcountError(f"size has {len(sizes):,} entries: {advice}.")
    if sizes.min() < 1:
        raise HeadcountError(
            f"size holds {sizes.min()}, but each must be at least 1: {advice}."
        )
    return sizes.astype(np.int64)
