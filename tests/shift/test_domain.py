from __future__ import annotations

import numpy as np
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.shift.shift_protocols import DomainMixer

FEW = {"train_size": 60, "test_size": 40, "repeats": 2, "test_repeats": 3, "random_state": 0}


def reviews(K=3, n=1800):
    rng = np.random.default_rng(0)
    y = rng.choice(K, n, p=np.arange(1, K + 1) / sum(range(1, K + 1)))
    groups = np.array(["books", "music", "films"])[np.arange(n) % 3]
    return y, groups


@pytest.mark.parametrize("K", [2, 3])
def test_domains_are_mixed_and_class_shares_kept(K):
    y, groups = reviews(K)
    protocol = DomainMixer((0.0, 0.25, 1.0), categories=("music", "books"), **FEW)
    drawn = protocol.draw(y, groups)
    own = np.bincount(y[groups == "music"]) / (groups == "music").sum()
    assert len(drawn) == protocol.n_training_sets == 2
    assert protocol.n_samples == 2 * 9
    for experiment in drawn:
        assert set(groups[experiment.train[0]]) == {"music"}
        assert len(experiment.test) == 9
        for index, degree in zip(experiment.test, experiment.degree, strict=True):
            assert len(index) == 40
            assert (groups[index] == "books").mean() == degree
            assert set(groups[index]) <= {"music", "books"}
            for domain in set(groups[index]):
                inside = index[groups[index] == domain]
                shares = np.bincount(y[inside], minlength=K) / len(inside)
                assert np.abs(shares - own).max() <= 1 / len(inside)
        assert not set(experiment.train[0]) & set(np.concatenate(list(experiment.test)))


def test_shares_can_be_given():
    y, groups = reviews()
    protocol = DomainMixer(
        (0.5,), prevalence=[0.5, 0.25, 0.25], categories=("books", "films"), **FEW
    )
    experiment = protocol.draw(y, groups)[0]
    np.testing.assert_allclose(experiment.test.prevalence, [[0.5, 0.25, 0.25]] * 3)
    np.testing.assert_allclose(experiment.train.prevalence, [[0.5, 0.25, 0.25]])


def test_it_is_repeatable_and_evaluated():
    y, groups = reviews(2)
    groups = np.where(groups == "films", "books", groups)
    X = np.column_stack([y + np.random.default_rng(1).normal(size=len(y)), groups == "music"])
    protocol = DomainMixer((0.0, 1.0), **FEW)
    first, second = (
        hc.evaluate(hc.PACC(random_state=0), X, None, protocol.draw(y, groups), progress=False)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.estimated, second.estimated)
    assert len(first.true) == 2 * 2 * 3


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"mixtures": (1.5,)}, {}, r"^mixtures has the entry 1.5"),
        ({"mixtures": "x"}, {}, r"^mixtures is 'x'"),
        ({"prevalence": [0.5, 0.5]}, {}, r"^prevalence has 2 shares, but there are 3 classes"),
        ({"prevalence": [0.5, 0.6, 0.1]}, {}, r"^prevalence"),
        (
            {"categories": None},
            {},
            r"^groups has 3 different values, but DomainMixer needs two",
        ),
        ({"categories": ("books", "x")}, {}, r"^categories has 'x'"),
        ({}, {"y": None}, r"^DomainMixer needs labels"),
        ({}, {"groups": None}, r"^DomainMixer needs the group of each item"),
        ({"train_size": 5000}, {}, r"^a training set needs .* in group 'books'"),
    ],
)
def test_bad_calls(options, data, message):
    y, groups = reviews()
    given = {"categories": ("books", "music")} | FEW | options
    with pytest.raises(HeadcountError, match=message):
        DomainMixer(**given).draw(**({"y": y, "groups": groups} | data))
