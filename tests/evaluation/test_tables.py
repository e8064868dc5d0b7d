from __future__ import annotations

import numpy as np
import pytest

from headcount.errors import HeadcountError
from headcount.evaluation.summary import error_table, group, lowest, summarise

VALUES = np.array([[0.25, 1.5, np.nan], [0.125, 10.25, np.nan]])
MARKS = [["‡", "", ""], ["", "†", ""]]


def table(**more):
    return error_table(
        "method",
        ("A_1", "B|2"),
        ("ae", "r%", "none"),
        VALUES,
        lowest(VALUES, axis=0),
        **more,
    )


def test_lowest_with_ties_and_missing_numbers():
    values = np.array([[1.0, np.nan, np.nan], [1.0, 2.0, np.nan], [3.0, 1.0, np.nan]])
    assert lowest(values, axis=0).tolist() == [
        [True, False, False],
        [True, False, False],
        [False, True, False],
    ]
    assert lowest(values, axis=1).tolist() == [
        [True, False, False],
        [True, False, False],
        [False, True, False],
    ]


def test_text_is_aligned_and_stars_the_best():
    assert table(title="errors", digits=2).to_text().splitlines() == [
        "errors",
        "method     ae      r%  none",
        "------  -----  ------  ----",
        "A_1     0.25    1.50*     -",
        "B|2     0.12*  10.25      -",
    ]


def test_text_with_spread_and_marks():
    spread = np.array([[0.5, 0.5, np.nan], [0.25, 0.5, np.nan]])
    assert table(spread=spread, marks=MARKS, digits=1).to_text().splitlines()[2:] == [
        "A_1     0.2 ± 0.5‡   1.5 ± 0.5*     -",
        "B|2     0.1 ± 0.2*  10.2 ± 0.5†     -",
    ]


def test_markdown_escapes_and_emboldens():
    assert table(marks=MARKS, digits=2).to_markdown().splitlines() == [
        "| method | ae | r% | none |",
        "| --- | ---: | ---: | ---: |",
        r"| A\_1 | 0.25‡ | **1.50** | - |",
        r"| B\|2 | **0.12** | 10.25† | - |",
    ]
    assert table(title="t").to_markdown().startswith("**t**\n\n| method")


def test_latex_escapes_and_emboldens():
    marked = table(marks=MARKS, title="t", digits=2).to_latex()
    assert marked.splitlines() == [
        "% t",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"method & ae & r\% & none \\",
        r"\midrule",
        r"A\_1 & 0.25$^{\ddagger}$ & \textbf{1.50} & - \\",
        r"B|2 & \textbf{0.12} & 10.25$^{\dagger}$ & - \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_writes_every_special_character_as_itself():
    corner, no = "&%$#_{}~^\\<>", np.zeros((1, 1), bool)
    special = error_table(corner, ("a",), ("b",), np.ones((1, 1)), no)
    assert (
        r"\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
        r"\textless{}\textgreater{} & b \\" in special.to_latex()
    )


def test_groups_by_tenths_by_limits_by_number_and_by_value():
    values = np.array([[0.1, 0.3 - 0.2, 0.25, 0.41]])
    tenths = group(values, "shift", None)
    assert tenths.names == ("0.1 to 0.2", "0.2 to 0.3", "0.3 to 0.4", "0.4 to 0.5")
    assert tenths.codes.tolist() == [[0, 0, 1, 3]]

    limits = group(values, "shift", [0.2, 0.4])
    assert limits.names == ("< 0.2", "0.2 to 0.4", ">= 0.4")
    assert limits.codes.tolist() == [[0, 0, 1, 2]]

    assert group(values, "shift", [7]).names == ("< 7",)
    assert group(values, "shift", []).names == ("all",)

    two = group(np.array([[0.0, 0.5, 1.0]]), "shift", 2)
    assert (two.names, two.codes.tolist()) == (("< 0.5", ">= 0.5"), [[0, 1, 1]])

    sizes = group(np.array([[1000, 10, 1000]]), "size", None)
    assert (sizes.names, sizes.codes.tolist()) == (("10", "1,000"), [[1, 0, 1]])


@pytest.mark.parametrize("bins", [0, -1, 1.5, "a", [0.4, 0.2], [0.2, 0.2], ["a"], [[1, 2]]])
def test_bad_bins_are_refused(bins):
    with pytest.raises(HeadcountError, match=r"bins is .* must be"):
        group(np.array([[0.1, 0.2]]), "shift", bins)


def test_summary_keeps_groups_without_samples_of_a_method_empty():
    errors = {"ae": np.array([[0.4, 0.2, 0.3], [0.1, 0.1, 0.2]])}
    groups = group(np.array([[0.1, 0.5, 0.5], [0.1, 0.1, 0.2]]), "shift", [0.4])
    summary = summarise(("far", "near"), errors, groups)
    assert summary.methods == ("near", "far")
    assert summary.counts.tolist() == [[3, 0], [1, 2]]
    frame = summary.to_frame()
    assert frame["method"].to_list() == ["near", "near", "far", "far"]
    assert frame["shift"].to_list() == ["< 0.4", ">= 0.4"] * 2
    assert frame["ae"].round(9).to_list() == [0.133333333, None, 0.4, 0.25]
    assert frame["ae_median"].round(9).to_list() == [0.1, None, 0.4, 0.25]
    assert frame["ae_sd"].round(6).to_list() == [0.057735, None, None, 0.070711]
    assert repr(summary).splitlines() == [
        "ae by shift",
        "method    < 0.4   >= 0.4",
        "------  -------  -------",
        "near    0.1333*       -",
        "far     0.4000   0.2500*",
    ]
    assert summary.to_latex(digits=1).startswith("% ae by shift\n")
