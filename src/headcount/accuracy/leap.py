"""Linear equations for the table, from rates of the reference and shares of the sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.base import Predictor, TableModel
from headcount.accuracy.equations import ByRows, Exact, LeastSquaresTables, TableSolver
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.quantification import (
    ClassShares,
    PredictedLabels,
    check_quantifier,
    fit_class_shares,
)
from headcount.quantify import KDEyML, Quantifier
from headcount.quantify.base import ScoringPlan
from headcount.quantify.info import Input
from headcount.representation import MeanOf, Reduced, Reduction
from headcount.sampling import Samples

__all__ = ["LEAP", "OLEAP", "SLEAP"]

Floats = NDArray[np.float64]
_REFERENCE = "Volpi, Moreo & Sebastiani, Discovery Science (2024)"


class _Equations(Predictor):
    """Base of methods with a quantifier and the rates of the reference."""

    def __init__(self, classifier: Any = None, *, quantifier: Any = None) -> None:
        self.classifier = classifier
        self.quantifier = quantifier

    @property
    def takes(self) -> Input:
        """Kind of items that the quantifier works on."""
        return ScoringPlan(self._chosen()).takes

    def _chosen(self) -> Quantifier:
        return check_quantifier(self.quantifier, KDEyML())

    def _solver(self, rates: Floats) -> TableSolver:
        raise NotImplementedError

    def _learn(self, reference: Reference) -> TableModel:
        shares = fit_class_shares(self._chosen(), reference)
        return _Leap(shares, self._solver(reference.rates))


@dataclass(frozen=True, eq=False)
class _Leap(TableModel):
    shares: ClassShares
    solver: TableSolver

    def tables(self, pool: ModelOutputs, samples: Samples) -> Floats:
        q = self.shares.of(pool, samples)
        predicted = samples.prevalence_of(pool.labels, q.shape[1])
        return self.solver(q, predicted)

    def reduction(self) -> tuple[Reduction, ...] | None:
        of_shares = self.shares.reduction()
        if of_shares is None:
            return None
        return (*of_shares, MeanOf(PredictedLabels(self.shares.n_classes)))

    def reduced_statistics(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Floats:
        q = self.shares.of_reduced(reduced[:-1], sizes)
        return self.solver(q, np.asarray(reduced[-1]))

    def cross_fitted(self) -> tuple[_Leap, _Leap]:
        of_new, of_reference = self.shares.cross_fitted()
        return replace(self, shares=of_new), replace(self, shares=of_reference)


class LEAP(_Equations):
    """Linear equations for the table, as many as it has cells.

    Three things are known under prior shift: the rates at which items of a class are
    predicted as each class, which are those of the reference; the shares of the classes, by a
    quantifier; and the shares of the predicted classes. Rates and shares determine the rows
    of all classes but the first. The first class gets the remaining predictions, so that the
    result depends on which class is first in ``classes_``. If the remainder is negative, the
    equations are solved by least squares.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the outputs of the classifier; `KDEyML` by
        default. With one of predicted labels, such as `ACC`, `Verdicts` are accepted.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import headcount as hc
    >>> X, y = make_classification(6000, weights=[0.8], class_sep=0.6, random_state=0)
    >>> model = LogisticRegression().fit(X[:2000], y[:2000])
    >>> leap = hc.accuracy.LEAP(model, quantifier=hc.SLD()).fit(X[2000:4000], y[2000:4000])
    >>> new, truth = X[4000:], y[4000:]
    >>> new, truth = new[truth == 1], truth[truth == 1]
    >>> round(leap.predict(new), 1), round(model.score(new, truth), 1)
    (0.4, 0.4)
    """

    info: ClassVar = AccuracyInfo(
        title="linear equations, as many as cells",
        input="any",
        gives="table",
        shift="prior",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return Exact(rates)


class OLEAP(_Equations):
    """All linear equations for the table, solved by least squares.

    The equations are those of `LEAP` for every class: more than the table has cells. The
    order of the classes does not matter.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the outputs of the classifier; `KDEyML` by
        default. With one of predicted labels, such as `ACC`, `Verdicts` are accepted.

    Examples
    --------
    >>> import headcount as hc
    >>> scored, y = hc.Scored([0.1, 0.2, 0.6, 0.3, 0.8, 0.9]), [0, 0, 0, 1, 1, 1]
    >>> oleap = hc.accuracy.OLEAP(quantifier=hc.ACC()).fit(scored, y)
    >>> oleap.predict_table(hc.Scored([0.1, 0.2, 0.9])).round(2)
    array([[0.67, 0.33],
           [0.  , 0.  ]])
    """

    info: ClassVar = AccuracyInfo(
        title="linear equations, all of them",
        input="any",
        gives="table",
        shift="prior",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return LeastSquaresTables(rates, every=True)


class SLEAP(_Equations):
    """Rates of the reference times shares of the sample.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the outputs of the classifier; `KDEyML` by
        default. With one of predicted labels, such as `ACC`, `Verdicts` are accepted.

    Examples
    --------
    >>> import headcount as hc
    >>> decisions, y = hc.Verdicts([0, 0, 1, 0, 1, 1]), [0, 0, 0, 1, 1, 1]
    >>> sleap = hc.accuracy.SLEAP(quantifier=hc.ACC()).fit(decisions, y)
    >>> sleap.predict_table(hc.Verdicts([0, 1, 1])).round(2)
    array([[0.  , 0.  ],
           [0.33, 0.67]])
    """

    info: ClassVar = AccuracyInfo(
        title="rates times shares",
        input="any",
        gives="table",
        shift="prior",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return ByRows(rates)
