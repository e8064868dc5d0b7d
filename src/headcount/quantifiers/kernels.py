"""Methods built on kernels of the posteriors, or of the features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from headcount._support.arrays import Array, Floats
from headcount._support.documentation import documented, parametrised
from headcount._support.execution import base_seeds
from headcount._support.parameters import (
    check_bandwidth,
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
    check_share,
)
from headcount.errors import HeadcountError
from headcount.parts.aggregation import Aggregation, Mixture, Moments, NoiseStoppedMixture
from headcount.parts.classifier_outputs import InLogRatios, largest_log_ratio
from headcount.parts.distances import FourierFeatures
from headcount.parts.fitted import MethodInfo
from headcount.parts.kernel_density import ClassDensities, KernelMeans, MixturePoints
from headcount.parts.solvers import (
    CauchySchwarz,
    Divergence,
    ExpectationMaximisation,
    KernelDistance,
    LeastSquares,
    MaximumLikelihood,
)
from headcount.parts.training import Training
from headcount.quantifiers.base import (
    AggregativeQuantifier,
    Quantifier,
    WithSmoothness,
    quantifier_class,
)

_KDEY = "Moreo, González & del Coz, Machine Learning 114 (2025)"


@parametrised
class _WithBandwidth(AggregativeQuantifier):
    """Base of methods with a Gaussian kernel on the posteriors.

    Parameters
    ----------
    bandwidth : float, default=0.1
        Standard deviation of the Gaussian kernel.
    """

    bandwidth: float = 0.1

    def _checked_bandwidth(self) -> float:
        return check_bandwidth(self.bandwidth)


@parametrised
class _KDEy(_WithBandwidth):
    """Base of methods with kernel densities of the posteriors, or of their log-ratios.

    Parameters
    ----------
    bandwidth : float, default=0.1
        Standard deviation of the kernel. Log-ratios lie farther apart than posteriors: try
        0.3 for them.
    kernel : {"gaussian", "aitchison", "ilr"}, default="gaussian"
        Gaussian kernel on the posteriors, or on their centred ("aitchison") or isometric
        ("ilr") log-ratios. The last two are the same, as distances between both are equal.
    shrinkage : float, default=0.0
        For kernels on log-ratios: part of the way, below 1, that posteriors are moved towards
        equal ones first; `bandwidth` is reduced by the same part.
    """

    kernel: str = "gaussian"
    shrinkage: float = 0.0

    def _checked_kernel(self) -> tuple[bool, float]:
        """True for a kernel on log-ratios, and the shrinkage."""
        kernel = check_choice("kernel", self.kernel, ("gaussian", "aitchison", "ilr"))
        shrinkage = check_share("shrinkage", self.shrinkage)
        if shrinkage == 1 or (shrinkage and kernel == "gaussian"):
            raise HeadcountError(
                f"shrinkage is {self.shrinkage!r} with the kernel {kernel!r}; it must be below "
                "1, and 0 for the kernel 'gaussian': choose kernel='aitchison', or drop it."
            )
        return kernel != "gaussian", shrinkage

    def _checked_bandwidth(self) -> float:
        # Shrinking brings log-ratios closer together.
        return super()._checked_bandwidth() * (1 - self._checked_kernel()[1])

    def _of_scores(self, likelihood: Any) -> Any:
        """A likelihood or representation on posteriors, or on their log-ratios."""
        on_logs, shrinkage = self._checked_kernel()
        return InLogRatios(likelihood, shrinkage) if on_logs else likelihood


@quantifier_class
class KDEyML(_KDEy):
    """Maximum likelihood of a mixture of kernel densities of the posteriors.

    Kernel densities of classes that are alike hardly determine the shares. By default
    expectation maximisation starts at the training shares and stops before it fits the noise.

    Parameters
    ----------
    stop : {"noise", "converged"}, default="noise"
        Rule for stopping. "converged" is the maximum itself, found exactly, as in published
        results. "noise" stops when the mean absolute change is below 1/n + 1/m, with n items
        in the sample and m in training, after at least 12 steps. Only a part of the last step
        is taken, so that the result depends continuously on the items. Relative errors in
        `evaluate` are those of shares nearer to the maximum.
    """

    info: ClassVar = MethodInfo(
        title="kernel densities, maximum likelihood",
        family="kernel density",
        reference=_KDEY,
        scoring="classifier",
        inconsistency="smooths the classes but not the sample",
        depends_on_size=True,
    )
    posterior_kind = "likelihood"
    stop: str = "noise"

    def _aggregation(self) -> Aggregation:
        densities = self._of_scores(_Densities(self._checked_bandwidth()))
        if check_choice("stop", self.stop, ("noise", "converged")) == "converged":
            return Mixture(densities, MaximumLikelihood())
        return NoiseStoppedMixture(
            densities, ExpectationMaximisation.classic(noise=1.0, partial=True)
        )


@dataclass(frozen=True, eq=False)
class _Densities:
    """Kernel densities of the classes as likelihoods."""

    bandwidth: float
    fitted: ClassDensities | None = None

    @property
    def smooth(self) -> bool:
        """True: a kernel is wide compared with a cell."""
        return True

    def fit(self, training: Training) -> _Densities:
        return _Densities(self.bandwidth, ClassDensities.of(training, self.bandwidth))

    def ratios(self, items: Array) -> Floats:
        assert self.fitted is not None
        return self.fitted.ratios(items)

    def ratios_without(self, training: Training) -> Floats:
        assert self.fitted is not None
        return self.fitted.ratios_without(training)


@quantifier_class
class KDEyHD(_KDEy):
    """Least Hellinger distance between the kernel densities of sample and mixture.

    The distance is an integral over the space of posteriors. With two classes it is
    computed to 1e-8 on a grid. With more classes it is estimated by importance sampling, at
    points drawn once from the densities of the classes.

    Parameters
    ----------
    n_points : int, default=10000
        Number of points drawn, by `random_state`, if there are more than two classes.
    """

    info: ClassVar = MethodInfo(
        title="kernel densities, Hellinger distance", family="kernel density", reference=_KDEY
    )
    n_points: int = 10_000

    def _aggregation(self) -> Aggregation:
        points = MixturePoints(
            self._checked_bandwidth(),
            check_count("n_points", self.n_points),
            base_seeds(self.random_state, 1)[0],
        )
        on_logs, shrinkage = self._checked_kernel()
        if on_logs:
            end = largest_log_ratio(2, shrinkage)
            points = replace(points, line=((end, -end), (-end, end)))
        return Moments(self._of_scores(points), Divergence("hellinger"))


@quantifier_class
class KDEyCS(_KDEy):
    """Least Cauchy-Schwarz divergence between the kernel densities of sample and mixture.

    Its integrals have a closed form, so it is exact for any number of classes.
    """

    info: ClassVar = MethodInfo(
        title="kernel densities, Cauchy-Schwarz divergence",
        family="kernel density",
        reference=_KDEY,
    )

    def _aggregation(self) -> Aggregation:
        # The integral of the product of two kernels is a kernel of twice the variance.
        wider = np.sqrt(2) * self._checked_bandwidth()
        return Moments(self._of_scores(KernelMeans(float(wider))), CauchySchwarz())


@quantifier_class
class KMM(WithSmoothness, _WithBandwidth):
    """Kernel mean matching of the posteriors: least maximum mean discrepancy."""

    info: ClassVar = MethodInfo(
        title="kernel mean matching",
        family="distribution matching",
        reference="Iyer et al., ICML 2014",
    )
    bandwidth: float = 0.2

    def _aggregation(self) -> Aggregation:
        solver = KernelDistance(self._checked_smoothness())
        return Moments(KernelMeans(self._checked_bandwidth()), solver)


@documented(WithSmoothness)
@quantifier_class
class KMMx(Quantifier):
    """Kernel mean matching of the features, by random Fourier features; no classifier.

    Parameters
    ----------
    n_projections : int, default=500
        Number of random projections. The kernel is approximated to about one over its root.
    bandwidth : float or None, default=None
        Standard deviation of the Gaussian kernel. None is the root of the sum of the
        variances of the training features. Features should have comparable scales.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the projections.
    """

    info: ClassVar = MethodInfo(
        title="kernel mean matching of features",
        family="distribution matching",
        input="features",
        reference="Iyer et al., ICML 2014; Rahimi & Recht, NIPS 2007",
    )
    n_projections: int = 500
    bandwidth: float | None = None
    smoothness: float = 0.0
    random_state: Any = None

    def _aggregation(self) -> Aggregation:
        bandwidth = self.bandwidth
        waves = FourierFeatures(
            check_count("n_projections", self.n_projections),
            None if bandwidth is None else check_positive("bandwidth", bandwidth),
            base_seeds(self.random_state, 1)[0],
        )
        return Moments(waves, LeastSquares(check_not_negative("smoothness", self.smoothness)))
