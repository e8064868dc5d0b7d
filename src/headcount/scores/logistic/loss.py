"""Items by their features, and the loss of logistic regression with its derivatives."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = ["Floats", "Items", "Softmax"]

Floats = NDArray[Any]

# With fewer columns than this, a product of a sparse matrix is as fast in double precision.
_MIN_LIGHT_COLUMNS = 8
# Squares of larger numbers may be too large for single precision.
_MAX_LIGHT = 1e15


@dataclass(frozen=True, eq=False)
class Items:
    """Items by their features, and by a constant if there is an intercept.

    Attributes
    ----------
    matrix : ndarray or CSR matrix of shape (n, d)
        The features. Dense ones are best centred.
    intercept : bool
        Whether there is a constant.
    """

    matrix: Any
    intercept: bool

    @property
    def n_features(self) -> int:
        """Number d of features."""
        return int(self.matrix.shape[1])

    @cached_property
    def _by_column(self) -> Any:
        """The matrix, stored so that products with several columns are fastest."""
        return self.matrix.tocsc() if issparse(self.matrix) else self.matrix

    @cached_property
    def transposed(self) -> Any:
        """Transposed matrix."""
        return self.matrix.T

    @cached_property
    def squares(self) -> Any:
        """Transposed matrix of squares."""
        return (self.matrix.power(2) if issparse(self.matrix) else self.matrix**2).T

    def take(self, rows: NDArray[np.intp]) -> Items:
        """Some of the items."""
        return Items(self.matrix[rows], self.intercept)

    def light(self, n_columns: int) -> Items:
        """Items to multiply with: in single precision, if that is faster."""
        X = self.matrix
        if issparse(X) and n_columns < _MIN_LIGHT_COLUMNS:
            return self
        if max(X.max(), -X.min()) > _MAX_LIGHT:
            return self
        return Items(X.astype(np.float32), self.intercept)

    def outputs(self, weights: Floats) -> Floats:
        """Outputs of shape (rows, n) for weights of shape (rows, p)."""
        d = self.n_features
        if issparse(self.matrix):
            stored = self.matrix if len(weights) == 1 else self._by_column
            found = (stored @ np.ascontiguousarray(weights[:, :d].T)).T
        else:
            found = weights[:, :d] @ self.transposed
        if self.intercept:
            found += weights[:, d:]
        return found

    def totals(self, values: Floats) -> Floats:
        """Sums over the items of shape (rows, p), for values of shape (rows, n)."""
        d = self.n_features
        found = np.empty((len(values), d + self.intercept), values.dtype)
        if issparse(self.matrix):
            found[:, :d] = (self.transposed @ np.ascontiguousarray(values.T)).T
        else:
            np.matmul(values, self.matrix, out=found[:, :d])
        if self.intercept:
            found[:, d] = values.sum(axis=1)
        return found


class Softmax:
    """Posteriors of classes from outputs, and derivatives of the loss.

    Outputs have the shape (..., m, n) and posteriors (..., K, n). For K > 2 classes there are
    m = K - 1 outputs: orthonormal contrasts of the classes, so that the penalty keeps its form
    and intercepts are unique. Of two classes there is one output, and only the posterior of
    the second class.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the items.
    n_classes : int
        Number of classes.
    """

    def __init__(self, codes: NDArray[np.int64], n_classes: int) -> None:
        self.binary = n_classes == 2
        if self.binary:
            self.contrasts = np.ones((1, 1))
            self.target = (codes[None] == 1).astype(np.float64)
        else:
            columns = np.eye(n_classes)
            columns[:, 0] = 1.0
            self.contrasts = np.linalg.qr(columns)[0][:, 1:]
            self.target = np.ascontiguousarray(self.contrasts[codes].T)

    @property
    def n_outputs(self) -> int:
        """Number m of outputs."""
        return self.contrasts.shape[1]

    def take(self, rows: NDArray[np.intp]) -> Softmax:
        """The same for some of the items."""
        part = copy(self)
        part.target = self.target[:, rows]
        return part

    def posteriors(self, outputs: Floats) -> Floats:
        """Posteriors of the classes."""
        if self.binary:
            found = np.tanh(outputs / 2)
            found += 1
            found /= 2
            return found
        found = self.contrasts @ outputs
        found -= found.max(axis=-2, keepdims=True)
        np.exp(found, out=found)
        found /= found.sum(axis=-2, keepdims=True)
        return found

    def residuals(self, posteriors: Floats) -> Floats:
        """Derivative of the loss of each item by its outputs."""
        if self.binary:
            return posteriors - self.target
        return self.contrasts.T @ posteriors - self.target

    def changes(self, posteriors: Floats, outputs: Floats) -> Floats:
        """Change of the residuals, to first order, with a change of the outputs."""
        if self.binary:
            return posteriors * (1 - posteriors) * outputs
        contrasts = self.contrasts.astype(outputs.dtype, copy=False)
        found = contrasts @ outputs
        found *= posteriors
        found -= posteriors * found.sum(axis=-2, keepdims=True)
        return contrasts.T @ found

    def curvature(self, posteriors: Floats, by_class: bool) -> Floats:
        """Second derivatives of the loss by the log-odds of the classes.

        They have the shape (..., K, n) or, averaged over the outputs, (..., 1, n).
        """
        found: Floats = posteriors * (1 - posteriors)
        if not by_class:
            found = found.sum(axis=-2, keepdims=True) / self.n_outputs
        return found
