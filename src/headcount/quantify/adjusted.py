"""Methods that correct a count by the rates at which the classifier errs."""

from __future__ import annotations

from typing import Any, ClassVar

from headcount._parameters import check_not_negative
from headcount.quantify.aggregation import Aggregation, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import AbovePrior, Posterior, PredictedClass
from headcount.solve import AdjustedCount, LeastSquares

__all__ = ["ACC", "FM", "GAC", "GPAC", "PACC", "SMM"]


class ACC(Quantifier):
    """Adjusted classify and count.

    With two classes (count - fpr) / (tpr - fpr), clipped to [0, 1], or the plain count
    if the classifier cannot tell the classes apart; with more, the shares on the simplex
    that best explain the counts, by least squares (the same as `GAC`).

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import ACC
    >>> X, y = make_classification(400, random_state=0)
    >>> ACC(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="adjusted classify and count",
        family="adjusted count",
        input="labels",
        multiclass="native",
        shift="prior",
        reference="Forman, Data Mining and Knowledge Discovery 17 (2008)",
        aliases=("AC",),
    )

    def _aggregation(self) -> Aggregation:
        return Moments(PredictedClass(), AdjustedCount())


class PACC(Quantifier):
    """Probabilistic adjusted classify and count: `ACC` with mean posteriors for counts.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import PACC
    >>> X, y = make_classification(400, random_state=0)
    >>> PACC(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="probabilistic adjusted classify and count",
        family="adjusted count",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Bella et al., ICDM 2010",
        aliases=("PAC", "SPA"),
    )

    def _aggregation(self) -> Aggregation:
        return Moments(Posterior(), AdjustedCount())


class GAC(Quantifier):
    """Generalised adjusted count: least squares on the simplex, for any number of classes.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the sum of squares; classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import GAC
    >>> X, y = make_classification(400, random_state=0)
    >>> GAC(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="generalised adjusted count",
        family="adjusted count",
        input="labels",
        multiclass="native",
        shift="prior",
        reference="Firat, arXiv:1606.00868 (2016)",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        smoothness: float = 0.0,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.smoothness = smoothness
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Moments(PredictedClass(), LeastSquares(smoothness))


class GPAC(Quantifier):
    """Generalised probabilistic adjusted count: `GAC` with mean posteriors for counts.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the sum of squares; classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import GPAC
    >>> X, y = make_classification(400, random_state=0)
    >>> GPAC(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="generalised probabilistic adjusted count",
        family="adjusted count",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Firat, arXiv:1606.00868 (2016)",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        smoothness: float = 0.0,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.smoothness = smoothness
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Moments(Posterior(), LeastSquares(smoothness))


class FM(Quantifier):
    """Friedman's method: counts of posteriors above the class's training share.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the sum of squares; classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import FM
    >>> X, y = make_classification(400, random_state=0)
    >>> FM(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="Friedman's method",
        family="adjusted count",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Friedman, Class counts in future unlabeled samples (2014)",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        smoothness: float = 0.0,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.smoothness = smoothness
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Moments(AbovePrior(), LeastSquares(smoothness))


class SMM(Quantifier):
    """Sample mean matching: the mean positive score against the classes' mean scores.

    Two classes; the same estimate as `PACC`.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import SMM
    >>> X, y = make_classification(400, random_state=0)
    >>> SMM(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="sample mean matching",
        family="distribution matching",
        input="posteriors",
        multiclass="one-vs-rest",
        shift="prior",
        reference="Hassan et al., DSAA 2020",
    )

    def _aggregation(self) -> Aggregation:
        return Moments(Posterior(), AdjustedCount())
