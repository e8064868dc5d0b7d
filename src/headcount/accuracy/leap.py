"""Linear equations for the table: rates of the reference, shares of the sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.base import Predictor, TableModel
from headcount.accuracy.equations import ByRows, Exact, LeastSquaresTables, TableSolver
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.shares import Shares, learn_shares
from headcount.sampling import Samples

__all__ = ["LEAP", "OLEAP", "SLEAP"]

Floats = NDArray[np.float64]
_REFERENCE = "Volpi, Moreo & Sebastiani, Discovery Science (2024)"


class _Equations(Predictor):
    """What the three have in common: a quantifier, and rates of the reference."""

    def __init__(self, classifier: Any = None, *, quantifier: Any = None) -> None:
        self.classifier = classifier
        self.quantifier = quantifier

    def _solver(self, rates: Floats) -> TableSolver:
        raise NotImplementedError

    def _learn(self, reference: Reference) -> TableModel:
        shares = learn_shares(self.quantifier, reference)
        return _Leap(shares, self._solver(reference.rates))


@dataclass(frozen=True, eq=False)
class _Leap(TableModel):
    shares: Shares
    solver: TableSolver

    def tables(self, pool: Judged, samples: Samples) -> Floats:
        q = self.shares.of(pool, samples)
        predicted = samples.prevalence_of(pool.labels, q.shape[1])
        return self.solver(q, predicted)

    def cross_fitted(self) -> tuple[_Leap, _Leap]:
        of_new, of_reference = self.shares.cross_fitted()
        return replace(self, shares=of_new), replace(self, shares=of_reference)


class LEAP(_Equations):
    """As many linear equations as the table has cells, from rates, shares and predictions.

    Under prior shift the items of a class are predicted as those of the reference were (the
    rates), a quantifier tells the shares of the classes, and the share predicted as each
    class is seen. All classes but the first get the rows that rates and shares imply; the
    first gets what is left of the predictions, so that the result depends on which class is
    first in ``classes_``. Where something is left below 0, the equations are met as well as
    a table can, by least squares.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the model's scores; `KDEyML` by default.

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
        shift="prior",
        gives="table",
        needs="scores",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return Exact(rates)


class OLEAP(_Equations):
    """All the linear equations there are for the table, met as well as it can.

    The rates of every class, the shares of every class and of every prediction: more
    equations than cells, solved by least squares. No class is treated apart, unlike in
    `LEAP`.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the model's scores; `KDEyML` by default.

    Examples
    --------
    >>> import headcount as hc
    >>> scores, y = [0.1, 0.2, 0.6, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1, 1]
    >>> oleap = hc.accuracy.OLEAP(quantifier=hc.ACC()).fit_scores(scores, y)
    >>> oleap.predict_table_scores([0.1, 0.2, 0.9]).round(2)
    array([[0.67, 0.33],
           [0.  , 0.  ]])
    """

    info: ClassVar = AccuracyInfo(
        title="linear equations, all of them",
        shift="prior",
        gives="table",
        needs="scores",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return LeastSquaresTables(rates, every=True)


class SLEAP(_Equations):
    """The rates of the reference times the shares of the sample.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted; None if only its scores are used.
    quantifier : Quantifier, default=None
        Estimates the shares of the classes from the model's scores; `KDEyML` by default.

    Examples
    --------
    >>> import headcount as hc
    >>> scores, y = [0.1, 0.2, 0.6, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1, 1]
    >>> sleap = hc.accuracy.SLEAP(quantifier=hc.ACC()).fit_scores(scores, y)
    >>> sleap.predict_table_scores([0.1, 0.7, 0.9]).round(2)
    array([[0.  , 0.  ],
           [0.33, 0.67]])
    """

    info: ClassVar = AccuracyInfo(
        title="rates times shares",
        shift="prior",
        gives="table",
        needs="scores",
        reference=_REFERENCE,
    )

    def _solver(self, rates: Floats) -> TableSolver:
        return ByRows(rates)
