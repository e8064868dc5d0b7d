"""The query that counts scores in a database, for a model on file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headcount.analysis.model_files import load_model
from headcount.analysis.models import TableModel
from headcount.errors import HeadcountError
from headcount.quantify.warehouse_cells import cells_query

__all__ = ["counting_query"]


def counting_query(
    model: Path,
    dialect: str,
    *,
    table: str = "scored",
    score: str | None = None,
    by: Sequence[str] = (),
) -> str:
    """Query whose result `estimate_cells` of the model's quantifier takes.

    Parameters
    ----------
    model : Path
        Model file of two classes, learnt from scores.
    dialect : {"duckdb", "bigquery", "snowflake", "postgres"}
        Dialect of SQL.
    table : str, default="scored"
        Table of the scored items, as a query names it.
    score : str, default=None
        Column of the posteriors of the second class; by default that of the model.
    by : sequence of str, default=()
        Columns of the groups.

    Returns
    -------
    str
    """
    loaded = load_model(model)
    n_classes = len(loaded.quantifier.classes_)
    if n_classes != 2:
        raise HeadcountError(
            f"{model.name!r} has {n_classes} classes, and cells hold the scores of two: use "
            "headcount statistics make on files of the scores instead."
        )
    if isinstance(loaded, TableModel):
        raise HeadcountError(
            f"{model.name!r} was learnt from the items themselves, and a database has only "
            "scores: make a model with headcount estimate --scores and --save."
        )
    columns, positive = loaded.columns, 1
    if score is None and len(columns) == 1:
        positive = loaded.scores.positive
    return cells_query(
        dialect, table, score or columns[-1], by, of_first_class=score is None and positive == 0
    )
