"""Calibration of posteriors, learnt from out-of-fold posteriors and labels.

Class k of item i gets the logit ``slope_k * x_ik + bias_k``, where x_ik is the logarithm of its
posterior, and softmax makes posteriors of the logits. Slopes that differ by class multiply what
is common to an item's logarithms too, unless these are centred: their mean subtracted.

The weighted mean log-loss is convex in slopes and biases. A ridge far too weak to be seen pulls
towards the identity (slopes 1, biases 0): what the data leave open, such as a constant added to
all biases, is thus settled the same way for every class, and the fit stays finite where
perfectly separated classes would send it to infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, cho_factor, cho_solve
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression

from headcount._support.arrays import Floats, Ints, divided_by_sums
from headcount.errors import HeadcountError, warn
from headcount.items.arrays import as_numbers, check_scores, check_weights

_RIDGE = 1e-9
_MAX_STEPS = 200
_MIN_DECREASE = 1e-14


@dataclass(frozen=True)
class Scaling:
    """Slopes and biases of the logits, one per class."""

    slopes: Floats
    biases: Floats

    def posteriors(self, values: Floats) -> Floats:
        """Turn values, one column per class, into posteriors."""
        return softmax(values * self.slopes + self.biases, axis=1)


@dataclass(frozen=True)
class _LogLoss:
    """Mean log-loss as a function of the free parameters; ``tie @ free`` are all 2K.

    ``targets`` are class probabilities and the positive ``weights`` sum to 1. ``ridge`` pulls
    each free parameter towards that of the identity.
    """

    values: Floats
    targets: Floats
    weights: Floats
    tie: Floats
    identity: Floats
    ridge: Floats

    def logits(self, free: Floats) -> Floats:
        slopes, biases = np.split(self.tie @ free, 2)
        return self.values * slopes + biases

    def at(self, free: Floats) -> tuple[float, Floats]:
        """Loss with the ridge, and the posteriors."""
        logits = self.logits(free)
        logits -= logits.max(axis=1, keepdims=True)
        posteriors = np.exp(logits)
        sums = posteriors.sum(axis=1, keepdims=True)
        posteriors /= sums
        # Targets sum to 1.
        losses = np.log(sums[:, 0]) - np.einsum("ik,ik->i", self.targets, logits)
        moved = free - self.identity
        return float(self.weights @ losses + 0.5 * (self.ridge * moved) @ moved), posteriors

    def derivatives(self, free: Floats, posteriors: Floats) -> tuple[Floats, Floats]:
        """Gradient with the ridge, Hessian without it."""
        weighted = posteriors * self.weights[:, None]
        by_slope = weighted * self.values
        residual = weighted - self.targets * self.weights[:, None]
        gradient = np.concatenate([(residual * self.values).sum(axis=0), residual.sum(axis=0)])
        cross = np.diag(by_slope.sum(axis=0))
        diagonal = np.block(
            [
                [np.diag((by_slope * self.values).sum(axis=0)), cross],
                [cross, np.diag(weighted.sum(axis=0))],
            ]
        )
        rooted = np.concatenate([by_slope, weighted], axis=1) @ self.tie
        rooted /= np.sqrt(self.weights)[:, None]
        hessian = self.tie.T @ diagonal @ self.tie - rooted.T @ rooted
        gradient = self.tie.T @ gradient + self.ridge * (free - self.identity)
        return gradient, hessian


def fit_scaling(
    values: Floats,
    targets: Floats,
    weights: Floats,
    *,
    one_slope: bool,
    with_bias: bool,
) -> Scaling:
    """Fit slopes (one for all classes, or one per class) and biases (or none) by log-loss."""
    n_classes = values.shape[1]
    identity = _identity(n_classes, one_slope, with_bias)
    problem = _LogLoss(
        values,
        targets,
        weights / weights.sum(),
        tie=_tie(n_classes, one_slope, with_bias),
        identity=identity,
        ridge=np.full(len(identity), _RIDGE),
    )
    # From zero, all posteriors are equal and the curvature is at its best.
    free = _minimise(problem, np.zeros_like(problem.identity))
    if targets.min() == 0.0:  # softened targets always have a finite optimum
        _warn_if_open(problem, free)
    slopes, biases = np.split(problem.tie @ free, 2)
    return Scaling(slopes, biases)


def _tie(n_classes: int, one_slope: bool, with_bias: bool) -> Floats:
    slopes = np.ones((n_classes, 1)) if one_slope else np.eye(n_classes)
    biases = np.eye(n_classes) if with_bias else np.empty((n_classes, 0))
    return block_diag(slopes, biases)


def _identity(n_classes: int, one_slope: bool, with_bias: bool) -> Floats:
    slopes = np.ones(1 if one_slope else n_classes)
    return np.concatenate([slopes, np.zeros(n_classes if with_bias else 0)])


def _minimise(problem: _LogLoss, free: Floats, least_decrease: float = _MIN_DECREASE) -> Floats:
    loss, posteriors = problem.at(free)
    ridge = np.diag(problem.ridge)
    for _ in range(_MAX_STEPS):
        gradient, hessian = problem.derivatives(free, posteriors)
        step = -cho_solve(cho_factor(hessian + ridge), gradient)
        slope = float(gradient @ step)
        if -slope < least_decrease:
            return free
        size = 1.0
        while True:
            lower, posteriors = problem.at(free + size * step)
            if lower <= loss + 1e-4 * size * slope:
                break
            size /= 2
            if size < 1e-10:  # rounding hides any further decrease
                return free
        free, loss = free + size * step, lower
    warn(f"the calibration did not converge in {_MAX_STEPS} steps: its result is approximate.")
    return free


def _warn_if_open(problem: _LogLoss, free: Floats) -> None:
    """Warn if the ridge, not the data, stopped the fit in some direction."""
    curvatures, directions = np.linalg.eigh(problem.derivatives(free, problem.at(free)[1])[1])
    moved = np.abs(directions.T @ (free - problem.identity))
    if np.any((curvatures < 100 * _RIDGE) & (moved > 1.0)):
        warn(
            "the scores separate some classes perfectly, or a class has no items, so the "
            "calibration has no finite optimum and its posteriors are near 0 and 1: give more "
            "items, or use 'platt'."
        )


_LOWEST_FLOOR, _HIGHEST_FLOOR = 1e-12, 1e-3


_Rule = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Calibrator:
    """A fitted calibration; see :func:`fit_calibrator`."""

    method: str  # one of ``CALIBRATIONS``
    n_classes: int  # how many columns the scores have
    rule: _Rule  # function from a checked table of scores to calibrated ones

    def transform(self, scores: ArrayLike) -> Floats:
        """Calibrate posteriors."""
        return self.rule(check_scores(scores, self.n_classes))


def fit_calibrator(
    method: str, scores: ArrayLike, codes: ArrayLike, weights: ArrayLike | None = None
) -> Calibrator:
    """Learn to calibrate posteriors.

    >>> from headcount.scores import fit_calibrator
    >>> overconfident = [[0.99, 0.01]] * 40 + [[0.01, 0.99]] * 40
    >>> calibrator = fit_calibrator("bcts", overconfident, [0] * 30 + [1] * 40 + [0] * 10)
    >>> calibrator.transform([[0.99, 0.01]]).round(2)
    array([[0.75, 0.25]])
    """
    if method not in CALIBRATIONS:
        allowed = ", ".join(map(repr, CALIBRATIONS))
        raise HeadcountError(f"calibration {method!r} is unknown: choose one of {allowed}.")
    numbers = as_numbers(scores, "scores")
    n_classes = numbers.shape[1] if numbers.ndim > 1 else 2
    table = check_scores(numbers, n_classes)
    columns = _check_codes(codes, *table.shape)
    masses = check_weights(weights, len(table))
    counted = masses > 0
    rule = _FITTERS[method](table[counted], columns[counted], masses[counted])
    return Calibrator(method, n_classes, rule)


def smoothed_targets(codes: Ints, weights: Floats, n_classes: int) -> Floats:
    """One-hot labels softened as Platt did: as if a class had one more item of each class."""
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    by_class = (np.diag(counts) + 1.0) / (counts + n_classes)[:, None]
    return by_class[codes]


@dataclass(frozen=True)
class _ScaledLogs:
    scaling: Scaling
    floor: float
    centred: bool = False

    def __call__(self, scores: Floats) -> Floats:
        return self.scaling.posteriors(_logs(scores, self.floor, self.centred))


def _logs(scores: Floats, floor: float, centred: bool) -> Floats:
    logs: Floats = np.log(np.maximum(scores, floor))
    return logs - logs.mean(axis=1, keepdims=True) if centred else logs


@dataclass(frozen=True)
class _Monotone:
    """A monotone piecewise linear function of the second of two posteriors."""

    knots: Floats
    heights: Floats

    def __call__(self, scores: Floats) -> Floats:
        second = np.interp(scores[:, 1], self.knots, self.heights)
        return np.column_stack([1.0 - second, second])


@dataclass(frozen=True)
class _RulePerClass:
    """For each class a rule for (rest, class); what they say is divided by the row sum."""

    rules: tuple[_Rule, ...]

    def __call__(self, scores: Floats) -> Floats:
        columns = [rule(_against_rest(scores, k))[:, 1] for k, rule in enumerate(self.rules)]
        return divided_by_sums(np.column_stack(columns))


_Fitter = Callable[[Floats, Ints, Floats], _Rule]


def _scaling_fitter(
    *, one_slope: bool, with_bias: bool, smoothed: bool = False, centred: bool = False
) -> _Fitter:
    def fit(scores: Floats, codes: Ints, weights: Floats) -> _Rule:
        n_classes = scores.shape[1]
        floor = _floor(scores)
        targets = (
            smoothed_targets(codes, weights, n_classes)
            if smoothed
            else np.eye(n_classes)[codes]
        )
        logs = _logs(scores, floor, centred)
        scaling = fit_scaling(logs, targets, weights, one_slope=one_slope, with_bias=with_bias)
        return _ScaledLogs(scaling, floor, centred)

    return fit


def _one_vs_rest(fit_binary: _Fitter) -> _Fitter:
    def fit(scores: Floats, codes: Ints, weights: Floats) -> _Rule:
        if scores.shape[1] == 2:
            return fit_binary(scores, codes, weights)
        rules = (
            fit_binary(_against_rest(scores, k), (codes == k).astype(np.int64), weights)
            for k in range(scores.shape[1])
        )
        return _RulePerClass(tuple(rules))

    return fit


def _fit_isotonic(scores: Floats, codes: Ints, weights: Floats) -> _Rule:
    monotone = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    monotone.fit(scores[:, 1], codes.astype(np.float64), sample_weight=weights)
    return _Monotone(monotone.X_thresholds_, monotone.y_thresholds_)


# Of two classes, a sigmoid of the log-odds is a temperature and a bias of the two logs.
_fit_sigmoid = _scaling_fitter(one_slope=True, with_bias=True, smoothed=True)

# Standard deviations that biases and the differences of slopes may have a priori, those of the
# slopes relative to the common slope, and that of the common slope.
_BIASES, _SLOPES, _COMMON_SLOPE = (0.2, 0.6), (0.03, 0.1, 0.3), 100.0
# Decrease of the mean log-loss that is too small to matter where fits are averaged.
_NEGLIGIBLE = 1e-9


def _fit_drawn_together(scores: Floats, codes: Ints, weights: Floats) -> _Rule:
    """Slopes near one another and biases near 0, unless the items say otherwise.

    Differences of the slopes from a common one, and the biases, have normal priors. Fits with
    priors of several widths are averaged by the evidence for them (Laplace's approximation of
    the marginal likelihood). Few items thus get little more than a temperature, and many get
    vector scaling.
    """
    K, floor = scores.shape[1], _floor(scores)
    targets, mass = np.eye(K)[codes], weights / weights.sum()
    n = 1 / (mass**2).sum()
    one, ridge = np.ones(1), np.full(1, 1 / (n * _COMMON_SLOPE**2))
    logs = np.log(np.maximum(scores, floor))
    common = _LogLoss(logs, targets, mass, _tie(K, True, False), one, ridge)
    slope = _minimise(common, np.zeros(1))
    tie = np.hstack([_tie(K, True, False), np.eye(2 * K)])
    identity = np.concatenate([one, np.zeros(2 * K)])
    free, fits, evidence = identity, [], []
    for of_biases, of_slopes in product(_BIASES, _SLOPES):
        widths = np.repeat([_COMMON_SLOPE, of_slopes, of_biases], [1, K, K])
        problem = _LogLoss(logs * slope, targets, mass, tie, identity, 1 / (n * widths**2))
        free = _minimise(problem, free, _NEGLIGIBLE)
        loss, posteriors = problem.at(free)
        curvature = problem.derivatives(free, posteriors)[1] / problem.ridge[:, None]
        fits.append(free)
        evidence.append(-n * loss - np.linalg.slogdet(np.eye(len(free)) + curvature)[1] / 2)
    slopes, biases = np.split(tie @ (softmax(evidence) @ np.array(fits)), 2)
    return _ScaledLogs(Scaling(slope * slopes, biases), floor)


_FITTERS: dict[str, _Fitter] = {
    "auto": _fit_drawn_together,
    "platt": _one_vs_rest(_fit_sigmoid),
    "isotonic": _one_vs_rest(_fit_isotonic),
    "ts": _scaling_fitter(one_slope=True, with_bias=False),
    "bcts": _scaling_fitter(one_slope=True, with_bias=True),
    "vs": _scaling_fitter(one_slope=False, with_bias=True),
    "nbvs": _scaling_fitter(one_slope=False, with_bias=False),
    "vs-centred": _scaling_fitter(one_slope=False, with_bias=True, centred=True),
    "nbvs-centred": _scaling_fitter(one_slope=False, with_bias=False, centred=True),
}

CALIBRATIONS: tuple[str, ...] = tuple(_FITTERS)


def _floor(scores: Floats) -> float:
    """Return what to take for a posterior of zero.

    A neighbour or tree vote of zero means little less than the smallest vote there is, while
    naive Bayes means a really small number: a constant would suit only one of them.
    """
    smallest = scores.min(initial=1.0, where=scores > 0)
    return float(np.clip(smallest, _LOWEST_FLOOR, _HIGHEST_FLOOR))


def _against_rest(scores: Floats, k: int) -> Floats:
    # The others summed, as 1 - p has no digits left where p is nearly 1.
    remainder = np.delete(scores, k, axis=1).sum(axis=1)
    return np.column_stack([remainder, scores[:, k]])


def _check_codes(codes: ArrayLike, n_rows: int, n_classes: int) -> Ints:
    array = np.asarray(codes)
    if array.dtype.kind not in "iu" or array.shape != (n_rows,):
        raise HeadcountError(
            f"codes is an array of {array.dtype} of shape {array.shape}, but must hold "
            f"{n_rows:,} integers: pass the column number of each item's class."
        )
    if array.min() < 0 or array.max() >= n_classes:
        raise HeadcountError(
            f"codes lie between {array.min()} and {array.max()}, but scores has {n_classes} "
            "columns: pass column numbers from 0."
        )
    return array.astype(np.int64, copy=False)
