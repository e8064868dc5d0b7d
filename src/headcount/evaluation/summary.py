"""Mean errors by method, over all samples or by groups of them, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.frames import pl
from headcount._support.parameters import check_count
from headcount._support.text import Cell, Table, html_result
from headcount.errors import HeadcountError
from headcount.evaluation.significance import compare

DIGITS = 4
_TIE = 1e-12


def lowest(values: Floats, axis: int) -> Bools:
    """Mask of the lowest numbers along an axis, which missing ones never are."""
    numbers = np.where(np.isnan(values), np.inf, values)
    return np.isfinite(numbers) & (numbers <= numbers.min(axis=axis, keepdims=True) + _TIE)


def error_table(
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Floats,
    best: Bools,
    *,
    spread: Floats | None = None,
    marks: Sequence[Sequence[str]] | None = None,
    title: str = "",
    digits: int = DIGITS,
) -> Table:
    """Table of numbers with names of rows and columns."""
    body = [
        [
            Cell(name),
            *(
                Cell(
                    _number(values[i, j], digits),
                    bool(best[i, j]),
                    "" if marks is None else marks[i][j],
                    "" if spread is None else _number(spread[i, j], digits),
                )
                for j in range(len(columns))
            ),
        ]
        for i, name in enumerate(rows)
    ]
    numeric = [False, *[True] * len(columns)]
    return Table([corner, *columns], body, numeric, title=title)


def _number(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


_TENTHS = tuple(i / 10 for i in range(1, 10))
# A shift of 0.1 may come out a rounding error below it.
_EDGE_TOLERANCE = 1e-9

MARKS_EXPLAINED = "Against the best: † 0.001 < p < 0.05, ‡ p >= 0.05."


@dataclass(frozen=True, eq=False)
class SampleGroups:
    """Group of each sample, for each method."""

    by: str
    names: tuple[str, ...]
    codes: Ints  # (M, S)


def group(values: Array, by: str, bins: int | Sequence[float] | None) -> SampleGroups:
    """Group the samples by a number that each of them has."""
    if bins is None and values.dtype.kind == "i":
        distinct, codes = np.unique(values, return_inverse=True)
        names = tuple(f"{value:,}" for value in distinct)
        return SampleGroups(by, names, codes.reshape(values.shape))
    limits = _limits(values, bins)
    codes = np.searchsorted(limits, values + _EDGE_TOLERANCE, side="right")
    # SampleGroups beyond the first and last that have samples say nothing.
    first, last = int(codes.min()), int(codes.max())
    edges = ["", *(f"{limit:.3g}" for limit in limits), ""]
    names = tuple(_between(edges[i], edges[i + 1]) for i in range(first, last + 1))
    return SampleGroups(by, names, codes - first)


def _limits(values: Array, bins: Any) -> Floats:
    if bins is None:
        return np.array(_TENTHS)
    if np.ndim(bins) == 0:
        n = check_count("bins", bins)
        return np.linspace(values.min(), values.max(), n + 1)[1:-1]
    limits = np.asarray(bins)
    if limits.ndim != 1 or limits.dtype.kind not in "iuf" or not (np.diff(limits) > 0).all():
        raise HeadcountError(
            f"bins is {bins!r}; it must be a number of groups or the rising limits between "
            "them, such as [0.2, 0.4]."
        )
    return limits.astype(np.float64)


def _between(low: str, high: str) -> str:
    if not low and not high:
        return "all"
    if not low:
        return f"< {high}"
    return f"{low} to {high}" if high else f">= {low}"


@dataclass(frozen=True, eq=False)
class Summary:
    """Mean, standard deviation and median of the errors, the best method first.

    It prints as a table, the best in each column marked with a star.

    Attributes
    ----------
    methods, metrics, groups : tuple of str
        Names along the axes of the arrays; one group, "all", if samples are not grouped.
    by : str or None
        Name of the number that samples are grouped by.
    counts : ndarray of shape (M, G)
        How many samples there are.
    mean, sd, median : dict of str to ndarray of shape (M, G)
        Arrays of each metric.
    marks : dict of str to sequences, or None
        Marks of significance for each metric, by method and group.
    """

    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    groups: tuple[str, ...]
    by: str | None
    counts: Ints
    mean: Mapping[str, Floats]
    sd: Mapping[str, Floats]
    median: Mapping[str, Floats]
    marks: Mapping[str, Sequence[Sequence[str]]] | None = None

    def tables(self, *, digits: int = DIGITS, sd: bool = False) -> list[Table]:
        """The means as tables to print: one with one column per metric, or one per metric."""
        if self.by is None:
            return [self._overall(digits, sd)]
        return [self._grouped(metric, digits, sd) for metric in self.metrics]

    def _overall(self, digits: int, sd: bool) -> Table:
        mean = np.column_stack([self.mean[metric][:, 0] for metric in self.metrics])
        spread = np.column_stack([self.sd[metric][:, 0] for metric in self.metrics])
        marks = None
        if self.marks is not None:
            marks_by_metric = [
                [row[0] for row in self.marks[metric]] for metric in self.metrics
            ]
            marks = list(zip(*marks_by_metric, strict=True))
        return error_table(
            "method",
            self.methods,
            self.metrics,
            mean,
            lowest(mean, axis=0),
            spread=spread if sd else None,
            marks=marks,
            digits=digits,
        )

    def _grouped(self, metric: str, digits: int, sd: bool) -> Table:
        mean = self.mean[metric]
        return error_table(
            "method",
            self.methods,
            self.groups,
            mean,
            lowest(mean, axis=0),
            spread=self.sd[metric] if sd else None,
            marks=None if self.marks is None else self.marks[metric],
            title=f"{metric} by {self.by}",
            digits=digits,
        )

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame, one row per method and group: mean, sd and median of each metric."""
        n_methods, n_groups = self.counts.shape
        columns: dict[str, Any] = {"method": np.repeat(self.methods, n_groups)}
        if self.by is not None:
            columns[self.by] = np.tile(self.groups, n_methods)
        columns["samples"] = self.counts.ravel()
        for metric in self.metrics:
            columns[metric] = self.mean[metric].ravel()
            columns[f"{metric}_sd"] = self.sd[metric].ravel()
            columns[f"{metric}_median"] = self.median[metric].ravel()
        return pl.DataFrame(columns, nan_to_null=True)

    def to_markdown(self, *, digits: int = DIGITS, sd: bool = False) -> str:
        """Markdown tables of the means, the best in bold."""
        tables = self.tables(digits=digits, sd=sd)
        return "\n\n".join(table.to_markdown() for table in tables)

    def to_latex(self, *, digits: int = DIGITS, sd: bool = False) -> str:
        r"""LaTeX tables of the means, the best in bold; need ``\usepackage{booktabs}``."""
        tables = self.tables(digits=digits, sd=sd)
        return "\n\n".join(table.to_latex() for table in tables)

    def __repr__(self) -> str:
        tables = [table.to_text() for table in self.tables(sd=self.by is None)]
        return "\n\n".join(tables if self.marks is None else [*tables, MARKS_EXPLAINED])

    def _repr_html_(self) -> str:
        title = f"errors of {len(self.methods)} methods" + (f" by {self.by}" if self.by else "")
        notes = () if self.marks is None else (MARKS_EXPLAINED,)
        return html_result(title, self.tables(sd=self.by is None), notes)


