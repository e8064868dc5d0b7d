"""Networks as quantifiers: what they learn, accept, refuse and keep."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount import metrics
from headcount.errors import HeadcountError
from headcount.quantifiers.deep import model as settings
from headcount.quantifiers.deep.model import check_budget
from headcount.samples import Samples
from headcount.tables.model_files import load_model, save_model
from headcount.tables.models import ModelItems, TableModel

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

NETWORKS = {
    "QuaNet": {"units": 8, "head": (32,)},
    "HistNet": {"hidden": (16,), "features": 8, "bins": 8},
    "GMNet": {"branches": 2, "gaussians": 8, "dimensions": 2, "hidden": 8},
    "DeepSets": {"hidden": (16, 16)},
    "SetTransformer": {"width": 16, "heads": 2, "inducing": 4, "blocks": 1},
}
each_network = pytest.mark.parametrize("name", NETWORKS)
DEFAULTS = hc.DeepSets.__init__.__kwdefaults__
SMALL = {"epochs": 1, "size": 20, "head": (16,), "random_state": 0}


def make(name, **more):
    return hc.method(name)(**SMALL | NETWORKS[name] | more)


def items(n, shares, seed, width=5):
    """Items of classes that a classifier cannot tell apart well."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(len(shares), n, p=shares)
    centres = np.random.default_rng(1).normal(size=(len(shares), width))
    return centres[codes] + rng.normal(size=(n, width)), codes


X, Y = items(300, [0.7, 0.3], 2)


# Learning


@each_network
def test_errors_are_well_below_those_of_classify_and_count(name):
    known, labels = items(1500, [0.8, 0.2], 3)
    pool, truth = items(4000, [0.5, 0.5], 4)
    samples = hc.UPP(n_samples=100, size=100, random_state=0).draw(truth)
    network = make(name, epochs=12, size=100, learning_rate=5e-3).fit(known, labels)
    assert len(network.validation_losses_) == 12
    error, counted = (
        metrics.ae(samples.prevalence, q.predict_many(pool, samples)).mean()
        for q in (network, hc.CC().fit(known, labels))
    )
    assert error < 0.5 * counted


def test_estimates_are_corrected_from_the_start():
    # After one epoch of small steps the answer is still about that of SLD.
    pool, _ = items(400, [0.2, 0.8], 5)
    network = make("HistNet", estimates=["SLD", "PACC"], learning_rate=1e-5).fit(X, Y)
    sld = hc.SLD(random_state=0).fit(X, Y).predict(pool)
    assert np.abs(network.predict(pool) - sld).max() < 0.06


def test_ordered_classes_by_match_distance():
    known, labels = items(300, [0.2, 0.5, 0.3], 6)
    network = make("GMNet", loss="nmd").fit(known, labels)
    assert network.predict(known).shape == (3,)


def test_the_best_weights_are_kept():
    settings = {"epochs": 6, "learning_rate": 0.3}
    losses = make("DeepSets", **settings).fit(X, Y).validation_losses_
    best = int(np.argmin(losses))
    assert best < 5
    # Of training that ends at the best validation, and of the one that went on.
    shorter = make("DeepSets", **settings, patience=1).fit(X, Y)
    assert len(shorter.validation_losses_) < 6
    assert shorter.validation_losses_ == losses[: len(shorter.validation_losses_)]


def test_a_budget_ends_training():
    network = make("DeepSets", budget=0.2, epochs=10**9).fit(X, Y)
    assert len(network.validation_losses_) == 12


@each_network
def test_equal_seeds_give_equal_answers(name):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = make(name, dropout=0.2).fit(X, Y).predict(X)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second = make(name, dropout=0.2).fit(X, Y).predict(X)
    np.testing.assert_array_equal(first, second)
    other = make(name, dropout=0.2, random_state=1).fit(X, Y).predict(X)
    assert (first != other).any()


def test_threads_of_pytorch_are_restored():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        make("DeepSets").fit(X, Y).predict(X)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# Known bags


def bags_of(X, Y, n=24, size=25):
    samples = hc.UPP(n_samples=n, size=size, random_state=0).draw(Y)
    return samples, samples.prevalence


@pytest.mark.parametrize("name", ["HistNet", "GMNet", "DeepSets", "SetTransformer"])
def test_bags_with_known_shares(name):
    samples, shares = bags_of(X, Y)
    given = list(samples)
    network = make(name).fit_samples(X, given, shares)
    np.testing.assert_array_equal(network.classes_, [0, 1])
    np.testing.assert_allclose(network.prior_, shares.mean(axis=0))
    by_samples = make(name).fit_samples(X, samples)
    np.testing.assert_array_equal(network.predict(X), by_samples.predict(X))
    with pytest.raises(HeadcountError, match=r"^\w+ was fitted on bags without labels"):
        network.estimate(X)


