"""A balancing tree, checked node by node against every split there is: slow and obvious."""

from __future__ import annotations

import itertools

import numpy as np


def imbalance_and_errors(y, said, criterion):
    """Norm over the classes of |FP - FN|, or |FP - FN| (FP + FN), and the errors."""
    terms = []
    for c in np.unique(y):
        false_up, false_down = ((said == c) & (y != c)).sum(), ((said != c) & (y == c)).sum()
        term = abs(int(false_up) - int(false_down))
        terms.append(term * (false_up + false_down) if criterion == "balance_errors" else term)
    return float(np.sqrt(np.sum(np.square(np.array(terms, dtype=float))))), int(
        (said != y).sum()
    )


def labelled(y, said, rows, n_classes):
    """What the tree says once `rows` are a leaf of their own."""
    after = said.copy()
    after[rows] = np.bincount(y[rows], minlength=n_classes).argmax()
    return after


def every_split(X, y, said, rows, criterion, least=1):
    """Yield (imbalance, errors) of the tree after every split of the node of these rows."""
    n_classes = y.max() + 1
    for feature in range(X.shape[1]):
        values = np.unique(X[rows, feature])
        for below, above in itertools.pairwise(values):
            left = rows & (X[:, feature] < (below + above) / 2)
            right = rows & ~left
            if min(left.sum(), right.sum()) >= least:
                after = labelled(y, labelled(y, said, left, n_classes), right, n_classes)
                yield imbalance_and_errors(y, after, criterion)


def replay(X, y, features, thresholds, children):
    """Yield, level by level, (node, rows, what the tree says before, and after its split)."""
    n_classes = y.max() + 1
    rows = {0: np.ones(len(y), dtype=bool)}
    said = labelled(y, np.zeros_like(y), rows[0], n_classes)
    for node in range(len(features)):
        after = said
        if features[node] >= 0:
            low = rows[node] & (X[:, features[node]] <= thresholds[node])
            rows[children[node]], rows[children[node] + 1] = low, rows[node] & ~low
            after = labelled(y, said, low, n_classes)
            after = labelled(y, after, rows[node] & ~low, n_classes)
        yield node, rows[node], said, after
        said = after
