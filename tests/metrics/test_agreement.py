"""Agreement of raters against scikit-learn and against sums over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from headcount.errors import HeadcountError
from headcount.metrics.agreement import agreement_statistics, corrected_by_holm, judge_bias


def ratings(n=300, K=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n)
    second = np.where(rng.random(n) < 0.3, rng.integers(0, K, n), truth)
    return np.column_stack([truth, second])


def values(codes, **settings):
    return {one.name: one.value for one in agreement_statistics(codes, **settings)}


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_that_of_scikit_learn(K, weights):
    codes = ratings(K=K, seed=K)
    name = "kappa" if weights is None else "weighted kappa"
    expected = cohen_kappa_score(codes[:, 0], codes[:, 1], weights=weights)
    assert values(codes, weights=weights)[name] == pytest.approx(expected)


def rated_units(codes):
    units = [[code for code in row if code >= 0] for row in codes.tolist()]
    return [row for row in units if len(row) > 1]


def slow_alpha(codes):
    """Krippendorff's alpha as its definition has it: disagreements in all pairs of ratings."""
    units = rated_units(codes)
    pool = [code for row in units for code in row]
    seen = sum(
        (row[i] != row[j]) / (len(row) - 1)
        for row in units
        for i in range(len(row))
        for j in range(len(row))
        if i != j
    )
    unlike = sum(one != other for one in pool for other in pool)
    return 1 - seen * (len(pool) - 1) / unlike


def slow_ac1(codes):
    """Gwet's AC1 by its definition."""
    units = rated_units(codes)
    classes = sorted({code for row in units for code in row})
    pairs = [
        np.mean([row[i] == row[j] for i in range(len(row)) for j in range(i)]) for row in units
    ]
    shares = [np.mean([row.count(label) / len(row) for row in units]) for label in classes]
    chance = sum(share * (1 - share) for share in shares) / (len(classes) - 1)
    return (np.mean(pairs) - chance) / (1 - chance)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_and_ac1_by_definition(seed):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([ratings(60, seed=seed), ratings(60, seed=seed)[:, 1]])
    codes[rng.random(codes.shape) < 0.15] = -1
    measured = values(codes)
    assert "kappa" not in measured
    assert measured["alpha"] == pytest.approx(slow_alpha(codes))
    assert measured["AC1"] == pytest.approx(slow_ac1(codes))


def test_published_example_of_alpha():
    # Krippendorff (2011), nominal data of four observers: alpha = 0.743.
    table = """
        1 2 3 3 2 1 4 1 2 . . .
        1 2 3 3 2 2 4 1 2 5 . 3
        . 3 3 3 2 3 4 2 2 5 1 .
        1 2 3 3 2 4 4 1 2 5 1 ."""
    rows = [line.split() for line in table.strip().splitlines()]
    codes = np.array([[-1 if cell == "." else int(cell) - 1 for cell in row] for row in rows]).T
    assert values(codes)["alpha"] == pytest.approx(0.743, abs=5e-4)


def test_intervals_cover():
    rng = np.random.default_rng(0)
    population = ratings(200_000, K=2, seed=9)
    truth = values(population)
    inside = dict.fromkeys(truth, 0)
    for _ in range(400):
        drawn = population[rng.integers(0, len(population), 120)]
        for one in agreement_statistics(drawn):
            low, high = one.interval()
            inside[one.name] += low <= truth[one.name] <= high
    assert all(0.92 <= count / 400 <= 0.99 for count in inside.values()), inside


def test_full_agreement_keeps_some_doubt():
    for one in agreement_statistics(np.repeat([[0, 0], [1, 1]], 20, axis=0)):
        low, high = one.interval()
        assert (one.value, high) == (1.0, 1.0)
        assert 0.7 < low < 0.97


def test_clusters_widen_intervals():
    codes = np.repeat(ratings(60), 5, axis=0)
    alone = agreement_statistics(codes)[1]
    clustered = agreement_statistics(codes, clusters=np.repeat(np.arange(60), 5))[1]
    assert clustered.value == pytest.approx(alone.value)
    assert clustered.error == pytest.approx(alone.error * np.sqrt(5), rel=0.05)


def test_bad_ratings():
    with pytest.raises(HeadcountError, match="at least two"):
        agreement_statistics([[0], [1]])
    with pytest.raises(HeadcountError, match="fewer than two items"):
        agreement_statistics([[0, 0], [1, -1]])
    with pytest.raises(HeadcountError, match="weights"):
        agreement_statistics(ratings(), weights="cubic")


def test_bias_of_a_judge():
    rng = np.random.default_rng(0)
    n = 600
    truth, length = rng.integers(0, 2, n), rng.normal(100, 20, n)
    position = rng.choice(["first", "second"], n)
    verdicts = rng.random(n) < 0.2 + 0.4 * truth + 0.25 * (position == "first")
    by_length, by_position = judge_bias(
        truth, verdicts, {"length": length, "position": position}
    )
    assert by_position.adjusted < 0.01
    assert by_position.effect == pytest.approx(0.25, abs=0.1)
    assert by_position.detail == "first against second"
    assert by_length.adjusted > 0.05
    with pytest.raises(HeadcountError, match="'length' has 3 entries"):
        judge_bias(truth, verdicts, {"length": [1, 2, 3]})


def test_a_covariate_that_only_follows_the_class_is_no_bias():
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 200)
        length = 100 * truth + rng.normal(0, 10, 200)
        verdicts = rng.random(200) < 0.1 + 0.7 * truth
        p_values.append(judge_bias(truth, verdicts, {"length": length})[0].p_value)
    assert np.mean(np.array(p_values) < 0.05) < 0.15


def test_items_without_a_covariate_are_left_out():
    rng = np.random.default_rng(0)
    truth, length = rng.integers(0, 2, 300), rng.normal(0, 1, 300)
    verdicts = (rng.random(300) < 0.3 + 0.4 * truth).astype(float)
    complete = judge_bias(truth[20:], verdicts[20:], {"length": length[20:]})[0]
    length[:20] = np.nan
    [bias] = judge_bias(truth, verdicts, {"length": length})
    assert (bias.effect, bias.p_value) == (complete.effect, complete.p_value)
    assert bias.detail.endswith("20 items without it left out")
    side = np.where(rng.random(300) < 0.5, "left", "right").astype(object)
    side[:20] = None
    assert "20 items without it" in judge_bias(truth, verdicts, {"side": side})[0].detail
    side[:] = None
    assert judge_bias(truth, verdicts, {"side": side})[0].p_value == 1


def test_holm_is_the_step_down_method():
    p_values = np.array([0.01, 0.2, 0.03, 0.5])
    assert corrected_by_holm(p_values) == pytest.approx([0.04, 0.4, 0.09, 0.5])
