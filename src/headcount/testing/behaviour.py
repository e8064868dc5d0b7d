"""Checks of the interface, and that results follow from the sample alone.

Names and order of the classes, the order of items and samples, and the form of the input make
no difference. For exact mixtures, scores take a few values. For each value the training set
has whole numbers of items of each class, and the score is the vector of their shares, so
posteriors are exactly calibrated. Each item of class j is taken m_j times into the sample:
nothing is left to chance.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from headcount._support.arrays import Array, Floats
from headcount._support.frames import pl
from headcount.items.arrays import Scored
from headcount.parts.fitted import MethodInfo
from headcount.quantifiers.base import ScoringPlan
from headcount.quantifiers.one_vs_rest import OneVsOne, OneVsRest
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


# New names of classes 0, 1 (and 2), most of which sort in another order.
_NAMES: dict[int, list[list[Any]]] = {
    2: [["yes", "no"], ["a", "b"], [1, -1], [2, 1], [True, False], [0.0, -7.0]],
    3: [["c", "a", "b"], ["b", "c", "a"], [1, 3, 2], [0, -1, -2]],
}
# Tolerance for methods whose results depend on simulated samples.
_NOISE = 0.03


def _is_one_sided(case: Case) -> bool:
    """True if the names of the two classes may make a difference.

    Of two classes the second is the positive one, and a score equal to the threshold, one of
    the training scores, is positive. So an item between two training scores changes sides
    with the positive class. (`OneVsRest` makes each class positive in turn.) Learners decide
    ties for the first class, and random numbers are drawn in the order of classes.
    """
    if case.brings_learner or case.info.resamples:
        return True
    return case.info.family == "threshold" and not case.wrapped


def _keeps_order(case: Case, names: list[Any]) -> bool:
    """Ordered classes may be named in the other direction too, but not in any order."""
    return not case.ordered or names in (sorted(names), sorted(names, reverse=True))


def check_names_of_classes(case: Case) -> None:
    """Names of classes, of any kind, make no difference to scores."""
    case.require_scores()
    for names in _NAMES[case.n_classes]:
        any_side = names == sorted(names) or not _is_one_sided(case)
        if any_side and _keeps_order(case, names):
            _check_names(case, np.array(names))


def _check_names(case: Case, names: Array) -> None:
    scores, y = scored(case.n_classes)
    order = np.argsort(names)
    quantifier = case.make().fit(Scored(scores[:, order]), names[y])
    equal(quantifier.classes_, names[order])
    expect(quantifier.classes_.dtype == names.dtype, "classes_ has another type than y")
    new = scored_pool(case.n_classes)
    shares = quantifier.predict_many(Scored(new[:, order]), samples())
    expected = case.fitted_on_scores.predict_many(Scored(new), samples())
    close(shares, expected[:, order], 1e-8)


def check_order_of_classes(case: Case) -> None:
    """Scores may come with the classes in any order."""
    scores, y = case.require_scores()
    names = np.array(_NAMES[case.n_classes][0])
    quantifier = case.make().fit(Scored(scores, classes=names), names[y])
    equal(quantifier.classes_, names)
    equal(case.score_shares(quantifier), case.expected_of_scores)


def check_names_of_classes_of_items(case: Case) -> None:
    """Names of classes make no difference to items."""
    if _is_one_sided(case):
        raise NotApplicable("the positive class, or the order of the classes, matters")
    X, y = labelled(case.n_classes)
    names = np.array(next(n for n in _NAMES[case.n_classes] if _keeps_order(case, n)))
    order = np.argsort(names)
    quantifier = case.make().fit(X, names[y])
    equal(quantifier.classes_, names[order])
    close(case.shares(quantifier), case.expected[:, order], 1e-8)


def check_ordered_classes(case: Case) -> None:
    """The order of ordered classes makes a difference."""
    case.require_scores()
    if not case.ordered:
        raise NotApplicable("does not use the order of the classes")
    scores, y = scored(3)
    new, order = scored_pool(3), np.array([1, 2, 0])
    quantifier = case.make().fit(Scored(scores[:, order]), order.argsort()[y])
    shares = quantifier.predict_many(Scored(new[:, order]), samples())
    expected = case.fitted_on_scores.predict_many(Scored(new), samples())
    difference = np.abs(shares - expected[:, order]).max()
    expect(difference > 1e-5, "the order of ordered classes makes no difference")


def check_order_of_items(case: Case) -> None:
    """The order of the items of a sample makes no difference."""
    rng = np.random.default_rng(0)
    quantifier = case.fit_quick()
    shuffled = [rng.permutation(index) for index in samples()]
    shares = case.predict_quick(quantifier, shuffled)
    close(shares, case.predict_quick(quantifier, samples()), 1e-9)


def check_repeated_sample(case: Case) -> None:
    """A sample given twice over has the same shares, unless ``info.depends_on_size``."""
    if case.info.depends_on_size:
        raise NotApplicable("depends on the number of items")
    quantifier = case.fit_quick()
    doubled = Samples.from_arrays([np.tile(index, 2) for index in samples()], n_pool=120)
    shares = case.predict_quick(quantifier, doubled)
    close(shares, case.predict_quick(quantifier, samples()), 1e-9)


def check_whole_weights(case: Case) -> None:
    """A training item of weight 2 is an item given twice."""
    case.require_scores()
    if case.info.depends_on_size or case.info.resamples:
        raise NotApplicable("depends on the number of training items")
    scores, y = scored(case.n_classes)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = case.make().fit(Scored(scores), y, sample_weight=times.astype(float))
    rows = np.repeat(np.arange(len(y)), times)
    repeated = case.make().fit(Scored(scores[rows]), y[rows])
    close(weighted.prior_, repeated.prior_, 1e-12)
    close(case.score_shares(weighted), case.score_shares(repeated), 1e-8)


def check_equal_weights(case: Case) -> None:
    """Equal weights are no weights."""
    scores, y = case.require_scores()
    weighted = case.make().fit(Scored(scores), y, sample_weight=np.full(len(y), 3.0))
    close(case.score_shares(weighted), case.expected_of_scores, 1e-9)


def check_zero_weights(case: Case) -> None:
    """Training items of weight 0 have no influence."""
    scores, y = case.require_scores()
    has_weight = np.arange(len(y)) % 4 > 0
    if case.simulates:
        _check_zero_weights_beyond_noise(case, has_weight)
        return
    weighted = case.make().fit(Scored(scores), y, sample_weight=has_weight)
    without = case.make().fit(Scored(scores[has_weight]), y[has_weight])
    close(case.score_shares(weighted), case.score_shares(without), 1e-8)


def check_weights_of_items(case: Case) -> None:
    """Weights of items are used, or refused by learners that take none."""
    X, y = labelled(case.n_classes)
    ones, uneven = np.ones(len(y)), np.where(y == 0, 4.0, 1.0)
    if case.brings_learner:
        refuses(
            r"^sample_weight was given, but .* takes none", lambda: case.make().fit(X, y, ones)
        )
        return
    same = case.shares(case.make().fit(X, y, ones))
    close(same, case.expected, 1e-9)
    mass = np.bincount(y, uneven)
    close(case.make().fit(X, y, uneven).prior_, mass / mass.sum(), 1e-12)


# Results that depend on simulated samples agree up to their noise.


def _simulated(case: Case, scores: Array, y: Array, new: Array, **more: Any) -> Floats:
    """Shares by many simulations, of the samples that have more than a few items."""
    quantifier = case.make().set_params(replicates=8000).fit(Scored(scores), y, **more)
    return quantifier.predict_many(Scored(new), samples()[[0, 2, 4]])


def check_names_of_classes_beyond_noise(case: Case) -> None:
    """Names of classes make no difference beyond the noise of simulations."""
    case.require_scores()
    if not case.simulates:
        raise NotApplicable("does not depend on simulated samples")
    scores, y = scored(case.n_classes)
    new = scored_pool(case.n_classes)
    expected = _simulated(case, scores, y, new)
    names = np.array(_NAMES[case.n_classes][0])
    order = np.argsort(names)
    shares = _simulated(case, scores[:, order], names[y], new[:, order])
    close(shares, expected[:, order], _NOISE)


def _check_zero_weights_beyond_noise(case: Case, has_weight: Array) -> None:
    scores, y = scored(case.n_classes)
    new = scored_pool(case.n_classes)
    # Items that would change everything if they counted.
    wrong = np.where(has_weight[:, None], scores, 1 - scores)
    wrong /= wrong.sum(axis=1, keepdims=True)
    weighted = _simulated(case, wrong, y, new, sample_weight=has_weight.astype(float))
    without = _simulated(case, scores[has_weight], y[has_weight], new)
    close(weighted, without, _NOISE)


# Items of each class (columns) on each score (rows).
_COUNTS = {
    2: [[19, 1], [12, 3], [8, 7], [4, 9], [1, 14], [0, 5]],
    3: [[15, 2, 1], [7, 3, 2], [2, 14, 3], [3, 9, 1], [1, 2, 16], [2, 4, 9], [5, 5, 4]],
}
_TIMES: dict[int, Sequence[tuple[int, ...]]] = {
    2: [(1, 1), (1, 6), (7, 1), (3, 2), (1, 0), (0, 1)],
    3: [(1, 1, 1), (5, 1, 2), (1, 9, 1), (2, 3, 7), (0, 1, 1), (3, 0, 1), (1, 4, 0), (0, 0, 1)],
}
# Shares on a straight line along the three classes, of which there are 35, 39 and 36 items.
_STRAIGHT = [(6, 5, 5), (6, 11, 18), (0, 6, 13), (78, 35, 0)]


@dataclass(frozen=True)
class _ExactMixtures:
    scores: Array
    codes: Array
    samples: list[Array]
    shares: Array


def _exact(K: int, all_times: Sequence[tuple[int, ...]]) -> _ExactMixtures:
    counts = np.array(_COUNTS[K])
    posteriors = counts / counts.sum(axis=1, keepdims=True)
    value, codes = (
        np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape)
    )
    items = np.arange(len(codes))
    samples = [np.repeat(items, np.array(times)[codes]) for times in all_times]
    mass = np.array(all_times) * counts.sum(axis=0)
    return _ExactMixtures(
        posteriors[value], codes, samples, mass / mass.sum(axis=1, keepdims=True)
    )


def _predicted(case: Case, data: _ExactMixtures) -> Floats:
    items = Scored(data.scores) if case.takes_scores else data.scores
    return case.make().fit(items, data.codes).predict_many(items, data.samples)


def _inconsistency(case: Case) -> str:
    """Reason why the method cannot be expected to be exact; empty if it can."""
    if case.n_classes > 2 and (case.wrapped or isinstance(case.prototype, OneVsRest)):
        return "the rest is a mixture too, which shifts with the others"
    if case.n_classes == 2 and isinstance(case.prototype, OneVsOne):
        return ""
    if case.smooth:
        return "expects smooth shares, and bends what it sees towards a straight line"
    if case.brings_learner:
        return "sees its training items again, on which it errs less often than on others"
    return case.info.inconsistency


def check_exact_mixtures(case: Case) -> None:
    """The shares of exact mixtures are recovered, unless ``info.inconsistency`` is declared."""
    data, reason = _exact(case.n_classes, _TIMES[case.n_classes]), _inconsistency(case)
    shares = _predicted(case, data)
    if not reason:
        close(shares, data.shares, 1e-6)
        return
    shifted = np.abs(data.shares - data.shares[0]).max(axis=1) > 0.1
    error = np.abs(shares - data.shares)[shifted].max()
    expect(error > 1e-4, f"the shares are exact, but it is declared that it {reason!r}")


def check_straight_shares(case: Case) -> None:
    """Methods that expect smooth shares recover shares on a straight line."""
    if not case.smooth:
        raise NotApplicable("does not expect smooth shares")
    data = _exact(3, _STRAIGHT)
    close(_predicted(case, data), data.shares, 1e-5)


def check_one_sample(case: Case) -> None:
    """`predict` is `predict_many` with one sample."""
    quantifier, X = case.fitted, case.new
    equal(quantifier.predict(X), quantifier.predict_many(X, [np.arange(len(X))])[0])


def check_batch(case: Case) -> None:
    """`predict_many` is a loop over `predict`."""
    quantifier, X = case.fitted, case.new
    loop = [quantifier.predict(X[index]) for index in samples()]
    close(quantifier.predict_many(X, samples()), loop, 1e-10)


def check_batch_of_scores(case: Case) -> None:
    """With scores, `predict_many` is a loop over `predict` to the last bit."""
    case.require_scores()
    quantifier, scores = case.fitted_on_scores, scored_pool(case.n_classes)
    loop = [quantifier.predict(Scored(scores[index])) for index in samples()]
    equal(quantifier.predict_many(Scored(scores), samples()), loop)


def check_order_of_samples(case: Case) -> None:
    """The order of the samples makes no difference."""
    quantifier, order = case.fit_quick(), [3, 0, 5, 1, 4, 2]
    equal(
        case.predict_quick(quantifier, samples()[order]),
        case.predict_quick(quantifier, samples())[order],
    )


_COLUMNS = ["x", "y", "z"]
# A table and a column as another library has them.
Form = tuple[Callable[[Array], Any], Callable[[Array], Any]]


def forms_of_tables() -> list[Form]:
    """Lists, Polars and, if it is installed, pandas."""
    forms: list[Form] = [
        (lambda table: table.tolist(), lambda column: column.tolist()),
        (lambda table: pl.DataFrame(table, schema=_COLUMNS[: table.shape[1]]), pl.Series),
    ]
    if find_spec("pandas") is not None:
        import pandas as pd

        forms.append(
            (lambda table: pd.DataFrame(table, columns=_COLUMNS[: table.shape[1]]), pd.Series)
        )
    return forms


def check_frames(case: Case) -> None:
    """Items may be lists, and frames of Polars and pandas."""
    X, y = labelled(case.n_classes)
    for table, column in forms_of_tables():
        quantifier = case.make().fit(table(X), column(y))
        close(quantifier.predict_many(table(case.new), samples()), case.expected, 1e-8)


def check_frames_of_scores(case: Case) -> None:
    """Scores may be lists, and frames of Polars and pandas."""
    scores, y = case.require_scores()
    new = scored_pool(case.n_classes)
    expected = case.fitted_on_scores.predict_many(Scored(new), samples())
    for table, column in forms_of_tables():
        quantifier = case.make().fit(Scored(table(scores)), column(y))
        equal(quantifier.predict_many(Scored(table(new)), samples()), expected)


def check_vector_of_scores(case: Case) -> None:
    """Scores of two classes may be a vector, those of more may not."""
    scores, y = case.require_scores()
    if case.n_classes > 2:
        refuses(
            "posteriors has 2 columns, but there are 3 classes",
            lambda: case.make().fit(Scored(scores[:, 1]), y),
        )
        return
    new = scored_pool(case.n_classes)
    shares = case.make().fit(Scored(scores[:, 1]), y).predict(Scored(new[:, 1]))
    # One minus the second column is the first one up to rounding.
    close(shares, case.fitted_on_scores.predict(Scored(new)), 1e-9)


def check_sparse_items(case: Case) -> None:
    """Items may be sparse, unless ``info.sparse`` is False."""
    X, y = labelled(case.n_classes)
    X, new = np.maximum(X, 0), np.maximum(case.new, 0)
    dense = case.make(MultinomialNB()).fit(X, y)
    if not case.info.sparse:
        refuses(r"^X is sparse, but .* dense", lambda: case.make().fit(sparse.csr_array(X), y))
        return
    thin = case.make(MultinomialNB()).fit(sparse.csr_array(X), y)
    if case.brings_learner:
        # Machines are trained to a tolerance: sums in another order end elsewhere within it.
        close(thin.predict(sparse.coo_array(new)), dense.predict(new), 0.1)
        return
    shares = thin.predict_many(sparse.csc_matrix(new), samples())
    close(shares, dense.predict_many(new, samples()), 1e-8)
    close(thin.predict(sparse.coo_array(new)), dense.predict(new), 1e-8)


def check_shared_scorer(case: Case) -> None:
    """`fit_scorer` equals `fit`, and fitting the scorer again changes nothing."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    scorer = Scorer(case.classifier, random_state=0).fit(X, y)
    quantifier = case.make()
    expect(quantifier.fit_scorer(scorer) is quantifier, "fit_scorer returns another object")
    used_scorer: Any = quantifier.fitted_.scorer
    expect(used_scorer.classifier_ is scorer.classifier_, "the classifier is not the given one")
    before = case.shares(quantifier)
    if not case.trains_several:
        equal(before, case.expected)
    scorer.fit(X[:, ::-1], y)
    equal(case.shares(quantifier), before)


