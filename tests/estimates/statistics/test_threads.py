"""Statistics that several threads add items to."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import headcount as hc


def test_updates_from_several_threads_are_all_counted():
    rng = np.random.default_rng(0)
    posteriors = rng.random((4000, 1))
    scored = hc.Scored(np.hstack([posteriors, 1 - posteriors]))
    quantifier = hc.PACC().fit(scored, (posteriors[:, 0] < rng.random(4000)).astype(int))
    parts = [slice(start, start + 50) for start in range(0, 4000, 50)]
    together = hc.Statistics(quantifier)

    def add(part):
        groups = [str(number % 7) for number in range(part.start, part.stop)]
        together.update(hc.Scored(scored.posteriors_of(np.array([0, 1]))[part]), groups)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, parts))
    finally:
        sys.setswitchinterval(interval)
    alone = hc.Statistics(quantifier)
    alone.update(scored, [str(number % 7) for number in range(4000)])
    assert together.to_bytes() == alone.to_bytes()
