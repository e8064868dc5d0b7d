"""Methods for ordered classes: star ratings, grades, stages.

Shares of neighbouring classes rarely alternate. Each method adds a penalty on bends of the
shares, smoothness/2 sum_j (p_{j-1} - 2 p_j + p_{j+1})^2, to the objective of the method it is
named after. Two classes have no bends.
"""

from __future__ import annotations

from typing import Any, ClassVar

from headcount._parameters import check_not_negative
from headcount.quantify.adjusted import GAC, GPAC
from headcount.quantify.aggregation import Aggregation, Mixture
from headcount.quantify.info import MethodInfo
from headcount.quantify.likelihood import WithCalibration
from headcount.solve import MaximumLikelihood

__all__ = ["OrdinalACC", "OrdinalPACC", "OrdinalSLD"]

_REFERENCE = "Bunse, Moreo, Sebastiani & Senz, Data Mining and Knowledge Discovery 38 (2024)"


class OrdinalACC(GAC):
    """Adjusted classify and count for ordered classes (o-ACC).

    `GAC` with another default of `smoothness`. The order is that of ``classes_``, the sorted
    labels. If the names sort in another order, number the classes, or pass `Scored` items
    with ``classes`` in their order.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.01
        Weight of the penalty on deviations of the shares from a straight line along the
        classes. On simulated ratings with smooth shares the default reduced the error by up
        to a half, most in small samples and with poor classifiers. Jagged shares in large
        samples need less.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import OrdinalACC
    >>> X, y = load_iris(return_X_y=True)
    >>> OrdinalACC(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="adjusted count of ordered classes",
        family="ordinal",
        input="labels",
        reference=_REFERENCE,
        aliases=("o-ACC",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        smoothness: float = 1e-2,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, smoothness=smoothness, cv=cv, random_state=random_state)


class OrdinalPACC(GPAC):
    """Probabilistic adjusted classify and count for ordered classes (o-PACC).

    `GPAC` with another default of `smoothness`. The order is that of ``classes_``, the sorted
    labels. If the names sort in another order, number the classes, or pass `Scored` items
    with ``classes`` in their order.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.001
        Weight of the penalty on deviations of the shares from a straight line along the
        classes. Less than for `OrdinalACC`, as mean posteriors vary less than counts do.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import OrdinalPACC
    >>> X, y = load_iris(return_X_y=True)
    >>> OrdinalPACC(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="probabilistic adjusted count of ordered classes",
        family="ordinal",
        reference=_REFERENCE,
        aliases=("o-PACC",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        smoothness: float = 1e-3,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, smoothness=smoothness, cv=cv, random_state=random_state)


class OrdinalSLD(WithCalibration):
    """Maximum likelihood from posteriors for ordered classes (o-SLD).

    The shares p on the simplex that minimise the mean negative log-likelihood of `SLD` plus
    smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2; the same as `RegularizedLikelihood` with
    that `smoothness`. The minimum is reached exactly. (The original smooths the shares between
    the steps of expectation maximisation instead.)

    The order is that of ``classes_``, the sorted labels. If the names sort in another order,
    number the classes, or pass `Scored` items with ``classes`` in their order.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors should be calibrated.
    calibration : {None, "platt", "isotonic", "ts", "bcts", "vs", "nbvs"}, default=None
        Method of recalibrating the posteriors, fitted on out-of-fold ones.
    smoothness : float, default=0.01
        Weight of the penalty on deviations of the shares from a straight line along the
        classes.
    cv : int or splitter, default=5
        Folds for scoring the training items, if there is a calibration to learn.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import OrdinalSLD
    >>> X, y = load_iris(return_X_y=True)
    >>> OrdinalSLD().fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="maximum likelihood of ordered classes",
        family="ordinal",
        reference=_REFERENCE,
        aliases=("o-SLD",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        calibration: str | None = None,
        smoothness: float = 1e-2,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.calibration = calibration
        self.smoothness = smoothness

    def _aggregation(self) -> Aggregation:
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Mixture(self._ratios(), MaximumLikelihood(smoothness=smoothness))
