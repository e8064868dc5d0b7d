from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

from headcount._kernels.quadratic_programs import nearest_mixtures
from headcount.errors import HeadcountError
from headcount.estimates.assumption import FitTest, MixtureTest, RankMoments, _learn, fit_test
from headcount.items.arrays import Scored
from headcount.parts.training import Dense, Training
from headcount.samples.protocols import UPP
from headcount.samples.samples import Samples
from headcount.scores.folds import one_fold_each
from tests.estimates.made import drawn, scores
from tests.oracle import fit_test as oracle


@pytest.fixture(params=[2, 3, 5], name="K")
def number_of_classes(request):
    return request.param


def test_moments_of_ranks_against_the_oracle(K):
    rng = np.random.default_rng(K)
    codes = np.repeat(np.arange(K), 6 + np.arange(K))
    training = np.round(scores(codes, K, rng), 1)  # with ties
    training /= training.sum(axis=1, keepdims=True)
    items = scores(drawn(K, 9, rng), K, rng)
    found = RankMoments().fit(Training(training, codes, K)).embed(items).values
    assert_allclose(found, oracle.rank_moments(training, codes, items), atol=1e-12)


def test_statistic_and_shares_against_the_oracle(K):
    rng = np.random.default_rng(K)
    codes = np.repeat(np.arange(K), 40 + 10 * np.arange(K))
    training = scores(codes, K, rng)
    pool_codes = drawn(K, 400, rng)
    pool = scores(pool_codes, K, rng)
    samples = UPP(n_samples=6, size=60, random_state=0).draw(pool_codes)
    tests = fit_test(training, codes, pool, samples)

    ranks = RankMoments().fit(Training(training, codes, K))
    moments = oracle.class_moments(ranks.embed(training).values, codes)
    vectors = ranks.embed(pool).values
    for test, sample in zip(tests, samples, strict=True):
        shares, statistic = oracle.nearest_mixture(
            *moments, vectors[sample].mean(axis=0), len(sample)
        )
        assert_allclose(test.prevalence, shares, atol=2e-4)
        assert_allclose(test.statistic, statistic, rtol=1e-4)
        free = int((test.prevalence > 0).sum()) - 1
        assert test.df == vectors.shape[1] - free
        spare = oracle.spare(*moments, test.prevalence, len(sample))
        wanted = oracle.hotelling(test.statistic, test.df, spare)
        assert_allclose(test.p_value, wanted, rtol=1e-6)
        assert test.p_value > chi2.sf(test.statistic, test.df)


def test_many_training_items_make_the_statistic_chi_squared():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 20_000)
    pool = scores(drawn(2, 200, rng), 2, rng)
    test = fit_test(scores(codes, 2, rng), codes, pool)[0]
    assert_allclose(test.p_value, chi2.sf(test.statistic, test.df), rtol=0.01)


class Vectors:
    def embed(self, items):
        return Dense(items)


def of_vectors(training):
    return _learn(Vectors(), training.items, training)


def test_one_class_has_the_distribution_of_hotelling():
    # A single class in the sample: all that is estimated is its covariance.
    rng = np.random.default_rng(0)
    rejected = []
    for _ in range(400):
        vectors = rng.normal(size=(40, 4))
        vectors[20:, 0] += 50
        known = Training(vectors, np.repeat([0, 1], 20), 2)
        sample = rng.normal(size=(30, 4))
        test = of_vectors(known).test(sample, Samples.whole(30))[0]
        rejected.append(test.p_value < 0.1)
    # Chi-squared would reject one in six.
    assert 0.06 < np.mean(rejected) < 0.14


def test_p_values_are_uniform_under_prior_shift(K):
    rng = np.random.default_rng(K)
    found = []
    for _ in range(150):
        codes = np.repeat(np.arange(K), 100)
        training = scores(codes, K, rng)
        parts = [drawn(K, 60, rng, rng.dirichlet(np.ones(K))) for _ in range(4)]
        pool = scores(np.concatenate(parts), K, rng)
        found.append(fit_test(training, codes, pool, np.arange(240).reshape(4, 60)).p_value)
    # Of 600 p-values, two in a thousand such tests would miss these.
    rejected = (np.concatenate(found) < 0.05).mean()
    assert 0.025 < rejected < 0.08
    assert 0.43 < np.concatenate(found).mean() < 0.57


