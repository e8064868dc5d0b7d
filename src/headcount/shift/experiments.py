"""Experiments under dataset shift: cells, designs, samples and the base of protocols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.execution import RandomState, base_seeds, stream_seeds
from headcount._support.frames import pl
from headcount._support.parameters import check_count, check_flag, check_fraction, check_number
from headcount._support.text import ShownAsPrinted, first_of
from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels
from headcount.samples.protocols import PoolPart, nearest_counts
from headcount.samples.samples import Samples, index_dtype, sort_by_code


@dataclass(frozen=True)
class Cells:
    """Kinds of items, such as those of one class in one group."""

    codes: Ints
    names: tuple[str, ...]
    classes: Array

    @property
    def sizes(self) -> Ints:
        """Number of items in each cell."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def split(self, share: float, seed: int) -> tuple[PoolPart, PoolPart]:
        """Split the pool at random in two parts, the first with ``share`` of each cell."""
        items = np.flatnonzero(self.codes >= 0)
        order, bounds = sort_by_code(self.codes[items], len(self.names))
        pool = PoolPart(items[order].astype(index_dtype(len(self.codes))), bounds)
        counts = np.rint(share * pool.sizes).astype(np.int64)
        first, _ = pool.draw(counts[None, :], stream_seeds(seed, np.zeros(1, np.int64)))
        is_first = np.zeros(len(self.codes), np.bool_)
        is_first[first] = True
        cut = np.concatenate(([0], np.cumsum(counts)))
        return PoolPart(first, cut), PoolPart(pool.items[~is_first[pool.items]], bounds - cut)


DECIMALS = 9  # Products of shares and sizes are rounded to this, to remove rounding errors.


@dataclass(frozen=True)
class Side:
    """Kinds of training sets, or of test samples, one row per kind."""

    counts: Ints
    labels: Ints
    columns: dict[str, Array]

    def prevalence(self, n_classes: int) -> Floats:
        """Return the (D, K) shares of the classes, exactly as they are drawn."""
        counts = [(self.counts * (self.labels == k)).sum(axis=1) for k in range(n_classes)]
        return np.stack(counts, axis=1) / self.counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Design:
    """All kinds of training sets and test samples, and the degree of shift between them.

    ``degree`` and ``pairs`` are (T, U). A training set is tested on the kinds that ``pairs``
    selects. With ``nested`` the tests of one repetition use the same random numbers for each
    cell, so that they share items as far as their counts agree.
    """

    train: Side
    test: Side
    degree: Floats
    pairs: Bools
    nested: bool = False


def counts_near(shares: Floats, size: int) -> Ints:
    """Round rows of shares to counts that sum to ``size``."""
    return nearest_counts(shares, np.full(len(shares), size), np.arange(len(shares)))


def share_of(share: float, size: int | np.integer[Any]) -> int:
    """Round ``share * size`` to a whole number, after removal of rounding errors."""
    return round(round(share * int(size), DECIMALS))


def check_learnable(cells: Cells, train: Side) -> None:
    """Reject training sets in which a class is missing."""
    absent = (train.prevalence(len(cells.classes)) == 0).any(axis=0)
    if absent.any():
        name = cells.classes.tolist()[absent.argmax()]
        raise HeadcountError(
            f"a training set would have no item of class {name!r}, so nothing can be "
            "learned about it: choose a larger share, or raise train_size."
        )


def check_enough(
    cells: Cells, pool_part: PoolPart, side: Side, *, training: bool, replace: bool
) -> None:
    """Reject a part of the pool that has too few items of a cell."""
    needed, available = side.counts.max(axis=0), pool_part.sizes
    short = (needed > available) & ((available == 0) | (not replace))
    if not short.any():
        return
    cell = int(short.argmax())
    what, where, size, move = (
        ("training set", "training", "train_size", "raise")
        if training
        else ("test sample", "test", "test_size", "lower")
    )
    how_many = f"{available[cell]:,}"
    instead = f"lower {size}, {move} split, or pass replace=True to draw items repeatedly"
    if not available[cell]:
        how_many, instead = "none", f"add such items to the pool, or {move} split"
    raise HeadcountError(
        f"a {what} needs {needed[cell]:,} items of {cells.names[cell]}, but the {where} part "
        f"of the pool has {how_many}: {instead}."
    )


