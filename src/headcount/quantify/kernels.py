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


class _WithBandwidth(Quantifier):
    """Base of methods with a Gaussian kernel on the posteriors."""

    def __init__(
        self,
        classifier: Any = None,
        *,
        bandwidth: float = 0.1,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.bandwidth = bandwidth

    def _checked_bandwidth(self) -> float:
        return check_bandwidth(self.bandwidth)


class KDEyML(_WithBandwidth):
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
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyML
    >>> X, y = load_iris(return_X_y=True)
    >>> KDEyML(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="kernel densities, maximum likelihood",
        family="kernel density",
        reference=_KDEY,
        inconsistency="smooths the classes but not the sample",
    )

    def _aggregation(self) -> Aggregation:
        return Mixture(_Densities(self._checked_bandwidth()), MaximumLikelihood())


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


class KDEyHD(_WithBandwidth):
    """Least Hellinger distance between the kernel densities of sample and mixture.

    The distance is an integral over the space of posteriors. With two classes it is
    computed to 1e-8 on a grid. With more classes it is estimated by importance sampling, at
    points drawn once from the densities of the classes.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    bandwidth : float, default=0.1
        Standard deviation of the Gaussian kernel.
    n_points : int, default=10000
        Number of points drawn, if there are more than two classes.
    cv : int or splitter, default=5
        Folds for scoring the training items.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds and of the points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyHD
    >>> X, y = load_iris(return_X_y=True)
    >>> KDEyHD(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="kernel densities, Hellinger distance", family="kernel density", reference=_KDEY
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        bandwidth: float = 0.1,
        n_points: int = 10_000,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, bandwidth=bandwidth, cv=cv, random_state=random_state)
        self.n_points = n_points

    def _aggregation(self) -> Aggregation:
        points = MixturePoints(
            self._checked_bandwidth(),
            check_count("n_points", self.n_points),
            base_seeds(self.random_state, 1)[0],
        )
        return Moments(points, Divergence("hellinger"))


class KDEyCS(_WithBandwidth):
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
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KDEyCS
    >>> X, y = load_iris(return_X_y=True)
    >>> KDEyCS(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="kernel densities, Cauchy-Schwarz divergence",
        family="kernel density",
        reference=_KDEY,
    )

    def _aggregation(self) -> Aggregation:
        # The integral of the product of two kernels is a kernel of twice the variance.
        wider = np.sqrt(2) * self._checked_bandwidth()
        return Moments(KernelMeans(float(wider)), CauchySchwarz())


class KMM(_WithBandwidth):
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
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import KMM
    >>> X, y = load_iris(return_X_y=True)
    >>> KMM(random_state=0).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="kernel mean matching",
        family="distribution matching",
        reference="Iyer et al., ICML 2014",
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
        super().__init__(classifier, bandwidth=bandwidth, cv=cv, random_state=random_state)
        self.smoothness = smoothness

    def _aggregation(self) -> Aggregation:
        smoothness = check_not_negative("smoothness", self.smoothness)
        return Moments(KernelMeans(self._checked_bandwidth()), KernelDistance(smoothness))
