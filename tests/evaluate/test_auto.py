from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

import headcount as hc

X, y = make_classification(500, n_informative=4, class_sep=0.7, random_state=0)
PROTOCOL = hc.UPP(n_samples=100, size=100, random_state=0)


class Counted(GaussianNB):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def auto(**more):
    return hc.AutoQuantifier(GaussianNB(), protocol=PROTOCOL, random_state=0, **more)


def test_the_classifier_is_cross_fitted_once_for_all_methods():
    Counted.fits = 0
    hc.AutoQuantifier(Counted(), protocol=PROTOCOL, cv=3).fit(X, y)
    assert Counted.fits == 3 + 1


def test_it_answers_as_the_method_it_chose():
    chosen = auto().fit(X, y)
    means = dict(
        zip([s["method"] for s in chosen.results_.settings], chosen.results_.means, strict=True)
    )
    yardstick = means.pop("CC")
    assert means[chosen.best_name_] == min(means.values()) == chosen.best_score_ < yardstick
    assert chosen.why_.startswith(f"{chosen.best_name_} had the least mean absolute error")
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    alone = type(chosen.best_quantifier_)(**chosen.best_quantifier_.get_params(deep=False))
    np.testing.assert_array_equal(chosen.predict(X), alone.fit_scorer(scorer).predict(X))


def test_scores_will_do():
    scorer = hc.Scorer(GaussianNB(), random_state=0).fit(X, y)
    by_scores = auto().fit_scores(scorer.posteriors_, y)
    by_items = auto().fit(X, y)
    assert by_scores.best_name_ == by_items.best_name_
    np.testing.assert_array_equal(by_scores.results_.means, by_items.results_.means)


def test_more_classes_get_methods_that_take_them():
    many, labels = make_classification(400, n_classes=3, n_informative=5, random_state=0)
    chosen = auto().fit(many, labels)
    assert chosen.predict(many).shape == (3,)
    assert not any(chosen.results_.problems)


def test_candidates_may_be_given_and_may_fail():
    some = {"good": hc.PACC(), "broken": hc.DyS(bins=0)}
    chosen = auto(candidates=some).fit(X, y)
    assert chosen.best_name_ == "good"
    with pytest.raises(hc.HeadcountError, match=r"No candidate could be used: bins is 0"):
        auto(candidates={"broken": hc.DyS(bins=0)}).fit(X, y)


@pytest.mark.parametrize("candidates", [{}, [hc.PACC()], {"x": GaussianNB()}])
def test_bad_candidates_are_named(candidates):
    with pytest.raises(hc.HeadcountError, match="candidate"):
        auto(candidates=candidates).fit(X, y)