def check_numbers(name: str, values: Any) -> Floats:
    """A non-empty sequence of distinct finite numbers."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise HeadcountError(
            f"{name} is {values!r}; it must be a sequence of numbers, such as (0.25, 0.5)."
        )
    if len(np.unique(numbers)) < len(numbers):
        raise HeadcountError(f"{name} has a number twice: pass each once.")
    return numbers


def check_shares(name: str, values: Any, *, least: float = 0.0) -> Floats:
    """A non-empty sequence of distinct shares from ``least`` to 1."""
    shares = check_numbers(name, values)
    outside = (shares < least) | (shares > 1)
    if outside.any():
        raise HeadcountError(
            f"{name} has the entry {shares[outside.argmax()]:g}, but entries must be from "
            f"{least:g} to 1."
        )
    return shares


def check_lengths(**columns: Any) -> None:
    """Reject columns of different lengths."""
    (first, n), *remaining = ((name, len(column)) for name, column in columns.items())
    for name, length in remaining:
        if length != n:
            raise HeadcountError(
                f"{name} has {length:,} values, but {first} has {n:,}: pass one value per item "
                "of the pool in each of them."
            )


def read_ratings(ratings: ArrayLike | None, protocol: str) -> tuple[Array, Ints]:
    """Return the distinct ratings, sorted, and the position of each item's rating."""
    if ratings is None:
        raise HeadcountError(
            f"{protocol} needs ratings, such as 1 to 5 stars, to split at its cut points: "
            "pass ratings=."
        )
    values, codes = encode_labels(ratings, name="ratings")
    if values.dtype.kind not in "iuf":
        raise HeadcountError(
            f"ratings has values such as {values.tolist()[0]!r}, which are not numbers and "
            "have no order: pass numbers, such as 1 to 5 stars."
        )
    return values, codes


def cut(values: Array, cut_point: float, name: str) -> Ints:
    """Return 1 for ratings above a cut point, 0 for those below, -1 for those equal to it."""
    codes = np.where(values == cut_point, -1, (values > cut_point).astype(np.int64))
    if not ((codes == 0).any() and (codes == 1).any()):
        raise HeadcountError(
            f"{name} is {cut_point:g}, but ratings are from {values.min():g} to "
            f"{values.max():g}: choose a cut point with ratings on both sides."
        )
    return codes


def read_labels(y: ArrayLike | None, protocol: str) -> tuple[Array, Ints]:
    """Return the classes, at least two, and the codes of the items."""
    if y is None:
        raise HeadcountError(f"{protocol} needs labels: pass y.")
    classes, codes = encode_labels(y)
    if len(classes) < 2:
        raise HeadcountError(
            f"y has only one class, but {protocol} needs at least two: pass labels of two or "
            "more classes."
        )
    return classes, codes


def read_classes(
    y: ArrayLike | None, ratings: ArrayLike | None, cut_point: Any, protocol: str
) -> tuple[Array, Ints]:
    """Return classes and codes of labels, or of ratings split in two (-1 at the cut)."""
    if y is not None:
        return read_labels(y, protocol)
    if ratings is None:
        raise HeadcountError(
            f"{protocol} needs labels: pass y, or ratings to be split at cut_point."
        )
    values, codes = read_ratings(ratings, protocol)
    cut_point = check_number("cut_point", cut_point, lambda x: True, "a number")
    return np.array([0, 1]), cut(values, cut_point, "cut_point")[codes]


