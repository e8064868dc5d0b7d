from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from headcount import metrics
from headcount.errors import HeadcountError
from headcount_studies import classifier_grid
from headcount_studies.data.texts import Tweets
from headcount_studies.engine.spec import MethodSpec, Spec, read_spec
from headcount_studies.engine.store import with_metrics
from headcount_studies.engine.task import Task
from headcount_studies.tweets import experiment, study
from headcount_studies.tweets.report import METHODS, earlier_ranks

LABELS = ("negative", "neutral", "positive")
MACHINE = MethodSpec(
    "SVM(AE)",
    "SVMAE",
    {"max_iter": 20},
    {"inside": "OneVsRest", "C": [1.0], "chosen_by": ["ae"]},
)
ENSEMBLE = MethodSpec(
    "E(PACC)_Ptr",
    "PACC",
    options={
        "inside": "Ensemble",
        "around": {"n_members": 3, "size": 60, "policy": "ptr", "scoring": "left-out"},
        "C": [0.1, 1.0],
    },
)
NETWORK = MethodSpec(
    "QuaNet", parameters={"size": 20, "epochs": 1}, options={"needs": "torch", "C": [1.0]}
)


def rows_of(*arguments: Any) -> pl.DataFrame:
    """Results of a task without the time, which is never the same."""
    return experiment.run(*arguments).drop("seconds")


def real_data() -> Path:
    nearby = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("HEADCOUNT_DATA", nearby))
    if not folder.is_dir():
        pytest.skip("there is no folder of datasets: set HEADCOUNT_DATA")
    return folder


def tweets(n: int = 420) -> Tweets:
    """Texts of made-up words, some of which tell the label."""
    rng = np.random.default_rng(0)
    labels = rng.choice(LABELS, n)
    written = []
    for label in labels:
        words = rng.choice([f"common{i}" for i in range(20)], 5).tolist()
        told = label if rng.random() < 0.7 else rng.choice(LABELS)
        written.append(" ".join([*words, f"{told}{rng.integers(3)}"]))
    parts = np.resize(["train", "train", "validation", "test"], n)
    return Tweets("hcr", np.array(written, dtype=object), labels, parts)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    known = tweets()
    monkeypatch.setattr(study, "load_tweets", lambda name, data: known)
    study.load_collection.cache_clear()


@pytest.fixture
def spec() -> Spec:
    shared = [MethodSpec(name) for name in ("CC", "PCC", "PACC", "SLD")]
    return Spec(
        "tiny",
        "tweets",
        ("hcr",),
        (*shared, MACHINE, ENSEMBLE, MethodSpec("HDy", options={"inside": "OneVsRest"})),
        ("ae", "rae"),
        protocol={"least": 2, "folds": 3, "step": 0.5, "repeats": 2, "size": 20},
        selection={"C": [0.1, 10.0], "repeats": 1, "size": 20},
    )


def tasks_of(spec: Spec) -> dict[str, Task]:
    experiment.check(spec)
    return {task.key: task for task in experiment.plan(spec, Path())}


def test_methods_that_share_classifiers_are_one_task(spec: Spec) -> None:
    tasks = tasks_of(spec)
    assert list(tasks) == ["hcr.shared", "hcr.SVM-AE", "hcr.E-PACC-Ptr"]
    assert tasks["hcr.shared"].settings["methods"] == ["CC", "PCC", "PACC", "SLD", "HDy"]
    assert tasks["hcr.shared"].runs == 6 * 2 * 5 * 2  # mixes, repeats, methods, measures
    assert tasks["hcr.SVM-AE"].runs == 6 * 2  # by one measure only


def test_built_in_spec_can_be_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier_grid, "find_spec", lambda name: object())
    spec = read_spec("tweets")
    experiment.check(spec)
    tasks = experiment.plan(spec, Path())
    assert len({task.key for task in tasks}) == len(tasks)
    # 231 mixes by 25, and every method but the two machines is chosen by both measures.
    assert sum(task.runs for task in tasks) == 8 * 231 * 25 * (12 * 2 + 2)


