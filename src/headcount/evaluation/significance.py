"""Tests of differences between methods, on paired errors, as studies report them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import special, stats

from headcount import plots
from headcount._support.arrays import Floats
from headcount._support.documentation import documented
from headcount._support.frames import pl
from headcount._support.parameters import check_choice, check_count, check_fraction
from headcount._support.text import Cell, Table, html_result
from headcount.errors import HeadcountError
from headcount.items.arrays import as_narwhals
from headcount.metrics.agreement import corrected_by_holm
from headcount.plots.data import rank_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ROUNDING = 1e-12  # of the largest number
_EXACT = 50  # up to so many differences the distribution of the rank sum is worked out


def settle(values: Floats) -> Floats:
    """Make values equal that differ by rounding alone, so that equal methods tie."""
    tolerance = _ROUNDING * np.abs(values).max(initial=0.0)
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    apart = np.diff(ordered, axis=-1, prepend=-np.inf) > tolerance
    first = np.maximum.accumulate(np.where(apart, np.arange(values.shape[-1]), 0), axis=-1)
    settled = np.empty_like(values)
    np.put_along_axis(settled, order, np.take_along_axis(ordered, first, axis=-1), axis=-1)
    return settled


def average_ranks(errors: Floats) -> Floats:
    """Mean rank of each column over the rows, 1 for the lowest, ties sharing their ranks."""
    return stats.rankdata(errors, axis=1).mean(axis=0)


def wilcoxon(difference: Floats) -> float:
    """Two-sided p-value of the signed-rank test; differences of zero are left out."""
    moved = difference[difference != 0]
    if not len(moved):
        return 1.0
    ranks = stats.rankdata(settle(np.abs(moved)))
    positive = ranks[moved > 0].sum()
    smaller = min(positive, ranks.sum() - positive)
    if len(moved) <= _EXACT:
        return min(1.0, 2 * _share_up_to(smaller, ranks))
    # Each rank counts or not with probability 1/2, which also takes care of ties.
    z = (ranks.sum() / 2 - smaller) / math.sqrt((ranks**2).sum() / 4)
    return float(2 * special.ndtr(-z))


def _share_up_to(limit: float, ranks: Floats) -> float:
    """Probability of a rank sum of at most `limit` if signs are tossed."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # ties have halves
    chance = np.zeros(doubled.sum() + 1)
    chance[0] = 1.0
    for rank in doubled:
        chance[rank:] = (chance[rank:] + chance[:-rank]) / 2
        chance[:rank] /= 2
    return float(chance[: round(2 * limit) + 1].sum())


def paired_t(difference: Floats) -> float:
    """Two-sided p-value of the t-test on paired samples."""
    mean, deviation = difference.mean(), difference.std(ddof=1)
    if mean == 0:
        return 1.0
    if deviation == 0:
        return 0.0
    t = abs(mean) / (deviation / math.sqrt(len(difference)))
    return float(2 * special.stdtr(len(difference) - 1, -t))


def friedman(errors: Floats) -> tuple[float, float]:
    """Chi-squared statistic and p-value of the hypothesis that all columns are alike."""
    rows, columns = errors.shape
    ranks = stats.rankdata(errors, axis=1)
    middle = (columns + 1) / 2
    spread = ((ranks - middle) ** 2).sum()
    if spread == 0:
        return 0.0, 1.0
    between = ((ranks.sum(axis=0) - rows * middle) ** 2).sum()
    statistic = (columns - 1) * between / spread
    return float(statistic), float(special.chdtrc(columns - 1, statistic))


def critical_difference(n_methods: int, n_units: int, *, level: float = 0.05) -> float:
    """Difference of average ranks from which on two methods differ significantly (Nemenyi)."""
    check_count("n_methods", n_methods, least=2)
    check_count("n_units", n_units)
    check_fraction("level", level)
    q = float(stats.studentized_range.ppf(1 - level, n_methods, math.inf))
    return q * _rank_error(n_methods, n_units)


def nemenyi(differences: Floats, n_methods: int, n_units: int) -> Floats:
    """p-values of differences between average ranks, corrected for all pairs."""
    q = np.abs(differences) / _rank_error(n_methods, n_units)
    return np.clip(stats.studentized_range.sf(q, n_methods, math.inf), 0.0, 1.0)


def _rank_error(n_methods: int, n_units: int) -> float:
    """Standard error of an average rank."""
    return math.sqrt(n_methods * (n_methods + 1) / (12 * n_units))


HIGH_LEVEL = 0.001
"""p-values up to this one get no mark: the method differs from the best beyond doubt."""

