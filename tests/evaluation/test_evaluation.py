from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tests.oracle.evaluation import evaluate_slowly, summarise_slowly

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning, warn
from headcount.evaluation import Evaluation, Evaluations, run
from headcount.evaluation.measures import check_measure, shares_for
from headcount.samples import Samples
from headcount.scores.scorer import ScoredPool
from headcount.shift.shift_protocols import PriorShift

METRICS = ("ae", "rae", "nkld", "se", "nmd")


class Counted(LogisticRegression):
    """Counts how often it is asked, whoever holds a copy."""

    asked: ClassVar[list[str]] = []

    def predict_proba(self, X):
        Counted.asked.append("predict_proba")
        return super().predict_proba(X)

    def predict(self, X):
        Counted.asked.append("predict")
        return super().predict(X)


def make(n_classes, seed=0, n=900):
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / sum(range(n_classes + 1)))
    X = rng.normal(size=(n, 4)) + 1.5 * np.eye(n_classes, 4)[codes]
    return X, np.array(["ant", "bee", "cat", "dog"])[codes]


def split(n_classes):
    X, y = make(n_classes)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module", params=[2, 3])
def case(request):
    """Quantifiers, a pool, and samples of several sizes."""
    X, y, X_pool, y_pool = split(request.param)
    scorer = hc.Scorer(random_state=0).fit(X, y)
    other = hc.Scorer(GaussianNB(), random_state=0).fit(X[100:], y[100:])
    quantifiers = {
        "SLD": hc.SLD().fit_scorer(scorer),
        "CC": hc.CC().fit_scorer(scorer),
        "bayes": hc.PACC().fit_scorer(other),
    }
    samples = hc.UPP(n_samples=12, size=[7, 20, 50] * 4, random_state=1).draw(y_pool)
    return quantifiers, X_pool, y_pool, samples


@pytest.fixture(scope="module")
def evaluation(case):
    return hc.evaluate(*case, metrics=METRICS)


# What it computes


def test_like_the_slow_way(case, evaluation):
    rows = evaluate_slowly(*case, METRICS)
    frame = evaluation.to_frame()
    labels = evaluation.classes.tolist()
    assert frame["method"].to_list() == [row[0] for row in rows]
    assert frame["sample"].to_list() == [row[1] for row in rows]
    assert frame["size"].to_list() == [row[2] for row in rows]
    for column, position in (("true", 3), ("estimated", 4)):
        shares = frame.select(f"{column}_{label}" for label in labels).to_numpy()
        np.testing.assert_allclose(shares, [row[position] for row in rows], atol=1e-9)
    np.testing.assert_allclose(frame["shift"], [row[5] for row in rows], atol=1e-12)
    errors = frame.select(METRICS).to_numpy()
    np.testing.assert_allclose(errors, [row[6] for row in rows], rtol=1e-6, atol=1e-9)


def test_columns_of_the_wide_frame(evaluation):
    labels = evaluation.classes.tolist()
    signed = ["signed_shift"] if len(labels) == 2 else []
    assert evaluation.to_frame().columns == [
        *("method", "sample", "size", "shift", *signed),
        *(f"true_{label}" for label in labels),
        *(f"estimated_{label}" for label in labels),
        *METRICS,
    ]


def test_the_long_frame_says_the_same(evaluation):
    long, wide = evaluation.to_frame(long=True), evaluation.to_frame()
    expected = ["method", "sample", "size", "class", "true", "estimated", "shift"]
    assert long.columns == expected
    assert len(long) == len(wide) * len(evaluation.classes)
    for label in evaluation.classes.tolist():
        part = long.filter(pl.col("class") == label)
        for column in ("method", "sample", "size", "shift"):
            assert part[column].equals(wide[column])
        assert part["true"].to_list() == wide[f"true_{label}"].to_list()
        assert part["estimated"].to_list() == wide[f"estimated_{label}"].to_list()


@pytest.mark.parametrize("by", [None, "shift", "prevalence", "size"])
def test_summaries_like_the_slow_way(case, evaluation, by):
    rows = evaluate_slowly(*case, METRICS)
    of = len(evaluation.classes) - 1
    limits = {"shift": [0.15, 0.3], "prevalence": [0.25, 0.5]}.get(by)
    key = {
        None: lambda row: 0,
        "shift": lambda row: sum(row[5] >= limit for limit in limits),
        "prevalence": lambda row: sum(row[3][of] >= limit for limit in limits),
        "size": lambda row: row[2],
    }[by]
    frame = evaluation.summary(by, bins=limits).to_frame().drop_nulls("ae")
    groups = [None] if by is None else sorted({key(row) for row in rows})
    names = dict(zip(groups, evaluation.summary(by, bins=limits).groups, strict=True))
    for column, metric in enumerate(METRICS):
        expected = summarise_slowly(rows, column, key)
        assert len(frame) == len(expected)
        for (method, group), (mean, sd, median) in expected.items():
            found = frame.filter(pl.col("method") == method)
            if by is not None:
                found = found.filter(pl.col(by) == names[group])
            assert found[metric].item() == pytest.approx(mean, rel=1e-6, abs=1e-9)
            assert found[f"{metric}_median"].item() == pytest.approx(median, rel=1e-6, abs=1e-9)
            if sd is None:
                assert found[f"{metric}_sd"].item() is None
            else:
                assert found[f"{metric}_sd"].item() == pytest.approx(sd, rel=1e-6, abs=1e-9)
    means = evaluation.summary().mean["ae"][:, 0]
    assert (np.diff(means) >= 0).all()


