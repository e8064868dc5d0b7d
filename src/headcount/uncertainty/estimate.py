"""Estimated shares of the classes in a sample, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_fraction
from headcount._text import Cell, Table, html_result
from headcount.errors import HeadcountError
from headcount.uncertainty.ellipses import Ellipse
from headcount.uncertainty.intervals import Intervals, Region, around_shares
from headcount.uncertainty.shares import RepeatedPosterior, SharePosterior

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

Estimand = Literal["realised", "expected"]

_OF = {"realised": "among these", "expected": "behind these"}


@dataclass(frozen=True, eq=False)
class Counts:
    """Number of items of each class in a sample.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes.
    count, low, high : ndarray of shape (K,)
        Estimates, which sum to the number of items, and ends of the intervals. They are
        whole numbers, except for the estimand "expected".
    level : float
        Probability that an interval contains the count.
    """

    classes: NDArray[Any]
    count: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    level: float

    def to_table(self) -> Table:
        """Table that `print` shows, one row per class."""
        columns = zip(self.classes.tolist(), self.count, self.low, self.high, strict=True)
        rows = [[Cell(str(label)), *(Cell(_number(n)) for n in ns)] for label, *ns in columns]
        return Table(["class", "count", "from", "to"], rows, [False] + [True] * 3)

    def __repr__(self) -> str:
        return f"{self._title}\n{self.to_table().to_text(ruled=False)}"

    def _repr_html_(self) -> str:
        return html_result(self._title, [self.to_table()], ())

    @property
    def _title(self) -> str:
        return f"counts with {100 * self.level:.6g}% intervals"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shares of the classes in a sample, with intervals at any level. Prints as a table.

    The shares are conditioned on the result of a method. Samples with known shares are
    simulated from the training items. Those with similar results of the method show which
    shares are likely: `prevalence` is their mean, and intervals are quantiles.

    Attributes
    ----------
    method : str
        Name of the quantifier.
    classes : ndarray of shape (K,)
        The classes.
    shares : ndarray of shape (K,)
        Estimated shares of the classes.
    raw : ndarray of shape (K,)
        Shares that `predict` of the quantifier returns.
    n_items : int
        Number of items in the sample.
    estimand : {"realised", "expected"}
        Shares among these items, or in the population of which the items are a random
        sample. The latter are less certain.
    posterior : SharePosterior
        Distribution of the realised shares.
    fit_test : Any
        Result of the test of the method's assumption. None if there was no test.
    warnings : tuple of str
        Warnings, one sentence each.
    n_effective : float or None
        Number of independent items of equal weight that items with weights or clusters are
        worth. None for items without.
    reduction_error : ndarray of shape (K,) or None
        Error of the shares that comes from cells or a sample of items in place of all items,
        in estimates from `Statistics`. None for estimates from items, and if there is none.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(1000, class_sep=2, random_state=0)
    >>> estimate = hc.PACC(random_state=0).fit(X[:500], y[:500]).estimate(X[500:900])
    >>> estimate
    PACC: shares among these 400 items, with 95% intervals
    class  share   from     to  items
    0      50.3%  49.1%  51.7%    201
    1      49.7%  48.3%  50.9%    199
    >>> low, high = estimate.interval(level=0.9)[1]
    >>> low < estimate.prevalence[1] < high
    True
    """

    method: str
    classes: NDArray[Any]
    shares: NDArray[np.float64]
    raw: NDArray[np.float64]
    n_items: int
    estimand: Estimand
    posterior: SharePosterior | RepeatedPosterior
    fit_test: Any = None
    warnings: tuple[str, ...] = ()
    n_effective: float | None = None
    reduction_error: NDArray[np.float64] | None = None

    @property
    def basis(self) -> str:
        """Foundation of the shares: "prior shift", or "labels" of the items themselves."""
        return "prior shift"

    @property
    def prevalence(self) -> dict[Any, float]:
        """Shares by class."""
        return dict(zip(self.classes.tolist(), self.shares.tolist(), strict=True))

    @property
    def draws(self) -> NDArray[np.float64]:
        """Equally likely draws of the shares, one row per draw."""
        realised = self.posterior.draws
        if self.estimand == "realised":
            return realised
        # Given the counts of the classes among n items, the shares of the population have a
        # Dirichlet distribution. The seed is fixed, so that an estimate is reproducible.
        rng = np.random.default_rng(0)
        size = self.n_items if self.n_effective is None else self.n_effective
        gamma = rng.standard_gamma(size * realised + 1 / len(self.classes))
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))

    def interval(self, level: float = 0.95) -> Intervals:
        """Interval for the share of each class.

        Parameters
        ----------
        level : float, default=0.95
            Probability that the interval contains the share.

        Returns
        -------
        Intervals
            Mapping of classes to (low, high), with arrays ``low`` and ``high``.
        """
        level = check_fraction("level", level)
        return Intervals(self.classes, *self._ends(level), level=level)

    def _ends(self, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return around_shares(low, high, self.shares, self.n_items)

    def region(self, level: float = 0.95) -> Region:
        """Region for the shares of all classes together.

        Parameters
        ----------
        level : float, default=0.95
            Probability that the region contains the shares.

        Returns
        -------
        Region
            Region with ``contains(shares)``, with ends ``low`` and ``high`` that hold for all
            classes at once, and with ``volume``, the fraction of all possible shares in it.
        """
        level = check_fraction("level", level)
        return Region.of(self.draws, self.shares, self.n_items, level)

    def ellipse(self, level: float = 0.95, *, scale: str = "log-ratios") -> Ellipse:
        """Elliptic region for the shares of all classes, which follows their correlations.

        Parameters
        ----------
        level : float, default=0.95
            Probability that the region contains the shares.
        scale : {"log-ratios", "shares"}, default="log-ratios"
            Scale on which it is an ellipse. In log-ratios it follows the border of the
            simplex; centred and isometric ones (CLR, ILR) give the same region.

        Returns
        -------
        Ellipse
            With ``contains(shares)`` and ``volume``, as `region`.
        """
        level = check_fraction("level", level)
        logs = check_choice("scale", scale, ("log-ratios", "shares")) == "log-ratios"
        return Ellipse.of(self.draws, self.n_items, level, logs=logs)

    @property
    def count(self) -> NDArray[Any]:
        """Number of items of each class; whole numbers for the estimand "realised"."""
        due = self.n_items * self.shares
        return due if self.estimand == "expected" else _whole(due)

    def counts(self, level: float = 0.95) -> Counts:
        """Number of items of each class, with intervals.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval contains the count.

        Returns
        -------
        Counts
            Whole numbers. With the estimand "expected", mean numbers in a sample of this size,
            which are not whole.
        """
        ends = self.interval(level)
        count, low, high = self.count, self.n_items * ends.low, self.n_items * ends.high
        if self.estimand == "expected":
            return Counts(self.classes, count, low, high, ends.level)
        # Whole numbers within the interval, extended to contain the estimate.
        least = np.minimum(np.ceil(low - 1e-9).astype(np.int64), count)
        most = np.maximum(np.floor(high + 1e-9).astype(np.int64), count)
        return Counts(self.classes, count, least, most, ends.level)

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """Table with columns class, share, raw, low, high, count, count_low, count_high.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        ends, counts = self.interval(level), self.counts(level)
        return pl.DataFrame(
            {
                "class": self.classes.tolist(),
                "share": self.shares,
                "raw": self.raw,
                "low": ends.low,
                "high": ends.high,
                "count": counts.count,
                "count_low": counts.low,
                "count_high": counts.high,
            }
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return all results except the draws, as plain values for JSON.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        dict
        """
        ends, counts = self.interval(level), self.counts(level)
        columns = {
            "class": self.classes, "share": self.shares, "raw": self.raw,
            "low": ends.low, "high": ends.high, "count": counts.count,
            "count_low": counts.low, "count_high": counts.high,
        }  # fmt: skip
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        test = self.fit_test
        return {
            "method": self.method,
            "n_items": self.n_items,
            "estimand": self.estimand,
            "level": ends.level,
            "classes": [dict(zip(columns, row, strict=True)) for row in values],
            "fit_test": None if test is None else test.to_dict(),
            "warnings": list(self.warnings),
        }

    def plot(self, *, level: float = 0.95, kind: str = "bars", ax: Axes | None = None) -> Axes:
        """Draw the shares.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals or of the region.
        kind : {"bars", "simplex"}, default="bars"
            Kind of plot: bars with intervals, or for three classes the draws and their
            region in a triangle.
        ax : matplotlib Axes, default=None
            Axes to draw on. By default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from headcount import plots

        if check_choice("kind", kind, ("bars", "simplex")) == "bars":
            return plots.bars(self.to_frame(level), ax=ax)
        if len(self.classes) != 3:
            raise HeadcountError(
                f"kind is 'simplex', which is for three classes, but there are "
                f"{len(self.classes)}: choose 'bars'."
            )
        level = check_fraction("level", level)
        return plots.simplex(self.draws, classes=self.classes.tolist(), level=level, ax=ax)

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        str
        """
        return (
            f"{self.method}: shares {_OF[self.estimand]} {self.n_items:,} "
            f"item{'' if self.n_items == 1 else 's'}, with {100 * level:.6g}% intervals"
        )

    def to_table(self, level: float = 0.95) -> Table:
        """Table that `print` shows, one row per class.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        Table
        """
        ends, counts = self.interval(level), self.counts(level)
        columns = zip(
            self.classes.tolist(), self.shares, ends.low, ends.high, counts.count, strict=True
        )
        rows = [
            [str(label), f"{share:.1%}", f"{low:.1%}", f"{high:.1%}", _number(count)]
            for label, share, low, high, count in columns
        ]
        cells = [[Cell(text) for text in row] for row in rows]
        return Table(["class", "share", "from", "to", "items"], cells, [False] + [True] * 4)

    def to_text(self, level: float = 0.95) -> str:
        """Text that `print` shows, at any level.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        str
        """
        table = self.to_table(level).to_text(ruled=False)
        notes = (f"note: {text}" for text in self.warnings)
        return "\n".join([self.title(level), table, *self._remarks, *notes])

    @property
    def _remarks(self) -> tuple[str, ...]:
        """Sentences below the table that are no warnings."""
        return ()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        notes = (*self._remarks, *self.warnings)
        return html_result(self.title(), [self.to_table()], notes)


def _whole(due: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers with the same sum, by largest remainder."""
    total = round(float(due.sum()))
    counts = np.floor(due + 1e-9).astype(np.int64)
    order = np.argsort(counts - due, kind="stable")
    counts[order[: total - counts.sum()]] += 1
    return counts


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, np.integer) else f"{value:,.1f}"
