"""Protocols that draw samples with given or random prevalences.

All protocols draw in the same way. A requested prevalence is rounded to whole counts that
sum to the size of the sample, by largest remainder. The items of each class are then drawn
at random, without replacement where the pool has enough of the class, otherwise with
replacement. Sample ``i`` is determined by ``random_state`` and ``i`` alone. It is the same
in ``draw`` and in ``batches``, on any number of threads and for any number of samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from itertools import chain, combinations
from math import comb
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincinv

from headcount._kernels.draws import draw_items
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import (
    RandomState,
    base_seeds,
    each_range,
    stream_seeds,
    uniforms,
)
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels
from headcount.samples.samples import (
    Samples,
    as_samples,
    check_integers,
    check_share_rows,
    index_dtype,
    sort_by_code,
)

_TIES = 0  # Base seed of the fixed streams that break ties, independent of random_state.
_REMAINDER_DECIMALS = 9


def grid_length(n_steps: int, n_classes: int) -> int:
    """Number of points of the grid with step ``1 / n_steps`` on the simplex."""
    return comb(n_steps + n_classes - 1, n_classes - 1)


def grid_shares(n_steps: int, n_classes: int) -> Floats:
    """Points of the grid, from all in the first class to all in the last."""
    # Stars and bars: each point is a row of n_steps stars, separated by K - 1 bars.
    n_places, n_bars = n_steps + n_classes - 1, n_classes - 1
    length = grid_length(n_steps, n_classes)
    places = chain.from_iterable(combinations(range(n_places), n_bars))
    bars = np.fromiter(places, np.int64, count=length * n_bars).reshape(length, n_bars)
    stars = np.diff(bars, axis=1, prepend=-1, append=n_places) - 1
    return stars[::-1] / n_steps


def uniform_shares(base: int, rows: Ints, n_classes: int) -> Floats:
    """Draw uniformly from the simplex: the gaps between sorted uniforms (Kraemer)."""
    cuts = np.sort(uniforms(base, rows, n_classes - 1), axis=1)
    return np.diff(cuts, axis=1, prepend=0.0, append=1.0)


def dirichlet_shares(base: int, rows: Ints, alpha: Floats) -> Floats:
    """Draw from a Dirichlet distribution by inverting gamma distributions.

    In logarithms, and through gamma(a) = gamma(a + 1) * U ** (1 / a), because with a
    small ``alpha`` the plain gamma variates are often all zero in double precision.
    """
    n_classes = len(alpha)
    numbers = uniforms(base, rows, 2 * n_classes)
    logs = np.log(gammaincinv(alpha + 1, numbers[:, :n_classes]))
    logs += np.log(numbers[:, n_classes:]) / alpha
    shares: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def nearest_counts(shares: Floats, sizes: Ints, rows: Ints) -> Ints:
    """Round ``shares * sizes`` to counts that sum to ``sizes``, by largest remainder.

    Ties are broken by a fixed hash of the row's number in ``rows`` and the class. No class
    is favoured over many rows, and repetitions of a row have equal counts.
    """
    quotas = shares * sizes[:, None]
    floors = np.floor(quotas)
    # Rounded, so that floating point does not break ties.
    remainders = np.round(quotas - floors, _REMAINDER_DECIMALS)
    hashes = uniforms(_TIES, rows, shares.shape[1])
    ranking = np.lexsort((hashes, -remainders), axis=1)
    counts = floors.astype(np.int64, order="C")
    missing = sizes - counts.sum(axis=1)
    extra = np.arange(shares.shape[1]) < missing[:, None]
    np.put_along_axis(counts, ranking, np.take_along_axis(counts, ranking, 1) + extra, 1)
    return counts


_LARGEST_POOL = 2**32
_FEWEST_ITEMS_PER_THREAD = 1 << 14


@dataclass(frozen=True)
class PoolPart:
    """Items of the pool, cell by cell. Those of cell ``j`` lie between two ``bounds``."""

    items: NDArray[np.integer[Any]]
    bounds: Ints

    @property
    def sizes(self) -> Ints:
        """Number of items in each cell."""
        return np.diff(self.bounds)

    def draw(
        self, counts: Ints, seeds: NDArray[np.uint64]
    ) -> tuple[NDArray[np.integer[Any]], Ints]:
        """Draw ``counts[i, j]`` items of cell ``j`` for sample ``i``; indices and offsets."""
        counts = np.ascontiguousarray(counts)
        offsets = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
        indices = np.empty(offsets[-1], self.items.dtype)

        def work(first: int, last: int) -> None:
            # Set in each thread, as threads do not inherit it. The kernel relies on overflow.
            with np.errstate(over="ignore"):
                draw_items(
                    first, last, seeds, counts, self.items, self.bounds, offsets, indices
                )

        # Each thread first fills a scratch array as long as the part.
        worth = max(_FEWEST_ITEMS_PER_THREAD, len(self.items))
        each_range(work, len(counts), grain=1 + worth * len(counts) // len(indices))
        return indices, offsets


@dataclass(frozen=True)
class TargetShares:
    """Requested shares of the classes in each sample."""

    n_rows: int
    repeats: int
    shares: Callable[[Ints], Floats] | None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.n_rows * self.repeats


class Plan:
    """Pool, shares, sizes and seed, which together determine every sample."""

    def __init__(
        self, classes: Array, codes: Ints, target: TargetShares, sizes: Ints, seed: int
    ) -> None:
        if len(codes) > _LARGEST_POOL:
            raise HeadcountError(
                f"y_pool has {len(codes):,} items, but at most {_LARGEST_POOL:,} can be drawn "
                "from: draw from a part of the pool."
            )
        self.classes = classes.copy()
        self.codes = codes
        self.target = target
        self.sizes = sizes
        self.seed = seed
        if target.shares is None:
            items = np.arange(len(codes), dtype=index_dtype(len(codes)))
            self._pool = PoolPart(items, np.array([0, len(codes)]))
        else:
            self._pool = PoolPart(*sort_by_code(codes, len(classes)))

    def draw(self, start: int, stop: int) -> Samples:
        """Draw the samples from number ``start`` to ``stop - 1``."""
        numbers = np.arange(start, stop)
        sizes = self.sizes[start:stop]
        counts = self._counts(numbers, sizes)
        indices, offsets = self._pool.draw(counts, stream_seeds(self.seed, numbers))
        return self._with_prevalence(indices, offsets, counts)

    def _counts(self, numbers: Ints, sizes: Ints) -> Ints:
        if self.target.shares is None:
            return np.ascontiguousarray(sizes[:, None])
        rows = numbers // self.target.repeats
        counts = nearest_counts(self.target.shares(rows), sizes, rows)
        absent = (self._pool.sizes == 0) & (counts > 0).any(axis=0)
        if absent.any():
            name = self.classes.tolist()[absent.argmax()]
            raise HeadcountError(
                f"samples with items of class {name!r} were requested, but y_pool has none: "
                "remove the class from classes, or add such items to the pool."
            )
        return counts

    def _with_prevalence(
        self, indices: NDArray[np.integer[Any]], offsets: Ints, counts: Ints
    ) -> Samples:
        if self.target.shares is None:
            bare = Samples.unchecked(indices, offsets, len(self.codes))
            prevalence = bare.prevalence_of(self.codes, len(self.classes))
        else:
            prevalence = counts / np.diff(offsets)[:, None]
        return Samples.unchecked(indices, offsets, len(self.codes), prevalence, self.classes)


Sizes: TypeAlias = int | Sequence[int] | NDArray[np.integer[Any]]

_DEFAULT_SIZE = 500
_DEFAULT_PREVALENCES = 21
_STEP_TOLERANCE = 1e-9


class Protocol(ABC):
    """Base of sampling protocols, for those of your own.

    A subclass implements ``draw``. `evaluate`, `GridSearch` and the others that take a
    protocol then take it too.

    Examples
    --------
    >>> import headcount as hc
    >>> from headcount.samples import Protocol
    >>> class Consecutive(Protocol):
    ...     def draw(self, y_pool, classes=None):
    ...         return [range(first, first + 50) for first in range(0, len(y_pool), 50)]
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(400, random_state=0)
    >>> quantifier = hc.PACC().fit(X[:200], y[:200])
    >>> len(hc.evaluate(quantifier, X[200:], y[200:], Consecutive()).true)
    4
    """

    @abstractmethod
    def draw(self, y_pool: ArrayLike, classes: ArrayLike | None = None) -> Any:
        """Draw all samples of a pool.

        Parameters
        ----------
        y_pool : array-like of shape (n,)
            Labels of the pool.
        classes : array-like of shape (K,), default=None
            Classes, in the order of the shares; by default those in `y_pool`, sorted.

        Returns
        -------
        Samples, or iterable of array-like of int
            Positions of the items of each sample.
        """


def draw_samples(protocol: Any, y_pool: ArrayLike, classes: ArrayLike | None = None) -> Samples:
    """Samples that a protocol draws, with the shares of their labels."""
    if isinstance(protocol, type) or not callable(getattr(protocol, "draw", None)):
        raise HeadcountError(
            f"protocol is {protocol!r}; it must be one that draws samples: pass for instance "
            "UPP(n_samples=1000, size=500), or an instance of a subclass of "
            "headcount.samples.Protocol."
        )
    if isinstance(protocol, _DrawingProtocol):
        return protocol.draw(y_pool, classes)
    name = type(protocol).__name__
    names, codes = encode_labels(y_pool, name="y_pool", classes=classes)
    try:
        signature(protocol.draw).bind(names[codes], classes=names)
    except TypeError as error:
        raise HeadcountError(
            f"draw of {name} cannot be called with the labels of a pool and its classes "
            f"({error}): define it as draw(self, y_pool, classes=None)."
        ) from None
    draws = protocol.draw(names[codes], classes=names)
    if not isinstance(draws, Samples | Iterable) or isinstance(draws, str | bytes):
        raise HeadcountError(
            f"draw of {name} returned an object of type {type(draws).__name__}: it must return "
            "Samples, or a list of index arrays, one per sample."
        )
    try:
        samples = as_samples(draws, len(codes))
    except HeadcountError as error:
        raise HeadcountError(f"draw of {name} returned wrong samples: {error}") from None
    return Samples.unchecked(
        samples.indices,
        samples.offsets,
        samples.n_pool,
        samples.prevalence_of(codes, len(names)),
        names,
    )


class _DrawingProtocol(Protocol):
    """Draws samples with the shares that ``_target_shares`` of a subclass returns.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples. The first n samples are the same for every number of samples.
    size : int or sequence of int, default=500
        Number of items in every sample, or in each of the ``n_samples``.
    random_state : int, Generator, RandomState or None, default=None
        Random seed. None is the seed 0. A numpy generator provides one
        integer for each draw.
    """

    size: Any
    random_state: Any

    @abstractmethod
    def _target_shares(self, n_classes: int, seed: int) -> TargetShares:
        """Check the parameters; return the shares of all samples."""

    def draw(self, y_pool: ArrayLike, classes: ArrayLike | None = None) -> Samples:
        """Draw all samples."""
        plan = self._plan(y_pool, classes)
        return plan.draw(0, plan.target.n_samples)

    def batches(
        self, y_pool: ArrayLike, size: int, classes: ArrayLike | None = None
    ) -> Iterator[Samples]:
        """Draw the same samples as ``draw``, one batch at a time, to save memory."""
        size = check_count("size of a batch", size)
        plan = self._plan(y_pool, classes)
        n_samples = plan.target.n_samples
        return (
            plan.draw(start, min(start + size, n_samples))
            for start in range(0, n_samples, size)
        )

    def _plan(self, y_pool: ArrayLike, classes: ArrayLike | None) -> Plan:
        names, codes = encode_labels(y_pool, name="y_pool", classes=classes)
        share_seed, item_seed = base_seeds(self.random_state, 2)
        target = self._target_shares(len(names), share_seed)
        sizes = _check_sizes(self.size, target.n_samples)
        return Plan(names, codes, target, sizes, item_seed)


@documented(_DrawingProtocol)
@dataclass(frozen=True, eq=False)
class APP(_DrawingProtocol):
    """Artificial prevalences: every point of a regular grid on the simplex, repeated.

    With two classes the last one (classes are sorted) has prevalences 0, 0.05, ..., 1 by
    default. With more, every combination of multiples of the step that sums to 1 is
    drawn: 231 points for three classes, 1,771 for four, 10,626 for five.

    Items are drawn without replacement where the pool has enough of a class, otherwise with
    replacement. Where the size times a prevalence is not a whole number, the largest
    remainders are rounded up. A fixed rule that favours no class breaks ties, so that all
    repetitions of a point have equal counts.

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
        Largest number of samples allowed. The grid grows fast with the number of classes.

    Examples
    --------
    >>> import headcount.samples as hs
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

    def _target_shares(self, n_classes: int, seed: int) -> TargetShares:
        _check_several_classes(n_classes, "APP")
        check_count("size", self.size)  # a single size, as repetitions have equal counts
        repeats = check_count("repeats", self.repeats)
        n_steps = self._n_steps()
        n_points = grid_length(n_steps, n_classes)
        if n_points * repeats > check_count("max_samples", self.max_samples):
            raise HeadcountError(
                f"APP would draw {n_points * repeats:,} samples ({n_points:,} prevalences of "
                f"{n_classes} classes, {repeats:,} times each), more than max_samples="
                f"{self.max_samples:,}: lower n_prevalences or repeats, raise max_samples, or "
                "use UPP, which draws a given number of samples."
            )
        grid = grid_shares(n_steps, n_classes)
        return TargetShares(n_points, repeats, lambda rows: grid[rows])

    def _n_steps(self) -> int:
        if self.step is None:
            n = _DEFAULT_PREVALENCES if self.n_prevalences is None else self.n_prevalences
            return check_count("n_prevalences", n, 2) - 1
        if self.n_prevalences is not None:
            raise HeadcountError(
                f"n_prevalences={self.n_prevalences} and step={self.step} are both given, but "
                "each of them determines the grid: pass only one."
            )
        return _check_step(self.step)


