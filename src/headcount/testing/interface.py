"""Checks of the interface: fit, predict, parameters, clones, declared facts."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from headcount.items.arrays import Scored
from headcount.parts.fitted import MethodInfo
from headcount.quantifiers.base import ScoringPlan
from headcount.samples.samples import Samples
from headcount.scores.scorer import Scorer
from headcount.testing.cases import (
    Case,
    NotApplicable,
    close,
    equal,
    expect,
    labelled,
    labelled_scores,
    on_simplex,
    pool,
    raises,
    refuses,
    samples,
    scored,
    scored_pool,
)

_TEXTS = ("title", "family", "reference")
_CHOICES = {
    "input": ("posteriors", "labels", "features", "any"),
    "multiclass": ("native", "one-vs-rest"),
    "shift": ("prior", "covariate", "none"),
    "scoring": ("folds", "classifier"),
    "labels": ("all classes",),
}


def check_fit_and_predict(case: Case) -> None:
    """`fit` returns the quantifier, `predict` shares on the simplex."""
    X, y = labelled(case.n_classes)
    _check_fit(case, X, y, case.new)


def check_fit_and_predict_from_scores(case: Case) -> None:
    """`fit` and `predict` take `Scored`."""
    scores, y = case.require_scores()
    _check_fit(case, Scored(scores), y, case.new_scores)


def _check_fit(case: Case, X: Any, y: Any, new: Any) -> None:
    quantifier, K = case.make(), case.n_classes
    expect(quantifier.fit(X, y) is quantifier, "fit does not return the quantifier")
    equal(quantifier.classes_, np.arange(K))
    close(quantifier.prior_, np.bincount(y) / len(y), 1e-12)
    on_simplex(quantifier.predict(new), K)
    on_simplex(quantifier.predict_many(new, samples()), len(samples()), K)


def check_defaults(case: Case) -> None:
    """The quantifier works as it was given."""
    case.require_two_classes()
    X, y = labelled(2)
    on_simplex(clone(case.prototype).fit(X, y).predict(pool(2)), 2)


def check_solutions(case: Case) -> None:
    """`fitted_.solve_many` returns the shares of `predict_many` and reports convergence."""
    quantifier, X = case.fitted, case.new
    solution = quantifier.fitted_.solve_many(X, samples())
    equal(solution.prevalence, quantifier.predict_many(X, samples()))
    expect(len(solution) == len(samples()), "not one solution per sample")
    expect(solution.converged.all(), "the solver did not converge on all samples")
    for numbers in (solution.iterations, solution.objective):
        expect(numbers.shape == (len(samples()),), "iterations or objective has a wrong shape")


def check_shares_follow_the_sample(case: Case) -> None:
    """More items of a class give a larger share of it."""
    if case.info.family == "baseline":
        raise NotApplicable("does not use the sample")
    if case.info.family == "network":
        raise NotApplicable("learns next to nothing in so short a time")
    quantifier = case.fit_quick()
    items, y = case.training
    first, remaining = np.flatnonzero(y == 0), np.flatnonzero(y > 0)
    mixes = [np.concatenate([*[first] * 4, remaining]), np.concatenate([first[:5], remaining])]
    mostly, few = quantifier.predict_many(items, mixes)
    # A class in the middle cannot be cut off by one plane.
    least = 0.05 if case.brings_learner and case.wrapped else 0.15
    expect(
        mostly[0] > few[0] + least, f"the share rises from {few[0]:.3f} to {mostly[0]:.3f} only"
    )


def check_unfitted(case: Case) -> None:
    """Before `fit`, scikit-learn's NotFittedError is raised."""
    quantifier, X = case.make(), case.new
    calls: list[Callable[[], Any]] = [
        lambda: quantifier.predict(X),
        lambda: quantifier.predict_many(X, samples()),
    ]
    if case.takes_scores:
        calls += [
            lambda: quantifier.predict(case.new_scores),
            lambda: case.score_shares(quantifier),
            lambda: quantifier.fit_scorer(Scorer()),
        ]
    for call in calls:
        with raises(NotFittedError):
            call()


def check_declared_scores(case: Case) -> None:
    """A method takes scores, unless it works on features or ``info.no_scores`` is declared."""
    case.require_two_classes()
    closed = ScoringPlan(case.prototype).takes == "features" or case.info.no_scores != ""
    expect(case.takes_scores is not closed, "takes_scores differs from the declared facts")
    if closed:
        quantifier = case.make()
        refuses(
            rf"^{case.name} .*: pass the items themselves",
            lambda: quantifier.fit(*labelled_scores(2)),
            lambda: quantifier.fit_scorer(Scorer()),
        )


