"""Estimates by name: of groups, tags, slices or chunks."""

from __future__ import annotations

from collections.abc import (
    Callable,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    ValuesView,
)
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount import plots
from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.frames import pl
from headcount._support.text import Table, html_result
from headcount.estimates.conditioning import (
    RepeatedPosterior,
    ShareConditioning,
    SharePosterior,
)
from headcount.estimates.estimate import Estimand, Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import TypeVar

    AnyEstimate = TypeVar("AnyEstimate", default=Estimate)
else:
    from typing import TypeVar

    AnyEstimate = TypeVar("AnyEstimate")


_MOST_SHOWN = 20
# Groups that are estimated at a time, if all are.
_AT_ONCE = 256


class Estimates(Mapping[Hashable, AnyEstimate]):
    """Estimates by name: of groups, tags, slices or chunks. Prints as a table.

    Parameters
    ----------
    estimates : mapping of names to Estimate or AccuracyEstimate
        The estimates, in their order.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> from headcount.estimates import Estimates
    >>> X, y = make_classification(1000, class_sep=2, random_state=0)
    >>> q = hc.SLD(random_state=0).fit(X[:500], y[:500])
    >>> halves = q.estimate_many(X, [range(500, 750), range(750, 1000)])
    >>> Estimates({"first": halves[0], "second": halves[1]})
    SLD: shares in 2 groups, with 95% intervals
    group   items                       0                       1
    first     250  47.6% (46.5% to 49.2%)  52.4% (50.8% to 53.5%)
    second    250  53.2% (51.8% to 54.5%)  46.8% (45.5% to 48.2%)
    """

    def __init__(self, estimates: Mapping[Hashable, AnyEstimate]) -> None:
        self._estimates = dict(estimates)

    def __getitem__(self, name: Hashable) -> AnyEstimate:
        return self._estimates[name]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """Names in their order."""
        return tuple(self._estimates)

    @property
    def _first(self) -> Any:
        return self[self.names[0]]

    @cached_property
    def quantity(self) -> str:
        """Estimated quantity: "shares", or a metric."""
        return str(self._first.quantity)

    @cached_property
    def method(self) -> str:
        """Name of the method of the first estimate."""
        return str(self._first.method)

    @cached_property
    def classes(self) -> Array:
        """Classes of the first estimate."""
        return np.asarray(self._first.classes)

    @cached_property
    def sizes(self) -> Ints:
        """Number of items of each."""
        estimates: Sequence[Any] = self.to_list()
        return np.array([estimate.n_items for estimate in estimates])

    @property
    def raw(self) -> Floats:
        """Shares, or the metric, that the method alone finds, one row each."""
        estimates: Sequence[Any] = self.to_list()
        return np.stack([estimate.raw for estimate in estimates])

    @property
    def raw_error(self) -> Floats | None:
        """Bound on the error of `raw` from statistics in place of items; None if there is none.

        Methods that stop early, such as `SLD`, can differ by a last step as well.
        """
        return None

    def to_list(self) -> list[AnyEstimate]:
        """Estimates in their order, as a list."""
        return list(self._estimates.values())

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with one row per group and class, or per group for a metric.

        Returns
        -------
        polars.DataFrame
            With the columns group and items, those of ``to_frame`` of an estimate, error (from
            statistics in place of items) and fit_p_value.
        """
        frames, estimates = [], iter(self.values())
        for name in self.names:
            estimate: Any = next(estimates)
            test, error = estimate.fit_test, estimate.reduction_error
            frame = estimate.to_frame(level)
            errors = np.broadcast_to(0.0 if error is None else error, len(frame))
            frames.append(
                frame.select(
                    pl.lit(name).alias("group"),
                    pl.lit(estimate.n_items).alias("items"),
                    pl.all(),
                    pl.Series("error", errors),
                    pl.lit(None if test is None else test.p_value, pl.Float64).alias(
                        "fit_p_value"
                    ),
                )
            )
        return pl.concat(frames, how="vertical_relaxed")

    def plot(
        self,
        *,
        positive: Any = None,
        line: bool = False,
        level: float = 0.95,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the shares, or the metric, of the groups with their intervals.

        Parameters
        ----------
        positive : class label, default=None
            Class to draw; by default the second of two classes, or all of more.
        line : bool, default=False
            True joins the groups by a line, for a sequence such as months.
        level : float, default=0.95
            Level of the intervals.
        ax : matplotlib Axes, default=None
            Axes to draw into; a new figure by default.
        """
        names = [_label(name) for name in self.names]
        frame, quantity = self.to_frame(level), self.quantity
        if quantity == "shares":
            groups = np.repeat(names, len(self.classes))
            frame = frame.with_columns(pl.Series("group", groups))
            return plots.by_group(frame, positive=positive, line=line, ax=ax)
        frame = frame.with_columns(pl.Series("group", names))
        frame = frame.rename({"metric": "class", "value": "share"})
        labels = {f"share of {quantity}": quantity}
        ax = plots.by_group(frame, line=line, labels=labels, ax=ax)
        ax.yaxis.set_major_formatter("{x:.2f}")
        ax.autoscale(axis="y")
        return ax

    def to_table(self, level: float = 0.95) -> Table:
        """Table that `print` shows: one row per group, with an interval for each quantity."""
        rows = []
        for name in self.names[:_MOST_SHOWN]:
            estimate: Any = self[name]
            words = estimate.in_words(level)
            rows.append([_label(name), f"{estimate.n_items:,}", *words.values()])
        return Table.of(["group", "items", *words], rows)

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        n = len(self)
        first = f", the first {_MOST_SHOWN}" if n > _MOST_SHOWN else ""
        groups = f"{n:,} group{'' if n == 1 else 's'}"
        what = f"{self.method}: {self.quantity} in {groups}"
        return f"{what}, with {100 * level:.6g}% intervals{first}"

    def __repr__(self) -> str:
        if not len(self):
            return "Estimates of no groups"
        return f"{self.title()}\n{self.to_table().to_text(ruled=False)}"

    def _repr_html_(self) -> str:
        if not len(self):
            return html_result(repr(self), [], ())
        return html_result(self.title(), [self.to_table()], ())


