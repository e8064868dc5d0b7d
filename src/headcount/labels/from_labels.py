"""Estimate the shares of a pool from labels of some of its items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount._parameters import check_choice
from headcount.data import encode_labels
from headcount.errors import HeadcountError
from headcount.labels.difference import Difference, on_simplex
from headcount.labels.exact import ExactBounds
from headcount.labels.labelled_estimate import (
    LabelledEstimate,
    agreement_of,
    normal_posterior,
)
from headcount.labels.plan import LabelPlan
from headcount.labels.posteriors import PoolPosteriors
from headcount.labels.sample import LabelSample, check_rows
from headcount.labels.strata import Strata
from headcount.labels.weighting import population_variance
from headcount.sampling._streams import uniforms
from headcount.uncertainty import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.integer[Any]]

# P-value below which labelled rows do not look like a random sample.
_NOT_RANDOM = 1e-3


def estimates_from_labels(
    corrected: Callable[[Rows, Floats, Floats | None], PoolPosteriors],
    samples: Sequence[Rows],
    under_shift: Sequence[Estimate],
    labelled: Any,
    *,
    n_pool: int,
    design: LabelPlan | None,
    key: str,
    weights: Floats | None,
    clusters: Ints | None,
    guarantee: str,
) -> list[Estimate]:
    """Estimate the shares of samples of a pool from labels of some of its items.

    Parameters
    ----------
    corrected : callable
        Function of rows, shares and weights that returns the posteriors of these rows.
    samples : sequence of ndarray
        Rows of each sample.
    under_shift : sequence of Estimate
        Estimates of the same shares under prior shift.
    labelled : pair of array-like
        Rows of the pool that have a label, and their labels.
    n_pool : int
        Number of items in the pool.
    design : LabelPlan or None
        Plan by which the rows were drawn; None for a simple random sample.
    key : str
        Key of the pool.
    weights, clusters : ndarray of shape (n_pool,) or None
        Survey weights and clusters of the items of the pool.
    guarantee : {"approximate", "exact"}
        Kind of the intervals.

    Returns
    -------
    list of LabelledEstimate
    """
    check_choice("guarantee", guarantee, ("approximate", "exact"))
    rows, codes = check_labelled(labelled, n_pool, under_shift[0].classes)
    checked = check_design(design, key)
    found: list[Estimate] = []
    for items, estimate in zip(samples, under_shift, strict=True):
        mass = None if weights is None else weights[items]
        groups = None if clusters is None else clusters[items]
        places, own = places_within(rows, items, n_pool)
        if len(places) < len(rows):
            check_enough(len(places), len(estimate.classes), "a sample")
        part = None if checked is None else checked.within(items)
        pool = corrected(items, estimate.raw, mass)
        sample = draw_of(places, len(items), part, mass, groups)
        labels = codes[own]
        found.append(_estimate(pool, sample, labels, estimate, part, mass, groups, guarantee))
    return found


def places_within(rows: Ints, items: Rows, n_pool: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Positions of labelled rows within a sample.

    Returns the positions in ``items`` of the rows that are in the sample, and which rows
    are.

    Examples
    --------
    >>> import numpy as np
    >>> places_within(np.array([4, 7]), np.array([9, 7, 1]), 10)
    (array([1]), array([False,  True]))
    """
    place = np.full(n_pool, -1, np.int64)
    place[items] = np.arange(len(items))
    if int((place >= 0).sum()) < len(items):
        raise HeadcountError(
            "a sample has an item twice, so that labels of its items are no random sample: "
            "pass samples without replacement."
        )
    own = place[rows] >= 0
    return place[rows[own]], own


def _estimate(
    pool: PoolPosteriors,
    sample: LabelSample,
    codes: Ints,
    under_shift: Estimate,
    design: LabelPlan | None,
    weights: Floats | None,
    clusters: Ints | None,
    guarantee: str,
) -> LabelledEstimate:
    difference = share_difference(pool, sample, codes, weights)
    if under_shift.estimand == "expected":
        difference = of_population(difference, pool, sample, codes, weights, clusters)
    bounds = None
    if guarantee == "exact":
        _check_exact(sample, weights)
        bounds = _exact(pool, sample, codes, under_shift)
    spread = np.cov(under_shift.posterior.draws, rowvar=False)
    return LabelledEstimate(
        method=under_shift.method,
        classes=under_shift.classes,
        shares=on_simplex(difference.centre),
        raw=under_shift.raw,
        n_items=under_shift.n_items,
        estimand=under_shift.estimand,
        posterior=normal_posterior(difference),
        fit_test=under_shift.fit_test,
        warnings=_notes(pool, sample, design),
        n_effective=under_shift.n_effective,
        n_labels=len(codes),
        difference=difference,
        under_shift=under_shift,
        agreement=agreement_of(difference, under_shift.shares, spread),
        bounds=bounds,
    )


def check_labelled(labelled: Any, n_pool: int, classes: NDArray[Any]) -> tuple[Ints, Ints]:
    """Rows and classes of labelled items.

    Classes are positions in ``classes``.
    """
    rows = check_labelled_rows(labelled, n_pool)
    codes = encode_labels(labelled[1], name="labels of labelled", classes=classes)[1]
    if len(codes) != len(rows):
        raise HeadcountError(
            f"labelled has {len(rows):,} rows and {len(codes):,} labels: pass one label per "
            "row."
        )
    check_enough(len(rows), len(classes), "labelled")
    return rows, codes


def check_labelled_rows(labelled: Any, n_pool: int) -> Ints:
    """Rows of labelled items."""
    if not isinstance(labelled, tuple | list) or len(labelled) != 2:
        raise HeadcountError(
            f"labelled is a {type(labelled).__name__}; it must be a pair of rows and labels, "
            "such as labelled=(rows, y[rows])."
        )
    return check_rows(labelled[0], n_pool)


