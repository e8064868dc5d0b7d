"""Shares from verdicts whose error rates are known from a calibration set.

For two classes this is the estimator of Rogan and Gladen. Intervals are inverted tests
(Fieller): all shares that the verdicts do not contradict, given the noise of both sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from headcount._support.arrays import Floats, Ints, indicators
from headcount.estimates.labels.difference import clopper_pearson, on_simplex
from headcount.estimates.labels.sample import effective_size

# Condition number above which the verdicts do not determine the shares.
_SINGULAR = 1e10


@dataclass(frozen=True, eq=False)
class Calibration:
    """Verdicts on items whose true class is known."""

    counts: Floats
    sizes: Floats
    between: Floats | None = None

    @classmethod
    def of(
        cls,
        codes: Ints,
        verdicts: Ints,
        n_classes: int,
        n_verdicts: int,
        weights: Floats | None = None,
        clusters: Ints | None = None,
    ) -> Calibration:
        """Count verdicts, of items with weights and clusters, by class."""
        mass = np.ones(len(codes)) if weights is None else weights
        cells = np.bincount(codes * n_verdicts + verdicts, mass, n_classes * n_verdicts)
        counts = np.asarray(cells.reshape(n_classes, n_verdicts), np.float64)
        one_hot = indicators(verdicts, n_verdicts)
        sizes = np.ones(n_classes)
        for k in range(n_classes):
            of_class = codes == k
            if of_class.any():
                groups = None if clusters is None else clusters[of_class]
                sizes[k] = _independent(one_hot[of_class], mass[of_class], groups)
        return cls(counts, sizes)

    @property
    def rates(self) -> Floats:
        """Probability of each verdict by true class, (K, V)."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @property
    def spreads(self) -> Floats:
        """Covariance of the rates of each class, (K, V, V); larger if they vary over slices."""
        V = self.counts.shape[1]
        scaled = self.rates * self.sizes[:, None]
        smooth = (scaled + 1) / (self.sizes[:, None] + V)
        between = np.zeros(len(smooth)) if self.between is None else self.between
        return _multinomial(smooth) * (1 / self.sizes + between)[:, None, None]

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Clopper-Pearson intervals of the rates."""
        sizes = self.sizes[:, None]
        return clopper_pearson(self.rates * sizes, sizes, level)


@dataclass(frozen=True, eq=False)
class RateEstimate:
    """Shares of the classes among items with verdicts, from the rates of a calibration set."""

    calibration: Calibration
    seen: Floats
    n_effective: float
    inverse: Floats
    centre: Floats

    @classmethod
    def of(cls, calibration: Calibration, seen: Floats, n_effective: float) -> RateEstimate:
        """Solve for the shares that give the verdicts ``seen`` on ``n_effective`` items."""
        K, V = calibration.counts.shape
        rates = calibration.rates
        # The last verdict and the last class follow from the others.
        apart = (rates[:-1] - rates[-1])[:, : V - 1].T
        shares, inverse = np.full(K, 1 / K), np.full((K, V), np.nan)
        # Two steps of generalised least squares; with as many verdicts as classes the first
        # is exact.
        for _ in range(2):
            likely = on_simplex(np.maximum(shares, 0.0) + 0.5 / K)
            noise = _noise(calibration, likely, seen, n_effective)[: V - 1, : V - 1]
            weighted = np.linalg.solve(noise, apart).T
            normal = weighted @ apart
            if np.linalg.cond(normal) > _SINGULAR:
                return cls(calibration, seen, n_effective, inverse, shares)
            weights_of_verdicts = np.linalg.solve(normal, weighted)
            inverse = np.zeros((K, V))
            inverse[:-1, :-1] = weights_of_verdicts
            inverse[-1] = -inverse[:-1].sum(axis=0)
            first = weights_of_verdicts @ (seen - rates[-1])[: V - 1]
            shares = np.append(first, 1 - first.sum())
        return cls(calibration, seen, n_effective, inverse, shares)

    @property
    def informative(self) -> bool:
        """False if the verdicts hardly depend on the class, so shares are arbitrary."""
        every = range(len(self.centre))
        return bool(
            np.isfinite(self.inverse).all()
            and all(self._quadratic(k, 0.95)[0] > 0 for k in every)
        )

    @property
    def covariance(self) -> Floats:
        """Covariance of the estimated shares, (K, K)."""
        if not np.isfinite(self.inverse).all():
            return np.eye(len(self.centre))
        likely = on_simplex(self.centre)
        noise = _noise(self.calibration, likely, self.seen, self.n_effective)
        return np.asarray(self.inverse @ noise @ self.inverse.T)

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Ends of the intervals, not clipped."""
        K = len(self.centre)
        low, high = np.zeros(K), np.ones(K)
        for k in range(K):
            a, b, c = self._quadratic(k, level)
            if not a > 0:  # no share is contradicted
                low[k], high[k] = min(0.0, self.centre[k]), max(1.0, self.centre[k])
                continue
            root = np.sqrt(max(b * b - 4 * a * c, 0.0))
            low[k], high[k] = (-b - root) / (2 * a), (-b + root) / (2 * a)
        return np.minimum(low, self.centre), np.maximum(high, self.centre)

    def _quadratic(self, k: int, level: float) -> tuple[float, float, float]:
        """Coefficients of the inequality whose solutions are the shares in the interval."""
        z2 = special.ndtri((1 + level) / 2) ** 2
        weights = self.inverse[k]
        spreads = np.einsum("v,jvw,w->j", weights, self.calibration.spreads, weights)
        sampling = float(weights @ _sampling(self.seen, self.n_effective) @ weights)
        # The others keep their proportions while the share of class k is t.
        proportions = np.maximum(self.centre, 0.0)
        proportions[k] = 0.0
        total = proportions.sum()
        proportions = (
            proportions / total if total > 0 else proportions + 1 / max(len(proportions) - 1, 1)
        )
        proportions[k] = 0.0
        of_others = float((proportions**2) @ spreads)
        of_class = float(spreads[k])
        # (centre - t)^2 <= z2 (sampling + t^2 own + (1 - t)^2 rest)
        a = 1 - z2 * (of_class + of_others)
        b = -2 * float(self.centre[k]) + 2 * z2 * of_others
        c = float(self.centre[k]) ** 2 - z2 * (sampling + of_others)
        return a, b, c


