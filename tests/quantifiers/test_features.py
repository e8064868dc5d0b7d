"""Methods on features against their formulas, on tables of every kind."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.conformance.cases import labelled, pool, samples
from tests.oracle import features as oracle
from tests.oracle.statistics import repeat_items

import headcount as hc
from headcount.errors import HeadcountError
from headcount.parts.solvers import Solution
from headcount.quantifiers import features as module
from headcount.samples import Samples

few = settings(max_examples=10)
seeds = st.integers(0, 2**32 - 1)
METHODS = {
    "HDx": hc.HDx(bins=4),
    "HDx-mean": hc.HDx(bins=4, combine="mean"),
    "ReadMe": hc.ReadMe(bins=3, subset_size=2, random_state=0),
    "ED": hc.ED(),
}
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
on_mixed_tables = pytest.mark.parametrize(
    "method", [METHODS[name] for name in ("HDx", "HDx-mean", "ReadMe")], ids=str
)


def refuses(match):
    return pytest.raises(HeadcountError, match=match)


def drawn(K, rng, n=60, d=3):
    """Training items, some of them tied, their classes, and a pool of other shares."""
    codes = np.append(np.arange(K), rng.choice(K, n - K, p=rng.dirichlet(np.full(K, 3.0))))
    centres = rng.normal(size=(K, d))
    new = rng.choice(K, 40, p=rng.dirichlet(np.ones(K)))
    X, other = (centres[c] + rng.normal(size=(len(c), d)) for c in (codes, new))
    X[:, -1], other[:, -1] = X[:, -1].round(), other[:, -1].round()
    return X, codes, other


def rows(table):
    return [tuple(row) for row in table.tolist()]


# Against their formulas


@few
@given(seed=seeds, K=st.integers(2, 3), weighted=st.booleans())
def test_hdx(seed, K, weighted):
    rng = np.random.default_rng(seed)
    X, codes, other = drawn(K, rng)
    weights = rng.integers(0, 4, len(codes)) if weighted else np.ones(len(codes))
    weights[:K] = 1
    found = hc.HDx(bins=4).fit(X, codes, weights).predict(other)
    cost = oracle.hdx_cost(rows(X), codes, rows(other), 4, weights=weights)
    best = oracle.hdx(rows(X), codes, rows(other), 4, weights=weights)
    # Where it is flat the shares may differ, not what they cost.
    assert cost(found) <= cost(best) + 1e-9
    assert_allclose(found, best, atol=2e-3)


@few
@given(seed=seeds, bins=st.integers(2, 6))
def test_hdx_by_the_mean_of_distances(seed, bins):
    rng = np.random.default_rng(seed)
    X, codes, other = drawn(2, rng, d=4)
    solution = (
        hc.HDx(bins=bins, combine="mean")
        .fit(X, codes)
        .fitted_.solve_many(other, [np.arange(40)])
    )
    assert solution.converged.all()
    share = solution.prevalence[0, 1]
    cost = oracle.hdx_cost(rows(X), codes, rows(other), bins, combine="mean")
    at = {a: cost(np.array([1 - a, a])) for a in [share, *np.linspace(0, 1, 101)]}
    assert_allclose(solution.objective[0], at[share], atol=1e-7)
    # Nothing nearby is better, nor is the stacked answer.
    for step in (-0.01, 0.01):
        beside = float(np.clip(share + step, 0, 1))
        assert at[share] <= cost(np.array([1 - beside, beside])) + 1e-7
    assert at[share] <= cost(hc.HDx(bins=bins).fit(X, codes).predict(other)) + 1e-7
    if bins > 2:  # where several minima are rare enough not to be met here
        assert at[share] <= min(at.values()) + 1e-7


@few
@given(seed=seeds, K=st.integers(2, 3), weighted=st.booleans())
def test_readme(seed, K, weighted):
    rng = np.random.default_rng(seed)
    X, codes, other = drawn(K, rng)
    weights = rng.integers(0, 4, len(codes)) if weighted else np.ones(len(codes))
    weights[:K] = 1
    found = hc.ReadMe(subset_size=2, bins=4).fit(X, codes, weights).predict(other)
    pairs = list(combinations(range(3), 2))
    expected = oracle.readme(rows(X), codes, rows(other), pairs, 4, weights)
    assert_allclose(found, expected, atol=1e-6)


def test_readme_draws_its_subsets():
    X, codes, other = drawn(3, np.random.default_rng(1), d=12)
    fitted = hc.ReadMe(n_subsets=7, random_state=3).fit(X, codes)
    patterns = fitted.fitted_.model.patterns
    subsets = [patterns.fitted.columns[table.members] for table in patterns.tables]
    assert {len(subset) for subset in subsets} == {4}
    assert len(subsets) == 7
    expected = oracle.readme(rows(X), codes, rows(other), subsets, 2)
    assert_allclose(fitted.predict(other), expected, atol=1e-6)


@few
@given(seed=seeds, K=st.integers(2, 3), d=st.integers(1, 4), weighted=st.booleans())
def test_ed(seed, K, d, weighted):
    # With two classes the oracle is the closed form.
    rng = np.random.default_rng(seed)
    X, codes, other = drawn(K, rng, n=40, d=d)
    weights = rng.integers(0, 4, len(codes)) if weighted else np.ones(len(codes))
    weights[:K] = 1
    found = hc.ED().fit(X, codes, weights).predict(other)
    expected = oracle.ed(X, codes, other, weights)
    assert_allclose(found, expected, atol=1e-9 if K == 2 else 1e-4)


@few
@given(seed=seeds, K=st.integers(2, 4))
def test_exact_mixtures_are_seen_through(seed, K):
    rng = np.random.default_rng(seed)
    X, codes, _ = drawn(K, rng, d=8)
    times = rng.integers(0, 5, K)
    times[rng.integers(K)] += 1
    index = np.repeat(np.arange(len(codes)), times[codes])
    expected = np.bincount(codes[index], minlength=K) / len(index)
    for name, method in METHODS.items():
        fitted = method.fit(X, codes)
        if name == "ReadMe" and any(
            np.linalg.eigvalsh(table.overlap)[0] < 1e-9
            for table in fitted.fitted_.model.patterns.tables
        ):
            continue  # a set of features whose patterns do not tell the classes apart
        (found,) = fitted.predict_many(X, [index])
        assert_allclose(found, expected, atol=1e-5, err_msg=name)


@each_method
def test_a_weight_is_a_repetition(method):
    rng = np.random.default_rng(0)
    X, codes, other = drawn(3, rng)
    times = rng.integers(0, 4, len(codes))
    times[:3] = 1
    (kept,) = repeat_items(times, np.arange(len(codes)))
    weighted = method.fit(X, codes, times.astype(float)).predict(other)
    assert_allclose(weighted, method.fit(X[kept], codes[kept]).predict(other), atol=1e-9)


@each_method
def test_one_vs_rest(method):
    X, y = labelled(3)
    found = hc.OneVsRest(method).fit(X, y).predict_many(pool(3), samples())
    positive = np.column_stack(
        [method.fit(X, y == j).predict_many(pool(3), samples())[:, 1] for j in range(3)]
    )
    total = positive.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, positive / np.maximum(total, 1e-300), 1 / 3)
    assert_allclose(found, expected, atol=1e-12)
    assert np.ptp(found, axis=0).max() > 0.1


# Tables of other kinds


def mixed(rng, n, codes):
    """Columns of every kind that tell the classes apart."""
    return {
        "size": codes + rng.normal(size=n),
        "count": rng.poisson(1 + 2 * codes),
        "flag": rng.random(n) < 0.3 + 0.4 * codes,
        "colour": np.array(["red", "green", "blue"])[
            np.minimum(rng.integers(0, 2, n) + codes, 2)
        ],
    }


def forms(columns):
    table = np.empty((len(columns["size"]), len(columns)), dtype=object)
    for position, column in enumerate(columns.values()):
        table[:, position] = column.tolist()
    categorical = pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical))
    return {
        "pandas": pd.DataFrame(columns),
        "pandas-categorical": pd.DataFrame(columns).astype({"colour": "category"}),
        "polars": pl.DataFrame(columns),
        "polars-categorical": categorical,
        "objects": table,
    }


@on_mixed_tables
def test_mixed_tables(method):
    rng = np.random.default_rng(0)
    codes, new = rng.integers(0, 2, 200), (rng.random(300) < 0.8).astype(int)
    trained, other = forms(mixed(rng, 200, codes)), forms(mixed(rng, 300, new))
    answers = [method.fit(trained[kind], codes).predict(other[kind]) for kind in trained]
    for answer in answers:
        assert_allclose(answer, answers[0], atol=1e-12)
    assert abs(answers[0][1] - new.mean()) < 0.12
    one_by_one = mixed(rng, 60, rng.integers(0, 2, 60))
    slow_rows = rows(forms(one_by_one)["objects"])
    if isinstance(method, hc.HDx) and method.combine == "stacked":
        expected = oracle.hdx(rows(trained["objects"]), codes, slow_rows, 4)
        found = method.fit(trained["polars"], codes).predict(forms(one_by_one)["polars"])
        assert_allclose(found, expected, atol=1e-5)


@on_mixed_tables
def test_categories_not_seen_in_training(method):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 100)
    columns = mixed(rng, 100, codes)
    fitted = method.fit(pd.DataFrame(columns), codes)
    for unseen in ("violet", None):
        strange = pd.DataFrame({**columns, "colour": [unseen] * 100})
        shares = fitted.predict(strange)
        assert_allclose(shares.sum(), 1)
        assert abs(shares[1] - codes.mean()) < 0.2


def test_numbers_as_strings_are_categories():
    X = np.array([["1", "a"], ["2", "b"]] * 5)
    shares = hc.HDx().fit(X, [0, 1] * 5).predict(X[[0, 0, 0, 1]])
    assert_allclose(shares, [0.75, 0.25], atol=1e-8)


def test_booleans_may_come_as_an_array():
    X = np.array([[True, False], [False, False], [True, True], [False, True]] * 10)
    y = [0, 1, 0, 1] * 10
    for method in METHODS.values():
        assert_allclose(method.fit(X, y).predict(X[[0, 2, 0, 1]]), [0.75, 0.25], atol=1e-5)


@each_method
def test_columns_must_be_those_learnt_from(method):
    X, y = labelled(2)
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    method.fit(frame, y)
    with refuses("^X has 2 columns, but the quantifier was fitted with 3"):
        method.predict(X[:, :2])
    with refuses("^X has 2 columns, but the quantifier was fitted with 3"):
        method.predict(sparse.csr_array(X[:, :2]))
    with refuses("^X has the column 'z' at position 0, but the quantifier was fitted with 'x'"):
        method.predict(frame[["z", "y", "x"]])
    assert_allclose(method.predict(X), method.predict(frame))


@each_method
def test_texts_are_refused(method):
    texts = ["good day", "bad day"] * 4
    with refuses("^X is a list of texts, but this method needs columns of features"):
        method.fit(texts, [0, 1] * 4)
    method.fit(np.eye(2), [0, 1])
    with refuses("^X is a list of texts"):
        method.predict(texts)


def test_distances_need_numbers():
    frame = pl.DataFrame({"x": [1.0, 2.0], "colour": ["red", "blue"]})
    with refuses("^X has values in column 'colour' that are not numbers, .*OneHotEncoder"):
        hc.ED().fit(frame, [0, 1])


def test_subsets_larger_than_the_table():
    with refuses("^subset_size is 4, but X has 3 columns"):
        hc.ReadMe(subset_size=4).fit(*labelled(2))


@each_method
def test_wide_sparse_tables_stay_sparse(method):
    # As a dense table it would take 16 GB.
    rng = np.random.default_rng(0)
    n, width = 2_000, 1_000_000
    if isinstance(method, hc.HDx):
        width = 10_000  # which looks at every column
    y = rng.integers(0, 2, n)
    words = rng.integers(0, width - 20, (n, 8))
    words[:, :3] = width - 20 + 10 * y[:, None] + rng.integers(0, 10, (n, 3))
    X = sparse.coo_array(
        (np.ones(words.size), (np.repeat(np.arange(n), 8), words.ravel())), shape=(n, width)
    ).tocsr()
    chosen = np.flatnonzero((y == 1) | (np.arange(n) % 3 == 0))
    shares = method.fit(X[:1000], y[:1000]).predict(X[chosen])
    assert_allclose(shares.sum(), 1)
    if not isinstance(method, hc.ReadMe):  # which hardly ever draws a column that matters
        assert abs(shares[1] - y[chosen].mean()) < 0.15


# Patterns that are not known


def test_patterns_not_seen_in_training_are_left_out():
    X = np.array([["a", "x"], ["b", "y"]] * 10)
    y = [0, 1] * 10
    fitted = hc.ReadMe().fit(X, y)
    known, strange = X[[0, 0, 0, 1]], np.array([["c", "x"], ["a", "y"]])
    assert_allclose(fitted.predict(known), [0.75, 0.25], atol=1e-9)
    assert_allclose(fitted.predict(np.vstack([known, strange])), [0.75, 0.25], atol=1e-9)


def test_training_shares_where_nothing_is_known():
    X = np.array([["a", "x"], ["b", "y"], ["b", "y"], ["b", "y"]])
    fitted = hc.ReadMe().fit(X, [0, 1, 1, 1])
    solution = fitted.fitted_.solve_many(np.array([["c", "z"], ["a", "x"]]), [[0], [1], [0, 1]])
    assert_allclose(solution.prevalence, [[0.25, 0.75], [1, 0], [1, 0]], atol=1e-9)
    assert solution.converged.all()


# Blocks


def test_blocks_of_patterns_make_no_difference(monkeypatch):
    X, codes, other = drawn(3, np.random.default_rng(0), d=9)
    fitted = hc.ReadMe(n_subsets=11, random_state=0).fit(X, codes)
    samples = [np.arange(40), [1, 2, 3], [39], np.arange(20)]
    whole = fitted.fitted_.solve_many(other, samples)
    for numbers in (1, 500, 2_000):
        monkeypatch.setattr(module, "_BLOCK_NUMBERS", numbers)
        parts = fitted.fitted_.solve_many(other, samples)
        for name in Solution.__dataclass_fields__:
            assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_mean_of_distances_does_not_depend_on_the_batch():
    X, codes, other = drawn(3, np.random.default_rng(0), d=5)
    fitted = hc.HDx(bins=3, combine="mean").fit(X, codes)
    samples = [np.arange(40), [1, 2, 3], [39], np.arange(20)]
    whole = fitted.predict_many(other, samples)
    for number, index in enumerate(samples):
        assert_array_equal(fitted.predict(other[index]), whole[number])
    stacked = hc.HDx(bins=3).fit(X, codes).predict_many(other, samples)
    assert np.abs(whole - stacked).max() > 1e-3


def test_steps_of_the_mean_of_distances_go_down():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, codes, other = drawn(3, rng, d=5)
        fitted = hc.HDx(bins=3, combine="mean").fit(X, codes)
        profiles = fitted.fitted_.model.profiles
        embedding = fitted.fitted_.model.representation.embed(other)
        seen = embedding.means(Samples.whole(40))
        edges = fitted.fitted_.model.solver.edges
        values = [
            module._MeanHellinger(edges, max_iter=n).solve(profiles, seen).objective[0]
            for n in (0, 1, 2, 5, 20, 200)
        ]
        assert (np.diff(values) <= 1e-9).all()
        assert values[-1] < values[0]
