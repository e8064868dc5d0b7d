"""History: which reading of the data held in labelled groups, and how far each was off.

New items can be read in several ways. The shares may be those of the past. The class of an item
may depend on its features as before (covariate shift), so the mean posteriors are right. Only
the mix of the classes may have changed (prior shift), so the estimate of the method is right.
Unlabelled items do not tell which reading holds, but labelled groups do: months or sites with
known shares, estimated by models that have not seen them.

The log odds of the true shares of a group differ from those of a reading by a drift, which is
normal with mean zero. Its standard deviation is unknown: each class has one, near one that the
classes share. One group in twenty is odd, whatever the reading. Labelled groups update the
drifts, and the chance of each reading, by Bayes' rule. A new group is estimated by the mixture
of all readings (Bayesian model averaging: Hoeting et al., Statistical Science 14, 1999). Priors
are those that held on real dated datasets (benchmarks/dated.py).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Literal

import numpy as np
from scipy.special import ndtri

from headcount._support.arrays import Floats, Ints
from headcount.estimates.assumption import BROKEN_LEVEL, FAR, UNLIKE, FitTest
from headcount.estimates.conditioning import RepeatedPosterior, SharePosterior
from headcount.estimates.estimate import Estimate

PAST, LAST, POSTERIORS, COUNTS, PRIOR_SHIFT = (
    "past mean", "last share", "mean posteriors", "counts", "prior shift",
)  # fmt: skip
"""Readings of the data, by name."""
IN_WORDS = {
    PAST: "the mean share of the past",
    LAST: "the last labelled share",
    POSTERIORS: "mean posteriors",
    COUNTS: "counts of predicted classes",
    PRIOR_SHIFT: "the prior-shift estimate",
}
"""Readings of the data, in the words of a sentence."""
MEANINGS = {
    PAST: "the shares are those of the past",
    LAST: "the shares are those of the last labelled group",
    POSTERIORS: "the class of an item depends on its features as before",
    COUNTS: "the classifier errs as often in both directions",
    PRIOR_SHIFT: "only the mix of the classes has changed",
}
"""What is true if a reading holds."""

# Chances of the readings before labelled groups are seen, and without any: if the new items
# look like a mixture of the labelled classes, and if they do not.
_BEFORE = {PAST: 1.0, LAST: 0.8, POSTERIORS: 3.0, COUNTS: 0.5, PRIOR_SHIFT: 0.6}
_ALONE = {PAST: 0.1, LAST: 0.02, POSTERIORS: 0.4, COUNTS: 0.02, PRIOR_SHIFT: 0.5}
_ALONE_UNLIKE = {PAST: 0.3, LAST: 0.02, POSTERIORS: 0.6, COUNTS: 0.02, PRIOR_SHIFT: 0.1}
# Standard deviations of the drift of log odds: the median and the spread of their logarithms
# before labelled groups are seen and without any, and the spread between classes.
_DRIFTS = np.geomspace(0.01, 4.0, 20)
_MEDIAN, _SPREAD = 0.3, 0.8
_MEDIAN_ALONE, _SPREAD_ALONE = 0.15, 0.6
_BETWEEN_CLASSES = 1.0
# Variance of a class given the posterior of an item, as a fraction of that without, from which
# on the method is less likely right without any labelled groups, and at which its chance is the
# least. Errors of prior-shift estimates grow as the classes are hard to tell apart, whatever
# drifts: on 44 columns of groups of real data (benchmarks/dated.py), those of mean posteriors
# are a third of them, and two thirds for items with the mixes of these groups and no drift.
# Below it, scores leave less room for drift and for the shares of the past.
_TOLD_APART, _HARDLY, _LEAST_CHANCE = 0.65, 0.95, 0.1
# Correlation between the drift of the labelled and of the new items of a group.
_LASTING = 0.9
# Growth of the variance of the drift with each further group after the last labelled one.
_GROWTH = 0.2
# Chance that a group is odd: a share of a labelled one may be anything, and labelled groups say
# nothing about a new one. It grows with the squared distance of the items from any mix of the
# labelled classes, in standard deviations.
_ODD, _ODD_BY_DISTANCE, _MOST_ODD = 0.04, 0.1, 0.5
# Distance from which on there is a warning.
_FAR = 1.0
# Evidence of the last labelled group of a sequence, relative to that of the first: what held
# lately matters more.
_RECENCY = math.e
# Where readings disagree more than this many times as much as in labelled groups, intervals are
# cautious, as these groups may say little about which of them holds. A disagreement that
# counts, in log odds.
_REACH_OF_INTERVALS, _DISAGREEMENT = 1.2, 0.15
# Where labelled groups and the new items look like mixtures of classes that are told apart, the
# method is likelier right by this factor, and shares are cautious as well, if readings disagree
# this many times as much.
_ALIKE, _REACH_IF_ALIKE, _MOST_UNLIKE = 5.0, 2.0, 1 / 3
# Below it, and as near to 1, drifts are on the scale of shares, so that a class that was absent
# may appear.
_LEAST_SHARE = 0.015
_TINY = 1e-5
_N_DRAWS = 1000

Looks = Literal["alike", "unlike", "unknown"]
"""Whether new items look like a mixture of the labelled classes, as labelled groups do."""


@dataclass(frozen=True, eq=False)
class Readings:
    """Shares of samples under each reading, and their sampling errors, (M, S, K).

    `steps` is the distance of each sample from the last labelled group, 1 for the next one.
    """

    names: tuple[str, ...]
    shares: Floats
    errors: Floats
    steps: Floats

    @classmethod
    def joined(cls, parts: Sequence[Readings]) -> Readings:
        """Readings of the samples of all parts."""
        return cls(
            parts[0].names,
            np.concatenate([readings.shares for readings in parts], axis=1),
            np.concatenate([readings.errors for readings in parts], axis=1),
            np.concatenate([readings.steps for readings in parts]),
        )

    def of(self, places: Sequence[int] | Ints) -> Readings:
        """Readings of some samples."""
        columns = np.asarray(places, np.int64)
        return Readings(
            self.names, self.shares[:, columns], self.errors[:, columns], self.steps[columns]
        )

    @cached_property
    def slopes(self) -> Floats:
        """Change of shares per unit of log odds."""
        shares = np.clip(self.shares, _LEAST_SHARE, 1 - _LEAST_SHARE)
        return np.asarray(shares * (1 - shares))

    @cached_property
    def counted_items(self) -> Floats:
        """Numbers of items whose counts would have the sampling errors."""
        return np.asarray(np.maximum(self.slopes / self.errors**2, 1))

    @cached_property
    def growth(self) -> Floats:
        """Variance of the drift at the distance of each sample, relative to the next one."""
        return np.asarray(1 + _GROWTH * (self.steps - 1))

    @cached_property
    def disagreements(self) -> Floats:
        """Squared distances of readings in log odds beyond what chance explains, (2, S).

        Of the mean posteriors from the past, and from the prior-shift estimate.
        """
        if POSTERIORS not in self.names:
            return np.zeros((2, self.shares.shape[1]))
        shares = np.clip(self.shares, _LEAST_SHARE, 1 - _LEAST_SHARE)
        log_odds, noise = np.log(shares / (1 - shares)), (self.errors / self.slopes) ** 2
        posteriors = log_odds[self.names.index(POSTERIORS)]
        compared = [self.names.index(name) for name in (PAST, PRIOR_SHIFT)]
        return np.asarray(
            ((log_odds[compared] - posteriors) ** 2 - noise[compared]).mean(axis=2)
        )


@dataclass(frozen=True, eq=False)
class ScoreMeans:
    """Mean posteriors of samples, and shares of the classes predicted by them, (S, K)."""

    posteriors: Floats
    counts: Floats

    def of(self, places: Sequence[int]) -> ScoreMeans:
        """Means of some samples."""
        return ScoreMeans(self.posteriors[places], self.counts[places])


def read_samples(
    under_shift: Sequence[Estimate],
    means: ScoreMeans | None,
    past: Floats,
    last: Floats | None,
    uncertainty: Floats,
    steps: Floats,
) -> Readings:
    """Readings of samples.

    `means` is None if there are no posteriors, `last` if the groups are not a sequence.
    `uncertainty` is the variance of a class given the posterior of an item, as a fraction of
    the variance without.
    """
    sizes = np.array([estimate.n_effective or estimate.n_items for estimate in under_shift])
    S, K = len(sizes), len(past)
    by_name = {PAST: np.broadcast_to(past, (S, K))}
    if last is not None:
        by_name[LAST] = np.broadcast_to(last, (S, K))
    errors = {name: _counting_errors(shares, sizes) for name, shares in by_name.items()}
    least = np.zeros((S, K))
    if means is not None:
        least = _counting_errors(means.posteriors, sizes) * np.sqrt(uncertainty)
        by_name |= {POSTERIORS: means.posteriors, COUNTS: means.counts}
        errors |= {POSTERIORS: least, COUNTS: least}
    by_name[PRIOR_SHIFT] = np.stack([estimate.shares for estimate in under_shift])
    spreads = np.stack([estimate.posterior.draws.std(axis=0) for estimate in under_shift])
    errors[PRIOR_SHIFT] = np.maximum(spreads, least)
    names = tuple(by_name)
    return Readings(
        names,
        np.stack([by_name[name] for name in names]),
        np.stack([errors[name] for name in names]),
        steps,
    )


def _counting_errors(shares: Floats, sizes: Floats) -> Floats:
    """Standard errors of shares among as many items, at least those of a quarter of an item."""
    n = sizes[:, None]
    return np.asarray(np.sqrt(np.maximum(shares * (1 - shares), 0.25 / n) / n))


def remaining_uncertainty(posteriors: Floats, codes: Ints) -> Floats:
    """Variance of a class given the posterior of an item, as a fraction of that without.

    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]])
    >>> remaining_uncertainty(P, np.array([0, 0, 1, 1])).round(2)
    array([0.02, 0.02])
    """
    labels = np.eye(posteriors.shape[1])[codes]
    labels -= labels.mean(axis=0)
    away = posteriors - posteriors.mean(axis=0)
    product = np.maximum((away**2).sum(axis=0) * (labels**2).sum(axis=0), _TINY**2)
    return np.asarray(np.clip(1 - (away * labels).sum(axis=0) ** 2 / product, 0.01, 1.0))


def unexplained_variance(uncertainty: Floats, shares: Floats) -> float:
    """Mean uncertainty given the posteriors, of classes with some shares in the past."""
    return float(np.average(uncertainty, weights=shares * (1 - shares)))


def chance_of_method(uncertainty: Floats, shares: Floats) -> float:
    """Chance that a method is right, relative to that where classes are told apart."""
    unexplained = unexplained_variance(uncertainty, shares)
    return float(np.clip((_HARDLY - unexplained) / (_HARDLY - _TOLD_APART), _LEAST_CHANCE, 1.0))


@dataclass(frozen=True, eq=False)
class Drift:
    """How far each reading is off, as labelled groups show it.

    `sizes` are the chances of the common drift before the groups are seen, (T,). `likelihoods`
    are logarithms by reading, drift, group and class, (M, T, G, K), `disagreements` those
    between readings, (2, G), `residuals` the drift of each group and `noise` its variance by
    chance, (M, G, K). `in_method` is a factor of the chance that the method is right.
    `p_values` are those of the assumption test of each group, none if classes are hardly told
    apart, as it finds little then. `in_past` is a factor of the chance that shares are those of
    the past.

    >>> import numpy as np
    >>> shares = np.array([[[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]],
    ...                    [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]]])
    >>> readings = Readings((PAST, PRIOR_SHIFT), shares, np.full((2, 3, 2), 0.01), np.ones(3))
    >>> truth = np.array([[0.62, 0.38], [0.31, 0.69], [0.79, 0.21]])
    >>> drift = Drift.learn(readings, truth, ["May", "June", "July"])
    >>> dict(zip(drift.names, drift.weights.round(2).tolist()))
    {'past mean': 0.0, 'prior shift': 1.0}
    """

    names: tuple[str, ...]
    sizes: Floats
    likelihoods: Floats
    disagreements: Floats
    groups: tuple[Hashable, ...]
    residuals: Floats
    noise: Floats
    in_method: float = 1.0
    p_values: Floats | None = None
    in_past: float = 1.0

    @classmethod
    def learn(
        cls,
        readings: Readings,
        truth: Floats,
        groups: Sequence[Hashable],
        in_method: float = 1.0,
        p_values: Floats | None = None,
    ) -> Drift:
        """Drift of readings of labelled groups with known shares, (G, K)."""
        slopes, away = readings.slopes, truth - readings.shares
        drift = _DRIFTS[:, None, None] * slopes[:, None] * np.sqrt(readings.growth)[:, None]
        variance = drift**2 + readings.errors[:, None] ** 2
        usual = -0.5 * (away[:, None] ** 2 / variance + np.log(2 * np.pi * variance))
        return cls(
            readings.names,
            _lognormal(_MEDIAN, _SPREAD),
            # A share that may be anything is up to 1 away in either direction.
            np.logaddexp(np.log(1 - _ODD) + usual, np.log(_ODD / 2)),
            readings.disagreements,
            tuple(groups),
            away / slopes,
            (readings.errors / slopes) ** 2,
            in_method,
            p_values,
        )

    @classmethod
    def usual(cls, readings: Readings, in_method: float = 1.0, room: float = 1.0) -> Drift:
        """Drift that is usual, where no groups are labelled.

        `room` is a factor of its variance and of the chance of the shares of the past.
        """
        no_truth = np.empty((0, readings.shares.shape[2]))
        nothing = cls.learn(readings.of([]), no_truth, (), in_method)
        sizes = _lognormal(_MEDIAN_ALONE * np.sqrt(room), _SPREAD_ALONE)
        return replace(nothing, sizes=sizes, in_past=room)

    def only(self, places: Sequence[int] | Ints) -> Drift:
        """What some of the labelled groups show."""
        chosen = np.asarray(places, np.int64)
        return replace(
            self,
            likelihoods=self.likelihoods[:, :, chosen],
            disagreements=self.disagreements[:, chosen],
            groups=tuple(self.groups[place] for place in chosen),
            residuals=self.residuals[:, chosen],
            noise=self.noise[:, chosen],
            p_values=None if self.p_values is None else self.p_values[chosen],
        )

    def with_groups(self, later: Drift) -> Drift:
        """What these and further labelled groups show."""
        p_values = None
        if self.p_values is not None and later.p_values is not None:
            p_values = np.concatenate([self.p_values, later.p_values])
        return replace(
            self,
            likelihoods=np.concatenate([self.likelihoods, later.likelihoods], axis=2),
            disagreements=np.concatenate([self.disagreements, later.disagreements], axis=1),
            groups=self.groups + later.groups,
            residuals=np.concatenate([self.residuals, later.residuals], axis=1),
            noise=np.concatenate([self.noise, later.noise], axis=1),
            p_values=p_values,
        )

    @property
    def weights(self) -> Floats:
        """Chance of each reading, given the labelled groups."""
        return self._chances(1.0, "alike" if self._are_alike else "unknown").readings

    @cached_property
    def _are_alike(self) -> bool:
        """True if labelled groups look like mixtures of the classes, which are told apart."""
        p_values = np.empty(0) if self.p_values is None else self.p_values
        enough = len(p_values) > 1 and not np.isnan(p_values).any()
        return enough and bool((p_values < BROKEN_LEVEL).mean() < _MOST_UNLIKE)

    def _looks(self, test: FitTest | None) -> Looks:
        """Kind of look that new items have, by the test of the assumption."""
        if _rejects(test):
            return "unlike"
        return "unknown" if test is None or not self._are_alike else "alike"

    @cached_property
    def _evidence(self) -> Floats:
        """Evidence of each labelled group, one on average: more of the later of a sequence."""
        G = len(self.groups)
        if G < 2 or LAST not in self.names:
            return np.ones(G)
        evidence = np.geomspace(1.0, _RECENCY, G)
        return np.asarray(evidence / evidence.mean())

    def _trust(self, disagreements: Floats, reach: float) -> float:
        """Weight of what labelled groups show, where readings disagree by so much."""
        if not len(self.groups):
            return 0.0
        usual = np.maximum(self.disagreements.mean(axis=1), 0) + _DISAGREEMENT**2
        ratio = float((disagreements / usual).max())
        return round(min(1.0, reach**2 / max(ratio, _TINY)), 2)

    def _chances(self, trust: float, looks: Looks) -> Chances:
        """Chances given the labelled groups, as far as these are trusted."""
        K = self.likelihoods.shape[3]
        near = _near_one_another()
        log = trust * (self.likelihoods * self._evidence[:, None]).sum(axis=2)
        highest = log.max(axis=1, keepdims=True)
        relative = np.exp(log - highest)
        # Likelihood of the common drift in each class, over the drifts of the class.
        of_class = np.einsum("ct,mtk->mck", near, relative)
        # The shares of K classes are K - 1 numbers.
        of_common = (np.log(of_class) + highest).sum(axis=2) * (K - 1) / K
        alone = self._preferences(_ALONE_UNLIKE if looks == "unlike" else _ALONE, looks)
        before = self._preferences(_BEFORE, looks)
        log_chances = trust * np.log(before) + (1 - trust) * np.log(alone)
        joint = log_chances[:, None] + np.log(self.sizes) + of_common
        joint -= joint.max()
        weights = np.exp(joint).sum(axis=1)
        of_reading = np.exp(joint - joint.max(axis=1, keepdims=True))
        common = of_reading / of_reading.sum(axis=1, keepdims=True)
        sizes = np.einsum("mck,ct->mtk", common[..., None] / of_class, near) * relative
        return Chances(weights / weights.sum(), sizes)

    def _chances_of_new(self, trust: float, looks: Looks, odd: float) -> Chances:
        """Chances for a new group, which may be odd."""
        usual, alone = self._chances(trust, looks), self._chances(0.0, looks)
        by_reading = ((1 - odd) * usual.readings, odd * alone.readings)
        readings = by_reading[0] + by_reading[1]
        drifts = sum(
            share[:, None, None] * chances.drifts
            for share, chances in zip(by_reading, (usual, alone), strict=True)
        )
        return Chances(readings, drifts / np.maximum(readings, _TINY**2)[:, None, None])

    def _preferences(self, preference: Mapping[str, float], looks: Looks) -> Floats:
        """Chances of the readings before labelled groups are seen."""
        values = np.array([preference[name] for name in self.names])
        factor = _ALIKE if looks == "alike" else 1.0
        values[self.names.index(PRIOR_SHIFT)] *= self.in_method * factor
        values[self.names.index(PAST)] *= self.in_past
        return np.asarray(values / values.sum())

    def estimates(
        self, under_shift: Sequence[Estimate], readings: Readings, groups: Sequence[Hashable]
    ) -> list[HistoryEstimate]:
        """Estimates of samples from all readings; `groups` name those that may have labels."""
        kept = KeptChances(self)
        return [
            self.estimate(estimate, readings, place, groups[place], kept=kept)
            for place, estimate in enumerate(under_shift)
        ]

    def estimate(
        self,
        under_shift: Estimate,
        readings: Readings,
        place: int,
        group: Hashable = None,
        *,
        kept: KeptChances | None = None,
        leaning: KeptChances | None = None,
        follow: bool = False,
    ) -> HistoryEstimate:
        """Estimate of a sample from all readings; `group` names one that may have labels.

        `kept` has the chances of this drift, `leaning` those for shares if they are others.
        `follow` is True if shares are those of the method.
        """
        test = under_shift.fit_test
        mixture, wider = self.mixtures(readings, place, group, test=test, kept=kept)
        if leaning is not None:
            chances = leaning.of_usual(0.0, self._looks(test))
            mixture = replace(mixture, chances=chances)
        draws = RepeatedPosterior(
            lambda: wider.posterior(under_shift.posterior.draws, under_shift.n_items)
        )
        if follow:
            shares = under_shift.shares
        elif mixture is wider:
            shares = median_shares(draws.draws)
        else:
            shares = mixture.median(under_shift.posterior.draws, under_shift.n_items)
        warnings = under_shift.warnings
        if self.groups:
            # Those about the assumption, which the estimate does not need, are left out.
            warnings = tuple(text for text in warnings if not text.startswith(UNLIKE))
            warnings += far_warning(test)
        return HistoryEstimate(
            method=under_shift.method,
            classes=under_shift.classes,
            shares=shares,
            raw=under_shift.raw,
            n_items=under_shift.n_items,
            estimand=under_shift.estimand,
            posterior=draws,
            fit_test=under_shift.fit_test,
            warnings=warnings,
            n_effective=under_shift.n_effective,
            reduction_error=under_shift.reduction_error,
            under_shift=under_shift,
            readings=dict(zip(self.names, readings.shares[:, place], strict=True)),
            weights=dict(zip(self.names, mixture.chances.readings.tolist(), strict=True)),
            n_groups=len(self.groups),
        )

    def mixtures(
        self,
        readings: Readings,
        place: int,
        group: Hashable = None,
        *,
        test: FitTest | None,
        kept: KeptChances | None = None,
    ) -> tuple[ReadingMixture, ReadingMixture]:
        """Distributions of the shares of a sample: for shares, and for intervals if wider.

        `test` is that of the assumption, None if there is none.
        """
        kept = KeptChances(self) if kept is None else kept
        shares, disagreements = readings.shares[:, place], readings.disagreements[:, place]
        looks = self._looks(test)
        trust = self._trust(disagreements, _REACH_IF_ALIKE if looks == "alike" else np.inf)
        cautious = self._trust(disagreements, _REACH_OF_INTERVALS)
        wider = ReadingMixture(
            kept.of_new(cautious, looks, _chance_of_odd(test)),
            shares,
            readings.counted_items[:, place],
            *self._effects(group, shares.shape[1], float(readings.growth[place])),
            self.names.index(PRIOR_SHIFT),
        )
        if trust == cautious:
            return wider, wider
        return replace(wider, chances=kept.of_usual(trust, looks)), wider

    def _effects(self, group: Hashable, n_classes: int, growth: float) -> tuple[Floats, Floats]:
        """Expected effect on log odds and its variance, by reading and drift, (M, T, K)."""
        shape = (len(self.names), len(_DRIFTS), n_classes)
        variance = np.broadcast_to(_DRIFTS[:, None] ** 2, shape)
        if group not in self.groups:
            return np.zeros(shape), variance * growth
        place = self.groups.index(group)
        noise, residuals = self.noise[:, None, place], self.residuals[:, None, place]
        lasting = _LASTING * variance / (variance + noise)
        return residuals * lasting, variance * (1 - _LASTING * lasting)


def _rejects(test: FitTest | None) -> bool:
    """True if the items do not look like a mix of the labelled classes."""
    return test is not None and test.p_value < BROKEN_LEVEL


def distance_from_mixes(test: FitTest | None) -> float:
    """Distance of the items from the nearest mix of the labelled classes.

    In standard deviations within a class, beyond what chance explains.
    """
    if test is None or np.isnan(test.p_value):
        return 0.0
    return math.sqrt(max(test.statistic - test.df, 0) / test.n)


def _chance_of_odd(test: FitTest | None) -> float:
    """Chance that a new group is odd, in steps."""
    chance = _ODD + _ODD_BY_DISTANCE * distance_from_mixes(test) ** 2
    return round(min(chance, _MOST_ODD), 2)


def far_warning(test: FitTest | None) -> tuple[str, ...]:
    """Warning that new items are so far from labelled ones that these may say little."""
    distance = distance_from_mixes(test)
    if distance < _FAR:
        return ()
    return (
        f"{FAR} ({distance:.2g} standard deviations), so what held in labelled groups may not "
        "hold in it, and its shares may be further off than the interval says: label a few of "
        "its items.",
    )


def _lognormal(median: float, spread: float) -> Floats:
    """Chances of the sizes of the drift."""
    values = np.exp(-0.5 * (np.log(_DRIFTS / median) / spread) ** 2)
    return np.asarray(values / values.sum())


@cache
def _near_one_another() -> Floats:
    """Chances of the drift of a class given the common one, (T, T)."""
    return np.stack([_lognormal(common, _BETWEEN_CLASSES) for common in _DRIFTS])


@dataclass(frozen=True, eq=False)
class Chances:
    """Chances of the readings, (M,), and of the drifts by reading and class, (M, T, K)."""

    readings: Floats
    drifts: Floats

    @cached_property
    def draws(self) -> tuple[Ints, Ints]:
        """Reading of each draw, in ascending order, and the size of the drift by class."""
        evenly = (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS
        ends = np.cumsum(self.readings)
        m = np.searchsorted(ends, evenly * ends[-1])
        levels = _random_numbers(self.drifts.shape[2])[0]
        t = np.empty(levels.shape, np.int64)
        for reading, first in zip(*np.unique(m, return_index=True), strict=True):
            rows = slice(first, np.searchsorted(m, reading, "right"))
            for k in range(levels.shape[1]):
                sums = np.cumsum(self.drifts[reading, :, k])
                t[rows, k] = np.searchsorted(sums[:-1], levels[rows, k] * sums[-1])
        return m, t


class KeptChances:
    """Chances by trust in labelled groups and by looks, which are the same for most samples."""

    def __init__(self, drift: Drift) -> None:
        self.of_usual = cache(drift._chances)
        self.of_new = cache(drift._chances_of_new)


@lru_cache(maxsize=8)
def _random_numbers(n_classes: int) -> tuple[Floats, Floats, Floats]:
    """Those of all samples: of the sizes of drifts, of the drifts and of sampling.

    Each column is evenly spread over its distribution.
    """
    rng = np.random.default_rng(0)
    levels = np.tile((np.arange(_N_DRAWS)[:, None] + 0.5) / _N_DRAWS, 3 * n_classes)
    sizes, drifts, sampling = np.split(rng.permuted(levels, axis=0), 3, axis=1)
    # Two classes have the same size.
    return sizes[:, :1] if n_classes == 2 else sizes, ndtri(drifts), ndtri(sampling)


@dataclass(frozen=True, eq=False)
class ReadingMixture:
    """Distribution of the shares of a sample over readings and sizes of the drift.

    `shares` are those under each reading and `counted_items` the numbers of items with their
    sampling errors, (M, K), `effects` and `variances` those of the drift, (M, T, K). `shifted`
    is the place of the prior-shift reading.
    """

    chances: Chances
    shares: Floats
    counted_items: Floats
    effects: Floats
    variances: Floats
    shifted: int

    def median(self, under_shift: Floats, n_items: int) -> Floats:
        """Medians of the shares, which have the least absolute error, with the sum 1."""
        return median_shares(self.posterior(under_shift, n_items).draws)

    def posterior(self, under_shift: Floats, n_items: int) -> SharePosterior:
        """Draws of the realised shares, the same ones each time.

        `under_shift` are draws of the shares under prior shift.
        """
        (m, t), K = self.chances.draws, self.shares.shape[1]
        _, drifts, sampling = _random_numbers(K)
        shares = self.shares[m]
        first, end = np.searchsorted(m, (self.shifted, self.shifted + 1))
        if first < end:
            # The method has its own distribution, which need not be normal.
            shares[first:end] = np.random.default_rng(0).choice(under_shift, end - first)
        draw, classes = m[:, None], np.arange(K)
        # Effect on the logarithm of a share per effect on its log odds, if all classes drift.
        remaining = 1 - np.clip(shares, _LEAST_SHARE, 1 - _LEAST_SHARE)
        effects = self.effects[draw, t, classes] * remaining
        effects += np.sqrt(self.variances[draw, t, classes] * remaining) * drifts
        shares = _moved(shares, effects)
        # Errors on the scale of shares, as a rare class may have no item.
        errors = np.sqrt(shares / self.counted_items[m]) * sampling
        errors[first:end] = 0
        counted = np.maximum(shares + errors, 0)
        empty = counted.sum(axis=1, keepdims=True) == 0
        draws = _whole_items(np.where(empty, shares, counted), n_items)
        return SharePosterior(draws, np.full(_N_DRAWS, 1 / _N_DRAWS))


@dataclass(frozen=True, eq=False)
class History:
    """What labelled groups say about new ones: the drift, and the shares of the past.

    `drift` is None if there are no labelled groups: then it is what is usual. `labelled` are
    the names of all labelled groups, in their order; none if new groups are of another kind.
    """

    drift: Drift | None
    past: Floats
    last: Floats | None
    uncertainty: Floats
    labelled: tuple[Hashable, ...] = ()

    def estimates(
        self,
        under_shift: Sequence[Estimate],
        means: ScoreMeans | None,
        groups: Sequence[Hashable],
        steps: Floats,
    ) -> list[HistoryEstimate]:
        """Estimates of samples.

        `groups` are their names, of which some may have labels, or None; `steps` their
        distances from the last labelled group, as `steps` returns them.
        """
        readings = read_samples(
            under_shift, means, self.past, self.last, self.uncertainty, steps
        )
        if self.drift is not None:
            return self.drift.estimates(under_shift, readings, groups)
        return self._usual_estimates(under_shift, readings, groups)

    def _usual_estimates(
        self, under_shift: Sequence[Estimate], readings: Readings, groups: Sequence[Hashable]
    ) -> list[HistoryEstimate]:
        """Estimates with the drift that is usual.

        Where nothing speaks against the assumption, shares follow it, intervals do not.
        """
        in_method = room = 1.0
        if POSTERIORS in readings.names:
            in_method = chance_of_method(self.uncertainty, self.past)
            room = min(1.0, unexplained_variance(self.uncertainty, self.past) / _TOLD_APART)
        unlike, usual = Drift.usual(readings), Drift.usual(readings, room=room)
        of_unlike, of_usual = KeptChances(unlike), KeptChances(usual)
        leaning = KeptChances(Drift.usual(readings, in_method, room))
        estimates = []
        for place, (estimate, group) in enumerate(zip(under_shift, groups, strict=True)):
            sample = (estimate, readings, place, group)
            if _rejects(estimate.fit_test):
                estimates.append(unlike.estimate(*sample, kept=of_unlike))
            else:
                revised = usual.estimate(
                    *sample, kept=of_usual, leaning=leaning, follow=in_method == 1
                )
                estimates.append(revised)
        return estimates

    def steps(self, names: Sequence[Hashable]) -> Floats:
        """Distance of all new groups of a sequence from the last labelled one, in order.

        1 for the others, and for groups of another kind than the labelled ones.
        """
        if self.last is None:
            return np.ones(len(names))
        return group_steps(names, self.labelled)


def group_steps(names: Sequence[Hashable], labelled: Sequence[Hashable]) -> Floats:
    """Distance of all new groups of a sequence from the last labelled one, in order."""
    before = set(labelled)
    new = [name for name in names if name is not None and name not in before]
    if not before or not new:
        return np.ones(len(names))
    place: dict[Hashable, float] = {name: float(step) for step, name in enumerate(new, 1)}
    place[None] = (len(new) + 1) / 2
    return np.array([place.get(name, 1.0) for name in names])


def median_shares(draws: Floats) -> Floats:
    """Medians of the shares, with the sum 1."""
    median = np.median(draws, axis=0)
    # Of very many classes, each may be absent from half of the draws.
    shares = median if median.sum() > 0 else draws.mean(axis=0)
    return np.asarray(shares / shares.sum())


def _moved(shares: Floats, effects: Floats) -> Floats:
    """Shares with effects on their logarithms, which are linear below the least share."""
    least = np.log(_LEAST_SHARE)
    logs = np.log(np.maximum(shares, _LEAST_SHARE)) + effects
    logs += np.minimum(shares / _LEAST_SHARE - 1, 0)
    moved = np.exp(np.maximum(logs, least)) + _LEAST_SHARE * np.minimum(logs - least, 0)
    moved = np.maximum(moved, _TINY)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _whole_items(shares: Floats, n_items: int) -> Floats:
    """Shares as whole numbers of items: rounded sums, so that they have the sum 1."""
    sums = np.cumsum(shares, axis=1)
    up_to = np.round(sums / sums[:, -1:] * n_items) / n_items
    out = up_to.copy()
    out[:, 1:] -= up_to[:, :-1]
    return out


@dataclass(frozen=True, eq=False, repr=False)
class HistoryEstimate(Estimate):
    """Shares of the classes in a sample, from the readings that held in labelled groups.

    Attributes
    ----------
    under_shift : Estimate
        The estimate under prior shift alone.
    readings : mapping of str to ndarray of shape (K,)
        Shares under each reading of the data: "past mean", "last share", "mean posteriors",
        "counts" of predicted classes and "prior shift".
    weights : mapping of str to float
        Weight of each reading. They sum to 1.
    n_groups : int
        Number of labelled groups that the weights rest on.
    """

    under_shift: Estimate = field(kw_only=True)
    readings: Mapping[str, Floats] = field(kw_only=True)
    weights: Mapping[str, float] = field(kw_only=True)
    n_groups: int = field(kw_only=True)

    @property
    def basis(self) -> str:
        """Foundation of the shares: the "history" of labelled groups, if there are any."""
        return "history" if self.n_groups else "no history: two readings"

    @property
    def _remarks(self) -> tuple[str, ...]:
        main = sorted(self.weights, key=self.weights.__getitem__, reverse=True)
        listed = ", ".join(
            f"{IN_WORDS[name]} {self.weights[name]:.0%}"
            for name in main
            if self.weights[name] >= 0.005
        )
        n = self.n_groups
        groups = f"{n or 'no'} labelled group{'' if n == 1 else 's'}"
        return (f"Weights of the readings, from {groups}: {listed}.",)