def check_enough(n_labels: int, n_classes: int, what: str) -> None:
    """Raise an error for fewer labels than classes.

    ``what`` is the subject of the message.
    """
    least = max(n_classes, 2)
    if n_labels < least:
        raise HeadcountError(
            f"{what} has {n_labels} label{'' if n_labels == 1 else 's'} for {n_classes} "
            f"classes: label at least {least} items, better 50 or more."
        )


def check_design(design: Any, key: str) -> LabelPlan | None:
    """Plan of a pool, checked.

    ``key`` is that of the pool at hand.
    """
    if design is None:
        return None
    if not isinstance(design, LabelPlan):
        raise HeadcountError(
            f"design is a {type(design).__name__}; it must be the LabelPlan that the rows "
            "were drawn by, or None for a simple random sample."
        )
    design.check_pool(key)
    return design


def draw_of(
    rows: Ints,
    n_pool: int,
    design: LabelPlan | None,
    weights: Floats | None,
    clusters: Ints | None,
) -> LabelSample:
    """Labelled rows with their design.

    Weights and clusters are those of all items of the pool.
    """
    if design is None:
        sample = LabelSample.simple(rows, n_pool, weights, clusters)
    else:
        sample = design.sample(rows, weights, clusters)
    if sample.clusters is not None and sample.clusters.max() < 1:
        raise HeadcountError(
            "all labels are from one cluster: label items of at least two clusters."
        )
    return sample


def share_difference(
    pool: PoolPosteriors, sample: LabelSample, codes: Ints, weights: Floats | None = None
) -> Difference:
    """Difference estimate of the shares of a pool.

    Shares sum to 1, though single ones may be below 0 or above 1.
    """
    K = pool.values.shape[1]
    posteriors = pool.values[sample.rows]
    residuals = (codes[:, None] == np.arange(K)) - pool.factor * posteriors
    mean = pool.mean if weights is None else np.average(pool.values, axis=0, weights=weights)
    return Difference.of(sample, residuals, pool.factor * mean, posteriors)


def of_population(
    difference: Difference,
    pool: PoolPosteriors,
    sample: LabelSample,
    codes: Ints,
    weights: Floats | None = None,
    clusters: Ints | None = None,
) -> Difference:
    """Difference estimate of shares in the population that the pool is a random sample of.

    The same estimates as of the shares of the pool, but less certain.
    """
    one_hot = (codes[:, None] == np.arange(len(difference.centre))).astype(np.float64)
    variance = population_variance(
        difference.centre, pool.values, weights, clusters, sample, one_hot
    )
    return replace(difference, population=variance)


def _check_exact(sample: LabelSample, weights: Floats | None) -> None:
    reason = ""
    if len(sample.unlabelled) > 1:
        reason = "the plan has strata: make it with plan_labels(X, ..., strata=1)"
    elif weights is not None:
        reason = "there are weights: leave them out"
    elif sample.clusters is not None:
        reason = "there are clusters: leave them out if the rows were drawn one by one"
    if reason:
        raise HeadcountError(
            f"guarantee='exact' needs a simple random sample of single items, but {reason}, or "
            "take guarantee='approximate'."
        )


def _exact(
    pool: PoolPosteriors, sample: LabelSample, codes: Ints, under_shift: Estimate
) -> ExactBounds:
    # Exact by the random order of drawing. The rows may come in any order, even sorted by
    # label, so that a new order is made of the rows alone.
    order = np.argsort(uniforms(0, sample.rows, 1)[:, 0], kind="stable")
    values, factor = pool.values, pool.factor
    return ExactBounds(
        codes[order],
        factor * values[sample.rows[order]],
        factor * values.mean(axis=0),
        factor,
        under_shift.raw,
        Strata.of(pool, 1).variances[0],
        len(values),
        under_shift.estimand == "expected",
    )


def _notes(
    pool: PoolPosteriors, sample: LabelSample, design: LabelPlan | None
) -> tuple[str, ...]:
    """Warnings about the labels."""
    n, n_pool = len(sample), len(pool.values)
    notes = []
    if design is not None and n < design.n:
        notes.append(
            f"{n:,} of {design.n:,} planned rows have a label. The estimate holds if those "
            "without were left out at random."
        )
    if design is None and n < n_pool and np.ptp(sample.rows) == n - 1:
        notes.append(
            f"The labels are those of rows {sample.rows.min():,} to {sample.rows.max():,} in a "
            "row. Unless the items are in random order, they are no random sample, and the "
            "estimate does not hold: draw rows at random, for instance by plan_labels."
        )
    if design is None and pool.factor > 0 and n < n_pool:
        p_value = _randomness(pool.values, sample)
        if p_value < _NOT_RANDOM:
            notes.append(
                f"The labelled rows have other scores than the rest (p = {p_value:.1g}), as if "
                "they had not been drawn at random. The estimate holds for a random sample "
                "only: draw rows by plan_labels, and pass the plan as design."
            )
    return tuple(notes)


def _randomness(posteriors: Floats, sample: LabelSample) -> float:
    """P-value of the hypothesis that the rows are a simple random sample."""
    n, (n_pool, K) = len(sample), posteriors.shape
    spread = np.cov(posteriors[:, :-1], rowvar=False).reshape(K - 1, K - 1)
    gap = (posteriors[sample.rows].mean(axis=0) - posteriors.mean(axis=0))[:-1]
    noise = spread * (1 - n / n_pool) / n + 1e-12 * np.eye(K - 1)
    return float(special.chdtrc(K - 1, gap @ np.linalg.solve(noise, gap)))
