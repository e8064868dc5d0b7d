"""Agreement of raters beyond chance: Cohen's kappa, Gwet's AC1, Krippendorff's alpha.

Each is ``(a - e) / (1 - e)`` with the agreement ``a`` that is seen and the agreement ``e`` that
is expected by chance, which is where they differ. Standard errors are jackknifed: without one
item, or one cluster, at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.parameters import check_choice, check_fraction
from headcount.errors import HeadcountError


@dataclass(frozen=True)
class AgreementStatistic:
    """One measure of agreement.

    Attributes
    ----------
    name : str
        "agreement", "kappa", "weighted kappa", "AC1" ("AC2" with weights) or "alpha".
    value : float
        At most 1, which is full agreement; 0 is what chance gives.
    error : float
        Standard error.
    n_units : int
        Number of items, or of clusters.
    room : float
        Loss by one more disagreement. It keeps the interval from ending at 1 too early.
    """

    name: str
    value: float
    error: float
    n_units: int
    room: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of a level, from -1 to 1 at most."""
        level = check_fraction("level", level)
        reach = float(special.stdtrit(self.n_units - 1, (1 + level) / 2)) * self.error
        unseen = -np.log1p(-level) * self.room
        return max(self.value - max(reach, unseen), -1.0), min(self.value + reach, 1.0)


def agreement_statistics(
    ratings: ArrayLike, *, weights: str | None = None, clusters: ArrayLike | None = None
) -> list[AgreementStatistic]:
    """Kappa (of two), AC1 and alpha, or weighted, of ratings (n, R); -1 where there is none."""
    codes = np.asarray(ratings)
    if codes.ndim != 2 or codes.shape[1] < 2 or codes.dtype.kind not in "iu":
        raise HeadcountError(
            f"ratings has shape {codes.shape} and type {codes.dtype}; it must have whole "
            "numbers, one row per item and one column per rater, at least two."
        )
    if weights is not None:
        check_choice("weights", weights, ("linear", "quadratic"))
    rated = (codes >= 0).sum(axis=1) >= 2
    units = np.flatnonzero(rated) if clusters is None else np.asarray(clusters)[rated]
    units = np.unique(units, return_inverse=True)[1].astype(np.int64)
    codes = codes[rated].astype(np.int64)
    if not len(units) or units.max() < 1:
        raise HeadcountError(
            "ratings has fewer than two items, or clusters, with two ratings: add more."
        )
    K = max(int(codes.max()) + 1, 2)
    similarity = _similarity(K, weights)
    counts = np.stack([(codes == k).sum(axis=1) for k in range(K)], axis=1).astype(np.float64)
    sizes = counts.sum(axis=1, keepdims=True)
    together = (counts * (counts @ similarity - 1)).sum(axis=1, keepdims=True)
    alike = together / (sizes * (sizes - 1))
    forms: dict[str, tuple[Floats, Callable[[Floats, Floats], Floats]]] = {
        "agreement": (alike, lambda sums, n: sums[:, 0] / n)
    }
    if codes.shape[1] == 2:
        first, second = (np.eye(K)[codes[:, rater]] for rater in (0, 1))
        forms["weighted kappa" if weights else "kappa"] = (
            np.column_stack([alike, first, second]),
            lambda sums, n: _kappa(sums / n[:, None], similarity),
        )
    forms["AC2" if weights else "AC1"] = (
        np.column_stack([alike, counts / sizes]),
        lambda sums, n: _gwet(sums / n[:, None], similarity),
    )
    forms["weighted alpha" if weights else "alpha"] = (
        np.column_stack([together / (sizes - 1), counts]),
        lambda sums, n: _alpha(sums, similarity),
    )
    return [_statistic(name, *form, units) for name, form in forms.items()]


def _similarity(n_classes: int, weights: str | None) -> Floats:
    places = np.arange(n_classes, dtype=np.float64)
    if weights is None:
        return np.eye(n_classes)
    distance = np.abs(places[:, None] - places) / (n_classes - 1)
    return np.asarray(1 - distance ** (1 if weights == "linear" else 2))


def _beyond_chance(seen: Floats, expected: Floats) -> Floats:
    """Agreement beyond chance; 1 where chance alone gives full agreement."""
    left = 1 - expected
    return np.where(left > 1e-12, (seen - expected) / np.where(left > 1e-12, left, 1.0), 1.0)


def _kappa(means: Floats, similarity: Floats) -> Floats:
    first, second = np.split(means[:, 1:], 2, axis=1)
    expected = ((first @ similarity) * second).sum(axis=1)
    return _beyond_chance(means[:, 0], expected)


def _gwet(means: Floats, similarity: Floats) -> Floats:
    K, shares = len(similarity), means[:, 1:]
    expected = similarity.sum() / (K * (K - 1)) * (shares * (1 - shares)).sum(axis=1)
    return _beyond_chance(means[:, 0], expected)


def _alpha(sums: Floats, similarity: Floats) -> Floats:
    """Alpha from sums of coincidences and of ratings, which are drawn without replacement."""
    ratings = sums[:, 1:]
    total = ratings.sum(axis=1)
    pairs = ((ratings @ similarity) * ratings).sum(axis=1) - total
    return _beyond_chance(sums[:, 0] / total, pairs / (total * (total - 1)))


