"""Estimates of groups by name, computed when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    from headcount.uncertainty import Estimate, ShareConditioning

__all__ = ["Evidence", "GroupEstimates"]

Floats = NDArray[np.float64]

_MOST_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """Means of the functions that the assumption is tested on."""

    diagnostics: Diagnostics
    seen: Floats
    outside: Floats


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
    raw : ndarray of shape (G, K)
        Shares that the method alone finds.
    raw_error : ndarray of shape (G, K) or None
        Bound on their error that comes from cells or samples in place of items; None if there
        is none. Methods that stop early, such as `SLD`, can differ by a last step as well.
    """

    method: str
    classes: NDArray[Any]
    names: tuple[Any, ...]
    sizes: NDArray[np.int64]
    raw: Floats
    raw_error: Floats | None
    target: Any
    conditioning: ShareConditioning
    answers: Floats
    variants: Floats | None
    effective: NDArray[np.int64]
    evidence: Evidence | None

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {name: place for place, name in enumerate(self.names)}

    def __getitem__(self, name: Any) -> Estimate:
        if name not in self._places:
            raise KeyError(name)
        return self._estimates([self._places[name]])[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _estimates(self, places: list[int]) -> list[Estimate]:
        from headcount.uncertainty import Estimate

        sizes = self.effective[places]
        posteriors = self.conditioning.posteriors(self.answers[places], sizes)
        shares = np.stack([posterior.mean for posterior in posteriors])
        errors = self._errors(places, shares)
        return [
            Estimate(
                self.method,
                self.classes,
                posterior.mean,
                self.raw[place],
                int(self.sizes[place]),
                self.target,
                posterior,
                diagnosis.fit_test,
                diagnosis.warnings,
                None if effective == self.sizes[place] else float(effective),
                error,
            )
            for place, effective, posterior, diagnosis, error in zip(
                places, sizes, posteriors, self._diagnoses(places, shares), errors, strict=True
            )
        ]

    def _errors(self, places: list[int], shares: Floats) -> list[Floats | None]:
        """Errors of the shares that come from cells or samples in place of items."""
        if self.variants is None:
            return [None] * len(places)
        means = [
            self.conditioning.means(answers[places], self.effective[places])
            for answers in self.variants
        ]
        sampled = self.effective[places] < self.sizes[places]
        return list(deviations(shares, np.stack(means), sampled))

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
        for name, estimate in self.items():
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
