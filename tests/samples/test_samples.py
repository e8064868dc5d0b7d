from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.uncertainty import over

from headcount.errors import HeadcountError
from headcount.samples.samples import Samples, as_samples

index_lists = st.lists(
    st.lists(st.integers(0, 9), min_size=1, max_size=8), min_size=1, max_size=12
)


def make() -> Samples:
    return Samples(
        [4, 0, 1, 1, 3, 5],
        [0, 2, 5, 6],
        n_pool=6,
        prevalence=[[0.5, 0.5], [1, 0], [0, 1]],
        classes=["a", "b"],
    )


def as_lists(samples: Samples) -> list[list[int]]:
    return [sample.tolist() for sample in samples]


def test_holds_what_it_was_given():
    samples = make()
    assert len(samples) == 3
    assert as_lists(samples) == [[4, 0], [1, 1, 3], [5]]
    assert samples.sizes.tolist() == [2, 3, 1]
    assert samples.indices.dtype == np.int32
    assert samples.offsets.dtype == np.int64
    assert samples.classes.tolist() == ["a", "b"]
    assert samples.prevalence.tolist() == [[0.5, 0.5], [1, 0], [0, 1]]


def test_indices_are_wide_only_for_pools_that_need_it():
    assert Samples([0], [0, 1], n_pool=2**31 - 1).indices.dtype == np.int32
    assert Samples([2**31 - 1], [0, 1], n_pool=2**31).indices.dtype == np.int64


def test_cannot_be_changed():
    given = np.array([0, 1], np.int32)
    samples = Samples(given, [0, 2], n_pool=2, prevalence=[[1.0]], classes=[0])
    given[0] = 99
    assert samples[0].tolist() == [0, 1]
    for array in (samples.indices, samples.offsets, samples.prevalence, samples.classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        samples.n_pool = 3


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None), [0, 1, 2]),
        (slice(-1, None), [2]),
        (slice(None, None, 2), [0, 2]),
        (slice(None, None, -1), [2, 1, 0]),
        (slice(2, 1), []),
        ([2, 0, 2], [2, 0, 2]),
        (np.array([-1]), [2]),
        (np.array([True, False, True]), [0, 2]),
        ([], []),
    ],
)
def test_parts(key, expected):
    samples = make()
    part = samples[key]
    assert as_lists(part) == [samples[i].tolist() for i in expected]
    assert part.prevalence.tolist() == samples.prevalence[expected].tolist()
    assert part.classes is samples.classes
    assert part.n_pool == 6
    assert part.offsets[0] == 0


def test_slices_share_memory():
    samples = make()
    assert np.shares_memory(samples[1:3].indices, samples.indices)
    assert np.shares_memory(samples[1:3].prevalence, samples.prevalence)


def test_one_sample_by_number():
    samples = make()
    assert samples[-1].tolist() == [5]
    assert samples[np.int64(1)].tolist() == [1, 1, 3]
    with pytest.raises(IndexError, match="no sample 3: there are 3"):
        samples[3]
    with pytest.raises(IndexError):
        samples[-4]


@given(arrays=index_lists, max_items=st.integers(1, 20))
@settings(max_examples=60)
def test_chunks_cover_all_within_the_limit(arrays, max_items):
    samples = Samples.from_arrays(arrays, n_pool=10)
    chunks = list(samples.chunks(max_items))
    assert [sample for chunk in chunks for sample in as_lists(chunk)] == arrays
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk.indices) <= max_items
    for chunk, following in pairwise(chunks):
        assert len(chunk.indices) + following.sizes[0] > max_items


@given(arrays=index_lists, codes=st.lists(st.integers(0, 3), min_size=10, max_size=10))
@settings(max_examples=60)
def test_prevalence_is_counted(arrays, codes):
    shares = Samples.from_arrays(arrays, n_pool=10).prevalence_of(codes, 4)
    for row, sample in zip(shares, arrays, strict=True):
        labels = [codes[i] for i in sample]
        assert row.tolist() == [labels.count(code) / len(labels) for code in range(4)]


