from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from headcount.errors import HeadcountError, HeadcountWarning
from headcount.scores.scorer import Scorer

# Converged, whoever fits it.
LR = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)


def easy(n=240, n_classes=3, seed=0):
    return make_classification(
        n, 6, n_informative=4, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )


def expected_posteriors(classifier, X, y, folds):
    posteriors = np.empty((len(y), len(np.unique(y))))
    for train, test in folds:
        posteriors[test] = clone(classifier).fit(X[train], y[train]).predict_proba(X[test])
    return posteriors


def test_scores_of_training_items_come_from_the_other_folds():
    X, y = easy()
    scorer = Scorer(LR, cv=4, random_state=7).fit(X, y)
    folds = list(StratifiedKFold(4, shuffle=True, random_state=7).split(X, y))
    expected = expected_posteriors(LR, X, y, folds)
    np.testing.assert_allclose(scorer.posteriors_, expected, atol=1e-12)
    np.testing.assert_array_equal(scorer.labels_, expected.argmax(axis=1))
    np.testing.assert_array_equal(scorer.codes_, y)
    np.testing.assert_allclose(scorer.prior_, np.bincount(y) / len(y))
    assert scorer.weights_ is None


def test_a_classifier_that_memorises_is_not_believed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    scorer = Scorer(KNeighborsClassifier(1), random_state=0).fit(X, y)
    assert (scorer.labels(X) == y).all()
    assert 0.4 < (scorer.labels_ == y).mean() < 0.6
    np.testing.assert_array_equal(scorer.posteriors_.argmax(axis=1), scorer.labels_)


def test_new_items_are_scored_by_the_classifier_trained_on_everything():
    X, y = easy()
    scorer = Scorer(LR, random_state=0).fit(X, y)
    alone = clone(LR).fit(X, y)
    np.testing.assert_allclose(scorer.posteriors(X), alone.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(scorer.labels(X), alone.predict(X))


def test_default_is_logistic_regression_and_the_classifier_is_left_alone():
    X, y = easy()
    assert isinstance(Scorer().fit(X, y).classifier_, LogisticRegression)
    classifier = LogisticRegression(max_iter=1000)
    scorer = Scorer(classifier).fit(X, y)
    assert not hasattr(classifier, "coef_")
    assert scorer.classifier_ is not classifier
    assert clone(scorer).get_params()["classifier__max_iter"] == 1000


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "c", "a"],
        [-1, 1, 7],
        [1, 2, 3],
        [0.0, 2.0, 1.0],
        np.array(["b", "ccc", "a"], object),
    ],
)
def test_labels_of_any_kind(labels):
    X, y = easy()
    classes, order = np.unique(np.asarray(labels), return_inverse=True)
    scorer = Scorer(LR, random_state=0).fit(X, np.asarray(labels)[y])
    np.testing.assert_array_equal(scorer.classes_, classes)
    np.testing.assert_array_equal(scorer.codes_, order[y])
    plain = Scorer(LR, random_state=0).fit(X, order[y])
    np.testing.assert_allclose(scorer.posteriors_, plain.posteriors_, atol=1e-12)
    np.testing.assert_array_equal(scorer.labels(X), plain.labels(X))


@pytest.mark.parametrize("labels", [[False, True], [-1, 1], [1, 2], ["no", "yes"]])
@pytest.mark.parametrize("classifier", [LR, LinearSVC()])
def test_two_labels_of_any_kind(labels, classifier):
    X, y = easy(n_classes=2)
    scorer = Scorer(classifier, random_state=0).fit(X, np.array(labels)[y])
    plain = Scorer(classifier, random_state=0).fit(X, y)
    np.testing.assert_allclose(scorer.posteriors_, plain.posteriors_, atol=1e-12)
    np.testing.assert_array_equal(scorer.labels_, plain.labels_)
    np.testing.assert_allclose(scorer.posteriors(X), plain.posteriors(X), atol=1e-12)
    assert (scorer.posteriors(X).argmax(axis=1) == y).mean() > 0.8


