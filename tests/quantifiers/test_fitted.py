"""The object that `fit` makes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.conformance.cases import labelled, pool

import headcount as hc
from headcount.parts.fitted import Fitted, HasFitted

QUICK = {"replicates": 200, "random_state": 0}


def test_a_quantifier_has_what_users_call():
    fitted = hc.PACC(GaussianNB()).fit(*labelled(2))
    public = {name for name in dir(fitted) if not name.startswith(("_", "set_"))}
    inherited = {name for name in dir(BaseEstimator()) if not name.startswith("_")}
    parameters = set(fitted.get_params())
    facts = {"info", "posterior_kind", "n_features_in_", "feature_names_in_"}
    assert public - inherited - {name.partition("__")[0] for name in parameters} - facts == {
        *("fit", "fit_scorer", "predict", "predict_many", "explain", "plan_labels"),
        *("estimate", "estimate_many", "estimate_statistics"),
        *("classes_", "prior_", "fitted_"),
    }


def test_it_is_all_that_others_need():
    X, y = labelled(3)
    quantifier = hc.SLD(GaussianNB(), random_state=0).fit(X, y)
    fitted = quantifier.fitted_
    assert isinstance(quantifier, HasFitted)
    assert (fitted.method, fitted.takes, fitted.seed) == ("SLD", "posteriors", 0)
    reduced = fitted.reduce(pool(3), [np.arange(30), np.arange(60)])
    np.testing.assert_array_equal(
        fitted.solve(reduced).prevalence, quantifier.predict_many(pool(3), reduced.samples)
    )
    with pytest.raises(FrozenInstanceError):
        fitted.classes = y
    statistics = hc.Statistics(fitted).update(pool(3))
    assert statistics.to_bytes() == hc.Statistics(quantifier).update(pool(3)).to_bytes()


def test_a_search_keeps_what_its_winner_fitted():
    X, y = labelled(2)
    grid, protocol = {"bandwidth": [0.1, 0.3]}, hc.UPP(n_samples=10, size=20, random_state=0)
    base = hc.KDEyML(GaussianNB(), random_state=0)
    search = hc.GridSearch(base, grid, protocol=protocol, random_state=0).fit(X, y)
    assert search.fitted_ is search.best_quantifier_.fitted_
    assert isinstance(search.fitted_, Fitted)


def test_statistics_of_a_search_over_a_pipeline_are_of_prepared_items():
    X, y = labelled(2)
    steps = make_pipeline(StandardScaler(), hc.PACC(GaussianNB(), random_state=0))
    grid, protocol = {"pacc__cv": [3, 5]}, hc.UPP(n_samples=10, size=20, random_state=0)
    search = hc.GridSearch(steps, grid, protocol=protocol, random_state=0).fit(100 * X, y)
    statistics = hc.Statistics(search).update(100 * pool(2))
    (estimate,) = search.estimate_statistics(statistics, **QUICK).values()
    np.testing.assert_allclose(estimate.raw, search.predict(100 * pool(2)), atol=1e-9)
