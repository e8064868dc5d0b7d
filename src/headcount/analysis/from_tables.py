"""From two tables to an analysis: the work behind ``headcount estimate``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headcount._parameters import check_fraction
from headcount.analysis.analysis import Analysis
from headcount.analysis.few_labels import (
    FewLabels,
    read_clusters,
    read_few_labels,
    read_weights,
)
from headcount.analysis.from_items import analyse_items
from headcount.analysis.groups import Groups, group_column, read_groups
from headcount.analysis.label_columns import read_true_labels
from headcount.analysis.model_files import load_model
from headcount.analysis.models import (
    ScoreModel,
    TableModel,
    fit_score_model,
    fit_table_model,
)
from headcount.data import count_rows
from headcount.data.readers import TableFile, frame_table, open_table
from headcount.errors import HeadcountError

__all__ = ["analyse", "as_table", "checked_model"]

_MOST_NAMES = 6


def analyse(
    new: Any,
    *,
    train: Any = None,
    scores: Any = None,
    model: Any = None,
    target: str | None = None,
    by: str | None = None,
    date: str | None = None,
    method: str = "auto",
    classifier: Any = "logistic",
    leave_out: Sequence[str] = (),
    labelled: Any = None,
    random_labels: bool = False,
    weight: str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
    title: str | None = None,
) -> Analysis:
    """Estimate the shares of the classes in a table of unlabelled items, and in its groups.

    Learns from a labelled table. Columns become features by their type: numbers, yes or no,
    dates, categories and texts; missing values are filled in. This is what the command
    ``headcount estimate`` does.

    Parameters
    ----------
    new : frame or path
        Table of the items to count: a frame of Polars, pandas or another library, or a CSV,
        TSV, Parquet, Feather or JSON lines file. If it has the labels, the true shares are
        shown as well.
    train : frame or path, default=None
        Labelled table to learn from.
    scores : frame or path, default=None
        Instead of `train`: labelled table with the posteriors of a classifier that was not
        trained on these items, one column named after each class, or one for the positive
        class. `new` has the same columns.
    model : path, TableModel or ScoreModel, default=None
        Instead of `train`: file written by `Analysis.save`, or ``Analysis.model``.
    target : str, default=None
        Column of the labels, in `train` or `scores`.
    by : str, default=None
        Estimate by group as well: a column, or "year", "quarter", "month", "week" or "day".
        This column does not become a feature.
    date : str, default=None
        Column of the dates, for periods; needed if there are several.
    method : str, default="auto"
        Name of a method in `headcount.methods`, or "auto" for several strong ones combined.
    classifier : {"logistic", "forest"} or scikit-learn classifier, default="logistic"
        Classifier of the prepared columns.
    leave_out : sequence of str, default=()
        Columns of `train` that do not become features, or of `scores` that are not
        posteriors.
    labelled : frame or path, default=None
        Labels of some rows of `new`, which the shares then rest on: the table that
        ``headcount label`` writes, with the labels filled in.
    random_labels : bool, default=False
        True if the labelled rows are a simple random sample of the rows of `new`. The labels
        are then those of `labelled`, with the columns row (from 0) and label, or those that
        `new` itself has in the column `target`.
    weight, cluster : str, default=None
        Columns of `new`: survey weights, and clusters such as authors. They do not become
        features.
    level : float, default=0.95
        Probability that an interval contains the share.
    random_state : int, default=0
        Random seed.
    separator : str, default=None
        Separator of columns in CSV files; a comma by default.
    title : str, default=None
        Heading of the report.

    Returns
    -------
    Analysis
        With `to_frame`, `to_dict`, `report`, `save` and `plot`; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import headcount as hc
    >>> def reviews(n, share, seed):
    ...     rng = np.random.default_rng(seed)
    ...     bad = rng.random(n) < share
    ...     words = ["late", "broken", "refund", "fast", "lovely", "thanks", "box", "shop"]
    ...     odds = np.where(bad[:, None], [3, 3, 3, 1, 1, 1, 2, 2], [1, 1, 1, 3, 3, 3, 2, 2])
    ...     text = [" ".join(rng.choice(words, 6, p=each / 16)) for each in odds]
    ...     return pl.DataFrame({
    ...         "text": text,
    ...         "country": rng.choice(["FR", "IT"], n),
    ...         "month": np.where(np.arange(n) < n // 2, "2025-01", "2025-02"),
    ...         "opinion": np.where(bad, "bad", "good"),
    ...     })
    >>> labelled, new = reviews(400, 0.2, 0), reviews(300, 0.6, 1).drop("opinion")
    >>> analysis = hc.analyse(new, train=labelled, target="opinion", by="month", method="SLD")
    >>> analysis.to_frame().select("group", "class", "share").shape
    (6, 3)
    >>> bool(analysis.overall.low[0] < 0.6 < analysis.overall.high[0])
    True
    >>> print(analysis.verdict)
    Of 300 items, about ... are “good” (95% interval ...), down from 79.8% in training. ...
    """
    check_fraction("`level`", level)
    _check_sources(train, scores, model, target)
    table = as_table(new, "new", separator)
    column = group_column(table, by, date)
    aside = {"weight": weight, "cluster": cluster}
    for option, name in aside.items():
        if name is not None:
            table.require([name], f"which `{option}` names")
    if model is not None:
        fitted = checked_model(model, column, leave_out)
    elif scores is not None:
        training = as_table(scores, "scores", separator)
        training.require(leave_out, "which `leave_out` names")
        fitted = fit_score_model(
            training, str(target), method=method, random_state=random_state, leave_out=leave_out
        )
    else:
        training = as_table(train, "train", separator)
        training.require(leave_out, "which `leave_out` names")
        reasons = dict.fromkeys(leave_out, "left out by the caller")
        if column is not None:
            reasons[column] = "the groups are made of it, so the model must not learn from it"
        for option, name in aside.items():
            if name is not None:
                reasons[name] = f"it holds the {option}s of the items"
        fitted = fit_table_model(
            training,
            str(target),
            method=method,
            classifier=classifier,
            random_state=random_state,
            leave_out=reasons,
        )
    groups = None if by is None or column is None else read_groups(table, by, column)
    known = None if labelled is None else as_table(labelled, "labelled", separator)
    labels = read_few_labels(known, table, fitted.target, fitted.quantifier.classes_,
                             random_labels=random_labels)  # fmt: skip
    weights, clusters = read_weights(table, weight), read_clusters(table, cluster)
    return _apply(fitted, table, groups, labels, weights, clusters, level, random_state, title)


def as_table(source: Any, name: str, separator: str | None = None) -> TableFile:
    """Table of a path or frame.

    Parameters
    ----------
    source : frame or path
        The table.
    name : str
        Name of the argument, for messages about a frame.
    separator : str, default=None
        Separator of columns in CSV files; a comma by default.

    Returns
    -------
    TableFile
    """
    if isinstance(source, str | os.PathLike):
        return open_table(source, separator=separator)
    return frame_table(source, name)


def _check_sources(train: Any, scores: Any, model: Any, target: str | None) -> None:
    named = {"train": train, "scores": scores, "model": model}
    given = [f"`{name}`" for name, source in named.items() if source is not None]
    if len(given) != 1:
        found = f"not {' and '.join(given)}" if given else "none is"
        raise HeadcountError(f"One of `train`, `scores` and `model` is needed, {found}.")
    if target is None and model is None:
        raise HeadcountError(
            "`target` is missing: name the column that holds the labels of the labelled table."
        )


def checked_model(
    model: Any, column: str | None, leave_out: Sequence[str]
) -> TableModel | ScoreModel:
    """Model of a path, or as it is; it must not have learnt from the column of the groups."""
    if leave_out:
        raise HeadcountError(
            "`leave_out` has no use with `model`, which has learnt from its columns already: "
            "leave it out."
        )
    if isinstance(model, str | os.PathLike):
        model = load_model(Path(model))
    if not isinstance(model, TableModel | ScoreModel):
        raise HeadcountError(
            f"`model` is of type {type(model).__name__}; it must be a file that Analysis.save "
            "has written, or Analysis.model."
        )
    if column in model.columns:
        raise HeadcountError(
            f"`by` groups by column {column!r}, from which the model has learnt: train it with "
            "the same `by`, or choose other groups."
        )
    return model


def _apply(
    model: TableModel | ScoreModel,
    table: TableFile,
    groups: Groups | None,
    labels: FewLabels,
    weights: Any,
    clusters: Any,
    level: float,
    random_state: int,
    title: str | None,
) -> Analysis:
    """Analysis of a table by a fitted model."""
    items, missing = model.items(table)
    truth, note = None, labels.note
    if model.target in table.columns and not note:
        known = table.read([model.target])[model.target]
        truth, _ = read_true_labels(known, model.quantifier.classes_, table.name)
    n_rows = count_rows(items)
    columns = model.column_facts()
    for name, count in missing.items():
        if count:
            columns[name] += f"; {count:,} of {n_rows:,} missing in {table.name}"
    facts = {"Labelled table": model.training, "New table": f"{table.name}, {n_rows:,} rows"}
    if labels.labelled is not None:
        facts["Labels"] = f"{len(labels.labelled[0]):,} rows of {labels.source}"
    if groups is not None:
        facts["Groups"] = f"by {groups.column}"
    notes = [note, groups.note if groups else "", _missing(missing, n_rows, table.name)]
    analysis = analyse_items(
        model.quantifier,
        items,
        groups=groups,
        truth=truth,
        labelled=labels.labelled,
        design=labels.plan,
        weights=weights,
        clusters=clusters,
        data_facts=facts | _by_treatment(columns),
        title=title or f"{model.target} in {table.name}",
        level=level,
        random_state=random_state,
    )
    return replace(analysis, columns=columns, notes=tuple(filter(None, notes)), model=model)


def _by_treatment(columns: dict[str, str]) -> dict[str, str]:
    """Treatment of the columns, once for those that were treated alike."""
    alike: dict[str, list[str]] = {}
    for name, treatment in columns.items():
        alike.setdefault(treatment, []).append(name)
    return {
        f"Column{'' if len(names) == 1 else 's'} {_listed(names)}": treatment
        for treatment, names in alike.items()
    }


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES + 1
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])} and {more} more"


def _missing(missing: dict[str, int], n_rows: int, table: str) -> str:
    counted = [f"{name} {count:,}" for name, count in missing.items() if count]
    if not counted:
        return ""
    more = f" and {len(counted) - 5} more columns" if len(counted) > 5 else ""
    return (
        f"values missing in {table}, of {n_rows:,} each, were filled in from training: "
        f"{', '.join(counted[:5])}{more}."
    )
