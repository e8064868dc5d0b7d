"""Real tables of many classes: coverage and errors where classes are absent.

Samples of 200 items are drawn from the part of each table that is not used for training, with
uniform shares, with half of the classes absent, and with the shares of the training set.
Classes of fewer than 120 items are left out, and so are tables with fewer than three classes.

    HEADCOUNT_DATA=folder python benchmarks/absent_classes.py

The width of intervals was set on the tables that are named in the script. Others were not used
for it, but may have been for other settings of the estimates.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from real_datasets import data_folder

TRIED = (
    "wine-quality", "satellite", "cmc", "letter", "phishing", "dry-bean", "academic-success",
    "abalone",
)  # fmt: skip
KINDS = ("uniform", "half absent", "natural")
N_TRAIN, N_SAMPLES, SIZE, FEWEST = 800, 25, 200, 120


def read(path: Path) -> tuple[Any, Any]:
    """Features and labels of a table, of its frequent classes."""
    frame = pl.read_parquet(path)
    labels = np.array(frame[frame.columns[-1]].cast(pl.String).to_list())
    features = frame.drop(frame.columns[-1])
    texts = features.select(pl.col(pl.String)).columns
    X = features.to_dummies(texts).fill_null(0).to_numpy().astype(float)
    names, counts = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[counts >= FEWEST])
    return X[kept], labels[kept]


def rows_of(name: str, path: Path) -> list[dict[str, Any]]:
    """Errors and coverage of one table."""
    X, y = read(path)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    n = min(N_TRAIN, len(y) // 3)
    train, pool = order[:n], order[n:]
    classes = np.unique(y[train])
    pool, K = pool[np.isin(y[pool], classes)], len(classes)
    if K < 3:
        return []
    by_class = [pool[y[pool] == label] for label in classes]
    natural = np.array([(y[train] == label).mean() for label in classes])
    result = []
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    methods = (
        hc.AutoQuantifier(classifier, random_state=0),
        hc.SLD(classifier, random_state=0),
    )
    for kind in KINDS:
        samples, truths = [], []
        for _ in range(N_SAMPLES):
            shares = natural if kind == "natural" else rng.dirichlet(np.ones(K))
            if kind == "half absent":
                shares[rng.permutation(K)[: K // 2]] = 0
            counts = rng.multinomial(SIZE, shares / shares.sum())
            parts = zip(by_class, counts.tolist(), strict=True)
            drawn = [rng.choice(rows, m, replace=m > len(rows)) for rows, m in parts]
            samples.append(np.concatenate(drawn))
            truths.append(counts / SIZE)
        truth = np.array(truths)
        for method in methods:
            fitted = method.fit(X[train], y[train])
            estimates = fitted.estimate_many(X, samples, random_state=0)
            ends = [estimate.interval() for estimate in estimates]
            low, high = (
                np.array([getattr(end, side) for end in ends]) for side in ("low", "high")
            )
            points, raw = (
                np.array([getattr(estimate, form) for estimate in estimates])
                for form in ("shares", "raw")
            )
            result.append(
                {
                    "name": name, "classes": K, "kind": kind, "method": type(method).__name__,
                    "ae": np.abs(points - truth).mean(), "raw": np.abs(raw - truth).mean(),
                    "inside": ((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean(),
                    "width": (high - low).mean(),
                }
            )  # fmt: skip
    return result


def summary(rows: list[dict[str, Any]], title: str) -> list[str]:
    """Means over the tables."""
    lines = [
        f"## {title}", "",
        "| method | shares | error | of its own answer | coverage | least table | width |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for method in ("AutoQuantifier", "SLD"):
        for kind in KINDS:
            chosen = [row for row in rows if (row["method"], row["kind"]) == (method, kind)]
            error, raw = (
                float(np.exp(np.mean([np.log(row[key]) for row in chosen])))
                for key in ("ae", "raw")
            )
            inside = [row["inside"] for row in chosen]
            width = np.mean([row["width"] for row in chosen])
            lines.append(
                f"| {method} | {kind} | {error:.4f} | {raw:.4f} | {np.mean(inside):.1%} | "
                f"{min(inside):.0%} | {width:.3f} |"
            )
    return [*lines, ""]


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS / "absent_classes.md")
    options = parser.parse_args()
    rows = []
    warnings.simplefilter("ignore")
    for path in sorted((data_folder() / "uci_multiclass").glob("*.parquet")):
        try:
            rows += rows_of(path.stem, path)
        except (ValueError, hc.HeadcountError) as error:
            print(f"{path.stem}: {error}")
    facts = describe_machine()
    tried = [row for row in rows if row["name"] in TRIED]
    new = [row for row in rows if row["name"] not in TRIED]
    names = [", ".join(sorted({row["name"] for row in part})) for part in (tried, new)]
    text = [
        "# Absent classes", "", *__doc__.split("\n\n")[1:2], "",
        "Errors are geometric means over the tables; *of its own answer* is that of the method "
        "without conditioning. Coverage is that of 95% intervals.", "",
        f"{facts['date']}, {facts['machine']}, Python {facts['python']}.", "",
        *summary(tried, f"Tables on which the width of intervals was set: {names[0]}"),
        *summary(new, f"Others: {names[1]}"),
    ]  # fmt: skip
    options.output.write_text("\n".join(text))
    print(options.output.read_text())


if __name__ == "__main__":
    main()
