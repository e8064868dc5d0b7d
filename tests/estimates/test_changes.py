from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from headcount.errors import HeadcountError
from headcount.estimates import changes as module
from headcount.estimates.changes import Changes, _ComparedFeatures, find_changes
from headcount.estimates.column_features import code_column, features_of
from headcount.metrics.agreement import corrected_by_holm
from tests.oracle import changes as oracle


def items(n, shares, rng, *, moved=0.0, names=("a", "b", "c", "d")):
    """Numbers that depend on the class, one that does not, and a category."""
    codes = rng.choice(len(shares), n, p=shares)
    columns = {name: rng.normal(codes * (i + 1) / 3) for i, name in enumerate(names)}
    columns["plain"] = rng.normal(moved, 1, n)
    odds = np.array([[6, 3, 1], [2, 3, 5], [1, 8, 1], [3, 3, 4]])[codes] / 10
    columns["kind"] = np.array(["x", "y", "z"])[
        (rng.random(n)[:, None] > odds.cumsum(axis=1)).sum(axis=1).clip(max=2)
    ]
    return columns, codes


def comparison_of(old, codes, new, shares=None):
    coded = [code_column(n, pl.Series(old[n]), pl.Series(new[n]), is_text=False) for n in old]
    n_new = len(next(iter(new.values())))
    return coded, _ComparedFeatures.of(features_of(coded), codes, n_new, shares, 0)


@pytest.mark.parametrize("K", [2, 3, 4])
def test_known_shares_against_the_oracle(K):
    rng = np.random.default_rng(K)
    shares = rng.dirichlet(np.full(K, 3))
    old, codes = items(400, np.full(K, 1 / K), rng)
    new, _ = items(300, shares, rng, moved=0.3)
    coded, comparison = comparison_of(old, codes, new, shares)
    fit = comparison.fit(np.ones(comparison.n_features, np.bool_))
    for j, column in enumerate(coded):
        levels = range(len(column.numbered.labels))
        statistic, expected = oracle.misfit_of_known_shares(
            column.numbered.old, codes, column.numbered.new, levels, shares, 0.02
        )
        assert_allclose(fit.statistics[j], statistic, rtol=1e-6)
        assert_allclose(fit.expected[0][j][: len(expected)], expected, atol=1e-12)
    assert_allclose(fit.shares, shares)


@pytest.mark.parametrize("K", [2, 3])
def test_fitted_shares_against_the_oracle(K):
    rng = np.random.default_rng(K)
    old, codes = items(500, np.full(K, 1 / K), rng)
    new, _ = items(400, rng.dirichlet(np.full(K, 3)), rng)
    coded, comparison = comparison_of(old, codes, new)
    active = np.ones(comparison.n_features, np.bool_)
    active[1] = False
    fit = comparison.fit(active)
    block, prior = comparison.blocks[0], (comparison.prior_mean, comparison.prior_covariance)
    # The last step of the fit uses the variances of the shares of the step before.
    steps = module._STEPS
    for j, column in enumerate(coded):
        others = active.copy()
        others[j] = False
        weights = block.weights * others[:, None, None]
        scores = np.array(
            [
                sum(
                    np.append(weights[i], np.zeros((1, K - 1)), axis=0)[
                        other.numbered.old[row]
                        if other.numbered.old[row] < len(other.numbered.labels) - 1
                        else -1
                    ]
                    for i, other in enumerate(coded)
                )
                for row in range(len(codes))
            ]
        )
        before = _shares_before_last(comparison, active, steps)
        means = block.class_scores[others].sum(axis=0), block.new_scores[others].sum(axis=0)
        statistic, expected = oracle.misfit_of_scores(
            column.numbered.old,
            codes,
            column.numbered.new,
            range(len(column.numbered.labels)),
            scores,
            (*means, before),
            prior,
            0.02,
        )
        assert_allclose(fit.statistics[j], statistic, rtol=0.02)
        assert_allclose(fit.expected[0][j][: len(expected)], expected, atol=1e-7)


def _shares_before_last(comparison, active, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_STEPS", steps - 1)
        return comparison.fit(active).shares


def test_scores_of_labelled_items_are_out_of_fold():
    # Columns of noise separate the classes in the sample, but not out of fold.
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 100)
    old = {str(i): rng.normal(size=200) for i in range(60)}
    new = {name: rng.normal(size=300) for name in old}
    _, comparison = comparison_of(old, codes, new)
    scores = comparison.blocks[0].class_scores.sum(axis=0)[0]
    assert abs(scores[1] - scores[0]) < 0.5
    assert find_changes(old, codes, new).changed == ()


