"""Inputs of QuAcc's quantifiers: features of items, posteriors and confidences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from headcount.accuracy.model_outputs import ModelOutputs
from headcount.data.columns import as_narwhals
from headcount.errors import HeadcountError

__all__ = ["CellInputs", "confidences", "features_of", "inputs"]

# Posteriors of exactly 0 have no logarithm.
_LEAST_POSTERIOR = 1e-6


@dataclass(frozen=True, eq=False)
class CellInputs:
    """Inputs of quantifiers, from the outputs of a classifier.

    Attributes
    ----------
    classifier : classifier or None
        The classifier; of a pipeline, the features are the input of the last step.
    covariates : bool
        True to add three measures of confidence.
    """

    classifier: Any
    covariates: bool

    def of(self, outputs: ModelOutputs) -> Any:
        """Features, if they are known, posteriors and confidences, side by side."""
        X = None if outputs.X is None else features_of(outputs.X, self.classifier)
        return inputs(X, outputs.posteriors, covariates=self.covariates)


def confidences(posteriors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Three measures of confidence, one column each.

    Parameters
    ----------
    posteriors : ndarray of shape (n, K)
        Posteriors of the classifier.

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
        Features of the items; None if they are unknown.
    posteriors : ndarray of shape (n, K)
        Posteriors of the classifier.
    covariates : bool
        True to add the confidences.

    Returns
    -------
    ndarray or CSR matrix of shape (n, d)
        Sparse if `X` is.
    """
    parts = [posteriors[:, 1:]]
    if covariates:
        parts.append(confidences(posteriors))
    columns = np.hstack(parts)
    if X is None:
        return columns
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_matrix(columns)], format="csr")
    return np.hstack([X, columns])


def features_of(X: Any, model: Any = None) -> Any:
    """Items as numbers; with a pipeline, the input of its last step.

    Parameters
    ----------
    X : array, sparse matrix, frame, or sequence of texts
        Items, checked.
    model : classifier, default=None
        The classifier of the items.

    Returns
    -------
    ndarray or CSR matrix
    """
    inside = model.estimator if isinstance(model, FrozenEstimator) else model
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
            "X is not a table of numbers, which the method computes with: use a pipeline as "
            "the classifier (the input of its last step is taken), or encode X."
        )
    return numbers
