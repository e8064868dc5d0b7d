"""Methods built on kernel densities of the posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_bandwidth, check_count, check_not_negative
from headcount.quantify.aggregation import Aggregation, Mixture, Moments
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import ClassDensities, KernelMeans, MixturePoints, Training
from headcount.sampling._streams import base_seeds
from headcount.solve import CauchySchwarz, Divergence, KernelDistance, MaximumLikelihood

__all__ = ["KMM", "KDEyCS", "KDEyHD", "KDEyML"]

_KDEY = "Moreo, González & del Coz, Machine Learning 114 (2025)"


def _info(title: str, family: str = "kernel density", reference: str = _KDEY) -> MethodInfo:
    return MethodInfo(
        title=title,
        family=family,
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference=reference,
    )


class KDEyML(Quantifier):
    """Maximum likelihood of a mixture of kernel densities of the posteriors.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bandwidth : float, default=0.1
        Standard deviation of the Gaussian kernel.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyML
    >>> X, y = load_iris(return_X_y=True)
    >>> KDEyML(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = _info("kernel densities, maximum likelihood")

    def __init__(
        self,
        classifier: Any = None,
        *,
        bandwidth: float = 0.1,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bandwidth = bandwidth
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        densities = _Densities(check_bandwidth(self.bandwidth))
        return Mixture(densities, MaximumLikelihood())


@dataclass(frozen=True, eq=False)
class _Densities:
    """Kernel densities of the classes as likelihoods."""

    bandwidth: float
    fitted: ClassDensities | None = None

    def fit(self, training: Training) -> _Densities:
        return _Densities(self.bandwidth, ClassDensities.of(training, self.bandwidth))

    def ratios(self, items: NDArray[Any]) -> NDArray[np.float64]:
        assert self.fitted is not None
        return self.fitted.ratios(items)


class KDEyHD(Quantifier):
    """Least Hellinger distance between the kernel densities of sample and mixture.

    The distance is an integral over the space of posteriors. With two classes it is
    computed to 1e-8 on a grid; with more, by importance sampling at points
    drawn once from the classes' densities.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bandwidth : float, default=0.1
        Standard deviation of the Gaussian kernel.
    n_points : int, default=10000
        Points drawn, if there are more than two classes.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds and draws the points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyHD
    >>> X, y = load_iris(return_X_y=True)
    >>> KDEyHD(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = _info("kernel densities, Hellinger distance")

    def __init__(
        self,
        classifier: Any = None,
        *,
        bandwidth: float = 0.1,
        n_points: int = 10_000,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bandwidth = bandwidth
        self.n_points = n_points
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        points = MixturePoints(
            check_bandwidth(self.bandwidth),
            check_count("n_points", self.n_points),
            base_seeds(self.random_state, 1)[0],
        )
        return Moments(points, Divergence("hellinger"))


class KDEyCS(Quantifier):
    """Least Cauchy-Schwarz divergence between the kernel densities of sample and mixture.

    Its integrals have a closed form, so it is exact for any number of classes.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bandwidth : float, default=0.1
        Standard deviation of the Gaussian kernel.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyCS
    >>> X, y = load_iris(return_X_y=True)
    >>> KDEyCS(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = _info("kernel densities, Cauchy-Schwarz divergence")

    def __init__(
        self,
        classifier: Any = None,
        *,
        bandwidth: float = 0.1,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bandwidth = bandwidth
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        # The integral of the product of two kernels is a kernel of twice the variance.
        wider = np.sqrt(2) * check_bandwidth(self.bandwidth)
        return Moments(KernelMeans(float(wider)), CauchySchwarz())


class KMM(Quantifier):
    """Kernel mean matching of the posteriors: least maximum mean discrepancy.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bandwidth : float, default=0.2
        Standard deviation of the Gaussian kernel.
    smoothness : float, default=0.0
        For ordered classes: smoothness/2 sum (p_{j-1} - 2 p_j + p_{j+1})^2 is added to
        the squared discrepancy; classes have the order of ``classes_``.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KMM
    >>> X, y = load_iris(return_X_y=True)
    >>> KMM(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = _info(
        "kernel mean matching", "distribution matching", "Iyer et al., ICML 2014"
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        bandwidth: float = 0.2,
        smoothness: float = 0.0,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.bandwidth = bandwidth
        self.smoothness = smoothness
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        bandwidth = check_bandwidth(self.bandwidth)
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Moments(KernelMeans(bandwidth), KernelDistance(smoothness))
