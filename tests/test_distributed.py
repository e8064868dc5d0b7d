"""Statistics on real clusters: Dask with two workers, and Spark where it is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
import time

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount import distributed
from headcount.errors import HeadcountError
from headcount.estimates.statistics.streams import ScoreReader

N_FILES = 6


def table(seed, n=3000):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n) + rng.choice([-1, 1], n)
    months = rng.choice(["May", "June"], n)
    return pl.DataFrame({"spam": 1 / (1 + np.exp(-z)), "month": months})


@pytest.fixture(scope="module")
def quantifier():
    rng = np.random.default_rng(0)
    y = np.repeat(["ham", "spam"], 300)
    scores = 1 / (1 + np.exp(-rng.normal(size=600) - np.repeat([-1, 1], 300)))
    return hc.SLD().fit(hc.Scored(scores), y)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for number in range(N_FILES):
        table(number).write_parquet(folder / f"part-{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def expected(quantifier, files):
    whole = pl.read_parquet(files / "*.parquet")
    return hc.Statistics(quantifier).update_stream(whole, by="month").to_bytes()


class DyingReader:
    """Kills the worker that reads the first part, once."""

    def __init__(self, model, marker):
        self.reader, self.marker = ScoreReader(model, by="month"), marker

    def read(self, batch):
        first = batch["spam"][0] == table(0)["spam"][0]
        if first and not os.path.exists(self.marker):
            with open(self.marker, "w") as file:
                file.write("died")
            os.kill(os.getpid(), signal.SIGKILL)
        return self.reader.read(batch)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as running:
        yield running


def test_files_on_dask(cluster, quantifier, files, expected):
    made = distributed.dask(
        str(files / "part-*.parquet"),
        quantifier,
        by="month",
        scheduler=cluster.scheduler_address,
    )
    assert made.to_bytes() == expected
    assert quantifier.estimate_statistics(made)["May"].n_items == made.sizes[1]


def test_a_worker_that_dies(cluster, quantifier, files, expected, tmp_path):
    marker = tmp_path / "died"
    made = distributed.dask(
        [files],
        quantifier,
        by="month",
        scheduler=cluster.scheduler_address,
        reader=DyingReader(quantifier, str(marker)),
    )
    assert marker.read_text() == "died"
    assert made.to_bytes() == expected


def test_partitions_of_a_dask_collection(cluster, quantifier, files, expected):
    from dask import delayed
    from distributed import Client

    class Collection:
        def to_delayed(self):
            return [delayed(pl.read_parquet)(path) for path in sorted(files.iterdir())]

    with Client(cluster, set_as_default=False) as client:
        made = distributed.dask(Collection(), quantifier, by="month", scheduler=client)
    assert made.to_bytes() == expected


def test_a_file_with_other_columns(cluster, quantifier, files, tmp_path):
    shutil.copytree(files, tmp_path / "parts")
    table(9).rename({"month": "day"}).write_parquet(tmp_path / "parts" / "part-3.parquet")
    with pytest.raises(HeadcountError, match=r"part-3.parquet: .*no column 'month'"):
        distributed.dask(
            tmp_path / "parts", quantifier, by="month", scheduler=cluster.scheduler_address
        )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (7, "parts is of type int"),
        ([], "pass files"),
        ("nowhere-*.parquet", "nowhere"),
    ],
)
def test_wrong_parts(quantifier, parts, message):
    with pytest.raises(HeadcountError, match=message):
        distributed.dask(parts, quantifier, scheduler="tcp://127.0.0.1:9")


def test_a_file_of_another_kind(quantifier, tmp_path):
    (tmp_path / "a.csv").write_text("spam\n0.5\n")
    with pytest.raises(HeadcountError, match="not a Parquet or Arrow file"):
        distributed.dask(tmp_path / "a.csv", quantifier, scheduler="tcp://127.0.0.1:9")


def test_no_scheduler(quantifier, files, monkeypatch):
    monkeypatch.setattr("headcount.distributed.PATIENCE", 0.2)
    with pytest.raises(HeadcountError, match="cannot be reached"):
        distributed.dask(files, quantifier, scheduler="tcp://127.0.0.1:9")


def test_spark_is_not_installed(quantifier, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(HeadcountError, match=r"install headcount\[spark\], and Java"):
        distributed.spark(None, quantifier)


@pytest.fixture(scope="module")
def session():
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)
    building = pyspark.SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        building = building.config(key, value)
    running = building.getOrCreate()
    yield running
    running.stop()
    patch.undo()
    time.sleep(0.1)


@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
def test_spark(session, quantifier, files, expected):
    frame = session.read.parquet(str(files))
    made = distributed.spark(frame.repartition(5), quantifier, by="month")
    assert made.to_bytes() == expected
    with pytest.raises(HeadcountError, match="by is 'day'"):
        distributed.spark(frame, quantifier, by="day")
    doubled = frame.withColumn("spam", frame["spam"] * 2)
    with pytest.raises(
        HeadcountError, match=r"^Spark: .*posteriors lie between 0 and 1"
    ) as said:
        distributed.spark(doubled, quantifier, by="month")
    assert "\n" not in str(said.value)
