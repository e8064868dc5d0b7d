"""Changes between a labelled table and a table of new items, apart from the mix."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from headcount._support.arrays import Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_count
from headcount.estimates.changes import Changes, find_changes
from headcount.tables.columns import without_marks
from headcount.tables.preparation import Preparation, Tally, prepare
from headcount.tables.readers import TableFile
from headcount.tables.roles import LabelledItems, Options, read_labelled

# New rows that are compared. More show changes that are too small to matter.
_MOST_ROWS = 100_000


@documented(find_changes)
def what_changed(
    new: Any,
    *,
    train: Any,
    target: str,
    leave_out: Sequence[str] = (),
    shares: ArrayLike | None = None,
    level: float = 0.05,
    random_state: int = 0,
    separator: str | None = None,
    date_order: str | None = None,
) -> Changes:
    """Rank the columns of a table by how much they changed beyond a change of the mix.

    If only the shares of the classes change (prior shift), the columns change as well, but each
    of them is a mixture of its distributions in the classes of the labelled table, with the
    same shares. Each column is compared with the mixture that the other columns imply. A column
    is blamed only if chance does not explain the difference, whatever the shares are.

    Parameters
    ----------
    new : frame, path or list of paths
        Table of the new items: a frame of Polars, pandas or another library, or files in CSV,
        TSV, Excel (.xlsx), JSON, JSON lines, Parquet or Feather. A path may be a pattern such
        as ``2024-*.csv``, or a folder.
    train : frame, path or list of paths
        Labelled table.
    target : str
        Column of the labels in `train`.
    leave_out : sequence of str, default=()
        Columns that are not compared. Dates are left out, as they always change.
    random_state : int, default=0
        Random seed.
    separator : str, default=None
        Separator of columns in CSV files; found from the file by default.
    date_order : {"day-first", "month-first"}, default=None
        Order of day and month in dates such as 03/04/2024; found from the columns by default.

    Returns
    -------
    Changes
        Ranked columns, with `sentence`, `to_frame` and `to_table`; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> def bookings(n, share, delay, seed):
    ...     rng = np.random.default_rng(seed)
    ...     cancelled = rng.random(n) < share
    ...     return pl.DataFrame({
    ...         "nights": rng.poisson(3 + 2 * cancelled),
    ...         "price": rng.normal(100 + 20 * cancelled, 30),
    ...         "lead_time": rng.gamma(2, 20 + 10 * cancelled + delay),
    ...         "deposit": np.where(rng.random(n) < 0.1 + 0.3 * cancelled, "paid", "none"),
    ...         "cancelled": cancelled,
    ...     })
    >>> labelled, new = bookings(2000, 0.3, 0, 0), bookings(2000, 0.6, 10, 1)
    >>> changes = hc.what_changed(new, train=labelled, target="cancelled")
    >>> print(changes)
    1 of 4 columns changed beyond what the mix explains: lead_time.
    column     items moved  expected under the mix → observed  by chance
    lead_time        ...%  mean ... → ...               p < 0.0001
    >>> same = bookings(2000, 0.6, 0, 2)
    >>> hc.what_changed(same, train=labelled, target="cancelled").changed
    ()
    """
    check_count("random_state", random_state, 0)
    options = Options(
        separator=separator, date_order=date_order, level=level, random_state=random_state
    )
    table, source = options.table(new, "new"), options.table(train, "train")
    source.require(leave_out, "which `leave_out` names")
    labelled = read_labelled(source, target, random_state=random_state)
    preparation = prepare(
        labelled.table.read(),
        leave_out=dict.fromkeys(leave_out, "left out by the caller"),
        name=repr(source.name),
        dates=date_order,
    )
    changes = changes_of(table, labelled, preparation, leave_out, options, shares)
    notes = (*table.notes, *source.notes, *labelled.notes, *changes.notes)
    return replace(changes, notes=notes)


def changes_of(
    table: TableFile,
    labelled: LabelledItems,
    preparation: Preparation,
    leave_out: Collection[str],
    options: Options,
    shares: ArrayLike | None = None,
) -> Changes:
    """Changes between prepared labelled rows and a table, at the level of the options."""
    random_state, date_order = options.random_state, options.date_order
    frame = labelled.table.read()
    kinds = {column.name: column.kind for column in preparation.columns}
    # A column with one value does not become a feature, but it may change.
    constant = [
        name
        for name, kind in kinds.items()
        if kind == "dropped" and name not in leave_out and frame[name].n_unique() == 1
        and name in table.columns
    ]  # fmt: skip
    table.require(preparation.used, "which the training table has")
    rows, note = _rows(table, random_state)
    items = table.read([*preparation.used, *constant], rows)
    tally = Tally(len(items))
    old = preparation.conform(frame)
    prepared = preparation.of_table(table, date_order).conform(items, tally)
    tally.check(table.name)
    compared = [name for name in old.columns if kinds[name] != "date"]
    changes = find_changes(
        {name: old[name] for name in compared} | _as_texts(frame, constant),
        labelled.labels,
        {name: prepared[name] for name in compared} | _as_texts(items, constant),
        texts=[name for name in compared if kinds[name] == "text"],
        shares=shares,
        level=options.level,
        random_state=random_state,
    )
    left_out = {
        column.name: column.treatment if column.kind == "dropped" else "dates always change"
        for column in preparation.columns
        if column.kind in ("dropped", "date") and column.name not in constant
    }
    return replace(changes, left_out=left_out, notes=tuple(note))


def _rows(table: TableFile, seed: int) -> tuple[Ints | None, tuple[str, ...]]:
    """Rows that are compared, and a note if these are not all."""
    n = table.count_rows()
    if n <= _MOST_ROWS:
        return None, ()
    rows = np.sort(np.random.default_rng(seed).choice(n, _MOST_ROWS, replace=False))
    return rows, (f"Of {n:,} new rows, {_MOST_ROWS:,} drawn at random were compared.",)


def _as_texts(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, pl.Series]:
    return {name: without_marks(frame[name]).cast(pl.String, strict=False) for name in names}
