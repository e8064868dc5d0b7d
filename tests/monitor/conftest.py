"""Streams of scored rows."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import headcount as hc


class Stream:
    """Scored rows of days, with ids."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.n = 0

    def rows(self, n, share):
        fraud = self.rng.random(n) < share
        first, self.n = self.n, self.n + n
        return pl.DataFrame(
            {
                "id": np.arange(first, first + n),
                "fraud": self.rng.beta(1 + 3 * fraud, 1 + 3 * ~fraud),
                "label": np.where(fraud, "fraud", "ok"),
            }
        )

    def day(self, number, share, n=200):
        day = date(2015, 1, 1) + timedelta(days=number)
        return self.rows(n, share).with_columns(day=pl.lit(str(day)))

    def days(self, shares, n=200):
        return pl.concat([self.day(i, share, n) for i, share in enumerate(shares)])


@pytest.fixture
def stream():
    return Stream()


@pytest.fixture
def watch(tmp_path, stream):
    reference = stream.rows(800, 0.3).drop("id")
    return hc.Monitor.create(
        tmp_path / "watch", reference, target="label", by="day", key="id",
        compare_reference=False,
    )  # fmt: skip
