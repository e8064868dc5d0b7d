"""Share of one class of which alone there are labelled items."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning

RNG = np.random.default_rng(0)
OWN, MORE = RNG.normal(size=(1000, 4)), RNG.normal(size=(1000, 4))
OTHERS = RNG.normal(3.0, 1.0, size=(1000, 4))


def mixture(share, n=1000, others=OTHERS):
    own = round(share * n)
    return np.concatenate([MORE[:own], others[: n - own]])


def test_thresholds_by_hand():
    quantifier = hc.PAT(quantiles=(0.5, 0.6), random_state=0).fit(OWN)
    X = mixture(0.4)
    shares = []
    for detector, known in quantifier.folds_:
        ranks = np.array(
            [(np.sum(known < s) + np.sum(known <= s) + 1) / (2 * len(known) + 2)
             for s in detector.score_samples(X)]
        )  # fmt: skip
        shares.append([np.mean(ranks >= q) for q in np.linspace(0.5, 0.6, 11)])
    above = np.mean(shares, axis=0)
    expected = np.minimum(above / (1 - np.linspace(0.5, 0.6, 11)), 1).mean()
    assert quantifier.predict(X)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_distant_others_are_not_counted(share):
    X = mixture(share)
    for quantifier in (
        hc.PAT(random_state=0).fit(OWN),
        hc.PAT(IsolationForest(random_state=0), random_state=0).fit(OWN),
        hc.TCPU(0.5, random_state=0).fit(OWN, unlabelled=mixture(0.5)[::-1]),
    ):
        assert quantifier.predict(X)[0] == pytest.approx(share, abs=0.1)
        low, high = quantifier.estimate(X, random_state=0).interval(0.95)["positive"]
        assert low - 0.005 <= share <= high + 0.005


def test_others_like_the_class_are_in_the_interval_of_pat():
    alike = RNG.normal(0.5, 1.0, size=(1000, 4))
    X = mixture(0.3, others=alike)
    estimate = hc.PAT(random_state=0).fit(OWN).estimate(X, random_state=0)
    low, high = estimate.interval()["positive"]
    assert estimate.raw[0] > 0.5
    assert low < 0.3 < high


def test_the_projection_by_hand():
    unlabelled = mixture(0.5)
    quantifier = hc.TCPU(0.5, n_projections=50, random_state=0).fit(OWN, unlabelled=unlabelled)
    own, mixed, new = (quantifier._embed(part) for part in (OWN, unlabelled, mixture(0.8)))

    def product(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    def noise(rows):
        return rows.var(axis=0, ddof=1).sum() / len(rows)

    P, U, T = own.mean(axis=0), mixed.mean(axis=0), new.mean(axis=0)
    length = product(U - P, U - P) - noise(own) - noise(mixed)
    expected = 1 - 0.5 * (product(T - P, U - P) - noise(own)) / length
    assert quantifier.predict(mixture(0.8))[0] == pytest.approx(expected, abs=1e-9)


def test_the_source_share_is_estimated():
    quantifier = hc.TCPU(random_state=0).fit(OWN, unlabelled=mixture(0.5))
    assert quantifier.source_share_ == pytest.approx(0.5, abs=0.06)
    given = hc.TCPU(0.5, random_state=0).fit(OWN, unlabelled=mixture(0.5))
    width = [
        np.ptp(q.estimate(mixture(0.2)).interval()["positive"]) for q in (given, quantifier)
    ]
    assert width[0] < width[1]


@pytest.mark.parametrize(
    ("quantifier", "message"),
    [
        (hc.PAT(quantiles=(0.7, 0.2)), "^quantiles is"),
        (hc.PAT(quantiles=0.5), "^quantiles is"),
        (hc.PAT(cv=1), "^cv is 1"),
        (hc.PAT(cv=600), "^X has 1000 items of the class"),
        (hc.TCPU(1.0), "^source_share is 1; it must be below 1"),
        (hc.TCPU(-0.1), "^source_share is -0.1"),
        (hc.TCPU(0.5, bandwidth=0), "^bandwidth is 0"),
        (hc.TCPU(0.5, n_projections=0), "^n_projections is 0"),
    ],
)
def test_bad_parameters(quantifier, message):
    with pytest.raises(HeadcountError, match=message):
        quantifier.fit(OWN, unlabelled=mixture(0.5))


def test_bad_unlabelled_items():
    with pytest.raises(HeadcountError, match=r"^unlabelled is None, but TCPU"):
        hc.TCPU(0.5).fit(OWN)
    with pytest.raises(HeadcountError, match=r"^unlabelled has 3 features, but X has 4"):
        hc.TCPU(0.5).fit(OWN, unlabelled=OTHERS[:, :3])
    with pytest.raises(HeadcountError, match=r"^prior is for PAT"):
        hc.TCPU(0.5).fit(OWN, unlabelled=OTHERS).estimate(OTHERS, prior=1.0)
    with pytest.warns(HeadcountWarning, match=r"hardly differ from those of the class"):
        hc.TCPU(0.9, random_state=0).fit(OWN, unlabelled=OWN)
