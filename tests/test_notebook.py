"""Results show as HTML in notebooks."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import headcount
import headcount as hc
from headcount.accuracy.estimates import AccuracyEstimate
from headcount.accuracy.leap import LEAP
from headcount.estimates.assumption import FitTest, FitTests
from headcount.evaluation import Evaluations
from headcount_studies.engine.store import DatasetStatus, Failure, Status
from tests.report.analyses import make_accuracies, make_analysis, scored

NASTY = "<b>bold</b>"
# Methods that only results have.
_OF_RESULTS = ("to_frame", "to_text", "to_table")


def results():
    """Public classes of all packages that are results, by name."""
    found = {}
    for package in pkgutil.iter_modules(headcount.__path__, "headcount."):
        if not package.ispkg or package.name.split(".")[1].startswith(("_", "cli")):
            continue
        module = importlib.import_module(package.name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not inspect.isclass(value) or issubclass(value, BaseEstimator):
                continue
            if any(method in vars(value) for method in _OF_RESULTS):
                found[f"{package.name}.{name}"] = value
    return found


def test_results_are_found():
    names = {name.rsplit(".", 1)[1] for name in results()}
    assert names >= {"Estimate", "Evaluation", "Evaluations", "Analysis", "AccuracyEstimate"}
    assert names >= {"Comparison", "Summary", "MethodTable", "ShiftedSamples", "Counts"}


@pytest.mark.parametrize("name", sorted(results()))
def test_every_result_shows_in_notebooks(name):
    assert callable(results()[name]._repr_html_)


def shown():
    """One result of each kind, with names that are HTML."""
    rng = np.random.default_rng(0)
    names = np.array(["a", NASTY])
    codes = np.arange(400) % 2
    X, y = scored(codes, 2), names[codes]
    quantifier = hc.PACC().fit(hc.Scored(X, names), y)
    estimate = quantifier.estimate(hc.Scored(X[:200], names), replicates=200)
    samples = hc.UPP(n_samples=20, size=50, random_state=0).draw(y)
    fitted = {"PACC": quantifier, NASTY: hc.CC().fit(hc.Scored(X, names), y)}
    evaluation = hc.evaluate(fitted, hc.Scored(X, names), y, samples)
    search = hc.GridSearch(
        hc.SLD(), {"stop": ["noise", "converged"]}, protocol=hc.UPP(n_samples=5, size=50)
    ).fit(rng.normal(size=(200, 3)) + codes[:200, None], codes[:200])
    leap = LEAP(quantifier=hc.PACC()).fit(hc.Scored(X, names), y)
    test = FitTest(14.2, 2, 0.0008, np.array([0.3, 0.7]), 500)
    arrays = (np.array([14.2]), np.array([2]), np.array([0.1]), np.ones((1, 2)) / 2)
    return {
        "Estimate": estimate,
        "Counts": estimate.counts(),
        "Intervals": estimate.interval(),
        "Evaluation": evaluation,
        "Summary": evaluation.summary(),
        "Comparison": evaluation.compare(test="wilcoxon"),
        "Evaluations": Evaluations({"one": evaluation, NASTY: evaluation}),
        "SearchResults": search.results_,
        "AccuracyEstimate": leap.estimate(hc.Scored(X[:200], names), random_state=0),
        "AccuracyAnalysis": make_accuracies(),
        "Analysis": make_analysis(("a", NASTY)),
        "FitTest": test,
        "FitTests": FitTests(*arrays, np.array([500])),
        "MethodTable": hc.methods(),
        "Status": Status(
            (DatasetStatus(NASTY, 3, 1, 1, 1, 20, 1.0),),
            (Failure(NASTY, None, "key", 10, "no file"),), 1.0,
        ),
    }  # fmt: skip


def test_what_they_show():
    found = shown()
    assert isinstance(found["AccuracyEstimate"], AccuracyEstimate)
    for name, result in found.items():
        html = result._repr_html_()
        assert NASTY not in html, name
        assert ("<table" in html) == (name != "FitTests"), name
        assert html.count("<table") == html.count("</table>"), name
