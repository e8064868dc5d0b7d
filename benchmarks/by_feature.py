"""Groups by a feature: errors, coverage and marks of `analyse(..., by=column)` on real data.

A group by a feature, or by what depends on one, differs from the other groups in more than its
mix, which breaks the assumption of most methods. Labelled and new items are disjoint draws of
a table, `--repeats` of them. In the cases named "mix" the new items are drawn so that the
shares of the classes differ from training as well. Only development datasets are used. A group
of a column with few values counts if it has at least 50 new items. Columns with many values
show small groups, of which all count.

    python benchmarks/by_feature.py [--only adult] [--repeats 3]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

import headcount as hc
from environment import RESULTS, describe_machine
from real_datasets import DEVELOPMENT, data_folder

FEWEST_NEW = 50
# New items of columns with many values, so that groups are small.
MOST_NEW = 1000


@dataclass(frozen=True)
class Table:
    """A table: its labels, and columns that are left out."""

    target: str | pl.Expr
    columns: tuple[str, ...]
    drop: tuple[str, ...] = ()
    n_labelled: int = 2000
    n_new: int = 4000
    many: tuple[str, ...] = ()


TABLES = {
    "adult": Table(
        "Income",
        ("Education", "Occupation", "Marital_Status", "Relationship", "Sex", "Workclass"),
        ("Census_Weight", "split"),
        many=("Country", "Age"),
    ),
    "bike": Table(
        pl.col("cnt") > 100,
        ("season", "weathersit", "mnth", "workingday"),
        ("instant", "casual", "registered", "dteday", "cnt"),
        many=("windspeed", "hr"),
    ),
    "cars": Table("Acceptability", ("Safety", "Buying", "Doors"), n_labelled=700, n_new=1000),
    "contra": Table(
        pl.col("Contraceptive_method") == 1,
        ("Wife_education", "Husband_occupation", "Wife_working"),
        ("Contraceptive_method",),
        n_labelled=600,
        n_new=800,
        many=("Wife_age", "Children"),
    ),
    "drugs": Table(
        pl.col("mushrooms") != "CL0",
        ("gender", "education", "country"),
        ("id", "mushrooms"),
        n_labelled=800,
        n_new=1000,
        many=("ss", "ethnicity"),
    ),
    "elec2": Table("target", ("day",), ("date",), many=("period",)),
    "mush": Table(
        "result",
        ("odor", "habitat", "gill-color", "cap-color"),
        n_labelled=1000,
        many=("stalk-color-above-ring",),
    ),
    "nurse": Table("Class", ("Health", "Has_nurs", "Social", "Form")),
    "nycflights13": Table(
        "delayed",
        ("carrier", "origin", "month"),
        ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "time_hour", "flight"),
        many=("dest",),
    ),
    "vgame": Table(
        pl.col("Critic_Score") > 72,
        ("Genre", "Platform", "Rating"),
        ("Name", "Publisher", "Developer", "Critic_Score"),
        many=("Year_of_Release",),
    ),
    "wine": Table(pl.col("quality") > 5, ("color",), ("good", "quality"), many=("alcohol",)),
    "womens_clothing_reviews": Table(
        "Recommended IND",
        ("Department Name", "Division Name"),
        ("Rating", "Clothing ID"),
        many=("Class Name", "Age"),
    ),
}
assert set(TABLES) <= set(DEVELOPMENT)


def read(name: str) -> pl.DataFrame:
    """Table with its labels in the column "label"."""
    table, folder = TABLES[name], data_folder()
    path = folder / f"{name}.parquet"
    if path.exists():
        frame = pl.read_parquet(path)
    else:
        frame = pl.read_csv(folder / f"{name}.csv.gz", infer_schema_length=None)
    target = pl.col(table.target) if isinstance(table.target, str) else table.target
    frame = frame.with_columns(target.cast(pl.String).alias("label")).drop_nulls("label")
    if isinstance(table.target, str) and table.target != "label":
        frame = frame.drop(table.target)
    # Classes of less than 2% are dropped.
    counts = frame["label"].value_counts()
    common = counts.filter(pl.col("count") > 0.02 * len(frame))["label"]
    return frame.filter(pl.col("label").is_in(common.implode())).drop(table.drop)


def draw(frame: pl.DataFrame, table: Table, mix: str, seed: int) -> tuple[Any, Any]:
    """Labelled and new items; with another mix of the new ones if asked."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(frame))
    known, rest = frame[order[: table.n_labelled]], frame[order[table.n_labelled :]]
    if mix == "mix":
        classes, codes = np.unique(rest["label"].to_numpy(), return_inverse=True)
        tilt = np.exp(rng.normal(0, 0.7, len(classes)))
        weights = tilt[codes] * rng.exponential(size=len(rest)) ** -1.0
        return known, rest[np.argsort(-weights)[: min(table.n_new, len(rest) // 2)]]
    return known, rest[: table.n_new]


def cases(only: str | None, repeats: int) -> Iterator[tuple[str, str, str, int]]:
    for name, table in TABLES.items():
        for column in (*table.columns, *table.many) if only in (None, name) else ():
            for mix in ("same", "mix"):
                for repeat in range(repeats):
                    yield name, column, mix, repeat


def measure(name: str, column: str, mix: str, repeat: int, frame: pl.DataFrame) -> list[dict]:
    """One row per group."""
    seed = crc32(f"{name} {column} {mix} {repeat}".encode())
    table = TABLES[name]
    if column in table.many:
        table = replace(table, n_new=MOST_NEW)
    known, new = draw(frame, table, mix, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = hc.analyse(new, train=known, target="label", by=column)
    said = " ".join(analysis.notes)
    labelled = dict(known.group_by(pl.col(column).cast(pl.String)).len().iter_rows())
    rows = []
    for part in analysis.groups:
        if part.estimate.n_items < FEWEST_NEW and column not in table.many:
            continue
        error = np.abs(part.estimate.shares - part.truth)
        # To a tenth of a point, as shares are printed: some are exactly 0.
        inside = (part.low - 5e-4 <= part.truth) & (part.truth <= part.high + 5e-4)
        rows.append(
            {
                "table": name, "column": column, "mix": mix, "repeat": repeat,
                "group": str(part.name), "items": part.estimate.n_items,
                "labelled": labelled.get(str(part.name), 0),
                "method": part.estimate.method, "error": float(error.max()),
                "counting": float(np.abs(part.classify_and_count - part.truth).max()),
                "covered": float(inside.mean()), "width": float((part.high - part.low).max()),
                "many": column in table.many, "size": _size(part.estimate.n_items),
                "marked": part.is_broken, "p_value": part.p_value,
                "differs": "different scores" in said,
            }
        )  # fmt: skip
    return rows


def _size(n: int) -> str:
    ends = {1: "1", 4: "2 to 4", 12: "5 to 12", 49: "13 to 49"}
    return next((name for end, name in ends.items() if n <= end), "50 or more")


def summary(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Errors in points and coverage of the groups without a mark, and the marks."""
    fine = ~pl.col("marked")
    return (
        rows.group_by(by, maintain_order=True)
        .agg(
            pl.len().alias("groups"),
            (100 * pl.col("marked").mean()).round(0).alias("marked %"),
            (100 * pl.col("error").filter(fine).mean()).round(1).alias("error"),
            (100 * pl.col("error").filter(fine).max()).round(0).alias("largest"),
            (100 * pl.col("counting").filter(fine).mean()).round(1).alias("counting"),
            pl.col("covered").filter(fine).mean().round(3).alias("coverage"),
            (100 * (pl.col("covered").filter(fine) < 1).mean()).round(1).alias("missed %"),
            (100 * pl.col("width").filter(fine).mean()).round(0).alias("width"),
            (fine & (pl.col("error") > 0.1) & (pl.col("covered") < 1)).sum().alias("off by 10"),
        )
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--rows", help="file for the rows of all groups")
    given = parser.parse_args()
    frames: dict[str, pl.DataFrame] = {}
    rows: list[dict] = []
    for name, column, mix, repeat in cases(given.only, given.repeats):
        if name not in frames:
            frames[name] = read(name)
        rows += measure(name, column, mix, repeat, frames[name])
    table = pl.DataFrame(rows, infer_schema_length=None)
    if given.rows:
        table.write_parquet(given.rows)
    few, many = table.filter(~pl.col("many")), table.filter("many")
    parts = [
        summary(part.with_columns(pl.lit("all").alias("all")), by)
        for part in (few, many)
        for by in (["table", "column"], *([] if part is few else [["size"]]), ["mix"], ["all"])
        if len(part)
    ]
    text = "\n\n".join(_markdown(part) for part in parts)
    print(text)
    if given.only is None:
        facts = describe_machine()
        intro = __doc__.split("\n\n    python")[0]
        said = (
            f"Draws of each case: {given.repeats}; {facts['date']}. Errors and widths are in "
            "points, the largest over the classes, of groups without a mark. Coverage is that "
            'of 95% intervals, and "missed" the part of the groups that are not covered in all '
            'classes. "Off by 10" counts groups without a mark that are off by more '
            "than ten points and not covered."
        )
        (RESULTS / "by_feature.md").write_text(f"# {intro}\n\n{said}\n\n{text}\n")


def _markdown(frame: pl.DataFrame) -> str:
    lines = [" | ".join(frame.columns), " | ".join("---" for _ in frame.columns)]
    lines += [" | ".join("" if v is None else str(v) for v in row) for row in frame.iter_rows()]
    return "\n".join(f"| {line} |" for line in lines)


if __name__ == "__main__":
    main()
