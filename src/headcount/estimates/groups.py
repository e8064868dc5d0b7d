"""Differences between groups that posteriors do not know, learnt from labels.

The classes of an item have the odds that its posteriors give, times factors of its group. The
logarithms of these factors, the effects of the group, are normal with mean zero. Their standard
deviation follows from the labels of all groups, and the effects of a group from its own labels,
as far as they are worth it (as in small area estimation: Fay & Herriot, JASA 74, 1979; for
shares of classes with Laplace's approximation: Tierney & Kadane, JASA 81, 1986).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from headcount._support.text import chance
from headcount.errors import HeadcountWarning
from headcount.estimates.conditioning import RepeatedPosterior, SharePosterior
from headcount.estimates.estimate import Estimate
from headcount.items.arrays import Scored
from headcount.parts.fitted import Evidence, Fitted
from headcount.samples.samples import Samples
from headcount.scores.calibration import fit_calibrator

Floats = NDArray[np.float64]

# Standard deviations of effects, and one that is usual: the scale of a half-Cauchy prior
# (Gelman, Bayesian Analysis 1, 2006).
_EFFECT_SPREADS, _USUAL = np.geomspace(0.02, 4, 16), 0.3
# Newton's method: steps at most, the longest one, and the step at which it ends.
_STEPS, _LONGEST, _SHORTEST = 30, 2.0, 1e-6
_DRAWS = 1000
# Items of a group that the shares are computed from, and numbers that are in memory at a time.
_MOST_ITEMS, _AT_ONCE = 1000, 2**21
_TINY = 1e-12


class _FittedMethod(Protocol):
    """A fitted quantifier, which is fitted again on the labelled items of a group."""

    classes_: NDArray[Any]
    prior_: Floats

    @property
    def fitted_(self) -> Fitted:
        """What `fit` made."""


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Effects of groups on the odds of the classes.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0, 1], 500)
    >>> labels = (rng.random(1000) < np.where(groups == 0, 0.3, 0.7)).astype(int)
    >>> effects = GroupEffects.of(np.full((1000, 2), 0.5), labels, groups, 2)
    >>> draws = effects.shares(np.full((200, 2), 0.5), np.ones((1, 2)), 1, seed=0)
    >>> float(draws[:, 1].mean().round(1))
    0.7
    """

    modes: Floats
    roots: Floats
    chances: Floats

    @classmethod
    def of(
        cls, posteriors: Floats, codes: NDArray[np.int64], groups: NDArray[np.int64], n: int
    ) -> GroupEffects:
        """Effects that labels show."""
        logs, labels = np.log(np.maximum(posteriors, _TINY)), np.eye(posteriors.shape[1])[codes]
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.searchsorted(groups[order], np.arange(1, n)))
        effects = [_effects_of_one(logs[rows], labels[rows]) for rows in members]
        modes, roots, likelihoods = (np.stack(arrays) for arrays in zip(*effects, strict=True))
        log = likelihoods.sum(axis=0)
        # The standard deviations are evenly spaced in logarithms.
        chances = (
            np.exp(log - log.max()) * _EFFECT_SPREADS / (1 + (_EFFECT_SPREADS / _USUAL) ** 2)
        )
        return cls(modes, roots, chances / chances.sum())

    def shares(self, posteriors: Floats, odds: Floats, group: int, seed: int) -> Floats:
        """Draws of the shares of the classes among new items of a group."""
        rng = np.random.default_rng(seed)
        n, K = posteriors.shape
        moved = (
            self._draws(group, K, rng)
            + np.log(np.maximum(odds, _TINY))[np.arange(_DRAWS) % len(odds)]
        )
        sample = posteriors
        if n > _MOST_ITEMS:
            # Evenly spaced among items in the order of their predicted class and its posterior.
            order = np.lexsort((posteriors.max(axis=1), posteriors.argmax(axis=1)))
            sample = posteriors[order[np.linspace(0, n - 1, _MOST_ITEMS).round().astype(int)]]
        logs = np.log(np.maximum(sample, _TINY))
        draws = np.empty((_DRAWS, K))
        step = max(1, _AT_ONCE // logs.size)
        for first in range(0, _DRAWS, step):
            batch = slice(first, first + step)
            chances = _softmax(logs + moved[batch, None])
            ends = np.cumsum(chances, axis=2)[:, :, :-1]
            classes = (rng.random((*ends.shape[:2], 1)) > ends).sum(axis=2)
            counts = np.stack([(classes == k).mean(axis=1) for k in range(K)], axis=1)
            means = chances.mean(axis=1)
            # Chance is that of all items, and their mean posteriors differ from those of some.
            draws[batch] = means + (counts - means) * np.sqrt(len(sample) / n)
        draws = np.maximum(draws + posteriors.mean(axis=0) - sample.mean(axis=0), 0.0)
        return np.asarray(draws / draws.sum(axis=1, keepdims=True))

    def _draws(self, group: int, K: int, rng: np.random.Generator) -> Floats:
        """Draws of the effects of a group."""
        spread = rng.choice(len(_EFFECT_SPREADS), _DRAWS, p=self.chances)
        normal = rng.standard_normal((_DRAWS, K))
        if group < 0:
            return np.asarray(_EFFECT_SPREADS[spread, None] * normal)
        away = np.einsum("dkl,dl->dk", self.roots[group, spread], normal)
        return np.asarray(self.modes[group, spread] + away)


def _effects_of_one(logs: Floats, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """Effects of a group, roots of their covariances, and log-likelihoods, by spread."""
    K = logs.shape[1]
    precision = _EFFECT_SPREADS**-2.0
    effects = np.zeros((len(_EFFECT_SPREADS), K))
    for _ in range(_STEPS):
        chances = _softmax(logs + effects[:, None])
        slope = (labels - chances).sum(axis=1) - effects * precision[:, None]
        step = np.linalg.solve(_curvature(chances, precision), slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        effects += step * np.minimum(1, _LONGEST / np.maximum(longest, _TINY))
        if longest.max() < _SHORTEST:
            break
    chances = _softmax(logs + effects[:, None])
    curvature = _curvature(chances, precision)
    fit = (labels * np.log(np.maximum(chances, _TINY))).sum(axis=(1, 2))
    prior = 0.5 * K * np.log(precision) - 0.5 * precision * (effects**2).sum(axis=1)
    likelihoods = fit + prior - 0.5 * np.linalg.slogdet(curvature)[1]
    return effects, np.linalg.cholesky(np.linalg.inv(curvature)), likelihoods


def _curvature(chances: Floats, precision: Floats) -> Floats:
    """Second derivatives of the negative log-posterior of effects, (T, K, K)."""
    curvature = -np.einsum("tnk,tnl->tkl", chances, chances)
    diagonal = np.arange(chances.shape[2])
    curvature[:, diagonal, diagonal] += chances.sum(axis=1) + precision[:, None]
    return curvature


def _softmax(logs: Floats) -> Floats:
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


# Chance of a false alarm of each test, and error of shares below which differences between
# groups do not matter.
_LEVEL, _LEAST_ERROR = 0.01, 0.01
# Labelled items of each class that a group needs to be estimated from its own ones; groups that
# are, at most.
_FEWEST, _MOST_FITS = 20, 200
# Items of a class that a group needs to take part in a test, and groups that show how much
# others may differ.
_FEWEST_TESTED, _FEWEST_GROUPS = 5, 5
# Errors of the shares of groups, as standard deviations, and one that is usual: the scale of a
# half-Cauchy prior. Below the least one, intervals are left as they are.
_SPREADS, _USUAL_SPREAD, _LEAST_SPREAD = np.linspace(0.0, 0.5, 101), 0.1, 0.001
# Draws of the shares of all items, and labels per class that a group may lack by chance (half
# an item, as in Jeffreys' prior).
_MIXES, _UNSEEN = 20, 0.5


@dataclass(frozen=True, eq=False)
class GroupShift:
    """Estimates of groups whose classes look different."""

    estimates: dict[int, Estimate]
    doubts: dict[int, str]
    sentence: str


def examine_groups(
    quantifier: _FittedMethod,
    items: Any,
    group_names: Sequence[Any],
    samples: Samples,
    labelled: NDArray[Any],
    *,
    column: str,
    of_time: bool,
    estimates: Sequence[Estimate],
    overall: Estimate | None = None,
    random_state: int = 0,
) -> GroupShift:
    """Test on labelled items if prior shift holds between groups; estimate accordingly."""
    evidence = quantifier.fitted_.evidence(items)
    if evidence is None or len(evidence.training.codes) != len(labelled):
        return GroupShift({}, {}, "")
    scores, codes = np.asarray(evidence.training.items), evidence.training.codes
    names, members = np.unique(labelled, return_inverse=True)
    test = _Differences.of(scores, codes, members, len(names))
    if test is None:
        return GroupShift(
            {},
            {},
            f"It could not be tested on labels if the groups of {column} differ in more "
            f"than the mix, as fewer than two have {_FEWEST_TESTED} labelled items of a class.",
        )
    place = {name: i for i, name in enumerate(names.tolist())}
    labelled_group = [-1, *(place.get(name, -1) for name in group_names[1:])]
    if test.p_value >= _LEVEL or test.error <= _LEAST_ERROR:
        return _similar(test, column, of_time, estimates, labelled_group)
    sizes = np.zeros((len(names), len(quantifier.classes_)), np.int64)
    np.add.at(sizes, (members, codes), 1)
    with_labels = [
        i for i, k in enumerate(labelled_group) if k >= 0 and sizes[k].min() >= _FEWEST
    ][:_MOST_FITS]
    with_few = [i for i in range(1, len(labelled_group)) if i not in set(with_labels)]
    replaced = {}
    for i in with_labels:
        rows = np.flatnonzero(members == labelled_group[i])
        replaced[i] = _from_own_labels(quantifier, evidence, rows, samples[i], random_state)
    points = f"by about {100 * test.points:.0f} points" if test.points < 0.5 else "beyond use"
    sentences = [
        f"Within a class, labelled items of different groups of {column} have different "
        f"scores ({chance(test.p_value)}): shares estimated from all of them would be off "
        f"{points}."
    ]
    if with_labels:
        which = f"{_number(len(with_labels), 'group')}:" if with_few else "Each group was"
        sentences.append(f"{which} estimated from labelled items of the same group only.")
    doubts = {}
    if with_few and not of_time:
        mixes = _mixes(overall, quantifier.prior_)
        counted = _Counting.of(evidence, members, len(names), mixes)
        for i in with_few:
            replaced[i] = counted.estimate(quantifier, samples[i], labelled_group[i], i)
            if labelled_group[i] < 0 and not counted.holds:
                doubts[i] = "no labelled items"
        sentences += _sentences_on_others(len(with_few) - len(doubts), len(doubts))
    return GroupShift(replaced, doubts, " ".join(sentences))


def _similar(
    test: _Differences,
    column: str,
    of_time: bool,
    estimates: Sequence[Estimate],
    labelled_group: Sequence[int],
) -> GroupShift:
    """Groups without a difference that was found."""
    widened = {} if of_time else test.widened(estimates, labelled_group)
    sentence = (
        f"Within a class, the labelled items of all groups of {column} have similar "
        f"scores ({chance(test.p_value)}), as the method assumes."
    )
    if widened:
        sentence += " Intervals of groups allow for differences that the labels would not show."
    return GroupShift(widened, {}, sentence)


def _mixes(overall: Estimate | None, prior: Floats) -> Floats:
    """Draws of the shares of all items; those of training if they are not known."""
    if overall is None:
        return np.asarray(prior)[None]
    draws = overall.posterior.draws
    return draws[:: len(draws) // _MIXES]


def _sentences_on_others(n_counted: int, n_doubted: int) -> list[str]:
    sentences = []
    if n_counted:
        sentences.append(
            f"{_number(n_counted, 'group')} with fewer than {_FEWEST} labelled items of a "
            "class: mean posteriors, corrected by the labels of the group."
        )
    if n_doubted:
        sentences.append(
            f"{_number(n_doubted, 'group')} without labelled items: do not rely on the shares."
        )
    return sentences


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


@dataclass(frozen=True, eq=False)
class _Differences:
    """Differences between the mean scores of groups within a class."""

    p_value: float
    error: float
    points: float
    squares: Floats

    @classmethod
    def of(
        cls, scores: Floats, codes: NDArray[Any], members: NDArray[Any], n_groups: int
    ) -> _Differences | None:
        """Differences among labelled items; None if they cannot be tested."""
        tests, squares = [], np.zeros((n_groups + 1, scores.shape[1]))
        for j in range(scores.shape[1]):
            within = codes == j
            values, group = scores[within, j], members[within]
            # Groups without labelled items have the last place.
            sizes = np.bincount(group, minlength=n_groups + 1)
            means = np.bincount(group, values, n_groups + 1) / np.maximum(sizes, 1)
            tested = sizes >= _FEWEST_TESTED
            values, G = values[tested[group]], int(tested.sum())
            apart = abs(values.mean() - scores[~within, j].mean()) if len(values) else 0.0
            if G < 2 or apart <= 0:
                continue
            n, n_each = len(values), sizes[tested]
            variance = float((values**2).sum() - n_each @ means[tested] ** 2) / (n - G)
            if variance <= 1e-12 * float(values @ values):
                continue
            between = float(n_each @ (means[tested] - values.mean()) ** 2) / (G - 1)
            scale = (n - float(n_each @ n_each) / n) / (G - 1)
            error = float(np.sqrt(max(between - variance, 0.0) / scale)) / apart
            p_value = float(stats.f.sf(between / variance, G - 1, n - G))
            tests.append((p_value, error, error * float(within.mean())))
            noise = variance / apart**2 / np.maximum(sizes, 1e-9)
            squares[:, j] = _expected_squares(means / apart, noise, tested)
        if not tests:
            return None
        p_values, errors, points = zip(*tests, strict=True)
        return cls(min(1.0, len(tests) * min(p_values)), max(errors), max(points), squares)

    def widened(
        self, estimates: Sequence[Estimate], labelled_group: Sequence[int]
    ) -> dict[int, Estimate]:
        """Estimates by position, from 1, whose intervals allow for the differences."""
        estimates_by_place = {}
        for i, estimate in enumerate(estimates, 1):
            error = float(np.sqrt(estimate.shares**2 @ self.squares[labelled_group[i]]))
            if error > _LEAST_SPREAD:
                posterior = RepeatedPosterior(partial(_widened, estimate.posterior, error))
                posterior.release()
                estimates_by_place[i] = replace(estimate, posterior=posterior)
        return estimates_by_place


def _expected_squares(means: Floats, noise: Floats, tested: NDArray[np.bool_]) -> Floats:
    """Expected squares of the differences of groups from their mean, given their means.

    Differences are normal. Their standard deviation follows from the groups that are tested.
    """
    squared = _SPREADS**2
    precision = 1 / (noise[tested, None] + squared)
    centre = means[tested] @ precision / precision.sum(axis=0)
    away = means[:, None] - centre
    log = 0.5 * (np.log(precision) - precision * away[tested] ** 2).sum(axis=0)
    log -= 0.5 * np.log(precision.sum(axis=0))
    chances = np.exp(log - log.max()) / (1 + (_SPREADS / _USUAL_SPREAD) ** 2)
    chances /= chances.sum()
    worth = squared / (squared + noise[:, None])
    squares = (worth**2 * away**2 + squared * (1 - worth)) @ chances
    # For a group without labels, the mean square would be that of the largest deviations. A
    # few groups with labels say nothing about others.
    squares[-1] = (_SPREADS @ chances) ** 2 if tested.sum() >= _FEWEST_GROUPS else 0.0
    return np.asarray(squares)


def _widened(posterior: SharePosterior | RepeatedPosterior, error: float) -> SharePosterior:
    """Shares with a further error, a standard deviation that is added to theirs."""
    draws, mean = posterior.draws, posterior.mean
    variance = np.maximum(draws.var(axis=0), 1e-12)
    # Scaled, as noise on top would move draws away from the borders of the simplex.
    moved = mean + (draws - mean) * np.sqrt(1 + error**2 / variance)
    moved = np.maximum(moved, 0.0)
    moved /= moved.sum(axis=1, keepdims=True)
    return SharePosterior(moved, np.full(len(moved), 1 / len(moved)))


def _from_own_labels(
    quantifier: _FittedMethod,
    evidence: Evidence,
    rows: NDArray[Any],
    sample: NDArray[Any],
    random_state: int,
) -> Estimate:
    """Estimate of a group by the same method, fitted on the scores of its labelled items."""
    classes, training = quantifier.classes_, evidence.training
    labelled = Scored(np.asarray(training.items)[rows], classes)
    of_group: Any = clone(quantifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        of_group.fit(labelled, classes[training.codes[rows]])
        new = Scored(evidence.posteriors[sample], classes)
        estimate: Estimate = of_group.estimate(new, random_state=random_state)
    return estimate


@dataclass(frozen=True, eq=False)
class _Counting:
    """Mean posteriors, corrected by effects of the groups.

    If the mix of all items has changed, the odds of the classes are taken to have changed by
    the same factors in every group. A class without labels in a group with at least 20 has at
    most the share that their number leaves possible, as a group may exclude a class.
    """

    posteriors: Floats
    p_value: float
    counts: Floats
    effects: GroupEffects
    odds: Floats

    @classmethod
    def of(
        cls, evidence: Evidence, members: NDArray[Any], n_groups: int, mixes: Floats
    ) -> _Counting:
        training = evidence.training
        scores, codes = np.asarray(training.items), training.codes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadcountWarning)
            calibrator = fit_calibrator("bcts", scores, codes)
        posteriors = calibrator.transform(scores)
        K = posteriors.shape[1]
        labels = np.eye(K)[codes]
        # A label has mean p and variance p (1 - p), in any group.
        counts, sums, noise = np.zeros((3, n_groups, K))
        np.add.at(counts, members, labels)
        np.add.at(sums, members, labels - posteriors)
        np.add.at(noise, members, posteriors * (1 - posteriors))
        chi2 = (sums**2 / (noise + _UNSEEN)).sum(axis=0)
        return cls(
            calibrator.transform(evidence.posteriors),
            min(1.0, K * float(stats.chi2.sf(chi2, n_groups).min())),
            counts,
            GroupEffects.of(posteriors, codes, members, n_groups),
            mixes / np.maximum(labels.mean(axis=0), 1e-12),
        )

    @property
    def holds(self) -> bool:
        """True if posteriors agree with the labels of all groups."""
        return self.p_value >= _LEVEL

    def estimate(
        self, quantifier: _FittedMethod, sample: NDArray[Any], group: int, seed: int
    ) -> Estimate:
        """Estimate of a sample; its interval covers chance in its labels and the effect."""
        P = self.posteriors[sample]
        draws = self.effects.shares(P, self.odds, group, seed)
        if group >= 0 and self.counts[group].sum() >= _FEWEST:
            draws = np.minimum(draws, self._largest(self.counts[group], len(draws), seed))
            draws /= draws.sum(axis=1, keepdims=True)
        posterior = SharePosterior(draws, np.full(len(draws), 1 / len(draws)))
        shares, raw = posterior.mean, P.mean(axis=0)
        return Estimate("PCC", quantifier.classes_, shares, raw, len(P), "realised", posterior)

    def _largest(self, counts: Floats, n_draws: int, seed: int) -> Floats:
        """Draws of the largest possible share of each class: 1 for classes with labels."""
        n, odds = counts.sum(), self.odds[np.arange(n_draws) % len(self.odds)]
        changed = odds / np.maximum(odds @ (counts / n), 1e-300)[:, None]
        possible = np.random.default_rng(seed).beta(_UNSEEN, n + _UNSEEN, odds.shape) * changed
        return np.where(counts > 0, 1.0, possible)
