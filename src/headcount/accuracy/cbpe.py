"""Expected table of calibrated posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice
from headcount.accuracy.base import Predictor, TableModel
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference, among
from headcount.accuracy.quacc_cells import CellFolds
from headcount.accuracy.rankings import ReferenceRanking
from headcount.accuracy.tables import TableMetric
from headcount.quantify.info import Shift
from headcount.representation import Dense, MeanOf, Reduced, Reduction
from headcount.sampling import Samples
from headcount.scores import CALIBRATIONS, fit_calibrator
from headcount.scores.calibration import Calibrator
from headcount.solve import MaximumLikelihood

__all__ = ["CBPE", "SoftTables"]

Floats = NDArray[np.float64]

# Number of items that are reweighted at once.
_BATCH_ITEMS = 1 << 20
_N_FOLDS = 5


class CBPE(Predictor):
    """Confidence-based performance estimation: the expected table of calibrated posteriors.

    An item predicted as class j belongs to class i with the posterior of i; the mean over the
    sample is the table. Correct if only the distribution of the inputs has changed (pure
    covariate shift). Under prior shift, ``correction="prior"`` first adapts the posteriors to
    the shares of the sample, found by maximum likelihood as in `SLD`.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    calibration : {"isotonic", "platt", "ts", "bcts", "vs", "nbvs", None}, default="isotonic"
        Calibration of the posteriors, fitted on the reference; None uses them as they are.
    correction : {None, "prior"}, default=None
        Correction of the posteriors for prior shift.

    Examples
    --------
    >>> import headcount as hc
    >>> scored, y = hc.Scored([0.1, 0.2, 0.6, 0.3, 0.8, 0.9]), [0, 0, 1, 0, 1, 1]
    >>> cbpe = hc.accuracy.CBPE(calibration=None).fit(scored, y)
    >>> cbpe.predict_table(hc.Scored([0.2, 0.4, 0.9])).round(2)
    array([[0.47, 0.03],
           [0.2 , 0.3 ]])
    """

    info: ClassVar = AccuracyInfo(
        title="expected table of calibrated posteriors",
        input="posteriors",
        gives="table",
        shift="covariate",
        reference="Kivimaki et al., Machine Learning 114 (2025)",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        calibration: str | None = "isotonic",
        correction: str | None = None,
    ) -> None:
        self.classifier = classifier
        self.calibration = calibration
        self.correction = correction

    @property
    def shift(self) -> Shift:
        """Covariate shift, or prior shift with ``correction="prior"``."""
        return "covariate" if self.correction is None else "prior"

    def _learn(self, reference: Reference) -> TableModel:
        if self.calibration is not None:
            check_choice("calibration", self.calibration, CALIBRATIONS)
        if self.correction is not None:
            check_choice("correction", self.correction, ("prior",))
        calibration = None
        if self.calibration is not None and len(reference.present) > 1:
            scores = among(reference.outputs.posteriors, reference.present)
            codes = np.searchsorted(reference.present, reference.codes)
            calibration = _Calibration.fit(self.calibration, scores, codes)
        expected = _Expected(calibration, reference.present, reference.n_classes)
        return expected if self.correction is None else _Corrected(expected, reference.prior)


@dataclass(frozen=True, eq=False)
class _Calibration:
    """Calibration learnt from posteriors with known classes.

    Attributes
    ----------
    method : str
        Name of the calibration.
    scores, codes : ndarray of shape (n, K), (n,)
        The posteriors and classes.
    calibrators : sequence of Calibrator
        Calibrator of all items, or one per fold, whose results are averaged.
    """

    method: str
    scores: Floats
    codes: NDArray[np.int64]
    calibrators: Sequence[Calibrator]

    @classmethod
    def fit(cls, method: str, scores: Floats, codes: NDArray[np.int64]) -> _Calibration:
        return cls(method, scores, codes, [fit_calibrator(method, scores, codes)])

    def transform(self, scores: Floats) -> Floats:
        return np.mean([each.transform(scores) for each in self.calibrators], axis=0)

    def cross_fitted(self) -> tuple[_Calibration, _OutOfFold] | None:
        """Calibrations for new items and for its own; None if a class has a single item."""
        if np.bincount(self.codes).min() < 2:
            return None
        known, fitted = np.empty_like(self.scores), []
        for train, held in CellFolds(_N_FOLDS, 0).split(None, self.codes):
            fitted.append(fit_calibrator(self.method, self.scores[train], self.codes[train]))
            known[held] = fitted[-1].transform(self.scores[held])
        return replace(self, calibrators=fitted), _OutOfFold(known)


@dataclass(frozen=True, eq=False)
class _OutOfFold:
    """Calibrated posteriors of the reference, each by a calibrator fitted without the item."""

    known: Floats

    def transform(self, scores: Floats) -> Floats:
        return self.known


@dataclass(frozen=True, eq=False)
class _Expected(TableModel):
    """Tables from calibrated posteriors; classes without items of the reference are empty."""

    calibration: _Calibration | _OutOfFold | None
    present: NDArray[np.int64]
    n_classes: int

    def posteriors(self, pool: ModelOutputs) -> Floats:
        """Calibrated posteriors of items."""
        known = among(pool.posteriors, self.present)
        if self.calibration is not None:
            known = self.calibration.transform(known)
        if len(self.present) == self.n_classes:
            return known
        found = np.zeros((len(known), self.n_classes))
        found[:, self.present] = known
        return found

    def tables(self, pool: ModelOutputs, samples: Samples) -> Floats:
        posteriors, K = self.posteriors(pool), self.n_classes
        tables = np.empty((len(samples), K, K))
        for j in range(K):
            predicted = posteriors * (pool.labels == j)[:, None]
            tables[:, :, j] = Dense(predicted).means(samples)
        return tables / tables.sum(axis=(1, 2), keepdims=True)

    def embed(self, items: ModelOutputs) -> Dense:
        """Expected table of each item, as a row."""
        one_hot = items.labels[:, None] == np.arange(self.n_classes)
        tables = self.posteriors(items)[:, :, None] * one_hot[:, None, :]
        return Dense(tables.reshape(len(items), -1))

    def reduction(self) -> tuple[Reduction, ...]:
        return (MeanOf(self),)

    def reduced_statistics(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        K = self.n_classes
        tables = np.asarray(reduced[0]).reshape(-1, K, K)
        return np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True))

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        if not isinstance(metric, ReferenceRanking):
            return super().answers(pool, samples, metric, statistics)
        masses = self.posteriors(pool)[samples.indices]
        return metric.ranking.expected(pool.posteriors, masses, samples)

    def cross_fitted(self) -> tuple[_Expected, _Expected]:
        if isinstance(self.calibration, _Calibration):
            pair = self.calibration.cross_fitted()
            if pair is not None:
                return replace(self, calibration=pair[0]), replace(self, calibration=pair[1])
        return self, self


class SoftTables(TableModel):
    """Fitted method that gives each item of a sample a probability of each class."""

    def soft_classes(
        self, pool: ModelOutputs, samples: Samples
    ) -> Iterator[tuple[Samples, Floats]]:
        """Samples in batches, and the probabilities of their items, one row per item."""
        raise NotImplementedError

    def tables(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample."""
        parts = self.soft_classes(pool, samples)
        return np.concatenate([_table_sums(pool.labels, *part) for part in parts])

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        """Metric on each sample."""
        if not isinstance(metric, ReferenceRanking):
            return super().answers(pool, samples, metric, statistics)
        ranking, scores = metric.ranking, pool.posteriors
        parts = self.soft_classes(pool, samples)
        return np.concatenate([ranking.expected(scores, soft, some) for some, soft in parts])


