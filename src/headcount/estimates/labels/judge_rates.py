"""Rates that a judge measures, corrected by gold labels of some items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from headcount._support.arrays import Array, Bools, Floats, Ints, indicators
from headcount._support.parameters import check_choice, check_one_each
from headcount._support.text import chance
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Estimand
from headcount.estimates.estimates import Estimates
from headcount.estimates.labels.difference import ConfidenceSequence, Difference
from headcount.estimates.labels.from_labels import Agreement, agreement_of
from headcount.estimates.labels.judge_errors import Calibration, RateEstimate, SliceTest
from headcount.estimates.labels.judge_result import Contribution, JudgedEstimate, JudgeResult
from headcount.estimates.labels.sample import (
    LabelSample,
    effective_size,
    population_variance,
    sums_by,
)
from headcount.items.arrays import (
    Verdicts,
    check_clusters,
    check_weights,
    encode_labels,
    plain_column,
)
from headcount.metrics.agreement import AgreementStatistic, agreement_statistics

# Gold labels of a group from which its own are used rather than rates from elsewhere.
_ENOUGH = 20
# P-value below which items with gold do not look like a random sample.
_NOT_RANDOM = 1e-3
# Chance, under random labels, below which too few labels of a verdict are not bad luck. What
# passes for bad luck is a part of at most about 3 / n, as are errors that no label shows.
_NOT_LUCK = 0.05


def correct_verdicts(
    verdicts: Any,
    gold: ArrayLike,
    *,
    by: ArrayLike | None = None,
    calibration: tuple[Any, ...] | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    estimand: str = "expected",
    positive: Any = None,
    mean: bool | None = None,
    scale: tuple[float, float] | None = None,
    order: ArrayLike | None = None,
) -> JudgeResult:
    """Correct the rates that a judge measures, by gold labels of some items."""
    check_choice("estimand", estimand, ("realised", "expected"))
    if mean is None:
        mean = scale is not None or has_many_values(gold)
    items = _JudgedItems.of(verdicts, gold, by, calibration, clusters, weights, mean, scale)
    if positive is not None and (mean or positive not in items.classes.tolist()):
        raise HeadcountError(
            f"positive is {positive!r}, but a mean has no classes: leave it out."
            if mean
            else f"positive is {positive!r}; it must be one of the classes, which are "
            f"{', '.join(map(repr, items.classes.tolist()))}."
        )
    if order is not None:
        items = replace(items, order=_label_order(order, items, estimand))
    slices = None if mean else items.slices()
    estimates = {
        name: _group(
            items, g, name, "realised" if estimand == "realised" else "expected", slices
        )
        for g, name in enumerate(items.names)
    }
    sources = {}
    has_gold = items.gold >= 0
    if has_gold.any() and not mean:
        sources["gold"] = items.calibrated(has_gold)
    if items.calibration is not None:
        sources["calibration"] = items.calibration
    return JudgeResult(
        items.classes,
        items.kinds.names,
        Estimates(estimates),
        sources,
        positive,
        scale=(float(items.classes[0]), float(items.classes[1])) if mean else None,
        slices=slices,
        contributions=_contributions(items, positive),
        agreements=items.agreements(),
    )


@dataclass(frozen=True, eq=False)
class _JudgedItems:
    """Checked items, numbered.

    `judges` maps names to kinds and columns of verdicts; `kinds` and `verdicts` are those of
    the first. `outcomes` (n, K) are 0 and 1 for classes, and for means the parts of a number
    from 0 to 1 that it has of both ends of its scale.
    """

    judges: Mapping[str, tuple[VerdictKinds, Any]]
    classes: Array
    verdicts: Ints
    gold: Ints
    outcomes: Floats
    is_mean: bool
    groups: Ints
    names: tuple[Any, ...]
    calibration: Calibration | None
    clusters: Ints | None
    weights: Floats | None
    order: Ints | None = None

    @classmethod
    def of(
        cls,
        verdicts: Any,
        gold: Any,
        by: Any,
        calibration: Any,
        clusters: Any,
        weights: Any,
        mean: bool,
        scale: tuple[float, float] | None,
    ) -> _JudgedItems:
        pair = None if calibration is None else _pair(calibration)
        columns = verdicts if isinstance(verdicts, Mapping) else {"judge": verdicts}
        _check_one(columns, pair is not None, mean)
        first = next(iter(columns.values()))
        judges = {
            name: (VerdictKinds.of(column, *([] if pair is None else [pair[0]])), column)
            for name, column in columns.items()
        }
        codes = next(iter(judges.values()))[0].codes(first, "verdicts")
        n = len(codes)
        for name, column in columns.items():
            check_one_each(f"verdicts {name!r}", column, n, "verdict")
        if mean:
            ends, places = gold_numbers(gold, scale)
            classes, truth = np.array(ends), np.where(np.isnan(places), -1, 0)
            outcomes = np.column_stack([1 - places, places])
        else:
            classes = gold_codes(gold, "gold")[0]
            if pair is not None:
                classes = _joined(classes, gold_codes(pair[1], "gold of calibration")[0])
            classes, truth = gold_codes(gold, "gold", classes)
            outcomes = indicators(truth, len(classes))
        check_one_each("gold", truth, n, "verdict")
        _check_gold(truth, classes, pair is not None)
        names: tuple[Any, ...] = ("all",)
        groups = np.zeros(n, np.int64)
        if by is not None:
            labels, groups = encode_labels(by, name="by")
            names = tuple(labels.tolist())
            check_one_each("by", groups, n, "verdict")
        kinds = next(iter(judges.values()))[0]
        return cls(
            judges,
            classes,
            codes,
            truth,
            outcomes,
            mean,
            groups,
            names,
            None if pair is None else _calibration(pair, kinds, classes, codes),
            check_clusters(clusters, n),
            None if weights is None else check_weights(weights, n),
        )

    @property
    def kinds(self) -> VerdictKinds:
        """Kinds of the verdicts of the first judge."""
        return next(iter(self.judges.values()))[0]

    def only(self, names: Sequence[str]) -> _JudgedItems:
        """The same items with the verdicts of some judges, the first of which makes strata."""
        judges = {name: self.judges[name] for name in names}
        kinds, column = judges[names[0]]
        return replace(self, judges=judges, verdicts=kinds.codes(column, "verdicts"))

    @cached_property
    def predictions(self) -> tuple[Floats, Floats] | None:
        """Outcomes that several judges, or scores, predict: of all items, and out of fold."""
        if len(self.judges) == 1 and self.kinds.edges is None:
            return None
        rows = np.flatnonzero(self.gold >= 0).astype(np.int64)
        features = [feature_columns(kinds, column) for kinds, column in self.judges.values()]
        everywhere, out_of_fold = cross_fitted(
            np.column_stack(features), self.outcomes[rows], rows, self.clusters
        )
        unseen = everywhere.copy()
        unseen[rows] = out_of_fold
        return everywhere, unseen

    def slices(self) -> SliceTest | None:
        """Test whether the judge errs alike in all groups, from the gold labels."""
        rows = np.flatnonzero(self.gold >= 0)
        if len(np.unique(self.groups[rows])) < 2:
            return None
        return SliceTest.of(
            self.gold[rows],
            self.verdicts[rows],
            self.groups[rows],
            None if self.clusters is None else self.clusters[rows],
            (len(self.classes), len(self.kinds.names)),
        )

    def agreements(self) -> dict[str, list[AgreementStatistic]]:
        """Agreement of each judge with the gold labels, where both share some names."""
        rows, classes = np.flatnonzero(self.gold >= 0), self.classes.tolist()
        result = {}
        for name, (kinds, column) in self.judges.items():
            named = kinds.edges is None and not set(kinds.names).isdisjoint(classes)
            if self.is_mean or not named or len(rows) < 2:
                continue
            # A verdict that no gold label has, such as "unsure", agrees with none.
            names = sorted({*classes, *kinds.names})
            gold, verdicts = (
                np.array([names.index(label) for label in labels])[codes]
                for labels, codes in (
                    (classes, self.gold[rows]),
                    (kinds.names, kinds.codes(column, "verdicts")[rows]),
                )
            )
            is_ordered = self.classes.dtype.kind in "iuf" and len(self.classes) > 2
            result[name] = agreement_statistics(
                np.column_stack([gold, verdicts]),
                weights="linear" if is_ordered else None,
                clusters=None if self.clusters is None else self.clusters[rows],
            )
        return result

    def calibrated(self, members: Bools) -> Calibration:
        """Verdicts by true class on items with gold, weighted by what they stand for."""
        V = len(self.kinds.names)
        rows = np.flatnonzero(members & (self.gold >= 0))
        mass = np.ones(len(self.gold)) if self.weights is None else self.weights
        cell = self.groups * V + self.verdicts
        all_items = np.bincount(cell, mass)
        labelled = np.bincount(cell[rows], mass[rows], len(all_items))
        stands_for = mass[rows] * all_items[cell[rows]] / labelled[cell[rows]]
        clusters = None if self.clusters is None else self.clusters[rows]
        return Calibration.of(
            self.gold[rows], self.verdicts[rows], len(self.classes), V, stands_for, clusters
        )

    def estimated(self, members: Bools, calibration: Calibration) -> RateEstimate:
        """Shares of some items from the rates of a calibration set."""
        rows = np.flatnonzero(members)
        one_hot = self.one_hot(rows)
        weights, clusters = self.survey(rows)
        verdict_shares = np.average(one_hot, axis=0, weights=weights)
        size = effective_size(len(rows), weights, clusters, one_hot)
        return RateEstimate.of(calibration, verdict_shares, size)

    def survey(self, rows: Ints) -> tuple[Floats | None, Ints | None]:
        """Weights of some items, and their clusters, numbered from 0."""
        clusters = None
        if self.clusters is not None:
            clusters = np.unique(self.clusters[rows], return_inverse=True)[1].astype(np.int64)
        return None if self.weights is None else self.weights[rows], clusters

    def part(self, members: Bools, verdicts: list[int]) -> float:
        """Part of some items that has one of these verdicts, by weight."""
        mass = np.ones(len(self.gold)) if self.weights is None else self.weights
        with_verdict = members & np.isin(self.verdicts, verdicts)
        return float(mass[with_verdict].sum() / mass[members].sum())

    def one_hot(self, rows: Ints) -> Floats:
        """Kinds of verdicts of some items as columns of 0 and 1."""
        return indicators(self.verdicts[rows], len(self.kinds.names))


def _group(
    items: _JudgedItems, g: int, name: Any, estimand: Estimand, slices: SliceTest | None
) -> JudgedEstimate:
    """Corrected rates of one group."""
    members = items.groups == g
    n_gold = int((members & (items.gold >= 0)).sum())
    learnt, source = items.calibration, "the calibration set"
    elsewhere = ~members & (items.gold >= 0)
    gold_elsewhere = items.gold[elsewhere]
    few = learnt is None and n_gold < _ENOUGH and not items.is_mean and items.order is None
    if few and _has_all(gold_elsewhere, items.classes):
        between = None if slices is None else slices.between
        learnt = replace(items.calibrated(elsewhere), between=between)
        source = "the gold labels of the other groups"
    by_rates = None if learnt is None else items.estimated(members, learnt)
    by_labels: Difference | None = None
    influence: Floats | None = None
    notes: list[str] = []
    if n_gold >= max(2, len(items.classes)) and (n_gold >= _ENOUGH or by_rates is None):
        by_labels, influence, notes = _from_gold(items, members, estimand)
    if by_labels is None and by_rates is None:
        raise HeadcountError(
            f"group {name!r} has {n_gold} gold labels for {len(items.classes)} classes: label "
            f"at least {max(2, len(items.classes))} of its items, or pass a calibration set."
        )
    agreement: Agreement | None = None
    if by_labels is not None and by_rates is not None:
        agreement = agreement_of(by_labels, by_rates.centre, by_rates.covariance)
    if by_labels is None and by_rates is not None and not by_rates.informative:
        notes.append(
            "The verdicts hardly depend on the true class, so they say nothing about the "
            "rates: take gold labels of these items."
        )
    slices_of_judge = slices if items.calibration is None else None
    mass = np.ones(len(members)) if items.weights is None else items.weights
    return JudgedEstimate.of(
        name,
        items.classes,
        int(members.sum()),
        estimand,
        _raw(items, members, mass),
        by_labels,
        by_rates,
        tuple(notes),
        n_gold=n_gold,
        reason=_reason(n_gold, source if by_labels is None else "", slices_of_judge),
        agreement=agreement,
        influence=influence,
        sequence=_sequence(items, members),
    )


def _reason(n_gold: int, source: str, slices: SliceTest | None) -> str:
    """What corrects the verdicts of a group: its gold labels, or errors known from a source."""
    if not source:
        return (
            f"{n_gold:,} of its items have gold labels. They correct the verdicts under any "
            "shift, if they are a random part."
        )
    has = f"has {n_gold or 'no'} gold label{'' if n_gold == 1 else 's'}"
    alike = "if the judge errs on both alike."
    if slices is not None and slices.differ:
        alike = (
            f"whose errors differ between groups ({chance(slices.p_value)}); the interval "
            "allows for as much."
        )
    corrected = f"Its verdicts are corrected by the judge's errors on {source}, {alike}"
    return f"The group {has}. {corrected}"


def _from_gold(
    items: _JudgedItems, members: Bools, estimand: Estimand
) -> tuple[Difference, Floats | None, list[str]]:
    """Shares of a group from its gold labels, by verdict, and their deviations by cluster."""
    K = len(items.classes)
    rows, strata, sizes, unlabelled = _strata(items, members)
    if len(rows) < max(2, K):
        raise HeadcountError(
            f"all gold labels but {len(rows)} have a verdict with a single label: label at "
            "least two items of each verdict."
        )
    sample = LabelSample.stratified(rows, strata, sizes, items.weights, items.clusters)
    if sample.clusters is not None and sample.clusters.max() < 1:
        raise HeadcountError(
            "all gold labels of a group are from one cluster: label items of at least two."
        )
    counts = np.bincount(strata, minlength=len(sizes))[:, None]
    outcomes = items.outcomes[rows]
    residuals, predicted = outcomes, np.zeros(K)
    means = (sums_by(outcomes, strata, len(sizes)) + 0.5) / (counts + 0.5 * K)
    mass = means[strata]
    if items.predictions is not None:
        everywhere, unseen = items.predictions
        residuals = outcomes - unseen[rows]
        with_labels = members & ~np.isin(items.verdicts, unlabelled)
        survey_weights = None if items.weights is None else items.weights[with_labels]
        predicted = np.average(everywhere[with_labels], axis=0, weights=survey_weights)
        mass = np.clip(unseen[rows], 0.0, 1.0)
    difference = Difference.of(sample, residuals, predicted, mass)
    spread = _spread_of_means(outcomes, sample.weights) if items.is_mean else 1.0
    # Room for errors that no label shows: those of numbers are shorter than from 0 to 1.
    room = float(np.sqrt(spread))
    difference = replace(difference, up=room * difference.up, down=room * difference.down)
    blind = items.part(members, unlabelled)
    if blind:
        difference = difference.with_blind(blind)
    if estimand == "expected":
        every = np.flatnonzero(members)
        variance = population_variance(
            difference.centre, items.one_hot(every), *items.survey(every), sample, outcomes
        )
        difference = replace(difference, population=spread * variance)
    influence = None
    if items.clusters is not None:
        inner = sums_by(residuals, strata, len(sizes)) / counts
        deviations = (1 - blind) * sample.weights[:, None] * (residuals - inner[strata])
        influence = sums_by(deviations, items.clusters[rows], int(items.clusters.max()) + 1)
    notes = [_blind_note(items, members, v) for v in unlabelled]
    p_value = _randomness(items, members)
    if not notes and p_value < _NOT_RANDOM:
        notes.append(
            "The items with gold labels have other verdicts than the rest "
            f"(p = {p_value:.1g}). The rates hold if gold labels were drawn at random among "
            "the items with the same verdict."
        )
    return difference, influence, notes


def _label_order(order: Any, items: _JudgedItems, estimand: str) -> Ints:
    """Position of each gold label in the order in which they were taken."""
    reason = None
    if estimand != "realised":
        reason = "are about the rate among these items: pass estimand='realised'."
    elif items.weights is not None or items.clusters is not None:
        reason = "know neither weights nor clusters: leave them out."
    elif items.calibration is not None or len(items.judges) > 1:
        reason = "are for one judge and gold labels of these items: pass these only."
    if reason is not None:
        raise HeadcountError(f"sequential intervals {reason}")
    column = plain_column(order, "order")
    check_one_each("order", column, len(items.gold), "verdict")
    rows = np.flatnonzero(items.gold >= 0)
    places = gold_numbers(column[rows], None)[1] if len(rows) > 1 else np.zeros(len(rows))
    if np.isnan(places).any():
        raise HeadcountError(
            f"order lacks the places of {int(np.isnan(places).sum()):,} gold labels: number "
            "all labels in the order in which they were taken."
        )
    if len(np.unique(places)) < len(places):
        raise HeadcountError(
            "order has the same place twice: number the gold labels in the order in which they "
            "were taken."
        )
    result = np.full(len(column), -1, np.int64)
    result[rows[np.argsort(places)]] = np.arange(len(rows))
    return result


def _sequence(items: _JudgedItems, members: Bools) -> ConfidenceSequence | None:
    """Interval of a group that is valid at all times, if the order of labels is known."""
    if items.order is None:
        return None
    rows = np.flatnonzero(members & (items.gold >= 0))
    rows = rows[np.argsort(items.order[rows])]
    sizes = np.bincount(items.verdicts[members], minlength=len(items.kinds.names))
    return ConfidenceSequence.of(items.outcomes[rows], items.verdicts[rows], sizes)


def _spread_of_means(outcomes: Floats, weights: Floats) -> float:
    """Variance of numbers from 0 to 1, over that of as many zeros and ones of their mean."""
    centre = float(weights @ outcomes[:, 1])
    variance = float(weights @ (outcomes[:, 1] - centre) ** 2)
    return variance / max(centre * (1 - centre), 1e-12)


def _contributions(items: _JudgedItems, positive: Any) -> tuple[Contribution, ...]:
    """Use of each of several judges: lengths of intervals for all items."""
    every = list(items.judges)
    if len(every) == 1:
        return ()
    place = 1 if positive is None else items.classes.tolist().index(positive)
    members = np.ones(len(items.gold), bool)

    def width(names: Sequence[str]) -> float:
        low, high = _from_gold(items.only(names), members, "realised")[0].ends(0.95)
        unit = items.classes[1] - items.classes[0] if items.is_mean else 1.0
        return float((high - low)[place] * unit)

    return tuple(
        Contribution(
            name,
            width([name]),
            width([judge for judge in every if judge != name]),
            width(every),
        )
        for name in every
    )


def _strata(items: _JudgedItems, members: Bools) -> tuple[Ints, Ints, Ints, list[int]]:
    """Rows with gold of a group, their strata by verdict, sizes, verdicts without labels."""
    V = len(items.kinds.names)
    rows = np.flatnonzero(members & (items.gold >= 0)).astype(np.int64)
    sizes = np.bincount(items.verdicts[members], minlength=V)
    counts = np.bincount(items.verdicts[rows], minlength=V)
    thin = counts < np.minimum(2, sizes)
    chance = stats.hypergeom.cdf(counts, sizes.sum(), sizes, len(rows))
    blind = thin & (chance < _NOT_LUCK / V)
    place = np.arange(V)
    place[thin] = int(counts.argmax())
    rows = rows[~blind[items.verdicts[rows]]]
    verdicts = items.verdicts[members][~blind[items.verdicts[members]]]
    values, merged = np.unique(place[verdicts], return_inverse=True)
    strata = np.searchsorted(values, place[items.verdicts[rows]]).astype(np.int64)
    return rows, strata, np.bincount(merged), np.flatnonzero(blind).tolist()


def _blind_note(items: _JudgedItems, members: Bools, v: int) -> str:
    """Warning about a verdict of which no items were labelled, or one."""
    has_verdict = members & (items.verdicts == v)
    n_gold = int((has_verdict & (items.gold >= 0)).sum())
    labels = "None" if not n_gold else "Only one"
    return (
        f"{labels} of the {int(has_verdict.sum()):,} items with verdict "
        f"{items.kinds.names[v]!r} has a gold label, so any rate is possible among them and "
        "the interval is wide: label some of them at random."
    )


def _raw(items: _JudgedItems, members: Bools, mass: Floats) -> Floats | None:
    """Shares of the verdicts themselves; None if verdicts are not named as the classes."""
    if items.is_mean:
        column = next(iter(items.judges.values()))[1]
        return _raw_mean(column, members, mass, items.classes)
    names = list(items.kinds.names)
    if items.kinds.edges is not None or any(name not in items.classes for name in names):
        return None
    counts = np.bincount(items.verdicts[members], mass[members], len(names))
    shares = dict(zip(names, counts / counts.sum(), strict=True))
    return np.array([shares.get(label, 0.0) for label in items.classes.tolist()])


def _raw_mean(column: Any, members: Bools, mass: Floats, ends: Floats) -> Floats | None:
    """Mean of the scores themselves, on the scale of gold; None if they are not on it."""
    scores = plain_column(column, "verdicts")
    if scores.dtype.kind not in "iufb":
        return None
    place = (scores.astype(np.float64) - ends[0]) / (ends[1] - ends[0])
    share = float(np.average(place[members], weights=mass[members]))
    return np.array([1 - share, share]) if place.min() >= 0 and place.max() <= 1 else None


def _check_one(columns: Mapping[str, Any], calibrated: bool, mean: bool) -> None:
    if not columns:
        raise HeadcountError("verdicts is empty: pass the verdicts of at least one judge.")
    if calibrated and (mean or len(columns) > 1):
        what = "a mean" if mean else "several judges"
        raise HeadcountError(
            f"calibration cannot correct {what}: label a random part of the items themselves."
        )


def _randomness(items: _JudgedItems, members: Bools) -> float:
    """P-value of the hypothesis that verdicts with and without gold are distributed alike."""
    V = len(items.kinds.names)
    has_gold = items.gold >= 0
    table = np.stack(
        [
            np.bincount(items.verdicts[members & which], minlength=V)
            for which in (has_gold, ~has_gold)
        ]
    ).astype(np.float64)
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(special.chdtrc(table.shape[1] - 1, statistic))


def _pair(calibration: Any) -> tuple[Any, ...]:
    if not isinstance(calibration, tuple | list) or len(calibration) not in (2, 3):
        raise HeadcountError(
            f"calibration is a {type(calibration).__name__}; it must be a pair of verdicts and "
            "gold labels, or a triple with their clusters."
        )
    return tuple(calibration)


def _calibration(
    arrays: tuple[Any, ...], kinds: VerdictKinds, classes: Array, present: Ints
) -> Calibration:
    verdicts = kinds.codes(arrays[0], "verdicts of calibration")
    _, codes = gold_codes(arrays[1], "gold of calibration", classes)
    check_one_each("gold of calibration", codes, len(verdicts), "verdict")
    missing = int((codes < 0).sum())
    if missing:
        raise HeadcountError(
            f"gold of calibration misses {missing:,} of {len(codes):,} labels: drop these "
            "items or label them."
        )
    if not _has_all(codes, classes):
        absent = classes[np.bincount(codes, minlength=len(classes)) == 0].tolist()[0]
        raise HeadcountError(
            f"calibration has no item of class {absent!r}, so the judge's errors on it "
            "are not known: add some."
        )
    calibrated = np.bincount(verdicts, minlength=len(kinds.names)) > 0
    strange = ~calibrated[present]
    if strange.any():
        name = kinds.names[int(present[strange.argmax()])]
        raise HeadcountError(
            f"verdict {name!r} is given to {int(strange.sum()):,} items, but to none of "
            "calibration, so its errors are not known: add calibration items with it, or "
            "drop these items."
        )
    clusters = check_clusters(arrays[2] if len(arrays) == 3 else None, len(codes))
    return Calibration.of(codes, verdicts, len(classes), len(kinds.names), None, clusters)


def _check_gold(truth: Ints, classes: Array, calibrated: bool) -> None:
    n_gold = int((truth >= 0).sum())
    if not n_gold and not calibrated:
        raise HeadcountError(
            "gold is empty: label a random part of the items, or pass a calibration set whose "
            "labels are known."
        )
    if n_gold == len(truth):
        raise HeadcountError(
            f"`gold` is filled in for all {len(truth):,} items, so there is nothing to "
            "correct: count the gold labels themselves, or correct other items by them."
        )
    if len(classes) < 2:
        raise HeadcountError(
            f"gold has the single class {classes.tolist()[0]!r}, but at least two are needed: "
            "label more items."
        )


def _joined(first: Array, second: Array) -> Array:
    """Classes of two lists, sorted."""
    if not len(first) or not len(second):
        return second if not len(first) else first
    return encode_labels([*first.tolist(), *second.tolist()], name="gold")[0]


def _has_all(codes: Ints, classes: Array) -> bool:
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    return bool((counts > 0).all())


# Columns of verdicts and gold labels as numbers: kinds, classes, means, predictions.

# Different numbers above which verdicts are scores, which are cut into bins.
_MOST_KINDS, _BINS = 10, 5
# Different gold labels, or verdicts in words, above which they are not classes.
_MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class VerdictKinds:
    """Kinds of verdicts."""

    names: tuple[Any, ...]
    edges: Floats | None

    @classmethod
    def of(cls, verdicts: Any, *more: Any) -> VerdictKinds:
        """Kinds of the verdicts on some items; scores are cut at the quintiles of the first."""
        first, *more_values = (_values(labels, "verdicts") for labels in (verdicts, *more))
        every = [label for values in (first, *more_values) for label in values.tolist()]
        names = encode_labels(every if more_values else first, name="verdicts")[0]
        if names.dtype.kind not in "iuf" and len(names) > _MOST_CLASSES:
            raise HeadcountError(
                f"verdicts has {len(names):,} different texts, but at most {_MOST_CLASSES} "
                "kinds make sense here: pass the verdicts themselves, not texts about them."
            )
        if names.dtype.kind not in "iuf" or len(names) <= _MOST_KINDS:
            return cls(tuple(names.tolist()), None)
        if not np.isfinite(names).all():
            raise HeadcountError("verdicts has infinite scores: drop these items.")
        scores = first.astype(np.float64)
        edges = np.unique(np.quantile(scores, np.arange(1, _BINS) / _BINS))
        edges = edges[edges > scores.min()]
        texts = [f"{edge:.3g}" for edge in edges]
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        return cls((f"below {texts[0]}", *inner, f"from {texts[-1]}"), edges)

    def codes(self, verdicts: Any, name: str) -> Ints:
        """Number of the kind of each verdict."""
        values = _values(verdicts, name)
        if self.edges is not None:
            return np.searchsorted(self.edges, values, side="right").astype(np.int64)
        return encode_labels(values, name=name, classes=list(self.names))[1]


def _values(verdicts: Any, name: str) -> Array:
    return plain_column(verdicts.labels if isinstance(verdicts, Verdicts) else verdicts, name)


def gold_codes(gold: Any, name: str, classes: Array | None = None) -> tuple[Array, Ints]:
    """Classes of gold labels, sorted by default, and the class of each item; -1 without one."""
    column = plain_column(gold, name)
    values = column.astype(object)
    if column.dtype.kind in "iufb":
        filled = column == column  # not NaN
    else:
        filled = np.array([_is_filled(value) for value in values.tolist()], bool)
    codes = np.full(len(values), -1, np.int64)
    if not filled.any():
        return np.empty(0, column.dtype) if classes is None else classes, codes
    labels = _whole_numbers(values[filled])
    classes, codes[filled] = encode_labels(labels, name=name, classes=classes)
    if len(classes) > _MOST_CLASSES:
        raise HeadcountError(
            f"{name} has {len(classes)} different labels, but at most {_MOST_CLASSES} classes "
            "make sense here: cut numbers into a few classes first."
        )
    return classes, codes


def _is_filled(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return False
    return bool(value == value)


def _whole_numbers(labels: Array) -> list[Any]:
    """Labels as a list; whole numbers that missing values made floats are whole again."""
    values = labels.tolist()
    if all(isinstance(label, float) and label == int(label) for label in values):
        return [int(label) for label in values]
    return values


def gold_numbers(
    gold: Any, scale: tuple[float, float] | None
) -> tuple[tuple[float, float], Floats]:
    """Ends of the scale of numeric gold labels, and labels from 0 to 1; NaN where missing."""
    values = plain_column(gold, "gold").astype(object)
    filled = np.array([_is_filled(value) for value in values.tolist()], bool)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[filled] = values[filled].astype(np.float64)
    except (TypeError, ValueError):
        raise HeadcountError(
            "gold has texts, but a mean is asked for: pass numbers, or leave out `mean`."
        ) from None
    if not filled.any():
        raise HeadcountError("gold is empty, but a mean needs gold labels of these items.")
    low, high = (np.nanmin(numbers), np.nanmax(numbers)) if scale is None else scale
    if not np.isfinite([low, high]).all() or low >= high:
        raise HeadcountError(
            f"gold goes from {low:g} to {high:g}, but a mean needs finite numbers that differ: "
            "label more items, or pass the ends of the scale."
        )
    outside = numbers[filled & ((numbers < low) | (numbers > high))]
    if len(outside):
        raise HeadcountError(
            f"gold has {outside[0]:g}, which is not on the scale from {low:g} to {high:g}: "
            "pass its lowest and highest possible value."
        )
    return (float(low), float(high)), (numbers - low) / (high - low)


def has_many_values(gold: Any) -> bool:
    """Return True if gold labels are numbers of so many values that only their mean counts."""
    column = plain_column(gold, "gold")
    values = [value for value in column.tolist() if _is_filled(value)]
    if not values or not all(isinstance(value, int | float) for value in values):
        return False
    return len(set(values)) > _MOST_KINDS


def feature_columns(kinds: VerdictKinds, verdicts: Any) -> Floats:
    """Verdicts of a judge as features: columns of 0 and 1, and a score itself, standardised."""
    codes = kinds.codes(verdicts, "verdicts")
    one_hot = indicators(codes, len(kinds.names))
    if kinds.edges is None:
        return one_hot
    scores = _values(verdicts, "verdicts").astype(np.float64)
    return np.column_stack([one_hot, (scores - scores.mean()) / (scores.std() or 1.0)])


# Folds of the gold labels, and the penalty of the regression: one item of each verdict.
_FOLDS, _PENALTY = 10, 1.0


def cross_fitted(
    features: Floats, outcomes: Floats, rows: Ints, clusters: Ints | None
) -> tuple[Floats, Floats]:
    """Mean predictions of outcomes by ridge regressions, and those of labelled rows."""
    units = rows if clusters is None else clusters[rows]
    labels = np.unique(units, return_inverse=True)[1]
    n_folds = min(_FOLDS, int(labels.max()) + 1)
    shuffled = np.random.default_rng(0).permutation(int(labels.max()) + 1)
    folds = (shuffled % n_folds)[labels]
    everywhere, out_of_fold = np.zeros((len(features), outcomes.shape[1])), outcomes.copy()
    for fold in range(n_folds):
        inside = folds != fold
        X, y = features[rows[inside]], outcomes[inside]
        means, level = X.mean(axis=0), y.mean(axis=0)
        gram = (X - means).T @ (X - means) + _PENALTY * np.eye(X.shape[1])
        slopes = np.linalg.solve(gram, (X - means).T @ (y - level))
        predicted = level + (features - means) @ slopes
        everywhere += predicted / n_folds
        out_of_fold[~inside] = predicted[rows[~inside]]
    return everywhere, out_of_fold
