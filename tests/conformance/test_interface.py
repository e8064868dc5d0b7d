from __future__ import annotations

import inspect
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import headcount as hc
from headcount.quantify import OneVsRest
from headcount.sampling import Samples
from tests.conformance.cases import (
    METHODS,
    each_case,
    each_method,
    each_scored_case,
    fitted,
    fitted_on_scores,
    labelled,
    labelled_scores,
    pool,
    samples,
    scored,
    scored_pool,
)


def check_simplex(shares, *shape):
    assert isinstance(shares, np.ndarray)
    assert shares.dtype == np.float64
    assert shares.shape == shape
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-12)


def test_discovery_finds_the_methods():
    assert {"MLPE", "CC", "PACC", "DyS", "SLD", "KDEyML", "EDy", "OneVsRest"} <= METHODS.keys()


@each_case
def test_fit_returns_the_quantifier_and_predict_gives_shares(case):
    X, y = labelled(case.n_classes)
    quantifier = case.make()
    assert quantifier.fit(X, y) is quantifier
    np.testing.assert_array_equal(quantifier.classes_, np.arange(case.n_classes))
    np.testing.assert_allclose(quantifier.prior_, np.bincount(y) / len(y), atol=1e-12)
    check_simplex(quantifier.predict(pool(case.n_classes)), case.n_classes)
    many = quantifier.predict_many(pool(case.n_classes), samples())
    check_simplex(many, len(samples()), case.n_classes)


@each_scored_case
def test_fit_scores_returns_the_quantifier_and_predict_scores_gives_shares(case):
    scores, y = scored(case.n_classes)
    quantifier = case.make()
    assert quantifier.fit(hc.Scored(scores), y) is quantifier
    np.testing.assert_array_equal(quantifier.classes_, np.arange(case.n_classes))
    np.testing.assert_allclose(quantifier.prior_, np.bincount(y) / len(y), atol=1e-12)
    check_simplex(quantifier.predict(hc.Scored(scored_pool(case.n_classes))), case.n_classes)
    many = quantifier.predict_many(hc.Scored(scored_pool(case.n_classes)), samples())
    check_simplex(many, len(samples()), case.n_classes)


@each_method
def test_defaults_work(method):
    X, y = labelled(2)
    check_simplex(method().fit(X, y).predict(pool(2)), 2)


@each_case
def test_solutions_say_how_the_solver_fared(case):
    quantifier, K = fitted(case), case.n_classes
    solution = quantifier.solve_many(pool(K), samples())
    np.testing.assert_array_equal(
        solution.prevalence, quantifier.predict_many(pool(K), samples())
    )
    assert len(solution) == len(samples())
    assert solution.converged.all()
    assert solution.iterations.shape == solution.objective.shape == (len(samples()),)


@each_case
def test_shares_follow_the_sample(case):
    if case.method.info.family == "baseline":
        pytest.skip("does not use the sample")
    quantifier = case.fit_quick()
    training = labelled_scores if case.takes_scores else labelled
    items, y = training(case.n_classes)
    first, others = np.flatnonzero(y == 0), np.flatnonzero(y > 0)
    mixes = [np.concatenate([*[first] * 4, others]), np.concatenate([first[:5], others])]
    many, few = quantifier.predict_many(items, mixes)
    # A class in the middle cannot be cut off by one plane.
    least = 0.05 if case.brings_learner and case.wrapped else 0.15
    assert many[0] > few[0] + least


@each_case
def test_before_fitting_there_is_nothing_to_predict(case):
    quantifier, X = case.make(), pool(case.n_classes)
    with pytest.raises(NotFittedError):
        quantifier.predict(X)
    with pytest.raises(NotFittedError):
        quantifier.predict_many(X, samples())
    with pytest.raises(NotFittedError):
        quantifier.solve_many(X, samples())


@each_scored_case
def test_before_fitting_there_is_nothing_to_predict_from_scores(case):
    quantifier, scores = case.make(), scored_pool(case.n_classes)
    with pytest.raises(NotFittedError):
        quantifier.predict(hc.Scored(scores))
    with pytest.raises(NotFittedError):
        quantifier.predict_many(hc.Scored(scores), samples())
    with pytest.raises(NotFittedError):
        quantifier.solve_many(hc.Scored(scores), samples())
    with pytest.raises(NotFittedError):
        quantifier.fit_scorer(hc.Scorer())


@each_method
def test_methods_on_features_take_no_scores(method):
    closed = method.info.input == "features" or method.info.no_scores != ""
    quantifier = method()
    assert quantifier.takes_scores is not closed
    if closed:
        message = rf"^{method.__name__} .*: pass the items themselves"
        with pytest.raises(hc.HeadcountError, match=message):
            quantifier.fit(*labelled_scores(2))
        with pytest.raises(hc.HeadcountError, match=message):
            quantifier.fit_scorer(hc.Scorer())


# Parameters


