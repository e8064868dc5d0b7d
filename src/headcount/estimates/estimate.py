"""Intervals for each class, and a region for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from headcount import plots
from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount._support.parameters import check_choice, check_fraction
from headcount._support.text import Table, html_result
from headcount.errors import HeadcountError
from headcount.estimates.actions import ACTIONS, action
from headcount.estimates.conditioning import RepeatedPosterior, SharePosterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Points that the volume of a region is computed from, in the simplex and in its neighbourhood.
_N_POINTS = 10_000


def around_shares(
    low: Floats, high: Floats, shares: Floats, n_items: int
) -> tuple[Floats, Floats]:
    """Ends of intervals from 0 to 1 that contain the estimated shares."""
    half = 0.5 / n_items
    low, high = np.minimum(low, shares - half), np.maximum(high, shares + half)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


@dataclass(frozen=True, eq=False)
class Intervals(Mapping[Any, tuple[float, float]]):
    """Intervals of the classes, as a mapping of classes to ends. Prints as a table.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes.
    low, high : ndarray of shape (K,)
        Ends of the intervals.
    level : float
        Probability that an interval contains its share.

    Examples
    --------
    >>> import numpy as np
    >>> ends = np.array([0.2, 0.6]), np.array([0.4, 0.8])
    >>> intervals = Intervals(np.array(["a", "b"]), *ends, level=0.95)
    >>> intervals["a"]
    (0.2, 0.4)
    >>> intervals
    95% intervals
    class   from     to
    a      20.0%  40.0%
    b      60.0%  80.0%
    """

    classes: Array
    low: Floats
    high: Floats
    level: float

    def __getitem__(self, label: Any) -> tuple[float, float]:
        labels = self.classes.tolist()
        if label not in labels:
            raise KeyError(label)
        place = labels.index(label)
        return float(self.low[place]), float(self.high[place])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.classes.tolist())

    def __len__(self) -> int:
        return len(self.classes)

    def to_table(self) -> Table:
        """Table that `print` shows, one row per class."""
        rows = [[label, f"{low:.1%}", f"{high:.1%}"] for label, (low, high) in self.items()]
        return Table.of(["class", "from", "to"], rows)

    def __repr__(self) -> str:
        return f"{self._title}\n{self.to_table().to_text(ruled=False)}"

    def _repr_html_(self) -> str:
        return html_result(self._title, [self.to_table()], ())

    @property
    def _title(self) -> str:
        return f"{100 * self.level:.6g}% intervals"


@dataclass(frozen=True, eq=False)
class Region:
    """Region for the shares of all classes together.

    One interval per class. All of them contain their shares at once with probability
    ``level``. Each extends the same number of standard errors to both sides.

    Attributes
    ----------
    centre : ndarray of shape (K,)
        The estimate.
    errors : ndarray of shape (K,)
        Standard errors.
    reach : float
        Extent of the region around the centre, in standard errors.
    level : float
        Probability that the region contains the shares.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).dirichlet([20, 30, 50], size=500)
    >>> region = Region.of(draws, np.array([0.2, 0.3, 0.5]), 100, 0.95)
    >>> region.contains([0.22, 0.3, 0.48]), region.contains([0.5, 0.3, 0.2])
    (True, False)
    >>> region.low.round(2), region.high.round(2)
    (array([0.1 , 0.2 , 0.39]), array([0.3 , 0.4 , 0.61]))
    """

    centre: Floats
    errors: Floats
    reach: float
    level: float

    @classmethod
    def of(cls, draws: Floats, centre: Floats, n_items: int, level: float) -> Region:
        """Region around the centre that contains the fraction `level` of the draws."""
        # Shares among n items are accurate to half an item at best.
        errors = np.sqrt(draws.var(axis=0) + 0.25 / n_items**2)
        farthest = np.abs((draws - draws.mean(axis=0)) / errors).max(axis=1)
        return cls(centre, errors, float(np.quantile(farthest, level)), level)

    @property
    def low(self) -> Floats:
        """Lower ends, one per class."""
        return np.clip(self.centre - self.reach * self.errors, 0, 1)

    @property
    def high(self) -> Floats:
        """Upper ends, one per class."""
        return np.clip(self.centre + self.reach * self.errors, 0, 1)

    @property
    def volume(self) -> float:
        """Fraction of all possible shares that the region contains; see `volume_of`."""
        # Evenly spread over the intervals of all classes but the last, whose share is left.
        low, high = self.low, self.high
        width, d = high[:-1] - low[:-1], len(low) - 1
        rng = np.random.default_rng(0)
        last = 1 - (low[:-1] + width * rng.random((_N_POINTS, d))).sum(axis=1)
        inside = (last >= low[-1]) & (last <= high[-1])
        box = np.exp(np.log(np.maximum(width, 1e-300)).sum() + lgamma(d + 1))
        shares = spread_over(d + 1)
        within = np.asarray(((low <= shares) & (shares <= high)).all(axis=1))
        return volume_of(box * inside, within)

    def contains(self, shares: ArrayLike) -> bool:
        """Return True if shares lie in the region.

        Parameters
        ----------
        shares : array-like of shape (K,)
            Shares that sum to 1.
        """
        point = check_shares(shares, len(self.centre))
        inside = (self.low - 1e-9 <= point) & (point <= self.high + 1e-9)
        return bool(inside.all())


def spread_over(n_classes: int) -> Floats:
    """Points spread evenly over all possible shares; the same ones each time."""
    return np.random.default_rng(1).dirichlet(np.ones(n_classes), _N_POINTS)


def volume_of(around: Floats, within: Bools) -> float:
    """Volume of a region by points around it, or by points within the simplex.

    The former are accurate for small regions, the latter for large ones. Those with the
    smaller standard error relative to the volume are used: one of about one percent with few
    classes. Where neither has a point in the region it is smaller than can be computed, and 0
    is returned.
    """

    def relative_error(values: Array) -> float:
        mean = values.mean()
        return float(values.std() / mean) if mean > 0 else np.inf

    return float(min(1.0, min((within, around), key=relative_error).mean()))


def check_shares(shares: ArrayLike, n_classes: int) -> Floats:
    """Check shares of all classes, which sum to 1."""
    try:
        numbers = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    fine = numbers.shape == (n_classes,) and np.isfinite(numbers).all()
    if not fine or numbers.min() < 0 or abs(numbers.sum() - 1) > 1e-6:
        raise HeadcountError(
            f"shares is {shares!r}; it must have {n_classes} shares, one per class, "
            "that sum to 1."
        )
    return numbers


@dataclass(frozen=True, eq=False)
class Ellipse:
    """Elliptic region for the shares of all classes, on the simplex or in log-ratios.

    Draws of the shares give its centre and axes, and its size is such that it contains the
    fraction ``level`` of them. In log-ratios it follows the border of the simplex; centred
    and isometric log-ratios give the same region.

    Attributes
    ----------
    middle : ndarray of shape (K - 1,)
        Its centre, in coordinates.
    axes : ndarray of shape (K - 1, K - 1)
        Root of the covariance of the draws, in coordinates.
    reach : float
        Extent of the region around its centre, in standard errors.
    n_items : int
        Number of items. In log-ratios half an item is added to each class.
    logs : bool
        True if the coordinates are log-ratios.
    level : float
        Probability that the region contains the shares.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).dirichlet([20, 30, 50], size=1000)
    >>> region = Ellipse.of(draws, 100, 0.95, logs=True)
    >>> region.contains([0.22, 0.3, 0.48]), region.contains([0.5, 0.3, 0.2])
    (True, False)
    >>> round(region.volume, 2)  # of all possible shares
    0.06
    """

    middle: Floats
    axes: Floats
    reach: float
    n_items: int
    logs: bool
    level: float

    @classmethod
    def of(cls, draws: Floats, n_items: int, level: float, *, logs: bool) -> Ellipse:
        """Region that contains the fraction `level` of the draws."""
        places = _coordinates(draws, n_items, logs)
        middle = places.mean(axis=0)
        away = places - middle
        variance = away.T @ away / len(away)
        # Shares among n items are accurate to half an item at best.
        least = np.diag(np.full(len(variance), 0.25 / n_items**2))
        axes = np.linalg.cholesky(variance + least)
        distances = np.linalg.norm(np.linalg.solve(axes, away.T), axis=0)
        return cls(middle, axes, float(np.quantile(distances, level)), n_items, logs, level)

    @property
    def centre(self) -> Floats:
        """Shares at the centre."""
        shares, n = self._shares(self.middle[None])[0], self.n_items
        if self.logs:
            shares = np.clip((shares * (n + len(shares) / 2) - 0.5) / n, 0, None)
        return np.asarray(shares / shares.sum())

    @cached_property
    def volume(self) -> float:
        """Fraction of all possible shares that the region contains; see `volume_of`."""
        d = len(self.middle)
        shares = self._shares(self.middle + self.reach * _within_ball(d) @ self.axes.T)
        # Size of the ellipse in coordinates, relative to the simplex.
        ball = d / 2 * np.log(np.pi) - lgamma(d / 2 + 1) + d * np.log(max(self.reach, 1e-300))
        simplex = np.log(d + 1) / 2 - lgamma(d + 1)
        size = ball + np.log(np.diag(self.axes)).sum() - simplex
        added = (d + 1) / 2 / self.n_items  # half an item of each class
        least = added / (1 + added) / (d + 1) if self.logs else 0.0
        density = np.zeros(len(shares))
        if self.logs:
            # Area of the simplex per unit of the coordinates at each point.
            density = np.log(shares).sum(axis=1) + np.log(d + 1) + d * np.log1p(added)
        around = np.where((shares >= least).all(axis=1), np.exp(size + density), 0.0)
        return volume_of(around, self._inside(spread_over(d + 1)))

    @documented(Region.contains)
    def contains(self, shares: ArrayLike) -> bool:
        """Return True if shares lie in the region."""
        return bool(self._inside(check_shares(shares, len(self.middle) + 1)[None])[0])

    def _inside(self, shares: Floats) -> Bools:
        """Check shares, one row each."""
        away = _coordinates(shares, self.n_items, self.logs) - self.middle
        distances = np.linalg.norm(np.linalg.solve(self.axes, away.T), axis=0)
        return np.asarray(distances <= self.reach + 1e-9)

    def _shares(self, places: Floats) -> Floats:
        """Shares at some coordinates; in log-ratios those with half an item added."""
        plane = places @ _basis(places.shape[1] + 1)
        if not self.logs:
            return np.asarray(plane + 1 / plane.shape[1])
        odds = np.exp(plane - plane.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _coordinates(shares: Floats, n_items: int, logs: bool) -> Floats:
    """Coordinates of shares on the plane of the simplex, or of their log-ratios."""
    values = np.log(n_items * shares + 0.5) if logs else shares
    return np.asarray(values @ _basis(shares.shape[1]).T)


def _basis(K: int) -> Floats:
    """Orthonormal rows that are orthogonal to equal numbers (Helmert)."""
    rows = np.tri(K - 1, K) - np.diag(np.arange(1.0, K), 1)[:-1]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _within_ball(d: int) -> Floats:
    """Points spread evenly within the unit ball; the same ones each time."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(_N_POINTS, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    levels = (np.arange(_N_POINTS) + 0.5) / _N_POINTS
    return np.asarray(points * levels[:, None] ** (1 / d))


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

    classes: Array
    count: Array
    low: Array
    high: Array
    level: float

    def to_table(self) -> Table:
        """Table that `print` shows, one row per class."""
        columns = zip(self.classes.tolist(), self.count, self.low, self.high, strict=True)
        rows = [[label, *map(_number, numbers)] for label, *numbers in columns]
        return Table.of(["class", "count", "from", "to"], rows)

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
    shares are likely: `prevalence` are the shares with the least expected absolute error, and
    intervals are quantiles. `point` has the best shares for other metrics.

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
    0      50.4%  49.1%  51.6%    202
    1      49.6%  48.4%  50.9%    198
    >>> low, high = estimate.interval(level=0.9)[1]
    >>> low < estimate.prevalence[1] < high
    True
    """

    method: str
    classes: Array
    shares: Floats
    raw: Floats
    n_items: int
    estimand: Estimand
    posterior: SharePosterior | RepeatedPosterior
    fit_test: Any = None
    warnings: tuple[str, ...] = ()
    n_effective: float | None = None
    reduction_error: Floats | None = None

    @property
    def basis(self) -> str:
        """Foundation of the shares.

        "prior shift", "labels" of the items themselves, the "history" of labelled groups, or
        "no history: two readings".
        """
        return "prior shift"

    @property
    def prevalence(self) -> dict[Any, float]:
        """Shares by class."""
        return dict(zip(self.classes.tolist(), self.shares.tolist(), strict=True))

    @property
    def draws(self) -> Floats:
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

    def point(self, metric: str) -> Floats:
        """Shares with the least expected error by a metric.

        Parameters
        ----------
        metric : {"mean", "ae", "rae"}
            Absolute error, relative absolute error (smoothed by 1 / (2 n) for n items), or the
            mean, which has the least expected squared error. Of classes that may be absent,
            "rae" returns a share near 0 unless they are very likely to be there.

        Returns
        -------
        ndarray of shape (K,)
        """
        check_choice("metric", metric, ACTIONS)
        if self.estimand == "realised":
            return self.posterior.point(metric, self.n_items)
        draws = self.draws
        return action(metric, draws, np.full(len(draws), 1 / len(draws)), self.n_items)

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

    def _ends(self, level: float) -> tuple[Floats, Floats]:
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

    @documented(region)
    def ellipse(self, level: float = 0.95, *, scale: str = "log-ratios") -> Ellipse:
        """Elliptic region for the shares of all classes, which follows their correlations.

        Parameters
        ----------
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
    def count(self) -> Array:
        """Number of items of each class; whole numbers for the estimand "realised"."""
        due = self.n_items * self.shares
        return due if self.estimand == "expected" else _whole(due)

    @documented(interval)
    def counts(self, level: float = 0.95) -> Counts:
        """Number of items of each class, with intervals.

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
        """Table with columns class, share, raw, low, high, count, count_low, count_high."""
        columns = self._columns(level)
        return pl.DataFrame(columns | {"class": self.classes.tolist()})

    def _columns(self, level: float) -> dict[str, Any]:
        """Numbers by class, as arrays."""
        ends, counts = self.interval(level), self.counts(level)
        return {
            "class": self.classes, "share": self.shares, "raw": self.raw,
            "low": ends.low, "high": ends.high, "count": counts.count,
            "count_low": counts.low, "count_high": counts.high,
        }  # fmt: skip

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return all results except the draws, as plain values for JSON."""
        columns, test = self._columns(level), self.fit_test
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        return {
            "method": self.method,
            "n_items": self.n_items,
            "estimand": self.estimand,
            "level": check_fraction("level", level),
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
        """
        if check_choice("kind", kind, ("bars", "simplex")) == "bars":
            return plots.bars(self.to_frame(level), ax=ax)
        if len(self.classes) != 3:
            raise HeadcountError(
                f"kind is 'simplex', which is for three classes, but there are "
                f"{len(self.classes)}: choose 'bars'."
            )
        level = check_fraction("level", level)
        return plots.simplex(self.draws, classes=self.classes.tolist(), level=level, ax=ax)

    @property
    def quantity(self) -> str:
        """Estimated quantity: "shares"."""
        return "shares"

    def in_words(self, level: float = 0.95) -> dict[str, str]:
        """Share and interval of each class as text."""
        ends, names = self.interval(level), map(str, self.classes.tolist())
        shares = zip(names, self.shares, ends.low, ends.high, strict=True)
        return {
            name: f"{share:.1%} ({low:.1%} to {high:.1%})" for name, share, low, high in shares
        }

    def title(self, level: float = 0.95) -> str:
        """First line that `print` shows."""
        return (
            f"{self.method}: shares {_OF[self.estimand]} {self.n_items:,} "
            f"item{'' if self.n_items == 1 else 's'}, with {100 * level:.6g}% intervals"
        )

    def to_table(self, level: float = 0.95) -> Table:
        """Table that `print` shows, one row per class."""
        ends, counts = self.interval(level), self.counts(level)
        columns = zip(
            self.classes.tolist(), self.shares, ends.low, ends.high, counts.count, strict=True
        )
        rows = [
            [label, f"{share:.1%}", f"{low:.1%}", f"{high:.1%}", _number(count)]
            for label, share, low, high, count in columns
        ]
        return Table.of(["class", "share", "from", "to", "items"], rows)

    def to_text(self, level: float = 0.95) -> str:
        """Text that `print` shows, at any level."""
        table = self.to_table(level).to_text(ruled=False)
        notes = (f"note: {text}" for text in self.warnings)
        return "\n".join([self.title(level), table, *self._remarks, *notes])

    @property
    def _remarks(self) -> tuple[str, ...]:
        """Sentences below the table that are not warnings."""
        return ()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        notes = (*self._remarks, *self.warnings)
        return html_result(self.title(), [self.to_table()], notes)


def _whole(due: Floats) -> Ints:
    """Whole numbers with the same sum, by largest remainder."""
    total = round(float(due.sum()))
    counts = np.floor(due + 1e-9).astype(np.int64)
    order = np.argsort(counts - due, kind="stable")
    counts[order[: total - counts.sum()]] += 1
    return counts


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, np.integer) else f"{value:,.1f}"
