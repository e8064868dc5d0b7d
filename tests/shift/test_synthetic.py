"""Made-up data with stacked shifts."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.errors import HeadcountError
from headcount.shift.synthetic import make_shift

BIG = {"n_samples": 20, "size": 5000, "n_classes": 3, "n_train": 30_000, "random_state": 0}


def shares_of(made):
    return made.samples.prevalence_of(made.y_pool, 3)


def mean_posteriors(made):
    scores = made.posteriors(made.X_pool)
    return np.array([scores[rows].mean(axis=0) for rows in made.samples])


def test_without_shift_samples_are_like_the_training_set():
    made = make_shift(**BIG)
    np.testing.assert_allclose(shares_of(made), 1 / 3, atol=0.03)
    np.testing.assert_allclose(mean_posteriors(made), 1 / 3, atol=0.03)


def test_prior_shift_moves_the_shares_and_not_the_clouds():
    made = make_shift(prior=1.0, **BIG)
    assert shares_of(made).std(axis=0).min() > 0.1
    for j in range(3):
        means = made.X_pool[made.y_pool == j].mean(axis=0)
        np.testing.assert_allclose(means, made.centres[j], atol=0.05)
    half = make_shift(prior=0.5, **BIG)
    np.testing.assert_allclose(
        shares_of(half) - 1 / 3, (shares_of(made) - 1 / 3) / 2, atol=0.04
    )


def test_covariate_shift_keeps_the_posteriors():
    made = make_shift(covariate=1.5, **BIG)
    assert shares_of(made).std(axis=0).min() > 0.1
    np.testing.assert_allclose(mean_posteriors(made), shares_of(made), atol=0.03)
    np.testing.assert_allclose(np.linalg.norm(made.tilts, axis=1), 1.5)


def test_concept_shift_changes_labels_on_one_side():
    made, plain = make_shift(concept=0.5, **BIG), make_shift(**BIG)
    np.testing.assert_array_equal(made.X_pool, plain.X_pool)
    np.testing.assert_array_equal(made.y_pool != plain.y_pool, made.changed)
    assert made.changed.mean() == pytest.approx(0.25, abs=0.03)
    rows = made.samples[0]
    changed, rest = made.X_pool[rows][made.changed[rows]], made.X_pool[rows]
    assert np.linalg.norm(changed.mean(axis=0) - rest.mean(axis=0)) > 0.4


def test_shifts_are_stacked_and_repeatable():
    options = {"prior": 1.0, "covariate": 1.0, "concept": 0.2, "n_samples": 5, "size": 100}
    first, again, other = (
        make_shift(**options, random_state=seed, shares=[0.2, 0.8]) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.X_pool, again.X_pool)
    np.testing.assert_array_equal(first.y_pool, again.y_pool)
    assert not np.array_equal(first.X, other.X)
    assert first.y.mean() == pytest.approx(0.8, abs=0.05)
    assert first.changed.any()
    assert first.tilts.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": 2.0}, "^prior is 2.0"),
        ({"covariate": -1}, "^covariate is -1"),
        ({"concept": "much"}, "^concept is 'much'"),
        ({"n_classes": 1}, "^n_classes is 1"),
        ({"separation": 0}, "^separation is 0"),
        ({"shares": [0.2, 0.3, 0.5]}, "^shares has 3 shares, but n_classes is 2"),
        ({"shares": [0.2, 0.3]}, "^shares"),
        ({"n_train": 3}, "^n_train is 3"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(HeadcountError, match=message):
        make_shift(**options)