_TITLES = {
    "wilcoxon": "Wilcoxon signed-rank test",
    "ttest": "t-test on paired samples",
    "nemenyi": "Nemenyi test on average ranks",
}
_COLUMNS = ("method", "mean", "sd", "rank", "p", "mark")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Methods, how well they do, and whether they differ from the best; prints as a table.

    Made by `compare`. Everything is in order of merit, the best method first.

    Attributes
    ----------
    test : {"wilcoxon", "ttest", "nemenyi"}
        The test.
    methods : tuple of str
        Names of the methods: by mean error, or by average rank with "nemenyi".
    means, sds : ndarray
        Mean and standard deviation of the errors of each.
    ranks : ndarray
        Average ranks, 1 for a method that is the best everywhere.
    p_values : ndarray
        p-values of the difference from the best method; NaN for the best one itself.
    n_units : int
        Samples or datasets that were compared.
    level : float
        Significance level.
    holm : bool
        Whether p-values are corrected for the number of methods.
    friedman : tuple of two floats or None
        With "nemenyi", statistic and p-value of the hypothesis that no methods differ.
    critical_difference : float or None
        With "nemenyi", the difference of average ranks that is significant.

    Examples
    --------
    >>> import headcount as hc
    >>> errors = {"SLD": [0.02, 0.01, 0.03, 0.02, 0.01, 0.02],
    ...           "CC": [0.11, 0.09, 0.05, 0.12, 0.07, 0.03]}
    >>> hc.compare(errors)
    method    mean      sd  rank       p  mark
    ------  ------  ------  ----  ------  ----
    SLD     0.0183  0.0075  1.00          best
    CC      0.0783  0.0349  2.00  0.0312  †
    <BLANKLINE>
    Wilcoxon signed-rank test against SLD, over 6 paired errors.
    † 0.001 < p < 0.05, ‡ p >= 0.05, no mark: p <= 0.001.
    """

    test: str
    methods: tuple[str, ...]
    means: Floats
    sds: Floats
    ranks: Floats
    p_values: Floats
    n_units: int
    level: float
    holm: bool
    friedman: tuple[float, float] | None = None
    critical_difference: float | None = None

    def __post_init__(self) -> None:
        for array in (self.means, self.sds, self.ranks, self.p_values):
            array.setflags(write=False)

    @property
    def best(self) -> str:
        """The best method."""
        return self.methods[0]

    @property
    def marks(self) -> tuple[str, ...]:
        """Marks of the methods that do not clearly differ from the best, as papers set them.

        A double dagger if ``p >= level``, a dagger if ``0.001 < p < level``, otherwise
        nothing; nothing for the best itself.
        """
        return tuple(_mark(float(p), self.level) for p in self.p_values)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """Groups of two or more methods that do not differ significantly.

        With "nemenyi" all of them, as the bars of a critical-difference diagram; otherwise
        the one of the best method, as others are not tested against each other.
        """
        if self.critical_difference is not None:
            groups = rank_groups(self.ranks, self.critical_difference)
        else:
            alike = np.flatnonzero(~(self.p_values < self.level))
            groups = [tuple(alike.tolist())] if len(alike) > 1 else []
        return tuple(tuple(self.methods[i] for i in group) for group in groups)

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame: method, mean, sd, rank, p (null for the best), mark."""
        columns = (self.methods, self.means, self.sds, self.ranks, self.p_values, self.marks)
        return pl.DataFrame(dict(zip(_COLUMNS, columns, strict=True)), nan_to_null=True)

    def to_markdown(self, *, decimals: int | None = None) -> str:
        """A Markdown table, the best mean in bold.

        Parameters
        ----------
        decimals : int, default=None
            Digits of means and deviations; by default as many as suit the largest mean.
        """
        return self._printed(decimals).to_markdown()

    @documented(to_markdown)
    def to_latex(self, *, decimals: int | None = None) -> str:
        r"""A LaTeX ``tabular``, the best mean in bold; needs ``\usepackage{booktabs}``."""
        return self._printed(decimals).to_latex()

    def _printed(self, decimals: int | None) -> Table:
        """Marks follow the means, as papers print them."""
        rows = [
            [name, Cell(mean, is_best=i == 0, mark=mark if i else ""), *numbers]
            for i, (name, mean, *numbers, mark) in enumerate(self._cells(decimals))
        ]
        return Table.of(_COLUMNS[:-1], rows, missing="")

    def plot(self, *, ax: Axes | None = None, width: float = 5.0) -> Axes:
        """A picture: average ranks with the critical difference, or means with marks.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a figure of its own by default.
        width : float, default=5.0
            Inches of that figure.

        Returns
        -------
        matplotlib Axes
            With "nemenyi" a critical-difference diagram. Otherwise the mean of each method
            with its confidence interval at 1 - ``level``.
        """
        if self.critical_difference is not None:
            ranks = dict(zip(self.methods, self.ranks.tolist(), strict=True))
            return plots.critical_difference(
                ranks, self.critical_difference, ax=ax, width=width
            )
        half = _t_quantile(self.level, self.n_units) * self.sds / math.sqrt(self.n_units)
        frame = {
            "method": self.methods,
            "mean": self.means,
            "low": self.means - half,
            "high": self.means + half,
            "mark": self.marks,
        }
        return plots.means(frame, ax=ax, width=width)

    def __repr__(self) -> str:
        return "\n".join([self._table().to_text(), "", *self._notes()])

    def _repr_html_(self) -> str:
        title, *notes = self._notes()
        return html_result(title, [self._table()], notes)

    def _table(self) -> Table:
        numeric = [False, *[True] * 4, False]
        return Table.of(_COLUMNS, self._cells(None), numeric, missing="")

    def _notes(self) -> list[str]:
        corrected = ", p-values corrected by Holm's method" if self.holm else ""
        notes = [
            f"{_TITLES[self.test]} against {self.best}, over {self.n_units:,} paired "
            f"errors{corrected}."
        ]
        if self.friedman is not None and self.critical_difference is not None:
            p = _p_value(self.friedman[1])
            notes.append(
                f"Critical difference of ranks: {self.critical_difference:.4f}. Friedman test "
                f"that none differ: p {p if p.startswith('<') else '= ' + p}."
            )
        middle = f"† {HIGH_LEVEL:g} < p < {self.level:g}, " if self.level > HIGH_LEVEL else ""
        sign = "<=" if middle else "<"
        return [
            *notes,
            f"{middle}‡ p >= {self.level:g}, no mark: "
            f"p {sign} {min(HIGH_LEVEL, self.level):g}.",
        ]

    def _cells(self, decimals: int | None) -> list[list[str]]:
        if decimals is None:
            decimals = _decimals(float(np.abs(self.means).max()))
        marks = ("best", *self.marks[1:])
        numbers = zip(self.means, self.sds, self.ranks, self.p_values, strict=True)
        return [
            [name, *(f"{x:.{decimals}f}" for x in (mean, sd)), f"{rank:.2f}", _p_value(p), mark]
            for name, mark, (mean, sd, rank, p) in zip(
                self.methods, marks, numbers, strict=True
            )
        ]


