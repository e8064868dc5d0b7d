"""Checks that results follow from the sample alone, and not from names, order or batches.

Scores take a few values. For each value the training set has whole numbers of items of each
class, and the score is the vector of their shares, so posteriors are exactly calibrated. Each
item of class j is taken m_j times into the sample: nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._support.arrays import Array, Floats
from headcount.items.arrays import Scored
from headcount.quantifiers.one_vs_rest import OneVsOne, OneVsRest
from headcount.samples.samples import Samples
from headcount.testing.cases import (
    Case,
    NotApplicable,
    close,
    equal,
    expect,
    labelled,
    refuses,
    samples,
    scored,
    scored_pool,
)

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
