"""The engine: estimates of samples and training sets drawn anew, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from headcount.representation import Training
from headcount.sampling import Samples
from headcount.solve import Solution
from headcount.uncertainty.drawing import ClassDraws, drawn_again, training_weights
from headcount.uncertainty.refitting import affordable, has_densities, refits

__all__ = [
    "BATCH_ITEMS",
    "Problem",
    "Target",
    "beside_own_sets",
    "in_compositions",
    "replicate",
]

Target = Literal["realised", "expected"]

# Items drawn and solved at a time, where nothing else divides the work.
BATCH_ITEMS = 1 << 22
# Of the spread of plain resampling, at least so much is left when that of the labels is
# taken out: their difference is uncertain where it is small.
_LEAST_LEFT = 0.25
# Of the way to a training set drawn anew, how far densities go.
_PART = 0.25
# Samples of mixes all over the simplex that tell how far answers follow the truth, and their
# items; answers that follow by less than this part are not blown up further.
_MIXES, _OF_EACH, _LEAST_FOLLOWED = 300, 1000, 0.5
# Items, at the least, by which a model shows what it says of its own training set.
_OWN_ITEMS = 2000


class Model(Protocol):
    """A fitted method, as far as its estimates need it."""

    def fit(self, training: Training) -> Self:
        """The same method, fitted on another training set."""

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A fitted method and the samples whose shares it estimated.

    Attributes
    ----------
    model : Model
        What was fitted.
    training : Training or None
        What it was fitted on; without items if it needs none; None if it cannot be fitted
        again.
    shift : {"prior", "covariate", "none"}
        What the method takes to have changed since training.
    items : Any
        The pool, as the model takes it.
    samples : Samples
        Its samples.
    shares : ndarray of shape (S, K)
        What was estimated.
    learns : bool
        Whether what it learnt depends on the training items, beyond how many there are of
        each class.
    consistent : bool
        Whether the estimates of ever larger samples come to the truth under prior shift.
    calibrates : bool
        Whether scores are put right by a formula, which need not be able to do it.
    """

    model: Any
    training: Training | None
    shift: str
    items: Any
    samples: Samples
    shares: NDArray[np.float64]
    learns: bool = True
    consistent: bool = True
    calibrates: bool = False

    @property
    def relearns(self) -> bool:
        """Whether the training side can be drawn anew."""
        return self.training is not None and self.training.items is not None