def test_bags_of_labelled_items_have_estimates():
    names = np.array(["no", "yes"])[Y]
    samples, _ = bags_of(X, Y)
    network = make("HistNet").fit_samples(X, samples, y=names)
    assert list(network.estimate(X, replicates=200).prevalence) == ["no", "yes"]


def test_bags_and_labelled_items():
    names = np.array(["no", "yes"])
    samples, shares = bags_of(X, Y)
    network = make("QuaNet").fit_samples(X, samples, shares, labelled=(X, names[Y]))
    np.testing.assert_array_equal(network.classes_, names)
    np.testing.assert_allclose(network.prior_, np.bincount(Y) / len(Y))
    assert network.estimate(X, replicates=200).n_items == 300


@pytest.mark.parametrize(
    ("name", "more", "mixed"),
    [
        ("HistNet", {}, True),
        ("GMNet", {}, True),
        ("DeepSets", {}, True),
        ("DeepSets", {"pooling": "median"}, False),
        ("SetTransformer", {}, False),
        ("HistNet", {"estimates": ["SLD"]}, False),
    ],
)
def test_known_bags_are_mixed_where_that_is_exact(name, more, mixed, monkeypatch):
    from headcount.quantifiers.deep import networks as _training

    numbers, own = [], _training.mixtures

    def counted(vectors, shares, number):
        numbers.append(number)
        return own(vectors, shares, number)

    monkeypatch.setattr(_training, "mixtures", counted)
    make(name, **more).fit_samples(X, bags_of(X, Y)[0], y=Y)
    # 25 steps, as an epoch has.
    assert len(numbers) == (25 if mixed else 0)
    numbers.clear()
    make(name, **more).fit(X, Y)
    assert not numbers


def test_bags_of_different_sizes():
    rows = [np.arange(start, start + 15 + start % 7) for start in range(0, 250, 10)]
    samples = Samples.from_arrays(rows, n_pool=300, y=Y)
    network = make("HistNet").fit_samples(X, samples)
    np.testing.assert_allclose(network.predict(X).sum(), 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "^prevalence is missing"),
        ({"prevalence": np.full((9, 2), 0.5)}, r"^prevalence has shape \(9, 2\)"),
        ({"prevalence": np.full((24, 2), 0.6)}, "^prevalence is off the simplex in row 0"),
        ({"prevalence": np.full(24, 0.6)}, "^prevalence has 1 dimension"),
        ({"y": Y[:-1]}, "^X_pool has 300 rows, but y has 299 labels"),
        ({"prevalence": np.full((24, 2), 0.5), "classes": [1]}, "^prevalence has shape"),
        ({"prevalence": np.full((24, 2), 0.5), "labelled": (X, Y + 0.5 * (X[:, 0] > 0))},
         r"^prevalence has shape \(24, 2\), but there are 24 samples and 4 classes"),
    ],
)  # fmt: skip
def test_bad_bags(given, message):
    samples = list(bags_of(X, Y)[0])
    with pytest.raises(HeadcountError, match=message) as caught:
        make("HistNet").fit_samples(X, samples, **given)
    assert len(str(caught.value)) <= 300


def test_too_few_bags():
    samples, shares = bags_of(X, Y, n=3)
    with pytest.raises(HeadcountError, match=r"^samples has 3 bags; pass at least 4"):
        make("HistNet").fit_samples(X, samples, shares)


def test_a_classifier_needs_labels():
    samples, shares = bags_of(X, Y)
    with pytest.raises(HeadcountError, match=r"^QuaNet trains a classifier, which needs label"):
        make("QuaNet").fit_samples(X, samples, shares)


# Items


def test_wide_tables_are_reduced():
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(300, 40))])
    shares = [
        make("HistNet", n_components=6).fit(table, Y).predict(table)
        for table in (wide, sparse.csr_array(wide))
    ]
    assert all(each.shape == (2,) for each in shares)


def test_columns_must_be_numbers():
    frame = pd.DataFrame(X, columns=list("abcde")).assign(b="text")
    with pytest.raises(HeadcountError, match=r"^X has values in column 'b' that are not"):
        make("HistNet").fit(frame, Y)


def test_columns_must_be_those_of_training():
    network = make("HistNet").fit(X, Y)
    with pytest.raises(HeadcountError, match=r"^X has 4 columns, but the quantifier"):
        network.predict(X[:, :4])


# Parameters


@pytest.mark.parametrize(
    ("name", "given", "rate"),
    [
        ("HistNet", {}, 3e-3),
        ("HistNet", {"estimates": ["SLD"]}, 1e-3),
        ("HistNet", {"estimates": ["SLD"], "learning_rate": 0.5}, 0.5),
        ("QuaNet", {}, 1e-3),
    ],
)
def test_estimates_are_corrected_by_small_steps(name, given, rate):
    assert make(name, **given)._aggregation().settings.learning_rate == rate


