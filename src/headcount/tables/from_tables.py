"""From tables to results: the work behind the commands that read tables."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headcount._support.documentation import documented
from headcount._support.files import each_once, input_files
from headcount._support.parameters import check_choice, check_fraction
from headcount._support.text import first_of
from headcount.errors import HeadcountError, warn
from headcount.estimates.changes import NothingVariesError
from headcount.estimates.labels.plan import LabelPlan
from headcount.estimates.statistics.statistics import Statistics
from headcount.estimates.statistics.warehouse import cells_query
from headcount.items.arrays import Scored, Verdicts, count_rows
from headcount.quantifiers.base import Quantifier
from headcount.scores.scorer import ScoredPool
from headcount.tables.analysis import Analysis
from headcount.tables.backtests import backtest, find_groups, learn_history
from headcount.tables.changes import changes_of, what_changed
from headcount.tables.from_items import (
    TableItems,
    TableStatistics,
    analyse_source,
    empty_statistics,
    summarise_table,
)
from headcount.tables.model_files import load_model
from headcount.tables.models import ScoreModel, TableModel, fit_score_model, fit_table_model
from headcount.tables.preparation import Preparation, Tally
from headcount.tables.readers import TableFile, batch_rows
from headcount.tables.roles import (
    MISSING,
    MOST_GROUPS,
    FewLabels,
    Groups,
    LabelledItems,
    Options,
    leak_note,
    match_labels,
    read_clusters,
    read_few_labels,
    read_labelled,
    read_true_labels,
    read_weights,
    split_by_label,
    tag_columns,
    too_many_groups,
)
from headcount.tables.tags import Learning, TagAnalysis, analyse_tags
from headcount.tables.words import add_counts, by_treatment

STATISTICS_ENDING = ".hcs"
"""Ending of files of statistics."""

# Rows of a table with more than two classes that are kept in memory.
_MOST_ROWS_KEPT = 1_000_000
# Probability of blaming any column although only the mix changed.
_BLAME_LEVEL = 0.05
# Parts of the items that a column must change in to be named if the test does not reject, and
# to be evidence against the assumption by itself.
_LARGE_CHANGE, _OTHER_COLUMN = 0.2, 0.5
# Files of statistics that a result names.
_MOST_NAMES = 6


@documented(backtest, what_changed)
def analyse(
    new: Any,
    *,
    train: Any = None,
    scores: Any = None,
    model: Any = None,
    target: str | None = None,
    by: str | Sequence[str] | None = None,
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
    history: str = "auto",
) -> Analysis | TagAnalysis:
    """Estimate the shares of the classes in a table of unlabelled items, and in its groups.

    Learns from a labelled table. Columns become features by their type: numbers, yes or no,
    dates, categories and texts; missing values are filled in. If the new table has the labels,
    the true shares are shown as well. This is what the command ``headcount estimate`` does.

    Parameters
    ----------
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
    by : str or sequence of str, default=None
        Groups: a column, or "year", "quarter", "month", "week" or "day". Several columns make
        one group of each combination. They do not become features.
    method : str, default="auto"
        Name of a method in `headcount.methods`, or "auto" for several strong ones combined.
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
    history : {"auto", "yes", "no"}, default="auto"
        Use what held in labelled months or groups. If the labelled table has the groups of
        `by`, or one column of dates, a backtest tells which reading of the data to rely on, and
        how much drift intervals must contain. Without labelled groups, intervals contain the
        drift that is usual. "yes" demands labelled groups; "no" assumes that only the mix of
        the classes changes.

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
    >>> labelled, new = reviews(400, 0.2, 0).drop("month"), reviews(300, 0.6, 1).drop("opinion")
    >>> analysis = hc.analyse(new, train=labelled, target="opinion", by="month", method="SLD")
    >>> analysis.to_frame().select("group", "class", "share").shape
    (6, 3)
    >>> bool(analysis.overall.low[0] < 0.6 < analysis.overall.high[0])
    True
    >>> print(analysis.verdict)
    Of 300 items, about ... are “good” (95% interval ...), down from 79.8% in training...
    """
    _check_sources(train, scores, model, target)
    check_choice("`history`", history, ("auto", "yes", "no"))
    options = Options(
        by, date_column, date_order, separator, weight, cluster, level, random_state, title
    )
    table = options.table(new, "new")
    notes: tuple[str, ...] = table.notes
    if train is scores is model is None:
        train, table, note = split_by_label(table, target)
        notes += (note,)
    options = options.of_table(table)
    few_labels = _FewLabelsOf(
        None if labelled is None else options.table(labelled, "labelled"), table, random_labels
    )
    if model is not None:
        fitted = checked_model(model, options.column, leave_out)
        return _apply(fitted, table, few_labels.read(fitted), notes, options)
    table.require([] if options.column is None else [options.column], "which `by` names")
    name, labelled_source = ("train", train) if scores is None else ("scores", scores)
    source = options.table(labelled_source, name)
    source.require(leave_out, "which `leave_out` names")
    reasons = dict.fromkeys(leave_out, "left out by the caller") | options.not_features()
    learning = Learning(method, classifier, reasons, history, scored=scores is not None)
    tags = tag_columns(source, str(target))
    if tags:
        _check_tag_options(scores, labelled, random_labels)
        return analyse_tags(table, source, tags, learning, options)
    training = read_labelled(source, str(target), random_state=random_state)
    notes += (*source.notes, *training.notes)
    return _learn_and_apply(training, str(target), table, few_labels, learning, notes, options)


@dataclass(frozen=True, eq=False)
class _FewLabelsOf:
    """Source of the labels of some rows of a new table: a table of their own, or itself."""

    labelled: TableFile | None
    new: TableFile
    random_labels: bool

    def read(self, model: TableModel | ScoreModel) -> FewLabels:
        """Labels, which are among the classes of a model."""
        return read_few_labels(
            self.labelled, self.new, model.target, model.quantifier.classes_,
            random_labels=self.random_labels,
        )  # fmt: skip


def _learn_and_apply(
    training: LabelledItems,
    target: str,
    table: TableFile,
    few_labels: _FewLabelsOf,
    learning: Learning,
    notes: tuple[str, ...],
    options: Options,
) -> Analysis:
    """Analysis of a table by a model that is fitted on labelled items."""
    settings: dict[str, Any] = {"method": learning.method, "leave_out": learning.leave_out}
    settings["random_state"] = options.random_state
    fitted: TableModel | ScoreModel
    if learning.scored:
        fitted = fit_score_model(training, target, **settings)
    else:
        settings |= {"classifier": learning.classifier, "date_order": options.date_order}
        fitted = fit_table_model(training, target, **settings)
        hint = "to learn without it, name it by `leave_out`"
        table.require(fitted.columns, f"which the training table has ({hint})")
        notes += (*fitted.preparation.notes(), leak_note(training, fitted.preparation))
    labels = few_labels.read(fitted)
    if labels.labelled is None:
        fitted, note = learn_history(fitted, training, options, learning.history)
        notes += (note,)
    analysis = _apply(fitted, table, labels, notes, options)
    analysis = _with_labelled_shares(analysis, training, options)
    if isinstance(fitted, ScoreModel):
        return analysis
    return _with_changes(
        analysis, table, training, fitted.preparation, learning.leave_out, options
    )


def _with_labelled_shares(
    analysis: Analysis, training: LabelledItems, options: Options
) -> Analysis:
    """The analysis with the shares of the labelled items of each group, if it has any."""
    groups = find_groups(training, options) if analysis.groups else None
    if groups is None or not groups.as_new:
        return analysis
    codes = np.searchsorted(np.asarray(analysis.classes), training.labels)
    K, shares = len(analysis.classes), {}
    for name in groups.names:
        counts = np.bincount(codes[groups.values == name], minlength=K)
        shares[name] = counts / counts.sum()
    slices = [replace(item, in_labelled=shares.get(str(item.name))) for item in analysis.groups]
    if all(item.in_labelled is None for item in slices):
        return analysis
    overall = replace(analysis.overall, in_labelled=analysis.training)
    return replace(analysis, overall=overall, groups=tuple(slices))


def _with_changes(
    analysis: Analysis,
    table: TableFile,
    training: LabelledItems,
    preparation: Preparation,
    leave_out: Collection[str],
    options: Options,
) -> Analysis:
    """The analysis with columns that changed, and doubts where one is hardly the same."""
    try:
        options = replace(options, level=_BLAME_LEVEL)
        changes = changes_of(table, training, preparation, leave_out, options)
    except NothingVariesError:  # texts without words that are frequent enough
        return analysis
    sizes = {row.column: row.size for row in changes.columns if row.is_changed}
    largest = max(sizes.values(), default=0.0)
    if not analysis.overall.is_unlike and largest < _LARGE_CHANGE:
        return analysis
    if largest < _OTHER_COLUMN:
        return replace(analysis, changes=changes)
    name = max(sizes, key=sizes.__getitem__)
    doubt = (
        f"{sizes[name]:.0%} of the items have other values of {name} than the labelled ones, "
        "whatever the mix"
    )
    return replace(
        analysis,
        changes=changes,
        overall=replace(analysis.overall, doubt=doubt),
        groups=tuple(replace(item, doubt=item.doubt or doubt) for item in analysis.groups),
    )


def _check_tag_options(scores: Any, labelled: Any, random_labels: bool) -> None:
    passed = {"scores": scores is not None, "labelled": labelled is not None}
    for name, is_passed in (passed | {"random_labels": random_labels}).items():
        if is_passed:
            raise HeadcountError(
                f"`{name}` is for one target, but `target` is a pattern of several tags: name "
                "one column."
            )


def _check_sources(train: Any, scores: Any, model: Any, target: str | None) -> None:
    named = {"train": train, "scores": scores, "model": model}
    passed = [f"`{name}`" for name, source in named.items() if source is not None]
    if len(passed) > 1 or (not passed and target is None):
        which = f"not {' and '.join(passed)}" if passed else "none is"
        raise HeadcountError(f"One of `train`, `scores` and `model` is needed, {which}.")
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


@dataclass(frozen=True, eq=False)
class _Reading:
    """Rows of a table as they were read: kept, or reduced to statistics batch by batch."""

    source: TableItems | TableStatistics
    n_rows: int
    tally: Tally
    notes: tuple[str, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    manner: str = ""


def _apply(
    model: TableModel | ScoreModel,
    table: TableFile,
    labels: FewLabels,
    notes: tuple[str, ...],
    options: Options,
) -> Analysis:
    """Analysis of a table by a fitted model."""
    if _is_streamed(model, table, labels, options):
        reading = _read_in_batches(model, table, options)
    else:
        reading = _read_items(model, table, labels, options)
    columns = model.column_facts()
    add_counts(columns, reading.tally, reading.n_rows, table.name)
    facts = {
        "Labelled table": model.training,
        "New table": f"{table.name}, {reading.n_rows:,} rows{reading.manner}",
        **reading.facts,
    }
    if options.column is not None:
        facts["Groups"] = f"by {options.column}"
    analysis = analyse_source(
        reading.source,
        data_facts=facts | by_treatment(columns),
        title=options.title or f"{model.target} in {table.name}",
        level=options.level,
        random_state=options.random_state,
    )
    notes += (*analysis.notes, *reading.notes, *reading.tally.notes(table.name), model.choice())
    notes += (_order_note(model, [item.name for item in analysis.groups], options),)
    return replace(
        analysis,
        columns=columns,
        notes=tuple(filter(None, notes)),
        history=model.why_history,
        model=model,
    )


def _order_note(model: TableModel | ScoreModel, names: Sequence[Any], options: Options) -> str:
    """Note on new periods before the last labelled one; empty if there are none."""
    labelled = () if model.history is None else model.history.labelled
    if not labelled or not options.of_time:
        return ""
    last = max(map(str, labelled))
    earlier = [name for name in names if name not in labelled and MISSING != str(name) < last]
    if not earlier:
        return ""
    which = f"{len(earlier)} {options.by}s are" if len(earlier) > 1 else f"{earlier[0]} is"
    return f"{which} before the last labelled one, {last}, and estimated as if after it."


def _is_streamed(
    model: TableModel | ScoreModel, table: TableFile, labels: FewLabels, options: Options
) -> bool:
    """True if a table is read in batches of which statistics are kept, and not the items."""
    has_labels = labels.labelled is not None or model.target in table.columns
    beside = options.weight is not None or options.cluster is not None
    if has_labels or beside or not model.quantifier.fitted_.is_reducible:
        return False
    # Statistics of two classes are as good as the items. With more, small tables are kept.
    two = len(model.quantifier.classes_) == 2
    most = batch_rows(len(model.columns)) if two else _MOST_ROWS_KEPT
    return table.count_rows() > most


def _read_items(
    model: TableModel | ScoreModel, table: TableFile, labels: FewLabels, options: Options
) -> _Reading:
    """Rows of a table that are kept in memory."""
    groups = options.groups(table)
    items, tally = model.items(table, options.date_order)
    truth, note = None, labels.note
    if model.target in table.columns and not note:
        column = table.read([model.target])[model.target]
        truth, unknown = read_true_labels(column, model.quantifier.classes_, table.name)
        # Where some labels are used, it is known that others are missing.
        note = unknown if labels.labelled is None else ""
    facts = {}
    if labels.labelled is not None:
        facts["Labels"] = f"{len(labels.labelled[0]):,} rows of {labels.source}"
    n_rows = count_rows(items)
    source = TableItems(
        model.quantifier,
        items if isinstance(items, Scored | Verdicts) else ScoredPool(items),
        Groups.of(None, n_rows) if groups is None else groups,
        truth,
        labels.labelled,
        labels.plan,
        read_weights(table, options.weight),
        read_clusters(table, options.cluster),
    )
    notes = (note, "" if groups is None else groups.note)
    return _Reading(source, n_rows, tally, notes, facts)


def _read_in_batches(
    model: TableModel | ScoreModel, table: TableFile, options: Options
) -> _Reading:
    """Rows of a table that is read once, in batches."""
    summary = summarise_table(model, table, options)
    n_groups = len(summary.statistics.groups)
    if n_groups > MOST_GROUPS:
        raise too_many_groups(str(options.by), n_groups)
    source = TableStatistics(model.quantifier, summary.statistics, options.of_time)
    n_rows, manner = summary.statistics.n, ", read in batches"
    return _Reading(source, n_rows, summary.tally, summary.notes, manner=manner)


# Files of statistics, and counts of a database.


@documented(analyse)
def summarise(
    new: Any,
    *,
    model: Any,
    by: str | Sequence[str] | None = None,
    date_column: str | None = None,
    separator: str | None = None,
    date_order: str | None = None,
) -> Statistics:
    """Read tables once, in batches, into statistics that merge with those of other tables.

    This is what the command ``headcount statistics make`` does.

    Parameters
    ----------
    model : path, TableModel or ScoreModel
        File written by `Analysis.save`, or ``Analysis.model``.

    Returns
    -------
    Statistics
        By group. `analyse_files` makes an analysis of its files.
    """
    options = Options(by, date_column, date_order, separator)
    table = options.table(new, "new")
    options = options.of_table(table)
    fitted = checked_model(model, options.column, ())
    return summarise_table(fitted, table, options).statistics


def merge_files(files: Sequence[str | os.PathLike[str]]) -> Statistics:
    """Merge files of statistics."""
    return _merged(_statistics_files(files), None)


def analyse_files(
    files: Sequence[str | os.PathLike[str]],
    *,
    model: Any,
    level: float = 0.95,
    random_state: int = 0,
    title: str | None = None,
) -> Analysis:
    """Estimate the shares of the classes, and those of groups, from files of statistics."""
    check_fraction("`level`", level)
    fitted, paths = checked_model(model, None, ()), _statistics_files(files)
    together = _merged(paths, empty_statistics(fitted))
    if len(together.groups) > MOST_GROUPS:
        raise too_many_groups("a column", len(together.groups))
    names = first_of((path.name for path in paths), _MOST_NAMES)
    facts = {"Labelled table": fitted.training, "Statistics": f"{names}, {together.n:,} rows"}
    analysis = analyse_source(
        TableStatistics(fitted.quantifier, together),
        data_facts=facts,
        title=title or f"{fitted.target} in {paths[0].name}",
        level=level,
        random_state=random_state,
    )
    return replace(analysis, columns=fitted.column_facts(), model=fitted)


def _statistics_files(files: Sequence[str | os.PathLike[str]]) -> list[Path]:
    named = (path for pattern in files for path in input_files(pattern, (STATISTICS_ENDING,)))
    paths, note = each_once(named)
    if note:
        warn(note)
    return paths


def _merged(paths: Sequence[Path], start: Statistics | None) -> Statistics:
    together = start
    for path in paths:
        loaded = Statistics.load(path)
        try:
            together = loaded if together is None else together.merge(loaded)
        except HeadcountError as error:
            raise HeadcountError(f"{path.name!r}: {error}") from None
    assert together is not None
    return together


def counting_query(
    model: Path,
    dialect: str,
    *,
    table: str = "scored",
    score: str | None = None,
    by: Sequence[str] = (),
) -> str:
    """Query whose result `estimate_statistics` of the model's quantifier takes.

    `model` is a file of two classes, learnt from scores; `score` the column of the posteriors
    of the second class, by default that of the model; `by` columns of the groups.
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


