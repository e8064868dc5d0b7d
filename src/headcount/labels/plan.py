"""A plan: items of a pool to label, and the precision that it buys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount._text import Cell, Table, html_result
from headcount.data.columns import as_narwhals, plain_column
from headcount.errors import HeadcountError
from headcount.labels.sample import LabelSample

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Mean scores of two pools that are further apart than this are of different pools.
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Budget:
    """Precision that a number of labels buys.

    Attributes
    ----------
    n : int
        Number of labels.
    precision : float
        Half the width of the widest interval to expect.
    """

    n: int
    precision: float


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """Random sample of the items of a pool to label. Prints what each budget buys.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions of the items to label, in random order. If only the first of them get
        labelled, they are still a random sample.
    strata : ndarray of shape (n,)
        Stratum of each row, numbered from 0.
    sizes : ndarray of shape (H,)
        Number of items of the pool in each stratum.
    pool : str
        Key of the pool, by which a plan of another pool is recognised.
    budgets : tuple of Budget
        Precision of several budgets.
    precision : float or None
        Half the width of the widest interval to expect from this plan. None for a plan that
        was read from a file.
    level : float
        Level of the intervals.
    estimand : {"realised", "expected"}
        Shares among the items of the pool, or in its population.
    n_groups : int
        Number of groups that precision and budgets are for, each.
    warnings : tuple of str
        Reasons why intervals may be wider than planned.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(6000, class_sep=2, random_state=0)
    >>> q = hc.SLD(random_state=0).fit(X[:1000], y[:1000])
    >>> plan = q.plan_labels(X[1000:], budget=200, random_state=0)
    >>> plan.n, plan.to_frame().columns
    (200, ['row', 'stratum', 'weight', 'label', 'pool'])
    >>> rows = plan.rows  # have these labelled
    >>> estimate = q.estimate(X[1000:], labelled=(rows, y[1000:][rows]), design=plan)
    >>> estimate.basis
    'labels'
    """

    rows: Ints
    strata: Ints
    sizes: Ints
    pool: str
    budgets: tuple[Budget, ...] = ()
    precision: float | None = None
    level: float = 0.95
    estimand: str = "realised"
    n_groups: int = 1
    warnings: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of items to label."""
        return len(self.rows)

    @property
    def n_pool(self) -> int:
        """Number of items in the pool."""
        return int(self.sizes.sum())

    @property
    def weights(self) -> Floats:
        """Number of items of the pool that each row stands for."""
        return (self.sizes / np.bincount(self.strata, minlength=len(self.sizes)))[self.strata]

    def to_frame(self) -> pl.DataFrame:
        """Table with columns row, stratum, weight, label (empty) and pool."""
        import polars as pl

        return pl.DataFrame(
            {
                "row": self.rows,
                "stratum": self.strata + 1,
                "weight": self.weights,
                "label": pl.Series([None] * self.n, dtype=pl.String),
                "pool": [self.pool] * self.n,
            }
        )

    @classmethod
    def from_frame(cls, frame: Any) -> LabelPlan:
        """Plan from the table of `to_frame`, with or without labels.

        Parameters
        ----------
        frame : frame of any library, or a dict of columns
            The table, with all rows of the plan. More columns do not matter.

        Returns
        -------
        LabelPlan

        Examples
        --------
        >>> import numpy as np
        >>> plan = LabelPlan(np.array([7, 2, 5]), np.array([0, 0, 1]), np.array([6, 4]), "10")
        >>> LabelPlan.from_frame(plan.to_frame()).sizes
        array([6, 4])
        """
        columns = {name: _column(frame, name) for name in ("row", "stratum", "weight", "pool")}
        pools = set(columns["pool"].tolist())
        if len(pools) != 1:
            raise HeadcountError(
                f"the column 'pool' of the plan has {len(pools)} different values, but a plan "
                "is made for one pool: read the table of a single plan."
            )
        rows = columns["row"].astype(np.int64)
        unique, times = np.unique(rows, return_counts=True)
        if (times > 1).any():
            raise HeadcountError(
                f"the table of the plan has row {int(unique[times.argmax()]):,} "
                f"{int(times.max())} times: keep each row once, with one label."
            )
        strata = np.unique(columns["stratum"], return_inverse=True)[1].astype(np.int64)
        counts = np.bincount(strata)
        sums = np.bincount(strata, columns["weight"].astype(np.float64))
        plan = cls(rows, strata, np.rint(sums).astype(np.int64), str(pools.pop()))
        expected = int(plan.pool.split(":")[0])
        if plan.n_pool != expected or (plan.sizes < counts).any():
            raise HeadcountError(
                f"the rows of the plan stand for {plan.n_pool:,} items, but its pool has "
                f"{expected:,}: keep all rows of the plan in the table, those without a label "
                "too."
            )
        return plan

    def check_pool(self, pool: str) -> None:
        """Raise an error if the pool with this key is another one."""
        if not _same_pool(self.pool, pool):
            raise HeadcountError(
                "design is a plan for another pool: X has other items, in another order, or "
                "was scored by another model than the items the plan was made for. Pass the "
                "plan of X, or make one by plan_labels(X)."
            )

    def within(self, items: NDArray[np.integer[Any]]) -> LabelPlan:
        """Plan for a part of the pool: a group that it was made for, or any if unstratified.

        Rows become positions in ``items``, the rows of the part.

        Examples
        --------
        >>> import numpy as np
        >>> plan = LabelPlan(np.array([7, 2, 5]), np.array([0, 0, 1]), np.array([6, 4]), "10")
        >>> plan.within(np.array([9, 7, 4, 3, 2, 1])).rows
        array([1, 4])
        """
        if np.array_equal(items, np.arange(self.n_pool)):
            return self
        place = np.full(self.n_pool, -1, np.int64)
        place[items] = np.arange(len(items))
        inside = place[self.rows] >= 0
        if len(self.sizes) == 1:  # any part of a simple random sample is one
            none = np.zeros(int(inside.sum()), np.int64)
            sizes = np.array([len(items)])
            return LabelPlan(place[self.rows[inside]], none, sizes, str(len(items)))
        kept = np.unique(self.strata[inside])
        sizes = self.sizes[kept]
        if sizes.sum() != len(items) or np.isin(self.strata[~inside], kept).any():
            raise HeadcountError(
                "The plan of the labels was not made for these groups, so that they are no "
                "random sample of each: plan labels by the same groups, or estimate all items "
                "together."
            )
        strata = np.searchsorted(kept, self.strata[inside])
        return LabelPlan(place[self.rows[inside]], strata, sizes, str(len(items)))

    def sample(
        self, rows: Ints, weights: Floats | None = None, clusters: Ints | None = None
    ) -> LabelSample:
        """Labelled rows of the plan as a stratified sample of the pool.

        Weights and clusters are those of all items of the pool.
        """
        order = np.argsort(self.rows)
        places = np.minimum(np.searchsorted(self.rows[order], rows), self.n - 1)
        places = order[places]
        foreign = self.rows[places] != rows
        if foreign.any():
            raise HeadcountError(
                f"rows of labelled has row {int(rows[foreign][0]):,}, which is not in the "
                f"plan: pass labels of the {self.n:,} rows of the plan only."
            )
        strata = self.strata[places]
        counts = np.bincount(strata, minlength=len(self.sizes))
        short = counts < np.minimum(2, self.sizes)
        if short.any():
            first = int(short.argmax())
            raise HeadcountError(
                f"stratum {first + 1} of the plan has {counts[first]} "
                f"label{'' if counts[first] == 1 else 's'}, but at least 2 are needed: label "
                "more of its rows."
            )
        return LabelSample.stratified(rows, strata, self.sizes, weights, clusters)

    def to_dict(self) -> dict[str, Any]:
        """Plan as plain values for JSON."""
        return {
            "n": self.n,
            "n_pool": self.n_pool,
            "precision": self.precision,
            "level": self.level,
            "estimand": self.estimand,
            "pool": self.pool,
            "strata": [
                {"stratum": i + 1, "size": int(size), "labels": int(labels)}
                for i, (size, labels) in enumerate(
                    zip(self.sizes, np.bincount(self.strata), strict=True)
                )
            ],
            "budgets": [{"n": each.n, "precision": each.precision} for each in self.budgets],
            "rows": self.rows.tolist(),
            "warnings": list(self.warnings),
        }

    def doubted(self, n_broken: int, p_value: str) -> LabelPlan:
        """The plan with a warning, as items differ from training in more than the mix.

        Parameters
        ----------
        n_broken : int
            Number of groups whose items do.
        p_value : str
            Text of the smallest p-value.

        Returns
        -------
        LabelPlan
        """
        n = max(1, self.n // self.n_groups)
        alone = float(special.ndtri((1 + self.level) / 2)) * 0.5 / n**0.5
        groups = f" of {n_broken:,} of {self.n_groups:,} groups" if self.n_groups > 1 else ""
        text = (
            f"The items{groups} do not look like the training items, whatever the mix "
            f"({p_value}). The precision supposes that only the mix has changed: expect wider "
            f"intervals. {n:,} labels without a classifier give {_points(alone)} at most."
        )
        return replace(self, warnings=(*self.warnings, text))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the precision by the number of labels.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. By default those of a new figure.

        Returns
        -------
        matplotlib Axes
        """
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        axes.plot(
            [each.n for each in self.budgets],
            [each.precision for each in self.budgets],
            marker="o",
        )
        axes.set(xscale="log", yscale="log", xlabel="labels", ylabel="half-width of interval")
        return axes

    def headline(self) -> str:
        """First line that `print` shows."""
        text = f"Plan: label {self.n:,} of {self.n_pool:,} items"
        if len(self.sizes) > 1:
            text += f", drawn from {len(self.sizes)} strata"
        if self.n_groups > 1:
            text += f" in {self.n_groups} groups"
        if self.precision is not None:
            text += f", for shares within {_points(self.precision)}"
        if self.n_groups > 1:
            text += " in each group"
        return text

    def table(self) -> Table:
        """Table of budgets that `print` shows."""
        rows = [
            [Cell(f"{each.n:,}", is_best=each.n == self.n), Cell(_points(each.precision))]
            for each in self.budgets
        ]
        labels = "labels" if self.n_groups == 1 else "labels per group"
        return Table([labels, "shares within"], rows, [True, True])

    def __repr__(self) -> str:
        lines = [self.headline()]
        if self.budgets:
            lines += [self.table().to_text(ruled=False)]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        tables = [self.table()] if self.budgets else []
        return html_result(self.headline(), tables, self.warnings)


def pool_key(n_items: int, posteriors: Floats | None) -> str:
    """Key of a pool: its size and two means of its scores that depend on their order.

    The scores are those before any correction; None leaves the means out.

    Examples
    --------
    >>> import numpy as np
    >>> pool_key(2, np.array([[0.2, 0.8], [0.6, 0.4]]))
    '2:0.830557:1.022222'
    """
    if posteriors is None:
        return str(n_items)
    # Multiples of irrational numbers, so that every row and column has a weight of its own.
    rows = np.arange(1, n_items + 1)
    columns = np.arange(1, posteriors.shape[1] + 1)
    means = []
    for ratio in (0.6180339887498949, 0.4142135623730951):
        by_row, by_column = np.modf(rows * ratio)[0], np.modf(columns * ratio)[0]
        means.append(by_row @ (posteriors @ by_column) / (by_row.sum() * by_column.mean()))
    return ":".join([str(n_items), *(f"{mean:.6f}" for mean in means)])


def _same_pool(first: str, second: str) -> bool:
    ours, theirs = first.split(":"), second.split(":")
    if ours[0] != theirs[0]:
        return False
    pairs = zip(ours[1:], theirs[1:], strict=False)
    return all(abs(float(a) - float(b)) <= _TOLERANCE for a, b in pairs)


def _column(frame: Any, name: str) -> NDArray[Any]:
    table: Any = None if isinstance(frame, dict) else as_narwhals(frame, "plan")
    if name not in (frame if table is None else table.columns):
        raise HeadcountError(
            f"the table of the plan has no column {name!r}: keep the columns row, stratum, "
            "weight, label and pool as they are."
        )
    return plain_column(frame[name], name)


def _points(share: float) -> str:
    return f"{100 * share:.2g} points"
