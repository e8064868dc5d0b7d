from __future__ import annotations

import json
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.tables.from_items import analyse_items
from tests.report.analyses import make_analysis, scored

X, y = make_classification(900, n_informative=6, class_sep=1.5, random_state=0)
X_new, y_new = X[500:], y[500:]
MONTHS = np.repeat(["2024-01", "2024-02"], 200)


class Counted(LogisticRegression):
    calls = 0

    def predict_proba(self, X):
        type(self).calls += len(X)
        return super().predict_proba(X)

    def predict(self, X):
        type(self).calls += len(X)
        return super().predict(X)


class LabelsOnly(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.inner_ = LogisticRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_groups_and_all_items_are_what_the_quantifier_says_of_them():
    quantifier = hc.PACC(random_state=0).fit(X[:500], y[:500])
    analysis = analyse_items(quantifier, X_new, groups=MONTHS, truth=y_new)
    parts = {None: slice(None), "2024-01": MONTHS == "2024-01", "2024-02": MONTHS == "2024-02"}
    assert [part.name for part in analysis.slices] == list(analysis.estimates) == list(parts)
    assert analysis.estimates["2024-02"] is analysis.groups[1].estimate
    for part in (analysis.overall, *analysis.groups):
        rows = parts[part.name]
        np.testing.assert_allclose(part.estimate.raw, quantifier.predict(X_new[rows]))
        assert part.estimate.shares == pytest.approx(part.estimate.raw, abs=0.03)
        counted = hc.CC().fit_scorer(quantifier.fitted_.scorer).predict(X_new[rows])
        np.testing.assert_allclose(part.classify_and_count, counted)
        assert part.truth[1] == pytest.approx((y_new[rows] == 1).mean())
        assert (part.low <= part.estimate.shares).all()
        assert (part.high >= part.estimate.shares).all()
    np.testing.assert_array_equal(analysis.training, quantifier.prior_)
    assert analysis.n_training == 500


def test_new_items_are_classified_once():
    quantifier = hc.PACC(Counted(), random_state=0).fit(X[:500], y[:500])
    Counted.calls = 0
    analyse_items(quantifier, X_new, groups=MONTHS)
    assert Counted.calls == 6 * len(X_new)  # by the classifier, and by each of the folds


def test_histograms_are_those_of_the_scores_and_their_mixture():
    codes = np.repeat([0, 1, 2], 100)
    training, later = scored(codes, 3), scored(codes[50:], 3, 5)
    analysis = analyse_items(hc.PACC().fit(hc.Scored(training), codes), hc.Scored(later))
    shares = analysis.overall.estimate.shares
    for j, histogram in enumerate(analysis.histograms):
        edges = histogram.edges

        def parts(values, edges=edges):
            return np.histogram(values, edges)[0] / len(values)

        each = [parts(training[codes == k, j]) for k in range(3)]
        np.testing.assert_allclose(histogram.training, each[j])
        np.testing.assert_allclose(histogram.sample, parts(later[:, j]))
        np.testing.assert_allclose(histogram.mixture, shares @ np.array(each))


def test_the_frame_has_a_row_a_group_and_class():
    frame = make_analysis(("a", "b", "c"), [2023, 2024]).to_frame()
    assert frame.columns == [
        "group", "class", "share", "low", "high", "items", "count", "classify_and_count",
        "p_value", "reliable", "warning", "truth",
    ]  # fmt: skip
    assert frame["group"].to_list() == [None] * 3 + [2023] * 3 + [2024] * 3
    assert frame["class"].to_list() == ["a", "b", "c"] * 3
    totals = frame.group_by("group").agg(pl.col("count").sum(), pl.col("items").first())
    assert (totals["count"] == totals["items"]).all()
    assert frame["truth"].dtype == pl.Float64


def test_the_dict_is_json_and_the_same_for_the_same_seed():
    first, again = (make_analysis(groups=["b", "a"]).to_dict() for _ in range(2))
    del first["created"], again["created"]
    assert json.dumps(first, allow_nan=False) == json.dumps(again, allow_nan=False)
    assert first["overall"]["items"] == 120
    assert [part["group"] for part in first["groups"]] == ["a", "b"]
    assert set(first["overall"]) == {
        "group", "items", "shares", "low", "high", "counts", "classify_and_count", "truth",
        "fit_test", "reliable", "warnings", "basis", "labels", "agreement", "without_labels",
    }  # fmt: skip


def test_a_wider_level_makes_wider_intervals():
    narrow, wide = make_analysis(level=0.5), make_analysis(level=0.99)
    assert (wide.overall.low < narrow.overall.low).all()
    assert (wide.overall.high > narrow.overall.high).all()


@pytest.mark.parametrize(
    ("groups", "ordered"),
    [
        ([3, 1, 2], True),
        (["2024-05", "2024-06"], True),
        (["2024Q1", "2024Q2"], True),
        (np.array(["2024-05-01", "2024-06-01"], "datetime64[D]"), True),
        (["Bonn", "Köln"], False),
        ([True, False], False),
    ],
)
def test_which_groups_follow_one_another(groups, ordered):
    assert make_analysis(groups=list(groups)).ordered is ordered


def test_order_is_kept_and_must_name_every_group():
    options = {"groups": ["Jan", "Feb", "Mar"]}
    analysis = make_analysis(**options, order=["Jan", "Feb", "Mar", "Apr"])
    assert [part.name for part in analysis.groups] == ["Jan", "Feb", "Mar"]
    assert analysis.ordered
    sorted_shares = {
        part.name: part.estimate.shares.tolist() for part in make_analysis(**options).groups
    }
    for part in analysis.groups:
        assert part.estimate.shares.tolist() == sorted_shares[part.name]
    with pytest.raises(hc.HeadcountError, match="order misses 'Mar'"):
        make_analysis(**options, order=["Jan", "Feb"])
    with pytest.raises(hc.HeadcountError, match="twice"):
        make_analysis(**options, order=["Jan", "Feb", "Mar", "Jan"])


def test_bad_input_is_named():
    quantifier = hc.PACC(random_state=0).fit(X[:500], y[:500])
    with pytest.raises(hc.HeadcountError, match="groups has 3 values, but there are 400"):
        analyse_items(quantifier, X_new, groups=[1, 2, 3])
    with pytest.raises(hc.HeadcountError, match="truth has labels that are not among"):
        analyse_items(quantifier, X_new, truth=y_new + 1)
    with pytest.raises(hc.HeadcountError, match="level"):
        analyse_items(quantifier, X_new, level=95)
    with pytest.raises(hc.HeadcountError, match="must be a fitted quantifier"):
        analyse_items(LogisticRegression(), X_new)


@pytest.mark.parametrize(
    ("quantifier", "counted", "histograms"),
    [
        (hc.PACC(random_state=0), True, 2),
        (hc.ACC(random_state=0), True, 2),
        (hc.SLD(), True, 2),
        (hc.AutoQuantifier(random_state=0), True, 2),
        (hc.PCC(), True, None),
        (hc.MLPE(), None, None),
        (hc.HDx(), False, 0),
        (hc.ACC(LabelsOnly(), random_state=0), True, 0),
        (hc.OneVsRest(hc.PACC(random_state=0), scoring="separate"), True, 0),
        (hc.Ensemble(hc.PACC(), n_members=3, random_state=0), None, None),
        (hc.GridSearch(hc.DyS(random_state=0), {"bins": [4, 8]}, random_state=0), True, 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_quantifier_has_a_page(quantifier, counted, histograms, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.HeadcountWarning)
        fitted = quantifier.fit(X[:500], y[:500])
        analysis = analyse_items(fitted, X_new, groups=MONTHS)
    if counted is not None:
        assert (analysis.overall.classify_and_count is not None) is counted
    if histograms is not None:
        assert len(analysis.histograms) == histograms
    analysis.report(tmp_path / "page.html")
    assert analysis.method.name in (tmp_path / "page.html").read_text("utf-8")


def test_the_method_is_the_chosen_one_with_the_classifier_that_was_used():
    auto = hc.AutoQuantifier(LogisticRegression(C=0.5), random_state=0)
    auto.fit(X[:500], y[:500])
    facts = analyse_items(auto, X_new).method
    assert facts.name == "AutoQuantifier"
    assert facts.settings["classifier"] == "LogisticRegression(C=0.5)"
    assert facts.why == auto.explain(len(X_new))
    assert "elsewhere" in make_analysis().method.settings["classifier"]


def test_of_a_pipeline_the_classifier_is_shown():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    fitted = hc.PACC(pipeline, random_state=0).fit(X[:500], y[:500])
    shown = analyse_items(fitted, X_new).method.settings["classifier"]
    assert shown == "StandardScaler, LogisticRegression(C=0.5)"


def test_verdicts():
    assert make_analysis().verdict.status == "fits"
    assert "up from" in str(make_analysis(("a", "b", "c")).verdict)
    codes = np.arange(600) % 2
    quantifier = hc.PACC().fit(hc.Scored(scored(codes, 2)), codes)
    middling = np.full((300, 2), 0.5) + np.linspace(-0.05, 0.05, 300)[:, None] * [1, -1]
    broken = analyse_items(quantifier, hc.Scored(middling))
    assert broken.verdict.status == "broken"
    assert "do not look like the labelled ones" in str(broken.verdict)
    counting = make_analysis(quantifier=hc.CC())
    assert counting.verdict.status == "unsure"


def test_a_change_that_may_be_chance_is_said_to_be():
    fitted = hc.PACC(random_state=0).fit(X[:500], y[:500])
    for rows, words in (
        (np.flatnonzero(y_new == 1), "up from 51.4% in training."),
        (np.flatnonzero(y_new == 0), "down from 51.4% in training."),
        (np.arange(400), "in training, which the interval contains."),
    ):
        assert analyse_items(fitted, X_new[rows]).verdict.sentences[0].endswith(words)


def test_what_was_warned_of_on_the_way_is_in_the_analysis():
    codes = np.arange(600) % 2
    quantifier = hc.SLD(stop="norm", max_iter=1).fit(hc.Scored(scored(codes, 2)), codes)
    analysis = analyse_items(quantifier, hc.Scored(scored(np.zeros(200, int), 2, 3)))
    assert any("did not converge" in text for text in analysis.warnings)


@pytest.fixture(scope="module")
def with_a_broken_group():
    """Three groups; the scores of the last one are like none of training."""
    codes = np.arange(600) % 2
    quantifier = hc.PACC().fit(hc.Scored(scored(codes, 2)), codes)
    middling = np.full((300, 2), 0.5) + np.linspace(-0.05, 0.05, 300)[:, None] * [1, -1]
    few, many = (scored((np.arange(300) % 3 < k).astype(int), 2, k) for k in (1, 2))
    groups = np.repeat(["few", "many", "odd"], 300)
    new = hc.Scored(np.concatenate([few, many, middling]))
    return analyse_items(quantifier, new, groups=groups)


def test_shares_that_are_not_to_be_relied_on_are_marked(with_a_broken_group):
    found = with_a_broken_group
    assert [part.name for part in found.broken_groups] == ["odd"]
    assert not found.is_reliable
    marked = [line for line in found.to_text().split("\n") if "do not rely on it" in line]
    assert {line.split()[0] for line in marked} >= {"odd"}
    assert not any(line.startswith(("few", "many")) for line in marked)
    frame = found.to_frame()
    assert frame.filter(frame["group"] == "odd")["reliable"].to_list() == [False, False]
    assert frame.filter(frame["group"] == "few")["reliable"].to_list() == [True, True]
    each = {part["group"]: part["reliable"] for part in found.to_dict()["groups"]}
    assert each == {"few": True, "many": True, "odd": False}


def test_marked_groups_are_left_out_of_the_range(with_a_broken_group):
    sentence = next(s for s in with_a_broken_group.verdict.sentences if s.startswith("Over"))
    assert "2 other groups" in sentence
    assert "(few) to" in sentence
    assert sentence.endswith("(many).")


def test_a_failed_test_comes_before_the_number():
    codes = np.arange(600) % 2
    quantifier = hc.PACC().fit(hc.Scored(scored(codes, 2)), codes)
    middling = np.full((300, 2), 0.5) + np.linspace(-0.05, 0.05, 300)[:, None] * [1, -1]
    first, second, *_ = analyse_items(quantifier, hc.Scored(middling)).verdict.sentences
    assert first.startswith("We cannot say what the shares are")
    assert "Label a random sample" in first
    assert second.startswith("If only the mix had changed")