def _statistic(
    name: str, parts: Floats, form: Callable[[Floats, Floats], Floats], units: Ints
) -> AgreementStatistic:
    """Value and jackknifed error of a function of sums over items."""
    m = int(units.max()) + 1
    sizes = np.bincount(units).astype(np.float64)
    sums = np.stack([np.bincount(units, column, m) for column in parts.T], axis=1)
    total = sums.sum(axis=0)
    value = float(form(total[None], np.array([sizes.sum()]))[0])
    without = form(total - sums, sizes.sum() - sizes)
    error = float(np.sqrt((m - 1) / m * ((without - without.mean()) ** 2).sum()))
    # One more item on which the raters disagree, in units of the value.
    spoilt = total.copy()
    spoilt[0] -= float(np.mean(parts[:, 0])) * sizes.max()
    room = max(value - float(form(spoilt[None], np.array([sizes.sum()]))[0]), 0.0)
    return AgreementStatistic(name, value, error, m, room)


@dataclass(frozen=True)
class Bias:
    """Whether the verdicts of a judge depend on a covariate among items of the same class.

    Attributes
    ----------
    covariate : str
        Name of the covariate.
    effect : float
        For numbers, the change of the rate of verdicts by one standard deviation; for texts,
        the difference between the values with the highest and the lowest rate.
    p_value, adjusted : float
        P-value, by permutation within classes, and adjusted for several covariates (Holm).
    detail : str
        What the effect compares.
    """

    covariate: str
    effect: float
    p_value: float
    adjusted: float
    detail: str


# Permutations of a test, and fewest items of a value that it compares.
_PERMUTATIONS, _FEWEST = 1999, 5


def judge_bias(truth: ArrayLike, verdicts: ArrayLike, covariates: dict[str, Any]) -> list[Bias]:
    """Test whether verdicts, 1 or scores, depend on covariates beyond the true class."""
    classes = np.unique(np.asarray(truth), return_inverse=True)[1]
    scores = np.asarray(verdicts, dtype=np.float64)
    tests = [
        _bias_test(classes, scores, np.asarray(column), name)
        for name, column in covariates.items()
    ]
    adjusted = corrected_by_holm(np.array([p_value for _, p_value, _ in tests]))
    return [
        Bias(name, effect, p_value, float(corrected), detail)
        for name, (effect, p_value, detail), corrected in zip(
            covariates, tests, adjusted, strict=True
        )
    ]


def corrected_by_holm(p_values: Floats) -> Floats:
    """p-values corrected for their number, step by step from the smallest."""
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def _bias_test(
    classes: Ints, scores: Floats, column: Array, name: str
) -> tuple[float, float, str]:
    """Effect of a covariate, its p-value, and what it compares."""
    if len(column) != len(scores):
        raise HeadcountError(
            f"covariate {name!r} has {len(column):,} entries for {len(scores):,} verdicts."
        )
    is_number = column.dtype.kind in "iuf"
    present = ~np.isnan(column) if is_number else np.array([v is not None for v in column])
    missing = int((~present).sum())
    column, scores = column[present], scores[present]
    classes = np.unique(classes[present], return_inverse=True)[1]
    if not len(column):
        return 0.0, 1.0, "no item has a value"
    residuals = _within(scores, classes)
    is_measure = is_number and len(np.unique(column)) > 2
    if is_measure:
        places = _within(column.astype(np.float64), classes)
        spread = places.std()
        design = (places / (spread or 1.0))[:, None]
        detail = f"per {spread:.3g} more"
    else:
        values, codes, counts = np.unique(
            column.astype(str), return_inverse=True, return_counts=True
        )
        compared = np.flatnonzero(counts >= _FEWEST)
        design = (codes[:, None] == compared).astype(np.float64)
        design /= np.maximum(design.sum(axis=0), 1.0)
    if not design.shape[1]:
        return 0.0, 1.0, f"no value has {_FEWEST} items"
    if is_measure:
        effect = float(residuals @ design[:, 0] / len(residuals))
    else:
        rates = residuals @ design
        effect = float(rates.max() - rates.min())
        names = values[compared]
        detail = f"{names[rates.argmax()]} against {names[rates.argmin()]}"
    rng = np.random.default_rng(0)
    scale = np.sqrt((design**2).sum(axis=0))
    statistic = np.abs(residuals @ design / scale).max()
    at_least = 0
    by_class = [np.flatnonzero(classes == k) for k in range(int(classes.max()) + 1)]
    shuffled = residuals.copy()
    for _ in range(_PERMUTATIONS):
        for rows in by_class:
            shuffled[rows] = residuals[rng.permutation(rows)]
        at_least += np.abs(shuffled @ design / scale).max() >= statistic - 1e-12
    if missing:
        items = "1 item" if missing == 1 else f"{missing:,} items"
        detail += f", {items} without it left out"
    return effect, (1 + int(at_least)) / (1 + _PERMUTATIONS), detail


def _within(values: Floats, groups: Ints) -> Floats:
    means = np.bincount(groups, values) / np.bincount(groups)
    return np.asarray(values - means[groups])
