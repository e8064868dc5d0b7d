"""Bags with known shares: samples that networks are trained and validated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from headcount._support.arrays import Floats, Ints
from headcount.items.arrays import Scored, count_rows, take_rows
from headcount.parts.training import Features, Header
from headcount.quantifiers.base import Quantifier
from headcount.samples.protocols import UPP
from headcount.samples.samples import Samples, index_dtype
from headcount.scores.scorer import Scorer

Rows = Ints


@dataclass(frozen=True, eq=False)
class Bags:
    """Samples of a pool and the shares of their classes."""

    samples: Samples
    shares: Floats

    @classmethod
    def concatenate(cls, parts: Sequence[Bags]) -> Bags:
        """All bags, one part after the other."""
        first = parts[0].samples
        sizes = np.concatenate([bags.samples.sizes for bags in parts])
        samples = Samples.unchecked(
            np.concatenate([bags.samples.indices for bags in parts]),
            np.concatenate([[0], np.cumsum(sizes)]),
            first.n_pool,
        )
        return cls(samples, np.concatenate([bags.shares for bags in parts]))

    def take(self, numbers: Rows) -> Bags:
        """Bags with these numbers."""
        return Bags(self.samples[numbers], self.shares[numbers])


class BagSource(Protocol):
    """Source of training bags."""

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Bags:
        """Draw ``n`` bags of ``size`` items."""


@dataclass(frozen=True, eq=False)
class LabelledBags:
    """Bags of labelled items, with shares drawn uniformly from the simplex."""

    rows: Rows
    codes: Ints
    n_classes: int
    n_pool: int

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Bags:
        """Draw bags; counts are rounded by largest remainder."""
        protocol = UPP(n, size, random_state=rng)
        samples = protocol.draw(self.codes, classes=np.arange(self.n_classes))
        assert samples.prevalence is not None
        rows = self.rows[samples.indices].astype(index_dtype(self.n_pool))
        return Bags(Samples.unchecked(rows, samples.offsets, self.n_pool), samples.prevalence)


@dataclass(frozen=True, eq=False)
class KnownBags:
    """Given bags: as they are, or mixtures of two of them."""

    bags: Bags
    codes: Ints | None = None
    mixtures: bool = False

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Bags:
        """Draw bags. A bag of another size loses items or has some of them twice."""
        samples, shares = self.bags.samples, self.bags.shares
        rows = np.empty((n, size), samples.indices.dtype)
        weights_of_bags = np.empty((n, shares.shape[1]))
        firsts = _in_turns(len(samples), n, rng)
        partners = rng.integers(len(samples), size=n)
        for place, (one, second) in enumerate(
            zip(firsts.tolist(), partners.tolist(), strict=True)
        ):
            items, weights = samples[one], shares[one]
            if self.mixtures:
                partner = samples[second]
                n_both = len(items) + len(partner)
                weights = (len(items) * weights + len(partner) * shares[second]) / n_both
                items = np.concatenate([items, partner])
            if self.mixtures or len(items) != size:
                items = _resized(items, size, rng)
            rows[place], weights_of_bags[place] = items, weights
        mixed_samples = Samples.unchecked(rows.ravel(), np.arange(n + 1) * size, samples.n_pool)
        if self.codes is not None:
            weights_of_bags = mixed_samples.prevalence_of(self.codes, shares.shape[1])
        return Bags(mixed_samples, weights_of_bags)


def _in_turns(n_bags: int, n: int, rng: np.random.Generator) -> Rows:
    """Numbers of ``n`` bags, each as often as the others, in random order."""
    turns = -(-n // n_bags)
    return np.concatenate([rng.permutation(n_bags) for _ in range(turns)])[:n]


def _resized(
    items: NDArray[np.integer], size: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    repeats, remainder = divmod(size, len(items))
    return np.concatenate([*[items] * repeats, rng.permutation(items)[:remainder]])


@dataclass(frozen=True, eq=False)
class Mix:
    """Bags of several sources."""

    sources: Sequence[BagSource]
    parts: Sequence[float]

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Bags:
        """Draw bags from all sources, in random order."""
        ends = np.rint(np.cumsum([0.0, *self.parts]) / sum(self.parts) * n).astype(int)
        bags = [
            source.draw(number, size, rng)
            for source, number in zip(self.sources, np.diff(ends).tolist(), strict=True)
            if number
        ]
        return Bags.concatenate(bags).take(rng.permutation(n))


def split_by_class(codes: Ints, n_classes: int, part: float, seed: int) -> tuple[Rows, Rows]:
    """Split items at random into two parts, both with items of every class."""
    rng = np.random.default_rng(seed)
    training, held = [], []
    for k in range(n_classes):
        rows = rng.permutation(np.flatnonzero(codes == k))
        n_held = min(max(1, round(part * len(rows))), max(1, len(rows) - 1))
        held.append(rows[:n_held])
        training.append(rows[n_held:] if len(rows) > 1 else rows)
    return np.sort(np.concatenate(training)), np.sort(np.concatenate(held))


Floats32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ItemInputs:
    """Features as numbers of similar size, reduced to principal directions if they are many."""

    header: Header
    directions: Floats | None
    centre: Floats
    scale: Floats

    @classmethod
    def learn(cls, X: Any, most: int, seed: int) -> ItemInputs:
        """Learn from items."""
        features = Features.of(X)
        table, directions = _numbers(features), None
        if table.shape[1] > most:
            # Sparse tables are not centred, which would fill them.
            centred = table if sparse.issparse(table) else table - table.mean(axis=0)
            rank = min(most, *table.shape)
            components = randomized_svd(centred, rank, random_state=seed % 2**32)[2]
            directions = np.ascontiguousarray(components.T)
            table = np.asarray(table @ directions)
        elif sparse.issparse(table):
            table = table.toarray()
        scale = table.std(axis=0)
        if directions is not None:
            # Directions that hardly vary stay small.
            scale = np.full_like(scale, np.sqrt((scale**2).mean()))
        scale[scale == 0] = 1
        return cls(features.header, directions, table.mean(axis=0), scale)

    @property
    def width(self) -> int:
        """Number of inputs per item."""
        return len(self.centre)

    def apply(self, X: Any) -> Floats32:
        """Inputs of items, one row per item."""
        features = Features.of(X)
        self.header.check(features.header)
        table: Any = _numbers(features)
        if self.directions is not None:
            table = np.asarray(table @ self.directions)
        elif sparse.issparse(table):
            table = table.toarray()
        return ((table - self.centre) / self.scale).astype(np.float32)


def _numbers(features: Features) -> Any:
    """The table as a matrix of numbers; a sparse one stays sparse."""
    if features.is_sparse:
        return features.table.astype(np.float64)
    return features.numbers()


@dataclass(frozen=True, eq=False)
class ClassifierInputs:
    """Posteriors of a classifier, and estimates by methods that use them."""

    scorer: Scorer
    methods: Sequence[Quantifier]

    @classmethod
    def learn(
        cls, scorer: Scorer, methods: Sequence[Quantifier], X: Any, codes: Ints, rows: Ints
    ) -> tuple[ClassifierInputs, Floats]:
        """Train the classifier on some rows; score them out-of-fold, and the others."""
        labels = codes[rows]
        scorer = scorer.fit(take_rows(X, rows), labels)
        fitted = [method.fit(Scored(scorer.posteriors_), labels) for method in methods]
        posteriors = np.empty((count_rows(X), len(scorer.classes_)))
        posteriors[rows] = scorer.posteriors_
        unscored = np.setdiff1d(np.arange(len(posteriors)), rows)
        if len(unscored):
            posteriors[unscored] = scorer.posteriors(take_rows(X, unscored))
        return cls(scorer, fitted), posteriors

    def posteriors(self, X: Any) -> Floats:
        """Posteriors of new items."""
        return self.scorer.posteriors(X)


@dataclass(frozen=True, eq=False)
class Pool:
    """Items as a network takes them."""

    inputs: Floats32
    posteriors: Floats | None
    methods: Sequence[Quantifier]
    n_classes: int

    @classmethod
    def of(
        cls,
        values: Floats32,
        posteriors: Floats | None,
        classifier: ClassifierInputs | None,
        n_classes: int,
    ) -> Pool:
        """Join features and posteriors."""
        if classifier is None or posteriors is None:
            return cls(values, None, (), n_classes)
        inputs = np.hstack([values, posteriors.astype(np.float32)])
        return cls(inputs, posteriors, classifier.methods, n_classes)

    def estimates(self, samples: Samples) -> Floats:
        """Estimates by the methods, of shape (samples, methods, classes)."""
        if self.posteriors is None or not self.methods:
            return np.empty((len(samples), 0, self.n_classes))
        scored = Scored(self.posteriors)
        return np.stack(
            [method.predict_many(scored, samples) for method in self.methods], axis=1
        )
