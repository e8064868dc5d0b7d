"""Checks of the arrays that define samples and protocols."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._parameters import check_count
from headcount.errors import HeadcountError

__all__ = [
    "check_codes",
    "check_integers",
    "check_offsets",
    "check_prevalence",
    "check_share_rows",
    "check_within",
]

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


def check_offsets(offsets: Any, n_indices: int) -> NDArray[np.int64]:
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


def check_within(
    indices: NDArray[np.integer[Any]], offsets: NDArray[np.int64], n_pool: int
) -> None:
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
    known = check_integers(codes, "codes", advice="pass one code per item")
    if not len(known):
        raise HeadcountError("codes is empty: pass one code per item.")
    if known.min() < 0 or known.max() >= n_codes:
        raise HeadcountError(
            f"codes has values from {known.min()} to {known.max()}, but must be from 0 to "
            f"{n_codes - 1}: encode the labels first."
        )
    return known


def check_prevalence(
    prevalence: ArrayLike | None, classes: ArrayLike | None, n_samples: int
) -> tuple[NDArray[np.float64] | None, NDArray[Any] | None]:
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


def check_share_rows(shares: Any, *, name: str) -> NDArray[np.float64]:
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
