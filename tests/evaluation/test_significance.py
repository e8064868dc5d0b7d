from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.oracle import significance as oracle

import headcount as hc
from headcount.errors import HeadcountError
from headcount.evaluation import significance
from headcount.evaluation.significance import Comparison, compare, critical_difference
from headcount.plots.data import rank_groups

whole = st.integers(-4, 4).map(float)
TESTS = ("wilcoxon", "ttest", "nemenyi")


@pytest.fixture(scope="module")
def errors():
    rng = np.random.default_rng(0)
    base = rng.random((60, 1))
    shifts = np.array([0.0, 0.005, 0.03, 0.4])
    noise = rng.normal(scale=0.05, size=(60, 4))
    return dict(zip("ABCD", (base + shifts + noise).T, strict=True))


@given(st.lists(whole, min_size=1, max_size=9))
@settings(max_examples=60)
def test_signed_ranks_are_exact_with_ties_and_zeros(differences):
    expected = oracle.signed_rank_p(differences)
    assert significance.wilcoxon(np.array(differences)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [5, 30, 50, 51, 400])
def test_p_values_agree_with_scipy(n):
    difference = np.random.default_rng(n).normal(0.2, 1, n)
    assert significance.wilcoxon(difference) == pytest.approx(stats.wilcoxon(difference).pvalue)
    assert significance.paired_t(difference) == pytest.approx(
        stats.ttest_1samp(difference, 0).pvalue
    )


def test_many_tied_differences_agree_with_scipy():
    difference = np.random.default_rng(0).integers(-3, 5, 300).astype(float)
    moved = difference[difference != 0]
    expected = stats.wilcoxon(moved, correction=False, method="asymptotic").pvalue
    assert significance.wilcoxon(difference) == pytest.approx(expected)


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(st.lists(whole, min_size=k, max_size=k), min_size=2, max_size=8)
    )
)
@settings(max_examples=60)
def test_friedman_is_the_textbook_formula(rows):
    table = np.array(rows)
    statistic, p = significance.friedman(table)
    if all(len(set(row)) == 1 for row in rows):
        assert (statistic, p) == (0.0, 1.0)
    else:
        assert statistic == pytest.approx(oracle.friedman_statistic(rows), abs=1e-9)
        assert p == pytest.approx(stats.chi2.sf(statistic, table.shape[1] - 1))
    expected = np.mean([oracle.ranks(row) for row in rows], axis=0)
    assert significance.average_ranks(table) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(max_examples=60)
def test_holm_is_the_step_down_definition(p_values):
    expected = oracle.holm(p_values)
    assert significance.corrected_by_holm(np.array(p_values)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("k", "q"),
    [(2, 1.960), (3, 2.344), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031),
     (9, 3.102), (10, 3.164)],
)  # fmt: skip
def test_critical_values_are_those_of_the_published_table(k, q):
    # Table 5 of Demsar, Journal of Machine Learning Research 7 (2006).
    found = critical_difference(k, 30) / math.sqrt(k * (k + 1) / (6 * 30))
    assert found == pytest.approx(q, abs=1e-3)


def test_critical_differences_of_the_published_study():
    # It states 5.6973 for 24 methods on 40 datasets, which comes from 41 rows and finite
    # degrees of freedom. By the test as published it is 5.7510.
    assert critical_difference(24, 40) == pytest.approx(5.7510, abs=5e-5)
    assert critical_difference(20, 17) == pytest.approx(7.1911, abs=5e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, 9), "n_methods is 1"), ((3, 0), "n_units is 0"), ((3, 2.5), "n_units is 2.5")],
)
def test_a_critical_difference_needs_methods_and_rows(arguments, message):
    with pytest.raises(HeadcountError, match=message):
        critical_difference(*arguments)


def test_p_values_and_the_critical_difference_tell_the_same():
    difference = critical_difference(7, 12, level=0.1)
    around = np.array([0.999, 1.0, 1.001]) * difference
    below, at, above = significance.nemenyi(around, 7, 12)
    assert above < 0.1 < below
    assert at == pytest.approx(0.1, abs=1e-6)


