from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

import headcount as hc
from headcount.errors import HeadcountError
from headcount.learn.multivariate_svc import MultivariateSVC
from headcount.learn.neighbours import ProportionWeightedKNN
from headcount.learn.trees import QuantificationForestClassifier

MACHINES = {
    hc.SVMQ: "q",
    hc.SVMK: "kld",
    hc.SVMN: "nkld",
    hc.SVMAE: "ae",
    hc.SVMRAE: "rae",
}


def data(n_classes=2, n=600):
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=n_classes, class_sep=1.2, random_state=0
    )
    kept = (y > 0) | (np.arange(n) % 3 > 0)
    return X[kept], y[kept]


def counted(learner, X, y, new):
    said = learner.fit(X, y).predict(new)
    return (said[:, None] == np.unique(y)).mean(axis=0)


@pytest.mark.parametrize("machine", MACHINES)
def test_machines_count_what_the_learner_says(machine):
    X, y = data()
    learner = MultivariateSVC(MACHINES[machine])
    quantifier = machine().fit(X[:250], y[:250])
    assert_allclose(quantifier.predict(X[250:]), counted(learner, X[:250], y[:250], X[250:]))
    assert quantifier.fitted_.model.learner.loss == MACHINES[machine]


@pytest.mark.parametrize("machine", MACHINES)
def test_parameters_reach_the_machine(machine):
    given = {
        "C": 0.3,
        "kernel": "rbf",
        "gamma": 0.2,
        "n_components": 20,
        "tol": 0.5,
        "max_iter": 900,
        "random_state": 4,
    }
    X, y = data(n=200)
    learner = machine(**given).fit(X, y).fitted_.model.learner
    assert {name: getattr(learner, name) for name in given} == given


@pytest.mark.parametrize("machine", MACHINES)
def test_machines_for_more_classes_are_trained_one_against_the_rest(machine):
    X, y = data(3)
    with pytest.raises(
        HeadcountError, match=rf"wrap it as OneVsRest\({machine.__name__}\(\)\)"
    ):
        machine().fit(X, y)
    shares = hc.OneVsRest(machine()).fit(X[:250], y[:250]).predict(X[250:])
    learner = MultivariateSVC(MACHINES[machine])
    each = [counted(learner, X[:250], y[:250] == j, X[250:])[1] for j in range(3)]
    assert_allclose(shares, np.array(each) / sum(each))


def test_a_machine_is_trained_once(monkeypatch):
    X, y = data(n=120)
    X, y = X[:90], y[:90]
    fits = []
    fit = MultivariateSVC.fit
    monkeypatch.setattr(
        MultivariateSVC, "fit", lambda self, X, y: (fits.append(len(y)), fit(self, X, y))[1]
    )
    machine = hc.SVMK().fit(X, y)
    machine.predict(X)
    hc.CC(MultivariateSVC("kld"), cv=None).fit(X, y).predict(X)
    assert fits == [90, 90]
    # Estimates need predictions of items that the machine was not trained on.
    machine.estimate(X, replicates=100)
    assert fits[2:] == [90, *[72] * 5]


