"""Plans of rows to label, from tables: the work behind ``headcount label``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.analysis.from_tables import as_table, checked_model
from headcount.analysis.groups import group_column, read_groups
from headcount.analysis.label_columns import match_labels
from headcount.analysis.models import ScoreModel, TableModel
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError
from headcount.labels import LabelPlan

if TYPE_CHECKING:
    import polars as pl

__all__ = ["plan_labels"]


def plan_labels(
    new: Any,
    *,
    model: Any,
    precision: float | None = None,
    budget: int | None = None,
    positive: Any = None,
    by: str | None = None,
    date_column: str | None = None,
    show: Sequence[str] | None = None,
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
) -> tuple[LabelPlan, pl.DataFrame]:
    """Choose rows of a table to label, at random, so that few labels buy much precision.

    Parameters
    ----------
    new : frame or path
        Table of the items whose shares are wanted.
    model : path, TableModel or ScoreModel
        File written by `Analysis.save`, or ``Analysis.model``.
    precision : float, default=None
        Half the width that the widest interval should have, such as 0.01.
    budget : int, default=None
        Number of labels. Pass either precision or budget.
    positive : Any, default=None
        The only class whose share matters: precision is that of its interval, and labels serve
        it more than the others. All classes by default.
    by, date_column : str, default=None
        Groups, as for `analyse`. Precision and budget are then those of each group.
    show : sequence of str, default=None
        Columns that people need to see to label a row. By default all, but for those that
        hold scores or labels.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Random seed.
    separator : str, default=None
        Separator of columns in CSV files; a comma by default.

    Returns
    -------
    plan : LabelPlan
        The plan.
    table : polars.DataFrame
        Its rows with the columns row, those shown, stratum, weight, label (empty) and pool.
        Filled in, it is what `analyse` takes as ``labelled``.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> from headcount.analysis import plan_labels
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=900)
    >>> table = pl.DataFrame({"size": rng.normal(y), "kind": np.array(["a", "b"])[y]})
    >>> analysis = hc.analyse(table[300:].drop("kind"), train=table[:300], target="kind",
    ...                       method="SLD")
    >>> plan, rows = plan_labels(table[300:].drop("kind"), model=analysis.model, budget=60)
    >>> rows.columns
    ['row', 'size', 'stratum', 'weight', 'label', 'pool']
    """
    table = as_table(new, "new", separator)
    column = group_column(table, by, date_column)
    fitted = checked_model(model, column, ())
    columns = _shown(table, fitted, show)
    groups = None
    if by is not None and column is not None:
        found = read_groups(table, by, column)
        groups = np.empty(found.samples.n_pool, np.int64)
        for number, rows in enumerate(list(found.samples)[1:]):
            groups[rows] = number
    items, _ = fitted.items(table)
    plan = fitted.quantifier.plan_labels(
        items,
        precision=precision,
        budget=budget,
        positive=_class(positive, fitted),
        groups=groups,
        level=level,
        random_state=random_state,
    )
    made = plan.to_frame()
    seen = table.read(columns)[plan.rows.tolist()] if columns else made.select([])
    seen = seen.rename({name: f"{name} of NEW" for name in columns if name in made.columns})
    parts = [made.select("row"), seen, made.drop("row")]
    return plan, _beside(parts)


def _class(positive: Any, model: TableModel | ScoreModel) -> Any:
    """Class that a text from the command line stands for."""
    import polars as pl

    if positive is None:
        return None
    classes = model.quantifier.classes_
    codes, strange = match_labels(pl.Series([positive]), classes)
    if strange is not None or codes[0] < 0:
        raise HeadcountError(
            f"`positive` is {positive!r}; it must be one of the classes, which are "
            f"{', '.join(map(repr, classes.tolist()[:10]))}."
        )
    return classes.tolist()[int(codes[0])]


def _beside(parts: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame([column for part in parts for column in part.iter_columns()])


def _shown(
    table: TableFile, model: TableModel | ScoreModel, show: Sequence[str] | None
) -> list[str]:
    """Columns that annotators see: never scores, as these would sway them."""
    hidden = {model.target, *(model.columns if isinstance(model, ScoreModel) else ())}
    if show is None:
        return [name for name in table.columns if name not in hidden]
    table.require(show, "which `show` names")
    scores = [name for name in show if name in hidden]
    if scores:
        raise HeadcountError(
            f"`show` names column {scores[0]!r}, which holds scores or labels: people who see "
            "them label less independently. Leave it out."
        )
    return list(dict.fromkeys(show))
