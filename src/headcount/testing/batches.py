"""Checks that the result of a sample depends on that sample alone."""

from __future__ import annotations

import numpy as np

from headcount.scores import Scored
from headcount.testing.cases import Case, pool, samples, scored_pool
from headcount.testing.expectations import close, equal


def check_one_sample(case: Case) -> None:
    """`predict` is `predict_many` with one sample."""
    quantifier, X = case.fitted, pool(case.n_classes)
    equal(quantifier.predict(X), quantifier.predict_many(X, [np.arange(len(X))])[0])


def check_batch(case: Case) -> None:
    """`predict_many` is a loop over `predict`."""
    quantifier, X = case.fitted, pool(case.n_classes)
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
