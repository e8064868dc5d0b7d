"""Rates that a judge measures, corrected by gold labels of some items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Estimand
from headcount.estimates.estimates import Estimates
from headcount.estimates.labels.difference import Difference
from headcount.estimates.labels.from_labels import Agreement, agreement_of
from headcount.estimates.labels.judge_result import (
    Calibration,
    JudgedEstimate,
    JudgeResult,
    RateEstimate,
)
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

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Gold labels of a group from which its own are used rather than rates from elsewhere.
_ENOUGH = 20
# P-value below which items with gold do not look like a random sample.
_NOT_RANDOM = 1e-3


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
) -> JudgeResult:
    """Correct the rates that a judge measures, by gold labels of some items.

    `headcount.judge` does the same for tables. A judge is a model, a rule or a person whose
    verdicts are cheap and not always right. If a random part of the items has gold labels,
    each group's rate is estimated from its own labels, by verdict: this holds whatever errors
    the judge makes. If the gold labels are those of other items, a calibration set, rates are
    corrected by the judge's errors on them (Rogan and Gladen): this holds if the judge errs on
    both alike.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = np.where(rng.random(2000) < 0.2, "bad", "ok")
    >>> wrong = rng.random(2000) < np.where(truth == "bad", 0.1, 0.15)
    >>> verdicts = np.where(wrong, np.where(truth == "bad", "ok", "bad"), truth)
    >>> gold = np.where(np.arange(2000) % 10 == 0, truth, "")
    >>> result = correct_verdicts(verdicts, gold)
    >>> low, high = result.groups[0].interval()["bad"]
    >>> low < 0.2 < high
    True
    """
    check_choice("estimand", estimand, ("realised", "expected"))
    items = _Items.of(verdicts, gold, by, calibration, clusters, weights)
    if positive is not None and positive not in items.classes.tolist():
        raise HeadcountError(
            f"positive is {positive!r}; it must be one of the classes, which are "
            f"{', '.join(map(repr, items.classes.tolist()))}."
        )
    estimates = {
        name: _group(items, g, name, "realised" if estimand == "realised" else "expected")
        for g, name in enumerate(items.names)
    }
    sources = {}
    if (items.gold >= 0).any():
        sources["gold"] = items.calibrated(items.gold >= 0)
    if items.calibration is not None:
        sources["calibration"] = items.calibration
    return JudgeResult(
        items.classes, items.kinds.names, Estimates(estimates), sources, positive
    )


@dataclass(frozen=True, eq=False)
class _Items:
    """Checked items, numbered."""

    kinds: VerdictKinds
    classes: NDArray[Any]
    verdicts: Ints
    gold: Ints
    groups: Ints
    names: tuple[Any, ...]
    calibration: Calibration | None
    clusters: Ints | None
    weights: Floats | None

    @classmethod
    def of(
        cls, verdicts: Any, gold: Any, by: Any, calibration: Any, clusters: Any, weights: Any
    ) -> _Items:
        pair = None if calibration is None else _pair(calibration)
        kinds = VerdictKinds.of(verdicts, *([] if pair is None else [pair[0]]))
        codes = kinds.codes(verdicts, "verdicts")
        n = len(codes)
        classes = gold_codes(gold, "gold")[0]
        if pair is not None:
            classes = _joined(classes, gold_codes(pair[1], "gold of calibration")[0])
        classes, truth = gold_codes(gold, "gold", classes)
        _check_length("gold", len(truth), n)
        _check_gold(truth, classes, pair is not None)
        names: tuple[Any, ...] = ("all",)
        groups = np.zeros(n, np.int64)
        if by is not None:
            labels, groups = encode_labels(by, name="by")
            names = tuple(labels.tolist())
            _check_length("by", len(groups), n)
        learnt = None if pair is None else _calibration(pair, kinds, classes, codes)
        return cls(
            kinds,
            classes,
            codes,
            truth,
            groups,
            names,
            learnt,
            check_clusters(clusters, n),
            None if weights is None else check_weights(weights, n),
        )

    def calibrated(self, members: NDArray[np.bool_]) -> Calibration:
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
            self.gold[rows],
            self.verdicts[rows],
            len(self.classes),
            V,
            stands_for,
            clusters,
        )

    def estimated(self, members: NDArray[np.bool_], calibration: Calibration) -> RateEstimate:
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

    def one_hot(self, rows: Ints) -> Floats:
        """Kinds of verdicts of some items as columns of 0 and 1."""
        kinds = np.arange(len(self.kinds.names))
        return (self.verdicts[rows][:, None] == kinds).astype(np.float64)


def _group(items: _Items, g: int, name: Any, estimand: Estimand) -> JudgedEstimate:
    """Corrected rates of one group."""
    members = items.groups == g
    n_gold = int((members & (items.gold >= 0)).sum())
    learnt, source = items.calibration, "the calibration set"
    elsewhere = ~members & (items.gold >= 0)
    if learnt is None and n_gold < _ENOUGH and _has_all(items.gold[elsewhere], items.classes):
        learnt, source = items.calibrated(elsewhere), "the gold labels of the other groups"
    by_rates = None if learnt is None else items.estimated(members, learnt)
    by_labels: Difference | None = None
    influence: Floats | None = None
    notes: list[str] = []
    if n_gold >= max(2, len(items.classes)) and (n_gold >= _ENOUGH or by_rates is None):
        by_labels, influence, notes = _from_gold(items, members, estimand)
    agreement: Agreement | None = None
    if by_labels is not None:
        reason = (
            f"{n_gold:,} of its items have gold labels. They correct the verdicts under any "
            "shift, if they are a random part."
        )
        if by_rates is not None:
            agreement = agreement_of(by_labels, by_rates.centre, by_rates.covariance)
    elif by_rates is not None:
        few = "has no gold labels" if not n_gold else f"has {n_gold} gold labels"
        reason = (
            f"The group {few}. Its verdicts are corrected by the judge's errors on {source}, "
            "if the judge errs on both alike."
        )
        if not by_rates.informative:
            notes.append(
                "The verdicts hardly depend on the true class, so they say nothing about "
                "the rates: take gold labels of these items."
            )
    else:
        raise HeadcountError(
            f"group {name!r} has {n_gold} gold labels for {len(items.classes)} classes: label "
            f"at least {max(2, len(items.classes))} of its items, or pass a calibration set."
        )
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
        reason=reason,
        agreement=agreement,
        influence=influence,
    )


def _from_gold(
    items: _Items, members: NDArray[np.bool_], estimand: Estimand
) -> tuple[Difference, Floats | None, list[str]]:
    """Shares of a group from its gold labels, by verdict.

    With clusters also the deviations of the estimate by cluster, for the covariance of two
    groups.
    """
    rows, strata, sizes = _strata(items, members)
    sample = LabelSample.stratified(rows, strata, sizes, items.weights, items.clusters)
    if sample.clusters is not None and sample.clusters.max() < 1:
        raise HeadcountError(
            "all gold labels of a group are from one cluster: label items of at least two."
        )
    K, counts = len(items.classes), np.bincount(strata, minlength=len(sizes))[:, None]
    outcomes = (items.gold[rows][:, None] == np.arange(K)).astype(np.float64)
    sums = sums_by(outcomes, strata, len(sizes))
    means = (sums + 0.5) / (counts + 0.5 * K)
    difference = Difference.of(sample, outcomes, np.zeros(K), means[strata])
    if estimand == "expected":
        every = np.flatnonzero(members)
        variance = population_variance(
            difference.centre, items.one_hot(every), *items.survey(every), sample, outcomes
        )
        difference = replace(difference, population=variance)
    influence = None
    if items.clusters is not None:
        deviations = sample.weights[:, None] * (outcomes - (sums / counts)[strata])
        influence = sums_by(deviations, items.clusters[rows], int(items.clusters.max()) + 1)
    notes = []
    p_value = _randomness(items, members)
    if p_value < _NOT_RANDOM:
        notes.append(
            "The items with gold labels have other verdicts than the rest "
            f"(p = {p_value:.1g}). The rates hold if gold labels were drawn at random among "
            "the items with the same verdict."
        )
    return difference, influence, notes


def _strata(items: _Items, members: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Rows with gold of a group, their strata, and the sizes of the strata.

    Strata are verdicts; those with fewer than two labels join the one with most.
    """
    V = len(items.kinds.names)
    rows = np.flatnonzero(members & (items.gold >= 0)).astype(np.int64)
    sizes = np.bincount(items.verdicts[members], minlength=V)
    counts = np.bincount(items.verdicts[rows], minlength=V)
    place = np.arange(V)
    place[counts < np.minimum(2, sizes)] = int(counts.argmax())
    values, merged = np.unique(place[items.verdicts[members]], return_inverse=True)
    strata = np.searchsorted(values, place[items.verdicts[rows]]).astype(np.int64)
    return rows, strata, np.bincount(merged)