@pytest.mark.parametrize(
    ("budget", "seconds"), [("90s", 90), ("10min", 600), ("1.5 h", 5400), (7, 7), (None, None)]
)
def test_budgets(budget, seconds):
    assert check_budget(budget) == seconds


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("HistNet", {"budget": "10 days"}, "^budget is '10 days'; it must be a time such as"),
        ("HistNet", {"budget": "0s"}, "^budget is '0s'"),
        ("HistNet", {"budget": -1}, "^budget is -1"),
        ("HistNet", {"loss": "kld"}, "^loss is 'kld'; it must be one of 'ae', 'rae', 'ae-rae'"),
        ("HistNet", {"estimates": "SLD"}, "^estimates is 'SLD'; it must be a list"),
        ("HistNet", {"estimates": ["HDx"]}, "^estimates has 'HDx', which does not work on"),
        ("HistNet", {"estimates": ["SDL"]}, "^estimates has 'SDL', which is not a method"),
        ("HistNet", {"dropout": 1.0}, "^dropout is 1.0"),
        ("HistNet", {"device": "gpu0"}, "^device is 'gpu0', which PyTorch cannot use here"),
        ("QuaNet", {"estimates": []}, "^estimates is empty, but QuaNet sorts items"),
        ("SetTransformer", {"heads": 3}, "^heads is 3, which does not divide width, 16"),
    ],
)
def test_bad_parameters(name, given, message):
    with pytest.raises(HeadcountError, match=message):
        make(name, **given).fit(X, Y)


def test_clones_have_the_parameters():
    network = make("HistNet", estimates=("SLD",), classifier=LogisticRegression(C=3))
    copied = clone(network)
    assert copied.get_params() | {"classifier": None} == network.get_params() | {
        "classifier": None
    }
    assert copied.classifier.C == 3


# Without PyTorch


@each_network
def test_networks_say_that_pytorch_is_missing(name, monkeypatch):
    monkeypatch.setattr(settings, "find_spec", lambda module: None)
    message = (
        f"{name} needs PyTorch, which is not installed: install it by "
        "pip install 'headcount[deep]'."
    )
    with pytest.raises(HeadcountError, match=f"^{re.escape(message)}$"):
        make(name).fit(X, Y)


def test_importing_headcount_does_not_import_pytorch():
    code = (
        "import sys, headcount as hc, headcount.quantifiers.deep\n"
        "hc.HistNet(), hc.SLD().fit([[0.0], [1.0]] * 9, [0, 1] * 9)\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Files


def saved(name, folder, **changed):
    """A fitted network, and a model file of it whose arrays are changed."""
    network = make(name, estimates=("SLD", "KDEyML")).fit(X, Y)
    unfitted = clone(network).set_params(budget="10h")
    source = ModelItems(X, Y, network.trained_arrays() | changed)
    path = folder / "model.skops"
    save_model(TableModel(unfitted, "y", None, None, "items", source), path)
    return network, path


@each_network
def test_networks_are_saved_without_pickles(name, tmp_path):
    network, path = saved(name, tmp_path)
    # A budget of ten hours: the network is not trained again when the file is read.
    again = load_model(path).quantifier
    assert again.validation_losses_ == network.validation_losses_
    np.testing.assert_array_equal(again.predict(X), network.predict(X))
    assert again.estimate(X, replicates=100).n_items == 300


@pytest.mark.parametrize(
    "changed",
    [
        {"last.bias": np.zeros(3, np.float32)},
        {"last.bias": np.full(2, np.nan, np.float32)},
        {"last.bias": np.array(["a", "b"])},
        {"other": np.zeros(2, np.float32)},
    ],
)
def test_other_weights_are_refused(tmp_path, changed):
    path = saved("DeepSets", tmp_path, **changed)[1]
    with pytest.raises(HeadcountError, match="is not a model that headcount has saved"):
        load_model(path)


def test_a_file_of_a_network_needs_pytorch(tmp_path, monkeypatch):
    path = saved("DeepSets", tmp_path)[1]
    monkeypatch.setattr(settings, "find_spec", lambda module: None)
    with pytest.raises(HeadcountError, match=r"^DeepSets needs PyTorch, which is not"):
        load_model(path)


def test_a_network_is_a_method_of_tables(monkeypatch):
    monkeypatch.setattr(hc.DeepSets.__init__, "__kwdefaults__", {**DEFAULTS, **SMALL})
    frame = pd.DataFrame(X, columns=list("abcde"))
    found = hc.analyse(frame, train=frame.assign(label=Y), target="label", method="deepsets")
    assert found.to_frame().height == 2