@given(
    st.lists(st.floats(1, 8), min_size=2, max_size=7).map(sorted),
    st.floats(0.1, 4),
)
@settings(max_examples=80)
def test_groups_are_the_largest_sets_without_differences(ranks, difference):
    found = rank_groups(ranks, difference)
    assert {frozenset(group) for group in found} == oracle.groups(ranks, difference)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("test", TESTS)
def test_methods_come_in_order_of_merit(errors, test):
    comparison = compare(errors, test)
    table = np.column_stack(list(errors.values()))
    merit = comparison.ranks if test == "nemenyi" else comparison.means
    assert (np.diff(merit) >= 0).all()
    for name, mean, sd in zip(
        comparison.methods, comparison.means, comparison.sds, strict=True
    ):
        assert mean == pytest.approx(errors[name].mean())
        assert sd == pytest.approx(errors[name].std(ddof=1))
    ranks = dict(zip("ABCD", stats.rankdata(table, axis=1).mean(axis=0), strict=True))
    assert comparison.ranks == pytest.approx([ranks[name] for name in comparison.methods])
    assert math.isnan(comparison.p_values[0])
    assert comparison.best == comparison.methods[0]
    assert comparison.n_units == 60


def test_p_values_are_against_the_best(errors):
    for test, function in (("wilcoxon", stats.wilcoxon), ("ttest", stats.ttest_rel)):
        comparison = compare(errors, test)
        for name, p in zip(comparison.methods[1:], comparison.p_values[1:], strict=True):
            expected = function(errors[name], errors[comparison.best]).pvalue
            assert p == pytest.approx(expected, rel=1e-6)


def test_marks_follow_the_papers():
    values = {"best": math.nan, "a": 0.5, "b": 0.05, "c": 0.0499, "d": 0.0011, "e": 0.001}
    n = len(values)
    comparison = Comparison(
        "wilcoxon", tuple(values), np.arange(n) / 10, np.ones(n), np.arange(1.0, n + 1),
        np.array(list(values.values())), 100, 0.05, False, True,
    )  # fmt: skip
    assert comparison.marks == ("", "‡", "‡", "†", "†", "")
    assert comparison.cliques == (("best", "a", "b"),)
    strict = dataclasses.replace(comparison, level=0.0005)
    assert strict.marks == ("", "‡", "‡", "‡", "‡", "‡")
    assert "†" not in strict._notes()[-1]


@pytest.mark.parametrize("test", TESTS)
def test_identical_methods_do_not_differ(test):
    same = np.random.default_rng(0).random(20)
    comparison = compare({"one": same, "two": same, "three": same}, test)
    assert comparison.methods == ("one", "two", "three")
    assert comparison.p_values[1:] == pytest.approx([1.0, 1.0], abs=1e-6)
    assert comparison.marks == ("", "‡", "‡")
    assert comparison.cliques == (("one", "two", "three"),)
    assert comparison.ranks == pytest.approx([2, 2, 2])


@pytest.mark.parametrize("test", TESTS)
def test_rounding_makes_no_difference(test):
    rng = np.random.default_rng(0)
    one = rng.random(200)
    two = one * (1 + 1e-15) + 1e-17  # larger, all of them, by a rounding error
    comparison = compare({"two": two, "one": one}, test)
    assert comparison.p_values[1] == pytest.approx(1.0, abs=1e-6)
    assert comparison.ranks == pytest.approx([1.5, 1.5])


def test_a_constant_difference_is_certain():
    base = np.arange(8.0)
    comparison = compare({"low": base, "high": base + 1}, "ttest")
    assert comparison.p_values[1] == 0.0
    assert comparison.marks == ("", "")


