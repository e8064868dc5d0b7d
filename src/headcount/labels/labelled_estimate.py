"""Shares of the classes in a pool, estimated with labels of some of its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount._parameters import check_fraction
from headcount._text import Cell, Table
from headcount.labels.difference import Difference, share_ends
from headcount.labels.exact import ExactBounds
from headcount.uncertainty import Estimate, Region, SharePosterior, around_shares

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

_OF = {"realised": "among", "expected": "behind"}
_N_DRAWS = 1000


@dataclass(frozen=True)
class Agreement:
    """Test whether labels and the estimate under prior shift agree.

    Attributes
    ----------
    statistic : float
        Squared distance of the two estimates in units of their joint uncertainty.
    df : int
        Number of free differences: that of the classes minus one.
    p_value : float
        Probability of such a distance, or a larger one, if both estimate the same shares.

    Examples
    --------
    >>> Agreement(0.4, 1, 0.53)
    The labels agree with the estimate under prior shift (p = 0.53).
    """

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, gap: Floats, covariance: Floats, df: int) -> Agreement:
        """Test whether a difference of two estimates is chance.

        ``df`` are the degrees of freedom of its covariance.

        Examples
        --------
        >>> import numpy as np
        >>> Agreement.of(np.array([0.1]), np.array([[0.001]]), 99)
        The labels disagree with the estimate under prior shift (p = 0.0021).
        """
        D = len(gap)
        statistic = float(gap @ np.linalg.pinv(covariance, hermitian=True) @ gap)
        # As the covariance is itself estimated, Fisher's F rather than chi-squared.
        return cls(statistic, D, float(special.fdtrc(D, df, statistic / D)))

    def rejects(self, level: float = 0.05) -> bool:
        """Return True if the p-value is below a level: the difference is no chance."""
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
    both = (difference.with_unseen() + covariance)[:-1, :-1]
    return Agreement.of(gap, both, difference.df)


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

    Attributes
    ----------
    n_labels : int
        Number of labels.
    difference : Difference
        Estimate before it is brought onto the simplex, with its uncertainty.
    under_shift : Estimate
        Estimate of the same shares under prior shift, without the labels.
    agreement : Agreement
        Test whether the two estimates agree.
    bounds : ExactBounds or None
        Exact intervals; None for approximate ones.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(5000, class_sep=2, random_state=0)
    >>> q = hc.SLD(random_state=0).fit(X[:1000], y[:1000])
    >>> rows = np.random.default_rng(0).choice(4000, 200, replace=False)
    >>> estimate = q.estimate(X[1000:], labelled=(rows, y[1000:][rows]))
    >>> estimate
    200 labels and SLD: shares among 4,000 items, with 95% intervals
    class  share   from     to  items  prior shift
    0      49.7%  48.2%  51.1%  1,987        50.2%
    1      50.3%  48.9%  51.8%  2,013        49.8%
    The labels agree with the estimate under prior shift (p = 0.53).
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
            return share_ends(self.difference, self.n_items, level)
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
            [*row, Cell(f"{share:.1%}")]
            for row, share in zip(table.rows, self.under_shift.shares, strict=True)
        ]
        return Table([*table.columns, "prior shift"], rows, [*table.numeric, True])

    @property
    def _remarks(self) -> tuple[str, ...]:
        return (repr(self.agreement),)

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table of `Estimate.to_frame` with shift_share, shift_low and shift_high.

        These are the shares under prior shift and their intervals.
        """
        import polars as pl

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
