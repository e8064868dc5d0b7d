"""Expected table of posteriors that are calibrated for the inputs of each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from headcount._parameters import check_choice
from headcount.accuracy.base import Predictor, TableModel
from headcount.accuracy.cbpe import SoftTables
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference, among
from headcount.accuracy.quacc_cells import CellFolds
from headcount.accuracy.quacc_inputs import features_of
from headcount.data import take_rows
from headcount.errors import HeadcountError
from headcount.sampling import Samples
from headcount.scores import CALIBRATIONS, fit_calibrator

__all__ = ["PAPE"]

Floats = NDArray[np.float64]

_N_FOLDS = 3
# Largest ratio of densities that counts, relative to the mean.
_MOST_WEIGHT = 50.0


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

    info: ClassVar = AccuracyInfo(
        title="posteriors calibrated for the inputs of the sample",
        input="features",
        gives="table",
        shift="covariate",
        reference="Bialek et al., arXiv 2401.08348 (2024)",
    )
    # A classifier is trained for each simulated sample.
    _most_simulations: ClassVar[int] = 200

    def __init__(
        self, classifier: Any = None, *, calibration: str = "isotonic", learner: Any = None
    ) -> None:
        self.classifier = classifier
        self.calibration = calibration
        self.learner = learner

    def _learn(self, reference: Reference) -> TableModel:
        calibration = check_choice("calibration", self.calibration, CALIBRATIONS)
        learner = self.learner
        if learner is not None and (
            isinstance(learner, type) or not hasattr(learner, "predict_proba")
        ):
            raise HeadcountError(
                f"learner is {learner!r}; it must be a scikit-learn classifier with "
                "predict_proba, such as LogisticRegression()."
            )
        X = features_of(reference.outputs.X, self.classifier)
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

    reference: Reference
    X: Any
    classifier: Any
    learner: Any
    calibration: str

    def soft_classes(
        self, pool: ModelOutputs, samples: Samples
    ) -> Iterator[tuple[Samples, Floats]]:
        present, K = self.reference.present, self.reference.n_classes
        known = among(self.reference.outputs.posteriors, present)
        codes = np.searchsorted(present, self.reference.codes)
        scores, X = among(pool.posteriors, present), features_of(pool.X, self.classifier)
        for number in range(len(samples)):
            one = samples[number : number + 1]
            found = scores[one.indices]
            if len(present) > 1:
                weights = self._weights(take_rows(X, one.indices))
                found = fit_calibrator(self.calibration, known, codes, weights).transform(found)
            soft = np.zeros((len(found), K))
            soft[:, present] = found
            yield one, soft

    def _weights(self, new: Any) -> Floats:
        """Ratio of the density of new items to that of the reference, at each of its items."""
        n, m = self.X.shape[0], new.shape[0]
        if m < 2 * _N_FOLDS:
            return np.ones(n)
        both: Any = [self.X, new]
        is_sparse = sparse.issparse(self.X)
        both = sparse.vstack(both, "csr") if is_sparse else np.concatenate(both)
        is_new = np.repeat([0, 1], [n, m])
        odds = np.empty(n)
        for train, held in CellFolds(_N_FOLDS, 0).split(None, is_new):
            own = held[held < n]
            fitted = clone(self.learner).fit(both[train], is_new[train])
            share = fitted.predict_proba(both[own])[:, 1]
            odds[own] = share / np.maximum(1 - share, 1e-12)
        weights = np.minimum(odds * n / m, _MOST_WEIGHT)
        # A class must not lose all of its weight.
        return np.maximum(weights / max(weights.mean(), 1e-12), 1e-3)
