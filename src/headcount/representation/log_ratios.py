"""Scores as log-ratios, in which distances are those of Aitchison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.representation.embedding import Embedding
from headcount.representation.training import Training

# Added to every share, so that zeros have a logarithm.
_LEAST = 1e-12


def log_ratios(shares: NDArray[np.float64], shrinkage: float = 0.0) -> NDArray[np.float64]:
    """Centred log-ratios: logarithms of the shares minus their mean.

    Distances between them are Aitchison's, as are those between isometric log-ratios.

    Parameters
    ----------
    shares : ndarray of shape (n, K)
        Rows that sum to 1.
    shrinkage : float, default=0.0
        Move each row towards equal shares by this part of the way first, so that small shares
        have less weight.

    Returns
    -------
    ndarray of shape (n, K)
        Rows that sum to 0.

    Examples
    --------
    >>> import numpy as np
    >>> log_ratios(np.array([[0.5, 0.5], [0.1, 0.9]])).round(2) + 0.0
    array([[ 0. ,  0. ], [-1.1,  1.1]])
    """
    K = shares.shape[1]
    least = (1 - shrinkage) * _LEAST + shrinkage * (1 + K * _LEAST) / K
    logs = np.log((1 - shrinkage) * shares + least)
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def largest_log_ratio(n_classes: int, shrinkage: float) -> float:
    """Largest absolute value that `log_ratios` returns."""
    certain = np.zeros((1, n_classes))
    certain[0, 0] = 1.0
    return float(np.abs(log_ratios(certain, shrinkage)).max())


@dataclass(frozen=True, eq=False)
class InLogRatios:
    """A representation, or a likelihood, of log-ratios of the scores.

    Parameters
    ----------
    inner : representation or likelihood
        Takes the log-ratios as items.
    shrinkage : float
        As for `log_ratios`.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.representation import KernelMeans
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> near = InLogRatios(KernelMeans(1.0), 0.0).fit(Training(scores, np.array([0, 1]), 2))
    >>> near.embed(scores).values.round(3)
    array([[1.  , 0.04], [0.04, 1.  ]])
    """

    inner: Any
    shrinkage: float

    @property
    def smooth(self) -> bool:
        """True for a likelihood that is a smooth function of its items."""
        return bool(self.inner.smooth)

    def fit(self, training: Training) -> InLogRatios:
        """Fit the inner part on the log-ratios of the training scores."""
        items = self._of(np.asarray(training.items))
        return replace(self, inner=self.inner.fit(replace(training, items=items)))

    def embed(self, items: NDArray[np.float64]) -> Embedding:
        """Embed items given as posteriors."""
        embedding: Embedding = self.inner.embed(self._of(items))
        return embedding

    def ratios(self, items: NDArray[np.float64]) -> NDArray[np.float64]:
        """Likelihood of each item under each class, each row up to its own factor."""
        return np.asarray(self.inner.ratios(self._of(items)))

    def _of(self, items: NDArray[np.float64]) -> NDArray[np.float64]:
        return log_ratios(np.asarray(items, dtype=np.float64), self.shrinkage)
