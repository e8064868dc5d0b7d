"""Methods that match the distribution of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headcount._parameters import check_choice, check_count, check_counts, check_not_negative
from headcount.quantify.aggregation import Aggregation, MedianOfHistograms, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import Histograms
from headcount.solve import DIVERGENCES, Divergence

__all__ = ["DM", "FMM", "DyS", "HDy"]


class DyS(Quantifier):
    """Match the histogram of the positive score by a divergence; two classes.

    Bins have equal width on [0, 1] and are not smoothed. The best share is found
    exactly, not on a grid.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bins : int, default=8
        Bins of the histogram.
    divergence : {"topsoe", "hellinger", "probsymm", "l1", "l2"}, default="topsoe"
        What is minimised.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import DyS
    >>> X, y = make_classification(400, random_state=0)
    >>> DyS(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="histogram matching, two classes",
        family="distribution matching",
        input="posteriors",
        multiclass="one-vs-rest",
        shift="prior",
        reference="Maletzke et al., AAAI 2019",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        bins: int = 8,
        divergence: str = "topsoe",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bins = bins
        self.divergence = divergence
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        divergence = check_choice("divergence", self.divergence, DIVERGENCES)
        return Moments(Histograms(bins, every_class=False), Divergence(divergence))


class HDy(Quantifier):
    """Match histograms of the positive score by Hellinger distance; two classes.

    One estimate for each number of bins, and their median.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bins : sequence of int, default=(8,)
        Numbers of bins. With a single one there is no median to take. The authors used
        ``range(10, 111, 10)``, which needs thousands of training items.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import HDy
    >>> X, y = make_classification(400, random_state=0)
    >>> HDy(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="Hellinger distance between score histograms",
        family="distribution matching",
        input="posteriors",
        multiclass="one-vs-rest",
        shift="prior",
        reference="González-Castro et al., Information Sciences 218 (2013)",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        bins: Sequence[int] = (8,),
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bins = bins
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        return MedianOfHistograms(check_counts("bins", self.bins, 2), Divergence("hellinger"))


class DM(Quantifier):
    """Match the histograms of the posteriors of all classes at once.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bins : int, default=8
        Bins of each histogram, of equal width on [0, 1], not smoothed.
    divergence : {"hellinger", "topsoe", "probsymm", "l1", "l2"}, default="hellinger"
        What is minimised, summed over the histograms.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the divergence (not "l1"); classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import DM
    >>> X, y = load_iris(return_X_y=True)
    >>> DM(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="histogram matching, any number of classes",
        family="distribution matching",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Firat, arXiv:1606.00868 (2016); Bunse & Morik, LQ workshop (2022)",
        aliases=("DMy",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        bins: int = 8,
        divergence: str = "hellinger",
        smoothness: float = 0.0,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bins = bins
        self.divergence = divergence
        self.smoothness = smoothness
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        divergence = check_choice("divergence", self.divergence, DIVERGENCES)
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Moments(Histograms(bins), Divergence(divergence, smoothness=smoothness))


class FMM(Quantifier):
    """Mixture model on distribution functions: match the score's by absolute difference.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    levels : int, default=100
        Points at which the distribution functions are compared.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import FMM
    >>> X, y = make_classification(400, random_state=0)
    >>> FMM(random_state=0).fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="Forman's mixture model",
        family="distribution matching",
        input="posteriors",
        multiclass="one-vs-rest",
        shift="prior",
        reference="Forman, ECML 2005",
        aliases=("MM",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        levels: int = 100,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.levels = levels
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        levels = (check_count("levels", self.levels, 2),)
        running = Histograms(levels, every_class=False, cumulative=True)
        return Moments(running, Divergence("l1"))
