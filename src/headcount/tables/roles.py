"""Columns with a role besides features: labels, weights, clusters, scores and groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from sklearn.tree import DecisionTreeClassifier

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.parameters import check_fraction, check_one_each
from headcount._support.text import first_of
from headcount.errors import HeadcountError
from headcount.estimates.labels.plan import LabelPlan
from headcount.estimates.statistics.streams import PosteriorColumns
from headcount.items.arrays import encode_labels
from headcount.samples.samples import Samples
from headcount.tables.columns import (
    ORDERS,
    Column,
    check_order,
    find_date_form,
    parse_texts,
    read_dates,
    short,
    without_marks,
)
from headcount.tables.preparation import Preparation
from headcount.tables.readers import TableFile, as_table, frame_table, open_tables

_MOST_CLASSES = 500
# Labelled rows that are learnt from. More hardly change estimates, and take long.
_MOST_ROWS = 100_000
# Texts that stand for a label that is missing, and one that does if others are there.
_NO_LABEL = ("", "?", "#N/A", "n/a", "nan", "NaN", "null", "NULL", "unlabelled", "unlabeled")
_UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Rows of a table with labels that can be learnt from."""

    table: TableFile
    labels: Array
    description: str
    notes: tuple[str, ...]


def read_labelled(table: TableFile, target: str, *, random_state: int = 0) -> LabelledItems:
    """Read the rows of a table that have a label."""
    table.require([target], "which `target` names")
    column = table.read([target])[target]
    labels, rows, notes = read_labels(column, table.name, header_rows(table, column))
    if len(rows) > _MOST_ROWS:
        notes += (
            f"Of {len(rows):,} labelled rows, {_MOST_ROWS:,} drawn at random were used: more "
            "would take longer and change little.",
        )
        rng = np.random.default_rng(random_state)
        sampled = np.sort(rng.choice(len(rows), _MOST_ROWS, replace=False))
        labels, rows = labels[sampled], rows[sampled]
    columns = [name for name in table.columns if name != target]
    every = len(rows) == len(column)
    frame = (
        table.read(columns, None if every else rows) if columns else column.to_frame()[:, :0]
    )
    of_all = "" if every else f" of {len(column):,}"
    return LabelledItems(
        frame_table(frame, table.name),
        labels,
        f"{table.name}, {len(rows):,}{of_all} rows",
        notes,
    )


def header_rows(table: TableFile, column: pl.Series) -> Ints:
    """Rows that repeat the names of all columns, given one of the columns."""
    if column.dtype != pl.String:
        return np.empty(0, np.int64)
    rows = (stripped(column) == column.name).fill_null(False).arg_true().to_numpy()
    if len(rows) in (0, len(column)):
        return np.empty(0, np.int64)
    # A class may have the name of its column, so the others decide.
    frame = table.read([name for name in table.columns if name != column.name], rows)
    repeats = np.full(len(rows), frame.width > 0)
    for values in frame.iter_columns():
        texts = values.cast(pl.String, strict=False).str.strip_chars()
        repeats &= (texts == values.name).fill_null(False).to_numpy()
    return np.asarray(rows[repeats], np.int64)


def read_labels(
    column: pl.Series, table: str, headers: Ints
) -> tuple[Array, Ints, tuple[str, ...]]:
    """Labels of the training items, except those of rows that repeat the names of columns."""
    what = f"Column {column.name!r} of {table!r}"
    raw, notes = _without_headers(stripped(column), table, headers)
    filled = raw.is_not_null()
    if not filled.any():
        raise HeadcountError(f"{what} has no labels: name another column by `target`.")
    n_missing = len(raw) - int(filled.sum()) - len(headers)
    if n_missing > 0:
        notes.append(
            f"{n_missing:,} of {len(raw):,} rows of {table} have no label in {column.name} and "
            "were not learnt from."
        )
    rows = filled.arg_true().to_numpy().astype(np.int64)
    labels, merged = _one_spelling(_typed(raw.drop_nulls(), what))
    if merged:
        notes.append(f"{table}: {merged}")
    counts = labels.value_counts(sort=True)
    single = counts.filter(pl.col("count") == 1)[labels.name].to_list()
    if single and len(counts) - len(single) >= 2:
        frequent = ~labels.is_in(single)
        labels, rows = labels.filter(frequent), rows[frequent.to_numpy()]
        named, one = first_of(map(repr, single), 3), len(single) == 1
        notes.append(
            f"class{'' if one else 'es'} {named} of {column.name} {'has' if one else 'have'} a "
            "single labelled item and cannot be learnt: the shares are those of the others."
        )
    _check_number(labels, what)
    array = labels.to_numpy()
    array = array.astype(np.str_) if labels.dtype == pl.String else np.asarray(array)
    return array, rows, tuple(notes)


