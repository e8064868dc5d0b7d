"""Shares given an answer: samples simulated with known shares, and conditioning on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.spatial import KDTree

from headcount._kernels.draws import draw_resampled
from headcount._support.arrays import Bools, Floats, Ints, divided_by_sums
from headcount._support.execution import each_range
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.estimates.actions import NEAR, action
from headcount.items.arrays import take_rows
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from headcount.samples.samples import Samples, sort_by_code
from headcount.scores.calibration import fit_calibrator


@dataclass(frozen=True, eq=False)
class Prior:
    """Shares that are thought possible before the items of a sample are looked at.

    By default, some classes are absent from half of the draws: each with a probability that
    differs from draw to draw. With `all_present` they are not. A quarter of the draws are
    around the training shares: the parameters of their Dirichlet distributions sum to 10 at
    least, and to `largest_sum` at most.

    >>> import numpy as np
    >>> shares = np.array([0.2, 0.8])
    >>> Prior(np.array([400.0, 600.0])).draw(2, shares, np.random.default_rng(0)).round(1)
    array([[0.4, 0.6],
           [0.4, 0.6]])
    """

    concentration: Floats | None = None
    draws: Floats | None = None
    all_present: bool = False
    largest_sum: float = 300.0

    def draw(self, n: int, training_shares: Floats, rng: np.random.Generator) -> Floats:
        """Draw `n` vectors of shares, as an array of shape (n, K)."""
        if self.draws is not None:
            return self.draws[rng.integers(len(self.draws), size=n)]
        if self.concentration is not None:
            return rng.dirichlet(self.concentration, n)
        K = len(training_shares)
        draws = [
            rng.dirichlet(np.ones(K), n - n // 4 - n // 4),
            rng.dirichlet(np.full(K, 0.3), n // 4),
            _near(training_shares, n // 4, self.largest_sum, rng),
        ]
        shares = rng.permutation(np.concatenate(draws))
        return shares if self.all_present else without_some_classes(shares, rng)


_LEAST_SUM = 10.0


def _near(
    training_shares: Floats, n: int, largest_sum: float, rng: np.random.Generator
) -> Floats:
    """Shares around those of training, some near them and some not."""
    sums = np.exp(rng.uniform(np.log(_LEAST_SUM), np.log(largest_sum), (n, 1)))
    return divided_by_sums(rng.standard_gamma(sums * training_shares + 0.05))


# Largest probability that a class is absent from a draw.
_MOST_ABSENT = 0.8


def without_some_classes(shares: Floats, rng: np.random.Generator) -> Floats:
    """Shares of which the first half lack classes, each with a probability that varies."""
    half: Floats = shares[: len(shares) // 2]
    probability = rng.uniform(0, _MOST_ABSENT, (len(half), 1))
    present = rng.random(half.shape) >= probability
    # The largest class is there if no other is.
    alone = ~(present & (half > 0)).any(axis=1)
    present[alone, half[alone].argmax(axis=1)] = True
    fewer = half * present
    fewer = fewer / fewer.sum(axis=1, keepdims=True)
    return np.concatenate([fewer, shares[len(half) :]])


def check_prior(prior: Any, n_classes: int) -> Prior:
    """Check a user's prior: None, parameters of a Dirichlet distribution, or draws."""
    if prior is None:
        return Prior()
    if isinstance(prior, Prior):
        return prior
    try:
        numbers = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim <= 1 and numbers.shape in ((), (n_classes,)):
        if np.isfinite(numbers).all() and (numbers > 0).all():
            return Prior(concentration=np.broadcast_to(numbers, n_classes).copy())
    elif numbers.ndim == 2 and numbers.shape[1] == n_classes and len(numbers):
        sums = numbers.sum(axis=1)
        if (numbers >= 0).all() and (np.abs(sums - 1) < 1e-6).all():
            return Prior(draws=numbers / sums[:, None])
    raise HeadcountError(
        f"prior is {prior!r}; it must be None, a positive number or {n_classes} of them (the "
        f"parameters of a Dirichlet distribution), or an array with rows of {n_classes} shares "
        "that sum to 1."
    )


Rows = Ints

# Copies of each item: the fewest, the most, and the rows that more than the fewest have.
_FEWEST_COPIES, _MOST_COPIES, _MOST_ROWS = 2, 8, 10_000
_MOST_SMOOTHED = 10_000
# Growth of the variance of a class, at most.
_MOST_GROWTH = 0.05
_SMALLEST_POSTERIOR, _SMALL_POSTERIOR = 1e-15, 1e-7


