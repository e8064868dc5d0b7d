"""Fingerprints of fitted models, the same in every process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import partial
from hashlib import blake2b
from itertools import groupby
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from headcount._kernels.accumulation import number_distinct
from headcount._support.arrays import Ints
from headcount._support.execution import results_in_order
from headcount._support.frames import pl
from headcount._support.parameters import check_one_each
from headcount.errors import HeadcountError
from headcount.estimates.estimation import needed_statistics
from headcount.estimates.statistics.stores import LogitCells, RatioCells, Sums
from headcount.items.arrays import Scored, Verdicts, count_rows
from headcount.parts.fitted import Fitted, Form, HasFitted, NeedsStatistics, Part
from headcount.parts.training import CellsOf, MeanOf

_DIGEST_BYTES = 16
_NAMED = (type, FunctionType, BuiltinFunctionType)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def fingerprint(value: Any) -> str:
    """Fingerprint of the type and content of an object, the same in every process."""
    return _digest(value, {}).hex()


def _digest(value: Any, places: dict[int, int]) -> bytes:
    hashed = blake2b(digest_size=_DIGEST_BYTES)
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "biufcUS" else np.asarray(value)
    if isinstance(value, _PLAIN):
        hashed.update(f"{type(value).__name__}:{value!r}".encode())
        return hashed.digest()
    # An object that contains itself is named by its place.
    if id(value) in places:
        hashed.update(f"again:{places[id(value)]}".encode())
        return hashed.digest()
    places = {**places, id(value): len(places)}
    hashed.update(_name(value).encode())
    for piece in _parts(value):
        hashed.update(piece if isinstance(piece, bytes) else _digest(piece[0], places))
    return hashed.digest()


def _name(value: Any) -> str:
    kind = value if isinstance(value, _NAMED) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _parts(value: Any) -> list[Any]:
    """Parts of an object: bytes, and other objects in tuples."""
    if isinstance(value, _NAMED):
        return []
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return [str(value.shape).encode(), (value.ravel().tolist(),)]
        form = f"{value.dtype.str}{value.shape}"
        return [form.encode(), np.ascontiguousarray(value).tobytes()]
    if sparse.issparse(value):
        table = value.tocsr()
        return [(table.shape,), (table.indptr.tolist(),), (table.indices,), (table.data,)]
    if isinstance(value, dict):
        entries = sorted(
            ((_digest(key, {}), item) for key, item in value.items()),
            key=lambda entry: entry[0],
        )
        return [piece for key, item in entries for piece in (key, (item,))]
    if isinstance(value, set | frozenset):
        return sorted(_digest(entry, {}) for entry in value)
    if isinstance(value, list | tuple):
        return [(entry,) for entry in value]
    if is_dataclass(value) and not isinstance(value, BaseEstimator):
        # Without properties that were cached. Estimators have attributes besides parameters.
        return [(getattr(value, field_.name),) for field_ in fields(value)]
    # What pickle would store: a function, its arguments, and the state.
    return [(piece,) for piece in value.__reduce_ex__(4)[1:3]]


# Slots of the first table of hashes, and how many times larger the next one is.
_SLOTS, _GROWTH = 1 << 12, 16


class Numbered(NamedTuple):
    """Groups of rows: the different names as they come, and the number of each row's name."""

    names: pl.Series
    codes: Ints

    def renamed(self, names: pl.Series) -> Numbered:
        """The same rows with other names, some of which may be equal now."""
        again = number_groups(names, len(names))
        if len(again.names) == len(names):  # numbered as they come, so the numbers are the same
            return Numbered(again.names, self.codes)
        return Numbered(again.names, again.codes[self.codes])


