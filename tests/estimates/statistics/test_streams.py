from __future__ import annotations

import threading

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context, get_config
from sklearn.linear_model import LogisticRegression
from tests.estimates.statistics.problems import digits, scored_problem

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.statistics import streams
from headcount.estimates.statistics.statistics import summarise_batches
from headcount.estimates.statistics.streams import ScoreReader


@pytest.fixture(scope="module")
def problem():
    training, y, new, groups = scored_problem(2, 1000, 0)
    q = hc.SLD().fit(training, y)
    posteriors = new.posteriors
    table = pl.DataFrame({"0": posteriors[:, 0], "1": posteriors[:, 1], "month": groups})
    return q, table, hc.Statistics(q).update(new, groups).to_bytes()


class OnlyStream:
    """Object with nothing but a stream of batches."""

    def __init__(self, table: pa.Table) -> None:
        self._reader = table.to_reader(max_chunksize=100)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "made",
    [
        lambda table: table,
        lambda table: table.lazy(),
        lambda table: table.iter_slices(170),
        lambda table: [table[:0], table[:300], table[300:]],
        lambda table: table.to_arrow(),
        lambda table: table.to_arrow().to_reader(max_chunksize=99),
        lambda table: table.to_arrow().to_batches(max_chunksize=250),
        lambda table: iter(table.to_arrow().to_batches()),
        lambda table: OnlyStream(table.to_arrow()),
        lambda table: table.to_pandas(),
    ],
)
def test_streams_of_any_kind(problem, made):
    q, table, expected = problem
    found = hc.Statistics(q).update_stream(made(table), by="month")
    assert found.to_bytes() == expected
    assert summarise_batches(q, made(table), by="month").to_bytes() == expected


@pytest.mark.parametrize("threads", ["1", "3"])
def test_large_frames_are_read_in_parts(problem, monkeypatch, threads):
    q, table, expected = problem
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", threads)
    monkeypatch.setattr(streams, "_BATCH_ROWS", 1 << 6)
    monkeypatch.setattr(streams, "_FEWEST_ROWS", 1 << 4)
    parts = [items for items, _ in streams.read_batches(q, table, "month", None)]
    assert {len(part) for part in parts} == {64, 1000 % 64}
    assert hc.Statistics(q).update_stream(table, by="month").to_bytes() == expected
    # Scores, of two columns, are read in smaller parts than features.
    monkeypatch.setattr(streams, "_SCORED_VALUES", 2 << 5)
    assert len(next(streams.read_batches(q, table, "month", None))[0]) == 32
    features = table.rename({"0": "a", "1": "b"})
    assert len(next(streams.read_batches(q, features, "month", None))[0]) == 64
    # The columns are looked at even if there are no rows.
    with pytest.raises(HeadcountError, match="no column 'day'"):
        hc.Statistics(q).update_stream(table[:0], by="day")


def test_other_columns_are_not_read(problem, tmp_path):
    q, table, expected = problem
    path = tmp_path / "wide.parquet"
    table.with_columns(pl.lit("x" * 50).alias("text")).write_parquet(path)
    found = hc.Statistics(q).update_stream(pl.scan_parquet(path), by="month")
    assert found.to_bytes() == expected
    reader = ScoreReader(q, ["0", "1"])
    assert reader.used(["month", "1", "text", "0"]) == ("0", "1")
    again = hc.Statistics(q).update_stream(pl.scan_parquet(path), by="month", reader=reader)
    assert again.to_bytes() == expected
    assert ScoreReader(q, verdicts="text").used(["month", "text"]) == ("text",)
    assert ScoreReader(q).used(["a", "b"]) == ["a", "b"]
    with pytest.raises(HeadcountError, match="no column 'p'"):
        hc.Statistics(q).update_stream(pl.scan_parquet(path), reader=ScoreReader(q, ["p"]))


class InOneThread(LogisticRegression):
    """Classifier that notes by whom it is called, and how scikit-learn is configured."""

    calls: list = []  # noqa: RUF012

    def predict_proba(self, X):
        self.calls.append((threading.get_ident(), get_config()["enable_metadata_routing"]))
        return super().predict_proba(X)


def test_classifiers_are_called_in_the_thread_of_the_caller(monkeypatch):
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "3")
    X, y = digits()
    items = pl.DataFrame(X[:400], schema=[f"x{i}" for i in range(64)])
    q = hc.PACC(InOneThread(max_iter=5000), random_state=0).fit(items[:200], y[:200] > 4)
    InOneThread.calls.clear()
    with config_context(enable_metadata_routing=True):
        found = hc.Statistics(q).update_stream(items[200:].iter_slices(50))
    assert found.n == 200
    assert set(InOneThread.calls) == {(threading.get_ident(), True)}
    InOneThread.calls.clear()


