"""Whether a judge errs alike in all slices of the items, and by how much its errors vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._support.arrays import Floats, Ints

# Permutations of the test, and p-value below which slices differ.
_PERMUTATIONS = 999
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class SliceTest:
    """Test of the assumption that error rates are equal over slices.

    `between` is, by true class, the variance of rates between slices over the variance of
    single verdicts: the correlation of verdicts within a slice (Dirichlet-multinomial, by the
    method of moments).

    >>> import numpy as np
    >>> truth, slices = np.zeros(200, int), np.arange(200) % 2
    >>> verdicts = np.where(np.arange(200) < 60, slices, 0)
    >>> test = SliceTest.of(truth, verdicts, slices, None, (1, 2))
    >>> test.differ, test.between.round(2)
    (True, array([0.34]))
    """

    p_value: float
    between: Floats
    n_slices: int
    right: dict[int, float]

    @classmethod
    def of(
        cls,
        codes: Ints,
        verdicts: Ints,
        slices: Ints,
        clusters: Ints | None,
        shape: tuple[int, int],
    ) -> SliceTest:
        """Test by permuting slices (of whole clusters) among items of the same true class."""
        K, V = shape
        n_slices = int(slices.max()) + 1
        units = np.arange(len(codes)) if clusters is None else clusters
        units = np.unique(units, return_inverse=True)[1]
        first = np.unique(units, return_index=True)[1]
        if (slices[first][units] != slices).any():  # paired: each cluster has several slices
            units, first = np.arange(len(codes)), np.arange(len(codes))
        statistic, between = _dispersion(codes, verdicts, slices, n_slices, (K, V))
        rng = np.random.default_rng(0)
        moves_whole = len(first) < len(codes)
        at_least = 0
        by_class = [np.flatnonzero(codes == k) for k in range(K)]
        for _ in range(_PERMUTATIONS):
            moved = slices.copy()
            if moves_whole:
                moved = slices[first][rng.permutation(len(first))][units]
            else:
                for rows in by_class:
                    moved[rows] = slices[rng.permutation(rows)]
            at_least += (
                _dispersion(codes, verdicts, moved, n_slices, (K, V))[0] >= statistic - 1e-9
            )
        right = {
            int(g): float((codes == verdicts)[slices == g].mean()) for g in np.unique(slices)
        }
        p_value = (1 + int(at_least)) / (1 + _PERMUTATIONS)
        return cls(p_value, between, len(right), right)

    @property
    def differ(self) -> bool:
        """True if error rates differ between slices."""
        return self.p_value < _LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "p_value": self.p_value,
            "between": self.between.tolist(),
            "n_slices": self.n_slices,
        }


def _dispersion(
    codes: Ints, verdicts: Ints, slices: Ints, n_slices: int, shape: tuple[int, int]
) -> tuple[float, Floats]:
    """Pearson's statistic of verdicts by slice within classes, and correlations in slices."""
    K, V = shape
    cells = (codes * n_slices + slices) * V + verdicts
    tables = np.bincount(cells, minlength=K * n_slices * V).reshape(K, n_slices, V)
    total, between = 0.0, np.zeros(K)
    for k, table in enumerate(tables.astype(np.float64)):
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        G, kinds = table.shape
        n = table.sum()
        if G < 2 or kinds < 2:
            continue
        sizes = table.sum(axis=1)
        expected = np.outer(sizes, table.sum(axis=0)) / n
        pearson = float(((table - expected) ** 2 / expected).sum())
        total += pearson
        pairs = n - (sizes**2).sum() / n - (G - 1)
        excess = pearson / (kinds - 1) * (n - 1) / n - (G - 1)
        between[k] = np.clip(excess / pairs, 0.0, 1.0) if pairs > 0 else 0.0
    return total, between