def _typed(raw: pl.Series, what: str) -> pl.Series:
    parsed = parse_texts(raw)
    # A class may be called NA.
    labels = raw if parsed.null_count() else parsed
    if labels.dtype.is_temporal() or labels.dtype.is_nested():
        labels = raw.cast(pl.String, strict=False)
    return _whole(labels, what) if labels.dtype.is_float() else labels


def _check_number(labels: pl.Series, what: str) -> None:
    n_classes = labels.n_unique()
    if n_classes == 1:
        raise HeadcountError(
            f"{what} has the single value {labels[0]!r}: there must be items of at least two "
            "classes."
        )
    if n_classes > _MOST_CLASSES or (n_classes == len(labels) and n_classes > 20):
        raise HeadcountError(
            f"{what} has {n_classes:,} different values, too many for classes (at most "
            f"{_MOST_CLASSES}, with several items each): name another column by `target`."
        )


def _without_headers(raw: pl.Series, table: str, headers: Ints) -> tuple[pl.Series, list[str]]:
    """Labels with nulls for rows that repeat the names of the columns."""
    n_repeated = len(headers)
    if not n_repeated:
        return raw, []
    one = n_repeated == 1
    note = (
        f"{n_repeated:,} row{'' if one else 's'} of {table} repeat{'s' if one else ''} the "
        f"header and {'was' if one else 'were'} left out."
    )
    return raw.scatter(headers, None), [note]


def _one_spelling(labels: pl.Series) -> tuple[pl.Series, str]:
    """Labels that differ in capitals only as one class, with a note."""
    if labels.dtype != pl.String:
        return labels, ""
    counts = labels.value_counts(sort=True)
    spelt: dict[str, list[str]] = {}
    for label in counts[labels.name].to_list():
        spelt.setdefault(label.casefold(), []).append(label)
    several = [names for names in spelt.values() if len(names) > 1]
    if not several:
        return labels, ""
    names = {name: group[0] for group in several for name in group}
    listed = "; ".join(f"{' and '.join(map(repr, group))}" for group in several[:3])
    return labels.replace(names), f"{listed} in {labels.name} were taken for one class."


def split_by_label(table: TableFile, target: str | None) -> tuple[TableFile, TableFile, str]:
    """Divide a table into rows with a label and rows without."""
    if target is None or target not in table.columns:
        raise HeadcountError(
            "One of `train`, `scores` and `model` is needed, none is, and "
            f"{table.name!r} has no column {target!r} with labels of some rows."
        )
    frame = table.read()
    raw = stripped(frame[target])
    unknown = raw.is_null()
    if raw.dtype == pl.String:
        unknown = unknown | (raw.str.to_lowercase() == _UNKNOWN).fill_null(True)
    n_new = int(unknown.sum())
    if n_new in (0, len(frame)):
        which = "every row has a label" if n_new == 0 else "no row has a label"
        raise HeadcountError(
            f"In column {target!r} of {table.name!r} {which}: pass labelled items as `train`, "
            "or a table in which some rows have a label and those to count have none."
        )
    note = (
        f"{len(frame) - n_new:,} rows of {table.name} have a label in {target} and were learnt "
        f"from; the other {n_new:,} are counted."
    )
    labelled = frame_table(frame.filter(~unknown), table.name)
    return labelled, frame_table(frame.filter(unknown).drop(target), table.name), note


def read_true_labels(column: pl.Series, classes: Array, table: str) -> tuple[Array | None, str]:
    """Labels of the new items if all are known, and a note if only some are."""
    codes, strange = match_labels(column, classes)
    n_known = int((codes >= 0).sum())
    if n_known == len(codes):
        return classes[codes], ""
    if not n_known and not strange:
        return None, ""
    of_class = f" or of no class of training, such as {strange!r}" if strange else ""
    return None, (
        f"{len(codes) - n_known:,} of {len(codes):,} labels in column {column.name!r} of "
        f"{table} are missing{of_class}, so true shares are not shown."
    )