@documented(_DrawingProtocol)
@dataclass(frozen=True, eq=False)
class UPP(_DrawingProtocol):
    """Prevalences drawn uniformly from the simplex, for any number of classes.

    The prevalences are the gaps between sorted uniform numbers (Kraemer's method). Items
    are drawn without replacement where the pool has enough of a class, otherwise with
    replacement. Counts are rounded by largest remainder.

    Examples
    --------
    >>> import headcount.samples as hs
    >>> y_pool = ["bad", "fair", "good"] * 100
    >>> hs.UPP(n_samples=50, size=20, random_state=0).draw(y_pool)
    Samples(50 samples of 20 items, from a pool of 300, 3 classes)
    """

    n_samples: int = 1000
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _target_shares(self, n_classes: int, seed: int) -> TargetShares:
        _check_several_classes(n_classes, "UPP")
        n_samples = check_count("n_samples", self.n_samples)
        return TargetShares(n_samples, 1, lambda rows: uniform_shares(seed, rows, n_classes))


@documented(_DrawingProtocol)
@dataclass(frozen=True, eq=False)
class NPP(_DrawingProtocol):
    """Natural prevalences: items drawn from the whole pool, regardless of their class.

    Items are drawn without replacement within a sample, or with replacement if the pool is
    smaller than the sample. The prevalence varies around that of the pool.

    Examples
    --------
    >>> import headcount.samples as hs
    >>> samples = hs.NPP(n_samples=3, size=[10, 20, 40], random_state=0).draw([0, 1] * 50)
    >>> samples.sizes
    array([10, 20, 40])
    """

    n_samples: int = 1000
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _target_shares(self, n_classes: int, seed: int) -> TargetShares:
        return TargetShares(check_count("n_samples", self.n_samples), 1, None)


