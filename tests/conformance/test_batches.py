"""Results do not depend on internal batches and threads."""

from __future__ import annotations

import sys

import numpy as np

from headcount._support import execution as _threads
from headcount.parts import kernel_density
from headcount.parts import training as reduction
from tests.conformance.cases import each_case, samples


@each_case
def test_batches_make_no_difference(case, monkeypatch):
    quantifier = case.fit_quick()
    expected = case.predict_quick(quantifier, samples())
    for numbers in (1, 50):
        monkeypatch.setattr(reduction, "_BATCH_NUMBERS", numbers)
        np.testing.assert_array_equal(case.predict_quick(quantifier, samples()), expected)
    monkeypatch.setattr(kernel_density, "_BLOCK", 7)
    np.testing.assert_array_equal(case.predict_quick(quantifier, samples()), expected)


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
        answers.append(case.predict_quick(case.fit_quick(), samples()))
        counts.append(len(ranges))
    np.testing.assert_array_equal(*answers)
    assert counts[0] < counts[1] or counts == [0, 0]
