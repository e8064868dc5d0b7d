from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.cli.execute import execute
from headcount.errors import HeadcountError
from headcount.tables import from_tables
from headcount.tables.from_tables import analyse_files, merge_files, summarise


def table(n: int, share: float, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    yes = rng.random(n) < share
    x = rng.normal(2.0 * yes)
    return pl.DataFrame(
        {
            "yes": 1 / (1 + np.exp(1 - x)),
            "x": x,
            "kind": rng.choice(["a", "b"], n),
            "day": pl.Series(np.datetime64("2024-01-01") + rng.integers(0, 60, n)),
            "label": np.where(yes, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tables")
    table(400, 0.4, 0).drop("yes").write_csv(made / "train.csv")
    table(400, 0.4, 1).select("yes", "label").write_csv(made / "scores.csv")
    for i in range(3):
        new = table(300, 0.2 + 0.2 * i, i + 2).drop("label")
        new.with_columns(day=pl.when(pl.int_range(300) > 2).then("day")).write_parquet(
            made / f"part-{i}.parquet"
        )
    for source, kind in (("train", "items"), ("scores", "posteriors")):
        arguments = {source: made / f"{source}.csv", "target": "label", "method": "SLD"}
        analysis = hc.analyse(
            made / "part-0.parquet", by="month", date_column="day", **arguments
        )
        analysis.save(made / f"{kind}.skops")
    return made


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(from_tables, "batch_rows", lambda n_columns: 100)


@pytest.mark.parametrize("kind", ["items", "posteriors"])
def test_batches_give_the_analysis_of_the_table(folder, monkeypatch, kind):
    given = {"model": folder / f"{kind}.skops", "by": "month", "date_column": "day"}
    expected = hc.analyse(str(folder / "part-*.parquet"), **given)
    monkeypatch.setattr(from_tables, "batch_rows", lambda n_columns: 100)
    found = hc.analyse(str(folder / "part-*.parquet"), **given)
    assert "read in batches" in found.data_facts["New table"]
    assert [part.name for part in found.groups] == [part.name for part in expected.groups]
    assert found.ordered == expected.ordered
    assert found.notes == expected.notes
    for own, other in zip(
        (found.overall, *found.groups), (expected.overall, *expected.groups), strict=True
    ):
        # Statistics are not exact, and shares are those of whole items.
        near = max(2e-3, 1.01 / own.estimate.n_items)
        np.testing.assert_allclose(own.estimate.shares, other.estimate.shares, atol=near)
        np.testing.assert_allclose(own.classify_and_count, other.classify_and_count)
        assert own.estimate.n_items == other.estimate.n_items
        assert (own.p_value is None) == (other.p_value is None)
    assert len(found.histograms) == len(expected.histograms)
    for own, other in zip(found.histograms, expected.histograms, strict=True):
        np.testing.assert_allclose(own.sample, other.sample, atol=1e-9)
    page = folder / "page.html"
    found.report(page)
    assert "2024-01" in page.read_text(encoding="utf-8")


def test_texts_of_groups_are_read_as_in_memory(folder, monkeypatch):
    """Spaces around a name do not matter, and an empty name is a missing one."""
    kinds = pl.Series("kind", [" a", "a ", "b", "", "  ", None, "\tc"] * 40)
    new = table(280, 0.3, 8).drop("label").with_columns(kinds)
    given = {"model": folder / "posteriors.skops", "by": "kind"}
    expected = hc.analyse(new, **given)
    monkeypatch.setattr(from_tables, "batch_rows", lambda n_columns: 60)
    found = hc.analyse(new, **given)
    sizes = [{each.name: each.estimate.n_items for each in a.groups} for a in (found, expected)]
    assert sizes[0] == sizes[1] == {"a": 80, "b": 40, "c": 40, "(missing)": 120}
    assert any("120 of 280 rows have no kind" in note for note in found.notes)
    assert found.notes == expected.notes


def test_labels_and_weights_keep_the_table_in_memory(folder, small_batches):
    new = table(300, 0.5, 9)
    found = hc.analyse(new, model=folder / "items.skops")
    assert found.overall.truth is not None
    weighted = new.drop("label").with_columns(w=pl.lit(1.0))
    found = hc.analyse(weighted, model=folder / "items.skops", weight="w")
    assert "read in batches" not in found.data_facts["New table"]


def test_parts_merge_to_the_statistics_of_the_whole(folder, tmp_path, capsys):
    model = str(folder / "items.skops")
    by = ["--by", "month", "--date-column", "day"]
    for i in range(3):
        part = str(folder / f"part-{i}.parquet")
        output = str(tmp_path / f"{i}.hcs")
        assert (
            execute(["statistics", "make", part, "--model", model, *by, "--output", output])
            == 0
        )
    assert "300 items in 3 groups" in capsys.readouterr().out
    files = [str(tmp_path / f"{i}.hcs") for i in (2, 0, 1)]
    together = str(tmp_path / "all.hcs")
    assert execute(["statistics", "merge", *files, "--output", together]) == 0
    whole = summarise(
        str(folder / "part-*.parquet"), model=model, by="month", date_column="day"
    )
    assert (tmp_path / "all.hcs").read_bytes() == whole.to_bytes()
    assert merge_files([tmp_path / "?.hcs"]).to_bytes() == whole.to_bytes()
    with pytest.warns(UserWarning, match="0.hcs: named more than once, and read once"):
        merged = merge_files([tmp_path / "?.hcs", tmp_path / "0.hcs"])
    assert merged.to_bytes() == whole.to_bytes()
    capsys.readouterr()
    report = str(tmp_path / "page.html")
    assert execute(["estimate", together, "--model", model, "--report", report]) == 0
    printed = capsys.readouterr().out
    assert "Of 900 items" in printed
    assert "(missing)" in printed
    analysis = analyse_files([together], model=model)
    assert analysis.overall.estimate.n_items == 900


def test_errors_are_one_sentence(folder, tmp_path, capsys):
    model = str(folder / "items.skops")
    statistics = tmp_path / "a.hcs"
    summarise(folder / "part-0.parquet", model=model).save(statistics)
    other = tmp_path / "b.hcs"
    summarise(folder / "part-0.parquet", model=folder / "posteriors.skops").save(other)
    short = tmp_path / "short.hcs"
    short.write_bytes(statistics.read_bytes()[:50])
    output = ["--output", str(tmp_path / "out.hcs")]
    calls = [
        (["statistics", "merge", str(statistics), str(other), *output], "one form for all"),
        (["statistics", "merge", str(statistics), str(short), *output], "damaged"),
        (["statistics", "merge", str(tmp_path / "none.hcs"), *output], "no file"),
        (["estimate", str(other), "--model", model], "made with different models"),
        (["estimate", str(statistics)], "--model is missing"),
        (["estimate", str(statistics), "--model", model, "--by", "day"], "leave them out"),
        (["estimate", str(statistics), "--model", str(short)], "not a model"),
        (
            [
                "statistics",
                "make",
                str(folder / "part-0.parquet"),
                "--model",
                model,
                "--output",
                "a.csv",
            ],
            ".hcs",
        ),
        (
            ["statistics", "make", str(folder / "scores.csv"), "--model", model, *output],
            "lacks",
        ),
    ]
    for arguments, message in calls:
        assert execute(arguments) == 2, arguments
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
    assert not (tmp_path / "out.hcs").exists()


def test_a_file_with_other_columns_among_many(folder, tmp_path, small_batches):
    for i in range(2):
        pl.read_parquet(folder / f"part-{i}.parquet").write_parquet(tmp_path / f"{i}.parquet")
    pl.read_parquet(folder / "part-2.parquet").drop("x").write_parquet(tmp_path / "2.parquet")
    with pytest.raises(HeadcountError, match=r"2\.parquet' lacks the column 'x'"):
        hc.analyse(str(tmp_path / "*.parquet"), model=folder / "items.skops")
    wrong = pl.read_parquet(folder / "part-2.parquet").with_columns(x=pl.lit("text"))
    wrong.write_parquet(tmp_path / "2.parquet")
    found = hc.analyse(str(tmp_path / "*.parquet"), model=folder / "items.skops")
    assert any("x" in note and "text" in note for note in found.notes)
