from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from headcount.errors import HeadcountError
from headcount.scores.folds import make_tag_folds
from headcount.scores.scorer import Scorer
from headcount.scores.tags import TagScorer, check_tags


class Counting(TransformerMixin, BaseEstimator):
    """Passes items on, and counts calls of all its clones."""

    calls: dict[str, int] = {}  # noqa: RUF012

    def fit(self, X, y=None):
        self.calls["fit"] = self.calls.get("fit", 0) + 1
        self.with_labels_ = y is not None
        return self

    def transform(self, X):
        self.calls["transform"] = self.calls.get("transform", 0) + 1
        return np.asarray(X)


@pytest.fixture
def items():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = (X[:, :3] + rng.normal(size=(240, 3)) > [0.0, 0.8, -1.0]).astype(int)
    return X, y


class TestFolds:
    def test_every_tag_is_about_as_frequent_in_every_fold(self):
        rng = np.random.default_rng(0)
        y = (rng.random((1000, 4)) < [0.02, 0.1, 0.5, 0.95]).astype(np.int64)
        folds = make_tag_folds(5, None, y, "abcd", 0)
        counts = np.array([y[test].sum(axis=0) for _, test in folds])
        rare = np.minimum(counts, [[len(test)] * 4 for _, test in folds] - counts)
        assert (np.ptp(rare, axis=0) <= 2).all()
        sizes = [len(test) for _, test in folds]
        assert max(sizes) - min(sizes) <= 2
        tested = np.sort(np.concatenate([test for _, test in folds]))
        np.testing.assert_array_equal(tested, np.arange(1000))

    def test_a_tag_of_two_items_is_in_every_training_fold(self):
        y = np.zeros((50, 2), np.int64)
        y[[3, 4], 0], y[[3, 4, 5, 6], 1] = 1, 1
        for seed in range(5):
            for train, _ in make_tag_folds(5, None, y, "ab", seed):
                assert y[train].any(axis=0).all()

    def test_groups_are_not_divided(self, items):
        y = items[1]
        groups = np.repeat(np.arange(40), 6)
        for train, test in make_tag_folds(4, None, y, "abc", 0, groups):
            assert not set(groups[train]) & set(groups[test])

    def test_one_seed_gives_one_division(self, items):
        first, second = (make_tag_folds(5, None, items[1], "abc", 3) for _ in range(2))
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one[1], other[1])

    def test_tags_that_whole_groups_have_are_refused_by_name(self):
        y = np.zeros((40, 1), np.int64)
        y[:8] = 1
        with pytest.raises(HeadcountError, match=r"tag 'new' are too few .* whole groups"):
            make_tag_folds(4, None, y, ["new"], 0, np.repeat(np.arange(5), 8))

    def test_splits_without_a_tag_are_refused_by_name(self):
        y = np.zeros((40, 1), np.int64)
        y[:8] = 1
        with pytest.raises(HeadcountError, match=r"cv has a training fold .* 'new'"):
            make_tag_folds(KFold(5), np.zeros((40, 1)), y, ["new"], 0)


