"""The bridge to QuaPy, on all of its methods and protocols."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import headcount as hc
import headcount_studies
from headcount.errors import HeadcountError
from headcount.interop.foreign import (
    from_labelled_collection,
    from_quapy,
    is_quapy,
    samples_from_quapy,
    to_labelled_collection,
    to_quapy,
)
from headcount.testing.cases import labelled, pool, samples

qp = pytest.importorskip("quapy", reason="QuaPy is not installed: pip install quapy")
pytestmark = pytest.mark.filterwarnings("ignore")

AGGREGATIVE = sorted(qp.method.AGGREGATIVE_METHODS, key=lambda found: found.__name__)
OTHERS = sorted(qp.method.NON_AGGREGATIVE_METHODS, key=lambda found: found.__name__)
NAMES = np.array(["b", "c", "a"])
DRAWN = [samples()[number] for number in (0, 2)]


# Bayesian methods draw few numbers.
QUICK = {"num_warmup": 10, "num_samples": 10}


def made(method):
    """Instance; None if QuaPy lacks a package for it."""
    allowed = inspect.signature(method).parameters
    try:
        return method(**{name: value for name, value in QUICK.items() if name in allowed})
    except ImportError:
        return None


def direct(method, K):
    """Shares by QuaPy alone, with one random seed for each step; the error if it has one."""
    X, y = labelled(K)
    try:
        with qp.util.temp_seed(0):
            fitted = made(method).fit(X, y)
        with qp.util.temp_seed(0):
            return np.array([fitted.predict(pool(K)[index]) for index in DRAWN])
    except Exception as error:
        return error


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("method", [*AGGREGATIVE, *OTHERS], ids=lambda found: found.__name__)
def test_every_method_predicts_the_same_or_is_refused_by_name(method, K):
    if made(method) is None:
        pytest.skip(f"QuaPy lacks a package for {method.__name__}")
    X, y = labelled(K)
    expected = direct(method, K)
    quantifier = from_quapy(made(method), random_state=0)
    if isinstance(expected, Exception):
        with pytest.raises(HeadcountError, match=rf"^{method.__name__} of quapy.* cannot be "):
            quantifier.fit(X, y).predict_many(pool(K), DRAWN)
        return
    given = quantifier.fit(X, y).predict_many(pool(K), DRAWN)
    np.testing.assert_array_equal(given, expected)
    if "num_samples" in quantifier.method.get_params():
        return  # the rest takes too long
    twin = clone(quantifier).fit(X, y)
    np.testing.assert_array_equal(twin.predict_many(pool(K), DRAWN), expected)
    # There and back.
    back = to_quapy(from_quapy(made(method), random_state=0)).fit(X, y)
    np.testing.assert_array_equal(back.predict(pool(K)), quantifier.predict(pool(K)))


def test_labels_of_any_kind():
    X, y = labelled(3)
    method = qp.method.aggregative.PACC(LogisticRegression())
    named = from_quapy(method).fit(X, NAMES[y])
    np.testing.assert_array_equal(named.classes_, np.sort(NAMES))
    by_quapy = qp.method.aggregative.PACC(LogisticRegression()).fit(X, NAMES[y])
    np.testing.assert_allclose(named.predict(pool(3)), by_quapy.predict(pool(3)), atol=1e-8)


def test_a_fitted_method_is_used_as_it_is():
    X, y = labelled(3)
    fitted = qp.method.aggregative.EMQ(LogisticRegression()).fit(X, NAMES[y])
    quantifier = from_quapy(fitted, classes=["a", "b", "c"])
    np.testing.assert_array_equal(quantifier.predict(pool(3)), fitted.predict(pool(3)))
    assert quantifier.fitted_.model.method is fitted
    assert np.isnan(quantifier.prior_).all()
    with pytest.raises(HeadcountError, match=r"^classes is .*sorted and distinct"):
        from_quapy(fitted, classes=["b", "a", "c"])


def test_evaluate_and_grid_search_take_it():
    X, y = labelled(2)
    methods = {
        "QuaPy": from_quapy(qp.method.aggregative.KDEyML(LogisticRegression())).fit(X, y),
        "ours": hc.KDEyML(LogisticRegression()).fit(X, y),
    }
    codes = np.arange(120) % 2
    found = hc.evaluate(methods, pool(2), codes, hc.UPP(n_samples=20, size=30, random_state=0))
    assert found.methods == ("QuaPy", "ours")
    search = hc.GridSearch(
        from_quapy(qp.method.aggregative.KDEyML(LogisticRegression())),
        {"method__bandwidth": [0.1, 0.9], "method__classifier__C": [0.1, 1.0]},
        protocol=hc.UPP(n_samples=20, size=30, random_state=0),
        random_state=0,
        progress=False,
    ).fit(X, y)
    assert set(search.best_params_) == {"method__bandwidth", "method__classifier__C"}
    assert search.results_.means.shape == (4,)
    assert len(set(search.results_.means)) > 1


def test_binary_methods_work_inside_one_vs_rest():
    X, y = labelled(3)
    quantifier = hc.OneVsRest(from_quapy(qp.method.aggregative.DyS(LogisticRegression())))
    shares = quantifier.fit(X, y).predict(pool(3))
    np.testing.assert_allclose(shares.sum(), 1)


def test_sparse_items():
    X, y = labelled(2)
    X, new = np.maximum(X, 0), np.maximum(pool(2), 0)
    dense, thin = (
        from_quapy(qp.method.aggregative.PACC(LogisticRegression())).fit(kind(X), y)
        for kind in (np.asarray, sparse.csr_matrix)
    )
    np.testing.assert_allclose(
        thin.predict_many(sparse.csr_matrix(new), samples()),
        dense.predict_many(new, samples()),
        atol=1e-6,
    )


def test_a_study_names_classes_of_quapy(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = {"x": rng.normal(2 * y), "kind": np.array(["a", "b"])[y]}
    pl.DataFrame(table).write_csv(tmp_path / "shop.csv")
    spec = headcount_studies.Spec(
        name="bridge",
        kind="own-data",
        datasets=("shop",),
        data={"shop": {"file": "shop.csv", "target": "kind"}},
        methods=(
            headcount_studies.MethodSpec("PACC"),
            headcount_studies.MethodSpec("QuaPy", "quapy.method.aggregative:PACC"),
            headcount_studies.MethodSpec(
                "tuned",
                "quapy.method.aggregative:DyS",
                options={"grid": {"method__n_bins": [4, 8]}},
            ),
        ),
        metrics=("ae",),
        protocol={"name": "UPP", "n_samples": 10, "size": 50},
    )
    headcount_studies.run_study(spec, tmp_path / "store", data=tmp_path, workers=1)
    results = headcount_studies.Store(tmp_path / "store").results()
    assert results["failure"].is_null().all()
    errors = dict(results.group_by("method").agg(pl.col("ae").mean()).iter_rows())
    assert set(errors) == {"PACC", "QuaPy", "tuned"}
    assert max(errors.values()) < 0.2


# Ours there


def collection(K=2):
    X, y = labelled(K)
    return to_labelled_collection(X, y)


@pytest.mark.parametrize("quantifier", [hc.SLD(), hc.PACC(random_state=0), hc.HDx(), hc.CC()])
def test_ours_in_protocols_of_quapy(quantifier):
    X, y = labelled(2)
    wrapped = to_quapy(quantifier)
    assert is_quapy(wrapped)
    assert wrapped.fit(X, y) is wrapped
    np.testing.assert_array_equal(wrapped.classes_, [0, 1])
    fitted = clone(quantifier).fit(X, y)
    np.testing.assert_array_equal(wrapped.predict(pool(2)), fitted.predict(pool(2)))
    np.testing.assert_array_equal(wrapped.quantify(pool(2)), fitted.predict(pool(2)))
    protocol = qp.protocol.UPP(collection(), sample_size=30, repeats=8)
    true, given = qp.evaluation.prediction(wrapped, protocol)
    ours = hc.evaluate(fitted, *samples_from_quapy(protocol), metrics="ae", progress=False)
    np.testing.assert_array_equal(ours.true, true)
    np.testing.assert_allclose(ours.estimated[0], given, atol=1e-9)
    error = qp.evaluation.evaluate(wrapped, protocol, "mae")
    np.testing.assert_allclose(ours.metrics["ae"].mean(), error, atol=1e-9)


def test_a_fitted_one_of_ours_needs_no_fit():
    fitted = hc.SLD().fit(*labelled(2))
    np.testing.assert_array_equal(to_quapy(fitted).predict(pool(2)), fitted.predict(pool(2)))


def test_ours_in_grid_search_of_quapy():
    X, y = labelled(2)
    protocol = qp.protocol.UPP(collection(), sample_size=30, repeats=8)
    grid = {"quantifier__bandwidth": [0.05, 2.0], "quantifier__classifier__C": [0.1, 1.0]}
    search = qp.model_selection.GridSearchQ(
        to_quapy(hc.KDEyML(LogisticRegression(), random_state=0)), grid, protocol,
        refit=False, raise_errors=True,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_["quantifier__bandwidth"] == 0.05
    shares = search.predict(pool(2))
    best = hc.KDEyML(
        LogisticRegression(C=search.best_params_["quantifier__classifier__C"]),
        bandwidth=0.05,
        random_state=0,
    )
    np.testing.assert_array_equal(shares, best.fit(X, y).predict(pool(2)))


def test_ours_can_be_pickled_and_cloned():
    wrapped = to_quapy(hc.SLD()).fit(*labelled(2))
    back = pickle.loads(pickle.dumps(wrapped))
    np.testing.assert_array_equal(back.predict(pool(2)), wrapped.predict(pool(2)))
    assert not hasattr(clone(wrapped), "quantifier_")


@pytest.mark.parametrize("bad", [3, LogisticRegression(), hc.SLD])
def test_no_quantifier_of_ours(bad):
    with pytest.raises(HeadcountError, match=r"^quantifier is .*it must be one of headcount"):
        to_quapy(bad)


# Collections and protocols


def test_collections():
    X, y = labelled(3)
    made_there = to_labelled_collection(X, NAMES[y])
    assert isinstance(made_there, qp.data.LabelledCollection)
    items, labels = from_labelled_collection(made_there)
    np.testing.assert_array_equal(items, X)
    np.testing.assert_array_equal(labels, NAMES[y])
    more = to_labelled_collection(X, NAMES[y], classes=["a", "b", "c", "d"])
    assert more.n_classes == 4
    with pytest.raises(HeadcountError, match=r"^collection is of type ndarray"):
        from_labelled_collection(X)
    with pytest.raises(HeadcountError, match=r"^X has [0-9]+ rows, but y has 10 labels"):
        to_labelled_collection(X, y[:10])
    with pytest.raises(HeadcountError, match=r"^y has"):
        to_labelled_collection(X, NAMES[y], classes=["a", "b"])


PROTOCOLS = {
    "UPP": lambda data: qp.protocol.UPP(data, sample_size=20, repeats=6),
    "NPP": lambda data: qp.protocol.NPP(data, sample_size=20, repeats=6),
    "APP": lambda data: qp.protocol.APP(data, sample_size=20, n_prevalences=4, repeats=2),
    "Dirichlet": lambda data: qp.protocol.DirichletProtocol(
        data, alpha=[1.0] * data.n_classes, sample_size=20, repeats=6
    ),
    "index": lambda data: qp.protocol.ProtocolFromIndex(data, [[0, 1, 5], [7, 7]]),
    "iterate": lambda data: qp.protocol.IterateProtocol([data.sampling(9), data.sampling(5)]),
    "mixer": lambda data: qp.protocol.DomainMixer(
        data, data, sample_size=20, repeats=2, mixture_points=3
    ),
}


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("K", [2, 3])
def test_samples_are_those_that_quapy_draws(name, K):
    protocol = PROTOCOLS[name](collection(K))
    X, y, drawn = samples_from_quapy(protocol)
    expected = list(protocol())
    assert len(drawn) == len(expected)
    for index, shares, (items, true) in zip(drawn, drawn.prevalence, expected, strict=True):
        np.testing.assert_array_equal(X[index], items)
        np.testing.assert_allclose(shares, true, atol=1e-12)
    assert (y is None) is (name in ("iterate", "mixer"))
    fitted = hc.CC().fit(*labelled(K))
    assert len(hc.evaluate(fitted, X, y, drawn, progress=False).true) == len(expected)


def test_samples_of_sparse_items():
    X, y = labelled(2)
    data = to_labelled_collection(sparse.csr_matrix(X), y)
    drawn = samples_from_quapy(qp.protocol.IterateProtocol([data.sampling(4)] * 3))
    assert sparse.issparse(drawn.X)
    assert drawn.X.shape == (12, 3)


def test_no_protocol():
    with pytest.raises(HeadcountError, match=r"^protocol is .*must be a protocol of QuaPy"):
        samples_from_quapy(hc.UPP())


def test_methods_that_are_none():
    with pytest.raises(HeadcountError, match=r"^method is .*must be a quantifier of QuaPy"):
        from_quapy(hc.SLD())
    with pytest.raises(HeadcountError, match=re.escape("estimates with intervals")):
        from_quapy(qp.method.aggregative.CC()).fit(*labelled(2)).estimate(pool(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_quapy(hc.SLD())


@pytest.mark.parametrize(
    "quantifier",
    [hc.SLD(), hc.PACC(LogisticRegression()), hc.ACC(), hc.KDEyML(), hc.CC(threshold=0.4)],
)
def test_quapy_classifies_items_once(quantifier, monkeypatch):
    X, y = labelled(2)
    wrapped = to_quapy(quantifier).fit(X, y)
    assert isinstance(wrapped, qp.method.aggregative.AggregativeQuantifier)
    calls = []
    classify = type(wrapped).classify
    monkeypatch.setattr(
        type(wrapped), "classify", lambda self, items: calls.append(1) or classify(self, items)
    )
    protocol = qp.protocol.UPP(collection(), sample_size=30, repeats=40)
    true, given = qp.evaluation.prediction(wrapped, protocol)
    assert len(calls) == 1
    ours = hc.evaluate(
        wrapped.quantifier_, *samples_from_quapy(protocol), metrics="ae", progress=False
    )
    np.testing.assert_array_equal(ours.true, true)
    np.testing.assert_allclose(ours.estimated[0], given, atol=1e-9)


def test_others_are_not_aggregative():
    for quantifier in (hc.ED(), hc.HDx(), hc.Ensemble(hc.PACC(), n_members=2)):
        wrapped = to_quapy(quantifier)
        assert not isinstance(wrapped, qp.method.aggregative.AggregativeQuantifier)