class Reversed(ClassifierMixin, BaseEstimator):
    """A classifier whose columns are in falling order of the classes."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y):
        self.inner_ = clone(self.inner).fit(X, y)
        self.classes_ = self.inner_.classes_[::-1]
        return self

    def predict(self, X):
        return self.inner_.predict(X)


class ReversedPosteriors(Reversed):
    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, ::-1]


class ReversedDecisions(Reversed):
    def decision_function(self, X):
        values = self.inner_.decision_function(X)
        return -values if values.ndim == 1 else values[:, ::-1]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("plain", "backward"),
    [(LR, ReversedPosteriors(LR)), (LinearSVC(), ReversedDecisions(LinearSVC()))],
)
def test_columns_follow_classes_whatever_the_classifier_does(plain, backward, n_classes):
    X, y = easy(n_classes=n_classes)
    expected = Scorer(plain, random_state=0).fit(X, y)
    scorer = Scorer(backward, random_state=0).fit(X, y)
    np.testing.assert_allclose(scorer.posteriors_, expected.posteriors_, atol=1e-7)
    np.testing.assert_allclose(scorer.posteriors(X), expected.posteriors(X), atol=1e-7)


class DropsRare(ClassifierMixin, BaseEstimator):
    """Knows only the classes with at least 10 training items."""

    def fit(self, X, y):
        classes, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, classes[counts >= 10])
        self.inner_ = GaussianNB().fit(X[kept], y[kept])
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


def test_a_class_missing_from_a_fold_classifier_has_a_posterior_of_zero():
    X, y = easy(90)
    y[np.flatnonzero(y == 1)[11:]] = 0
    scorer = Scorer(DropsRare(), cv=4, random_state=0).fit(X, y)
    assert (scorer.posteriors_[:, 1] == 0).all()
    assert (scorer.posteriors_[:, 2] > 0).any()
    np.testing.assert_allclose(scorer.posteriors_.sum(axis=1), 1.0)
    assert (scorer.posteriors(X)[:, 1] > 0).any()


def test_sparse_items():
    X, y = easy()
    X[np.abs(X) < 0.5] = 0.0
    dense = Scorer(LR, random_state=0).fit(X, y)
    for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        scorer = Scorer(LR, random_state=0).fit(make(X), y)
        np.testing.assert_allclose(scorer.posteriors_, dense.posteriors_, atol=1e-4)
        np.testing.assert_array_equal(scorer.labels(make(X)), dense.labels(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_a_pipeline_by_column_names(frame):
    X, y = easy()
    rng = np.random.default_rng(0)
    table = frame(
        {
            "size": X[:, 0],
            "age": X[:, 1],
            "town": np.array(["x", "y", "z"])[rng.integers(0, 3, 240)],
        }
    )
    pipeline = make_pipeline(
        ColumnTransformer(
            [
                ("numbers", StandardScaler(), ["size", "age"]),
                ("words", OneHotEncoder(handle_unknown="ignore"), ["town"]),
            ]
        ),
        LR,
    )
    labels = np.array(["a", "b", "c"])[y]
    scorer = Scorer(pipeline, random_state=0).fit(table, labels)
    assert scorer.posteriors_.shape == (240, 3)
    assert (scorer.labels_ == y).mean() > 0.5
    np.testing.assert_array_equal(scorer.labels(table[:10]), scorer.labels(table)[:10])


def test_held_out_items_are_transformed_once_for_labels_and_posteriors():
    X, y = easy()
    calls = []

    def transform(items):
        calls.append(len(items))
        return items

    scaled = make_pipeline(FunctionTransformer(transform), LR)
    folds = list(KFold(4).split(X))
    scorer = Scorer(scaled, cv=folds).fit(X, y)
    # Once for the fit on all items, then for the fit of each fold and for the rows it scores.
    assert sorted(calls) == sorted([240, *[180] * 4, *[60] * 4])
    np.testing.assert_array_equal(
        scorer.posteriors_, expected_posteriors(clone(scaled), X, y, folds)
    )
    np.testing.assert_array_equal(scorer.labels_, scorer.posteriors_.argmax(axis=1))


def test_texts():
    texts = ["good nice fine", "bad ugly sad", "good fine", "sad bad", "nice good", "ugly bad"]
    y = ["pos", "neg"] * 15
    scorer = Scorer(make_pipeline(TfidfVectorizer(), LR), cv=3, random_state=0)
    scorer.fit(texts * 5, y)
    np.testing.assert_array_equal(scorer.classes_[scorer.labels_], y)
    assert scorer.classes_[scorer.labels(["fine and nice", "so sad"])].tolist() == [
        "pos",
        "neg",
    ]


@pytest.mark.parametrize(
    "classifier",
    [
        HistGradientBoostingClassifier(max_iter=5),
        make_pipeline(SimpleImputer(), StandardScaler(), LR),
        make_pipeline("passthrough", SimpleImputer(), LR),
        make_pipeline(
            make_column_transformer((SimpleImputer(), [0]), (StandardScaler(), [1])), LR
        ),
        GridSearchCV(make_pipeline(SimpleImputer(), LR), {"simpleimputer__strategy": ["mean"]}),
    ],
)
def test_missing_numbers_where_the_classifier_takes_them(classifier):
    X, y = easy()
    X[::7, 0] = np.nan
    scorer = Scorer(classifier, cv=2, random_state=0).fit(X, y)
    assert np.isfinite(scorer.posteriors_).all()
    assert np.isfinite(scorer.posteriors(X)).all()


def test_missing_numbers_are_refused_otherwise():
    X, y = easy()
    scorer = Scorer(LR).fit(X, y)
    X[5, 1] = np.nan
    for call in (lambda: Scorer(LR).fit(X, y), lambda: scorer.posteriors(X)):
        with pytest.raises(HeadcountError, match="row 5, column 1"):
            call()


@pytest.mark.parametrize("as_state", [int, np.random.RandomState, np.random.default_rng])
def test_the_same_state_gives_the_same_scores(as_state):
    X, y = easy()
    once, again, other = (
        Scorer(GaussianNB(), random_state=as_state(seed)).fit(X, y).posteriors_
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(once, again)
    assert (once != other).any()


def test_pickling():
    X, y = easy()
    scorer = Scorer(LinearSVC(), random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(again.posteriors(X), scorer.posteriors(X))
    np.testing.assert_array_equal(again.posteriors_, scorer.posteriors_)


def test_posteriors_in_float32_sum_to_one():
    class Coarse(GaussianNB):
        def predict_proba(self, X):
            return super().predict_proba(X).astype(np.float32)

    X, y = easy()
    posteriors = Scorer(Coarse()).fit(X, y).posteriors_
    assert posteriors.dtype == np.float64
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0, rtol=1e-14)


def test_nan_posteriors_are_refused():
    class Broken(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 3), np.nan)

    X, y = easy()
    with pytest.raises(HeadcountError, match="predict_proba of Broken has NaN"):
        Scorer(Broken()).fit(X, y)


# Folds


def test_few_items_of_a_class_reduce_the_folds():
    X, y = easy()
    y[np.flatnonzero(y == 2)[3:]] = 0
    with pytest.warns(
        HeadcountWarning, match="class 2 has 3 items, too few for 5 folds: 3 are"
    ):
        scorer = Scorer(LR, random_state=1).fit(X, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=1).split(X, y)
    np.testing.assert_allclose(
        scorer.posteriors_, expected_posteriors(LR, X, y, folds), atol=1e-12
    )


@pytest.mark.parametrize("classifier", [LR, LinearSVC()])
def test_a_single_item_of_a_class_leaves_in_sample_scores(classifier):
    X, y = easy()
    labels = np.array(["a", "b", "c"])[y]
    labels[np.flatnonzero(y == 2)[1:]] = "a"
    with pytest.warns(HeadcountWarning, match="class 'c' has a single item.*in-sample"):
        scorer = Scorer(classifier).fit(X, labels)
    np.testing.assert_allclose(scorer.posteriors_, scorer.posteriors(X), atol=1e-12)
    np.testing.assert_array_equal(scorer.labels_, scorer.labels(X))


@pytest.mark.parametrize("cv", [KFold(3), StratifiedKFold(4), LeaveOneOut()])
def test_splitters(cv):
    X, y = easy(60)
    scorer = Scorer(GaussianNB(), cv=cv).fit(X, y)
    expected = expected_posteriors(GaussianNB(), X, y, cv.split(X, y))
    np.testing.assert_allclose(scorer.posteriors_, expected, atol=1e-12)


@pytest.mark.parametrize("cv", [ShuffleSplit(3), RepeatedKFold(n_splits=3, n_repeats=2)])
def test_splitters_must_test_every_row_once(cv):
    X, y = easy(60)
    with pytest.raises(HeadcountError, match="every row into exactly one test fold"):
        Scorer(LR, cv=cv).fit(X, y)


def test_splitters_must_leave_every_class_to_train_on():
    X, _ = easy(60)
    with pytest.raises(HeadcountError, match="leaves class 'a' out of training fold 0"):
        Scorer(LR, cv=KFold(3)).fit(X, np.repeat(["a", "b", "c"], 20))


@pytest.mark.parametrize(
    "cv", [1, 0, -3, "5", None, 2.5, True, KFold, [], [3, 4], iter([([0], [1])])]
)
def test_other_folds_are_refused(cv):
    X, y = easy(60)
    with pytest.raises(HeadcountError, match=r"cv is .*, but must be a number of folds"):
        Scorer(LR, cv=cv).fit(X, y)


def test_no_cross_fitting_unless_asked_for():
    X, y = easy()
    y[np.flatnonzero(y == 2)[1:]] = 0  # would warn if it were cross-fitted
    scorer = Scorer(LR).fit(X, y, out_of_fold=False)
    assert scorer.posteriors(X).shape == (240, 3)
    for attribute in ("posteriors_", "labels_"):
        assert not hasattr(scorer, attribute)
        with pytest.raises(HeadcountError, match=f"{attribute} was not made.*out_of_fold=True"):
            getattr(scorer, attribute)


def test_fitting_again_forgets_the_scores():
    X, y = easy()
    scorer = Scorer(LR).fit(X, y)
    assert hasattr(scorer, "posteriors_")
    scorer.fit(X, y, out_of_fold=False)
    assert not hasattr(scorer, "posteriors_")


# Classifiers without posteriors


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("classifier", [LinearSVC(), RidgeClassifier(), Perceptron(), SVC()])
def test_posteriors_are_learnt_from_decision_values(classifier, n_classes):
    X, y = easy(2000, n_classes=n_classes)
    train, test = np.arange(1000), np.arange(1000, 2000)
    scorer = Scorer(classifier, random_state=0).fit(X[train], y[train])
    for posteriors, codes in (
        (scorer.posteriors_, y[train]),
        (scorer.posteriors(X[test]), y[test]),
    ):
        np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)
        loss = -np.log(posteriors[np.arange(1000), codes]).mean()
        assert loss < 0.7 * np.log(n_classes)
        # Calibrated: among items given about a posterior, that share are of the class.
        confident = posteriors.max(axis=1) > 0.8
        hits = (posteriors.argmax(axis=1) == codes)[confident].mean()
        assert abs(hits - posteriors.max(axis=1)[confident].mean()) < 0.08


def test_two_classes_get_a_sigmoid_of_the_decision_value():
    X, y = easy(500, n_classes=2)
    scorer = Scorer(LinearSVC(), random_state=0).fit(X, y)
    second = scorer.posteriors(X)[:, 1]
    log_odds = np.log(second / (1 - second))
    decisions = scorer.classifier_.decision_function(X)
    slope, intercept = np.polyfit(decisions, log_odds, 1)
    assert slope > 0
    np.testing.assert_allclose(log_odds, slope * decisions + intercept, atol=1e-6)
    # The fit of a sigmoid with a bias matches the mean of the (nearly hard) targets.
    np.testing.assert_allclose(scorer.posteriors_.mean(axis=0), scorer.prior_, atol=0.005)


def test_decision_values_are_calibrated_out_of_fold():
    # With more features than items a linear classifier separates noise perfectly.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 200)), rng.integers(0, 2, 100)
    scorer = Scorer(LinearSVC(random_state=0), random_state=0).fit(X, y)
    assert (scorer.labels(X) == y).all()
    assert scorer.posteriors_.max() < 0.9


def test_separated_decision_values_stay_in_doubt():
    X = np.r_[np.linspace(-9, -8, 10), np.linspace(8, 9, 10)][:, None]
    posteriors = Scorer(LinearSVC(), random_state=0).fit(X, np.repeat([0, 1], 10)).posteriors(X)
    assert np.isfinite(posteriors).all()
    assert 0.9 < posteriors[0, 0] < 0.99


def test_decision_values_take_cross_fitting_in_any_case():
    X, y = easy()
    full = Scorer(LinearSVC(), random_state=0).fit(X, y)
    scorer = Scorer(LinearSVC(), random_state=0).fit(X, y, out_of_fold=False)
    np.testing.assert_allclose(scorer.posteriors(X), full.posteriors(X))


def test_decision_values_take_no_cross_fitting_if_labels_are_all_that_is_wanted():
    X, y = easy()
    y[np.flatnonzero(y == 2)[1:]] = 0  # would warn if it were cross-fitted
    scorer = Scorer(LinearSVC()).fit(X, y, out_of_fold=False, posteriors=False)
    assert scorer.labels(X).shape == (240,)
    with pytest.raises(HeadcountError, match=r"posteriors were not learnt .* posteriors=True"):
        scorer.posteriors(X)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_decision_values_of_pairs_of_classes_are_refused(n_classes):
    X, y = easy(n_classes=n_classes)
    pairs = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    with pytest.raises(HeadcountError, match=f"columns of pairs for {n_classes} classes"):
        Scorer(pairs).fit(X, y)


def test_too_many_decision_values_are_refused():
    class Verbose(LinearSVC):
        def decision_function(self, X):
            return np.tile(super().decision_function(X), 2)

    X, y = easy(n_classes=4)
    with pytest.raises(HeadcountError, match="of Verbose has 8 columns for 4 classes"):
        Scorer(Verbose()).fit(X, y)


class LabelsOnly(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


def test_labels_alone():
    X, y = easy()
    scorer = Scorer(LabelsOnly(), random_state=0).fit(X, y)
    expected = Scorer(GaussianNB(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(scorer.labels_, expected.labels_)
    np.testing.assert_array_equal(scorer.labels(X), expected.labels(X))
    for call in (lambda: scorer.posteriors_, lambda: scorer.posteriors(X)):
        with pytest.raises(HeadcountError, match="LabelsOnly has neither predict_proba nor"):
            call()


# Weights


@pytest.mark.parametrize(
    "classifier",
    [
        GaussianNB(),
        make_pipeline(StandardScaler(with_mean=False, with_std=False), GaussianNB()),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2),
    ],
)
def test_weights_are_repetitions(classifier):
    X, y = easy(120)
    times = np.random.default_rng(0).integers(1, 4, 120)
    rows = np.repeat(np.arange(120), times)
    fold = np.arange(120) % 3
    weighted = Scorer(classifier, cv=Predefined(fold)).fit(X, y, sample_weight=times)
    repeated = Scorer(classifier, cv=Predefined(fold[rows])).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.prior_, repeated.prior_)
    np.testing.assert_allclose(weighted.posteriors(X), repeated.posteriors(X), atol=1e-9)
    np.testing.assert_allclose(weighted.posteriors_[rows], repeated.posteriors_, atol=1e-9)
    np.testing.assert_array_equal(weighted.weights_, times)


class Predefined:
    """Folds given as one number a row."""

    def __init__(self, fold):
        self.fold = fold

    def split(self, X, y=None, groups=None):
        for number in np.unique(self.fold):
            yield np.flatnonzero(self.fold != number), np.flatnonzero(self.fold == number)


def test_weights_enter_the_calibration_of_decision_values():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    weights = np.where(y == 1, 3.0, 1.0)
    scorer = Scorer(LinearSVC(), random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(scorer.posteriors_[:, 1].mean(), scorer.prior_[1], atol=0.02)
    assert scorer.prior_[1] > 0.7


@pytest.mark.parametrize(
    "classifier",
    [KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())],
)
def test_weights_a_classifier_does_not_take_are_refused(classifier):
    X, y = easy()
    with pytest.raises(HeadcountError, match="takes none when fitted"):
        Scorer(classifier).fit(X, y, sample_weight=np.ones(240))


def test_bad_weights_are_refused():
    X, y = easy()
    for weights, message in (
        (np.ones(239), "one weight per item"),
        (np.full(240, -1.0), "not negative"),
        (np.where(y == 1, 0.0, 1.0), "zero for all items of class 1"),
    ):
        with pytest.raises(HeadcountError, match=f"^sample_weight .*{message}"):
            Scorer(LR).fit(X, y, sample_weight=weights)


# Bad calls


def test_bad_labels_are_refused():
    X, y = easy()
    with pytest.raises(HeadcountError, match="X has 240 rows, but y has 239 labels"):
        Scorer(LR).fit(X, y[:-1])
    with pytest.raises(HeadcountError, match="single class 'a'"):
        Scorer(LR).fit(X, ["a"] * 240)
    with pytest.raises(HeadcountError, match="y is empty"):
        Scorer(LR).fit(X, [])
    with pytest.raises(HeadcountError, match="X has no rows"):
        Scorer(LR).fit(X[:0], [])


@pytest.mark.parametrize("classifier", ["lr", LogisticRegression, StandardScaler(), 3])
def test_what_is_no_classifier_is_refused(classifier):
    X, y = easy()
    with pytest.raises(HeadcountError, match="must be a scikit-learn classifier"):
        Scorer(classifier).fit(X, y)


def test_unfitted():
    X, _ = easy()
    scorer = Scorer()
    for call in (
        lambda: scorer.posteriors(X),
        lambda: scorer.labels(X),
        lambda: scorer.posteriors_,
        lambda: scorer.labels_,
    ):
        with pytest.raises(NotFittedError):
            call()


def test_forests_work_as_they_are():
    X, y = easy()
    forest = RandomForestClassifier(10, random_state=0)
    scorer = Scorer(forest, random_state=0).fit(X, y)
    in_sample = (scorer.labels(X) == y).mean()
    assert in_sample > (scorer.labels_ == y).mean() > 0.7
