"""Maximum likelihood from posteriors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count, check_positive
from headcount.errors import warn
from headcount.quantify.aggregation import Aggregation, Mixture
from headcount.quantify.base import Quantifier
from headcount.quantify.info import MethodInfo
from headcount.representation import Training
from headcount.scores import CALIBRATIONS, fit_calibrator
from headcount.solve import ExpectationMaximisation, MaximumLikelihood

__all__ = ["SLD"]

_RULES = ("converged", "classic", "norm")


class SLD(Quantifier):
    """Maximum likelihood of the shares given a classifier's posteriors (EMQ).

    Posteriors divided by the training shares are likelihoods of the classes; the shares
    under which the sample is likeliest are found exactly.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors ought to be calibrated.
    calibration : {None, "platt", "isotonic", "ts", "bcts", "vs", "nbvs"}, default=None
        Recalibrate the posteriors, learnt on out-of-fold ones.
    stop : {"converged", "classic", "norm"}, default="converged"
        "converged" is the maximum itself. The others run expectation maximisation from
        the training shares and stop early, as published results did: "classic" when the
        mean absolute change is below ``tol`` (1e-4) after at least 12 steps, "norm" when
        the Euclidean norm of the change is below ``tol`` (1e-6).
    tol : float or None, default=None
        The rule's tolerance; None is the one named above, and for "converged" 1e-10,
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
    )

    def __init__(
        self,
        classifier: Any = None,
        *,
        calibration: str | None = None,
        stop: str = "converged",
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
        if self.calibration is not None:
            check_choice("calibration", self.calibration, CALIBRATIONS)
        elif _reweights_classes(self.classifier):
            warn(
                "classifier has a class_weight, so its posteriors do not refer to the shares "
                "of the training set: set calibration, for instance to 'bcts', or drop the "
                "weights."
            )
        rule = check_choice("stop", self.stop, _RULES)
        default = {"converged": 1e-10, "classic": 1e-4, "norm": 1e-6}[rule]
        tol = default if self.tol is None else check_positive("tol", self.tol)
        max_iter = check_count("max_iter", self.max_iter)
        return Mixture(PosteriorRatios(self.calibration), _Rule(rule, tol, max_iter))


@dataclass(frozen=True)
class _Rule:
    """Makes the solver once the training shares are known."""

    name: str
    tol: float
    max_iter: int

    def __call__(
        self, prior: NDArray[np.float64]
    ) -> MaximumLikelihood | ExpectationMaximisation:
        if self.name == "converged":
            return MaximumLikelihood(self.tol, self.max_iter)
        by_norm = self.name == "norm"
        least = 1 if by_norm else 12
        return ExpectationMaximisation(prior, self.tol, by_norm, least, self.max_iter)


@dataclass(frozen=True, eq=False)
class PosteriorRatios:
    """Posteriors over training shares: likelihoods of the classes.

    Parameters
    ----------
    calibration : str or None
        How posteriors are recalibrated first.
    """

    calibration: str | None = None
    calibrator: Any = None
    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> PosteriorRatios:
        """Learn the training shares and the calibration."""
        if self.calibration is None:
            return replace(self, prior=training.prior)
        assert training.items is not None
        calibrator = fit_calibrator(
            self.calibration, training.items, training.codes, training.weights
        )
        return replace(self, calibrator=calibrator, prior=training.prior)

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