def match_labels(column: pl.Series, classes: Array) -> tuple[Ints, str | None]:
    """Positions of labels among classes."""
    raw = stripped(column)
    names = pl.Series(classes.tolist()).cast(pl.String)
    if raw.dtype.is_float() and names.str.contains(r"^-?\d+$").all():
        raw = raw.cast(pl.Int64, strict=False)
    texts = raw.cast(pl.String).str.replace(r"^(-?\d+)\.0+$", "$1")
    folded = {name.casefold(): name for name in reversed(names.to_list())}
    spelt = {
        text: folded[text.casefold()]
        for text in texts.unique().drop_nulls().to_list()
        if text.casefold() in folded and text not in folded.values()
    }
    texts = texts.replace(spelt) if spelt else texts
    codes = texts.replace_strict(names, np.arange(len(classes)), default=-1)
    strange = texts.filter(texts.is_not_null() & (codes == -1))
    numbers = codes.fill_null(-1).to_numpy().astype(np.int64)
    return np.where(texts.is_null().to_numpy(), -1, numbers), next(iter(strange), None)


def stripped(column: pl.Series) -> pl.Series:
    """Column with nulls for texts that stand for no label, and for NaN."""
    return without_marks(column, _NO_LABEL)


def _whole(labels: pl.Series, what: str) -> pl.Series:
    integers = labels.cast(pl.Int64, strict=False)
    if (integers.cast(pl.Float64) != labels).fill_null(True).any():
        raise HeadcountError(
            f"{what} holds fractions such as {labels[0]!r}, which are not classes: name "
            "another column by `target`."
        )
    return integers


# Labels, weights and clusters of some rows of a table.

_PLAN = ("row", "stratum", "weight", "label", "pool")


def check_unlabelled(path: Path) -> None:
    """Raise an error if a file is anything but a plan whose labels nobody has filled in."""
    if not path.is_file():
        return
    table = open_tables([path])
    if not all(name in table.columns for name in _PLAN):
        raise HeadcountError(
            f"{str(path)!r} exists already and is not a table of rows to label: choose another "
            "name for `output`."
        )
    filled = stripped(table.read(["label"])["label"]).count()
    if filled:
        raise HeadcountError(
            f"{str(path)!r} has {filled:,} labels, which would be lost: choose another name as "
            "`output`, or move the file."
        )


@dataclass(frozen=True, eq=False)
class FewLabels:
    """Labels of some rows of a table."""

    labelled: tuple[Ints, Array] | None = None
    plan: LabelPlan | None = None
    source: str = ""
    note: str = ""


def read_few_labels(
    labelled: TableFile | None,
    new: TableFile,
    target: str,
    classes: Array,
    *,
    random_labels: bool,
) -> FewLabels:
    """Labels of some rows of a table, from a table of their own or from its own column."""
    if labelled is not None:
        return _of_table(labelled, classes, random_labels=random_labels)
    if target not in new.columns:
        if random_labels:
            raise HeadcountError(
                f"`random_labels` needs labels of some rows, but {new.name!r} has no column "
                f"{target!r}: pass a table of rows and labels by `labelled`."
            )
        return FewLabels()
    column = stripped(new.read([target])[target])
    n_known, n = len(column) - column.null_count(), len(column)
    if random_labels:
        if n_known in (0, n):
            which = "none" if n_known == 0 else "all"
            raise HeadcountError(
                f"`random_labels` is for labels of some rows, but {which} of the rows of "
                f"{new.name!r} have one in column {target!r}: leave it out."
            )
        rows = np.flatnonzero(column.is_not_null().to_numpy())
        labels = _known_labels(column.drop_nulls(), classes, new.name)
        return FewLabels((rows, labels), None, new.name)
    note = ""
    if 0 < n_known < n:
        note = (
            f"{new.name} has {n_known:,} of {n:,} labels in column {target!r}. They are not "
            "used, as it is not known how their rows were chosen: if at random, say so by "
            "random_labels (--random-labels), and the shares will rest on them."
        )
    return FewLabels(note=note)


def read_weights(table: TableFile, column: str | None) -> list[float] | None:
    """Survey weights of the rows of a table; None without a column."""
    if column is None:
        return None
    values = table.read([column])[column].cast(pl.Float64, strict=False)
    if values.null_count():
        row = int(values.is_null().arg_max() or 0) + 1
        raise HeadcountError(
            f"Column {column!r} of {table.name!r}, which `weight` names, has no number in row "
            f"{row:,}: fill it in or leave the item out."
        )
    return values.to_list()