def test_holm_corrects_the_others(errors):
    plain, corrected = compare(errors), compare(errors, holm=True)
    assert corrected.p_values[1:] == pytest.approx(oracle.holm(plain.p_values[1:].tolist()))
    assert "Holm" in repr(corrected)
    assert "Holm" not in repr(plain)
    with pytest.raises(HeadcountError, match="holm is for"):
        compare(errors, "nemenyi", holm=True)


def test_nemenyi_brings_the_friedman_test(errors):
    comparison = compare(errors, "nemenyi")
    expected = stats.friedmanchisquare(*errors.values())
    assert comparison.friedman == pytest.approx((expected.statistic, expected.pvalue))
    assert comparison.critical_difference == pytest.approx(critical_difference(4, 60))
    assert compare(errors).friedman is None
    assert "Friedman" in repr(comparison)
    for group in comparison.cliques:
        ranks = [comparison.ranks[comparison.methods.index(name)] for name in group]
        assert max(ranks) - min(ranks) < comparison.critical_difference


def test_all_kinds_of_tables_give_the_same(errors):
    expected = repr(compare(errors))
    frame = pl.DataFrame(errors)
    tables = (frame, frame.to_pandas(), pd.DataFrame(errors), frame.to_arrow())
    for table in tables:
        assert repr(compare(table)) == expected
    array = np.column_stack(list(errors.values()))
    assert repr(compare(array, names=list("ABCD"))) == expected
    assert repr(compare(array.tolist(), names=list("ABCD"))) == expected
    lists = {name: values.tolist() for name, values in errors.items()}
    assert repr(compare(lists)) == expected


def test_the_table_as_frame(errors):
    comparison = compare(errors)
    frame = comparison.to_frame()
    assert frame.columns == ["method", "mean", "sd", "rank", "p", "mark"]
    assert frame["method"].to_list() == list(comparison.methods)
    assert frame["p"].null_count() == 1
    assert frame["p"][0] is None
    assert frame["mark"].to_list() == list(comparison.marks)


def test_the_table_as_text(errors):
    lines = repr(compare(errors)).splitlines()
    assert lines[0].split() == ["method", "mean", "sd", "rank", "p", "mark"]
    assert lines[2].split()[-1] == "best"
    assert lines[5].split()[0] == "D"
    assert "< 0.0001" in lines[5]
    assert lines[-2].startswith("Wilcoxon signed-rank test against A, over 60 paired errors")
    assert lines[-1] == "† 0.001 < p < 0.05, ‡ p >= 0.05, no mark: p <= 0.001."


@pytest.fixture
def oddly_named():
    rng = np.random.default_rng(1)
    base = rng.random(30)
    return {
        "a_b|*c*": base,
        "50% & $x^2$ {#}": base + rng.normal(0, 0.01, 30) + 0.001,
        "~\\<z>": base + 1,
    }


def test_latex_is_escaped_bold_and_marked(oddly_named):
    latex = compare(oddly_named).to_latex()
    lines = latex.splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrr}"
    assert lines[-1] == r"\end{tabular}"
    best, second, last = lines[4:7]
    assert best.startswith(r"a\_b|*c* & \textbf{")
    assert second.startswith(r"50\% \& \$x\textasciicircum{}2\$ \{\#\} & ")
    assert "$^{\\ddagger}$" in second
    assert last.startswith(r"\textasciitilde{}\textbackslash{}")
    assert r"\textless{} 0.0001 \\" in last
    assert all(line.replace(r"\&", "").count("&") == 4 for line in lines[4:7])
    assert latex.count(r"\textbf") == 1


def test_markdown_is_escaped_bold_and_marked(oddly_named):
    markdown = compare(oddly_named).to_markdown(decimals=2)
    head, rule, best, second, last = markdown.splitlines()
    assert head == "| method | mean | sd | rank | p |"
    assert rule.count("---") == 5
    assert best.startswith(r"| a\_b\|\*c\* | **")
    assert "‡ |" in second
    assert last.startswith(r"| ~\\\<z\> | 1.")
    for line in (best, second, last):
        assert line.replace(r"\|", "").count("|") == 6
    assert markdown.count("**") == 2