@dataclass(frozen=True, eq=False)
class _Corrected(SoftTables):
    """Tables from calibrated posteriors that are adapted to the shares of each sample."""

    expected: _Expected
    prior: Floats

    def cross_fitted(self) -> tuple[_Corrected, _Corrected]:
        of_new, of_reference = self.expected.cross_fitted()
        return replace(self, expected=of_new), replace(self, expected=of_reference)

    def soft_classes(
        self, pool: ModelOutputs, samples: Samples
    ) -> Iterator[tuple[Samples, Floats]]:
        known = self.prior > 0
        posteriors, K = self.expected.posteriors(pool), len(self.prior)
        ratios = np.zeros_like(posteriors)
        ratios[:, known] = posteriors[:, known] / self.prior[known]
        shares = np.zeros((len(samples), K))
        likelihoods = np.ascontiguousarray(ratios[:, known])
        shares[:, known] = MaximumLikelihood().solve(likelihoods, samples).prevalence
        done = 0
        for chunk in samples.chunks(_BATCH_ITEMS):
            yield chunk, _reweighted(ratios, chunk, shares[done : done + len(chunk)])
            done += len(chunk)


def _reweighted(ratios: Floats, samples: Samples, shares: Floats) -> Floats:
    """Posteriors of the items that are proportional to the ratios times the shares."""
    of_sample = np.repeat(np.arange(len(samples)), samples.sizes)
    joint = ratios[samples.indices] * shares[of_sample]
    total = joint.sum(axis=1, keepdims=True)
    # An item that is impossible under every class has the shares as its posteriors.
    return np.divide(joint, total, out=shares[of_sample], where=total > 0)


def _table_sums(labels: NDArray[np.int64], samples: Samples, joint: Floats) -> Floats:
    """Tables of samples from the posteriors of their items."""
    K = joint.shape[1]
    of_sample = np.repeat(np.arange(len(samples)), samples.sizes)
    places = of_sample * K + labels[samples.indices]
    sums = [np.bincount(places, joint[:, i], len(samples) * K) for i in range(K)]
    tables = np.stack(sums).reshape(K, len(samples), K).transpose(1, 0, 2)
    return np.asarray(tables / samples.sizes[:, None, None])
