"""Metrics of the order in which scores put the items: they are no functions of the table.

With two classes, items are ranked by the posterior of the second one. With more, a metric is
the mean over the classes, each compared with all others and ranked by its own posterior.
Classes that have no items, or all of them, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._kernels.score_order import rank_areas
from headcount._threads import each_range
from headcount.accuracy.tables import TableMetric
from headcount.sampling import Samples

if TYPE_CHECKING:
    from headcount.accuracy.model_outputs import Reference

__all__ = ["RANKINGS", "RankingMetric", "ReferenceRanking"]

Floats = NDArray[np.float64]

# Thresholds of a curve of the reference; items between two of them count as equal.
_MOST_THRESHOLDS = 1000
# Numbers held at a time.
_BATCH_NUMBERS = 4_000_000


@dataclass(frozen=True)
class RankingMetric:
    """Metric of ranked items.

    Attributes
    ----------
    name : str
        Name of the metric.
    column : int
        Its column among the results of the kernel.
    undefined : float
        Value for a sample without items of one of the two kinds.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]])
    >>> RANKINGS["auroc"].realised(scores, [0, 0, 1, 1])
    array([0.75])
    """

    name: str
    column: int
    undefined: float
    low: float = 0.0
    high: float = 1.0

    def realised(
        self, scores: Floats, codes: ArrayLike, samples: Samples | None = None
    ) -> Floats:
        """Metric on samples of items with known classes.

        Parameters
        ----------
        scores : ndarray of shape (n, K)
            Posteriors that the items are ranked by.
        codes : array-like of shape (n,)
            True classes.
        samples : Samples, default=None
            The samples; one of all items by default.

        Returns
        -------
        ndarray of shape (S,)
        """
        drawn = Samples.whole(len(scores)) if samples is None else samples
        known = np.asarray(codes)[drawn.indices]
        return self.expected(scores, np.eye(scores.shape[1])[known], drawn)

    def expected(self, scores: Floats, masses: Floats, samples: Samples) -> Floats:
        """Metric on samples of items whose classes are known with a probability only.

        Parameters
        ----------
        scores : ndarray of shape (n, K)
            Posteriors that the items are ranked by.
        masses : ndarray of shape (m, K)
            Mass of each class of each item of the samples, in their order.
        samples : Samples
            The samples, with m items together.

        Returns
        -------
        ndarray of shape (S,)
        """
        K = scores.shape[1]
        of_sample = np.repeat(np.arange(len(samples)), samples.sizes)
        total, offsets = masses.sum(axis=1), np.asarray(samples.offsets, np.int64)
        found = np.empty((len(samples), len(_compared(K))))
        for place, c in enumerate(_compared(K)):
            ranks = np.unique(scores[:, c], return_inverse=True)[1][samples.indices]
            order = np.argsort(of_sample * (len(scores) + 1) + ranks, kind="stable")
            own = np.ascontiguousarray(masses[order, c])
            areas = _areas(ranks[order], own, total[order] - own, offsets)
            found[:, place] = areas[:, self.column]
        return _mean_over(found, self.undefined)

    def given(self, reference: Reference) -> ReferenceRanking:
        """Metric as a function of tables, by the scores within each class of a reference.

        Parameters
        ----------
        reference : Reference
            Labelled items, with posteriors.

        Returns
        -------
        ReferenceRanking
        """
        return ReferenceRanking(self.name, _Curves.of(self, reference), ranking=self)


def _areas(
    ranks: NDArray[np.int64], own: Floats, other: Floats, offsets: NDArray[np.int64]
) -> Floats:
    """Both areas of each sample, whose items are in the order of their ranks."""
    out = np.empty((len(offsets) - 1, 2))

    def work(start: int, stop: int) -> None:
        rank_areas(ranks, own, other, offsets, start, stop, out)

    each_range(work, len(out), grain=64)
    return out


def _compared(K: int) -> list[int]:
    """Classes that are compared with all others."""
    return [1] if K == 2 else list(range(K))


def _mean_over(by_class: Floats, undefined: float) -> Floats:
    known = np.isfinite(by_class)
    total = np.where(known, by_class, 0.0).sum(axis=1)
    counts = known.sum(axis=1)
    return np.where(counts > 0, total / np.maximum(counts, 1), undefined)


RANKINGS = {
    "auroc": RankingMetric("auroc", 0, 0.5),
    "average_precision": RankingMetric("average_precision", 1, 0.0),
}
"""Metrics of ranked items, by name."""


@dataclass(frozen=True)
class ReferenceRanking(TableMetric):
    """Ranking metric on samples of a reference, or on mixtures of its classes.

    As a metric of tables it is that of a mixture of the classes of the reference with the
    shares of the table: right under prior shift. With two classes, the area under the ROC
    curve does not depend on the shares.

    Attributes
    ----------
    ranking : RankingMetric
        The metric.
    """

    ranking: RankingMetric = field(kw_only=True)

    def on_samples(self, reference: Reference, samples: Samples) -> Floats:
        """Metric on the items of each sample of the reference."""
        scores = reference.outputs.posteriors
        return self.ranking.realised(scores, reference.codes, samples)

    def on_populations(
        self,
        reference: Reference,
        rows: NDArray[np.int64],
        samples: Samples,
        rng: np.random.Generator,
    ) -> Floats:
        """Metric on random populations that samples of these rows may be from.

        Shares of the classes have Dirichlet distributions given the sample, and so have the
        weights of the items within each class, given the sample and the reference.
        """
        K, n = reference.n_classes, len(rows)
        codes, scores = reference.codes[rows], reference.outputs.posteriors[rows]
        one_hot, counted = np.eye(K)[codes], np.zeros(len(reference), np.int64)
        counted[rows] = np.arange(n)
        parts, step = [], max(1, _BATCH_NUMBERS // (n * K))
        for first in range(0, len(samples), step):
            some = samples[first : first + step]
            of_sample = np.repeat(np.arange(len(some)), some.sizes)
            places = of_sample * n + counted[some.indices]
            seen = np.bincount(places, minlength=len(some) * n).reshape(-1, n)
            weights = rng.standard_gamma(1.0 + seen)
            within = weights @ one_hot
            shares = np.where(within > 0, seen @ one_hot + 1 / K, 0.0)
            shares = rng.standard_gamma(shares)
            weights *= (shares / np.where(within > 0, within, 1.0))[:, codes]
            masses = (weights[:, :, None] * one_hot).reshape(-1, K)
            rows_of_all = np.tile(np.arange(n), len(some))
            every = Samples(rows_of_all, n * np.arange(len(some) + 1), n_pool=n)
            parts.append(self.ranking.expected(scores, masses, every))
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Curves:
    """Metric of mixtures of the classes of a reference.

    Attributes
    ----------
    ranking : RankingMetric
        The metric.
    areas : ndarray of shape (K, K)
        Probability that an item of a class has a higher posterior of it than one of another
        class has.
    above : list of ndarray of shape (B, K)
        For each class that is compared with all others: shares of each class at or above
        thresholds of its posterior, from the highest one on.
    """

    ranking: RankingMetric
    areas: Floats
    above: list[Floats]

    @classmethod
    def of(cls, ranking: RankingMetric, reference: Reference) -> _Curves:
        K, codes, scores = reference.n_classes, reference.codes, reference.outputs.posteriors
        counts = np.maximum(np.bincount(codes, minlength=K), 1)
        areas, above = np.full((K, K), 0.5), []
        for c in _compared(K):
            own = np.sort(scores[codes == c, c])
            for k in reference.present.tolist():
                other = scores[codes == k, c]
                below = np.searchsorted(own, other, "right") + np.searchsorted(own, other)
                if len(own):
                    areas[c, k] = 1 - below.mean() / (2 * len(own))
            values, places = np.unique(scores[:, c], return_inverse=True)
            step = -(-len(values) // _MOST_THRESHOLDS)
            cells = (len(values) - 1 - places) // step
            shares = np.zeros((int(cells.max()) + 1, K))
            np.add.at(shares, (cells, codes), 1.0)
            above.append(np.cumsum(shares, axis=0) / counts)
        return cls(ranking, areas, above)

    def __call__(self, tables: Floats) -> Floats:
        """Metric of mixtures with the shares of the true classes of tables."""
        shares = tables.sum(axis=-1)
        flat = shares.reshape(-1, shares.shape[-1])
        K = flat.shape[1]
        by_class = np.full((len(flat), len(self.above)), np.nan)
        for place, c in enumerate(_compared(K)):
            other = np.where(np.arange(K) == c, 0.0, flat)
            defined = (flat[:, c] > 0) & (self.above[place][-1, c] > 0)
            if self.ranking.column == 0:
                total = other.sum(axis=1)
                value = (other @ self.areas[c]) / np.where(total > 0, total, 1.0)
                defined &= total > 0
            else:
                value = _average_precision(self.above[place], flat, c)
            by_class[:, place] = np.where(defined, value, np.nan)
        found = _mean_over(by_class, self.ranking.undefined)
        return found.reshape(shares.shape[:-1])


def _average_precision(above: Floats, shares: Floats, c: int) -> Floats:
    gained = np.diff(above[:, c], prepend=0.0)
    found, step = np.empty(len(shares)), max(1, _BATCH_NUMBERS // len(above))
    for first in range(0, len(shares), step):
        some = shares[first : first + step]
        own = some[:, c, None] * above[:, c]
        total = some @ above.T
        precision = np.divide(own, total, out=np.zeros_like(own), where=total > 0)
        found[first : first + step] = (precision * gained).sum(axis=1)
    return found
