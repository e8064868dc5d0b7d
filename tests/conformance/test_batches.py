"""An answer depends on the sample alone, not on what it was computed with."""

from __future__ import annotations

import sys

import numpy as np

from headcount import _threads
from headcount.quantify import aggregation
from headcount.representation import kernel_density
from headcount.scores import Scored
from tests.conformance.cases import (
    each_case,
    each_scored_case,
    fitted,
    fitted_on_scores,
    pool,
    samples,
    scored_pool,
)


@each_case
def test_one_sample_is_many_samples_of_one(case):
    quantifier, X = fitted(case), pool(case.n_classes)
    everything = quantifier.predict_many(X, [np.arange(len(X))])
    np.testing.assert_array_equal(quantifier.predict(X), everything[0])


@each_case
def test_a_batch_is_a_loop(case):
    quantifier, X = fitted(case), pool(case.n_classes)
    batch = quantifier.predict_many(X, samples())
    loop = [quantifier.predict(X[index]) for index in samples()]
    np.testing.assert_allclose(batch, loop, rtol=0, atol=1e-10)


@each_scored_case
def test_a_batch_of_scores_is_a_loop_to_the_last_bit(case):
    quantifier, scores = fitted_on_scores(case), scored_pool(case.n_classes)
    batch = quantifier.predict_many(Scored(scores), samples())
    loop = [quantifier.predict(Scored(scores[index])) for index in samples()]
    np.testing.assert_array_equal(batch, loop)


@each_case
def test_batches_make_no_difference(case, monkeypatch):
    quantifier = case.fit_quick()
    expected = case.solve_quick(quantifier, samples())
    for numbers in (1, 50):
        monkeypatch.setattr(aggregation, "_BATCH_NUMBERS", numbers)
        np.testing.assert_array_equal(case.solve_quick(quantifier, samples()), expected)
    monkeypatch.setattr(kernel_density, "_BLOCK", 7)
    np.testing.assert_array_equal(case.solve_quick(quantifier, samples()), expected)


@each_case
def test_the_order_of_samples_makes_no_difference(case):
    quantifier = case.fit_quick()
    order = [3, 0, 5, 1, 4, 2]
    np.testing.assert_array_equal(
        case.solve_quick(quantifier, samples()[order]),
        case.solve_quick(quantifier, samples())[order],
    )


@each_case
def test_threads_make_no_difference(case, monkeypatch):
    # Work on this little data would stay on one thread: grains of 1 spread it.
    ranges = []

    def each_range(work, n, *, grain=1):
        def counted(start, stop):
            ranges.append((start, stop))
            work(start, stop)

        _threads.each_range(counted, n)

    for name, module in list(sys.modules.items()):
        ours = name.startswith("headcount.") and module is not _threads
        if ours and hasattr(module, "each_range"):
            monkeypatch.setattr(module, "each_range", each_range)
    answers, counts = [], []
    for threads in ("1", "3"):
        monkeypatch.setenv("HEADCOUNT_NUM_THREADS", threads)
        ranges.clear()
        answers.append(case.solve_quick(case.fit_quick(), samples()))
        counts.append(len(ranges))
    np.testing.assert_array_equal(*answers)
    assert counts[0] < counts[1] or counts == [0, 0]
