"""Real dated data: accuracy of a classifier predicted without labels, by labelled groups.

A classifier is trained on the first third of the groups of each dataset. Labelled groups
follow, 4, 8 or 14 of them, then new ones, whose accuracy is predicted: by LEAP, by the readings
that held in the labelled groups, by CBPE, and by the mean of the past. Each is compared with
the accuracy on the labels of the new groups. The datasets are those of dated.py.

    HEADCOUNT_DATA=folder python benchmarks/dated_accuracy.py [--only compas] [--nannyml python]

`--nannyml` names the Python of an environment with NannyML, whose CBPE predicts the same
groups; for two classes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import headcount as hc
from dated import DATASETS, MOST_NEW, Dated, read
from environment import RESULTS, describe_machine
from headcount.accuracy.history import usual_accuracy
from headcount.estimates.assumption import BROKEN_LEVEL, p_value_of
from headcount.samples import Samples
from headcount.tables.models import make_classifier
from headcount.tables.preparation import prepare
from real_datasets import data_folder

LABELLED = (4, 8, 14)
READINGS = ("past mean", "last share", "mean posteriors", "prior shift")
NANNYML = """
import json, sys
import nannyml, numpy, pandas
reference, new = (pandas.read_parquet(path) for path in sys.argv[1:3])
sizes = json.loads(sys.argv[3])
values = []
for first, stop in zip(numpy.cumsum([0, *sizes]), numpy.cumsum(sizes)):
    cbpe = nannyml.CBPE(y_pred_proba="score", y_pred="predicted", y_true="label",
        problem_type="classification_binary", metrics=["accuracy"], chunk_size=len(reference))
    cbpe.fit(reference)
    part = new.iloc[first:stop]
    cbpe.chunker = nannyml.chunk.SizeBasedChunker(chunk_size=len(part))
    table = cbpe.estimate(part).to_df(multilevel=False)
    row = table[table["chunk_period"] == "analysis"].iloc[0]
    values.append([float(row["accuracy_value"]),
        float(row["accuracy_lower_confidence_boundary"]),
        float(row["accuracy_upper_confidence_boundary"])])
