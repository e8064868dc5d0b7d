"""Methods that match by distances between items."""

from __future__ import annotations

from typing import Any, ClassVar

from headcount._parameters import check_not_negative
from headcount.quantify.aggregation import Aggregation, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import MeanDistance
from headcount.solve import EnergyDistance

__all__ = ["CvMy", "EDy"]


class EDy(Quantifier):
    """Least energy distance between the posteriors of the sample and of the mixture.

    Distances between posteriors are Manhattan distances: the same answers as Euclidean
    ones for two classes, and no pairs of items to go through for any number.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the energy distance; classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import EDy
    >>> X, y = load_iris(return_X_y=True)
    >>> EDy(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="energy distance of posteriors",
        family="distribution matching",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Kawakubo et al., IEICE Transactions E99.D (2016)",
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
        return Moments(MeanDistance(), EnergyDistance(smoothness))


class CvMy(Quantifier):
    """Least Cramér-von Mises distance between the posteriors of sample and mixture.

    The energy distance of ranks: posteriors are replaced by their rank among the
    training posteriors of the same class's column, distances are added over columns.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the distance; classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import CvMy
    >>> X, y = load_iris(return_X_y=True)
    >>> CvMy(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="Cramér-von Mises distance of posteriors",
        family="distribution matching",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Castaño et al., SoftwareX 26 (2024)",
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
        return Moments(MeanDistance(by_rank=True), EnergyDistance(smoothness))
