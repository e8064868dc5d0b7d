"""The folds of cross-fitting: every row is scored once, by a model that never saw it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from headcount.errors import HeadcountError, warn

__all__ = ["Fold", "check_cv", "make_folds"]

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def check_cv(cv: Any) -> None:
    """Refuse what is neither a number of folds, nor a splitter, nor a list of splits."""
    is_number = isinstance(cv, int | np.integer) and cv >= 2
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str | bytes | type)
    if not (is_number or is_splitter or _is_list_of_splits(cv)):
        raise HeadcountError(
            f"cv is {cv!r}, but must be a number of folds of at least 2, a scikit-learn "
            "splitter, or a list of pairs of row numbers: pass for instance cv=5."
        )


def _is_list_of_splits(cv: Any) -> bool:
    if not isinstance(cv, list | tuple):
        return False
    return bool(cv) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in cv)


def make_folds(
    cv: Any,
    X: Any,
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    random_state: Any,
    groups: NDArray[Any] | None = None,
) -> list[Fold] | None:
    """Split the rows into (train, test) folds; ``None`` if a class is too small to split.

    Parameters
    ----------
    cv : int, splitter, or list of pairs
        The number of stratified, shuffled folds, an object with ``split``, or row numbers of
        training and test folds; checked by :func:`check_cv`.
    X : features
        Handed to a splitter.
    codes : ndarray of shape (n,)
        Class codes of the rows.
    classes : ndarray of shape (K,)
        The classes, each with at least one row.
    random_state : int, RandomState, Generator or None
        Shuffles the rows of stratified folds.
    groups : ndarray of shape (n,), default=None
        Groups, handed to a splitter. Stratified folds do not divide them.

    Returns
    -------
    list of (train, test) index arrays, or None
        Every row is in one test fold, and every class in every training fold.
    """
    if isinstance(cv, int | np.integer):
        if groups is None:
            return _stratified(int(cv), codes, classes, random_state)
        cv = StratifiedGroupKFold(int(cv), shuffle=True, random_state=_seed(random_state))
    pairs = cv if isinstance(cv, list | tuple) else _splits(cv, X, classes[codes], groups)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    _check_rows(folds, len(codes))
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
    seed = _seed(random_state)
    splitter = StratifiedKFold(min(smallest, n_folds), shuffle=True, random_state=seed)
    return list(splitter.split(codes, codes))


def _seed(random_state: Any) -> Any:
    """Seed as scikit-learn takes it."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, int | np.integer):
        return int(random_state) % 2**32
    return random_state


def _splits(cv: Any, X: Any, y: NDArray[Any], groups: NDArray[Any] | None) -> list[Any]:
    try:
        return list(cv.split(X, y) if groups is None else cv.split(X, y, groups))
    except ValueError as error:  # what scikit-learn raises, such as for missing groups
        advice = "" if groups is not None else ", or pass groups to fit if it needs them"
        raise HeadcountError(
            f"cv cannot split the items ({error}): choose another{advice}."
        ) from None


def _check_rows(folds: list[Fold], n_rows: int) -> None:
    for part in (part for fold in folds for part in fold):
        if part.ndim != 1 or part.dtype.kind not in "iu" or not len(part):
            raise HeadcountError(
                "cv has a fold that is not a list of row numbers: pass pairs of arrays of row "
                "numbers, neither of them empty."
            )
        if part.min() < 0 or part.max() >= n_rows:
            raise HeadcountError(
                f"cv has the row number {part.max() if part.min() >= 0 else part.min()}, but "
                f"there are {n_rows:,} rows: pass splits of these items."
            )


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
