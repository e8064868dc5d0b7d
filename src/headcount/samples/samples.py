"""Samples of a pool, stored as index arrays and never as copies of the pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._kernels.accumulation import count_codes
from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import each_range
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels

_TOLERANCE = 1e-6


def check_integers(values: Any, name: str, *, advice: str) -> NDArray[np.integer[Any]]:
    """Return ``values`` as a 1-D array of integers of any width."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise HeadcountError(f"{name} is ragged: {advice}.") from None
    if array.ndim != 1:
        raise HeadcountError(
            f"{name} has {array.ndim} dimension(s), but must have 1: {advice}."
        )
    if not array.size:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise HeadcountError(f"{name} holds {array.dtype} values, not whole numbers: {advice}.")
    # Next to an int64 array numpy would turn uint64 into floats.
    return array.astype(np.int64) if array.dtype == np.uint64 else array


def check_offsets(offsets: Any, n_indices: int) -> Ints:
    """Return a copy of ``offsets`` that divides ``n_indices`` indices into samples."""
    advice = "pass the start of each sample in indices, and the end of the last one"
    bounds = check_integers(offsets, "offsets", advice=advice).astype(np.int64)
    if len(bounds) < 2:
        raise HeadcountError("samples is empty: pass at least one sample.")
    if bounds[0] != 0:
        raise HeadcountError(f"offsets starts at {bounds[0]}, but must start at 0: {advice}.")
    sizes = np.diff(bounds)
    if (sizes < 0).any():
        number = int((sizes < 0).argmax())
        raise HeadcountError(
            f"offsets decreases from {bounds[number]} to {bounds[number + 1]} after entry "
            f"{number}, but must not decrease: {advice}."
        )
    if bounds[-1] != n_indices:
        raise HeadcountError(
            f"offsets ends at {bounds[-1]}, but there are {n_indices} indices: {advice}."
        )
    if (sizes == 0).any():
        raise HeadcountError(
            f"sample {int((sizes == 0).argmax())} is empty, but a sample must have an item: "
            "remove empty samples."
        )
    return bounds


def check_within(indices: NDArray[np.integer[Any]], offsets: Ints, n_pool: int) -> None:
    """Refuse indices outside the pool."""
    if indices.min() >= 0 and indices.max() < n_pool:
        return
    position = int(((indices < 0) | (indices >= n_pool)).argmax())
    number = int(np.searchsorted(offsets, position, side="right")) - 1
    raise HeadcountError(
        f"sample {number} has index {indices[position]}, but the pool has {n_pool:,} items: "
        f"indices must be from 0 to {n_pool - 1}."
    )


def check_codes(codes: Any, n_codes: int) -> NDArray[np.integer[Any]]:
    """Return ``codes`` as an array of integers from 0 to ``n_codes - 1``."""
    n_codes = check_count("n_codes", n_codes)
    integers = check_integers(codes, "codes", advice="pass one code per item")
    if not len(integers):
        raise HeadcountError("codes is empty: pass one code per item.")
    if integers.min() < 0 or integers.max() >= n_codes:
        raise HeadcountError(
            f"codes has values from {integers.min()} to {integers.max()}, but must be from 0 "
            f"to {n_codes - 1}: encode the labels first."
        )
    return integers


def check_prevalence(
    prevalence: ArrayLike | None, classes: ArrayLike | None, n_samples: int
) -> tuple[Floats | None, Array | None]:
    """Return copies of the shares and the classes, with shapes that agree."""
    names = None if classes is None else np.array(classes)
    if names is not None and names.ndim != 1:
        raise HeadcountError(
            f"classes has {names.ndim} dimension(s), but must have 1: pass one class per "
            "column of prevalence."
        )
    if prevalence is None:
        return None, names
    shares = check_share_rows(prevalence, name="prevalence")
    n_classes = shares.shape[1] if names is None else len(names)
    if shares.shape != (n_samples, n_classes):
        raise HeadcountError(
            f"prevalence has shape {shares.shape}, but there are {n_samples} samples and "
            f"{n_classes} classes: pass one row per sample and one column per class."
        )
    return shares, names


