"""Optimal transport of posteriors to classes with the shares of the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp, softmax

from headcount._support.arrays import Floats, Ints
from headcount._support.documentation import parametrised
from headcount._support.parameters import check_choice
from headcount.accuracy.base import Predictor, predictor_class
from headcount.accuracy.fitted import AccuracyModel, MetricModel
from headcount.accuracy.metrics import ModelOutputs, Reference, among
from headcount.errors import warn
from headcount.parts.fitted import MethodInfo
from headcount.samples.samples import Samples
from headcount.scores.calibration import CALIBRATIONS, Calibrator, fit_calibrator

# Widths of the smoothed maximum, from coarse to fine, and steps for each.
_WIDTHS, _MOST_STEPS, _MOST_HALVINGS = (0.1, 0.01, 0.001), 500, 30
# Error of the shares at which the steps end, and above which a warning is issued.
_TOLERANCE, _ACCEPTED = 1e-6, 1e-4
_SMALLEST = 1e-300
_REFERENCE = "Lu et al., NeurIPS 2023"


@parametrised
class _Transport(Predictor):
    """Base of methods that assign a class to each item, with given shares of the classes.

    Parameters
    ----------
    calibration : {"isotonic", "platt", "ts", "bcts", "vs", "nbvs", None}, default="ts"
        Calibration of the posteriors, fitted on the reference; None uses them as they are.
    """

    calibration: str | None = "ts"

    def _costs(self, reference: Reference) -> _Costs:
        present, calibrator = reference.present, None
        if self.calibration is not None:
            check_choice("calibration", self.calibration, CALIBRATIONS)
            if len(present) > 1:
                scored = reference.posteriors
                calibrator = fit_calibrator(self.calibration, scored.items, scored.codes)
        return _Costs(present, reference.prior[present], calibrator)


@predictor_class
class COT(_Transport):
    """Confidence optimal transport: the least cost of moving posteriors to classes.

    Each item is assigned to a class, so that the classes have their shares in the reference
    and the mean posterior of the assigned class is as high as possible: that is the predicted
    accuracy. Correct if the shares of the classes have not changed.
    """

    info: ClassVar = MethodInfo(
        title="optimal transport of posteriors to classes",
        family="transport",
        gives="accuracy",
        shift="covariate",
        reference=_REFERENCE,
    )

    def _learn(self, reference: Reference) -> MetricModel:
        return self._costs(reference)


@predictor_class
class COTT(_Transport):
    """Thresholded optimal transport: the share of items with a low cost of transport.

    Items are assigned to classes as in `COT`. The threshold of the cost is such that the share
    of the reference above it is the error on the reference.
    """

    info: ClassVar = MethodInfo(
        title="share of items with a low cost of transport",
        family="transport",
        gives="accuracy",
        shift="covariate",
        reference=_REFERENCE,
    )

    def _learn(self, reference: Reference) -> MetricModel:
        outputs, costs = reference.items, self._costs(reference)
        values = np.sort(costs.of_items(costs.posteriors(outputs)))
        errors = int((reference.codes != outputs.labels).sum())
        # Between two costs, so that as many items are above it as are wrong.
        places = len(values) - errors
        ends = np.concatenate([[values[0] - 1.0], values, [values[-1] + 1.0]])
        return _CheapShare(costs, float(ends[places : places + 2].mean()))


@dataclass(frozen=True, eq=False)
class _Costs(AccuracyModel):
    """Mean cost of transport to classes with the shares of the reference."""

    name: ClassVar[str] = "COT"
    present: Ints
    shares: Floats
    calibrator: Calibrator | None

    def posteriors(self, pool: ModelOutputs) -> Floats:
        """Calibrated posteriors of the classes of the reference."""
        scores = among(pool.posteriors, self.present)
        return scores if self.calibrator is None else self.calibrator.transform(scores)

    def of_items(self, P: Floats) -> Floats:
        """Cost of each item of a sample: 1 - posterior of the class that it is assigned to."""
        assigned = (P + class_prices(P, self.shares)).argmax(axis=1)
        return 1.0 - P[np.arange(len(P)), assigned]

    def of_sample(self, P: Floats) -> float:
        """Accuracy of a sample by its total cost."""
        prices = class_prices(P, self.shares)
        return float((P + prices).max(axis=1).mean() - self.shares @ prices)

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        P = self.posteriors(pool)
        return np.clip([self.of_sample(P[rows]) for rows in samples], 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class _CheapShare(AccuracyModel):
    """Share of items whose cost of transport is at most a threshold."""

    name: ClassVar[str] = "COTT"
    costs: _Costs
    threshold: float

    def solve(self, pool: ModelOutputs, samples: Samples) -> Floats:
        P = self.costs.posteriors(pool)
        shares = [np.mean(self.costs.of_items(P[rows]) <= self.threshold) for rows in samples]
        return np.asarray(shares, np.float64)


def class_prices(P: Any, shares: Floats) -> Floats:
    """Prices of the classes: items that take the class of highest value have the shares.

    The value of a class for an item is its posterior plus the price. Prices minimise the mean
    highest value minus the mean price, the dual problem of optimal transport; two classes are
    solved by a quantile, more by Newton's method with a smoothed maximum. A warning is issued
    if the shares are not reached.
    """
    n, K = P.shape
    if K == 1:
        return np.zeros(1)
    if K == 2:
        gaps = np.sort(P[:, 0] - P[:, 1])
        place = min(max(round(n * shares[1]), 0), n)
        ends = np.concatenate([[gaps[0] - 1.0], gaps, [gaps[-1] + 1.0]])
        return np.array([0.0, ends[place : place + 2].mean()])
    prices = np.zeros(K)
    for width in _WIDTHS:
        prices, off = _smoothed_prices(P, shares, prices, width)
    if off > _ACCEPTED:
        warn(
            f"the shares of the classes to which items are transported are off by {off:.2g} "
            f"after {_MOST_STEPS} steps: the predicted accuracy may be off by as much."
        )
    return np.asarray(prices - prices.mean())


def _smoothed_prices(
    P: Floats, shares: Floats, prices: Floats, width: float
) -> tuple[Floats, float]:
    """Prices that minimise the smoothed problem, and the error of the shares that they give.

    Newton's method, with a descent condition. Where it is flat, as a class has hardly any
    item, prices are moved by the logarithms of the ratios of the shares instead, which never
    makes the problem worse (one round of Sinkhorn's algorithm).
    """
    n, K = P.shape
    for _ in range(_MOST_STEPS):
        assigned = softmax((P + prices) / width, axis=1)
        means = assigned.mean(axis=0)
        slope = means - shares
        if np.abs(slope).max() < _TOLERANCE:
            break
        moved = None
        if (means > shares / 2).all():
            curvature = (np.diag(means) - assigned.T @ assigned / n) / width
            curvature += (1e-9 + 1e-6 * np.trace(curvature)) * np.eye(K)
            moved = _newton_step(P, shares, prices, slope, curvature, width)
        if moved is None:
            moved = prices + width * np.log(shares / np.maximum(means, _SMALLEST))
        prices = moved
    return prices, float(np.abs(slope).max())


def _newton_step(
    P: Floats, shares: Floats, prices: Floats, slope: Floats, curvature: Floats, width: float
) -> Floats | None:
    """Prices after a Newton step, halved until the problem improves; None if it does not."""

    def height(at: Floats) -> float:
        top = width * logsumexp((P + at) / width, axis=1)
        return float(top.mean() - shares @ at)

    step = np.linalg.solve(curvature, slope)
    before, scale = height(prices), min(1.0, 1.0 / max(np.abs(step).max(), _SMALLEST))
    for _ in range(_MOST_HALVINGS):
        moved = prices - scale * step
        if height(moved) <= before - 1e-4 * scale * (slope @ step):
            return np.asarray(moved)
        scale /= 2
    return None
