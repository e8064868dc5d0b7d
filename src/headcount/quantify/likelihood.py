"""Maximum likelihood from posteriors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import (
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
)
from headcount.errors import HeadcountError, warn
from headcount.quantify.aggregation import Aggregation, Mixture
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import Training
from headcount.scores import CALIBRATIONS, fit_calibrator
from headcount.solve import ExpectationMaximisation, MaximumLikelihood

__all__ = ["SLD", "RegularizedLikelihood"]

# Tolerance of each rule for stopping, unless one is given.
_TOLERANCES = {"noise": 0.07, "converged": 1e-10, "classic": 1e-4, "norm": 1e-6}
_CLASSIC_STEPS = 12


class SLD(Quantifier):
    """Maximum likelihood of the shares given a classifier's posteriors (EMQ).

    Posteriors divided by the shares they refer to are likelihoods of the classes.
    Expectation maximisation goes from the training shares towards the shares under which the
    sample is likeliest. By default it stops before it fits the noise.

    With a calibration, the posteriors refer to the mean calibrated posterior of the training
    items. It equals the training shares for "bcts" and "vs", but not for the others.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors ought to be calibrated.
    calibration : {None, "platt", "isotonic", "ts", "bcts", "vs", "nbvs"}, default=None
        Recalibrate the posteriors, learnt on out-of-fold ones.
    stop : {"noise", "converged", "classic", "norm"}, default="noise"
        When to stop. "converged" is the maximum itself, found exactly. The others run
        expectation maximisation from the training shares and stop early, which draws the
        answer towards these where the likelihood is flat. "classic" stops when the mean
        absolute change is below ``tol`` (1e-4) after at least 12 steps, as published results
        did. "noise" stops sooner if there are few items: with n in the sample and m in
        training, the tolerance is ``tol`` (0.07) times 1/n + 1/m, but at least 1e-4. "norm"
        stops when the Euclidean norm of the change is below ``tol`` (1e-6).
    tol : float or None, default=None
        Tolerance of the rule. None is the one named above, and for "converged" 1e-10,
        the largest distance of the mean log-likelihood from its maximum.
    max_iter : int, default=1000
        The most steps taken.
    cv : int or splitter, default=5
        Folds for scoring the training items, if there is a calibration to learn.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import SLD
    >>> X, y = load_iris(return_X_y=True)
    >>> SLD().fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="maximum likelihood from posteriors",
        family="maximum likelihood",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Saerens, Latinne & Decaestecker, Neural Computation 14 (2002)",
        scoring="classifier",
        aliases=("EMQ", "EM"),
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        calibration: str | None = None,
        stop: str = "noise",
        tol: float | None = None,
        max_iter: int = 1000,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.calibration = calibration
        self.stop = stop
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.random_state = random_state

    def _learns_from_scores(self) -> bool:
        return self.calibration is not None

    def _aggregation(self) -> Aggregation:
        ratios = PosteriorRatios.checked(self.calibration, self.classifier)
        rule = check_choice("stop", self.stop, tuple(_TOLERANCES))
        tol = _TOLERANCES[rule] if self.tol is None else check_positive("tol", self.tol)
        max_iter = check_count("max_iter", self.max_iter)
        if rule == "converged":
            return Mixture(ratios, MaximumLikelihood(tol, max_iter))
        if rule == "norm":
            return Mixture(ratios, ExpectationMaximisation(tol, True, 1, max_iter))
        classic = ExpectationMaximisation(
            _TOLERANCES["classic"], by_norm=False, min_iter=_CLASSIC_STEPS, max_iter=max_iter
        )
        if rule == "classic":
            return Mixture(ratios, replace(classic, tol=tol))
        return _NoiseStoppedMixture(ratios, replace(classic, noise=tol))


@dataclass(frozen=True, eq=False)
class _NoiseStoppedMixture(Mixture):
    """Mixture whose solver stops the sooner, the smaller the training set is."""

    solver: ExpectationMaximisation

    def fit(self, training: Training) -> Self:
        """Learn the likelihoods and the size of the training set."""
        solver = replace(self.solver, n_training=training.effective_size)
        return replace(super().fit(training), solver=solver)


