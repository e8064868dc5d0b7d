"""Measures per sample from a store of `real_data.py`, and means with standard errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from headcount.metrics import winkler

__all__ = ["CELL", "SAMPLE", "cluster_mean", "mean_over_datasets", "paired", "read_store"]

LEVEL = 0.95
TOLERANCE = 1e-6  # Shares are stored with 32 bits.
CELL = ["dataset", "training", "n"]
SAMPLE = ["dataset", "classifier", "training", "set", "n", "shares", "sample"]
_VECTORS = ["truth", "plain", "conditioned", "low", "high"]


def read_store(store: Path) -> pl.DataFrame:
    """One row per sample and method: errors, coverage, width and score, no vectors."""
    paths = sorted((store / "rows").glob("*/*.parquet"))
    if not paths:
        raise SystemExit(f"{store} has no rows: run real_data.py first.")
    return pl.concat([_measures(pl.read_parquet(path)) for path in paths])


def _measures(frame: pl.DataFrame) -> pl.DataFrame:
    """The measures of one task, whose samples have the same classes."""
    K = int(frame["classes"][0])
    n = frame["n"].to_numpy().astype(float)[:, None]
    truth, plain, conditioned, low, high = (_matrix(frame[name], K) for name in _VECTORS)
    width = high - low
    outside = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    held = np.where(np.isnan(width), np.nan, outside <= TOLERANCE)
    # Samples without intervals have no score.
    there = ~np.isnan(width).any(axis=1)
    score = np.full(len(width), np.nan)
    if there.any():
        score[there] = winkler(truth[there], low[there], high[there], level=LEVEL)
    columns = {
        "ae": np.abs(plain - truth).mean(axis=1),
        "rae": _relative_error(plain, truth, n),
        "ae_conditioned": np.abs(conditioned - truth).mean(axis=1),
        "rae_conditioned": _relative_error(conditioned, truth, n),
        "covered": held.mean(axis=1),
        "width": width.mean(axis=1),
        "winkler": score,
        "zero_width": np.where(np.isnan(width), np.nan, width < TOLERANCE).mean(axis=1),
    }
    measured = [pl.Series(name, values, nan_to_null=True) for name, values in columns.items()]
    return frame.drop(_VECTORS).with_columns(measured)


def _matrix(column: pl.Series, K: int) -> np.ndarray:
    """Vectors as rows; NaN where there is none or where it has another length."""
    rows = np.full((len(column), K), np.nan)
    there = np.flatnonzero((column.list.len() == K).fill_null(False).to_numpy())
    if len(there):
        rows[there] = column.gather(there).list.to_array(K).to_numpy()
    return rows


def _relative_error(shares: np.ndarray, truth: np.ndarray, n: np.ndarray) -> np.ndarray:
    """RAE, both sides smoothed by 1 / (2n)."""
    e = 1 / (2 * n)
    smooth = 1 + truth.shape[1] * e
    p, q = (truth + e) / smooth, (shares + e) / smooth
    return (np.abs(q - p) / p).mean(axis=1)


def cluster_mean(frame: pl.DataFrame, value: str, by: list[str]) -> pl.DataFrame:
    """Mean of a measure per group, with a standard error over training sets."""
    clusters = list(dict.fromkeys([*by, "dataset", "training", "set"]))
    sets = (
        frame.drop_nulls(value)
        .group_by(clusters)
        .agg(pl.col(value).sum().alias("sum"), pl.len().alias("m"))
    )
    sets = sets.with_columns(
        (pl.col("sum").sum().over(by) / pl.col("m").sum().over(by)).alias("mean")
    )
    part = ((pl.col("sum") - pl.col("m") * pl.col("mean")) ** 2).sum().sqrt()
    correction = (pl.len() / (pl.len() - 1)).sqrt()
    return sets.group_by(by).agg(
        pl.col("mean").first(),
        pl.when(pl.len() > 1).then(part / pl.col("m").sum() * correction).alias("se"),
        pl.len().alias("sets"),
        pl.col("m").sum().alias("samples"),
    )


def mean_over_datasets(frame: pl.DataFrame, value: str, by: list[str]) -> pl.DataFrame:
    """Mean of the datasets' means, each dataset with equal weight, and its standard error."""
    each = cluster_mean(frame, value, [*by, "dataset"])
    return each.group_by(by).agg(
        pl.col("mean").mean(),
        pl.when(pl.col("se").is_not_null().all())
        .then((pl.col("se") ** 2).sum().sqrt() / pl.len())
        .alias("se"),
        pl.len().alias("datasets"),
    )


def paired(ours: pl.DataFrame, theirs: pl.DataFrame, mine: str, other: str) -> pl.DataFrame:
    """Per dataset: both means on the same samples, and the difference with its error."""
    both = (
        ours.select(*SAMPLE, pl.col(mine).alias("ours"))
        .join(theirs.select(*SAMPLE, pl.col(other).alias("theirs")), on=SAMPLE)
        .drop_nulls(["ours", "theirs"])
        .with_columns((pl.col("ours") - pl.col("theirs")).alias("difference"))
    )
    means = both.group_by("dataset").agg(pl.col("ours").mean(), pl.col("theirs").mean())
    found = means.join(cluster_mean(both, "difference", ["dataset"]), on="dataset")
    beyond = pl.col("mean").abs() > 2 * pl.col("se")
    large = (pl.col("ours") / pl.col("theirs") - 1).abs() > 0.02
    return found.with_columns(
        (beyond & large & (pl.col("mean") < 0)).alias("better"),
        (beyond & large & (pl.col("mean") > 0)).alias("worse"),
    )