def check_frozen_classifier(case: Case) -> None:
    """A frozen classifier is the same as its scores."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    classifier = GaussianNB().fit(X[:90], y[:90])
    frozen = case.make(FrozenEstimator(classifier)).fit(X[90:], y[90:])
    by_scores = case.make().fit(Scored(classifier.predict_proba(X[90:])), y[90:])
    equal(
        case.shares(frozen),
        by_scores.predict_many(Scored(classifier.predict_proba(case.new)), samples()),
    )


def check_scores_after_items(case: Case) -> None:
    """Fitted on items, a quantifier takes scores of its own classifier."""
    case.require_scores()
    quantifier, new = case.fitted, case.new
    if case.trains_several:
        refuses("fitted with several classifiers", lambda: quantifier.predict(case.new_scores))
        return
    scorer: Any = quantifier.fitted_.scorer
    drawn_samples = samples()
    shares = quantifier.predict_many(scorer.score(new, predictions=True), drawn_samples)
    expected = case.shares(quantifier)
    members: Any = vars(quantifier).get("members_", ())
    if case.simulates and len({member.info.scoring for member in members}) > 1:
        # Some of its methods take scores by the classifier, the others those by folds.
        difference = np.abs(shares - expected)[drawn_samples.n_items > 30].max()
        expect(difference < 0.1, f"shares differ by {difference:.3f}")
        return
    # Sums of the scores of several folds are added up in another order.
    close(shares, expected, 1e-9)


def check_repeated_scores(case: Case) -> None:
    """An item that was scored several times is one item."""
    case.require_scores()
    quantifier, scores = case.fitted_on_scores, scored_pool(case.n_classes)
    shares = quantifier.predict_many(Scored(np.tile(scores, (3, 1))), samples().over(360))
    close(shares, quantifier.predict_many(Scored(scores), samples()), 1e-8)


def check_labels_are_enough(case: Case) -> None:
    """A classifier without posteriors is enough for methods that count labels."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    new, quantifier = case.new, case.make(_OnlyLabels())
    if ScoringPlan(quantifier).takes == "labels":
        same = case.make(GaussianNB()).fit(X, y).predict_many(new, samples())
        equal(quantifier.fit(X, y).predict_many(new, samples()), same)
    else:
        refuses(
            "OnlyLabels has neither predict_proba", lambda: quantifier.fit(X, y).predict(new)
        )


class _OnlyLabels(ClassifierMixin, BaseEstimator):
    """Naive Bayes that keeps its posteriors to itself."""

    def fit(self, X: Any, y: Any) -> Self:
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)


def check_scorer_without_folds(case: Case) -> None:
    """A scorer without out-of-fold scores is enough for methods that only count."""
    case.require_scores()
    X, y = labelled(case.n_classes)
    scorer = Scorer(case.classifier).fit(X, y, out_of_fold=False)
    quantifier = case.make()
    if ScoringPlan(quantifier).learns:
        refuses("was not made", lambda: quantifier.fit_scorer(scorer))
    else:
        fitted = quantifier.fit_scorer(scorer)
        equal(case.shares(fitted), case.expected)
