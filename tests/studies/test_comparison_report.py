from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata, spearmanr

from headcount.errors import HeadcountError
from headcount_studies.comparison import figures
from headcount_studies.comparison.report import (
    CLAIMS,
    TUNING,
    Claim,
    check_claim,
    mean_errors,
    sections,
    shift_groups,
)
from headcount_studies.engine.spec import MethodSpec, read_spec
from headcount_studies.tables import agreement, plain_name, read_published
from tests.studies.fabricated import DATASETS, LEVELS, binary_spec, make_results


@pytest.fixture(scope="module")
def spec():
    return replace(binary_spec(), metrics=("tae",))


@pytest.fixture(scope="module")
def results(spec):
    return make_results(spec)


@pytest.fixture(scope="module")
def published(tmp_path_factory, spec, results):
    """Ours, but CC twice as large; the largest dataset is not in it, a mean is."""
    folder = tmp_path_factory.mktemp("published")
    means = results.group_by("dataset", "method").agg(pl.col("tae").mean()).sort("dataset")
    means = means.filter(pl.col("dataset") != "adult").with_columns(
        pl.col("tae") * pl.when(pl.col("method") == "CC").then(2.0).otherwise(1.0)
    )
    wide = means.pivot("method", index="dataset", values="tae")
    summary = wide.select(pl.lit("Mean").alias("dataset"), pl.all().exclude("dataset") * 0)
    pl.concat([wide, summary]).write_csv(folder / "comparison_binary_ae.csv")
    return folder


@pytest.fixture(scope="module")
def made(spec, results, published):
    return {section.title: section for section in sections(spec, results, published)}


def test_the_sections_are_those_of_the_paper(made):
    assert list(made) == [
        "Mean absolute error",
        "Ranks by absolute error",
        "Distribution of the absolute error",
        "Absolute error by shift",
        "Ranks by absolute error, minor shift (below 0.4)",
        "Ranks by absolute error, medium shift (0.4 to 0.8)",
        "Ranks by absolute error, major shift (0.8 and more)",
        "Absolute error with little training data",
        "Distribution of the absolute error with little training data",
        "Absolute error compared with the paper",
        "Do the conclusions hold? By absolute error",
        "Datasets",
        "Distributions",
    ]


def test_without_published_figures_conclusions_are_checked_all_the_same(spec, results):
    titles = [section.title for section in sections(spec, results, None)]
    assert "Absolute error compared with the paper" not in titles
    assert "Do the conclusions hold? By absolute error" in titles


