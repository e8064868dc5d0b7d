"""The checks that the package ships, on every quantifier of the library."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import headcount as hc
from headcount.quantifiers.registry import one_class_quantifiers
from headcount.testing.cases import on_simplex, refuses
from headcount.testing.run import quantifier_checks
from tests.conformance.cases import (
    METHODS,
    PROTOTYPES,
    labelled,
    pool,
    scored,
    scored_pool,
)

ONE_CLASS = one_class_quantifiers()
CHECKED = [*PROTOTYPES.values(), *(method(random_state=0) for method in ONE_CLASS.values())]
CHECKS = [check for prototype in CHECKED for check in quantifier_checks(prototype)]
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_conformance(check):
    result = check()
    if result.status != "passed":
        pytest.skip(result.reason)


def test_discovery_finds_the_methods():
    assert {"MLPE", "CC", "PACC", "DyS", "SLD", "KDEyML", "EDy", "OneVsRest"} <= METHODS.keys()


@each_method
def test_defaults_work(method):
    X, y = labelled(2)
    quantifier = method()
    if method.info.family == "network":
        quantifier.set_params(epochs=1, size=20)
    on_simplex(quantifier.fit(X, y).predict(pool(2)), 2)


@each_method
def test_every_parameter_is_documented(method):
    check_documented(method)


@pytest.mark.parametrize("method", ONE_CLASS.values(), ids=ONE_CLASS.keys())
def test_methods_for_one_class_are_exported_and_documented(method):
    assert method.__name__ in hc.__all__
    assert getattr(hc, method.__name__) is method
    check_documented(method)


def check_documented(method):
    text = inspect.getdoc(method)
    assert text.splitlines()[0].endswith(".")
    assert "Examples\n--------\n>>> " in text
    documented = []
    if "Parameters\n----------\n" in text:
        section = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
        entries = re.findall(r"^(\w+(?:, \w+)*)(?: : .+)?$", section, re.MULTILINE)
        documented = [name for entry in entries for name in entry.split(", ")]
    assert documented == list(inspect.signature(method).parameters)


@each_method
def test_every_method_is_exported(method):
    name = method.__name__
    assert name in hc.__all__
    assert getattr(hc, name) is method
    assert name in hc.methods()


# Cases of single methods


def test_one_vs_rest_has_a_base_by_default():
    scores, y = scored(3)
    default, explicit = (
        q.fit(hc.Scored(scores), y) for q in (hc.OneVsRest(), hc.OneVsRest(hc.DyS()))
    )
    np.testing.assert_array_equal(
        default.predict(hc.Scored(scored_pool(3))), explicit.predict(hc.Scored(scored_pool(3)))
    )


def test_a_splitter_that_forgets_rows():
    X, y = labelled(2)
    refuses(
        "^cv must put every row into exactly one test fold",
        lambda: hc.PACC(cv=LastFoldLost()).fit(X, y),
    )


class LastFoldLost:
    def split(self, X, y=None, groups=None):
        yield from list(KFold(3).split(X))[:-1]


def test_a_failed_fit_of_a_shared_scorer_leaves_its_quantifiers():
    X, y = labelled(3)
    scorer = hc.Scorer(random_state=0).fit(X, y)
    quantifier = hc.PACC().fit_scorer(scorer)
    before = quantifier.predict(pool(3))
    names = np.array(["x", "y", "z"])[y]
    refuses("^sample_weight", lambda: scorer.fit(X, names, sample_weight=-np.ones(len(y))))
    np.testing.assert_array_equal(quantifier.predict(pool(3)), before)


def test_items_may_be_texts():
    texts = [
        "good fine day",
        "bad sad rain",
        "good sun",
        "rain bad",
        "fine sun",
        "sad rain",
    ] * 5
    y = ["up", "down"] * 15
    classifier = make_pipeline(CountVectorizer(), MultinomialNB())
    for method in (hc.MLPE(), hc.CC(classifier), hc.PACC(classifier, random_state=0)):
        shares = method.fit(texts, y).predict_many(texts, [[0, 2, 4, 6], [1, 3]])
        assert shares.shape == (2, 2)
    np.testing.assert_allclose(shares, [[0, 1], [1, 0]], atol=1e-9)