def rate_difference(
    first: RateEstimate, second: RateEstimate, level: float
) -> tuple[Floats, Floats, Floats]:
    """Differences of two groups that share a calibration set, with lower and upper ends."""
    gap = first.centre - second.centre
    if not (first.informative and second.informative):
        return gap, np.full(len(gap), -1.0), np.full(len(gap), 1.0)
    inverse = (first.inverse + second.inverse) / 2
    noise = _sampling(first.seen, first.n_effective)
    noise = noise + _sampling(second.seen, second.n_effective)
    noise = noise + np.einsum("j,jvw->vw", gap**2, first.calibration.spreads)
    errors = np.sqrt(np.einsum("kv,vw,kw->k", inverse, noise, inverse))
    reach = special.ndtri((1 + level) / 2) * errors
    return gap, gap - reach, gap + reach


def _noise(calibration: Calibration, shares: Floats, seen: Floats, size: float) -> Floats:
    """Covariance of the verdicts' shares minus those that the rates predict."""
    return _sampling(seen, size) + np.einsum("j,jvw->vw", shares**2, calibration.spreads)


def _sampling(seen: Floats, size: float) -> Floats:
    smooth = (seen * size + 1) / (size + len(seen))
    return np.asarray(_multinomial(smooth[None])[0] / size)


def _multinomial(shares: Floats) -> Floats:
    return shares[:, :, None] * np.eye(shares.shape[1]) - shares[:, :, None] * shares[:, None]


def _independent(values: Floats, mass: Floats, clusters: Ints | None) -> float:
    """Number of independent items of equal weight."""
    groups = None
    if clusters is not None:
        groups = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    return effective_size(len(values), mass, groups, values)


# Whether a judge errs alike in all slices of the items, and by how much its errors vary.

# Permutations of the test, and p-value below which slices differ.
_PERMUTATIONS = 999
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class SliceTest:
    """Test of equal error rates over slices; `between` is the correlation within a slice."""

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