def test_what_is_no_mixture_is_rejected(K):
    rng = np.random.default_rng(K)
    codes = np.repeat(np.arange(K), 300)
    pool = scores(drawn(K, 600, rng), K, rng, moved=1.5)
    test = fit_test(scores(codes, K, rng), codes, pool)[0]
    assert test.rejects(0.001)
    assert "does not look like a mixture" in str(test)
    assert "p < 0.0001" in str(test)


def test_pure_training_classes_fit_perfectly(K):
    rng = np.random.default_rng(K)
    codes = np.repeat(np.arange(K), 50)
    training = scores(codes, K, rng)
    tests = fit_test(training, codes, training, Samples.by_code(codes, K))
    assert_allclose(tests.statistic, 0, atol=1e-9)
    assert_allclose(tests.prevalence, np.eye(K), atol=1e-6)
    assert not tests.rejects().any()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_monotone_scores_and_the_batch_make_no_difference(seed, K):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(K), 30)
    training, pool = scores(codes, K, rng), scores(drawn(K, 80, rng), K, rng)
    samples = Samples.from_arrays([rng.integers(80, size=20) for _ in range(5)], n_pool=80)
    test = MixtureTest.of_posteriors(Training(training, codes, K))
    together = test.test(pool, samples)
    assert ((together.p_value >= 0) & (together.p_value <= 1)).all()
    assert (together.statistic >= 0).all()
    for i in range(5):
        alone = test.test(pool, samples[i : i + 1])
        assert_array_equal(alone.statistic, together.statistic[i : i + 1])
        assert_array_equal(alone.prevalence[0], together.prevalence[i])
    if K == 2:  # only the order of scores counts, but not between training items
        inside = np.column_stack([1 - training[:, 1] ** 3, training[:, 1] ** 3])
        again = fit_test(inside, codes, inside, Samples.whole(60))
        assert_allclose(
            again.statistic, fit_test(training, codes, training).statistic, atol=1e-9
        )


def test_equal_weights_are_no_weights_and_a_weight_of_zero_drops_an_item():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 60)
    training, pool = scores(codes, 2, rng), scores(drawn(2, 50, rng), 2, rng)
    plain = fit_test(training, codes, pool)
    equal = fit_test(training, codes, pool, weights=np.full(120, 3.0))
    assert_allclose(equal.statistic, plain.statistic)
    weights = np.repeat([1.0, 0.0, 1.0], [50, 20, 50])
    dropped = fit_test(training, codes, pool, weights=weights)
    kept = weights > 0
    assert_allclose(
        dropped.statistic, fit_test(training[kept], codes[kept], pool).statistic, rtol=1e-6
    )


def test_vectors_of_a_moment_method():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 200)
    vectors = rng.normal(size=(400, 4)) + codes[:, None]
    test = of_vectors(Training(vectors, codes, 2))
    sample = rng.normal(size=(300, 4)) + (np.arange(300) < 100)[:, None]
    fine = test.test(sample, Samples.whole(300))[0]
    assert fine.df == 3
    assert not fine.rejects(0.001)
    assert_allclose(fine.prevalence, [2 / 3, 1 / 3], atol=0.1)
    sample[:, 0] += 0.5
    assert test.test(sample, Samples.whole(300))[0].rejects(0.001)


def test_known_groups_show_what_scores_do_not():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 300)
    group = rng.random(600) < np.where(codes, 0.6, 0.3)
    pool_codes = drawn(2, 400, rng)
    training, pool = scores(codes, 2, rng), scores(pool_codes, 2, rng)
    alike = rng.random(400) < np.where(pool_codes, 0.6, 0.3)
    moved = rng.random(400) < np.where(pool_codes, 0.9, 0.3)
    assert not fit_test(training, codes, pool)[0].rejects(0.001)
    for now, rejected in ((alike, False), (moved, True)):
        test = fit_test(
            training, codes, pool,
            training_covariates=group[:, None], covariates=now[:, None],
        )[0]  # fmt: skip
        assert test.rejects(0.001) == rejected
        assert test.df == 3


