from __future__ import annotations

import json

import numpy as np
import pytest

import headcount as hc
from headcount import HeadcountError
from headcount.estimates import Estimate
from headcount.estimates.labels.judge_rates import VerdictKinds, correct_verdicts, gold_codes

WRONG = {"bad": 0.1, "ok": 0.15}


def judged(truth, rng, wrong=WRONG):
    """Verdicts that are wrong with given probabilities."""
    errs = rng.random(len(truth)) < np.array([wrong[label] for label in truth])
    return np.where(errs, np.where(truth == "bad", "ok", "bad"), truth)


def items(n=2000, share=0.2, part=0.1, seed=0, wrong=WRONG):
    """Verdicts, gold labels of a random part, and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < share, "bad", "ok")
    gold = np.where(rng.random(n) < part, truth, "")
    return judged(truth, rng, wrong), gold, truth


def test_gold_of_the_target_corrects_the_verdicts():
    verdicts, gold, truth = items()
    result = correct_verdicts(verdicts, gold)
    (group,) = result.groups
    assert group.estimator == "labels"
    assert group.raw[0] == np.mean(verdicts == "bad")
    low, high = group.interval(0.999)["bad"]
    assert low < np.mean(truth == "bad") < high
    assert not low < group.raw[0] < high
    assert sum(group.prevalence.values()) == pytest.approx(1)
    assert (group.n_items, group.n_gold) == (2000, int((gold != "").sum()))
    assert isinstance(group, Estimate)
    assert group.basis == "labels"
    assert result.estimates["all"] is group
    assert "gold labels: shares behind these 2,000 items" in repr(group)
    assert np.abs(group.draws.mean(axis=0) - group.shares).max() < 0.01


def test_estimate_is_the_poststratified_mean():
    verdicts, gold, _ = items()
    expected = 0.0
    for verdict in ("bad", "ok"):
        own = (verdicts == verdict) & (gold != "")
        expected += np.mean(verdicts == verdict) * np.mean(gold[own] == "bad")
    (group,) = correct_verdicts(verdicts, gold).groups
    assert group.prevalence["bad"] == pytest.approx(expected)


def test_gold_may_be_drawn_by_verdict():
    """Half of the gold labels are of items with the rarer verdict."""
    found = []
    for seed in range(30):
        verdicts, _, truth = items(seed=seed, share=0.1)
        rng = np.random.default_rng(seed)
        gold = np.full(len(truth), "", truth.dtype)
        for verdict in ("bad", "ok"):
            rows = rng.choice(np.flatnonzero(verdicts == verdict), 100, replace=False)
            gold[rows] = truth[rows]
        result = correct_verdicts(verdicts, gold)
        found.append(result.groups[0].prevalence["bad"])
        assert "other verdicts than the rest" in result.groups[0].warnings[0]
    assert abs(np.mean(found) - 0.1) < 0.01


def test_calibration_set_corrects_by_error_rates():
    verdicts, _, truth = items(part=0)
    rng = np.random.default_rng(1)
    known = np.where(rng.random(400) < 0.5, "bad", "ok")
    calibration = (judged(known, rng), known)
    result = correct_verdicts(verdicts, np.full(2000, None), calibration=calibration)
    (group,) = result.groups
    assert group.estimator == "rates"
    assert "has no gold labels" in group.reason
    low, high = group.interval(0.999)["bad"]
    assert low < np.mean(truth == "bad") < high
    assert set(result.rates) == {"calibration"}


def test_both_kinds_of_labels_are_compared():
    verdicts, gold, _ = items()
    rng = np.random.default_rng(1)
    known = np.where(rng.random(400) < 0.5, "bad", "ok")
    same = correct_verdicts(verdicts, gold, calibration=(judged(known, rng), known))
    assert same.groups[0].estimator == "labels"
    assert same.groups[0].agreement.p_value > 0.01
    assert set(same.rates) == {"gold", "calibration"}
    other = judged(known, rng, {"bad": 0.5, "ok": 0.02})
    differing = correct_verdicts(verdicts, gold, calibration=(other, known))
    assert differing.groups[0].agreement.rejects()
    assert "The labels disagree with the error rates of the judge" in repr(differing)


def test_groups_and_their_differences():
    parts = [items(share=share, seed=seed) for seed, share in enumerate((0.1, 0.4))]
    verdicts, gold, truth = (np.concatenate(each) for each in zip(*parts, strict=True))
    by = np.repeat(["new", "old"], 2000)
    result = correct_verdicts(verdicts, gold, by=by)
    alone = correct_verdicts(verdicts[:2000], gold[:2000])
    np.testing.assert_allclose(result.groups[0].shares, alone.groups[0].shares)
    (pair,) = result.differences()
    assert (pair.first, pair.second) == ("new", "old")
    gap = np.mean(truth[:2000] == "bad") - np.mean(truth[2000:] == "bad")
    assert pair.low[0] < gap < pair.high[0] < 0
    np.testing.assert_allclose(pair.difference[0], -pair.difference[1])
    wide, narrow = result.differences(0.99)[0], result.differences(0.5)[0]
    assert (wide.low < narrow.low).all()
    assert (wide.high > narrow.high).all()


def test_groups_without_gold_learn_from_the_others():
    verdicts, gold, _ = items(3000)
    by = np.repeat(["a", "b", "c"], 1000)
    gold[by == "c"] = ""
    result = correct_verdicts(verdicts, gold, by=by)
    assert [group.estimator for group in result.groups] == ["labels", "labels", "rates"]
    assert "gold labels of the other groups" in result.groups[2].reason
    assert len(result.differences()) == 3
    both = correct_verdicts(verdicts, np.where(by == "a", gold, ""), by=by)
    assert [group.estimator for group in both.groups] == ["labels", "rates", "rates"]


def test_three_classes_and_a_verdict_of_its_own():
    rng = np.random.default_rng(0)
    truth = rng.choice(["a", "b", "c"], 3000, p=[0.5, 0.3, 0.2])
    verdicts = np.where(rng.random(3000) < 0.8, truth, rng.choice(["a", "b", "c"], 3000))
    verdicts = np.where(rng.random(3000) < 0.1, "unsure", verdicts)
    gold = np.where(rng.random(3000) < 0.15, truth, "")
    result = correct_verdicts(verdicts, gold)
    assert result.verdicts == ("a", "b", "c", "unsure")
    assert result.groups[0].verdict_shares is None
    ends = result.groups[0].interval(0.999)
    for label in "abc":
        assert ends[label][0] < np.mean(truth == label) < ends[label][1]
    assert result.rates_frame()["rate"].sum() == pytest.approx(3)


@pytest.mark.parametrize("whole", [False, True])
def test_numeric_scores(whole):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=3000)
    scores = rng.normal(2 * truth, 1)
    scores = np.round(scores * 10).astype(int) if whole else scores
    gold = np.where(rng.random(3000) < 0.1, truth, np.nan)
    result = correct_verdicts(scores, gold)
    assert len(result.verdicts) == 5
    assert result.classes.tolist() == [0, 1]
    low, high = result.groups[0].interval(0.999)[1]
    assert low < truth.mean() < high
    known = rng.integers(2, size=300)
    other = rng.normal(2 * known, 1) * (10 if whole else 1)
    rates = correct_verdicts(scores, np.full(3000, np.nan), calibration=(other, known))
    low, high = rates.groups[0].interval(0.999)[1]
    assert low < truth.mean() < high


def test_few_numbers_are_kinds_of_their_own():
    kinds = VerdictKinds.of([1, 2, 3, 2, 1])
    assert kinds.names == (1, 2, 3)
    assert kinds.codes([3, 1], "verdicts").tolist() == [2, 0]
    assert VerdictKinds.of(hc.Verdicts(["x", "y"])).names == ("x", "y")
    many = VerdictKinds.of(np.arange(100.0))
    assert many.names[0] == "below 19.8"
    assert np.bincount(many.codes(np.arange(100.0), "verdicts")).tolist() == [20] * 5


def test_gold_of_any_kind():
    classes, codes = gold_codes([1.0, np.nan, 0.0], "gold")
    assert classes.tolist() == [0, 1]
    assert codes.tolist() == [1, -1, 0]
    assert gold_codes([None, True, False], "gold")[1].tolist() == [-1, 1, 0]


def test_clusters_make_intervals_wider():
    rng = np.random.default_rng(0)
    conversation = np.repeat(np.arange(200), 10)
    truth = np.where(np.repeat(rng.random(200) < 0.3, 10), "bad", "ok")  # all alike
    verdicts = judged(truth, rng)
    gold = np.where(np.isin(conversation, rng.choice(200, 40, replace=False)), truth, "")
    plain = correct_verdicts(verdicts, gold).groups[0].interval()
    wide = correct_verdicts(verdicts, gold, clusters=conversation).groups[0].interval()
    assert wide.high[0] - wide.low[0] > 2 * (plain.high[0] - plain.low[0])


def test_shared_clusters_make_differences_more_certain():
    """Two systems answer the same prompts, and prompts are easy or hard for both."""
    rng = np.random.default_rng(0)
    hard = np.repeat(rng.random(300) < 0.5, 1)
    truth = np.where(np.tile(hard, 2) ^ (rng.random(600) < 0.05), "bad", "ok")
    verdicts = judged(truth, rng)
    prompts = np.tile(np.arange(300), 2)
    gold = np.where(prompts < 100, truth, "")
    by = np.repeat(["new", "old"], 300)
    apart = correct_verdicts(verdicts, gold, by=by).differences()[0]
    together = correct_verdicts(verdicts, gold, by=by, clusters=prompts).differences()[0]
    assert together.high[0] - together.low[0] < 0.95 * (apart.high[0] - apart.low[0])


def test_weights_and_estimands():
    verdicts, gold, truth = items()
    weights = np.where(truth == "bad", 3.0, 1.0)
    found = correct_verdicts(verdicts, gold, weights=weights).groups[0]
    low, high = found.interval(0.999)["bad"]
    assert low < weights[truth == "bad"].sum() / weights.sum() < high
    here = correct_verdicts(verdicts, gold, estimand="realised").groups[0].interval()
    behind = correct_verdicts(verdicts, gold).groups[0].interval()
    assert behind.high[0] - behind.low[0] > here.high[0] - here.low[0]


def test_text_frames_and_dict():
    verdicts, gold, _ = items(3000)
    by = np.repeat(["a", "b"], 1500)
    result = correct_verdicts(verdicts, gold, by=by, positive="bad")
    text = repr(result)
    assert text.startswith("Corrected rates of 3,000 items")
    assert "a - b" in text
    assert "verdict bad" in text
    assert text.count(" bad ") >= 3
    assert " ok  " not in text.splitlines()[2]
    assert "<table" in result._repr_html_()
    frame = result.to_frame()
    assert frame.columns == [
        "group", "class", "share", "low", "high", "raw", "items", "gold", "estimator",
    ]  # fmt: skip
    assert frame.height == 4
    assert result.differences_frame().height == 2
    assert result.rates_frame().height == 4
    plain = json.loads(json.dumps(result.to_dict(0.9)))
    assert plain["level"] == 0.9
    assert plain["groups"][0]["estimator"] == "labels"
    assert len(plain["differences"]) == 2
    assert result.plot() is not None
    assert correct_verdicts(verdicts, gold).plot() is not None


def test_verdicts_with_few_labels_join_others():
    verdicts, gold, truth = items()
    verdicts = verdicts.astype("<U6")
    verdicts[:20] = "unsure"
    gold[:20] = ""
    gold[0] = truth[0]
    ends = correct_verdicts(verdicts, gold).groups[0].interval(0.999)
    assert ends["bad"][0] < np.mean(truth == "bad") < ends["bad"][1]


def test_all_gold_labels_alike():
    verdicts, gold, _ = items()
    gold[gold == "bad"] = "ok"
    gold[np.flatnonzero(gold == "ok")[0]] = "bad"
    ends = correct_verdicts(verdicts, gold).groups[0].interval()
    assert (ends.high > ends.low).all()


@pytest.mark.parametrize("seed", range(3))
def test_coverage(seed):
    """About 95% of the intervals contain the rate of the population."""
    inside = []
    for number in range(200):
        verdicts, gold, _ = items(1000, 0.2, 0.15, seed=[seed, number])
        low, high = correct_verdicts(verdicts, gold).groups[0].interval()["bad"]
        inside.append(low <= 0.2 <= high)
    assert 0.9 <= np.mean(inside) <= 0.995


V, G = ["x", "y", "x", "y"], ["a", "b", "", ""]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((V, [None] * 4), "gold is empty: label a random part of the items, or pass a calib"),
        ((V, ["a", "b", "a", "b"]), "`gold` is filled in for all 4 items, so there is noth"),
        ((V, ["a", "", "", ""]), "gold has the single class 'a'"),
        ((V, ["a", "b"]), "gold has 2 values, but there are 4 verdicts"),
        ((V, G, {"by": ["m"]}), "by has 1 values, but there are 4 verdicts"),
        ((V, G, {"clusters": ["c"]}), "clusters has 1 values"),
        ((V, G, {"positive": "z"}), "positive is 'z'; it must be one of the classes"),
        ((V, G, {"calibration": "cal.csv"}), "calibration is a str; it must be a pair"),
        ((V, G, {"calibration": (["x", "y"], ["a"])}), "gold of calibration has 1 values"),
        ((V, G, {"calibration": (["x", "y"], ["a", ""])}), "gold of calibration misses 1 of 2"),
        ((V, G, {"calibration": (["x", "y"], ["a", "a"])}), "no item of class 'b'"),
        (
            (V, G, {"calibration": (["x", "x"], ["a", "b"])}),
            "verdict 'y' is given to 2 items, but to none of calibration",
        ),
        (
            (V, ["a", "a", "b", ""], {"by": ["m", "m", "n", "n"]}),
            "group 'n' has 1 gold labels for 2 classes: label at least 2 of its items",
        ),
        ((V, G, {"estimand": "mean"}), "estimand is 'mean'"),
        ((V, G, {"clusters": ["c"] * 4}), "all gold labels of a group are from one cluster"),
        ((["x", None, "y", "y"], G), "verdicts misses 1 of 4 labels"),
        ((np.r_[np.arange(19.0), np.inf], G * 5), "verdicts has infinite scores"),
        (([f"text {i}" for i in range(60)], G * 15), "has 60 different texts, but"),
        ((list("xy") * 60, [*map(str, range(119)), ""]), "at most 50 classes make sense"),
    ],
)
def test_bad_calls(given, message):
    verdicts, gold, *more = given
    with pytest.raises(HeadcountError, match=message):
        correct_verdicts(verdicts, gold, **(more[0] if more else {}))


@pytest.mark.parametrize("n_labels", [0, 1, 2])
def test_a_verdict_that_nobody_labelled_leaves_its_items_open(n_labels):
    """People check failures only: nothing is known about the items that passed."""
    rng = np.random.default_rng(n_labels)
    truth = np.where(rng.random(1000) < 0.69, "ok", "bad")
    verdicts = judged(truth, rng)
    gold = np.full(1000, None)
    failed, passed = np.flatnonzero(verdicts == "bad"), np.flatnonzero(verdicts == "ok")
    for rows in (rng.choice(failed, 100, False), rng.choice(passed, n_labels, False)):
        gold[rows] = truth[rows]
    (group,) = correct_verdicts(verdicts, gold).groups
    low, high = group.interval()["ok"]
    assert low < 0.69 < high
    part = len(passed) / 1000
    assert high - low > (part if n_labels < 2 else 0.25)
    assert len(group.warnings) == 1
    if n_labels < 2:
        assert "label some of them at random" in group.warnings[0]
        assert group.posterior.draws[:, 1].std() * 3.92 > part / 2


def test_a_rare_verdict_without_labels_is_bad_luck():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(1000) < 0.7, "ok", "bad")
    verdicts = judged(truth, rng).astype(object)
    verdicts[:5] = "unsure"
    gold = np.full(1000, None)
    rows = rng.choice(np.arange(5, 1000), 100, False)
    gold[rows] = truth[rows]
    (group,) = correct_verdicts(verdicts, gold).groups
    assert group.warnings == ()
    assert np.diff(group.interval()["ok"])[0] < 0.2