@each_method
def test_init_only_stores(method):
    given = {
        name: object()
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    quantifier = method(**given)
    assert vars(quantifier) == given
    assert quantifier.get_params(deep=False) == given


@each_method
def test_parameters_come_and_go(method):
    quantifier = method()
    parameters = quantifier.get_params(deep=False)
    assert quantifier.set_params(**parameters) is quantifier
    for name in parameters:
        mark = object()
        assert getattr(method().set_params(**{name: mark}), name) is mark
    with pytest.raises(ValueError, match="no_such_parameter"):
        quantifier.set_params(no_such_parameter=1)


@each_case
def test_a_clone_is_unfitted_and_fits_the_same(case):
    quantifier = fitted_or_quick(case)
    twin = clone(quantifier)
    assert {name for name in vars(twin) if name.endswith("_")} == set()
    assert str(twin.get_params()) == str(quantifier.get_params())
    refitted = refit(case, twin)
    np.testing.assert_array_equal(
        case.solve_quick(refitted, samples()), case.solve_quick(quantifier, samples())
    )


def fitted_or_quick(case):
    return fitted_on_scores(case) if case.takes_scores else fitted(case)


def refit(case, quantifier):
    if case.takes_scores:
        return quantifier.fit(*labelled_scores(case.n_classes))
    return quantifier.fit(*labelled(case.n_classes))


@each_case
def test_a_pickle_predicts_the_same(case):
    quantifier = fitted(case)
    back = pickle.loads(pickle.dumps(quantifier))
    np.testing.assert_array_equal(
        back.predict_many(pool(case.n_classes), samples()),
        quantifier.predict_many(pool(case.n_classes), samples()),
    )


@each_case
def test_fitting_again_forgets_what_was_learnt_before(case):
    X, y = labelled(case.n_classes)
    quantifier = case.make().fit(X[::2] + 1, y[::2]).fit(X, y)
    np.testing.assert_array_equal(
        quantifier.predict_many(pool(case.n_classes), samples()),
        fitted(case).predict_many(pool(case.n_classes), samples()),
    )


@each_case
def test_fitting_changes_no_input(case):
    inputs = [*labelled(case.n_classes), *scored(case.n_classes)]
    mine = [array.copy() for array in inputs]
    X, y, scores, codes = mine
    items, item_scores = pool(case.n_classes).copy(), scored_pool(case.n_classes).copy()
    weights = np.linspace(1, 2, len(y))
    given = None if case.brings_learner else weights
    case.make().fit(X, y, given).predict_many(items, samples())
    if case.takes_scores:
        quantifier = case.make().fit(hc.Scored(scores), codes, weights)
        quantifier.predict_many(hc.Scored(item_scores), samples())
    for before, after in zip(inputs, mine, strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(pool(case.n_classes), items)
    np.testing.assert_array_equal(scored_pool(case.n_classes), item_scores)
    np.testing.assert_array_equal(weights, np.linspace(1, 2, len(y)))


@each_case
@pytest.mark.parametrize(
    "source", [lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)]
)
def test_equal_sources_of_chance_give_equal_answers(case, source):
    X, y = labelled(case.n_classes)
    first, second = (
        case.make(seed=source()).fit(X, y).predict_many(pool(case.n_classes), samples())
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


# What methods say about themselves


@each_method
def test_info_is_complete(method):
    info = method.info
    for text in (info.title, info.family, info.reference):
        assert isinstance(text, str)
        assert text.strip() == text != ""
    assert info.input in ("posteriors", "labels", "features", "any")
    assert info.multiclass in ("native", "one-vs-rest")
    assert info.shift in ("prior", "covariate", "none")


@each_method
def test_every_parameter_is_documented(method):
    text = inspect.getdoc(method)
    assert text.splitlines()[0].endswith(".")
    assert "Examples\n--------\n>>> " in text
    documented = []
    if "Parameters\n----------\n" in text:
        section = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
        documented = re.findall(r"^(\w+) : .+$", section, re.MULTILINE)
    assert documented == list(inspect.signature(method).parameters)


@each_method
def test_every_method_is_exported(method):
    name = method.__name__
    assert name in hc.__all__
    assert getattr(hc, name) is method
    assert name in hc.methods()


# Samples


@each_case
def test_samples_may_be_a_list_of_arrays(case):
    quantifier = fitted_or_quick(case)
    as_list = [index.tolist() for index in samples()]
    np.testing.assert_array_equal(
        case.solve_quick(quantifier, as_list), case.solve_quick(quantifier, samples())
    )


@each_case
def test_samples_of_one_item(case):
    quantifier = fitted_or_quick(case)
    singles = Samples.from_arrays([[i] for i in range(20)], n_pool=120)
    check_simplex(case.solve_quick(quantifier, singles), 20, case.n_classes)


def test_one_vs_rest_has_a_base_by_default():
    scores, y = scored(3)
    default, explicit = (
        q.fit(hc.Scored(scores), y) for q in (OneVsRest(), OneVsRest(hc.DyS()))
    )
    np.testing.assert_array_equal(
        default.predict(hc.Scored(scored_pool(3))), explicit.predict(hc.Scored(scored_pool(3)))
    )
