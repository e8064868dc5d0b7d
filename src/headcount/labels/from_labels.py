"""Estimate the shares of a pool from labels of some of its items."""

from __future__ import annotations

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
from headcount.labels.sample import LabelSample, check_rows, cluster_effect
from headcount.labels.strata import Strata
from headcount.sampling._streams import uniforms
from headcount.uncertainty import Estimate

__all__ = [
    "check_labelled",
    "draw_of",
    "estimate_from_labels",
    "of_population",
    "share_difference",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# P-value below which labelled rows do not look like a random sample.
_NOT_RANDOM = 1e-3


def estimate_from_labels(
    pool: PoolPosteriors,
    rows: Ints,
    codes: Ints,
    under_shift: Estimate,
    *,
    design: LabelPlan | None,
    key: str,
    weights: Floats | None,
    clusters: Ints | None,
    guarantee: str,
) -> LabelledEstimate:
    """Estimate the shares of a pool from labels of some of its items.

    Parameters
    ----------
    pool : PoolPosteriors
        Corrected posteriors of the pool.
    rows : ndarray of shape (n,)
        Positions of the labelled items.
    codes : ndarray of shape (n,)
        Their classes.
    under_shift : Estimate
        Estimate of the same shares under prior shift.
    design : LabelPlan or None
        Plan by which the rows were drawn; None for a simple random sample.
    key : str
        Key of the pool.
    weights, clusters : ndarray of shape (N,) or None
        Survey weights and clusters of the items of the pool.
    guarantee : {"approximate", "exact"}
        Kind of the intervals.

    Returns
    -------
    LabelledEstimate
    """
    check_choice("guarantee", guarantee, ("approximate", "exact"))
    sample = draw_of(rows, len(pool.values), design, key, weights, clusters)
    difference = share_difference(pool, sample, codes, weights)
    if under_shift.target == "expected":
        difference = of_population(difference, pool, sample, codes, weights, clusters)
    bounds = None
    if guarantee == "exact":
        _check_exact(sample, weights)
        bounds = _exact(pool, sample, codes, under_shift)
    realised = under_shift.posterior.draws
    spread = np.cov(realised, rowvar=False)
    notes = _notes(pool, sample, design)
    return LabelledEstimate(
        under_shift.method,
        under_shift.classes,
        on_simplex(difference.centre),
        under_shift.raw,
        under_shift.n_items,
        under_shift.target,
        normal_posterior(difference),
        under_shift.fit_test,
        notes,
        n_labels=len(rows),
        difference=difference,
        under_shift=under_shift,
        agreement=agreement_of(difference, under_shift.shares, spread),
        bounds=bounds,
    )


def check_labelled(labelled: Any, n_pool: int, classes: NDArray[Any]) -> tuple[Ints, Ints]:
    """Rows and classes of labelled items.

    Parameters
    ----------
    labelled : pair of array-like
        Positions of the labelled items in the pool, and their labels.
    n_pool : int
        Number of items in the pool.
    classes : ndarray of shape (K,)
        The classes.

    Returns
    -------
    rows : ndarray of shape (n,)
    codes : ndarray of shape (n,)
        Classes as positions in `classes`.
    """
    if not isinstance(labelled, tuple | list) or len(labelled) != 2:
        raise HeadcountError(
            f"labelled is a {type(labelled).__name__}; it must be a pair of rows and labels, "
            "such as labelled=(rows, y[rows])."
        )
    rows = check_rows(labelled[0], n_pool)
    codes = encode_labels(labelled[1], name="labels of labelled", classes=classes)[1]
    if len(codes) != len(rows):
        raise HeadcountError(
            f"labelled has {len(rows):,} rows and {len(codes):,} labels: pass one label per "
            "row."
        )
    least = max(len(classes), 2)
    if len(rows) < least:
        raise HeadcountError(
            f"labelled has {len(rows)} label{'' if len(rows) == 1 else 's'} for "
            f"{len(classes)} classes: label at least {least} items, better 50 or more."
        )
    return rows, codes


def draw_of(
    rows: Ints,
    n_pool: int,
    design: LabelPlan | None,
    key: str,
    weights: Floats | None,
    clusters: Ints | None,
) -> LabelSample:
    """Labelled rows with their design.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Positions of the labelled items.
    n_pool : int
        Number of items in the pool.
    design, key, weights, clusters
        As for `estimate_from_labels`.

    Returns
    -------
    LabelSample
    """
    if design is None:
        sample = LabelSample.simple(rows, n_pool, weights, clusters)
    elif isinstance(design, LabelPlan):
        sample = design.sample(rows, key, weights, clusters)
    else:
        raise HeadcountError(
            f"design is a {type(design).__name__}; it must be the LabelPlan that the rows "
            "were drawn by, or None for a simple random sample."
        )
    if sample.clusters is not None and sample.clusters.max() < 1:
        raise HeadcountError(
            "all labels are from one cluster: label items of at least two clusters."
        )
    return sample


def share_difference(
    pool: PoolPosteriors, sample: LabelSample, codes: Ints, weights: Floats | None = None
) -> Difference:
    """Difference estimate of the shares of a pool.

    Parameters
    ----------
    pool : PoolPosteriors
        Corrected posteriors of the pool.
    sample : LabelSample
        The labelled items.
    codes : ndarray of shape (n,)
        Their classes.
    weights : ndarray of shape (N,), default=None
        Survey weights of the items of the pool.

    Returns
    -------
    Difference
        Shares that sum to 1, though single ones may be below 0 or above 1.
    """
    K = pool.values.shape[1]
    posteriors = pool.values[sample.rows]
    residuals = (codes[:, None] == np.arange(K)) - pool.factor * posteriors
    mean = np.average(pool.values, axis=0, weights=weights)
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

    Parameters
    ----------
    difference : Difference
        Estimate of the shares of the pool.
    pool, sample, codes, weights
        As for `share_difference`.
    clusters : ndarray of shape (N,), default=None
        Clusters of the items of the pool.

    Returns
    -------
    Difference
        The same estimates, which are less certain.
    """
    n_pool = len(pool.values)
    size = n_pool if weights is None else weights.sum() ** 2 / (weights**2).sum()
    effect = np.ones(len(difference.centre))
    if clusters is not None:
        one_hot = (codes[:, None] == np.arange(len(effect))).astype(np.float64)
        effect = np.maximum(
            cluster_effect(pool.values, clusters, weights), sample.spread(one_hot).effect
        )
    shares = np.clip(difference.centre, 0, 1)
    return replace(difference, population=effect * shares * (1 - shares) / size)


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
    # label, so that the order is made anew from the rows alone.
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
        under_shift.target == "expected",
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
