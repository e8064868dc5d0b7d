from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.oracle import features as oracle
from tests.oracle.statistics import code_shares, repeat_items

from headcount.errors import HeadcountError
from headcount.parts.binning import Bins, FeatureHistograms, FeaturePatterns
from headcount.parts.distances import EuclideanDistance
from headcount.parts.training import Features, Training
from headcount.samples.samples import Samples
from headcount_studies.comparison.training_pool import distances_to_sets, joint_codes

few = settings(max_examples=25)
seeds = st.integers(0, 2**32 - 1)


def refuses(match):
    return pytest.raises(HeadcountError, match=match)


def training(X, codes=None, weights=None):
    n = X.shape[0]
    codes = np.arange(n) % 2 if codes is None else codes
    return Training(X, codes, int(codes.max()) + 1, weights)


# Columns


MIXED = {
    "number": [1.5, 2.0, 0.5],
    "count": [1, 2, 3],
    "flag": [True, False, True],
    "name": ["a", "b", None],
}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MIXED),
        pl.DataFrame(MIXED),
        pd.DataFrame(MIXED).convert_dtypes(),
        np.array(list(zip(*MIXED.values(), strict=True)), dtype=object),
    ],
    ids=["pandas", "polars", "pandas-nullable", "objects"],
)
def test_columns_are_numbers_or_objects(frame):
    features = Features.of(frame)
    assert features.header.n_columns == 4
    assert features.header.names in (None, tuple(MIXED))
    for position, expected in enumerate([[1.5, 2, 0.5], [1, 2, 3], [1, 0, 1]]):
        column = features.column(position)
        assert column.dtype == np.float64
        assert column.tolist() == expected
    names = features.column(3)
    assert names.dtype == object
    assert names.tolist()[:2] == ["a", "b"]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([3, 1, 3], dtype="category"),
        pl.Series(["3", "1", "3"], dtype=pl.Categorical),
        pl.Series(["3", "1", "3"], dtype=pl.Enum(["1", "3"])),
        pl.Series([True, False, None]),
    ],
)
def test_categories_are_no_numbers(series):
    frame = pd.DataFrame if isinstance(series, pd.Series) else pl.DataFrame
    assert Features.of(frame({"x": series})).column(0).dtype == object


def test_decimals_are_numbers():
    frame = pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Decimal(10, 2))})
    assert Features.of(frame).column(0).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([date(2024, 1, 1)] * 2, "^X has dates or times in column 'when': convert"),
        (
            np.array(["2024", "2025"], "M8[s]"),
            "^X has dates or times in column 'when': convert",
        ),
        (
            pd.Series([1.0, None], dtype=object),
            r"^X has 1 missing or infinite numbers in column 'when', the first at row 1:",
        ),
    ],
)
def test_columns_that_are_no_use(values, message):
    with refuses(message):
        Features.of(pd.DataFrame({"when": values})).column(0)


def test_texts_have_no_columns():
    with refuses("^X is a list of texts, .* TfidfVectorizer"):
        Features.of(np.array(["a text", "another"], dtype=object))


def test_columns_must_be_those_learnt_from():
    header = Features.of(pd.DataFrame({"a": [1], "b": [2]})).header
    header.check(Features.of(np.ones((3, 2))).header)
    header.check(Features.of(pl.DataFrame({"a": [1], "b": [2]})).header)
    with refuses("^X has 3 columns, but the quantifier was fitted with 2"):
        header.check(Features.of(np.ones((3, 3))).header)
    with refuses("^X has the column 'b' at position 0, but the quantifier was fitted with 'a'"):
        header.check(Features.of(pd.DataFrame({"b": [1], "a": [2]})).header)


def test_names_of_columns_need_not_be_strings():
    header = Features.of(pd.DataFrame(np.ones((2, 2)), columns=[7, "x"])).header
    assert header.names == (7, "x")


# Bins


numbers = st.lists(st.integers(-3, 12).map(float) | st.floats(-2, 2), min_size=1, max_size=40)


@few
@given(values=numbers, bins=st.integers(2, 9), seed=seeds)
def test_cuts_of_numbers(values, bins, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, len(values)).astype(float)
    weights[0] += 1
    table = np.array(values)[:, None]
    rule = Bins.learn(training(table, weights=weights), bins).rules[0]
    assert rule.points.tolist() == oracle.upper_ends(values, weights, bins)
    assert 1 <= rule.n_bins <= bins
    # No training item means no bin.
    used = rule.codes(table[weights > 0, 0], "0")
    assert_array_equal(np.unique(used), np.arange(rule.n_bins))