def test_prevalence_does_not_depend_on_threads(monkeypatch):
    samples = Samples.from_arrays([[0, 1, 2], [3], [3, 3, 0]], n_pool=4)
    codes = [0, 0, 1, 1]
    at_once = samples.prevalence_of(codes, 2)
    monkeypatch.setattr("headcount.samples.samples._GRAIN_ITEMS", 1)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "3")
    np.testing.assert_array_equal(samples.prevalence_of(codes, 2), at_once)


def test_from_arrays_with_labels():
    samples = Samples.from_arrays(
        [np.array([0, 2], np.uint64), [1]], n_pool=3, y=["yes", "no", "no"]
    )
    assert samples.classes.tolist() == ["no", "yes"]
    assert samples.prevalence.tolist() == [[0.5, 0.5], [1, 0]]


def test_whole():
    samples = Samples.whole(4)
    assert as_lists(samples) == [[0, 1, 2, 3]]
    assert samples.n_pool == 4


def test_by_code():
    assert as_lists(Samples.by_code([2, 0, 2, 1, 0], 3)) == [[1, 4], [3], [0, 2]]


def test_by_many_codes():
    n = 2**15 + 3
    samples = Samples.by_code(np.arange(n)[::-1], n)
    np.testing.assert_array_equal(samples.indices, np.arange(n)[::-1])


def test_pickle_keeps_all_but_the_rest_of_the_pool_of_indices():
    part = make()[1:3]
    copy = pickle.loads(pickle.dumps(part))
    assert as_lists(copy) == as_lists(part)
    assert copy.n_pool == 6
    assert copy.prevalence.tolist() == part.prevalence.tolist()
    assert not copy.indices.flags.writeable


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        (Samples.whole(1), "Samples(1 sample of 1 item, from a pool of 1)"),
        (Samples.whole(1200), "Samples(1 sample of 1,200 items, from a pool of 1,200)"),
        (make(), "Samples(3 samples of 1 to 3 items, from a pool of 6, 2 classes)"),
        (make()[:0], "Samples(0 samples, from a pool of 6, 2 classes)"),
    ],
)
def test_repr(samples, text):
    assert repr(samples) == text


@pytest.mark.parametrize(
    ("indices", "offsets", "options", "message"),
    [
        ([0, 6], [0, 1, 2], {}, "sample 1 has index 6, but the pool has 6 items"),
        ([0, -1], [0, 2], {}, "sample 0 has index -1"),
        ([0, 2**40], [0, 2], {}, "sample 0 has index 1099511627776"),
        ([0.0, 1.0], [0, 2], {}, "indices holds float64 values"),
        ([True, False], [0, 2], {}, "flatnonzero"),
        ([[0], [1]], [0, 2], {}, "indices has 2 dimension"),
        ([0, 1], [1, 2], {}, "offsets starts at 1"),
        ([0, 1, 2], [0, 2, 1, 3], {}, "offsets decreases from 2 to 1 after entry 1"),
        ([0, 1], [0, 1], {}, "offsets ends at 1, but there are 2 indices"),
        ([0, 1], [0, 2.5], {}, "offsets holds float64"),
        ([0, 1], [0, 1, 1, 2], {}, "sample 1 is empty"),
        ([], [0, 0], {}, "sample 0 is empty"),
        ([], [0], {}, "samples is empty"),
        ([0], [0, 1], {"n_pool": 0}, "n_pool is 0"),
        ([0], [0, 1], {"n_pool": 2.0}, "n_pool is 2.0"),
        ([0], [0, 1], {"prevalence": [0.5, 0.5]}, "prevalence has 1 dimension"),
        ([0], [0, 1], {"prevalence": [[1], [1]]}, r"prevalence has shape \(2, 1\)"),
        ([0], [0, 1], {"prevalence": [[1]], "classes": "ab"}, "classes has 0 dimension"),
        ([0], [0, 1], {"prevalence": [[1]], "classes": [3, 4]}, "and 2 classes"),
        ([0], [0, 1], {"prevalence": [[0.5, 0.6]]}, "off the simplex in row 0"),
        ([0], [0, 1], {"prevalence": [[np.nan, 1]]}, "off the simplex"),
        ([0], [0, 1], {"prevalence": [[np.inf, -np.inf]]}, "off the simplex"),
        ([0], [0, 1], {"prevalence": [["a"]]}, "cannot be read"),
        ([0], [0, 1], {"prevalence": [[]]}, "no columns"),
    ],
)
def test_bad_parts_are_refused(indices, offsets, options, message):
    with pytest.raises(HeadcountError, match=message):
        Samples(indices, offsets, **{"n_pool": 6, **options})