def test_counting_labels_of_a_margin_classifier_needs_no_folds():
    X, y = data(n=120)
    scorer = hc.CC(LinearSVC(), cv=None).fit(X, y).fitted_.scorer
    assert not hasattr(scorer, "labels_")
    with pytest.raises(HeadcountError, match="posteriors were not learnt from the decision"):
        scorer.posteriors(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_neighbours_count_what_the_learner_says(n_classes):
    X, y = data(n_classes)
    learner = ProportionWeightedKNN(7, alpha=2.0)
    quantifier = hc.PWK(7, alpha=2.0).fit(X[:250], y[:250])
    assert_allclose(quantifier.predict(X[250:]), counted(learner, X[:250], y[:250], X[250:]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_forest_counts_what_the_learner_says(n_classes):
    X, y = data(n_classes)
    given = {"n_estimators": 12, "criterion": "balance_errors", "scope": "tree"}
    given |= {"max_features": 2, "max_depth": 6, "min_samples_leaf": 3, "random_state": 1}
    learner = QuantificationForestClassifier(**given)
    quantifier = hc.QF(**given).fit(X[:250], y[:250])
    assert_allclose(quantifier.predict(X[250:]), counted(learner, X[:250], y[:250], X[250:]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rates_of_a_forest_come_from_votes_out_of_the_bag(n_classes):
    X, y = data(n_classes)
    forest = QuantificationForestClassifier(40, random_state=1).fit(X[:250], y[:250])
    assert not np.isnan(forest.oob_decision_function_).any()
    one_hot = np.eye(n_classes)
    by_hand = hc.ACC().fit(hc.Scored(one_hot[forest.oob_prediction_]), y[:250])
    expected = by_hand.predict(hc.Scored(one_hot[forest.predict(X[250:])]))
    adjusted = hc.QFAC(40, random_state=1).fit(X[:250], y[:250]).predict(X[250:])
    assert_allclose(adjusted, expected, atol=1e-12)
    plain = hc.QF(40, random_state=1).fit(X[:250], y[:250]).predict(X[250:])
    assert not np.allclose(adjusted, plain)


def test_items_in_every_bag_are_left_out_of_the_rates():
    X, y = data()
    forest = QuantificationForestClassifier(3, random_state=1).fit(X, y)
    voted = ~np.isnan(forest.oob_decision_function_[:, 0])
    assert 0.1 < 1 - voted.mean() < 0.4
    by_hand = hc.ACC().fit(hc.Scored(np.eye(2)[forest.oob_prediction_[voted]]), y[voted])
    assert_allclose(
        hc.QFAC(3, random_state=1).fit(X, y).predict(X),
        by_hand.predict(hc.Scored(np.eye(2)[forest.predict(X)])),
    )


def test_too_few_trees_for_votes_out_of_the_bag():
    X, y = np.arange(20.0)[:, None], np.r_[np.zeros(19, int), 1]
    # Of these the only tree was grown on the only item of the second class.
    seed = next(s for s in range(20) if 1 not in y[unseen(s, X, y)])
    with pytest.raises(HeadcountError, match=r"n_estimators is 1, so few trees .* set cv=5"):
        hc.QFAC(1, random_state=seed).fit(X, y)


def unseen(seed, X, y):
    forest = QuantificationForestClassifier(1, random_state=seed).fit(X, y)
    return ~np.isnan(forest.oob_decision_function_[:, 0])


@pytest.mark.parametrize("cv", [3, StratifiedKFold(3)])
def test_rates_of_a_forest_may_come_from_folds(cv):
    X, y = data()
    forest = QuantificationForestClassifier(10, random_state=1)
    scorer = hc.Scorer(forest, cv=cv, random_state=1).fit(X[:250], y[:250])
    one_hot = np.eye(2)
    by_hand = hc.ACC().fit(hc.Scored(one_hot[scorer.labels_]), y[:250])
    expected = by_hand.predict(hc.Scored(one_hot[scorer.labels(X[250:])]))
    given = hc.QFAC(10, cv=cv, random_state=1).fit(X[:250], y[:250]).predict(X[250:])
    assert_array_equal(given, expected)


def test_a_forest_is_grown_once_for_its_rates(monkeypatch):
    X, y = data(n=120)
    X, y = X[:90], y[:90]
    fits = []
    fit = QuantificationForestClassifier.fit
    monkeypatch.setattr(
        QuantificationForestClassifier,
        "fit",
        lambda self, X, y: (fits.append(len(y)), fit(self, X, y))[1],
    )
    hc.QFAC(5, random_state=0).fit(X, y).predict_many(X, [[0, 1], [5, 9]])
    assert fits == [90]


def test_the_adjusted_count_is_the_better_one_under_shift():
    X, y = make_classification(4000, 8, n_informative=5, class_sep=1.0, random_state=0)
    samples = hc.APP(n_prevalences=11, repeats=5, size=200, random_state=0).draw(y[1000:])
    errors = {}
    for method in (hc.QF, hc.QFAC):
        quantifier = method(30, random_state=0).fit(X[:1000], y[:1000])
        shares = quantifier.predict_many(X[1000:], samples)
        errors[method] = hc.metrics.ae(samples.prevalence, shares).mean()
    assert errors[hc.QFAC] < 0.6 * errors[hc.QF]


@pytest.mark.parametrize("cv", [0.4, (np.arange(200), np.arange(200, 300))])
def test_adjusted_forests_need_rates_of_all_items(cv):
    X, y = np.random.default_rng(0).random((300, 3)), np.arange(300) % 2
    with pytest.raises(HeadcountError, match="cv is "):
        hc.QFAC(5, cv=cv).fit(X, y)
