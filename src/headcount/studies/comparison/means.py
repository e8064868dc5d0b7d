"""Mean errors by dataset and method, ranks, and groups of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.data.datasets.recipes import RECIPES
from headcount.evaluation.significance import Comparison, compare
from headcount.evaluation.summary import lowest

if TYPE_CHECKING:
    import polars as pl

    from headcount.study.spec import Spec

__all__ = [
    "LITTLE_TRAINING",
    "Means",
    "View",
    "best_marks",
    "errors_of",
    "group_means",
    "mean_errors",
    "partial_among",
    "shift_groups",
]

LITTLE_TRAINING = 0.1
"""Share of items for training that counts as little."""

_NAMES = ("minor", "medium", "major")
_EDGES = {"binary": (0.4, 0.8), "multiclass": (0.5,)}
_TITLES = {"tae": "absolute error", "nkld": "NKLD"}
_LINEAR_BELOW = {"tae": 0.1, "nkld": 0.01}
_CLOSE = 1e-9  # |.7 - .5| + |.3 - .5| is not exactly .4 in floating point


@dataclass(frozen=True, eq=False)
class Means:
    """Mean errors by dataset and method.

    Attributes
    ----------
    table : polars.DataFrame
        Column dataset, and one column per method: null where there is no result.
    methods : tuple of str
        Methods with results, in the order of the spec.
    ranked : Comparison or None
        Friedman's and Nemenyi's tests on the datasets with results of all methods; None if
        there are fewer than two such datasets, or methods.
    """

    table: pl.DataFrame
    methods: tuple[str, ...]
    ranked: Comparison | None

    @property
    def ranks(self) -> dict[str, float]:
        """Mean rank per method, the best one first; empty without tests."""
        if self.ranked is None:
            return {}
        return dict(zip(self.ranked.methods, self.ranked.ranks.tolist(), strict=True))

    @property
    def overall(self) -> dict[str, float | None]:
        """Mean of the datasets' means."""
        return self.table.select(self.methods).mean().row(0, named=True)

    def to_long(self) -> pl.DataFrame:
        """Means as a table with the columns dataset, method and ours."""
        return self.table.unpivot(
            index="dataset", variable_name="method", value_name="ours"
        ).drop_nulls()


@dataclass(frozen=True, eq=False)
class View:
    """Results by one metric."""

    spec: Spec
    results: pl.DataFrame
    metric: str
    means: Means

    @property
    def title(self) -> str:
        """Name of the metric within a sentence."""
        return _TITLES.get(self.metric, self.metric)

    @property
    def heading(self) -> str:
        """Name of the metric at the start of a sentence."""
        return self.title[0].upper() + self.title[1:]

    @property
    def linear_below(self) -> float:
        """Start of logarithmic scales."""
        return _LINEAR_BELOW.get(self.metric, 0.1)

    @property
    def classes(self) -> str:
        """Kind of task: "binary" or "multiclass"."""
        return str(self.spec.protocol["task"])


def partial_among(datasets: Iterable[str]) -> list[str]:
    """Datasets of which only a part is available, each once.

    Examples
    --------
    >>> partial_among(["wine", "news", "news"])
    ['news']
    """
    return [
        name for name in dict.fromkeys(datasets) if name in RECIPES and RECIPES[name].partial
    ]


def best_marks(
    table: pl.DataFrame, columns: Sequence[str], axis: int
) -> dict[tuple[int, str], str]:
    """Marks for the lowest numbers of every row (axis 1) or column (axis 0)."""
    values = table.select(columns).to_numpy().astype(np.float64)
    places = zip(*np.nonzero(lowest(values, axis=axis)), strict=True)
    return {(int(i), columns[j]): "best" for i, j in places}


