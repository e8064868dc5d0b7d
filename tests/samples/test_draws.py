"""The compiled drawing against the slow one, and the randomness of both."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.oracle import stratified_draws as oracle

from headcount._kernels import draws
from headcount._support.execution import base_seeds, stream_seeds, uniforms
from headcount.samples.protocols import (
    APP,
    NPP,
    UPP,
    Dirichlet,
    Prevalences,
    dirichlet_shares,
    grid_length,
    grid_shares,
    nearest_counts,
    uniform_shares,
)

seeds = st.integers(0, 2**64 - 1)


def test_the_stream_is_splitmix64():
    # The first words of the reference implementation for these seeds.
    published = {
        0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F],
        1234567: [6457827717110365317, 3203168211198807973, 9817491932198370423],
    }
    for seed, first in published.items():
        assert stream_seeds(seed, np.arange(3)).tolist() == first
        stream = oracle.words(seed)
        assert [next(stream) for _ in first] == first


@given(base=seeds, number=st.integers(0, 50), n=st.integers(1, 6))
@settings(max_examples=40)
def test_uniforms_match_the_oracle(base, number, n):
    assert uniforms(base, np.array([number]), n)[0].tolist() == oracle.uniforms(base, number, n)


def test_uniforms_stay_within_their_ends(monkeypatch):
    for word, expected in ((0, 2.0**-53), (2**64 - 1, 1 - 2.0**-53)):
        monkeypatch.setattr(
            "headcount._support.execution.mix",
            lambda seed, word=word: seed * 0 + np.uint64(word),
        )
        assert uniforms(0, np.array([0]), 1)[0, 0] == expected


@pytest.mark.parametrize("bound", [1, 2, 3, 1000, 2**31 + 1, 3_000_000_000, 2**32 - 1, 2**32])
def test_bounded_integers_match_the_oracle(bound):
    state, stream = np.uint64(5), oracle.words(5)
    for _ in range(50):
        with np.errstate(over="ignore"):
            number, state = draws._below(np.uint64(bound), np.uint64(state))
        assert number == oracle.below(stream, bound)


@st.composite
def pools_and_counts(draw):
    strata = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    rows = st.lists(st.integers(0, 15), min_size=len(strata), max_size=len(strata))
    return strata, draw(st.lists(rows, min_size=1, max_size=5))


@given(case=pools_and_counts(), base=seeds)
@settings(max_examples=60)
def test_items_match_the_oracle(case, base):
    sizes, rows = case
    counts = np.array(rows)
    items = np.random.default_rng(0).permutation(sum(sizes)).astype(np.int32)
    edges = np.concatenate(([0], np.cumsum(sizes)))
    offsets = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    drawn = np.full(offsets[-1], -1, np.int32)
    numbers = np.arange(len(counts))
    with np.errstate(over="ignore"):
        draws.draw_items(
            0, len(counts), stream_seeds(base, numbers), counts, items, edges, offsets, drawn
        )
    strata = [part.tolist() for part in np.split(items, edges[1:-1])]
    for number, row in enumerate(rows):
        expected = oracle.draw(oracle.stream_seed(base, number), row, strata)
        assert drawn[offsets[number] : offsets[number + 1]].tolist() == expected


@given(
    weights=st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(any),
    size=st.integers(1, 700),
    row=st.integers(0, 30),
)
@settings(max_examples=150)
def test_counts_match_exact_fractions(weights, size, row):
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    counts = nearest_counts(
        np.array([[float(share) for share in shares]]), np.array([size]), np.array([row])
    )[0]
    assert counts.tolist() == oracle.nearest_counts(shares, size, row)
    assert counts.sum() == size
    assert all(
        abs(count - share * size) < 1 for count, share in zip(counts, shares, strict=True)
    )


def test_ties_favour_no_class():
    rows = np.arange(3000)
    counts = nearest_counts(np.full((3000, 3), 1 / 3), np.full(3000, 10), rows)
    assert stats.chisquare(counts.sum(axis=0) - 9000).pvalue > 0.01


@pytest.mark.parametrize(("n_steps", "n_classes"), [(1, 2), (20, 2), (20, 3), (5, 4), (4, 5)])
def test_grid_matches_the_oracle(n_steps, n_classes):
    expected = oracle.grid(n_steps, n_classes)
    shares = grid_shares(n_steps, n_classes)
    assert shares.tolist() == [[float(share) for share in point] for point in expected]
    assert grid_length(n_steps, n_classes) == len(expected)


@pytest.mark.parametrize(("n_classes", "length"), [(2, 21), (3, 231), (4, 1771), (5, 10626)])
def test_grid_lengths(n_classes, length):
    assert len(grid_shares(20, n_classes)) == grid_length(20, n_classes) == length


def test_whole_protocol_matches_the_oracle():
    y = np.array([1, 0, 2, 1, 1, 0, 2, 1])
    samples = APP(n_prevalences=4, repeats=2, size=5, random_state=11).draw(y)
    item_seed = base_seeds(11, 2)[1]
    strata = [np.flatnonzero(y == label).tolist() for label in range(3)]
    for number, sample in enumerate(samples):
        row = number // 2
        counts = oracle.nearest_counts(oracle.grid(3, 3)[row], 5, row)
        seed = oracle.stream_seed(item_seed, number)
        assert sample.tolist() == oracle.draw(seed, counts, strata)


def test_items_of_a_class_are_equally_likely():
    y = np.repeat([0, 1], [40, 25])
    samples = Prevalences([[0.6, 0.4]], repeats=1500, size=20, random_state=3).draw(y)
    seen = np.bincount(samples.indices, minlength=65)
    # Without replacement the spread is less than multinomial: the plain test is too kind
    # by the share not drawn, and both tails are checked on the scaled statistic.
    for part, count in ((seen[:40], 12), (seen[40:], 8)):
        left = 1 - count / len(part)
        statistic = stats.chisquare(part).statistic / left
        assert 0.005 < stats.chi2.sf(statistic, len(part) - 1) < 0.995


def test_first_and_last_places_are_equally_likely():
    firsts = [s[0] for s in NPP(n_samples=3000, size=2, random_state=5).draw(np.zeros(12))]
    assert 0.005 < stats.chisquare(np.bincount(firsts, minlength=12)).pvalue < 0.995


def test_draws_with_replacement_are_equally_likely():
    samples = NPP(n_samples=500, size=60, random_state=1).draw(np.zeros(10))
    assert 0.005 < stats.chisquare(np.bincount(samples.indices)).pvalue < 0.995


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_uniform_shares_are_uniform_on_the_simplex(n_classes):
    shares = uniform_shares(17, np.arange(4000), n_classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares.min() > 0
    for column in shares.T:
        assert stats.kstest(column, stats.beta(1, n_classes - 1).cdf).pvalue > 0.005


@pytest.mark.parametrize("alpha", [[0.5, 2.0, 1.0], [10.0, 0.05, 3.0], [100.0, 100.0, 0.3]])
def test_dirichlet_shares_have_beta_margins(alpha):
    shares = dirichlet_shares(23, np.arange(4000), np.array(alpha))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for column, a in zip(shares.T, alpha, strict=True):
        margin = stats.beta(a, sum(alpha) - a)
        assert stats.kstest(column, margin.cdf).pvalue > 0.005


def test_dirichlet_shares_with_a_tiny_alpha_are_single_classes():
    shares = dirichlet_shares(29, np.arange(3000), np.full(3, 1e-4))
    assert np.isfinite(shares).all()
    largest = shares.max(axis=1)
    assert (largest > 0.999).mean() > 0.99
    assert stats.chisquare(np.bincount(shares.argmax(axis=1))).pvalue > 0.005


_DRAW_WITHOUT_COMPILATION = """
import pickle, sys
import numba
from headcount.samples import protocols
assert numba.config.DISABLE_JIT
protocols._FEWEST_ITEMS_PER_THREAD = 1
protocols, y = pickle.load(sys.stdin.buffer)
pickle.dump([protocol.draw(y).indices for protocol in protocols], sys.stdout.buffer)
"""


def test_without_compilation_the_same_is_drawn():
    y = [0, 1, 2, 0, 1, 0] * 5
    protocols = [
        APP(n_prevalences=3, repeats=2, size=12, random_state=0),
        UPP(n_samples=20, size=12, random_state=1),
        NPP(n_samples=20, size=40, random_state=2),
        Dirichlet(0.5, n_samples=20, size=12, random_state=3),
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _DRAW_WITHOUT_COMPILATION],
        input=pickle.dumps((protocols, y)),
        stdout=subprocess.PIPE,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "HEADCOUNT_NUM_THREADS": "2"},
        check=True,
    )
    for protocol, drawn in zip(protocols, pickle.loads(done.stdout), strict=True):
        np.testing.assert_array_equal(protocol.draw(y).indices, drawn)
