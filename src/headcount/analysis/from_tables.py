"""From two tables to an analysis: the work behind ``headcount estimate``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headcount._parameters import check_fraction
from headcount.analysis.analysis import Analysis
from headcount.analysis.facts import add_counts, by_treatment
from headcount.analysis.few_labels import (
    FewLabels,
    read_clusters,
    read_few_labels,
    read_weights,
)
from headcount.analysis.from_items import analyse_items, make_part
from headcount.analysis.group_shift import examine_groups
from headcount.analysis.groups import (
    MISSING,
    MOST_GROUPS,
    Groups,
    group_column,
    group_names,
    too_many_groups,
)
from headcount.analysis.label_columns import (
    LabelledItems,
    read_labelled,
    read_true_labels,
    split_by_label,
)
from headcount.analysis.large_tables import analyse_statistics, summarise_table
from headcount.analysis.model_files import load_model
from headcount.analysis.models import (
    ScoreModel,
    TableModel,
    fit_score_model,
    fit_table_model,
)
from headcount.analysis.options import Options
from headcount.analysis.tags import TagAnalysis, analyse_tags, tag_columns
from headcount.data import count_rows
from headcount.data.dates import check_order
from headcount.data.readers import TableFile, batch_rows, frame_table, open_tables
from headcount.errors import HeadcountError

__all__ = ["analyse", "as_table", "checked_model"]

# Rows of a table with more than two classes that are kept in memory.
_MOST_ROWS_KEPT = 1_000_000


def analyse(
    new: Any,
    *,
    train: Any = None,
    scores: Any = None,
    model: Any = None,
    target: str | None = None,
    by: str | None = None,
    date_column: str | None = None,
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
    date_order: str | None = None,
    title: str | None = None,
) -> Analysis | TagAnalysis:
    """Estimate the shares of the classes in a table of unlabelled items, and in its groups.

    Learns from a labelled table. Columns become features by their type: numbers, yes or no,
    dates, categories and texts; missing values are filled in. This is what the command
    ``headcount estimate`` does.

    Parameters
    ----------
    new : frame, path or list of paths
        Table of the items to count: a frame of Polars, pandas or another library, or files in
        CSV, TSV, Excel (.xlsx), JSON, JSON lines, Parquet or Feather. A path may be a pattern
        such as ``2024-*.csv``, or a folder. If it has the labels, the true shares are shown
        as well.
    train : frame, path or list of paths, default=None
        Labelled table to learn from. If `scores` and `model` are missing as well, `new` has
        labels in some of its rows: these are learnt from, and the others are counted.
    scores : frame, path or list of paths, default=None
        Instead of `train`: labelled table with the posteriors of a classifier that was not
        trained on these items, one column named after each class, or one for the positive
        class. `new` has the same columns.
    model : path, TableModel or ScoreModel, default=None
        Instead of `train`: file written by `Analysis.save`, or ``Analysis.model``.
    target : str, default=None
        Column of the labels, in `train` or `scores`. A pattern such as ``tag_*`` names several
        columns of `train` with 1 or 0, true or false, yes or no: tags, of which an item may
        have several.
    by : str, default=None
        Estimate by group as well: a column, or "year", "quarter", "month", "week" or "day".
        This column does not become a feature.
    date_column : str, default=None
        Column of the dates, for periods; needed if there are several.
    method : str, default="auto"
        Name of a method in `headcount.methods`, or "auto" for several strong ones combined.
    classifier : {"logistic", "forest", "boosting", "auto"} or classifier, default="logistic"
        Classifier of the prepared columns, by name or from scikit-learn. "auto" fits logistic
        regression and gradient boosting, and takes the one with the lower log loss on
        held-out labelled items.
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
        Separator of columns in CSV files; found from the file by default.
    date_order : {"day-first", "month-first"}, default=None
        Order of day and month in dates such as 03/04/2024; found from the columns by default.
    title : str, default=None
        Heading of the report.

    Returns
    -------
    Analysis
        With `to_frame`, `to_dict`, `report`, `save` and `plot`; prints as a table. For a
        pattern of tags a `TagAnalysis`, with one analysis per tag.

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
    check_order(date_order)
    _check_sources(train, scores, model, target)
    table = as_table(new, "new", separator)
    notes: tuple[str, ...] = table.notes
    if train is scores is model is None:
        train, table, note = _split(table, target)
        notes += (note,)
    column = group_column(table, by, date_column)
    options = Options(by, column, date_order, weight, cluster, level, random_state, title)
    options.check_columns(table)
    training = None
    if model is not None:
        fitted = checked_model(model, column, leave_out)
    else:
        table.require([] if column is None else [column], "which `by` names")
        name, given = ("train", train) if scores is None else ("scores", scores)
        source = as_table(given, name, separator)
        source.require(leave_out, "which `leave_out` names")
        out = dict.fromkeys(leave_out, "left out by the caller") | options.not_features()
        tags = tag_columns(source, str(target))
        if tags:
            _check_tag_options(scores, labelled, random_labels)
            return analyse_tags(table, source, tags, out, method, classifier, options)
        training = read_labelled(source, str(target), random_state=random_state)
        fit: Callable[..., TableModel | ScoreModel] = fit_score_model
        if scores is None:
            fit = partial(fit_table_model, classifier=classifier, date_order=date_order)
        fitted = fit(
            training, str(target), method=method, random_state=random_state, leave_out=out
        )
        notes += (*source.notes, *training.notes)
        if isinstance(fitted, TableModel):
            notes += fitted.preparation.notes()
    known = None if labelled is None else as_table(labelled, "labelled", separator)
    labels = read_few_labels(
        known,
        table,
        fitted.target,
        fitted.quantifier.classes_,
        random_labels=random_labels,
    )
    return _apply(fitted, table, training, labels, notes, options)


