"""Expected table of calibrated posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from headcount._support.arrays import Floats, Ints, divided_by_sums
from headcount._support.documentation import parametrised
from headcount._support.parameters import check_choice
from headcount.accuracy.base import Predictor
from headcount.accuracy.fitted import ConfusionModel
from headcount.accuracy.metrics import (
    CellFolds,
    ModelOutputs,
    Reference,
    ReferenceRanking,
    TableMetric,
    among,
    features_of,
)
from headcount.errors import HeadcountError
from headcount.items.arrays import take_rows
from headcount.parts.fitted import MethodInfo, Shift
from headcount.parts.solvers import MaximumLikelihood
from headcount.parts.training import Dense, MeanOf, Reduced, Reduction
from headcount.samples.samples import Samples
from headcount.scores.calibration import CALIBRATIONS, Calibrator, fit_calibrator

# Number of items that are reweighted at once.
_BATCH_ITEMS = 1 << 20
# Folds of cross-fitted calibrations, and of classifiers of sample against reference.
_N_FOLDS, _N_FOLDS_OF_SAMPLES = 5, 3
# Largest ratio of densities that counts, relative to the mean.
_MOST_WEIGHT = 50.0


@parametrised
class CBPE(Predictor):
    """Confidence-based performance estimation: the expected table of calibrated posteriors.

    An item predicted as class j belongs to class i with the posterior of i; the mean over the
    sample is the table. Correct if only the distribution of the inputs has changed (pure
    covariate shift). Under prior shift, ``correction="prior"`` first adapts the posteriors to
    the shares of the sample, found by maximum likelihood as in `SLD`.

    Parameters
    ----------
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

    info: ClassVar = MethodInfo(
        title="expected table of calibrated posteriors",
        family="posteriors",
        gives="table",
        shift="covariate",
        reference="Kivimaki et al., Machine Learning 114 (2025)",
    )
    calibration: str | None = "isotonic"
    correction: str | None = None

    def _shift(self) -> Shift:
        return "covariate" if self.correction is None else "prior"

    def _learn(self, reference: Reference) -> ConfusionModel:
        if self.calibration is not None:
            check_choice("calibration", self.calibration, CALIBRATIONS)
        if self.correction is not None:
            check_choice("correction", self.correction, ("prior",))
        calibration = None
        if self.calibration is not None and len(reference.present) > 1:
            scores, codes = reference.posteriors.items, reference.posteriors.codes
            calibration = _PosteriorCalibration.fit(self.calibration, scores, codes)
        expected = _Expected(calibration, reference.present, reference.n_classes)
        return expected if self.correction is None else _Corrected(expected, reference.prior)


@dataclass(frozen=True, eq=False)
class _PosteriorCalibration:
    """Calibration learnt from posteriors with known classes."""

    method: str
    scores: Floats
    codes: Ints
    calibrators: Sequence[Calibrator]

    @classmethod
    def fit(cls, method: str, scores: Floats, codes: Ints) -> _PosteriorCalibration:
        return cls(method, scores, codes, [fit_calibrator(method, scores, codes)])

    def transform(self, scores: Floats) -> Floats:
        return np.mean(
            [calibrator.transform(scores) for calibrator in self.calibrators], axis=0
        )

    def cross_fitted(self) -> tuple[_PosteriorCalibration, _OutOfFold] | None:
        """Calibrations for new items and for its own; None if a class has a single item."""
        if np.bincount(self.codes).min() < 2:
            return None
        posteriors, calibrators = np.empty_like(self.scores), []
        for train, test in CellFolds(_N_FOLDS, 0).split(None, self.codes):
            calibrator = fit_calibrator(self.method, self.scores[train], self.codes[train])
            calibrators.append(calibrator)
            posteriors[test] = calibrator.transform(self.scores[test])
        return replace(self, calibrators=calibrators), _OutOfFold(posteriors)


@dataclass(frozen=True, eq=False)
class _OutOfFold:
    """Calibrated posteriors of the reference, each by a calibrator fitted without the item."""

    posteriors: Floats

    def transform(self, scores: Floats) -> Floats:
        return self.posteriors


