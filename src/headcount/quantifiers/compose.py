"""Methods from parts, without a class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

from headcount._support.documentation import documented
from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError
from headcount.parts.aggregation import (
    Aggregation,
    Likelihood,
    Mixture,
    MixtureSolver,
    Moments,
    MomentSolver,
    Representation,
)
from headcount.parts.binning import FeatureHistograms
from headcount.parts.classifier_outputs import Posterior, PredictedClass
from headcount.parts.distances import EuclideanDistance, ManhattanDistance
from headcount.parts.fitted import Input, MethodInfo
from headcount.parts.solvers import (
    AdjustedCount,
    CauchySchwarz,
    Divergence,
    EnergyDistance,
    ExpectationMaximisation,
    KernelDistance,
    LeastSquares,
    MaximumLikelihood,
)
from headcount.quantifiers.base import Quantifier

_INPUTS = ("posteriors", "labels", "features")
# Items that representations of the library take, if not posteriors.
_TAKEN: dict[type, Input] = {
    PredictedClass: "labels",
    FeatureHistograms: "features",
    EuclideanDistance: "features",
    ManhattanDistance: "features",
}
# Solvers of the library.
_OF_LIKELIHOODS = (ExpectationMaximisation, MaximumLikelihood)
_OF_MEANS = (
    *(AdjustedCount, CauchySchwarz, Divergence),
    *(EnergyDistance, KernelDistance, LeastSquares),
)


@documented(Quantifier)
@dataclass(eq=False, repr=False)
class Compose(Quantifier):
    """Method made of a representation and a solver.

    The representation turns items into vectors, and the solver finds the mixture of class
    means that is nearest to the mean vector of a sample: `Moments`. A likelihood instead of a
    representation turns items into likelihoods of the classes, and the solver finds the
    shares under which the sample is likeliest: `Mixture`. The parts are in
    `headcount.parts` and `headcount.parts`, or your own.

    Parameters
    ----------
    representation : Representation or Likelihood, default=None
        Object with ``fit`` and ``embed``, or a likelihood with ``fit``, ``ratios`` and
        ``smooth``. The posteriors by default.
    solver : MomentSolver or MixtureSolver, default=None
        Object with ``solve``: ``solve(profiles, seen)`` for a representation,
        ``solve(ratios, samples, prior)`` for a likelihood. Least squares by default.
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Not used if the input is features.
    input : {"posteriors", "labels", "features"} or None, default=None
        Items that the representation takes: outputs of the classifier, or features. By
        default what representations of the library take, and posteriors for others.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import Compose
    >>> from headcount.parts import Histograms
    >>> from headcount.parts import LeastSquares
    >>> X, y = load_iris(return_X_y=True)
    >>> q = Compose(Histograms((4, 8)), LeastSquares(), random_state=0)
    >>> q.fit(X[::2], y[::2]).predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="a representation and a solver of your choice",
        family="meta",
        input="any",
        reference="Firat, arXiv:1606.00868 (2016); Bunse & Morik, LQ workshop (2022)",
    )

    representation: Any = None
    solver: Any = None
    classifier: Any = None
    _: KW_ONLY
    input: str | None = None
    cv: Any = 5
    random_state: Any = None

    def _takes(self) -> Input:
        """Kind of items that the representation takes."""
        if self.input is None:
            return _TAKEN.get(type(self.representation), "posteriors")
        return cast(Input, check_choice("input", self.input, _INPUTS))

    def _aggregation(self) -> Aggregation:
        solver: Any = LeastSquares() if self.solver is None else self.solver
        is_solver = isinstance(solver, MomentSolver | MixtureSolver)
        if isinstance(solver, type) or not is_solver:
            raise HeadcountError(
                f"solver is {solver!r}; it must be an object with a method solve, such as "
                "LeastSquares() of headcount.parts."
            )
        representation: Any = (
            Posterior() if self.representation is None else self.representation
        )
        if isinstance(representation, Likelihood) and not isinstance(representation, type):
            if isinstance(solver, _OF_MEANS):
                raise _wrong_solver(solver, "means", representation, "MaximumLikelihood()")
            return Mixture(representation, solver)
        if isinstance(representation, type) or not isinstance(representation, Representation):
            raise HeadcountError(
                f"representation is {representation!r}; it must have methods fit and embed, or "
                "fit, ratios and smooth, such as Posterior() of headcount.parts."
            )
        if isinstance(solver, _OF_LIKELIHOODS):
            raise _wrong_solver(solver, "likelihoods", representation, "LeastSquares()")
        return Moments(representation, solver)


def _wrong_solver(
    solver: Any, input_kind: str, representation: Any, advice: str
) -> HeadcountError:
    return HeadcountError(
        f"solver is {type(solver).__name__}, which takes {input_kind}, and "
        f"{type(representation).__name__} does not return them: pass another solver, such as "
        f"{advice}."
    )
