"""Bytes of statistics: a header in JSON and arrays, with a checksum.

The format, version 2:

====================  =======================================================================
bytes                 content
====================  =======================================================================
8                     ``HCSTATS`` and a line feed
2                     version, a whole number (all numbers are little-endian)
8                     length of the header
...                   header: JSON in UTF-8
...                   arrays, one after the other, each compressed by zlib
32                    SHA-256 of everything before
====================  =======================================================================

The header has ``form``, ``groups``, ``sizes`` and ``parts``. A part has its fingerprint
``key``, its ``kind``, the number of rows per item ``copies``, and its ``arrays`` by name:
type, shape and compressed length. Nothing in a file is executed.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np

from headcount._support.arrays import Array, Ints
from headcount._support.documentation import documented
from headcount._support.files import write_bytes
from headcount._support.frames import pl
from headcount._support.parameters import check_one_each
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError
from headcount.estimates.statistics.needed_parts import (
    FORM_NAMES,
    KINDS,
    NO_MODEL,
    GroupNames,
    NeededParts,
    ReducedBatch,
    Store,
    empty_store,
    form_of,
    number_groups,
    reduce_batch,
    reduce_batches,
)
from headcount.estimates.statistics.stores import RatioCells, Sums, check_room
from headcount.estimates.statistics.streams import BatchReader, read_batches
from headcount.parts.fitted import Form, GroupStatistics, Part
from headcount.parts.training import Reduced

VERSION = 2
"""Version of the format that is written."""
_MAGIC = b"HCSTATS\n"
_TYPES = ("<i8", "<i4", "<u8", "<u2", "|u1")
_FIXED = len(_MAGIC) + 10
_CHECKSUM = 32

_DAMAGED = HeadcountError(
    "The statistics are damaged or incomplete: make the file again, or copy it again."
)


def pack(header: dict[str, Any], arrays: list[dict[str, Array]]) -> bytes:
    """Bytes of a header with ``parts``, and of the arrays of each part."""
    body, descriptions = [], []
    for description, content in zip(header["parts"], arrays, strict=True):
        described = {}
        for name, array in sorted(content.items()):
            plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            # First bytes of all numbers, then second bytes and so on, which compresses well.
            columns = plain.view(np.uint8).reshape(-1, plain.itemsize).T
            packed = zlib.compress(columns.tobytes(), 6)
            described[name] = [plain.dtype.str, list(plain.shape), len(packed)]
            body.append(packed)
        descriptions.append({**description, "arrays": described})
    text = json.dumps({**header, "parts": descriptions}, sort_keys=True, separators=(",", ":"))
    head = text.encode()
    start = _MAGIC + VERSION.to_bytes(2, "little") + len(head).to_bytes(8, "little")
    content_bytes = b"".join([start, head, *body])
    return content_bytes + sha256(content_bytes).digest()


def unpack(content: bytes) -> tuple[dict[str, Any], list[dict[str, Array]]]:
    """Header and arrays of what `pack` returned; everything else is refused."""
    if not content.startswith(_MAGIC):
        raise HeadcountError(
            "These are not statistics of headcount: pass a file that headcount statistics or "
            "Statistics.save has written."
        )
    version = int.from_bytes(content[8:10], "little")
    if version != VERSION and len(content) >= _FIXED:
        raise HeadcountError(
            f"The statistics have version {version} of their format, and this headcount reads "
            f"version {VERSION}: make them again, or use another version of headcount."
        )
    is_short = len(content) < _FIXED + _CHECKSUM
    if is_short or sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise _DAMAGED
    try:
        return _read(content[:-_CHECKSUM])
    except (LookupError, TypeError, ValueError, OverflowError, zlib.error, RecursionError):
        raise _DAMAGED from None


def _read(content: bytes) -> tuple[dict[str, Any], list[dict[str, Array]]]:
    place = _FIXED + int.from_bytes(content[10:_FIXED], "little")
    header = json.loads(content[_FIXED:place])
    arrays = []
    for description in header["parts"]:
        content_of = {}
        for name, (kind, shape, length) in description["arrays"].items():
            if kind not in _TYPES or not all(isinstance(n, int) and n >= 0 for n in shape):
                raise ValueError
            content_of[name] = _array(content[place : place + length], kind, shape)
            place += length
        arrays.append(content_of)
    if place != len(content):
        raise ValueError
    return header, arrays


def _array(packed: bytes, kind: str, shape: list[int]) -> Array:
    dtype = np.dtype(kind)
    size = dtype.itemsize
    for n in shape:
        size *= n
    # No more than was announced, whatever the compressed bytes hold.
    reader = zlib.decompressobj()
    plain = reader.decompress(packed, size + 1)
    if len(plain) != size or not reader.eof:
        raise ValueError
    columns = np.frombuffer(plain, np.uint8).reshape(dtype.itemsize, -1)
    numbers = np.ascontiguousarray(columns.T).view(dtype).reshape(shape)
    return numbers.astype(dtype.newbyteorder("="), copy=False)


_MOST_SHOWN = 10
# One for all objects, as a merge changes one and reads another. Items are reduced without it.
_changes = threading.RLock()
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _one_at_a_time(method: _Method) -> _Method:
    """A method of which one call runs at a time, whichever object it is of."""

    @wraps(method)
    def locked(*arguments: Any, **options: Any) -> Any:
        with _changes:
            return method(*arguments, **options)

    return cast(_Method, locked)


class Statistics(GroupStatistics):
    """All that fitted methods need of items, by group. Parts of it merge.

    Items are read once, in any number of batches, on any number of machines. What is kept of
    them depends on neither partition nor order, bit by bit, as sums are in whole numbers.
    `estimate_statistics` of the methods then returns estimates by group.

    Counts and means are exact. Of likelihoods, the distribution of the posteriors is kept in
    narrow cells, at most 32 KB per group for two classes. With more classes, cells get wider
    where there are too many of them, and a sample of the items is kept if that is not enough.
    Estimates report the error of both.

    Parameters
    ----------
    model : Quantifier or Predictor, or sequence of them
        Fitted methods. Those with the same classifier share what they have in common.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(1000, class_sep=2, random_state=0)
    >>> q = hc.AutoQuantifier(random_state=0).fit(X[:400], y[:400])
    >>> one = hc.Statistics(q).update(X[400:600], groups=["May"] * 200)
    >>> other = hc.Statistics(q).update(X[600:], groups=["May"] * 100 + ["June"] * 300)
    >>> both = one.merge(other)
    >>> both
    Statistics of 600 items in 2 groups
    group  items
    June     300
    May      300
    >>> hc.Statistics.from_bytes(both.to_bytes()).n
    600
    >>> q.estimate_statistics(both)["June"].n_items
    300
    """

    def __init__(self, model: Any) -> None:
        self._needed = model if isinstance(model, NeededParts) else NeededParts(model)
        self._form: Form | None = None
        self._names = GroupNames()
        self._sizes = np.zeros(0, np.int64)
        self._stores: dict[str, Store] = {}
        # Number of rows per item: items that several classifiers have scored have several.
        self._copies: dict[str, int] = {}

    @property
    def form(self) -> Form:
        """Form of the items: "items", "scored" or "verdicts"."""
        if self._form is None:
            raise HeadcountError("The statistics have no items yet: call update first.")
        return self._form

    @property
    def groups(self) -> list[Any]:
        """Names of the groups, sorted. One group without a name is called None."""
        self._sort()
        return self._names.to_list()

    @property
    def sizes(self) -> Ints:
        """Number of items of each group."""
        self._sort()
        return self._sizes

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self._sizes.sum())

    def update(self, X: Any, groups: Any = None) -> Self:
        """Add items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            Items, in the same form in every call.
        groups : array-like of shape (n,), default=None
            Group of each item: text, numbers or dates. Items without one are a group, too.

        Returns
        -------
        Statistics
            This object. If there is an error it is unchanged.
        """
        self._check_form(form_of(X))
        self._add(reduce_batch(self._needed, X, groups))
        return self

    def update_many(self, batches: Iterable[tuple[Any, Any]]) -> Self:
        """Add batches of items, several of which are read at once if they are scored.

        Parameters
        ----------
        batches : iterable of pairs (X, groups)
            Arguments of `update`.

        Returns
        -------
        Statistics
            This object. If there is an error in any batch it is unchanged.
        """
        added = Statistics(self._needed)
        for reduced in reduce_batches(self._needed, batches):
            added._add(reduced)
        return self._take_over(added)

    @_one_at_a_time
    def _take_over(self, added: Statistics) -> Self:
        if self._form is not None:
            return self.merge(added)
        self._form, self._names, self._sizes = added._form, added._names, added._sizes
        self._stores, self._copies = added._stores, added._copies
        return self

    @documented(update_many)
    def update_stream(self, batches: Any, *, by: str | None = None, reader: Any = None) -> Self:
        """Add the rows of a table that is read in batches.

        Parameters
        ----------
        batches : iterable of record batches, or object with ``__arrow_c_stream__``
            A table, or parts of one with the same columns. Columns named after the classes
            hold posteriors. Otherwise all columns but `by` are features.
        by : str, default=None
            Column of the groups.
        reader : BatchReader, default=None
            Turns a batch into items, such as a `ScoreReader` with other columns.
        """
        if self._needed.models is None:
            raise NO_MODEL
        return self.update_many(read_batches(self._needed.models[0], batches, by, reader))

    @_one_at_a_time
    def merge(self, other: Statistics) -> Self:
        """Add the items of other statistics, made with the same methods.

        Parameters
        ----------
        other : Statistics
            It does not change.

        Returns
        -------
        Statistics
            This object. If there is an error it is unchanged.
        """
        if not isinstance(other, Statistics):
            raise HeadcountError(
                f"other is of type {type(other).__name__}; it must be Statistics."
            )
        if other is self:
            raise HeadcountError("other is the same object: merge statistics of other items.")
        if other._form is None:
            return self
        self._check_form(other._form)
        with_model = self._needed.models is not None
        keys = set(self._stores)
        if self._form is None and with_model:
            keys = set(self._needed.of_form(other._form))
        if (self._form is not None or with_model) and keys != set(other._stores):
            raise HeadcountError(
                "The statistics were made with different models: merge those of one model "
                "only, trained once and saved."
            )
        self._check_copies(other._copies)
        names, numbers = self._names.find(other._names.column)
        stores: dict[str, Any] = {
            key: self._stores.get(key, store.empty()) for key, store in other._stores.items()
        }
        contents = {key: other._stores[key].content() for key in stores}
        check_room(stores, contents, numbers)
        for key, store in stores.items():
            store.merge(other._stores[key], numbers)
        self._keep(other._form, names, numbers, other._sizes, stores, other._copies)
        return self

    def pooled(self) -> Statistics:
        """Statistics of all items as one group, called None."""
        return self if self._form is None else self.regrouped([None] * len(self._names))

    def regrouped(self, names: Sequence[Any]) -> Statistics:
        """Statistics of the same items in other groups, which unite those of now.

        Parameters
        ----------
        names : sequence
            New name of each of `groups`, in their order.

        Examples
        --------
        >>> import numpy as np
        >>> import headcount as hc
        >>> scores, y = hc.Scored(np.array([0.2, 0.9, 0.4, 0.8])), [0, 1, 0, 1]
        >>> counts = hc.Statistics(hc.PACC().fit(scores, y))
        >>> quarters = counts.update(scores, groups=["Jan", "Feb", "Jan", "May"])
        >>> quarters.groups, quarters.regrouped(["Q1", "Q1", "Q2"]).sizes
        (['Feb', 'Jan', 'May'], array([3, 1]))
        """
        self._sort()
        check_one_each("names", names, len(self._names), "group")
        numbered = number_groups(None if set(names) == {None} else names, len(names))
        regrouped = copy(self)
        regrouped._names = GroupNames().find(numbered.names)[0]
        regrouped._stores = {
            key: store.regrouped(numbered.codes) for key, store in self._stores.items()
        }
        regrouped._sizes = np.bincount(
            numbered.codes, self._sizes, minlength=len(regrouped._names)
        ).astype(np.int64)
        return regrouped

    @_one_at_a_time
    def to_bytes(self) -> bytes:
        """Return the content in the format that this module documents.

        Returns
        -------
        bytes
            The same for the same items, in whatever order and parts they were added.
        """
        form = self.form
        self._sort()
        descriptions: list[dict[str, Any]] = [{"key": "sizes", "kind": "sizes", "copies": 1}]
        arrays = [{"sizes": self._sizes}]
        for key, store in sorted(self._stores.items()):
            kind = type(store).__name__
            descriptions.append({"key": key, "kind": kind, "copies": self._copies[key]})
            arrays.append(store.arrays())
        return pack(
            {"form": form, "groups": self._names.to_json(), "parts": descriptions}, arrays
        )

    @classmethod
    def from_bytes(cls, content: bytes, model: Any = None) -> Statistics:
        """Statistics from what `to_bytes` returned.

        Parameters
        ----------
        content : bytes
            The bytes. They are checked, and nothing in them is executed.
        model : Quantifier or Predictor, or sequence of them, default=None
            The methods, which are needed to add items.
        """
        header, arrays = unpack(bytes(content))
        statistics = cls(model)
        names = GroupNames.from_json(header.get("groups"))
        try:
            statistics._form = {form: form for form in FORM_NAMES}[header["form"]]
            first, *described = zip(header["parts"], arrays, strict=True)
            sizes = first[1]["sizes"]
            if sizes.shape != (len(names),) or not (sizes > 0).all():
                raise ValueError
            for description, content_of in described:
                key, copies = str(description["key"]), description["copies"]
                if type(copies) is not int or copies < 1:
                    raise ValueError
                statistics._stores[key] = KINDS[description["kind"]].from_arrays(
                    content_of, len(names)
                )
                statistics._copies[key] = copies
        except (KeyError, TypeError, ValueError, IndexError):
            raise HeadcountError(
                "The statistics are damaged: their tables cannot be read. Make the file again."
            ) from None
        statistics._names, statistics._sizes = names, sizes
        if model is not None and set(statistics._needed.of_form(statistics.form)) != set(
            statistics._stores
        ):
            raise _OTHER_MODEL
        return statistics

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the content to a file, atomically.

        Parameters
        ----------
        path : str or path
            The file, by custom with the ending .hcs.
        """
        write_bytes(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any = None) -> Statistics:
        """Read a file that `save` has written.

        Parameters
        ----------
        path : str or path
            The file.
        model : Quantifier or Predictor, or sequence of them, default=None
            The methods, which are needed to add items.
        """
        name = os.fspath(path)
        try:
            return cls.from_bytes(Path(path).read_bytes(), model)
        except OSError as error:
            raise HeadcountError(f"{name!r} cannot be read ({error.strerror}).") from None
        except HeadcountError as error:
            raise HeadcountError(f"{name!r}: {error}") from None

    def n_variants(self, parts: Sequence[Part]) -> int:
        """Number of variants of the statistics whose answers show their error."""
        stores = [self._stored(needed)[0] for needed in parts]
        return max(
            (store.n_variants for store in stores if not isinstance(store, Sums)), default=0
        )

    def effective_sizes(self, parts: Sequence[Part]) -> Ints:
        """Number of items of each group that are left: all of them, or those of a sample."""
        self._sort()
        sizes = self._sizes
        for needed in parts:
            store, copies = self._stored(needed)
            if isinstance(store, RatioCells):
                sizes = np.minimum(sizes, np.maximum(store.sample_sizes() // copies, 1))
        return sizes

    def reduced(self, parts: Sequence[Part], groups: slice, variant: int = 0) -> Reduced:
        """Values of the statistics that a method needs."""
        self._sort()
        values: list[Any] = []
        for needed in parts:
            store, copies = self._stored(needed)
            if isinstance(store, Sums):
                values.append(store.means(groups, copies * self._sizes[groups]))
            else:
                values.append(store.weighted_rows(groups, variant, copies))
        return values

    def to_frame(self) -> pl.DataFrame:
        """Table with the columns group and items, one row per group."""
        self._sort()
        return pl.DataFrame({"group": self._names.column, "items": self._sizes})

    def to_table(self) -> Table:
        """Table that `print` shows, with the first groups."""
        self._sort()
        names = self._names.column.head(_MOST_SHOWN).to_list()
        rows = [
            ["all" if name is None else str(name), f"{size:,}"]
            for name, size in zip(names, self._sizes, strict=False)
        ]
        if len(self._names) > _MOST_SHOWN:
            further = self._sizes[_MOST_SHOWN:]
            rows.append([f"{len(further):,} more", f"{int(further.sum()):,}"])
        return Table.of(["group", "items"], rows)

    def _title(self) -> str:
        plural = "" if len(self._names) == 1 else "s"
        return f"Statistics of {self.n:,} items in {len(self._names):,} group{plural}"

    def __repr__(self) -> str:
        if self._form is None:
            return "Statistics without items"
        return f"{self._title()}\n{self.to_table().to_text(ruled=False)}"

    def _repr_html_(self) -> str:
        return html_result(self._title(), [self.to_table()], ())

    @_one_at_a_time
    def _add(self, reduced: ReducedBatch) -> None:
        form, numbered, sizes, (deltas, copies) = reduced
        self._check_form(form)
        self._check_copies(copies)
        names, numbers = self._names.find(numbered.names)
        stores = {
            key: self._stores.get(key, empty_store(needed.part))
            for key, needed in self._needed.of_form(form).items()
        }
        check_room(stores, deltas, numbers)
        # Nothing below fails.
        for key, store in stores.items():
            store.add(deltas[key], numbers)
        self._keep(form, names, numbers, sizes, stores, copies)

    def _stored(self, part: Part) -> tuple[Store, int]:
        """Store of a statistic, and the number of rows per item."""
        key = self._needed.key(part)
        if key not in self._stores:
            raise _OTHER_MODEL
        return self._stores[key], self._copies[key]

    def _keep(
        self,
        form: Form,
        names: GroupNames,
        numbers: Ints,
        sizes: Ints,
        stores: dict[str, Store],
        copies: dict[str, int],
    ) -> None:
        grown = np.zeros(len(names), np.int64)
        grown[: len(self._sizes)] = self._sizes
        grown[numbers] += sizes
        self._form, self._names, self._sizes = form, names, grown
        self._stores, self._copies = stores, dict(copies)

    @_one_at_a_time
    def _sort(self) -> None:
        """Number the groups in the order of their names."""
        order = self._names.order()
        if (np.diff(order) > 0).all():
            return
        numbers = np.argsort(order)
        self._stores = {key: store.regrouped(numbers) for key, store in self._stores.items()}
        self._names, self._sizes = self._names.take(order), self._sizes[order]

    def _check_form(self, form: Form) -> None:
        if self._form is not None and form != self._form:
            raise HeadcountError(
                f"The statistics are of {FORM_NAMES[self._form]}, and these are "
                f"{FORM_NAMES[form]}: use one form for all."
            )

    def _check_copies(self, copies: dict[str, int]) -> None:
        for key, number in self._copies.items():
            if copies.get(key, number) != number:
                raise HeadcountError(
                    "Items were scored by another number of classifiers than before: pass all "
                    "items in the same form."
                )


_OTHER_MODEL = HeadcountError(
    "The statistics were made with another model: pass the one that they were made with, or "
    "make them again."
)


def summarise_batches(
    model: Any, batches: Any, *, by: str | None = None, reader: BatchReader | None = None
) -> Statistics:
    """Statistics of the rows of record batches.

    It depends on its arguments alone, so that any part of a table can be read anywhere, and
    the results merged.

    >>> import polars as pl
    >>> import headcount as hc
    >>> from headcount.estimates.statistics import summarise_batches
    >>> q = hc.SLD().fit(hc.Scored([0.1, 0.3, 0.8, 0.9]), ["ham", "ham", "spam", "spam"])
    >>> table = pl.DataFrame({"spam": [0.2, 0.6, 0.7], "day": ["Mon", "Tue", "Mon"]})
    >>> summarise_batches(q, [table[:2], table[2:]], by="day")
    Statistics of 3 items in 2 groups
    group  items
    Mon        2
    Tue        1
    """
    return Statistics(model).update_stream(batches, by=by, reader=reader)