def _split(table: TableFile, target: str | None) -> tuple[TableFile, TableFile, str]:
    """Labelled and other rows of one table, and a note."""
    if target is None or target not in table.columns:
        raise HeadcountError(
            "One of `train`, `scores` and `model` is needed, none is, and "
            f"{table.name!r} has no column {target!r} with labels of some rows."
        )
    return split_by_label(table, target)


def _check_tag_options(scores: Any, labelled: Any, random_labels: bool) -> None:
    given = {"scores": scores is not None, "labelled": labelled is not None}
    for name, used in (given | {"random_labels": random_labels}).items():
        if used:
            raise HeadcountError(
                f"`{name}` is for one target, but `target` is a pattern of several tags: name "
                "one column."
            )


def as_table(source: Any, name: str, separator: str | None = None) -> TableFile:
    """Table of a path or frame.

    Parameters
    ----------
    source : frame, path or list of paths
        The table.
    name : str
        Name of the argument, for messages about a frame.
    separator : str, default=None
        Separator of columns in CSV files; found from the file by default.

    Returns
    -------
    TableFile
    """
    if isinstance(source, TableFile):
        return source
    if isinstance(source, str | os.PathLike):
        return open_tables([source], separator=separator)
    if isinstance(source, list | tuple) and all(
        isinstance(each, str | os.PathLike) for each in source
    ):
        return open_tables(source, separator=separator)
    return frame_table(source, name)


def _check_sources(train: Any, scores: Any, model: Any, target: str | None) -> None:
    named = {"train": train, "scores": scores, "model": model}
    given = [f"`{name}`" for name, source in named.items() if source is not None]
    if len(given) > 1 or (not given and target is None):
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
    training: LabelledItems | None,
    labels: FewLabels,
    notes: tuple[str, ...],
    options: Options,
) -> Analysis:
    """Analysis of a table by a fitted model."""
    if _is_streamed(model, table, training, labels, options):
        return _apply_in_batches(model, table, training, notes, options)
    groups = options.groups(table)
    items, tally = model.items(table, options.date_order)
    truth, note = None, labels.note
    if model.target in table.columns and not note:
        known = table.read([model.target])[model.target]
        truth, unknown = read_true_labels(known, model.quantifier.classes_, table.name)
        # Where some labels are used, it is known that others are missing.
        note = unknown if labels.labelled is None else ""
    n_rows = count_rows(items)
    columns = model.column_facts()
    add_counts(columns, tally, n_rows, table.name)
    facts = {"Labelled table": model.training, "New table": f"{table.name}, {n_rows:,} rows"}
    if labels.labelled is not None:
        facts["Labels"] = f"{len(labels.labelled[0]):,} rows of {labels.source}"
    if groups is not None:
        facts["Groups"] = f"by {groups.column}"
    analysis = analyse_items(
        model.quantifier,
        items,
        groups=groups,
        truth=truth,
        labelled=labels.labelled,
        design=labels.plan,
        weights=read_weights(table, options.weight),
        clusters=read_clusters(table, options.cluster),
        data_facts=facts | by_treatment(columns),
        title=options.title or f"{model.target} in {table.name}",
        level=options.level,
        random_state=options.random_state,
    )
    notes += (note, groups.note if groups else "", *tally.notes(table.name), model.choice())
    if groups is not None and labels.labelled is None:
        analysis, note = _by_labels(analysis, model, items, groups, training, options)
        notes += (note,)
    return replace(analysis, columns=columns, notes=tuple(filter(None, notes)), model=model)


