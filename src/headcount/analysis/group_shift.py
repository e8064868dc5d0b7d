"""Groups whose classes look different: tested on labels, and estimated accordingly.

Shares of a group are estimated under prior shift: within a class, the scores of the group are
those of all labelled items. Groups by a feature, or by what depends on one, break this. If the
labelled table has the groups, labels decide. Where the scores within classes differ, a group is
estimated from its own labelled items, which allows any scores within the classes of a group.
Groups with too few of them are estimated by mean posteriors, corrected by their labels as in
small area estimation (Fay & Herriot, JASA 74, 1979). Groups with hardly any labels are not to
be relied on, unless posteriors agree with the labels of all groups.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from headcount.analysis.groups import Groups
from headcount.analysis.verdict import chance
from headcount.errors import HeadcountWarning
from headcount.quantify import Quantifier
from headcount.quantify.estimation import Evidence
from headcount.scores import Scored, fit_calibrator
from headcount.uncertainty import Estimate
from headcount.uncertainty.shares import SharePosterior

__all__ = ["GroupShift", "examine_groups"]

Floats = NDArray[np.float64]

# Chance of a false alarm of each test, and error of shares below which differences between
# groups do not matter.
_LEVEL, _LEAST_ERROR = 0.01, 0.01
# Labelled items of each class that a group needs to be estimated from its own ones; groups that
# are, at most.
_FEWEST, _MOST_FITS = 20, 200
# Items of a class that a group needs to take part in a test.
_FEWEST_TESTED = 5
_DRAWS = 2000
# Standard deviations of the effects of groups, one that is usual, and the number of labels per
# class that a group may lack by chance (half an item, as in Jeffreys' prior).
_SPREADS = 0.5 * np.linspace(0.01, 1, 40) ** 2
_USUAL_SPREAD, _UNSEEN = 0.05, 0.5
# Draws of the shares of all items.
_MIXES = 20


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
    overall : Estimate, default=None
        Estimate of all new items; None if it is not to be relied on.
    random_state : int, default=0
        Random seed of the intervals.

    Returns
    -------
    GroupShift
    """
    evidence = quantifier.evidence(items)
    if evidence is None or len(evidence.training.codes) != len(labelled):
        return GroupShift({}, {}, "")
    scores, codes = np.asarray(evidence.training.items), evidence.training.codes
    names, members = np.unique(labelled, return_inverse=True)
    p_value, error = _difference(scores, codes, members, len(names))
    if np.isnan(p_value):
        return GroupShift({}, {}, "")
    if p_value >= _LEVEL or error <= _LEAST_ERROR:
        return GroupShift(
            {},
            {},
            f"Within a class, the labelled items of all groups of {groups.column} have similar "
            f"scores ({chance(p_value)}), as the method assumes.",
        )
    sizes = np.zeros((len(names), len(quantifier.classes_)), np.int64)
    np.add.at(sizes, (members, codes), 1)
    place = {name: i for i, name in enumerate(names.tolist())}
    known = [-1, *(place.get(name, -1) for name in groups.names[1:])]
    own = [i for i, k in enumerate(known) if k >= 0 and sizes[k].min() >= _FEWEST][:_MOST_FITS]
    others = [i for i in range(1, len(known)) if i not in set(own)]
    found = {}
    for i in own:
        rows = np.flatnonzero(members == known[i])
        found[i] = _from_own_labels(quantifier, evidence, rows, groups.samples[i], random_state)
    points = f"by about {100 * error:.0f} points" if error < 0.5 else "beyond use"
    said = [
        f"Within a class, labelled items of different groups of {groups.column} have different "
        f"scores ({chance(p_value)}): shares estimated from all of them would be off {points}."
    ]
    if own:
        which = f"{_number(len(own), 'group')}:" if others else "Each group was"
        said.append(f"{which} estimated from labelled items of the same group only.")
    doubts = {}
    if others and not groups.of_time:
        mixes = _mixes(overall, quantifier.prior_)
        counted = _Counting.of(evidence, members, len(names), mixes)
        for i in others:
            if counted.holds or (known[i] >= 0 and sizes[known[i]].sum() >= _FEWEST):
                found[i] = counted.estimate(quantifier, groups.samples[i], known[i], i)
            else:
                doubts[i] = f"fewer than {_FEWEST} labelled items"
        said += _sentences_on_others(len(others) - len(doubts), len(doubts))
    return GroupShift(found, doubts, " ".join(said))


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
            f"{_number(n_doubted, 'group')} with fewer than {_FEWEST} labelled items: do not "
            "rely on the shares."
        )
    return said


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _difference(
    scores: Floats, codes: NDArray[Any], members: NDArray[Any], n_groups: int
) -> tuple[float, float]:
    """p-value of equal mean scores of the groups within classes, and error that follows.

    For each class, an analysis of variance of its posterior over the groups; the p-values are
    corrected for the number of classes. The error is the standard deviation of the group means
    beyond chance, divided by the distance of the class from the others.
    """
    found = []
    for j in range(scores.shape[1]):
        within = codes == j
        values, group = scores[within, j], members[within]
        sizes = np.bincount(group, minlength=n_groups)
        kept = sizes[group] >= _FEWEST_TESTED
        values, group = values[kept], group[kept]
        sizes = np.where(sizes >= _FEWEST_TESTED, sizes, 0)
        there = sizes > 0
        G, n = int(there.sum()), len(values)
        if G < 2:
            continue
        means = np.bincount(group, values, n_groups)[there] / sizes[there]
        residual = values - np.bincount(group, values, n_groups)[group] / sizes[group]
        variance = float(residual @ residual) / (n - G)
        between = float(sizes[there] @ (means - values.mean()) ** 2)
        apart = abs(values.mean() - scores[~within, j].mean())
        if variance <= 0 or apart <= 0:
            continue
        p_value = float(stats.f.sf(between / (G - 1) / variance, G - 1, n - G))
        scale = (n - float(sizes[there] @ sizes[there]) / n) / (G - 1)
        excess = max(between / (G - 1) - variance, 0.0) / scale
        found.append((p_value, float(np.sqrt(excess)) / apart))
    if not found:
        return np.nan, 0.0
    p_values, errors = zip(*found, strict=True)
    return min(1.0, len(found) * min(p_values)), max(errors)


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
    """Mean posteriors, corrected by the labels of each group as far as they are worth it.

    The difference between labels and posteriors of a group is its effect plus chance. Effects
    vary with a standard deviation, whose distribution follows from the differences of all
    groups, and the effect of a group is the difference times the part of its variance that is
    not chance. If the mix of all items has changed, the odds of the classes are taken to have
    changed by the same factors in every group. A class without labels in a group has at most
    the share that the number of labels leaves possible.

    Attributes
    ----------
    posteriors : ndarray of shape (n, K)
        Calibrated posteriors of the new items.
    p_value : float
        Chance of differences as large as those of the groups without any effects.
    counts : ndarray of shape (G, K)
        Number of labelled items of each class per group.
    differences, noise : ndarray of shape (G, K)
        Mean difference between labels and posteriors per group, and its variance by chance.
    chances : ndarray of shape (K, T)
        Probabilities of the standard deviations of effects in ``_SPREADS``.
    odds : ndarray of shape (M, K)
        Factors of the odds of the classes, draws of their distribution.
    """

    posteriors: Floats
    p_value: float
    counts: Floats
    differences: Floats
    noise: Floats
    chances: Floats
    odds: Floats

    @classmethod
    def of(
        cls, evidence: Evidence, members: NDArray[Any], n_groups: int, mixes: Floats
    ) -> _Counting:
        training = evidence.training
        scores = np.asarray(training.items)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadcountWarning)
            calibrator = fit_calibrator("bcts", scores, training.codes)
        known = calibrator.transform(scores)
        K = known.shape[1]
        labels = np.eye(K)[training.codes]
        # A label has mean p and variance p (1 - p), in any group.
        counts, sums, noise = np.zeros((3, n_groups, K))
        np.add.at(counts, members, labels)
        np.add.at(sums, members, labels - known)
        np.add.at(noise, members, known * (1 - known))
        noise += _UNSEEN
        chi2 = (sums**2 / noise).sum(axis=0)
        sizes = counts.sum(axis=1, keepdims=True)
        differences, noise = sums / sizes, noise / sizes**2
        total = noise[:, :, None] + _SPREADS**2
        log = -0.5 * (np.log(total) + differences[:, :, None] ** 2 / total).sum(axis=0)
        chances = np.exp(log - log.max(axis=1, keepdims=True)) / (
            1 + (_SPREADS / _USUAL_SPREAD) ** 2
        )
        return cls(
            calibrator.transform(evidence.posteriors),
            min(1.0, K * float(stats.chi2.sf(chi2, n_groups).min())),
            counts,
            differences,
            noise,
            chances / chances.sum(axis=1, keepdims=True),
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
        n, K = P.shape
        rng = np.random.default_rng(seed)
        odds = np.repeat(self.odds, -(-_DRAWS // len(self.odds)), axis=0)[:_DRAWS]
        draws = np.empty((_DRAWS, K))
        for factors in self.odds:
            moved = P * factors
            moved /= np.maximum(moved.sum(axis=1, keepdims=True), 1e-300)
            covariance = (np.diag(moved.sum(axis=0)) - moved.T @ moved) / n**2
            part = (odds == factors).all(axis=1)
            draws[part] = rng.multivariate_normal(
                moved.mean(axis=0), covariance, int(part.sum()), check_valid="ignore"
            )
        draws = np.clip(draws + self._effects(group, K, rng), 1e-9, None)
        if group >= 0:
            draws = np.minimum(draws, self._largest(self.counts[group], odds, rng))
        draws /= draws.sum(axis=1, keepdims=True)
        posterior = SharePosterior(draws, np.full(_DRAWS, 1 / _DRAWS))
        shares, raw = posterior.mean, P.mean(axis=0)
        return Estimate("PCC", quantifier.classes_, shares, raw, n, "realised", posterior)

    def _effects(self, group: int, K: int, rng: np.random.Generator) -> Floats:
        """Draws of the effect of a group, or of an unknown group, on each class."""
        spread = np.stack([rng.choice(_SPREADS, _DRAWS, p=each) for each in self.chances], 1)
        # Effects sum to zero over the classes, and each has variance 1.
        away = rng.standard_normal((_DRAWS, K))
        away = (away - away.mean(axis=1, keepdims=True)) * np.sqrt(K / (K - 1))
        if group < 0:
            return np.asarray(spread * away)
        worth = spread**2 / (spread**2 + self.noise[group])
        return np.asarray(worth * self.differences[group] + spread * np.sqrt(1 - worth) * away)

    @staticmethod
    def _largest(counts: Floats, odds: Floats, rng: np.random.Generator) -> Floats:
        """Draws of the largest possible share of each class: 1 for classes with labels."""
        n = counts.sum()
        changed = odds / np.maximum(odds @ (counts / n), 1e-300)[:, None]
        possible = rng.beta(0.5, n + 0.5, odds.shape) * changed
        return np.where(counts > 0, 1.0, possible)
