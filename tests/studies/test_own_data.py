from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import headcount as hc
import headcount_studies
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount_studies.engine.run import run_study
from headcount_studies.engine.spec import MethodSpec, Spec, parse_spec, read_spec
from headcount_studies.engine.store import with_metrics
from headcount_studies.engine.task import find_experiment, task_seed
from headcount_studies.own_data.report import _compared
from headcount_studies.own_data.study import _SAMPLING, _SHIFT, _trial, load_table
from tests.studies.engine.toy import result_bytes

DOCUMENT = Path(__file__).parents[2] / "docs" / "studies.md"


def customers(n=400, classes=("no", "yes"), seed=0):
    """Numbers, categories, texts, missing values, groups."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(classes), n)
    odds = np.where(y[:, None] > 0, [3, 1, 2, 2], [1, 3, 2, 2]) / 8
    words = ["late", "fast", "box", "shop"]
    age = rng.normal(40 + 12 * y, 10).round(1)
    return pl.DataFrame(
        {
            "customer": np.arange(n),
            "age": np.where(rng.random(n) < 0.05, np.nan, age),
            "plan": np.where(rng.random(n) < 0.2 + 0.5 * (y > 0), "yearly", "monthly"),
            "note": [" ".join(rng.choice(words, 5, p=each)) for each in odds],
            "region": rng.choice([f"r{i}" for i in range(40)], n),
            "site": rng.choice(["north", "south"], n),
            "churn": np.array(classes)[y],
        },
        nan_to_null=True,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADCOUNT_DATA", raising=False)
    customers().write_csv(tmp_path / "shop.csv")
    customers(300, ("a", "b", "c"), 1).write_parquet(tmp_path / "triple.parquet")
    return tmp_path


def own_spec(**changes):
    left_out = ["customer", "region", "site"]
    spec = Spec(
        name="mine",
        kind="own-data",
        datasets=("shop", "triple"),
        data={
            "shop": {"file": "shop.csv", "target": "churn", "drop": left_out},
            "triple": {"file": "triple.parquet", "target": "churn", "drop": left_out},
        },
        methods=(MethodSpec("CC"), MethodSpec("DyS"), MethodSpec("HDx")),
        metrics=("ae",),
        protocol={"name": "UPP", "n_samples": 20, "size": 50, "splits": 2},
    )
    return replace(spec, **changes)


def only_shop(**changes):
    spec = own_spec()
    return own_spec(datasets=("shop",), data={"shop": spec.data["shop"]}, **changes)


def run(spec, folder, **options):
    return run_study(spec, folder / "store", data=folder, workers=1, **options)


# The documented example


def documented():
    text = DOCUMENT.read_text(encoding="utf-8")
    return next(
        body
        for body in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if '"own-data"' in body
    )


def test_every_key_is_documented():
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, protocol in (_SAMPLING | _SHIFT).items():
        assert f"`{name}`" in text
        for field in fields(protocol):
            assert field.name == "random_state" or f"`{field.name}`" in text, field.name
    assert tomllib.loads(documented())["kind"] == "own-data"


# Results


def test_columns_and_shares(folder):
    store = run(own_spec(), folder).store
    frame = store.results()
    assert frame["failure"].null_count() == len(frame) == 2 * 2 * 20 * 3
    assert set(frame["method"]) == {"CC", "DyS", "HDx"}
    by_dataset = frame.group_by("dataset").agg(pl.col("true").list.len().max())
    assert dict(by_dataset.iter_rows()) == {"shop": 2, "triple": 3}
    assert (
        frame.select(pl.col("estimated").list.sum()).to_series().is_between(0.999, 1.001).all()
    )
    # All methods have the same samples; splits have different ones.
    truth = frame.group_by("dataset", "training_set", "sample").agg(pl.col("true").n_unique())
    assert (truth["true"] == 1).all()
    assert frame.filter(pl.col("dataset") == "shop").select("true").n_unique() > 20
    # One-vs-rest for methods of two classes.
    used = frame.filter(pl.col("method") == "DyS").select("dataset", "parameters").unique()
    kinds = {name: text.partition("(")[0] for name, text in used.iter_rows()}
    assert kinds == {"shop": "DyS", "triple": "OneVsRest"}
    assert "random_state" not in "".join(used["parameters"])


def test_results_are_those_of_the_library(folder):
    """The same features, split and samples as by hand."""
    spec = only_shop(methods=(MethodSpec("PACC"),), protocol={"name": "NPP", "n_samples": 5})
    store = run(spec, folder).store
    (task,) = store.tasks
    table = load_table(spec, "shop", folder)
    assert table.preparation.used == ("age", "plan", "note")
    seed = headcount_studies.task_seed(0, "shop", 0)
    protocol = hc.NPP(n_samples=5, random_state=headcount_studies.task_seed(seed, "samples"))
    trial = table.split(protocol, 0.5, headcount_studies.task_seed(seed, "split"))
    classifier = hc.PACC(random_state=seed).fit(trial.X, trial.y)
    expected = classifier.predict_many(trial.pool, trial.samples)
    found = np.array(store.results()["estimated"].to_list())
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert task.settings["classes"] == ["no", "yes"]


def test_resumed_and_added_to(folder):
    whole = run_study(own_spec(), folder / "whole", data=folder, workers=1).store
    spec = own_spec()
    store = run(spec, folder, methods=["CC"], datasets=["shop"]).store
    run(spec, folder, resume=True)
    assert store.status().runs == whole.status().runs == 240
    columns = ["dataset", "method", "training_set", "sample", "ae", "estimated"]
    both = [each.results().select(columns).sort(columns[:4]) for each in (store, whole)]
    assert both[0].equals(both[1])
    (whole.folder / "results" / "shop-1.parquet").unlink()
    before = result_bytes(store.folder)
    again = run_study(spec, whole, data=folder, workers=1, resume=True)
    assert again.done == 1
    run(spec, folder, resume=True)
    assert result_bytes(store.folder) == before


def test_metrics_and_evaluations_afterwards(folder):
    store = run(own_spec(), folder).store
    frame = with_metrics(store.results(), ["nkld", "ae"])
    old = store.results()
    np.testing.assert_allclose(frame["ae"].to_numpy(), old["ae"].to_numpy(), atol=1e-15)
    row = frame.row(70, named=True)
    shares = [np.array([row[name]]) for name in ("true", "estimated")]
    assert row["nkld"] == check_measure("nkld")(*shares, np.array([row["size"]]))[0]
    found = store.evaluations()
    assert list(found) == ["shop", "triple"]
    one = found["triple"]
    assert one.methods == ("CC", "DyS", "HDx")
    assert one.classes.tolist() == ["a", "b", "c"]
    assert one.priors.shape == one.estimated.shape == (3, 40, 3)
    assert (one.seconds > 0).all()
    assert one.parameters["HDx"] == "HDx()"
    part = old.filter((pl.col("dataset") == "triple") & (pl.col("method") == "DyS"))
    np.testing.assert_allclose(one.metrics["ae"][1], part["ae"].to_numpy(), atol=1e-15)
    measured = one.measure("nkld").metrics["nkld"][1]
    kept = frame.filter((pl.col("dataset") == "triple") & (pl.col("method") == "DyS"))
    np.testing.assert_allclose(measured, kept["nkld"].to_numpy(), atol=1e-15)
    np.testing.assert_allclose(one.shift[1], part["shift"].to_numpy(), atol=1e-15)


FOREST = {"class": "sklearn.ensemble:RandomForestClassifier", "parameters": {"n_estimators": 9}}
GRID = {"grid": {"max_depth": [1, 4]}}


def test_a_classifier_with_a_grid_is_chosen_on_each_training_set(folder):
    tree = {"class": "sklearn.tree:DecisionTreeClassifier"}
    grid = {"grid": {"max_depth": [1, 2, 8]}, "folds": 3}
    spec = only_shop(classifier=tree | grid, methods=(MethodSpec("CC"), MethodSpec("PACC")))
    frame = run(spec, folder).store.results()
    assert frame["failure"].null_count() == len(frame)
    assert frame["parameters"].str.contains("GridSearchCV").all()
    # The same as the search itself.
    [task, _] = find_experiment("own-data").plan(spec, folder)
    seed = task_seed(0, "shop", task.settings["training_set"])
    trial = _trial(spec, task, folder, seed)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=seed), grid["grid"], cv=3, scoring="accuracy"
    )
    expected = hc.CC(search).fit(trial.X, trial.y).predict_many(trial.pool, trial.samples)
    rows = frame.filter(pl.col("method") == "CC", pl.col("training_set") == 0).sort("sample")
    np.testing.assert_allclose(np.stack(rows["estimated"].to_list()), expected)
    # Another grid gives another classifier, of one method alone if it is its own.
    shallow = MethodSpec("CC", options={"classifier": tree | {"grid": {"max_depth": [1]}}})
    other = run_study(
        only_shop(classifier=tree | grid, methods=(shallow,)), folder / "other", data=folder,
        workers=1,
    ).store.results()  # fmt: skip
    assert not np.allclose(
        np.stack(other["estimated"].to_list())[:20],
        np.stack(frame.filter(method="CC")["estimated"].to_list())[:20],
    )


def test_a_grid_and_a_classifier_of_ones_own(folder):
    methods = (
        MethodSpec("PACC"),
        MethodSpec("tuned", "PACC", options={"grid": {"classifier__C": [0.01, 10.0]}}),
        MethodSpec("sweep", "MS", options={"grid": {"classifier__C": [0.01, 10.0]}}),
        MethodSpec(
            "Bayes",
            "PACC",
            options={"classifier": {"class": "sklearn.naive_bayes:GaussianNB"}},
        ),
    )
    spec = own_spec(methods=methods, selection={"n_samples": 20, "size": 30, "holdout": 0.3})
    store = run(spec, folder).store
    frame = store.results()
    assert frame["failure"].null_count() == len(frame)
    used = dict(frame.group_by("method").agg(pl.col("parameters").first()).iter_rows())
    assert "C=" in used["tuned"]
    assert "GaussianNB()" in used["Bayes"]


class Halves:
    """A quantifier of another package."""

    def __init__(self, fails_on=None):
        self.fails_on = fails_on

    def get_params(self, deep=True):
        return {"fails_on": self.fails_on}

    def set_params(self, **given):
        self.__dict__.update(given)
        return self

    def __repr__(self):
        return f"Halves({self.fails_on})"

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if len(self.classes_) == self.fails_on:
            raise ZeroDivisionError("no halves\nof it")
        return self

    def predict_many(self, X, samples):
        K = len(self.classes_)
        return np.full((len(samples), K), 1 / K)


def test_a_method_of_ones_own_that_fails_on_a_table(folder):
    methods = (MethodSpec("halves", f"{__name__}:Halves", {"fails_on": 3}), MethodSpec("CC"))
    done = run(own_spec(methods=methods), folder)
    assert done.failures == ()
    assert done.failed_runs == 40
    status = done.store.status()
    assert [(each.dataset, each.method, each.reason) for each in status.failures] == [
        ("triple", "halves", "ZeroDivisionError: no halves of it")
    ]
    found = done.store.evaluations()
    assert found["shop"].methods == ("halves", "CC")
    assert found["triple"].methods == ("CC",)
    assert found["triple"].failures == {"halves": "ZeroDivisionError: no halves of it"}


# Provenance


def test_provenance(folder):
    classifier = {"class": f"{__name__}.Nothing"}
    with pytest.raises(HeadcountError, match=r"Nothing' cannot be imported \(AttributeError"):
        run(own_spec(classifier=classifier), folder)
    methods = (MethodSpec("halves", f"{__name__}:Halves"), MethodSpec("SLD"))
    spec = own_spec(methods=methods, classifier={"class": "sklearn.naive_bayes.GaussianNB"})
    store = run(spec, folder).store
    digest = hashlib.sha256((folder / "shop.csv").read_bytes()).hexdigest()
    assert store.data["shop"] == {"shop.csv": digest}
    ((facts, entries),) = store.journal.runs()
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert facts["versions"][__name__] == f"sha256 {own}"
    assert facts["versions"].keys() >= {"headcount", "scikit-learn", "polars", "python"}
    assert all(entry.methods.keys() == {"halves", "SLD"} for entry in entries)
    assert all(entry.methods["SLD"] > 0 for entry in entries)
    seconds = store.method_seconds()
    assert seconds.keys() == {"shop", "triple"}
    seeds = store.results().group_by("dataset", "training_set").agg(pl.col("seed").n_unique())
    assert (seeds["seed"] == 1).all()


def test_data_that_have_changed_are_refused(folder):
    store = run(own_spec(), folder, methods=["CC"]).store
    before = result_bytes(store.folder)
    os.utime(folder / "shop.csv", (1, 1))
    frame = customers().with_columns(age=pl.col("age") + 1)
    frame.write_csv(folder / "shop.csv")
    with pytest.raises(HeadcountError, match="data of 'shop' have changed"):
        run(own_spec(), folder, resume=True)
    assert result_bytes(store.folder) == before
    # A new store reads the new file, also in the same process.
    again = run_study(own_spec(), folder / "new", data=folder, workers=1, methods=["CC"])
    assert again.store.data["shop"] != store.data["shop"]


# Protocols


def test_labels_that_look_like_fractions(folder):
    risk = np.array(["0.0", "0.5", "1.0"])[np.arange(300) % 3]
    customers(300).with_columns(pl.Series("churn", risk)).write_parquet(folder / "shop.parquet")
    settings = {"file": "shop.parquet", "target": "churn", "drop": ["customer"]}
    spec = replace(only_shop(), data={"shop": settings})
    with pytest.raises(HeadcountError, match="fractions"):
        run(spec, folder)
    spec = replace(spec, data={"shop": settings | {"text_labels": True}})
    results = run(spec, folder).store.results()
    assert results["failure"].null_count() == len(results)
    assert load_table(spec, "shop", folder).y.tolist() == risk.tolist()


def test_groups_are_not_divided(folder):
    spec = only_shop()
    spec.data["shop"].update(drop=["customer", "site"], group="region")
    table = load_table(spec, "shop", folder)
    assert "region" not in table.frame.columns
    frame = customers()
    # Features of the training set identify its rows.
    trial = table.split(hc.NPP(3, 10, random_state=0), 0.5, 0)
    n_train, n_pool = len(trial.y), trial.pool.shape[0]
    assert n_train + n_pool == len(frame)
    assert abs(n_train - 200) < 60
    assert run(spec, folder).done == 2


@pytest.mark.parametrize(
    ("protocol", "n"),
    [
        ({"name": "APP", "step": 0.25, "repeats": 2, "size": 20}, 10),
        ({"name": "Dirichlet", "alpha": 0.5, "n_samples": 4, "size": 20}, 4),
        ({"name": "Prevalences", "prevalences": [[0.2, 0.8]], "repeats": 3, "size": 9}, 3),
        ({"name": "PriorShift", "train_prevalences": [0.3], "test_prevalences": [0.1, 0.9]}, 2),
        ({"name": "GlobalCovariateShift", "alphas": [0.3, 0.7], "prevalences": [0.5]}, 2),
        ({"name": "LocalCovariateShift", "test_prevalences": [0.3, 0.6]}, 2),
        ({"name": "TweakOne", "label": "no", "prevalences": [0.2]}, 1),
        ({"name": "KnockOut", "value": "yes", "removed": [0.0, 0.5]}, 1),
    ],
    ids=lambda each: each["name"] if isinstance(each, dict) else "",
)
def test_protocols(folder, protocol, n):
    if "Shift" in protocol["name"] or protocol["name"] in ("TweakOne", "KnockOut"):
        protocol |= {"train_size": 40, "test_size": 20, "repeats": 1, "test_repeats": 1}
    spec = only_shop(methods=(MethodSpec("CC"),), protocol=protocol)
    spec.data["shop"].update(drop=["customer", "region"], group="site")
    store = run(spec, folder).store
    frame = store.results()
    assert frame["failure"].null_count() == len(frame)
    assert frame.group_by("training_set").len()["len"].unique().to_list() == [n]
    assert store.status().runs == len(frame)
    assert frame["degree"].null_count() == (len(frame) if protocol["name"] in _SAMPLING else 0)
    assert store.evaluations()["shop"].priors.shape[-1] == 2


def test_ratings_that_are_cut(folder):
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, 600)
    pl.DataFrame({"x": stars + rng.normal(size=600), "stars": stars}).write_csv(
        folder / "shop.csv"
    )
    sizes = {"train_size": 60, "test_size": 20, "repeats": 1, "test_repeats": 1}
    data = {"shop": {"file": "shop.csv", "target": "stars"}}
    protocol = {"name": "ConceptShift", "cut_points": [2.5, 3.5], **sizes}
    spec = replace(only_shop(methods=(MethodSpec("CC"),), protocol=protocol), data=data)
    store = run(spec, folder).store
    assert store.evaluations()["shop"].classes.tolist() == [0, 1]
    assert sorted(set(store.results()["degree"])) == [-1.0, 0.0, 1.0]
    cut = {"name": "PriorShift", "train_prevalences": [0.5], "cut_point": 3, **sizes}
    done = run_study(replace(spec, protocol=cut), folder / "cut", data=folder, workers=1)
    assert done.failures == ()


# Bad specs

DATA = {"file": "shop.csv", "target": "churn"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"datasets": ("shop", "lost")}, r"no table \[data.lost\]"),
        ({"data": {"shop": DATA | {"targt": "x"}}}, "did you mean 'target'"),
        ({"data": {"shop": {"file": "shop.csv"}}}, r"\[data.shop\] has no 'target'"),
        ({"data": {"shop": DATA | {"drop": "id"}}}, "must be a list of columns"),
        ({"data": {"shop": DATA | {"text_labels": 1}}}, "must be true or false"),
        ({"data": {"shop": DATA | {"file": "none.csv"}}}, "it lacks none.csv"),
        ({"data": {"shop": DATA | {"target": "chrn"}}}, "lacks the column 'chrn'"),
        ({"data": {"shop": DATA | {"group": "shp"}}}, r"'shp', which \[data.shop\] names"),
        ({"data": {"shop": DATA | {"target": "age"}}}, "lacks .* labels|fractions"),
        ({"protocol": {}}, r"\[protocol\] has no 'name'"),
        ({"protocol": {"name": "UPPP"}}, "no protocol 'UPPP': did you mean 'UPP'"),
        ({"protocol": {"name": "UPP", "n_sample": 3}}, "did you mean 'n_samples'"),
        ({"protocol": {"name": "Prevalences"}}, "lacks a setting of Prevalences"),
        ({"protocol": {"name": "UPP", "train": 2}}, r"train of \[protocol\] is 2"),
        ({"protocol": {"name": "UPP", "splits": 0}}, r"splits of \[protocol\] is 0"),
        ({"protocol": {"name": "UPP", "n_samples": 0}}, "n_samples is 0"),
        ({"protocol": {"name": "GlobalCovariateShift"}}, "needs the group of each item|groups"),
        ({"selection": {"metrc": "ae"}}, "did you mean 'metric'"),
        ({"classifier": {"clas": "a:B"}}, "did you mean 'class'"),
        ({"classifier": FOREST | {"folds": 3}}, "has 'folds' but no grid"),
        ({"classifier": FOREST | {"grid": {"C": [1]}}}, "'C', which is not a parameter of"),
        ({"classifier": FOREST | {"grid": {"max_depth": []}}}, "max_depth"),
        ({"classifier": FOREST | GRID | {"folds": 1}}, "folds of .classifier"),
        ({"classifier": FOREST | GRID | {"scoring": "best"}}, "score of scikit-learn"),
        ({"classifier": {"class": "LogisticRegression"}}, "must be an import path"),
        ({"classifier": {"class": "nosuch:Thing"}}, "cannot be imported"),
        ({"methods": (MethodSpec("SLDD"),)}, "SLD"),
        ({"methods": (MethodSpec("SLD", parameters={"x": 1}),)}, "cannot be made"),
        ({"methods": (MethodSpec("p", "pathlib:Path"),)}, "is not a quantifier"),
        ({"methods": (MethodSpec("SLD", options={"grd": {}}),)}, "did you mean 'grid'"),
        ({"methods": (MethodSpec("CC", options={"grid": {"C": [1]}}),)}, "a parameter of CC"),
        ({"metrics": ("aee",)}, "aee"),
    ],
)  # fmt: skip
def test_bad_specs(folder, changes, sentence):
    spec = only_shop()
    with pytest.raises(HeadcountError, match=sentence) as refused:
        run(replace(spec, **changes), folder)
    assert len(str(refused.value)) <= 300 + len(str(folder))
    assert "\n" not in str(refused.value)
    assert not (folder / "store").exists()


def test_published_studies_take_no_files(folder):
    spec = replace(own_spec(), kind="tweets")
    with pytest.raises(HeadcountError, match=r"\[data\] is for studies of your own data"):
        run(spec, folder)


def test_a_spec_with_files_is_written_and_read(folder):
    spec = own_spec(classifier={"class": "sklearn.svm:SVC", "parameters": {"C": 2.0}})
    assert parse_spec(spec.to_toml()) == spec
    named = parse_spec(re.sub(r"datasets = \[.*?\]\n", "", spec.to_toml(), flags=re.DOTALL))
    assert named == spec


def test_a_built_in_study_is_compared_with_its_published_errors(folder):
    spec = read_spec("uci-multiclass")
    assert len(spec.datasets) == 21
    rng = np.random.default_rng(0)
    rows = [
        (dataset, method, 0, sample, None, float(rng.random()), 0.1, 0.1, "X()")
        for dataset in ("cmc", "yeast")
        for method in ("EMQ", "CC")
        for sample in range(3)
    ]
    columns = ["dataset", "method", "training_set", "sample", "failure", "ae", "rae", "shift"]
    results = pl.DataFrame(rows, [*columns, "parameters"], orient="row").with_columns(
        true=pl.lit([0.2, 0.8]), estimated=pl.lit([0.3, 0.7]), prior=pl.lit([0.5, 0.5])
    )
    mean = results.filter(dataset="cmc", method="EMQ")["ae"].mean()
    (folder / "em_stabilisation_uci_ae.csv").write_text(
        f"dataset,EMQ,EMQ_MAP\ncmc,{mean / 1.5},0.1\nisolet,0.1,0.1\n"
    )
    experiment = find_experiment("own-data")
    found = {section.title: section for section in experiment.sections(spec, results, folder)}
    compared = found["AE compared with the paper"]
    assert compared.table.columns == ["dataset", "EMQ ours", "EMQ published"]
    assert compared.table["dataset"].to_list() == ["cmc", "mean"]
    assert compared.table.row(0)[1:] == pytest.approx((mean, mean / 1.5))
    assert "EMQ +50%" in compared.text
    titles = [section.title for section in experiment.sections(spec, results, None)]
    assert "AE compared with the paper" not in titles
    own = replace(spec, name="mine")
    titles = [section.title for section in experiment.sections(own, results, folder)]
    assert "AE compared with the paper" not in titles


def test_published_methods_are_compared_in_the_order_of_the_results(folder):
    methods = [f"M{number}" for number in range(8)]
    rows = results_of(1, dict.fromkeys(methods, 0.1))
    published = f"dataset,{','.join(methods)}\ncmc{',0.1' * len(methods)}\n"
    (folder / "em_stabilisation_uci_ae.csv").write_text(published)
    spec = replace(read_spec("uci-multiclass"), methods=tuple(map(MethodSpec, methods)))
    sections = list(_compared(spec, rows, "ae", folder))
    columns = [f"{method} {kind}" for method in methods for kind in ("ours", "published")]
    assert sections[0].table.columns == ["dataset", *columns]


def results_of(splits, errors):
    """Rows of two classes: a method's error of each dataset, split and sample."""
    rows = [
        (dataset, method, split, sample, None, 0.1 * sample, error + 0.01 * sample, "X()")
        for dataset in ("cmc", "yeast", "wine")
        for method, error in errors.items()
        for split in range(splits)
        for sample in range(20)
    ]
    columns = ["dataset", "method", "training_set", "sample", "failure", "shift", "ae"]
    noise = np.random.default_rng(0).normal(0, 0.001, len(rows))
    return pl.DataFrame(rows, [*columns, "parameters"], orient="row").with_columns(
        ae=pl.col("ae") + noise, true=pl.lit([0.2, 0.8]), estimated=pl.lit([0.3, 0.7]),
        prior=pl.lit([0.4, 0.6]),
    )  # fmt: skip