def test_prevalence_of_another_class(evaluation):
    first = evaluation.summary("prevalence", bins=[0.5], of="ant")
    assert first.counts.sum() == len(evaluation) * 3
    assert first.counts[0, 1] == np.count_nonzero(evaluation.true[:, 0] >= 0.5)


def test_signed_shift_has_the_sign_of_the_second_class(case, evaluation):
    if len(evaluation.classes) > 2:
        with pytest.raises(HeadcountError, match="signed_shift is for two classes"):
            _ = evaluation.signed_shift
        return
    np.testing.assert_allclose(np.abs(evaluation.signed_shift), evaluation.shift, atol=1e-12)
    more = evaluation.true[:, 1] > case[0]["SLD"].prior_[1]
    assert ((evaluation.signed_shift[0] > 0) == more).all()


@settings(max_examples=15)
@given(data=st.data())
def test_order_and_repetition_make_no_difference(data):
    quantifiers, X_pool, y_pool, samples = _small_case()
    whole = hc.evaluate(quantifiers, X_pool, y_pool, samples)
    methods = data.draw(st.permutations(list(quantifiers)))
    numbers = data.draw(st.lists(st.integers(0, len(samples) - 1), min_size=1, max_size=12))
    part = hc.evaluate(
        {name: quantifiers[name] for name in methods}, X_pool, y_pool, samples[numbers]
    )
    rows = [whole.methods.index(name) for name in methods]
    assert (part.true == whole.true[numbers]).all()
    assert (part.estimated == whole.estimated[rows][:, numbers]).all()
    for metric in whole.metrics:
        assert (part.metrics[metric] == whole.metrics[metric][rows][:, numbers]).all()


_SMALL: list = []


def _small_case():
    if not _SMALL:
        X, y, X_pool, y_pool = split(2)
        scorer = hc.Scorer(random_state=0).fit(X, y)
        quantifiers = {c.__name__: c().fit_scorer(scorer) for c in (hc.SLD, hc.CC, hc.DyS)}
        samples = hc.UPP(n_samples=8, size=30, random_state=1).draw(y_pool)
        _SMALL.append((quantifiers, X_pool, y_pool, samples))
    return _SMALL[0]


# Samples


def test_protocols_samples_and_index_arrays_are_the_same(case, monkeypatch):
    quantifiers, X_pool, y_pool, _ = case
    protocol = hc.UPP(n_samples=11, size=[5, 10, 20, 40] * 2 + [7] * 3, random_state=3)
    samples = protocol.draw(y_pool)
    whole = hc.evaluate(quantifiers, X_pool, y_pool, samples)
    monkeypatch.setattr(run, "_BATCH_ITEMS", 130)
    for given_samples in (protocol, list(samples), (list(part) for part in samples)):
        same = hc.evaluate(quantifiers, X_pool, y_pool, given_samples)
        assert (same.estimated == whole.estimated).all()
        assert (same.true == whole.true).all()
        assert (same.sizes == samples.sizes).all()
    np.testing.assert_allclose(whole.true, samples.prevalence)


def test_batches_of_a_protocol_are_as_large_as_said(case, monkeypatch):
    quantifiers, X_pool, y_pool, _ = case
    drawn = []

    class Spying(hc.UPP):
        def batches(self, y_pool, size, classes=None):
            for part in super().batches(y_pool, size, classes):
                drawn.append(len(part.indices))
                yield part

    monkeypatch.setattr(run, "_BATCH_ITEMS", 100)
    hc.evaluate(quantifiers["CC"], X_pool, y_pool, Spying(n_samples=10, size=30))
    assert drawn == [90, 90, 90, 30]


def test_samples_larger_than_a_batch(case, monkeypatch):
    quantifiers, X_pool, y_pool, _ = case
    monkeypatch.setattr(run, "_BATCH_ITEMS", 10)
    found = hc.evaluate(quantifiers["CC"], X_pool, y_pool, hc.NPP(3, 30, random_state=0))
    assert found.sizes.tolist() == [30, 30, 30]


def test_shares_of_samples_whose_items_nobody_labelled(case):
    quantifiers, X_pool, y_pool, samples = case
    blind = hc.evaluate(quantifiers, X_pool, None, samples)
    seeing = hc.evaluate(quantifiers, X_pool, y_pool, samples)
    np.testing.assert_allclose(blind.true, seeing.true, atol=1e-15)
    np.testing.assert_allclose(blind.metrics["rae"], seeing.metrics["rae"])


def test_a_class_missing_from_the_pool_has_share_zero():
    X, y, X_pool, y_pool = split(3)
    here = y_pool != "bee"
    found = hc.evaluate(
        hc.CC().fit(X, y), X_pool[here], y_pool[here], hc.NPP(5, 20, random_state=0)
    )
    assert found.classes.tolist() == ["ant", "bee", "cat"]
    assert (found.true[:, 1] == 0).all()


@pytest.mark.parametrize("labels", [[3, 1], [True, False], ["yes", "no"]])
def test_labels_of_any_kind(labels, tmp_path):
    X, y, X_pool, y_pool = split(2)
    y, y_pool = (np.where(each == "ant", *labels) for each in (y, y_pool))
    found = hc.evaluate(hc.CC().fit(X, y), X_pool, y_pool, [[0, 1, 2, 3], [4, 5]])
    assert sorted(labels) == found.classes.tolist()
    assert found.true[1, 0] == np.mean(y_pool[4:6] == sorted(labels)[0])
    assert found.to_frame(long=True)["class"].to_list() == sorted(labels) * 2


# Classify once


