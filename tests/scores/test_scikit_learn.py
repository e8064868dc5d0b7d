"""Expectations of scikit-learn, XGBoost and skorch of estimators around classifiers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedGroupKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.errors import HeadcountError
from headcount.quantifiers import AdaptedClassifier

X, Y = make_classification(300, n_features=6, random_state=0)
NAMES = np.array(["no", "yes"])[Y]
GROUPS = np.arange(300) // 10
WEIGHTS = np.random.default_rng(0).random(300) + 0.5


# Groups and lists of splits


def kept_together(scorer, groups):
    """Train a scorer whose classifier remembers the rows; check that folds divide no group."""
    rows = np.arange(len(groups), dtype=float)[:, None]
    fitted = scorer.fit(np.hstack([rows, X]), NAMES, groups=groups)
    for model in fitted._fold_models:
        assert len(np.unique(groups[model.rows_])) < len(np.unique(groups))
        left_out = np.setdiff1d(np.arange(len(groups)), model.rows_)
        assert not set(groups[model.rows_]) & set(groups[left_out])
    return len(fitted._fold_models)


class Remembering(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0].astype(int)
        return super().fit(X[:, 1:], y, sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(X[:, 1:])

    def decision_function(self, X):
        return super().decision_function(X[:, 1:] if X.shape[1] > 6 else X)


@pytest.mark.parametrize("cv", [GroupKFold(3), StratifiedGroupKFold(3), 3])
def test_groups_are_not_divided(cv):
    assert kept_together(hc.Scorer(Remembering(), cv=cv, random_state=0), GROUPS) == 3


@pytest.mark.parametrize(
    "quantifier",
    [
        hc.PACC(cv=GroupKFold(3)),
        hc.OneVsRest(hc.DyS(cv=GroupKFold(3))),
        hc.AutoQuantifier(cv=GroupKFold(3), random_state=0),
        AdaptedClassifier(LogisticRegression(), cv=GroupKFold(3)),
        hc.GridSearch(hc.PACC(cv=GroupKFold(3)), {"classifier__C": [1, 2]}, random_state=0),
        hc.GridSearch(hc.CC(), {"cv": [3]}, folds=2, random_state=0),
        hc.HDx(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_groups_reach_the_splitter(quantifier):
    if isinstance(quantifier, hc.GridSearch):
        quantifier.set_params(quantifier__classifier=LogisticRegression())
    fitted = clone(quantifier).fit(X, NAMES, groups=GROUPS)
    assert len(fitted.classes_) == 2
    with pytest.raises(HeadcountError, match="groups has 3"):
        clone(hc.PACC()).fit(X, NAMES, groups=[1, 2, 3])


def test_groups_that_are_missing_or_not_supported():
    with pytest.raises(HeadcountError, match="pass groups to fit if it needs them"):
        hc.PACC(cv=GroupKFold(3)).fit(X, Y)
    with pytest.raises(HeadcountError, match="'left-out', which divides groups"):
        hc.Ensemble(hc.PACC(), scoring="left-out").fit(X, Y, groups=GROUPS)
    with pytest.raises(HeadcountError, match="groups has 3"):
        hc.Ensemble(hc.PACC()).fit(X, Y, groups=[1, 2, 3])


def test_members_of_an_ensemble_do_not_learn_from_the_groups_they_score():
    # Items of a group are alike, and a group has one class: nothing can be learnt for others.
    rng = np.random.default_rng(0)
    groups = np.arange(600) // 10
    labels = rng.permutation(np.arange(60) % 2)[groups]
    items = rng.normal(size=(60, 5))[groups] + rng.normal(0, 0.01, (600, 5))
    ensemble = hc.Ensemble(
        hc.PACC(KNeighborsClassifier(1)), n_members=3, size=300, policy="ae", random_state=0
    )
    for given, right in ((None, 0.95), (groups, 0.7)):
        fitted = clone(ensemble).fit(items, labels, groups=given)
        for scorer in (member.fitted_.scorer for member in fitted.members_):
            accuracy = (scorer.labels_ == scorer.codes_).mean()
            assert accuracy > right if given is None else accuracy < right
        estimate = fitted.estimate(items[:100], random_state=0)
        assert (estimate.interval().high - estimate.interval().low).max() > (
            0.0 if given is None else 0.3
        )


def test_a_list_of_splits():
    splits = list(KFold(4).split(X))
    fitted = hc.PACC(cv=splits).fit(X, NAMES)
    same = hc.PACC(cv=KFold(4)).fit(X, NAMES)
    np.testing.assert_array_equal(fitted.predict(X[:50]), same.predict(X[:50]))
    both = hc.Conditioned([hc.PACC(cv=splits), hc.SLD(cv=clone(hc.PACC(cv=splits)).cv)])
    assert both.fit(X, NAMES).predict(X).shape == (2,)


@pytest.mark.parametrize(
    ("splits", "sentence"),
    [
        ([([0, 1], [2, 3]), ([2, 3], [0, 1])], "every row into exactly one test fold"),
        ([(np.arange(150), np.arange(150, 301))], "row number 300, but there are 300"),
        ([(np.arange(150), [-1])], "row number -1"),
        ([(np.arange(150), [])], "neither of them empty"),
        ([(np.arange(150), np.arange(300) > 150)], "not a list of row numbers"),
    ],
)
def test_lists_that_are_no_splits(splits, sentence):
    with pytest.raises(HeadcountError, match=sentence):
        hc.PACC(cv=splits).fit(X, NAMES)


# Classifiers that demand integer codes, as XGBoost


class DemandsCodes(ClassifierMixin, BaseEstimator):
    """Refuses labels other than 0, 1, ... as XGBClassifier does, and texts as skorch does."""

    def fit(self, X, y, sample_weight=None):
        found = np.unique(y)
        if found.dtype.kind == "U":
            raise TypeError("new(): invalid data type 'numpy.str_'")
        if found.dtype.kind not in "iub" or not (found == np.arange(len(found))).all():
            raise ValueError(f"Invalid classes. Expected: {np.arange(len(found))}, got {found}")
        self.inner_ = LogisticRegression().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    def predict(self, X):
        return self.inner_.predict(X)


@pytest.mark.parametrize("labels", [NAMES, Y * 5 + 2, Y == 1, Y], ids=str)
@pytest.mark.parametrize("method", [hc.CC, hc.PACC, hc.SLD])
def test_codes_for_classifiers_that_demand_them(method, labels):
    expected = method(LogisticRegression(), random_state=0).fit(X, Y)
    fitted = method(DemandsCodes(), random_state=0).fit(X, labels, WEIGHTS * 0 + 1)
    assert fitted.classes_.tolist() == np.unique(labels).tolist()
    np.testing.assert_allclose(fitted.predict(X[:99]), expected.predict(X[:99]), atol=1e-3)


def test_a_classifier_that_refuses_everything_says_why():
    class Refuses(DemandsCodes):
        def fit(self, X, y, sample_weight=None):
            raise ValueError(f"first label {y[0]!r} is bad")

    with pytest.raises(ValueError, match=r"first label .*(no|yes).* is bad"):
        hc.CC(Refuses()).fit(X, NAMES)


@pytest.mark.parametrize("labels", [NAMES, Y], ids=["texts", "codes"])
def test_xgboost(labels):
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    classifier = xgboost.XGBClassifier(n_estimators=5, max_depth=2)
    fitted = hc.PACC(classifier, random_state=0).fit(X, labels, WEIGHTS)
    assert fitted.predict(X).sum() == pytest.approx(1)
    assert fitted.classes_.tolist() == np.unique(labels).tolist()


# Metadata routing


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(), make_pipeline(LogisticRegression())),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
    ],
    ids=["plain", "pipeline", "nested", "search"],
)
def test_weights_reach_a_classifier_with_and_without_routing(classifier, routing):
    with sklearn.config_context(enable_metadata_routing=False):
        expected = hc.SLD(classifier, random_state=0).fit(X, NAMES, WEIGHTS).predict(X[:80])
        plain = hc.SLD(classifier, random_state=0).fit(X, NAMES).predict(X[:80])
    assert not np.allclose(expected, plain, atol=1e-6)
    with sklearn.config_context(enable_metadata_routing=routing):
        found = hc.SLD(classifier, random_state=0).fit(X, NAMES, WEIGHTS).predict(X[:80])
    np.testing.assert_array_equal(found, expected)


def test_requests_that_were_made_are_kept():
    scaler = StandardScaler()
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(scaler).set_fit_request(sample_weight=True)
        weighted = make_pipeline(asked, LogisticRegression())
        scorer = hc.Scorer(weighted, random_state=0).fit(X, Y, WEIGHTS)
        mean = np.average(X, axis=0, weights=WEIGHTS)
        np.testing.assert_allclose(scorer.classifier_[0].mean_, mean)
    plain = hc.Scorer(make_pipeline(scaler, LogisticRegression())).fit(X, Y, WEIGHTS)
    np.testing.assert_allclose(plain.classifier_[0].mean_, X.mean(axis=0))


def test_routing_through_a_pipeline_that_ends_in_a_quantifier():
    with sklearn.config_context(enable_metadata_routing=True):
        last = hc.PACC(cv=GroupKFold(3)).set_fit_request(sample_weight=True, groups=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, last).fit(X, Y, sample_weight=WEIGHTS, groups=GROUPS)
    scaled = StandardScaler().fit_transform(X)
    direct = hc.PACC(cv=GroupKFold(3)).fit(scaled, Y, WEIGHTS, GROUPS)
    np.testing.assert_array_equal(routed.predict(X), direct.predict(scaled))


# Pipelines that end in a quantifier


def test_a_pipeline_that_ends_in_a_quantifier():
    pipeline = Pipeline([("scale", StandardScaler()), ("count", hc.SLD(random_state=0))])
    fitted = clone(pipeline).fit(X, NAMES, count__sample_weight=WEIGHTS)
    scaled = StandardScaler().fit_transform(X)
    direct = hc.SLD(random_state=0).fit(scaled, NAMES, WEIGHTS)
    np.testing.assert_array_equal(fitted.predict(X), direct.predict(scaled))
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.n_features_in_ == fitted[-1].n_features_in_ == 6
    assert clone(pipeline).set_params(count__cv=3).get_params()["count__cv"] == 3


def test_pipelines_are_evaluated():
    protocol = hc.UPP(20, 50, random_state=0)
    scaled = StandardScaler().fit(X)
    pipeline = make_pipeline(StandardScaler(), hc.PACC(random_state=0)).fit(X, NAMES)
    alone = make_pipeline(hc.CC()).fit(X, NAMES)
    found = hc.evaluate([pipeline, alone], X, NAMES, protocol)
    assert found.methods == ("PACC", "CC")
    direct = hc.PACC(random_state=0).fit(scaled.transform(X), NAMES)
    same = hc.evaluate(direct, scaled.transform(X), NAMES, protocol)
    np.testing.assert_array_equal(found.estimated[0], same.estimated[0])
    np.testing.assert_allclose(found.priors[0], direct.prior_)
    with pytest.raises(HeadcountError, match="is not a quantifier"):
        hc.evaluate(make_pipeline(StandardScaler(), LogisticRegression()), X, Y, protocol)
    settings = {"train_size": 50, "test_size": 20, "repeats": 1, "test_repeats": 1}
    shifted = hc.shift.PriorShift([0.5], [0.2], random_state=0, **settings).draw(Y)
    assert hc.evaluate({"pipe": pipeline}, X, None, shifted).methods == ("pipe",)


def test_a_search_over_a_pipeline():
    pipeline = Pipeline([("scale", StandardScaler()), ("count", hc.PACC(random_state=0))])
    grid = {"scale__with_mean": [True, False], "count__classifier__C": [0.01, 1.0]}
    pipeline.set_params(count__classifier=LogisticRegression())
    protocol = hc.UPP(20, 50, random_state=0)
    search = hc.GridSearch(pipeline, grid, protocol=protocol, random_state=0)
    search.fit(X, NAMES, WEIGHTS)
    assert len(search.results_.means) == 4
    assert np.isfinite(search.results_.means).all()
    scaler = StandardScaler(with_mean=search.best_params_["scale__with_mean"]).fit(X)
    model = LogisticRegression(C=search.best_params_["count__classifier__C"])
    direct = hc.PACC(model, random_state=0).fit(scaler.transform(X), NAMES, WEIGHTS)
    np.testing.assert_array_equal(
        search.predict(X[:90]), direct.predict(scaler.transform(X[:90]))
    )
    own, other = (
        search.estimate(X[:90], random_state=0),
        direct.estimate(scaler.transform(X[:90]), random_state=0),
    )
    np.testing.assert_array_equal(own.interval().low, other.interval().low)
    found = hc.evaluate({"search": search}, X, NAMES, protocol)
    same = hc.evaluate({"direct": direct}, scaler.transform(X), NAMES, protocol)
    np.testing.assert_array_equal(found.estimated, same.estimated)
    alone = hc.GridSearch(make_pipeline(hc.CC()), {"cc__cv": [2, 3]}, random_state=0).fit(X, Y)
    assert alone.preparation_ is None
    assert alone.predict(X).shape == (2,)


def test_a_search_over_a_pipeline_that_fails_says_why():
    broken = make_pipeline(StandardScaler(), hc.CC())
    bad = hc.GridSearch(broken, {"standardscaler__with_mean": ["no"]}, random_state=0)
    with pytest.raises(HeadcountError, match="with_mean"):
        bad.fit(X, NAMES)
    with pytest.raises(HeadcountError, match="a pipeline that ends in one"):
        hc.GridSearch(make_pipeline(LogisticRegression()), {"cv": [2]}).fit(X, Y)


# Arrays of more dimensions, as skorch takes them


class Images(ClassifierMixin, BaseEstimator):
    """Takes items of any shape but no flat ones."""

    def fit(self, X, y):
        assert X.ndim == 3
        assert X.dtype == np.float32
        self.inner_ = LogisticRegression().fit(X.reshape(len(X), -1), y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        assert X.ndim == 3
        return self.inner_.predict_proba(X.reshape(len(X), -1))

    def predict(self, X):
        return self.inner_.predict(X.reshape(len(X), -1))


def test_arrays_of_three_dimensions():
    images = X.reshape(300, 2, 3).astype(np.float32)
    fitted = hc.PACC(Images(), random_state=0).fit(images, NAMES)
    flat = hc.PACC(random_state=0).fit(images.reshape(300, 6), NAMES)
    np.testing.assert_allclose(fitted.predict(images), flat.predict(X), atol=1e-3)
    found = hc.evaluate(fitted, images, NAMES, hc.UPP(5, 30, random_state=0))
    assert found.metrics["ae"].shape == (1, 5)
    assert fitted.estimate(images, random_state=0).interval().low.shape == (2,)
    assert not hasattr(fitted, "n_features_in_")
    search = hc.GridSearch(hc.PACC(Images()), {"cv": [2, 3]}, random_state=0)
    assert search.fit(images, NAMES).predict(images).shape == (2,)
    with pytest.raises(
        HeadcountError, match=r"items of shape \(3, 2\), but Images is expecting"
    ):
        fitted.predict(images.reshape(300, 3, 2))
    with pytest.raises(HeadcountError, match="X has 6 features, but Images is expecting items"):
        fitted.predict(X)
    with pytest.raises(HeadcountError, match="3 dimensions, but must have 2"):
        hc.HDx().fit(images, NAMES)
    for method in (
        hc.AutoQuantifier(Images(), random_state=0),
        hc.Median(hc.PACC(), classifiers=[Images(), Images()], random_state=0),
        hc.Ensemble(hc.PACC(Images()), n_members=2, random_state=0),
    ):
        shares = clone(method).fit(images, NAMES).estimate(images, random_state=0).shares
        np.testing.assert_allclose(shares, [0.5, 0.5], atol=0.1)
    broken = images.copy()
    broken[7, 1, 2] = np.nan
    with pytest.raises(HeadcountError, match="the first at row 7, column 5"):
        hc.PACC(Images()).fit(broken, NAMES)


# Columns


def frames():
    columns = [f"x{i}" for i in range(6)]
    return [pd.DataFrame(X, columns=columns), pl.DataFrame(X, columns)]


QUANTIFIERS = [
    hc.CC(),
    hc.SLD(),
    hc.HDx(),
    hc.OneVsRest(hc.DyS()),
    hc.Ensemble(hc.CC(), n_members=2, random_state=0),
    hc.AutoQuantifier(random_state=0),
    hc.GridSearch(hc.CC(), {"cv": [3]}),
]


@pytest.mark.parametrize("frame", frames(), ids=["pandas", "polars"])
@pytest.mark.parametrize("quantifier", QUANTIFIERS, ids=lambda each: type(each).__name__)
def test_columns_are_remembered(quantifier, frame):
    quantifier = clone(quantifier)
    assert not hasattr(quantifier, "n_features_in_")
    quantifier.fit(frame, NAMES)
    assert quantifier.n_features_in_ == 6
    assert quantifier.feature_names_in_.tolist() == [f"x{i}" for i in range(6)]
    quantifier.fit(X, NAMES)
    assert quantifier.n_features_in_ == 6
    assert not hasattr(quantifier, "feature_names_in_")


def test_items_without_columns():
    scores = hc.Scored(np.linspace(0.01, 0.99, 300))
    fitted = hc.PACC().fit(scores, NAMES)
    assert not hasattr(fitted, "n_features_in_")
    assert not hasattr(fitted, "feature_names_in_")
