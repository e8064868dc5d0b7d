"""Experiments under shift: a training set, its test samples, and the degrees of shift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._random import stream_seeds
from headcount._text import html_result
from headcount.sampling import Samples
from headcount.sampling.samples import index_dtype
from headcount.shift._cells import Cells, Part
from headcount.shift._design import Design, Side

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ShiftExperiment", "ShiftedSamples"]


@dataclass(frozen=True, eq=False, repr=False)
class ShiftExperiment:
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
    degree: NDArray[np.float64]
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]
    settings: dict[str, Any]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.train, self.test, self.degree))

    def to_frame(self) -> pl.DataFrame:
        """Table with one row per test sample: settings, degree, size and true shares.

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        assert self.test.prevalence is not None
        assert self.test.classes is not None
        n = len(self.test)
        columns = {"training_set": np.full(n, self.number), "sample": np.arange(n)}
        columns |= {name: np.broadcast_to(part, n) for name, part in self.settings.items()}
        columns |= {"degree": self.degree, "size": self.test.sizes}
        columns |= _shares(self.test.classes, self.test.prevalence)
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return (
            f"ShiftExperiment(training set {self.number} of {self.train.sizes[0]:,} items, "
            f"{len(self.test):,} test samples of {_range(self.test.sizes)} items, degrees "
            f"{self.degree.min():g} to {self.degree.max():g})"
        )

    def _repr_html_(self) -> str:
        return html_result(repr(self), [], ())


class ShiftedSamples:
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
        parts: tuple[Part, Part],
        repeats: tuple[int, int],
        seeds: tuple[int, int],
    ) -> None:
        self.protocol = protocol
        self.classes = cells.classes
        self.n_pool = len(cells.codes)
        self._codes = cells.codes
        self._design = design
        self._train_part, self._test_part = parts
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
    def degrees(self) -> NDArray[np.float64]:
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
        import polars as pl

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

    def _repr_html_(self) -> str:
        return html_result(repr(self), [], ())

    def _settings(self, kind: int) -> dict[str, Any]:
        return {
            name: column[kind].item() for name, column in self._design.train.columns.items()
        }

    def _tests(self, kind: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Repetition and kind of each test of a kind of training set."""
        chosen = np.flatnonzero(self._design.pairs[kind])
        repeats = np.repeat(np.arange(self._test_repeats), len(chosen))
        return repeats, np.tile(chosen, self._test_repeats)

    def _draw_training(self, number: int, kind: int) -> tuple[Samples, NDArray[Any]]:
        seeds = stream_seeds(self._train_seed, np.array([number]))
        counts = self._design.train.counts[[kind]]
        items, offsets = self._train_part.draw(counts, seeds)
        # Shuffled, so that a training set can be split without shuffling it first.
        deck = Part(np.arange(len(items), dtype=index_dtype(len(items))), offsets)
        order, _ = deck.draw(
            counts.sum(axis=1, keepdims=True),
            stream_seeds(int(seeds[0]), np.zeros(1, np.int64)),
        )
        return self._labelled(items[order], offsets, self._design.train, np.array([kind]))

    def _draw_tests(
        self, number: int, repeats: NDArray[np.int64], kinds: NDArray[np.int64]
    ) -> tuple[Samples, NDArray[Any]]:
        design = self._design
        base = int(stream_seeds(self._test_seed, np.array([number]))[0])
        streams = repeats if design.nested else repeats * design.pairs.shape[1] + kinds
        items, offsets = self._test_part.draw(
            design.test.counts[kinds], stream_seeds(base, streams)
        )
        return self._labelled(items, offsets, design.test, kinds)

    def _labelled(
        self,
        items: NDArray[np.integer[Any]],
        offsets: NDArray[np.int64],
        side: Side,
        kinds: NDArray[np.int64],
    ) -> tuple[Samples, NDArray[Any]]:
        prevalence = side.prevalence(len(self.classes))[kinds]
        samples = Samples.unchecked(items, offsets, self.n_pool, prevalence, self.classes)
        labels = side.labels[np.repeat(kinds, samples.sizes), self._codes[items]]
        return samples, self.classes[labels]


def _shares(classes: NDArray[Any], prevalence: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {f"true_{name}": prevalence[:, k] for k, name in enumerate(classes.tolist())}


def _range(sizes: NDArray[np.int64]) -> str:
    least, most = int(sizes.min()), int(sizes.max())
    return f"{least:,}" + (f" to {most:,}" if most > least else "")