@few
@given(n=st.integers(9, 60), bins=st.integers(2, 8))
def test_bins_of_distinct_numbers_are_equally_full(n, bins):
    values = np.random.default_rng(n).permutation(n) ** 3.0
    codes = Bins.learn(training(values[:, None]), bins).codes(values[:, None])[:, 0]
    counts = np.bincount(codes)
    assert len(counts) == bins
    assert np.ptp(counts) <= 1


def test_a_frequent_number_has_its_own_bin():
    values = np.concatenate([np.zeros(80), np.linspace(0.1, 1, 20)])
    for column in (values, -values):
        codes = Bins.learn(training(column[:, None]), 4).codes(column[:, None])[:, 0]
        assert_array_equal(codes == codes[0], values == 0)


@few
@given(seed=seeds)
def test_a_weight_is_a_repetition(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=30), rng.integers(0, 9, 30), rng.integers(0, 2, 30)])
    times = rng.integers(0, 4, 30)
    times[:2] = 1
    (rows,) = repeat_items(times, np.arange(30))
    weighted = Bins.learn(training(X, weights=times * 0.1), 4)
    repeated = Bins.learn(training(X[rows]), 4)
    assert_array_equal(weighted.codes(X), repeated.codes(X))


def test_categories_not_seen_share_a_bin():
    X = np.array([["red", 1], ["blue", 2], ["red", 3], [None, 4]], dtype=object)
    weights = np.array([1.0, 0.0, 1.0, 1.0])
    bins = Bins.learn(training(X, weights=weights), 2)
    assert_array_equal(bins.edges, [0, 3, 5])
    new = np.array([["red", 9], ["blue", 0], ["green", 1], [np.nan, 2]], dtype=object)
    assert_array_equal(bins.codes(new), [[0, 4], [2, 3], [2, 3], [1, 4]])


def test_numbers_cannot_turn_into_names():
    bins = Bins.learn(training(pd.DataFrame({"size": [1.0, 2.0], "b": [1, 2]})), 2)
    with refuses("^X has values in column 'size' that are not numbers, such as 'big', but"):
        bins.codes(pd.DataFrame({"size": ["big", "small"], "b": [1, 2]}))


def test_lists_are_no_categories():
    frame = pd.DataFrame({"tags": [["a"], ["b", "c"]], "b": [1, 2]})
    with refuses("^X has values in column 'tags' that are neither numbers nor names"):
        Bins.learn(training(frame), 2)


def sparse_table(rng, n, columns=4):
    """Zeros, repeated values and distinct ones, of both signs."""
    table = rng.integers(-2, 3, (n, columns)) * (rng.random((n, columns)) < 0.6)
    table = table + rng.normal(size=(n, columns)) * (rng.random((n, columns)) < 0.2)
    table[:, 0] = np.abs(table[:, 0]) + 1
    return table.astype(float)


@few
@given(seed=seeds, weighted=st.booleans(), bins=st.integers(2, 6))
def test_sparse_tables_have_the_same_histograms(seed, weighted, bins):
    rng = np.random.default_rng(seed)
    X, new = sparse_table(rng, 20), sparse_table(rng, 8)
    weights = rng.integers(0, 3, 20) + np.eye(20)[0] + np.eye(20)[1] if weighted else None
    dense = FeatureHistograms(bins).fit(training(X, weights=weights))
    thin = FeatureHistograms(bins).fit(training(sparse.csr_array(X), weights=weights))
    assert dense.fitted is not None
    assert_array_equal(thin.fitted.edges, dense.fitted.edges)
    samples = Samples.from_arrays([rng.integers(0, 8, 5), [3], [0, 0, 1]], n_pool=8)
    of_pool = rng.random(8)
    for chosen in (None, of_pool):
        expected = dense.embed(new).means(samples, chosen)
        embedded = thin.embed(sparse.csr_matrix(new))
        assert embedded.width == expected.shape[1]
        assert_allclose(embedded.means(samples, chosen), expected, atol=1e-14)
        codes = dense.fitted.codes(new)
        slow = [code_shares(codes, embedded.width, sample, chosen) for sample in samples]
        assert_allclose(expected, slow, atol=1e-14)


