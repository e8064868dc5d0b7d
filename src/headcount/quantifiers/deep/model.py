"""Networks as plain values, from which PyTorch modules are built, and the bags they learn from.

A network has three parts: an item network, applied to each item; a layer that does not depend
on the order of the items, from the items of a bag to one vector; and a head, from that vector
to shares. Layers declare by ``is_mean`` whether that vector is a mean over the items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.parameters import check_positive
from headcount.errors import HeadcountError, MissingPackageError
from headcount.items.arrays import Scored, count_rows, take_rows
from headcount.parts.aggregation import Aggregation, Model
from headcount.parts.solvers import Solution
from headcount.parts.training import Features, Header, Training
from headcount.quantifiers.base import Quantifier
from headcount.samples.protocols import UPP
from headcount.samples.samples import Samples, index_dtype
from headcount.scores.scorer import Scorer

Rows = Ints
Floats32 = NDArray[np.float32]


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


BagSource: TypeAlias = LabelledBags | KnownBags | Mix
"""Source of training bags."""


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


@dataclass(frozen=True)
class Votes:
    """Histograms of learnt features."""

    hidden: tuple[int, ...]
    features: int
    bins: int
    kind: str

    is_mean: ClassVar[bool] = True


@dataclass(frozen=True)
class LearntDensities:
    """Mean densities under Gaussians in several learnt spaces."""

    branches: int
    gaussians: int
    dimensions: int
    hidden: int

    is_mean: ClassVar[bool] = True


@dataclass(frozen=True)
class Pooling:
    """Mean, median or maximum of learnt features."""

    hidden: tuple[int, ...]
    kind: str

    @property
    def is_mean(self) -> bool:
        """True if the vector of a bag is a mean over its items."""
        return self.kind == "mean"


@dataclass(frozen=True)
class Attention:
    """Set Transformer: attention to inducing points, then to one seed per class."""

    width: int
    heads: int
    inducing: int
    blocks: int

    is_mean: ClassVar[bool] = False


@dataclass(frozen=True)
class Recurrent:
    """Last states of a bidirectional LSTM over the items, sorted by a posterior."""

    units: int

    is_mean: ClassVar[bool] = False


InvariantLayer: TypeAlias = Votes | LearntDensities | Pooling | Attention | Recurrent


@dataclass(frozen=True)
class Architecture:
    """A network."""

    layer: InvariantLayer
    head: tuple[int, ...]
    dropout: float
    residual: bool = True


_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
# First and last loss in training.
LOSSES = {
    "ae": ("ae", "ae"),
    "rae": ("rae", "rae"),
    "ae-rae": ("ae", "rae"),
    "mse": ("mse", "mse"),
    "nmd": ("nmd", "nmd"),
}


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of training."""

    name: str
    losses: tuple[str, str]
    size: int
    epochs: int
    budget: float | None
    patience: int | None
    learning_rate: float
    device: str
    mixes: bool = False
    alignment: float = 0.0


def check_budget(budget: Any) -> float | None:
    """Budget in seconds."""
    if budget is None:
        return None
    if isinstance(budget, str):
        matched = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", budget)
        if matched is None or matched[2] not in _UNITS or float(matched[1]) == 0:
            raise HeadcountError(
                f"budget is {budget!r}; it must be a time such as '90s', '10min' or '1h', or a "
                "number of seconds."
            )
        return float(matched[1]) * _UNITS[matched[2]]
    return check_positive("budget", budget)


def check_device(device: Any, name: str) -> str:
    """Device that is there; PyTorch must be installed."""
    if find_spec("torch") is None:
        raise MissingPackageError(
            f"{name} needs PyTorch, which is not installed: install it by "
            "pip install 'headcount[deep]'."
        )
    import torch

    try:
        torch.zeros(1, device=device if isinstance(device, str) else "none")
    except (RuntimeError, AssertionError, NotImplementedError):
        raise HeadcountError(
            f"device is {device!r}, which PyTorch cannot use here: pass 'cpu', or 'cuda' where "
            "PyTorch finds a graphics card."
        ) from None
    return str(device)


# Parts of labelled items, and of known bags, that training is validated on.
_HELD_ITEMS, _HELD_BAGS = 0.2, 0.25
_VALIDATION_BAGS = 200
# Name of the validation losses among the arrays of a network.
_LOSSES = "validation_losses"