class TestSharedSteps:
    def test_steps_run_once_per_fold_and_not_once_per_tag(self, items):
        X, y = items
        Counting.calls.clear()
        pipeline = make_pipeline(Counting(), StandardScaler(), LogisticRegression())
        scorer = TagScorer(Scorer(pipeline, random_state=0)).fit(X, y, "abc")
        assert scorer.n_shared_ == 2
        assert Counting.calls == {"fit": 6, "transform": 11}  # training items, held-out items
        Counting.calls.clear()
        scorer.score(X, predictions=True)
        assert Counting.calls == {"transform": 6}

    @pytest.mark.parametrize("last", [LogisticRegression(), LinearSVC()])
    def test_scores_are_those_of_separate_scorers(self, items, last):
        X, y = items
        pipeline = make_pipeline(StandardScaler(), last)
        scorer = TagScorer(Scorer(pipeline, random_state=0)).fit(X[:150], y[:150], "abc")
        for j, (own, new) in enumerate(zip(scorer.each_, scorer.score(X[150:]), strict=True)):
            alone = Scorer(pipeline, cv=own.cv).fit(X[:150], y[:150, j])
            np.testing.assert_array_equal(own.posteriors_, alone.posteriors_)
            np.testing.assert_array_equal(own.labels_, alone.labels_)
            expected = alone.score(X[150:])
            np.testing.assert_array_equal(new.posteriors, expected.posteriors)
            for fold, other in zip(new.folds, expected.folds, strict=True):
                np.testing.assert_array_equal(fold.posteriors, other.posteriors)
            # The scorer of a tag can be used alone.
            np.testing.assert_array_equal(own.posteriors(X[150:]), alone.posteriors(X[150:]))

    @pytest.mark.parametrize(
        ("first", "shared"),
        [
            ([StandardScaler(), SelectKBest(k=2)], 1),
            ([SelectKBest(k=2), StandardScaler()], 0),
            ([FeatureUnion([("all", StandardScaler()), ("two", SelectKBest(k=2))])], 0),
            ([ColumnTransformer([("two", SelectKBest(k=1), [0, 1])]), StandardScaler()], 0),
            ([make_pipeline(StandardScaler(), SelectKBest(k=2))], 0),
            (["passthrough", StandardScaler()], 2),
        ],
    )
    def test_steps_that_learn_from_labels_are_not_shared(self, items, first, shared):
        X, y = items
        steps = [(str(i), clone(step) if step != "passthrough" else step)
                 for i, step in enumerate(first)]  # fmt: skip
        pipeline = Pipeline([*steps, ("last", LogisticRegression())])
        scorer = TagScorer(Scorer(pipeline, random_state=0)).fit(X, y, "abc")
        assert scorer.n_shared_ == shared
        for j, own in enumerate(scorer.each_):
            alone = Scorer(pipeline, cv=own.cv).fit(X, y[:, j])
            np.testing.assert_array_equal(own.posteriors_, alone.posteriors_)

    def test_weights_reach_the_last_step_alone(self, items):
        X, y = items
        weights = np.linspace(0.5, 2, len(X))
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        scorer = TagScorer(Scorer(pipeline, random_state=0)).fit(X, y, "abc", weights)
        alone = Scorer(pipeline, cv=scorer.each_[1].cv).fit(X, y[:, 1], weights)
        np.testing.assert_array_equal(scorer.each_[1].posteriors_, alone.posteriors_)

    def test_training_items_are_not_kept(self, items):
        X, y = items
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        scorer = TagScorer(Scorer(pipeline, random_state=0)).fit(X, y, "abc")
        assert all(each.first_steps is None for each in scorer.each_)

    def test_a_frozen_classifier_is_refused(self, items):
        X, y = items
        frozen = FrozenEstimator(LogisticRegression().fit(X, y[:, 0]))
        with pytest.raises(HeadcountError, match="every tag needs a classifier of its own"):
            TagScorer(Scorer(frozen)).fit(X, y, "abc")


class TestIndicators:
    @pytest.mark.parametrize("kind", [np.asarray, csr_matrix, np.ndarray.tolist])
    def test_tables_of_any_kind(self, items, kind):
        tags, indicators = check_tags(kind(items[1]))
        assert tags.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(indicators, items[1])

    def test_columns_of_a_frame_are_the_tags(self, items):
        frame = pl.DataFrame(items[1] == 1, schema=["a", "b", "c"])
        tags, indicators = check_tags(frame)
        assert tags.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(indicators, items[1])
        np.testing.assert_array_equal(check_tags(frame.to_pandas())[0], ["a", "b", "c"])

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            ([0, 1, 1], r"y has the shape \(3,\)"),
            ([["a"], ["a", "b"]], "MultiLabelBinarizer"),
            ([["a", "b"], ["a", "c"]], "MultiLabelBinarizer"),
            ([[0, 2], [1, 1]], "y has the value 2.0 for the tag 1 in row 0"),
            ([[0.0, np.nan], [1, 1]], "y has the value nan for the tag 1"),
            ([[0, 1], [1, 0], [1, 0], [0, 0]], "1 of 4 items have the tag 1"),
            (np.zeros((4, 3)), "0 of 4 items have the tag 0 .and 2 more"),
            (np.zeros((4, 0)), "y has the shape"),
        ],
    )
    def test_bad_indicators_are_refused_in_a_sentence(self, y, message):
        with pytest.raises(HeadcountError, match=message) as caught:
            check_tags(y)
        assert len(str(caught.value)) <= 300
