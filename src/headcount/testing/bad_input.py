"""Checks that bad data and bad parameters are refused in one clear sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headcount._support.arrays import Array
from headcount.items.arrays import Scored
from headcount.quantifiers.base import ScoringPlan
from headcount.quantifiers.one_vs_rest import OneVsRest
from headcount.samples.samples import Samples
from headcount.scores.scorer import Scorer
from headcount.testing.cases import (
    Case,
    NotApplicable,
    equal,
    expect,
    labelled,
    labelled_scores,
    pool,
    refuses,
    samples,
    scored,
    scored_pool,
)


def _spoilt(table: Array, value: float) -> Array:
    table = np.array(table, dtype=float)
    table[7, 0] = value
    return table


# Items


def check_missing_items(case: Case) -> None:
    """Missing or infinite features are refused."""
    X, y = labelled(case.n_classes)
    for value in (np.nan, np.inf, -np.inf):
        new = _spoilt(case.new, value)
        refuses(
            r"^X has 1 missing or infinite numbers, the first at row 7, column 0",
            lambda value=value: case.make().fit(_spoilt(X, value), y),
            lambda new=new: case.fitted.predict(new),
            lambda new=new: case.fitted.predict_many(new, samples()),
        )


def check_no_items(case: Case) -> None:
    """Tables without rows are refused."""
    X, y = labelled(case.n_classes)
    refuses(
        "^X has no rows",
        lambda: case.make().fit(X[:0], y[:0]),
        lambda: case.fitted.predict(X[:0]),
        lambda: case.fitted.predict_many(X[:0], [[0]]),
    )


def check_lengths(case: Case) -> None:
    """Items and labels of different lengths are refused."""
    X, y = labelled(case.n_classes)
    refuses("^X has 180 rows, but y has 179 labels", lambda: case.make().fit(X, y[:-1]))


def check_other_columns(case: Case) -> None:
    """Items with other columns than those of training are refused."""
    case.require_scores()
    refuses(
        r"^X has 2 features, but \w+ is expecting 3 features as input",
        lambda: case.fitted.predict(case.new[:, :2]),
    )


def check_items_in_one_dimension(case: Case) -> None:
    """Items in one dimension are refused."""
    X, y = labelled(case.n_classes)
    refuses(
        "^X is 1-D", lambda: case.make().fit(X[:, 0], y), lambda: case.fitted.predict(X[:, 0])
    )


# Labels


def check_single_class(case: Case) -> None:
    """A single class is refused."""
    X, y = labelled(case.n_classes)
    ones = np.ones(len(y), int)
    refuses("^y has the single class 1", lambda: case.make().fit(X, ones))
    if case.takes_scores:
        scores = Scored(scored(case.n_classes)[0])
        refuses("^y has the single class 1", lambda: case.make().fit(scores, ones))


def check_empty_class(case: Case) -> None:
    """A class without items, or with weights of zero, is refused."""
    scores, y = case.require_scores()
    last = case.n_classes - 1
    named = Scored(scores, classes=range(case.n_classes))
    refuses(
        f"^y has no items of class {last}",
        lambda: case.make().fit(named, np.minimum(y, last - 1)),
    )
    refuses(
        f"^sample_weight is zero for all items of class {last}",
        lambda: case.make().fit(Scored(scores), y, sample_weight=y != last),
    )


def check_unknown_labels(case: Case) -> None:
    """Labels that are not a class are refused."""
    scores, y = case.require_scores()
    items = Scored(scores, classes=np.arange(case.n_classes) + 1)
    refuses(
        "^y has labels that are not among the classes: 0;", lambda: case.make().fit(items, y)
    )


def check_missing_labels(case: Case) -> None:
    """Missing labels are refused."""
    X, y = labelled(case.n_classes)
    message = "^y misses 1 of 180 labels, the first at position 0"
    for missing in (None, float("nan")):
        labels = [missing, *y[1:].tolist()]
        refuses(message, lambda labels=labels: case.make().fit(X, labels))
        if case.takes_scores:
            scores = Scored(scored(case.n_classes)[0])
            refuses(
                message, lambda labels=labels, scores=scores: case.make().fit(scores, labels)
            )


def check_labels_in_two_dimensions(case: Case) -> None:
    """Labels in two dimensions are refused."""
    X, y = labelled(case.n_classes)
    refuses("^y ", lambda: case.make().fit(X, np.column_stack([y, y])))


def check_class_missing_from_a_fold(case: Case) -> None:
    """Folds that leave a class out of training are refused."""
    case.require_scores()
    base = case.make_base()
    names = [name for name in ("cv", "quantifier__cv") if name in base.get_params()]
    if not names or not ScoringPlan(base).learns:
        raise NotApplicable("does not cross-fit")
    X, y = labelled(case.n_classes)
    by_class = np.argsort(y, kind="stable")
    X, y = X[by_class], y[by_class]
    base.set_params(**{names[0]: _FirstThenRest(int((y == 0).sum()))})
    quantifier = OneVsRest(base) if case.wrapped else base
    refuses("^cv leaves class 0 out of training fold 0", lambda: quantifier.fit(X, y))


class _FirstThenRest:
    """Two folds: the first rows up to a cut, and the others."""

    def __init__(self, cut: int) -> None:
        self.cut = cut

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:
        rows = np.arange(X.shape[0])
        for first in (True, False):
            test = (rows < self.cut) == first
            yield rows[~test], rows[test]


def check_two_class_methods(case: Case) -> None:
    """A method for two classes refuses three, and its message names `OneVsRest`."""
    if not case.wrapped:
        raise NotApplicable("takes any number of classes")
    message = rf"^{case.name} works with two classes, but y has 3: wrap it as OneVsRest"
    refuses(message, lambda: case.make_base().fit(*labelled(3)))
    if case.takes_scores:
        scorer = Scorer(case.classifier).fit(*labelled(3))
        refuses(
            message,
            lambda: case.make_base().fit(*labelled_scores(3)),
            lambda: case.make_base().fit_scorer(scorer),
        )


# Scores


def check_missing_scores(case: Case) -> None:
    """Missing or infinite scores are refused."""
    scores, y = case.require_scores()
    for value in (np.nan, np.inf):
        new = _spoilt(scored_pool(case.n_classes), value)
        refuses(
            "^posteriors has NaN or infinite values in 1 of [0-9]+ rows, the first in row 7",
            lambda value=value: case.make().fit(Scored(_spoilt(scores, value)), y),
            lambda new=new: case.fitted_on_scores.predict(Scored(new)),
            lambda new=new: case.fitted_on_scores.predict_many(Scored(new), samples()),
        )


_NO_POSTERIORS: list[tuple[Callable[[Array], Any], str]] = [
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
]


def check_scores_that_are_no_posteriors(case: Case) -> None:
    """Scores that are not posteriors are refused."""
    scores, y = case.require_scores()
    new = scored_pool(case.n_classes)
    for spoil, message in _NO_POSTERIORS:
        refuses(
            message,
            lambda spoil=spoil: case.make().fit(Scored(spoil(scores)), y),
            lambda spoil=spoil: case.fitted_on_scores.predict(Scored(spoil(new))),
        )


def check_lengths_of_scores(case: Case) -> None:
    """Scores and labels of different lengths are refused."""
    scores, y = case.require_scores()
    refuses(
        "^X has 179 rows, but y has 180 labels", lambda: case.make().fit(Scored(scores[1:]), y)
    )


def check_items_after_scores(case: Case) -> None:
    """Fitted on scores, a quantifier refuses items."""
    case.require_scores()
    quantifier, X = case.fitted_on_scores, case.new
    refuses(
        "was fitted on scores or decisions and has no classifier for X: .*Scored",
        lambda: quantifier.predict(X),
        lambda: quantifier.predict_many(X, samples()),
    )


# Samples


_NO_SAMPLES: list[tuple[Any, str]] = [
    ([[0, 1], []], "^sample 1 is empty"),
    ([], "^samples is empty"),
    ([[0], [3, 120]], "^sample 1 has index 120, but the pool has 120 items"),
    ([[0, -1]], "^sample 0 has index -1"),
    ([[0.0, 1.0]], "^sample 0 holds float64 values, not whole numbers"),
    ([[True] * 120], "^sample 0 holds bool values, not whole numbers"),
    ([[[0, 1]]], r"^sample 0 has 2 dimension\(s\)"),
    ("all", "^samples is of type str"),
    (Samples.whole(119), "^samples are of a pool of 119 items, but this pool has 120"),
]


def check_bad_samples(case: Case) -> None:
    """Samples that are none are refused."""
    for bad, message in _NO_SAMPLES:
        refuses(message, lambda bad=bad: case.fitted.predict_many(case.new, bad))
        if case.takes_scores:
            new = case.new_scores
            refuses(
                message, lambda bad=bad, new=new: case.fitted_on_scores.predict_many(new, bad)
            )


def check_no_samples(case: Case) -> None:
    """No samples are one sample of all items."""
    quantifier, X = case.fitted, case.new
    equal(quantifier.predict_many(X, None)[0], quantifier.predict(X))
    if case.takes_scores:
        quantifier, new = case.fitted_on_scores, case.new_scores
        equal(quantifier.predict_many(new, None)[0], quantifier.predict(new))


# Weights


_NO_WEIGHTS: list[tuple[Callable[[Array], Any], str]] = [
    (lambda weights: weights[1:], r"^sample_weight has the shape \(179,\)"),
    (lambda weights: weights[:, None], r"^sample_weight has the shape \(180, 1\)"),
    (lambda weights: np.where(weights > 1.5, -1, 1), "^sample_weight has the value -1"),
    (lambda weights: np.where(weights > 1.5, np.nan, 1), "^sample_weight has the value nan"),
    (lambda weights: np.where(weights > 1.5, np.inf, 1), "^sample_weight has the value inf"),
    (lambda weights: weights * 0, "^sample_weight are all zero"),
    (lambda weights: ["heavy"] * len(weights), "^sample_weight is not numeric"),
]


def check_bad_weights(case: Case) -> None:
    """Weights that are none are refused."""
    X, y = labelled(case.n_classes)
    for spoil, message in _NO_WEIGHTS:
        bad = spoil(np.linspace(1, 2, len(y)))
        refuses(message, lambda bad=bad: case.make().fit(X, y, bad))
        if case.takes_scores:
            refuses(
                message, lambda bad=bad: case.make().fit(*labelled_scores(case.n_classes), bad)
            )


# Nothing is lost


def check_failed_fit(case: Case) -> None:
    """A fit that fails leaves the quantifier as it was."""
    X, y = labelled(case.n_classes)
    names = np.array(["x", "y", "z", "w"])
    quantifier = case.make().fit(X, y)
    _check_unchanged(
        quantifier,
        lambda: quantifier.fit(_spoilt(X, np.nan), y),
        lambda: quantifier.fit(X, np.zeros(len(y))),
        lambda: quantifier.fit(X[:50], names[y[:49]]),
        lambda: quantifier.fit(X, names[y], sample_weight=-np.ones(len(y))),
    )
    equal(case.shares(quantifier), case.expected)


def check_failed_fit_on_scores(case: Case) -> None:
    """A fit on scores that fails leaves the quantifier as it was."""
    scores, y = case.require_scores()
    names = np.array(["x", "y", "z", "w"])
    quantifier = case.make().fit(Scored(scores), y)
    _check_unchanged(
        quantifier,
        lambda: quantifier.fit(Scored(_spoilt(scores, np.nan)), names[y]),
        lambda: quantifier.fit(Scored(scores), names[y], sample_weight=-np.ones(len(y))),
        lambda: quantifier.fit(Scored(scores[:50]), names[y]),
    )
    equal(case.score_shares(quantifier), case.expected_of_scores)


def _check_unchanged(quantifier: Any, *bad: Callable[[], Any]) -> None:
    before = vars(quantifier).copy()
    refuses("", *bad)
    after = vars(quantifier)
    expect(after.keys() == before.keys(), "a failed fit adds or removes attributes")
    expect(all(after[name] is before[name] for name in before), "a failed fit changes it")


# Parameters of the classifier are not used by those who bring scores.
UNUSED_WITH_SCORES = {"classifier", "cv", "scoring"}


class Unknown:
    """A value that no parameter can use."""

    def __repr__(self) -> str:
        return "a value of an unknown kind"


def checked_parameters(case: Case) -> list[str]:
    """Parameters that `fit` checks; random seeds have a check of their own."""
    return [name for name in case.parameters if name != "random_state"]


def check_unknown_values(case: Case) -> None:
    """Every parameter is checked: an unknown kind of value is refused by name."""
    case.require_two_classes()
    for name in checked_parameters(case):
        refuses(name, lambda name=name: _spoilt_parameter(case, name).fit(*labelled(2)))
        if case.takes_scores and name not in UNUSED_WITH_SCORES:
            refuses(
                name, lambda name=name: _spoilt_parameter(case, name).fit(*labelled_scores(2))
            )


def _spoilt_parameter(case: Case, name: str) -> Any:
    return case.make().set_params(**{name: Unknown()})


def check_bad_random_state(case: Case) -> None:
    """A random seed that is none is refused."""
    case.require_two_classes()
    if "random_state" not in case.parameters:
        raise NotApplicable("has no random_state")
    refuses("random_state", lambda: case.make(seed="x").fit(*labelled(2)))


def check_bad_parameters_lose_nothing(case: Case) -> None:
    """A fit with a bad parameter leaves the quantifier as it was."""
    case.require_two_classes()
    X, y = labelled(2)
    quantifier = case.make().fit(X, y)
    before = quantifier.predict(pool(2))
    for name in checked_parameters(case):
        good = getattr(quantifier, name)
        quantifier.set_params(**{name: Unknown()})
        refuses("", lambda: quantifier.fit(X, y))
        quantifier.set_params(**{name: good})
        equal(quantifier.predict(pool(2)), before)