@documented(_DrawingProtocol)
@dataclass(frozen=True, eq=False)
class Dirichlet(_DrawingProtocol):
    """Prevalences drawn from a Dirichlet distribution.

    With ``alpha=1`` the distribution is uniform (see ``UPP``, which is faster). Smaller values
    prefer samples with few classes, larger ones stay near ``alpha / sum(alpha)``. Items are
    drawn without replacement where the pool has enough of a class, otherwise with
    replacement. Counts are rounded by largest remainder.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        Concentration, above 0: one for all classes, or one per class.

    Examples
    --------
    >>> import headcount.samples as hs
    >>> protocol = hs.Dirichlet(alpha=[90, 10], n_samples=200, size=100, random_state=0)
    >>> protocol.draw([0, 1] * 500).prevalence.mean(axis=0).round(1)
    array([0.9, 0.1])
    """

    alpha: float | Sequence[float] | NDArray[np.floating[Any]] = 1.0
    n_samples: int = 1000
    size: Sizes = _DEFAULT_SIZE
    _: KW_ONLY
    random_state: RandomState = None

    def _target_shares(self, n_classes: int, seed: int) -> TargetShares:
        _check_several_classes(n_classes, "Dirichlet")
        n_samples = check_count("n_samples", self.n_samples)
        alpha = self._checked_alpha(n_classes)
        return TargetShares(n_samples, 1, lambda rows: dirichlet_shares(seed, rows, alpha))

    def _checked_alpha(self, n_classes: int) -> Floats:
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


