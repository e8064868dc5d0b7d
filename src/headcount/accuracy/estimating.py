"""How sure an estimate is: the method is tried where the truth is known.

The estimates of replicates are compared with the truth of these replicates, and the spread
of the errors makes the interval. A replicate is a sample, and a reference, drawn anew in a
world in which the assumption of the method holds:

- prior shift: items of the reference, in the shares of classes that were estimated;
- no shift: items of the reference, in its own shares;
- covariate shift: the items of the sample, with labels drawn from their posteriors;
- for methods that tell neither shares nor posteriors: the sample itself, with the chance
  that labels have in a table of that accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count, check_fraction
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.shares import among
from headcount.accuracy.tables import METRICS, TableMetric
from headcount.diagnose import FitTest, MixtureTest
from headcount.diagnose.diagnostics import BROKEN_LEVEL, FEW_ITEMS
from headcount.diagnose.fit_test import said
from headcount.errors import HeadcountError
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.uncertainty.drawing import ClassDraws, drawn_again, training_weights
from headcount.uncertainty.replicates import Target

if TYPE_CHECKING:
    from headcount.accuracy.base import Model, Predictor

__all__ = ["estimate_samples"]

Floats = NDArray[np.float64]

_OPTIONS = ("target", "level", "replicates", "reference_replicates")
# Items drawn at a time, and those that all replicates of a sample have together.
_BATCH_ITEMS = 1 << 22
_MOST_ITEMS = 50_000_000
_FEWEST = 200
# Errors that differ by no more than rounding.
_NEVER_OFF = 1e-9


def estimate_samples(
    predictor: Predictor,
    pool: Judged,
    samples: Samples,
    metric: TableMetric,
    random_state: Any,
    options: dict[str, Any],
) -> list[AccuracyEstimate]:
    """An estimate for each sample of a pool."""
    for name in options:
        if name not in _OPTIONS:
            raise HeadcountError(
                f"estimate has no option {name!r}: there are random_state, "
                f"{', '.join(_OPTIONS)}."
            )
    target: Target = check_choice(  # type: ignore[assignment]
        "target", options.get("target", "realised"), ("realised", "expected")
    )
    level = check_fraction("level", options.get("level", 0.95))
    n = check_count("replicates", options.get("replicates", 1000), 2)
    n = min(n, max(_FEWEST, _MOST_ITEMS // int(samples.sizes.max())))
    n_reference = check_count(
        "reference_replicates", options.get("reference_replicates", 200), 0
    )
    world = _World(
        predictor,
        pool,
        samples,
        metric,
        target,
        np.random.default_rng(base_seeds(random_state, 1)[0]),
    )
    errors = world.errors(n, n_reference)
    tests = _fit_tests(predictor, pool, samples)
    said_of_all = _left_out(predictor, n_reference)
    return [
        AccuracyEstimate(
            type(predictor).__name__,
            metric,
            float(world.values[i]),
            int(samples.sizes[i]),
            target,
            level,
            errors[i],
            predictor.classes_,
            None if world.tables is None else world.tables[i],
            tests[i],
            (*said_of_all, *_doubts(tests[i], int(samples.sizes[i]), errors[i])),
        )
        for i in range(len(samples))
    ]


class _World:
    """Samples and references drawn anew, in which the truth is known."""

    def __init__(
        self,
        predictor: Predictor,
        pool: Judged,
        samples: Samples,
        metric: TableMetric,
        target: Target,
        rng: np.random.Generator,
    ) -> None:
        self.predictor, self.pool, self.samples = predictor, pool, samples
        self.metric, self.target, self.rng = metric, target, rng
        self.reference: Reference = predictor.reference_
        model: Any = predictor.model_
        self.tables: Floats | None = None
        if predictor._why_no_table():
            self.values = model.values(pool, samples, metric)
        else:
            self.tables = model.tables(pool, samples)
            self.values = metric(self.tables)

    def errors(self, n: int, n_reference: int) -> Floats:
        """Estimate less truth in `n` replicates of each sample, (S, n)."""
        shift = self.predictor._shift()
        if self.tables is not None and shift == "prior":
            return self._from_reference(self.tables.sum(axis=2), n, n_reference)
        if shift == "none":
            shares = np.tile(self.reference.prior, (len(self.samples), 1))
            return self._from_reference(shares, n, n_reference)
        if hasattr(self.predictor.model_, "posteriors"):
            return self._labels_drawn(n, n_reference)
        return self._by_chance(n, n_reference)

    def _from_reference(self, shares: Floats, n: int, n_reference: int) -> Floats:
        reference, K, rng = self.reference, self.reference.n_classes, self.rng
        shares = shares[:, reference.present]
        shares = shares / shares.sum(axis=1, keepdims=True)
        draws = ClassDraws.of(self._strata())
        due = self.metric(_expected_tables(shares, reference))
        sizes, parts = self.samples.sizes, []
        for model, items, count in self._models(None, n, n_reference):
            wanted, each = np.repeat(shares, count, axis=0), np.repeat(sizes, count)
            if self.target == "expected":
                wanted = rng.multinomial(each, wanted) / each[:, None]
            drawn = draws.samples(wanted, each, rng)
            truth = np.repeat(due, count)
            if self.target == "realised":
                cells = drawn.prevalence_of(reference.cells, K * K)
                truth = self.metric(cells.reshape(-1, K, K))
            off = model.values(items, drawn, self.metric) - truth
            parts.append(off.reshape(len(sizes), count))
        return np.concatenate(parts, axis=1)

    def _labels_drawn(self, n: int, n_reference: int) -> Floats:
        model: Any = self.predictor.model_
        posteriors, parts = model.posteriors(self.pool), []
        for model, _, count in self._models(self.pool, n, n_reference):
            if self.target == "expected":
                drawn = drawn_again(self.samples, count, self.rng)
                found = model.values(self.pool, drawn, self.metric)
                parts.append(found.reshape(-1, count) - self.values[:, None])
                continue
            found = model.values(self.pool, self.samples, self.metric)
            truth = [
                self._labelled(posteriors[rows], self.pool.labels[rows], count)
                for rows in self.samples
            ]
            parts.append(found[:, None] - np.stack(truth))
        return np.concatenate(parts, axis=1)

    def _labelled(self, posteriors: Floats, labels: NDArray[np.int64], count: int) -> Floats:
        """The measure for labels drawn from the posteriors of items, so many times."""
        K = posteriors.shape[1]
        edges = np.cumsum(posteriors, axis=1)[:, :-1]
        found = np.empty((count, K, K))
        for number in range(count):
            codes = (self.rng.random(len(labels))[:, None] >= edges).sum(axis=1)
            cells = np.bincount(codes * K + labels, minlength=K * K)
            found[number] = cells.reshape(K, K) / len(labels)
        return self.metric(found)

    def _by_chance(self, n: int, n_reference: int) -> Floats:
        sizes, parts = self.samples.sizes, []
        likely = self._likely_tables()
        for model, _, count in self._models(self.pool, n, n_reference):
            again = self.target == "expected" and self.predictor.info.needs == "scores"
            if again:
                drawn = drawn_again(self.samples, count, self.rng)
                found = model.values(self.pool, drawn, self.metric).reshape(-1, count)
                parts.append(found - self.values[:, None])
                continue
            found = model.values(self.pool, self.samples, self.metric)[:, None]
            counts = self.rng.multinomial(
                np.repeat(sizes, count),
                np.repeat(likely.reshape(len(sizes), -1), count, axis=0),
            )
            tables = (counts / np.repeat(sizes, count)[:, None]).reshape(-1, *likely.shape[1:])
            noise = self.metric(tables).reshape(-1, count) - self.metric(likely)[:, None]
            parts.append(found - self.values[:, None] - noise)
        return np.concatenate(parts, axis=1)

    def _likely_tables(self) -> Floats:
        """Tables of the estimates, or those of the reference brought to their accuracy."""
        if self.tables is not None:
            return self.tables
        model: Any = self.predictor.model_
        right = model.values(self.pool, self.samples, METRICS["accuracy"])[:, None, None]
        K, table = self.reference.n_classes, self.reference.table
        hits, misses = table * np.eye(K), table * (1 - np.eye(K))
        hits = hits / hits.sum() if hits.sum() else np.eye(K) / K
        misses = misses / misses.sum() if misses.sum() else (1 - np.eye(K)) / (K * K - K)
        return np.asarray(right * hits + (1 - right) * misses)

    def _models(
        self, pool: Judged | None, n: int, n_reference: int
    ) -> Iterator[tuple[Model, Judged, int]]:
        """Models, the items to ask about, and how many replicates each is to serve for."""
        per_round = int(self.samples.sizes.sum())
        items = self.reference.judged if pool is None else pool
        if not n_reference or not self.predictor._relearns():
            if pool is None and self.predictor._relearns():
                weights = np.ones((1, len(self.reference)))
                for model, same in self.predictor._refits(weights, pool):
                    for count in _portions(n, per_round):
                        yield model, same, count
                return
            for count in _portions(n, per_round):
                yield self.predictor.model_, items, count
            return
        n_reference = self.predictor._affordable(min(n, n_reference), len(items))
        by_class = self.predictor._shift() == "prior"
        weights = training_weights(self._strata(), n_reference, self.rng, by_class=by_class)
        share, extra = divmod(n, n_reference)
        for number, (model, same) in enumerate(self.predictor._refits(weights, pool)):
            for count in _portions(share + (number < extra), per_round):
                yield model, same, count

    def _strata(self) -> Training:
        """The reference by the classes it has."""
        reference = self.reference
        codes = np.searchsorted(reference.present, reference.codes)
        return Training(None, codes, len(reference.present), reference.weights)


def _expected_tables(shares: Floats, reference: Reference) -> Floats:
    """Tables of samples with these shares of the classes that the reference has."""
    K = reference.n_classes
    tables = np.zeros((len(shares), K, K))
    tables[:, reference.present] = shares[:, :, None] * reference.rates[reference.present]
    return tables


def _portions(n: int, items: int) -> Iterator[int]:
    """Parts of `n` replicates with this many items each that fit into memory."""
    most = max(1, _BATCH_ITEMS // items)
    for done in range(0, n, most):
        yield min(most, n - done)


def _fit_tests(predictor: Predictor, pool: Judged, samples: Samples) -> list[FitTest | None]:
    """A test of prior shift for each sample, of the methods that assume it."""
    reference = predictor.reference_
    present = reference.present
    if predictor._shift() != "prior" or len(present) < 2:
        return [None] * len(samples)
    codes = np.searchsorted(present, reference.codes)
    known = among(reference.judged.posteriors, present)
    mixture = MixtureTest.of_posteriors(Training(known, codes, len(present)))
    return list(mixture.test(among(pool.posteriors, present), samples))


def _doubts(test: FitTest | None, n: int, errors: Floats) -> list[str]:
    """What a person ought to know before trusting an estimate, a sentence each."""
    found = []
    if test is not None and test.p_value < BROKEN_LEVEL:
        found.append(
            f"The sample does not look like a mixture of the classes of the reference "
            f"({said(test)}), so that an accuracy estimated under prior shift may be far off: "
            "label a few of its items; if only the inputs have changed and not what they mean "
            "(pure covariate shift), CBPE remains sensible."
        )
    if n < FEW_ITEMS:
        found.append(
            f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}: what is "
            "said of it is little more than a guess; add items."
        )
    if np.ptp(errors) < _NEVER_OFF:
        found.append(
            "In samples made of labelled items the method was never off, as where the model "
            "errs on none of them: the interval does not tell how rare errors are; label more "
            "items."
        )
    return found


def _left_out(predictor: Predictor, n_reference: int) -> list[str]:
    """What the intervals do not cover."""
    found = []
    if predictor._shift() == "none":
        found.append(
            "this method does not correct for a shift since the reference: its bias is not in "
            "the interval."
        )
    if predictor._shift() == "covariate":
        found.append(
            "this method is right if only the inputs have changed, and not what they mean: its "
            "bias under any other shift is not in the interval."
        )
    if predictor.info.gives != "table":
        found.append(
            "this method is a rule of thumb: the interval is for the chance in the labelled "
            "items and the labels, not for what the rule is wrong by."
        )
    if not predictor._relearns():
        found.append(
            "what the method learnt cannot be drawn anew: the noise of the reference is not in "
            "the interval."
        )
    elif not n_reference:
        found.append(
            "reference_replicates is 0: the noise of the reference is not in the interval."
        )
    return found