def mean_errors(spec: Spec, results: pl.DataFrame, metric: str) -> Means:
    """Mean errors by dataset and method, in the order of the spec.

    Parameters
    ----------
    spec : Spec
        Study, for the order of datasets and methods.
    results : polars.DataFrame
        Columns dataset, method and the metric: null where a method failed.
    metric : str
        Name of the metric.

    Returns
    -------
    Means

    Examples
    --------
    >>> import polars as pl
    >>> from headcount.study import MethodSpec, Spec
    >>> methods = (MethodSpec("MS"), MethodSpec("CC"))
    >>> spec = Spec("s", "comparison", ("wine", "spam"), methods, ("tae",))
    >>> results = pl.DataFrame({"dataset": ["spam", "spam", "wine", "wine"],
    ...                         "method": ["CC", "MS"] * 2, "tae": [0.3, 0.1, 0.2, 0.1]})
    >>> mean_errors(spec, results, "tae").table.rows()
    [('wine', 0.1, 0.2), ('spam', 0.1, 0.3)]
    """
    import polars as pl

    cells = (
        results.lazy()
        .group_by("dataset", "method")
        .agg(pl.col(metric).fill_nan(None).mean())
        .collect()
    )
    wide = cells.drop_nulls().pivot("method", index="dataset", values=metric)
    methods = tuple(each.name for each in spec.methods if each.name in wide.columns)
    order = pl.DataFrame({"dataset": spec.datasets})
    table = order.join(wide, on="dataset", maintain_order="left").select("dataset", *methods)
    return Means(table, methods, _ranked(table.drop_nulls().drop("dataset")))


def _ranked(errors: pl.DataFrame) -> Comparison | None:
    return compare(errors, test="nemenyi") if len(errors) > 1 and errors.width > 1 else None


def errors_of(spec: Spec, results: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Errors of all runs that did not fail, methods in the order of the spec.

    Parameters
    ----------
    spec : Spec
        Study, for the order of methods.
    results : polars.DataFrame
        Columns method and the metric.
    metric : str
        Name of the metric.

    Returns
    -------
    polars.DataFrame
        Columns method and error.
    """
    import polars as pl

    order = pl.Enum([each.name for each in spec.methods])
    return (
        results.lazy()
        .select(pl.col("method").cast(order), pl.col(metric).fill_nan(None).alias("error"))
        .drop_nulls()
        .sort("method", maintain_order=True)
        .collect()
    )


def shift_groups(results: pl.DataFrame, classes: str) -> dict[str, pl.DataFrame]:
    """Results by the size of the shift since training.

    Parameters
    ----------
    results : polars.DataFrame
        Results with the column shift.
    classes : {"binary", "multiclass"}
        Kind of task, which sets the limits.

    Returns
    -------
    dict of str to polars.DataFrame
        Results of each group that has any, by title.

    Examples
    --------
    >>> import polars as pl
    >>> list(shift_groups(pl.DataFrame({"shift": [0.1, 0.5]}), "multiclass"))
    ['minor shift (below 0.5)', 'major shift (0.5 and more)']
    """
    import polars as pl

    edges = _EDGES[classes]
    limits = list(zip((None, *edges), (*edges, None), strict=True))
    names = (_NAMES[0], *_NAMES[1:-1][: len(edges) - 1], _NAMES[-1])
    shift = pl.col("shift") + _CLOSE
    groups = {}
    for name, (low, high) in zip(names, limits, strict=True):
        inside = pl.lit(True) if low is None else shift >= low
        inside = inside if high is None else inside & (shift < high)
        part = results.filter(inside)
        if len(part):
            groups[f"{name} shift ({_range(low, high)})"] = part
    return groups


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:g}"
    return f"{low:g} and more" if high is None else f"{low:g} to {high:g}"


def group_means(
    methods: Sequence[str], groups: Mapping[str, pl.DataFrame], metric: str
) -> pl.DataFrame:
    """Mean errors by method and group.

    Parameters
    ----------
    methods : sequence of str
        Methods, one row each.
    groups : mapping of str to polars.DataFrame
        Results of each group, by title.
    metric : str
        Name of the metric.

    Returns
    -------
    polars.DataFrame
        Column method, and one column per group.
    """
    import polars as pl

    table = pl.DataFrame({"method": methods})
    for name, part in groups.items():
        # Every dataset has the same weight, as in the table of all results.
        means = (
            part.lazy()
            .group_by("method", "dataset")
            .agg(pl.col(metric).fill_nan(None).mean())
            .group_by("method")
            .agg(pl.col(metric).mean().alias(name))
            .collect()
        )
        table = table.join(means, on="method", how="left", maintain_order="left")
    return table