def _raw(items: _Items, members: NDArray[np.bool_], mass: Floats) -> Floats | None:
    """Shares of the verdicts themselves; None if verdicts are not named as the classes."""
    names = list(items.kinds.names)
    if items.kinds.edges is not None or any(name not in items.classes for name in names):
        return None
    counts = np.bincount(items.verdicts[members], mass[members], len(names))
    shares = dict(zip(names, counts / counts.sum(), strict=True))
    return np.array([shares.get(label, 0.0) for label in items.classes.tolist()])


def _randomness(items: _Items, members: NDArray[np.bool_]) -> float:
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
    arrays: tuple[Any, ...], kinds: VerdictKinds, classes: NDArray[Any], present: Ints
) -> Calibration:
    verdicts = kinds.codes(arrays[0], "verdicts of calibration")
    _, codes = gold_codes(arrays[1], "gold of calibration", classes)
    _check_length("gold of calibration", len(codes), len(verdicts))
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


def _check_gold(truth: Ints, classes: NDArray[Any], calibrated: bool) -> None:
    n_gold = int((truth >= 0).sum())
    if not n_gold and not calibrated:
        raise HeadcountError(
            "gold is empty: label a random part of the items, or pass a calibration set whose "
            "labels are known."
        )
    if n_gold == len(truth):
        raise HeadcountError(
            f"gold is filled in for all {len(truth):,} items, so there is nothing to "
            "correct: count the gold labels themselves, or pass them as calibration for other "
            "items."
        )
    if len(classes) < 2:
        raise HeadcountError(
            f"gold has the single class {classes.tolist()[0]!r}, but at least two are needed: "
            "label more items."
        )


