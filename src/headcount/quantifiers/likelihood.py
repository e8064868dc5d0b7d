"""Maximum likelihood from posteriors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, softmax

from headcount._support.arrays import Array, Floats
from headcount._support.documentation import parametrised
from headcount._support.parameters import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
)
from headcount.errors import HeadcountError, warn
from headcount.parts.aggregation import Aggregation, Mixture, NoiseStoppedMixture
from headcount.parts.fitted import MethodInfo
from headcount.parts.solvers import ExpectationMaximisation, MaximumLikelihood, Solution
from headcount.parts.training import Training
from headcount.quantifiers.base import AggregativeQuantifier, quantifier_class
from headcount.samples.samples import Samples
from headcount.scores.calibration import CALIBRATIONS, fit_calibrator

# Default tolerance of each rule for stopping.
_TOLERANCES = {"noise": 0.4, "converged": 1e-10, "classic": 1e-4, "norm": 1e-6}


@parametrised
class WithCalibration(AggregativeQuantifier):
    """Base of methods on the likelihoods that posteriors imply.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors should be calibrated.
    cv : int, splitter, list of splits or None, default=5
        Folds for scoring the training items, if there is a calibration to learn.
    calibration : {None, "auto", "ts", "bcts", "vs", "nbvs", "platt", "isotonic"}, default=None
        Method of recalibrating the posteriors, fitted on out-of-fold ones. "auto" lies between
        "ts" and "vs": nearer to "ts" where few items say that classes differ. "vs-centred" and
        "nbvs-centred" subtract the mean of an item's log-posteriors first.
    """

    calibration: str | None = None

    def _learns_from_scores(self) -> bool:
        return self.calibration is not None

    def _ratios(self) -> PosteriorRatios:
        return PosteriorRatios.checked(self.calibration, self.classifier)


@quantifier_class
class SLD(WithCalibration):
    """Maximum likelihood of the shares given a classifier's posteriors (EMQ).

    Posteriors divided by the shares they refer to are likelihoods of the classes.
    Expectation maximisation starts at the training shares and moves towards the shares under
    which the sample is likeliest. By default it stops before it fits the noise.

    Calibrated posteriors refer to the mean calibrated posterior of the training items. It
    equals the training shares for calibrations with biases ("bcts", "vs"), but not for
    others. Without a calibration the classifier is not cross-fitted, which saves most of the
    time of `fit`.

    Parameters
    ----------
    stop : {"noise", "converged", "classic", "norm"}, default="noise"
        Rule for stopping. "converged" is the maximum itself, found exactly. The others run
        expectation maximisation from the training shares and stop early, which keeps the
        result near these where the likelihood is flat. "classic" stops when the mean absolute
        change is below ``tol`` (1e-4) after at least 12 steps, as in published results.
        "noise" stops sooner if there are few items: with n in the sample and m in training,
        the tolerance is ``tol`` (0.4) times 1/n + 1/m, but at least 1e-4. Only a part of the
        last step is taken, so that the result depends continuously on the items; relative
        errors in `evaluate` are those of shares nearer to the maximum. "norm" stops when the
        Euclidean norm of the change is below ``tol`` (1e-6).
    tol : float or None, default=None
        Tolerance of the rule. None is the one named above, and for "converged" 1e-10,
        the largest distance of the mean log-likelihood from its maximum.
    max_iter : int, default=1000
        Largest number of steps.
    """

    info: ClassVar = MethodInfo(
        title="maximum likelihood from posteriors",
        family="maximum likelihood",
        reference="Saerens, Latinne & Decaestecker, Neural Computation 14 (2002)",
        scoring="classifier",
        inconsistency="stops before the maximum of the likelihood",
        depends_on_size=True,
        aliases=("EMQ", "EM"),
    )
    posterior_kind = "likelihood"
    calibration: str | None = "auto"
    stop: str = "noise"
    tol: float | None = None
    max_iter: int = 1000

    def _aggregation(self) -> Aggregation:
        ratios = self._ratios()
        rule = check_choice("stop", self.stop, tuple(_TOLERANCES))
        tol = _TOLERANCES[rule] if self.tol is None else check_positive("tol", self.tol)
        max_iter = check_count("max_iter", self.max_iter)
        if rule == "converged":
            return Mixture(ratios, MaximumLikelihood(tol, max_iter))
        if rule == "norm":
            return Mixture(ratios, ExpectationMaximisation(tol, True, 1, max_iter))
        if rule == "classic":
            return Mixture(ratios, ExpectationMaximisation.classic(max_iter, tol=tol))
        return NoiseStoppedMixture(
            ratios, ExpectationMaximisation.classic(max_iter, noise=tol, partial=True)
        )


@quantifier_class
class RegularizedLikelihood(WithCalibration):
    """Maximum likelihood with penalties on uneven shares, or with a Dirichlet prior.

    Minimises over the simplex, exactly::

        - mean_i log(R_i . p)  +  flatness/2 sum_j (p_{j+1} - p_j)^2
        + smoothness/2 sum_j (p_{j-1} - 2 p_j + p_{j+1})^2  -  1/n sum_j (a_j - 1) log p_j

    where R_i are the posteriors of item i divided by the training shares, n the number of
    items in the sample and a the `concentration`. With neither it is `SLD` with
    ``stop="converged"``.

    `flatness` and `smoothness` are for ordered classes. The order is that of ``classes_``, the
    sorted labels. If the names sort in another order, number the classes, or pass `Scored`
    items with ``classes`` in their order. For classes without an order set both to 0 and
    choose a `concentration`: this is the maximum a posteriori estimate of Ye et al. (MAPLS,
    WACV 2024). Draws of the whole posterior are returned by ``SLD().estimate(X, posterior=True,
    prior=concentration)``.

    Parameters
    ----------
    flatness : float, default=0.0
        Weight of the penalty on differences between the shares of neighbouring classes.
    smoothness : float, default=0.001
        Weight of the penalty on deviations from a straight line along the classes. The
        default is that of the entry to the ordinal task of LeQua 2024. It has no effect on
        two classes.
    concentration : float or array-like of shape (K,), default=1.0
        Parameters of the Dirichlet prior, at least 1: as if a_j - 1 more items, certainly of
        class j, had been in the sample. 1 means no prior.
    tol : float, default=1e-10
        Largest distance of the objective from its minimum.
    max_iter : int, default=1000
        Largest number of steps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import RegularizedLikelihood
    >>> X, y = load_iris(return_X_y=True)
    >>> quantifier = RegularizedLikelihood(smoothness=0, concentration=2).fit(X[::2], y[::2])
    >>> quantifier.predict(X[75:125]).round(2)
    array([0.02, 0.5 , 0.48])
    """

    info: ClassVar = MethodInfo(
        title="maximum likelihood with penalties or a prior",
        family="maximum likelihood",
        reference="Lotz & Bunse, LQ workshop (2024)",
        scoring="classifier",
        aliases=("MAPLS",),
    )
    flatness: float = 0.0
    smoothness: float = 1e-3
    concentration: Any = 1.0
    tol: float = 1e-10
    max_iter: int = 1000

    def _aggregation(self) -> Aggregation:
        solver = MaximumLikelihood(
            check_positive("tol", self.tol),
            check_count("max_iter", self.max_iter),
            smoothness=check_not_negative("smoothness", self.smoothness),
            flatness=check_not_negative("flatness", self.flatness),
            concentration=_check_concentration(self.concentration),
        )
        return _DirichletMixture(self._ratios(), solver)


@dataclass(frozen=True, eq=False)
class _DirichletMixture(Mixture):
    """Mixture with a Dirichlet prior of the shares."""

    solver: MaximumLikelihood

    def fit(self, training: Training) -> Self:
        """Learn the likelihoods, if the prior is about as many classes as there are."""
        n_values = np.size(self.solver.concentration)
        if n_values not in (1, training.n_classes):
            raise HeadcountError(
                f"concentration has {n_values} values, but there are {training.n_classes} "
                "classes: pass one number, or one per class."
            )
        return super().fit(training)


def _check_concentration(value: Any) -> float | Floats:
    try:
        numbers = np.asarray(value)
    except ValueError:  # rows of different lengths
        numbers = np.array(None)
    numeric = numbers.dtype.kind in "iuf" and numbers.ndim <= 1 and numbers.size > 0
    if not numeric or not np.all((numbers >= 1) & (numbers < np.inf)):
        raise HeadcountError(
            f"concentration is {value!r}; it must be a finite number of at least 1, or one "
            "such number per class, as below 1 there is no single best solution."
        )
    return numbers.astype(np.float64) if numbers.ndim else float(numbers)


@dataclass(frozen=True, eq=False)
class PosteriorRatios:
    """Posteriors divided by the shares they refer to: likelihoods of the classes.

    These shares are those of the training set, or the mean of the calibrated posteriors of
    its items: a calibration without free biases changes the mean.
    """

    calibration: str | None = None
    calibrator: Any = None
    prior: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def checked(cls, calibration: Any, classifier: Any) -> PosteriorRatios:
        """Check the calibration; warn if the classifier's posteriors need one."""
        if calibration is not None:
            check_choice("calibration", calibration, CALIBRATIONS)
        elif _reweights_classes(classifier):
            warn(
                "classifier has a class_weight, so its posteriors do not refer to the shares "
                "of the training set: set calibration, for instance to 'auto', or drop the "
                "weights."
            )
        return cls(calibration)

    def fit(self, training: Training) -> PosteriorRatios:
        """Learn the calibration and the shares that posteriors refer to."""
        if self.calibration is None:
            return replace(self, prior=training.prior)
        assert training.items is not None
        calibrator = fit_calibrator(
            self.calibration, training.items, training.codes, training.weights
        )
        calibrated = calibrator.transform(training.items)
        mean = np.average(calibrated, axis=0, weights=training.weights)
        # A class whose posteriors are all zero has no mean to divide by.
        prior = np.where(mean > 0, mean, training.prior)
        return replace(self, calibrator=calibrator, prior=prior)

    @property
    def smooth(self) -> bool:
        """False for isotonic calibration, which has steps."""
        return self.calibration != "isotonic"

    def ratios(self, items: Array) -> Floats:
        """Likelihood of each item under each class, each row up to its own factor."""
        if self.calibrator is not None:
            items = self.calibrator.transform(items)
        return np.asarray(items / self.prior, dtype=np.float64)