def _is_streamed(
    model: TableModel | ScoreModel,
    table: TableFile,
    training: LabelledItems | None,
    labels: FewLabels,
    options: Options,
) -> bool:
    """True if a table is read in batches of which statistics are kept, and not the items."""
    kept = labels.labelled is not None or model.target in table.columns
    beside = options.weight is not None or options.cluster is not None
    column = options.column
    by_labels = training is not None and column in training.table.columns
    if kept or beside or by_labels or not model.quantifier.is_reducible:
        return False
    # Statistics of two classes are as good as the items. With more, small tables are kept.
    two = len(model.quantifier.classes_) == 2
    most = batch_rows(len(model.columns)) if two else _MOST_ROWS_KEPT
    return table.count_rows() > most


def _apply_in_batches(
    model: TableModel | ScoreModel,
    table: TableFile,
    training: LabelledItems | None,
    notes: tuple[str, ...],
    options: Options,
) -> Analysis:
    """Analysis of a table that is read once, in batches."""
    summary = summarise_table(model, table, options.by, options.column, options.date_order)
    n_groups = len(summary.statistics.groups)
    if n_groups > MOST_GROUPS:
        raise too_many_groups(str(options.by), n_groups)
    columns = model.column_facts()
    n_rows = summary.statistics.n
    add_counts(columns, summary.tally, n_rows, table.name)
    facts = {
        "Labelled table": model.training,
        "New table": f"{table.name}, {n_rows:,} rows, read in batches",
    }
    of_time = options.column is not None and options.column != options.by
    if options.column is not None:
        facts["Groups"] = f"by {options.column}"
    analysis = analyse_statistics(
        model,
        summary.statistics,
        of_time=of_time,
        data_facts=facts | by_treatment(columns),
        title=options.title or f"{model.target} in {table.name}",
        level=options.level,
        random_state=options.random_state,
    )
    notes += (*summary.notes, *summary.tally.notes(table.name), model.choice())
    if options.column is not None and not of_time:
        notes += (_untested(options.column, training),)
    return replace(analysis, columns=columns, notes=tuple(filter(None, notes)), model=model)


def _untested(column: str, labelled: LabelledItems | None) -> str:
    """Note that labels cannot show if groups differ in more than the mix."""
    source = "a saved model has no" if labelled is None else "there are no"
    return (
        f"It could not be tested on labels if the groups of {column} differ in more than the "
        f"mix, as {source} labelled items with this column."
    )


def _by_labels(
    analysis: Analysis,
    model: TableModel | ScoreModel,
    items: Any,
    groups: Groups,
    labelled: LabelledItems | None,
    options: Options,
) -> tuple[Analysis, str]:
    """Analysis with the groups estimated as their labelled items demand, and a note."""
    if labelled is None or groups.column not in labelled.table.columns:
        return analysis, "" if groups.of_time else _untested(groups.column, labelled)
    values = labelled.table.read([groups.column])[groups.column]
    try:
        names, _ = group_names(values, str(options.by), labelled.table.name, options.date_order)
    except HeadcountError:
        return analysis, ""  # of another form than in the new table
    named = np.asarray(names.fill_null(MISSING).to_list(), dtype=np.str_)
    shift = examine_groups(
        model.quantifier,
        items,
        groups,
        named,
        estimates=[part.estimate for part in analysis.groups],
        overall=None if analysis.overall.is_broken else analysis.overall.estimate,
        random_state=options.random_state,
    )
    parts = list(analysis.groups)
    for i, estimate in shift.estimates.items():
        old = parts[i - 1]
        parts[i - 1] = make_part(
            old.name, estimate, analysis.level, old.classify_and_count, old.truth
        )
    for i, doubt in shift.doubts.items():
        parts[i - 1] = replace(parts[i - 1], doubt=doubt)
    return replace(analysis, groups=tuple(parts)), shift.sentence
