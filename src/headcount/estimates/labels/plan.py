"""Strata of a pool, allocation of labels to them, and the precision to expect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.frames import pl
from headcount._support.parameters import check_choice, check_count, check_fraction
from headcount._support.text import Cell, Table, first_of, html_result
from headcount.errors import HeadcountError
from headcount.estimates.labels.difference import error_mass, squared_reach
from headcount.estimates.labels.pool import PoolPosteriors, uncertainty
from headcount.estimates.labels.sample import LabelSample, sums_by
from headcount.items.arrays import as_narwhals, plain_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Labels that a stratum gets at least: two, for a variance.
_LEAST = 2
# Labels per stratum, on average, below which there are fewer strata.
_PER_STRATUM = 10
# Weight of errors that no label shows, compared with those that labels show, in the allocation.
# With 0.5 plans were 1% narrower, but 300 labels covered 92.8% if half of a class hid among the
# items that are surest not to be of it.
_UNSEEN = 0.7
# Share below which a class is not given more weight in the allocation.
_LEAST_SHARE = 0.005


def cut_by_uncertainty(
    posteriors: Floats, n_strata: int, importance: Floats | None = None
) -> Ints:
    """Stratum of each item: parts of equal total uncertainty, fewer for few items."""
    spread = uncertainty(posteriors, importance)
    order = np.argsort(spread, kind="stable")
    reached = np.cumsum(spread[order])
    strata = np.zeros(len(order), np.int64)
    if reached[-1] > 0:
        # The middle of each item decides, so that neither end is a stratum of its own.
        middle = (reached - spread[order] / 2) / reached[-1]
        strata[order] = np.minimum((n_strata * middle).astype(np.int64), n_strata - 1)
    return np.unique(strata, return_inverse=True)[1].astype(np.int64)


def allocate(sizes: Ints, variances: Floats, n: int, unseen: float) -> Ints:
    """Number of labels for each stratum (Neyman), at least two."""
    ideal = sizes * np.sqrt(variances + unseen / n)
    least = np.minimum(_LEAST, sizes)
    share = np.minimum(ideal * n / ideal.sum() if ideal.sum() > 0 else sizes * 1.0, sizes)
    # Strata that are full or at their least leave their part to the others.
    for _ in range(len(sizes)):
        free = (share > least) & (share < sizes)
        remaining = n - share[~free].sum()
        if not free.any() or abs(share.sum() - n) < 1e-9:
            break
        share[free] = ideal[free] * max(remaining, 0.0) / ideal[free].sum()
        share = np.clip(share, least, sizes)
    return _whole(share, least, sizes, n)


def _whole(share: Floats, least: Ints, most: Ints, n: int) -> Ints:
    """Whole numbers near the shares that sum to n, within bounds."""
    counts = np.clip(np.floor(share).astype(np.int64), least, most)
    while counts.sum() < n:
        room = np.where(counts < most, share - counts, -np.inf)
        counts[int(room.argmax())] += 1
    while counts.sum() > n:
        excess = np.where(counts > least, counts - share, -np.inf)
        if not np.isfinite(excess.max()):
            break
        counts[int(excess.argmax())] -= 1
    return counts


# Rows that a message names.
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a pool and the residuals to expect in them."""

    codes: Ints
    sizes: Ints
    means: Floats
    variances: Floats
    thirds: Floats
    below: Floats
    above: Floats
    importance: Floats

    @classmethod
    def of(cls, pool: PoolPosteriors, n_strata: int, positive: int | None = None) -> Strata:
        """Cut a pool by the uncertainty of posteriors, of the ``positive`` class if given."""
        values = pool.values
        importance = _importance(values.mean(axis=0), positive)
        if n_strata == 1 or pool.factor == 0:
            codes = np.zeros(len(values), np.int64)
        else:
            codes = cut_by_uncertainty(values, n_strata, importance)
        sizes = np.bincount(codes)

        def mean(of_items: Floats) -> Floats:
            return sums_by(of_items, codes, len(sizes)) / sizes[:, None]

        squared = values**2
        means, squares, cubes = mean(values), mean(squared), mean(squared * values)
        spread = (1 - pool.factor) ** 2 * np.maximum(squares - means**2, 0.0)
        calibrated = np.maximum(means - squares, 0.0) + spread
        variances = calibrated
        if pool.learnt is not None:
            # Training items belong to strata by the same limits.
            limits = [
                uncertainty(values[codes == h], importance).max() for h in range(len(sizes))
            ]
            places = np.searchsorted(limits, uncertainty(pool.learnt.posteriors, importance))
            places = np.minimum(places, len(sizes) - 1)
            variances = pool.learnt.variances(places, variances, pool.factor)
        # Calibrated posteriors: f (1 - f) (1 - 2 f).
        thirds = means - 3 * squares + 2 * cubes
        thirds *= variances / np.where(calibrated > 0, calibrated, 1.0)
        below, above = map(mean, error_mass(values))
        return cls(codes, sizes, means, variances, thirds, below, above, importance)

    @cached_property
    def _order(self) -> Ints:
        """Rows of the pool, by stratum."""
        return np.argsort(self.codes, kind="stable")

    def allocate(self, n: int, level: float) -> Ints:
        """Number of labels for each stratum, so that intervals are short on average."""
        z = special.ndtri((1 + level) / 2)
        room = float((np.log1p(-level) / z) ** 2 * self.importance.sum())
        unseen = 2 * _UNSEEN * room
        return allocate(self.sizes, self.variances @ self.importance, n, unseen)

    def draw(self, counts: Ints, rng: np.random.Generator) -> Ints:
        """Rows drawn without replacement from each stratum, in random order."""
        order = self._order
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        draws = [
            order[starts[h] + rng.choice(self.sizes[h], count, replace=False)]
            for h, count in enumerate(counts.tolist())
        ]
        return rng.permutation(np.concatenate(draws)).astype(np.int64)

    def precision(self, n: int, level: float, *, expected: bool = False) -> float:
        """Half the width of the widest interval to expect, of the classes that matter."""
        halves = self.half_widths(self.allocate(n, level), level, expected=expected)
        return float(halves[self.importance > 0].max())

    def half_widths(self, counts: Ints, level: float, *, expected: bool = False) -> Floats:
        """Half the width of each class's interval, for the pool or, ``expected``, beyond it."""
        n_pool = self.sizes.sum()
        weights = self.sizes / n_pool
        unlabelled = 1 - counts / self.sizes
        influence = weights * unlabelled / counts  # change of an estimate by one more error
        variance = (weights * influence) @ self.variances
        cubed = (weights * influence**2 / np.sqrt(np.maximum(unlabelled, 1e-12))) @ self.thirds
        asymmetry = cubed / np.where(variance > 0, variance, 1.0)
        t = special.stdtrit(max(int(counts.sum()) - len(counts), 1), (1 + level) / 2)
        z = special.ndtri((1 + level) / 2)
        shares = weights @ self.means
        population = z**2 * expected * shares * (1 - shares) / n_pool
        halves = np.zeros(len(shares))
        sides = ((shares, self.below, -asymmetry), (1 - shares, self.above, asymmetry))
        for most, mass, sided in sides:
            total = weights @ mass
            unit = (weights * influence) @ mass / np.where(total > 0, total, 1.0)
            squared = squared_reach(t**2 * variance, sided, unit, level) + population
            halves += _mean_within(most, np.sqrt(variance), np.sqrt(squared)) / 2
        return np.maximum(halves, 0.5 / n_pool)


