"""Numbers as classes: grades in an order, or codes of names."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_ordered", "order_note"]

# Orders of the classes that are compared at most, and the part of them that may keep classes
# which are confused as near to one another as the order of the numbers does. Of three classes
# no other order may.
_MOST_ORDERS, _MOST_AS_GOOD = 2000, 0.2


def are_ordered(
    classes: NDArray[np.generic], posteriors: NDArray[np.float64], codes: NDArray[np.int64]
) -> bool:
    """True if classes are numbers, and the classifier confuses those that are near each other.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        The classes, sorted.
    posteriors : ndarray of shape (N, K)
        Posteriors of labelled items, out-of-fold.
    codes : ndarray of shape (N,)
        Classes of the items, as positions in `classes`.

    Returns
    -------
    bool
        False for two classes, and for texts. True for numbers with decimals, which are no
        codes.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.arange(300) % 3
    >>> near = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    >>> are_ordered(np.array([1, 2, 3]), near[codes], codes)
    True
    >>> are_ordered(np.array([1, 2, 3]), near[codes][:, [1, 0, 2]], (codes + 1) % 3)
    False
    """
    K = len(classes)
    if K < 3 or classes.dtype.kind not in "iuf":
        return False
    if (classes != np.round(classes.astype(np.float64))).any():
        return True
    return _as_good(_confusions(posteriors, codes)) <= (_MOST_AS_GOOD if K > 3 else 1 / 3)


def _confusions(
    posteriors: NDArray[np.float64], codes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Mean posterior of each class among the items of each other, relative to its mean."""
    indicators = np.eye(posteriors.shape[1])[codes]
    sums = indicators.T @ posteriors / np.maximum(indicators.sum(axis=0), 1)[:, None]
    relative = sums / np.maximum(posteriors.mean(axis=0), 1e-300)
    return np.asarray(relative + relative.T)


def _as_good(confusions: NDArray[np.float64]) -> float:
    """Part of the orders in which confused classes are as near to one another, or nearer."""
    K = len(confusions)
    if K <= 6:
        orders = np.array(list(permutations(range(K))))
    else:
        rng = np.random.default_rng(0)
        orders = np.stack(
            [np.arange(K), *(rng.permutation(K) for _ in range(_MOST_ORDERS - 1))]
        )
    apart = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    costs = np.array([(confusions[np.ix_(order, order)] * apart).sum() for order in orders])
    natural = costs[0]  # the first order is that of the numbers
    return float((costs <= natural * (1 + 1e-12)).mean())


def order_note(classes: NDArray[np.generic], ordered: bool) -> str:
    """Sentence on the order of classes that are numbers; empty for others."""
    if len(classes) < 3 or classes.dtype.kind not in "iuf":
        return ""
    if ordered:
        return "classes: numbers, and near ones are confused most, so they count as ordered."
    return "classes: numbers, but near ones are not confused most, so they count as names."