@pytest.mark.parametrize("installed", [True, False])
def test_a_method_is_left_out_if_it_needs_a_package(
    spec: Spec, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    monkeypatch.setattr(
        classifier_grid, "find_spec", lambda name: object() if installed else None
    )
    spec = replace(spec, methods=(MethodSpec("CC"), NETWORK))
    assert list(tasks_of(spec)) == ["hcr.shared", "hcr.QuaNet"][: 1 + installed]


@pytest.mark.usefixtures("made_up")
def test_quanet_is_run_with_one_setting(spec: Spec) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    spec = replace(spec, methods=(NETWORK,))
    (task,) = tasks_of(spec).values()
    rows = experiment.run(spec, task, Path())
    assert rows["failure"].null_count() == rows.height == task.runs
    assert rows["C"].unique().to_list() == [1.0]


@pytest.mark.usefixtures("made_up")
def test_rows_are_what_the_plan_promises_and_always_the_same(spec: Spec) -> None:
    frames = []
    for task in tasks_of(spec).values():
        rows = rows_of(spec, task, Path())
        assert rows.height == task.runs
        assert rows["failure"].null_count() == rows.height
        study.load_collection.cache_clear()
        assert rows.equals(rows_of(spec, task, Path()))
        frames.append(rows)
    rows = pl.concat(frames)
    true, guessed = (np.array(rows[what].to_list()) for what in ("true", "estimated"))
    np.testing.assert_allclose(rows["ae"], metrics.ae(true, guessed))
    np.testing.assert_allclose(rows["rae"], metrics.rae(true, guessed, size=20))
    # All methods meet the same samples.
    assert rows.group_by("sample").agg(pl.col("true").n_unique())["true"].max() == 1


@pytest.mark.usefixtures("made_up")
def test_settings_are_tried_on_the_validation_part_only(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    choose = study.choose

    def watched(grid: Any, quantifiers: Any, items: Any, split: Any, measures: Any) -> Any:
        seen.append((len(items.codes), len(split.train), len(split.test)))
        return choose(grid, quantifiers, items, split, measures)

    monkeypatch.setattr(study, "choose", watched)
    rows_of(spec, tasks_of(spec)["hcr.shared"], Path())
    parts = tweets().splits
    n_train, n_held = (parts == "train").sum(), (parts == "validation").sum()
    assert seen == [(n_train + n_held, n_train, n_held)]


def results(spec: Spec) -> pl.DataFrame:
    """Two collections; the methods differ by a constant."""
    rng = np.random.default_rng(0)
    frames = []
    for dataset in spec.datasets:
        base = rng.uniform(0.1, 0.2, 40)
        for i, method in enumerate(spec.methods):
            for metric in method.options.get("chosen_by", ["ae", "rae"]):
                frames.append(
                    pl.DataFrame(
                        {
                            "dataset": dataset, "method": method.name, "failure": None,
                            "ae": base + i / 10, "rae": base + i, "chosen_by": metric,
                            "shift": np.linspace(0, 0.6, 40), "sample": np.arange(40),
                        },
                        schema_overrides={"failure": pl.String},
                    )
                )  # fmt: skip
    return pl.concat(frames)


def test_sections_rank_the_methods(spec: Spec, tmp_path: Path) -> None:
    wide = replace(spec, datasets=("semeval2013", "hcr"))
    (tmp_path / "tweets_ae.csv").write_text(
        "dataset,CC,PCC,PACC,SLD\nHCR,.1,.2,.3,.4\nSemEval13,.1,.2,.3,.4\nAverage,9,1,1,1\n"
    )
    made = {each.title: each for each in experiment.sections(wide, results(wide), tmp_path)}
    errors = made["AE by collection"]
    assert errors.table is not None
    # The mean over the collections is tested as well.
    assert errors.marks == {(0, "CC"): "best", (1, "CC"): "best", (2, "CC"): "best"}
    assert errors.table["dataset"].to_list() == ["semeval2013", "hcr", "mean"]
    assert errors.figure is not None
    assert errors.figure().axes
    ranks = made["Ranks by RAE"].table
    assert ranks is not None
    assert ranks["method"][0] == "CC"
    assert "SVM(AE)" not in ranks["method"]  # it is not chosen by RAE
    compared = made["Compared with the paper: AE"]
    assert compared.table is not None
    assert "1.00 of mean errors" in compared.text
    assert "semeval2013 1.00" in compared.text
    assert compared.table["published"].to_list() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert "Compared with the paper: RAE" not in made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": ("gasp",)}, "There is no collection of tweets 'gasp'"),
        ({"protocol": {"least": 5}}, r"\[protocol\] has no 'folds'"),
        ({"methods": (MethodSpec("CC", options={"draws": 1}),)}, "unknown key 'draws'"),
        ({"methods": (MethodSpec("CC", options={"chosen_by": ["kld"]}),)}, "no metric"),
        ({"methods": (MethodSpec("CC", options={"C": []}),)}, "has no C to try"),
    ],
)
def test_specs_that_cannot_be_run_are_refused(
    spec: Spec, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(HeadcountError, match=message):
        experiment.check(replace(spec, **change))


def test_real_tweets_put_sld_before_cc() -> None:
    data = real_data()
    spec = read_spec("tweets").restricted(datasets=["hcr"], methods=["CC", "SLD"])
    few = replace(spec, selection=spec.selection | {"C": [1.0]})
    few = replace(few, protocol=few.protocol | {"step": 0.25, "repeats": 5})
    (task,) = experiment.plan(few, data)
    rows = rows_of(few, task, data).filter(pl.col("chosen_by") == "ae")
    means = dict(rows.group_by("method").agg(pl.col("ae").mean()).iter_rows())
    assert means["SLD"] < 0.7 * means["CC"]


@pytest.mark.usefixtures("made_up")
def test_a_metric_is_added_to_the_report(spec: Spec) -> None:
    rows = pl.concat([rows_of(spec, task, Path()) for task in tasks_of(spec).values()])
    added = with_metrics(rows, ["nkld"])
    more = replace(spec, metrics=(*spec.metrics, "nkld"))
    sections = {each.title: each for each in experiment.sections(more, added, None)}
    assert "C selected by AE." in sections["NKLD by collection"].text
    table = sections["NKLD by collection"].table
    assert table is not None
    chosen = added.filter((pl.col("chosen_by") == "ae") & (pl.col("method") == "CC"))
    assert table["CC"][0] == pytest.approx(chosen["nkld"].mean())


@pytest.mark.usefixtures("made_up")
def test_report_has_the_papers_tables_and_figures(spec: Spec) -> None:
    rows = pl.concat([rows_of(spec, task, Path()) for task in tasks_of(spec).values()])
    sections = {part.title: part for part in experiment.sections(spec, rows, None)}
    shares, bias = sections["Estimated and true shares"], sections["Bias by class"]
    assert shares.figure is not None
    assert bias.figure is not None
    panels = [ax for ax in shares.figure().axes if ax.get_title()]
    assert [ax.get_title() for ax in panels[:2]] == [
        "positive, selected by AE", "positive, selected by RAE",
    ]  # fmt: skip
    assert len(panels) == 3 * 2
    assert len([ax for ax in bias.figure().axes if ax.get_title()]) == 3 * 2
    assert bias.table is not None
    one = rows.filter((pl.col("method") == "CC") & (pl.col("chosen_by") == "rae"))
    error = (one["estimated"].list.get(0) - one["true"].list.get(0)).mean()
    row = bias.table.filter(pl.col("class") == "negative, selected by RAE")
    assert row["CC"][0] == pytest.approx(error)
    rae = sections["RAE by collection"].figure
    assert rae is not None
    assert rae().axes[0].get_yscale() == "log"


def test_ranks_are_put_beside_those_of_the_earlier_study(spec: Spec) -> None:
    assert earlier_ranks("ae")["sst"] == dict(
        zip(METHODS, (2, 5, 1, 8, 3, 6, 4, 7), strict=True)
    )
    assert earlier_ranks("rae")["gasp"]["SVM(KLD)"] == 1
    assert earlier_ranks("nkld") == {}
    for metric in ("ae", "rae"):
        ranks = earlier_ranks(metric).values()
        assert all(sorted(of.values()) == list(range(1, 9)) for of in ranks)
    # The paper's mean ranks of the earlier study.
    means = [np.mean([of[name] for of in earlier_ranks("ae").values()]) for name in METHODS]
    assert np.round(means, 1).tolist() == [4.8, 3.6, 1.7, 3.4, 5.5, 7.1, 4.4, 5.5]
    wide = replace(spec, datasets=("semeval2013", "hcr"))
    sections = {part.title: part for part in experiment.sections(wide, results(wide), None)}
    table = sections["Ranks by AE, beside the earlier study"].table
    assert table is not None
    assert table["CC"].to_list() == ["1 (7)", "1 (5)", "1.0 (6.0)"]


def test_the_conclusion_needs_methods_of_both_ends(spec: Spec) -> None:
    rows = results(spec)
    for methods, concluded in ((["CC", "SLD"], True), (["SLD"], False)):
        part = rows.filter(pl.col("method").is_in(methods))
        sections = {each.title: each for each in experiment.sections(spec, part, None)}
        assert ("hold" in sections["Ranks by AE"].text) == concluded


def test_a_store_without_an_answer_is_reported(spec: Spec) -> None:
    failed = results(spec).with_columns(
        pl.lit("broken").alias("failure"),
        pl.lit(None, pl.Float64).alias("ae"),
        pl.lit(None, pl.Float64).alias("rae"),
        pl.lit(None, pl.List(pl.Float64)).alias("true"),
        pl.lit(None, pl.List(pl.Float64)).alias("estimated"),
    )
    assert experiment.sections(spec, failed, None) == []


def test_collections_are_described(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = tweets()
    monkeypatch.setattr(study, "load_tweets", lambda name, data: collection)
    (row,) = experiment.describe(spec, "hcr", Path())
    test = collection.splits == "test"
    assert row["test"] == test.sum()
    assert row["total"] == len(test)
    positive = collection.labels == "positive"
    assert row["positive, U"] == pytest.approx(positive[test].mean(), abs=1e-4)
    assert row["positive, L"] == pytest.approx(positive[~test].mean(), abs=1e-4)
