from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import headcount as hc
from headcount.scores.scorer import ScoredPool

X, y = make_classification(200, random_state=0)
NEW = X[120:]


class Counted(GaussianNB):
    calls = 0

    def predict_proba(self, X):
        type(self).calls += 1
        return super().predict_proba(X)


class Unpicklable(GaussianNB):
    def __reduce_ex__(self, protocol):
        raise TypeError("cannot pickle this")


def fitted(*quantifiers):
    return [quantifier.fit(X[:120], y[:120]) for quantifier in quantifiers]


def test_classifiers_that_came_out_the_same_score_a_pool_once():
    quantifiers = fitted(hc.SLD(Counted()), hc.PACC(Counted()), hc.DyS(Counted(), cv=3))
    alone = [quantifier.predict(NEW) for quantifier in quantifiers]
    Counted.calls, pool = 0, ScoredPool(NEW)
    together = [quantifier.predict(pool) for quantifier in quantifiers]
    # By the classifier for SLD, by five folds for PACC and by three for DyS.
    assert (Counted.calls, pool.n_scorings, len(pool)) == (1 + 5 + 3, 3, 80)
    np.testing.assert_array_equal(together, alone)


def test_classifiers_that_differ_do_not_share():
    weak, strong = fitted(
        hc.PACC(LogisticRegression(C=0.001), random_state=0),
        hc.PACC(LogisticRegression(C=10.0), random_state=0),
    )
    pool = ScoredPool(NEW)
    np.testing.assert_array_equal(weak.predict(pool), weak.predict(NEW))
    np.testing.assert_array_equal(strong.predict(pool), strong.predict(NEW))
    assert pool.n_scorings == 2


def test_labels_and_posteriors_are_told_apart():
    counts, means = fitted(hc.CC(GaussianNB()), hc.PCC(GaussianNB()))
    pool = ScoredPool(NEW)
    np.testing.assert_array_equal(counts.predict(pool), counts.predict(NEW))
    np.testing.assert_array_equal(means.predict(pool), means.predict(NEW))
    assert pool.n_scorings == 2


def test_posteriors_learnt_from_decisions_depend_on_what_was_learnt():
    by_three, by_five = fitted(
        hc.PCC(LinearSVC(), cv=3, random_state=0), hc.PCC(LinearSVC(), cv=5, random_state=0)
    )
    pool = ScoredPool(NEW)
    np.testing.assert_array_equal(by_three.predict(pool), by_three.predict(NEW))
    np.testing.assert_array_equal(by_five.predict(pool), by_five.predict(NEW))


def test_a_classifier_that_cannot_be_pickled_is_itself():
    first, second = fitted(hc.PCC(Unpicklable()), hc.PCC(Unpicklable()))
    pool = ScoredPool(NEW)
    for quantifier in (first, second, first):
        np.testing.assert_array_equal(quantifier.predict(pool), quantifier.predict(NEW))
    assert pool.n_scorings == 2


def test_separate_scorings_are_shared_as_well():
    def one_vs_rest():
        return hc.OneVsRest(hc.PACC(GaussianNB(), random_state=0), scoring="separate")

    first, second = fitted(one_vs_rest(), one_vs_rest())
    pool = ScoredPool(NEW)
    np.testing.assert_array_equal(first.predict(pool), first.predict(NEW))
    np.testing.assert_array_equal(second.predict(pool), first.predict(NEW))
    assert pool.n_scorings == 1


def test_a_search_whose_results_cannot_be_hashed_is_a_judge_of_its_own():
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3)
    (counted,), pool = fitted(hc.CC(search)), ScoredPool(NEW)
    np.testing.assert_array_equal(counted.predict(pool), counted.predict(NEW))
    assert pool.n_scorings == 1