@dataclass(frozen=True, eq=False)
class FittedNetwork(Model):
    """A trained network: plain arrays, from which the PyTorch module is built when needed."""

    architecture: Architecture
    weights: dict[str, Floats32]
    inputs: ItemInputs
    classifier: ClassifierInputs | None
    n_classes: int
    device: str
    losses: tuple[float, ...]
    held_out: Training | None

    def arrays(self) -> dict[str, Array]:
        """Weights and validation losses."""
        return {**self.weights, _LOSSES: np.array(self.losses)}

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        from headcount.quantifiers.deep.networks import answers, computing, rebuild

        posteriors = None if self.classifier is None else self.classifier.posteriors(items)
        pool = Pool.of(self.inputs.apply(items), posteriors, self.classifier, self.n_classes)
        with computing():
            network = rebuild(
                self.architecture,
                pool.inputs.shape[1],
                self.n_classes,
                len(pool.methods),
                self.weights,
            )
            estimates = pool.estimates(samples)
            shares = answers(network.to(self.device), pool.inputs, samples, estimates)
        return Solution.closed_form(shares)


@dataclass(frozen=True, eq=False)
class BagTraining:
    """Bags with known shares."""

    items: Any
    samples: Samples
    shares: Floats
    codes: Ints | None


@dataclass(frozen=True, eq=False)
class NetworkTraining(Aggregation):
    """Training of a network."""

    architecture: Architecture
    settings: TrainingSettings
    n_components: int
    scorer: Scorer | None
    methods: Sequence[Quantifier]
    seed: int
    fitted: FittedNetwork | None = None

    def fit(self, training: Training) -> NetworkTraining:
        """Train on bags of labelled items."""
        return self.fit_bags(training, None)

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        assert self.fitted is not None
        return self.fitted.solve(items, samples)

    def fit_bags(self, labelled: Training | None, bags: BagTraining | None) -> NetworkTraining:
        """Train on labelled items, known bags, or both."""
        if labelled is not None and labelled.weights is not None:
            raise HeadcountError(
                f"sample_weight was given, but {self.settings.name} takes none: repeat items, "
                "or use another method."
            )
        from headcount.quantifiers.deep.networks import build, computing, train, weights_of

        split = _ValidationSplit.of(labelled, bags, self.seed)
        inputs, classifier, pool = self._pool(split)
        # Known bags are few. Their vectors can be mixed if these are means over items, but
        # estimates of a mixture would have to be computed from its items.
        mixes = bags is not None and self.architecture.layer.is_mean and not self.methods
        size = split.bag_size(self.settings.size)
        settings = replace(self.settings, size=size, mixes=mixes)
        with computing(self.seed):
            network = build(
                self.architecture, pool.inputs.shape[1], split.n_classes, len(pool.methods)
            )
            validation = split.validation(settings.size)
            source = split.source(mixtures=not mixes)
            losses = train(network, pool, source, validation, settings, self.seed)
            weights = weights_of(network)
        return self._with(weights, losses, split, inputs, classifier)

    def restore(self, labelled: Training, arrays: dict[str, Array]) -> NetworkTraining:
        """Repeat the fit on labelled items with weights that are known."""
        from headcount.quantifiers.deep.networks import rebuild

        weights = {name: value for name, value in arrays.items() if name != _LOSSES}
        if not all(np.isfinite(value).all() for value in weights.values()):
            raise HeadcountError("The weights of the network are not numbers: train it again.")
        split = _ValidationSplit.of(labelled, None, self.seed)
        inputs, classifier, pool = self._pool(split)
        # Names and shapes are checked.
        rebuild(
            self.architecture, pool.inputs.shape[1], split.n_classes, len(pool.methods), weights
        )
        return self._with(weights, arrays[_LOSSES].tolist(), split, inputs, classifier)

    def _with(
        self,
        weights: dict[str, Floats32],
        losses: Sequence[float],
        split: _ValidationSplit,
        inputs: ItemInputs,
        classifier: ClassifierInputs | None,
    ) -> NetworkTraining:
        fitted = FittedNetwork(
            self.architecture,
            weights,
            inputs,
            classifier,
            split.n_classes,
            self.settings.device,
            tuple(losses),
            split.held_out(),
        )
        return replace(self, fitted=fitted)

    def _pool(
        self, split: _ValidationSplit
    ) -> tuple[ItemInputs, ClassifierInputs | None, Pool]:
        """All items as the network takes them."""
        tables = split.tables
        inputs = ItemInputs.learn(tables[-1], self.n_components, self.seed)
        values = np.concatenate([inputs.apply(table) for table in tables])
        if self.scorer is None:
            return inputs, None, Pool.of(values, None, None, split.n_classes)
        codes, rows = split.classified(self.settings.name)
        classifier, posteriors = ClassifierInputs.learn(
            self.scorer, self.methods, tables[0], codes, rows
        )
        of_others = [classifier.posteriors(table) for table in tables[1:]]
        posteriors = np.concatenate([posteriors, *of_others])
        return inputs, classifier, Pool.of(values, posteriors, classifier, split.n_classes)


