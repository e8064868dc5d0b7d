from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle import accumulation as oracle

from headcount._kernels.accumulation import (
    add_codes,
    add_integers,
    add_logit_cells,
    add_rows,
    logit_cells,
    ratio_bins,
)
from headcount.diagnose import Diagnostics
from headcount.representation import Training
from headcount.sampling import Samples

few = settings(max_examples=20)
seeds = st.integers(0, 999)


@few
@given(seed=seeds)
def test_sums_of_rows(version, seed):
    rng = np.random.default_rng(seed)
    values, groups = rng.normal(size=(9, 3)), rng.integers(4, size=9)
    found = np.zeros((4, 3), np.int64)
    largest = version(add_rows)(values, groups, 0, 5, found)
    version(add_rows)(values, groups, 5, 9, found)
    for group, expected in oracle.sums(values.tolist(), groups.tolist()).items():
        assert found[group].tolist() == expected
    assert largest == np.abs(values[:5]).max()


@few
@given(seed=seeds)
def test_counts_of_codes_are_whole(version, seed):
    rng = np.random.default_rng(seed)
    codes, groups = rng.integers(5, size=(9, 2)).astype(np.int32), rng.integers(3, size=9)
    found = np.zeros((3, 5), np.int64)
    version(add_codes)(codes, groups, 0, 9, found)
    for group in range(3):
        expected = np.bincount(codes[groups == group].ravel(), minlength=5)
        assert_array_equal(found[group], expected * oracle.ONE)


@few
@given(seed=seeds)
def test_cells_of_the_logit(version, seed):
    rng = np.random.default_rng(seed)
    s = np.concatenate([[0.0, 1.0, 0.5, 1e-12], 1 / (1 + np.exp(rng.normal(0, 6, 20)))])
    groups = rng.integers(3, size=len(s))
    counts, sums = np.zeros((3, 1024), np.int64), np.zeros((3, 1024), np.int64)
    version(add_logit_cells)(s, groups, 15.0, 0, len(s), counts, sums)
    expected = oracle.logit_cells(s.tolist(), groups.tolist())
    found = {
        (int(g), int(c)): (int(counts[g, c]), int(sums[g, c]))
        for g, c in zip(*np.nonzero(counts), strict=True)
    }
    assert found == expected
    cells, fixed = np.empty(len(s), np.int64), np.empty(len(s), np.int64)
    version(logit_cells)(s, 15.0, 1024, 0, len(s), cells, fixed)
    assert cells.tolist() == [oracle.logit_cell(each) for each in s.tolist()]
    assert fixed.tolist() == [oracle.fixed(each) for each in s.tolist()]


@few
@given(seed=seeds)
def test_bins_of_ratios(version, seed):
    rng = np.random.default_rng(seed)
    rows = np.vstack([rng.dirichlet([0.1] * 4, 12), np.eye(4)])
    n = len(rows)
    bins, fixed = np.empty((n, 4), np.uint8), np.empty((n, 4), np.int64)
    largest, hashes = np.empty(n, np.int64), np.empty(n, np.uint64)
    with np.errstate(over="ignore"):
        version(ratio_bins)(rows, 0, n, bins, fixed, largest, hashes)
    expected = [[oracle.ratio_bin(s, max(row)) for s in row] for row in rows.tolist()]
    assert bins.tolist() == expected
    assert_array_equal(largest, rows.argmax(axis=1))
    assert fixed.tolist() == [[oracle.fixed(s) for s in row] for row in rows.tolist()]
    # Items that are certain have the lowest hashes, whatever their order.
    assert hashes[12:].tolist() == [0, 1, 2, 3]
    certain = rows[:12].max(axis=1) > 1 - 1e-9
    assert hashes[:12][~certain].min(initial=2**64 - 1) >= 4
    totals = np.zeros((4, 5), np.int64)
    version(add_integers)(fixed, largest, 0, n, totals)
    assert_array_equal(totals[:, 0], np.bincount(largest, minlength=4))
    assert_array_equal(totals[:, 1:].sum(axis=0), fixed.sum(axis=0))


@few
@given(seed=seeds, K=st.integers(2, 4))
def test_functions_of_the_fit_test(seed, K):
    rng = np.random.default_rng(seed)
    known = rng.dirichlet(np.full(K, 0.3), 30)
    known[rng.random((30, K)) < 0.1] = 0.0
    training = Training(known, np.arange(30) % K, K)
    diagnostics = Diagnostics.learn(training, range(K))
    new = np.vstack([rng.dirichlet(np.full(K, 0.3), 40), known, np.eye(K)])
    groups = rng.integers(3, size=len(new))
    groups[:3] = np.arange(3)
    samples = Samples.by_code(groups, 3)
    for reduction in diagnostics.reduction:
        embedding = reduction.representation.embed(new)
        sums = np.zeros((3, embedding.width), np.int64)
        embedding.add_sums(groups, sums)
        found = sums / 2**30 / samples.sizes[:, None]
        assert_allclose(found, embedding.means(samples), atol=1e-9)
