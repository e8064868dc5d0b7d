"""A prior that is learnt from many small samples."""

from __future__ import annotations

import numpy as np
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.tables import analyse_items
from tests.estimates.made import scores

MIX = np.array([60.0, 30.0, 10.0])


@pytest.fixture(scope="module")
def sites():
    """A quantifier, and 40 samples of 30 items whose mixes are alike, not those of training."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=900)
    quantifier = hc.SLD(calibration="bcts", random_state=0)
    quantifier.fit(hc.Scored(scores(codes, 3, rng, apart=1.5)), codes)
    mixes = rng.dirichlet(MIX, 40)
    labels = np.concatenate([rng.choice(3, 30, p=mix) for mix in mixes])
    pool = hc.Scored(scores(labels, 3, rng, apart=1.5))
    return quantifier, pool, labels.reshape(40, 30)


def samples_of(n):
    return [np.arange(30 * i, 30 * (i + 1)) for i in range(n)]


def test_alike_samples_gain_by_it_and_are_still_covered(sites):
    quantifier, pool, labels = sites
    truth = np.stack([(labels == j).mean(axis=1) for j in range(3)], axis=1)
    errors, widths = {}, {}
    for prior in (None, "shared"):
        found = quantifier.estimate_many(pool, samples_of(40), prior=prior)
        ends = [estimate.interval() for estimate in found]
        low, high = np.stack([end.low for end in ends]), np.stack([end.high for end in ends])
        assert np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)) > 0.9
        errors[prior] = np.abs(np.stack([e.shares for e in found]) - truth).mean()
        widths[prior] = (high - low).mean()
    assert errors["shared"] < 0.95 * errors[None]
    assert widths["shared"] < 0.95 * widths[None]


def test_it_is_a_step_of_em_and_does_not_depend_on_the_order(sites):
    quantifier, pool, _ = sites
    found = quantifier.estimate_many(pool, samples_of(40), prior="shared")
    backwards = quantifier.estimate_many(pool, samples_of(40)[::-1], prior="shared")
    for forth, back in zip(found, backwards[::-1], strict=True):
        np.testing.assert_array_equal(forth.shares, back.shares)
    # The same by hand, with draws of other random numbers.
    alone = quantifier.estimate_many(pool, samples_of(40))
    usual = np.random.default_rng(1).dirichlet(np.ones(3), 1200)
    prior = np.concatenate([*(estimate.draws[::13] for estimate in alone), usual])
    by_hand = quantifier.estimate_many(pool, samples_of(40), prior=prior)
    gaps = [np.abs(a.shares - b.shares).mean() for a, b in zip(found, by_hand, strict=True)]
    moves = [np.abs(a.shares - b.shares).mean() for a, b in zip(found, alone, strict=True)]
    assert np.mean(gaps) < 0.4 * np.mean(moves)


def test_few_or_large_samples_have_the_usual_prior(sites):
    quantifier, pool, _ = sites
    few = samples_of(9)
    large = [np.arange(i, i + 400) for i in range(0, 800, 80)]
    for samples in (few, large):
        shared, alone = (
            quantifier.estimate_many(pool, samples, prior=prior) for prior in ("shared", None)
        )
        for one, other in zip(shared, alone, strict=True):
            np.testing.assert_array_equal(one.shares, other.shares)


def test_groups_share_one_and_all_items_together_do_not(sites):
    quantifier, pool, _ = sites
    groups = np.repeat(np.arange(40), 30)
    together = analyse_items(quantifier, pool)
    by_group = analyse_items(quantifier, pool, groups=groups)
    np.testing.assert_array_equal(
        by_group.overall.estimate.shares, together.overall.estimate.shares
    )
    shared = quantifier.estimate_many(pool, samples_of(40), prior="shared", random_state=0)
    for item, estimate in zip(by_group.groups, shared, strict=True):
        np.testing.assert_array_equal(item.estimate.shares, estimate.shares)
    statistics = hc.Statistics(quantifier).update(pool, groups)
    counted = quantifier.estimate_statistics(statistics, prior="shared", random_state=0)
    for estimate, whole in zip(counted.values(), shared, strict=True):
        np.testing.assert_allclose(estimate.shares, whole.shares, atol=0.02)


def test_unknown_names_and_the_own_likelihood_are_refused(sites):
    quantifier, pool, _ = sites
    with pytest.raises(HeadcountError, match="prior is 'learnt'"):
        quantifier.estimate_many(pool, samples_of(12), prior="learnt")
    with pytest.raises(HeadcountError, match="which is not for posterior=True"):
        quantifier.estimate_many(pool, samples_of(12), prior="shared", posterior=True)