@dataclass(frozen=True, eq=False)
class _ValidationSplit:
    """Items and bags in two parts: for training, and for validation."""

    labelled: Training | None
    known: BagTraining | None
    rows: tuple[Ints, Ints] | None
    bags: tuple[Bags, Bags] | None
    seed: int

    @classmethod
    def of(
        cls, labelled: Training | None, known: BagTraining | None, seed: int
    ) -> _ValidationSplit:
        rows = bags = None
        if labelled is not None:
            rows = split_by_class(labelled.codes, labelled.n_classes, _HELD_ITEMS, seed)
        if known is not None:
            before = 0 if labelled is None else len(labelled.codes)
            bag_samples = known.samples
            moved = Samples.unchecked(
                bag_samples.indices.astype(np.int64) + before,
                bag_samples.offsets,
                before + bag_samples.n_pool,
            )
            order = np.random.default_rng(seed).permutation(len(bag_samples))
            n_held = max(1, round(_HELD_BAGS * len(bag_samples)))
            every = Bags(moved, known.shares)
            bags = every.take(np.sort(order[n_held:])), every.take(np.sort(order[:n_held]))
        return cls(labelled, known, rows, bags, seed)

    @property
    def tables(self) -> list[Any]:
        """Tables of all items."""
        sources = (self.labelled, self.known)
        return [source.items for source in sources if source is not None]

    @property
    def n_classes(self) -> int:
        if self.known is not None:
            return self.known.shares.shape[1]
        assert self.labelled is not None
        return self.labelled.n_classes

    def bag_size(self, otherwise: int) -> int:
        """Number of items in a training bag: the median of known bags."""
        return otherwise if self.known is None else int(np.median(self.known.samples.sizes))

    def source(self, mixtures: bool) -> BagSource:
        """Training bags: half of labelled items, half known ones or mixtures of their items."""
        items = [] if self.rows is None else [self._items(0)]
        if self.bags is None:
            return items[0]
        codes = self._bag_codes()
        kinds = (False, True) if mixtures else (False,)
        known_bags = [KnownBags(self.bags[0], codes, mixed) for mixed in kinds]
        return Mix(
            [*items, *known_bags], [len(known_bags)] * len(items) + [1] * len(known_bags)
        )

    def validation(self, size: int) -> Bags:
        """Validation bags: known ones if there are any."""
        if self.bags is not None:
            return self.bags[1]
        rng = np.random.default_rng(self.seed)
        return self._items(1).draw(_VALIDATION_BAGS, size, rng)

    def classified(self, name: str) -> tuple[Ints, Ints]:
        """Classes of the first table, and the rows that a classifier is trained on."""
        if self.labelled is not None and self.rows is not None:
            return self.labelled.codes, self.rows[0]
        assert self.known is not None
        assert self.bags is not None
        if self.known.codes is None:
            raise HeadcountError(
                f"{name} trains a classifier, which needs labelled items, but only the shares "
                "of bags were given: pass y, or labelled=(X, y)."
            )
        return self.known.codes, np.unique(self.bags[0].samples.indices).astype(np.int64)

    def held_out(self) -> Training | None:
        """Labelled items that were not trained on."""
        if self.labelled is not None and self.rows is not None:
            items, codes, rows = self.labelled.items, self.labelled.codes, self.rows[1]
        else:
            assert self.known is not None
            assert self.bags is not None
            if self.known.codes is None:
                return None
            items, codes = self.known.items, self.known.codes
            rows = np.unique(self.bags[1].samples.indices).astype(np.int64)
            # Classes that validation bags do not have.
            absent = np.setdiff1d(np.arange(self.n_classes), codes[rows])
            rows = np.union1d(rows, np.flatnonzero(np.isin(codes, absent)))
        return Training(take_rows(items, rows), codes[rows], self.n_classes)

    def _items(self, part: int) -> LabelledBags:
        assert self.labelled is not None
        assert self.rows is not None
        rows = self.rows[part]
        n_pool = sum(count_rows(table) for table in self.tables)
        return LabelledBags(rows, self.labelled.codes[rows], self.n_classes, n_pool)

    def _bag_codes(self) -> Ints | None:
        assert self.known is not None
        if self.known.codes is None:
            return None
        before = [] if self.labelled is None else [self.labelled.codes]
        return np.concatenate([*before, self.known.codes])