def test_one_column_decisions_and_features(problem):
    q, table, expected = problem
    one = hc.Statistics(q).update_stream(table.select("1", "month"), by="month")
    assert one.n == 1000
    renamed = table.rename({"0": "no", "1": "yes"})
    reader = ScoreReader(q, ["no", "yes"])
    found = hc.Statistics(q).update_stream(renamed, by="month", reader=reader)
    assert found.to_bytes() == expected
    verdicts = pl.DataFrame({"judge": ["a", "b"] * 20})
    acc = hc.ACC().fit(hc.Verdicts(["a", "b"] * 9), ["a", "b"] * 9)
    reader = ScoreReader(acc, verdicts="judge")
    assert hc.Statistics(acc).update_stream(verdicts, reader=reader).form == "verdicts"
    X, y = digits()
    items = pl.DataFrame(X[:400], schema=[f"x{i}" for i in range(64)])
    pacc, frame = hc.PACC(random_state=0).fit(items[:200], y[:200]), items[200:]
    by_rows = pl.Series("day", np.arange(200) % 3)
    found = hc.Statistics(pacc).update_stream(frame.with_columns(by_rows), by="day")
    assert found.groups == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.rename({"month": "week"}), "Batch 2 has other columns.*'month'"),
        (lambda part: part.with_columns(pl.col("1").cast(pl.Float32)), "'1' is Float32"),
        (lambda part: part.select("month", "0", "1"), "another order"),
        (
            lambda part: part.with_columns(pl.lit(None, pl.Float64).alias("1")),
            "no score in column '1'",
        ),
        (lambda part: part.with_columns(pl.col("1") + 2), "1"),
    ],
)
def test_a_bad_batch_leaves_the_statistics_unchanged(problem, change, message):
    q, table, _ = problem
    statistics = hc.Statistics(q).update_stream(table[:10], by="month")
    before = statistics.to_bytes()
    parts = [table[10:500], change(table[500:])]
    with pytest.raises(HeadcountError, match=message):
        statistics.update_stream(iter(parts), by="month")
    assert statistics.to_bytes() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.rename({"month": "week"}), "week"),
        (lambda part: part.with_columns(pl.col("1").cast(pl.Float32)), "Float32"),
        (lambda part: part.with_columns(pl.lit("text").alias("1")), "String"),
        (None, "PAR1"),
    ],
)
def test_a_file_unlike_the_others_leaves_the_statistics_unchanged(
    problem, tmp_path, change, message
):
    q, table, _ = problem
    for number in range(4):
        path = tmp_path / f"part-{number}.parquet"
        if number != 2:
            table.write_parquet(path)
        elif change is None:
            path.write_bytes(b"PAR1 and nothing that fits")
        else:
            change(table).write_parquet(path)
    statistics = hc.Statistics(q).update_stream(table[:10], by="month")
    before = statistics.to_bytes()
    lazy = pl.scan_parquet(tmp_path / "part-*.parquet")
    with pytest.raises(HeadcountError, match=f"cannot be read.*{message}") as said:
        statistics.update_stream(lazy, by="month")
    assert "\n" not in str(said.value)
    assert statistics.to_bytes() == before


@pytest.mark.parametrize("given", ["table.parquet", 3, [3], {"a": [1]}])
def test_what_is_no_stream_is_refused(problem, given):
    q, _, _ = problem
    with pytest.raises(HeadcountError, match="record batches"):
        hc.Statistics(q).update_stream(given)


def test_scores_are_read_from_the_column_of_either_class(problem):
    q, table, _ = problem
    first, second = (
        hc.Statistics(q).update_stream(table.select(name, "month"), by="month")
        for name in ("0", "1")
    )
    shares = [q.estimate_statistics(statistics).raw for statistics in (first, second)]
    np.testing.assert_allclose(*shares, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.2, None], r"The table has no score in column '1' \(row 2\)"),
        (["a", "b"], "Column '1' has values of type String, but it must hold posteriors"),
        ([0.2, 7.0], "The table has values from 0.2 to 7, but posteriors lie"),
    ],
)
def test_columns_without_posteriors_are_refused(problem, values, message):
    q, _, _ = problem
    with pytest.raises(HeadcountError, match=message):
        hc.Statistics(q).update_stream(pl.DataFrame({"1": values}))


def test_missing_columns_are_named(problem):
    q, table, expected = problem
    with pytest.raises(HeadcountError, match="no column 'day'; it has '0', '1', 'month'"):
        hc.Statistics(q).update_stream(table, by="day")
    with pytest.raises(HeadcountError, match="no column 'p'"):
        hc.Statistics(q).update_stream(table, reader=ScoreReader(q, ["p"]))
    with pytest.raises(HeadcountError, match="without their model"):
        hc.Statistics.from_bytes(expected).update_stream(table)
    assert hc.Statistics(q).update_stream([]).n == 0