def test_bad_arrays_are_refused():
    with pytest.raises(HeadcountError, match="sample 1 is empty"):
        Samples.from_arrays([[0], [], [1]], n_pool=2)
    with pytest.raises(HeadcountError, match="sample 1 holds float64"):
        Samples.from_arrays([[0], [0.5]], n_pool=2)
    with pytest.raises(HeadcountError, match="sample 0 has 0 dimension"):
        Samples.from_arrays([0, 1], n_pool=2)
    with pytest.raises(HeadcountError, match="sample 0 is ragged"):
        Samples.from_arrays([[[0], [1, 2]]], n_pool=3)
    with pytest.raises(HeadcountError, match="samples is empty"):
        Samples.from_arrays([], n_pool=2)
    with pytest.raises(HeadcountError, match="3 labels were given"):
        Samples.from_arrays([[0]], n_pool=2, y=[0, 1, 1])


def test_bad_codes_are_refused():
    with pytest.raises(HeadcountError, match="codes has values from 0 to 2"):
        Samples.by_code([0, 2], 2)
    with pytest.raises(HeadcountError, match="sample 1 is empty"):
        Samples.by_code([0, 2], 3)
    with pytest.raises(HeadcountError, match="codes is empty"):
        Samples.by_code([], 3)
    with pytest.raises(HeadcountError, match="n_codes is 0"):
        make().prevalence_of([0] * 6, 0)
    with pytest.raises(HeadcountError, match="n is 0"):
        Samples.whole(0)
    with pytest.raises(HeadcountError, match="max_items is 0"):
        make().chunks(0)


def test_as_samples():
    samples = make()
    assert as_samples(samples, 6) is samples
    assert as_lists(as_samples((np.array(s) for s in ([0], [1, 1])), 2)) == [[0], [1, 1]]
    assert as_lists(as_samples(np.array([[0, 1], [1, 2]]), 3)) == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (make(), "a pool of 6 items, but this pool has 3"),
        ([[0], [3]], "sample 1 has index 3"),
        (7, "of type int"),
        ("ab", "of type str"),
    ],
)
def test_as_samples_refuses(samples, message):
    with pytest.raises(HeadcountError, match=message):
        as_samples(samples, 3)


# Pools whose items are repeated


@given(index_lists, st.integers(1, 4))
def test_samples_over_a_repeated_pool(arrays, copies):
    samples = Samples.from_arrays(arrays, n_pool=10)
    wide = samples.over(10 * copies)
    assert as_lists(wide) == [over(sample, 10, copies) for sample in arrays]
    assert wide.n_pool == 10 * copies
    assert wide.copies == copies
    np.testing.assert_array_equal(wide.sizes, copies * samples.sizes)
    np.testing.assert_array_equal(wide.n_items, samples.sizes)
    assert wide.over(20 * copies).copies == 2 * copies


def test_parts_of_samples_over_a_repeated_pool_remember_it():
    wide = make().over(18)
    for part in (
        wide[1:],
        wide[[2, 0]],
        next(wide.chunks(9)),
        pickle.loads(pickle.dumps(wide)),
    ):
        assert part.copies == 3
    np.testing.assert_array_equal(wide[[2, 0]].n_items, [1, 2])
    np.testing.assert_array_equal(wide.prevalence, make().prevalence)
    np.testing.assert_array_equal(
        wide.prevalence_of(np.tile([0, 1, 0, 1, 0, 1], 3), 2),
        make().prevalence_of([0, 1, 0, 1, 0, 1], 2),
    )
    assert make().over(6).copies == 1


def test_a_pool_is_repeated_as_a_whole():
    with pytest.raises(HeadcountError, match="n_rows is 10, but must be a multiple of the 6"):
        make().over(10)
