"""Totals of tables in which more than the mix changed: coverage, and misses without a warning.

The new rows of a table are drawn with another mix of the classes, and then broken in one of
five ways, by the column that tells most about the class:

- *moved*: a number grows by one standard deviation; of a text, the commonest value is renamed
- *units*: a number is multiplied by ten; of a text, every value is new
- *lost*: every row has the commonest value (of numbers, 0)
- *shuffled*: the values are permuted between rows
- *selected*: only rows from the upper half of the column; of a text, with its commonest values

*Unbroken* new rows show what the mix alone does. Only development datasets are used. A change
of the classes that leaves all columns as they were cannot be seen, and is not among the cases.

    python benchmarks/broken_tables.py [--repeats 2]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import polars as pl
from sklearn.feature_selection import mutual_info_classif

import headcount as hc
from by_feature import TABLES, draw, read
from environment import RESULTS, describe_machine
from tables import bullets, markdown_table

WAYS = ("unbroken", "moved", "units", "lost", "shuffled", "selected")


def telling_column(known: pl.DataFrame) -> str:
    """Column with the most information on the class."""
    columns = [name for name in known.columns if name != "label"]
    codes = {
        name: known[name].fill_null(0).to_numpy()
        if known[name].dtype.is_numeric()
        else known[name].cast(pl.String).fill_null("").rank("dense").to_numpy()
        for name in columns
    }
    discrete = [not known[name].dtype.is_numeric() for name in columns]
    information = mutual_info_classif(
        np.column_stack(list(codes.values())), known["label"], discrete_features=discrete,
        random_state=0,
    )  # fmt: skip
    return columns[int(np.argmax(information))]


def broken(known: pl.DataFrame, new: pl.DataFrame, name: str, way: str, seed: int):
    """New rows, broken in one way."""
    column, numeric = pl.col(name), known[name].dtype.is_numeric()
    if way == "unbroken":
        return new
    if way == "shuffled":
        return new.with_columns(column.shuffle(seed))
    if way == "selected":
        if numeric:
            return new.filter(column >= new[name].median())
        counts = new[name].value_counts(sort=True)
        covered = (counts["count"].cum_sum() - counts["count"]) < len(new) / 2
        return new.filter(column.is_in(counts.filter(covered)[name].implode()))
    if numeric:
        value = {"moved": column + known[name].std(), "units": column * 10, "lost": pl.lit(0.0)}
        return new.with_columns(value[way].cast(pl.Float64).alias(name))
    text, commonest = column.cast(pl.String), str(known[name].cast(pl.String).mode().sort()[0])
    value = {
        "moved": pl.when(text == commonest).then(pl.lit("renamed")).otherwise(text),
        "units": text + " new", "lost": pl.lit(commonest),
    }  # fmt: skip
    return new.with_columns(value[way].alias(name))


def measure(name: str, repeat: int, frame: pl.DataFrame) -> list[dict]:
    """One row for each way of breaking the new rows."""
    known, new = draw(frame, TABLES[name], "mix", seed=1000 + repeat)
    column, rows = telling_column(known), []
    for way in WAYS:
        items = broken(known, new, column, way, repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            total = hc.analyse(items, train=known, target="label").overall
        inside = (total.low - 5e-4 <= total.truth) & (total.truth <= total.high + 5e-4)
        rows.append(
            {
                "table": name, "way": way, "repeat": repeat, "column": column,
                "error": float(np.abs(total.estimate.shares - total.truth).max()),
                "counting": float(np.abs(total.classify_and_count - total.truth).max()),
                "width": float((total.high - total.low).max()),
                "wrong": not inside.all(), "marked": bool(total.is_broken),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    start, rows = time.process_time(), []
    for name in TABLES:
        frame = read(name)
        for repeat in range(given.repeats):
            rows += measure(name, repeat, frame)
        print(name, f"{time.process_time() - start:.0f} s", flush=True)
    cases = pl.DataFrame(rows)
    parts = [(way, cases.filter(way=way)) for way in WAYS]
    parts.append(("all broken", cases.filter(pl.col("way") != "unbroken")))
    parts += [(name, cases.filter(pl.col("way") != "unbroken", table=name)) for name in TABLES]
    table = [
        [
            name, str(len(part)), f"{100 * part['error'].mean():.1f}",
            f"{100 * part['counting'].mean():.1f}", f"{100 * part['width'].mean():.0f}",
            f"{part['marked'].mean():.0%}", f"{part['wrong'].mean():.0%}",
            f"{(part['wrong'] & ~part['marked']).mean():.1%}",
        ]
        for name, part in parts
    ]  # fmt: skip
    text = [
        f"# {(__doc__ or '').split('    python')[0].strip()}\n", bullets(describe_machine()),
        f"\n{given.repeats} draws of each of {len(TABLES)} tables; CPU time "
        f"{time.process_time() - start:,.0f} s. Errors and widths are in points, the largest "
        "over the classes. A total is wrong if the 95% interval of a class does not contain "
        "the truth.\n",
        markdown_table(
            ["new rows", "cases", "error", "counting", "width", "marked", "wrong",
             "wrong and unmarked"], table,
        ),
    ]  # fmt: skip
    (RESULTS / "broken_tables.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
