"""Measures regressed on one number a sample, learnt on samples of the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_count
from headcount.accuracy.base import Model, Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.tables import TableMetric
from headcount.errors import HeadcountError
from headcount.representation import Dense
from headcount.sampling import NPP, UPP, Samples
from headcount.sampling._streams import base_seeds

__all__ = ["DoC", "Regressed", "drawn_samples", "split"]

Floats = NDArray[np.float64]

# The part of the reference that is kept whole; samples are drawn from the rest.
_KEPT = 0.6


class DoC(Predictor):
    """Difference of confidences: the accuracy regressed on the mean confidence.

    The reference is split, 60 to 40. Of samples with all kinds of shares drawn from the 40%,
    the difference of the measure to that on the 60% is regressed on the difference of the
    mean greatest posterior.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    n_samples : int, default=100
        Samples to regress on, with shares uniform on the simplex.
    size : int, default=1000
        Items in each of them.
    random_state : int, RandomState, Generator or None, default=None
        Splits the reference and draws the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> doc = accuracy.DoC(model, random_state=0).fit(X[500:1500], y[500:1500])
    >>> round(doc.predict(X[1500:]), 1)
    0.9
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the mean confidence",
        shift="prior",
        gives="metrics",
        needs="scores",
        reference="Guillory et al., ICCV 2021",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        n_samples: int = 100,
        size: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.n_samples = n_samples
        self.size = size
        self.random_state = random_state

    def _learn(self, reference: Reference) -> Regressed:
        n_samples = check_count("n_samples", self.n_samples, 2)
        size = check_count("size", self.size)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        kept, rest = split(reference, rng)
        base = reference.take(kept)
        samples = drawn_samples(reference, rest, n_samples, size, rng)
        telling = _Confidence(float(base.judged.confidence.mean()))
        K = reference.n_classes
        tables = samples.prevalence_of(reference.cells, K * K).reshape(-1, K, K)
        return Regressed(telling, telling(reference.judged, samples), tables, base.table, rest)

    def _why_no_table(self) -> str:
        return "it regresses one measure at a time; use LEAP, QuAcc or CBPE."


@dataclass(frozen=True)
class _Confidence:
    """How much surer the model was on the reference than it is on a sample."""

    level: float

    def __call__(self, pool: Judged, samples: Samples) -> Floats:
        return self.level - Dense(pool.confidence[:, None]).means(samples)[:, 0]


@dataclass(frozen=True, eq=False)
class Regressed(Model):
    """A line through the measures of samples whose tables are known.

    Attributes
    ----------
    telling : callable
        Gives a number for each sample of a pool.
    known : ndarray of shape (m,)
        These numbers for the samples with known tables.
    tables : ndarray of shape (m, K, K)
        These tables.
    base : ndarray of shape (K, K)
        A table whose measure those of the samples are compared with.
    rows : ndarray of int
        Items of the reference that the samples are of.
    """

    telling: Callable[[Judged, Samples], Floats]
    known: Floats
    tables: Floats
    base: Floats
    rows: NDArray[np.int64]

    def values(self, pool: Judged, samples: Samples, metric: TableMetric) -> Floats:
        """The measure on each sample of the pool, within its range."""
        drop = metric(self.base) - metric(self.tables)
        away = self.known - self.known.mean()
        spread = float(away @ away)
        slope = float(away @ drop) / spread if spread > 1e-20 else 0.0
        fitted = drop.mean() + slope * (self.telling(pool, samples) - self.known.mean())
        return np.clip(metric(self.base) - fitted, metric.low, metric.high)


def split(
    reference: Reference, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the 60% and of the 40% of a reference, alike in every class."""
    if len(reference) < 2:
        raise HeadcountError(
            "y has a single label, but the labelled items are split in two: pass more of them."
        )
    order = rng.permutation(len(reference))
    order = order[np.argsort(reference.codes[order], kind="stable")]
    # Every row at which the running 40% passes a whole number.
    part = np.floor((np.arange(len(order)) + 1) * (1 - _KEPT) + 0.5)
    chosen = np.diff(part, prepend=0.0) > 0
    if not chosen.any():
        chosen[-1] = True
    return np.sort(order[~chosen]), np.sort(order[chosen])


def drawn_samples(
    reference: Reference,
    rows: NDArray[np.int64],
    n_samples: int,
    size: int,
    rng: np.random.Generator,
) -> Samples:
    """Samples of these rows of a reference, with shares uniform on the simplex."""
    codes = reference.codes[rows]
    protocol = NPP if (codes == codes[0]).all() else UPP
    drawn = protocol(n_samples=n_samples, size=size, random_state=rng).draw(codes)
    return Samples(rows[drawn.indices], drawn.offsets, n_pool=len(reference))
