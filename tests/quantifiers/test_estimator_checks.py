"""scikit-learn's checks of estimators, and why some do not apply to estimators of shares."""

from __future__ import annotations

import warnings

import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import headcount as hc

# What `predict` returns is about the sample, not one value for each of its rows.
PER_ITEM = {
    "check_estimator_sparse_array": "expects one prediction per row",
    "check_estimator_sparse_matrix": "expects one prediction per row",
    "check_methods_sample_order_invariance": "expects predictions that move with the rows",
    "check_methods_subset_invariance": "expects predictions that do not depend on other rows",
}
SIMULATED = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "samples are simulated from the training items, and a repeated item is two items"
    )
    for kind in ("dense", "sparse")
}
FOLDS = dict.fromkeys(SIMULATED, "folds are drawn at random, and a repeated item is two items")
CASES = [
    *((method(), PER_ITEM) for method in (hc.CC, hc.PCC, hc.ACC, hc.PACC, hc.GPAC)),
    *((method(), PER_ITEM) for method in (hc.KDEyML, hc.DM)),
    (hc.SLD(random_state=0), PER_ITEM | FOLDS),
    (hc.OneVsRest(hc.DyS(random_state=0)), PER_ITEM | FOLDS),
    (hc.AutoQuantifier(random_state=0), PER_ITEM | SIMULATED),
]


@pytest.mark.parametrize(
    ("quantifier", "not_applicable"), CASES, ids=[type(case[0]).__name__ for case in CASES]
)
def test_every_check_that_applies_passes(quantifier, not_applicable):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit tiny and constant data
        checks = check_estimator(quantifier, on_fail=None, on_skip=None)
    failed = {
        check["check_name"]: check["exception"]
        for check in checks
        if check["status"] == "failed"
    }
    assert len(checks) > 40
    assert failed.keys() == not_applicable.keys(), failed


def test_sparse_items_give_the_same_shares():
    X, y = make_classification(300, random_state=0)
    quantifier = hc.PACC(random_state=0)
    dense = quantifier.fit(X, y).predict(X)
    sparse = quantifier.fit(csr_array(X), y).predict(csr_array(X))
    assert sparse == pytest.approx(dense, abs=1e-6)


def test_tags_are_those_of_the_classifier():
    assert get_tags(hc.SLD()).input_tags.sparse
    assert not get_tags(hc.SLD(GaussianNB())).input_tags.sparse
