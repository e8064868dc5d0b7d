"""Area under the ROC curve and average precision, of known and of predicted classes."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics as sk

import headcount as hc
from headcount import accuracy
from headcount.accuracy.metrics import RANKINGS
from headcount.errors import HeadcountError
from headcount.samples.samples import Samples

NAMES = ("auroc", "average_precision")


def scored(n, shares, seed, ties=False):
    """Posteriors of classes that differ in their means, and the classes."""
    rng = np.random.default_rng(seed)
    K = len(shares)
    codes = rng.choice(K, n, p=shares)
    logits = rng.normal(size=(n, K)) + 1.2 * np.eye(K)[codes]
    scores = np.exp(logits)
    scores /= scores.sum(axis=1, keepdims=True)
    return np.round(scores, 1 if ties else 9), codes


def by_sklearn(name, scores, codes):
    K = scores.shape[1]
    function = sk.roc_auc_score if name == "auroc" else sk.average_precision_score
    classes = [1] if K == 2 else [c for c in range(K) if 0 < (codes == c).sum() < len(codes)]
    return np.mean([function(codes == c, scores[:, c]) for c in classes])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shares", [(0.7, 0.3), (0.5, 0.3, 0.2)])
@pytest.mark.parametrize("name", NAMES)
def test_realised_values_are_those_of_scikit_learn(name, shares, ties):
    scores, codes = scored(300, shares, 0, ties)
    samples = Samples(np.arange(300), np.array([0, 100, 300]), n_pool=300)
    found = RANKINGS[name].realised(scores, codes, samples)
    parts = [(scores[rows], codes[rows]) for rows in samples]
    assert found == pytest.approx([by_sklearn(name, *part) for part in parts], abs=1e-12)
    items, labels = (
        hc.Scored(scores / scores.sum(axis=1, keepdims=True)),
        np.arange(len(shares)),
    )
    whole = accuracy.realised(name, items, codes, labels)
    assert whole == pytest.approx(by_sklearn(name, items.posteriors_of(labels), codes))


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_without_items(name):
    scores, _ = scored(20, (0.5, 0.5), 0)
    value = RANKINGS[name].realised(scores, np.zeros(20, int))
    assert value == (0.5 if name == "auroc" else 0.0)


@pytest.mark.parametrize("shares", [(0.8, 0.2), (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("name", NAMES)
def test_shares_of_the_reference_give_its_own_value(name, shares):
    scores, codes = scored(500, shares, 1)
    naive = accuracy.Naive().fit(hc.Scored(scores), codes)
    assert naive.predict(hc.Scored(scores), name) == pytest.approx(
        by_sklearn(name, scores, codes), abs=1e-9
    )


def test_area_of_two_classes_does_not_depend_on_the_shares():
    scores, codes = scored(800, (0.8, 0.2), 2)
    leap = accuracy.SLEAP(quantifier=hc.PACC()).fit(hc.Scored(scores), codes)
    new = [scored(500, (1 - share, share), 3)[0] for share in (0.1, 0.9)]
    areas = [leap.predict(hc.Scored(each), "auroc") for each in new]
    assert areas == pytest.approx([by_sklearn("auroc", scores, codes)] * 2)
    precisions = [leap.predict(hc.Scored(each), "average_precision") for each in new]
    assert precisions[0] < 0.6 < 0.9 < precisions[1]


@pytest.mark.parametrize("shares", [(0.3, 0.7), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "predictor",
    [
        accuracy.SLEAP(quantifier=hc.PACC()),
        accuracy.LEAP(quantifier=hc.KDEyML()),
        accuracy.CBPE(correction="prior", calibration="bcts"),
        accuracy.DoC(random_state=0),
    ],
)
def test_values_under_prior_shift(predictor, name, shares):
    known, y = scored(3000, shares[::-1], 4)
    new, truth = scored(3000, shares, 5)
    fitted = predictor.fit(hc.Scored(known), y)
    expected = by_sklearn(name, new, truth)
    # A line through samples of all shares is not more exact than that.
    near = 0.15 if isinstance(predictor, accuracy.DoC) else 0.05
    assert fitted.predict(hc.Scored(new), name) == pytest.approx(expected, abs=near)
    estimate = fitted.estimate(hc.Scored(new), name, replicates=400, random_state=0)
    low, high = estimate.interval(0.99)
    assert low - 0.01 <= expected <= high + 0.01
    assert isinstance(predictor, accuracy.DoC) or high - low < 0.15
    of_all = fitted.estimate(
        hc.Scored(new), name, estimand="expected", replicates=200, random_state=0
    )
    assert of_all.value == pytest.approx(expected, abs=2 * near)


def test_calibrated_posteriors_under_covariate_shift():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000) + np.repeat([0, 1.5], 2000)
    share = 1 / (1 + np.exp(-x))
    y = (rng.random(4000) < share).astype(int)
    cbpe = accuracy.CBPE(calibration="platt").fit(hc.Scored(share[:2000]), y[:2000])
    for name in NAMES:
        scores = np.column_stack([1 - share[2000:], share[2000:]])
        expected = by_sklearn(name, scores, y[2000:])
        assert cbpe.predict(hc.Scored(share[2000:]), name) == pytest.approx(expected, abs=0.03)


def test_what_ranks_nothing_is_refused():
    scores, codes = scored(200, (0.6, 0.4), 6)
    decided = accuracy.LEAP(quantifier=hc.ACC()).fit(hc.Verdicts(codes), codes)
    assert not decided.supports("auroc")
    with pytest.raises(HeadcountError, match="decisions alone"):
        decided.predict(hc.Verdicts(codes), "auroc")
    with pytest.raises(HeadcountError, match="gives no order"):
        accuracy.ATC().fit(hc.Scored(scores), codes).predict(hc.Scored(scores), "auroc")
    sleap = accuracy.SLEAP(quantifier=hc.PACC()).fit(hc.Scored(scores), codes)
    with pytest.raises(HeadcountError, match="not a function of the table"):
        sleap.estimate(hc.Scored(scores), "auroc", labelled=(np.arange(60), codes[:60]))