def number_groups(groups: Any, n_rows: int) -> Numbered:
    """Number the groups of rows, the different names as they come."""
    if groups is None:
        return Numbered(pl.Series([None], dtype=pl.Null), np.zeros(n_rows, np.int64))
    if isinstance(groups, Numbered):
        return groups
    values = _as_column(groups)
    check_one_each("groups", values, n_rows)
    # Two hashes of 64 bits, so that no two names have the same pair. Chunks need no copy.
    columns = pl.DataFrame({"name": values}).select(
        pl.col("name").hash(seed).alias(str(seed)) for seed in (0, 1)
    )
    words, checks = ([chunk.to_numpy() for chunk in column.get_chunks()] for column in columns)
    hashes = list(zip(words, checks, strict=True))
    codes, size, n_distinct = np.empty(n_rows, np.int64), _SLOTS, -1
    while n_distinct < 0:
        n_distinct, first = _number_in(size, hashes, codes)
        size *= _GROWTH
    return Numbered(values.gather(first[:n_distinct]), codes)


def _number_in(
    size: int, hashes: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]], codes: Ints
) -> tuple[int, Ints]:
    """Number rows by their hashes; how many differ (-1: table too small), and first rows."""
    slots, first = np.full(size, -1, np.int64), np.empty(size // 2, np.int64)
    distinct = np.empty((size // 2, 2), np.uint64)
    start = n_distinct = 0
    for words, checks in hashes:
        n_distinct = number_distinct(
            words, checks, start, n_distinct, slots, distinct, first, codes
        )
        if n_distinct < 0:
            break
        start += len(words)
    return n_distinct, first


def _as_column(groups: Any) -> pl.Series:
    """Groups as a column of one of the kinds of names."""
    try:
        if isinstance(groups, pl.Series):
            values = groups
        elif hasattr(groups, "__arrow_c_stream__") or hasattr(groups, "__arrow_c_array__"):
            values = pl.Series(groups)
        else:
            array = np.asarray(groups)
            if array.dtype.kind == "M":
                days = np.datetime_data(array.dtype)[0] in ("Y", "M", "W", "D")
                array = array.astype("datetime64[D]" if days else "datetime64[us]")
            values = pl.Series(array.tolist() if array.dtype == object else array)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        values = pl.Series([[]])
    kind = values.dtype
    if kind in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    elif kind.is_float():
        # Zero is added, as 0 and -0 are one name.
        values = pl.Series(values.cast(pl.Float64).to_numpy() + 0.0).fill_nan(None)
    elif kind.is_integer():
        values = values.cast(pl.Int64)
    elif kind == pl.Datetime:
        values = values.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    elif kind not in (pl.String, pl.Boolean, pl.Date, pl.Null):
        raise HeadcountError(
            "groups must be one text, number or date per item: pass a list, an array or a "
            "column of a frame."
        )
    return values


class GroupNames:
    """Different names of groups, in the order in which they came."""

    def __init__(self, names: pl.Series | None = None) -> None:
        self._names = pl.Series([], dtype=pl.Null) if names is None else names

    def __len__(self) -> int:
        return len(self._names)

    def find(self, names: pl.Series) -> tuple[GroupNames, Ints]:
        """Numbers of names here, and these names with those that are new."""
        known_names, new_names = self._names, names
        kinds = {column.dtype for column in (known_names, new_names)} - {pl.Null()}
        if len(kinds) > 1:
            first, second = (_kind(column) for column in (known_names, new_names))
            raise HeadcountError(
                f"Names of groups are of the kind {first!r} here and {second!r} there: make "
                "them alike, for instance all texts."
            )
        kind = kinds.pop() if kinds else pl.Null()
        together = pl.concat([known_names.cast(kind), new_names.cast(kind)])
        # Names are numbered as they come, so those that are here keep their numbers.
        numbered = number_groups(together, len(together))
        return GroupNames(numbered.names), numbered.codes[len(known_names) :]

    def order(self) -> Ints:
        """Numbers of the names in sorted order, a missing one last."""
        return self._names.arg_sort(nulls_last=True).to_numpy().astype(np.int64)

    def take(self, numbers: Ints) -> GroupNames:
        """Some of the names."""
        return GroupNames(self._names.gather(numbers))

    @property
    def column(self) -> pl.Series:
        """The names as a column."""
        return self._names

    def to_list(self) -> list[Any]:
        """The names as plain values."""
        return self._names.to_list()

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = self.to_list()
        if self._names.dtype in (pl.Date, pl.Datetime):
            values = [None if value is None else value.isoformat() for value in values]
        return {"kind": _kind(self._names), "names": values}

    @classmethod
    def from_json(cls, content: Any) -> GroupNames:
        """Names from what `to_json` made, checked."""
        try:
            values = list(content["names"])
            dtype, plain, read = _KINDS[content["kind"]]
            values = [None if value is None else read(value) for value in values]
            fine = all(value is None or type(value) is plain for value in values)
            if not fine or len(set(values)) < len(values):
                raise ValueError
            return cls(pl.Series(values, dtype=dtype))
        except (KeyError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            raise HeadcountError(
                "The statistics are damaged: their names of groups cannot be read. Make the "
                "file again."
            ) from None


def _as_it_is(value: Any) -> Any:
    return value


# Kinds of names: type of the column, type of a value, and how a value is read from JSON.
_KINDS: dict[str, tuple[Any, type, Callable[[Any], Any]]] = {
    "none": (pl.Null(), type(None), _as_it_is),
    "text": (pl.String(), str, _as_it_is),
    "whole": (pl.Int64(), int, _as_it_is),
    "number": (pl.Float64(), float, _as_it_is),
    "truth": (pl.Boolean(), bool, _as_it_is),
    "date": (pl.Date(), date, date.fromisoformat),
    "time": (pl.Datetime("us"), datetime, datetime.fromisoformat),
}


def _kind(names: pl.Series) -> str:
    return next(kind for kind, (dtype, _, _) in _KINDS.items() if dtype == names.dtype)


Store = Sums | LogitCells | RatioCells
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Sums, LogitCells, RatioCells)}
"""Kinds of stores by their names in files."""
NO_MODEL = HeadcountError(
    "The statistics were read without their model, so items cannot be added: pass model "
    "to from_bytes or load."
)
"""Error of statistics without their model."""


class _Needed(NamedTuple):
    """Statistic, with the fingerprint of the maker of its items."""

    part: Part
    source: str


class Batch(NamedTuple):
    """Statistics of a batch, and by key the number of rows per item: one per classifier."""

    deltas: dict[str, Any]
    copies: dict[str, int]


class NeededParts:
    """Statistics that fitted methods need."""

    def __init__(self, model: Any) -> None:
        self.models: tuple[Any, ...] | None = None
        if model is not None:
            self.models = tuple(model) if isinstance(model, list | tuple) else (model,)
            _check_models(self.models)
        self._by_form: dict[Form, dict[str, _Needed]] = {}
        # Objects are kept besides their fingerprints, so that no other can have their identity.
        self._sources: dict[tuple[int, ...], tuple[Any, str]] = {}
        self._keys: dict[int, tuple[Part, str]] = {}

    def of_form(self, form: Form) -> dict[str, _Needed]:
        """Statistics that are needed of items of a form, by key."""
        if self.models is None:
            raise NO_MODEL
        if form not in self._by_form:
            self._by_form[form] = {
                self.key(part): _Needed(part, self._source(part))
                for model in self.models
                for part in _parts_of(model, form)
            }
        return self._by_form[form]

    def key(self, part: Part) -> str:
        """Fingerprint of a statistic and the maker of its items."""
        if id(part) not in self._keys:
            self._keys[id(part)] = part, fingerprint((self._source(part), part.reduction))
        return self._keys[id(part)][1]

    def _source(self, part: Part) -> str:
        """Fingerprint of the maker of items, computed once for the same classifiers."""
        identity = part.source.identity()
        place = tuple(id(thing) for thing in identity)
        if place not in self._sources:
            self._sources[place] = identity, fingerprint(identity)
        return self._sources[place][1]

    def batch(self, form: Form, pool: Any, codes: Ints, n_groups: int) -> Batch:
        """Statistics of items, by the numbers of their groups."""
        by_source: dict[str, dict[str, Part]] = {}
        for key, (needed, source) in self.of_form(form).items():
            by_source.setdefault(source, {})[key] = needed
        batch = Batch({}, {})
        for needed_by_key in by_source.values():
            maker = next(iter(needed_by_key.values())).source
            items = maker.items(pool)
            copies = maker.count(items) // len(codes)
            batch.copies.update(dict.fromkeys(needed_by_key, copies))
            sums = {
                k: needed
                for k, needed in needed_by_key.items()
                if isinstance(needed.reduction, MeanOf)
            }
            deltas = Sums.deltas(list(sums.values()), items, codes, n_groups)
            batch.deltas.update(zip(sums, deltas, strict=True))
            for key, needed in needed_by_key.items():
                if isinstance(needed.reduction, CellsOf):
                    store, rows = empty_store(needed), needed.reduction.rows(items)
                    assert not isinstance(store, Sums)
                    batch.deltas[key] = store.delta(rows, codes, n_groups)
        return batch


def empty_store(part: Part) -> Store:
    """Store for a statistic, without content."""
    reduction = part.reduction
    if not isinstance(reduction, CellsOf):
        return Sums()
    return LogitCells() if reduction.n_classes == 2 else RatioCells(reduction.n_classes)


def _parts_of(model: HasFitted | Fitted | NeedsStatistics, form: Form) -> list[Part]:
    """Statistics that estimates of a fitted method need of items of a form."""
    fitted = model.fitted_ if isinstance(model, HasFitted) else model
    if isinstance(fitted, NeedsStatistics):
        return fitted.statistics_parts(form)
    return needed_statistics(fitted, form)


def _check_models(models: tuple[Any, ...]) -> None:
    for model in models:
        if isinstance(model, BaseEstimator):
            check_is_fitted(model, "fitted_")
        if not isinstance(model, HasFitted | Fitted | NeedsStatistics):
            raise HeadcountError(
                f"model is {model!r}; it must be a fitted quantifier or accuracy predictor, or "
                "a list of them."
            )
    if not models:
        raise HeadcountError("model is empty: pass at least one fitted method.")


FORM_NAMES: dict[Form, str] = {
    "items": "items with scores of all folds",
    "scored": "scores of one classifier",
    "verdicts": "decisions",
}
"""Forms of items, in words."""


class ReducedBatch(NamedTuple):
    """Statistics of a batch of items, by the groups of this batch."""

    form: Form
    groups: Numbered
    sizes: Ints
    parts: Batch


def form_of(X: Any) -> Form:
    """Form of items."""
    if isinstance(X, Verdicts):
        return "verdicts"
    return "scored" if isinstance(X, Scored) and not X.folds else "items"


def reduce_batch(needed: NeededParts, X: Any, groups: Any) -> ReducedBatch:
    """Statistics of a batch."""
    form = form_of(X)
    numbered = number_groups(groups, count_rows(X))
    reduced = needed.batch(form, X, numbered.codes, len(numbered.names))
    sizes = np.bincount(numbered.codes, minlength=len(numbered.names))
    return ReducedBatch(form, numbered, sizes, reduced)


def reduce_batches(
    needed: NeededParts, batches: Iterable[tuple[Any, Any]]
) -> Iterator[ReducedBatch]:
    """Statistics of batches in their order; several at once if they are scored."""
    for scored, same in groupby(batches, lambda batch: isinstance(batch[0], Scored | Verdicts)):
        tasks = (_task(needed, *batch) for batch in same)
        # Classifiers, which may not be safe for threads, are called in that of the caller.
        yield from results_in_order(tasks) if scored else (task() for task in tasks)


def _task(needed: NeededParts, X: Any, groups: Any) -> Callable[[], ReducedBatch]:
    needed.of_form(form_of(X))  # found once, not by each thread
    return partial(reduce_batch, needed, X, groups)