@documented(_DrawingProtocol)
@dataclass(frozen=True, eq=False)
class Prevalences(_DrawingProtocol):
    """Prevalences given by the user.

    Items are drawn without replacement where the pool has enough of a class, otherwise with
    replacement. Where the size times a prevalence is not a whole number, the largest
    remainders are rounded up. A fixed rule that favours no class breaks ties, so that
    repetitions of a row have equal counts if they have equal sizes.

    Parameters
    ----------
    prevalences : array-like of shape (R, K)
        Shares of the classes: one row per prevalence, one column per class (classes are
        sorted). Each row sums to 1.
    repeats : int, default=1
        Number of samples for each row, in consecutive order.
    size : int or sequence of int, default=500
        Number of items in every sample, or in each of the ``R * repeats``.

    Examples
    --------
    >>> import headcount.samples as hs
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

    def _target_shares(self, n_classes: int, seed: int) -> TargetShares:
        repeats = check_count("repeats", self.repeats)
        shares = check_share_rows(self.prevalences, name="prevalences")
        if not len(shares):
            raise HeadcountError("prevalences has no rows: pass at least one.")
        if shares.shape[1] != n_classes:
            raise HeadcountError(
                f"prevalences has {shares.shape[1]} columns, but there are {n_classes} "
                "classes: pass one column per class."
            )
        return TargetShares(len(shares), repeats, lambda rows: shares[rows])


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


def _check_sizes(size: Any, n_samples: int) -> Ints:
    if np.ndim(size) == 0:
        return np.broadcast_to(np.int64(check_count("size", size)), n_samples)
    advice = f"pass one whole number, or one for each of the {n_samples:,} samples"
    sizes = check_integers(size, "size", advice=advice)
    if len(sizes) != n_samples:
        raise HeadcountError(f"size has {len(sizes):,} entries: {advice}.")
    if sizes.min() < 1:
        raise HeadcountError(
            f"size has the entry {sizes.min()}, but each must be at least 1: {advice}."
        )
    return sizes.astype(np.int64)