class RegularizedLikelihood(Quantifier):
    """Maximum likelihood with a belief about the shares: smooth, flat, or a Dirichlet prior.

    Minimises over the simplex, exactly::

        - mean_i log(R_i . p)  +  tau0/2 sum_j (p_{j+1} - p_j)^2
        + tau1/2 sum_j (p_{j-1} - 2 p_j + p_{j+1})^2  -  1/n sum_j (a_j - 1) log p_j

    where R_i are the posteriors of item i over the training shares, n the number of items in
    the sample and a the `concentration`. Without a belief it is `SLD` with
    ``stop="converged"``.

    The sums over tau0 and tau1 are for ordered classes. The order is that of ``classes_``,
    the sorted labels: name classes whose order is another by numbers, or pass ``classes`` to
    `fit_scores`. For classes without an order set both to 0 and choose a `concentration`.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors ought to be calibrated.
    calibration : {None, "platt", "isotonic", "ts", "bcts", "vs", "nbvs"}, default=None
        Recalibrate the posteriors, learnt on out-of-fold ones.
    tau0 : float, default=0.0
        How firmly to expect neighbouring classes to have equal shares.
    tau1 : float, default=0.001
        How firmly to expect the shares to follow a straight line along the classes. The
        default is what the method was entered with for the ordinal task of LeQua 2024; two
        classes always are on a line.
    concentration : float or array-like of shape (K,), default=1.0
        Parameters of the Dirichlet prior, at least 1: as if a_j - 1 more items, certainly of
        class j, had been in the sample. 1 is no prior.
    tol : float, default=1e-10
        The largest distance of what is minimised from its minimum.
    max_iter : int, default=1000
        The most steps taken.
    cv : int or splitter, default=5
        Folds for scoring the training items, if there is a calibration to learn.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import RegularizedLikelihood
    >>> X, y = load_iris(return_X_y=True)
    >>> quantifier = RegularizedLikelihood(tau1=0, concentration=2).fit(X[::2], y[::2])
    >>> quantifier.predict(X[75:125]).round(2)
    array([0.02, 0.5 , 0.48])
    """

    info: ClassVar = MethodInfo(
        title="maximum likelihood with a prior belief",
        family="maximum likelihood",
        input="posteriors",
        multiclass="native",
        shift="prior",
        reference="Lotz & Bunse, LQ workshop (2024)",
        scoring="classifier",
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        calibration: str | None = None,
        tau0: float = 0.0,
        tau1: float = 1e-3,
        concentration: Any = 1.0,
        tol: float = 1e-10,
        max_iter: int = 1000,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.calibration = calibration
        self.tau0 = tau0
        self.tau1 = tau1
        self.concentration = concentration
        self.tol = tol
        self.max_iter = max_iter
        self.cv = cv
        self.random_state = random_state

    def _learns_from_scores(self) -> bool:
        return self.calibration is not None

    def _aggregation(self) -> Aggregation:
        solver = MaximumLikelihood(
            check_positive("tol", self.tol),
            check_count("max_iter", self.max_iter),
            smoothness=check_not_negative("tau1", self.tau1),
            flatness=check_not_negative("tau0", self.tau0),
            concentration=_check_concentration(self.concentration),
        )
        ratios = PosteriorRatios.checked(self.calibration, self.classifier)
        return _DirichletMixture(ratios, solver)


@dataclass(frozen=True, eq=False)
class _DirichletMixture(Mixture):
    """Mixture with a Dirichlet prior of the shares."""

    solver: MaximumLikelihood

    def fit(self, training: Training) -> Self:
        """Learn the likelihoods, if the prior is about as many classes as there are."""
        given = np.size(self.solver.concentration)
        if given not in (1, training.n_classes):
            raise HeadcountError(
                f"concentration has {given} values, but there are {training.n_classes} "
                "classes: pass one number, or one per class."
            )
        return super().fit(training)


def _check_concentration(value: Any) -> float | NDArray[np.float64]:
    try:
        numbers = np.asarray(value)
    except ValueError:  # rows of different lengths
        numbers = np.array(None)
    numeric = numbers.dtype.kind in "iuf" and numbers.ndim <= 1 and numbers.size > 0
    if not numeric or not np.all((numbers >= 1) & (numbers < np.inf)):
        raise HeadcountError(
            f"concentration is {value!r}; it must be a finite number of at least 1, or one "
            "such number a class, as below 1 there is no single best answer."
        )
    return numbers.astype(np.float64) if numbers.ndim else float(numbers)


@dataclass(frozen=True, eq=False)
class PosteriorRatios:
    """Posteriors over the shares they refer to: likelihoods of the classes.

    These shares are those of the training set, or the mean of the calibrated posteriors of
    its items: a calibration without free biases changes the mean.

    Parameters
    ----------
    calibration : str or None
        How posteriors are recalibrated first.
    """

    calibration: str | None = None
    calibrator: Any = None
    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @classmethod
    def checked(cls, calibration: Any, classifier: Any) -> PosteriorRatios:
        """For posteriors of a classifier, which are warned of if they need a calibration."""
        if calibration is not None:
            check_choice("calibration", calibration, CALIBRATIONS)
        elif _reweights_classes(classifier):
            warn(
                "classifier has a class_weight, so its posteriors do not refer to the shares "
                "of the training set: set calibration, for instance to 'bcts', or drop the "
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
        # A class whose posteriors are all zero to the last digit has no mean to divide by.
        prior = np.where(mean > 0, mean, training.prior)
        return replace(self, calibrator=calibrator, prior=prior)

    def ratios(self, items: NDArray[Any]) -> NDArray[np.float64]:
        """Likelihood of each item under each class, each row up to a factor of its own."""
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