def _label(name: Hashable) -> str:
    return "all" if name is None else str(name)


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a model to groups, (G, D), and to variants, (V, G, D), which show errors."""

    values: Floats
    variants: Floats | None = None


Examine = Callable[[list[int], Floats], Sequence[tuple[Any, tuple[str, ...]]]]
"""From places of groups and their shares: a test and warnings for each."""
Revise = Callable[[list[int], list[Estimate]], Sequence[Estimate]]
"""From places of groups and their estimates under prior shift: estimates by other means."""


@dataclass(frozen=True, eq=False)
class GroupAnswers:
    """Answers of a method to groups, and all that their estimates are computed from.

    `conditioned_sizes` are the numbers of independent items that the answers count for,
    `own` the answers of ``predict`` if these are not the conditioned means themselves. The
    estimates of the groups at the places `named` are conditioned on a prior that they share.
    """

    names: tuple[Hashable, ...]
    method: str
    classes: Array
    sizes: Ints
    estimand: Estimand
    conditioning: ShareConditioning
    answers: Answers
    own: Answers | None
    conditioned_sizes: Ints
    n_effective: Sequence[float | None]
    examine: Examine
    revise: Revise | None = None
    shared: ShareConditioning | None = None
    named: frozenset[int] = frozenset()

    @cached_property
    def raw(self) -> Floats:
        """Shares that the method alone finds, (G, K)."""
        return self._raw(self._everywhere)

    @cached_property
    def raw_error(self) -> Floats | None:
        """Bound on the error of `raw` from cells or samples in place of items, (G, K)."""
        if self.own is None:
            variants = self._points_of_variants(self._everywhere, self.sizes)
        else:
            variants = self.own.variants
        if variants is None:
            return None
        return deviations(self.raw, variants, self.conditioned_sizes < self.sizes)

    @property
    def _everywhere(self) -> list[int]:
        return list(range(len(self.names)))

    def _raw(self, places: list[int]) -> Floats:
        if self.own is not None:
            return self.own.values[places]
        return self._points(places, self.answers.values, self.sizes)

    def _points_of_variants(self, places: list[int], sizes: Ints) -> Floats | None:
        if self.answers.variants is None:
            return None
        return np.stack(
            [self._points(places, answers, sizes) for answers in self.answers.variants]
        )

    def _points(self, places: list[int], answers: Floats, sizes: Ints) -> Floats:
        shares = np.empty((len(places), len(self.classes)))
        for conditioning, positions in self._by_prior(places):
            rows = [places[i] for i in positions]
            shares[positions] = conditioning.points(answers[rows], sizes[rows])
        return shares

    def _by_prior(self, places: list[int]) -> Iterator[tuple[ShareConditioning, list[int]]]:
        """Positions of the places whose groups have the same prior."""
        shared = [i for i, place in enumerate(places) if place in self.named]
        alone = [i for i, place in enumerate(places) if place not in self.named]
        if shared:
            assert self.shared is not None
            yield self.shared, shared
        if alone:
            yield self.conditioning, alone

    def estimates(self, places: list[int]) -> Sequence[Estimate]:
        """Estimates of some groups, with their draws if memory allows it."""
        return self._made(places, self._posteriors(places, ShareConditioning.posteriors))

    def in_batches(self) -> Iterator[Estimate]:
        """Estimates of all groups, whose draws are released batch by batch."""
        for first in range(0, len(self.names), _AT_ONCE):
            places = list(range(first, min(first + _AT_ONCE, len(self.names))))
            posteriors = self._posteriors(places, ShareConditioning.repeated)
            estimates = self._made(places, posteriors)
            yield from estimates
            revised = [estimate.posterior for estimate in estimates]
            for posterior in [*posteriors, *revised]:
                if isinstance(posterior, RepeatedPosterior):
                    posterior.release()

    def _posteriors(
        self, places: list[int], make: Callable[..., Iterable[Any]]
    ) -> list[SharePosterior | RepeatedPosterior]:
        """Distributions of the shares of some groups, made by a method of a conditioning."""
        posteriors: dict[int, SharePosterior | RepeatedPosterior] = {}
        for conditioning, positions in self._by_prior(places):
            rows = [places[i] for i in positions]
            distributions = make(
                conditioning, self.answers.values[rows], self.conditioned_sizes[rows]
            )
            posteriors |= zip(positions, distributions, strict=True)
        return [posteriors[i] for i in range(len(places))]

    def _made(
        self, places: list[int], posteriors: Sequence[SharePosterior | RepeatedPosterior]
    ) -> Sequence[Estimate]:
        shares = np.stack([posterior.shares for posterior in posteriors])
        as_predicted = self.own is None and bool(
            (self.conditioned_sizes[places] == self.sizes[places]).all()
        )
        raw = shares if as_predicted else self._raw(places)
        errors = self._errors(places, shares)
        examined = self.examine(places, shares)
        estimates = [
            Estimate(
                method=self.method,
                classes=self.classes,
                shares=shares[i],
                raw=raw[i],
                n_items=int(self.sizes[place]),
                estimand=self.estimand,
                posterior=posteriors[i],
                fit_test=examined[i][0],
                warnings=examined[i][1],
                n_effective=self.n_effective[place],
                reduction_error=errors[i],
            )
            for i, place in enumerate(places)
        ]
        return estimates if self.revise is None else self.revise(places, estimates)

    def _errors(self, places: list[int], shares: Floats) -> list[Floats | None]:
        """Errors of the shares that come from cells or samples in place of items."""
        variants = self._points_of_variants(places, self.conditioned_sizes)
        if variants is None:
            return [None] * len(places)
        sampled = self.conditioned_sizes[places] < self.sizes[places]
        return list(deviations(shares, variants, sampled))


class ConditionedEstimates(Estimates):
    """Estimates given the answers of a method to groups; each is computed when it is read."""

    def __init__(self, answered: GroupAnswers) -> None:
        self.answered = answered
        self._places = {name: place for place, name in enumerate(answered.names)}
        self.names, self.sizes = answered.names, answered.sizes
        self.quantity, self.method, self.classes = "shares", answered.method, answered.classes

    @property
    def raw(self) -> Floats:
        """Shares that the method alone finds, (G, K)."""
        return self.answered.raw

    @property
    def raw_error(self) -> Floats | None:
        """Bound on the error of `raw` from cells or samples in place of items, (G, K)."""
        return self.answered.raw_error

    def __getitem__(self, name: Hashable) -> Estimate:
        if name not in self._places:
            raise KeyError(name)
        return self.answered.estimates([self._places[name]])[0]

    def values(self) -> ValuesView[Estimate]:
        """Estimates in the order of the groups."""
        return _Values(self)

    def to_list(self) -> list[Estimate]:
        """Estimates of all groups at once, with their draws if memory allows it."""
        return list(self.answered.estimates(list(range(len(self)))))


class _Values(ValuesView[Estimate]):
    """Estimates of all groups, computed in batches."""

    _mapping: ConditionedEstimates

    def __iter__(self) -> Iterator[Estimate]:
        return self._mapping.answered.in_batches()


def deviations(answers: Floats, variants: Floats, sampled: Bools) -> Floats:
    """Errors of answers, from those to variants of the statistics.

    For cells, twice the largest difference between answers with these cells, with cells of
    twice the width and, divided by four, with cells of four times the width: about six times
    the error, which is of second order. For samples, four standard errors by the jackknife,
    of the class with the largest.
    """
    wider = np.abs(variants[1] - variants[0]) / 4
    errors = 2 * np.maximum(np.abs(variants[0] - answers), wider)
    if sampled.any():
        V = len(variants)
        spread = ((variants - variants.mean(axis=0)) ** 2).sum(axis=0)
        errors = np.where(sampled[:, None], 4 * np.sqrt((V - 1) / V * spread), errors)
    return np.repeat(errors.max(axis=1, keepdims=True), errors.shape[1], axis=1)