print(json.dumps(values))
"""


def cases(
    dataset: Dated, groups: list[Any]
) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Groups for training, labelled groups, and new ones."""
    first = max(1, len(groups) // 3)
    for n in LABELLED:
        labelled, new = groups[first : first + n], groups[first + n :][:MOST_NEW]
        if len(labelled) == n and new:
            yield groups[:first], labelled, new


@dataclass(frozen=True)
class ScoredItems:
    """Items with their posteriors, by a classifier that was trained on earlier groups."""

    items: hc.Scored
    labels: Any
    groups: Any
    classes: Any


def scored_items(
    frame: pl.DataFrame, dataset: Dated, parts: Any
) -> tuple[ScoredItems, ScoredItems] | None:
    """Labelled and new items of a case; None if its training groups have a single class."""
    train, labelled, new = (frame.filter(pl.col(dataset.by).is_in(part)) for part in parts)
    classes = train[dataset.target].value_counts().filter(pl.col("count") > 4)[dataset.target]
    if len(classes) < 2:
        return None
    train, labelled, new = (
        part.filter(pl.col(dataset.target).is_in(classes.implode()))
        for part in (train, labelled, new)
    )
    features = [name for name in frame.columns if name not in (dataset.target, dataset.by)]
    preparation = prepare(train.select(features), leave_out={}, name="train")
    model = make_classifier(preparation, "logistic", 0)
    model.fit(preparation.conform(train.select(features)), train[dataset.target].to_numpy())
    first, second = (
        ScoredItems(
            hc.Scored(
                model.predict_proba(preparation.conform(part.select(features))), model.classes_
            ),
            part[dataset.target].to_numpy(),
            part[dataset.by].to_numpy(),
            model.classes_,
        )
        for part in (labelled, new)
    )
    return first, second


def rows_of(frame: pl.DataFrame, dataset: Dated, parts: Any, nannyml: str | None) -> Any:
    """Errors and coverage on each new group of one case."""
    both = scored_items(frame, dataset, parts)
    if both is None:
        return
    labelled, new = both
    scored, classes = {"labelled": labelled.items, "new": new.items}, new.classes
    y, truth = labelled.labels, new.labels
    place = {group: number for number, group in enumerate(parts[1])}
    months = np.array([place[group] for group in labelled.groups.tolist()])
    names = [group for group in parts[2] if group in set(new.groups.tolist())]
    samples = Samples.from_arrays(
        [np.flatnonzero(new.groups == group) for group in names], n_pool=len(truth)
    )
    right = classes[scored["new"].posteriors.argmax(axis=1)] == truth
    steps = list(range(len(parts[1]), len(parts[1]) + len(names)))
    leap = hc.accuracy.LEAP().fit(scored["labelled"], y, groups=months, ordered=dataset.ordered)
    found = leap.estimate_many(scored["new"], samples, random_state=0, groups=steps)
    answers = [estimate.under_shift for estimate in found]
    outputs = leap.fitted_.source.items(scored["new"])
    metric = leap.fitted_.checked("accuracy")
    alone = usual_accuracy(leap.fitted_, metric, answers, outputs, samples)
    cbpe = hc.accuracy.CBPE().fit(scored["labelled"], y).predict_many(scored["new"], samples)
    theirs: list[Any] = [None] * len(names)
    if nannyml is not None and len(classes) == 2:
        theirs = by_nannyml(nannyml, classes, scored, y, samples)
    for rows, estimate, usual, value, other in zip(
        samples, found, alone, cbpe, theirs, strict=True
    ):
        true = right[rows].mean()
        yield {
            "name": f"{dataset.name} by {dataset.by}",
            "set_aside": dataset.set_aside,
            "labelled": len(parts[1]),
            "error": abs(estimate.value - true),
            "inside": _inside(estimate.interval(), true),
            "width": float(np.ptp(estimate.interval())),
            "LEAP inside": _inside(estimate.under_shift.interval(), true),
            "LEAP width": float(np.ptp(estimate.under_shift.interval())),
            "alone error": abs(usual.value - true),
            "alone inside": _inside(usual.interval(), true),
            "alone width": float(np.ptp(usual.interval())),
            "alone missed": not _inside(usual.interval(), true) and not _is_marked(usual),
            "CBPE": abs(value - true),
            "NannyML": None if other is None else abs(other[0] - true),
            "NannyML inside": None if other is None else _inside(other[1:], true),
        } | {name: abs(value - true) for name, value in estimate.readings.items()}


def by_nannyml(
    python: str, classes: Any, scored: dict[str, hc.Scored], y: Any, samples: Samples
) -> list[list[float]]:
    """Accuracy of each sample by NannyML's CBPE, with its interval."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("labelled", "new"):
            posteriors = scored[name].posteriors
            rows = np.concatenate(list(samples)) if name == "new" else slice(None)
            table = {"score": posteriors[rows, 1], "predicted": posteriors[rows].argmax(axis=1)}
            if name == "labelled":
                table["label"] = (y == classes[1]).astype(int)
            pl.DataFrame(table).write_parquet(f"{folder}/{name}.parquet")
        sizes = json.dumps(samples.sizes.tolist())
        done = subprocess.run(
            [python, "-W", "ignore", "-c", NANNYML, f"{folder}/labelled.parquet",
             f"{folder}/new.parquet", sizes],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    return list(json.loads(done.stdout.splitlines()[-1]))


def _is_marked(estimate: Any) -> bool:
    p_value = p_value_of(estimate)
    return p_value is not None and p_value < BROKEN_LEVEL


def _inside(ends: Any, true: float) -> float:
    return float(ends[0] - 1e-9 <= true <= ends[1] + 1e-9)


def summary(rows: list[dict[str, Any]], title: str) -> str:
    """Table of datasets, and figures over all of them."""
    lines = [f"## {title}", ""]
    lines += [
        "| dataset | best simple | error | LEAP | CBPE | past mean | coverage | width "
        "| of LEAP | without groups |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    ratios: dict[str, list[float]] = {}
    for name in sorted({row["name"] for row in rows}):
        chosen = [row for row in rows if row["name"] == name]
        means = {
            key: float(np.mean([row[key] for row in chosen]))
            for key in (
                "error",
                "inside",
                "width",
                "LEAP inside",
                "alone inside",
                "alone error",
                "CBPE",
                *READINGS,
            )
            if all(key in row for row in chosen)
        }
        simple = [reading for reading in (*READINGS, "CBPE") if reading in means]
        best = min(simple, key=means.__getitem__)
        least = max(means[best], 1e-3)
        for key in ("error", "alone error", "CBPE", *READINGS):
            if key not in means:
                continue
            ratios.setdefault(key, []).append(max(means[key], 1e-3) / least)
        lines.append(
            f"| {name} | {best} {means[best]:.4f} | {means['error']:.4f} | "
            f"{means['prior shift']:.4f} | {means['CBPE']:.4f} | {means['past mean']:.4f} | "
            f"{means['inside']:.0%} | {means['width']:.3f} | {means['LEAP inside']:.0%} | "
            f"{means['alone inside']:.0%} |"
        )

    def geometric(key: str) -> float:
        return float(np.exp(np.mean(np.log(ratios[key]))))

    def mean(key: str) -> float:
        return float(np.mean([row[key] for row in rows]))

    lines += [
        "",
        "Error relative to the best of the simple estimators in hindsight, geometric mean: "
        f"{geometric('error'):.2f}; LEAP {geometric('prior shift'):.2f}, CBPE "
        f"{geometric('CBPE'):.2f}, the confidence {geometric('mean posteriors'):.2f}, the past "
        f"mean {geometric('past mean'):.2f}. Coverage of 95% intervals {mean('inside'):.1%} "
        f"with a mean width of {mean('width'):.3f}; those of LEAP alone "
        f"{mean('LEAP inside'):.1%} and {mean('LEAP width'):.3f}. Without labelled groups "
        f"{mean('alone inside'):.1%} and {mean('alone width'):.3f}, error relative to the best "
        f"{geometric('alone error'):.2f}; groups outside and not marked "
        f"{mean('alone missed'):.1%}.",
        "",
    ]
    theirs = [row for row in rows if row["NannyML"] is not None]
    if theirs:
        ours, peer = (
            float(np.mean([row[key] for row in theirs])) for key in ("error", "NannyML")
        )
        inside, of_peer = (
            float(np.mean([row[key] for row in theirs])) for key in ("inside", "NannyML inside")
        )
        lines += [
            f"On the {len(theirs)} groups of two classes: mean error {ours:.4f}, NannyML's "
            f"CBPE {peer:.4f}; coverage {inside:.1%} and {of_peer:.1%}.",
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--nannyml", default=None)
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS / "dated_accuracy.md")
    options = parser.parse_args()
    folder, rows, start = data_folder(), [], time.perf_counter()
    for dataset in DATASETS:
        if options.only is not None and dataset.name not in options.only:
            continue
        if options.development and dataset.set_aside:
            continue
        frame, groups = read(dataset, folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for parts in cases(dataset, groups):
                rows += rows_of(frame, dataset, parts, options.nannyml)
        seconds = time.perf_counter() - start
        print(f"{dataset.name} by {dataset.by}: {seconds:.0f} s", flush=True)
    facts = describe_machine()
    described = f"{facts['date']}, {facts['machine']}, Python {facts['python']}."
    parts = ["# Accuracy on dated data", "", __doc__.split("\n\n")[1], "", described, ""]
    for set_aside, which in ((False, "of development"), (True, "set aside")):
        chosen = [row for row in rows if row["set_aside"] == set_aside]
        if chosen:
            parts.append(summary(chosen, f"Datasets {which}"))
    options.output.write_text("\n".join(parts))
    print(options.output.read_text())


if __name__ == "__main__":
    main()
