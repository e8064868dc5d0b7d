"""Backtest: what each reading of the data would have said about labelled groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.text import Cell, Table, html_result
from headcount.errors import HeadcountError
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
    read_samples,
    remaining_uncertainty,
)
from headcount.items.arrays import Scored, Verdicts, take_rows
from headcount.parts.fitted import Fitted
from headcount.samples.samples import Samples
from headcount.scores.scorer import ScoredPool

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

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


@dataclass(frozen=True, eq=False)
class LabelledGroups:
    """Labelled items in groups, and how to fit a method on some of them.

    `members` has the number of each item's group, or -1 for an item that is in none. `names`
    are in the order of time if the groups are a sequence.
    """

    X: Any
    codes: Integers
    members: Integers
    names: tuple[Any, ...]
    classes: NDArray[Any]
    ordered: bool
    fit: Callable[[Integers], Fitted]

    @property
    def sizes(self) -> Integers:
        """Number of labelled items of each group."""
        return np.bincount(self.members[self.members >= 0], minlength=len(self.names))

    def shares(self, groups: Sequence[int] | Integers) -> Floats:
        """Shares of the classes in each of some groups, (G, K)."""
        K = len(self.classes)
        counts = np.stack(
            [np.bincount(self.codes[self.members == group], minlength=K) for group in groups]
        )
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class _Round:
    """Groups that are estimated by a model that was fitted on others."""

    fitted_on: tuple[int, ...]
    estimated: tuple[int, ...]


def _rounds(large: Integers, ordered: bool, seed: int) -> list[_Round]:
    """Rounds of a backtest over groups that have enough items.

    Of a sequence, the later half is estimated by models that were fitted on all earlier groups;
    other groups are left out in turn.
    """
    G = len(large)
    if ordered:
        first = max(1, G // 2)
        starts = np.unique(np.linspace(first, G, min(_REFITS, G - first) + 1).astype(int))
        return [
            _Round(tuple(large[:start]), tuple(large[start:stop]))
            for start, stop in pairwise(starts)
        ]
    shuffled = np.random.default_rng(seed).permutation(large)
    parts = np.array_split(shuffled, min(_REFITS, G))
    return [
        _Round(tuple(group for group in large if group not in set(part)), tuple(sorted(part)))
        for part in parts
    ]


def run_backtest(groups: LabelledGroups, *, random_state: int = 0) -> Backtest:
    """Estimate labelled groups by models that have not seen them."""
    sizes = groups.sizes
    large = np.flatnonzero(sizes >= FEWEST_ITEMS)
    if len(large) < 2:
        raise TooFewGroupsError(
            f"A backtest needs two labelled groups with at least {FEWEST_ITEMS} items each, "
            f"and there {'is one' if len(large) == 1 else 'are none'}: choose coarser groups."
        )
    estimated = large
    if len(large) > _MOST_GROUPS:
        largest = np.argsort(-sizes[large], kind="stable")[:_MOST_GROUPS]
        estimated = large[-_MOST_GROUPS:] if groups.ordered else np.sort(large[largest])
    pieces = [
        _answer(groups, step, random_state)
        for step in _rounds(estimated, groups.ordered, random_state)
        if len(np.unique(groups.codes[np.isin(groups.members, step.fitted_on)])) > 1
    ]
    if not pieces:
        raise TooFewGroupsError(
            "A backtest needs labelled groups of two classes, and all but one group have items "
            "of a single class: choose coarser groups."
        )
    order = np.argsort(np.concatenate([piece.groups for piece in pieces]), kind="stable")
    readings = Readings(
        pieces[0].readings.names,
        np.concatenate([piece.readings.shares for piece in pieces], axis=1)[:, order],
        np.concatenate([piece.readings.errors for piece in pieces], axis=1)[:, order],
        np.concatenate([piece.readings.steps for piece in pieces])[order],
    )
    tested = np.concatenate([piece.groups for piece in pieces])[order]
    under_shift = [estimate for piece in pieces for estimate in piece.under_shift]
    truth = groups.shares(tested)
    names = tuple(groups.names[group] for group in tested)
    drift = Drift.learn(readings, truth, names)
    made = {}
    for place, name in enumerate(names):
        # A sequence is estimated from what was known then, other groups from all others.
        others = range(place) if groups.ordered else np.delete(np.arange(len(names)), place)
        estimate = under_shift[order[place]]
        made[name] = drift.only(list(others)).estimate(estimate, readings, place)
    shares = groups.shares(large)
    past = np.bincount(groups.codes, minlength=len(groups.classes)) / len(groups.codes)
    history = History(
        drift,
        past,
        shares[-1] if groups.ordered else None,
        pieces[-1].uncertainty,
        groups.names,
    )
    return Backtest(groups.classes, truth, Estimates(made), history, groups.ordered)


@dataclass(frozen=True, eq=False)
class _Answered:
    """Readings of the groups of one round."""

    groups: Integers
    readings: Readings
    under_shift: list[Any]
    uncertainty: Floats


def _answer(groups: LabelledGroups, step: _Round, random_state: int) -> _Answered:
    """What each reading says of the groups of a round, by a model of the others."""
    fitted_on = np.flatnonzero(np.isin(groups.members, step.fitted_on))
    fitted = groups.fit(fitted_on)
    rows = np.flatnonzero(np.isin(groups.members, step.estimated))
    estimated = np.array(step.estimated)
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
    last = groups.shares([max(step.fitted_on)])[0][present] if groups.ordered else None
    uncertainty = np.ones(len(fitted.classes))
    if posteriors is not None:
        uncertainty = remaining_uncertainty(np.asarray(posteriors.training.items), past)
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


def _spread_out(values: Floats, present: Integers, n_classes: int, absent: float) -> Floats:
    """Values by class with those of classes that a model lacks."""
    out = np.full((*values.shape[:-1], n_classes), absent)
    out[..., present] = values
    return out


def _with_classes(estimate: Estimate, classes: NDArray[Any], present: Integers) -> Estimate:
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

    classes: NDArray[Any]
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
        made = list(self.estimates.values())
        assert all(isinstance(estimate, HistoryEstimate) for estimate in made)
        by_name = {
            name: np.stack([estimate.readings[name] for estimate in made])  # type: ignore[attr-defined]
            for name in self.readings
        }
        by_name[COMBINED] = np.stack([estimate.shares for estimate in made])
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
        weights, errors = self.weights, self.errors
        trusted = max(weights, key=weights.__getitem__)
        listed = [name for name in (POSTERIORS, PRIOR_SHIFT) if name in weights]
        if trusted not in listed:
            listed.insert(0, trusted)
        first, *others = (
            f"{IN_WORDS[name]} {'was' if name != POSTERIORS else 'were'} off by "
            f"{100 * errors[name]:.1f} points"
            if place == 0
            else f"{IN_WORDS[name]} by {100 * errors[name]:.1f}"
            for place, name in enumerate(listed)
        )
        n = len(self.truth)
        said = ", ".join([first, *others])
        relies = (
            f"mainly on {IN_WORDS[trusted]}"
            if weights[trusted] >= _MAIN
            else (
                "on "
                + _enumerate([IN_WORDS[name] for name in weights if weights[name] >= 0.15])
            )
        )
        return (
            f"On {n} labelled {self.noun}{'' if n == 1 else 's'}, {said}: the estimate relies "
            f"{relies}."
        )

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of all groups and classes.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

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
        cells = [[Cell(text) for text in row] for row in rows]
        columns = ["reading", "error in points", "weight", "right if"]
        return Table(columns, cells, [False, True, True, False])

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

    def plot(self, *, label: Any = None, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Draw the true share of a class in each group, the interval, and the readings.

        Parameters
        ----------
        label : Any, default=None
            The class; the last one by default.
        level : float, default=0.95
            Level of the intervals.
        ax : matplotlib Axes, default=None
            Axes to draw on. By default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from headcount import plots

        labels = self.classes.tolist()
        if label is not None and label not in labels:
            raise HeadcountError(
                f"label is {label!r}; it must be one of the classes: "
                f"{', '.join(map(repr, labels[:10]))}."
            )
        frame = self.to_frame(level).rename({"truth": "reference"})
        chosen = labels[-1] if label is None else label
        shown = frame.with_columns(pl.col("group").cast(pl.String)).filter(
            pl.col("class") == chosen
        )
        compared = [name for name in (POSTERIORS, PRIOR_SHIFT) if name in self.readings]
        return plots.by_group(
            shown,
            positive=chosen,
            line=self.ordered,
            compared=compared,
            labels={"reference": "true share", str(chosen): "estimate"},
            ax=ax,
        )


def _enumerate(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"
