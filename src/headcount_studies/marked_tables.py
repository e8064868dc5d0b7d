"""Tables of mean errors: the best is marked, and methods that do not clearly differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from headcount.evaluation.significance import compare

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

__all__ = [
    "BEST",
    "NOTE",
    "Marks",
    "marked_datasets",
    "marked_means",
    "paired_errors",
    "rank_correlation",
    "shift_figure",
]

BEST = "best"
NOTE = "Bold is the best; † 0.001 < p < 0.05 and ‡ p >= 0.05 against it, no mark: p <= 0.001."
_FEWEST = 3  # methods that a correlation of ranks needs

Marks = dict[tuple[int, str], str]


def paired_errors(
    results: pl.DataFrame, sample: Sequence[str], methods: Sequence[str], metric: str
) -> pl.DataFrame:
    """One row per sample and one column per method; methods without results are left out.

    Parameters
    ----------
    results : polars.DataFrame
        One row per method and sample.
    sample : sequence of str
        Columns that identify a sample.
    methods : sequence of str
        Methods in the order of the columns.
    metric : str
        Name of the error.

    Returns
    -------
    polars.DataFrame
    """
    import polars as pl

    known = results.filter(pl.col(metric).is_not_null())
    wide = known.pivot("method", index=list(sample), values=metric, aggregate_function="first")
    return wide.select(*sample, *(each for each in methods if each in wide.columns))


def marked_means(
    wide: pl.DataFrame, by: str, methods: Sequence[str], *, test: str = "wilcoxon"
) -> tuple[pl.DataFrame, Marks]:
    """Mean errors by the values of a column, with marks.

    Parameters
    ----------
    wide : polars.DataFrame
        One row per sample and one column per method.
    by : str
        Column whose values are the rows of the table.
    methods : sequence of str
        Methods to show; those without results have empty columns.
    test : {"wilcoxon", "ttest"}, default="wilcoxon"
        Test between a method and the best one, on the samples that all methods have.

    Returns
    -------
    table : polars.DataFrame
        Column `by`, and one column per method.
    marks : dict
        Marks of a `Section`.

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({"degree": [0, 0, 1], "CC": [0.1, 0.3, 0.5], "SLD": [0.1, 0.1, 0]})
    >>> table, marks = marked_means(wide, "degree", ["CC", "SLD"])
    >>> table.rows()
    [(0, 0.2, 0.1), (1, 0.5, 0.0)]
    >>> marks[0, "SLD"]
    'best'
    """
    import polars as pl

    found = [each for each in methods if each in wide.columns]
    means = wide.group_by(by).agg(pl.col(found).mean()).sort(by)
    marks: Marks = {}
    for row, value in enumerate(means[by]):
        errors = wide.filter(pl.col(by) == value).select(found).drop_nulls()
        if errors.height < 2 or errors.width < 2:
            continue
        compared = compare(errors, test=test)
        marks[row, compared.best] = BEST
        marks |= {
            (row, name): mark
            for name, mark in zip(compared.methods, compared.marks, strict=True)
            if mark
        }
    lacking = [pl.lit(None, pl.Float64).alias(each) for each in methods if each not in found]
    return means.with_columns(lacking).select(by, *methods), marks


def marked_datasets(
    wide: pl.DataFrame, order: Sequence[str], methods: Sequence[str], *, test: str = "wilcoxon"
) -> tuple[pl.DataFrame, Marks]:
    """Mean errors by dataset, in an order, with marks; see `marked_means`.

    Parameters
    ----------
    wide : polars.DataFrame
        One row per sample and one column per method, with a column ``dataset``.
    order : sequence of str
        Datasets in the order of the rows; those without results are left out.
    methods : sequence of str
        Methods to show.
    test : {"wilcoxon", "ttest"}, default="wilcoxon"
        Test between a method and the best one.

    Returns
    -------
    table : polars.DataFrame
        One row per dataset.
    marks : dict
        Marks of a `Section`.
    """
    import polars as pl

    found = [name for name in order if name in wide["dataset"]]
    wide = wide.with_columns(pl.col("dataset").cast(pl.Enum(found)))
    table, marks = marked_means(wide, "dataset", methods, test=test)
    return table.with_columns(pl.col("dataset").cast(pl.String)), marks


def shift_figure(
    results: pl.DataFrame, methods: Sequence[str], metric: str
) -> Callable[[], Figure]:
    """Function that draws errors by the distance of the mix from that of training.

    Parameters
    ----------
    results : polars.DataFrame
        One row per method and sample, with a column ``shift``.
    methods : sequence of str
        Methods in the order of the legend.
    metric : str
        Name of the error.

    Returns
    -------
    callable
        Returns a matplotlib figure.
    """

    def draw() -> Figure:
        import polars as pl
        from matplotlib.figure import Figure

        from headcount import plots

        frame = results.select("method", "shift", pl.col(metric).alias("error"))
        order = pl.col("method").cast(pl.Enum(methods))
        ax = plots.error_by_shift(
            frame.sort(order, maintain_order=True), error=metric.upper(), width=8.0
        )
        assert isinstance(ax.figure, Figure)
        return ax.figure

    return draw


def rank_correlation(
    ours: Mapping[str, float | None], theirs: Mapping[str, float | None]
) -> float | None:
    """Spearman's correlation of the errors of methods in common; None if they are too few.

    Examples
    --------
    >>> ours, theirs = {"CC": 0.3, "ACC": 0.1, "SLD": 0.05}, {"CC": 9, "ACC": 2, "SLD": 1}
    >>> rank_correlation(ours, theirs)
    1.0
    """
    both = [name for name in ours if ours[name] is not None and theirs.get(name) is not None]
    if len(both) < _FEWEST:
        return None
    pairs = np.array([(ours[name], theirs[name]) for name in both], dtype=np.float64)
    if (pairs.min(axis=0) == pairs.max(axis=0)).any():
        return None  # all equal: there are no ranks
    return float(stats.spearmanr(pairs[:, 0], pairs[:, 1]).statistic)
