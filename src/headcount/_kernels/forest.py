"""Growth and votes of trees that balance false positives and false negatives."""

from __future__ import annotations

import numpy as np
from numba import njit

from headcount._kernels.draws import GOLDEN, mix

_mix = njit(cache=True, nogil=True)(mix)
_ROUNDING = 1e-12
_S33 = np.uint64(33)


@njit(cache=True, nogil=True, error_model="numpy")
def _search(
    bins, codes, weights, items, feature, by_errors, least, false_up, false_down,
    node, table, best,
):  # fmt: skip
    """Try all cuts of one feature on one node; returns True if one is better than `best`.

    `false_up` and `false_down` are the false positives and negatives of each class in the
    rest of the tree, `node` the class counts of the node. `best` holds the imbalance and the
    errors of the best tree so far, and the feature and bin of its cut. The smallest imbalance
    wins, then the fewest errors, then the cut that was found first.
    """
    K, size = node.size, 0
    highest = 0
    for b in range(table.shape[0]):
        for c in range(K):
            table[b, c] = 0
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
def _add_leaf(node, sign, false_up, false_down):
    """Add the errors of a leaf to the tree's, or subtract them; returns True if it has any.

    A leaf predicts its most frequent class, on a tie the first one.
    """
    label, size = 0, 0
    for c in range(node.size):
        size += node[c]
        if node[c] > node[label]:
            label = c
    false_up[label] += sign * (size - node[label])
    for c in range(node.size):
        if c != label:
            false_down[c] += sign * node[c]
    return node[label] < size


@njit(cache=True, nogil=True, error_model="numpy")
def _part(here, spare, row, codes, weights, cut, low, high):
    """Move items up to the cut to the front, count both parts; returns how many they are."""
    n_low, n_high = 0, 0
    for k in range(here.size):
        i = here[k]
        if row[i] <= cut:
            here[n_low] = i
            n_low += 1
            low[codes[i]] += weights[i]
        else:
            spare[n_high] = i
            n_high += 1
            high[codes[i]] += weights[i]
    for k in range(n_high):
        here[n_low + k] = spare[k]
    return n_low


@njit(cache=True, nogil=True, error_model="numpy")
def grow_tree(
    bins, codes, weights, items, seed, by_errors, alone, n_tried, depth, least,
    features, cuts, children, counts,
):  # fmt: skip
    """Grow a tree on `items`, level by level; returns its number of nodes.

    `bins[f, i]` is the bin of item i in feature f, `weights` the multiplicity of each item.
    A node tries `n_tried` features drawn at random, and then further ones until a cut
    improves the whole tree, or the node alone if `alone`. Node v with `features[v] >= 0`
    sends bins up to `cuts[v]` to node `children[v]`, others to the next one. `counts[v]` are
    its class counts, which must be zero on entry.
    """
    K, d = counts.shape[1], bins.shape[0]
    spare, order = np.empty_like(items), np.arange(d)
    table = np.zeros((256, K), np.int64)
    starts, levels = np.zeros(features.size, np.int64), np.zeros(features.size, np.int64)
    stops = np.zeros(features.size, np.int64)
    false_up, false_down, best = np.zeros(K), np.zeros(K), np.zeros(4)
    for k in range(items.size):
        counts[0, codes[items[k]]] += weights[items[k]]
    stops[0] = items.size
    _add_leaf(counts[0], 1.0, false_up, false_down)
    n_nodes, v = 1, 0
    while v < n_nodes:
        here, node = items[starts[v] : stops[v]], counts[v]
        features[v] = -1
        if alone:
            for c in range(K):
                false_up[c], false_down[c] = 0.0, 0.0
            _add_leaf(node, 1.0, false_up, false_down)
        best[0], best[1] = 0.0, 0.0
        for c in range(K):
            term = false_up[c] - false_down[c]
            if by_errors:
                term *= false_up[c] + false_down[c]
            best[0] += term * term
            best[1] += false_down[c]
        mixed = _add_leaf(node, -1.0, false_up, false_down)
        has_cut = False
        for tried in range(d):
            if not mixed or levels[v] >= depth or (has_cut and tried >= n_tried):
                break
            seed = seed + GOLDEN
            pick = tried + np.int64(_mix(seed) >> _S33) % (d - tried)
            order[tried], order[pick] = order[pick], order[tried]
            if _search(
                bins, codes, weights, here, order[tried], by_errors, least,
                false_up, false_down, node, table, best,
            ):  # fmt: skip
                has_cut = True
        if has_cut:
            features[v], cuts[v], children[v] = int(best[2]), int(best[3]), n_nodes
            low, high = counts[n_nodes], counts[n_nodes + 1]
            n_low = _part(here, spare, bins[features[v]], codes, weights, cuts[v], low, high)
            starts[n_nodes], stops[n_nodes] = starts[v], starts[v] + n_low
            starts[n_nodes + 1], stops[n_nodes + 1] = starts[v] + n_low, stops[v]
            levels[n_nodes] = levels[v] + 1
            levels[n_nodes + 1] = levels[v] + 1
            _add_leaf(low, 1.0, false_up, false_down)
            _add_leaf(high, 1.0, false_up, false_down)
            n_nodes += 2
        else:
            _add_leaf(node, 1.0, false_up, false_down)
        v += 1
    return n_nodes


@njit(cache=True, nogil=True, error_model="numpy")
def find_leaves(X, features, thresholds, children, start, stop, out):
    """Number of the leaf that each of the items `start:stop` falls into."""
    for i in range(start, stop):
        v = 0
        while features[v] >= 0:
            v = children[v] + (X[i, features[v]] > thresholds[v])
        out[i] = v


@njit(cache=True, nogil=True, error_model="numpy")
def count_votes(
    X, roots, features, thresholds, children, labels, grown_on, start, stop, votes
):  # fmt: skip
    """Add the votes on items `start:stop` of the trees that were not grown on them."""
    for t in range(roots.size):
        for i in range(start, stop):
            if t < grown_on.shape[0] and grown_on[t, i]:
                continue
            v = roots[t]
            while features[v] >= 0:
                v = children[v] + (X[i, features[v]] > thresholds[v])
            votes[i, labels[v]] += 1