def compare(
    table: Any,
    test: str = "wilcoxon",
    *,
    level: float = 0.05,
    holm: bool = False,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Compare methods by their errors on the same samples, or on the same datasets.

    Parameters
    ----------
    table : frame, mapping of names to errors, or array of shape (N, M)
        One row per sample or dataset and one column per method.
    test : {"wilcoxon", "ttest", "nemenyi"}, default="wilcoxon"
        "wilcoxon" (signed ranks) and "ttest" (paired) test every method against the one
        with the best mean. "nemenyi" ranks the methods on each row, tests whether any
        differ (Friedman), and compares average ranks with a critical difference; meant for
        rows that are datasets.
    level : float, default=0.05
        Significance level.
    holm : bool, default=False
        Correct the p-values of "wilcoxon" and "ttest" for the number of methods, by Holm's
        method. Studies of quantification usually do not; "nemenyi" always does its own.
    names : sequence of str, default=None
        Names of the columns of an array.

    Returns
    -------
    Comparison
        Prints as a table; has ``marks``, ``cliques``, ``to_frame``, ``to_markdown``,
        ``to_latex`` and ``plot``.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount as hc
    >>> errors = np.random.default_rng(0).random((40, 3)) + [0.0, 0.1, 0.9]
    >>> comparison = hc.compare(errors, test="nemenyi", names=["SLD", "PACC", "CC"])
    >>> round(comparison.critical_difference, 3)
    0.524
    >>> comparison.cliques
    (('SLD', 'PACC'),)
    """
    check_choice("test", test, tuple(_TITLES))
    check_fraction("level", level)
    if holm and test == "nemenyi":
        raise HeadcountError(
            "holm is for the tests 'wilcoxon' and 'ttest': 'nemenyi' corrects for the number "
            "of methods already."
        )
    methods, errors = _read(table, names)
    means = errors.mean(axis=0)
    compared = settle(errors)
    ranks = average_ranks(compared)
    # Of methods that are equally good the first counts as the best.
    merit = settle(ranks if test == "nemenyi" else compared.mean(axis=0))
    order = np.argsort(merit, kind="stable")
    p_values = _p_values(compared[:, order], ranks[order], test)
    if holm:
        p_values[1:] = corrected_by_holm(p_values[1:])
    rows, columns = errors.shape
    by_ranks = test == "nemenyi"
    return Comparison(
        test,
        tuple(methods[i] for i in order),
        means[order],
        errors.std(axis=0, ddof=1)[order],
        ranks[order],
        p_values,
        rows,
        level,
        holm,
        friedman(compared) if by_ranks else None,
        critical_difference(columns, rows, level=level) if by_ranks else None,
    )


def _p_values(errors: Floats, ranks: Floats, test: str) -> Floats:
    """p-value of each column against the first; NaN for that one."""
    rows, columns = errors.shape
    if test == "nemenyi":
        p_values = nemenyi(ranks[1:] - ranks[0], columns, rows)
    else:
        p_value = wilcoxon if test == "wilcoxon" else paired_t
        p_values = np.array([p_value(errors[:, j] - errors[:, 0]) for j in range(1, columns)])
    return np.concatenate([[math.nan], p_values])


def _read(table: Any, names: Sequence[str] | None) -> tuple[list[str], Floats]:
    """Names of the methods and their errors, one column each, checked."""
    columns = _columns(table, names)
    if len(columns) < 2:
        raise HeadcountError(
            f"table has {len(columns)} {'method' if len(columns) == 1 else 'methods'}: a "
            "comparison needs at least 2, one per column."
        )
    errors = {name: _numbers(name, values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in errors.items()}
    (first, n), *remaining = lengths.items()
    for name, length in remaining:
        if length != n:
            raise HeadcountError(
                f"table has {length} errors of {name!r}, but {n} of {first!r}: pass errors on "
                "the same samples in the same order."
            )
    if n < 2:
        raise HeadcountError(f"table has {n} row(s): a comparison needs at least 2.")
    return list(errors), np.column_stack(list(errors.values()))


def _columns(table: Any, names: Sequence[str] | None) -> dict[str, Any]:
    if isinstance(table, Mapping):
        pairs = list(table.items())
    elif isinstance(frame := as_narwhals(table, "table"), nw.DataFrame):
        pairs = [(name, frame[name].to_numpy()) for name in frame.columns]
    else:
        array = np.asarray(table)
        if array.ndim != 2:
            raise HeadcountError(
                f"table has shape {array.shape}, but must have one row per sample and "
                "one column per method: pass a frame, a mapping of names to errors, or a 2-D "
                "array."
            )
        if names is None or len(names) != array.shape[1]:
            described = "no names" if names is None else f"{len(names)} names"
            raise HeadcountError(
                f"table is an array of {array.shape[1]} columns with {described}: name each "
                "method in names=."
            )
        pairs = list(zip(names, array.T, strict=True))
        names = None
    if names is not None:
        raise HeadcountError("names is for arrays, but table brings its own: leave it out.")
    columns = {str(name): values for name, values in pairs}
    if len(columns) < len(pairs):
        raise HeadcountError("table has methods of the same name: give each its own.")
    return columns


def _numbers(name: str, values: Any) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "fiubO":
        raise HeadcountError(
            f"table has the column {name!r}, which is not of numbers: pass the columns of the "
            "methods alone."
        )
    try:
        numbers: Floats = array.astype(np.float64)
    except (TypeError, ValueError):
        raise HeadcountError(
            f"table has errors of {name!r} that are not numbers: pass numbers only."
        ) from None
    if numbers.ndim != 1:
        raise HeadcountError(
            f"table has errors of {name!r} of shape {numbers.shape}: pass one number per "
            "sample."
        )
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise HeadcountError(
            f"table has missing or infinite errors of {name!r}, the first in row {row}: "
            "compare methods on rows that all have, or leave the method out."
        )
    return numbers


def _t_quantile(level: float, n: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 1 - level / 2))


def _decimals(largest: float) -> int:
    """Decimals that show at least three digits of the largest number, usually four."""
    if largest >= 1 or largest == 0:
        return max(3 - math.floor(math.log10(largest)), 0) if largest else 4
    return min(max(4, 2 - math.floor(math.log10(largest))), 12)


def _mark(p: float, level: float) -> str:
    if p >= level:
        return "‡"
    return "†" if p > HIGH_LEVEL else ""


def _p_value(p: float) -> str:
    if math.isnan(p):
        return ""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
