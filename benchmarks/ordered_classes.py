"""Errors of AutoQuantifier on ordered classes, with and without `ordered=True`.

Real ratings and grades. Samples of 500 items: with shares that move along the classes, near
those of training, drawn from the uniform distribution, and natural groups of the dataset (the
column in brackets; groups with at least 100 items). The data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS

DATA = Path(os.environ.get("HEADCOUNT_DATA", "data"))
N_TRAIN, SIZE, N_SAMPLES = 2000, 500, 60
BIKE = ["season", "hr", "holiday", "workingday", "weathersit", "temp", "hum", "windspeed"]
DIAMOND = ["carat", "depth", "table", "price", "x", "y", "z"]
CUTS = ["Fair", "Good", "Very Good", "Premium", "Ideal"]


def tables() -> Iterator[tuple[str, Any, Any, Any]]:
    """Name, features or texts, grades, and natural groups of each dataset."""
    frame = pl.read_csv(DATA / "wine.csv.gz").filter(pl.col("quality").is_between(4, 8))
    numbers = frame.drop("quality", "good", "color").select(pl.selectors.numeric())
    yield "wine (color)", numbers.to_numpy(), frame["quality"], frame["color"]
    frame = pl.read_parquet(DATA / "womens_clothing_reviews.parquet")
    frame = frame.drop_nulls(["Review Text", "Class Name"])
    yield "clothing (Class Name)", frame["Review Text"], frame["Rating"], frame["Class Name"]
    frame = pl.read_csv(DATA / "bike.csv.gz")
    grades = np.digitize(frame["cnt"], np.quantile(frame["cnt"], [0.1, 0.3, 0.6, 0.85]))
    hours = np.eye(24)[frame["hr"].to_numpy()]
    X = np.column_stack([frame.select(BIKE).to_numpy(), hours])
    yield "bike rentals (mnth)", X, grades, frame["mnth"]
    frame = pl.read_parquet(DATA / "imdb50k.parquet").sample(12_000, seed=0, shuffle=True)
    yield "films (none)", frame["text"], frame["rating"].cast(pl.Int64), None
    frame = pl.read_csv(DATA / "diam.csv.gz")
    grades = frame["cut"].replace_strict(CUTS, range(5))
    more = [(frame["depth"] - 61.7).abs(), frame["price"].log()]
    X = np.column_stack([frame.select(DIAMOND).to_numpy(), *more])
    yield "diamonds (color)", X, grades, frame["color"]
    frame = pl.read_parquet(DATA / "amazon_musical.parquet")
    grades = frame["overall"].cast(pl.Float64).cast(pl.Int64)
    yield "instruments (none)", frame["reviewText"], grades, None


def samples_of(y: Any, groups: Any, seed: int) -> dict[str, list[Any]]:
    """Samples of a pool by kind."""
    rng = np.random.default_rng(seed)
    codes = np.unique(y, return_inverse=True)[1]
    members = [np.flatnonzero(codes == k) for k in range(codes.max() + 1)]
    shares = np.bincount(codes) / len(codes)
    cuts = norm.ppf(np.cumsum(shares)[:-1])

    def drawn(p: Any) -> Any:
        counts = rng.multinomial(SIZE, p)
        return np.concatenate([rng.choice(m, n) for m, n in zip(members, counts, strict=True)])

    moves = rng.normal(0, 0.6, N_SAMPLES)
    moved = [np.diff(norm.cdf(np.r_[-np.inf, cuts - move, np.inf])) for move in moves]
    near = rng.dirichlet(60 * shares + 0.1, N_SAMPLES)
    uniform = rng.dirichlet(np.ones(len(shares)), N_SAMPLES)
    found = {
        "moved": [drawn(p) for p in moved],
        "near training": [drawn(p) for p in near],
        "uniform": [drawn(p) for p in uniform],
    }
    if groups is not None:
        each = [np.flatnonzero(groups == name) for name in np.unique(groups)]
        found["groups"] = [rows for rows in each if len(rows) >= 100]
    return found


def errors_of(X: Any, y: Any, groups: Any) -> Iterator[tuple[str, list[float]]]:
    """Kind of samples and mean absolute errors of the methods, in points."""
    y, order = np.asarray(y), np.random.default_rng(0).permutation(len(y))
    train, pool = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + 10_000]
    texts = isinstance(X, pl.Series)
    first = TfidfVectorizer(min_df=3, sublinear_tf=True) if texts else StandardScaler()
    model = make_pipeline(first, LogisticRegression(max_iter=1000))
    X = X.cast(pl.String).fill_null("").to_numpy() if texts else X
    scorer = hc.Scorer(model, random_state=0).fit(X[train], y[train])
    scored = scorer.score(X[pool])
    codes, K = np.searchsorted(scorer.classes_, y[pool]), len(scorer.classes_)
    own = None if groups is None else groups.to_numpy()[pool]
    for kind, rows in samples_of(y[pool], own, 1).items():
        true = np.array([np.bincount(codes[r], minlength=K) / len(r) for r in rows])
        found = [
            make().fit_scorer(scorer).predict_many(scored, rows) for make in METHODS.values()
        ]
        yield kind, [100 * float(np.abs(each - true).mean()) for each in found]


def main() -> None:
    warnings.simplefilter("ignore")
    head = ["dataset (groups)", "samples", *METHODS]
    lines = [f"| {' | '.join(head)} |", "| --- | --- |" + " ---: |" * len(METHODS)]
    every = []
    for name, X, y, groups in tables():
        for kind, errors in errors_of(X, y, groups):
            every.append(errors)
            lines.append(f"| {name} | {kind} | {' | '.join(f'{e:.2f}' for e in errors)} |")
            print(lines[-1], flush=True)
    means = " | ".join(f"{mean:.2f}" for mean in np.mean(every, axis=0))
    lines.append(f"| mean | | {means} |")
    (RESULTS / "ordered_classes.md").write_text(
        "# Ordered classes\n\nMean absolute error of the shares in percentage points, with "
        f"{N_TRAIN:,} labelled items and logistic regression. Samples of {SIZE} items: shares "
        "that move along the classes, near those of training, uniform, and natural groups.\n\n"
        + "\n".join(lines)
        + "\n"
    )


METHODS = {
    "CC": hc.CC,
    "GPAC": hc.GPAC,
    "OrdinalPACC": hc.OrdinalPACC,
    "auto": lambda: hc.AutoQuantifier(random_state=0),
    "auto, ordered": lambda: hc.AutoQuantifier(ordered=True, random_state=0),
}

if __name__ == "__main__":
    main()
