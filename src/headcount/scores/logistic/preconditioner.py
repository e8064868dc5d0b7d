"""Approximate inverses of Hessians, for conjugate gradients."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import issparse

from headcount.scores.logistic.loss import Floats, Items, Softmax

__all__ = ["Preconditioner"]

# With more features than this, or sparse ones, blocks are diagonal.
_MAX_FACTORED = 1000
# Eigenvalues of the preconditioned Hessian that are corrected, and how many.
_LARGE, _MAX_CORRECTED = 1.5, 6


class Preconditioner:
    """Inverse of the Hessian, but for what connects the classes.

    There is a block of features for each class or, as an approximation, one for all of them.
    Features are centred by the curvature, which separates the intercept from them. The rest of
    a block is inverted by its Cholesky factor, or by its diagonal alone.

    Parameters
    ----------
    items : Items
        The items.
    softmax : Softmax
        Their classes.
    curvature : ndarray of shape (K, n) or (1, n)
        Second derivatives of the loss of each item, times its weight; one row per block.

    Attributes
    ----------
    by_class : bool
        Whether there is a block for each class.
    factored : bool
        Whether blocks have Cholesky factors.
    stale : bool
        Whether a new one would be better. It is set from outside.
    """

    def __init__(self, items: Items, softmax: Softmax, curvature: Floats) -> None:
        X, d = items.matrix, items.n_features
        self.intercept, self.contrasts = items.intercept, softmax.contrasts.astype(X.dtype)
        self.by_class, self.stale = len(curvature) > 1, False
        curvature = curvature.astype(X.dtype)
        self.totals = curvature.sum(axis=1, keepdims=True) + np.finfo(X.dtype).tiny
        self.means = np.zeros((len(curvature), d), X.dtype)
        if self.intercept:
            self.means = items.totals(curvature)[:, :d] / self.totals
        self.factored = not issparse(X) and d <= _MAX_FACTORED
        if self.factored:
            self.factors = [
                _factor(X.T @ (own[:, None] * X) - total * np.outer(means, means))
                for own, total, means in zip(curvature, self.totals, self.means, strict=True)
            ]
        else:
            diagonal = (items.squares @ curvature.T).T - self.totals * self.means**2
            self.inverse = 1 / (1 + np.maximum(diagonal, 0))
        self.vectors: Floats = np.zeros((0, d + self.intercept), X.dtype)
        self.shares: Floats = np.zeros(0, X.dtype)

    def __call__(self, gradients: Floats) -> Floats:
        """Product with gradients of shape (F * m, p)."""
        d = self.means.shape[1]
        given: Floats = gradients[:, None]
        if self.by_class:
            by_output = gradients.reshape(-1, self.contrasts.shape[1], gradients.shape[1])
            given = self.contrasts @ by_output
        found = given.copy()
        rest = found[..., :d]
        if self.intercept:
            rest -= self.means * given[..., d:]
        if self.factored:
            for k, factor in enumerate(self.factors):
                rest[:, k] = dpotrs(factor, rest[:, k].T, lower=True)[0].T
        else:
            rest *= self.inverse
        if self.intercept:
            found[..., d:] /= self.totals
            found[..., d] -= np.einsum("fkd,kd->fk", rest, self.means)
        if self.by_class:
            found = self.contrasts.T @ found
        found = found.reshape(gradients.shape)
        if len(self.shares):
            found -= ((gradients @ self.vectors.T) * self.shares) @ self.vectors
        return found

    def correct(self, basis: Floats, hessian: Floats) -> None:
        """Bring large eigenvalues of the preconditioned Hessian to 1, a few at most.

        Parameters
        ----------
        basis : ndarray of shape (k, p)
            Weights of one model with one output, orthonormal by the inverse of this.
        hessian : ndarray of shape (k, k)
            Products of the Hessian with them.
        """
        values, parts = np.linalg.eigh(hessian)
        chosen = np.flatnonzero(values > _LARGE)[::-1][: _MAX_CORRECTED - len(self.shares)]
        vectors = parts.T[chosen].astype(basis.dtype) @ basis
        self.vectors = np.concatenate([self.vectors, vectors])
        self.shares = np.append(self.shares, 1 - 1 / values[chosen]).astype(basis.dtype)


def _factor(block: Floats) -> Floats:
    """Cholesky factor of a block with the penalty, or more of it for rounding."""
    block = block.astype(np.float64)
    diagonal = block.diagonal().copy()
    for ridge in 10.0 ** np.arange(20):
        np.fill_diagonal(block, diagonal + ridge)
        factor, failed = dpotrf(block, lower=True)
        if not failed:
            return np.asarray(factor)
    raise LinAlgError("a block of the Hessian has no Cholesky factor")
