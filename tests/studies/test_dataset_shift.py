from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from headcount.errors import HeadcountError
from headcount_studies.data import texts
from headcount_studies.dataset_shift import experiment, study
from headcount_studies.engine.spec import MethodSpec, Spec, read_spec
from headcount_studies.engine.task import Task

METHODS = ("CC", "ACC", "PCC", "PACC", "DyS", "SLD")


def rows_of(*arguments: Any) -> pl.DataFrame:
    """Results of a task without the time, which is never the same."""
    return experiment.run(*arguments).drop("seconds")


def real_data() -> Path:
    nearby = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("HEADCOUNT_DATA", nearby))
    if not folder.is_dir():
        pytest.skip("there is no folder of datasets: set HEADCOUNT_DATA")
    return folder


def reviews(n: int = 900) -> texts.Reviews:
    """Texts of made-up words: some tell the stars, others the group."""
    rng = np.random.default_rng(0)
    stars, groups = rng.integers(1, 6, n), rng.choice(["media", "goods"], n)
    written = []
    for star, group in zip(stars, groups, strict=True):
        words = rng.choice([f"common{i}" for i in range(20)], 6).tolist()
        words += rng.choice([f"{group}{i}" for i in range(5)], 2).tolist()
        words += [f"star{np.clip(star + rng.integers(-1, 2), 1, 5)}" for _ in range(2)]
        written.append(" ".join(words))
    return texts.Reviews(
        "amazon_blitzer", np.array(written, dtype=object), stars, groups, ("media", "goods")
    )


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    known = reviews()
    monkeypatch.setattr(study, "load_reviews", lambda name, data: known)
    study.load_words.cache_clear()


@pytest.fixture
def spec() -> Spec:
    sizes = {"amazon_blitzer": [100, 40]}
    return Spec(
        "tiny",
        "dataset-shift",
        ("amazon_blitzer",),
        tuple(MethodSpec(name) for name in METHODS),
        ("ae", "rae"),
        protocol={
            "least": 2,
            "folds": 3,
            "split": 0.6,
            "test_repeats": 3,
            "prior": {
                "repeats": 1,
                "sizes": sizes,
                "train_prevalences": [0.3, 0.5],
                "test_prevalences": [0.1, 0.5, 0.9],
            },
            "global": {
                "repeats": 1,
                "test_repeats": 2,
                "sizes": sizes,
                "alphas": [0.0, 1.0],
                "prevalences": [0.4, 0.6],
            },
            "local": {"repeats": 1, "sizes": sizes, "test_prevalences": [0.25, 0.5, 0.7]},
            "concept": {
                "repeats": 1,
                "sizes": sizes,
                "cut_points": {"amazon_blitzer": [2.5, 3.5]},
            },
        },
        selection={
            "C": [0.1, 10.0],
            "class_weight": ["balanced", "none"],
            "holdout": 0.4,
            "n_prevalences": 5,
            "repeats": 2,
            "sample_share": 0.5,
        },
    )


def tasks_of(spec: Spec) -> dict[str, Task]:
    experiment.check(spec)
    return {task.key: task for task in experiment.plan(spec, Path())}


def results_of(spec: Spec) -> pl.DataFrame:
    return pl.concat(rows_of(spec, task, Path()) for task in tasks_of(spec).values())


def test_one_task_a_training_set(spec: Spec) -> None:
    tasks = tasks_of(spec)
    assert len(tasks) == 2 + 4 + 1 + 2
    assert tasks["amazon_blitzer.prior.0001"].runs == 3 * 3 * 6
    assert tasks["amazon_blitzer.global.0000"].runs == 4 * 2 * 6
    assert tasks["amazon_blitzer.local.0000"].runs == 2 * 3 * 3 * 6  # and its control


def test_built_in_spec_can_be_planned() -> None:
    spec = read_spec("dataset-shift")
    experiment.check(spec)
    tasks = experiment.plan(spec, Path())
    assert len({task.key for task in tasks}) == len(tasks)
    assert experiment.plan(spec.restricted(datasets=["imdb50k"]), Path()) == [
        task for task in tasks if task.dataset == "imdb50k"
    ]


