"""Methods that count without a correction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Floats, Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_choice, check_count, check_fraction, check_share
from headcount.errors import HeadcountError
from headcount.items.arrays import Verdicts, check_scores, encode_labels
from headcount.parts.aggregation import Aggregation, Counting, Moments
from headcount.parts.classifier_outputs import (
    AbovePrior,
    AtThreshold,
    Posterior,
    PredictedClass,
)
from headcount.parts.fitted import Input, MethodInfo
from headcount.parts.solvers import SOLUTIONS, AdjustedCount, LeastSquares, Solution
from headcount.parts.training import Reduced, Reduction, Training
from headcount.quantifiers.base import (
    AggregativeQuantifier,
    Quantifier,
    WithSmoothness,
    quantifier_class,
)


@quantifier_class
class MLPE(Quantifier):
    """Shares of the training set for every sample: unbiased if nothing has shifted.

    The baseline to compare methods with.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount import MLPE
    >>> MLPE().fit(np.zeros((4, 1)), ["a", "b", "b", "b"]).predict(np.zeros((9, 1)))
    array([0.25, 0.75])
    """

    info: ClassVar = MethodInfo(
        title="training shares",
        family="baseline",
        input="features",
        shift="none",
        reference="folklore",
        inconsistency="does not use the sample",
    )

    def _aggregation(self) -> Aggregation:
        return _TrainingShares()


@dataclass(frozen=True, eq=False)
class _TrainingShares(Aggregation):
    """The training shares for every sample."""

    prior: Floats = field(default_factory=lambda: np.empty(0))

    def fit(self, training: Training) -> _TrainingShares:
        return _TrainingShares(training.prior)

    def reduction(self) -> tuple[Reduction, ...]:
        return ()

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        return Solution.closed_form(np.tile(self.prior, (len(sizes), 1)))


@quantifier_class
class CC(AggregativeQuantifier):
    """Classify and count: the share of items that the classifier puts in each class.

    Biased as soon as the shares differ from those in training. It is a baseline, and useful
    with classifiers trained for quantification.

    Parameters
    ----------
    threshold : float or None, default=None
        Of two classes, count the items whose posterior of the second class is at least so
        high. None counts what the classifier predicts.
    """

    info: ClassVar = MethodInfo(
        title="classify and count",
        family="counting",
        input="labels",
        shift="none",
        reference="Forman, Data Mining and Knowledge Discovery 17 (2008)",
        inconsistency="counts the errors of the classifier",
    )
    threshold: float | None = None

    def _learns_from_scores(self) -> bool:
        return False

    def _takes(self) -> Input:
        return "labels" if self.threshold is None else "posteriors"

    def _aggregation(self) -> Aggregation:
        if self.threshold is None:
            return Counting(PredictedClass())
        return Counting(
            AtThreshold("fixed", threshold=check_fraction("threshold", self.threshold))
        )


@quantifier_class
class PCC(AggregativeQuantifier):
    """Probabilistic classify and count: the mean posterior of each class.

    Unbiased under pure covariate shift with a calibrated classifier, biased towards the
    training shares under prior shift.
    """

    info: ClassVar = MethodInfo(
        title="probabilistic classify and count",
        family="counting",
        shift="covariate",
        reference="Bella et al., ICDM 2010",
        inconsistency="posteriors refer to the training shares",
        aliases=("PA",),
    )

    def _learns_from_scores(self) -> bool:
        return False

    def _aggregation(self) -> Aggregation:
        return Counting(Posterior())


@quantifier_class
class ACC(AggregativeQuantifier):
    """Adjusted classify and count.

    With two classes (count - fpr) / (tpr - fpr), clipped to [0, 1], or the plain count if
    the rates are equal. With more classes, the shares on the simplex that best explain the
    counts, by least squares (the same as `GAC`).

    Parameters
    ----------
    solution : {"least-squares", "clip", "project"}, default="least-squares"
        For more than two classes: "clip" and "project" solve the equations exactly, then set
        negative shares to zero and divide by the sum, or take the nearest shares.
    """

    info: ClassVar = MethodInfo(
        title="adjusted classify and count",
        family="adjusted count",
        input="labels",
        reference="Forman, Data Mining and Knowledge Discovery 17 (2008)",
        aliases=("AC",),
    )
    posterior_kind = "classes"
    solution: str = "least-squares"

    def _aggregation(self) -> Aggregation:
        solution = check_choice("solution", self.solution, SOLUTIONS)
        return Moments(PredictedClass(), AdjustedCount(solution))

    @classmethod
    def from_rates(
        cls,
        *,
        sensitivity: tuple[float, int],
        specificity: tuple[float, int],
        classes: ArrayLike,
    ) -> Self:
        """Fitted quantifier from published rates of a classifier of two classes.

        Parameters
        ----------
        sensitivity : tuple of float and int
            Share of the items of the second class that are classified correctly, and the
            number of items that it was measured on.
        specificity : tuple of float and int
            The same for the first class.
        classes : array-like of shape (2,)
            The first (negative) and the second (positive) class.

        Returns
        -------
        ACC
            Fitted. It takes `Verdicts`. Its intervals contain the noise of the rates.

        Examples
        --------
        >>> import headcount as hc
        >>> q = hc.ACC.from_rates(
        ...     sensitivity=(0.90, 200), specificity=(0.85, 300), classes=["ok", "bad"]
        ... )
        >>> q.predict(hc.Verdicts(["ok"] * 60 + ["bad"] * 40)).round(2)
        array([0.67, 0.33])
        """
        rates = {"sensitivity": sensitivity, "specificity": specificity}
        (tpr, n_positive), (tnr, n_negative) = (
            _check_rate(name, rate) for name, rate in rates.items()
        )
        table = [[tnr, 1 - tnr], [1 - tpr, tpr]]
        return _fitted_on_rates(cls(), table, [n_negative, n_positive], classes, 2)


@documented(ACC)
@quantifier_class
class PACC(AggregativeQuantifier):
    """Probabilistic adjusted classify and count: `ACC` with mean posteriors for counts.

    With two classes it is the ratio estimator of Vaz, Izbicki & Stern (Journal of Machine
    Learning Research 20, 2019), (mean g - E[g|0]) / (E[g|1] - E[g|0]), with the positive
    score as g.
    """

    info: ClassVar = MethodInfo(
        title="probabilistic adjusted classify and count",
        family="adjusted count",
        reference="Bella et al., ICDM 2010",
        aliases=("PAC", "SPA", "ratio estimator", "IR"),
    )
    posterior_kind = "scores"
    solution: str = "least-squares"

    def _aggregation(self) -> Aggregation:
        solution = check_choice("solution", self.solution, SOLUTIONS)
        return Moments(Posterior(), AdjustedCount(solution))


@quantifier_class
class GAC(WithSmoothness):
    """Generalised adjusted count: least squares on the simplex, for any number of classes."""

    info: ClassVar = MethodInfo(
        title="generalised adjusted count",
        family="adjusted count",
        input="labels",
        reference="Firat, arXiv:1606.00868 (2016)",
    )
    posterior_kind = "classes"

    def _aggregation(self) -> Aggregation:
        return Moments(PredictedClass(), LeastSquares(self._checked_smoothness()))

    @classmethod
    def from_rates(cls, rates: ArrayLike, sizes: ArrayLike, *, classes: ArrayLike) -> Self:
        """Fitted quantifier from a published table of a classifier's rates.

        Parameters
        ----------
        rates : array-like of shape (K, K)
            One row per true class: shares of its items that are classified as each class.
            Rows sum to 1.
        sizes : array-like of shape (K,)
            Number of items of each true class that the rates were measured on.
        classes : array-like of shape (K,)
            The classes, in the order of rows and columns.

        Returns
        -------
        GAC
            Fitted. It takes `Verdicts`. Its intervals contain the noise of the rates.

        Examples
        --------
        >>> import headcount as hc
        >>> rates = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.2, 0.8]]
        >>> q = hc.GAC.from_rates(rates, [200, 150, 100], classes=["bad", "fair", "good"])
        >>> q.predict(hc.Verdicts(["bad"] * 30 + ["fair"] * 40 + ["good"] * 30)).round(2)
        array([0.26, 0.45, 0.29])
        """
        return _fitted_on_rates(cls(), rates, sizes, classes, None)


@quantifier_class
class GPAC(WithSmoothness):
    """Generalised probabilistic adjusted count: `GAC` with mean posteriors for counts."""

    info: ClassVar = MethodInfo(
        title="generalised probabilistic adjusted count",
        family="adjusted count",
        reference="Firat, arXiv:1606.00868 (2016)",
    )
    posterior_kind = "scores"

    def _aggregation(self) -> Aggregation:
        return Moments(Posterior(), LeastSquares(self._checked_smoothness()))


@quantifier_class
class FM(WithSmoothness):
    """Friedman's method: counts of posteriors above the class's training share."""

    info: ClassVar = MethodInfo(
        title="Friedman's method",
        family="adjusted count",
        reference="Friedman, Class counts in future unlabeled samples (2014)",
    )

    def _aggregation(self) -> Aggregation:
        return Moments(AbovePrior(), LeastSquares(self._checked_smoothness()))


@quantifier_class
class DeBias(AggregativeQuantifier):
    """Friedman's de-biased mean of the posteriors, for posteriors that are calibrated.

    With two classes p + (mean score - p) / V, clipped to [0, 1], where p is the share of
    positives in training and V the mean of (score - p)^2 over training, divided by p (1 - p).
    It is `PACC` with the class means that calibrated posteriors imply,
    E[s_k|j] = p_k + E[(s_j - p_j)(s_k - p_k)] / p_j: labels are used for p alone. More classes
    are solved as in `GPAC`.
    """

    info: ClassVar = MethodInfo(
        title="Friedman's de-biased posteriors",
        family="adjusted count",
        reference="Friedman, Class counts in future unlabeled samples (2014)",
        aliases=("DB",),
    )

    def _aggregation(self) -> Aggregation:
        return _CalibratedMoments(Posterior(), AdjustedCount())


class _CalibratedMoments(Moments):
    """Class means of posteriors that are taken to be calibrated."""

    def fit(self, training: Training) -> Self:
        away = np.asarray(training.items, dtype=np.float64) - training.prior
        weights = np.ones(len(away)) if training.weights is None else training.weights
        shared = (away * weights[:, None]).T @ away / weights.sum()
        return replace(self, profiles=training.prior + shared / training.prior[:, None])


@quantifier_class
class SMM(AggregativeQuantifier):
    """Sample mean matching: the mean positive score against the classes' mean scores.

    Two classes; the same estimate as `PACC`.
    """

    info: ClassVar = MethodInfo(
        title="sample mean matching",
        family="distribution matching",
        multiclass="one-vs-rest",
        reference="Hassan et al., DSAA 2020",
    )

    def _aggregation(self) -> Aggregation:
        return Moments(Posterior(), AdjustedCount())


_Fitted = TypeVar("_Fitted", bound=Quantifier)


def _fitted_on_rates(
    quantifier: _Fitted, rates: Any, sizes: Any, classes: Any, n_classes: int | None
) -> _Fitted:
    """Fit on labelled verdicts with the given rates in each class."""
    names, _ = encode_labels(classes, name="classes", classes=classes)
    K = len(names)
    if n_classes is not None and n_classes != K:
        raise HeadcountError(f"classes has {K} entries; it must have {n_classes}.")
    table = check_scores(rates, K, name="rates")
    numbers = np.asarray(sizes)
    if table.shape != (K, K) or numbers.shape != (K,):
        raise HeadcountError(
            f"rates has the shape {table.shape} and sizes {numbers.shape}; with {K} classes "
            f"they must be ({K}, {K}) and ({K},)."
        )
    verdicts, y, weights = [], [], []
    for code, row in enumerate(table):
        n = check_count("sizes", numbers[code].item())
        counts = _rounded_counts(row * n, n)
        verdicts.append(np.repeat(np.arange(K), counts))
        y.append(np.full(n, code))
        # Rounded counts are not quite the published rates; weights make up for it.
        weights.append(np.repeat(row * n / np.maximum(counts, 1), counts))
    return quantifier.fit(
        Verdicts(names[np.concatenate(verdicts)], names),
        names[np.concatenate(y)],
        np.concatenate(weights),
    )


def _rounded_counts(expected: Floats, n: int) -> Ints:
    """Whole numbers near the expected ones that sum to n; at least 1 where any is expected."""
    counts = np.maximum(np.floor(expected + 1e-9), expected > 0).astype(np.int64)
    gap = n - int(counts.sum())
    if gap > 0:
        order = np.argsort(counts - expected, kind="stable")
        counts[order[:gap]] += 1
    elif gap < 0:
        counts[counts.argmax()] += gap
    return counts


def _check_rate(name: str, rate: Any) -> tuple[float, int]:
    """A rate and the number of items it was measured on, checked."""
    if not isinstance(rate, tuple | list) or len(rate) != 2:
        raise HeadcountError(
            f"{name} is {rate!r}; it must be a rate and the number of items that it was "
            "measured on, such as (0.9, 200)."
        )
    return check_share(f"the rate of {name}", rate[0]), check_count(f"n of {name}", rate[1])
