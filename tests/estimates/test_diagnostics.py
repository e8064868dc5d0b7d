from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from headcount.errors import HeadcountError
from headcount.estimates.assumption import (
    AT_BOUNDARY,
    BROKEN_LEVEL,
    FEW_ITEMS,
    HARDLY_APART,
    MUCH_OUTSIDE,
    Diagnostics,
    FitTest,
    Separation,
    assumption_warnings,
)
from headcount.parts.training import Training
from headcount.samples.samples import Samples
from tests.estimates.made import drawn, scores

NAMES = ("ham", "spam")


def said(shares=(0.4, 0.6), classes=NAMES, n=500, **about):
    return assumption_warnings(np.array(shares), classes, n=n, **about)


def a_test(p_value):
    return FitTest(1.0, 2, p_value, np.array([0.5, 0.5]), 500)


def test_nothing_is_said_of_a_good_estimate():
    assert said(fit_test=a_test(0.4), separation=Separation(2.0, 1.0, (0, 1))) == ()


def test_a_broken_assumption_names_the_p_value_and_what_remains():
    (sentence,) = said(fit_test=a_test(BROKEN_LEVEL * 0.9))
    assert "p = 0.009" in sentence
    assert "use the method PCC" in sentence
    assert said(fit_test=a_test(BROKEN_LEVEL)) == ()
    assert said(fit_test=a_test(np.nan)) == ()


def test_few_items():
    (sentence,) = said(n=FEW_ITEMS - 1)
    assert "29 items, fewer than 30" in sentence
    assert "1 item," in said(n=1)[0]
    assert said(n=FEW_ITEMS) == ()


def test_classes_hardly_apart_are_named():
    (sentence,) = said(separation=Separation(0.9 * HARDLY_APART, 3.0, (0, 1)))
    assert "class 'ham' from class 'spam'" in sentence
    assert "0.45 standard deviations" in sentence
    assert said(separation=Separation(HARDLY_APART, 3.0, (0, 1))) == ()


@pytest.mark.parametrize("least", [0.0, AT_BOUNDARY])
def test_shares_at_the_boundary(least):
    (sentence,) = said((least, 1 - least))
    assert "The share of class 'ham' is estimated as 0" in sentence
    assert said((2 * AT_BOUNDARY, 1 - 2 * AT_BOUNDARY)) == ()


def test_many_shares_at_the_boundary_in_one_sentence():
    (sentence,) = said([0, 0, 0, 0, 0, 1], list("abcdef"))
    assert "classes 'a', 'b', 'c' and 2 more" in sentence


def test_scores_beyond_those_of_training():
    (sentence,) = said(outside=0.12)
    assert "12% of the sample's items have scores outside" in sentence
    assert said(outside=MUCH_OUTSIDE) == ()


def test_separation_of_two_classes_is_their_distance():
    found = Separation.of(np.array([[0.0, 1.0, 2.0], [3.0, 1.0, -2.0]]))
    assert_allclose(found.distance, 5)
    assert_allclose(found.condition, 1)


def test_separation_finds_the_class_that_is_a_mixture_of_others():
    means = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    found = Separation.of(means)
    assert_allclose(found.distance, 0, atol=1e-12)
    assert found.condition > 1e12
    assert 2 in found.pair
    assert Separation.of(means[[0, 1, 3]]).distance > 1


def examined(diagnostics, pool, samples, shares):
    return diagnostics.examine(*diagnostics.means(pool, samples), samples.sizes, shares)


class TestExamine:
    def learnt(self, rng, apart=2.0):
        codes = np.repeat([0, 1, 2], 200)
        training = Training(scores(codes, 3, rng, apart=apart), codes, 3)
        return Diagnostics.learn(training, np.array(["a", "b", "c"]))

    def test_one_diagnosis_a_sample(self):
        rng = np.random.default_rng(0)
        pool = np.concatenate(
            [scores(drawn(3, 400, rng), 3, rng), scores(drawn(3, 400, rng), 3, rng, moved=1.5)]
        )
        samples = Samples.from_arrays([range(400), range(400, 800), range(5)], n_pool=800)
        shares = np.array([[0.3, 0.3, 0.4], [0.3, 0.3, 0.4], [0.0, 0.5, 0.5]])
        fine, broken, few = examined(self.learnt(rng), pool, samples, shares)
        assert fine.warnings == ()
        assert not fine.fit_test.rejects(0.001)
        assert broken.fit_test.rejects(0.001)
        assert len(broken.warnings) == 1
        assert "mixture" in broken.warnings[0]
        assert [s.split(",")[0] for s in few.warnings] == [
            "The sample has 5 items",
            "The share of class 'a' is estimated as 0",
        ]

    def test_useless_scores_are_told(self):
        rng = np.random.default_rng(0)
        learnt = self.learnt(rng, apart=0.1)
        pool = scores(drawn(3, 300, rng), 3, rng, apart=0.1)
        shares = np.array([[0.3, 0.3, 0.4]])
        (found,) = examined(learnt, pool, Samples.whole(300), shares)
        assert any("hardly distinguish" in sentence for sentence in found.warnings)

    def test_extrapolation_is_told_beyond_what_is_usual(self):
        rng = np.random.default_rng(0)
        codes = np.repeat([0, 1], 200)
        training = 0.3 + 0.4 * scores(codes, 2, rng)[:, 1]
        training = np.column_stack([1 - training, training])
        learnt = Diagnostics.learn(Training(training, codes, 2), NAMES)
        sure = np.array([[0.05, 0.95]] * 40 + [[0.5, 0.5]] * 60)
        shares = np.array([[0.4, 0.6]])
        assert_allclose(learnt.means(sure, Samples.whole(100))[1], [[0.4]])
        (found,) = examined(learnt, sure, Samples.whole(100), shares)
        assert any(
            "40% of the sample's items have scores outside" in sentence
            for sentence in found.warnings
        )
        (inside,) = examined(learnt, training, Samples.whole(400), shares)
        assert inside.warnings == ()

    def test_posteriors_are_needed(self):
        with pytest.raises(HeadcountError, match="one column for each of the 3 classes"):
            Diagnostics.learn(Training(np.array([0, 1]), np.array([0, 1]), 2), list("abc"))
