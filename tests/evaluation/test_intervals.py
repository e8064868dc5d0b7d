"""Winkler scores of intervals in evaluations and studies."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import headcount as hc
import headcount_studies
from headcount.errors import HeadcountError
from headcount.testing.cases import labelled, pool


@pytest.fixture
def drawn():
    y = np.arange(120) % 2
    return y, hc.UPP(n_samples=6, size=40, random_state=0).draw(y)


class Shares:
    """Method of another package, without intervals."""

    classes_ = np.array([0, 1])

    def predict_many(self, X, samples):
        return np.full((len(samples), 2), 0.5)


def test_scores_are_those_of_the_estimates(drawn):
    y, samples = drawn
    methods = {"CC": hc.CC(random_state=0).fit(*labelled(2))}
    methods["PACC"] = hc.PACC(random_state=0).fit(*labelled(2))
    found = hc.evaluate(methods, pool(2), y, samples, metrics=("ae", "winkler"), progress=False)
    assert list(found.metrics) == ["ae", "winkler"]
    assert found.metrics["winkler"].shape == (2, 6)
    ends = [each.interval() for each in methods["PACC"].estimate_many(pool(2), samples)]
    low, high = (np.array([getattr(each, side) for each in ends]) for side in ("low", "high"))
    expected = hc.metrics.winkler(samples.prevalence, low, high)
    np.testing.assert_allclose(found.metrics["winkler"][1], expected, atol=1e-9)
    assert "winkler" in found.to_frame().columns
    alone = hc.evaluate(methods, pool(2), y, samples, metrics="winkler", progress=False)
    np.testing.assert_allclose(alone.metrics["winkler"], found.metrics["winkler"])


def test_methods_without_intervals(drawn):
    y, samples = drawn
    with pytest.raises(HeadcountError, match=r"^method 'Shares' failed: it is of type Shares"):
        hc.evaluate(Shares(), pool(2), y, samples, metrics="winkler", progress=False)
    methods = {"a": Shares(), "CC": hc.CC().fit(*labelled(2))}
    with pytest.warns(hc.HeadcountWarning, match="left out"):
        found = hc.evaluate(
            methods,
            pool(2),
            y,
            samples,
            metrics="winkler",
            on_error="leave out",
            progress=False,
        )
    assert found.methods == ("CC",)


def test_shifted_samples():
    X, y = labelled(2)
    protocol = hc.shift.PriorShift(
        train_prevalences=[0.3], test_prevalences=[0.2, 0.8], train_size=40, test_size=20,
        repeats=1, test_repeats=1, random_state=0,
    )  # fmt: skip
    drawn = protocol.draw(y=y)
    found = hc.evaluate(hc.CC(), X, None, drawn, metrics=("ae", "winkler"), progress=False)
    assert found.metrics["winkler"].shape == (1, len(found.true))


@pytest.mark.parametrize(
    "call",
    [
        lambda: hc.GridSearch(hc.CC(), {"cv": [5]}, metric="winkler").fit(*labelled(2)),
        lambda: hc.evaluate(
            hc.CC().fit(*labelled(2)), pool(2), np.arange(120) % 2, [np.arange(9)]
        ).measure("winkler"),
    ],
)
def test_shares_alone_are_not_enough(call):
    with pytest.raises(HeadcountError, match=r"^metric is 'winkler', which measures intervals"):
        call()


def test_a_study(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = {"x": rng.normal(2 * y), "kind": np.array(["a", "b"])[y]}
    pl.DataFrame(table).write_csv(tmp_path / "shop.csv")
    spec = headcount_studies.Spec(
        name="intervals",
        kind="own-data",
        datasets=("shop",),
        data={"shop": {"file": "shop.csv", "target": "kind"}},
        methods=(headcount_studies.MethodSpec("CC"), headcount_studies.MethodSpec("PACC")),
        metrics=("ae", "winkler"),
        protocol={"name": "UPP", "n_samples": 5, "size": 30},
    )
    store = headcount_studies.run_study(
        spec, tmp_path / "store", data=tmp_path, workers=1
    ).store
    results = store.results()
    assert results["failure"].is_null().all()
    assert (results["winkler"] > 0).all()
    evaluation = store.evaluations()["shop"]
    first = results.filter(pl.col("method") == "PACC").sort("sample")["winkler"].to_numpy()
    position = evaluation.methods.index("PACC")
    np.testing.assert_array_equal(evaluation.metrics["winkler"][position], first)
