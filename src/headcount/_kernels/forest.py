"""Trees that balance false positives and false negatives: growing them, and their votes."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.drawing import GOLDEN, mix

__all__ = ["count_votes", "find_leaves", "grow_tree"]

_mix = njit(cache=True, nogil=True)(mix)
_ROUNDING = 1e-12


@njit(cache=True, nogil=True, error_model="numpy")
def _search(
    bins, codes, weights, items, feature, by_errors, least, false_up, false_down,
    node, table, best,
):  # fmt: skip
    """Try all cuts of one feature on one node; tells whether one is better than `best`.

    `false_up` and `false_down` are the false positives and negatives of each class in the
    rest of the tree, `node` the class counts here. `best` holds the imbalance and the errors
    of the best tree so far, and the feature and bin of its cut: the smallest imbalance wins,
    among equals the fewest errors, among these the first found.
    """
    K, size = node.size, 0
    table[:] = 0
    highest = 0
    for k in range(items.size):
        code = bins[feature, items[k]]
        highest = max(highest, code)
        table[code, codes[items[k]]] += weights[items[k]]
        size += weights[items[k]]
    left = table[0]
    n_left = 0
    for c in range(K):
        n_left += left[c]
    better = False
    for cut in range(highest):
        added = 0
        if cut > 0:
            for c in range(K):
                added += table[cut, c]
                left[c] += table[cut, c]
            n_left += added
        if (cut > 0 and added == 0) or n_left < least or size - n_left < least:
            continue
        low, high = 0, 0
        for c in range(1, K):
            if left[c] > left[low]:
                low = c
            if node[c] - left[c] > node[high] - left[high]:
                high = c
        imbalance, errors = 0.0, 0.0
        for c in range(K):
            up, down = false_up[c], false_down[c]
            right = node[c] - left[c]
            if c == low:
                up += n_left - left[c]
            else:
                down += left[c]
            if c == high:
                up += size - n_left - right
            else:
                down += right
            term = up - down
            if by_errors:
                term *= up + down
            imbalance += term * term
            errors += down
        same = abs(imbalance - best[0]) <= _ROUNDING * best[0]
        if (not same and imbalance < best[0]) or (same and errors < best[1]):
            best[0], best[1], best[2], best[3] = imbalance, errors, feature, cut
            better = True
    return better


@njit(cache=True, nogil=True, error_model="numpy")
def grow_tree(
    bins, codes, weights, items, seed, by_errors, n_tried, depth, least,
    features, cuts, children, counts,
):  # fmt: skip
    """Grow a tree on `items`, level by level; returns its number of nodes.

    `bins[f, i]` is the bin of feature f that item i is in, `weights` how often each item
    counts. A node tries `n_tried` features, and goes on until some cut of one of them makes
    the whole tree better. Node v with `features[v] >= 0` sends bins up to `cuts[v]` to
    `children[v]` and the others to `children[v] + 1`; `counts[v]` are its class counts.
    """
    K, d = counts.shape[1], bins.shape[0]
    spare = np.empty_like(items)
    order = np.arange(d)
    table = np.zeros((256, K), np.int64)
    starts, stops = np.empty(features.size, np.int64), np.empty(features.size, np.int64)
    levels, labels = np.zeros(features.size, np.int64), np.zeros(features.size, np.int64)
    false_up, false_down = np.zeros(K), np.zeros(K)
    best = np.empty(4)
    counts[0, :] = 0
    for k in range(items.size):
        counts[0, codes[items[k]]] += weights[items[k]]
    starts[0], stops[0] = 0, items.size
    _add_leaf(counts[0], 1.0, false_up, false_down)
    n_nodes, v = 1, 0
    while v < n_nodes:
        here, node = items[starts[v] : stops[v]], counts[v]
        features[v] = -1
        _measure(false_up, false_down, by_errors, best)
        _add_leaf(node, -1.0, false_up, false_down)
        if levels[v] < depth and here.size > 1:
            found = False
            for tried in range(d):
                if tried >= n_tried and found:
                    break
                seed = seed + GOLDEN
                pick = tried + np.int64(_mix(seed) >> np.uint64(33)) % (d - tried)
                feature = order[pick]
                order[pick] = order[tried]
                order[tried] = feature
                if _search(
                    bins, codes, weights, here, feature, by_errors, least,
                    false_up, false_down, node, table, best,
                ):  # fmt: skip
                    found = True
            if found:
                features[v], cuts[v], children[v] = int(best[2]), int(best[3]), n_nodes
                low, high = n_nodes, n_nodes + 1
                counts[low, :] = 0
                counts[high, :] = 0
                n_left, n_right = 0, 0
                for k in range(here.size):
                    i = here[k]
                    if bins[features[v], i] <= cuts[v]:
                        here[n_left] = i
                        n_left += 1
                        counts[low, codes[i]] += weights[i]
                    else:
                        spare[n_right] = i
                        n_right += 1
                        counts[high, codes[i]] += weights[i]
                for k in range(n_right):
                    here[n_left + k] = spare[k]
                starts[low], stops[low] = starts[v], starts[v] + n_left
                starts[high], stops[high] = starts[v] + n_left, stops[v]
                levels[low], levels[high] = levels[v] + 1, levels[v] + 1
                _add_leaf(counts[low], 1.0, false_up, false_down)
                _add_leaf(counts[high], 1.0, false_up, false_down)
                n_nodes += 2
        if features[v] < 0:
            _add_leaf(node, 1.0, false_up, false_down)
        v += 1
    return n_nodes
