"""The shares of the classes in a sample, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_fraction
from headcount._text import text_table
from headcount.errors import HeadcountError
from headcount.uncertainty.drawing import onto_simplex
from headcount.uncertainty.intervals import Intervals, Region
from headcount.uncertainty.replicates import Target
from headcount.uncertainty.rules import Rule

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["Counts", "Estimate"]

_OF = {"realised": "among these", "expected": "behind these"}


@dataclass(frozen=True, eq=False)
class Counts:
    """How many of a sample's items are of each class.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The classes.
    count, low, high : ndarray of shape (K,)
        The estimates, which sum to the number of items, and the ends of the intervals:
        whole numbers, unless they are expected ones.
    level : float
        How often such intervals hold the count.
    """

    classes: NDArray[Any]
    count: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    level: float

    def __repr__(self) -> str:
        columns = zip(self.classes.tolist(), self.count, self.low, self.high, strict=True)
        rows = [[str(label), *map(_number, numbers)] for label, *numbers in columns]
        head = f"counts with {100 * self.level:.6g}% intervals"
        return "\n".join([head, *text_table(["class", "count", "from", "to"], rows)])


@dataclass(frozen=True, eq=False)
class Estimate:
    """Shares of the classes in a sample, with intervals at any level; prints as a table.

    Attributes
    ----------
    method : str
        The quantifier.
    classes : ndarray of shape (K,)
        The classes.
    shares : ndarray of shape (K,)
        Their estimated shares.
    n_items : int
        Number of items in the sample.
    target : {"realised", "expected"}
        Whose shares they are: those of these very items, or of the population that the
        items are a random sample of. The latter are less certain.
    replicates : ndarray of shape (B, K)
        Estimates of replicates: samples, and training sets, drawn anew. Where errors are
        added up, some may be a little below 0 or above 1.
    rules : mapping of str to Rule
        Ways to make intervals; the first is the one used unless another is asked for.
    fit_test : Any
        What a test of the method's assumption found; None if there was none.
    warnings : tuple of str
        What the reader ought to know.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(1000, class_sep=2, random_state=0)
    >>> estimate = hc.PACC(random_state=0).fit(X[:500], y[:500]).estimate(X[500:900])
    >>> estimate
    PACC: shares among these 400 items, with 95% intervals
    class  share   from     to  items
    0      50.4%  49.3%  51.4%    201
    1      49.6%  48.6%  50.7%    199
    >>> low, high = estimate.interval(level=0.9)[1]
    >>> low < estimate.prevalence[1] < high
    True
    """

    method: str
    classes: NDArray[Any]
    shares: NDArray[np.float64]
    n_items: int
    target: Target
    replicates: NDArray[np.float64]
    rules: Mapping[str, Rule]
    fit_test: Any = None
    warnings: tuple[str, ...] = ()

    @property
    def prevalence(self) -> dict[Any, float]:
        """The shares by class."""
        return dict(zip(self.classes.tolist(), self.shares.tolist(), strict=True))

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The rules by which `interval` can make intervals, the one it takes itself first."""
        return tuple(self.rules)

    def interval(self, level: float = 0.95, method: str = "auto") -> Intervals:
        """An interval for the share of each class.

        Parameters
        ----------
        level : float, default=0.95
            How often such intervals should hold the share.
        method : str, default="auto"
            One of `interval_methods`: "percentile", "centred" or "bca", from the
            replicates; "inverted" for methods that are biased by nature; "delta" for those
            that solve linear equations; "profile" for those of maximum likelihood; "bayes"
            for those that count predicted classes. "auto" is the first of them, which
            measured best.

        Returns
        -------
        Intervals
            A mapping of classes to (low, high), with arrays ``low`` and ``high``.
        """
        check_fraction("level", level)
        name = next(iter(self.rules)) if method == "auto" else method
        if name not in self.rules:
            allowed = ", ".join(map(repr, ("auto", *self.rules)))
            raise HeadcountError(
                f"method is {method!r}; for this estimate by {self.method} it must be one of "
                f"{allowed}."
            )
        low, high = self.rules[name].bounds(level)
        # An interval that does not hold its own estimate would only confuse.
        low, high = np.minimum(low, self.shares), np.maximum(high, self.shares)
        ends = np.clip(low, 0, 1), np.clip(high, 0, 1)
        return Intervals(self.classes, *ends, level=float(level), method=name)

    def region(self, level: float = 0.95) -> Region:
        """A region for the shares of all classes together.

        Parameters
        ----------
        level : float, default=0.95
            How often such regions should hold the shares.

        Returns
        -------
        Region
            With ``contains(shares)``, and ends ``low`` and ``high`` that all classes keep to
            at once.
        """
        level = check_fraction("level", level)
        unbiased = next(iter(self.rules)) == "inverted"
        centre = self.replicates.mean(axis=0) if unbiased else self.shares
        return Region.of(self.replicates, centre, self.n_items, level)

    def counts(self, level: float = 0.95, method: str = "auto") -> Counts:
        """How many items are of each class.

        Parameters
        ----------
        level : float, default=0.95
            How often the intervals should hold the count.
        method : str, default="auto"
            As for `interval`.

        Returns
        -------
        Counts
            Whole numbers. With the target "expected", the mean number in a sample of this
            size, which is not whole.
        """
        ends = self.interval(level, method)
        due, low, high = (self.n_items * part for part in (self.shares, ends.low, ends.high))
        if self.target == "expected":
            return Counts(self.classes, due, low, high, ends.level)
        count = _whole(due)
        # Whole numbers within the interval, but for the estimate itself.
        least = np.minimum(np.ceil(low - 1e-9).astype(np.int64), count)
        most = np.maximum(np.floor(high + 1e-9).astype(np.int64), count)
        return Counts(self.classes, count, least, most, ends.level)

    def to_frame(self, level: float = 0.95, method: str = "auto") -> pl.DataFrame:
        """A row a class: class, share, low, high, count, count_low, count_high.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.
        method : str, default="auto"
            As for `interval`.

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        ends, counts = self.interval(level, method), self.counts(level, method)
        return pl.DataFrame(
            {
                "class": self.classes.tolist(),
                "share": self.shares,
                "low": ends.low,
                "high": ends.high,
                "count": counts.count,
                "count_low": counts.low,
                "count_high": counts.high,
            }
        )

    def to_dict(self, level: float = 0.95, method: str = "auto") -> dict[str, Any]:
        """All of it but the replicates, as plain values that JSON can hold.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.
        method : str, default="auto"
            As for `interval`.

        Returns
        -------
        dict
        """
        ends, counts = self.interval(level, method), self.counts(level, method)
        columns = {
            "class": self.classes, "share": self.shares, "low": ends.low, "high": ends.high,
            "count": counts.count, "count_low": counts.low, "count_high": counts.high,
        }  # fmt: skip
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        test = self.fit_test
        return {
            "method": self.method,
            "n_items": self.n_items,
            "target": self.target,
            "level": ends.level,
            "interval_method": ends.method,
            "classes": [dict(zip(columns, row, strict=True)) for row in values],
            "fit_test": test.to_dict() if hasattr(test, "to_dict") else test,
            "warnings": list(self.warnings),
        }

    def plot(self, *, level: float = 0.95, kind: str = "bars", ax: Axes | None = None) -> Axes:
        """Draw the shares.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals or of the region.
        kind : {"bars", "simplex"}, default="bars"
            Bars with intervals, or, of three classes, the replicates and their region in a
            triangle.
        ax : matplotlib Axes, default=None
            Where to draw; a figure of its own by default.

        Returns
        -------
        matplotlib Axes
        """
        from headcount import plots
        from headcount._parameters import check_choice

        if check_choice("kind", kind, ("bars", "simplex")) == "bars":
            return plots.bars(self.to_frame(level), ax=ax)
        if len(self.classes) != 3:
            raise HeadcountError(
                f"kind is 'simplex', a triangle for three classes, but there are "
                f"{len(self.classes)}: choose 'bars'."
            )
        level = check_fraction("level", level)
        within = onto_simplex(self.replicates)
        return plots.simplex(within, classes=self.classes.tolist(), level=level, ax=ax)

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, level: float = 0.95, method: str = "auto") -> str:
        """The table that `print` shows, at any level.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals.
        method : str, default="auto"
            As for `interval`.

        Returns
        -------
        str
        """
        ends, counts = self.interval(level, method), self.counts(level, method)
        head = (
            f"{self.method}: shares {_OF[self.target]} {self.n_items:,} "
            f"item{'' if self.n_items == 1 else 's'}, with {100 * ends.level:.6g}% intervals"
        )
        columns = zip(
            self.classes.tolist(), self.shares, ends.low, ends.high, counts.count, strict=True
        )
        rows = [
            [str(label), f"{share:.1%}", f"{low:.1%}", f"{high:.1%}", _number(count)]
            for label, share, low, high, count in columns
        ]
        lines = text_table(["class", "share", "from", "to", "items"], rows)
        return "\n".join([head, *lines, *(f"note: {text}" for text in self.warnings)])


def _whole(due: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers with the same sum, by largest remainder."""
    total = round(float(due.sum()))
    counts = np.floor(due + 1e-9).astype(np.int64)
    order = np.argsort(counts - due, kind="stable")
    counts[order[: total - counts.sum()]] += 1
    return counts


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, np.integer) else f"{value:,.1f}"
