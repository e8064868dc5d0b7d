from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.scores import fit_calibrator
from headcount_studies.engine.spec import MethodSpec, read_spec
from headcount_studies.engine.task import datasets_there, find_experiment
from headcount_studies.label_shift import experiment
from headcount_studies.label_shift.study import conditions, draw_trial, gain, load_network

NETWORK = "cifar10_resnet20"
PROTOCOL = {
    "trials": {"cifar10": 3},
    "sizes": {"cifar10": [200]},
    "dirichlet": [1.0],
    "tweakone": [0.6],
    "tweaked": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Overconfident logits of three classes, in the layout of the networks'."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "logits").mkdir()
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    logits = 3.0 * (np.eye(3)[labels] * 1.5 + rng.normal(size=(900, 3)))
    np.savez(
        folder / "logits" / f"{NETWORK}.npz",
        logits=logits.astype(np.float16),
        labels=labels.astype(np.uint8),
    )
    return folder


@pytest.fixture(scope="module")
def spec():
    whole = read_spec("label-shift-networks").restricted(datasets=[NETWORK])
    return replace(whole, protocol=PROTOCOL)


@pytest.fixture(scope="module")
def results(spec, folder):
    return pl.concat(
        experiment.run(spec, task, folder) for task in experiment.plan(spec, folder)
    )


def test_the_spec():
    spec = read_spec("label-shift-networks")
    experiment.check(spec)
    assert find_experiment(spec.kind) is experiment
    tasks = experiment.plan(spec, None)
    assert len(tasks) == 8 * 2 + 4
    # 104 and 100 trials, as about the hundred of the paper.
    runs = {"cifar10_": 104 * 2, "cifar100": 100}
    for name, trials in runs.items():
        some = [task.runs for task in tasks if task.dataset.startswith(name)]
        assert sum(some) == trials * len(conditions(spec)) * 17


def test_source_and_samples_come_from_different_images(spec, folder):
    network = load_network(NETWORK, folder)
    assert network.posteriors.shape == (900, 3)
    np.testing.assert_allclose(network.posteriors.sum(axis=1), 1)
    trials = [draw_trial(spec, network, NETWORK, 200, number) for number in (0, 0, 1)]
    assert np.array_equal(trials[0].source, trials[1].source)
    assert not np.array_equal(trials[0].source, trials[2].source)
    for rows in trials[0].samples:
        assert len(rows) == 200
        assert not set(rows) & set(trials[0].source)
    tweaked = np.bincount(network.y[trials[0].samples[1]], minlength=3) / 200
    np.testing.assert_allclose(tweaked, [0.2, 0.6, 0.2])
    assert len(set(trials[0].source)) == 200


def test_rows_are_those_of_the_methods(spec, folder, results):
    assert results["failure"].null_count() == len(results) == 3 * 2 * 17
    network = load_network(NETWORK, folder)
    trial = draw_trial(spec, network, NETWORK, 200, 1)
    posteriors, y = network.posteriors, network.y
    calibrated = fit_calibrator("bcts", posteriors[trial.source], y[trial.source]).transform(
        posteriors
    )
    prior = np.bincount(y[trial.source], minlength=3) / 200
    for name, scores, quantifier in (
        ("EM", posteriors, hc.SLD(calibration=None)),
        ("EM BCTS", calibrated, hc.SLD(calibration=None)),
        ("BBSE hard", posteriors, hc.BBSE()),
        ("RLLS soft BCTS", calibrated, hc.RLLS()),
    ):
        quantifier.fit(hc.Scored(scores[trial.source]), y[trial.source])
        rows = trial.samples[1]
        shares = quantifier.predict(hc.Scored(scores[rows]))
        row = results.filter(method=name, trial=1, shift="tweakone").row(0, named=True)
        np.testing.assert_allclose(row["estimated"], shares, atol=1e-12)
        true = np.bincount(y[rows], minlength=3) / 200
        error = np.mean((shares / prior - true / prior) ** 2)
        assert row["mse_weights"] == pytest.approx(error)
        adapted = (scores[rows] * shares / prior).argmax(axis=1) == y[rows]
        plain = posteriors[rows].argmax(axis=1) == y[rows]
        assert row["gain_accuracy"] == pytest.approx(adapted.mean() - plain.mean())
    medians = dict(results.group_by("method").agg(pl.col("mse_weights").median()).iter_rows())
    assert medians["EM BCTS"] < medians["EM"]  # the logits are overconfident
    assert results.filter(method="EM BCTS")["gain_accuracy"].mean() > 0


def test_true_weights_gain_and_equal_ones_do_not(folder):
    network = load_network(NETWORK, folder)
    rows = np.flatnonzero(network.y == 1)
    assert gain(network, network.posteriors, rows, np.ones(3)) == 0
    assert gain(network, network.posteriors, rows, np.array([0.0, 1.0, 0.0])) > 0


def test_a_method_that_fails_leaves_the_others(spec, folder):
    broken = MethodSpec("broken", "RLLS", {"shrinkage": -1.0})
    small = replace(spec, methods=(broken, spec.methods[0]))
    rows = experiment.run(small, experiment.plan(small, folder)[0], folder)
    failed = rows.filter(method="broken")
    assert failed["failure"].str.contains("shrinkage").all()
    assert failed["mse_weights"].null_count() == len(failed) == 6
    assert rows.filter(method="EM")["failure"].null_count() == 6


def test_the_report_compares_with_the_nearest_size(spec, results, tmp_path):
    lines = [
        "data,shift,alpha,n,estimator,calibration,trials,median_mse_weights,median_gain_accuracy"
    ]
    medians = results.group_by("shift", "alpha", "method").agg(pl.col("mse_weights").median())
    published = {
        "EM": ("em", "None"),
        "EM BCTS": ("em", "BCTS"),
        "RLLS hard": ("rlls-hard", "None"),
    }
    for shift, alpha, method, error in medians.iter_rows():
        if method in published:
            names = ",".join(published[method])
            lines.append(f"cifar10,{shift},{alpha},2000,{names},100,{error / 2},0.0")
    (tmp_path / "label_shift_networks.csv").write_text("\n".join(lines))
    found = {section.title: section for section in experiment.sections(spec, results, tmp_path)}
    compared = found["Compared with the paper: cifar10"]
    assert compared.table["method"].to_list() == ["EM", "EM BCTS", "RLLS hard"]
    np.testing.assert_allclose(compared.table["error, ours / published"], 2, rtol=1e-6)
    assert compared.table["conditions"].to_list() == [2, 2, 2]
    assert "n = 200 is compared with the published n = 2,000" in compared.text
    assert "dirichlet 1, n = 200: 1.00" in compared.text
    assert compared.figure() is not None
    errors = found["Errors of the weights: cifar10"]
    assert errors.table.columns == ["method", "dirichlet 1.0, n = 200", "tweakone 0.6, n = 200"]
    median = results.filter(method="EM", shift="tweakone")["mse_weights"].median()
    assert errors.table.row(0)[2] == pytest.approx(median)
    gains = found["Gains of accuracy: cifar10"]
    best = {row for (row, name) in gains.marks if name == gains.table.columns[1]}
    column = gains.table[gains.table.columns[1]]
    assert {column[row] for row in best} == {column.max()}
    assert found["Experiments"].table["trials"].to_list() == [3]
    assert len(experiment.sections(spec, results, None)) == 3


def test_files(spec, folder, tmp_path):
    assert datasets_there(read_spec("label-shift-networks"), folder) == [NETWORK]
    (tmp_path / "logits").mkdir()
    path = tmp_path / "logits" / f"{NETWORK}.npz"
    np.savez(path, logits=np.zeros((4, 2)))
    with pytest.raises(HeadcountError, match="must have logits and labels"):
        load_network(NETWORK, tmp_path)
    np.savez(path, logits=np.zeros((4, 2)), labels=np.zeros(3, int))
    load_network.cache_clear()
    with pytest.raises(HeadcountError, match="one finite row of logits per label"):
        load_network(NETWORK, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"protocol": PROTOCOL | {"size": 3}}, "unknown key 'size'"),
        ({"protocol": {"trials": {"cifar10": 1}}}, "no table 'sizes'"),
        ({"protocol": PROTOCOL | {"dirichlet": [], "tweakone": []}}, "has no shift"),
        ({"protocol": PROTOCOL | {"dirichlet": [0.0]}}, "entry of dirichlet"),
        ({"protocol": PROTOCOL | {"tweakone": [1.5]}}, "entry of tweakone"),
        ({"protocol": PROTOCOL | {"tweaked": -1}}, "tweaked of"),
        ({"metrics": ("ae",)}, "There is no metric 'ae'"),
        ({"datasets": ("mnist_cnn",)}, "entry of trials of .protocol. 'mnist'"),
        ({"methods": (MethodSpec("SLD", options={"calibration": "x"}),)}, "calibration 'x'"),
        ({"methods": (MethodSpec("SLD", parameters={"x": 1}),)}, "unknown key 'x'"),
    ],
)
def test_specs_that_cannot_be_run(spec, change, sentence):
    with pytest.raises(HeadcountError, match=sentence):
        experiment.check(replace(spec, **change))


def test_more_items_than_half_of_the_images_are_refused(spec, folder):
    network = load_network(NETWORK, folder)
    with pytest.raises(HeadcountError, match=r"sizes of .protocol. has 451, but half"):
        draw_trial(spec, network, NETWORK, 451, 0)
