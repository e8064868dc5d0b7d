"""Labelled scores moved a little, as new items of the same classes would have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from headcount.data import take_rows
from headcount.representation import Training

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

# Copies of each item: the fewest, the most, and the rows that more than the fewest have.
_FEWEST_COPIES, _MOST_COPIES, _MOST_ROWS = 2, 8, 10_000
_MOST_ITEMS = 10_000
# Growth of the variance of a class, at most.
_MOST_GROWTH = 0.05
_SMALLEST_POSTERIOR, _SMALL_POSTERIOR = 1e-15, 1e-7


def smooth(training: Training, seed: int, posteriors: Any = True) -> Training:
    """Copies of labelled posteriors, each moved a little.

    A method fits its own training items better than new ones: histograms have no empty bin,
    and kernels no gap, where a training item is. Samples simulated from moved copies do not
    have that advantage (the smoothed bootstrap). A copy is moved by a difference between
    items of its class with similar scores, on the scale of log-posteriors, so that it moves
    little where items are dense, and less as the class grows.

    With many classes similar items are far apart. Moved by their differences, classes would
    overlap more than they do. Where the variance of a class would grow by more than 5%,
    copies are also drawn to similar items, which leaves the variance as it is.

    Parameters
    ----------
    training : Training
        Labelled items: posteriors, or a (nested) list of posteriors by several classifiers.
    seed : int
        Random seed.
    posteriors : bool or list, default=True
        Whether the items are posteriors, for each entry of a list or for all. Others, such as
        features and predicted classes, are repeated unchanged.

    Returns
    -------
    Training
        Eight copies of each item, one set after the other, or fewer if there are many items:
        the items themselves if there are more than 10,000, of which single ones do not matter,
        or if none are posteriors.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.6, 0.4], [0.9, 0.1], [0.3, 0.7], [0.2, 0.8]])
    >>> smoothed = smooth(Training(P, np.array([0, 0, 1, 1]), 2), seed=0)
    >>> smoothed.items.shape, smoothed.codes[:4]
    ((32, 2), array([0, 0, 1, 1]))
    """
    n, logs_of_each = len(training.codes), _logs_of_all(training.items, posteriors)
    if n > _MOST_ITEMS or not logs_of_each:
        return training
    copies = min(max(_MOST_ROWS // n, _FEWEST_COPIES), _MOST_COPIES)
    rows = np.tile(np.arange(n), copies)
    rng = np.random.default_rng(seed)
    pairs = _similar_pairs(np.hstack(logs_of_each), training, copies, rng)
    items: Any = _moved(training.items, posteriors, rows, pairs)
    weights = None if training.weights is None else training.weights[rows]
    return Training(items, training.codes[rows], training.n_classes, weights)


def _logs_of_all(items: Any, posteriors: Any) -> list[Floats]:
    """Log-posteriors of each classifier."""
    if isinstance(items, list):
        parts = _parts(items, posteriors)
        return [logs for part in parts for logs in _logs_of_all(*part)]
    return [_centred_logs(items)] if posteriors else []


class _Pairs(NamedTuple):
    """Two rows for each copy, and how freely it may move: 1, or less if variance would grow."""

    first: Rows
    second: Rows
    freedom: Floats


def _moved(items: Any, posteriors: Any, rows: Rows, pairs: _Pairs) -> Any:
    """Copies of rows, moved by two others each if posteriors."""
    if isinstance(items, list):
        return [_moved(*part, rows, pairs) for part in _parts(items, posteriors)]
    if not posteriors:
        return take_rows(items, rows)
    logs = _centred_logs(items)
    centre, first, second = logs[rows], logs[pairs.first], logs[pairs.second]
    # As much noise as similar items have variance.
    free = centre + (first - second) / np.sqrt(2)
    # Squares of the factors sum to 1: the variance is that of similar items.
    bound = (2 * centre + 2 * first - second) / 3
    moved = bound + pairs.freedom[:, None] * (free - bound)
    odds = np.exp(moved - moved.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _parts(items: list[Any], posteriors: Any) -> Iterator[tuple[Any, Any]]:
    """Entries of a list, each with whether it holds posteriors."""
    each = posteriors if isinstance(posteriors, list) else [posteriors] * len(items)
    return zip(items, each, strict=True)


def _centred_logs(items: Floats) -> Floats:
    # Zeros count as the smallest posterior there is, or as a small one.
    least = np.min(items, where=items > _SMALLEST_POSTERIOR, initial=_SMALL_POSTERIOR)
    logs = np.log(np.maximum(items, least))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _similar_pairs(
    logs: Floats, training: Training, copies: int, rng: np.random.Generator
) -> _Pairs:
    """Two random rows for each copy, of its class and with similar scores.

    Every other copy has the pair of the one before in the opposite order, so that the means of
    the classes hardly move.
    """
    pairs = np.tile(np.arange(len(logs)), (2, copies, 1))
    freedom, weights = np.ones(len(logs)), training.class_weights
    for j in range(training.n_classes):
        rows = np.flatnonzero((training.codes == j) & (weights > 0))
        near = rows[_neighbours(logs[rows])]
        picks = rng.integers(near.shape[1], size=(2, copies, len(rows)))
        pairs[:, :, rows] = near[np.arange(len(rows)), picks]
        first, second = pairs[:, :, rows]
        # Half the mean square of differences is the variance of similar items.
        added = np.square(logs[first] - logs[second]).sum(axis=2).mean() / 2
        allowed = _MOST_GROWTH * logs[rows].var(axis=0).sum()
        freedom[rows] = allowed / max(added, allowed) if allowed else 0.0
    pairs[:, 1::2] = pairs[::-1, : copies - copies % 2 : 2]
    first, second = pairs.reshape(2, -1)
    return _Pairs(first, second, np.tile(freedom, copies))


def _neighbours(logs: Floats) -> Rows:
    """Nearest rows to each row: as many as the square root of their number, at least 2."""
    near = min(max(2, int(np.ceil(np.sqrt(len(logs))))), len(logs))
    places = KDTree(logs).query(logs, near)[1]
    return np.asarray(places, np.int64).reshape(len(logs), near)
