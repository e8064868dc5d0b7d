"""Posterior distributions of the shares under a likelihood, by Markov chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from headcount._kernels.draws import draw_from_counts, draw_from_ratios
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount.errors import HeadcountError
from headcount.estimates.conditioning import (
    Prior,
    ShareConditioning,
    SharePosterior,
    check_prior,
    simulated_size,
)
from headcount.items.arrays import count_rows
from headcount.parts.aggregation import training_ratios
from headcount.parts.binning import Bins
from headcount.parts.fitted import Fitted, PoolSamples
from headcount.parts.training import Binned, Training
from headcount.samples.samples import Samples
from headcount.scores.folds import one_fold_each

# Draws of each sample, and steps of its chain before the first of them.
_N_DRAWS, _WARM_UP = 1000, 200
# Parameter of the flat Dirichlet distribution of the rates of the bins in a class.
_FLAT = 1.0
# Steps between two draws: more if the sample, whose classes are drawn too, is large compared
# with the training set.
_LEAST_THINNING, _MOST_THINNING = 2, 50


def posteriors_from_ratios(
    ratios: Floats,
    samples: Samples,
    prior: Floats,
    seed: int,
    temperatures: Floats | None = None,
    n_draws: int = _N_DRAWS,
) -> list[SharePosterior]:
    """Distribution of the realised shares of samples whose items have known likelihoods.

    The shares of the population have a Dirichlet prior. Pairs of them are renewed by slice
    sampling, and the classes of the items are drawn given the shares. At a temperature T the
    likelihood is raised to the power 1 / T, as if there were fewer items.

    >>> import numpy as np
    >>> ratios = np.repeat([[9.0, 1.0], [1.0, 9.0]], [66, 34], axis=0)
    >>> found = posteriors_from_ratios(ratios, Samples.whole(100), np.ones(2), 0)
    >>> found[0].mean.round(1)
    array([0.7, 0.3])
    """
    largest = ratios.max(axis=1, keepdims=True)
    # An item that is impossible under every class is equally likely under each.
    scaled = np.divide(ratios, largest, out=np.ones_like(ratios), where=largest > 0)
    out = np.empty((len(samples), n_draws, ratios.shape[1]))
    powers = np.ones(len(samples)) if temperatures is None else 1 / temperatures

    def work(start: int, stop: int) -> None:
        # Here, as other threads do not inherit it: the kernel relies on overflow.
        with np.errstate(over="ignore"):
            draw_from_ratios(
                scaled, samples.indices, samples.offsets, powers, prior, np.uint64(seed),
                _WARM_UP, start, stop, out,
            )  # fmt: skip

    each_range(work, len(samples), grain=1)
    return _equally_likely(out)


def posteriors_from_counts(
    known: Floats, seen: Ints, prior: Floats, seed: int
) -> list[SharePosterior]:
    """Distribution of the realised shares of samples that are counts in bins.

    The rates of the bins in each class are unknown as well: their prior is flat, and they are
    learnt from the training items and from the sample (Gibbs sampling).

    >>> import numpy as np
    >>> known = np.array([[900.0, 100.0], [100.0, 900.0]])
    >>> found = posteriors_from_counts(known, np.array([[420, 580]]), np.ones(2), 0)
    >>> found[0].mean.round(1)
    array([0.4, 0.6])
    """
    out = np.empty((len(seen), _N_DRAWS, len(known)))
    steps = np.ceil(2 * (1 + seen.sum(axis=1) / known.sum())).astype(np.int64)
    thinning = np.clip(steps, _LEAST_THINNING, _MOST_THINNING)

    def work(start: int, stop: int) -> None:
        with np.errstate(over="ignore"):
            draw_from_counts(
                known, seen, prior, _FLAT, np.uint64(seed), _WARM_UP, thinning, start, stop, out
            )

    each_range(work, len(seen), grain=1)
    return _equally_likely(out)


def check_dirichlet(prior: Any, n_classes: int) -> Floats:
    """Check a user's prior for a posterior: parameters of a Dirichlet distribution.

    >>> check_dirichlet(0.5, 3)
    array([0.5, 0.5, 0.5])
    """
    if prior is None:
        return np.ones(n_classes)
    concentration = check_prior(prior, n_classes).concentration
    if concentration is None:
        raise HeadcountError(
            "prior holds draws, but the posterior under a likelihood needs the parameters of a "
            "Dirichlet distribution: pass a positive number or one per class."
        )
    return concentration


def _equally_likely(draws: Floats) -> list[SharePosterior]:
    weights = np.full(draws.shape[1], 1 / draws.shape[1])
    return [SharePosterior(of_sample, weights) for of_sample in draws]


# Simulated samples that a temperature is found from, their items at most, and draws of each.
_TRIALS, _TRIAL_ITEMS, _TRIAL_DRAWS = 100, 500, 100
# Part of the squared errors that the variance should explain.
_COVERED = 0.95


def temperatures(
    likelihood: Any, conditioning: ShareConditioning, prior: Floats, sizes: Ints, seed: int
) -> Floats:
    """Temperatures at which the draws of samples of some sizes vary as much as they err.

    The likelihood takes what was learnt from the training items as known. In simulated
    samples, whose classes are resampled, the squared errors of the mean are compared with the
    variance of the draws: 95% should be below 3.84 times the variance. What they have in
    excess comes from the training items, so that it does not fall with the number of items,
    as the variance does.
    """
    ratios, excess = None, {}
    tried = [simulated_size(min(size, _TRIAL_ITEMS)) for size in sizes.tolist()]
    for size in set(tried):
        items, made = conditioning.trials(_TRIALS, size, Prior(concentration=prior))
        if ratios is None:
            ratios = training_ratios(likelihood, items)
        trials = posteriors_from_ratios(ratios, made.samples, prior, seed, n_draws=_TRIAL_DRAWS)
        # Shares among so many items are accurate to half an item at best.
        variances = [trial.weighted.var(axis=0) + 0.25 / size**2 for trial in trials]
        errors = np.stack([trial.mean for trial in trials]) - made.shares
        reached = np.quantile(errors**2 / variances, _COVERED)
        excess[size] = max(reached / chi2.ppf(_COVERED, 1) - 1, 0.0)
    return np.array([1 + excess[n] * size / n for n, size in zip(tried, sizes, strict=True)])


# Bins of the positive score of two classes, and of the largest posterior of the items
# predicted as each of more classes.
_BINS, _BINS_PER_CLASS = 4, 2


def share_posteriors(
    fitted: Fitted,
    reduced: PoolSamples,
    prior: Any,
    seed: int,
    conditioning: Callable[[], ShareConditioning],
) -> list[SharePosterior]:
    """Posterior distribution of the realised shares in samples of a pool.

    The likelihood is that of predicted classes or binned scores, whose rates in each class are
    unknown too, or of the items, at a temperature that simulations determine. `prior` are the
    parameters of a Dirichlet distribution; None is the uniform one.
    """
    kind = fitted.likelihood
    if not kind or fitted.settings.get("smoothness"):
        smooth = " with a smoothness" if kind else ""
        raise HeadcountError(
            f"posterior is True, but {fitted.method}{smooth} has no likelihood and prior of "
            "its own: use ACC, PACC, GAC, GPAC, DyS, HDy, SLD or KDEyML, or leave posterior "
            "out."
        )
    concentration = check_dirichlet(prior, len(fitted.classes))
    items, samples = _scored_once(fitted, reduced.X), reduced.samples
    if kind == "likelihood":
        model: Any = fitted.model
        sizes = np.asarray(samples.sizes)
        warmth = temperatures(model.likelihood, conditioning(), concentration, sizes, seed)
        ratios = model.likelihood.ratios(items)
        return posteriors_from_ratios(ratios, samples, concentration, seed, warmth)
    training = fitted.simulation_items()
    n_bins, bin_of = training.n_classes, _predicted
    if kind == "scores":
        bins = _ScoreBins.learn(training)
        n_bins, bin_of = bins.n_bins, bins.of
    in_training, in_pool = (
        Binned(bin_of(np.asarray(items_of_one))[:, None], n_bins)
        for items_of_one in (training.items, items)
    )
    rates = training.class_means(in_training) * training.class_sizes[:, None]
    counts = np.rint(in_pool.means(samples) * samples.sizes[:, None]).astype(np.int64)
    return posteriors_from_counts(rates, counts, concentration, seed)


def _predicted(items: Array) -> NDArray[np.int32]:
    """Predicted classes, as bins."""
    return items.astype(np.int32)


def _scored_once(fitted: Fitted, X: Any) -> Array:
    """Items scored as training items are: each by the classifier of one fold."""
    items = fitted.source.items(X, by_folds=fitted.source.has_folds)
    n = count_rows(X)
    if len(items) == n:
        return np.asarray(items)
    return one_fold_each(items.reshape(-1, n, *items.shape[1:]))


@dataclass(frozen=True, eq=False)
class _ScoreBins:
    """Bins of about equal numbers of training items, of the positive score or by class."""

    n_classes: int
    groups: tuple[Bins | None, ...]

    @classmethod
    def learn(cls, training: Training) -> _ScoreBins:
        group, scores = _grouped(np.asarray(training.items))
        count = _BINS if training.n_classes == 2 else _BINS_PER_CLASS
        weighted = training.class_weights > 0
        groups = []
        for g in range(1 if training.n_classes == 2 else training.n_classes):
            rows = (group == g) & weighted
            weights = None if training.weights is None else training.weights[rows]
            items = Training(
                scores[rows, None], training.codes[rows], training.n_classes, weights
            )
            groups.append(Bins.learn(items, count) if rows.any() else None)
        return cls(training.n_classes, tuple(groups))

    @property
    def sizes(self) -> list[int]:
        """Number of bins of each group."""
        return [1 if bins is None else int(bins.edges[-1]) for bins in self.groups]

    @property
    def n_bins(self) -> int:
        """Number of bins of all groups."""
        return sum(self.sizes)

    def of(self, items: Array) -> NDArray[np.int32]:
        """Bin of each item, numbered over all groups."""
        group, scores = _grouped(items)
        places = np.concatenate([[0], np.cumsum(self.sizes)])[group].astype(np.int32)
        for g, bins in enumerate(self.groups):
            rows = group == g
            if bins is not None and rows.any():
                places[rows] += bins.codes(scores[rows, None])[:, 0]
        return places


def _grouped(items: Array) -> tuple[Ints, Floats]:
    """Group of each item, and the score that divides the group."""
    if items.shape[1] == 2:
        return np.zeros(len(items), np.int64), items[:, 1]
    return items.argmax(axis=1), items.max(axis=1)