class ExpectedTables(ConfusionModel):
    """Fitted method that gives each item a probability of each class, whatever its sample."""

    n_classes: int

    def posteriors(self, pool: ModelOutputs) -> Floats:
        """Probabilities of the classes of items, one row per item."""
        raise NotImplementedError

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample."""
        # The means of `embed`, one predicted class at a time: K x K numbers per item are many.
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
        """Mean of the tables of items."""
        return (MeanOf(self),)

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Floats:
        """Table of each sample, given the mean of its items."""
        K = self.n_classes
        tables = np.asarray(reduced[0]).reshape(-1, K, K)
        return np.asarray(tables / tables.sum(axis=(1, 2), keepdims=True))


@dataclass(frozen=True, eq=False)
class _Expected(ExpectedTables):
    """Tables from calibrated posteriors; classes without items of the reference are empty."""

    calibration: _PosteriorCalibration | _OutOfFold | None
    present: Ints
    n_classes: int

    def posteriors(self, pool: ModelOutputs) -> Floats:
        """Calibrated posteriors of items."""
        calibrated = among(pool.posteriors, self.present)
        if self.calibration is not None:
            calibrated = self.calibration.transform(calibrated)
        if len(self.present) == self.n_classes:
            return calibrated
        posteriors = np.zeros((len(calibrated), self.n_classes))
        posteriors[:, self.present] = calibrated
        return posteriors

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        if not isinstance(metric, ReferenceRanking):
            return super().answers(pool, samples, metric, statistics)
        masses = self.posteriors(pool)[samples.indices]
        return metric.ranking.expected(pool.posteriors, masses, samples)

    def cross_fitted(self) -> tuple[_Expected, _Expected]:
        if isinstance(self.calibration, _PosteriorCalibration):
            pair = self.calibration.cross_fitted()
            if pair is not None:
                return replace(self, calibration=pair[0]), replace(self, calibration=pair[1])
        return self, self


class SoftTables(ConfusionModel):
    """Fitted method that gives each item of a sample a probability of each class."""

    def soft_classes(
        self, pool: ModelOutputs, samples: Samples
    ) -> Iterator[tuple[Samples, Floats]]:
        """Samples in batches, and the probabilities of their items, one row per item."""
        raise NotImplementedError

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        """Table of each sample."""
        batches = self.soft_classes(pool, samples)
        return np.concatenate([_table_sums(pool.labels, *batch) for batch in batches])

    def answers(
        self, pool: ModelOutputs, samples: Samples, metric: TableMetric, statistics: Floats
    ) -> Floats:
        """Metric on each sample."""
        if not isinstance(metric, ReferenceRanking):
            return super().answers(pool, samples, metric, statistics)
        ranking, scores = metric.ranking, pool.posteriors
        batches = self.soft_classes(pool, samples)
        values = [ranking.expected(scores, soft, batch) for batch, soft in batches]
        return np.concatenate(values)


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
        present = self.prior > 0
        posteriors, K = self.expected.posteriors(pool), len(self.prior)
        ratios = np.zeros_like(posteriors)
        ratios[:, present] = posteriors[:, present] / self.prior[present]
        shares = np.zeros((len(samples), K))
        likelihoods = np.ascontiguousarray(ratios[:, present])
        shares[:, present] = MaximumLikelihood().solve(likelihoods, samples).prevalence
        done = 0
        for chunk in samples.chunks(_BATCH_ITEMS):
            yield chunk, _reweighted(ratios, chunk, shares[done : done + len(chunk)])
            done += len(chunk)


def _reweighted(ratios: Floats, samples: Samples, shares: Floats) -> Floats:
    """Posteriors of the items that are proportional to the ratios times the shares."""
    of_sample = np.repeat(np.arange(len(samples)), samples.sizes)
    joint = ratios[samples.indices] * shares[of_sample]
    # An item that is impossible under every class has the shares as its posteriors.
    return divided_by_sums(joint, shares[of_sample])


def _table_sums(labels: Ints, samples: Samples, joint: Floats) -> Floats:
    """Tables of samples from the posteriors of their items."""
    K = joint.shape[1]
    of_sample = np.repeat(np.arange(len(samples)), samples.sizes)
    places = of_sample * K + labels[samples.indices]
    sums = [np.bincount(places, joint[:, i], len(samples) * K) for i in range(K)]
    tables = np.stack(sums).reshape(K, len(samples), K).transpose(1, 0, 2)
    return np.asarray(tables / samples.sizes[:, None, None])


@parametrised
class PAPE(Predictor):
    """Probabilistic adaptive performance estimation: `CBPE`, calibrated for each sample.

    A classifier learns to tell the items of a sample from those of the reference. Its odds are
    the weights with which the posteriors are calibrated on the reference, so that they are
    right where the sample has its items. The expected table of the sample follows, as in
    `CBPE`. Correct if only the distribution of the inputs has changed (pure covariate shift),
    also if the posteriors are not calibrated everywhere.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The classifier whose accuracy is predicted. Of a pipeline, the features are the input
        of its last step.
    calibration : {"isotonic", "platt", "ts", "bcts", "vs", "nbvs"}, default="isotonic"
        Calibration of the posteriors.
    learner : scikit-learn classifier, default=None
        Classifier of sample against reference, trained for each sample; gradient boosting by
        default, and logistic regression for sparse features.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(3000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> pape = accuracy.PAPE(model, learner=LogisticRegression()).fit(X[500:2000], y[500:2000])
    >>> new = X[2000:][X[2000:, 0] > 0]
    >>> round(pape.predict(new), 1)
    0.8
    """

    info: ClassVar = MethodInfo(
        title="posteriors calibrated for the inputs of the sample",
        family="posteriors",
        input="features",
        gives="table",
        shift="covariate",
        reference="Bialek et al., arXiv 2401.08348 (2024)",
    )
    calibration: str = "isotonic"
    learner: Any = None

    def _learn(self, reference: Reference) -> ConfusionModel:
        calibration = check_choice("calibration", self.calibration, CALIBRATIONS)
        learner = self.learner
        if learner is not None and (
            isinstance(learner, type) or not hasattr(learner, "predict_proba")
        ):
            raise HeadcountError(
                f"learner is {learner!r}; it must be a scikit-learn classifier with "
                "predict_proba, such as LogisticRegression()."
            )
        X = features_of(reference.items.X, self.classifier)
        if learner is None:
            learner = _default_learner(X)
        return _Adaptive(reference, X, self.classifier, learner, calibration)


def _default_learner(X: Any) -> Any:
    # Imported here: trees take a while to import.
    if sparse.issparse(X):
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=500)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=50, random_state=0)


@dataclass(frozen=True, eq=False)
class _Adaptive(SoftTables):
    """Tables from posteriors that are calibrated for each sample."""

    # A classifier is trained for each simulated sample.
    most_simulations: ClassVar[int] = 200

    reference: Reference
    X: Any
    classifier: Any
    learner: Any
    calibration: str

    def soft_classes(
        self, pool: ModelOutputs, samples: Samples
    ) -> Iterator[tuple[Samples, Floats]]:
        present, K = self.reference.present, self.reference.n_classes
        labelled = self.reference.posteriors
        scores, X = among(pool.posteriors, present), features_of(pool.X, self.classifier)
        for number in range(len(samples)):
            one = samples[number : number + 1]
            posteriors = scores[one.indices]
            if len(present) > 1:
                weights = self._weights(take_rows(X, one.indices))
                calibrator = fit_calibrator(
                    self.calibration, labelled.items, labelled.codes, weights
                )
                posteriors = calibrator.transform(posteriors)
            soft = np.zeros((len(posteriors), K))
            soft[:, present] = posteriors
            yield one, soft

    def _weights(self, new: Any) -> Floats:
        """Ratio of the density of new items to that of the reference, at each of its items."""
        n, m = self.X.shape[0], new.shape[0]
        if m < 2 * _N_FOLDS_OF_SAMPLES:
            return np.ones(n)
        items: Any = [self.X, new]
        is_sparse = sparse.issparse(self.X)
        items = sparse.vstack(items, "csr") if is_sparse else np.concatenate(items)
        is_new = np.repeat([0, 1], [n, m])
        odds = np.empty(n)
        for train, test in CellFolds(_N_FOLDS_OF_SAMPLES, 0).split(None, is_new):
            rows = test[test < n]
            fitted = clone(self.learner).fit(items[train], is_new[train])
            share = fitted.predict_proba(items[rows])[:, 1]
            odds[rows] = share / np.maximum(1 - share, 1e-12)
        weights = np.minimum(odds * n / m, _MOST_WEIGHT)
        # A class must not lose all of its weight.
        return np.maximum(weights / max(weights.mean(), 1e-12), 1e-3)
