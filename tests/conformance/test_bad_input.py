"""Bad data is refused in one clear sentence, and costs nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

import headcount as hc
from headcount.errors import HeadcountError
from headcount.sampling import Samples
from tests.conformance.cases import (
    METHODS,
    Case,
    each_case,
    each_scored_case,
    fitted,
    fitted_on_scores,
    labelled,
    labelled_scores,
    make,
    pool,
    samples,
    scored,
    scored_pool,
)

# Checks that all methods share are tried on one of each kind.
A_FEW = [Case(METHODS[name], 2) for name in ("MLPE", "CC", "PACC", "DyS", "SLD")]
A_FEW += [Case(METHODS["KDEyML"], 3), Case(METHODS["OneVsRest"], 3)]
a_few = pytest.mark.parametrize("case", A_FEW, ids=str)
a_few_scored = pytest.mark.parametrize(
    "case", [case for case in A_FEW if case.takes_scores], ids=str
)


def refuses(match):
    return pytest.raises(HeadcountError, match=match)


def spoilt(table, value, row=7):
    table = np.array(table, dtype=float)
    table[row, 0] = value
    return table


# Items


@each_case
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_or_infinite_items(case, value):
    X, y = labelled(case.n_classes)
    message = r"^X has 1 missing or infinite numbers, the first at row 7, column 0"
    with refuses(message):
        case.make().fit(spoilt(X, value), y)
    with refuses(message):
        fitted(case).predict(spoilt(pool(case.n_classes), value))
    with refuses(message):
        fitted(case).predict_many(spoilt(pool(case.n_classes), value), samples())


@each_case
def test_no_items(case):
    X, y = labelled(case.n_classes)
    with refuses("^X has no rows"):
        case.make().fit(X[:0], y[:0])
    with refuses("^X has no rows"):
        fitted(case).predict(X[:0])
    with refuses("^X has no rows"):
        fitted(case).predict_many(X[:0], [[0]])


@each_case
def test_items_and_labels_of_different_lengths(case):
    X, y = labelled(case.n_classes)
    with refuses("^X has 180 rows, but y has 179 labels"):
        case.make().fit(X, y[:-1])


@each_scored_case
def test_items_with_other_columns_than_learnt_from(case):
    with refuses("^X has 2 columns, but had 3 columns when the classifier was fitted"):
        fitted(case).predict(pool(case.n_classes)[:, :2])


@a_few
def test_items_in_one_dimension(case):
    X, y = labelled(case.n_classes)
    with refuses("^X is 1-D"):
        case.make().fit(X[:, 0], y)
    with refuses("^X is 1-D"):
        fitted(case).predict(X[:, 0])


# Labels


@each_case
def test_a_single_class(case):
    X, y = labelled(case.n_classes)
    with refuses("^y has the single class 1"):
        case.make().fit(X, np.ones(len(y), int))


@each_scored_case
def test_a_single_class_of_scores(case):
    scores, y = scored(case.n_classes)
    with refuses("^y has the single class 1"):
        case.make().fit(hc.Scored(scores), np.ones(len(y), int))


@each_scored_case
def test_a_class_that_has_no_items(case):
    scores, y = scored(case.n_classes)
    last = case.n_classes - 1
    with refuses(f"^y has no items of class {last}"):
        case.make().fit(
            hc.Scored(scores, classes=range(case.n_classes)), np.minimum(y, last - 1)
        )
    with refuses(f"^sample_weight is zero for all items of class {last}"):
        case.make().fit(hc.Scored(scores), y, sample_weight=y != last)


@each_scored_case
def test_labels_that_are_no_class(case):
    scores, y = scored(case.n_classes)
    with refuses("^y has labels that are not among the classes: 0;"):
        case.make().fit(hc.Scored(scores, classes=np.arange(case.n_classes) + 1), y)


@a_few
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_labels(case, missing):
    X, y = labelled(case.n_classes)
    labels = [missing, *y[1:].tolist()]
    with refuses("^y misses 1 of 180 labels, the first at position 0"):
        case.make().fit(X, labels)
    if case.takes_scores:
        with refuses("^y misses 1 of 180 labels, the first at position 0"):
            case.make().fit(hc.Scored(scored(case.n_classes)[0]), labels)


@a_few
def test_labels_in_two_dimensions(case):
    X, y = labelled(case.n_classes)
    with refuses("^y "):
        case.make().fit(X, np.column_stack([y, y]))


@each_scored_case
def test_a_class_that_is_missing_from_a_fold(case):
    if not case.make()._learns_from_scores():
        pytest.skip("does not cross-fit")
    X, y = labelled(case.n_classes)
    by_class = np.argsort(y, kind="stable")
    X, y = X[by_class], y[by_class]
    cut = int((y == 0).sum())
    base = make(case.method)
    target = base.quantifier if hasattr(base, "quantifier") else base
    target.set_params(cv=FirstThenRest(cut))
    quantifier = hc.OneVsRest(base) if case.wrapped else base
    with refuses("^cv leaves class 0 out of training fold 0"):
        quantifier.fit(X, y)


class FirstThenRest:
    """Two folds: the first so many rows, and the others."""

    def __init__(self, cut):
        self.cut = cut

    def split(self, X, y=None, groups=None):
        rows = np.arange(X.shape[0])
        for first in (True, False):
            test = (rows < self.cut) == first
            yield rows[~test], rows[test]


def test_a_splitter_that_forgets_rows():
    X, y = labelled(2)
    with refuses("^cv must put every row into exactly one test fold"):
        hc.PACC(cv=LastFoldLost()).fit(X, y)


class LastFoldLost:
    def split(self, X, y=None, groups=None):
        yield from list(KFold(3).split(X))[:-1]


@each_case
def test_methods_for_two_classes_point_to_one_vs_rest(case):
    if not case.wrapped:
        pytest.skip("takes three classes as it is")
    message = rf"^{case.name} works with two classes, but y has 3: wrap it as OneVsRest"
    with refuses(message):
        make(case.method).fit(*labelled(3))
    if not case.takes_scores:
        return
    with refuses(message):
        make(case.method).fit(*labelled_scores(3))
    with refuses(message):
        scorer = hc.Scorer(make(case.method).classifier).fit(*labelled(3))
        make(case.method).fit_scorer(scorer)


# Scores


@each_scored_case
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_or_infinite_scores(case, value):
    scores, y = scored(case.n_classes)
    new = spoilt(scored_pool(case.n_classes), value)
    message = "^posteriors has NaN or infinite values in 1 of [0-9]+ rows, the first in row 7"
    with refuses(message):
        case.make().fit(hc.Scored(spoilt(scores, value)), y)
    with refuses(message):
        fitted_on_scores(case).predict(hc.Scored(new))
    with refuses(message):
        fitted_on_scores(case).predict_many(hc.Scored(new), samples())


@a_few_scored
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda scores: scores * 4 - 1.5, "^posteriors has values from -1.*calibrate"),
        (lambda scores: scores * 0.9, "^posteriors has .* rows that do not sum to 1"),
        (lambda scores: scores[:, :1], "^posteriors has 1 columns; it must"),
        (
            lambda scores: np.column_stack([scores, scores * 0]),
            "^posteriors has ([46] columns|.* do not sum)",
        ),
        (lambda scores: scores[:0], "^posteriors has no rows"),
        (lambda scores: scores[None], "^posteriors has 3 dimensions"),
        (lambda scores: scores.astype(str), "^posteriors is not numeric"),
        (lambda scores: [[0.5, 0.5], [1.0]], "^posteriors has rows of different lengths"),
    ],
)
def test_scores_that_are_no_posteriors(case, spoil, message):
    scores, y = scored(case.n_classes)
    with refuses(message):
        case.make().fit(hc.Scored(spoil(scores)), y)
    with refuses(message):
        fitted_on_scores(case).predict(hc.Scored(spoil(scored_pool(case.n_classes))))


@each_scored_case
def test_scores_and_labels_of_different_lengths(case):
    scores, y = scored(case.n_classes)
    with refuses("^X has 179 rows, but y has 180 labels"):
        case.make().fit(hc.Scored(scores[1:]), y)


@each_scored_case
def test_items_after_fitting_on_scores(case):
    message = "was fitted on scores or decisions and has no classifier for X: .*Scored"
    with refuses(message):
        fitted_on_scores(case).predict(pool(case.n_classes))
    with refuses(message):
        fitted_on_scores(case).predict_many(pool(case.n_classes), samples())


# Samples


@each_case
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([[0, 1], []], "^sample 1 is empty"),
        ([], "^samples is empty"),
        ([[0], [3, 120]], "^sample 1 has index 120, but the pool has 120 items"),
        ([[0, -1]], "^sample 0 has index -1"),
        ([[0.0, 1.0]], "^sample 0 holds float64 values, not whole numbers"),
        ([[True] * 120], "^sample 0 holds bool values, not whole numbers"),
        ([[[0, 1]]], r"^sample 0 has 2 dimension\(s\)"),
        ("all", "^samples is of type str"),
        (Samples.whole(119), "^samples are of a pool of 119 items, but this pool has 120"),
    ],
)
def test_samples_that_are_none(case, bad, message):
    with refuses(message):
        fitted(case).predict_many(pool(case.n_classes), bad)
    if case.takes_scores:
        with refuses(message):
            fitted_on_scores(case).predict_many(hc.Scored(scored_pool(case.n_classes)), bad)


@each_case
def test_no_samples_are_one_sample_of_all_items(case):
    quantifier, X = fitted(case), pool(case.n_classes)
    np.testing.assert_array_equal(quantifier.predict_many(X, None)[0], quantifier.predict(X))
    if case.takes_scores:
        quantifier, scores = fitted_on_scores(case), scored_pool(case.n_classes)
        everything = quantifier.predict_many(hc.Scored(scores), None)
        np.testing.assert_array_equal(everything[0], quantifier.predict(hc.Scored(scores)))


# Weights


@each_case
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda weights: weights[1:], r"^sample_weight has the shape \(179,\)"),
        (lambda weights: weights[:, None], r"^sample_weight has the shape \(180, 1\)"),
        (lambda weights: np.where(weights > 1.5, -1, 1), "^sample_weight has the value -1"),
        (
            lambda weights: np.where(weights > 1.5, np.nan, 1),
            "^sample_weight has the value nan",
        ),
        (
            lambda weights: np.where(weights > 1.5, np.inf, 1),
            "^sample_weight has the value inf",
        ),
        (lambda weights: weights * 0, "^sample_weight are all zero"),
        (lambda weights: ["heavy"] * len(weights), "^sample_weight is not numeric"),
    ],
)
def test_weights_that_are_none(case, spoil, message):
    X, y = labelled(case.n_classes)
    weights = np.linspace(1, 2, len(y))
    with refuses(message):
        case.make().fit(X, y, spoil(weights))
    if case.takes_scores:
        with refuses(message):
            case.make().fit(*labelled_scores(case.n_classes), spoil(weights))


# Nothing is lost


@each_case
def test_a_failed_fit_leaves_what_was_learnt(case):
    X, y = labelled(case.n_classes)
    quantifier = case.make().fit(X, y)
    before = vars(quantifier).copy()
    names = np.array(["x", "y", "z", "w"])
    for bad in (
        lambda: quantifier.fit(spoilt(X, np.nan), y),
        lambda: quantifier.fit(X, np.zeros(len(y))),
        lambda: quantifier.fit(X[:50], names[y[:49]]),
        lambda: quantifier.fit(X, names[y], sample_weight=-np.ones(len(y))),
    ):
        with pytest.raises(HeadcountError):
            bad()
    assert vars(quantifier).keys() == before.keys()
    assert all(vars(quantifier)[name] is before[name] for name in before)
    np.testing.assert_array_equal(
        quantifier.predict_many(pool(case.n_classes), samples()),
        fitted(case).predict_many(pool(case.n_classes), samples()),
    )


@each_scored_case
def test_a_failed_fit_on_scores_leaves_what_was_learnt(case):
    scores, y = scored(case.n_classes)
    quantifier = case.make().fit(hc.Scored(scores), y)
    before = vars(quantifier).copy()
    names = np.array(["x", "y", "z", "w"])
    for bad in (
        lambda: quantifier.fit(hc.Scored(spoilt(scores, np.nan)), names[y]),
        lambda: quantifier.fit(hc.Scored(scores), names[y], sample_weight=-np.ones(len(y))),
        lambda: quantifier.fit(hc.Scored(scores[:50]), names[y]),
    ):
        with pytest.raises(HeadcountError):
            bad()
    assert all(vars(quantifier)[name] is before[name] for name in before)
    np.testing.assert_array_equal(
        quantifier.predict_many(hc.Scored(scored_pool(case.n_classes)), samples()),
        fitted_on_scores(case).predict_many(hc.Scored(scored_pool(case.n_classes)), samples()),
    )


def test_a_failed_fit_of_a_shared_scorer_leaves_its_quantifiers():
    X, y = labelled(3)
    scorer = hc.Scorer(random_state=0).fit(X, y)
    quantifier = hc.PACC().fit_scorer(scorer)
    before = quantifier.predict(pool(3))
    with refuses("^sample_weight"):
        scorer.fit(X, np.array(["x", "y", "z"])[y], sample_weight=-np.ones(len(y)))
    np.testing.assert_array_equal(quantifier.predict(pool(3)), before)