def test_adjustment_of_p_values_against_the_oracle():
    p_values = np.random.default_rng(0).random(12) ** 4
    assert_allclose(corrected_by_holm(p_values), oracle.holm(p_values.tolist()))


@pytest.mark.parametrize("K", [2, 3])
def test_another_mix_alone_is_not_blamed(K):
    rng = np.random.default_rng(K)
    blamed = 0
    for _ in range(60):
        old, codes = items(600, np.full(K, 1 / K), rng)
        new, _ = items(500, rng.dirichlet(np.ones(K)), rng)
        blamed += bool(find_changes(old, codes, new).changed)
    assert blamed <= 6  # of 60; seven or more have a probability of 3% at the level of 5%


@pytest.mark.parametrize("column", ["a", "d", "plain"])
@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.2, 0.5, 0.3)])
def test_one_changed_column_among_another_mix(column, shares):
    rng = np.random.default_rng(10 + len(shares))
    old, codes = items(2000, np.full(len(shares), 1 / len(shares)), rng)
    new, _ = items(1500, shares, rng)
    new[column] = new[column] + 0.6
    changes = find_changes(old, codes, new)
    assert changes.changed == (column,)
    first = changes.columns[0]
    assert first.means[1] - first.means[0] == pytest.approx(0.6, abs=0.15)
    assert 0.1 < first.size < 0.4
    assert_allclose(changes.shares, shares, atol=0.1)
    assert column in changes.sentence


def test_the_most_telling_column_is_blamed_and_not_the_others():
    # It determines the shares if it is believed: then all other columns look changed.
    rng = np.random.default_rng(0)

    def table(n, share, moved):
        codes = (rng.random(n) < share).astype(int)
        weak = {f"weak {i}": rng.normal(0.7 * codes) for i in range(6)}
        return {"strong": rng.normal(4 * codes + moved)} | weak, codes

    old, codes = table(3000, 0.5, 0)
    new, _ = table(3000, 0.3, 1.5)
    assert find_changes(old, codes, new).changed == ("strong",)


def test_a_new_value_and_missing_values():
    rng = np.random.default_rng(0)
    old, codes = items(1000, (0.5, 0.5), rng)
    new, _ = items(1000, (0.2, 0.8), rng)
    new["kind"] = np.where(rng.random(1000) < 0.1, "unheard", new["kind"])
    new["a"] = np.where(rng.random(1000) < 0.1, np.nan, new["a"])
    changes = find_changes(old, codes, new)
    assert set(changes.changed) == {"kind", "a"}
    rows = {row.column: row for row in changes.columns}
    assert rows["kind"].direction.startswith("“unheard” 0.0% → ")
    assert rows["kind"].direction.endswith("never seen in training")
    assert not rows["kind"].largest.in_training
    assert rows["a"].direction.startswith("missing 0.0% → ")


def test_rare_values_that_are_all_different_are_not_blamed():
    rng = np.random.default_rng(0)
    old, codes = items(1000, (0.5, 0.5), rng)
    new, _ = items(1000, (0.2, 0.8), rng)
    # Half of the new values are not in the labelled items, as half of theirs are unique.
    for columns in (old, new):
        columns["city"] = rng.zipf(1.3, 1000).clip(max=10**6).astype(str)
    assert find_changes(old, codes, new).changed == ()
    new["city"] = np.array([f"town {i}" for i in range(1000)])
    assert find_changes(old, codes, new).changed == ("city",)