def test_scores_with_two_values_leave_nothing_to_test():
    codes = np.repeat([0, 1], 20)
    hard = np.eye(2)[np.where(np.arange(40) % 5 == 0, 1 - codes, codes)]
    test = fit_test(hard, codes, hard)[0]
    assert np.isnan(test.p_value)
    assert not test.rejects()
    assert test.to_dict()["p_value"] is None
    assert "cannot be tested" in str(test)


def test_results_as_plain_data():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 30)
    tests = fit_test(scores(codes, 2, rng), codes, scores(codes, 2, rng), [[0, 40], [1, 2, 3]])
    assert len(tests) == len(list(tests)) == 2
    assert [test.n for test in tests] == [2, 3]
    assert repr(tests).startswith("FitTests(2 samples, ")
    assert json.loads(json.dumps(tests[0].to_dict()))["df"] == tests[0].df


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"y": [0, 1, 1]}, "training has 4 rows, but y has 3 labels"),
        ({"y": [0, 0, 0, 0]}, "y has the single class 0"),
        ({"y": [0, 1, 2, 1]}, "posteriors has 2 columns, but there are 3 classes"),
        ({"weights": np.ones(3)}, "weights has the shape"),
        ({"weights": [0.0, 1.0, 0.0, 1.0]}, "zero for all items of class 0"),
        ({"items": [[0.5, 0.2, 0.3]]}, "posteriors has 3 columns"),
        ({"samples": [[0, 9]]}, "9"),
        ({"covariates": [[1.0], [2.0]]}, "only one of training_covariates"),
        (
            {"training_covariates": [[1.0]] * 4, "covariates": [[1.0]]},
            "covariates has 1 values, but there are 2 items",
        ),
        (
            {"training_covariates": [[1.0]] * 4, "covariates": [[1.0, 2.0]] * 2},
            "covariates has 2 columns, but training_covariates has 1",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(changed, words):
    rng = np.random.default_rng(0)
    given = {
        "training": scores(np.array([0, 1, 0, 1]), 2, rng),
        "y": [0, 1, 0, 1],
        "items": scores(np.array([0, 1]), 2, rng),
    }
    fit_test(**given)
    with pytest.raises(HeadcountError, match=words):
        fit_test(**given | changed)


def test_labels_and_scored_items():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 60)
    names = np.array(["ham", "spam"])
    training, pool = scores(codes, 2, rng), scores(drawn(2, 50, rng), 2, rng)
    expected = fit_test(training, codes, pool)
    swapped = Scored(training[:, ::-1], ["spam", "ham"])
    for known, items in ((training, pool[:, 1]), (swapped, Scored(pool, names))):
        found = fit_test(known, names[codes], items)
        assert_array_equal(found.statistic, expected.statistic)
        assert_array_equal(found.prevalence, expected.prevalence)


def test_items_scored_by_folds_have_the_scores_of_one_fold_each():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 60)
    training = scores(codes, 2, rng)
    by_fold = np.stack([scores(drawn(2, 50, rng), 2, rng) for _ in range(3)])
    items = Scored(by_fold[0], folds=[Scored(each) for each in by_fold])
    found = fit_test(training, codes, items)
    expected = fit_test(training, codes, one_fold_each(by_fold))
    assert_array_equal(found.statistic, expected.statistic)


def test_the_kernel_does_the_same_uncompiled(K):
    rng = np.random.default_rng(K)
    codes = np.repeat(np.arange(K), 30)
    test = MixtureTest.of_posteriors(Training(scores(codes, K, rng), codes, K))
    seen = rng.uniform(-0.3, 0.3, (4, len(test.directions)))
    both = []
    for kernel in (nearest_mixtures, getattr(nearest_mixtures, "py_func", nearest_mixtures)):
        shares, statistics = np.empty((4, K)), np.empty(4)
        kernel(
            test.means, test.covariances, test.sizes, test.directions, seen, np.full(4, 50.0),
            4, 0, 4, shares, statistics,
        )  # fmt: skip
        both.append(np.column_stack([shares, statistics]))
    assert_allclose(*both, rtol=1e-10, atol=1e-10)


def test_levels_are_checked():
    with pytest.raises(HeadcountError, match="level is 5"):
        FitTest(1.0, 2, 0.6, np.array([0.5, 0.5]), 10).rejects(5)
