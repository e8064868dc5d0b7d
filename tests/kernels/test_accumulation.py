from __future__ import annotations

from math import exp

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracle import accumulation as oracle

from headcount._kernels.accumulation import (
    add_codes,
    add_integers,
    add_logit_cells,
    add_outside,
    add_rows,
    logit_cells,
    number_distinct,
    ratio_bins,
)
from headcount.estimates.assumption import Diagnostics
from headcount.estimates.statistics.stores import _TABLE as CELLS
from headcount.parts.training import Training
from headcount.samples.samples import Samples

few = settings(max_examples=20)
seeds = st.integers(0, 999)


@few
@given(seed=seeds)
def test_sums_of_rows(version, seed):
    rng = np.random.default_rng(seed)
    values, groups = rng.normal(size=(9, 3)), rng.integers(4, size=9)
    found = np.zeros((4, 2, 3), np.int64)
    version(add_rows)(values[:5], groups[:5], found)
    version(add_rows)(values[5:], groups[5:], found)
    for group, expected in oracle.sums(values.tolist(), groups.tolist()).items():
        assert found[group].tolist() == expected


@few
@given(seed=seeds)
def test_counts_of_codes_are_whole(version, seed):
    rng = np.random.default_rng(seed)
    codes, groups = rng.integers(5, size=(9, 2)).astype(np.int32), rng.integers(3, size=9)
    found = np.zeros((3, 2, 5), np.int64)
    version(add_codes)(codes, groups, found)
    for group in range(3):
        expected = np.bincount(codes[groups == group].ravel(), minlength=5)
        assert_array_equal(found[group], [expected * oracle.ONE, [0] * 5])


@few
@given(seed=seeds)
def test_cells_of_the_logit(version, seed):
    rng = np.random.default_rng(seed)
    s = np.concatenate([[0.0, 1.0, 0.5, 1e-12], 1 / (1 + np.exp(rng.normal(0, 6, 20)))])
    posteriors, groups = np.column_stack([1 - s, s]), rng.integers(3, size=len(s))
    out = np.zeros((3, 1024, 2), np.int64)
    version(add_logit_cells)(posteriors, *CELLS, groups, 0, len(s), out)
    expected = oracle.logit_cells(s.tolist(), groups.tolist())
    found = {
        (int(g), int(c)): tuple(out[g, c].tolist())
        for g, c in zip(*np.nonzero(out[:, :, 0]), strict=True)
    }
    assert found == expected
    cells, fixed = np.empty(len(s), np.int64), np.empty(len(s), np.int64)
    version(logit_cells)(posteriors, *CELLS, cells, fixed)
    assert cells.tolist() == [oracle.logit_cell(each) for each in s.tolist()]
    assert fixed.tolist() == [oracle.fixed(each) for each in s.tolist()]


def test_edges_of_cells():
    """The nearest numbers below and above each edge are in the cells next to it."""
    edges = [1 / (1 + exp(15 - 30 * c / 1024)) for c in range(1, 1024)]
    s = np.array([[edge * (1 - 2e-7), edge + min(edge, 1 - edge) * 2e-7] for edge in edges])
    s[512:, 0] = np.array(edges)[512:] - (1 - np.array(edges)[512:]) * 2e-7
    cells, fixed = np.empty(2046, np.int64), np.empty(2046, np.int64)
    posteriors = np.column_stack([1 - s.ravel(), s.ravel()])
    logit_cells(posteriors, *CELLS, cells, fixed)
    assert_array_equal(cells.reshape(-1, 2), [[c - 1, c] for c in range(1, 1024)])
    # At most two cells have the same leading bits, which one comparison distinguishes.
    _, starts, _ = CELLS
    assert set(np.diff(starts).tolist()) <= {0, 1}


