"""Backtest: what each reading of the data would have said about labelled groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_choice
from headcount._support.text import Table, first_of, html_result
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.estimates.conditioning import SharePosterior
from headcount.estimates.estimate import Estimate
from headcount.estimates.estimates import Estimates
from headcount.estimates.estimation import EstimateOptions, estimates, score_means
from headcount.estimates.history import (
    IN_WORDS,
    MEANINGS,
    POSTERIORS,
    PRIOR_SHIFT,
    Drift,
    History,
    HistoryEstimate,
    Readings,
    chance_of_method,
    read_samples,
    remaining_uncertainty,
)
from headcount.items.arrays import Scored, Verdicts, encode_labels, take_rows
from headcount.parts.fitted import Fitted
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FEWEST_ITEMS = 20
"""Items that a labelled group needs to be part of a backtest."""
# Labelled groups that are estimated at most: the latest of a sequence, else the largest.
_MOST_GROUPS = 100
# Models that are fitted on some of the groups to estimate the others.
_REFITS = 4
_REPLICATES = 1000
COMBINED = "combined"
"""Name of the estimates that combine all readings."""
# Weight of a reading above which estimates rely on it mainly.
_MAIN = 0.6


class TooFewGroupsError(HeadcountError):
    """There are too few labelled groups for a backtest."""


AnyFitted = TypeVar("AnyFitted", bound=Fitted)


@dataclass(frozen=True, eq=False)
class LabelledGroups(Generic[AnyFitted]):
    """Labelled items in groups, and how to fit a method on some of them.

    `members` has the number of each item's group, or -1 for an item that is in none. `names`
    are in the order of time if the groups are a sequence.
    """

    X: Any
    codes: Ints
    members: Ints
    names: tuple[Any, ...]
    classes: Array
    ordered: bool
    fit: Callable[[Ints], AnyFitted]

    @property
    def sizes(self) -> Ints:
        """Number of labelled items of each group."""
        return np.bincount(self.members[self.members >= 0], minlength=len(self.names))

    def rows_without(self, groups: Ints) -> Ints:
        """Items that a model of some groups may be fitted on: earlier ones of a sequence."""
        if self.ordered:
            return np.flatnonzero((self.members >= 0) & (self.members < groups.min()))
        return np.flatnonzero(~np.isin(self.members, groups))

    def shares(self, groups: Sequence[int] | Ints) -> Floats:
        """Shares of the classes in each of some groups, (G, K)."""
        K = len(self.classes)
        counts = np.stack(
            [np.bincount(self.codes[self.members == group], minlength=K) for group in groups]
        )
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def large(self) -> Ints:
        """Groups with enough items; at least two."""
        large = np.flatnonzero(self.sizes >= FEWEST_ITEMS)
        if len(large) < 2:
            raise TooFewGroupsError(
                f"A backtest needs two labelled groups with at least {FEWEST_ITEMS} items "
                f"each, and there {'is one' if len(large) == 1 else 'are none'}: choose "
                f"{'finer' if len(self.names) == 1 else 'coarser'} groups."
            )
        return large

    def rounds(self, seed: int) -> list[Ints]:
        """Groups that are estimated by one model each: the later half of a sequence, or all.

        Models of other groups must have items of two classes.
        """
        tried = self.large()
        if len(tried) > _MOST_GROUPS:
            largest = np.argsort(-self.sizes[tried], kind="stable")[:_MOST_GROUPS]
            tried = tried[-_MOST_GROUPS:] if self.ordered else np.sort(tried[largest])
        n_groups = len(tried)
        if self.ordered:
            first = max(1, n_groups // 2)
            starts = np.linspace(first, n_groups, min(_REFITS, n_groups - first) + 1)
            ends = np.unique(starts.astype(int))
            batches = [tried[start:stop] for start, stop in pairwise(ends)]
        else:
            shuffled = np.random.default_rng(seed).permutation(tried)
            batches = [
                np.sort(places) for places in np.array_split(shuffled, min(_REFITS, n_groups))
            ]
        learnable = [
            places
            for places in batches
            if len(np.unique(self.codes[self.rows_without(places)])) > 1
        ]
        if not learnable:
            raise TooFewGroupsError(
                "A backtest needs items of two classes in earlier or other groups, and there "
                "are none: choose coarser groups."
            )
        return learnable


def group_members(
    groups: ArrayLike, n_items: int, ordered: Any, names: Sequence[Any] | None = None
) -> tuple[tuple[Any, ...], Ints, bool]:
    """Names of groups in their order, number of each item's group, and if they are a sequence.

    `names` has the names of the groups in their order, which is sorted by default.
    """
    present, members = encode_labels(groups, name="groups")
    if len(members) != n_items:
        raise HeadcountError(
            f"groups has {len(members):,} values, but there are {n_items:,} items: pass one "
            "group per item."
        )
    if ordered is not True and ordered is not False:
        check_choice("ordered", ordered, ("auto",))
        ordered = present.dtype.kind == "M" or all(isinstance(name, date) for name in present)
    if names is None:
        return tuple(present.tolist()), members, bool(ordered)
    place = {name: number for number, name in enumerate(names)}
    numbers = np.array([place.get(name, -1) for name in present.tolist()])
    return tuple(names), numbers[members], bool(ordered)


def run_backtest(groups: LabelledGroups[Fitted], *, random_state: int = 0) -> Backtest:
    """Estimate labelled groups by models that have not seen them.

    Models of a sequence are fitted on all earlier groups, others on all other items.
    """
    pieces = [
        _answer(groups, estimated, groups.rows_without(estimated), random_state)
        for estimated in groups.rounds(random_state)
    ]
    order = np.argsort(np.concatenate([piece.groups for piece in pieces]), kind="stable")
    readings = Readings.joined([piece.readings for piece in pieces]).of(order)
    tested = np.concatenate([piece.groups for piece in pieces])[order]
    under_shift = [estimate for piece in pieces for estimate in piece.under_shift]
    truth = groups.shares(tested)
    names = tuple(groups.names[group] for group in tested)
    past = np.bincount(groups.codes, minlength=len(groups.classes)) / len(groups.codes)
    uncertainty, p_values = pieces[-1].uncertainty, None
    if chance_of_method(uncertainty, past) == 1:
        tests = [under_shift[place].fit_test for place in order]
        p_values = np.array([np.nan if test is None else test.p_value for test in tests])
    drift = Drift.learn(readings, truth, names, p_values=p_values)
    by_name = {}
    for place, name in enumerate(names):
        # A sequence is estimated from what was known then, other groups from all others.
        informing = range(place) if groups.ordered else np.delete(np.arange(len(names)), place)
        estimate = under_shift[order[place]]
        by_name[name] = drift.only(list(informing)).estimate(estimate, readings, place)
    shares = groups.shares(groups.large())
    last = shares[-1] if groups.ordered else None
    history = History(drift, past, last, uncertainty, groups.names)
    return Backtest(groups.classes, truth, Estimates(by_name), history, groups.ordered)


def usual_history(fitted: Fitted) -> History:
    """Drift that is usual, for labelled items without groups."""
    training = fitted.tested if fitted.scorer is None else fitted.evidence_training("items")
    uncertainty = np.ones(len(fitted.classes))
    if training is not None:
        uncertainty = remaining_uncertainty(np.asarray(training.items), training.codes)
    return History(None, fitted.prior, None, uncertainty)


@dataclass(frozen=True, eq=False)
class _Answered:
    """Readings of the groups of one round."""

    groups: Ints
    readings: Readings
    under_shift: list[Any]
    uncertainty: Floats


def _answer(
    groups: LabelledGroups[Fitted], estimated: Ints, fitted_on: Ints, random_state: int
) -> _Answered:
    """Readings of some groups by a model of other items."""
    with warnings.catch_warnings():
        # About a part of the items: the model of all of them has its own.
        warnings.simplefilter("ignore", HeadcountWarning)
        fitted = groups.fit(fitted_on)
    rows = np.flatnonzero(np.isin(groups.members, estimated))
    X = groups.X
    items = X.take(rows) if isinstance(X, Scored | Verdicts) else ScoredPool(take_rows(X, rows))
    samples = Samples.by_code(np.searchsorted(estimated, groups.members[rows]), len(estimated))
    reduced = fitted.reduce(items, samples)
    options = EstimateOptions(replicates=_REPLICATES, random_state=random_state)
    under_shift = estimates(fitted, reduced, options).to_list()
    # Models of some groups may lack a class that is rare.
    present = np.searchsorted(groups.classes, fitted.classes)
    means, posteriors = score_means(fitted, reduced), fitted.evidence(items)
    past = fitted.prior
    last = None
    if groups.ordered:
        last = groups.shares([groups.members[fitted_on].max()])[0][present]
    uncertainty = np.ones(len(fitted.classes))
    if posteriors is not None:
        training = posteriors.training
        uncertainty = remaining_uncertainty(np.asarray(training.items), training.codes)
    steps = np.arange(1.0, len(estimated) + 1) if groups.ordered else np.ones(len(estimated))
    readings = read_samples(under_shift, means, past, last, uncertainty, steps)
    K = len(groups.classes)
    return _Answered(
        estimated,
        Readings(
            readings.names,
            _spread_out(readings.shares, present, K, 0.0),
            _spread_out(readings.errors, present, K, 0.5 / len(rows)),
            steps,
        ),
        [_with_classes(estimate, groups.classes, present) for estimate in under_shift],
        _spread_out(uncertainty, present, K, 1.0),
    )


def _spread_out(values: Floats, present: Ints, n_classes: int, absent: float) -> Floats:
    """Values by class with those of classes that a model lacks."""
    out = np.full((*values.shape[:-1], n_classes), absent)
    out[..., present] = values
    return out


def _with_classes(estimate: Estimate, classes: Array, present: Ints) -> Estimate:
    """The estimate with the classes that its model lacks."""
    if len(present) == len(classes):
        return estimate
    K, posterior = len(classes), estimate.posterior
    return replace(
        estimate,
        classes=classes,
        shares=_spread_out(estimate.shares, present, K, 0.0),
        raw=_spread_out(estimate.raw, present, K, 0.0),
        posterior=SharePosterior(
            _spread_out(posterior.weighted, present, K, 0.0), posterior.weights
        ),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Backtest:
    """What would have been estimated for labelled groups, compared with their true shares.

    Models that have not seen a group estimate it: those of earlier groups for a sequence such
    as months, else those of other groups. Made by `headcount.backtest` and
    `headcount.FromHistory`. Prints as a table of the readings of the data.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes.
    truth : ndarray of shape (G, K)
        True shares of the groups that were estimated.
    estimates : Estimates
        What would have been estimated for each group, with intervals.
    history : History
        What the groups say about new ones.
    ordered : bool
        True if the groups are a sequence in time.
    noun : str
        What a group is called: "group", "month" and so on.
    """

    classes: Array
    truth: Floats
    estimates: Estimates
    history: History
    ordered: bool
    noun: str = "group"

    @property
    def drift(self) -> Drift:
        """How far each reading was off."""
        assert self.history.drift is not None
        return self.history.drift

    @property
    def readings(self) -> tuple[str, ...]:
        """Names of the readings of the data."""
        return self.drift.names

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each reading in estimates of new groups, usually."""
        return dict(zip(self.readings, self.drift.weights.tolist(), strict=True))

    @property
    def errors(self) -> dict[str, float]:
        """Mean absolute error of each reading, and of the estimates: "combined"."""
        estimates = [
            estimate
            for estimate in self.estimates.values()
            if isinstance(estimate, HistoryEstimate)
        ]
        by_name = {
            name: np.stack([estimate.readings[name] for estimate in estimates])
            for name in self.readings
        }
        by_name[COMBINED] = np.stack([estimate.shares for estimate in estimates])
        return {
            name: float(np.abs(shares - self.truth).mean()) for name, shares in by_name.items()
        }

    def coverage(self, level: float = 0.95) -> float:
        """Fraction of the true shares that the intervals contain.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        float
        """
        inside = []
        for estimate, truth in zip(self.estimates.values(), self.truth, strict=True):
            ends = estimate.interval(level)
            inside.append((ends.low <= truth + 1e-9) & (truth <= ends.high + 1e-9))
        return float(np.mean(inside))

    @property
    def sentence(self) -> str:
        """Which reading of the data held, in a sentence."""
        return which_held(self.weights, self.errors, IN_WORDS, len(self.truth), self.noun)

    @documented(coverage)
    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of all groups and classes.

        Returns
        -------
        polars.DataFrame
            Columns group, class, items, truth, share, low, high, inside, and one with the
            shares of each reading.
        """
        return pl.DataFrame(list(self._rows(level)), infer_schema_length=None)

    def _rows(self, level: float) -> Iterator[dict[str, Any]]:
        for (name, estimate), truth in zip(self.estimates.items(), self.truth, strict=True):
            assert isinstance(estimate, HistoryEstimate)
            ends = estimate.interval(level)
            for j, label in enumerate(self.classes.tolist()):
                low, high = float(ends.low[j]), float(ends.high[j])
                yield {
                    "group": name,
                    "class": label,
                    "items": estimate.n_items,
                    "truth": float(truth[j]),
                    "share": float(estimate.shares[j]),
                    "low": low,
                    "high": high,
                    "inside": low <= truth[j] + 1e-9 and truth[j] <= high + 1e-9,
                } | {reading: float(shares[j]) for reading, shares in estimate.readings.items()}

    def to_table(self) -> Table:
        """Table that `print` shows, one row per reading of the data."""
        weights, errors = self.weights, self.errors
        rows = [
            [name, f"{100 * errors[name]:.1f}", f"{weights[name]:.0%}", MEANINGS[name]]
            for name in sorted(self.readings, key=errors.__getitem__)
        ]
        rows.append([COMBINED, f"{100 * errors[COMBINED]:.1f}", "", "what is estimated"])
        columns = ["reading", "error in points", "weight", "right if"]
        return Table.of(columns, rows, [False, True, True, False])

    def heading(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        n = len(self.truth)
        return (
            f"Backtest on {n} labelled {self.noun}{'' if n == 1 else 's'}: {100 * level:.6g}% "
            f"intervals contain {self.coverage(level):.0%} of the true shares"
        )

    def to_text(self) -> str:
        """Text that `print` shows."""
        return "\n".join([self.heading(), self.to_table().to_text(ruled=False), self.sentence])

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html_result(self.heading(), [self.to_table()], [self.sentence])

    @documented(coverage, Estimate.plot)
    def plot(self, *, label: Any = None, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw the true share of a class in each group, the interval, and the readings.

        Parameters
        ----------
        label : Any, default=None
            The class; the last one by default.

        Returns
        -------
        matplotlib Axes
        """
        from headcount import plots

        labels = self.classes.tolist()
        if label is not None and label not in labels:
            raise HeadcountError(
                f"label is {label!r}; it must be one of the classes: "
                f"{first_of(map(repr, labels), 10)}."
            )
        frame = self.to_frame(level).rename({"truth": "reference"})
        of_class = labels[-1] if label is None else label
        of_label = frame.with_columns(pl.col("group").cast(pl.String)).filter(
            pl.col("class") == of_class
        )
        compared = [name for name in (POSTERIORS, PRIOR_SHIFT) if name in self.readings]
        return plots.by_group(
            of_label,
            positive=of_class,
            line=self.ordered,
            compared=compared,
            labels={"reference": "true share", str(of_class): "estimate"},
            ax=ax,
        )


def _enumerate(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def which_held(
    weights: Mapping[str, float],
    errors: Mapping[str, float],
    in_words: Mapping[str, str],
    n_groups: int,
    noun: str,
) -> str:
    """Sentence on the readings of the data that held in labelled groups."""
    trusted = max(weights, key=weights.__getitem__)
    listed = [name for name in (POSTERIORS, PRIOR_SHIFT) if name in weights]
    if trusted not in listed:
        listed.insert(0, trusted)
    first, *others = (
        f"{in_words[name]} {'were' if in_words[name].endswith('s') else 'was'} off by "
        f"{100 * errors[name]:.1f} points"
        if place == 0
        else f"{in_words[name]} by {100 * errors[name]:.1f}"
        for place, name in enumerate(listed)
    )
    relies = (
        f"mainly on {in_words[trusted]}"
        if weights[trusted] >= _MAIN
        else "on " + _enumerate([in_words[name] for name in weights if weights[name] >= 0.15])
    )
    return (
        f"On {n_groups} labelled {noun}{'' if n_groups == 1 else 's'}, "
        f"{', '.join([first, *others])}: the estimate relies {relies}."
    )
