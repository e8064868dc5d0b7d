from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.tables.model_files import load_model


@pytest.fixture
def here(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    scores = 1 / (1 + np.exp(-rng.normal(size=200) - np.where(y, 1, -1)))
    table = pl.DataFrame({"spam": scores, "label": np.where(y, "spam", "ham")})
    table.write_csv("scored.csv")
    table.drop("label").write_csv("new.csv")
    learn = ("--scores", "scored.csv", "--target", "label", "--method", "SLD")
    assert call("estimate", "new.csv", *learn, "--save", "m.skops")[0] == 0
    return tmp_path


def test_the_query_of_a_model(here, call):
    code, out, _ = call(
        "statistics", "sql", "--model", "m.skops", "--dialect", "duckdb", "--by", "month"
    )
    assert code == 0
    assert out.startswith('select "month",\n')
    assert 'cast("spam" as double)' in out


def test_the_printed_query_in_duckdb(here, call):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    rng = np.random.default_rng(1)
    logits = rng.normal(size=5000) + rng.choice([-1, 1], 5000)
    months = rng.choice(["May", "June"], 5000)
    table = pl.DataFrame({"spam": 1 / (1 + np.exp(-logits)), "month": months})
    table.write_parquet("items.parquet")
    _, query, _ = call(
        "statistics", "sql", "--model", "m.skops", "--dialect", "duckdb", "--by", "month",
        "--table", "'items.parquet'",
    )  # fmt: skip
    model = load_model(here / "m.skops")
    found = model.quantifier.estimate_statistics(duckdb.sql(query).pl(), random_state=0)
    statistics = hc.Statistics(model.quantifier).update_stream(table, by="month")
    expected = model.quantifier.estimate_statistics(statistics, random_state=0)
    assert found.names == expected.names == ("June", "May")
    np.testing.assert_allclose(found.raw, expected.raw, atol=1e-6)
    for name in found:
        np.testing.assert_allclose(found[name].shares, expected[name].shares, atol=1e-5)


def test_wrong_calls(here, call, refused):
    assert "duckdb" in refused("statistics", "sql", "--model", "m.skops", "--dialect", "mysql")
    table = pl.DataFrame({"x": [i % 7 for i in range(40)], "label": ["a", "b"] * 20})
    table.write_csv("train.csv")
    table.drop("label").write_csv("items.csv")
    learn = ("--train", "train.csv", "--target", "label", "--method", "SLD")
    assert call("estimate", "items.csv", *learn, "--save", "items.skops")[0] == 0
    said = refused("statistics", "sql", "--model", "items.skops", "--dialect", "duckdb")
    assert "learnt from the items themselves" in said
