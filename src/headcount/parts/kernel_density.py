"""Representations by Gaussian kernels around the training items of each class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headcount._kernels.density import kernel_sums, kernel_values
from headcount._support.arrays import Floats, Ints
from headcount._support.execution import each_range
from headcount.parts.training import Dense, Embedding, Training
from headcount.samples.samples import Samples

# Number of points evaluated at a time: with 50,000 items, 100 MB of kernel values.
_BLOCK = 256
# Density of a class that is left at a copy of one of its items without this one, at least.
_LEAST_DENSITY = 1e-6


@dataclass(frozen=True, eq=False)
class ClassDensities:
    """Gaussian kernel density of each class over the training scores.

    Parameters
    ----------
    centres : ndarray of shape (n, K)
        Training scores, sorted by class.
    weights : ndarray of shape (n,)
        Weights of the scores. Those of a class sum to 1.
    edges : ndarray of int64, shape (K + 1,)
        Start of each class: class j has the rows edges[j]:edges[j + 1].
    bandwidth : float
        Standard deviation of the kernel.
    places : ndarray of int64, shape (n,)
        Row of each training item in `centres`.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> fitted = ClassDensities.of(Training(scores, np.array([0, 1]), 2), 0.1)
    >>> fitted.ratios(scores)[:, 0] > fitted.ratios(scores)[:, 1]
    array([ True, False])
    """

    centres: Floats
    weights: Floats
    edges: Ints
    bandwidth: float
    places: Ints

    @classmethod
    def of(cls, training: Training, bandwidth: float) -> ClassDensities:
        """Make the densities of the training items of each class."""
        assert training.items is not None
        order = np.argsort(training.codes, kind="stable")
        counts = np.bincount(training.codes, minlength=training.n_classes)
        return cls(
            np.asarray(training.items, dtype=np.float64)[order],
            training.class_weights[order],
            np.concatenate([[0], np.cumsum(counts)]),
            bandwidth,
            np.argsort(order),
        )

    def ratios(self, points: Floats) -> Floats:
        """Densities of the classes at each point, up to a constant factor per row."""
        return self._sums(points)[0]

    def ratios_without(self, training: Training) -> Floats:
        """Densities at copies of training items, without the kernel of the item itself."""
        points = np.asarray(training.items, dtype=np.float64)
        sums, shifts = self._sums(points)
        places = self.places[training.copied]
        # An item may be taken for one of another class than it was learnt as.
        classes = np.searchsorted(self.edges, places, side="right") - 1
        learnt_as = np.arange(len(points)), classes
        squares = np.square(points - self.centres[places]).sum(axis=1)
        weights = self.weights[places]
        kernels = weights * np.exp(-0.5 * squares / self.bandwidth**2 - shifts)
        # A class of a single item would have no density at all.
        least = _LEAST_DENSITY * sums[learnt_as]
        sums[learnt_as] = np.maximum(sums[learnt_as] - kernels, least) / np.maximum(
            1 - weights, _LEAST_DENSITY
        )
        return sums

    def values(self, points: Floats) -> Floats:
        """Mean kernel between each point and each class (densities up to a constant)."""
        sums, shifts = self._sums(points)
        return np.asarray(sums * np.exp(shifts)[:, None], dtype=np.float64)

    def _sums(self, points: Floats) -> tuple[Floats, Floats]:
        points = np.ascontiguousarray(points)
        sums, shifts = np.empty((len(points), len(self.edges) - 1)), np.empty(len(points))
        scale = 0.5 / self.bandwidth**2
        centres, norms = _padded(self.centres, scale)

        def work(start: int, stop: int) -> None:
            kernel_sums(
                points, centres, norms, self.weights, self.edges, scale,
                start, stop, sums, shifts,
            )  # fmt: skip

        each_range(work, len(points), grain=max(1, 1_000_000 // self.centres.size))
        return sums, shifts


@dataclass(frozen=True, eq=False)
class KernelMeans:
    """Mean Gaussian kernel between an item and the training scores of each class.

    Parameters
    ----------
    bandwidth : float
        Standard deviation of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> near = KernelMeans(0.5).fit(Training(scores, np.array([0, 1]), 2))
    >>> near.embed(scores).values.round(3)
    array([[1.   , 0.141], [0.141, 1.   ]])
    """

    bandwidth: float
    densities: ClassDensities | None = None

    def fit(self, training: Training) -> KernelMeans:
        """Store the training scores."""
        return KernelMeans(self.bandwidth, ClassDensities.of(training, self.bandwidth))

    def embed(self, items: Floats) -> Dense:
        """Embed items given as posteriors."""
        assert self.densities is not None
        return Dense(self.densities.values(items))


@dataclass(frozen=True, eq=False)
class MixturePoints:
    """Kernel density of a sample at points drawn from the densities of the classes.

    Weighted by the inverse density of the points, sums over them approximate integrals
    over score space. With two classes, scores lie on a line and the points are a regular
    grid along it, fine enough for integrals with an error below 1e-8. With more classes, the
    points are drawn from the densities of the classes in equal parts.

    Parameters
    ----------
    bandwidth : float
        Standard deviation of the kernel.
    n_points : int
        Number of points drawn, for more than two classes.
    seed : int
        Random seed.
    line : pair of pair of float, default=((1.0, 0.0), (0.0, 1.0))
        Ends of the line on which the scores of two classes lie.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.samples import Samples
    >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> fitted = MixturePoints(0.1, 100, 0).fit(Training(scores, np.array([0, 1]), 2))
    >>> float(fitted.embed(scores).means(Samples.whole(2)).sum().round(6))  # a density
    1.0
    """

    bandwidth: float
    n_points: int
    seed: int
    line: tuple[tuple[float, float], tuple[float, float]] = ((1.0, 0.0), (0.0, 1.0))
    points: Floats | None = None
    weights: Floats | None = None

    def fit(self, training: Training) -> MixturePoints:
        """Choose the points and their weights."""
        K = training.n_classes
        if K == 2:
            points = self._grid()
            weights = np.full(len(points), 1.0)
        else:
            points = self._draw(training)
            density = ClassDensities.of(training, self.bandwidth).values(points).mean(axis=1)
            weights = 1 / density
        # With this constant, the densities of the classes sum to 1 over the points.
        at_points = _KernelAt(
            np.asarray(training.items, dtype=np.float64), points, self.bandwidth, weights
        )
        mass = training.class_means(at_points).sum(axis=1).mean()
        return replace(self, points=points, weights=weights / mass)

    def embed(self, items: Floats) -> Embedding:
        """Embed items given as posteriors."""
        assert self.points is not None
        assert self.weights is not None
        return _KernelAt(items, self.points, self.bandwidth, self.weights)

    def _grid(self) -> Floats:
        # Along the second coordinate the standard deviation of the kernel is h / sqrt 2.
        deviation = self.bandwidth / np.sqrt(2)
        margin = 8 * deviation
        (_, first), (_, last) = self.line
        n_steps = int(np.ceil((last - first + 2 * margin) / (deviation / 4)))
        along = np.linspace(first - margin, last + margin, n_steps + 1)
        return np.column_stack([sum(self.line[0]) - along, along])

    def _draw(self, training: Training) -> Floats:
        scores = np.asarray(training.items, dtype=np.float64)
        K = training.n_classes
        per_class = -(-self.n_points // K)
        # The random stream of a class is numbered by the first training item of the class, so
        # that the order of the classes makes no difference, nor does an item given twice
        # instead of a weight of two. The choice of items does not depend on the scores: a
        # change in their last digit changes only the last digit of the points.
        present = training.class_weights > 0
        members = [np.flatnonzero((training.codes == j) & present) for j in range(K)]
        place = np.argsort(np.argsort([rows[0] for rows in members]))
        points = []
        for j, rows in enumerate(members):
            rng = np.random.default_rng([self.seed, place[j]])
            # Systematic sampling along the weights of the class, which reduces the noise.
            levels = (np.arange(per_class) + rng.random()) / per_class
            reached = np.cumsum(training.class_weights[rows])[:-1]
            centres = rows[np.searchsorted(reached, levels, side="right")]
            noise = rng.normal(scale=self.bandwidth, size=(per_class, K))[:, place]
            # Projected on the plane of the posteriors. Densities are proportional outside it.
            noise -= noise.mean(axis=1, keepdims=True)
            points.append(scores[centres] + noise)
        return np.concatenate(points)


@dataclass(frozen=True, eq=False)
class _KernelAt:
    """Kernel values at given points, computed in blocks of points."""

    items: Floats
    points: Floats
    bandwidth: float
    weights: Floats

    @property
    def width(self) -> int:
        return len(self.points)

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        out = np.empty((len(samples), self.width))
        for first in range(0, self.width, _BLOCK):
            block = slice(first, first + _BLOCK)
            means = Dense(self._values(self.points[block])).means(samples, weights)
            out[:, block] = means * self.weights[block]
        return out

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        """Add the items to the sums of their groups."""
        for first in range(0, self.width, _BLOCK):
            block = slice(first, first + _BLOCK)
            block_sums = np.zeros_like(sums[:, :, block])
            Dense(self._values(self.points[block]) * self.weights[block]).add_sums(
                groups, block_sums
            )
            sums[:, :, block] += block_sums

    def _values(self, points: Floats) -> Floats:
        """Kernel between every item and every point."""
        items = np.ascontiguousarray(self.items)
        scale = 0.5 / self.bandwidth**2
        centres, norms = _padded(points, scale)
        values = np.empty((len(items), len(points)))

        def work(start: int, stop: int) -> None:
            kernel_values(items, centres, norms, scale, start, stop, values)

        each_range(work, len(items), grain=max(1, 1_000_000 // centres.size))
        return values


def _padded(centres: Floats, scale: float) -> tuple[Floats, Floats]:
    """Centres padded with zeros to a multiple of four columns, and their scaled norms."""
    n, width = centres.shape
    padded = np.zeros((n, -(-width // 4) * 4))
    padded[:, :width] = centres
    return padded, scale * np.einsum("ik,ik->i", centres, centres)
