"""Truths given answers: against the oracle, and where the solution is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.estimates.conditioning import (
    Conditional,
    Conditioning,
    Prior,
    ShareConditioning,
    with_believed,
)
from headcount.parts.solvers import Solution
from headcount.parts.training import Training
from tests.oracle import uncertainty as oracle


def pairs(seed, n, n_answers, n_truths, noise=0.05):
    rng = np.random.default_rng(seed)
    truths = rng.dirichlet(np.ones(n_truths), n)
    mixed = rng.normal(size=(n_truths, n_answers))
    return truths @ mixed + noise * rng.normal(size=(n, n_answers)), truths


# One truth alone would be constant, and its slopes nothing but rounding.
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 120),
    n_answers=st.integers(1, 5),
    n_truths=st.integers(2, 4),
)
@settings(max_examples=50)
def test_it_matches_the_oracle(seed, n, n_answers, n_truths):
    answers, truths = pairs(seed, n, n_answers, n_truths)
    answer = answers[0] + 0.01
    draws, weights = Conditional(answers, truths).given(answer)
    expected, expected_weights = oracle.given(answers, truths, answer)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-9)
    np.testing.assert_allclose(draws, expected, atol=1e-7)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(60, 400),
    n_members=st.integers(1, 3),
    n_truths=st.integers(2, 4),
)
@settings(max_examples=50)
def test_members_match_the_oracle(seed, n, n_members, n_truths):
    rng = np.random.default_rng(seed)
    truths = rng.dirichlet(np.ones(n_truths), n)
    noise = rng.uniform(0.01, 0.1, n_members).repeat(n_truths)
    answers = np.tile(truths, n_members) + noise * rng.normal(size=(n, len(noise)))
    answer = answers[0] + 0.01
    draws, weights = Conditional(answers, truths, n_members).given(answer)
    expected, expected_weights = oracle.given(answers, truths, answer, n_members)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-7)
    np.testing.assert_allclose(draws, expected, atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_no_member_takes_over_all_at_once(K):
    rng = np.random.default_rng(0)
    truths = rng.dirichlet(np.ones(K), 1000)
    noise = rng.normal(scale=0.02, size=(1000, 2, K))
    answer = np.full(2 * K, 1 / K) + 0.02 * rng.normal(size=2 * K)
    means = []
    # From a second member that errs far less than the first to one that errs more.
    for factor in np.linspace(0.3, 1.5, 121):
        answers = truths[:, None] + noise * [[1.0], [factor]]
        conditional = Conditional(answers.reshape(1000, -1), truths, members=2)
        nearest = np.arange(1000)
        weights = np.full(1000, 1e-3)
        means.append(weights @ conditional.draws(answer, nearest, weights))
    steps = np.abs(np.diff(means, axis=0)).max(axis=1)
    moved = np.abs(means[-1] - means[0]).max()
    assert moved > 0.002
    assert steps.max() < 0.05 * moved


def test_answers_that_are_all_alike_leave_the_truths_as_they_are():
    truths = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    draws, weights = Conditional(np.full((50, 3), 1 / 3), truths).given(np.full(3, 1 / 3))
    np.testing.assert_allclose(weights, 1 / 50)
    np.testing.assert_allclose(weights @ draws, truths.mean(axis=0), atol=1e-12)


def test_it_finds_the_distribution_of_a_normal_truth():
    # Truth and answer are normal: the truth given the answer is known.
    rng = np.random.default_rng(0)
    truths = rng.normal(size=(20_000, 1))
    answers = 2 * truths + 1 + rng.normal(size=(20_000, 1))
    draws, weights = Conditional(answers, truths).given(np.array([2.0]))
    mean = (weights @ draws)[0]
    assert mean == pytest.approx(2 * (2 - 1) / 5, abs=0.03)
    assert weights @ (draws[:, 0] - mean) ** 2 == pytest.approx(1 / 5, rel=0.08)


def test_truths_that_sum_to_one_still_do():
    answers, truths = pairs(1, 400, 3, 4)
    draws, _ = Conditional(answers, truths).given(answers[5])
    np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-9)


def test_the_order_of_simulations_makes_no_difference():
    answers, truths = pairs(2, 300, 2, 3)
    order = np.random.default_rng(0).permutation(300)
    draws, weights = Conditional(answers, truths).given(answers[7])
    mixed, others = Conditional(answers[order], truths[order]).given(answers[7])
    np.testing.assert_allclose(weights @ draws, others @ mixed, atol=1e-9)


def test_several_answers_are_better_than_one():
    answers, truths = pairs(3, 4000, 4, 2, noise=0.2)
    one, four = Conditional(answers[:, :1], truths), Conditional(answers, truths)

    def spread(conditional, width):
        draws, weights = conditional.given(answers[0, :width])
        return weights @ (draws[:, 0] - weights @ draws[:, 0]) ** 2

    assert spread(four, 4) < 0.8 * spread(one, 1)


def conditioning(**more):
    codes = np.repeat([0, 1], 300)
    predicted = np.where(np.arange(600) % 5 == 0, 1 - codes, codes)
    calls = []

    class Counts:
        copies_only = False

        def solve_training(self, training, samples):
            calls.append(int(samples.sizes[0]))
            return Solution.closed_form(samples.prevalence_of(training.items, 2))

    options = {"prior": Prior(), "replicates": 1000, "seed": 0} | more
    training = Training(predicted, codes, 2)
    return ShareConditioning(Counts(), training, posteriors_given=False, **options), calls


def posterior_of(made, answer, size):
    return made.posteriors(np.array([answer]), np.array([size]))[0]


def test_samples_of_similar_sizes_share_simulations():
    made, calls = conditioning()
    answers = np.tile([0.38, 0.62], (5, 1))
    shares = made.points(answers, np.array([100, 101, 99, 400, 100]))
    assert len(calls) == 2
    np.testing.assert_array_equal(shares[0], shares[4])
    np.testing.assert_allclose(shares[:, 0], 0.3, atol=0.03)
    for number, size in enumerate((100, 101, 99, 400)):
        posterior = posterior_of(made, answers[0], size)
        np.testing.assert_allclose(posterior.shares, shares[number], atol=1e-12)


def test_larger_samples_are_more_certain():
    made, _ = conditioning(replicates=4000)
    spreads = [
        posterior_of(made, [0.38, 0.62], size).draws[:, 0].std()
        for size in (20, 200, 2000, 20_000)
    ]
    assert (np.diff(spreads) < 0).all()
    # Beyond the largest size that is simulated, nothing is left but the noise of training.
    small, large = (posterior_of(made, [0.38, 0.62], n) for n in (20_000, 10**7))
    assert large.draws[:, 0].std() < 1.1 * small.draws[:, 0].std()
    assert large.draws[:, 0].std() > 0.5 * small.draws[:, 0].std()


@given(share=st.floats(-0.5, 1.5), size=st.integers(1, 10**6))
@settings(max_examples=40)
def test_posteriors_lie_on_the_simplex(share, size):
    posterior = posterior_of(SHARED, [1 - share, share], size)
    for shares in (posterior.mean, posterior.weighted, posterior.draws):
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=-1), 1, atol=1e-9)
    assert posterior.weights.sum() == pytest.approx(1)
    assert posterior.draws.shape == (1000, 2)


SHARED, _ = conditioning()


def test_draws_of_equal_weight_stand_for_the_weighted_ones():
    posterior = posterior_of(SHARED, [0.38, 0.62], 50)
    np.testing.assert_allclose(posterior.draws.mean(axis=0), posterior.mean, atol=1e-3)


def test_samples_of_similar_size_share_their_simulations():
    sizes = []

    def outcomes(made):
        sizes.append(int(made.samples.sizes[0]))
        return Conditional(made.shares, made.shares)

    training = Training(None, np.repeat([0, 1], 50), 2)
    conditioning = Conditioning(training, outcomes, Prior(), 200, seed=0)
    answer = np.array([0.25, 0.75])
    first = conditioning.given(answer, 1000)
    np.testing.assert_array_equal(first[0], conditioning.given(answer, 1010)[0])
    conditioning.given(answer, 12)
    assert len(sizes) == 2
    assert sizes[1] == 12


def test_classes_gain_items_by_calibrated_posteriors():
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat([0, 1, 2], 60))
    # Calibrated: an item belongs to the class that it resembles four times in five.
    resembled = np.where(rng.random(180) < 0.7, codes, rng.integers(3, size=180))
    P = np.full((180, 3), 0.1) + 0.7 * np.eye(3)[resembled]
    training = Training(P, codes, 3)
    enlarged = with_believed(training, training, seed=0)
    np.testing.assert_array_equal(enlarged.items[:180], P)
    added, labels = enlarged.items[180:], enlarged.codes[180:]
    n_added = np.bincount(labels)
    assert (n_added >= 15).all()
    assert (n_added <= 20).all()
    own = [(added[labels == j].argmax(axis=1) == j).mean() for j in range(3)]
    np.testing.assert_allclose(own, 0.8, atol=0.15)
    # As many more of the copies at most, and with the mean weight of their class.
    weights = 1.0 + codes
    copies = Training(np.tile(P, (4, 1)), np.tile(codes, 4), 3, np.tile(weights, 4))
    weighted = with_believed(copies, Training(P, codes, 3, weights), seed=0)
    n_added = np.bincount(weighted.codes) - 240
    assert (n_added > 40).all()
    assert (n_added <= 80).all()
    np.testing.assert_allclose(weighted.weights[720:], 1.0 + weighted.codes[720:])
    # Several classifiers, one of which returns decisions.
    several = Training([resembled, P], codes, 3)
    items = with_believed(several, several, 0, [False, True]).items
    np.testing.assert_array_equal(items[1], enlarged.items)
    np.testing.assert_array_equal(items[0], items[1].argmax(axis=1))


def test_no_items_are_added_to_a_class_that_posteriors_would_blur():
    # A classifier that hardly ever says "rare" gives its items far higher posteriors of it.
    codes = np.repeat([0, 1], [190, 10])
    P = np.array([[0.99, 0.01], [0.8, 0.2]])[codes]
    added = with_believed(Training(P, codes, 2), Training(P, codes, 2), seed=0).codes[200:]
    assert np.bincount(added, minlength=2)[0] >= 18
    assert np.bincount(added, minlength=2)[1] <= 3


def test_the_answer_of_a_member_is_used_where_its_errors_are_smaller():
    rng = np.random.default_rng(0)
    K, n = 40, 1000
    truths = rng.dirichlet(np.full(K, 0.3), n)
    good = truths + rng.normal(scale=0.001, size=truths.shape)
    bad = truths + rng.normal(scale=0.01, size=truths.shape)
    answers = np.hstack([bad, good])
    true = rng.dirichlet(np.full(K, 0.3))
    answer = np.concatenate([true + 0.01, true])
    draws, weights = Conditional(answers, truths, members=2).given(answer)
    assert np.abs(weights @ draws - true).mean() < 0.0005
    regressed, weights = Conditional(answers, truths).given(answer)
    assert np.abs(weights @ regressed - true).mean() > 0.001
    # Few classes: the regression removes the bias that depends on the share.
    truths = rng.dirichlet(np.ones(2), n)
    biased = np.full((n, 2), 0.1) + 0.8 * truths + rng.normal(scale=0.01, size=(n, 1)) * [1, -1]
    draws, weights = Conditional(biased, truths, members=1).given(np.array([0.3, 0.7]))
    np.testing.assert_allclose(weights @ draws, [0.25, 0.75], atol=0.005)
