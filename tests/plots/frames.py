"""Made-up evaluations."""

from __future__ import annotations

import numpy as np
import polars as pl

NAMES = (
    "CC", "PCC", "ACC", "PACC", "MS", "MS2", "T50", "TMAX", "TX", "DyS", "HDy", "FM", "FMM",
    "SMM", "EDy", "CvMy", "KDEyML", "KDEyHD", "KDEyCS", "SLD", "GAC", "GPAC", "CDE", "DM",
)  # fmt: skip


def shares(n_methods=3, n_samples=210, classes=("no", "yes"), seed=0):
    """A row a method, sample and class."""
    rng = np.random.default_rng(seed)
    K = len(classes)
    if K == 2:
        share = np.tile(np.linspace(0, 1, 21), n_samples // 21 + 1)[:n_samples]
        true = np.column_stack([1 - share, share])
    else:
        true = rng.dirichlet(np.ones(K), n_samples)
    parts = []
    for i in range(n_methods):
        pull = 0.5 * i / n_methods
        noisy = np.clip((1 - pull) * true + pull / K + rng.normal(0, 0.03, true.shape), 0, None)
        estimated = noisy / noisy.sum(axis=1, keepdims=True)
        parts.append(
            pl.DataFrame(
                {
                    "method": [NAMES[i]] * (n_samples * K),
                    "sample": np.repeat(np.arange(n_samples), K),
                    "size": [100] * (n_samples * K),
                    "class": list(classes) * n_samples,
                    "true": true.ravel(),
                    "estimated": estimated.ravel(),
                    "shift": np.repeat(np.abs(true - 1 / K).mean(axis=1), K),
                }
            )
        )
    return pl.concat(parts)


def errors(n_methods=3, n_samples=210, seed=0):
    """A row a method and sample."""
    frame = shares(n_methods, n_samples, seed=seed)
    return (
        frame.with_columns(error=(pl.col("estimated") - pl.col("true")).abs())
        .group_by("method", "sample", "shift", maintain_order=True)
        .agg(pl.col("error").mean())
    )


def curves(n_methods=3, repeats=5, seed=0):
    """A row a method, training size and repetition."""
    rng = np.random.default_rng(seed)
    rows = [
        (NAMES[i], size, float((1 + 0.3 * i) / np.sqrt(size) + rng.normal(0, 0.002)))
        for i in range(n_methods)
        for size in (100, 200, 500, 1000, 2000)
        for _ in range(repeats)
    ]
    return pl.DataFrame(rows, schema=["method", "size", "error"], orient="row")


def ranks(n_methods=6, seed=0):
    """Average ranks over 30 datasets."""
    rng = np.random.default_rng(seed)
    table = rng.random((30, n_methods)) + np.linspace(0, 0.6, n_methods)
    places = table.argsort(axis=1).argsort(axis=1) + 1
    return dict(zip(NAMES, places.mean(axis=0).tolist(), strict=False))


def classes(n=4, with_reference=True):
    """A row a class."""
    share = np.arange(1, n + 1) / (n * (n + 1) / 2)
    frame = {
        "class": [f"class {j}" for j in range(n)],
        "share": share,
        "low": np.maximum(share - 0.05, 0),
        "high": share + 0.06,
    }
    return pl.DataFrame(frame | ({"reference": [1 / n] * n} if with_reference else {}))