def test_the_pool_is_scored_once_for_all_who_share_a_classifier():
    X, y, X_pool, y_pool = split(2)
    scorer = hc.Scorer(Counted(), random_state=0).fit(X, y)
    quantifiers = [q.fit_scorer(scorer) for q in (hc.SLD(), hc.PACC(), hc.DyS(), hc.PCC())]
    Counted.asked.clear()
    hc.evaluate(quantifiers, X_pool, y_pool, hc.UPP(20, 30, random_state=0))
    assert Counted.asked == ["predict_proba"] * (1 + 5)  # the classifier, and five folds


def test_classifiers_that_came_out_the_same_count_as_one(monkeypatch):
    monkeypatch.setattr(run, "_BATCH_ITEMS", 100)
    X, y, X_pool, y_pool = split(2)
    quantifiers = [q(Counted(), random_state=0).fit(X, y) for q in (hc.SLD, hc.PACC)]
    quantifiers.append(hc.SLD(Counted(C=0.1), random_state=0).fit(X, y))
    Counted.asked.clear()
    hc.evaluate(quantifiers, X_pool, y_pool, hc.UPP(20, 30, random_state=0))
    assert Counted.asked == ["predict_proba"] * (1 + 5 + 1)  # PACC takes the folds


def test_a_scored_pool_can_be_used_again(case):
    quantifiers, X_pool, y_pool, samples = case
    pool = ScoredPool(X_pool)
    first = hc.evaluate(quantifiers, pool, y_pool, samples)
    made = pool.n_scorings
    again = hc.evaluate(quantifiers, pool, y_pool, samples)
    assert pool.n_scorings == made
    assert (first.estimated == again.estimated).all()


# Which quantifiers


def test_names_of_a_list_are_made_unique(case):
    quantifiers, X_pool, y_pool, samples = case
    sld = quantifiers["SLD"]
    found = hc.evaluate([sld, quantifiers["CC"], sld, sld], X_pool, y_pool, samples)
    assert found.methods == ("SLD", "CC", "SLD_2", "SLD_3")
    assert (found.estimated[0] == found.estimated[3]).all()
    assert hc.evaluate(sld, X_pool, y_pool, samples).methods == ("SLD",)


class Foreign:
    """Not ours, but it speaks the language."""

    def __init__(self, classes, n_columns=None):
        self.classes_ = list(classes)
        self.n_columns = n_columns or len(self.classes_)

    def predict_many(self, X, samples):
        assert isinstance(X, np.ndarray)
        return np.full((len(samples), self.n_columns), 1 / self.n_columns)


def test_anything_that_predicts_many_is_taken(case):
    quantifiers, X_pool, y_pool, samples = case
    classes = quantifiers["SLD"].classes_
    found = hc.evaluate({"even": Foreign(classes), **quantifiers}, X_pool, y_pool, samples)
    assert (found.estimated[0] == 1 / len(classes)).all()
    assert np.isnan(found.shift[0]).all()
    assert found.to_frame()["shift"].null_count() == len(samples)
    with pytest.raises(HeadcountError, match="method 'even' has no prior_"):
        found.summary("shift")
    assert found.only("SLD").summary("shift").counts.sum() == len(samples)


def test_scores_made_elsewhere():
    X, y, X_pool, y_pool = split(3)
    # A frozen classifier scores training items and new ones alike, without folds.
    frozen = FrozenEstimator(LogisticRegression().fit(X[:150], y[:150]))
    X, y = X[150:], y[150:]
    scorer = hc.Scorer(frozen).fit(X, y)
    samples = hc.UPP(10, 30, random_state=0).draw(y_pool)
    on_features = [q.fit_scorer(scorer) for q in (hc.SLD(), hc.PACC())]
    on_scores = [q.fit(hc.Scored(scorer.posteriors_), y) for q in (hc.SLD(), hc.PACC())]
    expected = hc.evaluate(on_features, X_pool, y_pool, samples)
    for quantifiers in (on_features, on_scores):
        found = hc.evaluate(quantifiers, hc.Scored(scorer.posteriors(X_pool)), y_pool, samples)
        assert found.methods == ("SLD", "PACC")
        np.testing.assert_allclose(found.estimated, expected.estimated, atol=1e-12)


def test_scores_of_two_classes_as_a_vector():
    X, y, X_pool, y_pool = split(2)
    scorer = hc.Scorer(random_state=0).fit(X, y)
    quantifier = hc.SLD().fit_scorer(scorer)
    scores = scorer.posteriors(X_pool)
    protocol = hc.UPP(10, 30, random_state=0)
    both = hc.evaluate(quantifier, hc.Scored(scores), y_pool, protocol)
    second = hc.evaluate(quantifier, hc.Scored(scores[:, 1]), y_pool, protocol)
    np.testing.assert_allclose(both.estimated, second.estimated, atol=1e-12)


# Metrics


def test_metrics_by_name_by_function_and_by_names_of_ones_own(case):
    def worst(p, p_hat):
        return np.abs(p - p_hat).max(axis=-1)

    one = hc.evaluate(*case, metrics="ae")
    assert list(one.metrics) == ["ae"]
    several = hc.evaluate(*case, metrics=[worst, hc.metrics.kld])
    assert list(several.metrics) == ["worst", "kld"]
    np.testing.assert_array_equal(
        several.metrics["worst"], np.abs(one.true - one.estimated).max(axis=-1)
    )
    np.testing.assert_array_equal(
        several.metrics["kld"], hc.metrics.kld(one.true, one.estimated, size=one.sizes)
    )
    tiny = {
        "nkld": lambda p, p_hat: hc.metrics.nkld(p, p_hat, eps=1e-8),
        "absolute": "ae",
        "again": hc.metrics.ae,
    }
    named = hc.evaluate(*case, metrics=tiny)
    assert list(named.metrics) == ["nkld", "absolute", "again"]
    np.testing.assert_array_equal(
        named.metrics["nkld"], hc.metrics.nkld(one.true, one.estimated, eps=1e-8)
    )
    np.testing.assert_array_equal(named.metrics["absolute"], one.metrics["ae"])


