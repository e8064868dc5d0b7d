"""Estimates of groups by name, computed when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._text import Cell, Table, html_result
from headcount.quantify.statistics_parts import deviations

if TYPE_CHECKING:
    import polars as pl

    from headcount.diagnose import Diagnosis, Diagnostics
    from headcount.uncertainty import Estimate, ShareConditioning, SharePosterior

__all__ = ["Evidence", "GroupEstimates"]

Floats = NDArray[np.float64]

_MOST_SHOWN = 20
# Groups that are estimated at a time, if all are.
_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Evidence:
    """Means of the functions that the assumption is tested on."""

    diagnostics: Diagnostics
    seen: Floats
    outside: Floats


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a model to all groups, (G, D), and to variants of their statistics, (V, G, D).

    There are no variants, None, if the statistics have no error.
    """

    found: Floats
    variants: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class GroupEstimates(Mapping[Any, "Estimate"]):
    """Estimates of groups by name. Each is computed when it is read.

    Attributes
    ----------
    method : str
        Name of the quantifier.
    classes : ndarray of shape (K,)
        The classes.
    names : tuple
        Names of the groups.
    sizes : ndarray of shape (G,)
        Number of items of each group.
    """

    method: str
    classes: NDArray[Any]
    names: tuple[Any, ...]
    sizes: NDArray[np.int64]
    target: Any
    conditioning: ShareConditioning
    answers: Answers
    own: Answers | None
    effective: NDArray[np.int64]
    evidence: Evidence | None

    @cached_property
    def raw(self) -> Floats:
        """Shares that the method alone finds, (G, K)."""
        return self._raw(slice(None))

    @cached_property
    def raw_error(self) -> Floats | None:
        """Bound on the error of `raw` from cells or samples in place of items, (G, K).

        None if there is none. Methods that stop early, such as `SLD`, can differ by a last
        step as well.
        """
        if self.own is None:
            means = self._means_of_variants(slice(None), self.sizes)
        else:
            means = self.own.variants
        if means is None:
            return None
        return deviations(self.raw, means, self.effective < self.sizes)

    def _raw(self, places: slice | list[int]) -> Floats:
        if self.own is not None:
            return self.own.found[places]
        return self.conditioning.means(self.answers.found[places], self.sizes[places])

    def _means_of_variants(
        self, places: slice | list[int], sizes: NDArray[np.int64]
    ) -> Floats | None:
        if self.answers.variants is None:
            return None
        return np.stack(
            [
                self.conditioning.means(answers[places], sizes[places])
                for answers in self.answers.variants
            ]
        )

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {name: place for place, name in enumerate(self.names)}

    def __getitem__(self, name: Any) -> Estimate:
        if name not in self._places:
            raise KeyError(name)
        place = [self._places[name]]
        found = self.conditioning.posteriors(self.answers.found[place], self.effective[place])
        return self._estimates(place, found)[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def values(self) -> ValuesView[Estimate]:
        """Estimates in the order of the groups.

        They are computed as they are read, several at a time, and keep few of their draws:
        those of earlier ones are computed again if they are used.
        """
        return _Values(self)

    def in_batches(self) -> Iterator[Estimate]:
        """Estimates of all groups, whose draws are released batch by batch.

        Returns
        -------
        iterator of Estimate
        """
        for first in range(0, len(self.names), _AT_ONCE):
            places = list(range(first, min(first + _AT_ONCE, len(self.names))))
            sizes = self.effective[places]
            posteriors = list(self.conditioning.repeated(self.answers.found[places], sizes))
            yield from self._estimates(places, posteriors)
            for posterior in posteriors:
                posterior.release()

    def _estimates(
        self, places: list[int], posteriors: Sequence[SharePosterior]
    ) -> list[Estimate]:
        from headcount.uncertainty import Estimate

        sizes = self.effective[places]
        shares = np.stack([posterior.mean for posterior in posteriors])
        same = self.own is None and bool((sizes == self.sizes[places]).all())
        raw = shares if same else self._raw(places)
        errors = self._errors(places, shares)
        return [
            Estimate(
                self.method,
                self.classes,
                mean,
                alone,
                int(self.sizes[place]),
                self.target,
                posterior,
                diagnosis.fit_test,
                diagnosis.warnings,
                None if effective == self.sizes[place] else float(effective),
                error,
            )
            for place, effective, posterior, mean, alone, diagnosis, error in zip(
                places,
                sizes,
                posteriors,
                shares,
                raw,
                self._diagnoses(places, shares),
                errors,
                strict=True,
            )
        ]

    def _errors(self, places: list[int], shares: Floats) -> list[Floats | None]:
        """Errors of the shares that come from cells or samples in place of items."""
        means = self._means_of_variants(places, self.effective)
        if means is None:
            return [None] * len(places)
        sampled = self.effective[places] < self.sizes[places]
        return list(deviations(shares, means, sampled))

    def _diagnoses(self, places: list[int], shares: Floats) -> list[Diagnosis]:
        from headcount.diagnose import Diagnosis, assumption_warnings

        sizes = self.sizes[places]
        evidence = self.evidence
        if evidence is None:
            classes = self.classes.tolist()
            return [
                Diagnosis(None, assumption_warnings(own, classes, n=int(n), shift="prior"))
                for own, n in zip(shares, sizes, strict=True)
            ]
        return evidence.diagnostics.examine_means(
            evidence.seen[places], evidence.outside[places], sizes, shares, shift="prior"
        )

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with one row per group and class.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        polars.DataFrame
            With the columns group, items, class, share, raw, low, high, count, count_low,
            count_high, error and fit_p_value.
        """
        import polars as pl

        frames = []
        for name, estimate in zip(self.names, self.values(), strict=True):
            test, error = estimate.fit_test, estimate.reduction_error
            frames.append(
                estimate.to_frame(level).select(
                    pl.lit(name).alias("group"),
                    pl.lit(estimate.n_items).alias("items"),
                    pl.all(),
                    pl.Series("error", np.zeros(len(self.classes)) if error is None else error),
                    pl.lit(None if test is None else test.p_value, pl.Float64).alias(
                        "fit_p_value"
                    ),
                )
            )
        return pl.concat(frames, how="vertical_relaxed")

    def to_table(self, level: float = 0.95) -> Table:
        """Table that `print` shows: one row per group, with an interval for each class.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        Table
        """
        rows = []
        for name in self.names[:_MOST_SHOWN]:
            estimate = self[name]
            ends = estimate.interval(level)
            shares = [
                f"{share:.1%} ({low:.1%} to {high:.1%})"
                for share, low, high in zip(estimate.shares, ends.low, ends.high, strict=True)
            ]
            label = "all" if name is None else str(name)
            rows.append([Cell(label), Cell(f"{estimate.n_items:,}"), *map(Cell, shares)])
        head = ["group", "items", *map(str, self.classes.tolist())]
        return Table(head, rows, [False] + [True] * (len(head) - 1))

    def _title(self) -> str:
        n = len(self)
        shown = f", the first {_MOST_SHOWN}" if n > _MOST_SHOWN else ""
        plural = "" if n == 1 else "s"
        return f"{self.method}: shares in {n:,} group{plural}, with 95% intervals{shown}"

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.to_table().to_text(ruled=False)}"

    def _repr_html_(self) -> str:
        return html_result(self._title(), [self.to_table()], ())


class _Values(ValuesView["Estimate"]):
    """Estimates of all groups, computed in batches."""

    _mapping: GroupEstimates

    def __iter__(self) -> Iterator[Estimate]:
        return self._mapping.in_batches()
