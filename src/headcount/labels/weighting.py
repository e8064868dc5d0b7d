"""Survey weights and clusters of items without labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount.labels.sample import LabelSample, cluster_effect

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def weighted_rows(weights: Floats, size: int) -> Ints:
    """Rows in proportion to their weights, by systematic selection.

    An item with much weight is repeated.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_rows(np.array([1.0, 3.0]), 8)
    array([0, 0, 1, 1, 1, 1, 1, 1])
    """
    edges = np.cumsum(weights)
    places = (np.arange(size) + 0.5) / size * edges[-1]
    return np.minimum(np.searchsorted(edges, places), len(weights) - 1).astype(np.int64)


def effective_size(
    n_items: int, weights: Floats | None, clusters: Ints | None, values: Floats | None
) -> float:
    """Number of independent items of equal weight that are worth as much.

    The effect of clusters is estimated from ``values``, scores of the items; None takes
    items of a cluster as all alike.

    Examples
    --------
    >>> import numpy as np
    >>> effective_size(4, None, np.array([0, 0, 1, 1]), None)
    2.0
    """
    mass = np.ones(n_items) if weights is None else weights
    size = float(mass.sum() ** 2 / (mass**2).sum())
    if clusters is None:
        return size
    totals = np.bincount(clusters, mass)
    fewest = float(mass.sum() ** 2 / (totals**2).sum())
    if values is None:
        return fewest
    return max(size / float(cluster_effect(values, clusters, weights).max()), fewest)


def population_variance(
    shares: Floats,
    scores: Floats,
    weights: Floats | None,
    clusters: Ints | None,
    sample: LabelSample,
    outcomes: Floats,
) -> Floats:
    """Variance of the shares of some items around those of the population they are from.

    ``scores`` (n, V), weights and clusters are those of all items, ``outcomes`` (n, K) the
    classes of the labelled ones. Clusters have the effect that either of them shows.
    """
    size = effective_size(len(scores), weights, None, None)
    effect = np.ones(len(shares))
    if clusters is not None and sample.clusters is not None:
        of_labels = cluster_effect(outcomes, sample.clusters, sample.weights)
        effect = np.maximum(of_labels, cluster_effect(scores, clusters, weights).max())
    inner = np.clip(shares, 0, 1)
    return np.asarray(effect * inner * (1 - inner) / size)