def smooth(training: Training, seed: int, posteriors: Any = True) -> Training:
    """Copies of labelled posteriors, each moved a little.

    A method fits its own training items better than new ones: histograms have no empty bin,
    and kernels no gap, where a training item is. Samples simulated from moved copies do not
    have that advantage (the smoothed bootstrap). A copy is moved by a difference between
    items of its class with similar scores, on the scale of log-posteriors, so that it moves
    little where items are dense, and less as the class grows.

    With many classes similar items are far apart. Moved by their differences, classes would
    overlap more than they do. Where the variance of a class would grow by more than 5%,
    copies are also drawn to similar items, which leaves the variance as it is.

    >>> import numpy as np
    >>> P = np.array([[0.6, 0.4], [0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> smoothed = smooth(Training(P, np.array([0, 0, 1, 1]), 2), seed=0)
    >>> smoothed.items.shape, smoothed.codes[:4]
    ((32, 2), array([0, 0, 1, 1]))
    """
    n, logs_of_each = len(training.codes), _logs_of_all(training.items, posteriors)
    if n > _MOST_SMOOTHED or not logs_of_each:
        return training
    copies = min(max(_MOST_ROWS // n, _FEWEST_COPIES), _MOST_COPIES)
    rows = np.tile(np.arange(n), copies)
    rng = np.random.default_rng(seed)
    pairs = _similar_pairs(np.hstack(logs_of_each), training, copies, rng)
    items: Any = _moved(training.items, posteriors, rows, pairs)
    weights = None if training.weights is None else training.weights[rows]
    return Training(items, training.codes[rows], training.n_classes, weights, rows)


def _logs_of_all(items: Any, posteriors: Any) -> list[Floats]:
    """Log-posteriors of each classifier."""
    if isinstance(items, list):
        entries = _parts(items, posteriors)
        return [logs for entry in entries for logs in _logs_of_all(*entry)]
    return [_centred_logs(items)] if posteriors else []


class _Pairs(NamedTuple):
    """Two rows for each copy, and how freely it may move: 1, or less if variance would grow."""

    first: Rows
    second: Rows
    freedom: Floats


def _moved(items: Any, posteriors: Any, rows: Rows, pairs: _Pairs) -> Any:
    """Copies of rows, moved by two others each if posteriors."""
    if isinstance(items, list):
        return [_moved(*entry, rows, pairs) for entry in _parts(items, posteriors)]
    if not posteriors:
        return take_rows(items, rows)
    logs = _centred_logs(items)
    centre, first, second = logs[rows], logs[pairs.first], logs[pairs.second]
    # As much noise as similar items have variance.
    free = centre + (first - second) / np.sqrt(2)
    # Squares of the factors sum to 1: the variance is that of similar items.
    bound = (2 * centre + 2 * first - second) / 3
    moved = bound + pairs.freedom[:, None] * (free - bound)
    odds = np.exp(moved - moved.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _parts(items: list[Any], posteriors: Any) -> Iterator[tuple[Any, Any]]:
    """Entries of a list, each with whether it holds posteriors."""
    flags = posteriors if isinstance(posteriors, list) else [posteriors] * len(items)
    return zip(items, flags, strict=True)


def _centred_logs(items: Floats) -> Floats:
    # Zeros count as the smallest posterior there is, or as a small one.
    least = np.min(items, where=items > _SMALLEST_POSTERIOR, initial=_SMALL_POSTERIOR)
    logs = np.log(np.maximum(items, least))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _similar_pairs(
    logs: Floats, training: Training, copies: int, rng: np.random.Generator
) -> _Pairs:
    """Two random rows for each copy, of its class and with similar scores.

    Every other copy has the pair of the one before in the opposite order, so that the means of
    the classes hardly move.
    """
    pairs = np.tile(np.arange(len(logs)), (2, copies, 1))
    freedom, weights = np.ones(len(logs)), training.class_weights
    for j in range(training.n_classes):
        rows = np.flatnonzero((training.codes == j) & (weights > 0))
        near = rows[_neighbours(logs[rows])]
        picks = rng.integers(near.shape[1], size=(2, copies, len(rows)))
        pairs[:, :, rows] = near[np.arange(len(rows)), picks]
        first, second = pairs[:, :, rows]
        # Half the mean square of differences is the variance of similar items.
        added = np.square(logs[first] - logs[second]).sum(axis=2).mean() / 2
        allowed = _MOST_GROWTH * logs[rows].var(axis=0).sum()
        freedom[rows] = allowed / max(added, allowed) if allowed else 0.0
    pairs[:, 1::2] = pairs[::-1, : copies - copies % 2 : 2]
    first, second = pairs.reshape(2, -1)
    return _Pairs(first, second, np.tile(freedom, copies))


def _neighbours(logs: Floats) -> Rows:
    """Nearest rows to each row: as many as the square root of their number, at least 2.

    They are in the order of a projection, which rounding does not change as it does that of
    equal distances.
    """
    near = min(max(2, int(np.ceil(np.sqrt(len(logs))))), len(logs))
    places = KDTree(logs).query(logs, near)[1].reshape(len(logs), near)
    projection = logs @ np.sqrt(np.arange(1, logs.shape[1] + 1))
    order = np.argsort(projection[places], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(places, order, axis=1), np.int64)


# Items of each class that calibrated posteriors count for: what is seen of a class is mixed
# with what the posteriors of all items say about it. Classes of few items gain by it, those
# of many hardly change. Where a class has higher posteriors on its own items than if these were
# calibrated for it, added items would blur it: their number falls with a power of the ratio.
_BELIEVED, _POWER = 20, 4


def with_believed(
    items: Training, training: Training, seed: int, posteriors: Any = True
) -> Training:
    """Items with more of them in each class, drawn by their calibrated posteriors of it.

    `items` are copies of those in `training`; the items added to a class are to its copies
    as 20 items, or fewer, are to those of the class in training.

    >>> import numpy as np
    >>> P = np.repeat([[0.9, 0.1], [0.1, 0.9]], 50, axis=0)
    >>> training = Training(P, np.repeat([0, 1], 50), 2)
    >>> enlarged = with_believed(training, training, seed=0)
    >>> np.bincount(enlarged.codes)
    array([70, 70])
    """
    scores = _first_posteriors(items.items, posteriors)
    assert scores is not None
    believed = _calibrated(scores, _first_posteriors(training.items, posteriors), training)
    masses = believed if items.weights is None else believed * items.weights[:, None]
    rng = np.random.default_rng([seed, 1])
    rows, codes = [np.arange(len(items.codes))], [items.codes]
    # Mean posteriors of a class on its own items: as calibrated ones would be, and as they are.
    expected = (masses * believed).sum(axis=0) / masses.sum(axis=0)
    of_own_items = items.class_weights * believed[rows[0], items.codes]
    on_own_items = np.bincount(items.codes, of_own_items, training.n_classes)
    agreement = expected / np.maximum(on_own_items, expected)
    growth = _BELIEVED * len(items.codes) / len(training.codes) * agreement**_POWER
    for j in range(training.n_classes):
        n_added = round(growth[j])
        if n_added == 0:
            continue
        ends = np.cumsum(masses[:, j])
        levels = (np.arange(n_added) + rng.random()) / n_added * ends[-1]
        rows.append(np.minimum(np.searchsorted(ends, levels), len(ends) - 1))
        codes.append(np.full(n_added, j))
    all_rows, labels = np.concatenate(rows), np.concatenate(codes)
    weights = None
    if items.weights is not None:
        sums = np.bincount(items.codes, items.weights, training.n_classes)
        means = sums / np.maximum(np.bincount(items.codes, minlength=training.n_classes), 1)
        weights = np.concatenate([items.weights, means[labels[len(items.codes) :]]])
    copied = None if items.copied is None else items.copied[all_rows]
    return Training(
        _rows_of(items.items, all_rows), labels, training.n_classes, weights, copied
    )


def _first_posteriors(items: Any, posteriors: Any) -> Floats | None:
    """Posteriors of the first classifier; None if there are none."""
    if not isinstance(items, list):
        return np.asarray(items) if posteriors else None
    for entry in _parts(items, posteriors):
        first = _first_posteriors(*entry)
        if first is not None:
            return first
    return None


def _calibrated(scores: Floats, of_training: Any, training: Training) -> Floats:
    with warnings.catch_warnings():
        # Users did not choose this calibration.
        warnings.simplefilter("ignore", HeadcountWarning)
        calibrator = fit_calibrator("ts", of_training, training.codes, training.weights)
    return calibrator.transform(scores)


def _rows_of(items: Any, rows: Rows) -> Any:
    if isinstance(items, list):
        return [_rows_of(entry, rows) for entry in items]
    return take_rows(items, rows)


# Sizes up to the first are simulated as they are. Larger ones are rounded to powers of the
# ratio, so that samples of many sizes share simulations, and are at most the last.
_EXACT_SIZE, _SIZE_RATIO, _LARGEST_SIZE = 20, 1.1, 20_000
# Items that one set of simulations has at most, as long as at least so many samples are left;
# fewer if there are more classes than the last number.
_MOST_ITEMS, _FEWEST_SAMPLES, _FEW_CLASSES = 20_000_000, 1000, 10
_FEWEST_ITEMS_PER_THREAD = 20_000


@dataclass(frozen=True, eq=False)
class Simulated:
    """Samples of labelled items, and their composition."""

    samples: Samples
    shares: Floats


def simulate(
    training: Training,
    size: int,
    n: int,
    prior: Prior,
    seed: int,
    counts: Ints | None = None,
    foreign: float = 0.0,
) -> Simulated:
    """Simulate samples of one size with shares drawn from a prior.

    For each sample every class is first resampled: a class of m items is replaced by m - 3 of
    them, drawn with replacement. The resampled class differs from the class in training as
    that one differs from the class in the population, so that the noise of the training set
    is part of the simulation. (The mean of m - 1 draws varies as much as that of m items, and
    that of m - 3 as Student's distribution, as the variance of the class is estimated, too.)

    >>> import numpy as np
    >>> training = Training(None, np.array([0, 0, 0, 1, 1]), 2)
    >>> simulated = simulate(training, 10, 1000, Prior(np.array([9.0, 1.0])), 0)
    >>> simulated.samples
    Samples(1,000 samples of 10 items, from a pool of 5)
    >>> simulated.shares.mean(axis=0).round(1)
    array([0.9, 0.1])
    """
    class_factor = max(training.n_classes // _FEW_CLASSES, 1)
    n = min(n, max(_FEWEST_SAMPLES, _MOST_ITEMS // (size * class_factor)))
    rng = np.random.default_rng([seed, size])
    if counts is None:
        counts = training.class_sizes
    resampled = np.maximum(counts - 3, 1)
    composition = whole_counts(prior.draw(n, training.prior, rng), size, rng)
    items, strata = sort_by_code(training.codes, training.n_classes)
    mass = np.empty(0)
    if training.weights is not None:
        mass = np.concatenate([[0.0], np.cumsum(training.class_weights[items])])
    offsets = np.arange(n + 1) * size
    indices = np.empty(n * size, items.dtype)
    seeds = rng.integers(2**64, size=n, dtype=np.uint64)

    def work(start: int, stop: int) -> None:
        # Here, as other threads do not inherit it: the kernel relies on overflow.
        with np.errstate(over="ignore"):
            draw_resampled(
                start,
                stop,
                seeds,
                composition,
                items,
                strata,
                resampled,
                foreign,
                mass,
                offsets,
                indices,
            )

    each_range(work, n, grain=1 + _FEWEST_ITEMS_PER_THREAD // size)
    samples = Samples.unchecked(indices, offsets, len(training.codes))
    return Simulated(samples, composition / size)


def whole_counts(shares: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Whole numbers next to `shares` times `size`, which they are on average; sum to `size`."""
    ends = np.floor(np.cumsum(shares, axis=1) * size + rng.random((len(shares), 1)))
    ends[:, -1] = size
    ends = np.minimum(ends, size).astype(np.int64)
    return np.ascontiguousarray(np.diff(ends, axis=1, prepend=0))


def simulated_size(size: int) -> int:
    """The size that samples of `size` items are simulated with."""
    if size <= _EXACT_SIZE:
        return size
    steps = round(np.log(size / _EXACT_SIZE) / np.log(_SIZE_RATIO))
    return min(round(_EXACT_SIZE * _SIZE_RATIO**steps), _LARGEST_SIZE)


def size_factor(counts: Ints, shares: Floats, size: int) -> float:
    """Ratio of the standard errors at `size` items and at the size that was simulated.

    ``counts`` are the numbers of training items of the classes.

    The squared error of an estimate has a part for the sample, which falls with its size,
    and a part for the training items of each class, which does not.
    """
    of_training = float((shares**2 / np.maximum(counts, 1)).sum())
    simulated = simulated_size(size)
    return float(np.sqrt((of_training + 1 / size) / (of_training + 1 / simulated)))


# Added to the variance of the answers: relative to its mean over the dimensions of the
# answer, for all simulations and for near ones; and absolute, as differences of 1e-6 between
# answers mean nothing.
_RIDGE, _LOCAL_RIDGE, _LEAST_VARIANCE = 1e-6, 1e-3, 1e-12

# Least mean square of errors at a place, relative to that of all near simulations.
_LEAST_SPREAD = 0.1

# Slopes that there may be for each effective simulation, if members are an alternative.
_MOST_SLOPES = 0.25

# A candidate counts 1/e as much as the best if its error is larger by this part, and errors of
# candidates that are not of the first member count as larger by the factor. Both were chosen on
# real tables: errors in simulated samples are themselves uncertain.
_TOLERANCE, _HANDICAP = 0.1, 1.1

# Draws with equal weights that an estimate has.
_N_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Distribution of what is unknown about a sample."""

    weighted: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        """Mean of the draws."""
        return np.asarray(self.weights @ self.weighted)

    @property
    def draws(self) -> Floats:
        """Draws with equal weights, (1000, T)."""
        edges = np.cumsum(self.weights)
        places = (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS * edges[-1]
        return self.weighted.take(np.searchsorted(edges, places), axis=0)


@dataclass(frozen=True, eq=False)
class Conditional:
    """Pairs of answers and truths of simulated samples.

    The truths are regressed on the answers, locally. If the answers are those of `members`
    that are estimates of the truths themselves, there are further candidates: the answer of
    each member, less its errors in similar simulations, and a regression on it alone. Draws
    are averages of the candidates, with weights that fall with their errors in similar
    simulations; the first member counts for more than others with equal errors. Errors of more
    than two truths are as large as at the answer (Blum & François 2010).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truths = rng.random((4000, 1))
    >>> answers = 0.3 + 0.5 * truths + rng.normal(scale=0.01, size=(4000, 1))
    >>> draws, weights = Conditional(answers, truths).given(np.array([0.6]))
    >>> float((weights @ draws)[0].round(2))
    0.6
    """

    answers: Floats
    truths: Floats
    members: int = 0

    @cached_property
    def _fitted(self) -> tuple[Floats, Floats, Floats]:
        """Centre of the answers, slopes of truth on answer, and the fitted truths, (T, B)."""
        centre = self.answers.mean(axis=0)
        away = self.answers - centre
        slopes = _slopes(away, self.truths - self.truths.mean(axis=0), None, _RIDGE)
        # One row per unknown: numpy is slow along short rows.
        return centre, slopes, np.ascontiguousarray((away @ slopes).T)

    def given(self, answer: Floats) -> tuple[Floats, Floats]:
        """Draws of the truth given an answer, and their weights."""
        nearest, weights = self.nearest(answer)
        return self.draws(answer, nearest, weights), weights

    def nearest(self, answer: Floats) -> tuple[Ints, Floats]:
        """Simulations with similar answers, and their weights."""
        centre, slopes, fitted = self._fitted
        gaps = ((fitted - ((answer - centre) @ slopes)[:, None]) ** 2).sum(axis=0)
        near = min(int(NEAR * len(gaps)), len(gaps) - 1)
        reach = np.partition(gaps, near)[near]
        # All simulations with the same gap, so that the order of the simulations is irrelevant.
        nearest = np.flatnonzero(gaps <= reach)
        weights = np.ones(len(nearest))
        if reach > 0:
            weights = np.maximum(1 - gaps[nearest] / reach, 1e-9)
        return nearest, weights / weights.sum()

    def draws(self, answer: Floats, nearest: Ints, weights: Floats) -> Floats:
        """Draws of the truth given an answer, from simulations with similar answers."""
        answers, truths = self.answers.take(nearest, axis=0), self.truths.take(nearest, axis=0)
        candidates = list(self._candidates(answers, truths, answer, weights))
        errors = np.array([candidate.error for candidate in candidates])
        shares = np.exp(-(errors / (errors.min() + _LEAST_VARIANCE) - 1) / _TOLERANCE)
        draws = np.stack([candidate.draws for candidate in candidates])
        return np.asarray(np.tensordot(shares / shares.sum(), draws, 1))

    def _candidates(
        self, answers: Floats, truths: Floats, answer: Floats, weights: Floats
    ) -> Iterator[_Candidate]:
        """Draws by each member alone, and by all together."""
        K = truths.shape[1]
        readings = [slice(first, first + K) for first in range(0, self.members * K, K)]
        if self.members != 1:
            readings.append(slice(None))
        for i, columns in enumerate(readings):
            handicap = _HANDICAP if i else 1.0
            reading = answers[:, columns], truths, answer[columns], weights, handicap
            if i < self.members:
                yield _corrected(*reading)
            slopes_per_simulation = len(reading[2]) * float((weights**2).sum())
            if slopes_per_simulation <= _MOST_SLOPES or not self.members:
                yield _regressed(*reading)


@dataclass(frozen=True, eq=False)
class Conditioning:
    """Truths of samples given the answers of a method: samples are simulated once per size.

    >>> import numpy as np
    >>> codes = np.repeat([0, 1], 500)
    >>> def outcomes(made):
    ...     return Conditional(0.2 + 0.6 * made.shares, made.shares)
    >>> conditioning = Conditioning(Training(None, codes, 2), outcomes, Prior(), 4000, seed=0)
    >>> draws, weights = conditioning.given(np.array([0.38, 0.62]), size=1000)
    >>> (weights @ draws).round(2)
    array([0.3, 0.7])
    """

    training: Training
    outcomes: Callable[[Simulated], Conditional]
    prior: Prior
    replicates: int
    seed: int
    class_sizes: Ints | None = None
    foreign: float = 0.0
    _by_size: dict[int, Conditional] = field(default_factory=dict, init=False, repr=False)

    def given(self, answer: Floats, size: int) -> tuple[Floats, Floats]:
        """Draws of the truth of a sample given its answer, and their weights."""
        return self.pairs(size).given(answer)

    def pairs(self, size: int) -> Conditional:
        """Answers and truths of simulated samples of about one size."""
        simulated = simulated_size(size)
        if simulated not in self._by_size:
            samples = simulate(
                self.training,
                simulated,
                self.replicates,
                self.prior,
                self.seed,
                self.class_sizes,
                self.foreign,
            )
            self._by_size[simulated] = self.outcomes(samples)
        return self._by_size[simulated]


def _slopes(away: Floats, moved: Floats, weights: Floats | None, ridge: float) -> Floats:
    """Slopes of a ridge regression of centred columns `moved` on centred columns `away`."""
    weighted = away / len(away) if weights is None else away * weights[:, None]
    variance = weighted.T @ away
    width = len(variance)
    variance[np.diag_indices(width)] += ridge * np.trace(variance) / width + _LEAST_VARIANCE
    return np.asarray(np.linalg.solve(variance, weighted.T @ moved), dtype=np.float64)


class _Candidate(NamedTuple):
    """Draws of the truth, and their mean error."""

    draws: Floats
    error: float


def _regressed(
    answers: Floats, truths: Floats, answer: Floats, weights: Floats, handicap: float
) -> _Candidate:
    """Truths as a regression on the answers predicts them, with its residuals."""
    mean_answer, mean_truth = weights @ answers, weights @ truths
    away = answers - mean_answer
    slopes = _slopes(away, truths - mean_truth, weights, _LOCAL_RIDGE)
    middles = mean_truth + away @ slopes
    residuals = (truths - middles) * _without_fit(weights, answers.shape[1])
    middle = mean_truth + (answer - mean_answer) @ slopes
    draws = middle + _moved_errors(residuals, middles, middle, weights)
    # Slopes are the less certain, the more of them there are for the simulations.
    uncertainty = 1 + answers.shape[1] * float((weights**2).sum())
    return _Candidate(draws, handicap * np.sqrt(uncertainty) * _mean_size(residuals, weights))


def _corrected(
    answers: Floats, truths: Floats, answer: Floats, weights: Floats, handicap: float
) -> _Candidate:
    """An estimate of the truths, less its errors in similar simulations."""
    errors = truths - answers
    mean = weights @ errors
    draws = answer + mean + _moved_errors(errors - mean, answers, answer, weights)
    return _Candidate(draws, handicap * _mean_size(errors - mean, weights))


def _moved_errors(errors: Floats, places: Floats, place: Floats, weights: Floats) -> Floats:
    """Errors at `places` as they would be at one place, where they are larger or smaller.

    The square of an error is a line in the place: small shares have small errors. The sum of
    the errors stays, by a change of each in proportion to its square there. Of two classes,
    neither has the smaller errors.
    """
    if errors.shape[1] <= 2:
        return errors
    squares = errors**2
    centre, mean = weights @ places, weights @ squares
    away = places - centre
    slope = weights @ (away * (squares - mean)) / (weights @ away**2 + _LEAST_VARIANCE)
    least = _LEAST_SPREAD * mean + _LEAST_VARIANCE
    low, high = places.min(axis=0), places.max(axis=0)
    spreads = np.maximum(mean + slope * (np.clip(place, low, high) - centre), least)
    moved = errors * np.sqrt(spreads / np.maximum(mean + slope * away, least))
    excess = (moved - errors).sum(axis=1)
    return np.asarray(moved - excess[:, None] * (spreads / spreads.sum()))


def _mean_size(residuals: Floats, weights: Floats) -> float:
    return float(weights @ np.abs(residuals).mean(axis=1))


def _without_fit(weights: Floats, n_slopes: int) -> float:
    """Factor that undoes the shrinking of residuals by the fit of their regression line."""
    effective = 1 / (weights**2).sum()
    return float(np.sqrt(effective / max(effective - n_slopes, effective / 4)))


# Items like those of any class that a simulated class has on average: a kind of item that was
# not seen among the training items of a class may still be there (half an item, as in
# Jeffreys' prior). It matters where a classifier errs on no training item.
_FOREIGN = 0.5
# Draws, times classes, that the posteriors of several samples keep: 256 MB.
_MOST_KEPT = 2**25


@dataclass(frozen=True, eq=False)
class SharePosterior(WeightedDraws):
    """Distribution of the shares of a sample.

    `absent` holds the classes that were absent from the simulations of the draws.
    """

    absent: Bools | None = None

    @property
    def mean(self) -> Floats:
        """Mean shares."""
        mean = super().mean
        # No share above 1 by rounding.
        return np.asarray(mean / mean.sum())

    @property
    def shares(self) -> Floats:
        """Shares with the least expected absolute error."""
        return self.point("ae", 1)

    def point(self, metric: str, n_items: int) -> Floats:
        """Shares with the least expected error by a metric; see `action`."""
        return action(metric, self.weighted, self.weights, n_items, self.absent)


class RepeatedPosterior:
    """Distribution of the shares of a sample that is computed again whenever it is used.

    For so many samples that the draws of all would not fit into memory. Only the shares are
    kept after `release`. It is read as a `SharePosterior` is.
    """

    def __init__(self, make: Callable[[], SharePosterior]) -> None:
        self._make = make
        self._posterior: SharePosterior | None = None
        self._is_released = False

    def release(self) -> None:
        """Forget the draws, until they are used again."""
        self._posterior, self._is_released = None, True

    @cached_property
    def mean(self) -> Floats:
        """Mean shares."""
        return self._current().mean

    @cached_property
    def shares(self) -> Floats:
        """Shares with the least expected absolute error."""
        return self._current().shares

    def point(self, metric: str, n_items: int) -> Floats:
        """Shares with the least expected error by a metric."""
        return self._current().point(metric, n_items)

    @property
    def draws(self) -> Floats:
        """Draws with equal weights, (1000, K)."""
        return self._current().draws

    @property
    def weighted(self) -> Floats:
        """Draws, one row per draw."""
        return self._current().weighted

    @property
    def weights(self) -> Floats:
        """Weights of the draws; they sum to 1."""
        return self._current().weights

    def _current(self) -> SharePosterior:
        if self._posterior is not None:
            return self._posterior
        posterior = self._make()
        if not self._is_released:
            self._posterior = posterior
        return posterior


class Answering(Protocol):
    """A fitted method."""

    @property
    def copies_only(self) -> bool:
        """True if simulated items must be copies of the training items, in their order."""

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Answers to samples of the training items."""


@dataclass(frozen=True, eq=False)
class ShareConditioning:
    """Distribution of the shares of samples given the answers of a method.

    >>> import numpy as np
    >>> class Counts:
    ...     copies_only = False
    ...     def solve_training(self, training, samples):
    ...         return Solution.closed_form(samples.prevalence_of(training.items, 2))
    >>> codes = np.repeat([0, 1], 500)
    >>> predicted = np.where(np.arange(1000) % 5 == 0, 1 - codes, codes)  # one in five is wrong
    >>> training = Training(predicted, codes, 2)
    >>> conditioning = ShareConditioning(Counts(), training, False, Prior(), 4000, seed=0)
    >>> answers, sizes = np.array([[0.38, 0.62]]), np.array([10_000])
    >>> conditioning.points(answers, sizes).round(2)  # answers are .2 + .6 x shares
    array([[0.3, 0.7]])
    """

    model: Answering
    training: Training
    posteriors_given: Any
    prior: Prior
    replicates: int
    seed: int

    def posteriors(
        self, answers: Floats, sizes: Ints
    ) -> Sequence[SharePosterior | RepeatedPosterior]:
        """Distribution of the realised shares of each sample, given answers of shape (S, D)."""
        draws_of_each = self.replicates * self.training.n_classes / 10
        if len(answers) * draws_of_each <= _MOST_KEPT:
            return [make() for make in self._makers(answers, sizes)]
        released = []
        for posterior in self.repeated(answers, sizes):
            posterior.release()
            released.append(posterior)
        return released

    def repeated(self, answers: Floats, sizes: Ints) -> Iterator[RepeatedPosterior]:
        """Distributions that can be released, as `posteriors` returns for many samples."""
        return (RepeatedPosterior(make) for make in self._makers(answers, sizes))

    def _makers(self, answers: Floats, sizes: Ints) -> Iterator[Callable[[], SharePosterior]]:
        pairs = zip(answers, sizes.tolist(), strict=True)
        return (partial(self._posterior, answer, size) for answer, size in pairs)

    def _posterior(self, answer: Floats, size: int) -> SharePosterior:
        pairs = self._conditioning.pairs(size)
        nearest, weights = pairs.nearest(answer)
        draws = pairs.draws(answer, nearest, weights)
        centre = weights @ draws
        mean = _on_simplex(centre[None])[0]
        factor = size_factor(self._class_sizes, mean, size)
        moved = draws + (factor - 1) * (draws - centre)
        return SharePosterior(_on_simplex(moved), weights, pairs.truths[nearest] == 0)

    def points(self, answers: Floats, sizes: Ints, metric: str = "ae") -> Floats:
        """Shares of each sample with the least expected error, one row per sample."""
        pairs = zip(answers, sizes.tolist(), strict=True)
        return np.stack(
            [self._posterior(answer, size).point(metric, size) for answer, size in pairs]
        )

    def same_as(self, other: ShareConditioning) -> bool:
        """True if the simulations of both are the same; their priors are not compared."""
        return (
            self.model is other.model
            and self.training is other.training
            and (self.replicates, self.seed) == (other.replicates, other.seed)
        )

    def __getstate__(self) -> dict[str, Any]:
        # Files of models do not hold the simulations.
        simulated = ("_items", "_believes", "_conditioning")
        return {name: value for name, value in vars(self).items() if name not in simulated}

    @cached_property
    def _items(self) -> Training:
        """Items that samples are simulated from."""
        if not self.posteriors_given:
            return self.training
        items = smooth(self.training, self.seed, self.posteriors_given)
        if not self._believes:
            return items
        return with_believed(items, self.training, self.seed, self.posteriors_given)

    @cached_property
    def _believes(self) -> bool:
        """True if classes get items by their posteriors."""
        scores = _first_posteriors(self.training.items, self.posteriors_given)
        shape = (self.training.n_classes,)
        return scores is not None and scores.shape[1:] == shape and not self.model.copies_only

    def trials(self, n: int, size: int, prior: Prior) -> tuple[Training, Simulated]:
        """A few simulated samples, and the items that they are of."""
        items = self._items
        return items, simulate(items, size, n, prior, self.seed, self._class_sizes, _FOREIGN)

    @cached_property
    def _conditioning(self) -> Conditioning:
        items = self._items

        def outcomes(made: Simulated) -> Conditional:
            answers = self.model.solve_training(items, made.samples).prevalence
            n_members = answers.shape[1] // made.shares.shape[1]
            return Conditional(answers, made.shares, n_members)

        return Conditioning(
            items, outcomes, self.prior, self.replicates, self.seed, self._class_sizes, _FOREIGN
        )

    @property
    def _class_sizes(self) -> Ints:
        """Numbers of items that classes are worth: those of posteriors tell nothing new."""
        return np.asarray(self.training.class_sizes)


def _on_simplex(points: Floats) -> Floats:
    """Shares next to points whose coordinates sum to 1, without negative coordinates."""
    positive = np.maximum(points, 0.0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))