def check_init_stores(case: Case) -> None:
    """``__init__`` only stores its parameters."""
    case.require_two_classes()
    signature = inspect.signature(type(case.prototype)).parameters.values()
    arguments = {
        parameter.name: object()
        for parameter in signature
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    quantifier = type(case.prototype)(**arguments)
    expect(vars(quantifier) == arguments, "__init__ does more than to store its parameters")
    expect(quantifier.get_params(deep=False) == arguments, "get_params misses parameters")


def check_parameters(case: Case) -> None:
    """`get_params` and `set_params` work as in scikit-learn."""
    case.require_two_classes()
    quantifier = case.make()
    parameters = quantifier.get_params(deep=False)
    expect(quantifier.set_params(**parameters) is quantifier, "set_params returns another")
    for name in parameters:
        mark = object()
        changed = case.make().set_params(**{name: mark})
        expect(getattr(changed, name) is mark, f"set_params does not set {name}")
    with raises(ValueError, "no_such_parameter"):
        quantifier.set_params(no_such_parameter=1)


def check_clone(case: Case) -> None:
    """A clone is unfitted and fits the same."""
    quantifier = case.fitted_quick
    twin = clone(quantifier)
    expect(not any(name.endswith("_") for name in vars(twin)), "a clone is fitted")
    expect(
        str(twin.get_params()) == str(quantifier.get_params()), "a clone has other parameters"
    )
    again = twin.fit(*case.training)
    equal(case.predict_quick(again, samples()), case.predict_quick(quantifier, samples()))


def check_pickle(case: Case) -> None:
    """A pickled quantifier predicts the same."""
    quantifier, X = case.fitted, case.new
    back = pickle.loads(pickle.dumps(quantifier))
    equal(back.predict_many(X, samples()), quantifier.predict_many(X, samples()))


def check_fit_again(case: Case) -> None:
    """Fitting again keeps nothing of the first fit."""
    X, y = labelled(case.n_classes)
    quantifier = case.make().fit(X[::2] + 1, y[::2]).fit(X, y)
    equal(case.shares(quantifier), case.expected)


def check_input_is_unchanged(case: Case) -> None:
    """No array of the user is changed."""
    K = case.n_classes
    before = [*labelled(K), *scored(K), pool(K), scored_pool(K)]
    arrays = [array.copy() for array in before]
    X, y, scores, codes, items, item_scores = arrays
    weights = np.linspace(1, 2, len(y))
    fit_weights = None if case.brings_learner else weights
    case.make().fit(X, y, fit_weights).predict_many(items, samples())
    if case.takes_scores:
        quantifier = case.make().fit(Scored(scores), codes, weights)
        quantifier.predict_many(Scored(item_scores), samples())
    for old, new in zip(before, arrays, strict=True):
        equal(old, new)
    equal(weights, np.linspace(1, 2, len(y)))


def check_random_state(case: Case) -> None:
    """Equal random seeds, of any kind, give equal shares; None is a fixed seed."""
    X, y = labelled(case.n_classes)
    sources: list[Callable[[], Any]] = [
        lambda: None,
        lambda: 3,
        lambda: np.random.default_rng(3),
        lambda: np.random.RandomState(3),
    ]
    for source in sources:
        first, second = (case.shares(case.make(seed=source()).fit(X, y)) for _ in range(2))
        equal(first, second)


def check_info(case: Case) -> None:
    """``info`` is complete."""
    case.require_two_classes()
    expect(isinstance(case.info, MethodInfo), "info is not a MethodInfo")
    for name in _TEXTS:
        text = getattr(case.info, name)
        expect(isinstance(text, str) and text.strip() == text != "", f"info.{name} is {text!r}")
    for name, allowed in _CHOICES.items():
        value = getattr(case.info, name)
        expect(value in allowed, f"info.{name} is {value!r}; it must be one of {allowed}")


def check_samples_as_lists(case: Case) -> None:
    """Samples may be lists of row numbers."""
    quantifier = case.fitted_quick
    as_lists = [index.tolist() for index in samples()]
    equal(case.predict_quick(quantifier, as_lists), case.predict_quick(quantifier, samples()))


def check_samples_of_one_item(case: Case) -> None:
    """Samples of one item have shares."""
    singles = Samples.from_arrays([[i] for i in range(20)], n_pool=120)
    on_simplex(case.predict_quick(case.fitted_quick, singles), 20, case.n_classes)
