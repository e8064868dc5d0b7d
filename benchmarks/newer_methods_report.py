"""Table of the newer methods from a store of `real_data.py`.

    python benchmarks/real_data.py --methods ... --store FOLDER
    python benchmarks/newer_methods_report.py --store FOLDER

Every dataset has equal weight; standard errors are over training sets.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from environment import RESULTS
from real_data import STORE
from real_data_measures import cluster_mean, mean_over_datasets, read_store
from tables import markdown_table

MEASURES = ("ae", "ae_conditioned", "covered", "width", "winkler", "region")


def rows(frame: pl.DataFrame) -> list[list[str]]:
    """One row per method, the smallest error of `predict` first."""
    found: dict[str, dict[str, dict]] = {}
    for value in MEASURES:
        for row in mean_over_datasets(frame, value, ["method"]).iter_rows(named=True):
            found.setdefault(row["method"], {})[value] = row
    lowest = cluster_mean(frame, "covered", ["method", "dataset"]).group_by("method").min()
    least = dict(zip(lowest["method"], lowest["mean"], strict=True))
    order = sorted(found, key=lambda name: found[name]["ae"]["mean"])
    digits = {"covered": 3, "width": 3, "winkler": 3, "region": 3}
    table = []
    for name in order:
        cells = [_number(found[name].get(value), digits.get(value, 4)) for value in MEASURES]
        lowest_cell = f"{least[name]:.3f}" if name in least else ""
        table.append([name, *cells[:3], lowest_cell, *cells[3:]])
    return table


def _number(row: dict | None, digits: int) -> str:
    """Mean and standard error; empty for what was not measured."""
    return "" if row is None else f"{row['mean']:.{digits}f} ± {row['se']:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    frame = read_store(given.store).with_columns(pl.col("region").cast(pl.Float64))
    head = ["method", "AE of predict", "AE of estimate", "coverage", "lowest dataset", "width",
            "Winkler", "region"]  # fmt: skip
    parts = ["# Newer methods on real data"]
    datasets = ", ".join(sorted(frame["dataset"].unique()))
    sizes = ", ".join(str(n) for n in sorted(frame["n"].unique()))
    parts.append(
        f"Written by `benchmarks/newer_methods_report.py`. Datasets: {datasets}. Samples of "
        f"{sizes} items; {frame['set'].n_unique()} training sets each. 95% intervals."
    )
    for training in sorted(frame["training"].unique()):
        own = frame.filter(pl.col("training") == training)
        title = f"## {training:,} training items, {own['dataset'].n_unique()} datasets"
        parts += [title, markdown_table(head, rows(own))]
    file = given.output / "newer_methods.md"
    file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
