from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.errors import HeadcountError
from headcount.samples import protocols
from headcount.samples.protocols import APP, NPP, UPP, Dirichlet, Prevalences

POOL = np.array(["cat", "dog", "eel"])[np.random.default_rng(0).integers(0, 3, 90)]
SHARES = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.9, 0.05, 0.05]])

PROTOCOLS = [
    APP(n_prevalences=5, repeats=3, size=20, random_state=0),
    UPP(n_samples=30, size=20, random_state=0),
    UPP(n_samples=30, size=range(1, 31), random_state=0),
    NPP(n_samples=30, size=20, random_state=0),
    NPP(n_samples=30, size=np.arange(80, 110), random_state=0),
    Dirichlet(0.3, n_samples=30, size=20, random_state=0),
    Dirichlet([1, 2, 3], n_samples=30, size=120, random_state=0),
    Prevalences(SHARES, repeats=10, size=20, random_state=0),
]
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: type(p).__name__)


def assert_same(samples, others):
    np.testing.assert_array_equal(samples.indices, others.indices)
    np.testing.assert_array_equal(samples.offsets, others.offsets)
    np.testing.assert_array_equal(samples.prevalence, others.prevalence)


@each_protocol
def test_prevalence_is_the_realised_one(protocol):
    samples = protocol.draw(POOL)
    assert samples.n_pool == len(POOL)
    assert samples.classes.tolist() == ["cat", "dog", "eel"]
    for sample, shares in zip(samples, samples.prevalence, strict=True):
        found = [(POOL[sample] == name).mean() for name in samples.classes]
        np.testing.assert_allclose(shares, found, atol=1e-15)


@each_protocol
def test_no_item_twice_where_the_class_has_enough(protocol):
    samples = protocol.draw(POOL)
    whole_pool = isinstance(protocol, NPP)
    repeated = 0
    for sample in samples:
        for stratum in (
            [POOL != ""] if whole_pool else [name == POOL for name in samples.classes]
        ):
            taken = sample[stratum[sample]]
            if len(taken) <= stratum.sum():
                assert len(set(taken)) == len(taken)
            else:
                repeated += 1
                assert len(set(taken)) < len(taken)
    assert repeated > 0 or samples.sizes.max() <= 30


@each_protocol
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_batches_are_the_same_samples(protocol, size):
    samples = protocol.draw(POOL)
    start = 0
    for batch in protocol.batches(POOL, size):
        assert_same(batch, samples[start : start + size])
        start += len(batch)
    assert start == len(samples)


@each_protocol
def test_any_order_and_division_of_work_gives_the_same(protocol, monkeypatch):
    samples = protocol.draw(POOL)

    def backwards(work, n, *, grain):
        for number in reversed(range(n)):
            work(number, number + 1)

    monkeypatch.setattr(protocols, "each_range", backwards)
    assert_same(protocol.draw(POOL), samples)


