"""Several judges, means, slices, sequential intervals, comparisons and plans."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.estimates.labels.difference import ConfidenceSequence
from headcount.estimates.labels.judge_rates import correct_verdicts
from headcount.tables.judges import cost_plan, next_labels


def answers(rng, n=1000, rate=0.7, errors=(0.3, 0.1)):
    truth = (rng.random(n) < rate).astype(int)
    wrong = rng.random(n) < np.where(truth == 1, errors[1], errors[0])
    return truth, np.where(wrong, 1 - truth, truth)


def some(rng, truth, n):
    """Gold labels of n random items, None of the others."""
    gold = np.full(len(truth), None, object)
    rows = rng.permutation(len(truth))[:n]
    gold[rows] = truth[rows]
    return gold


def test_several_judges_cover_and_are_shorter_than_each():
    inside, widths = 0, []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        truth, first = answers(rng)
        second = np.where(rng.random(1000) < 0.2, 1 - truth, truth)
        gold = some(rng, truth, 150)
        both = correct_verdicts({"first": first, "second": second}, gold, estimand="realised")
        low, high = both.groups[0].interval()[1]
        inside += low <= truth.mean() <= high
        [one, two] = both.contributions
        widths.append([one[1], two[1], one[3], high - low])
    assert 0.9 <= inside / 120 <= 0.99
    alone_first, alone_second, together, width = np.mean(widths, axis=0)
    assert together < min(alone_first, alone_second)
    assert width == pytest.approx(together, rel=0.1)


def test_a_judge_that_guesses_adds_nothing():
    rng = np.random.default_rng(3)
    truth, first = answers(rng, 3000)
    coin = rng.integers(0, 2, 3000)
    result = correct_verdicts({"first": first, "coin": coin}, some(rng, truth, 600))
    by_name = {contribution[0]: contribution for contribution in result.contributions}
    _, alone, others, everyone = by_name["coin"]
    assert alone > 1.2 * everyone
    assert others == pytest.approx(everyone, rel=0.03)
    assert "interval length with" in str(result)


@pytest.mark.parametrize("n_gold", [40, 150])
def test_means_cover(n_gold):
    inside, widths = 0, []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        quality = rng.beta(4, 2, 800)
        human = np.round(1 + 9 * np.clip(quality + rng.normal(0, 0.1, 800), 0, 1), 1)
        score = np.round(np.clip(quality**2 + rng.normal(0, 0.05, 800), 0, 1), 3)
        gold = np.full(800, np.nan)
        rows = rng.permutation(800)[:n_gold]
        gold[rows] = human[rows]
        result = correct_verdicts(score, gold, scale=(1, 10), estimand="realised")
        [row] = result.to_frame().rows(named=True)
        inside += row["low"] <= human.mean() <= row["high"]
        widths.append((row["high"] - row["low"]) / (2 * 1.96 * human[rows].std() / n_gold**0.5))
    assert 0.91 <= inside / 150 <= 1
    assert np.mean(widths) < (0.75 if n_gold == 150 else 0.95)


def test_means_of_few_low_numbers_cover():
    inside = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth, verdicts = answers(rng, 800, 0.95)
        human = np.where(truth == 1, 10.0, rng.integers(1, 4, 800))
        gold = np.full(800, np.nan)
        rows = rng.permutation(800)[:60]
        gold[rows] = human[rows]
        result = correct_verdicts(verdicts, gold, scale=(1, 10), estimand="realised")
        [row] = result.to_frame().rows(named=True)
        inside += row["low"] <= human.mean() <= row["high"]
    assert inside / 150 >= 0.92


def test_means_are_the_default_for_many_numbers():
    rng = np.random.default_rng(0)
    score = rng.random(500).round(2)
    gold = np.where(np.arange(500) < 100, (10 * score).round(1), np.nan)
    result = correct_verdicts(score, gold)
    assert result.scale == (gold[:100].min(), gold[:100].max())
    assert "Corrected mean" in str(result)
    assert "mean" in result.to_frame().columns
    with pytest.raises(HeadcountError, match="a mean has no classes"):
        correct_verdicts(score, gold, positive=1)
    with pytest.raises(HeadcountError, match="not on the scale from 0 to 5"):
        correct_verdicts(score, gold, scale=(0, 5))
    with pytest.raises(HeadcountError, match="gold has texts"):
        correct_verdicts(score, np.where(gold == gold, "ok", None), mean=True)


def test_slices_that_differ_are_named():
    rng = np.random.default_rng(0)
    parts = [answers(rng, 500, errors=errors) for errors in ((0.05, 0.05), (0.5, 0.1))]
    truth, verdicts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    by = np.repeat(["easy", "hard"], 500)
    result = correct_verdicts(verdicts, some(rng, truth, 300), by=by)
    assert result.slices.differ
    assert "error rates differ between groups" in str(result)
    alike = correct_verdicts(verdicts, some(rng, truth, 300), by=rng.permutation(by))
    assert not alike.slices.differ
    assert "do not clearly differ" in str(alike)


def test_slices_are_rarely_blamed_for_chance():
    blamed = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        truth, verdicts = answers(rng, 400)
        by = rng.choice(list("abcd"), 400)
        blamed += correct_verdicts(verdicts, some(rng, truth, 200), by=by).slices.differ
    assert blamed <= 10


def test_a_group_without_gold_gets_an_interval_that_allows_for_other_errors():
    # The judge errs differently in each group; the last has no gold labels of its own.
    inside, naive = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth, verdicts, by = [], [], []
        for g in range(8):
            error = rng.beta(2, 6), rng.beta(2, 12)
            one, judged = answers(rng, 400, 0.6, error)
            truth.append(one)
            verdicts.append(judged)
            by += [f"g{g}"] * 400
        truth, verdicts, by = np.concatenate(truth), np.concatenate(verdicts), np.array(by)
        gold = np.where((rng.random(len(truth)) < 0.25) & (by != "g7"), truth, None)
        group = correct_verdicts(verdicts, gold, by=by).groups[-1]
        low, high = group.interval()[1]
        inside += low <= 0.6 <= high
        is_gold = np.not_equal(gold, None)
        pooled = correct_verdicts(
            verdicts[by == "g7"], [None] * 400, calibration=(verdicts[is_gold], gold[is_gold])
        ).groups[0]
        low, high = pooled.interval()[1]
        naive += low <= 0.6 <= high
    assert inside / 60 >= 0.88
    assert inside > naive


def test_differences_hold_at_once_and_ranks_contain_the_truth():
    rates = {"a": 0.6, "b": 0.62, "c": 0.7, "d": 0.8}
    together = ranked = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        parts = [answers(rng, 400, rate) for rate in rates.values()]
        truth, verdicts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        by = np.repeat(list(rates), 400)
        result = correct_verdicts(verdicts, some(rng, truth, 500), by=by)
        together += all(
            pair.low[1] <= rates[pair.first] - rates[pair.second] <= pair.high[1]
            for pair in result.differences()
        )
        places = {"d": 1, "c": 2, "b": 3, "a": 4}
        ranked += all(rank.best <= places[rank.group] <= rank.worst for rank in result.ranks())
    assert together >= 90
    assert ranked >= 90


def test_ranks_need_one_class():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    by = np.repeat(list("abc"), 200)
    result = correct_verdicts(truth, some(rng, truth, 200), by=by)
    assert "ranks" not in result.named_tables()
    assert (
        "ranks"
        in correct_verdicts(truth, some(rng, truth, 200), by=by, positive=1).named_tables()
    )


def slow_capital(values, verdicts, sizes, share):
    """Largest capital so far against one share, label by label in plain Python."""
    total, counts, sums = sum(sizes), [0] * len(sizes), [0.0] * len(sizes)
    up = down = 0.0
    best, squares = -np.inf, 0.0
    for t, (value, verdict) in enumerate(zip(values, verdicts, strict=True)):
        overall = (sum(sums) + 1 / 2) / (t + 1)
        predicted = [(s + 2 * overall) / (c + 2) for s, c in zip(sums, counts, strict=True)]
        left = [n - c for n, c in zip(sizes, counts, strict=True)]
        expected = sum(n * p for n, p in zip(left, predicted, strict=True)) / sum(left)
        mean = (total * share - sum(sums)) / sum(left)
        if not -1e-9 <= mean <= 1 + 1e-9:
            return np.inf
        mean = min(max(mean, 0), 1)
        residual = value - predicted[verdict]
        gain = residual - (mean - expected)
        variance = (0.25 + squares) / (t + 1)
        bet = np.sqrt(2 * np.log(2 / 0.05) / (variance * (t + 1) * np.log1p(t + 1)))
        lowest = max(predicted) + mean - expected
        highest = 1 - min(predicted) - mean + expected
        up += np.log1p(min(bet, 0.5 / max(lowest, 1e-9)) * gain)
        down += np.log1p(-min(bet, 0.5 / max(highest, 1e-9)) * gain)
        best = max(best, np.logaddexp(up, down) - np.log(2))
        squares += residual**2
        counts[verdict] += 1
        sums[verdict] += value
    return best


def test_capital_by_plain_sums():
    rng = np.random.default_rng(0)
    truth, verdicts = answers(rng, 300)
    rows = rng.permutation(300)[:60]
    outcomes = np.column_stack([1 - truth, truth])[rows].astype(float)
    sizes = np.bincount(verdicts)
    sequence = ConfidenceSequence.of(outcomes, verdicts[rows], sizes)
    for place in (0, 300, 600, 700, 900, 1000):
        slow = slow_capital(outcomes[:, 1], verdicts[rows], sizes.tolist(), place / 1000)
        assert sequence.capital[1, place] == pytest.approx(slow, rel=1e-9)


def test_sequential_intervals_hold_at_all_times():
    missed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth, verdicts = answers(rng, 600)
        order = rng.permutation(600)[:200]
        outcomes = np.column_stack([1 - truth, truth])[order].astype(float)
        sizes = np.bincount(verdicts)
        missed += any(
            not low[1] <= truth.mean() <= high[1]
            for n in range(5, 201, 15)
            for low, high in [
                ConfidenceSequence.of(outcomes[:n], verdicts[order[:n]], sizes).ends(0.95)
            ]
        )
    assert missed <= 14


def test_sequential_by_the_order_of_labels():
    rng = np.random.default_rng(0)
    truth, verdicts = answers(rng, 1000)
    gold, order = np.full(1000, None, object), np.full(1000, None, object)
    rows = rng.permutation(1000)[:200]
    gold[rows], order[rows] = truth[rows], np.arange(200)
    once = correct_verdicts(verdicts, gold, estimand="realised")
    always = correct_verdicts(verdicts, gold, estimand="realised", order=order)
    (low, high), (first, last) = always.groups[0].interval()[1], once.groups[0].interval()[1]
    assert low < truth.mean() < high
    assert last - first < high - low < 3 * (last - first)


def test_plan_has_the_variance_asked_for_at_least_cost():
    plan = cost_plan(0.21, 0.07, 0.03, judge_price=0.01, human_price=1.0)
    variance = 0.07 / plan.n_gold + 0.14 / plan.n_items
    assert 1.96 * variance**0.5 == pytest.approx(0.03, rel=0.01)
    for factor in (0.8, 0.9, 1.1, 1.25):
        n_gold = plan.n_gold * factor
        rest = (0.03 / 1.96) ** 2 - 0.07 / n_gold
        if rest > 0:
            assert n_gold + 0.01 * 0.14 / rest >= plan.cost * 0.999
    assert "judge 4,823 items and label 342" in plan.sentence()
    assert (
        "labels alone are cheapest"
        in cost_plan(0.2, 0.2, 0.05, judge_price=1, human_price=1).sentence()
    )
    with pytest.raises(HeadcountError, match="judge_price is 0"):
        cost_plan(0.2, 0.1, 0.05, judge_price=0, human_price=1)


def test_next_labels_go_where_verdicts_say_least():
    items, labelled = np.array([[500, 500], [500, 500]]), np.full((2, 2), 20)
    outcomes = np.array([[[10, 10], [1, 19]], [[1, 19], [1, 19]]])
    added = next_labels(items, labelled, outcomes, 50)
    assert added.sum() == 50
    assert added[0, 0] > added.ravel()[1:].max()
    full = next_labels(np.array([[25, 20]]), np.array([[20, 20]]), outcomes[:1], 50)
    assert full.tolist() == [[5, 0]]


def table(rng, n=900):
    truth, first = answers(rng, n)
    named = np.array(["fail", "pass"])
    second = np.where(rng.random(n) < 0.15, 1 - truth, truth)
    gold = some(rng, truth, 250)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "model": rng.choice(["x", "y", "z"], n),
            "gpt judge": named[first],
            "other judge": named[second],
            "human": [None if label is None else str(named[label]) for label in gold],
            "length": rng.integers(10, 500, n),
        }
    )


def test_judge_of_a_table_has_disagreements_next_labels_and_a_plan():
    items = table(np.random.default_rng(0))
    result = hc.judge(items, verdict="gpt judge", gold="human", by="model", covariate="length")
    wrong = result.disagreements
    assert (wrong["gpt judge"] != wrong["human"]).all()
    at_first = items[int(wrong["row"][0]) - 1]
    assert at_first["human"].item() == wrong["human"][0]
    assert sum(line.labels for line in result.next_labels) == 100
    assert result.biases[0].covariate == "length"
    plan = result.plan(0.02, judge_price=0.01, human_price=1)
    assert 0 < plan.n_gold < plan.n_alone
    assert set(result.to_dict()) >= {"disagreements", "next_labels", "plan"}
    both = hc.judge(items, verdict=["gpt judge", "other judge"], gold="human")
    assert [contribution[0] for contribution in both.contributions] == [
        "gpt judge", "other judge"
    ]  # fmt: skip


def test_columns_are_found_or_asked_for():
    items = table(np.random.default_rng(1))
    with pytest.raises(
        HeadcountError, match="several columns may be it: gpt judge, other judge"
    ):
        hc.judge(items, gold="human")
    alone = items.drop("other judge")
    assert "verdict gpt judge, gold human" in hc.judge(alone).data_facts["Columns"]
    with pytest.raises(HeadcountError, match="`gold` is needed"):
        hc.judge(alone.drop("human"))
    with pytest.raises(HeadcountError, match="names a column twice"):
        hc.judge(items, verdict=["gpt judge"] * 2, gold="human")
    with pytest.raises(HeadcountError, match="two columns"):
        hc.judge(items, verdict="human", gold="human")
    with pytest.raises(HeadcountError, match="plan needs gold labels"):
        hc.judge(
            alone.drop("human"), verdict="gpt judge", gold="human",
            calibration=alone.drop_nulls("human"),
        ).plan(0.02, judge_price=1, human_price=2)  # fmt: skip


def test_a_verdict_that_no_gold_label_has_agrees_with_none():
    rng = np.random.default_rng(0)
    gold = rng.choice(["pass", "fail"], 400)
    verdicts = np.where(rng.random(400) < 0.1, "unsure", gold)
    length = rng.normal(size=400)
    length[0] = np.nan
    given = np.where(np.arange(400) < 300, gold, None).tolist()
    frame = pl.DataFrame({"judge": verdicts, "gold": given, "length": length})
    result = hc.judge(frame, verdict="judge", gold="gold", covariate="length")
    agreement = {item.name: item.value for item in result.agreements["judge"]}["agreement"]
    assert agreement == pytest.approx((verdicts == gold)[:300].mean())
    assert "1 item without it" in result.biases[0].detail
