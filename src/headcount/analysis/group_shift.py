"""Groups whose classes look different: tested on labels, and estimated accordingly.

Shares of a group are estimated under prior shift: within a class, the scores of the group are
those of all labelled items. Groups by a feature, or by what depends on one, break this. If the
labelled table has the groups, labels decide. Where the scores within classes differ, a group is
estimated from its own labelled items, which allows any scores within the classes of a group.
Groups with too few of them are estimated by mean posteriors, corrected by effects of the groups
that the labels show. Groups without labels are not to be relied on, unless posteriors agree
with the labels of all groups. Where no difference is found, intervals allow for differences
that the labels would not have shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from headcount.analysis.group_effects import GroupEffects
from headcount.analysis.groups import Groups
from headcount.analysis.verdict import chance
from headcount.errors import HeadcountWarning
from headcount.quantify import Quantifier
from headcount.quantify.fitted import Evidence
from headcount.scores import Scored, fit_calibrator
from headcount.uncertainty import Estimate, RepeatedPosterior, SharePosterior

__all__ = ["GroupShift", "examine_groups"]

Floats = NDArray[np.float64]

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
    """Estimates of groups whose classes look different.

    Attributes
    ----------
    estimates : dict of int to Estimate
        Estimates that replace those of all labelled items, by the position of the group.
    doubts : dict of int to str
        Groups that are not to be relied on, with the reason.
    sentence : str
        Result of the test, and the way the groups were estimated.
    """

    estimates: dict[int, Estimate]
    doubts: dict[int, str]
    sentence: str


def examine_groups(
    quantifier: Quantifier,
    items: Any,
    groups: Groups,
    labelled: NDArray[Any],
    *,
    estimates: Sequence[Estimate],
    overall: Estimate | None = None,
    random_state: int = 0,
) -> GroupShift:
    """Test on labelled items if prior shift holds between groups; estimate accordingly.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted on all labelled items.
    items : Scored
        The new items.
    groups : Groups
        Groups of the new items.
    labelled : ndarray of shape (N,)
        Group of each labelled item, by name.
    estimates : sequence of Estimate
        Estimates of the groups by the quantifier.
    overall : Estimate, default=None
        Estimate of all new items; None if it is not to be relied on.
    random_state : int, default=0
        Random seed of the intervals.

    Returns
    -------
    GroupShift
    """
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
            f"It could not be tested on labels if the groups of {groups.column} differ in more "
            f"than the mix, as fewer than two have {_FEWEST_TESTED} labelled items of a class.",
        )
    place = {name: i for i, name in enumerate(names.tolist())}
    known = [-1, *(place.get(name, -1) for name in groups.names[1:])]
    if test.p_value >= _LEVEL or test.error <= _LEAST_ERROR:
        return _similar(test, groups, estimates, known)
    sizes = np.zeros((len(names), len(quantifier.classes_)), np.int64)
    np.add.at(sizes, (members, codes), 1)
    own = [i for i, k in enumerate(known) if k >= 0 and sizes[k].min() >= _FEWEST][:_MOST_FITS]
    others = [i for i in range(1, len(known)) if i not in set(own)]
    found = {}
    for i in own:
        rows = np.flatnonzero(members == known[i])
        found[i] = _from_own_labels(quantifier, evidence, rows, groups.samples[i], random_state)
    points = f"by about {100 * test.points:.0f} points" if test.points < 0.5 else "beyond use"
    said = [
        f"Within a class, labelled items of different groups of {groups.column} have different "
        f"scores ({chance(test.p_value)}): shares estimated from all of them would be off "
        f"{points}."
    ]
    if own:
        which = f"{_number(len(own), 'group')}:" if others else "Each group was"
        said.append(f"{which} estimated from labelled items of the same group only.")
    doubts = {}
    if others and not groups.of_time:
        mixes = _mixes(overall, quantifier.prior_)
        counted = _Counting.of(evidence, members, len(names), mixes)
        for i in others:
            found[i] = counted.estimate(quantifier, groups.samples[i], known[i], i)
            if known[i] < 0 and not counted.holds:
                doubts[i] = "no labelled items"
        said += _sentences_on_others(len(others) - len(doubts), len(doubts))
    return GroupShift(found, doubts, " ".join(said))


def _similar(
    test: _Differences, groups: Groups, estimates: Sequence[Estimate], known: Sequence[int]
) -> GroupShift:
    """Groups without a difference that was found."""
    widened = {} if groups.of_time else test.widened(estimates, known)
    sentence = (
        f"Within a class, the labelled items of all groups of {groups.column} have similar "
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
    said = []
    if n_counted:
        said.append(
            f"{_number(n_counted, 'group')} with fewer than {_FEWEST} labelled items of a "
            "class: mean posteriors, corrected by the labels of the group."
        )
    if n_doubted:
        said.append(
            f"{_number(n_doubted, 'group')} without labelled items: do not rely on the shares."
        )
    return said


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


@dataclass(frozen=True, eq=False)
class _Differences:
    """Differences between the mean scores of groups within a class.

    Attributes
    ----------
    p_value : float
        Chance of differences as large if there are none. For each class, by an analysis of
        variance of its posterior over the groups, corrected for the number of classes.
    error : float
        Error of the share that follows in a group of items of one class: the standard
        deviation of the group means beyond chance, divided by the distance of the class from
        the others; of the class with the largest.
    points : float
        Largest error of a share in a group with the shares of the labelled items.
    squares : ndarray of shape (G + 1, K)
        Expected square of the error that follows for each group, if all its items are of a
        class; the last row is that of groups without labelled items.
    """

    p_value: float
    error: float
    points: float
    squares: Floats

    @classmethod
    def of(
        cls, scores: Floats, codes: NDArray[Any], members: NDArray[Any], n_groups: int
    ) -> _Differences | None:
        """Differences among labelled items; None if they cannot be tested."""
        found, squares = [], np.zeros((n_groups + 1, scores.shape[1]))
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
            n, own = len(values), sizes[tested]
            variance = float((values**2).sum() - own @ means[tested] ** 2) / (n - G)
            if variance <= 1e-12 * float(values @ values):
                continue
            between = float(own @ (means[tested] - values.mean()) ** 2) / (G - 1)
            scale = (n - float(own @ own) / n) / (G - 1)
            error = float(np.sqrt(max(between - variance, 0.0) / scale)) / apart
            p_value = float(stats.f.sf(between / variance, G - 1, n - G))
            found.append((p_value, error, error * float(within.mean())))
            noise = variance / apart**2 / np.maximum(sizes, 1e-9)
            squares[:, j] = _expected_squares(means / apart, noise, tested)
        if not found:
            return None
        p_values, errors, points = zip(*found, strict=True)
        return cls(min(1.0, len(found) * min(p_values)), max(errors), max(points), squares)

    def widened(
        self, estimates: Sequence[Estimate], known: Sequence[int]
    ) -> dict[int, Estimate]:
        """Estimates by position, from 1, whose intervals allow for the differences."""
        found = {}
        for i, estimate in enumerate(estimates, 1):
            error = float(np.sqrt(estimate.shares**2 @ self.squares[known[i]]))
            if error > _LEAST_SPREAD:
                posterior = RepeatedPosterior(partial(_widened, estimate.posterior, error))
                posterior.release()
                found[i] = replace(estimate, posterior=posterior)
        return found


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
    found = (worth**2 * away**2 + squared * (1 - worth)) @ chances
    # For a group without labels, the mean square would be that of the largest deviations. A
    # few groups with labels say nothing about others.
    found[-1] = (_SPREADS @ chances) ** 2 if tested.sum() >= _FEWEST_GROUPS else 0.0
    return np.asarray(found)


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
    quantifier: Quantifier,
    evidence: Evidence,
    rows: NDArray[Any],
    sample: NDArray[Any],
    random_state: int,
) -> Estimate:
    """Estimate of a group by the same method, fitted on the scores of its labelled items."""
    classes, training = quantifier.classes_, evidence.training
    known = Scored(np.asarray(training.items)[rows], classes)
    own: Any = clone(quantifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcountWarning)
        own.fit(known, classes[training.codes[rows]])
        new = Scored(evidence.posteriors[sample], classes)
        estimate: Estimate = own.estimate(new, random_state=random_state)
    return estimate


@dataclass(frozen=True, eq=False)
class _Counting:
    """Mean posteriors, corrected by effects of the groups.

    If the mix of all items has changed, the odds of the classes are taken to have changed by
    the same factors in every group. A class without labels in a group with at least 20 has at
    most the share that their number leaves possible, as a group may exclude a class.

    Attributes
    ----------
    posteriors : ndarray of shape (n, K)
        Calibrated posteriors of the new items.
    p_value : float
        Chance of differences as large as those of the groups without any effects.
    counts : ndarray of shape (G, K)
        Number of labelled items of each class per group.
    effects : GroupEffects
        Effects of the groups.
    odds : ndarray of shape (M, K)
        Factors of the odds of the classes, draws of their distribution.
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
        known = calibrator.transform(scores)
        K = known.shape[1]
        labels = np.eye(K)[codes]
        # A label has mean p and variance p (1 - p), in any group.
        counts, sums, noise = np.zeros((3, n_groups, K))
        np.add.at(counts, members, labels)
        np.add.at(sums, members, labels - known)
        np.add.at(noise, members, known * (1 - known))
        chi2 = (sums**2 / (noise + _UNSEEN)).sum(axis=0)
        return cls(
            calibrator.transform(evidence.posteriors),
            min(1.0, K * float(stats.chi2.sf(chi2, n_groups).min())),
            counts,
            GroupEffects.of(known, codes, members, n_groups),
            mixes / np.maximum(labels.mean(axis=0), 1e-12),
        )

    @property
    def holds(self) -> bool:
        """True if posteriors agree with the labels of all groups."""
        return self.p_value >= _LEVEL

    def estimate(
        self, quantifier: Quantifier, sample: NDArray[Any], group: int, seed: int
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
