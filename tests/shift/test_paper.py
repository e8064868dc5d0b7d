"""The settings of the paper are the defaults, and give its samples, sizes and degrees."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import shift as oracle

from headcount.shift.shift_protocols import (
    ConceptShift,
    GlobalCovariateShift,
    LocalCovariateShift,
    PriorShift,
)

PREVALENCE = ["train_prevalence", "test_repeat", "test_prevalence"]
ROWS = [
    (PriorShift(), oracle.prior_rows, ["training_set", *PREVALENCE, "degree"]),
    (
        GlobalCovariateShift(),
        oracle.global_rows,
        [
            "training_set",
            "train_prevalence",
            "train_alpha",
            *PREVALENCE[1:],
            "test_alpha",
            "degree",
        ],
    ),
    (LocalCovariateShift(), oracle.local_rows, ["training_set", *PREVALENCE[1:], "degree"]),
    (
        ConceptShift(),
        oracle.concept_rows,
        ["training_set", "train_cut_point", "test_repeat", "test_cut_point", "degree"],
    ),
]


@pytest.mark.parametrize(
    ("protocol", "n_training_sets", "n_samples"),
    [
        (PriorShift(), 110, 11 * 11 * 50 * 10),
        (GlobalCovariateShift(), 330, 3 * 3 * 11 * 11 * 50 * 10),
        (GlobalCovariateShift(pure=True), 330, 3 * 11 * 11 * 50 * 10),
        (GlobalCovariateShift(pure=False), 330, 6 * 11 * 11 * 50 * 10),
        # The paper says 11 x 11 x 50 x 10, but its Algorithm 3 has one loop over 11 values.
        (LocalCovariateShift(), 10, 11 * 50 * 10),
        (LocalCovariateShift(test_repeats=550), 10, 11 * 11 * 50 * 10),
        (ConceptShift(), 40, 4 * 4 * 50 * 10),
    ],
)
def test_numbers_of_samples(protocol, n_training_sets, n_samples, reviews):
    assert protocol.n_training_sets == n_training_sets
    assert protocol.n_samples == n_samples
    drawn = protocol.draw(groups=reviews.groups, ratings=reviews.stars)
    assert len(drawn) == n_training_sets
    assert drawn.n_samples == n_samples


def test_the_stated_totals():
    totals = [p.n_samples for p in (PriorShift(), GlobalCovariateShift(), ConceptShift())]
    assert totals == [60_500, 544_500, 8_000]
    assert PriorShift()._pairs().size == 121
    assert GlobalCovariateShift(prevalences=[0.5])._pairs().size == 121


@pytest.mark.parametrize(("protocol", "rows", "names"), ROWS, ids=lambda p: type(p).__name__)
def test_every_sample_is_the_one_of_the_algorithm(protocol, rows, names, reviews):
    frame = protocol.draw(groups=reviews.groups, ratings=reviews.stars).to_frame()
    expected = np.array(list(rows()))
    np.testing.assert_allclose(frame.select(names).to_numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("protocol", "degrees"),
    [
        (PriorShift(), np.arange(-10, 11) / 10),
        (GlobalCovariateShift(), np.arange(-10, 11) / 10),
        (LocalCovariateShift(), np.arange(-5, 6) / 20),
        (ConceptShift(), np.arange(-3, 4)),
    ],
)
def test_degrees(protocol, degrees, reviews):
    found = protocol.draw(groups=reviews.groups, ratings=reviews.stars).degrees
    assert found.tolist() == degrees.tolist()
    assert not np.signbit(found[found == 0]).any()


def test_prior_shift_has_the_shares_and_sizes_asked_for(reviews):
    drawn = PriorShift(repeats=1, test_repeats=2, random_state=0).draw(ratings=reviews.stars)
    for experiment, share in zip(drawn, oracle.TRAINABLE, strict=True):
        stars = reviews.stars[experiment.train[0]]
        assert len(stars) == 5000
        assert (stars != 3).all()
        assert (stars > 3).sum() == 5000 * share
        for number, sample in enumerate(experiment.test):
            assert len(sample) == 500
            assert (reviews.stars[sample] > 3).sum() == 500 * oracle.TENTHS[number % 11]


def test_global_shift_has_the_groups_asked_for(reviews):
    protocol = GlobalCovariateShift(repeats=1, test_repeats=1, random_state=0)
    drawn = protocol.draw(groups=reviews.groups, ratings=reviews.stars)
    for number in range(0, 33, 4):
        experiment = drawn[number]
        p, alpha = oracle.QUARTERS[number // 11], oracle.TENTHS[number % 11]
        check_mix(reviews, experiment.train[0], 5000, p, alpha)
        for j, sample in enumerate(experiment.test):
            check_mix(reviews, sample, 500, oracle.QUARTERS[j // 11], oracle.TENTHS[j % 11])


def check_mix(reviews, sample, size, p, alpha):
    positive, books = reviews.stars[sample] > 3, reviews.groups[sample] == "books"
    assert (books.sum(), (~books).sum()) == oracle.group_sizes(alpha, size)
    assert positive.sum() == p * size
    for members in (books, ~books):
        assert abs((positive & members).sum() - p * int(members.sum())) < 1


def test_local_shift_varies_the_positives_of_one_group(reviews):
    protocol = LocalCovariateShift(repeats=2, test_repeats=2, random_state=0)
    drawn = protocol.draw(groups=reviews.groups, ratings=reviews.stars)
    assert [cells(reviews, e.train[0]) for e in drawn] == [[1667, 833, 833, 1667]] * 2
    for number, sample in enumerate(drawn[1].test):
        share = oracle.TWENTIETHS[number % 11]
        added, *others = cells(reviews, sample)
        assert others == [83, 83, 167]
        # The paper's equation is of thirds of items; ours of the whole ones that are there.
        assert abs(added - oracle.local_positives(share)) < 1
        assert abs(drawn[1].test.prevalence[number, 1] - float(share)) < 0.5 / len(sample)
    assert drawn[1].test.sizes[[0, 5, 10]].tolist() == [333, 500, 1000]


def cells(reviews, sample):
    """Positives and negatives of books, positives and negatives of toys."""
    positive, books = reviews.stars[sample] > 3, reviews.groups[sample] == "books"
    return [
        int((members & kind).sum())
        for members in (books, ~books)
        for kind in (positive, ~positive)
    ]


def test_tests_of_a_local_repetition_differ_in_the_added_positives_only(reviews):
    protocol = LocalCovariateShift(repeats=1, test_repeats=2, random_state=0)
    test = protocol.draw(groups=reviews.groups, ratings=reviews.stars)[0].test
    for first in (0, 11):
        for number in range(first, first + 10):
            more = set(test[number + 1]) - set(test[number])
            assert set(test[number]) < set(test[number + 1])
            assert (reviews.groups[list(more)] == "books").all()
            assert (reviews.stars[list(more)] > 3).all()
    assert set(test[0]) != set(test[11])


def test_the_control_of_local_shift_keeps_numbers_and_training(reviews):
    given = {"groups": reviews.groups, "ratings": reviews.stars}
    shifted = LocalCovariateShift(repeats=1, test_repeats=1, random_state=0).draw(**given)[0]
    control = LocalCovariateShift(repeats=1, test_repeats=1, random_state=0, control=True).draw(
        **given
    )[0]
    np.testing.assert_array_equal(control.train.indices, shifted.train.indices)
    np.testing.assert_array_equal(control.test.prevalence, shifted.test.prevalence)
    np.testing.assert_array_equal(control.test.sizes, shifted.test.sizes)
    for kept, moved in zip(control.test, shifted.test, strict=True):
        poor = reviews.stars[kept] < 3
        assert set(kept[poor]) == set(moved[reviews.stars[moved] < 3])
        of_books, _, of_toys, _ = cells(reviews, kept)
        assert abs(of_books - 2 * (of_books + of_toys) / 3) <= 0.5


def test_concept_shift_has_all_stars_equally_often(reviews):
    drawn = ConceptShift(repeats=1, test_repeats=1, random_state=0).draw(ratings=reviews.stars)
    for number, experiment in enumerate(drawn):
        cut_point = float(oracle.HALVES[number])
        stars = reviews.stars[experiment.train[0]]
        assert np.bincount(stars).tolist() == [0] + [1000] * 5
        assert experiment.train_labels.tolist() == (stars > cut_point).tolist()
        assert experiment.train.prevalence[0, 1] == [0.8, 0.6, 0.4, 0.2][number]
        for j, sample in enumerate(experiment.test):
            assert np.bincount(reviews.stars[sample]).tolist() == [0] + [100] * 5
            assert experiment.test.prevalence[j, 1] == [0.8, 0.6, 0.4, 0.2][j]


def test_concept_shift_with_forced_prevalences(reviews):
    protocol = ConceptShift(
        train_prevalence=0.5, test_prevalence=0.75, repeats=1, test_repeats=1, random_state=0
    )
    for experiment in protocol.draw(ratings=reviews.stars):
        np.testing.assert_array_equal(experiment.train.prevalence, [[0.5, 0.5]])
        np.testing.assert_array_equal(experiment.test.prevalence, [[0.25, 0.75]] * 4)
        for sample in experiment.test:
            assert len(set(np.bincount(reviews.stars[sample])[1:])) <= 4