def test_means_are_those_of_numpy_and_the_best_of_a_row_is_marked(made, spec, results):
    section = made["Mean absolute error"]
    table, names = section.table, [method.name for method in spec.methods]
    assert table.columns == ["dataset", *names]
    assert table["dataset"].to_list() == [*DATASETS, "mean", "mean rank"]
    expected = np.array(
        [
            [
                np.nanmean(results.filter(dataset=dataset, method=name)["tae"].to_numpy())
                for name in names
            ]
            for dataset in DATASETS
        ]
    )
    got = table.drop("dataset").to_numpy()
    np.testing.assert_allclose(got[:5], expected, rtol=1e-12)
    np.testing.assert_allclose(got[5], expected.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(got[6], rankdata(expected, axis=1).mean(axis=0), rtol=1e-12)
    best = {(i, names[int(j)]) for i, j in enumerate(got.argmin(axis=1))}
    assert best <= {place for place, mark in section.marks.items() if mark == "best"}


def test_parts_of_datasets_are_marked(spec):
    few = replace(spec, datasets=("wine", "news"))
    section = sections(few, make_results(few), None)[0]
    assert section.marks[1, "dataset"] == "*"
    assert (0, "dataset") not in section.marks
    assert "Part of the data" in section.text


def test_failed_runs_do_not_count_and_methods_without_results_are_left_out(spec, results):
    lost = results.with_columns(
        pl.when(pl.col("method") == "ED").then(None).otherwise(pl.col("tae")).alias("tae")
    )
    means = mean_errors(spec, lost, "tae")
    assert "ED" not in means.methods
    assert len(means.ranks) == 23
    made = {section.title: section for section in sections(spec, lost, None)}
    assert "ED" not in made["Mean absolute error"].table.columns


def test_datasets_that_not_all_methods_have_are_left_out_of_the_ranks(spec, results):
    part = results.filter(~((pl.col("method") == "ED") & (pl.col("dataset") == "musk")))
    section = sections(spec, part, None)
    assert "over 4 datasets (1 without results of all methods are left out)" in section[1].text
    row = section[0].table.filter(dataset="musk")
    assert row["ED"].item() is None


def test_a_single_dataset_has_no_ranks_but_a_report(spec, results):
    one = replace(spec, datasets=("wine",))
    titles = [section.title for section in sections(one, results.filter(dataset="wine"), None)]
    assert "Ranks by absolute error" not in titles
    assert "Do the conclusions hold? By absolute error" not in titles
    assert "Mean absolute error" in titles


def test_shifts_on_the_limit_belong_above_it():
    # What the sums of differences come to in floating point.
    below, under = abs(0.7 - 0.5) + abs(0.3 - 0.5), abs(0.3 - 0.7) + abs(0.7 - 0.3)
    assert (below < 0.4, under < 0.8) == (True, True)
    shifts = [below, 0.4, 0.3999, under, 2.0]
    groups = shift_groups(pl.DataFrame({"shift": shifts}), "binary")
    assert [len(part) for part in groups.values()] == [1, 2, 2]
    assert list(groups)[1] == "medium shift (0.4 to 0.8)"
    assert len(shift_groups(pl.DataFrame({"shift": [0.49, 0.5]}), "multiclass")) == 2


def test_breakdowns_are_of_the_runs_they_name(made, results):
    table = made["Absolute error by shift"].table
    major = results.filter(pl.col("shift") >= 0.8 - 1e-9, method="MS")
    expected = major.group_by("dataset").agg(pl.col("tae").mean())["tae"].mean()
    assert table.filter(method="MS")["major shift (0.8 and more)"].item() == pytest.approx(
        expected
    )
    little = made["Absolute error with little training data"].table
    tenth = results.filter(split=0.1, method="MS")
    expected = tenth.group_by("dataset").agg(pl.col("tae").mean())["tae"].mean()
    assert little.filter(method="MS")["10% for training"].item() == pytest.approx(expected)
    assert (little["10% for training"] > little["all"]).all()


def test_ranks_by_shift_are_of_the_runs_of_that_shift(made, spec, results):
    text = made["Ranks by absolute error, major shift (0.8 and more)"].text
    assert text.startswith("Mean ranks over 5 datasets")
    # Within minor shift the best method fails: its ranks change there and nowhere else.
    bad = pl.when((pl.col("shift") < 0.4 - 1e-9) & (pl.col("method") == "MS"))
    changed = results.with_columns(bad.then(2.0).otherwise(pl.col("tae")).alias("tae"))
    again = {section.title: section for section in sections(spec, changed, None)}
    for name, same in (
        ("minor shift (below 0.4)", False),
        ("major shift (0.8 and more)", True),
    ):
        title = f"Ranks by absolute error, {name}"
        before, after = (
            [text.get_text() for text in sections_[title].figure().axes[0].texts]
            for sections_ in (made, again)
        )
        assert (before == after) is same


def test_letter_values_with_little_training_data_are_of_those_runs(made, results, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "letter_figure", lambda errors, **_: drawn.append(errors))
    for title in ("", " with little training data"):
        made[f"Distribution of the absolute error{title}"].figure()
    finite = results.filter(pl.col("tae").is_not_null())
    assert [len(errors) for errors in drawn] == [len(finite), len(finite.filter(split=0.1))]


def test_the_table_of_datasets_is_that_of_the_paper(spec, results):
    some = replace(spec, datasets=("wine", "news", "dota"))
    found = {each.title: each for each in sections(some, make_results(some), None)}
    assert found["Datasets"].table.rows() == [
        ("wine", 6497, 13, "yes", 2, "whole"),
        ("news", 9874, 59, "yes", 2, "part: 9,874 of 39,644 items"),
        ("dota", 102944, 123, "no", 2, "whole"),
    ]
    several = replace(read_spec("comparison-multiclass"), datasets=("yeast", "yeast-5"))
    found = {each.title: each for each in sections(several, make_results(several), None)}
    assert found["Datasets"].table.rows() == [
        ("yeast", 1299, 8, "yes", 4, "whole"),
        ("yeast-5", 1484, 8, "yes", 5, "whole"),
    ]
    # Only datasets that were run are listed.
    wine = results.filter(dataset="wine")
    found = {each.title: each for each in sections(spec, wine, None)}
    assert found["Datasets"].table["dataset"].to_list() == ["wine"]


def test_tuned_classifiers_are_drawn_after_the_default_one():
    tuned = replace(read_spec("comparison-tuned-binary"), datasets=("wine",))
    errors = figures.errors_of(tuned, make_results(tuned, draws=1, failing=None), "tae")
    drawn = errors["method"].unique(maintain_order=True).to_list()
    assert drawn[:7] == ["CC", "CC-LR", "CC-SV", "CC-RF", "CC-AB", "AC", "AC-LR"]
    # Families have the colours of the paper whichever method comes first.
    assert list(dict.fromkeys(figures.families_of(drawn).values())) == [
        "adjusted counts", "distribution matching", "classifiers for quantification",
    ]  # fmt: skip


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_errors_by_tuned_classifier(task):
    tuned = replace(read_spec(f"comparison-tuned-{task}"), datasets=("wine", "conc"))
    results = make_results(tuned, draws=1, failing=None)
    halved = pl.when(pl.col("method") == "EM-LR").then(0.0).otherwise(pl.col("tae"))
    results = results.with_columns(halved.alias("tae"))
    found = {each.title: each for each in sections(tuned, results, None)}
    section = found["Absolute error by classifier"]
    table = section.table
    assert table.columns == ["method", "untuned", "LR", "SV", "RF", "AB"]
    counted = table.filter(pl.col("RF").is_not_null())["method"].to_list()
    assert counted == ["CC", "AC", "GAC", "HDy"]
    scored = table.filter(pl.col("SV").is_not_null(), pl.col("RF").is_null())["method"]
    assert scored.to_list() == ["TSX", "TS50", "TSMax", "MS", "DyS", "FMM"]
    row = table.filter(method="EM")
    assert row["LR"].item() == 0
    assert (table["method"].to_list().index("EM"), "LR") in section.marks
    pairs = table.drop_nulls(["untuned", "LR"])
    lower = (pairs["LR"] < pairs["untuned"]).sum()
    assert f"for {lower} of {len(pairs)} methods" in section.text
    better, worse = (pairs.filter(pl.col("method").is_in(end)) for end in TUNING[task])
    same = (better["LR"] < better["untuned"]).sum() + (worse["LR"] >= worse["untuned"]).sum()
    assert section.text.endswith(f"here too for {same} of these {len(better) + len(worse)}.")
    assert "Do the conclusions hold? By absolute error" not in found
    found["Distribution of the absolute error"].figure()


@pytest.mark.parametrize(
    "title",
    [
        "Ranks by absolute error",
        "Distribution of the absolute error",
        "Absolute error by shift",
        "Absolute error compared with the paper",
    ],
)
def test_figures_show_every_method(made, title):
    figure = made[title].figure()
    said = [ax.get_title(loc="left") for ax in figure.axes]
    for ax in figure.axes:
        said += [text.get_text() for text in (*ax.texts, *ax.get_yticklabels())]
    if title == "Absolute error by shift":
        scales = {(*ax.get_xticks(), *ax.get_xlim()) for ax in figure.axes}
        assert len(figure.axes) == 3
        assert len(scales) == 1
    for method in LEVELS:
        assert any(text == method or text.startswith(f"{method} ") for text in said), method


def test_a_method_that_is_off_is_flagged_and_no_other(made):
    section = made["Absolute error compared with the paper"]
    table = section.table
    assert set(table["datasets"]) == {4}
    off = table.filter(pl.col("median difference, %").abs() > 25)
    assert off["method"].to_list() == ["CC"]
    assert off["median difference, %"].item() == -50
    row = table["method"].to_list().index("CC")
    assert section.marks == {(row, "median difference, %"): "!"}
    assert "Over the 4 datasets and 24 methods" in section.text


def test_correlations_are_those_of_scipy(results):
    ours = results.group_by("dataset", "method").agg(pl.col("tae").mean().alias("ours"))
    noise = np.random.default_rng(3).lognormal(0, 0.7, len(ours))
    theirs = ours.select("dataset", "method", published=pl.col("ours") * noise)
    found = agreement(ours, theirs)
    means = found.methods
    assert found.of_means == pytest.approx(spearmanr(means["ours"], means["published"])[0])
    wide = [
        frame.pivot("dataset", index="method", values=name, maintain_order=True)
        .sort("method")
        .drop("method")
        .to_numpy()
        for frame, name in ((ours, "ours"), (theirs, "published"))
    ]
    ranks = [rankdata(errors, axis=0).mean(axis=1) for errors in wide]
    assert found.of_ranks == pytest.approx(spearmanr(*ranks)[0])
    assert 0.3 < found.of_means < 0.99


def test_parts_of_datasets_are_left_out_of_a_second_correlation(tmp_path, spec):
    some = replace(spec, datasets=("wine", "spam", "news"))
    results = make_results(some)
    means = results.group_by("dataset", "method").agg(pl.col("tae").mean()).sort("method")
    # The published errors of the part are in reverse order.
    whole = means.filter(pl.col("dataset") != "news")
    part = means.filter(dataset="news").with_columns(tae=5 - 2 * pl.col("tae"))
    wide = pl.concat([whole, part]).pivot("method", index="dataset", values="tae")
    wide.write_csv(tmp_path / "comparison_binary_ae.csv")
    made = {each.title: each for each in sections(some, results, tmp_path)}
    text = made["Absolute error compared with the paper"].text
    assert "a part is available (news; hollow in the figure) it is 1.000 and 1.000." in text
    assert "the published figures is 1.000" not in text


def test_several_classes_have_limits_claims_and_tables_of_their_own(tmp_path):
    many = replace(read_spec("comparison-multiclass"), datasets=("wine", "conc"))
    results = make_results(many, draws=1)
    means = results.group_by("dataset", "method").agg(pl.col("nkld").mean())
    wide = means.pivot("method", index="dataset", values="nkld")
    wide.write_csv(tmp_path / "comparison_multiclass_nkld.csv")
    made = {each.title: each for each in sections(many, results, tmp_path)}
    assert made["NKLD by shift"].table.columns[1:] == [
        "minor shift (below 0.5)",
        "major shift (0.5 and more)",
    ]
    assert "NKLD compared with the paper" in made
    assert "Absolute error compared with the paper" not in made
    assert "readme, ED, EM, FM, PWK in front" in made["Do the conclusions hold? By NKLD"].text


def test_names_are_matched_however_they_are_written():
    assert plain_name("HDX") == plain_name("HDx")
    assert plain_name("SVM-K") != plain_name("SVM-Q")
    ours = pl.DataFrame({"dataset": ["bc-cat"], "method": ["QF-AC"], "ours": [0.2]})
    theirs = pl.DataFrame({"dataset": ["BC_cat"], "method": ["qf ac"], "published": [0.1]})
    found = agreement(ours, theirs)
    assert found.pairs.rows() == [("bc-cat", "QF-AC", 0.2, 0.1)]
    assert math.isnan(found.of_means)
    assert agreement(ours, theirs.with_columns(method=pl.lit("CC"))) is None


def test_published_zeros_have_no_relative_difference():
    frame = {"dataset": ["a", "b", "c"], "method": ["CC"] * 3}
    ours = pl.DataFrame(frame | {"ours": [0.1, 0.11, 0.3]})
    theirs = pl.DataFrame(frame | {"published": [0.0, 0.1, 0.3]})
    row = agreement(ours, theirs).methods.row(0, named=True)
    assert row["difference"] == pytest.approx(0.05)
    assert (row["near"], row["flagged"]) == (1.0, False)


def test_published_tables_are_read_without_means_and_gaps(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("dataset,CC,MS\nwine,0.5,\nAverage,0.4,0.3\n")
    assert read_published(path).rows() == [("wine", "CC", 0.5)]


def test_what_is_no_table_of_numbers_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("dataset,CC\nwine,large\n")
    with pytest.raises(HeadcountError, match="one column of numbers per method"):
        read_published(path)
    with pytest.raises(HeadcountError, match="cannot be read"):
        read_published(tmp_path / "none.csv")


def test_conclusions_come_from_the_numbers(made, spec, results):
    section = made["Do the conclusions hold? By absolute error"]
    assert section.text.startswith("12 of 12 hold.")
    assert "Of 36 pairs" in section.text
    assert not section.marks
    # Worst and best change places.
    swapped = results.with_columns(pl.col("method").replace({"CC": "MS", "MS": "CC"}))
    other = next(each for each in sections(spec, swapped, None) if "conclusions" in each.title)
    assert other.text.startswith("10 of 12 hold.")
    rows = {row["method"]: row["holds"] for row in other.table.iter_rows(named=True)}
    assert {method for method, holds in rows.items() if holds == "no"} == {"MS", "CC"}
    assert len(other.marks) == 2


def test_methods_of_a_claim_that_were_not_run_are_passed_over():
    ranks = {"MS": 1.0, "AC": 2.0, "CC": 3.0}
    checked = check_claim(Claim(("MS", "DyS"), ("cc",)), ranks)
    assert checked.rows() == [("MS", "in front", 1, True), ("CC", "behind", 3, True)]


def test_claims_are_about_methods_of_the_specs():
    for task in ("binary", "multiclass"):
        known = {plain_name(each.name) for each in read_spec(f"comparison-{task}").methods}
        for metric in ("tae", "nkld"):
            claim = CLAIMS[task, metric]
            assert {plain_name(name) for name in (*claim.front, *claim.behind)} <= known


def test_a_spec_of_ones_own_methods_has_a_report(spec):
    own = replace(
        spec, methods=(MethodSpec("mine", "CC"), MethodSpec("$x$", "PCC")), datasets=("wine",)
    )
    made = {each.title: each for each in sections(own, make_results(own), None)}
    assert next(iter(made)) == "Mean absolute error"
    made["Distribution of the absolute error"].figure()


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_papers_own_figures_bear_its_conclusions_out(task):
    named = os.environ.get("HEADCOUNT_DATA")
    data = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    path = data.parent / "published" / f"comparison_{task}_ae.csv"
    if not path.is_file():
        pytest.skip("the published figures are not at hand")
    theirs = read_published(path)
    found = agreement(theirs.rename({"published": "ours"}), theirs)
    assert [found.of_means, found.of_ranks] == pytest.approx([1, 1])
    assert not found.methods["flagged"].any()
    ranks = dict(found.methods.select("method", "rank").iter_rows())
    assert check_claim(CLAIMS[task, "tae"], ranks)["holds"].all()
