"""True and estimated shares in the results of a study: metrics and evaluations from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import HeadcountError
from headcount.evaluation.evaluation import Evaluation
from headcount.evaluation.measures import check_measure, errors_of_methods
from headcount.metrics import OF_INTERVALS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["evaluation_of", "share_columns", "with_metrics"]

_SHARES = ("true", "estimated")
_SAMPLE = ["training_set", "sample"]


def share_columns(
    true: NDArray[np.float64], estimated: NDArray[np.float64] | None
) -> dict[str, pl.Series]:
    """Columns of the results that metrics can be computed from.

    Parameters
    ----------
    true, estimated : ndarray of shape (S, K)
        Shares, one row per sample. Estimates that are not a number are missing, and None
        stands for a method that failed.

    Returns
    -------
    dict of str to polars.Series
        Lists of shares: ``true`` and ``estimated``.

    Examples
    --------
    >>> import numpy as np
    >>> share_columns(np.array([[0.2, 0.8]]), None)["estimated"].to_list()
    [None]
    """
    import polars as pl

    lists = pl.List(pl.Float64)
    if estimated is None:
        found = pl.Series([None] * len(true), dtype=lists)
    else:
        rows = [row.tolist() if np.isfinite(row).all() else None for row in estimated]
        found = pl.Series(rows, dtype=lists)
    return {"true": pl.Series(true.tolist(), dtype=lists), "estimated": found}


def with_metrics(results: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Add metrics that are computed from the shares.

    Parameters
    ----------
    results : polars.DataFrame
        Results with columns ``true`` and ``estimated``, lists of shares, and ``size``.
    metrics : sequence of str
        Names of metrics of `headcount.metrics`.

    Returns
    -------
    polars.DataFrame
    """
    import polars as pl

    check_shares(results)
    measures = [check_measure(name) for name in metrics]
    numbered = results.with_row_index("row")
    known = numbered.filter(pl.col("estimated").is_not_null())
    parts = []
    for part in known.with_columns(K=pl.col("true").list.len()).partition_by("K"):
        true, estimated = (_matrix(part[name]) for name in _SHARES)
        sizes = part["size"].to_numpy().astype(np.int64)
        added = {each.name: each(true, estimated, sizes) for each in measures}
        parts.append(part.select("row").with_columns(pl.Series(n, v) for n, v in added.items()))
    old = [name for name in metrics if name in results.columns]
    return numbered.drop(old).join(pl.concat(parts), on="row", how="left").drop("row")


def check_shares(results: pl.DataFrame) -> None:
    """Refuse results that have no shares."""
    import polars as pl

    if any(results.schema.get(name) != pl.List(pl.Float64) for name in _SHARES):
        raise HeadcountError(
            "The results of this kind of study have no true and estimated shares, from which "
            "metrics could be computed: choose from the metrics of its spec."
        )


def evaluation_of(
    results: pl.DataFrame,
    classes: Sequence[Any],
    metrics: Iterable[str],
    seconds: Mapping[str, float],
) -> Evaluation:
    """Evaluation of the methods on one dataset.

    Parameters
    ----------
    results : polars.DataFrame
        Results of one dataset.
    classes : sequence
        The classes.
    metrics : iterable of str
        Columns of errors.
    seconds : mapping of str to float
        Time of the methods.

    Returns
    -------
    Evaluation
        Methods that failed on some samples are among its ``failures``.
    """
    import polars as pl

    check_shares(results)
    failed = results.filter(pl.col("failure").is_not_null())
    failures = dict(failed.select("method", "failure").unique("method").iter_rows())
    by_method = {
        str(name): part.sort(_SAMPLE)
        for (name,), part in results.group_by("method", maintain_order=True)
        if name not in failures
    }
    first = next(iter(by_method.values()), None)
    if first is None:
        raise HeadcountError(
            "All methods failed on this dataset: see the reasons by headcount study status."
        )
    for name, part in by_method.items():
        if not part.select(_SAMPLE).equals(first.select(_SAMPLE)):
            raise HeadcountError(
                f"method {name!r} has no results yet for some samples: finish the study first."
            )
    names = tuple(by_method)
    true, sizes = _matrix(first["true"]), first["size"].to_numpy().astype(np.int64)
    estimated = np.stack([_matrix(part["estimated"]) for part in by_method.values()])
    return Evaluation(
        names,
        np.asarray(classes),
        true,
        estimated,
        sizes,
        np.stack([_matrix(part["prior"]) for part in by_method.values()]),
        {
            metric: np.stack([part[metric].to_numpy() for part in by_method.values()])
            if metric in OF_INTERVALS
            else errors_of_methods(names, check_measure(metric), true, estimated, sizes)
            for metric in metrics
        },
        np.array([seconds.get(name, np.nan) for name in names]),
        {
            name: "; ".join(part["parameters"].unique(maintain_order=True))
            for name, part in by_method.items()
        },
        failures,
    )


def _matrix(shares: pl.Series) -> NDArray[np.float64]:
    width = int(shares.list.len()[0])
    return shares.list.to_array(width).to_numpy().astype(np.float64)