def sections_of(spec, results):
    sections = find_experiment("own-data").sections(spec, results, None)
    return {section.title: section for section in sections}


def test_training_sets_are_the_units_of_the_tests():
    methods = tuple(MethodSpec(name) for name in ("CC", "PACC", "SLD"))
    spec = replace(
        only_shop(), datasets=("cmc", "yeast", "wine"), methods=methods, metrics=("ae",)
    )
    errors = {"CC": 0.3, "PACC": 0.102, "SLD": 0.1}
    one, several = (sections_of(spec, results_of(splits, errors)) for splits in (1, 3))
    assert "Wilcoxon signed-rank tests of the samples" in one["AE"].text
    assert "Paired t-tests of the means of the training sets" in several["AE"].text
    # Twenty samples leave no doubt about the difference, three training sets do.
    assert [one["AE"].marks.get((row, "PACC")) for row in range(3)] == [None] * 3
    assert all(several["AE"].marks.get((row, "PACC")) for row in range(3))
    assert several["AE"].table.row(0)[1:] == pytest.approx((0.395, 0.197, 0.195), abs=0.001)
    assert several["AE"].marks[3, "SLD"] == several["AE"].marks[4, "SLD"] == "best"


def test_figures_show_each_dataset_ranks_and_training_shares():
    methods = tuple(MethodSpec(name) for name in ("CC", "PACC", "SLD"))
    spec = replace(
        only_shop(), datasets=("cmc", "yeast", "wine"), methods=methods, metrics=("ae",)
    )
    found = sections_of(spec, results_of(2, {"CC": 0.3, "PACC": 0.2, "SLD": 0.1}))
    assert list(found) == ["AE", "Ranks by AE", "Estimated and true shares", "Settings"]
    by_shift, ranks, diagonal = (section.figure() for section in list(found.values())[:3])
    assert [ax.get_title() for ax in diagonal.axes if ax.get_title()] == [
        "cmc",
        "yeast",
        "wine",
    ]
    assert [ax.get_title() for ax in by_shift.axes if ax.get_title()] == [
        "cmc",
        "yeast",
        "wine",
    ]
    points = [line.get_xydata().tolist() for line in diagonal.axes[0].lines]
    assert [[0.6, 0.6]] in points
    assert "3 datasets" in found["Ranks by AE"].text
    assert ranks.axes
    assert "Ranks by AE" not in sections_of(spec, results_of(2, {"CC": 0.3, "SLD": 0.1}))