def test_metrics_of_a_whole_set_of_samples_work_on_the_result(case, evaluation):
    with pytest.raises(HeadcountError, match="metric 'macro_nmd' gives an array of shape"):
        hc.evaluate(*case, metrics="macro_nmd")
    assert hc.metrics.macro_nmd(evaluation.true, evaluation.estimated).shape == (3,)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "at least one"),
        (["ae", "ae"], "no two alike"),
        ("oops", "no metric named 'oops'"),
        ([3], "metric is 3"),
        (lambda p, p_hat: 1.0, "one number per sample"),
        ("bias", "one number per sample"),
    ],
)
def test_bad_metrics(case, metrics, message):
    with pytest.raises(HeadcountError, match=message):
        hc.evaluate(*case, metrics=metrics)


# What goes wrong


class Failing(Foreign):
    def predict_many(self, X, samples):
        raise KeyError("oops")


class Unsure(Foreign):
    def predict_many(self, X, samples):
        return np.full((len(samples), len(self.classes_)), np.nan)


def test_errors_name_the_method(case):
    quantifiers, X_pool, y_pool, samples = case
    classes = quantifiers["SLD"].classes_

    def refused(message, wrong):
        with pytest.raises(HeadcountError, match=message):
            hc.evaluate({**quantifiers, "mine": wrong}, X_pool, y_pool, samples)

    refused("method 'mine' failed: KeyError: 'oops'", Failing(classes))
    refused("method 'mine' failed: p_hat has missing", Unsure(classes))
    refused("method 'mine' failed: predict_many gave an array of shape", Foreign(classes, 7))
    refused("method 'mine' has the classes", Foreign([*classes[:-1], "fox"]))
    refused("in the same order", Foreign(classes[::-1]))
    refused("method 'mine' is not fitted", hc.SLD())
    refused("which is not a quantifier", hc.SLD)
    refused("which is not a quantifier", LogisticRegression())
    narrow = hc.SLD().fit(X_pool[:, :2], y_pool)
    refused("method 'mine' failed: X has 4 features, but", narrow)
    scores = np.full((4, len(classes)), 1 / len(classes))
    on_scores = hc.CC().fit(hc.Scored(scores, classes=classes), [*classes, *classes][:4])
    refused("method 'mine' failed: CC was fitted on scores", on_scores)


@pytest.mark.parametrize("wrong", [None, 3, "SLD", [], {}, [None], {3: None}])
def test_what_is_no_quantifier_is_refused(case, wrong):
    with pytest.raises(HeadcountError, match="quantifiers"):
        hc.evaluate(wrong, *case[1:])


def test_bad_data(case):
    quantifiers, X_pool, y_pool, samples = case
    one = quantifiers["CC"]

    def refused(message, X, y, given_samples):
        with pytest.raises(HeadcountError, match=message):
            hc.evaluate(one, X, y, given_samples)

    refused("X has 599 rows, but y has 600 labels", X_pool[1:], y_pool, samples)
    refused("not among the classes: 'fox'", X_pool, ["fox", *y_pool[1:]], samples)
    refused("samples are of a pool of 600", X_pool[1:], y_pool[1:], samples)
    refused("samples is of type int", X_pool, y_pool, 3)
    refused("samples is of type", X_pool, y_pool, hc.UPP)
    refused("sample 0 is empty", X_pool, y_pool, [[]])
    refused("X is of type NoneType", None, y_pool, samples)
    refused("size is 'a'", X_pool, y_pool, hc.UPP(size="a"))
    refused("y is None, but a protocol", X_pool, None, hc.UPP(10))
    refused("the samples have no prevalence", X_pool, None, [[1, 2]])
    bare = Samples([0, 1], [0, 2], n_pool=600, prevalence=[[1, 0, 0, 0]])
    refused("prevalence has 4 columns", X_pool, None, bare)
    wrong = Samples([0, 1], [0, 2], n_pool=600, prevalence=[[1, 0]], classes=["ant", "fox"])
    refused("samples have the classes", X_pool, None, wrong)


class Worried(Foreign):
    def predict_many(self, X, samples):
        warn("look out")
        return super().predict_many(X, samples)


def test_warnings_pass_through(case):
    _, X_pool, y_pool, samples = case
    with pytest.warns(HeadcountWarning, match="look out"):
        hc.evaluate(Worried(sorted(set(y_pool))), X_pool, y_pool, samples)


def test_progress_counts_methods(case, monkeypatch):
    tracked = []

    def track(items, total, what, *, show):
        tracked.append((total, show))
        return iter(items)

    monkeypatch.setattr(run, "track", track)
    hc.evaluate(*case)
    hc.evaluate(*case, progress=True)
    assert tracked == [(3, None), (3, True)]


# The result


def test_only_some_methods(evaluation):
    part = evaluation.only("bayes", "SLD")
    assert part.methods == ("bayes", "SLD")
    assert (part.estimated == evaluation.estimated[[2, 0]]).all()
    assert (part.shift == evaluation.shift[[2, 0]]).all()
    assert (part.metrics["rae"] == evaluation.metrics["rae"][[2, 0]]).all()
    with pytest.raises(HeadcountError, match="no method 'XX': choose from SLD, CC, bayes"):
        evaluation.only("XX")
    with pytest.raises(HeadcountError, match="given no method"):
        evaluation.only()


