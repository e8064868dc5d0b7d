"""Features, labels, weights and scores of any kind as checked arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from types import NoneType
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import softmax

from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.parameters import check_one_each
from headcount._support.text import first_of
from headcount.errors import HeadcountError


def as_narwhals(values: Any, name: str) -> nw.Series[Any] | nw.DataFrame[Any] | None:
    """Wrap a series or frame of any library for narwhals; return None if it is neither."""
    if isinstance(values, np.ndarray | list):
        return None
    try:
        native = nw.from_native(values, pass_through=True, allow_series=True)
    except DuplicateError:
        raise HeadcountError(
            f"{name} has columns with the same name: give each column its own name."
        ) from None
    if isinstance(native, nw.LazyFrame):
        raise HeadcountError(f"{name} is a lazy frame: collect it first.")
    return native if isinstance(native, nw.Series | nw.DataFrame) else None


def plain_column(values: Any, name: str) -> Array:
    """Sequence, array, series or frame of one column as a 1-D array, of a plain type."""
    column = _raw_column(values, name)
    if column.dtype.kind == "T":
        column = column.astype(object)
    if column.dtype != object or not len(column):
        return column
    types = set(map(type, column.tolist()))
    for kind, dtype in ((str, np.str_), (bool | np.bool_, np.bool_)):
        if all(issubclass(type_, kind) for type_ in types):
            return column.astype(dtype)
    if bool not in types and all(issubclass(type_, Real) for type_ in types):
        return np.asarray(column.tolist())
    return column


def _raw_column(values: Any, name: str) -> Array:
    column: Array
    native = as_narwhals(values, name)
    if native is not None:
        column = native.to_numpy()
    elif isinstance(values, list | tuple):
        # numpy would silently turn [1, "a"] into strings, so the objects are kept.
        column = np.asarray(values, dtype=object)
    else:
        column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 or _is_nested(column):
        shape = "nested" if column.ndim == 1 else f"of shape {column.shape}"
        raise HeadcountError(f"{name} is {shape}, but must be 1-D: pass one value per item.")
    return column


def _is_nested(column: Array) -> bool:
    return column.dtype == object and any(
        isinstance(value, list | tuple | set | dict | np.ndarray) for value in column[:1]
    )


_NUMBERS = "biuf"
# Features of methods that work on them are dense unless there are more of them.
_MOST_DENSE = 2000


def count_rows(X: Any) -> int:
    """Count the rows of ``X``.

    >>> from headcount.items import count_rows
    >>> count_rows([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    3
    """
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        raise HeadcountError(
            f"X is of type {type(X).__name__}, which has no rows: pass a table with one row "
            "per item, or a list of texts."
        ) from None


def column_names(X: Any) -> Array | None:
    """Names of the columns of a frame, as ``feature_names_in_`` has them.

    >>> import polars as pl
    >>> from headcount.items import column_names
    >>> column_names(pl.DataFrame({"age": [31], "city": ["Rome"]}))
    array(['age', 'city'], dtype=object)
    """
    frame = as_narwhals(X, "X")
    if not isinstance(frame, nw.DataFrame):
        return None
    names = frame.columns
    return np.array(names, object) if all(isinstance(name, str) for name in names) else None


def dense_if_narrow(X: Any) -> Any:
    """Dense array of features, unless they are sparse and many."""
    if sparse.issparse(X):
        return X.toarray() if X.shape[1] <= _MOST_DENSE else X.tocsr()
    return X


def take_rows(X: Any, indices: ArrayLike) -> Any:
    """Take rows of ``X`` in a given order. A row may be taken repeatedly.

    >>> from headcount.items import take_rows
    >>> take_rows(["zero", "one", "two"], [2, 0, 2])
    ['two', 'zero', 'two']
    """
    rows = _check_indices(indices, count_rows(X))
    if isinstance(X, np.ndarray):
        return X[rows]
    if sparse.issparse(X):
        return _as_csr(X)[rows]
    native = as_narwhals(X, "X")
    if native is not None:
        return native[rows].to_native()
    return [X[row] for row in rows]


def check_features(
    X: Any, *, name: str = "X", allow_nan: bool = False, any_shape: bool = False
) -> Any:
    """Check features and return them in a form that can be indexed by rows.

    >>> from headcount.items import check_features
    >>> check_features([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> check_features(["a text", "another"])
    array(['a text', 'another'], dtype=object)
    """
    if sparse.issparse(X):
        return _check_sparse(X, name, allow_nan)
    frame = as_narwhals(X, name)
    if isinstance(frame, nw.DataFrame):
        _check_shape(frame.shape, name)
        _check_frame(frame, name, allow_nan)
        return X
    table = _as_array(X if frame is None else frame.to_numpy(), name)
    if table.ndim == 1:
        return _check_texts(table, name)
    if table.ndim != 2 and not (any_shape and table.ndim > 2):
        raise HeadcountError(
            f"{name} has {table.ndim} dimensions, but must have 2: pass one row per item, "
            "each flattened to its features."
        )
    _check_shape(table.shape, name)
    _check_array(table, name, allow_nan)
    return table


def _as_csr(X: Any) -> Any:
    return X.tocsr()  # the same object if it is CSR


def _check_indices(indices: ArrayLike, n_rows: int) -> NDArray[np.integer[Any]]:
    rows = np.asarray(indices)
    if not rows.size:
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise HeadcountError(
            f"indices is an array of {rows.dtype} with {rows.ndim} dimensions, but must be "
            "a 1-D array of row numbers: for a mask, pass numpy.flatnonzero(mask)."
        )
    if rows.min() < 0 or rows.max() >= n_rows:
        wrong = rows[(rows < 0) | (rows >= n_rows)][0]
        raise HeadcountError(
            f"indices has the row number {wrong}, but there are {n_rows:,} rows: "
            f"pass numbers from 0 to {n_rows - 1}."
        )
    return rows


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if shape[0] == 0:
        raise HeadcountError(f"{name} has no rows: pass at least one.")
    if 0 in shape[1:2]:
        raise HeadcountError(
            f"{name} has 0 feature(s) (shape={shape}) while a minimum of 1 is required: pass "
            "at least one column."
        )


def _as_array(X: Any, name: str) -> Array:
    try:
        table = np.asarray(X)
    except ValueError:
        raise HeadcountError(
            f"{name} has rows of different lengths: pass the same features for every item."
        ) from None
    if table.dtype.kind in "UT" and not isinstance(X, np.ndarray):
        # numpy converts numbers in mixed rows to text, so texts and mixed rows stay objects.
        table = np.asarray(X, dtype=object)
    if table.dtype == object and table.ndim == 2 and _all_numbers(table):
        return table.astype(np.float64)
    return table


def _all_numbers(table: Array) -> bool:
    types = set(map(type, table.ravel().tolist()))
    return all(issubclass(type_, Real | NoneType) for type_ in types)


def _check_texts(column: Array, name: str) -> Array:
    _check_shape(column.shape, name)
    if column.dtype.kind in _NUMBERS:
        raise HeadcountError(
            f"{name} is 1-D, but numbers must be a table, one row per item. Reshape your data: "
            "for a single feature pass X.reshape(-1, 1), for a single item X.reshape(1, -1)."
        )
    texts = column.astype(object)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise HeadcountError(
                f"{name} is 1-D, so it must have texts, but at position {position} it has "
                f"{text!r}: pass strings only, or a table with one row per item."
            )
    return texts


def _check_array(table: Array, name: str, allow_nan: bool) -> None:
    if table.dtype.kind == "c":
        raise HeadcountError(
            f"{name} has values of type {table.dtype}. Complex data not supported: pass real "
            "numbers."
        )
    if table.dtype.kind in "mMV":
        raise HeadcountError(
            f"{name} has values of type {table.dtype}: pass numbers (dates as numbers too)."
        )
    if _surely_finite(table):
        return
    wrong = _wrong(table, allow_nan)
    if wrong.any():
        row, column = divmod(int(wrong.argmax()), wrong[0].size)
        _refuse(int(wrong.sum()), row, column, name)


def _check_sparse(X: Any, name: str, allow_nan: bool) -> Any:
    if X.ndim != 2:
        raise HeadcountError(f"{name} is 1-D sparse: pass one row per item, in 2 dimensions.")
    _check_shape(X.shape, name)
    table = _as_csr(X)
    if _surely_finite(table.data):
        return table
    wrong = _wrong(table.data, allow_nan)
    if wrong.any():
        first = int(wrong.argmax())
        row = int(np.searchsorted(table.indptr, first, side="right")) - 1
        _refuse(int(wrong.sum()), row, int(table.indices[first]), name)
    return table


def _check_frame(frame: nw.DataFrame[Any], name: str, allow_nan: bool) -> None:
    for column in frame.iter_columns():
        if not (column.dtype.is_float() or column.dtype.is_integer()):
            continue
        # The columns of a frame need not be in one piece, which to_numpy makes of them.
        with np.errstate(over="ignore", invalid="ignore"):
            if column.null_count() == 0 and np.isfinite(column.sum()):
                continue
        values = column.to_numpy()  # missing numbers become NaN
        wrong = _wrong(values, allow_nan)
        if wrong.any():
            _refuse(int(wrong.sum()), int(wrong.argmax()), column.name, name)


def _surely_finite(values: Array) -> bool:
    if values.dtype.kind != "f":
        return True
    # One pass without temporary arrays. A sum that overflows is examined afterwards.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _wrong(values: Array, allow_nan: bool) -> Bools:
    return np.isinf(values) if allow_nan else ~np.isfinite(values)


def _refuse(count: int, row: int, column: int | str, name: str) -> None:
    raise HeadcountError(
        f"{name} has {count:,} missing or infinite numbers, the first at row {row}, column "
        f"{column!r}: fill them in, drop these rows, or add an imputer to the pipeline."
    )


def encode_labels(
    y: ArrayLike, *, name: str = "y", classes: ArrayLike | None = None
) -> tuple[Array, Ints]:
    """Encode labels as the positions of their classes.

    >>> from headcount.items import encode_labels
    >>> classes, codes = encode_labels(["ham", "spam", "ham"])
    >>> print(classes, codes)
    ['ham' 'spam'] [0 1 0]
    >>> encode_labels([2, 1], classes=[3, 2, 1])[1]
    array([1, 2])
    """
    labels = _labels(y, name)
    if classes is None:
        unique_labels = _sorted_unique(labels, name)
        return unique_labels, _look_up(labels, unique_labels)
    class_labels = _labels(classes, "classes")
    ordered = _sorted_unique(class_labels, "classes")
    if len(ordered) != len(class_labels):
        raise HeadcountError("classes has a class twice: pass each once.")
    _check_known(labels, ordered, name)
    return class_labels, np.argsort(class_labels).astype(np.int64)[_look_up(labels, ordered)]


def _labels(y: ArrayLike, name: str) -> Array:
    labels = plain_column(y, name)
    if not len(labels):
        raise HeadcountError(f"{name} is empty: pass at least one label.")
    missing = _missing(labels)
    if missing.any():
        raise HeadcountError(
            f"{name} misses {int(missing.sum()):,} of {len(labels):,} labels, the first at "
            f"position {int(missing.argmax())}: drop these items or label them."
        )
    return labels


def _missing(labels: Array) -> Bools:
    if labels.dtype != object:
        # Only NaN and NaT differ from themselves.
        return np.asarray(labels != labels)
    return np.fromiter(map(_is_missing, labels), np.bool_, len(labels))


def _is_missing(value: Any) -> bool:
    same = value == value
    # A comparison with the NA of pandas is neither true nor false.
    return value is None or not isinstance(same, bool | np.bool_) or not same


def _sorted_unique(labels: Array, name: str) -> Array:
    try:
        return np.unique(labels)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise HeadcountError(
            f"{name} mixes labels of types {', '.join(kinds)}, which have no common order: "
            "make them all of one type, for example all strings."
        ) from None


def _look_up(labels: Array, ordered: Array) -> Ints:
    return np.searchsorted(ordered, labels).astype(np.int64, copy=False)


def _check_known(labels: Array, ordered: Array, name: str) -> None:
    present = _sorted_unique(labels, name)
    # In comparisons of different types, numpy takes the number 1 for the string "1".
    if _kind(present) == _kind(ordered):
        unknown = present[~np.isin(present, ordered)]
    else:
        unknown = present
    if len(unknown):
        raise HeadcountError(
            f"{name} has labels that are not among the classes: {_some(unknown)}; "
            f"the classes are {_some(ordered)}: drop these items or add their classes."
        )


def _kind(labels: Array) -> str:
    kind = labels.dtype.kind
    return "number" if kind in _NUMBERS else kind


def _some(labels: Iterable[Any]) -> str:
    return first_of(map(repr, np.asarray(labels).tolist()), 3)


Made = TypeVar("Made")

_RANGE_TOLERANCE = 1e-6
# Weights beyond this, or this many times smaller than the largest, cannot be summed exactly.
_LARGE_WEIGHT = 1e100
# Share of the weights below which nothing can be learnt of a class.
_LEAST_SHARE = 1e-12
_SUM_TOLERANCE = 1e-3


def check_scores(scores: Any, n_classes: int, *, name: str = "scores") -> Floats:
    """Check posteriors and return them as a clean table."""
    values = as_numbers(scores, name)
    one_column = values.ndim == 1 and n_classes == 2
    table = values[:, None] if one_column else values
    _check_score_shape(table, 1 if one_column else n_classes, n_classes, name)
    low, high = table.min(), table.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        _refuse_infinite(table, name)
    if low < -_RANGE_TOLERANCE or high > 1 + _RANGE_TOLERANCE:
        raise HeadcountError(
            f"{name} has values from {low:.6g} to {high:.6g}, but posteriors lie between 0 "
            "and 1: decision values are not probabilities, calibrate them first."
        )
    if low < 0 or high > 1:
        table = table.clip(0.0, 1.0)
    return _both_columns(table[:, 0]) if one_column else _normalise(table, name)


def check_weights(weights: Any, n_rows: int, *, name: str = "weights") -> Floats:
    """Check weights of items, one each; all 1 if there are none."""
    if weights is None:
        return np.ones(n_rows)
    numbers = as_numbers(weights, name)
    if numbers.shape != (n_rows,):
        raise HeadcountError(
            f"{name} has the shape {numbers.shape}, but there are {n_rows:,} items: pass one "
            "weight per item."
        )
    wrong = ~(np.isfinite(numbers) & (numbers >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise HeadcountError(
            f"{name} has the value {numbers[row]} at position {row}, but weights are finite "
            "and not negative: drop such items or mend their weights."
        )
    largest = numbers.max()
    if not largest > 0:
        raise HeadcountError(f"{name} are all zero: give some items a positive weight.")
    if not 1 / _LARGE_WEIGHT < largest < _LARGE_WEIGHT:
        # Sums and squares of such weights would overflow. Only their ratios matter.
        numbers = numbers / largest
    tiny = numbers < numbers.max() / _LARGE_WEIGHT
    return np.where(tiny, 0.0, numbers) if tiny.any() else numbers


def check_labels(y: ArrayLike, *, classes: ArrayLike | None = None) -> tuple[Array, Ints]:
    """Encode labels to learn from, of at least two classes."""
    try:
        names, codes = encode_labels(y, classes=classes)
    except HeadcountError:
        n_columns = _n_columns(y)
        if n_columns < 2:
            raise
        raise HeadcountError(
            f"y has {n_columns} columns, but must be 1-D, with one label per item: if the "
            "columns are tags, of which an item may have several, use "
            "hc.MultiLabel(quantifier)."
        ) from None
    if len(names) == 1:
        raise HeadcountError(
            f"y has the single class {names.tolist()[0]!r}, but one class is not enough: add "
            "labelled items of the others."
        )
    return names, codes


def _n_columns(y: Any) -> int:
    """Number of columns of a table; 1 for anything else."""
    try:
        shape = np.shape(y)
    except ValueError:  # lists of different lengths
        return 1
    return shape[1] if len(shape) == 2 else 1


def check_lengths(name: str, n_rows: int, codes: Ints) -> None:
    """Refuse more or fewer labels than items, which messages call by their name."""
    if len(codes) != n_rows:
        raise HeadcountError(
            f"{name} has {n_rows:,} rows, but y has {len(codes):,} labels: pass one label per "
            "row."
        )


def class_shares(codes: Ints, weights: Floats, classes: Array) -> Floats:
    """Give the weighted share of each class, and refuse a class without any weight."""
    totals = np.bincount(codes, weights, len(classes))
    if totals.min() <= _LEAST_SHARE * totals.sum():
        empty = int(totals.argmin())
        fault = "sample_weight is zero for all" if np.any(codes == empty) else "y has no"
        if totals[empty] > 0:
            fault = f"sample_weight has less than {_LEAST_SHARE:g} of its sum on the"
        raise HeadcountError(
            f"{fault} items of class {classes.tolist()[empty]!r}: add some, as the share of a "
            "class cannot be learnt without examples, or drop the class."
        )
    return np.asarray(totals / totals.sum(), dtype=np.float64)


def as_numbers(scores: Any, name: str) -> Floats:
    """Return a table, series or tensor of any kind as a C-contiguous array of float64."""
    scores = _without_device(scores)
    frame = as_narwhals(scores, name)
    try:
        values = np.asarray(scores if frame is None else frame.to_numpy())
    except ValueError:
        raise HeadcountError(
            f"{name} has rows of different lengths: pass equally many numbers for every item."
        ) from None
    if values.dtype.kind not in "biuf":
        raise HeadcountError(
            f"{name} is not numeric ({type(scores).__name__} of {values.dtype}): pass plain "
            "dense numbers."
        )
    # Writable, too: kernels would be compiled again for an array that is not.
    return np.require(values, np.float64, ["C", "W"])


def _without_device(values: Any) -> Any:
    """Tensors of PyTorch as arrays: from any device, with gradients, of any precision."""
    if not hasattr(values, "detach"):
        return values
    tensor = values.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:  # numpy has no bfloat16
        return tensor.float().numpy()


def _both_columns(second: Floats) -> Floats:
    """Posteriors of both classes, given those of the second."""
    table = np.empty((len(second), 2))
    np.subtract(1.0, second, out=table[:, 0])
    table[:, 1] = second
    return table


def _check_score_shape(values: Floats, n_needed: int, n_classes: int, name: str) -> None:
    if values.ndim != 2:
        hint = ", or the posteriors of the second class as a vector" if n_classes == 2 else ""
        raise HeadcountError(
            f"{name} has {values.ndim} dimensions, but must have 2: pass one row per item and "
            f"one column per class ({n_classes}){hint}."
        )
    n_rows, n_columns = values.shape
    if n_columns != n_needed:
        raise HeadcountError(
            f"{name} has {n_columns} columns, but there are {n_classes} classes: pass one "
            "column per class, in the order of the classes."
        )
    if n_rows == 0:
        raise HeadcountError(f"{name} has no rows: pass the scores of at least one item.")


def _refuse_infinite(table: Floats, name: str) -> None:
    wrong = ~np.isfinite(table).all(axis=1)
    raise HeadcountError(
        f"{name} has NaN or infinite values in {int(wrong.sum()):,} of {len(table):,} "
        f"rows, the first in row {int(wrong.argmax())}: drop these items or score them "
        "again."
    )


def _normalise(table: Floats, name: str) -> Floats:
    # The same sum, but fast: numpy is slow along short rows.
    sums = table[:, 0] + table[:, 1] if table.shape[1] == 2 else table.sum(axis=1)
    gaps = sums - 1.0
    np.abs(gaps, out=gaps)
    # A sum computed from K numbers is off by up to this much: such rows are left alone.
    rounding = table.shape[1] * np.finfo(np.float64).eps
    if gaps.max() <= rounding:
        return table
    wrong = gaps > _SUM_TOLERANCE
    if wrong.any():
        row = int(wrong.argmax())
        raise HeadcountError(
            f"{name} has {int(wrong.sum()):,} of {len(table):,} rows that do not sum to 1, "
            f"the first row {row} with a sum of {sums[row]:.6g}: pass posteriors of all "
            "classes, each row summing to 1."
        )
    return np.asarray(table / np.where(gaps > rounding, sums, 1.0)[:, None])


def check_codes(codes: Any, n_classes: int) -> Ints:
    """Positions of classes, if they are some."""
    array = np.asarray(codes)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise HeadcountError("codes of labels must be a vector of whole numbers.")
    if array.min() < 0 or array.max() >= n_classes:
        raise HeadcountError(f"codes of labels must lie between 0 and {n_classes - 1}.")
    return array.astype(np.int64, copy=False)


def check_item_shape(shape: tuple[int, ...], fitted: tuple[int, ...], classifier: Any) -> None:
    """Refuse items of another shape than those that a classifier was fitted on."""
    if shape != fitted:
        now, then = (_features(item_shape) for item_shape in (shape, fitted))
        raise HeadcountError(
            f"X has {now}, but {type(classifier).__name__} is expecting {then} as input, as in "
            "training: pass the same columns in the same order."
        )


def _features(shape: tuple[int, ...]) -> str:
    """Shape of an item in words; texts have none."""
    if len(shape) > 1:
        return f"items of shape {shape}"
    return f"{shape[0] if shape else 'no'} features"


class NotThereError(HeadcountError, AttributeError):
    """An attribute that a fit did not make; an AttributeError too, so that hasattr works."""


def made_by_fit(value: Made | None, name: str) -> Made:
    """Value of an attribute that `fit` makes by default."""
    if value is None:
        raise NotThereError(
            f"{name} was not made, as fit was called with out_of_fold=False: fit again with "
            "out_of_fold=True."
        )
    return value


def _softmax(logits: Floats) -> Floats:
    """Posteriors of logits; of one column per item, those of the second of two classes."""
    if logits.ndim not in (1, 2):
        raise HeadcountError(
            f"logits has {logits.ndim} dimensions, but must have 2: pass one row per item and "
            "one column per class, or the log-odds of the second class as a vector."
        )
    if not np.isfinite(logits).all():
        _refuse_infinite(logits if logits.ndim == 2 else logits[:, None], "logits")
    if logits.ndim == 1:
        logits = np.column_stack([np.zeros(len(logits)), logits])
    if logits.shape[1] < 2:
        raise HeadcountError(
            f"logits has {logits.shape[1]} columns; it must have one column per class, or be a "
            "vector with the log-odds of the second of two classes."
        )
    return softmax(logits, axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class Scored:
    """Items given by the posteriors of a classifier.

    Accepted wherever items are. To fit on, the posteriors must come from a classifier that
    was not trained on these items.

    Parameters
    ----------
    posteriors : array-like, tensor or frame of shape (n, K), or (n,) for two classes
        One row per item and one column per class. A vector holds the posteriors of the
        second class. PyTorch tensors may be on any device.
    classes : array-like of shape (K,), default=None
        Classes in the order of the columns; by default the sorted classes.
    predictions : array-like of shape (n,), default=None
        Labels that the classifier predicts; by default the class with the highest posterior.
    folds : sequence of Scored, default=()
        The same items, scored by the classifier of each fold. `Scorer.score` fills it in.
    logits : array-like, tensor or frame of shape (n, K), or (n,) for two classes
        Outputs of a network before the softmax, in place of `posteriors`. A vector holds the
        log-odds of the second class.

    Examples
    --------
    >>> import headcount as hc
    >>> q = hc.PACC().fit(hc.Scored([0.1, 0.3, 0.8, 0.9]), ["ham", "ham", "spam", "spam"])
    >>> q.predict(hc.Scored([0.2, 0.6, 0.7])).round(2)
    array([0.54, 0.46])
    >>> hc.Scored(logits=[[2.0, 0.0, 0.0], [0.0, 0.0, 5.0]]).posteriors.round(2)
    array([[0.79, 0.11, 0.11],
           [0.01, 0.01, 0.99]])
    """

    posteriors: Any = None
    classes: Any = None
    predictions: Any = None
    folds: Sequence[Scored] = ()
    logits: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.posteriors is None) == (self.logits is None):
            raise HeadcountError(
                "Scored needs posteriors or logits, and not both: pass hc.Scored(posteriors) "
                "or hc.Scored(logits=...)."
            )
        if self.logits is not None:
            _set(self, "posteriors", _softmax(as_numbers(self.logits, "logits")))
            _set(self, "logits", None)
        values = as_numbers(self.posteriors, "posteriors")
        n_classes = values.shape[1] if values.ndim == 2 else 2
        if n_classes < 2:
            raise HeadcountError(
                f"posteriors has {n_classes} columns; it must have one column per class, or be "
                "a vector with the posteriors of the second of two classes."
            )
        _set(self, "posteriors", check_scores(values, n_classes, name="posteriors"))
        if self.classes is not None:
            classes, _ = encode_labels(self.classes, name="classes", classes=self.classes)
            if len(classes) != n_classes:
                raise HeadcountError(
                    f"classes has {len(classes)} entries, but posteriors has {n_classes} "
                    "columns: name one class per column."
                )
            _set(self, "classes", classes)
        if self.predictions is not None:
            _set(self, "predictions", _column(self.predictions, "predictions", len(self)))

    def __len__(self) -> int:
        return len(self.posteriors)

    def __repr__(self) -> str:
        return f"Scored({len(self):,} items, {self.posteriors.shape[1]} classes)"

    def take(self, rows: ArrayLike) -> Scored:
        """Items at some positions, in any order."""
        predictions = self.predictions
        return Scored(
            take_rows(self.posteriors, rows),
            self.classes,
            None if predictions is None else take_rows(predictions, rows),
            tuple(fold.take(rows) for fold in self.folds),
        )

    def posteriors_of(self, classes: Array) -> Floats:
        """Posteriors with columns in the order of the classes of a fitted quantifier."""
        posteriors: Floats = self.posteriors
        if posteriors.shape[1] != len(classes):
            raise HeadcountError(
                f"posteriors has {posteriors.shape[1]} columns, but there are {len(classes)} "
                f"classes: pass one column for each of {_listed(classes)}."
            )
        if self.classes is None:
            return posteriors
        order = encode_labels(classes, name="the fitted classes", classes=self.classes)[1]
        return (
            posteriors if np.array_equal(order, np.arange(len(order))) else posteriors[:, order]
        )

    def codes_of(self, classes: Array) -> Ints:
        """Predicted classes as positions in the classes of a fitted quantifier."""
        if self.predictions is None:
            return self.posteriors_of(classes).argmax(axis=1)
        return encode_labels(self.predictions, name="predictions", classes=classes)[1]

    @classmethod
    def unchecked(cls, posteriors: Floats, classes: Array) -> Scored:
        """Items with posteriors that `check_scores` has returned, without checks or copies."""
        items = cls.__new__(cls)
        _set(items, "posteriors", posteriors)
        _set(items, "classes", classes)
        return items

    @classmethod
    def concatenate(cls, batches: Sequence[Scored]) -> Scored:
        """Items of several batches, scored by one classifier, one after the other."""
        first = batches[0]
        predictions = [batch.predictions for batch in batches]
        return cls(
            np.concatenate([batch.posteriors for batch in batches]),
            first.classes,
            None if first.predictions is None else np.concatenate(predictions),
            tuple(
                cls.concatenate(folds)
                for folds in zip(*[p.folds for p in batches], strict=True)
            ),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """Items given by hard decisions: of a classifier, a rule or an LLM judge.

    Accepted wherever items are, by methods that work on decisions: `CC`, `ACC`, `GAC` and
    others of `hc.methods()` with the input "labels".

    Parameters
    ----------
    labels : array-like of shape (n,)
        One decision per item: text or numbers, among the classes.
    classes : array-like of shape (K,), default=None
        The classes, in the order to use; by default those of the labels ``y``, sorted.

    Examples
    --------
    >>> import headcount as hc
    >>> judged = hc.Verdicts(["ok", "ok", "bad", "bad", "ok"])
    >>> q = hc.ACC().fit(judged, ["ok", "ok", "bad", "bad", "bad"])
    >>> q.predict(hc.Verdicts(["ok", "bad", "ok"])).round(2)
    array([0.5, 0.5])
    """

    labels: Any
    classes: Any = None

    def __post_init__(self) -> None:
        _, codes = encode_labels(self.labels, name="labels", classes=self.classes)
        _set(self, "labels", _column(self.labels, "labels", len(codes)))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Verdicts({len(self):,} items)"

    def take(self, rows: ArrayLike) -> Verdicts:
        """Items at some positions, in any order."""
        return Verdicts(take_rows(self.labels, rows), self.classes)

    def codes_of(self, classes: Array) -> Ints:
        """Decisions as positions in the classes of a fitted quantifier."""
        return encode_labels(self.labels, name="labels of Verdicts", classes=classes)[1]


def _column(values: Any, name: str, n_items: int) -> Array:
    classes, codes = encode_labels(values, name=name)
    check_one_each(name, codes, n_items)
    return classes[codes]


def _listed(classes: Array) -> str:
    return ", ".join(repr(name) for name in classes.tolist())


def _set(frozen: Any, name: str, value: Any) -> None:
    object.__setattr__(frozen, name, value)


def check_clusters(
    clusters: ArrayLike | None, n_items: int, name: str = "clusters"
) -> Ints | None:
    """Clusters of the items as numbers from 0; ``name`` is that of the argument."""
    if clusters is None:
        return None
    codes = encode_labels(clusters, name=name)[1]
    check_one_each(name, codes, n_items)
    return codes
