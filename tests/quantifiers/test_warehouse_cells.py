"""Scores that a database has counted, with DuckDB as the database where it is installed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.statistics.warehouse import DIALECTS, cells_query

METHODS = [hc.SLD(), hc.SLD(calibration="bcts"), hc.PACC(), hc.KDEyML(), hc.EDy(), hc.CC()]


def drawn(rng, n, share):
    y = rng.random(n) < share
    z = rng.normal(size=n) + np.where(y, 1.0, -1.0)
    return 1 / (1 + np.exp(-2 * z)), y.astype(int)


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(1)
    scores, _ = drawn(rng, 20_000, 0.1)
    scores[:4] = [0.0, 1.0, 0.7, 1e-12]
    return pl.DataFrame({"spam": scores, "month": rng.choice(["May", "June"], 20_000)})


def counted(scored, by=("month",)):
    """Rows that the query returns."""
    p = scored["spam"].to_numpy().clip(1e-9, 1 - 1e-9)
    cells = np.clip(np.floor((np.log(p / (1 - p)) + 15) * 1024 / 30), 0, 1023).astype(int)
    return (
        scored.with_columns(cell=pl.Series(cells))
        .group_by(*by, "cell")
        .agg(items=pl.len(), total=pl.col("spam").sum())
    )


@pytest.fixture(scope="module")
def training():
    return drawn(np.random.default_rng(0), 600, 0.5)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_estimates_are_those_of_all_items(scored, training, method):
    q = method.fit(hc.Scored(training[0]), training[1])
    found = q.estimate_statistics(counted(scored), random_state=0)
    assert found.names == ("June", "May")
    for place, month in enumerate(found.names):
        own = hc.Scored(scored.filter(month=month)["spam"].to_numpy())
        difference = np.abs(found.raw[place] - q.predict(own)).max()
        assert difference < 1e-4
        assert difference <= found.raw_error[place].max() + 1e-9
        assert found[month].n_items == len(own)
        low, high = found[month].interval(0.95).low, found[month].interval(0.95).high
        expected = q.estimate(own, random_state=0).interval(0.95)
        assert_allclose(low, expected.low, atol=1e-3)
        assert_allclose(high, expected.high, atol=1e-3)


def test_one_group_and_names_in_capitals(scored, training):
    q = hc.PACC().fit(hc.Scored(training[0]), training[1])
    frame = counted(scored, by=())
    found = q.estimate_statistics(frame)
    assert found.names == (None,)
    shouted = frame.rename({name: name.upper() for name in frame.columns}).to_pandas()
    assert_array_equal(q.estimate_statistics(shouted).raw, found.raw)


def test_the_query_in_duckdb(scored, training):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    connection = duckdb.connect()
    connection.register("scored", scored)
    query = cells_query("duckdb", "scored", "spam", ["month"])
    frame = connection.sql(query).pl()
    keys = ["month", "cell"]
    ours = counted(scored).sort(keys)
    assert (
        frame.sort(keys).select("cell", "items").rows() == ours.select("cell", "items").rows()
    )
    assert_allclose(frame.sort(keys)["total"], ours["total"], rtol=1e-12)
    q = hc.SLD().fit(hc.Scored(training[0]), training[1])
    assert_allclose(
        q.estimate_statistics(frame).raw, q.estimate_statistics(ours).raw, atol=1e-9
    )
    first = cells_query("duckdb", "scored", "spam", of_first_class=True)
    mirrored = connection.sql(first).pl()
    total = mirrored["total"].sum() + scored["spam"].sum()
    assert total == pytest.approx(len(scored))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries(dialect):
    query = cells_query(dialect, "shop.scored", "p", ["month", "shop"])
    quote = "`" if dialect == "bigquery" else '"'
    assert f"group by {quote}month{quote}, {quote}shop{quote}, 3" in query
    assert "from shop.scored" in query


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop("total"), "no column 'total'"),
        (lambda frame: frame.with_columns(year=1), "pass by"),
        (lambda frame: frame.clear(), "no rows"),
        (lambda frame: frame.with_columns(cell=pl.lit(2000)), "cell 2000"),
        (lambda frame: frame.with_columns(items=pl.lit(0)), "items 0"),
        (lambda frame: frame.with_columns(total=pl.col("total") * 2), "which no scores give"),
        (lambda frame: pl.concat([frame, frame]), "twice"),
        (lambda frame: 7, "type int"),
    ],
)
def test_wrong_frames(scored, training, change, message):
    q = hc.PACC().fit(hc.Scored(training[0]), training[1])
    with pytest.raises(HeadcountError, match=message):
        q.estimate_statistics(change(counted(scored)))


def test_wrong_calls(training):
    with pytest.raises(HeadcountError, match="dialect"):
        cells_query("mysql", "scored", "p")
    with pytest.raises(HeadcountError, match="must not contain"):
        cells_query("duckdb", "scored", 'p"')
    three = hc.PACC().fit(hc.Scored(np.eye(3)[[0, 1, 2] * 5]), [0, 1, 2] * 5)
    with pytest.raises(HeadcountError, match="has 3"):
        three.estimate_statistics(pl.DataFrame({"cell": [1], "items": [1], "total": [0.1]}))