def test_values_that_are_missing_in_the_sample_for_covariances(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ITEMS", 0)  # the least number: 200 of each class
    rng = np.random.default_rng(0)
    blamed = 0
    for _ in range(20):
        old, codes = items(4000, (0.5, 0.5), rng)
        new, _ = items(4000, (0.2, 0.8), rng)
        for columns in (old, new):
            columns["rare"] = rng.choice(12, 4000, p=[0.945] + [0.005] * 11).astype(str)
        blamed += bool(find_changes(old, codes, new).changed)
    assert blamed <= 3


def reviews(n, share, rng, extra=0.0):
    bad = rng.random(n) < share
    words = np.array(["late", "broken", "refund", "fast", "lovely", "thanks", "box", "shop"])
    odds = np.where(bad[:, None], [3, 3, 3, 1, 1, 1, 2, 2], [1, 1, 1, 3, 3, 3, 2, 2]) / 16
    texts = [" ".join(rng.choice(words, 6, p=p)) for p in odds]
    return [f"{text} voucher" if rng.random() < extra else text for text in texts], bad


def test_words_of_texts():
    rng = np.random.default_rng(0)
    old, y = reviews(800, 0.3, rng)
    same, changed = reviews(800, 0.7, rng)[0], reviews(800, 0.7, rng, 0.2)[0]
    size = {"size": rng.normal(size=800)}
    nothing = find_changes({"text": old} | size, y, {"text": same} | size, texts=["text"])
    assert nothing.changed == ()
    assert len(nothing.to_frame(words=True)) == 0
    changes = find_changes({"text": old} | size, y, {"text": changed} | size, texts=["text"])
    assert changes.changed == ("text",)
    words = changes.to_frame(words=True)
    assert words["word"][0] == "voucher"
    assert words["expected"][0] == pytest.approx(0, abs=0.01)
    assert words["observed"][0] == pytest.approx(0.2, abs=0.05)
    assert "voucher" in repr(changes)
    assert "voucher" in changes._repr_html_()


def test_the_order_of_columns_and_the_names_of_classes_do_not_matter():
    rng = np.random.default_rng(0)
    old, codes = items(700, (0.3, 0.3, 0.4), rng)
    new, _ = items(600, (0.6, 0.2, 0.2), rng, moved=0.4)
    first = find_changes(old, codes, new)
    turned = {name: old[name] for name in reversed(old)}
    other = find_changes(turned, np.array(["z", "y", "x"])[codes], new)
    assert [row.column for row in first.columns] == [row.column for row in other.columns]
    assert_allclose(first.to_frame()["p_value"], other.to_frame()["p_value"], rtol=1e-6)
    assert_allclose(first.to_frame()["size"], other.to_frame()["size"], rtol=1e-6)
    assert_allclose(first.shares, other.shares[::-1], atol=1e-7)
    assert other.classes == ("x", "y", "z")


def test_known_shares_and_a_column_without_others():
    # One column implies its own shares: any mix explains it. Known shares can contradict.
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 500)
    old, new = {"x": rng.normal(codes)}, {"x": rng.normal(0.8, 1, 1000)}
    assert find_changes(old, codes, new).changed == ()
    assert find_changes(old, codes, new, shares=(0.9, 0.1)).changed == ("x",)
    assert find_changes(old, codes, new, shares=(0.2, 0.8)).changed == ()


def test_constant_columns_are_listed_last():
    rng = np.random.default_rng(0)
    old, codes = items(300, (0.5, 0.5), rng)
    new, _ = items(300, (0.5, 0.5), rng)
    old["one"], new["one"] = np.ones(300), np.ones(300)
    row = find_changes(old, codes, new).columns[-1]
    assert (row.column, row.size, row.p_value, row.is_changed) == ("one", 0.0, 1.0, False)


def test_what_is_printed():
    rng = np.random.default_rng(0)
    old, codes = items(1000, (0.5, 0.5), rng)
    new, _ = items(1000, (0.2, 0.8), rng, moved=1)
    changes = find_changes(old, codes, new)
    assert isinstance(changes, Changes)
    assert changes.sentence == ("1 of 6 columns changed beyond what the mix explains: plain.")
    head, row = repr(changes).splitlines()[1:]
    assert " ".join(head.split()) == (
        "column items moved expected under the mix → observed by chance"
    )
    assert row.startswith("plain")
    assert row.endswith("p < 0.0001")
    frame = changes.to_frame()
    assert frame["column"][0] == "plain"
    assert frame["changed"].to_list() == [True] + [False] * 5
    assert_array_equal(np.diff(frame["p_value"][1:]) >= 0, True)
    calm = find_changes(old, codes, items(1000, (0.2, 0.8), rng)[0])
    assert calm.sentence == (
        "No column changed beyond what a change of the mix explains (6 columns compared)."
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"old": {}}, "old has no columns"),
        ({"new": {"b": [1.0]}}, "new lacks the column 'a'"),
        ({"texts": ["story"]}, "new lacks the column 'story'"),
        ({"y": [0, 1]}, "Column 'a' of old has 4 items, but there are 2 labels"),
        ({"y": [1, 1, 1, 1]}, "y has the single class 1"),
        ({"y": [1, None, 1, 2]}, "y"),
        ({"new": {"a": []}}, "new has no items"),
        ({"level": 2}, "level is 2"),
        ({"shares": [0.5, 0.6]}, "must have 2 shares from 0 to 1 that add up to 1"),
        ({"shares": [1.0]}, "must have 2 shares"),
        ({"old": {"a": [1.0] * 4}, "new": {"a": [1.0]}}, "no column that varies"),
    ],
)
def test_bad_input(changed, sentence):
    arguments = {
        "old": {"a": [1.0, 2.0, 3.0, 4.0]},
        "y": [0, 0, 1, 1],
        "new": {"a": [1.0, 2.0]},
    }
    arguments |= changed
    with pytest.raises(HeadcountError, match=sentence):
        find_changes(**arguments)
