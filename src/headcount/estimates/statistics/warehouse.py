"""Scores that a database has counted in cells: the query, and what estimates need of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._support.arrays import Floats, Ints
from headcount._support.frames import pl
from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, as_narwhals
from headcount.parts.fitted import Form, GroupStatistics, Part
from headcount.parts.training import CellsOf, MeanOf, Reduced, WeightedRows
from headcount.samples.samples import Samples

# Cells of the logit from -15 to 15. Wider cells show the error.
_N_CELLS, _REACH = 1024, 15
_N_WIDTHS = 2
_COLUMNS = ("cell", "items", "total")
# Numbers that a database has rounded or added in another order.
_ROUNDING = 1e-6

_QUOTES = {"bigquery": "`"}
_DOUBLES = {"bigquery": "float64", "postgres": "double precision"}
DIALECTS = ("duckdb", "bigquery", "snowflake", "postgres")
"""Dialects of SQL that queries are written in."""


def cells_query(
    dialect: str,
    table: str,
    score: str,
    by: Sequence[str] = (),
    *,
    of_first_class: bool = False,
) -> str:
    """Query that counts scores of two classes in cells."""
    check_choice("dialect", dialect, DIALECTS)
    quote = _QUOTES.get(dialect, '"')
    if any(quote in name for name in (score, *by)):
        raise HeadcountError(f"Names of columns must not contain {quote}: rename the column.")
    groups = "".join(f"{quote}{name}{quote}, " for name in by)
    number = f"cast({quote}{score}{quote} as {_DOUBLES.get(dialect, 'double')})"
    number = f"1 - {number}" if of_first_class else number
    cell = f"floor((ln(p / (1 - p)) + {_REACH}) * {_N_CELLS} / {2 * _REACH})"
    integer = "int64" if dialect == "bigquery" else "integer"
    return "\n".join(
        [
            f"select {groups.rstrip()}" if by else "select",
            f"  least(greatest(cast({cell} as {integer}), 0), {_N_CELLS - 1})",
            "    as cell,",
            "  count(*) as items,",
            "  sum(s) as total",
            "from (",
            f"  select {groups}{number} as s,",
            f"    least(greatest({number}, 1e-9), 1 - 1e-9) as p",
            f"  from {table}",
            ") as scores",
            "where s is not null",
            f"group by {groups}{len(by) + 1}",
        ]
    )


class CountedScores(GroupStatistics):
    """Scores of two classes in cells; `variants` have cells 2 and 4 times as wide."""

    def __init__(
        self, groups: tuple[Any, ...], sizes: Ints, variants: tuple[CellRows, ...]
    ) -> None:
        self._groups, self._sizes, self._variants = groups, sizes, variants

    @classmethod
    def of(cls, frame: Any, by: str | None = None) -> CountedScores:
        """Read the table that a query returned, of which `by` are the groups."""
        table = _checked(frame, by)
        table = table.sort("group", "cell", nulls_last=True)
        groups = table.group_by("group", maintain_order=True).agg(pl.col("items").sum())
        variants = tuple(_joined(table, width) for width in range(_N_WIDTHS + 1))
        return cls(tuple(groups["group"].to_list()), groups["items"].to_numpy(), variants)

    @property
    def form(self) -> Form:
        """Scores of one classifier."""
        return "scored"

    @property
    def groups(self) -> tuple[Any, ...]:
        """Names of the groups."""
        return self._groups

    @property
    def sizes(self) -> Ints:
        """Number of items of each group."""
        return self._sizes

    def n_variants(self, parts: Sequence[Part]) -> int:
        """Number of variants, which show the error of the cells."""
        return _N_WIDTHS

    def effective_sizes(self, parts: Sequence[Part]) -> Ints:
        """Number of items of each group: none are left out."""
        return self._sizes

    def reduced(self, parts: Sequence[Part], groups: slice, variant: int = 0) -> Reduced:
        """Values of the statistics that a method needs."""
        rows = self._variants[variant].of_groups(groups)
        return [rows.reduced(needed) for needed in parts]


@dataclass(frozen=True, eq=False)
class CellRows:
    """Cells of consecutive groups, each with its mean score and number of items."""

    scores: Floats
    weights: Floats
    ends: Ints

    def of_groups(self, groups: slice) -> CellRows:
        """Cells of some groups."""
        ends = self.ends[groups.start : groups.stop + 1]
        rows = slice(ends[0], ends[-1])
        return CellRows(self.scores[rows], self.weights[rows], ends - ends[0])

    def reduced(self, part: Part) -> Floats | WeightedRows:
        """Value of a statistic, from the mean scores of the cells."""
        items = part.source.items(Scored(self.scores))
        n = len(self.scores)
        if isinstance(part.reduction, CellsOf):
            samples = Samples(np.arange(n), self.ends, n_pool=n)
            return WeightedRows(part.reduction.rows(items), self.weights, samples)
        assert isinstance(part.reduction, MeanOf)
        alone = Samples(np.arange(n), np.arange(n + 1), n_pool=n)
        vectors = part.reduction.representation.embed(items).means(alone)
        sums = np.add.reduceat(vectors * self.weights[:, None], self.ends[:-1])
        return sums / np.add.reduceat(self.weights, self.ends[:-1])[:, None]


def _joined(table: pl.DataFrame, doublings: int) -> CellRows:
    """Cells of 2**doublings times the width."""
    wide = table.group_by("group", pl.col("cell") // 2**doublings, maintain_order=True).agg(
        pl.col("items").sum(), pl.col("total").sum()
    )
    counts = wide.group_by("group", maintain_order=True).len()["len"]
    weights = wide["items"].cast(pl.Float64).to_numpy()
    ends = np.concatenate([[0], np.cumsum(counts.to_numpy())]).astype(np.int64)
    return CellRows(np.clip(wide["total"].to_numpy() / weights, 0.0, 1.0), weights, ends)


def _checked(frame: Any, by: str | None) -> pl.DataFrame:
    """The table with the columns group, cell, items and total."""
    import narwhals.stable.v2 as nw

    read = as_narwhals(frame, "frame")
    if not isinstance(read, nw.DataFrame):
        raise HeadcountError(
            f"frame is of type {type(frame).__name__}; it must be a table of pandas, polars or "
            "pyarrow, as the query of headcount statistics sql returns it."
        )
    table = read.to_polars()
    table = table.rename(
        {name: name.lower() for name in table.columns if name.lower() in _COLUMNS}
    )
    group_columns = [name for name in table.columns if name not in _COLUMNS]
    missing = [name for name in _COLUMNS if name not in table.columns]
    if by is not None and by not in group_columns:
        missing.append(by)
    if missing:
        raise HeadcountError(
            f"frame has no column {missing[0]!r}; it must have cell, items and "
            "total, and a column for the groups if there are any: see headcount statistics sql."
        )
    if by is None and len(group_columns) > 1:
        raise HeadcountError(
            f"frame has the columns {', '.join(map(repr, group_columns))}: pass by, the one of "
            "the groups."
        )
    by = by if by is not None or not group_columns else group_columns[0]
    group = pl.lit(None, pl.String) if by is None else pl.col(by)
    table = table.select(
        group.alias("group"),
        pl.col("cell").cast(pl.Int64, strict=False),
        pl.col("items").cast(pl.Int64, strict=False),
        pl.col("total").cast(pl.Float64, strict=False),
    )
    _check_values(table)
    return table


def _check_values(table: pl.DataFrame) -> None:
    if not len(table):
        raise HeadcountError("frame has no rows: the query found no items with a score.")
    mean = pl.col("total") / pl.col("items")
    middle = (pl.col("cell") + 0.5) * (2 * _REACH / _N_CELLS) - _REACH
    half = _REACH / _N_CELLS
    low, high = (1 / (1 + (-(middle + side * half)).exp()) for side in (-1, 1))
    low = pl.when(pl.col("cell") == 0).then(0.0).otherwise(low)
    high = pl.when(pl.col("cell") == _N_CELLS - 1).then(1.0).otherwise(high)
    right = (
        pl.col("cell").is_between(0, _N_CELLS - 1)
        & (pl.col("items") > 0)
        & mean.is_between(low - _ROUNDING, high + _ROUNDING)
    )
    wrong = table.with_row_index().filter(~right.fill_null(False))
    if len(wrong):
        row = wrong.row(0, named=True)
        raise HeadcountError(
            f"Row {row['index'] + 1} of frame has cell {row['cell']}, items {row['items']} and "
            f"total {row['total']}, which no scores give: run the query of headcount "
            "statistics sql again."
        )
    twice = table.group_by("group", "cell").len().filter(pl.col("len") > 1)
    if len(twice):
        raise HeadcountError(
            f"frame has cell {twice['cell'][0]} twice for one group: add up the rows of each."
        )
