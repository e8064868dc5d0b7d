"""The folds of cross-fitting: every row is scored once, by a model that never saw it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from headcount.errors import HeadcountError, warn

__all__ = ["Fold", "check_cv", "make_folds"]

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def check_cv(cv: Any) -> None:
    """Refuse what is neither a number of folds nor a splitter."""
    is_number = isinstance(cv, int | np.integer) and cv >= 2
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str | bytes | type)
    if not (is_number or is_splitter):
        raise HeadcountError(
            f"cv is {cv!r}, but must be a number of folds of at least 2, or a scikit-learn "
            "splitter: pass for instance cv=5."
        )


def make_folds(
    cv: Any, X: Any, codes: NDArray[np.int64], classes: NDArray[Any], random_state: Any
) -> list[Fold] | None:
    """Split the rows into (train, test) folds; ``None`` if a class is too small to split.

    Parameters
    ----------
    cv : int or splitter
        The number of stratified, shuffled folds, or an object with ``split``; checked by
        :func:`check_cv`.
    X : features
        Handed to a splitter.
    codes : ndarray of shape (n,)
        Class codes of the rows.
    classes : ndarray of shape (K,)
        The classes, each with at least one row.
    random_state : int, RandomState, Generator or None
        Shuffles the rows of stratified folds.

    Returns
    -------
    list of (train, test) index arrays, or None
        Every row is in one test fold, and every class in every training fold.
    """
    if isinstance(cv, int | np.integer):
        return _stratified(int(cv), codes, classes, random_state)
    folds = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(X, classes[codes])]
    _check_tested_once(folds, len(codes))
    _check_all_classes(folds, codes, classes)
    return folds


def _stratified(
    n_folds: int, codes: NDArray[np.int64], classes: NDArray[Any], random_state: Any
) -> list[Fold] | None:
    counts = np.bincount(codes, minlength=len(classes))
    smallest = int(counts.min())
    label = classes.tolist()[counts.argmin()]
    if smallest == 1:
        warn(
            f"class {label!r} has a single item, which cannot be cross-fitted: in-sample "
            "scores are used, and they look better than scores of new items; label more."
        )
        return None
    if smallest < n_folds:
        warn(
            f"class {label!r} has {smallest} items, too few for cv={n_folds}: {smallest} "
            "folds are used."
        )
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**32))
    elif isinstance(random_state, int | np.integer):
        random_state = int(random_state) % 2**32  # as much as scikit-learn takes
    splitter = StratifiedKFold(min(smallest, n_folds), shuffle=True, random_state=random_state)
    return list(splitter.split(codes, codes))


def _check_tested_once(folds: list[Fold], n_rows: int) -> None:
    tested = np.concatenate([test for _, test in folds])
    times = np.bincount(tested, minlength=n_rows)
    wrong = int((times != 1).sum())
    if wrong:
        raise HeadcountError(
            f"cv must put every row into exactly one test fold, but {wrong:,} of {n_rows:,} "
            f"rows are in none or in several (row {int((times != 1).argmax())} first): use a "
            "splitter such as KFold or StratifiedKFold."
        )


def _check_all_classes(
    folds: list[Fold], codes: NDArray[np.int64], classes: NDArray[Any]
) -> None:
    for number, (train, _) in enumerate(folds):
        counts = np.bincount(codes[train], minlength=len(classes))
        if not counts.all():
            raise HeadcountError(
                f"cv leaves class {classes.tolist()[counts.argmin()]!r} out of training fold "
                f"{number}: use a stratified splitter, or fewer folds."
            )