def read_clusters(table: TableFile, column: str | None) -> list[str] | None:
    """Clusters of rows; None without a column. A row without one is a cluster of its own."""
    if column is None:
        return None
    texts = stripped(table.read([column])[column]).cast(pl.String)
    return [f"(row {i})" if text is None else text for i, text in enumerate(texts.to_list())]


def _of_table(table: TableFile, classes: Array, *, random_labels: bool) -> FewLabels:
    table.require(["row", "label"], "the rows of NEW from 0 and their labels")
    planned = all(name in table.columns for name in _PLAN)
    if not planned and not random_labels:
        raise HeadcountError(
            f"{table.name!r} does not say how its rows were chosen, as it lacks columns of a "
            "plan (stratum, weight, pool): draw rows by headcount label, or if they are a "
            "simple random sample, add `random_labels`."
        )
    if planned and random_labels:
        raise HeadcountError(
            f"{table.name!r} is a plan, which states how its rows were drawn: leave out "
            "`random_labels`."
        )
    frame = table.read(list(_PLAN) if planned else ["row", "label"])
    plan = LabelPlan.from_frame(_numbers(frame)) if planned else None
    filled = frame.filter(stripped(frame["label"]).is_not_null())
    if not len(filled):
        raise HeadcountError(
            f"The column 'label' of {table.name!r} is empty: fill in the labels of its rows."
        )
    labels = _known_labels(filled["label"], classes, table.name)
    return FewLabels((_rows(filled, table.name), labels), plan, table.name)


def _known_labels(column: pl.Series, classes: Array, table: str) -> Array:
    """Labels, each of which must be one of the classes."""
    codes, strange = match_labels(column, classes)
    if strange is not None:
        raise HeadcountError(
            f"{table!r} has the class {strange!r} in column {column.name!r}, which was never "
            "seen in training: leave these items out, or label some for training."
        )
    return np.asarray(classes[codes])


def _rows(frame: pl.DataFrame, table: str) -> Ints:
    rows = frame["row"].cast(pl.Float64, strict=False)
    if rows.null_count() or (rows != rows.floor()).any():
        raise HeadcountError(
            f"The column 'row' of {table!r} has other values than whole numbers: it must name "
            "the rows of NEW, from 0."
        )
    return rows.cast(pl.Int64).to_numpy()


