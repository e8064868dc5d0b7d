"""Checks of what the classifiers are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from headcount.data import encode_labels
from headcount.errors import HeadcountError
from headcount.sampling._streams import base_seeds

__all__ = ["check_items", "refuse_sparse", "seeds_of"]


def check_items(
    estimator: Any, X: Any, y: ArrayLike, *, accept_sparse: str | bool = "csr"
) -> tuple[Any, NDArray[Any], NDArray[np.int64]]:
    """Items as numbers, their classes, and their labels as positions among these."""
    if not accept_sparse:
        refuse_sparse(estimator, X)
    # In one order in memory, whatever the container: sums are then the same to the last bit.
    X, y = validate_data(
        estimator, X, y, accept_sparse=accept_sparse, dtype=np.float64, order="C"
    )
    classes, codes = encode_labels(y)
    check_classification_targets(y)
    if len(classes) == 1:
        raise HeadcountError(
            f"y has one class only, {classes.tolist()[0]!r}, but at least two are needed: "
            "add labelled items of the others."
        )
    return X, classes, codes


def refuse_sparse(estimator: Any, X: Any) -> None:
    """Refuse a sparse matrix."""
    if issparse(X):
        raise HeadcountError(
            f"X is sparse, but {type(estimator).__name__} takes dense items: pass X.toarray()."
        )


def seeds_of(random_state: Any, n: int) -> NDArray[np.int64]:
    """Numbers below 2^31 from anything that numpy or scikit-learn draws with."""
    seeds = np.array(base_seeds(random_state, n), dtype=np.uint64)
    return (seeds >> np.uint64(33)).astype(np.int64)
