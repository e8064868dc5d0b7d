"""Prior distributions of the shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prior:
    """Shares that are thought possible before the items of a sample are looked at.

    Attributes
    ----------
    concentration : ndarray of shape (K,) or None
        Parameters of a Dirichlet distribution.
    draws : ndarray of shape (M, K) or None
        Shares to choose from, each as likely as any other. Without either, a mixture: half
        of the draws are uniform on the simplex, a quarter are near its edges
        (Dirichlet(0.3)), and a quarter are near the training shares
        (Dirichlet(10 x shares + 0.05)).

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.array([0.2, 0.8])
    >>> Prior(np.array([400.0, 600.0])).draw(2, shares, np.random.default_rng(0)).round(1)
    array([[0.4, 0.6],
           [0.4, 0.6]])
    """

    concentration: Floats | None = None
    draws: Floats | None = None

    def draw(self, n: int, training_shares: Floats, rng: np.random.Generator) -> Floats:
        """Draw `n` vectors of shares, as an array of shape (n, K)."""
        if self.draws is not None:
            return self.draws[rng.integers(len(self.draws), size=n)]
        if self.concentration is not None:
            return rng.dirichlet(self.concentration, n)
        K = len(training_shares)
        parts = [
            rng.dirichlet(np.ones(K), n - n // 4 - n // 4),
            rng.dirichlet(np.full(K, 0.3), n // 4),
            rng.dirichlet(10 * training_shares + 0.05, n // 4),
        ]
        return rng.permutation(np.concatenate(parts))


def check_prior(prior: Any, n_classes: int) -> Prior:
    """Check a user's prior: None, parameters of a Dirichlet distribution, or draws.

    Parameters
    ----------
    prior : None, float, array-like of shape (K,) or of shape (M, K)
        None for the default mixture.
    n_classes : int
        Number of classes.

    Returns
    -------
    Prior
    """
    if prior is None:
        return Prior()
    if isinstance(prior, Prior):
        return prior
    try:
        numbers = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim <= 1 and numbers.shape in ((), (n_classes,)):
        if np.isfinite(numbers).all() and (numbers > 0).all():
            return Prior(concentration=np.broadcast_to(numbers, n_classes).copy())
    elif numbers.ndim == 2 and numbers.shape[1] == n_classes and len(numbers):
        sums = numbers.sum(axis=1)
        if (numbers >= 0).all() and (np.abs(sums - 1) < 1e-6).all():
            return Prior(draws=numbers / sums[:, None])
    raise HeadcountError(
        f"prior is {prior!r}; it must be None, a positive number or {n_classes} of them (the "
        f"parameters of a Dirichlet distribution), or an array with rows of {n_classes} shares "
        "that sum to 1."
    )