def _joined(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Classes of two lists, sorted."""
    if not len(first) or not len(second):
        return second if not len(first) else first
    return encode_labels([*first.tolist(), *second.tolist()], name="gold")[0]


def _has_all(codes: Ints, classes: NDArray[Any]) -> bool:
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    return bool((counts > 0).all())


def _check_length(name: str, length: int, n: int) -> None:
    if length != n:
        raise HeadcountError(
            f"{name} has {length:,} entries, but there are {n:,} verdicts: pass one per "
            "verdict."
        )


# Verdicts of any kind as numbered kinds: texts, numbers of a few values, or binned scores.

# Different numbers above which verdicts are scores, which are cut into bins.
_MOST_KINDS, _BINS = 10, 5
# Different gold labels, or verdicts in words, above which they are not classes.
_MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class VerdictKinds:
    """Kinds of verdicts.

    >>> kinds = VerdictKinds.of(["ok", "bad", "ok"])
    >>> kinds.names, kinds.codes(["bad", "ok"], "verdicts").tolist()
    (('bad', 'ok'), [0, 1])
    """

    names: tuple[Any, ...]
    edges: NDArray[np.float64] | None

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


def _values(verdicts: Any, name: str) -> NDArray[Any]:
    return plain_column(verdicts.labels if isinstance(verdicts, Verdicts) else verdicts, name)


def gold_codes(
    gold: Any, name: str, classes: NDArray[Any] | None = None
) -> tuple[NDArray[Any], Ints]:
    """Classes of gold labels, and the class of each item; -1 where there is no label.

    None, NaN and empty texts are missing labels. The classes are by default those found,
    sorted.

    >>> gold_codes(["yes", None, "no", ""], "gold")[1]
    array([ 1, -1,  0, -1])
    """
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


def _whole_numbers(labels: NDArray[Any]) -> list[Any]:
    """Labels as a list; whole numbers that missing values made floats are whole again."""
    values = labels.tolist()
    if all(isinstance(label, float) and label == int(label) for label in values):
        return [int(label) for label in values]
    return values
