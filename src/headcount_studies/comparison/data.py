"""Datasets of the comparison, and the training sets and test samples drawn from them.

The paper draws, for a share r of training items, a training distribution p and a test
distribution q, as many items as there are: with N items, n_i of them of class i, a total of

    n(p, q) = floor(min(N, min over i of n_i / (r p_i + (1 - r) q_i)))

of which n r p_i are drawn for training and n (1 - r) q_i for the test, truncated, without
replacement. That makes the training set depend on the test distribution. Here one training
set serves all test distributions: its size is the mean over them of r n(p, q), and each class
has at least one item. A test sample has the size of the formula, (1 - r) n(p, q), or as many
items as are left over if these are fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headcount.samples.samples import Samples
from headcount_studies.comparison.spec import distributions
from headcount_studies.data.tables import Dataset, dataset_file, load_dataset
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import task_seed

Indices = NDArray[np.int64]
Made = TypeVar("Made")
# Products such as 0.3 * 10 are slightly too small in floating point.
_ROUNDING = 1e-9


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a dataset."""
    return [dataset_file(dataset, data)]


def _total(counts: Indices, r: float, p: Sequence[float], q: Sequence[float]) -> int:
    shares = r * np.asarray(p) + (1 - r) * np.asarray(q)
    asked = shares > 0
    most = (counts[asked] / shares[asked]).min()
    return int(min(counts.sum(), np.floor(most + _ROUNDING)))


def training_counts(
    counts: Indices, r: float, p: Sequence[float], tests: Sequence[Sequence[float]]
) -> Indices:
    """Number of items of each class in a training set.

    >>> import numpy as np
    >>> training_counts(np.array([300, 700]), 0.8, [0.4, 0.6], [[0.4, 0.6]])
    array([240, 360])
    """
    total = np.mean([_total(counts, r, p, q) for q in tests])
    return np.maximum(1, np.floor(total * r * np.asarray(p) + _ROUNDING).astype(np.int64))


def test_counts(
    counts: Indices, used: Indices, r: float, p: Sequence[float], q: Sequence[float]
) -> Indices:
    """Number of items of each class in a test sample.

    >>> import numpy as np
    >>> test_counts(np.array([300, 700]), np.array([240, 360]), 0.8, [0.4, 0.6], [0.4, 0.6])
    array([60, 90])
    """
    shares = np.asarray(q, dtype=np.float64)
    asked = shares > 0
    available = ((counts - used)[asked] / shares[asked]).min()
    size = min((1 - r) * _total(counts, r, p, q), available)
    sizes = np.floor(size * shares + _ROUNDING).astype(np.int64)
    if not sizes.any():
        sizes[shares.argmax()] = 1
    return sizes


test_counts.__test__ = False  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Trial:
    """One draw: share of training items, training distribution, number of the draw."""

    split: float
    train: int
    number: int


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws from one dataset, which depend on the seed and the trial only."""

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
        """Number of training items of each class."""
        counts = np.array([len(rows) for rows in self.by_class])
        return training_counts(counts, trial.split, self.trains[trial.train], self.tests)

    def training(self, trial: Trial) -> Indices:
        """Rows of the training items, in random order, which decides their folds."""
        return self._training(trial)[0]

    def testing(self, trial: Trial) -> Samples:
        """One sample per test distribution, with the true shares."""
        return self.draw(trial)[1]

    def draw(self, trial: Trial) -> tuple[Indices, Samples]:
        """Training items and samples."""
        training, unused = self._training(trial)
        counts = np.array([len(rows) for rows in self.by_class])
        n_training = counts - np.array([len(rows) for rows in unused])
        samples, shares = [], []
        for number, q in enumerate(self.tests):
            sizes = test_counts(counts, n_training, trial.split, self.trains[trial.train], q)
            rng = self._rng(trial, "test", number)
            per_class = zip(unused, sizes, strict=True)
            samples.append(
                np.concatenate([rng.choice(rows, n, replace=False) for rows, n in per_class])
            )
            shares.append(sizes / sizes.sum())
        offsets = np.cumsum([0, *map(len, samples)])
        pool = len(self.y)
        test_samples = Samples(np.concatenate(samples), offsets, n_pool=pool, prevalence=shares)
        return training, test_samples

    def _training(self, trial: Trial) -> tuple[Indices, list[Indices]]:
        """Training items, and the remaining items of each class."""
        counts = self.training_counts(trial)
        rng = self._rng(trial, "train")
        mixed = [rng.permutation(rows) for rows in self.by_class]
        training = [rows[:n] for rows, n in zip(mixed, counts, strict=True)]
        unused = [rows[n:] for rows, n in zip(mixed, counts, strict=True)]
        return rng.permutation(np.concatenate(training)), unused

    def _rng(self, trial: Trial, *purpose: object) -> np.random.Generator:
        names = (self.name, trial.split, trial.train, trial.number, *purpose)
        return np.random.default_rng(task_seed(self.seed, *names))


@dataclass(frozen=True, eq=False)
class Bench:
    """A dataset and the draws from it."""

    dataset: Dataset
    drawer: Drawer
    _made: dict[str, Any] = field(default_factory=dict)

    def remembered(self, what: str, make: Callable[[], Made]) -> Made:
        """Result of a computation that depends on the dataset only, made on first use."""
        if what not in self._made:
            self._made[what] = make()
        value: Made = self._made[what]
        return value

    @cached_property
    def binned(self) -> NDArray[np.generic]:
        """Features with a finite number of values, in the smallest integer type."""
        codes = self.dataset.binned()
        return codes.astype(np.min_scalar_type(codes.max()))

    def seed(self, trial: Trial, purpose: str) -> int:
        """Seed for one purpose in one trial."""
        names = (self.dataset.name, trial.split, trial.train, trial.number, purpose)
        return task_seed(self.drawer.seed, *names)


def load_bench(spec: Spec, dataset: str, data: Path) -> Bench:
    """Read a dataset; the last ones are kept in memory."""
    return _bench(dataset, str(data), _Protocol(spec))


class _Protocol:
    """Protocol of a spec as the key of a cache."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.text = spec, f"{spec.seed} {spec.protocol}"

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Protocol) and self.text == other.text


# Tasks come in the order of their cost, not of datasets: all of these stay in memory, some
# 1.5 GB if a process reads them all.
@lru_cache(maxsize=64)
def _bench(dataset: str, data: str, key: _Protocol) -> Bench:
    spec = key.spec
    loaded = load_dataset(dataset, spec.protocol["task"], data)
    trains, tests = (
        distributions(spec, which, loaded.n_classes) for which in ("train", "test")
    )
    return Bench(loaded, Drawer(loaded.y, trains, tests, spec.seed, dataset))