def marks_of(
    methods: Sequence[str],
    metrics: Mapping[str, Floats],
    groups: SampleGroups | None,
    test: str,
) -> dict[str, list[list[str]]]:
    """Marks of significance for each metric, by method and group."""
    first = next(iter(metrics.values()))
    codes = np.zeros(first.shape, np.int64) if groups is None else groups.codes
    if (codes != codes[0]).any():
        raise HeadcountError(
            "test compares methods on the same samples, but methods that were trained on "
            "different shares have different samples in a group of shifts: leave test "
            "out, or choose another by."
        )
    n_groups = 1 if groups is None else len(groups.names)
    marks = {name: [[""] * n_groups for _ in methods] for name in metrics}
    for name, errors in metrics.items():
        for g in range(n_groups):
            inside = errors[:, codes[0] == g]
            if inside.shape[1] < 2 or len(inside) < 2:
                continue  # nothing to compare
            comparison = compare(dict(zip(methods, inside, strict=True)), test=test)
            for method, mark in zip(comparison.methods, comparison.marks, strict=True):
                marks[name][methods.index(method)][g] = mark
    return marks


def summarise(
    methods: Sequence[str],
    errors: Mapping[str, Floats],
    groups: SampleGroups | None,
    marks: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> Summary:
    """Summarise errors, given with one row per method and one column per sample."""
    first = next(iter(errors.values()))
    order = np.argsort(first.mean(axis=1), kind="stable")
    codes = np.zeros(first.shape, np.int64) if groups is None else groups.codes
    names = ("all",) if groups is None else groups.names
    counts = np.stack([np.bincount(codes[m], minlength=len(names)) for m in order])
    mean, sd, median = (
        {metric: np.full(counts.shape, np.nan) for metric in errors} for _ in range(3)
    )
    for metric, values in errors.items():
        for i, m in enumerate(order):
            for g in np.flatnonzero(counts[i]):
                inside = values[m][codes[m] == g]
                mean[metric][i, g] = inside.mean()
                median[metric][i, g] = np.median(inside)
                if len(inside) > 1:
                    sd[metric][i, g] = inside.std(ddof=1)
    if marks is not None:
        marks = {metric: [rows[m] for m in order] for metric, rows in marks.items()}
    return Summary(
        tuple(methods[m] for m in order),
        tuple(errors),
        names,
        None if groups is None else groups.by,
        counts,
        mean,
        sd,
        median,
        marks,
    )