def test_threads_do_not_matter(monkeypatch):
    protocol = UPP(n_samples=300, size=50, random_state=4)
    monkeypatch.setattr(protocols, "_FEWEST_ITEMS_PER_THREAD", 1)
    ranges = []
    real = protocols.each_range

    def counted(work, n, *, grain):
        def noted(start, stop):
            ranges.append((start, stop))
            work(start, stop)

        real(noted, n, grain=grain)

    monkeypatch.setattr(protocols, "each_range", counted)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "1")
    alone = protocol.draw(POOL)
    assert len(ranges) == 1
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "4")
    together = protocol.draw(POOL)
    assert len(ranges) > 4
    assert_same(alone, together)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: UPP(n_samples=n, size=15, random_state=9),
        lambda n: NPP(n_samples=n, size=15, random_state=9),
        lambda n: Dirichlet([0.2, 1, 4], n_samples=n, size=15, random_state=9),
        lambda n: Prevalences(np.tile(SHARES, (n // 3, 1)), size=15, random_state=9),
        lambda n: UPP(n_samples=n, size=np.arange(n) + 1, random_state=9),
    ],
)
def test_the_first_samples_do_not_depend_on_how_many(make):
    assert_same(make(30).draw(POOL), make(90).draw(POOL)[:30])


@each_protocol
def test_samples_differ_from_each_other(protocol):
    samples = protocol.draw(POOL)
    assert len({sample.tobytes() for sample in samples}) > 0.9 * len(samples)


def test_seeds():
    def draw(random_state):
        return UPP(n_samples=3, size=30, random_state=random_state).draw(POOL).indices.tolist()

    assert draw(1) == draw(1) == draw(np.int64(1))
    assert draw(1) != draw(2)
    assert draw(None) == draw(None)
    generator = np.random.default_rng(1)
    assert draw(copy.deepcopy(generator)) == draw(copy.deepcopy(generator))
    assert draw(generator) != draw(generator)
    old = np.random.RandomState(1)
    assert draw(copy.deepcopy(old)) == draw(copy.deepcopy(old))
    assert draw(old) != draw(old)


def test_prevalences_and_items_have_unrelated_streams():
    samples = UPP(n_samples=400, size=10, random_state=0).draw(np.repeat([0, 1], 200))
    with_both = (samples.prevalence > 0).all(axis=1)
    firsts = np.array([sample[0] for sample in samples])[with_both]
    correlation = np.corrcoef(firsts, samples.prevalence[with_both, 0])[0, 1]
    assert abs(correlation) < 0.15


def test_app_of_two_classes_varies_the_last():
    samples = APP(n_prevalences=21, repeats=100, size=20, random_state=0).draw(
        [False, True] * 600
    )
    assert len(samples) == 2100
    expected = np.repeat(np.arange(21) / 20, 100)
    np.testing.assert_array_equal(samples.prevalence[:, 1], expected)
    assert (samples.sizes == 20).all()


@pytest.mark.parametrize(("n_classes", "n_points"), [(2, 21), (3, 231), (4, 1771)])
def test_app_covers_the_grid(n_classes, n_points):
    y = np.arange(10 * n_classes) % n_classes
    samples = APP(repeats=1, size=20, random_state=0).draw(y)
    assert len(samples) == n_points
    assert len({tuple(np.rint(row * 20)) for row in samples.prevalence}) == n_points


def test_app_by_step_is_app_by_number():
    by_number = APP(n_prevalences=11, repeats=2, size=10, random_state=0).draw(POOL)
    assert_same(APP(step=0.1, repeats=2, size=10, random_state=0).draw(POOL), by_number)
    default = APP(repeats=1, size=20, random_state=0).draw(POOL)
    assert_same(APP(step=0.05, repeats=1, size=20, random_state=0).draw(POOL), default)


def test_app_repeats_have_equal_counts():
    samples = APP(n_prevalences=21, repeats=4, size=50, random_state=0).draw([0, 1] * 60)
    shares = samples.prevalence.reshape(21, 4, 2)
    assert (shares == shares[:, :1]).all()
    # 0.05 of 50 is 2.5: such ties are to go up and down.
    off = shares[1::2, 0, 1] - np.arange(1, 21, 2) / 20
    assert (off > 0).any()
    assert (off < 0).any()


def test_app_refuses_an_exploding_grid():
    y = np.arange(40) % 10
    with pytest.raises(HeadcountError, match=r"100,150,050 samples \(10,015,005 .*use UPP"):
        APP().draw(y)
    assert len(APP(n_prevalences=2, repeats=1, size=5, max_samples=10).draw(y)) == 10
    with pytest.raises(HeadcountError, match="11,440 samples"):
        APP(n_prevalences=8, repeats=1, size=5, max_samples=11_439).draw(y)


def test_prevalences_are_met():
    samples = Prevalences(SHARES, repeats=2, size=[20, 40] * 3, random_state=0).draw(POOL)
    np.testing.assert_allclose(samples.prevalence, np.repeat(SHARES, 2, axis=0))
    assert samples.sizes.tolist() == [20, 40] * 3


def test_natural_prevalence_is_that_of_the_pool():
    y = np.repeat([0, 1, 2], [600, 300, 100])
    shares = NPP(n_samples=400, size=100, random_state=0).draw(y).prevalence
    np.testing.assert_allclose(shares.mean(axis=0), [0.6, 0.3, 0.1], atol=0.01)
    assert shares.std(axis=0).min() > 0.02


def test_natural_sample_as_large_as_the_pool_is_the_pool():
    (sample,) = NPP(n_samples=1, size=len(POOL), random_state=0).draw(POOL)
    assert sorted(sample) == list(range(len(POOL)))


def test_given_classes_order_the_columns():
    samples = Prevalences([[0.5, 0.25, 0.25, 0]], size=8, random_state=0).draw(
        POOL, classes=["eel", "cat", "dog", "fox"]
    )
    assert samples.classes.tolist() == ["eel", "cat", "dog", "fox"]
    assert np.unique(POOL[samples[0]], return_counts=True)[1].tolist() == [2, 2, 4]
    (batch,) = UPP(n_samples=2, size=8).batches(POOL, 5, classes=["eel", "dog", "cat"])
    assert batch.classes.tolist() == ["eel", "dog", "cat"]


def test_given_classes_stay_writeable():
    classes = np.array(["eel", "cat", "dog"])
    NPP(n_samples=1, size=2).draw(POOL, classes=classes)
    assert classes.flags.writeable


def test_absent_classes():
    with pytest.raises(HeadcountError, match="class 'fox' were requested, but y_pool has none"):
        UPP(n_samples=5, size=50, random_state=0).draw(
            POOL, classes=["cat", "dog", "eel", "fox"]
        )
    natural = NPP(n_samples=2, size=5, random_state=0).draw(POOL, ["cat", "dog", "eel", "fox"])
    assert (natural.prevalence[:, 3] == 0).all()


@given(
    pool=st.lists(st.integers(-3, 3), min_size=2, max_size=40).filter(
        lambda y: len(set(y)) > 1
    ),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=10),
    seed=st.integers(0, 2**70),
)
@settings(max_examples=50)
def test_uniform_samples_of_any_pool(pool, sizes, seed):
    samples = UPP(n_samples=len(sizes), size=sizes, random_state=seed).draw(pool)
    assert samples.sizes.tolist() == sizes
    assert samples.indices.min() >= 0
    assert samples.indices.max() < len(pool)
    _, codes = np.unique(pool, return_inverse=True)
    realised = samples.prevalence_of(codes, samples.prevalence.shape[1])
    np.testing.assert_array_equal(samples.prevalence, realised)


