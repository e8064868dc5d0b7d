"""Checks of the items and labels of the classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from headcount._support.arrays import Array, Ints
from headcount._support.execution import base_seeds
from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels


def check_items(
    estimator: Any, X: Any, y: ArrayLike, *, accept_sparse: str | bool = "csr"
) -> tuple[Any, Array, Ints]:
    """Return the items as numbers, the classes, and the codes of the labels."""
    if not accept_sparse:
        refuse_sparse(estimator, X)
    # In C order for every container, so that sums are equal to the last bit.
    X, y = validate_data(
        estimator, X, y, accept_sparse=accept_sparse, dtype=np.float64, order="C"
    )
    classes, codes = encode_labels(y)
    check_classification_targets(y)
    if len(classes) == 1:  # scikit-learn's checks look for "one class"
        raise HeadcountError(
            f"y has only one class, {classes.tolist()[0]!r}, but at least two are needed: add "
            "labelled items of the others."
        )
    return X, classes, codes


def refuse_sparse(estimator: Any, X: Any) -> None:
    """Reject a sparse matrix."""
    if issparse(X):
        raise HeadcountError(
            f"X is sparse, but {type(estimator).__name__} takes dense items: pass X.toarray()."
        )


def seeds_of(random_state: Any, n: int) -> Ints:
    """Return n seeds below 2^31 from any random state of numpy or scikit-learn."""
    seeds = np.array(base_seeds(random_state, n), dtype=np.uint64)
    return (seeds >> np.uint64(33)).astype(np.int64)