def replicate(
    problem: Problem, target: Target, n: int, n_training: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Estimates of `n` replicates of each sample, as an array of shape (S, n, K).

    Each of `n_training` training sets, drawn anew, serves for a part of the replicates of
    all samples.

    For the expected share, a sample's items are drawn from it anew. The realised share
    has no noise of labels in it: the items are drawn from those of the training set, in a
    composition fixed at the estimate. Where there are no training items, they are drawn
    from the sample by the classes they seem to be of; and where the model does not tell
    these, drawn as for the expected share, with the spread due to labels taken out.
    """
    if target == "realised" and problem.shift == "covariate" and _are_posteriors(problem):
        return _labels_drawn(problem, n, rng)
    if n_training and problem.relearns and has_densities(problem.model):
        of_samples = replicate(problem, target, n, 0, rng)
        drawn = of_samples + _errors_of_training(problem, n, n_training, rng)
        mean = drawn.mean(axis=1, keepdims=True)
        return mean + (drawn - mean) / _followed(problem, rng)
    fixed = target == "realised" and problem.shift == "prior"
    if fixed and problem.relearns:
        compositions = np.repeat(problem.shares[:, None], n, axis=1)
        return in_compositions(problem, compositions, problem.samples.sizes, n_training, rng)
    if fixed and hasattr(problem.model, "memberships"):
        return _by_membership(problem, n, rng)
    plain = _drawn_again(problem, n, n_training, rng)
    return _without_labels(plain, problem) if fixed else plain


def in_compositions(
    problem: Problem,
    compositions: NDArray[np.float64],
    sizes: NDArray[np.int64],
    n_training: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Estimates of samples made of training items, as the compositions (S, n, K) have it.

    The n samples in a row are all of its size.

    If training sets drawn anew leave the model as it is, samples are made of the items of
    these sets: how it fares on a class is not known better than that.
    """
    assert problem.training is not None
    S, n, K = compositions.shape
    draws, done, parts = ClassDraws.of(problem.training), 0, []
    for model, items, weights, count in _models(problem, None, n, n_training, rng):
        if not problem.learns:
            draws = ClassDraws.of(replace(problem.training, weights=weights))
        shares = compositions[:, done : done + count].reshape(-1, K)
        done += count
        drawn = draws.samples(shares, np.repeat(sizes, count), rng)
        parts.append(_solved(model, items, drawn, S))
    return np.concatenate(parts, axis=1)


def beside_own_sets(
    problem: Problem,
    compositions: NDArray[np.float64],
    at: NDArray[np.float64],
    n_training: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The same by models of training sets drawn anew, less what each says of its own set.

    A biased method is put right by what it says of its own training set, where the truth is
    known: what is left is by how much a sample of other items, in the composition `at` (S, K),
    is put right too much or too little.
    """
    sizes = problem.samples.sizes
    if not n_training:
        return in_compositions(problem, compositions, sizes, 0, rng)
    assert problem.training is not None
    many = np.maximum(_OWN_ITEMS, 2 * sizes)
    # The answer on the own set has the noise of a sample, too: so that the difference has that
    # of one sample only, the other is larger.
    larger = np.ceil(sizes * many / (many - sizes)).astype(np.int64)
    S, _, K = compositions.shape
    draws, done, parts = ClassDraws.of(problem.training), 0, []
    models = _models(problem, None, compositions.shape[1], n_training, rng)
    for model, items, weights, count in models:
        shares = compositions[:, done : done + count].reshape(-1, K)
        done += count
        drawn = draws.samples(shares, np.repeat(larger, count), rng)
        own = ClassDraws.of(replace(problem.training, weights=weights))
        of_own = own.samples(at / at.sum(axis=1, keepdims=True), many, rng)
        parts.append(_solved(model, items, drawn, S) - _solved(model, items, of_own, S))
    return np.concatenate(parts, axis=1)


def _followed(problem: Problem, rng: np.random.Generator) -> float:
    """By how much the answers move if the composition moves by 1, on average.

    Rough densities tell classes apart less well than they seem to, and pull the shares
    together: an error of the answer is a larger one of the composition behind it.
    """
    K = problem.shares.shape[1]
    mixes = rng.dirichlet(np.ones(K), (1, _MIXES))
    said = in_compositions(problem, mixes, np.array([_OF_EACH]), 0, rng)
    moved, followed = (part - part.mean(axis=1, keepdims=True) for part in (mixes, said))
    slope = (moved * followed).sum() / (moved**2).sum()
    return float(np.clip(slope, _LEAST_FOLLOWED, 1.0))


def _errors_of_training(
    problem: Problem, n: int, n_training: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """What training sets drawn anew move the estimates by, as an array of shape (S, n, K).

    A kernel density of few items is rough, and one of a training set drawn anew rougher
    still: the shares it gives react less to what is drawn. So the sets are drawn a small part
    of the way only, and what the estimates move by is scaled up.
    """
    training = problem.training
    assert training is not None
    n_training = affordable(problem.model, training, problem.samples.n_pool, min(n, n_training))
    given = np.ones(len(training.codes)) if training.weights is None else training.weights
    weights = training_weights(training, n_training, rng)
    near = given + _PART * (weights - given)
    moved = np.stack(
        [
            model.solve(items, problem.samples).prevalence
            for model, items in refits(problem.model, training, near, problem.items)
        ],
        axis=1,
    )
    errors = (moved - moved.mean(axis=1, keepdims=True)) / _PART
    return errors[:, np.arange(n) % n_training]


def _by_membership(problem: Problem, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    found = []
    for rows, shares in zip(problem.samples, problem.shares, strict=True):
        items = problem.items[rows]
        draws = ClassDraws.by_membership(problem.model.memberships(items, shares))
        parts = []
        for count in _portions(n, len(rows)):
            drawn = draws.samples(np.tile(shares, (count, 1)), np.full(count, len(rows)), rng)
            parts.append(problem.model.solve(items, drawn).prevalence)
        found.append(np.concatenate(parts))
    return np.stack(found)


def _drawn_again(
    problem: Problem, n: int, n_training: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    parts = []
    for model, items, _, count in _models(problem, problem.items, n, n_training, rng):
        drawn = drawn_again(problem.samples, count, rng)
        parts.append(_solved(model, items, drawn, len(problem.shares)))
    return np.concatenate(parts, axis=1)


def _models(
    problem: Problem, pool: Any, n: int, n_training: int, rng: np.random.Generator
) -> Iterator[tuple[Model, Any, NDArray[np.float64] | None, int]]:
    """Models, items as these take them, and how many replicates each is to solve.

    The pool is that of the samples, or None for the training items. Third in a row are the
    weights of the training items that a model was fitted with.
    """
    training, per_round = problem.training, int(problem.samples.sizes.sum())
    if training is None or training.items is None or not (n_training or pool is None):
        for count in _portions(n, per_round):
            yield problem.model, pool, None, count
        return
    if n_training:
        by_class = problem.shift == "prior"
        n_items = len(training.codes) if pool is None else problem.samples.n_pool
        n_training = affordable(problem.model, training, n_items, min(n, n_training))
        weights = training_weights(training, n_training, rng, by_class=by_class)
    else:
        given = np.ones(len(training.codes)) if training.weights is None else training.weights
        weights = given[None]
    share, extra = divmod(n, len(weights))
    for number, (model, items) in enumerate(refits(problem.model, training, weights, pool)):
        for count in _portions(share + (number < extra), per_round):
            yield model, items, weights[number], count


def _portions(n: int, items: int) -> Iterator[int]:
    """Parts of `n` replicates with this many items each that fit into memory."""
    most = max(1, BATCH_ITEMS // items)
    for done in range(0, n, most):
        yield min(most, n - done)


def _solved(model: Model, items: Any, drawn: Samples, S: int) -> NDArray[np.float64]:
    shares = model.solve(items, drawn).prevalence
    return shares.reshape(S, -1, shares.shape[1])


def _are_posteriors(problem: Problem) -> bool:
    return np.shape(problem.items) == (problem.samples.n_pool, problem.shares.shape[1])


def _labels_drawn(problem: Problem, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Shares of labels drawn for the very items of each sample from their posteriors."""
    K = problem.shares.shape[1]
    found = np.empty((len(problem.samples), n, K))
    for number, rows in enumerate(problem.samples):
        edges = np.cumsum(problem.items[rows], axis=1)[:, :-1]
        for i in range(n):
            above = (rng.random(len(rows))[:, None] >= edges).sum(axis=1)
            found[number, i] = np.bincount(above, minlength=K) / len(rows)
    return found


def _without_labels(plain: NDArray[np.float64], problem: Problem) -> NDArray[np.float64]:
    """Draw replicates together by the spread that the labels of a sample have by chance."""
    shares = problem.shares[:, None]
    by_chance = shares * (1 - shares) / problem.samples.sizes[:, None, None]
    spread = np.maximum(plain.var(axis=1, keepdims=True), 1e-300)
    # One factor for all classes keeps the sum of the shares at 1.
    weight = spread / spread.sum(axis=2, keepdims=True)
    left = (weight * (1 - by_chance / spread)).sum(axis=2, keepdims=True)
    factor = np.sqrt(np.clip(left, _LEAST_LEFT**2, 1))
    return np.asarray(shares + factor * (plain - shares))
