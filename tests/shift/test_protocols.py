"""What all protocols have in common, their options, and what they refuse."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.errors import HeadcountError
from headcount.shift.shift_protocols import (
    ConceptShift,
    GlobalCovariateShift,
    KnockOut,
    LocalCovariateShift,
    PriorShift,
    TweakOne,
)

SMALL = {"train_size": 120, "test_size": 60, "repeats": 2, "test_repeats": 3, "random_state": 0}
PROTOCOLS = [
    PriorShift([0.2, 0.5], [0.1, 0.5, 0.9], **SMALL),
    GlobalCovariateShift([0.2, 0.7], [0.3, 0.6], **SMALL),
    GlobalCovariateShift([0.2, 0.7], [0.3, 0.6], pure=True, **SMALL),
    GlobalCovariateShift([0.2, 0.7], [0.3, 0.6], pure=False, **SMALL),
    LocalCovariateShift([0.3, 0.5, 0.6], **SMALL),
    LocalCovariateShift([0.3, 0.5, 0.6], control=True, **SMALL),
    ConceptShift([1.5, 3, 4.5], **SMALL),
    TweakOne("good", [0.1, 0.8], **SMALL),
    KnockOut("poor", [0, 0.5], **SMALL),
    KnockOut("toys", [0, 1], by="group", **SMALL),
]
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: type(p).__name__)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(1)
    stars = rng.integers(1, 6, 3000)
    y = np.where(stars > 3, "good", "poor")
    return {"y": y, "groups": rng.choice(["books", "toys"], 3000), "ratings": stars}


def changed(protocol, **parameters):
    twin = copy.copy(protocol)
    vars(twin).update(parameters)
    return twin


def assert_same(one, other):
    for a, b in ((one.train, other.train), (one.test, other.test)):
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.offsets, b.offsets)
        np.testing.assert_array_equal(a.prevalence, b.prevalence)
    np.testing.assert_array_equal(one.degree, other.degree)
    np.testing.assert_array_equal(one.train_labels, other.train_labels)
    np.testing.assert_array_equal(one.test_labels, other.test_labels)


@each_protocol
def test_training_and_test_never_meet(protocol, columns):
    drawn = protocol.draw(**columns)
    assert not set(drawn.train_items) & set(drawn.test_items)
    for experiment in drawn:
        assert set(experiment.train.indices) <= set(drawn.train_items)
        assert set(experiment.test.indices) <= set(drawn.test_items)


@each_protocol
def test_no_item_twice_in_a_sample(protocol, columns):
    for experiment in protocol.draw(**columns):
        for sample in (*experiment.train, *experiment.test):
            assert len(set(sample)) == len(sample)


@each_protocol
def test_prevalences_are_those_of_the_labels(protocol, columns):
    for train, test, degree, experiment in (
        (*experiment, experiment) for experiment in protocol.draw(**columns)
    ):
        assert len(train) == 1
        assert len(test) == len(degree)
        labels = np.split(experiment.test_labels, test.offsets[1:-1])
        for found, shares in zip(labels, test.prevalence, strict=True):
            np.testing.assert_allclose(
                shares, [(found == name).mean() for name in test.classes], atol=1e-12
            )
        found = [(experiment.train_labels == name).mean() for name in train.classes]
        np.testing.assert_allclose(train.prevalence[0], found, atol=1e-12)


@each_protocol
def test_labels_are_those_given(protocol, columns):
    for experiment in protocol.draw(**columns):
        if isinstance(protocol, ConceptShift):
            points = experiment.settings["test_cut_point"]
            cuts = np.repeat(points, experiment.test.sizes)
            stars = columns["ratings"][experiment.test.indices]
            assert (stars != cuts).all()
            np.testing.assert_array_equal(experiment.test_labels, stars > cuts)
        else:
            np.testing.assert_array_equal(
                experiment.train_labels, columns["y"][experiment.train[0]]
            )
            np.testing.assert_array_equal(
                experiment.test_labels, columns["y"][experiment.test.indices]
            )


@each_protocol
def test_an_experiment_is_the_same_whenever_it_is_drawn(protocol, columns, monkeypatch):
    drawn = protocol.draw(**columns)
    experiments = list(drawn)
    assert len(experiments) == len(drawn) == protocol.n_training_sets
    assert sum(len(e.test) for e in experiments) == drawn.n_samples == protocol.n_samples
    again = protocol.draw(**columns)
    travelled = pickle.loads(pickle.dumps(drawn))
    for number in reversed(range(len(drawn))):
        assert_same(again[number], experiments[number])
        assert_same(travelled[number - len(drawn)], experiments[number])

    def backwards(work, n, *, grain):
        for number in reversed(range(n)):
            work(number, number + 1)

    monkeypatch.setattr("headcount.samples.protocols.each_range", backwards)
    assert_same(again[1], experiments[1])


@each_protocol
def test_more_repeats_leave_the_first_ones_alone(protocol, columns):
    drawn = protocol.draw(**columns)
    more = changed(protocol, repeats=3, test_repeats=5).draw(**columns)
    assert len(more) * 2 == len(drawn) * 3
    for few, many in zip(drawn, more, strict=False):
        np.testing.assert_array_equal(many.train.indices, few.train.indices)
        np.testing.assert_array_equal(
            many.test.indices[: len(few.test.indices)], few.test.indices
        )


@each_protocol
def test_repeats_differ(protocol, columns):
    drawn = protocol.draw(**columns)
    kinds = len(drawn) // 2
    assert set(drawn[0].train[0]) != set(drawn[kinds].train[0])
    test = drawn[0].test
    assert set(test[0]) != set(test[len(test) // 3])
    assert set(test[0]) != set(drawn[kinds].test[0])


@each_protocol
def test_tables(protocol, columns):
    drawn = protocol.draw(**columns)
    frame = drawn.to_frame()
    assert frame.height == drawn.n_samples
    start = 0
    for experiment in drawn:
        part = experiment.to_frame()
        assert part.equals(frame[start : start + part.height].select(part.columns))
        assert part["size"].to_list() == experiment.test.sizes.tolist()
        assert part["training_set"].unique().to_list() == [experiment.number]
        start += part.height
    assert set(frame["degree"].unique()) == set(drawn.degrees)
    assert f"{drawn.n_samples:,} test samples" in repr(drawn)
    assert type(protocol).__name__ in repr(drawn)
    assert "training set 0" in repr(drawn[0])


def test_kinds_of_test_are_drawn_apart(columns):
    # Under concept shift they all ask for the same counts: only their streams differ.
    test = ConceptShift([1.5, 2.5], **SMALL).draw(**columns)[0].test
    assert len({tuple(sorted(sample)) for sample in test}) == len(test) == 6


def test_ratings_as_frequent_as_in_the_pool():
    stars = np.repeat([1, 2, 3], [300, 600, 900])
    (first, *_) = ConceptShift([1.5], balanced=False, **SMALL).draw(ratings=stars)
    assert np.bincount(stars[first.train[0]]).tolist() == [0, 20, 40, 60]
    assert np.bincount(stars[first.test[0]]).tolist() == [0, 10, 20, 30]


def test_seeds(columns):
    def draw(random_state):
        protocol = changed(PROTOCOLS[0], random_state=random_state)
        return protocol.draw(**columns)[0].test.indices.tolist()

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(None) == draw(None)
    generator = np.random.default_rng(1)
    assert draw(copy.deepcopy(generator)) == draw(copy.deepcopy(generator))
    assert draw(generator) != draw(generator)
    unseeded = changed(PROTOCOLS[0], random_state=None).draw(**columns)
    assert_same(unseeded[1], unseeded[1])


def test_training_sets_are_shuffled(columns):
    labels = PROTOCOLS[0].draw(**columns)[1].train_labels
    first = (labels[:60] == "good").sum()
    assert 15 < first < 45


def test_the_split_is_stratified(columns):
    drawn = changed(PROTOCOLS[1], split=0.75).draw(**columns)
    for group in ("books", "toys"):
        for name in ("good", "poor"):
            cell = np.flatnonzero((columns["groups"] == group) & (columns["y"] == name))
            taken = np.isin(cell, drawn.train_items).sum()
            assert abs(taken - 0.75 * len(cell)) <= 0.5
    assert len(drawn.train_items) + len(drawn.test_items) == 3000


def test_experiments_by_number(columns):
    drawn = PROTOCOLS[0].draw(**columns)
    assert drawn[-1].number == drawn[np.int64(3)].number == 3
    for number in (4, -5):
        with pytest.raises(IndexError, match=f"no experiment {number}: there are 4"):
            drawn[number]


def test_pure_and_mixed_are_the_parts_of_both(columns):
    both, pure, mixed = (protocol.draw(**columns) for protocol in PROTOCOLS[1:4])
    for whole, same, other in zip(both, pure, mixed, strict=True):
        alike = whole.settings["test_prevalence"] == whole.settings["train_prevalence"]
        for part, chosen in ((same, alike), (other, ~alike)):
            numbers = np.flatnonzero(chosen)
            np.testing.assert_array_equal(part.test.indices, whole.test[numbers].indices)
            np.testing.assert_array_equal(part.degree, whole.degree[numbers])


def test_ratings_are_cut_and_ties_left_out(columns):
    stars = columns["ratings"]
    drawn = changed(PROTOCOLS[0], cut_point=2).draw(ratings=stars)
    assert drawn.classes.tolist() == [0, 1]
    assert not (stars[drawn.train_items] == 2).any()
    items = drawn[0].test.indices
    np.testing.assert_array_equal(drawn[0].test_labels, stars[items] > 2)


def test_categories_choose_and_order_the_groups(columns):
    groups = np.where(np.arange(3000) % 3 == 0, "music", columns["groups"])
    protocol = changed(PROTOCOLS[1], categories=("toys", "books"))
    drawn = protocol.draw(columns["y"], groups)
    taken = groups[drawn[0].train[0]]
    assert (taken == "toys").mean() == drawn[0].settings["train_alpha"] == 0.2
    assert not (groups[np.concatenate([drawn.train_items, drawn.test_items])] == "music").any()


def test_prior_shift_of_several_classes(columns):
    train, test = [[0.2] * 5], [[0.2] * 5, [0.6, 0.1, 0.1, 0.1, 0.1]]
    experiment = PriorShift(train, test, decimals=2, **SMALL).draw(columns["ratings"])[0]
    np.testing.assert_allclose(experiment.train.prevalence, train)
    np.testing.assert_allclose(experiment.test.prevalence[:2], test)
    assert experiment.degree[:2].tolist() == [0, 0.16]


def test_tweak_one_scales_the_others():
    y = np.repeat(["a", "b", "c"], [200, 400, 600])
    given = {"train_size": 120, "test_size": 60, "repeats": 1, "test_repeats": 1}
    (experiment,) = TweakOne("a", [0.0, 0.5, 1.0], **given).draw(y)
    np.testing.assert_allclose(experiment.train.prevalence, [[1 / 6, 2 / 6, 3 / 6]])
    expected = [[0, 0.4, 0.6], [0.5, 0.2, 0.3], [1, 0, 0]]
    np.testing.assert_allclose(experiment.test.prevalence, expected)
    np.testing.assert_allclose(experiment.degree, np.array([0, 0.5, 1]) - 1 / 6)
    (even,) = TweakOne("a", [0.5], others="even", **given).draw(y)
    np.testing.assert_allclose(even.test.prevalence, [[0.5, 0.25, 0.25]])


def test_knock_out_removes_from_training_only():
    y = np.repeat(["a", "b", "c"], [400, 400, 400])
    given = {"train_size": 100, "test_size": 60, "repeats": 1, "test_repeats": 1}
    drawn = KnockOut("b", [0, 0.5], **given).draw(y)
    np.testing.assert_allclose(drawn[1].train.prevalence, [[0.4, 0.2, 0.4]])
    for experiment in drawn:
        np.testing.assert_allclose(experiment.test.prevalence, [[1 / 3] * 3])
    assert [e.degree.tolist() for e in drawn] == [[0], [0.5]]
    groups = np.tile(["x", "x", "y", "z"], 300)
    drawn = KnockOut("x", [0.5, 1], by="group", **given).draw(y, groups)
    shares = [(groups[e.train[0]] == "x").mean() for e in drawn]
    np.testing.assert_allclose(shares, [1 / 3, 0], atol=0.02)
    assert (groups[drawn[1].test[0]] == "x").mean() == pytest.approx(0.5)


def test_replacement_only_if_asked_for(columns):
    protocol = changed(PROTOCOLS[0], train_size=5000)
    with pytest.raises(
        HeadcountError,
        match=r"a training set needs 4,000 items of class 'good', but the training part of the "
        r"pool has 728: lower train_size, raise split, or pass replace=True",
    ):
        protocol.draw(**columns)
    sample = changed(protocol, replace=True).draw(**columns)[0].train[0]
    assert len(set(sample)) < len(sample) == 5000
    with pytest.raises(HeadcountError, match=r"a test sample needs .* lower test_size, lower"):
        changed(PROTOCOLS[1], test_size=3000).draw(**columns)


def test_empty_cells_are_refused_even_with_replacement(columns):
    groups = np.where(columns["y"] == "good", "books", columns["groups"])
    protocol = changed(PROTOCOLS[1], replace=True)
    with pytest.raises(
        HeadcountError, match=r"class 'good' in group 'toys', .* has none: add such items"
    ):
        protocol.draw(columns["y"], groups)


@given(
    size=st.integers(1, 400),
    alpha=st.floats(0, 1),
    prevalence=st.floats(0, 1),
)
@settings(max_examples=100)
def test_mixes_of_any_size_add_up(size, alpha, prevalence):
    from headcount.shift.shift_protocols import _mixed

    poor_a, poor_b, good_b, good_a = counts = _mixed(size, prevalence, alpha)
    assert min(counts) >= 0
    assert sum(counts) == size
    assert -1e-6 <= good_a + poor_a - alpha * size < 1
    assert abs(good_a + good_b - prevalence * size) <= 0.5 + 1e-6
    for good, both in ((good_a, good_a + poor_a), (good_b, good_b + poor_b)):
        assert abs(good - prevalence * both) <= 1 + 1e-6


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (PriorShift(train_size=0), "train_size is 0"),
        (PriorShift(test_size=2.5), "test_size is 2.5"),
        (PriorShift(repeats=0), "repeats is 0"),
        (PriorShift(test_repeats="2"), "test_repeats is '2'"),
        (PriorShift(split=1), "split is 1; it must be a number between 0 and 1"),
        (PriorShift(replace="yes"), "replace is 'yes'"),
        (PriorShift(random_state=-1), "random_state is -1"),
        (PriorShift(decimals=-1), "decimals is -1"),
        (PriorShift([0.5, 1.5]), "train_prevalences has the entry 1.5, but .* from 0 to 1"),
        (PriorShift([0.5, 0.5]), "train_prevalences has a number twice"),
        (PriorShift([]), "train_prevalences is"),
        (PriorShift(0.5), "train_prevalences is 0.5; it must be a sequence"),
        (PriorShift("half"), "train_prevalences is 'half'"),
        (PriorShift(test_prevalences=[np.nan]), "test_prevalences is"),
        (PriorShift([[0.2, 0.3, 0.5]]), "train_prevalences is for 3 classes, but there are 2"),
        (PriorShift([[0.2, 0.3]]), "train_prevalences is off the simplex"),
        (PriorShift([0, 0.5], **SMALL), "no item of class 'poor', so nothing"),
        (GlobalCovariateShift([2]), "alphas has the entry 2"),
        (GlobalCovariateShift(pure="both"), "pure is 'both'"),
        (GlobalCovariateShift(prevalences=[0.5], pure=False), "has a single one"),
        (GlobalCovariateShift(categories=("books",)), "categories is .* two different groups"),
        (GlobalCovariateShift(categories="ab"), "categories is 'ab'"),
        (GlobalCovariateShift(categories=("books", "cars")), "categories has 'cars'"),
        (
            LocalCovariateShift([0.2]),
            "has the entry 0.2, but .* from 0.25 to 1",
        ),
        (
            LocalCovariateShift([0.5, 1]),
            "has the entry 1, but local shift keeps",
        ),
        (LocalCovariateShift(skew=1), "skew is 1"),
        (LocalCovariateShift(control=1), "control is 1"),
        (
            ConceptShift([0.5, 2.5]),
            "an entry of cut_points is 0.5, but ratings are from 1 to 5",
        ),
        (ConceptShift("abc"), "cut_points is 'abc'"),
        (ConceptShift(balanced=None), "balanced is None"),
        (ConceptShift(test_prevalence=0), "test_prevalence is 0"),
        (TweakOne("fair"), "label is 'fair', but y has no such item: it has 'good', 'poor'"),
        (TweakOne("good", others="odd"), "others is 'odd'"),
        (KnockOut("fair"), "value is 'fair', but y has no such item"),
        (KnockOut("cars", by="group"), "value is 'cars', but groups has no such item"),
        (KnockOut("good", by="item"), "by is 'item'"),
        (KnockOut("good", [1], **SMALL), "no item of class 'good'"),
    ],
)
def test_bad_parameters_are_refused(protocol, message, columns):
    with pytest.raises(HeadcountError, match=message):
        protocol.draw(**columns)


@pytest.mark.parametrize(
    ("protocol", "given", "message"),
    [
        (PriorShift(), {}, "PriorShift needs labels: pass y, or ratings to be split"),
        (PriorShift(), {"y": ["a"] * 9}, "y has only one class, but PriorShift needs"),
        (PriorShift(), {"ratings": ["good", "bad"]}, "ratings has .* have no order"),
        (PriorShift(), {"ratings": [1, None]}, "ratings misses 1 of 2"),
        (PriorShift(cut_point=5), {"ratings": [1, 5]}, "cut_point is 5, but ratings are"),
        (PriorShift(cut_point="3"), {"ratings": [1, 5]}, "cut_point is '3'"),
        (GlobalCovariateShift(), {"y": [0, 1]}, "GlobalCovariateShift needs .* pass groups="),
        (LocalCovariateShift(), {"y": [0, 1]}, "LocalCovariateShift needs .* pass groups="),
        (
            GlobalCovariateShift(),
            {"y": [0, 1, 0], "groups": list("abc")},
            "groups has 3 different values, but GlobalCovariateShift needs two: pass the two",
        ),
        (
            LocalCovariateShift(),
            {"y": [0, 1, 0], "groups": list("aaa")},
            "groups has 1 different value",
        ),
        (
            GlobalCovariateShift(),
            {"y": [0, 1, 2], "groups": list("aba")},
            "y has 3 classes, but GlobalCovariateShift is for two",
        ),
        (
            GlobalCovariateShift(),
            {"y": [0, 1, 1], "groups": list("ab")},
            "groups has 2 values, but labels has 3",
        ),
        (ConceptShift(), {"y": [1, 2, 3]}, "ConceptShift needs ratings"),
        (ConceptShift(), {"ratings": [True, False]}, "ratings has values such as False"),
        (TweakOne(1), {"ratings": [1, 2]}, "TweakOne needs labels: pass y"),
        (KnockOut(1, by="group"), {"y": [0, 1]}, "needs the group of each item"),
        (
            KnockOut("a", by="group"),
            {"y": [0, 1], "groups": ["a", "a"]},
            "groups has only the group 'a'",
        ),
        (
            KnockOut("a", by="group"),
            {"y": [0, 1], "groups": ["a", "a", "b"]},
            "groups has 3 values, but y has 2",
        ),
    ],
)
def test_bad_pools_are_refused(protocol, given, message):
    with pytest.raises(HeadcountError, match=message):
        protocol.draw(**given)


def test_init_only_stores_and_repr_shows():
    assert PriorShift(train_size="many").train_size == "many"
    with pytest.raises(AttributeError):
        PriorShift().train_size = 3
    assert "control=True" in repr(LocalCovariateShift(control=True))
    assert hc.shift.PriorShift is PriorShift
