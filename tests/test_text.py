from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount._support.text import Cell, Table, csv_text, printable, text_table

NASTY = "<script>alert(1)</script>"


def table(**more):
    rows = [
        [Cell("one", mark="*"), Cell("0.25", is_best=True, spread="0.1"), Cell(NASTY)],
        [Cell(NASTY), Cell("10.50", mark="†"), Cell("a longer\ntext")],
    ]
    foot = [[Cell("mean"), Cell(""), Cell("")]]
    return Table(["method", "a_b", "remark"], rows, [False, True, False], foot, **more)


def test_text():
    assert table(title="errors").to_text().splitlines() == [
        "errors",
        "method                              a_b  remark",
        "--------------------------  -----------  -------------------------",
        "one*                        0.25 ± 0.1*  <script>alert(1)</script>",
        "<script>alert(1)</script>        10.50†  a longer text",
        "mean                                 -",
    ]
    assert "---" not in table().to_text(ruled=False)


def test_markdown():
    nasty = r"\<script\>alert(1)\</script\>"
    assert table(title="t").to_markdown().splitlines() == [
        "**t**",
        "",
        r"| method | a\_b | remark |",
        "| --- | ---: | --- |",
        rf"| one\* | **0.25** ± 0.1 | {nasty} |",
        rf"| {nasty} | 10.50† | a longer text |",
        "| mean | - |  |",
    ]


def test_latex():
    lines = table(title="t\nu").to_latex().splitlines()
    nasty = r"\textless{}script\textgreater{}alert(1)\textless{}/script\textgreater{}"
    assert lines == [
        "% t u",
        r"\begin{tabular}{lrl}",
        r"\toprule",
        r"method & a\_b & remark \\",
        r"\midrule",
        rf"one\textsuperscript{{*}} & \textbf{{0.25}} $\pm$ 0.1 & {nasty} \\",
        rf"{nasty} & 10.50$^{{\dagger}}$ & a longer text \\",
        r"\midrule",
        r"mean & - &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_html_is_escaped_and_empty_cells_stay_empty():
    html = table().to_html(css_class="data", label='"quoted"')
    assert NASTY not in html
    assert html.startswith('<table class="data" aria-label="&#34;quoted&#34;">')
    assert '<td class="best"><strong>0.25</strong> ± 0.1</td>' in html
    assert "<td>10.50<sup>†</sup></td>" in html
    assert '<th scope="row" class="words short">mean</th><td></td>' in html
    assert html.count("<tfoot>") == 1
    assert "<tfoot>" not in Table(["a"], [[Cell("b")]], [False]).to_html()


def test_a_table_without_rows():
    empty = Table(["a", "b"], [], [False, True])
    assert empty.to_text() == "a  b\n-  -"
    assert empty.to_markdown() == "| a | b |\n| --- | ---: |"


def test_printable():
    assert printable("a\x1b[2Jb\r\nc é") == "a\\u001b[2Jb\\u000d\\u000ac é"
    assert text_table(["a\x1b"], [["b\x07"]]) == ["a\\u001b", "b\\u0007"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_is_a_formula(start):
    text = csv_text([f"{start}head"], [[f"{start}cell"], [-1.5], [-3]])
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [[f"'{start}head"], [f"'{start}cell"], ["-1.5"], ["-3"]]


@settings(max_examples=50)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=1))
def test_cells_come_back_but_for_the_apostrophe(cells):
    text = csv_text(["head"] * len(cells), [cells])
    back = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert len(back) == 1
    for cell, read_back in zip(cells, back[0], strict=True):
        assert read_back in (cell, f"'{cell}")
        assert not read_back.startswith(("=", "+", "-", "@", "\t", "\r"))