def test_errors_as_a_table_of_samples_and_methods(evaluation):
    assert evaluation.errors().columns == ["SLD", "CC", "bayes"]
    assert (evaluation.metrics["ae"] == evaluation.errors().to_numpy().T).all()
    assert (evaluation.metrics["se"] == evaluation.errors("se").to_numpy().T).all()
    with pytest.raises(HeadcountError, match="metric is 'tae'; it must be one of 'ae'"):
        evaluation.errors("tae")


def test_bad_summaries(evaluation):
    with pytest.raises(HeadcountError, match="by is 'class'; it must be one of 'shift'"):
        evaluation.summary("class")
    with pytest.raises(HeadcountError, match="of is 'fox'; it must be one of 'ant'"):
        evaluation.summary("prevalence", of="fox")


def test_it_prints_as_a_table(evaluation):
    lines = repr(evaluation).splitlines()
    K = len(evaluation.classes)
    assert lines[0] == f"Evaluation: 3 methods, 12 samples of 7 to 50 items, {K} classes"
    assert lines[1].split() == ["method", *METRICS]
    assert len(lines) == 6
    assert lines[3].split()[0] == evaluation.summary().methods[0]
    assert "*" in lines[3]
    assert f"{evaluation.summary().mean['ae'][0, 0]:.4f}*" in lines[3]


def test_many_methods_are_printed_in_part(case):
    quantifiers, X_pool, y_pool, samples = case
    many = {f"CC {i}": quantifiers["CC"] for i in range(40)}
    lines = repr(hc.evaluate(many, X_pool, y_pool, samples)).splitlines()
    assert len(lines) == 34
    assert lines[-1] == "... and 10 more"


