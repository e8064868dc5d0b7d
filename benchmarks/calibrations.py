"""Calibrations of SLD on real tables and texts, and the tolerance of its stopping rule.

Plain answers on the development datasets of `real_data.py`, for training sets of 200, 1,000 and
5,000 items and samples of 100 and 1,000 items. Ratios to the errors without a calibration and
with a tolerance of 0.2 are geometric means over datasets. The tolerance is 0.4, or 0.2 where
named.

    python benchmarks/real_data.py --full --plain --sets 2 --methods \
        "SLD(None),SLD(None .2),SLD(auto),SLD(auto .2),SLD(ts),SLD(bcts)" --store FOLDER
    python benchmarks/calibrations.py FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from environment import RESULTS, describe_machine
from real_data_measures import read_store
from tables import markdown_table

BASE = "SLD(None .2)"
NAMES = ("SLD(None)", "SLD(auto)", "SLD(auto .2)", "SLD(ts)", "SLD(bcts)")
MARGIN = 0.02


def cells(rows: pl.DataFrame, name: str) -> list[str]:
    """Ratio of errors, and numbers of datasets where they are lower and higher, by metric."""
    texts = []
    for metric in ("ae", "rae"):
        means = rows.group_by("dataset", "method").agg(pl.col(metric).mean())
        wide = means.pivot("method", index="dataset", values=metric)
        ratios = (wide[name] / wide[BASE]).to_numpy()
        lower, higher = (ratios < 1 - MARGIN).sum(), (ratios > 1 + MARGIN).sum()
        texts += [f"{np.exp(np.log(ratios).mean()):.3f}", f"{lower} / {higher}"]
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--output", type=Path, default=RESULTS / "calibrations.md")
    options = parser.parse_args()
    frame = read_store(options.store)
    machine = describe_machine()
    table = []
    for training in sorted(frame["training"].unique()):
        for shares in ("all", "uniform", "mild", "natural"):
            rows = frame.filter(pl.col("training") == training)
            if shares != "all":
                rows = rows.filter(pl.col("shares") == shares)
            datasets = str(rows["dataset"].n_unique())
            table += [
                [f"{training:,}", shares, datasets, name, *cells(rows, name)] for name in NAMES
            ]
    head = ["labelled", "shares", "datasets", "method", "AE", "lower / higher", "RAE",
            "lower / higher"]  # fmt: skip
    text = [
        "# Calibrations of SLD", "", *__doc__.split("\n\n")[1:2], "",
        f"*lower / higher*: datasets with an error that differs by more than {MARGIN:.0%}. "
        f"{machine['date']}, {machine['machine']}.", "", markdown_table(head, table), "",
    ]  # fmt: skip
    options.output.write_text("\n".join(text))
    print(options.output.read_text())


if __name__ == "__main__":
    main()
