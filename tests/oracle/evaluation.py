"""An evaluation the slow way: cut out every sample, predict it alone, measure it alone."""

from __future__ import annotations

import numpy as np

from headcount import metrics

# Metrics for which methods may have other answers than for absolute errors.
RELATIVE = ("rae", "nrae")


def evaluate_slowly(quantifiers, X, y, samples, names):
    """Rows of (method, sample, size, true shares, estimated shares, shift, errors)."""
    rows = []
    for method, quantifier in quantifiers.items():
        classes = quantifier.classes_.tolist()
        for number, indices in enumerate(samples):
            labels = [y[i] for i in indices]
            true = np.array([labels.count(label) / len(labels) for label in classes])
            items = X[np.asarray(indices)]
            estimated = quantifier.predict(items)
            relative = quantifier.fitted_.for_metric("rae").solve_many(items).prevalence[0]
            shift = sum(abs(true - quantifier.prior_)) / len(classes)
            errors = [
                _error(name, true, relative if name in RELATIVE else estimated, len(labels))
                for name in names
            ]
            rows.append((method, number, len(labels), true, estimated, shift, errors))
    return rows


def _error(name, true, estimated, size):
    if name in ("rae", "nrae", "kld", "nkld"):
        return getattr(metrics, name)(true, estimated, eps=1 / (2 * size))
    return getattr(metrics, name)(true, estimated)


def summarise_slowly(rows, column, group):
    """Mean, sd and median of one error by method and group."""
    found: dict = {}
    for row in rows:
        found.setdefault((row[0], group(row)), []).append(row[-1][column])
    return {
        key: (
            sum(errors) / len(errors),
            np.sqrt(
                sum((e - sum(errors) / len(errors)) ** 2 for e in errors) / (len(errors) - 1)
            )
            if len(errors) > 1
            else None,
            sorted(errors)[len(errors) // 2]
            if len(errors) % 2
            else sum(sorted(errors)[len(errors) // 2 - 1 : len(errors) // 2 + 1]) / 2,
        )
        for key, errors in found.items()
    }
