from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount import metrics
from headcount.errors import HeadcountError
from headcount.quantifiers.deep import model as settings
from headcount_studies import classifier_grid, datasets
from headcount_studies.data.lequa import TASKS, find_task
from headcount_studies.data.lequa_generator import generate
from headcount_studies.engine.spec import MethodSpec, Spec, read_spec
from headcount_studies.engine.task import datasets_there
from headcount_studies.lequa2024 import experiment, study
from headcount_studies.lequa2024.official import read_published_runs, score
from headcount_studies.lequa2024.report import score_sections
from headcount_studies.lequa2024.selection import (
    Candidate,
    Protocol,
    candidates_of,
    named_method,
    predict,
    select,
)
from headcount_studies.lequa2024.study import make_submissions, protocol_of
from tests.studies.lequa_folders import make_task, make_texts

PUBLISHED = """\
task,rank,run,kind,measure1,mean1,sd1,measure2,mean2,sd2
T1,1,Winner,team,RAE,0.01,0.2,AE,0.01,0.01
T1,2,SLD,baseline,RAE,0.11,0.3,AE,0.02,0.01
T1,3,PCC,baseline,RAE,0.5,0.3,AE,0.07,0.01
T1,4,CC,baseline,RAE,0.9,0.3,AE,0.08,0.01
T3,1,PCC,baseline,NMD,0.07,0.3,Macro-NMD,0.08,0.01
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("lequa")
    make_task(made, "T1", n_dev=8, n_test=6)
    make_task(made, "T3", n_dev=6, n_test=5, n_train=400)
    return made


@pytest.fixture
def spec() -> Spec:
    built_in = read_spec("lequa2024")
    kept = {"CC", "PCC", "PACC", "SLD", "DM"}
    methods = [each for each in built_in.methods if each.name in kept]
    pair = MethodSpec(
        "MC-SQ",
        "DyS",
        options={
            "classifiers": ["logistic", "discriminant"],
            "grid": {"bins": [4, 8]},
            "tasks": ["T1"],
        },
    )
    return replace(
        built_in,
        datasets=("T1", "T3"),
        methods=(*methods, pair),
        selection={"C": [0.01, 1.0], "class_weight": ["none"], "n_dev": 0},
    )


def test_built_in_spec_can_be_checked_and_planned(folder, monkeypatch):
    built_in = read_spec("lequa2024")
    experiment.check(built_in)
    assert datasets_there(built_in, folder) == ["T1", "T3"]
    monkeypatch.setattr(classifier_grid, "find_spec", lambda name: None)
    without = {task.key for task in experiment.plan(built_in, folder)}
    teams = {"T1.MC-SQ", "T1.Lamarr", "T1.Committee", "T1.ContinuousSweep-SVM", "T3.Lamarr"}
    assert teams | {"T1.shared", "T3.shared"} == without
    monkeypatch.setattr(classifier_grid, "find_spec", lambda name: object())
    tasks = {task.key: task for task in experiment.plan(built_in, folder)}
    networks = {f"{task}.{name}" for task in ("T1", "T3") for name in ("HistNet", "GMNet")}
    assert tasks.keys() - without == networks | {"T3.GMNet-CKA"}
    assert "EDy-EMD" in tasks["T3.shared"].settings["methods"]
    assert "OrdinalSLD" in tasks["T3.shared"].settings["methods"]
    assert "MS" not in tasks["T3.shared"].settings["methods"]
    assert tasks["T1.MC-SQ"].runs == 6


def test_official_grids():
    built_in = read_spec("lequa2024")
    sizes = {
        each.name: [len(group) for group in candidates_of(built_in, each, TASKS["T1"], 0)]
        for each in built_in.methods
    }
    assert sizes["SLD"] == [9 * 2]
    assert sizes["DM"] == [9 * 2 * 21]
    assert sizes["KDEy"] == [9 * 2 * 20]
    boosting = [8] if find_spec("lightgbm") else []
    assert sizes["MC-SQ"] == [9 * 2 * 8, 8, 8, 8, *boosting, 8]
    committee = [4, 1, 1, 1, 1]  # DyS has four numbers of bins
    assert sizes["Committee"] == committee * (4 if boosting else 3)
    teams = candidates_of(built_in, named_method(built_in, "SC-MQ"), TASKS["T2"], 0)
    assert [len(group) for group in teams] == [18, 18 * 5, 18, 18]
    (flat,) = candidates_of(built_in, named_method(built_in, "Lamarr"), TASKS["T2"], 0)
    assert len(flat) == 4
    assert sizes["Lamarr"] == [1]
    (group,) = candidates_of(built_in, named_method(built_in, "Lamarr"), TASKS["T4"], 0)
    assert group[0].classifier.C == 0.436
    assert group[0].quantifier.flatness == 1e-5
    (group,) = candidates_of(built_in, named_method(built_in, "Lamarr"), TASKS["T3"], 0)
    assert group[0].quantifier.smoothness == 1e-3


def test_rows_are_what_the_plan_promises_and_always_the_same(spec, folder):
    experiment.check(spec)
    tasks = experiment.plan(spec, folder)
    assert [task.key for task in tasks] == ["T1.shared", "T1.MC-SQ", "T3.shared"]
    for task in tasks:
        rows = experiment.run(spec, task, folder)
        assert rows.height == task.runs
        assert rows["failure"].null_count() == rows.height
        study.load_task.cache_clear()
        assert rows.equals(experiment.run(spec, task, folder))
        true, estimated = (np.array(rows[name].to_list()) for name in ("true", "estimated"))
        np.testing.assert_allclose(rows["ae"], metrics.ae(true, estimated))
        np.testing.assert_allclose(rows["rae"], metrics.rae(true, estimated, size=40))
        np.testing.assert_allclose(rows["nmd"], metrics.nmd(true, estimated))


def test_sizes_of_the_tasks(spec, folder):
    few = replace(spec, selection=spec.selection | {"n_dev": 3})
    (binary,), (ordered,) = (experiment.describe(few, name, folder) for name in ("T1", "T3"))
    counts = ("development samples", "of these used", "test samples", "items of a sample")
    assert [binary[name] for name in counts] == [8, 3, 6, 40]
    assert [ordered[name] for name in counts] == [6, 3, 5, 40]
    assert (binary["training samples"], ordered["labelled items"]) == (None, 400)
    assert experiment.describe(spec, "T1", folder)[0]["of these used"] == 8


def test_report(spec, folder, tmp_path):
    (tmp_path / "lequa2024.csv").write_text(PUBLISHED)
    results = pl.concat(
        experiment.run(spec, task, folder) for task in experiment.plan(spec, folder)
    )
    failed = results.head(1).with_columns(failure=pl.lit("no reason"), method=pl.lit("X"))
    found = experiment.sections(spec, pl.concat([results, failed]), tmp_path)
    titles = [section.title for section in found]
    assert titles == [
        "T1: errors on the test samples",
        "T1: estimated and true shares",
        "T1: errors by shift",
        "T1: compared with the published results",
        "T1: selected settings",
        "T3: errors on the test samples",
        "T3: errors by jaggedness",
        "T3: compared with the published results",
        "T3: selected settings",
    ]
    assert found[0].table.columns == ["method", "RAE", "sd of RAE", "AE", "sd of AE"]
    assert "best" in found[0].marks.values()
    by_title = {section.title: section for section in found}
    compared = by_title["T1: compared with the published results"]
    assert compared.table.height == 4 + 6
    assert "Spearman's correlation with the 3 baselines" in compared.text
    assert by_title["T3: errors on the test samples"].table.columns[3] == "Macro-NMD"
    titles = [section.title for section in experiment.sections(spec, results, None)]
    assert "T1: compared with the published results" not in titles


BAD = {
    "unknown key of the protocol": ({"protocol": {"fold": 5}}, "unknown key 'fold'"),
    "missing key": ({"selection": {"C": [1.0]}}, r"\[selection\] has no 'class_weight'"),
    "unknown task": ({"datasets": ("T9",)}, "no task of LeQua 'T9'"),
    "unknown option": (
        {"methods": (MethodSpec("CC", options={"bins": 3}),)},
        "options of 'CC' has an unknown key 'bins'",
    ),
    "unknown classifier": (
        {"methods": (MethodSpec("CC", options={"classifiers": ["tree"]}),)},
        "no classifier 'tree'",
    ),
    "unknown scoring": (
        {"methods": (MethodSpec("CC", options={"scoring": "none"}),)},
        "no scoring 'none'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_specs_are_refused(spec, case):
    change, message = BAD[case]
    with pytest.raises(HeadcountError, match=message):
        experiment.check(replace(spec, **change))


def test_a_study_needs_the_true_shares(spec, tmp_path):
    public = make_task(tmp_path)
    (public / "test_prevalences.txt").unlink()
    task = experiment.plan(spec, tmp_path)[0]
    with pytest.raises(HeadcountError, match=r"no test_prevalences\.txt"):
        experiment.run(spec, task, tmp_path)


def test_selection_takes_the_setting_with_the_least_error(folder):
    data = datasets.lequa(folder, "T1")
    settings = [1e-4, 1.0]
    group = [Candidate(LogisticRegression(C=C), False, hc.PACC(), {"C": C}) for C in settings]
    protocol = Protocol(folds=3)
    chosen = select(data, {"PACC": [group]}, protocol)["PACC"]
    errors, shares = [], []
    for C in settings:
        scorer = hc.Scorer(LogisticRegression(C=C), cv=3, fold_scoring=False, random_state=0)
        quantifier = hc.PACC().fit_scorer(scorer.fit(data.X, data.y))
        found = quantifier.predict_many(data.dev.X, data.dev.samples)
        errors.append(metrics.rae(data.dev.samples.prevalence, found, size=40).mean())
        shares.append(quantifier.predict_many(data.test.X, data.test.samples))
    best = int(np.argmin(errors))
    assert chosen.members[0].setting == {"C": settings[best]}
    assert chosen.error == pytest.approx(errors[best])
    found = predict(data, data.test, {"PACC": chosen})["PACC"]
    np.testing.assert_allclose(found, shares[best], atol=1e-12)


def test_held_out_items_are_not_trained_on(folder):
    from sklearn.model_selection import train_test_split

    data = datasets.lequa(folder, "T1")
    chosen = select(
        data, {"ACC": [[Candidate(LogisticRegression(), True, hc.ACC())]]}, Protocol()
    )
    X, held, y, y_held = train_test_split(
        data.X, data.y, test_size=0.4, stratify=data.y, random_state=0
    )
    posteriors = LogisticRegression().fit(X, y)
    quantifier = hc.ACC().fit(hc.Scored(posteriors.predict_proba(held)), y_held)
    wanted = quantifier.predict_many(
        hc.Scored(posteriors.predict_proba(data.test.X)), data.test.samples
    )
    np.testing.assert_allclose(predict(data, data.test, chosen)["ACC"], wanted, atol=1e-9)
    assert np.isnan(chosen["ACC"].error)  # nothing was to be selected


def test_a_race_tries_the_best_on_all_samples(folder, monkeypatch):
    data = datasets.lequa(folder, "T1")
    grid = [0.02, 0.05, 0.1, 0.2, 0.4]

    def group(race):
        return [
            Candidate(
                LogisticRegression(),
                False,
                hc.KDEyML(bandwidth=h, stop="converged"),
                {"h": h},
                race,
            )
            for h in grid
        ]

    seen = []
    predicted = hc.KDEyML.predict_many

    def watched(self, X, samples):
        seen.append(len(samples))
        return predicted(self, X, samples)

    monkeypatch.setattr(hc.KDEyML, "predict_many", watched)
    raced = select(data, {"KDEy": [group(2)]}, Protocol(folds=3))["KDEy"]
    assert seen == [2] * 5 + [8] * 3
    exact = select(data, {"KDEy": [group(None)]}, Protocol(folds=3))["KDEy"]
    assert seen[8:] == [8] * 5
    assert raced.error >= exact.error


def test_median_over_classifiers(folder, spec):
    data = datasets.lequa(folder, "T1")
    groups = candidates_of(spec, spec.methods[-1], data.task, 0)
    alone = [select(data, {"one": [group]}, Protocol())["one"] for group in groups]
    several = select(data, {"MC-SQ": groups}, Protocol())["MC-SQ"]
    assert [member.setting for member in several.members] == [
        each.members[0].setting for each in alone
    ]
    parts = [predict(data, data.dev, {"one": each})["one"] for each in alone]
    middle = np.median(parts, axis=0)
    middle /= middle.sum(axis=1, keepdims=True)
    error = metrics.rae(data.dev.samples.prevalence, middle, size=40).mean()
    assert several.error == pytest.approx(error)


def test_a_method_that_fails_leaves_the_others_alone(folder):
    data = datasets.lequa(folder, "T3")
    given = {
        "MS": [[Candidate(LogisticRegression(), False, hc.MS())]],  # two classes only
        "PCC": [[Candidate(LogisticRegression(), False, hc.PCC())]],
    }
    found = select(data, given, Protocol())
    assert "works with two classes" in found["MS"].failure
    assert found["PCC"].failure is None


def test_processes_give_the_same(folder):
    data = datasets.lequa(folder, "T1")
    one = make_submissions(data, "SLD,PACC", n_jobs=1)
    two = make_submissions(data, "SLD,PACC", n_jobs=2)
    for a, b in zip(one, two, strict=True):
        assert (a.method, a.setting) == (b.method, b.setting)
        np.testing.assert_array_equal(a.shares, b.shares)


def test_submissions(folder):
    data = datasets.lequa(folder, "T1")
    several = make_submissions(data, "SLD,PCC,HDy", n_dev=4)
    assert [each.shares.shape for each in several] == [(6, 2)] * 3
    assert several[0].dev_error <= several[1].dev_error <= several[2].dev_error
    (plain,) = make_submissions(data, "DM", selected=False, split="dev")
    assert plain.shares.shape == (8, 2)
    assert np.isnan(plain.dev_error)
    assert plain.setting == "C=1, class_weight=none"
    for method, message in (
        ("OrdinalPACC", "is for T3, not for T1"),
        ("HDx", "does not work on the scores"),
        ("SLDD", "did you mean SLD"),
        (",", "must be 'auto', 'all'"),
    ):
        with pytest.raises(HeadcountError, match=message):
            make_submissions(data, method)
    with pytest.raises(HeadcountError, match="'auto', which is selected"):
        make_submissions(data, "auto", selected=False)


@pytest.mark.parametrize(("name", "task"), [("GMNet", "T3"), ("QuaNet", "T1")])
def test_networks_learn_from_development_samples(folder, spec, name, task):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    data = datasets.lequa(folder, task)
    small = MethodSpec(name, parameters={"epochs": 1, "head": [4]})
    groups = {name: candidates_of(spec, small, data.task, 0)}
    ((candidate,),) = groups[name]
    assert candidate.quantifier.loss == {"T1": "ae-rae", "T3": "nmd"}[task]
    found = select(data, groups, protocol_of(spec, 0))
    (member,) = found[name].members
    assert found[name].error == min(member.quantifier.validation_losses_)
    assert member.quantifier.size == data.dev.samples.sizes[0] != data.task.size
    shares = predict(data, data.test, found)[name]
    expected = member.quantifier.predict_many(data.test.X, data.test.samples)
    np.testing.assert_allclose(shares, expected)


def test_networks_learn_from_labelled_items_where_the_spec_says_so(folder, spec, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    data, seen = datasets.lequa(folder, "T1"), []
    small = {"parameters": {"epochs": 1, "head": [4]}, "options": {"labelled": True}}
    fit_samples = hc.GMNet.fit_samples

    def note(network, *arrays, labelled, **named):
        seen.append(labelled)
        return fit_samples(network, *arrays, labelled=labelled, **named)

    monkeypatch.setattr(hc.GMNet, "fit_samples", note)
    for changed in (small, small | {"options": {}}):
        method = MethodSpec("GMNet", **changed)
        select(data, {"GMNet": candidates_of(spec, method, data.task, 0)}, protocol_of(spec, 0))
    assert seen[0][1].tolist() == data.y.tolist()
    assert seen[1] is None


@pytest.mark.parametrize("name", ["HistNet", "GMNet"])
def test_networks_correct_sld_where_prior_shift_holds(name):
    spec = read_spec("lequa2024")
    for task, estimates in (("T1", ["SLD"]), ("T3", ()), ("T4", ["SLD"])):
        ((candidate,),) = candidates_of(spec, named_method(spec, name), TASKS[task], 0)
        assert candidate.quantifier.estimates == estimates


def test_a_network_without_pytorch_is_a_failure(folder, monkeypatch):
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    data = datasets.lequa(folder, "T1")
    with pytest.raises(HeadcountError, match="HistNet needs PyTorch, which is not installed"):
        make_submissions(data, "HistNet")


def test_auto_is_the_best_on_the_development_samples(folder, spec, monkeypatch):
    few = [each for each in spec.methods if each.name in ("CC", "PCC", "SLD")]
    monkeypatch.setattr(study, "methods_of", lambda spec, task: few)
    data = datasets.lequa(folder, "T1")
    every = make_submissions(data, "all")
    first, *others = make_submissions(data, "auto")
    assert first.method == every[0].method
    assert first.dev_error == min(each.dev_error for each in every)
    np.testing.assert_array_equal(first.shares, every[0].shares)
    assert all(each.shares is None for each in others)


def test_texts_are_turned_into_words(tmp_path):
    make_texts(tmp_path)
    data = datasets.lequa(tmp_path, "T2A")
    (found,) = make_submissions(data, "PACC")
    true = data.test.samples.prevalence
    assert metrics.ae(true, found.shares).mean() < 0.1


def test_official_figures():
    true = np.array([[0.0, 1.0], [0.5, 0.5]])
    found = score(find_task("T1"), true, np.array([[0.1, 0.9], [0.5, 0.5]]))
    eps = 1 / 500
    smooth = (true + eps) / (1 + 2 * eps)
    estimate = (np.array([0.1, 0.9]) + eps) / (1 + 2 * eps)
    rae = np.mean(np.abs(estimate - smooth[0]) / smooth[0]) / 2
    assert found.figures[0].mean == pytest.approx(rae)
    assert found.figures[0].deviation == pytest.approx(rae)  # population deviation of (2r, 0)
    assert found.to_text().splitlines()[1] == "MAE: 0.05000 ~ 0.05000"
    assert found.samples.columns[:3] == ["id", "rae", "ae"]


def test_official_figures_of_ordered_classes():
    true = np.array([[0, 0, 0, 0, 1.0], [1, 0, 0, 0, 0], [0.5, 0, 0, 0, 0.5]])
    estimated = np.array([[0, 0, 0, 1.0, 0], [0, 1.0, 0, 0, 0], [0.5, 0, 0, 0, 0.5]])
    found = score(find_task("T3"), true, estimated)
    assert found.figures[0].mean == pytest.approx((0.25 + 0.25) / 3)
    # A mean of exactly five stars is in no bin of the official script.
    bins = np.array([0.25, 0, 0, 0])
    assert found.figures[1].mean == pytest.approx(bins.mean())
    assert found.figures[1].deviation == pytest.approx(bins.std())
    closed = np.array([0.25, 0, 0, 0.25])
    assert found.closed.mean == pytest.approx(closed.mean())
    assert "last bin closed, not official" in found.to_text()
    assert set(found.to_dict()["figures"]) == {
        "MNMD",
        "macro-NMD",
        "macro-NMD, last bin closed",
    }


@pytest.mark.parametrize("task", ["T1", "T2", "T3"])
def test_sections_of_a_score(task, tmp_path):
    (tmp_path / "lequa2024.csv").write_text(PUBLISHED)
    known = find_task(task)
    rng = np.random.default_rng(0)
    true, estimated = rng.dirichlet(np.ones(known.n_classes), (2, 30))
    found = score_sections(known, score(known, true, estimated), tmp_path)
    assert [section.title for section in found] == [
        "Official figures",
        f"{task}: compared with the published results",
        "Largest errors",
    ]
    found[0].figure()
    assert found[2].table.height == 10
    if task == "T2":
        assert "no published results" in found[1].text
    else:
        assert "this submission" in found[1].table["run"].to_list()


def test_published_results_that_cannot_be_read(tmp_path):
    with pytest.raises(HeadcountError, match=r"lequa2024\.csv' cannot be read"):
        read_published_runs(Path(tmp_path), find_task("T1"))
    (tmp_path / "lequa2024.csv").write_text("a,b\n1,2\n")
    with pytest.raises(HeadcountError, match="cannot be read"):
        read_published_runs(Path(tmp_path), find_task("T1"))


def task_of(spec, method, folder):
    (task,) = experiment.plan(replace(spec, methods=(method,)), folder)
    return task


def test_a_committee_is_the_mean_of_its_best_members(spec, folder):
    members = [{"quantifier": name} for name in ("SLD", "PACC", "CC", "PCC")]
    options = {"quantifiers": members, "classifiers": ["discriminant"], "tasks": ["T1"]}
    options |= {"combine": "mean", "keep": 2}
    committee = MethodSpec("Committee", "SLD", options=options)
    spec = replace(spec, datasets=("T1",), methods=(committee,))
    experiment.check(spec)
    (task,) = experiment.plan(spec, folder)
    rows = experiment.run(spec, task, folder)
    assert rows["failure"].null_count() == rows.height
    names = [part.rpartition("=")[2] for part in rows["setting"][0].split("; ")]
    assert len(names) == 2
    single = {}
    for name in ("SLD", "PACC", "CC", "PCC"):
        alone = MethodSpec(name, options={"classifiers": ["discriminant"]})
        one = replace(spec, methods=(alone,))
        (task,) = experiment.plan(one, folder)
        single[name] = experiment.run(one, task, folder)
    chosen = [name for name in single if f"quantifier={name}" in rows["setting"][0]]
    best = replace(committee, options=options | {"keep": 1})
    first = experiment.run(replace(spec, methods=(best,)), task_of(spec, best, folder), folder)
    assert first["setting"][0].rpartition("=")[2] in names
    assert first["dev_error"][0] is not None
    shares = [np.array(single[name]["estimated"].to_list()) for name in chosen]
    np.testing.assert_allclose(rows["estimated"].to_list(), np.mean(shares, axis=0), atol=1e-9)
    for changed, message in (
        ({"combine": "sum"}, "combine"),
        ({"quantifiers": [{"grid": {}}]}, "has no 'quantifier'"),
    ):
        wrong = replace(spec, methods=(replace(committee, options=options | changed),))
        with pytest.raises(HeadcountError, match=message):
            experiment.check(wrong)


def test_report_has_the_figures_of_the_paper(spec, folder, tmp_path):
    generate(tmp_path, "T4", n_train=300, n_dev=5, n_test=30, size=50, progress=False)
    data = datasets.lequa(tmp_path, "T4", progress=False)
    shares = data.first_domain
    assert shares.shape == (30,)
    assert shares.std() > 0
    four = replace(
        spec,
        datasets=("T4",),
        methods=tuple(method for method in spec.methods if method.name != "MC-SQ"),
    )
    results = pl.concat(
        experiment.run(four, task, tmp_path) for task in experiment.plan(four, tmp_path)
    )
    assert results["domain"].unique().sort().to_list() == sorted(set(shares.tolist()))
    prior = data.y.mean()
    np.testing.assert_allclose(
        results["shift"], prior - np.array(results["true"].to_list())[:, 1], atol=1e-12
    )
    sections = {part.title: part for part in experiment.sections(four, results, None)}
    for title in ("estimated and true shares", "errors by shift", "errors by domain"):
        figure = sections[f"T4: {title}"].figure
        assert figure is not None
        assert figure().axes
    (axis,) = sections["T4: errors by domain"].figure().axes
    assert axis.get_ylim()[0] > results.filter(pl.col("rae") > 0)["rae"].min()
    assert any("domain of PCC and" in title for title in sections)
    assert sections["T4: errors by shift"].figure().axes[0].get_yscale() == "log"
    both = {column for _, column in sections["T4: errors on the test samples"].marks}
    assert both == {"RAE", "AE"}


def test_figures_of_ordered_classes_go_by_jaggedness(spec, folder):
    three = replace(spec, datasets=("T3",))
    results = pl.concat(
        experiment.run(three, task, folder) for task in experiment.plan(three, folder)
    )
    sections = {part.title: part for part in experiment.sections(three, results, None)}
    axes = sections["T3: errors by jaggedness"].figure().axes
    assert axes[0].get_ylabel() or axes[0].figure.get_supylabel() == "NMD"
    both = {column for _, column in sections["T3: errors on the test samples"].marks}
    assert both == {"NMD", "Macro-NMD"}
