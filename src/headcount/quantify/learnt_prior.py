"""Maximum likelihood from posteriors with a prior whose strength is learnt from the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from headcount._parameters import check_count, check_positive
from headcount.quantify.aggregation import Aggregation, Mixture
from headcount.quantify.info import MethodInfo
from headcount.quantify.likelihood import WithCalibration
from headcount.sampling import Samples
from headcount.solve import MaximumLikelihood, Solution

__all__ = ["HierarchicalLikelihood"]

Floats = NDArray[np.float64]

# Strengths of the prior that are compared, each twice the one before.
_STRENGTHS = 2.0 ** np.arange(13)


class HierarchicalLikelihood(WithCalibration):
    """Maximum likelihood with a Dirichlet prior whose strength is learnt from the sample.

    The shares of a sample are thought to be drawn from a Dirichlet distribution around the
    training shares m, with the parameters t m. For each strength t the mode of the posterior
    is found exactly, and the likelihood of the sample with the shares integrated out
    (Laplace's approximation, in log-ratio coordinates). The result is the mean of the modes,
    weighted by these likelihoods. A sample that is like the training set makes large strengths
    likely, and its shares stay near those of training. Another sample makes them unlikely. On
    real data (``benchmarks/results/frontier_priors.md``) errors are a third of those of `SLD`
    if nothing has changed, as large if a little has, and a tenth larger under large shift.

    FMAPLS also learns the parameters of the prior together with the shares. This is another
    derivation: only the strength is learnt, as the joint maximum over all parameters of the
    prior is unbounded.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors should be calibrated.
    calibration : {None, "platt", "isotonic", "ts", "bcts", "vs", "nbvs"}, default=None
        Method of recalibrating the posteriors, fitted on out-of-fold ones.
    tol : float, default=1e-10
        Largest distance of each mode from the maximum.
    max_iter : int, default=1000
        Largest number of steps for each mode.
    cv : int or splitter, default=5
        Folds for scoring the training items, if there is a calibration to learn.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import HierarchicalLikelihood
    >>> X, y = load_iris(return_X_y=True)
    >>> HierarchicalLikelihood().fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="maximum likelihood with a prior of learnt strength",
        family="maximum likelihood",
        reference="after Hu & Barria, arXiv 2511.18615 (2025)",
        scoring="classifier",
        inconsistency="draws the shares towards those of the training set",
        needs_overlap=True,
        depends_on_size=True,
        aliases=("FMAPLS",),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        calibration: str | None = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(classifier, cv=cv, random_state=random_state)
        self.calibration = calibration
        self.tol = tol
        self.max_iter = max_iter

    def _aggregation(self) -> Aggregation:
        solver = LearntStrength(
            check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        )
        return Mixture(self._ratios(), solver)


@dataclass(frozen=True)
class LearntStrength:
    """Mean of the modes under Dirichlet priors of different strength, by their likelihoods."""

    tol: float
    max_iter: int

    def solve(
        self,
        ratios: Floats,
        samples: Samples,
        prior: Floats,
        weights: Floats | None = None,
    ) -> Solution:
        """Shares for each sample.

        `ratios` has one row per item of the pool; `prior` holds the training shares.
        `weights` has one number per entry of ``samples.indices``.
        """
        solved = [
            MaximumLikelihood(self.tol, self.max_iter, concentration=1 + t * prior).solve(
                ratios, samples, prior, weights
            )
            for t in _STRENGTHS
        ]
        modes = np.stack([each.prevalence for each in solved], axis=1)
        evidence = np.empty(modes.shape[:2])
        for s in range(len(samples)):
            rows = slice(samples.offsets[s], samples.offsets[s + 1])
            mass = None if weights is None else weights[rows]
            own = ratios[samples.indices[rows]]
            evidence[s] = [
                _log_evidence(own, mass, samples.copies, t * prior, mode)
                for t, mode in zip(_STRENGTHS, modes[s], strict=True)
            ]
        shares = (softmax(evidence, axis=1)[:, :, None] * modes).sum(axis=1)
        return Solution(
            shares / shares.sum(axis=1, keepdims=True),
            np.all([each.converged for each in solved], axis=0),
            np.sum([each.iterations for each in solved], axis=0, dtype=np.int32),
            -evidence.max(axis=1) / samples.n_items,
        )


def _log_evidence(
    ratios: Floats, mass: Floats | None, copies: int, alpha: Floats, mode: Floats
) -> float:
    """Log-likelihood of a sample with the shares integrated out, up to a constant.

    `mode` maximises the posterior under a Dirichlet prior with parameters `alpha`, in
    coordinates whose volume element is the product of the shares. The constant is the same
    for all `alpha`.
    """
    count = np.full(len(ratios), 1.0) if mass is None else mass
    count = count / copies
    # An item that is impossible under every class has no influence.
    possible = ratios.any(axis=1)
    ratios, count = ratios[possible], count[possible]
    joint = ratios * mode
    mixed = np.maximum(joint.sum(axis=1), 1e-300)
    posteriors = joint / mixed[:, None]
    logs = np.log(np.maximum(mode, 1e-300))
    value = count @ np.log(mixed) + gammaln(alpha.sum()) - gammaln(alpha).sum() + alpha @ logs
    curvature = np.diag(alpha) + (posteriors * count[:, None]).T @ posteriors
    curvature -= (count.sum() + alpha.sum()) * np.outer(mode, mode)
    # Shares are determined by the differences of their logarithms.
    K = len(alpha)
    contrasts = np.eye(K)[:, 1:] - 1 / (K + np.sqrt(K))
    contrasts[0] = -1 / np.sqrt(K)
    values = np.linalg.eigvalsh(contrasts.T @ curvature @ contrasts)
    return float(value - np.log(np.maximum(values, 1e-12)).sum() / 2)