def _mean_within(mean: Floats, error: Floats, most: Floats) -> Floats:
    """Mean of a normal number that is clipped to 0 and to `most`."""

    def above(limit: Any) -> Floats:
        """Mean of what exceeds the limit."""
        scale = np.maximum(error, 1e-12)
        gap = (mean - limit) / scale
        density = np.exp(-(gap**2) / 2) / np.sqrt(2 * np.pi)
        return np.asarray(scale * (density + gap * special.ndtr(gap)))

    return above(0.0) - above(most)


def _importance(shares: Floats, positive: int | None) -> Floats:
    """Weights of the classes, 1 on average: labels serve rare classes as much as others."""
    inner = np.clip(shares, _LEAST_SHARE, 1 - _LEAST_SHARE)
    weights = 1 / (inner * (1 - inner))
    if positive is not None:
        weights = (np.arange(len(shares)) == positive).astype(np.float64)
    return np.asarray(weights / weights.mean())


def suitable_strata(n_strata: int, n: int, n_pool: int) -> int:
    """Number of strata for n labels, with about ten labels in each."""
    return max(1, min(n_strata, n // _PER_STRATUM, n_pool // (2 * _LEAST)))


# Mean scores of two pools that are further apart than this are of different pools.
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Budget:
    """Precision that a number of labels buys."""

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
                "The plan is for another pool: the items are others, in another order, or were "
                "scored by another model than those the plan was made for. Pass the plan of "
                "these items, or make one by plan_labels (headcount label)."
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
        present = np.unique(self.strata[inside])
        sizes = self.sizes[present]
        if sizes.sum() != len(items) or np.isin(self.strata[~inside], present).any():
            raise HeadcountError(
                "The plan of the labels was not made for these groups, so they are not a "
                "random sample of each: plan labels by the same groups, or estimate all items "
                "together."
            )
        strata = np.searchsorted(present, self.strata[inside])
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
            unlabelled = self.rows[(self.strata == first) & ~np.isin(self.rows, rows)]
            named = first_of((f"{row:,}" for row in unlabelled.tolist()), _MOST_NAMED)
            raise HeadcountError(
                f"stratum {first + 1} of the plan has {counts[first]} "
                f"label{'' if counts[first] == 1 else 's'}, but at least 2 are needed: label "
                f"more of its rows, which are row {named}."
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
            "budgets": [
                {"n": budget.n, "precision": budget.precision} for budget in self.budgets
            ],
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
        """
        from headcount.plots._style import open_canvas

        axes = open_canvas(ax, 3.5, 2.6).ax
        axes.plot(
            [budget.n for budget in self.budgets],
            [budget.precision for budget in self.budgets],
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
            [Cell(f"{budget.n:,}", is_best=budget.n == self.n), _points(budget.precision)]
            for budget in self.budgets
        ]
        labels = "labels" if self.n_groups == 1 else "labels per group"
        return Table.of([labels, "shares within"], rows, [True, True])

    def __repr__(self) -> str:
        lines = [self.headline()]
        if self.budgets:
            lines += [self.table().to_text(ruled=False)]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        tables = [self.table()] if self.budgets else []
        return html_result(self.headline(), tables, self.warnings)


def pool_key(n_items: int, posteriors: Floats | None) -> str:
    """Key of a pool: its size and, if there are scores, two means that depend on order."""
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


def _column(frame: Any, name: str) -> Array:
    table: Any = None if isinstance(frame, dict) else as_narwhals(frame, "plan")
    if name not in (frame if table is None else table.columns):
        raise HeadcountError(
            f"the table of the plan has no column {name!r}: keep the columns row, stratum, "
            "weight, label and pool as they are."
        )
    return plain_column(frame[name], name)


def _points(share: float) -> str:
    return f"{100 * share:.2g} points"


# Budgets for which the precision is listed.
_BUDGETS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


@dataclass(frozen=True)
class PlanOptions:
    """Choices of a caller, as `Quantifier.plan_labels` documents them."""

    precision: float | None
    budget: int | None
    positive: Any
    strata: int
    estimand: str
    level: float


def make_plan(
    pool: PoolPosteriors, key: str, options: PlanOptions, rng: np.random.Generator
) -> LabelPlan:
    """Draw the items to label; `options.positive` is the position of a class."""
    n_pool, K = pool.values.shape
    precision, budget, estimand = options.precision, options.budget, options.estimand
    check_choice("estimand", estimand, ("realised", "expected"))
    level = check_fraction("level", options.level)
    n_strata = check_count("strata", options.strata)
    least = min(max(K, 4), n_pool)
    by_number: dict[int, Strata] = {}

    def strata_for(n: int) -> Strata:
        number = suitable_strata(n_strata, n, n_pool)
        if number not in by_number:
            by_number[number] = Strata.of(pool, number, options.positive)
        return by_number[number]

    def precision_of(n: int) -> float:
        return strata_for(n).precision(n, level, expected=estimand == "expected")

    if (precision is None) == (budget is None):
        raise HeadcountError("Pass either `precision`, such as 0.01, or `budget`, such as 200.")
    if budget is None:
        n = _fewest(precision_of, check_fraction("`precision`", precision), least, n_pool)
    else:
        n = check_count("`budget`", budget, least)
        if n > n_pool:
            raise HeadcountError(
                f"`budget` is {n:,}, but there are {n_pool:,} items: label all of them, or "
                "fewer."
            )
    strata = strata_for(n)
    rows = strata.draw(strata.allocate(n, level), rng)
    listed = sorted({n, *(size for size in _BUDGETS if least <= size < n_pool)})
    listed = [size for size in listed if n / 12 <= size <= 12 * n]
    budgets = tuple(Budget(size, precision_of(size)) for size in listed)
    return LabelPlan(
        rows, strata.codes[rows], strata.sizes, key, budgets, precision_of(n), level, estimand
    )


def join_plans(
    plans: Sequence[LabelPlan],
    items: Sequence[NDArray[np.integer[Any]]],
    key: str,
    rng: np.random.Generator,
) -> LabelPlan:
    """One plan of those of groups, with separate strata, in a new random order."""
    first = np.cumsum([0, *(len(plan.sizes) for plan in plans)])
    rows = np.concatenate([item[plan.rows] for plan, item in zip(plans, items, strict=True)])
    strata = np.concatenate([first[i] + plan.strata for i, plan in enumerate(plans)])
    order = rng.permutation(len(rows))
    common = set.intersection(*({budget.n for budget in plan.budgets} for plan in plans))
    precisions_by_size: dict[int, list[float]] = {n: [] for n in sorted(common)}
    for plan in plans:
        for planned in plan.budgets:
            if planned.n in precisions_by_size:
                precisions_by_size[planned.n].append(planned.precision)
    return LabelPlan(
        rows[order].astype(np.int64),
        strata[order],
        np.concatenate([plan.sizes for plan in plans]),
        key,
        tuple(Budget(n, max(precisions)) for n, precisions in precisions_by_size.items()),
        max(plan.precision for plan in plans if plan.precision is not None),
        plans[0].level,
        plans[0].estimand,
        len(plans),
    )


def _fewest(
    precision_of: Callable[[int], float], precision: float, least: int, most: int
) -> int:
    """Fewest labels that reach a precision."""
    if precision_of(most) > precision:
        raise HeadcountError(
            f"`precision` is {precision}, but even labels for all {most:,} items give "
            f"{precision_of(most):.2g} for the population behind them: choose a larger one, or "
            "plan for the realised shares of the items."
        )
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        if precision_of(middle) <= precision:
            high = middle
        else:
            low = middle + 1
    return low