def _reweights_classes(classifier: Any) -> bool:
    if not hasattr(classifier, "get_params"):
        return False
    return any(
        name.split("__")[-1] == "class_weight" and value is not None
        for name, value in classifier.get_params().items()
    )


# Strengths of the prior that are compared, each twice the one before.
_STRENGTHS = 2.0 ** np.arange(13)


@quantifier_class
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
    tol : float, default=1e-10
        Largest distance of each mode from the maximum.
    max_iter : int, default=1000
        Largest number of steps for each mode.
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
    tol: float = 1e-10
    max_iter: int = 1000

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
        self, ratios: Floats, samples: Samples, prior: Floats, weights: Floats | None = None
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
        modes = np.stack([solution.prevalence for solution in solved], axis=1)
        evidence = np.empty(modes.shape[:2])
        for s in range(len(samples)):
            rows = slice(samples.offsets[s], samples.offsets[s + 1])
            mass = None if weights is None else weights[rows]
            sample_ratios = ratios[samples.indices[rows]]
            evidence[s] = [
                _log_evidence(sample_ratios, mass, samples.copies, t * prior, mode)
                for t, mode in zip(_STRENGTHS, modes[s], strict=True)
            ]
        shares = (softmax(evidence, axis=1)[:, :, None] * modes).sum(axis=1)
        return Solution(
            shares / shares.sum(axis=1, keepdims=True),
            np.all([solution.converged for solution in solved], axis=0),
            np.sum([solution.iterations for solution in solved], axis=0, dtype=np.int32),
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