@few
@given(seed=seeds)
def test_numbers_of_distinct_pairs(version, seed):
    rng = np.random.default_rng(seed)
    # Words that begin at the same slot, and words that differ in the other one alone.
    pairs = rng.integers(4, size=(20, 2)).astype(np.uint64) << np.uint64(8)
    words, others = pairs.T.copy()
    slots, codes, first = np.full(64, -1), np.empty(20, np.int64), np.empty(32, np.int64)
    stored = np.empty((32, 2), np.uint64)
    number, n_distinct = version(number_distinct), 0
    for start, stop in ((0, 7), (7, 7), (7, 20)):
        part = words[start:stop], others[start:stop]
        n_distinct = number(*part, start, n_distinct, slots, stored, first, codes)
    known: dict = {}
    for place, pair in enumerate(pairs.tolist()):
        known.setdefault(tuple(pair), (len(known), place))
    assert codes.tolist() == [known[tuple(pair)][0] for pair in pairs.tolist()]
    assert first[:n_distinct].tolist() == [place for _, place in known.values()]
    # With fewer slots than are needed there is no answer.
    assert number(words, others, 0, 0, np.full(2, -1), stored, first, codes) == -1


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
        sums = np.zeros((3, 2, embedding.width), np.int64)
        embedding.add_sums(groups, sums)
        found = (sums[:, 0] + sums[:, 1] / 2**31) / 2**30 / samples.sizes[:, None]
        assert_allclose(found, embedding.means(samples), atol=1e-14)
        twice = np.zeros_like(sums)
        reduction.representation.embed(np.vstack([new, new])).add_sums(groups, twice)
        assert_array_equal(twice, 2 * sums)


@few
@given(seed=seeds, copies=st.integers(2, 4))
def test_several_rows_per_item(version, seed, copies):
    """Rows of one item are of its group, as if each row had its group."""
    rng = np.random.default_rng(seed)
    n = 7
    groups, rows = rng.integers(3, size=n), copies * n
    every = np.tile(groups, copies)
    values, codes = rng.normal(size=(rows, 3)), rng.integers(4, size=(rows, 2)).astype(np.int32)
    s = rng.random(rows)
    posteriors = np.column_stack([1 - s, s])

    def outputs(of_rows):
        sums, counts = np.zeros((3, 2, 3), np.int64), np.zeros((3, 2, 4), np.int64)
        beyond, cells = np.zeros((3, 2, 1), np.int64), np.zeros((3, 1024, 2), np.int64)
        version(add_rows)(values, of_rows, sums)
        version(add_codes)(codes, of_rows, counts)
        version(add_outside)(posteriors, np.full(2, 0.2), np.full(2, 0.7), of_rows, beyond)
        version(add_logit_cells)(posteriors, *CELLS, of_rows, 0, len(of_rows), cells)
        return sums, counts, beyond, cells

    for found, expected in zip(outputs(groups), outputs(every), strict=True):
        assert expected.any()
        assert_array_equal(found, expected)


@given(seed=seeds)
@settings(max_examples=5)
def test_more_items_than_a_block(seed):
    """Items that are converted together have the same sums as in small parts."""
    rng = np.random.default_rng(seed)
    n, copies = 4500, 2
    groups = rng.integers(3, size=n)
    narrow, wide = rng.normal(size=(copies, n, 3)), rng.normal(size=(copies, n, 20))
    s = rng.random((copies, n))
    posteriors = np.stack([1 - s, s], axis=2)
    training = Training(posteriors[0, :50], np.arange(50) % 2, 2)
    moments = Diagnostics.learn(training, range(2)).reduction[0].representation

    def outputs(parts):
        sums, more = np.zeros((3, 2, 3), np.int64), np.zeros((3, 2, 20), np.int64)
        cells, ranks = np.zeros((3, 1024, 2), np.int64), np.zeros((3, 2, 3), np.int64)
        for part in parts:
            own, m = groups[part], len(groups[part])
            add_rows(narrow[:, part].reshape(-1, 3), own, sums)
            add_rows(wide[:, part].reshape(-1, 20), own, more)
            rows = posteriors[:, part].reshape(-1, 2)
            add_logit_cells(rows, *CELLS, own, 0, m, cells)
            moments.embed(rows).add_sums(own, ranks)
        return sums, more, cells, ranks

    small = [slice(start, min(start + 70, n)) for start in range(0, n, 70)]
    for found, expected in zip(outputs([slice(0, n)]), outputs(small), strict=True):
        assert expected.any()
        assert_array_equal(found, expected)
