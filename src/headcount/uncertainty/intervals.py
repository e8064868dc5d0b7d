"""Intervals for each class, and a region for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._text import Cell, Table, html_result
from headcount.errors import HeadcountError

# Points that the volume of a region is computed from, in the simplex and in its neighbourhood.
_N_POINTS = 10_000


def around_shares(
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    shares: NDArray[np.float64],
    n_items: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of intervals from 0 to 1 that contain the estimated shares.

    Shares among n items are accurate to half an item at best. Every level is extended by the
    same half, so that higher levels have wider intervals.
    """
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

    classes: NDArray[Any]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
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
        rows = [
            [Cell(str(label)), Cell(f"{low:.1%}"), Cell(f"{high:.1%}")]
            for label, (low, high) in self.items()
        ]
        return Table(["class", "from", "to"], rows, [False, True, True])

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

    centre: NDArray[np.float64]
    errors: NDArray[np.float64]
    reach: float
    level: float

    @classmethod
    def of(
        cls, draws: NDArray[np.float64], centre: NDArray[np.float64], n_items: int, level: float
    ) -> Region:
        """Region around the centre that contains the fraction `level` of the draws."""
        # Shares among n items are accurate to half an item at best.
        errors = np.sqrt(draws.var(axis=0) + 0.25 / n_items**2)
        farthest = np.abs((draws - draws.mean(axis=0)) / errors).max(axis=1)
        return cls(centre, errors, float(np.quantile(farthest, level)), level)

    @property
    def low(self) -> NDArray[np.float64]:
        """Lower ends, one per class."""
        return np.clip(self.centre - self.reach * self.errors, 0, 1)

    @property
    def high(self) -> NDArray[np.float64]:
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

        Returns
        -------
        bool
        """
        point = check_shares(shares, len(self.centre))
        inside = (self.low - 1e-9 <= point) & (point <= self.high + 1e-9)
        return bool(inside.all())


def spread_over(n_classes: int) -> NDArray[np.float64]:
    """Points spread evenly over all possible shares; the same ones each time."""
    return np.random.default_rng(1).dirichlet(np.ones(n_classes), _N_POINTS)


def volume_of(around: NDArray[np.float64], within: NDArray[np.bool_]) -> float:
    """Volume of a region by points around it, or by points within the simplex.

    The former are accurate for small regions, the latter for large ones. Those with the
    smaller standard error relative to the volume are used: one of about one percent with few
    classes. Where neither has a point in the region it is smaller than can be computed, and 0
    is returned.
    """

    def relative_error(values: NDArray[Any]) -> float:
        mean = values.mean()
        return float(values.std() / mean) if mean > 0 else np.inf

    return float(min(1.0, min((within, around), key=relative_error).mean()))


def check_shares(shares: ArrayLike, n_classes: int) -> NDArray[np.float64]:
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