def test_entries_given_twice_or_out_of_order_add_up():
    plain = np.array([[0.0, 3.0], [2.0, 1.0]])
    parts = ([1.0, 2.0, 1.0, 1.0, 1.0], [1, 1, 1, 0, 0], [0, 2, 5])
    given_twice = sparse.csr_array(parts, shape=(2, 2))
    before = given_twice.data.copy()
    bins = Bins.learn(training(plain), 2)
    found = bins.sparse_codes(given_twice)
    expected = bins.sparse_codes(sparse.csr_array(plain))
    assert_array_equal(found.codes, expected.codes)
    assert_array_equal(found.columns, expected.columns)
    assert_array_equal(given_twice.data, before)
    learnt = Bins.learn(training(given_twice), 2)
    assert [rule.points.tolist() for rule in learnt.rules] == [[0.0], [1.0]]


def test_sparse_items_need_numbers_learnt_from():
    bins = Bins.learn(training(np.array([["a", 1], ["b", 2]], dtype=object)), 2)
    with refuses("^X is sparse, but the quantifier was fitted with columns of categories"):
        bins.of(sparse.csr_array(np.ones((2, 2))))


# Patterns


def test_all_subsets_are_used_once_if_they_are_few():
    X = np.random.default_rng(0).integers(0, 2, (30, 4))
    patterns = FeaturePatterns(2, 10, 2, 0).fit(training(X))
    subsets = [tuple(table.members) for table in patterns.tables]
    assert subsets == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize(("D", "size"), [(1, 1), (2, 2), (3, 2), (4, 3), (50, 6), (1000, 10)])
def test_the_size_of_subsets(D, size):
    X = np.random.default_rng(0).integers(0, 2, (10, D))
    patterns = FeaturePatterns(2, 5, None, 0).fit(training(X))
    assert {len(set(table.members)) for table in patterns.tables} == {size}
    assert size == int(np.log2(D) + 1)


def test_subsets_are_drawn_evenly():
    X = np.zeros((4, 30))
    patterns = FeaturePatterns(2, 400, 3, 1).fit(training(X))
    drawn = np.concatenate([patterns.fitted.columns[t.members] for t in patterns.tables])
    counts = np.bincount(drawn, minlength=30)
    assert counts.sum() == 1200
    assert 15 < counts.min() < counts.max() < 75  # 40 expected, deviation 6


@few
@given(seed=seeds, is_sparse=st.booleans())
def test_patterns_are_told_apart(seed, is_sparse):
    rng = np.random.default_rng(seed)
    X, new = sparse_table(rng, 25, 5), sparse_table(rng, 12, 5)
    form = sparse.csr_array if is_sparse else np.asarray
    patterns = FeaturePatterns(3, 6, 3, int(seed)).fit(training(form(X)))
    bins = Bins.learn(training(X), 3)
    for table in patterns.tables:
        columns = patterns.fitted.columns[table.members]
        seen, fresh = bins.codes(X)[:, columns], bins.codes(new)[:, columns]
        known = {tuple(row) for row in seen.tolist()}
        assert len(table.known) == len(known)
        rows = table.look_up(patterns.codes(form(new)))
        for pattern, row in zip(fresh.tolist(), rows, strict=True):
            met = (seen == pattern).all(axis=1)
            shares = [met[::2].mean(), met[1::2].mean()]
            assert_allclose(row, [*shares, tuple(pattern) in known], atol=1e-15)


def test_dense_and_sparse_items_have_the_same_patterns():
    rng = np.random.default_rng(0)
    X = sparse_table(rng, 40, 6)
    fitted = FeaturePatterns(2, 4, 3, 0).fit(training(X))
    thin, thick = fitted.codes(sparse.csr_array(X)), fitted.codes(X)
    for table in fitted.tables:
        assert_array_equal(table.look_up(thin), table.look_up(thick))


# Distances


def places(rng, n, d):
    """Points, on a coarse grid half of the time: then many coincide."""
    points = rng.normal(size=(n, d))
    return points if rng.random() < 0.5 else points.round()