def read_two_groups(
    groups: ArrayLike | None, categories: Any, protocol: str
) -> tuple[list[Any], Ints]:
    """Return the two groups, and 0 or 1 for each item, or -1 for other groups."""
    if groups is None:
        raise HeadcountError(
            f"{protocol} needs the group of each item, one of two: pass groups=."
        )
    names, codes = encode_labels(groups, name="groups")
    if categories is None:
        if len(names) != 2:
            raise HeadcountError(
                f"groups has {len(names):,} different values, but {protocol} needs two: pass "
                "the two to use as categories=."
            )
        return names.tolist(), codes
    pair = categories.tolist() if isinstance(categories, np.ndarray) else categories
    if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] == pair[1]:
        raise HeadcountError(
            f"categories is {categories!r}; it must be two different groups, such as "
            f"{tuple(names.tolist()[:2])!r}."
        )
    group_names = names.tolist()
    for group in pair:
        if group not in group_names:
            raise HeadcountError(
                f"categories has {group!r}, but groups has no such item: it has "
                f"{first_of(map(repr, group_names), 3)}."
            )
    position = np.full(len(names), -1)
    position[[group_names.index(group) for group in pair]] = [0, 1]
    return list(pair), position[codes]


@dataclass(frozen=True, eq=False, repr=False)
class ShiftExperiment(ShownAsPrinted):
    """One training set and its test samples.

    Unpacks into ``train, test, degree = experiment``.

    Attributes
    ----------
    number : int
        Number of the training set, from 0.
    train : Samples
        The training set, a single sample in random order, with its true shares.
    test : Samples
        The test samples, with their true shares. They share no item with training sets.
    degree : ndarray of float of shape (S,)
        Degree of shift of each test sample.
    train_labels : ndarray of shape (n_train,)
        Labels of the training items, in the order of ``train[0]``.
    test_labels : ndarray of shape (len(test.indices),)
        Labels of the test items, in the order of ``test.indices``. Under concept shift an
        item may have another label in training or in another test sample.
    settings : dict
        Settings of the training set, such as its prevalence, and of the test samples, one
        array per setting.

    Examples
    --------
    >>> import headcount.shift as hs
    >>> protocol = hs.PriorShift([0.2, 0.5], [0.1, 0.9], train_size=20, test_size=10,
    ...     repeats=1, test_repeats=1, random_state=0)
    >>> experiment = protocol.draw([0, 1] * 100)[1]
    >>> experiment
    ShiftExperiment(training set 1 of 20 items, 2 test samples of 10 items, degrees -0.4 to 0.4)
    >>> experiment.train.prevalence, experiment.test.prevalence
    (array([[0.5, 0.5]]), array([[0.9, 0.1],
           [0.1, 0.9]]))
    """

    number: int
    train: Samples
    test: Samples
    degree: Floats
    train_labels: Array
    test_labels: Array
    settings: dict[str, Any]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.train, self.test, self.degree))

    def to_frame(self) -> pl.DataFrame:
        """Table with one row per test sample: settings, degree, size and true shares."""
        assert self.test.prevalence is not None
        assert self.test.classes is not None
        n = len(self.test)
        columns = {"training_set": np.full(n, self.number), "sample": np.arange(n)}
        columns |= {name: np.broadcast_to(value, n) for name, value in self.settings.items()}
        columns |= {"degree": self.degree, "size": self.test.sizes}
        columns |= _shares(self.test.classes, self.test.prevalence)
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return (
            f"ShiftExperiment(training set {self.number} of {self.train.sizes[0]:,} items, "
            f"{len(self.test):,} test samples of {_range(self.test.sizes)} items, degrees "
            f"{self.degree.min():g} to {self.degree.max():g})"
        )