def test_decimals_suit_the_numbers():
    for scale, shown in ((1, "0.5000"), (1000, "500.0"), (0.0001, "0.0000500"), (1e5, "50000")):
        table = {"a": np.full(4, 0.5) * scale, "b": np.full(4, 0.5) * scale}
        assert shown in repr(compare(table)).split()


@pytest.mark.parametrize("test", TESTS)
def test_it_draws_itself(errors, test):
    comparison = compare(errors, test)
    ax = comparison.plot(width=3.3)
    assert ax.figure.get_figwidth() == 3.3
    shown = {text.get_text() for text in (*ax.texts, *ax.get_yticklabels())}
    assert set("ABCD") <= shown
    if test == "nemenyi":
        assert any(text.startswith("CD = ") for text in shown)
    else:
        assert "‡" in shown
        (dots,) = ax.lines
        assert dots.get_xdata() == pytest.approx(comparison.means)


def test_a_large_table_is_no_trouble():
    rng = np.random.default_rng(0)
    table = rng.random((60_500, 20)) + np.linspace(0, 0.01, 20)
    names = [f"m{j}" for j in range(20)]
    comparison = compare(table, names=names)
    assert comparison.best == "m0"
    assert len(set(comparison.methods)) == 20
    expected = stats.wilcoxon(table[:, 19], table[:, 0]).pvalue
    assert comparison.p_values[comparison.methods.index("m19")] == pytest.approx(expected)


GOOD = {"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 5.0]}


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": [1.0, 2.0]}, {}, "table has 1 method: a comparison needs at least 2"),
        ({}, {}, "table has 0 methods"),
        ({"a": [1.0], "b": [2.0]}, {}, r"table has 1 row\(s\)"),
        ({"a": [1.0, 2.0], "b": [1.0]}, {}, "table has 1 errors of 'b', but 2 of 'a'"),
        ({"a": [1.0, 2.0], "b": [1.0, math.nan]}, {}, "of 'b', the first in row 1"),
        ({"a": [math.inf, 2.0], "b": [1.0, 2.0]}, {}, "of 'a', the first in row 0"),
        ({"a": [1.0, None], "b": [1.0, 2.0]}, {}, "infinite errors of 'a'"),
        ({"a": ["x", "y"], "b": [1.0, 2.0]}, {}, "column 'a', which is not of numbers"),
        ({"a": [{}, {}], "b": [1.0, 2.0]}, {}, "errors of 'a' that are not numbers"),
        ({"a": [[1.0], [2.0]], "b": [1.0, 2.0]}, {}, r"errors of 'a' of shape \(2, 1\)"),
        ({1: [1.0, 2.0], "1": [1.0, 2.0]}, {}, "methods of the same name"),
        (pl.DataFrame({"set": ["x", "y"], "a": [1, 2], "b": [1, 2]}), {}, "'set', which is"),
        (pl.DataFrame(GOOD).lazy(), {}, "lazy frame: collect it first"),
        (np.ones((3, 2)), {}, "an array of 2 columns with no names"),
        (np.ones((3, 2)), {"names": ["a"]}, "an array of 2 columns with 1 names"),
        (np.ones((3, 2)), {"names": ["a", "a"]}, "methods of the same name"),
        (np.ones(3), {"names": ["a"]}, r"table has shape \(3,\)"),
        (GOOD, {"names": ["a", "b"]}, "names is for arrays"),
        (GOOD, {"test": "anova"}, "test is 'anova'; it must be one of 'wilcoxon'"),
        (GOOD, {"level": 0}, "level is 0; it must be a number between 0 and 1"),
        (GOOD, {"level": 1.0}, "level is 1.0"),
        (GOOD, {"level": "5%"}, "level is '5%'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(table, options, message):
    with pytest.raises(HeadcountError, match=message):
        hc.compare(table, **options)
