from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import headcount as hc
from headcount.errors import HeadcountError
from headcount.evaluation.measures import check_measure
from headcount.evaluation.search import labelled, make_splits
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.quantifiers.one_vs_rest import base_scorer
from headcount.samples.protocols import APP, UPP
from headcount.scores.scorer import ScoredPool
from headcount_studies.classifier_grid import Choice, ClassifierGrid, answer, choose, made
from headcount_studies.engine.spec import MethodSpec

X, Y = make_classification(600, n_features=6, n_informative=4, n_classes=3, random_state=0)
GRID = ClassifierGrid(({"C": 1e-4}, {"C": 1.0}), folds=3, seed=7)
QUANTIFIERS: dict[str, Quantifier] = {
    "CC": hc.CC(),
    "PACC": hc.PACC(),
    "SLD": hc.SLD(calibration="platt"),
    "HDy": hc.OneVsRest(hc.HDy()),
    "HDy apart": hc.OneVsRest(hc.HDy(), scoring="separate"),
    "Ensemble": hc.Ensemble(hc.PACC(), n_members=3, size=60),
    "SVM": hc.OneVsRest(hc.SVMAE(max_iter=20)),
}


def test_shared_training_answers_as_if_each_had_trained_alone() -> None:
    train, pool = (X[:300], Y[:300]), X[300:]
    samples = UPP(20, 50, random_state=0).draw(Y[300:])
    choices = {name: Choice(i % 2) for i, name in enumerate(QUANTIFIERS)}
    answers = answer(GRID, QUANTIFIERS, choices, train, [(ScoredPool(pool), samples)] * 2)
    for name, quantifier in QUANTIFIERS.items():
        alone = GRID.quantifier(quantifier, choices[name].setting or 0)
        # As in the published studies: without fold scoring.
        scorer = ScoringPlan(alone).scorer()
        if scorer is None:
            alone.fit(*train)
        else:
            base_scorer(scorer).set_params(fold_scoring=False)
            alone.fit_scorer(scorer.fit(*train))
        expected = alone.predict_many(pool, samples)
        for each in answers[name]:
            assert each.failure is None
            assert each.prevalence is not None
            np.testing.assert_array_equal(each.prevalence, expected)


def test_every_measure_and_quantifier_has_its_own_best_setting() -> None:
    items = labelled(X, Y, None)
    (split,) = make_splits(items, APP(5, 2, 40, random_state=0), 0.4, None, 0)
    measures = [check_measure("ae"), check_measure("rae")]
    quantifiers = {name: QUANTIFIERS[name] for name in ("CC", "PACC", "HDy")}
    chosen = choose(GRID, quantifiers, items, split, measures)
    assert split.samples.prevalence is not None
    for measure, choices in zip(measures, chosen, strict=True):
        for name, quantifier in quantifiers.items():
            means = []
            for setting in range(2):
                fitted = GRID.quantifier(quantifier, setting)
                scorer = ScoringPlan(fitted).scorer()
                assert scorer is not None
                # The final fit scores items by one classifier: so does the selection.
                base_scorer(scorer).set_params(fold_scoring=False)
                fitted.fit_scorer(scorer.fit(X[split.train], Y[split.train]))
                guessed = fitted.predict_many(X[split.test], split.samples)
                sizes = split.samples.sizes
                means.append(measure(split.samples.prevalence, guessed, sizes).mean())
            assert choices[name].setting == int(np.argmin(means))


def test_a_setting_that_fails_is_not_chosen() -> None:
    items = labelled(X, Y, None)
    (split,) = make_splits(items, APP(5, 2, 40, random_state=0), 0.4, None, 0)
    grid = ClassifierGrid(({"C": -1.0}, {"C": 1.0}), folds=3, seed=7)
    (choices,) = choose(grid, {"CC": hc.CC()}, items, split, [check_measure("ae")])
    assert choices["CC"] == Choice(1)
    grid = ClassifierGrid(({"C": -1.0}, {"C": -2.0}), folds=3, seed=7)
    (choices,) = choose(grid, {"CC": hc.CC()}, items, split, [check_measure("ae")])
    assert choices["CC"].setting is None
    assert choices["CC"].failure


def test_a_setting_reaches_the_classifier_wherever_it_is() -> None:
    for name in ("CC", "HDy", "Ensemble"):
        parameters = GRID.quantifier(QUANTIFIERS[name], 0).get_params()
        inner = "" if name == "CC" else "quantifier__"
        assert isinstance(parameters[f"{inner}classifier"], LogisticRegression)
        assert parameters[f"{inner}classifier__C"] == 1e-4
        assert parameters[f"{inner}cv"] == 3
        assert parameters[f"{inner}random_state"] == 7
    assert GRID.quantifier(QUANTIFIERS["SVM"], 0).get_params()["quantifier__C"] == 1e-4
    assert QUANTIFIERS["CC"].get_params()["classifier"] is None
    with pytest.raises(HeadcountError, match="neither a classifier nor a C"):
        GRID.quantifier(hc.HDx(), 0)


def test_what_could_not_be_chosen_has_no_answer() -> None:
    choices = {"CC": Choice(None, "too few")}
    tests = [(ScoredPool(X[300:]), UPP(2, 20, random_state=0).draw(Y[300:]))]
    answers = answer(GRID, {"CC": hc.CC()}, choices, (X[:300], Y[:300]), tests)
    assert answers["CC"][0].prevalence is None
    assert answers["CC"][0].failure == "too few"


def test_methods_are_made_as_the_spec_says() -> None:
    options = {"inside": "OneVsRest", "around": {"scoring": "separate"}}
    quantifier = made(MethodSpec("x", "DyS", {"bins": 4}, options))
    assert isinstance(quantifier, hc.OneVsRest)
    assert quantifier.get_params()["quantifier__bins"] == 4
    assert quantifier.scoring == "separate"