class ShiftedSamples(ShownAsPrinted):
    """Experiments of a protocol on one pool, one per training set.

    A sequence of :class:`ShiftExperiment`. Each is drawn when it is accessed and none is
    kept: half a million test samples take the memory of those of one training set.
    Experiment ``i`` is always the same, in any order and in any process.

    Attributes
    ----------
    protocol : str
        Name of the protocol.
    classes : ndarray of shape (K,)
        The classes.
    n_pool : int
        Number of items in the pool.
    n_samples : int
        Total number of test samples of all experiments.
    train_items, test_items : ndarray of int
        Items from which training sets and test samples are drawn.
    degrees : ndarray of float
        Distinct degrees of shift, sorted.

    Examples
    --------
    >>> import headcount.shift as hs
    >>> shifted = hs.PriorShift(train_size=100, test_size=50, random_state=0).draw([0, 1] * 500)
    >>> shifted
    ShiftedSamples(PriorShift: 110 training sets of 100 items, 60,500 test samples of 50 items,
        degrees -1 to 1, from a pool of 1,000)
    >>> for train, test, degree in shifted:
    ...     pass  # fit on train[0], predict all of test
    >>> shifted.to_frame().height
    60500
    """

    def __init__(
        self,
        protocol: str,
        cells: Cells,
        design: Design,
        sides: tuple[PoolPart, PoolPart],
        repeats: tuple[int, int],
        seeds: tuple[int, int],
    ) -> None:
        self.protocol = protocol
        self.classes = cells.classes
        self.n_pool = len(cells.codes)
        self._codes = cells.codes
        self._design = design
        self._train_part, self._test_part = sides
        self._repeats, self._test_repeats = repeats
        self._train_seed, self._test_seed = seeds

    @property
    def n_samples(self) -> int:
        """Total number of test samples of all experiments."""
        return int(self._design.pairs.sum()) * self._repeats * self._test_repeats

    @property
    def train_items(self) -> NDArray[np.integer[Any]]:
        """Items from which training sets are drawn, sorted."""
        return np.sort(self._train_part.items)

    @property
    def test_items(self) -> NDArray[np.integer[Any]]:
        """Items from which test samples are drawn, sorted."""
        return np.sort(self._test_part.items)

    @property
    def degrees(self) -> Floats:
        """Distinct degrees of shift, sorted."""
        return np.unique(self._design.degree[self._design.pairs])

    def __len__(self) -> int:
        return len(self._design.pairs) * self._repeats

    def __iter__(self) -> Iterator[ShiftExperiment]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> ShiftExperiment:
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no experiment {number}: there are {len(self):,}.")
        number = int(number) % len(self)
        repeat, kind = divmod(number, len(self._design.pairs))
        repeats, kinds = self._tests(kind)
        train, train_labels = self._draw_training(number, kind)
        test, test_labels = self._draw_tests(number, repeats, kinds)
        return ShiftExperiment(
            number,
            train,
            test,
            self._design.degree[kind, kinds],
            train_labels,
            test_labels,
            {"repeat": repeat, **self._settings(kind), "test_repeat": repeats}
            | {name: column[kinds] for name, column in self._design.test.columns.items()},
        )

    def to_frame(self) -> pl.DataFrame:
        """Table with one row per test sample of all experiments, without drawing them.

        Returns
        -------
        polars.DataFrame
            Training set, sample, settings, degree, size and true shares.
        """
        design = self._design
        sets = [self._tests(kind) for kind in range(len(design.pairs))] * self._repeats
        lengths = [len(kinds) for _, kinds in sets]
        numbers = np.repeat(np.arange(len(sets)), lengths)
        repeats, kinds = (np.concatenate(column) for column in zip(*sets, strict=True))
        train_repeats, train_kinds = np.divmod(numbers, len(design.pairs))
        return pl.DataFrame(
            {
                "training_set": numbers,
                "sample": np.concatenate([np.arange(length) for length in lengths]),
                "repeat": train_repeats,
                **{name: column[train_kinds] for name, column in design.train.columns.items()},
                "test_repeat": repeats,
                **{name: column[kinds] for name, column in design.test.columns.items()},
                "degree": design.degree[train_kinds, kinds],
                "size": design.test.counts.sum(axis=1)[kinds],
                **_shares(self.classes, design.test.prevalence(len(self.classes))[kinds]),
            }
        )

    def __repr__(self) -> str:
        design, degrees = self._design, self.degrees
        return (
            f"ShiftedSamples({self.protocol}: {len(self):,} training sets of "
            f"{_range(design.train.counts.sum(axis=1))} items, {self.n_samples:,} test samples "
            f"of {_range(design.test.counts.sum(axis=1))} items, degrees {degrees[0]:g} to "
            f"{degrees[-1]:g}, from a pool of {self.n_pool:,})"
        )

    def _settings(self, kind: int) -> dict[str, Any]:
        return {
            name: column[kind].item() for name, column in self._design.train.columns.items()
        }

    def _tests(self, kind: int) -> tuple[Ints, Ints]:
        """Repetition and kind of each test of a kind of training set."""
        test_kinds = np.flatnonzero(self._design.pairs[kind])
        repeats = np.repeat(np.arange(self._test_repeats), len(test_kinds))
        return repeats, np.tile(test_kinds, self._test_repeats)

    def _draw_training(self, number: int, kind: int) -> tuple[Samples, Array]:
        seeds = stream_seeds(self._train_seed, np.array([number]))
        counts = self._design.train.counts[[kind]]
        items, offsets = self._train_part.draw(counts, seeds)
        # Shuffled, so that a training set can be split without shuffling it first.
        deck = PoolPart(np.arange(len(items), dtype=index_dtype(len(items))), offsets)
        order, _ = deck.draw(
            counts.sum(axis=1, keepdims=True),
            stream_seeds(int(seeds[0]), np.zeros(1, np.int64)),
        )
        return self._labelled(items[order], offsets, self._design.train, np.array([kind]))

    def _draw_tests(self, number: int, repeats: Ints, kinds: Ints) -> tuple[Samples, Array]:
        design = self._design
        base = int(stream_seeds(self._test_seed, np.array([number]))[0])
        streams = repeats if design.nested else repeats * design.pairs.shape[1] + kinds
        items, offsets = self._test_part.draw(
            design.test.counts[kinds], stream_seeds(base, streams)
        )
        return self._labelled(items, offsets, design.test, kinds)

    def _labelled(
        self, items: NDArray[np.integer[Any]], offsets: Ints, side: Side, kinds: Ints
    ) -> tuple[Samples, Array]:
        prevalence = side.prevalence(len(self.classes))[kinds]
        samples = Samples.unchecked(items, offsets, self.n_pool, prevalence, self.classes)
        labels = side.labels[np.repeat(kinds, samples.sizes), self._codes[items]]
        return samples, self.classes[labels]