def _numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Table of a plan with numbers as numbers, as a spreadsheet may have changed them."""
    return frame.with_columns(
        pl.col("row", "stratum", "weight").cast(pl.Float64, strict=False).fill_null(-1)
    )


def tag_columns(table: TableFile, target: str) -> list[str]:
    """Columns that a pattern names; none if the target is a column, or no pattern."""
    if target in table.columns or not any(sign in target for sign in "*?["):
        return []
    return [name for name in table.columns if fnmatchcase(name, target)]


# Columns that tell the class.

# A column decides the class if it leaves less than this part of the errors of a guess.
_ERRORS_LEFT = 0.02
# Fewest labelled items and most that are looked at; fewest of each value of a category.
_FEWEST, _MOST_LOOKED_AT, _FEWEST_OF_VALUE = 40, 5000, 4
_MOST_NAMES, _MOST_COLUMNS = 3, 300


def leak_note(labelled: LabelledItems, preparation: Preparation) -> str:
    """Note on columns, of very many the first, that tell the class; empty without any."""
    n = len(labelled.labels)
    columns = [
        column for column in preparation.columns if column.is_used and column.kind != "text"
    ][:_MOST_COLUMNS]
    if n < _FEWEST or not columns:
        return ""
    rows = np.random.default_rng(0).permutation(n)[:_MOST_LOOKED_AT]
    codes = np.unique(labelled.labels[rows], return_inverse=True)[1]
    frame = labelled.table.read([column.name for column in columns])[rows.tolist()]
    names = [
        column.name for column in columns if _decides(column.read(frame[column.name])[0], codes)
    ]
    if not names:
        return ""
    listed, one = first_of(names, _MOST_NAMES), len(names) == 1
    return (
        f"Column{'' if one else 's'} {listed} tell{'s' if one else ''} the class "
        f"of nearly every labelled item{'' if one else ', each by itself'}. If "
        f"{'it is' if one else 'they are'} recorded after the class is known, leave "
        f"{'it' if one else 'them'} out by leave_out (--leave-out)."
    )


def _decides(values: pl.Series, codes: Ints) -> bool:
    """True if a rule learnt from half of the items gives the class of the other half."""
    half = len(codes) // 2
    wrong_by_guess = 1 - np.bincount(codes[half:]).max() / (len(codes) - half)
    if values.dtype == pl.String:
        kinds = np.unique(values.fill_null("").to_numpy(), return_inverse=True)[1]
        if len(codes) < _FEWEST_OF_VALUE * (kinds.max() + 1):
            return False
        table = np.zeros((kinds.max() + 1, codes.max() + 1), np.int64)
        np.add.at(table, (kinds[:half], codes[:half]), 1)
        predicted = table.argmax(axis=1)[kinds[half:]]
    else:
        numbers = values.cast(pl.Float64, strict=False).to_numpy().reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=2 * (codes.max() + 1), random_state=0)
        predicted = tree.fit(numbers[:half], codes[:half]).predict(numbers[half:])
    return bool((predicted != codes[half:]).mean() < _ERRORS_LEFT * wrong_by_guess)


# Columns of a table that hold the posteriors of a classifier.


class ScoreColumns(PosteriorColumns):
    """Columns of a table file with posteriors, which may be written as texts."""

    def numbers(self, column: pl.Series, table: str, first_row: int) -> pl.Series:
        """Values of a column as numbers."""
        return Column(column.name, "number", "", 0, 0).conform(column, table, first_row)

    def read(self, table: TableFile) -> Floats:
        """Posteriors of all classes, read and checked in batches."""
        batches = [posteriors for posteriors, _ in self.read_batches(table)]
        if not batches:
            raise HeadcountError(f"{table.name!r} has no rows: pass a table with some.")
        return np.concatenate(batches)

    def read_batches(
        self, table: TableFile, beside: str | None = None, rows: int | None = None
    ) -> Iterator[tuple[Floats, pl.Series | None]]:
        """Posteriors of all classes, batch by batch, and the values of another column."""
        first_row = 0
        columns = self.names if beside is None else (*self.names, beside)
        for batch in table.batches(columns, rows):
            posteriors = self.of_batch(batch, table.name, first_row)
            first_row += len(batch)
            yield posteriors, None if beside is None else batch[beside]


def find_score_columns(
    table: TableFile,
    target: str,
    classes: list[Any],
    codes: Ints,
    leave_out: Collection[str] = (),
) -> ScoreColumns:
    """Find the columns of the posteriors by their names."""
    names = tuple(map(str, classes))
    columns = [name for name in table.columns if name != target and name not in leave_out]
    scores = ScoreColumns.named_after(names, columns)
    if scores is not None:
        return scores
    single = columns
    if len(names) == 2 and len(columns) > 1:
        single = _columns_of_fractions(table, columns)
    if len(names) == 2 and len(single) == 1:
        scores = ScoreColumns((single[0],), 1)
        _check_no_decisions(table, single[0], names)
        of_second = scores.read(table)[:, 1]
        is_reversed = of_second[codes == 0].mean() > of_second[codes == 1].mean()
        return replace(scores, positive=0) if is_reversed else scores
    for name in columns:
        _check_no_decisions(table, name, names)
    missing = [name for name in names if name not in columns]
    one = ", or leave one column with those of the positive class" if len(names) == 2 else ""
    raise HeadcountError(
        f"{table.name!r} has no column for the class {missing[0]!r}, which column {target!r} "
        f"holds: its columns are {first_of(map(repr, table.columns), 8)}; name a column of "
        f"posteriors after each class{one}."
    )


def has_score_columns(
    table: TableFile, target: str, classes: list[Any], leave_out: Collection[str]
) -> bool:
    """True if columns are named after a class, or have numbers from 0 to 1."""
    columns = [name for name in table.columns if name != target and name not in leave_out]
    named = ScoreColumns.named_after(tuple(map(str, classes)), columns) is not None
    return named or bool(columns and _columns_of_fractions(table, columns))


def _check_no_decisions(table: TableFile, name: str, classes: tuple[str, ...]) -> None:
    first = next(iter(table.batches([name])), None)
    if first is None or first[name].dtype != pl.String:
        return
    if set(first[name].drop_nulls().to_list()) <= set(classes):
        raise HeadcountError(
            f"Column {name!r} of {table.name!r} holds decisions, not posteriors: name it by "
            "--prediction of headcount accuracy, or by --verdict of headcount judge or monitor."
        )


def _columns_of_fractions(table: TableFile, names: list[str]) -> list[str]:
    """Columns with numbers from 0 to 1 that are not all whole, in the first rows."""
    first = next(iter(table.batches(names)), None)
    if first is None:
        return []
    fractions = []
    for name in names:
        values = parse_texts(first[name]).drop_nulls()
        if values.dtype.is_float() and len(values):
            inside = bool(values.is_between(0, 1).all())
            fractions += [name] * (inside and not bool(values.is_in([0.0, 1.0]).all()))
    return fractions


PERIODS = {
    "year": "%Y", "quarter": "", "month": "%Y-%m", "week": "%G-W%V", "day": "%Y-%m-%d",
}  # fmt: skip
"""Periods of time by name, and how their dates are written."""
MOST_GROUPS = 50_000
"""Largest number of groups of an analysis."""
MISSING = "(missing)"
"""Group of rows without one."""
# Values that are looked at to decide whether a column holds dates.
_LOOKED_AT = 1000
# 2024-05, 2024-05-31, 2024-W12, 2024Q1, 2024-05-31T12:00: texts whose order is that of time.
_DATE = re.compile(r"\d{4}([-/.]?(\d{1,2}|[QW]\d{1,2})([-/.]\d{1,2})?([T ]\d{2}:.*)?)?")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


@dataclass(frozen=True, eq=False)
class Groups:
    """All items, then those of each group."""

    names: tuple[Any, ...]
    samples: Samples
    ordered: bool
    of_time: bool = False
    column: str = ""
    note: str = ""

    @classmethod
    def of(
        cls, groups: ArrayLike | None, n_items: int, order: Sequence[Any] | None = None
    ) -> Groups:
        """Groups given by one value per item."""
        if groups is None:
            return cls((None,), Samples.whole(n_items), False)
        names, codes = encode_labels(groups, name="groups")
        check_one_each("groups", codes, n_items)
        ordered = order is not None or _is_sequence(names)
        names, codes = _reordered(names, codes, _sorted(names) if order is None else order)
        by_group = Samples.by_code(codes, len(names))
        samples = Samples(
            np.concatenate([np.arange(n_items), by_group.indices]),
            np.concatenate([[0], n_items + by_group.offsets]),
            n_pool=n_items,
        )
        return cls((None, *names.tolist()), samples, ordered)

    def united(self, places: Sequence[int]) -> Groups:
        """The items of several groups, by their places, as all items."""
        arrays = list(self.samples)
        items = np.concatenate([arrays[place] for place in places])
        return Groups((None,), Samples.from_arrays([items], n_pool=self.samples.n_pool), False)


def group_column(table: TableFile, by: str | None, date_column: str | None) -> str | None:
    """Column that groups come from; None if there are no groups."""
    if by is None:
        if date_column is not None:
            raise HeadcountError(
                "`date_column` has no use without `by`: add `by`, such as month."
            )
        return None
    if by in table.columns and date_column is None:
        return by
    if by not in PERIODS:
        if date_column is not None:
            raise HeadcountError(
                f"`by` is {by!r}; with `date_column` it must be one of {', '.join(PERIODS)}."
            )
        table.require([by], "which `by` names")
    if date_column is not None:
        table.require([date_column], "which `date_column` names")
        return date_column
    return only_date(table, by)


def read_groups(
    table: TableFile, by: str, column: str, date_order: str | None = None
) -> Groups:
    """Groups of the rows of a table."""
    names, notes = group_names(table.read([column])[column], by, table.name, date_order)
    n_missing = names.null_count()
    named = names.fill_null(MISSING)
    n_groups = named.n_unique()
    if n_groups > MOST_GROUPS:
        raise too_many_groups(by, n_groups)
    order = None if column == by else sorted(named.unique().to_list())
    if order and MISSING in order:
        order = [*(name for name in order if name != MISSING), MISSING]
    groups = Groups.of(np.asarray(named.to_list(), dtype=np.str_), len(named), order)
    if n_missing:
        notes.append(f"{n_missing:,} of {len(names):,} rows have no {column}: group {MISSING}.")
    return replace(groups, column=column, of_time=column != by, note=" ".join(notes))


def too_many_groups(by: str, n_groups: int) -> HeadcountError:
    """Error for a column with too many values."""
    return HeadcountError(
        f"`by` is {by!r}, which makes {n_groups:,} groups; at most {MOST_GROUPS:,} are "
        "allowed: choose a coarser one."
    )


def group_names(
    values: pl.Series, by: str, table: str, date_order: str | None = None
) -> tuple[pl.Series, list[str]]:
    """Group of each row by name, null where there is none, and notes."""
    column = values.name
    if column == by:
        return _texts(values), []
    texts = without_marks(values)
    form = find_date_form(texts, order=date_order, expected=True)
    example = short(texts.drop_nulls().head(1).to_list()[0]) if texts.count() else "nothing"
    if form is None:
        raise HeadcountError(
            f"`by` is {by!r}, but column {column!r} of {table!r} does not hold dates "
            f"throughout (such as {example}): write them as 2024-05-31."
        )
    if form.order == "undecided" and by != "year":
        raise HeadcountError(
            f"`by` is {by!r}, but dates in column {column!r} of {table!r}, such as {example}, "
            "may have the day first or the month first: pass `date_order` day-first or "
            "month-first."
        )
    order = list(PERIODS)
    if order.index(by) > order.index(form.period) and form.period != "day":
        raise HeadcountError(
            f"`by` is {by!r}, but column {column!r} of {table!r} holds {form.period}s (such as "
            f"{example}): choose {form.period} or a longer period."
        )
    dates = read_dates(texts, form.form)
    notes = []
    if n_bad := dates.null_count() - texts.null_count():
        bad = short(texts.filter(texts.is_not_null() & dates.is_null())[0])
        notes.append(f"{n_bad:,} of {len(texts):,} values of {column} are not dates: {bad}.")
    if form.order in ORDERS and date_order is None:
        example = short(texts.filter(dates.is_not_null())[0])
        notes.append(f"The dates of {column}, such as {example}, were read {form.order}.")
    return _periods(dates, by), notes


def only_date(table: TableFile, by: str) -> str:
    """Name of the only column of dates of a table."""
    head = next(table.batches(table.columns, _LOOKED_AT), None)
    columns = [] if head is None else list(head.iter_columns())
    dates = [
        column.name for column in columns if find_date_form(without_marks(column)) is not None
    ]
    if not dates:  # numbers such as 202403
        dates = [
            column.name
            for column in columns
            if (form := find_date_form(without_marks(column), expected=True)) is not None
            and form.form == "%Y%m"
        ]
    if len(dates) != 1:
        number = f"several ({', '.join(map(repr, dates))})" if dates else "none"
        raise HeadcountError(
            f"`by` is {by!r}, which needs one column of dates, but {table.name!r} has "
            f"{number}: name it by `date_column`."
        )
    return dates[0]


def _texts(values: pl.Series) -> pl.Series:
    texts = values.cast(pl.String, strict=False).str.strip_chars()
    return texts.set(texts == "", None)


def _periods(dates: pl.Series, by: str) -> pl.Series:
    if by == "quarter":
        year, quarter = dates.dt.year().cast(pl.String), dates.dt.quarter().cast(pl.String)
        return year + "-Q" + quarter
    return dates.dt.strftime(PERIODS[by])


def _reordered(names: Array, codes: Ints, order: Sequence[Any]) -> tuple[Array, Ints]:
    ordered = list(order)
    present = names.tolist()
    missing = sorted(set(present) - set(ordered))
    if missing or len(set(ordered)) != len(ordered):
        problem = f"misses {missing[0]!r}" if missing else "names a group twice"
        raise HeadcountError(f"order {problem}: name every group in it once.")
    # Groups without items have no shares, and no place.
    place = {name: i for i, name in enumerate(present)}
    places = [place[name] for name in ordered if name in place]
    return names[places], np.argsort(places)[codes]


def _sorted(names: Array) -> list[Any]:
    values = names.tolist()
    if not all(isinstance(name, str) for name in values):
        return values
    texts = [name for name in values if not _NUMBER.fullmatch(name)]
    return [*sorted((name for name in values if _NUMBER.fullmatch(name)), key=float), *texts]


def order_names(names: Sequence[Any], of_time: bool) -> tuple[list[Any], bool]:
    """Names of groups in the order to show them, and True if they are a sequence."""
    named = np.asarray([name for name in names if name != MISSING])
    ordered = of_time or _is_sequence(named)
    in_order = sorted(named.tolist()) if of_time else _sorted(named)
    return in_order + [MISSING] * (MISSING in names), ordered


def _is_sequence(names: Array) -> bool:
    if names.dtype.kind in "iufM":
        return True
    return all(
        isinstance(name, date) or (isinstance(name, str) and _DATE.fullmatch(name))
        for name in names.tolist()
    )


@dataclass(frozen=True)
class Options:
    """Choices of a caller besides the model; `column` of the `new` table has the groups.

    Several columns of `by` are joined to one, of which `parts` are the names. Periods among
    them are made of the columns `made_of`.
    """

    by: Any = None
    date_column: str | None = None
    date_order: str | None = None
    separator: str | None = None
    weight: str | None = None
    cluster: str | None = None
    level: float = 0.95
    random_state: int = 0
    title: str | None = None
    column: str | None = None
    parts: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    new: TableFile | None = None

    def __post_init__(self) -> None:
        check_fraction("`level`", self.level)
        check_order(self.date_order)
        if self.by is None or isinstance(self.by, str):
            return
        names = list(self.by) if isinstance(self.by, list | tuple) else [self.by]
        names = [name for i, name in enumerate(names) if name not in names[:i]]
        if not all(isinstance(name, str) for name in names):
            raise HeadcountError(
                f"`by` is {self.by!r}; it must be the name of a column, or a list of names."
            )
        if len(names) > 1:
            object.__setattr__(self, "parts", tuple(names))
        object.__setattr__(self, "by", " and ".join(names) or None)

    def table(self, source: Any, name: str) -> TableFile:
        """Table of a path or frame, with a column of the groups if several make them."""
        table = as_table(source, name, self.separator)
        for column in self.parts:
            table = self._with_period(table, column)
        if not self.parts or not set(self.parts) <= set(table.columns):
            return table
        return table.joined(self.parts, str(self.by))

    def _with_period(self, table: TableFile, part: str) -> TableFile:
        """The table with a column of periods, if it lacks one and has the dates."""
        if part in table.columns or part not in PERIODS:
            return table
        if self.made_of and not set(self.made_of) <= set(table.columns):
            return table  # labelled items without dates
        column = group_column(table, part, self.date_column)
        assert column is not None
        dates = table.read([column])[column]
        periods, _ = group_names(dates, part, table.name, self.date_order)
        return table.with_periods(column, part, periods)

    def of_table(self, table: TableFile) -> Options:
        """The same options with the column of the groups; an error if a column is missing."""
        for option, name in (("weight", self.weight), ("cluster", self.cluster)):
            if name is not None:
                table.require([name], f"which `{option}` names")
        if self.parts:
            table.require(self.parts, "which `by` names")
            return replace(self, column=self.by, made_of=table.made_of, new=table)
        column = group_column(table, self.by, self.date_column)
        return replace(self, column=column, new=table)

    def are_later(self, labelled: Sequence[str]) -> bool:
        """True if groups are numbers, and all of the new table are above the labelled ones."""
        if self.new is None or self.column != self.by or not labelled:
            return False
        names = _texts(self.new.read([str(self.column)])[str(self.column)]).drop_nulls()
        later = names.unique().to_list()
        if not all(map(_NUMBER.fullmatch, [*labelled, *later])):
            return False
        return min(map(float, later), default=-np.inf) > max(map(float, labelled))

    @property
    def of_time(self) -> bool:
        """True if the groups are periods of time."""
        return self.column is not None and self.column != self.by

    def not_features(self) -> dict[str, str]:
        """Columns that must not become features, and why."""
        reasons = {}
        for name in (*self.parts, *self.made_of, self.column):
            if name is not None:
                reasons[name] = "the groups are made of it, so the model must not learn from it"
        for option, name in (("weight", self.weight), ("cluster", self.cluster)):
            if name is not None:
                reasons[name] = f"it holds the {option}s of the items"
        return reasons

    def groups(self, table: TableFile) -> Groups | None:
        """Groups of a table; None if there are none."""
        if self.by is None or self.column is None:
            return None
        return read_groups(table, self.by, self.column, self.date_order)
