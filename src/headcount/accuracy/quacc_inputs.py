"""What QuAcc's own classifiers see of an item: its features, and what the model said of it."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from headcount.data.columns import as_narwhals
from headcount.errors import HeadcountError

__all__ = ["confidences", "features_of", "inputs"]

# Posteriors of exactly 0 have no logarithm.
_LEAST_POSTERIOR = 1e-6


def confidences(posteriors: NDArray[np.float64]) -> NDArray[np.float64]:
    """How sure the model is, in three ways, one column each.

    Parameters
    ----------
    posteriors : ndarray of shape (n, K)
        What the model said.

    Returns
    -------
    ndarray of shape (n, 3)
        Maximum confidence (MC), negative entropy (NE) and maximum inverse softmax (MIS).
    """
    logs = np.log(np.maximum(posteriors, _LEAST_POSTERIOR))
    entropy = (posteriors * logs).sum(axis=1)
    inverse_softmax = logs.max(axis=1) - logs.mean(axis=1)
    return np.column_stack([posteriors.max(axis=1), entropy, inverse_softmax])


def inputs(X: Any, posteriors: NDArray[np.float64], *, covariates: bool) -> Any:
    """Features, posteriors of all classes but the first, and confidences, side by side.

    Parameters
    ----------
    X : ndarray, CSR matrix or array, or None
        Features of the items; None for items of which only the scores are known.
    posteriors : ndarray of shape (n, K)
        What the model said of them.
    covariates : bool
        Whether to add the confidences.

    Returns
    -------
    ndarray or CSR matrix of shape (n, d)
        Sparse if `X` is.
    """
    said = [posteriors[:, 1:]]
    if covariates:
        said.append(confidences(posteriors))
    columns = np.hstack(said)
    if X is None:
        return columns
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_matrix(columns)], format="csr")
    return np.hstack([X, columns])


def features_of(X: Any, model: Any = None) -> Any:
    """Items as numbers: what the last step of a pipeline gets, or numbers from the outset.

    Parameters
    ----------
    X : array, sparse matrix, frame, or sequence of texts
        Items, checked.
    model : classifier, default=None
        The model that takes them.

    Returns
    -------
    ndarray or CSR matrix
    """
    inside = getattr(model, "estimator", model)  # that of a FrozenEstimator
    if isinstance(inside, Pipeline) and len(inside) > 1:
        X = inside[:-1].transform(X)
    if sparse.issparse(X):
        return X.tocsr()
    known = as_narwhals(X, "X")
    if isinstance(known, nw.DataFrame):
        X = known.to_numpy()
    numbers = np.asarray(X)
    if numbers.ndim != 2 or numbers.dtype.kind not in "biuf":
        raise HeadcountError(
            "QuAcc puts the scores beside the features, so these must be numbers: pass a "
            "model that is a pipeline (its last step's input is taken), or encode X first."
        )
    return numbers