# Plans of rows to label.


@documented(summarise, analyse, Quantifier.plan_labels)
def plan_labels(
    new: Any,
    *,
    model: Any,
    precision: float | None = None,
    budget: int | None = None,
    positive: Any = None,
    by: str | Sequence[str] | None = None,
    date_column: str | None = None,
    show: Sequence[str] | None = None,
    level: float = 0.95,
    random_state: int = 0,
    separator: str | None = None,
    date_order: str | None = None,
) -> tuple[LabelPlan, pl.DataFrame]:
    """Choose rows of a table to label, at random, so that few labels buy much precision.

    Precision and budget are those of each group, if there are groups.

    Parameters
    ----------
    show : sequence of str, default=None
        Columns that people need to see to label a row. By default all, but for those that
        hold scores or labels.

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
    >>> from headcount.tables import plan_labels
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=900)
    >>> table = pl.DataFrame({"size": rng.normal(y), "kind": np.array(["a", "b"])[y]})
    >>> analysis = hc.analyse(table[300:].drop("kind"), train=table[:300], target="kind",
    ...                       method="SLD")
    >>> plan, rows = plan_labels(table[300:].drop("kind"), model=analysis.model, budget=60)
    >>> rows.columns
    ['row', 'size', 'stratum', 'weight', 'label', 'pool']
    """
    options = Options(by, date_column, date_order, separator, level=level)
    table = options.table(new, "new")
    options = options.of_table(table)
    fitted = checked_model(model, options.column, ())
    columns = _shown_columns(table, fitted, show)
    by_group, groups = options.groups(table), None
    if by_group is not None:
        groups = np.empty(by_group.samples.n_pool, np.int64)
        for number, rows in enumerate(list(by_group.samples)[1:]):
            groups[rows] = number
    items, _ = fitted.items(table, date_order)
    plan = fitted.quantifier.plan_labels(
        items,
        precision=precision,
        budget=budget,
        positive=_named_class(positive, fitted),
        groups=groups,
        level=level,
        random_state=random_state,
    )
    frame = plan.to_frame()
    items = table.read(columns)[plan.rows.tolist()] if columns else frame.select([])
    items = items.rename({name: f"{name} of NEW" for name in columns if name in frame.columns})
    return plan, pl.concat([frame.select("row"), items, frame.drop("row")], how="horizontal")


def _named_class(positive: Any, model: TableModel | ScoreModel) -> Any:
    """Class that a text from the command line stands for."""
    if positive is None:
        return None
    classes = model.quantifier.classes_
    codes, strange = match_labels(pl.Series([positive]), classes)
    if strange is not None or codes[0] < 0:
        raise HeadcountError(
            f"`positive` is {positive!r}; it must be one of the classes, which are "
            f"{first_of(map(repr, classes.tolist()), 10)}."
        )
    return classes.tolist()[int(codes[0])]


def _shown_columns(
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


# The American spellings.
analyze, summarize = analyse, summarise
