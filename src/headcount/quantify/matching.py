"""Methods that match the distribution of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headcount._parameters import check_choice, check_count, check_counts, check_flag
from headcount.quantify.aggregation import Aggregation, MedianOfHistograms, Moments
from headcount.quantify.base import AggregativeQuantifier
from headcount.quantify.info import MethodInfo
from headcount.quantify.smoothness import WithSmoothness
from headcount.representation import Histograms, MeanDistance
from headcount.solve import DIVERGENCES, Divergence, EnergyDistance


@dataclass(eq=False, repr=False, kw_only=True)
class DyS(AggregativeQuantifier):
    """Match the histogram of the positive score by a divergence; two classes.

    Bins have equal width on [0, 1] and are not smoothed. The best share is found
    exactly, not on a grid.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    bins : int, default=12
        Number of bins of the histogram.
    balanced : bool, default=True
        Rescale the scores to what they would be if both classes had been equally common in
        training, so that bins differ for rare classes too. False takes the scores as they
        are, as in published results.
    divergence : {"topsoe", "hellinger", "probsymm", "l1", "l2"}, default="topsoe"
        Divergence to minimise.

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
        multiclass="one-vs-rest",
        reference="Maletzke et al., AAAI 2019",
    )
    posterior_kind = "scores"
    bins: int = 12
    balanced: bool = True
    divergence: str = "topsoe"

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        divergence = check_choice("divergence", self.divergence, DIVERGENCES)
        histograms = Histograms(
            bins, every_class=False, balanced=check_flag("balanced", self.balanced)
        )
        return Moments(histograms, Divergence(divergence))


@dataclass(eq=False, repr=False, kw_only=True)
class HDy(AggregativeQuantifier):
    """Match histograms of the positive score by Hellinger distance; two classes.

    The median of the estimates for several numbers of bins.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    bins : sequence of int, default=(12,)
        Numbers of bins, one histogram for each. The authors used ``range(10, 111, 10)``,
        which needs thousands of training items.
    balanced : bool, default=True
        Rescale the scores to what they would be if both classes had been equally common in
        training, so that bins differ for rare classes too. False takes the scores as they
        are, as in published results.

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
        multiclass="one-vs-rest",
        reference="González-Castro et al., Information Sciences 218 (2013)",
    )
    posterior_kind = "scores"
    bins: Sequence[int] = (12,)
    balanced: bool = True

    def _aggregation(self) -> Aggregation:
        bins = check_counts("bins", self.bins, 2)
        histograms = Histograms(
            bins, every_class=False, balanced=check_flag("balanced", self.balanced)
        )
        return MedianOfHistograms(histograms, Divergence("hellinger"))


@dataclass(eq=False, repr=False, kw_only=True)
class DM(WithSmoothness):
    """Match the histograms of the posteriors of all classes at once.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    bins : int, default=8
        Number of bins of each histogram, of equal width on [0, 1], not smoothed.
    divergence : {"hellinger", "topsoe", "probsymm", "l1", "l2"}, default="hellinger"
        Divergence to minimise, summed over the histograms.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the divergence (not "l1"); classes have the order of ``classes_``.

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
        reference="Firat, arXiv:1606.00868 (2016); Bunse & Morik, LQ workshop (2022)",
        aliases=("DMy",),
    )
    bins: int = 8
    divergence: str = "hellinger"

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        divergence = check_choice("divergence", self.divergence, DIVERGENCES)
        smoothness = self._checked_smoothness()
        return Moments(Histograms(bins), Divergence(divergence, smoothness=smoothness))


@dataclass(eq=False, repr=False, kw_only=True)
class FMM(AggregativeQuantifier):
    """Forman's mixture model: match the distribution function of the positive score.

    Two classes. The sum of absolute differences is minimised.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    bins : int, default=100
        Number of bins of equal width on [0, 1], at whose ends the distribution functions are
        compared.

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
        multiclass="one-vs-rest",
        reference="Forman, ECML 2005",
        aliases=("MM",),
    )
    bins: int = 100

    def _aggregation(self) -> Aggregation:
        bins = (check_count("bins", self.bins, 2),)
        cumulative = Histograms(bins, every_class=False, cumulative=True)
        return Moments(cumulative, Divergence("l1"))


class EDy(WithSmoothness):
    """Least energy distance between the posteriors of the sample and of the mixture.

    Distances between posteriors are Manhattan distances. With two classes the estimates are
    those of Euclidean distances. For any number of classes they are computed by sorting,
    without visiting pairs of items.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the energy distance; classes have the order of ``classes_``.

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
        reference="Kawakubo et al., IEICE Transactions E99.D (2016)",
    )

    def _aggregation(self) -> Aggregation:
        return Moments(MeanDistance(), EnergyDistance(self._checked_smoothness()))


class CvMy(WithSmoothness):
    """Least Cramér-von Mises distance between the posteriors of sample and mixture.

    The energy distance of ranks: each posterior is replaced by its rank among the training
    posteriors of the same class, and distances are summed over the classes.

    Parameters
    ----------
    classifier, cv, random_state
        As for `Quantifier`.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the distance; classes have the order of ``classes_``.

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
        reference="Castaño et al., SoftwareX 26 (2024)",
    )

    def _aggregation(self) -> Aggregation:
        distance = EnergyDistance(self._checked_smoothness())
        return Moments(MeanDistance(by_rank=True), distance)