def check_share_rows(shares: Any, *, name: str) -> Floats:
    """Return ``shares`` as a new (S, K) array with rows that sum to 1."""
    try:
        rows = np.array(shares, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise HeadcountError(
            f"{name} cannot be read as an array of numbers: pass one row per sample and one "
            "column per class."
        ) from None
    if rows.ndim != 2:
        raise HeadcountError(
            f"{name} has {rows.ndim} dimension(s), but must have 2: pass one row per sample "
            "and one column per class."
        )
    if not rows.shape[1]:
        raise HeadcountError(f"{name} has no columns: pass one column per class.")
    with np.errstate(invalid="ignore"):  # The sum of infinities of both signs.
        least, total = rows.min(axis=1), rows.sum(axis=1)
        right = (least >= -_TOLERANCE) & (np.abs(total - 1) <= _TOLERANCE)
    if not right.all():
        row = int(right.argmin())
        raise HeadcountError(
            f"{name} is off the simplex in row {row}, whose least entry is {least[row]:g} and "
            f"whose sum is {total[row]:g}: pass shares of at least 0 that sum to 1."
        )
    np.maximum(rows, 0, out=rows)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


# Items that justify another thread.
_GRAIN_ITEMS = 1 << 16
_NO_WEIGHTS = np.empty(0)
_INDEX_ADVICE = "pass the positions of items in the pool; for a mask, np.flatnonzero(mask)"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Samples:
    """Samples of one pool, as positions of its items.

    Sample ``i`` is ``indices[offsets[i]:offsets[i + 1]]``. An item may be in several samples,
    and several times in one sample. The arrays are checked once, when the object is created,
    and are read-only. Slices share their memory.

    Parameters
    ----------
    indices : array-like of int
        Positions of items in the pool, one sample after the other.
    offsets : array-like of int of shape (S + 1,)
        Start of each sample in ``indices``, and the end of the last one.
    n_pool : int
        Number of items in the pool.
    prevalence : array-like of shape (S, K), optional
        True shares of the classes in each sample.
    classes : array-like of shape (K,), optional
        Classes, in the order of the columns of ``prevalence``.

    Attributes
    ----------
    indices : ndarray of int32, or of int64 if the pool has 2**31 items or more
    offsets : ndarray of int64
    n_pool : int
    prevalence : ndarray of float64 of shape (S, K), or None
    classes : ndarray of shape (K,), or None
    copies : int
        Number of rows of the pool per item. Above 1 in samples made by `over`.

    Raises
    ------
    HeadcountError
        If an index lies outside the pool, a sample is empty, or the shapes disagree.

    Examples
    --------
    >>> from headcount.samples import Samples
    >>> samples = Samples([4, 0, 1, 1, 3], [0, 2, 5], n_pool=6)
    >>> samples
    Samples(2 samples of 2 to 3 items, from a pool of 6)
    >>> samples[1]
    array([1, 1, 3], dtype=int32)
    >>> samples[[1, 0]].sizes
    array([3, 2])
    """

    indices: NDArray[np.integer[Any]]
    offsets: Ints
    n_pool: int
    prevalence: Floats | None
    classes: Array | None
    copies: int

    def __init__(
        self,
        indices: ArrayLike,
        offsets: ArrayLike,
        *,
        n_pool: int,
        prevalence: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        n_pool = check_count("n_pool", n_pool)
        integers = check_integers(indices, "indices", advice=_INDEX_ADVICE)
        bounds = check_offsets(offsets, len(integers))
        check_within(integers, bounds, n_pool)
        shares, names = check_prevalence(prevalence, classes, len(bounds) - 1)
        # Copies, so that the checked arrays cannot be changed.
        self._store(np.array(integers, index_dtype(n_pool)), bounds, n_pool, shares, names)

    def _store(
        self,
        indices: NDArray[np.integer[Any]],
        offsets: Ints,
        n_pool: int,
        prevalence: Floats | None,
        classes: Array | None,
        copies: int = 1,
    ) -> None:
        for array in (indices, offsets, prevalence, classes):
            if array is not None:
                array.setflags(write=False)
        vars(self).update(
            indices=indices,
            offsets=offsets,
            n_pool=n_pool,
            prevalence=prevalence,
            classes=classes,
            copies=copies,
        )

    @classmethod
    def unchecked(
        cls,
        indices: NDArray[np.integer[Any]],
        offsets: Ints,
        n_pool: int,
        prevalence: Floats | None = None,
        classes: Array | None = None,
        copies: int = 1,
    ) -> Samples:
        """Make samples from arrays known to be valid, without checks or copies."""
        samples = cls.__new__(cls)
        samples._store(indices, offsets, n_pool, prevalence, classes, copies)
        return samples

    @classmethod
    def from_arrays(
        cls, arrays: Iterable[ArrayLike], *, n_pool: int, y: ArrayLike | None = None
    ) -> Samples:
        """Make samples from index arrays, one per sample.

        Parameters
        ----------
        arrays : iterable of array-like of int
            Positions of the items of each sample.
        n_pool : int
            Number of items in the pool.
        y : array-like of shape (n_pool,), optional
            Labels of the pool, from which the true shares of the samples are computed.

        Examples
        --------
        >>> from headcount.samples import Samples
        >>> samples = Samples.from_arrays([[0, 1], [1, 2, 3, 3]], n_pool=4, y=list("abbb"))
        >>> samples.prevalence
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        checked = [
            check_integers(array, f"sample {number}", advice=_INDEX_ADVICE)
            for number, array in enumerate(arrays)
        ]
        offsets = np.cumsum([0, *map(len, checked)], dtype=np.int64)
        indices = np.concatenate(checked) if checked else np.empty(0, np.int64)
        samples = cls(indices, offsets, n_pool=n_pool)
        if y is None:
            return samples
        classes, codes = encode_labels(y, name="y")
        prevalence = samples.prevalence_of(codes, len(classes))
        return cls.unchecked(
            samples.indices, samples.offsets, samples.n_pool, prevalence, classes
        )

    @classmethod
    def whole(cls, n: int) -> Samples:
        """Make one sample of all ``n`` items of a pool, in order.

        Examples
        --------
        >>> from headcount.samples import Samples
        >>> Samples.whole(3)[0]
        array([0, 1, 2], dtype=int32)
        """
        n = check_count("n", n)
        return cls.unchecked(np.arange(n, dtype=index_dtype(n)), np.array([0, n]), n)

    @classmethod
    def by_code(cls, codes: ArrayLike, n_codes: int) -> Samples:
        """Make one sample per code: sample ``j`` has the items with code ``j``, in order.

        Parameters
        ----------
        codes : array-like of int of shape (n_pool,)
            Class, group or fold of each item, from 0 to ``n_codes - 1``. Every code must
            occur.
        n_codes : int
            Number of codes, and of samples.

        Examples
        --------
        >>> from headcount.samples import Samples
        >>> list(Samples.by_code([1, 0, 1], 2))
        [array([1], dtype=int32), array([0, 2], dtype=int32)]
        """
        items, offsets = sort_by_code(check_codes(codes, n_codes), n_codes)
        return cls.unchecked(items, check_offsets(offsets, len(items)), len(items))

    @property
    def sizes(self) -> Ints:
        """Number of rows in each sample."""
        return np.diff(self.offsets)

    @property
    def n_items(self) -> Ints:
        """Number of items in each sample. An item may have several rows."""
        return self.sizes // self.copies

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.integer[Any]]]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> NDArray[np.integer[Any]]: ...

    @overload
    def __getitem__(self, key: slice | Sequence[int] | Array) -> Samples: ...

    def __getitem__(self, key: Any) -> NDArray[np.integer[Any]] | Samples:
        if isinstance(key, int | np.integer):
            if not -len(self) <= key < len(self):
                raise IndexError(f"there is no sample {key}: there are {len(self):,}.")
            number = int(key) % len(self)
            return self.indices[self.offsets[number] : self.offsets[number + 1]]
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._between(start, max(start, stop))
        return self._pick(np.arange(len(self))[key])

    def _between(self, start: int, stop: int) -> Samples:
        offsets = self.offsets[start : stop + 1]
        return self.unchecked(
            self.indices[offsets[0] : offsets[-1]],
            offsets - offsets[0],
            self.n_pool,
            None if self.prevalence is None else self.prevalence[start:stop],
            self.classes,
            self.copies,
        )

    def _pick(self, numbers: Ints) -> Samples:
        sizes = self.sizes[numbers]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        shifts = self.offsets[numbers] - offsets[:-1]
        return self.unchecked(
            self.indices[np.arange(offsets[-1]) + np.repeat(shifts, sizes)],
            offsets,
            self.n_pool,
            None if self.prevalence is None else self.prevalence[numbers],
            self.classes,
            self.copies,
        )

    def chunks(self, max_items: int) -> Iterator[Samples]:
        """Split into chunks of consecutive samples with a limited number of items.

        Parameters
        ----------
        max_items : int
            Largest number of items in a chunk. A larger sample gets a chunk of its own.

        Examples
        --------
        >>> from headcount.samples import Samples
        >>> samples = Samples.from_arrays([[0, 1], [2], [0, 1, 2]], n_pool=3)
        >>> [len(chunk) for chunk in samples.chunks(3)]
        [2, 1]
        """
        return self._chunks(check_count("max_items", max_items))

    def _chunks(self, max_items: int) -> Iterator[Samples]:
        start = 0
        while start < len(self):
            limit = self.offsets[start] + max_items
            stop = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            stop = max(stop, start + 1)
            yield self._between(start, stop)
            start = stop

    def over(self, n_rows: int) -> Samples:
        """Return the same samples of a pool whose items are repeated, block after block.

        Parameters
        ----------
        n_rows : int
            Number of rows of the repeated pool, a multiple of ``n_pool``. Item i is in the
            rows i, i + n_pool, i + 2 n_pool and so on. A sample has all copies of its items.

        Examples
        --------
        >>> from headcount.samples import Samples
        >>> Samples.from_arrays([[0, 2], [1]], n_pool=3).over(6)[0]
        array([0, 2, 3, 5], dtype=int32)
        """
        copies, remainder = divmod(n_rows, self.n_pool)
        if remainder:
            raise HeadcountError(
                f"n_rows is {n_rows:,}, but must be a multiple of the {self.n_pool:,} items of "
                "the pool."
            )
        if copies == 1:
            return self
        indices = np.empty(copies * len(self.indices), index_dtype(n_rows))
        places = np.arange(len(self.indices))
        places += np.repeat(self.offsets[:-1] * (copies - 1), self.sizes)
        steps = np.repeat(self.sizes, self.sizes)
        for copy in range(copies):
            indices[places + copy * steps] = self.indices + copy * self.n_pool
        return self.unchecked(
            indices,
            self.offsets * copies,
            n_rows,
            self.prevalence,
            self.classes,
            self.copies * copies,
        )

    def within(self, items: NDArray[np.integer[Any]]) -> Samples:
        """Return the same samples as rows of a part of the pool.

        Parameters
        ----------
        items : ndarray of int
            Rows of the pool, sorted, among them all rows of the samples.

        Examples
        --------
        >>> import numpy as np
        >>> from headcount.samples import Samples
        >>> Samples.from_arrays([[4, 7]], n_pool=9).within(np.array([2, 4, 7]))[0]
        array([1, 2], dtype=int32)
        """
        return Samples(
            np.searchsorted(items, self.indices),
            self.offsets,
            n_pool=len(items),
            prevalence=self.prevalence,
            classes=self.classes,
        )

    def prevalence_of(self, codes: ArrayLike, n_codes: int) -> Floats:
        """Compute the share of each code in each sample.

        Parameters
        ----------
        codes : array-like of int of shape (n_pool,)
            Code of each item of the pool, from 0 to ``n_codes - 1``.
        n_codes : int
            Number of codes.

        Returns
        -------
        ndarray of shape (S, n_codes)

        Examples
        --------
        >>> from headcount.samples import Samples
        >>> Samples.from_arrays([[0, 1, 2, 3], [2]], n_pool=4).prevalence_of([0, 1, 1, 1], 2)
        array([[0.25, 0.75],
               [0.  , 1.  ]])
        """
        item_codes = check_codes(codes, n_codes)
        if len(item_codes) != self.n_pool:
            raise HeadcountError(
                f"{len(item_codes):,} labels were given, but the samples are of a pool of "
                f"{self.n_pool:,} items: pass one label per item of that pool."
            )
        channel, shares = item_codes.astype(np.int32)[:, None], np.empty((len(self), n_codes))

        def work(start: int, stop: int) -> None:
            count_codes(channel, _NO_WEIGHTS, self.indices, self.offsets, start, stop, shares)

        mean_size = self.offsets[-1] // max(1, len(self))
        each_range(work, len(self), grain=1 + _GRAIN_ITEMS // (1 + int(mean_size)))
        return shares

    def __reduce__(self) -> tuple[Any, ...]:
        # Through our own constructor, because pickled arrays are restored as writeable.
        return Samples.unchecked, tuple(vars(self).values())

    def __repr__(self) -> str:
        text = f"{len(self):,} sample{'' if len(self) == 1 else 's'}"
        if len(self):
            least, most = int(self.sizes.min()), int(self.sizes.max())
            text += f" of {least:,}" + (f" to {most:,}" if most > least else "")
            text += " items" if most > 1 else " item"
        text += f", from a pool of {self.n_pool:,}"
        if self.prevalence is not None:
            text += f", {self.prevalence.shape[1]} classes"
        return f"Samples({text})"


def as_samples(samples: Samples | Iterable[ArrayLike], n_pool: int) -> Samples:
    """Return samples unchanged, or make them from index arrays, for a pool of ``n_pool`` items.

    Parameters
    ----------
    samples : Samples or iterable of array-like of int
        Samples of the pool.
    n_pool : int
        Number of items in the pool.

    Raises
    ------
    HeadcountError
        If the samples belong to a pool of another size, or are not valid samples.

    Examples
    --------
    >>> from headcount.samples import as_samples
    >>> as_samples([[0, 1, 2], [2, 2]], n_pool=3)
    Samples(2 samples of 2 to 3 items, from a pool of 3)
    """
    if not isinstance(samples, Samples):
        if isinstance(samples, str | bytes) or not isinstance(samples, Iterable):
            raise HeadcountError(
                f"samples is of type {type(samples).__name__}; pass Samples, or a list of "
                "index arrays, one per sample."
            )
        return Samples.from_arrays(samples, n_pool=n_pool)
    if samples.n_pool != n_pool:
        raise HeadcountError(
            f"samples are of a pool of {samples.n_pool:,} items, but this pool has "
            f"{n_pool:,}: draw them from the labels of this pool."
        )
    return samples


def index_dtype(n_pool: int) -> np.dtype[Any]:
    """Narrowest integer type for the positions of a pool."""
    return np.dtype(np.int32) if n_pool < 2**31 else np.dtype(np.int64)


def sort_by_code(
    codes: NDArray[np.integer[Any]], n_codes: int
) -> tuple[NDArray[np.integer[Any]], Ints]:
    """Return the items sorted by code, in order, and the start of each code."""
    # Integers of sixteen bits are sorted in linear time.
    narrow = codes.astype(np.int16) if n_codes < 2**15 else codes
    items = np.argsort(narrow, kind="stable").astype(index_dtype(len(codes)))
    offsets = np.zeros(n_codes + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=n_codes), out=offsets[1:])
    return items, offsets
