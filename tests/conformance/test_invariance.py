"""Answers do not depend on names, on order, or on how often an item is written down."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.errors import HeadcountError
from headcount.sampling import Samples
from headcount.scores import Scored
from tests.conformance.cases import (
    CASES,
    SCORED,
    each_case,
    each_scored_case,
    fitted,
    fitted_on_scores,
    labelled,
    pool,
    samples,
    scored,
    scored_pool,
)

# New names of classes 0, 1 (and 2), most of which sort in another order.
NAMES = {
    2: [["yes", "no"], ["a", "b"], [1, -1], [2, 1], [True, False], [0.0, -7.0]],
    3: [["c", "a", "b"], ["b", "c", "a"], [1, 3, 2], [0, -1, -2]],
}


def is_one_sided(case):
    # Of two classes the second is the positive one, and a score equal to the threshold, one
    # of the training scores, is positive. So an item between two training scores changes
    # sides with the positive class. (OneVsRest makes each class positive in turn.)
    if case.brings_learner or case.method.info.resamples:
        # Ties go to the first class, chance is drawn in the order of classes.
        return True
    return case.method.info.family == "threshold" and not case.wrapped


def keeps_order(case, names):
    # Ordered classes may be named in the other direction too, but not in any order.
    return not case.ordered or names in (sorted(names), sorted(names, reverse=True))


RENAMINGS = [
    pytest.param(case, np.array(names), id=f"{case}-{names}")
    for case in SCORED
    for names in NAMES[case.n_classes]
    if (names == sorted(names) or not is_one_sided(case)) and keeps_order(case, names)
]


@pytest.mark.parametrize(("case", "names"), RENAMINGS)
def test_names_of_classes_make_no_difference(case, names):
    scores, y = scored(case.n_classes)
    order = np.argsort(names)
    quantifier = case.make().fit(Scored(scores[:, order]), names[y])
    np.testing.assert_array_equal(quantifier.classes_, names[order])
    assert quantifier.classes_.dtype == names.dtype
    new = scored_pool(case.n_classes)
    given = quantifier.predict_many(Scored(new[:, order]), samples())
    expected = fitted_on_scores(case).predict_many(Scored(new), samples())
    np.testing.assert_allclose(given, expected[:, order], rtol=0, atol=1e-8)


@each_scored_case
def test_classes_may_come_in_any_order(case):
    scores, y = scored(case.n_classes)
    names = np.array(NAMES[case.n_classes][0])
    quantifier = case.make().fit(Scored(scores, classes=names), names[y])
    np.testing.assert_array_equal(quantifier.classes_, names)
    np.testing.assert_array_equal(
        quantifier.predict_many(Scored(scored_pool(case.n_classes)), samples()),
        fitted_on_scores(case).predict_many(Scored(scored_pool(case.n_classes)), samples()),
    )


@pytest.mark.parametrize("case", [c for c in CASES if not is_one_sided(c)], ids=str)
def test_names_of_classes_make_no_difference_to_items(case):
    X, y = labelled(case.n_classes)
    names = np.array(next(n for n in NAMES[case.n_classes] if keeps_order(case, n)))
    order = np.argsort(names)
    quantifier = case.make().fit(X, names[y])
    np.testing.assert_array_equal(quantifier.classes_, names[order])
    given = quantifier.predict_many(pool(case.n_classes), samples())
    expected = fitted(case).predict_many(pool(case.n_classes), samples())
    np.testing.assert_allclose(given, expected[:, order], rtol=0, atol=1e-8)


@pytest.mark.parametrize("case", [c for c in SCORED if c.ordered], ids=str)
def test_the_order_of_ordered_classes_makes_a_difference(case):
    scores, y = scored(3)
    new, order = scored_pool(3), np.array([1, 2, 0])
    quantifier = case.make().fit(Scored(scores[:, order]), order.argsort()[y])
    given = quantifier.predict_many(Scored(new[:, order]), samples())
    expected = fitted_on_scores(case).predict_many(Scored(new), samples())
    assert np.abs(given - expected[:, order]).max() > 1e-5


@each_case
def test_the_order_of_items_in_a_sample_makes_no_difference(case):
    rng = np.random.default_rng(0)
    quantifier = case.fit_quick()
    shuffled = [rng.permutation(index) for index in samples()]
    np.testing.assert_allclose(
        case.solve_quick(quantifier, shuffled),
        case.solve_quick(quantifier, samples()),
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.method.info.depends_on_size], ids=str
)
def test_a_sample_given_twice_over_makes_no_difference(case):
    quantifier = case.fit_quick()
    doubled = Samples.from_arrays([np.tile(index, 2) for index in samples()], n_pool=120)
    np.testing.assert_allclose(
        case.solve_quick(quantifier, doubled),
        case.solve_quick(quantifier, samples()),
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "case",
    [c for c in SCORED if not (c.method.info.depends_on_size or c.method.info.resamples)],
    ids=str,
)
def test_a_weight_of_two_is_an_item_given_twice(case):
    scores, y = scored(case.n_classes)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = case.make().fit(Scored(scores), y, sample_weight=times.astype(float))
    rows = np.repeat(np.arange(len(y)), times)
    repeated = case.make().fit(Scored(scores[rows]), y[rows])
    np.testing.assert_allclose(weighted.prior_, repeated.prior_, atol=1e-12)
    np.testing.assert_allclose(
        weighted.predict_many(Scored(scored_pool(case.n_classes)), samples()),
        repeated.predict_many(Scored(scored_pool(case.n_classes)), samples()),
        rtol=0,
        atol=1e-8,
    )


@each_scored_case
def test_equal_weights_are_no_weights(case):
    scores, y = scored(case.n_classes)
    weighted = case.make().fit(Scored(scores), y, sample_weight=np.full(len(y), 3.0))
    np.testing.assert_allclose(
        weighted.predict_many(Scored(scored_pool(case.n_classes)), samples()),
        fitted_on_scores(case).predict_many(Scored(scored_pool(case.n_classes)), samples()),
        rtol=0,
        atol=1e-9,
    )


@each_scored_case
def test_an_item_without_weight_is_not_there(case):
    scores, y = scored(case.n_classes)
    kept = np.arange(len(y)) % 4 > 0
    if case.simulates:
        check_items_without_weight_are_not_simulated(case, kept)
        return
    weighted = case.make().fit(Scored(scores), y, sample_weight=kept)
    without = case.make().fit(Scored(scores[kept]), y[kept])
    np.testing.assert_allclose(
        weighted.predict_many(Scored(scored_pool(case.n_classes)), samples()),
        without.predict_many(Scored(scored_pool(case.n_classes)), samples()),
        rtol=0,
        atol=1e-8,
    )


@each_case
def test_weights_reach_the_method_from_items(case):
    X, y = labelled(case.n_classes)
    ones, uneven = np.ones(len(y)), np.where(y == 0, 4.0, 1.0)
    if case.brings_learner:
        with pytest.raises(
            HeadcountError, match=r"^sample_weight was given, but .* takes none"
        ):
            case.make().fit(X, y, ones)
        return
    plain = fitted(case).predict_many(pool(case.n_classes), samples())
    same = case.make().fit(X, y, ones).predict_many(pool(case.n_classes), samples())
    np.testing.assert_allclose(same, plain, rtol=0, atol=1e-9)
    quantifier = case.make().fit(X, y, uneven)
    mass = np.bincount(y, uneven)
    np.testing.assert_allclose(quantifier.prior_, mass / mass.sum(), atol=1e-12)


# What depends on simulated samples agrees up to their noise


SIMULATING = [case for case in SCORED if case.simulates]
NOISE = 0.03


def simulated(case, scores, y, new, **more):
    """Shares by many simulations, of the samples that have more than a few items."""
    quantifier = case.make().set_params(replicates=8000).fit(Scored(scores), y, **more)
    return quantifier.predict_many(Scored(new), samples()[[0, 2, 4]])


@pytest.mark.parametrize("case", SIMULATING, ids=str)
def test_names_of_classes_make_no_difference_beyond_noise(case):
    scores, y = scored(case.n_classes)
    new = scored_pool(case.n_classes)
    expected = simulated(case, scores, y, new)
    names = np.array(NAMES[case.n_classes][0])
    order = np.argsort(names)
    given = simulated(case, scores[:, order], names[y], new[:, order])
    np.testing.assert_allclose(given, expected[:, order], rtol=0, atol=NOISE)


def check_items_without_weight_are_not_simulated(case, kept):
    scores, y = scored(case.n_classes)
    new = scored_pool(case.n_classes)
    # Items that would change everything if they counted.
    wrong = np.where(kept[:, None], scores, 1 - scores)
    wrong /= wrong.sum(axis=1, keepdims=True)
    weighted = simulated(case, wrong, y, new, sample_weight=kept.astype(float))
    without = simulated(case, scores[kept], y[kept], new)
    np.testing.assert_allclose(weighted, without, rtol=0, atol=NOISE)