@few
@given(
    seed=seeds,
    K=st.integers(2, 4),
    d=st.integers(1, 9),
    n=st.integers(1, 90),
    is_sparse=st.booleans(),
    weighted=st.booleans(),
)
def test_mean_distances_of_pairs(seed, K, d, n, is_sparse, weighted):
    rng = np.random.default_rng(seed)
    codes = np.append(np.arange(K), rng.integers(0, K, n))
    X, new = places(rng, len(codes), d), places(rng, 7, d)
    weights = rng.random(len(codes)) + 0.1 if weighted else None
    form = sparse.csr_array if is_sparse else np.asarray
    near = EuclideanDistance().fit(Training(form(X), codes, K, weights))
    plain = np.ones(len(codes)) if weights is None else weights
    expected = oracle.mean_euclidean(new, X, codes, plain, K)
    assert_allclose(near.embed(form(new)).values, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_items_are_at_no_distance(form):
    # Far from zero, where |x|^2 + |c|^2 - 2 x.c would be rounding alone.
    rng = np.random.default_rng(0)
    X = 1e6 + rng.normal(size=(2, 7))
    near = EuclideanDistance().fit(Training(form(X), np.arange(2), 2))
    found = near.embed(form(X)).values
    assert_array_equal(np.diag(found), 0)
    assert_allclose(found[0, 1], np.linalg.norm(X[0] - X[1]), rtol=1e-12)


def test_rows_do_not_depend_on_their_neighbours():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(301, 5)), rng.normal(size=(517, 5))
    near = EuclideanDistance().fit(training(X))
    whole = near.embed(new).values
    for rows in (np.arange(3), np.arange(200, 517), np.array([5, 400, 5, 9, 77])):
        assert_array_equal(near.embed(new[rows]).values, whole[rows])


def test_dense_and_sparse_items_may_be_mixed():
    rng = np.random.default_rng(0)
    X, new = sparse_table(rng, 30), sparse_table(rng, 9)
    expected = EuclideanDistance().fit(training(X)).embed(new).values
    for fit_on, embed in ((sparse.csr_array(X), new), (X, sparse.csr_array(new))):
        found = EuclideanDistance().fit(training(fit_on)).embed(embed).values
        assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_numbers_too_large_to_square(form):
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    near = EuclideanDistance().fit(training(form(X)))
    with refuses("^X has numbers in row 1 whose squares overflow"):
        near.embed(form(np.array([[0.0, 1.0], [1e200, 0.0]])))


def test_distances_need_numbers():
    frame = pd.DataFrame({"x": [1.0, 2.0], "colour": ["red", "blue"]})
    message = "^X has values in column 'colour' that are not numbers, such as 'red', but"
    with refuses(message):
        EuclideanDistance().fit(training(frame))
    with refuses("^X has values in column 1 that are not numbers"):
        EuclideanDistance().fit(training(frame.to_numpy(dtype=object)))


# Distances to many sets, and joint patterns


@pytest.mark.parametrize("block", [1, 100, 1 << 24])
def test_distances_to_sets_are_those_of_each(monkeypatch, block):
    monkeypatch.setattr("headcount_studies.comparison.training_pool._BLOCK_PAIRS", block)
    rng = np.random.default_rng(0)
    X, codes = 100 + rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    near = EuclideanDistance().fit(training(X, codes)).embed(X).values
    weights = np.eye(2, dtype=np.float32)[codes]
    found = distances_to_sets(X, weights / weights.sum(axis=0))
    assert_allclose(found, near, rtol=1e-4)


@few
@given(seed=seeds, values=st.sampled_from([2, 9, 2000]), m=st.integers(1, 4))
def test_joint_codes_number_the_patterns_in_their_order(seed, values, m):
    columns = np.random.default_rng(seed).integers(0, values, (m, 40))
    patterns = sorted(set(zip(*columns.tolist(), strict=True)))
    expected = [patterns.index(each) for each in zip(*columns.tolist(), strict=True)]
    assert joint_codes(columns).tolist() == expected


@pytest.mark.parametrize("size", [2, 10, 70])
def test_patterns_of_many_features_have_keys_of_their_own(size):
    """Keys of two features are numbered, of ten sorted, and of seventy random."""
    rng = np.random.default_rng(size)
    X = rng.integers(0, 30, (200, size))
    X[100:] = X[:100]
    X[150:, 0] += 1
    fitted = FeaturePatterns(40, 1, size, 0).fit(training(X, np.arange(200) // 100))
    (table,) = fitted.tables
    known = {tuple(row) for row in X.tolist()}
    assert len(table.known) == len(known)
    new = rng.integers(0, 30, (50, size))
    new[::2] = X[:25]
    seen = table.look_up(fitted.codes(new))[:, -1]
    assert seen.tolist() == [tuple(row) in known for row in new.tolist()]