def test_nobody_can_change_it(evaluation):
    for array in (evaluation.true, evaluation.estimated, evaluation.metrics["ae"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        evaluation.methods = ("x",)


def test_the_caller_s_own_arrays_stay_writeable(case):
    quantifiers, X_pool, y_pool, samples = case
    quantifier = copy.deepcopy(quantifiers["CC"])
    hc.evaluate(quantifier, X_pool, y_pool, samples)
    assert quantifier.classes_.flags.writeable
    assert quantifier.prior_.flags.writeable
    assert X_pool.flags.writeable
    assert y_pool.flags.writeable


def same(a, b):
    assert a.methods == b.methods
    assert a.classes.dtype == b.classes.dtype
    assert a.classes.tolist() == b.classes.tolist()
    for name in ("true", "estimated", "sizes", "priors"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert getattr(a, name).dtype == getattr(b, name).dtype
    assert list(a.metrics) == list(b.metrics)
    for name in a.metrics:
        np.testing.assert_array_equal(a.metrics[name], b.metrics[name])


def test_parquet_and_pickle_lose_nothing(evaluation, tmp_path):
    path = tmp_path / "evaluation.parquet"
    evaluation.to_parquet(path)
    assert pl.read_parquet(path).equals(evaluation.to_frame())
    same(evaluation, Evaluation.from_parquet(path))
    same(evaluation, Evaluation.from_parquet(str(path)))
    same(evaluation, pickle.loads(pickle.dumps(evaluation)))


@pytest.mark.parametrize("labels", [[3, 1], [True, False], [0.5, 2.0]])
def test_parquet_keeps_the_kind_of_labels(labels, tmp_path):
    _, _, X_pool, y_pool = split(2)
    y_pool = np.where(y_pool == "ant", *labels)
    found = hc.evaluate({"even": Foreign(np.unique(labels))}, X_pool, y_pool, [[0, 1], [2]])
    found.to_parquet(tmp_path / "a.parquet")
    same(found, Evaluation.from_parquet(tmp_path / "a.parquet"))


def test_another_parquet_file_is_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(HeadcountError, match="not one written by"):
        Evaluation.from_parquet(tmp_path / "a.parquet")


def test_markdown_and_latex_are_those_of_the_summary(evaluation):
    summary = evaluation.summary()
    assert evaluation.to_markdown() == summary.to_markdown()
    assert evaluation.to_latex(digits=2, sd=True) == summary.to_latex(digits=2, sd=True)
    assert r"\pm" in evaluation.to_latex(sd=True)
    assert summary.methods[0] in evaluation.to_markdown().splitlines()[2]


# Significance


def test_comparisons_are_of_the_errors(evaluation):
    found = evaluation.compare("ttest", metric="se")
    expected = hc.compare(evaluation.errors("se"), test="ttest")
    assert found.methods == expected.methods
    np.testing.assert_array_equal(found.p_values, expected.p_values)
    assert evaluation.compare().methods == hc.compare(evaluation.errors("ae")).methods


def test_summaries_carry_the_marks_of_a_test(evaluation):
    summary = evaluation.summary(test="wilcoxon")
    for metric in METRICS:
        comparison = evaluation.compare("wilcoxon", metric=metric)
        marks = dict(zip(comparison.methods, comparison.marks, strict=True))
        assert [row[0] for row in summary.marks[metric]] == [
            marks[method] for method in summary.methods
        ]
    assert "‡" in repr(summary)
    assert "‡ p >= 0.05" in repr(summary).splitlines()[-1]
    assert r"$^{\ddagger}$" in evaluation.to_latex(test="wilcoxon")
    assert "‡" in evaluation.to_markdown(test="wilcoxon")
    assert "‡" not in evaluation.to_markdown()


def test_marks_by_group(evaluation):
    summary = evaluation.summary("size", test="wilcoxon")
    errors = evaluation.metrics["ae"][:, evaluation.sizes == 20]
    comparison = hc.compare(dict(zip(evaluation.methods, errors, strict=True)))
    marks = dict(zip(comparison.methods, comparison.marks, strict=True))
    assert [row[1] for row in summary.marks["ae"]] == [marks[m] for m in summary.methods]


def test_groups_too_small_to_compare_get_no_marks(case):
    quantifiers, X_pool, y_pool, samples = case
    alone = hc.evaluate(quantifiers["CC"], X_pool, y_pool, samples).summary(test="ttest")
    assert alone.marks == {"ae": [[""]], "rae": [[""]]}
    single = hc.evaluate(quantifiers, X_pool, y_pool, samples[:1]).summary(test="ttest")
    assert single.marks["ae"] == [[""]] * 3


def test_no_test_where_methods_have_other_samples_in_a_group(evaluation):
    with pytest.raises(HeadcountError, match="test compares methods on the same samples"):
        evaluation.summary("shift", bins=60, test="wilcoxon")
    same_prior = evaluation.only("SLD", "CC").summary("shift", bins=[0.2], test="wilcoxon")
    assert same_prior.marks is not None


# Several datasets


@pytest.fixture(scope="module")
def evaluations():
    each = {}
    for n_classes in (2, 3):
        X, y, X_pool, y_pool = split(n_classes)
        quantifiers = {"SLD": hc.SLD().fit(X, y), "CC": hc.CC().fit(X, y)}
        order = list(quantifiers)[:: 5 - 2 * n_classes]  # another order for three classes
        chosen = {name: quantifiers[name] for name in order}
        protocol = hc.UPP(6 * n_classes, 30, random_state=0)
        each[f"{n_classes} classes"] = hc.evaluate(chosen, X_pool, y_pool, protocol)
    assert each["3 classes"].methods == ("CC", "SLD")
    return Evaluations(each)


def test_errors_by_dataset(evaluations):
    frame = evaluations.errors("rae")
    assert frame.columns == ["dataset", "SLD", "CC"]
    for row in frame.iter_rows(named=True):
        one = evaluations[row["dataset"]]
        for method in ("SLD", "CC"):
            errors = one.metrics["rae"][one.methods.index(method)]
            assert row[method] == pytest.approx(errors.mean())


def test_all_datasets_in_one_frame(evaluations):
    frame = evaluations.to_frame()
    assert frame.columns[0] == "dataset"
    assert len(frame) == 2 * 12 + 2 * 18
    two = frame.filter(pl.col("dataset") == "2 classes")
    assert two["true_cat"].null_count() == len(two)
    assert two["true_bee"].null_count() == 0
    assert two.select(evaluations["2 classes"].to_frame().columns).equals(
        evaluations["2 classes"].to_frame()
    )


def test_the_table_of_datasets(evaluations):
    table = evaluations.table("rae")
    means = evaluations.errors("rae").select("SLD", "CC").to_numpy()
    rows = [*table.rows, *table.foot]
    assert [row[0].text for row in rows] == ["2 classes", "3 classes", "mean", "rank"]
    shown = [[float(cell.text) for cell in row[1:]] for row in rows]
    ranks = means.argsort(axis=1).argsort(axis=1).mean(axis=0) + 1
    np.testing.assert_allclose(shown, [*means, means.mean(axis=0), ranks], atol=5.1e-5)
    assert [sum(cell.is_best for cell in row) for row in rows[:3]] == [1, 1, 1]
    assert repr(evaluations) == evaluations.table("ae").to_text()
    assert (
        evaluations.to_latex("rae", digits=2) == evaluations.table("rae", digits=2).to_latex()
    )
    assert evaluations.to_markdown("rae") == table.to_markdown()
    assert len(evaluations) == 2


def test_a_table_as_papers_print_it(evaluations):
    table = evaluations.table("ae", sd=True, test="wilcoxon", digits=3)
    for row, (name, one) in zip(table.rows, evaluations.each.items(), strict=True):
        compared = one.compare("wilcoxon", metric="ae")
        marks = dict(zip(compared.methods, compared.marks, strict=True))
        errors = dict(zip(one.methods, one.metrics["ae"], strict=True))
        assert row[0].text == name
        for cell, method in zip(row[1:], evaluations.methods, strict=True):
            assert cell.mark == marks[method]
            assert cell.spread == f"{errors[method].std(ddof=1):.3f}"
            assert cell.is_best == (method == compared.best)
    assert all(cell.mark == cell.spread == "" for row in table.foot for cell in row)
    latex = evaluations.to_latex("ae", sd=True, test="wilcoxon", digits=3)
    assert latex == table.to_latex()
    lines = latex.splitlines()
    assert lines[0].startswith("% Mean ae. Against the best: ")
    assert lines[-5] == r"\midrule"
    assert lines[-4].startswith("mean & ")
    assert lines[-3].startswith("rank & ")
    assert r" $\pm$ " in latex
    assert "± " in evaluations.to_markdown("ae", sd=True, test="ttest")
    assert Evaluations({"one": evaluations["2 classes"]}).table().foot[-1][0].text == "mean"
    with pytest.raises(HeadcountError, match="test is 'none'"):
        evaluations.to_latex(test="none")


def test_comparison_over_datasets(evaluations):
    comparison = evaluations.compare()
    assert comparison.test == "nemenyi"
    assert comparison.n_units == 2
    assert set(comparison.methods) == {"SLD", "CC"}


def test_datasets_must_have_the_same_methods_and_metrics(evaluations, evaluation):
    first = evaluations["2 classes"]
    with pytest.raises(HeadcountError, match=r"'b' has the methods .* same methods on every"):
        Evaluations({"a": first, "b": first.only("SLD")})
    with pytest.raises(HeadcountError, match="'b' has the metrics"):
        Evaluations({"a": first, "b": evaluation.only("SLD", "CC")})
    with pytest.raises(HeadcountError, match="each is empty"):
        Evaluations({})


# Pictures


@pytest.mark.parametrize(
    ("name", "function"),
    [("plot_diagonal", "diagonal"), ("plot_bias", "bias_boxes")],
)
def test_plots_of_shares(evaluation, name, function, monkeypatch):
    given_frames = []
    monkeypatch.setattr(
        f"headcount.plots.{function}", lambda *a, **k: given_frames.append((a, k))
    )
    getattr(evaluation, name)(width=3.0)
    (((frame,), options),) = given_frames
    assert frame.equals(evaluation.to_frame(long=True))
    assert options == {"width": 3.0}


@pytest.mark.parametrize("name", ["error_by_shift", "error_boxes", "letter_values"])
def test_plots_of_errors(evaluation, name, monkeypatch):
    given_frames = []
    monkeypatch.setattr(f"headcount.plots.{name}", lambda *a, **k: given_frames.append((a, k)))
    getattr(evaluation, f"plot_{name}")("nkld", width=3.0)
    (((frame,), options),) = given_frames
    assert frame.columns == ["method", "sample", "shift", "error"]
    assert (frame["error"] == evaluation.to_frame()["nkld"]).all()
    assert options == {"error": "nkld", "width": 3.0}


def test_plots_are_drawn(evaluation):
    axes = [
        evaluation.plot_diagonal(),
        evaluation.plot_bias(),
        evaluation.plot_error_by_shift(),
        evaluation.plot_error_boxes("rae"),
        evaluation.plot_letter_values(),
    ]
    assert all(ax.has_data() for ax in axes)
    if len(evaluation.classes) == 3:
        assert evaluation.plot_simplex().has_data()
    else:
        with pytest.raises(HeadcountError, match="a triangle needs 3"):
            evaluation.plot_simplex()


def test_the_triangle_marks_the_truth_if_there_is_one():
    _, _, X_pool, y_pool = split(3)
    fitted = Foreign(["ant", "bee", "cat"])
    alike = hc.Prevalences([[0.2, 0.3, 0.5]], repeats=5, size=10, random_state=0)
    one = hc.evaluate(fitted, X_pool, y_pool, alike).plot_simplex()
    many = hc.evaluate(fitted, X_pool, y_pool, hc.UPP(5, 10)).plot_simplex()
    assert len(one.lines) == len(many.lines) + 1


# Failures, joining, further metrics


def test_a_method_that_fails_is_left_out_on_request():
    _, _, X, y = split(2)

    class Failing:
        classes_ = np.unique(y)

        def predict_many(self, X, samples):
            raise KeyError("oops")

    protocol = hc.UPP(n_samples=5, size=20, random_state=0)
    methods = {"MLPE": hc.MLPE().fit(X, y), "mine": Failing()}
    with pytest.warns(HeadcountWarning, match="left out, as they failed: mine"):
        found = hc.evaluate(methods, X, y, protocol, on_error="leave out")
    assert found.methods == ("MLPE",)
    assert "oops" in found.failures["mine"]
    with pytest.raises(HeadcountError, match="no method could be evaluated"):
        hc.evaluate({"mine": Failing()}, X, y, protocol, on_error="leave out")
    with pytest.raises(HeadcountError, match=r"^on_error is 'skip'"):
        hc.evaluate(methods, X, y, protocol, on_error="skip")


def test_evaluations_of_the_same_samples_are_joined(evaluation, tmp_path):
    first, *rest = evaluation.methods
    part = evaluation.only(first)
    part.to_parquet(tmp_path / "part.parquet")
    joined = Evaluation.from_parquet(tmp_path / "part.parquet").join(evaluation.only(*rest))
    assert joined.methods == evaluation.methods
    np.testing.assert_allclose(joined.estimated, evaluation.estimated)
    np.testing.assert_allclose(joined.seconds, evaluation.seconds)
    assert joined.parameters == evaluation.parameters
    with pytest.raises(HeadcountError, match="both evaluations have the methods"):
        evaluation.join(part)
    fewer = dataclasses.replace(
        part,
        true=part.true[:-1],
        estimated=part.estimated[:, :-1],
        sizes=part.sizes[:-1],
        metrics={name: values[:, :-1] for name, values in part.metrics.items()},
    )
    with pytest.raises(HeadcountError, match=r"^other has other samples"):
        evaluation.only(*rest).join(fewer)


def test_metrics_are_added_afterwards(evaluation):
    found = evaluation.measure(["kld"])
    assert list(found.metrics) == [*evaluation.metrics, "kld"]
    expected = hc.metrics.kld(evaluation.true, evaluation.estimated, size=evaluation.sizes)
    np.testing.assert_allclose(found.metrics["kld"], expected)


def test_time_and_versions_are_in_the_file(evaluation, tmp_path):
    assert (evaluation.seconds > 0).all()
    evaluation.to_parquet(tmp_path / "all.parquet")
    head = json.loads(pl.read_parquet_metadata(tmp_path / "all.parquet")["headcount"])
    assert head["versions"]["numpy"] == np.__version__
    assert set(head["parameters"]) == set(evaluation.methods)


def shifted_problem(**options):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    X = rng.normal(size=(3000, 3)) + y[:, None]
    settings = {"train_size": 200, "test_size": 60, "repeats": 2, "test_repeats": 3}
    protocol = PriorShift([0.2, 0.5], [0.1, 0.5, 0.9], random_state=0, **settings | options)
    return X, y, protocol.draw(y)


def test_shifted_samples_fit_every_training_set():
    X, y, shifted = shifted_problem()
    quantifiers = {"CC": hc.CC(random_state=0), "SLD": hc.SLD(random_state=0)}
    found = hc.evaluate(quantifiers, X, None, shifted, metrics="ae")
    assert len(found) == shifted.n_samples == 2 * 2 * 3 * 3
    assert found.priors.shape == (2, 36, 2)
    true, estimated = [], []
    for train, test, _ in shifted:
        fitted = hc.SLD(random_state=0).fit(X[train[0]], y[train[0]])
        estimated.append(fitted.predict_many(X, test))
        true.append(test.prevalence)
    np.testing.assert_array_equal(found.true, np.concatenate(true))
    np.testing.assert_allclose(found.estimated[1], np.concatenate(estimated), atol=1e-12)
    degrees = np.abs(shifted.to_frame()["degree"].to_numpy())
    np.testing.assert_allclose(found.shift[0], degrees, atol=1e-12)
    assert "0.3 to 0.4" in found.summary("shift").groups
    assert (found.seconds > 0).all()
    assert not hasattr(quantifiers["SLD"], "classes_")


def test_shifted_samples_in_a_file_and_joined(tmp_path):
    X, _, shifted = shifted_problem()
    counted, sld = (hc.evaluate(q, X, None, shifted) for q in (hc.CC(), hc.SLD()))
    sld.to_parquet(tmp_path / "sld.parquet")
    again = Evaluation.from_parquet(tmp_path / "sld.parquet")
    np.testing.assert_array_equal(again.priors, sld.priors)
    np.testing.assert_array_equal(again.shift, sld.shift)
    both = counted.join(again)
    np.testing.assert_array_equal(both.shift, np.concatenate([counted.shift, sld.shift]))


def test_shifted_samples_with_a_method_that_fails():
    X, _, shifted = shifted_problem()
    broken = hc.CC(cv=1)
    with pytest.raises(HeadcountError, match="method 'broken' failed: cv is 1"):
        hc.evaluate({"broken": broken, "SLD": hc.SLD()}, X, None, shifted)
    with pytest.warns(HeadcountWarning, match="left out, as they failed: broken"):
        found = hc.evaluate(
            {"broken": broken, "SLD": hc.SLD()}, X, None, shifted, on_error="leave out"
        )
    assert found.methods == ("SLD",)
    with pytest.raises(HeadcountError, match="10 rows, but samples were drawn from 3,000"):
        hc.evaluate(hc.SLD(), X[:10], None, shifted)


def test_shifted_samples_of_scores():
    X, y, shifted = shifted_problem()
    scores = hc.Scored(hc.Scorer(random_state=0).fit(X, y).posteriors_)
    found = hc.evaluate(hc.PACC(), scores, None, shifted)
    assert found.metrics["ae"].mean() < 0.1


def test_methods_with_draws_answer_by_the_metric():
    rng = np.random.default_rng(0)
    y = np.arange(900) % 3
    scores = hc.Scored(
        np.full((900, 3), 0.1) + 0.7 * np.eye(3)[(y + (rng.random(900) < 0.2)) % 3]
    )
    auto = hc.Conditioned(hc.SLD(), replicates=500, random_state=0).fit(scores, y)
    plain = hc.SLD().fit(scores, y)
    shares = np.repeat([[0.0, 0.5, 0.5], [0.2, 0.0, 0.8]], 4, axis=0)
    samples = hc.Prevalences(shares, size=100, random_state=0).draw(y)
    evaluation = hc.evaluate({"auto": auto, "plain": plain}, scores, y, samples)
    frame = evaluation.to_frame()
    errors = {
        (name, metric): frame.filter(pl.col("method") == name)[metric].mean()
        for name in ("auto", "plain")
        for metric in ("ae", "rae")
    }
    by_metric = {
        metric: auto.fitted_.for_metric(metric).solve_many(scores, samples).prevalence
        for metric in ("ae", "rae")
    }
    for metric, estimated in by_metric.items():
        function = getattr(hc.metrics, metric)
        options = {"size": 100} if metric == "rae" else {}
        expected = function(samples.prevalence, estimated, **options).mean()
        assert errors["auto", metric] == pytest.approx(expected)
        answers = plain.fitted_.for_metric(metric).solve_many(scores, samples).prevalence
        alone = function(samples.prevalence, answers, **options)
        assert errors["plain", metric] == pytest.approx(alone.mean())
    np.testing.assert_array_equal(by_metric["ae"], auto.predict_many(scores, samples))
    assert not np.allclose(by_metric["rae"], by_metric["ae"], atol=1e-3)


@pytest.mark.parametrize("method", [hc.SLD(), hc.KDEyML()])
def test_likelihoods_answer_relative_errors_nearer_to_the_maximum(method):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 300)
    scores = hc.Scored(softmax(2 * np.eye(3)[y] + rng.normal(size=(900, 3)), axis=1))
    quantifier = method.fit(scores, y)
    absent = hc.Prevalences(np.repeat([[0.0, 0.5, 0.5]], 20, axis=0), size=200, random_state=0)
    samples = absent.draw(y)
    predicted = quantifier.predict_many(scores, samples)
    for metric, least in (("ae", 0), ("se", 0), ("rae", 3), ("nrae", 3)):
        best = shares_for(quantifier, scores, samples, check_measure(metric))
        assert ((best[:, 0] < 1e-4) & (predicted[:, 0] > 1e-3)).sum() >= least
        assert np.array_equal(best, predicted) == (least == 0)
    unchanged = hc.Prevalences(np.full((20, 3), 1 / 3), size=200, random_state=0).draw(y)
    same = shares_for(quantifier, scores, unchanged, check_measure("rae"))
    early = quantifier.predict_many(scores, unchanged)
    assert np.abs(same - early).max(axis=1).min() == 0
    converged = type(method)(stop="converged").fit(scores, y)
    assert converged.fitted_.for_metric("rae") is converged.fitted_