@pytest.mark.usefixtures("made_up")
def test_rows_are_what_the_plan_promises_and_always_the_same(spec: Spec) -> None:
    for task in tasks_of(spec).values():
        rows = rows_of(spec, task, Path())
        assert rows.height == task.runs
        assert rows["failure"].null_count() == rows.height
        expected = (rows["true"].list.get(1) - rows["estimated"].list.get(1)).abs()
        np.testing.assert_allclose(rows["ae"], expected, atol=1e-12)
        study.load_words.cache_clear()
        assert rows.equals(rows_of(spec, task, Path()))


@pytest.mark.usefixtures("made_up")
def test_local_shift_and_its_control_share_training_and_negatives(spec: Spec) -> None:
    rows = rows_of(spec, tasks_of(spec)["amazon_blitzer.local.0000"], Path())
    parts = {name[0]: part for name, part in rows.group_by("protocol")}
    assert set(parts) == {"local", "local-control"}
    columns = ["method", "degree", "test_repeat", "size", "true", "C", "class_weight"]
    assert parts["local"].select(columns).equals(parts["local-control"].select(columns))
    assert not parts["local"]["estimated"].equals(parts["local-control"]["estimated"])


@pytest.mark.usefixtures("made_up")
def test_a_classifier_is_trained_once_for_all_methods(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.linear_model import LogisticRegression

    trained: list[Any] = []
    fit = LogisticRegression.fit

    def counted(self: LogisticRegression, *args: Any, **kwargs: Any) -> Any:
        trained.append(self.C)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(LogisticRegression, "fit", counted)
    monkeypatch.setattr("headcount.scores.folds.is_supported", lambda classifier: False)
    only = replace(spec, selection=spec.selection | {"C": [1.0], "class_weight": ["none"]})
    rows_of(only, tasks_of(only)["amazon_blitzer.prior.0000"], Path())
    assert len(trained) == 1 + 3  # on everything, and in three folds
    trained.clear()
    rows_of(spec, tasks_of(spec)["amazon_blitzer.prior.0000"], Path())
    assert 5 * 4 <= len(trained) <= 8 * 4  # four settings, then those that were chosen


@pytest.mark.usefixtures("made_up")
def test_a_method_that_fails_leaves_the_others_alone(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headcount.quantifiers.matching import DyS

    def fail(self: DyS) -> Any:
        raise RuntimeError("no histograms\ntoday")

    monkeypatch.setattr(DyS, "_aggregation", fail)
    rows = rows_of(spec, tasks_of(spec)["amazon_blitzer.prior.0000"], Path())
    failed = rows.filter(pl.col("failure").is_not_null())
    assert failed["method"].unique().to_list() == ["DyS"]
    assert "no histograms" in failed["failure"][0]
    assert failed["ae"].null_count() == failed.height
    assert rows.filter(pl.col("method") == "SLD")["ae"].null_count() == 0


@pytest.mark.usefixtures("made_up")
def test_sections_show_every_protocol_and_the_paper(spec: Spec, tmp_path: Path) -> None:
    header = "degree,CC,ACC,PCC,PACC,DyS,SLD\n"
    (tmp_path / "shift_prior_mae.csv").write_text(
        header + "0.0,.6,.5,.4,.3,.2,.1\n0.4,.6,.5,.4,.3,.2,.1\n"
    )
    (tmp_path / "shift_global_covariate_mae.csv").write_text(
        "p_train,p_test," + header + "0.4,0.6,-1.0,.6,.5,.4,.3,.2,.1\n"
    )
    results = results_of(spec)
    sections = {each.title: each for each in experiment.sections(spec, results, tmp_path)}
    for view in ("Prior shift", "Global pure covariate shift", "Local covariate shift"):
        section = sections[f"{view}: amazon_blitzer"]
        assert section.table is not None
        assert section.marks is not None
        assert section.table.columns == ["degree", *METHODS]
        means = section.table.select(METHODS)
        for row, column in section.marks:
            if section.marks[row, column] == "best":
                assert means[column][row] == min(means.row(row))
    figure = sections["Concept shift: amazon_blitzer"].figure
    assert figure is not None
    assert figure().axes
    compared = sections["Compared with the paper: prior shift"].table
    assert compared is not None
    assert compared["degree"].to_list() == [0.0, 0.4]
    assert compared["amazon_blitzer"].is_between(-1, 1).all()
    assert "Compared with the paper: global covariate shift" in sections
    without = experiment.sections(spec, results, None)
    assert not any(each.title.startswith("Compared") for each in without)


def shaped(errors: dict[str, dict[str, list[float]]]) -> pl.DataFrame:
    """Results with one sample a degree, from 0 on."""
    rows = [
        {
            "dataset": "amazon_blitzer", "protocol": protocol, "method": method,
            "failure": None, "ae": error, "degree": float(degree),
            "p_train": 0.5, "p_test": 0.5, "alpha_train": None, "alpha_test": None,
            "cut_train": None, "cut_test": None, "repeat": 0, "test_repeat": 0,
        }
        for protocol, methods in errors.items()
        for method, values in methods.items()
        for degree, error in enumerate(values)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"failure": pl.String})


def test_claims_hold_or_not(spec: Spec) -> None:
    up, flat = [0.1, 0.2, 0.3], [0.1, 0.1, 0.1]
    results = shaped(
        {
            "prior": {"CC": up, "PCC": up, "SLD": flat, "ACC": [*flat[:2], 0.11]},
            "local": {"ACC": up, "SLD": up, "CC": flat},
            "local-control": {"ACC": flat, "SLD": flat, "CC": up},
            "concept": {"CC": up, "SLD": flat},
        }
    )
    table = experiment.sections(spec, results, None)[1].table
    assert table is not None
    held = dict(zip(table["claim"], table["holds"], strict=True))
    assert held == {
        "SLD first under prior shift": "yes",
        "CC and PCC last under prior shift": "yes",
        "adjusted methods hurt by local covariate shift": "yes",
        "CC and PCC helped by local covariate shift": "yes",
        "all hurt by concept shift": "no",  # SLD is not
    }


def test_claims_about_methods_that_were_not_run_are_left_out(spec: Spec) -> None:
    up, flat = [0.1, 0.2, 0.3], [0.1, 0.1, 0.1]
    shares = {"prior": {"CC": up, "ACC": flat}, "pure": {"CC": up}}
    local = {"local": {"CC": flat}, "local-control": {"CC": up}}
    table = experiment.sections(spec, shaped(shares | local), None)[1].table
    assert table is not None
    assert table["claim"].to_list() == ["CC and PCC helped by local covariate shift"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": ("imdb",)}, "There is no dataset of reviews 'imdb'"),
        ({"metrics": ("rae",)}, "metrics has no 'ae'"),
        ({"methods": (MethodSpec("CC", parameters={"bins": 3}),)}, "'CC' cannot be made"),
        ({"protocol": {"least": 3, "folds": 5, "split": 0.5}}, "has no 'test_repeats'"),
        ({"selection": {"C": [1.0]}}, r"\[selection\] has no 'class_weight'"),
    ],
)
def test_specs_that_cannot_be_run_are_refused(
    spec: Spec, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(HeadcountError, match=message):
        experiment.check(replace(spec, **change))


def test_groups_are_asked_of_datasets_that_have_them(spec: Spec) -> None:
    protocol = spec.protocol | {
        "global": {"repeats": 1, "sizes": {"imdb50k": [100, 50]}, "alphas": [0.0, 1.0]}
    }
    with pytest.raises(HeadcountError, match="have no two groups"):
        experiment.check(replace(spec, datasets=("imdb50k",), protocol=protocol))


@pytest.mark.usefixtures("made_up")
def test_a_protocol_may_be_answered_without_selection_as_well(spec: Spec) -> None:
    own = spec.protocol["global"] | {"unselected": {"C": 3.0}}
    both = replace(spec, protocol=spec.protocol | {"global": own})
    task = tasks_of(both)["amazon_blitzer.global.0000"]
    rows = rows_of(both, task, Path())
    assert rows.height == task.runs
    parts = {name[0]: part for name, part in rows.group_by("protocol", maintain_order=True)}
    assert parts["global"].equals(rows_of(spec, task, Path()))
    plain = parts["global-unselected"]
    assert plain["C"].unique().to_list() == [3.0]
    assert plain["class_weight"].null_count() == plain.height
    assert plain.select("method", "true").equals(parts["global"].select("method", "true"))


@pytest.mark.usefixtures("made_up")
def test_calibration_may_be_exchanged(spec: Spec) -> None:
    """The settings stay; CC does not change on balanced items, as Platt's curve is monotone."""
    methods = (*spec.methods[:-1], MethodSpec("SLD", parameters={"calibration": "platt"}))
    prior = spec.protocol["prior"] | {"exchange_calibration": True}
    both = replace(spec, methods=methods, protocol=spec.protocol | {"prior": prior})
    task = tasks_of(both)["amazon_blitzer.prior.0001"]
    rows = rows_of(both, task, Path())
    assert rows.height == task.runs
    parts = {name[0]: part for name, part in rows.group_by("protocol", maintain_order=True)}
    assert set(parts) == {"prior", "prior-exchanged"}
    columns = ["method", "true", "C", "class_weight"]
    assert parts["prior"].select(columns).equals(parts["prior-exchanged"].select(columns))
    for method in METHODS[2:]:  # PCC, PACC, DyS, SLD use the values of the scores
        main, exchanged = (part.filter(pl.col("method") == method) for part in parts.values())
        assert exchanged["failure"].drop_nulls().to_list() == []
        assert not main["estimated"].equals(exchanged["estimated"])
    plain = replace(both, methods=(MethodSpec("SLD", parameters={"calibration": "none"}),))
    fixed = replace(plain, selection=spec.selection | {"C": [1.0], "class_weight": ["none"]})
    one = rows_of(fixed, tasks_of(fixed)["amazon_blitzer.prior.0001"], Path())
    calibrated = one.filter(pl.col("protocol") == "prior-exchanged")
    platt = replace(fixed, methods=(MethodSpec("SLD", parameters={"calibration": "platt"}),))
    own = rows_of(platt, tasks_of(platt)["amazon_blitzer.prior.0001"], Path())
    own = own.filter(pl.col("protocol") == "prior")
    # Calibrating the scores first is what SLD's own calibration does.
    np.testing.assert_allclose(calibrated["ae"], own["ae"], atol=1e-6)


@pytest.mark.usefixtures("made_up")
def test_prevalences_of_concept_shift_may_be_forced(spec: Spec) -> None:
    forced = spec.protocol["concept"] | {"train_prevalence": 0.5, "test_prevalence": 0.75}
    both = replace(spec, protocol=spec.protocol | {"forced": forced})
    rows = rows_of(both, tasks_of(both)["amazon_blitzer.forced.0000"], Path())
    assert rows["true"].list.get(1).unique().to_list() == [0.75]
    assert rows["p_train"].unique().to_list() == [0.5]


def test_real_reviews_show_prior_shift() -> None:
    data = real_data()
    spec = read_spec("dataset-shift").restricted(
        datasets=["amazon_5cat_small"], methods=["CC", "SLD"]
    )
    few = replace(spec, selection=spec.selection | {"C": [10.0], "class_weight": ["none"]})
    tasks = {task.key: task for task in experiment.plan(few, data)}
    rows = rows_of(few, tasks["amazon_5cat_small.prior.0005"], data)
    means = dict(rows.group_by("method").agg(pl.col("ae").mean()).iter_rows())
    assert means["SLD"] < means["CC"]
    assert rows["p_train"].unique().to_list() == [0.5]


def test_pure_shift_is_judged_by_training_prevalence_too(spec: Spec) -> None:
    """PCC is first at 0.5, and so far behind at 0.25 that it is not first over both."""
    half = shaped({"global": {"PCC": [0.1, 0.1], "CC": [0.2, 0.2]}})
    quarter = shaped({"global": {"PCC": [0.9, 0.9], "CC": [0.2, 0.2]}}).with_columns(
        pl.lit(0.25).alias("p_train"), pl.lit(0.25).alias("p_test")
    )
    table = experiment.sections(spec, pl.concat([half, quarter]), None)[1].table
    assert table is not None
    held = dict(zip(table["claim"], table["holds"], strict=True))
    assert held["PCC first under pure covariate shift"] == "no"
    assert held["PCC first under pure covariate shift, trained at 0.25"] == "no"
    assert held["PCC first under pure covariate shift, trained at 0.5"] == "yes"


@pytest.mark.usefixtures("made_up")
def test_report_has_the_papers_tables_and_figures(spec: Spec) -> None:
    methods = (*spec.methods[:-1], MethodSpec("SLD", parameters={"calibration": "platt"}))
    protocol = spec.protocol | {
        "prior": spec.protocol["prior"] | {"exchange_calibration": True},
        "forced": spec.protocol["concept"] | {"train_prevalence": 0.5, "test_prevalence": 0.75},
    }
    whole = replace(spec, methods=methods, protocol=protocol)
    results = results_of(whole)
    sections = {part.title: part for part in experiment.sections(whole, results, None)}

    block = sections["Global covariate shift, training prevalence 0.4: amazon_blitzer"]
    assert block.table is not None
    assert block.table.columns[:3] == ["degree", "CC, 0.4", "ACC, 0.4"]
    assert block.table.columns[-1] == "SLD, 0.6"
    cell = results.filter(
        (pl.col("protocol") == "global")
        & (pl.col("p_train") == 0.4)
        & (pl.col("p_test") == 0.6)
        & (pl.col("degree") == -1)
        & (pl.col("method") == "PCC")
    )
    row = block.table.filter(pl.col("degree") == -1)
    assert row["PCC, 0.6"][0] == pytest.approx(cell["ae"].mean())
    assert block.figure is not None
    axes = block.figure().axes
    assert len(axes) == 6 * 2  # methods by prevalences of the test
    assert [ax.get_facecolor()[:3] != (1, 1, 1) for ax in axes[:2]] == [True, False]  # pure
    assert all(ax.get_ylim()[0] == 0 for ax in axes)

    prior = sections["Prior shift: amazon_blitzer"].figure
    assert prior is not None
    (first, *_), degrees = prior().axes, sections["Prior shift: amazon_blitzer"].table
    assert degrees is not None
    assert len(first.patches) == len(degrees)  # one box per degree

    for title, kinds in (
        (
            "Prior shift with and without calibration",
            ("without calibration", "with calibration"),
        ),
        ("Local covariate shift beside prior shift", ("prior shift", "local covariate shift")),
    ):
        pair = sections[f"{title}: amazon_blitzer"]
        assert pair.table is not None
        assert pair.table.columns == ["method", *kinds]
        assert pair.figure is not None
        figure = pair.figure()
        assert len(figure.axes) == len(METHODS)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == list(kinds)
    means = sections["Prior shift with and without calibration: amazon_blitzer"].table
    assert means is not None
    main = results.filter((pl.col("protocol") == "prior") & (pl.col("method") == "SLD"))
    of_degrees = main.group_by("degree").agg(pl.col("ae").mean())["ae"].mean()
    assert means["with calibration"][-1] == pytest.approx(of_degrees)  # SLD has it
    assert "Concept shift with forced prevalences: amazon_blitzer" in sections


def test_claims_of_no_result_are_an_empty_table(spec: Spec) -> None:
    table = experiment.sections(spec, shaped({"prior": {"CC": [0.1]}}).clear(), None)[1].table
    assert table is not None
    assert table.is_empty()


@pytest.mark.usefixtures("made_up")
def test_datasets_are_described_by_group(spec: Spec) -> None:
    rows = experiment.describe(spec, "amazon_blitzer", Path())
    assert [row["reviews"] for row in rows] == ["all", "media", "goods"]
    assert rows[0]["number"] == rows[1]["number"] + rows[2]["number"] == 900
    assert sum(rows[1][f"{star} star{'s' * (star > 1)}"] for star in range(1, 6)) == (
        pytest.approx(1, abs=1e-3)
    )
