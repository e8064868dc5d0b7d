"""Real dated data: monitors whose reference has dates or none, with and without late labels.

A classifier is trained on the first third of the periods of each dataset. The next 8 or 14
labelled periods are the reference of a monitor, and all later ones its chunks, of at least 50
items. Intervals of shares and of the accuracy are compared with the labels of the chunks, which
the monitor does not see, or sees three chunks later: then the estimates are those that were
made when a chunk arrived. The datasets are those of dated.py.

    HEADCOUNT_DATA=folder python benchmarks/dated_monitor.py [--only compas]
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import headcount as hc
from dated import DATASETS, Dated, read
from dated_accuracy import ScoredItems, scored_items
from environment import RESULTS, describe_machine
from real_datasets import data_folder

REFERENCE = (8, 14)
FEWEST_ITEMS, MOST_CHUNKS, DELAY = 50, 40, 3
KINDS = ("dates", "no dates", "dates, late labels", "no dates, late labels")


def table(part: ScoredItems, periods: dict[Any, str], *, labels: bool, dates: bool) -> Any:
    """Frame of a part, with names of periods whose order is that of time."""
    columns = {
        f"score {label}": part.items.posteriors[:, j] for j, label in enumerate(part.classes)
    }
    if labels:
        columns["label"] = [f"score {label}" for label in part.labels.tolist()]
    if dates:
        columns["period"] = [periods[group] for group in part.groups.tolist()]
    return pl.DataFrame(columns)


def rows_of(frame: pl.DataFrame, dataset: Dated, parts: Any) -> Iterator[dict[str, Any]]:
    """Coverage and alerts of the monitors of one case."""
    both = scored_items(frame, dataset, parts)
    if both is None:
        return
    reference, new = both
    if len(set(reference.labels.tolist())) < len(new.classes):
        return
    periods = {group: f"{n:04d}" for n, group in enumerate([*parts[1], *parts[2]])}
    predicted = new.classes[new.items.posteriors.argmax(axis=1)]
    for kind in KINDS:
        dated = kind.startswith("dates")
        with tempfile.TemporaryDirectory() as folder:
            monitor = hc.Monitor.create(
                Path(folder) / "watch",
                table(reference, periods, labels=True, dates=dated),
                target="label", by="period", key="id",
            )  # fmt: skip
            rows = table(new, periods, labels=True, dates=True).with_row_index("id")
            if kind.endswith("late labels"):
                chunks = updated(monitor, rows)
            else:
                monitor.update(rows.drop("label"))
                chunks = monitor.to_frame()
            alerts = monitor.alerts()
        inside, right, widths = [], [], []
        for chunk in chunks.iter_rows(named=True):
            rows = np.array([periods[group] == chunk["chunk"] for group in new.groups.tolist()])
            for label in new.classes:
                low, high = chunk[f"low score {label}"], chunk[f"high score {label}"]
                inside.append(low - 1e-9 <= (new.labels[rows] == label).mean() <= high + 1e-9)
                widths.append(high - low)
            accuracy = (predicted == new.labels)[rows].mean()
            right.append(chunk["accuracy_low"] <= accuracy <= chunk["accuracy_high"])
        yield {
            "name": f"{dataset.name} by {dataset.by}", "set_aside": dataset.set_aside,
            "kind": kind, "chunks": len(chunks), "alerts": len(alerts),
            "inside": np.mean(inside), "width": np.mean(widths), "accuracy": np.mean(right),
        }  # fmt: skip


def updated(monitor: Any, rows: pl.DataFrame) -> pl.DataFrame:
    """Estimates of chunks when they arrived, with labels some chunks later."""
    names, estimates = rows["period"].unique().sort().to_list(), []
    for place, name in enumerate(names):
        late = None
        if place >= DELAY:
            late = rows.filter(period=names[place - DELAY]).select("id", "label")
        monitor.update(rows.filter(period=name).drop("label"), late)
        estimates.append(monitor.to_frame().filter(chunk=name))
    return pl.concat(estimates, how="diagonal_relaxed")


def summary(rows: list[dict[str, Any]], title: str) -> str:
    """Table of datasets, and means over them."""
    lines = [
        f"## {title}", "",
        "| dataset | chunks | coverage of shares | width | coverage of accuracy | alerts |",
        "| --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    together = pl.DataFrame(rows)
    means = ("inside", "width", "accuracy")
    by_name = together.group_by("name", "kind").agg(
        pl.col("chunks", "alerts").sum(), pl.col(means).mean()
    )
    formats = {"inside": ".0%", "width": ".3f", "accuracy": ".0%", "alerts": "d"}
    for name in sorted(set(by_name["name"])):
        by_kind = [
            by_name.row(
                by_predicate=pl.col("name").eq(name) & pl.col("kind").eq(kind), named=True
            )
            for kind in KINDS
        ]
        cells = [
            " / ".join(f"{values[key]:{form}}" for values in by_kind)
            for key, form in formats.items()
        ]
        lines.append(f"| {name} | {by_kind[0]['chunks']} | {' | '.join(cells)} |")
    for kind in KINDS:
        chosen = by_name.filter(kind=kind)
        mean = chosen.select(means).mean().row(0, named=True)
        lines += [
            "",
            f"{kind.capitalize()}: coverage of shares {mean['inside']:.1%}, least "
            f"{chosen['inside'].min():.0%}, mean width {mean['width']:.3f}, coverage of the "
            f"accuracy {mean['accuracy']:.1%}, {chosen['alerts'].sum()} alerts in "
            f"{chosen['chunks'].sum()} chunks.",
        ]
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--output", type=Path, default=RESULTS / "dated_monitor.md")
    options = parser.parse_args()
    folder, rows = data_folder(), []
    for dataset in DATASETS:
        if not dataset.ordered or (options.only and dataset.name not in options.only):
            continue
        frame, groups = read(dataset, folder)
        sizes = dict(frame[dataset.by].value_counts().iter_rows())
        groups = [group for group in groups if sizes[group] >= FEWEST_ITEMS]
        first = max(1, len(groups) // 3)
        for n in REFERENCE:
            labelled, new = groups[first : first + n], groups[first + n :][:MOST_CHUNKS]
            if len(labelled) == n and new:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows += rows_of(frame, dataset, (groups[:first], labelled, new))
        print(f"{dataset.name} by {dataset.by}", flush=True)
    facts = describe_machine()
    described = f"{facts['date']}, {facts['machine']}, Python {facts['python']}."
    parts = [
        "# Monitors on dated data", "", __doc__.split("\n\n")[1], "",
        f"Figures are {' / '.join(KINDS)}.", "", described, "",
    ]  # fmt: skip
    for set_aside, which in ((False, "of development"), (True, "set aside")):
        chosen = [row for row in rows if row["set_aside"] == set_aside]
        if chosen:
            parts.append(summary(chosen, f"Datasets {which}"))
    options.output.write_text("\n".join(parts))
    print(options.output.read_text())


if __name__ == "__main__":
    main()
