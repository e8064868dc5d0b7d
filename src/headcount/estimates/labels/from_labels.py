"""Shares of the classes in a pool, estimated with labels of some of its items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount._support.arrays import Array, Bools, Floats, Ints, indicators
from headcount._support.execution import uniforms
from headcount._support.frames import pl
from headcount._support.parameters import check_choice, check_fraction
from headcount._support.text import Table
from headcount.errors import HeadcountError
from headcount.estimates.conditioning import SharePosterior
from headcount.estimates.estimate import Estimate, Region, around_shares
from headcount.estimates.labels.difference import (
    Difference,
    ExactBounds,
    on_simplex,
    share_ends,
)
from headcount.estimates.labels.plan import LabelPlan, Strata
from headcount.estimates.labels.pool import PoolPosteriors
from headcount.estimates.labels.sample import LabelSample, check_rows, population_variance
from headcount.items.arrays import encode_labels

_OF = {"realised": "among", "expected": "behind"}
_N_DRAWS = 1000


@dataclass(frozen=True)
class Agreement:
    """Test whether labels and the estimate under prior shift agree."""

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, gap: Floats, covariance: Floats, df: int) -> Agreement:
        """Test whether a difference of two estimates is chance."""
        D = len(gap)
        statistic = float(gap @ np.linalg.pinv(covariance, hermitian=True) @ gap)
        # As the covariance is itself estimated, Fisher's F rather than chi-squared.
        return cls(statistic, D, float(special.fdtrc(D, df, statistic / D)))

    def rejects(self, level: float = 0.05) -> bool:
        """Return True if the p-value is below a level: the difference is not due to chance."""
        return self.p_value < level

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return {"statistic": self.statistic, "df": self.df, "p_value": self.p_value}

    def sentence(self, other: str = "the estimate under prior shift") -> str:
        """Result of the test in words, naming the other estimate."""
        verb = "disagree" if self.rejects() else "agree"
        p = "< 0.001" if self.p_value < 0.001 else f"= {self.p_value:.2g}"
        return f"The labels {verb} with {other} (p {p})."

    def __repr__(self) -> str:
        return self.sentence()


def agreement_of(difference: Difference, shares: Floats, covariance: Floats) -> Agreement:
    """Compare an estimate from labels with another one that has a covariance."""
    gap = (difference.centre - shares)[:-1]
    joint = (difference.with_unseen() + covariance)[:-1, :-1]
    return Agreement.of(gap, joint, difference.df)


def normal_posterior(centre: Floats, covariance: Floats) -> SharePosterior:
    """Normal approximation of the uncertainty of realised shares, on the simplex."""
    values, vectors = np.linalg.eigh(covariance)
    normal = np.random.default_rng(0).standard_normal((_N_DRAWS, len(values)))
    moved = centre + normal * np.sqrt(np.maximum(values, 0)) @ vectors.T
    positive = np.maximum(moved, 0.0) + 1e-12
    draws = positive / positive.sum(axis=1, keepdims=True)
    return SharePosterior(draws, np.full(_N_DRAWS, 1 / _N_DRAWS))


@dataclass(frozen=True, eq=False, repr=False)
class LabelledEstimate(Estimate):
    """Shares of the classes in a pool, from labels of some items. Prints as a table.

    The labels make it valid under any shift, if their rows were drawn at random. The scores of
    the other items make its intervals shorter.
    """

    n_labels: int = field(kw_only=True)
    difference: Difference = field(kw_only=True)
    under_shift: Estimate = field(kw_only=True)
    agreement: Agreement = field(kw_only=True)
    bounds: ExactBounds | None = field(default=None, kw_only=True)

    @property
    def basis(self) -> str:
        """Foundation of the shares: "labels" of the items themselves."""
        return "labels"

    @property
    def guarantee(self) -> str:
        """Kind of the intervals: "approximate", or "exact" in finite samples."""
        return "approximate" if self.bounds is None else "exact"

    def _ends(self, level: float) -> tuple[Floats, Floats]:
        if self.bounds is None:
            return share_ends(self.difference.centre, self.difference.ends(level), self.n_items)
        return around_shares(*self.bounds.ends(level), self.shares, self.n_items)

    def region(self, level: float = 0.95) -> Region:
        """Region for the shares of all classes together, as `Estimate.region`."""
        level = check_fraction("level", level)
        reach = self._joint_reach(level)
        low, high = self._ends(float(2 * special.ndtr(reach) - 1))
        errors = np.maximum(high - self.shares, self.shares - low) / reach
        return Region(self.shares, errors, reach, level)

    def _joint_reach(self, level: float) -> float:
        """Standard errors within which all classes lie together."""
        K = len(self.classes)
        if self.bounds is not None:
            one = 1 - (1 - level) / (1 if K == 2 else K)
            return float(special.ndtri((1 + one) / 2))
        spread = self.difference.with_unseen() + np.diag(self.difference.population)
        errors = np.sqrt(np.diag(spread))
        correlation = spread / np.outer(errors, errors)
        values, vectors = np.linalg.eigh(correlation)
        normal = np.random.default_rng(0).standard_normal((20 * _N_DRAWS, K))
        farthest = np.abs(normal * np.sqrt(np.maximum(values, 0)) @ vectors.T).max(axis=1)
        alone = float(special.ndtri((1 + level) / 2))
        # Two classes have the same error: their region is their interval.
        return alone if K == 2 else max(float(np.quantile(farthest, level)), alone)

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        kind = "exact " if self.guarantee == "exact" else ""
        return (
            f"{self.n_labels:,} labels and {self.method}: shares {_OF[self.estimand]} "
            f"{self.n_items:,} items, with {kind}{100 * level:.6g}% intervals"
        )

    def to_table(self, level: float = 0.95) -> Table:
        """Table of `Estimate.to_table` with a column of the shares under prior shift."""
        table = super().to_table(level)
        rows = [
            [*row, f"{share:.1%}"]
            for row, share in zip(table.rows, self.under_shift.shares, strict=True)
        ]
        return Table.of([*table.columns, "prior shift"], rows)

    @property
    def _remarks(self) -> tuple[str, ...]:
        return (repr(self.agreement),)

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of `Estimate.to_frame` with the shares under prior shift and intervals."""
        ends = self.under_shift.interval(level)
        return super().to_frame(level).with_columns(
            shift_share=pl.Series(self.under_shift.shares),
            shift_low=pl.Series(ends.low),
            shift_high=pl.Series(ends.high),
        )  # fmt: skip

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Results of `Estimate.to_dict` with those of the labels."""
        return super().to_dict(level) | {
            "basis": self.basis,
            "n_labels": self.n_labels,
            "guarantee": self.guarantee,
            "agreement": self.agreement.to_dict(),
            "under_shift": self.under_shift.to_dict(level),
        }


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
    """Estimate the shares of samples of a pool from labels of some of its items."""
    check_choice("guarantee", guarantee, ("approximate", "exact"))
    rows, codes = check_labelled(labelled, n_pool, under_shift[0].classes)
    checked = check_design(design, key)
    estimates: list[Estimate] = []
    for items, estimate in zip(samples, under_shift, strict=True):
        mass = None if weights is None else weights[items]
        groups = None if clusters is None else clusters[items]
        places, inside = places_within(rows, items, n_pool)
        if len(places) < len(rows):
            check_enough(len(places), len(estimate.classes), "a sample")
        design_within = None if checked is None else checked.within(items)
        pool = corrected(items, estimate.raw, mass)
        sample = draw_of(places, len(items), design_within, mass, groups)
        labels = codes[inside]
        estimates.append(
            _estimate(pool, sample, labels, estimate, design_within, mass, groups, guarantee)
        )
    return estimates


def places_within(rows: Ints, items: Rows, n_pool: int) -> tuple[Ints, Bools]:
    """Positions of labelled rows within the items of a sample, and which rows are in it."""
    place = np.full(n_pool, -1, np.int64)
    place[items] = np.arange(len(items))
    if int((place >= 0).sum()) < len(items):
        raise HeadcountError(
            "a sample has an item twice, so labels of its items are not a random sample: "
            "pass samples without replacement."
        )
    inside = place[rows] >= 0
    return place[rows[inside]], inside


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
        posterior=normal_posterior(difference.centre, difference.with_unseen()),
        fit_test=under_shift.fit_test,
        warnings=_notes(pool, sample, design),
        n_effective=under_shift.n_effective,
        n_labels=len(codes),
        difference=difference,
        under_shift=under_shift,
        agreement=agreement_of(difference, under_shift.shares, spread),
        bounds=bounds,
    )


def check_labelled(labelled: Any, n_pool: int, classes: Array) -> tuple[Ints, Ints]:
    """Rows of labelled items, and their classes as positions in ``classes``."""
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
    """Raise an error, of which ``what`` is the subject, for fewer labels than classes."""
    least = max(n_classes, 2)
    if n_labels < least:
        raise HeadcountError(
            f"{what} has {n_labels} label{'' if n_labels == 1 else 's'} for {n_classes} "
            f"classes: label at least {least} items, better 50 or more."
        )


def check_design(design: Any, key: str) -> LabelPlan | None:
    """Plan of a pool, checked against the ``key`` of the pool at hand."""
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
    """Labelled rows with their design; weights and clusters are those of all items."""
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
    """Difference estimate of the shares of a pool, which sum to 1 but may be below 0."""
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
    """The same estimates, less certain, of the population that the pool is a sample of."""
    one_hot = indicators(codes, len(difference.centre))
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
            "row. Unless the items are in random order, they are not a random sample, and the "
            "estimate does not hold: draw rows at random, for instance by plan_labels "
            "(headcount label)."
        )
    if design is None and pool.factor > 0 and n < n_pool:
        p_value = _randomness(pool.values, sample)
        if p_value < _NOT_RANDOM:
            notes.append(
                f"The labelled rows have other scores than the rest (p = {p_value:.1g}), as if "
                "they had not been drawn at random. The estimate holds for a random sample "
                "only: draw rows by plan_labels (headcount label), and pass the plan with the "
                "labels."
            )
    return tuple(notes)


def _randomness(posteriors: Floats, sample: LabelSample) -> float:
    """P-value of the hypothesis that the rows are a simple random sample."""
    n, (n_pool, K) = len(sample), posteriors.shape
    spread = np.cov(posteriors[:, :-1], rowvar=False).reshape(K - 1, K - 1)
    gap = (posteriors[sample.rows].mean(axis=0) - posteriors.mean(axis=0))[:-1]
    noise = spread * (1 - n / n_pool) / n + 1e-12 * np.eye(K - 1)
    return float(special.chdtrc(K - 1, gap @ np.linalg.solve(noise, gap)))
