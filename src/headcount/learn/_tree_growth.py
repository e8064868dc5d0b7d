"""Growth of trees on binned features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.forest import grow_tree
from headcount._parameters import check_choice, check_count

__all__ = [
    "CRITERIA",
    "SCOPES",
    "BinnedFeatures",
    "GrowthOptions",
    "Tree",
    "bin_features",
    "check_options",
    "grow",
]

CRITERIA = ("balance", "balance_errors")
SCOPES = ("node", "tree")
_MOST_BINS = 255


@dataclass(frozen=True)
class BinnedFeatures:
    """Items as bins of their features.

    Attributes
    ----------
    bins : ndarray of shape (d, n), uint8
        Bin of each feature and item.
    edges : list of d ndarrays
        Upper edges of the bins: bin b of feature f has values above ``edges[f][b - 1]`` and
        up to ``edges[f][b]``.
    """

    bins: NDArray[np.uint8]
    edges: list[NDArray[np.float64]]


@dataclass(frozen=True)
class GrowthOptions:
    """Checked parameters of tree growth."""

    by_errors: bool
    alone: bool
    n_tried: int
    depth: int
    least: int


@dataclass(frozen=True)
class Tree:
    """A grown tree.

    Node v with ``features[v] >= 0`` sends items up to ``thresholds[v]`` in that feature to
    node ``children[v]`` and others to the next one. The other nodes are leaves. ``counts``
    are the class counts of the nodes.
    """

    features: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    children: NDArray[np.int64]
    counts: NDArray[np.int64]


def bin_features(X: NDArray[np.float64]) -> BinnedFeatures:
    """Bin each feature by its values, or into 255 bins of about equal counts.

    Edges lie halfway between the values they separate.
    """
    bins = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    edges = []
    for feature in range(X.shape[1]):
        column = np.ascontiguousarray(X[:, feature])
        ordered = np.sort(column)
        fresh = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
        if len(fresh) >= _MOST_BINS:
            wanted = np.linspace(0, len(ordered), _MOST_BINS + 1)[1:-1]
            fresh = np.unique(fresh[np.searchsorted(fresh, wanted).clip(max=len(fresh) - 1)])
        below, above = ordered[fresh - 1], ordered[fresh]
        # Halved before the addition, which may overflow. An edge stays below the upper value.
        middle = 0.5 * below + 0.5 * above
        edges.append(np.where(middle < above, middle, below))
        bins[feature] = np.searchsorted(edges[-1], column, side="left")
    return BinnedFeatures(bins, edges)


def check_options(
    criterion: Any, scope: Any, max_features: Any, max_depth: Any, min_samples_leaf: Any, d: int
) -> GrowthOptions:
    """Check the parameters that trees and forests share, for items of d features."""
    check_choice("criterion", criterion, CRITERIA)
    check_choice("scope", scope, SCOPES)
    if max_features is None:
        n_tried = d
    elif isinstance(max_features, str):
        check_choice("max_features", max_features, ("log2",))
        n_tried = min(d, int(math.log2(d)) + 1)
    else:
        n_tried = min(d, check_count("max_features", max_features))
    return GrowthOptions(
        by_errors=criterion == "balance_errors",
        alone=scope == "node",
        n_tried=n_tried,
        depth=np.iinfo(np.int64).max
        if max_depth is None
        else check_count("max_depth", max_depth),
        least=check_count("min_samples_leaf", min_samples_leaf),
    )


def grow(
    binned: BinnedFeatures,
    codes: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.int64],
    options: GrowthOptions,
    seed: int,
) -> Tree:
    """Grow one tree on the items of weight above 0."""
    items = np.flatnonzero(weights).astype(np.int32)
    room = 2 * len(items) - 1
    features, children = np.full(room, -1), np.zeros(room, dtype=np.int64)
    cuts, counts = np.zeros(room, dtype=np.int64), np.zeros((room, n_classes), dtype=np.int64)
    with np.errstate(over="ignore"):
        n = grow_tree(
            binned.bins,
            codes,
            weights,
            items,
            np.uint64(seed),
            options.by_errors,
            options.alone,
            options.n_tried,
            options.depth,
            options.least,
            features,
            cuts,
            children,
            counts,
        )
    thresholds = np.zeros(n)
    for v in np.flatnonzero(features[:n] >= 0):
        thresholds[v] = binned.edges[features[v]][cuts[v]]
    return Tree(features[:n].copy(), thresholds, children[:n].copy(), counts[:n].copy())