def test_repr_shows_the_parameters():
    assert (
        repr(UPP(n_samples=5, random_state=3)) == "UPP(n_samples=5, size=500, random_state=3)"
    )
    assert "step=0.1" in repr(APP(step=0.1))


def test_init_only_stores():
    assert UPP(n_samples=-1, size="many").size == "many"
    with pytest.raises(AttributeError):
        UPP().size = 3


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (APP(size=0), "size is 0"),
        (APP(size=[3, 4]), r"size is \[3, 4\]; it must be a whole number"),
        (APP(repeats=0), "repeats is 0"),
        (APP(n_prevalences=1), "n_prevalences is 1; .* at least 2"),
        (APP(n_prevalences=5, step=0.25), "n_prevalences=5 and step=0.25"),
        (APP(step=0.3), "step is 0.3; it must divide 1"),
        (APP(step=0.0), "step is 0.0"),
        (APP(step=2), "step is 2"),
        (APP(step=float("nan")), "step is nan"),
        (APP(step="0.1"), "step is '0.1'"),
        (APP(max_samples=0), "max_samples is 0"),
        (UPP(n_samples=0), "n_samples is 0"),
        (UPP(n_samples=2.0), "n_samples is 2.0"),
        (UPP(n_samples=True), "n_samples is True"),
        (UPP(size=-5), "size is -5"),
        (UPP(size=2.5), "size is 2.5"),
        (UPP(n_samples=3, size=[5, 5]), "size has 2 entries: .* each of the 3 samples"),
        (UPP(n_samples=2, size=[5, 0]), "size has the entry 0"),
        (UPP(n_samples=2, size=[5, 1.5]), "size holds float64"),
        (UPP(n_samples=1, size=[[5]]), "size has 2 dimension"),
        (UPP(random_state=-1), "random_state is -1"),
        (UPP(random_state="seed"), "random_state is 'seed'"),
        (NPP(n_samples=0), "n_samples is 0"),
        (Dirichlet(0), "alpha is 0"),
        (Dirichlet([1, 2]), r"alpha is \[1, 2\]; .* each of the 3 classes"),
        (Dirichlet([1, 2, -1]), "alpha is"),
        (Dirichlet([1, 2, np.inf]), "alpha is"),
        (Dirichlet("wide"), "alpha is 'wide'"),
        (Prevalences([0.2, 0.3, 0.5]), "prevalences has 1 dimension"),
        (Prevalences([[0.5, 0.5]]), "prevalences has 2 columns, but there are 3 classes"),
        (Prevalences([[0.5, 0.5, 0.5]]), "off the simplex in row 0"),
        (Prevalences([[1, 0, 0], [1.5, -0.5, 0]]), "off the simplex in row 1"),
        (Prevalences(np.empty((0, 3))), "prevalences has no rows"),
        (Prevalences(SHARES, repeats=0), "repeats is 0"),
    ],
)
def test_bad_parameters_are_refused(protocol, message):
    with pytest.raises(HeadcountError, match=message):
        protocol.draw(POOL)
    with pytest.raises(HeadcountError, match=message):
        protocol.batches(POOL, 10)


@pytest.mark.parametrize("protocol", [APP(), UPP(), Dirichlet()])
def test_a_pool_of_one_class_is_refused(protocol):
    with pytest.raises(HeadcountError, match=r"only one class, but .* use NPP"):
        protocol.draw(["a"] * 10)


def test_bad_pools_are_refused():
    with pytest.raises(HeadcountError, match="y_pool"):
        UPP().draw([])
    with pytest.raises(HeadcountError, match="size of a batch is 0"):
        UPP().batches(POOL, 0)