def _shares(classes: Array, prevalence: Floats) -> dict[str, Array]:
    return {f"true_{name}": prevalence[:, k] for k, name in enumerate(classes.tolist())}


def _range(sizes: Ints) -> str:
    least, most = int(sizes.min()), int(sizes.max())
    return f"{least:,}" + (f" to {most:,}" if most > least else "")


TENTHS = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftProtocol(ABC):
    """Draws training sets and tests by the design that ``_plan`` of a subclass returns.

    Parameters
    ----------
    train_size : int, default=5000
        Number of items in a training set.
    test_size : int, default=500
        Number of items in a test sample.
    repeats : int, default=10
        Number of training sets of each kind.
    test_repeats : int, default=50
        Number of test samples of each kind per training set.
    split : float, default=0.6
        Share of the pool from which training sets are drawn.
    replace : bool, default=False
        Draw with replacement where the pool has too few items. Otherwise an error is raised.
    random_state : int, Generator, RandomState or None, default=None
        Random seed. None is the seed 0. A numpy generator provides one
        integer for each draw.
    """

    train_size: int = 5000
    test_size: int = 500
    repeats: int = 10
    test_repeats: int = 50
    split: float = 0.6
    replace: bool = False
    random_state: RandomState = None

    @abstractmethod
    def _pairs(self) -> Bools:
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
        repeats = check_count("repeats", self.repeats)
        repeats *= check_count("test_repeats", self.test_repeats)
        return int(self._pairs().sum()) * repeats

    def draw(
        self,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        ratings: ArrayLike | None = None,
    ) -> ShiftedSamples:
        """Make the experiments of a pool. Items are drawn when an experiment is accessed.

        Each protocol uses the columns that it needs and ignores the others.
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
