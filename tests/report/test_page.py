from __future__ import annotations

import base64
import csv
import getpass
import gzip
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.estimates.assumption import UNLIKE
from headcount.report.charts import tag
from headcount.report.page import Note, script_json
from headcount.tables.accuracy import accuracy_page
from headcount.tables.pages import about_counting, grouped_notes, share_page
from tests.report.analyses import NASTY, broken_analysis, make_accuracies, make_analysis

_EMPTY = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Elements and attributes of a page; complains where tags do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.text = [], [], {}

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data):
        where = self.open[-1] if self.open else ""
        self.text[where] = self.text.get(where, "") + data


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def page(analysis):
    return share_page(analysis).to_html()


def accuracies(analysis):
    return accuracy_page(analysis).to_html()


def embedded(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(found[1])


def nasty_analysis():
    classes = (NASTY, "</style><img src=x onerror=alert(2)>", "a\"b' & \u2028 </SCRIPT>")
    groups = ["<b>bold</b>", "=cmd()", "</title><script>alert(3)</script>"]
    return make_analysis(
        classes,
        groups,
        title=f"{NASTY} & <i>",
        data_facts={NASTY: "<a href='http://example.org'>x</a>", "=1+1": "-2"},
    )


def test_names_are_nothing_but_text():
    html = page(nasty_analysis())
    reader = read(html)
    names = [name for name, _ in reader.elements]
    assert names.count("script") == 2
    assert names.count("style") == 1
    assert not {"img", "i", "b", "iframe", "link", "object"} & set(names)
    assert all(not key.startswith("on") for _, attrs in reader.elements for key in attrs)
    assert NASTY in reader.text["th"]
    assert "<b>bold</b>" in reader.text["th"]
    data = embedded(html)
    assert data["analysis"]["classes"][0] == NASTY
    assert data["analysis"]["groups"][0]["group"] == "</title><script>alert(3)</script>"


def test_nothing_is_loaded_from_elsewhere():
    plain_page = page(make_analysis(groups=["2024-01", "2024-02"]))
    assert "http://" not in plain_page
    assert "https://" not in plain_page
    for name, attributes in read(plain_page).elements:
        assert not {"src", "srcset", "data", "action"} & set(attributes), name
        assert attributes.get("href", "#").startswith("#")
    assert "@import" not in plain_page
    assert "url(" not in plain_page


def test_only_our_own_script_and_style_may_run():
    reader = read(page(make_analysis()))
    policy = next(
        attributes["content"]
        for _, attributes in reader.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2
    assert all("style" not in attributes for _, attributes in reader.elements)


@pytest.mark.parametrize("months", [True, False])
def test_a_hundred_groups_of_ten_classes_are_well_under_a_megabyte(months):
    groups = [
        f"{2000 + i // 12}-{i % 12 + 1:02d}" if months else f"shop {i}" for i in range(100)
    ]
    analysis = make_analysis([f"class number {j}" for j in range(10)], groups, size=40)
    html = page(analysis)
    assert len(html.encode()) < 750_000
    assert (
        html.count('<tr><th scope="row">shop' if not months else '<tr><th scope="row">20')
        == 1000
    )


def test_what_a_page_has():
    html = page(make_analysis(groups=["2024-01", "2024-02", "2024-03"], data_facts={"f": "g"}))
    reader = read(html)
    drawings = [
        attrs["class"] for name, attrs in reader.elements if "chart" in attrs.get("class", "")
    ]
    assert drawings == ["chart rows", "chart trend", "chart hist"]
    for words in ("Of 180 items", "PACC", "random_state", "scikit-learn", hc.__version__):
        assert words in html
    assert "By group" in page(make_analysis(groups=["Bonn", "Köln"]))
    assert "Over time" not in page(make_analysis())


def test_groups_that_are_too_many_are_left_to_the_downloads():
    analysis = make_analysis(("a", "b", "c"), groups=list(range(700)), size=2)
    html = page(analysis)
    assert "100 more rows are in the downloads" in html
    assert len(embedded(html)["analysis"]["groups"]) == 700


def test_one_item_is_enough():
    analysis = make_analysis(size=1)
    assert "Of 1 item," in page(analysis)


@settings(max_examples=50)
@given(st.text(), st.text())
def test_json_in_a_script_is_safe_and_the_same(key, text):
    said = script_json({key: [text]})
    assert json.loads(said) == {key: [text]}
    assert not re.search("[<>&\u2028\u2029]", said)


def test_json_has_no_numbers_that_are_none():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))


def test_the_csv_of_a_page_is_its_frame():
    analysis = nasty_analysis()
    packed = base64.b64decode(embedded(page(analysis))["csv_gzip"])
    text = gzip.decompress(packed).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == analysis.to_frame().columns
    assert len(rows) == 1 + len(analysis.to_frame())
    assert "'=cmd()" in {row[0] for row in rows}
    assert all(not cell.startswith("=") for row in rows for cell in row)
    shares = [float(row[2]) for row in rows[1:]]
    assert shares == pytest.approx(analysis.to_frame()["share"].to_list(), abs=1e-5)


def test_text_in_drawings_is_escaped():
    assert str(tag("text", NASTY, x='"')) == (
        '<text x="&#34;">&lt;script&gt;alert(1)&lt;/script&gt;</text>'
    )


def test_places_where_nothing_can_be_written_are_named(tmp_path):
    with pytest.raises(hc.HeadcountError, match="there is no folder"):
        make_analysis().report(tmp_path / "missing" / "page.html")
    with pytest.raises(hc.HeadcountError, match=r"must end in \.html"):
        make_analysis().report(tmp_path)
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_devices_are_written_to_and_not_replaced():
    make_analysis().report("/dev/null")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(hc.HeadcountError, match=r"/dev/full' cannot be written \(No space"):
        make_analysis().report("/dev/full")
    assert Path("/dev/full").is_char_device()


# In a child that is nobody, as the tests may run as root, who may write everywhere.
_AS_NOBODY = """
import os, sys
from pathlib import Path
from headcount._support.files import write_bytes
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    write_bytes(Path(sys.argv[1]), b"new")
except ValueError as error:
    print(error)
"""


def test_a_folder_where_one_may_not_write(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "page.html").write_text("old")
    for parent in (folder, *folder.parents[:3]):
        if parent.owner() == getpass.getuser():
            parent.chmod(0o755)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(folder / "page.html")],
            capture_output=True,
            text=True,
        )
    finally:
        folder.chmod(0o755)
    if done.returncode:
        pytest.skip("this Python cannot be run by nobody")
    assert "cannot be written (Permission denied)" in done.stdout
    assert done.stdout.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["page.html"]
    assert (folder / "page.html").read_text() == "old"


def test_groups_that_are_texts_of_numbers_are_in_the_order_of_numbers():
    analysis = make_analysis(groups=["10", "9", "(missing)", "-1", "2.5"])
    names = [part.name for part in analysis.groups]
    assert names == ["-1", "2.5", "9", "10", "(missing)"]
    assert not analysis.ordered


@pytest.mark.parametrize("groups", [["2024-01", "2024-02"], ["Bonn", "Köln"]])
def test_truth_and_warnings_are_shown_where_there_are_any(groups):
    plain = make_analysis(groups=groups)
    assert "Compared with the truth" not in page(plain)
    assert 'class="flag"' not in page(plain)
    truth = ["ham", "spam"] * 60
    html = page(make_analysis(groups=groups, truth=truth))
    assert "of 2 intervals." in html
    assert html.count('class="truth"') == 2 + 1 + 2  # legends, classes, groups
    tested = replace(plain.groups[0].estimate.fit_test, p_value=1e-9)
    broken = replace(
        plain.groups[0], estimate=replace(plain.groups[0].estimate, fit_test=tested)
    )
    html = page(replace(plain, groups=(broken, *plain.groups[1:])))
    assert html.count('class="flag"') == 1 + 1  # legend, group
    assert html.count('class="mark muted"') == 1
    head = html[html.index('<table id="groups"') :]
    assert head.index("Rely on it?") < head.index("Group")
    assert head.count("▲") == 1


def visible(html):
    """Text of a page without scripts, styles and folded parts."""
    for part in ("script", "style", "details", "title"):
        html = re.sub(rf"<{part}\b.*?</{part}>", " ", html, flags=re.S)
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def test_a_failed_test_comes_first_and_mutes_the_number():
    analysis = broken_analysis()
    html = page(analysis)
    said = visible(html)
    assert said.index("We cannot say") < said.index("%")
    assert "No: do not rely on the shares" in said
    assert "100 labels give a share or an accuracy to within 10 percentage points" in said
    assert '<p class="muted">If only the mix had changed' in html
    assert '<section class="muted">' in html
    assert html.count('<tr class="muted">') == 3


def test_what_is_said_of_groups_that_are_unlike_the_labelled_items():
    assert "Yes: no sign that more than the mix has changed" in page(make_analysis())
    assert "Not tested: read with care" in page(make_analysis(quantifier=hc.ACC(), size=1))
    assert "Read with care" in page(make_analysis(quantifier=hc.CC()))


@pytest.mark.parametrize("make", [make_analysis, broken_analysis])
def test_jargon_is_folded(make):
    html = page(make())
    assert "mixture of the training classes" in html
    said = visible(html).lower()
    assert "do the new items look like the labelled ones?" in said
    for word in ("mixture", "posterior", "prior shift"):
        assert word not in said


def test_two_classes_are_one_row():
    html = page(make_analysis(groups=["Bonn", "Köln"]))
    assert html.count('<th scope="row">spam</th>') == 1
    assert '<th scope="row">ham</th>' not in html
    assert "are “ham”" in html
    assert html.count('<th scope="row">Bonn</th>') == 1


def test_many_classes_are_sorted_and_the_smallest_folded():
    analysis = make_analysis([f"class {j:02d}" for j in range(30)], size=900)
    html = page(analysis)
    rows = re.findall(r'<th scope="row">(class \d\d)</th><td>([\d.]+)%', html)
    assert len(rows) == 30
    shares = [float(share) for _, share in rows]
    assert shares == sorted(shares, reverse=True)
    assert len(re.findall(r'<th scope="row">class', html.split("<details>")[0])) == 10
    together = 100 * np.sort(analysis.overall.estimate.shares)[:20].sum()
    assert f"20 more classes, {together:.1f}% together" in html


def test_flags_are_not_the_mark_of_the_truth_and_are_clear_of_the_axis():
    analysis = make_analysis(groups=["2024-01", "2024-02"], truth=["ham", "spam"] * 60)
    part = analysis.groups[0]
    tested = replace(part.estimate.fit_test, p_value=1e-9)
    part = replace(part, estimate=replace(part.estimate, fit_test=tested))
    html = page(replace(analysis, groups=(part, *analysis.groups[1:])))
    chart = html[html.index("chart trend") :].split("</figure>")[0]
    marks = next(each for each in chart.split("<g ") if 'class="mark muted"' in each)
    flag = re.search(r' y="([\d.-]+)"[^>]*><path d="([^"]*)" class="flag"', marks)
    truth = re.search(r' y="([\d.-]+)"[^>]*><path d="([^"]*)" class="truth"', marks)
    whisker = re.search(r'class="whisker"[^>]*y1="([\d.]+)"', marks)
    assert flag[2] != truth[2]
    assert 5 <= float(flag[1]) < min(float(whisker[1]), float(truth[1])) - 5


def test_warnings_are_grouped_and_notes_stand_apart():
    analysis = make_analysis(groups=["Bonn", "Köln", "Ulm"], size=20)
    html = page(replace(analysis, notes=("900 of 2,400 values were never seen.",)))
    warnings = html[html.index('<section id="warnings">') :].split("</section>")[0]
    notes = html[html.index('<section id="notes"') :].split("</section>")[0]
    assert warnings.count("fewer than 30") == 1
    assert "<strong>Bonn, Köln, Ulm</strong>" in warnings
    assert "never seen" in notes
    assert "never seen" not in warnings
    assert '<section id="notes"' not in page(analysis)


def test_warnings_that_differ_in_numbers_are_one():
    few = "The sample has {} items, fewer than 30."
    found = [(name, [few.format(n)]) for name, n in zip("abcde", (3, 4, 5, 6, 7), strict=True)]
    (note,) = grouped_notes([*found, ("f", ["other"])][:5], 9)
    assert note == Note("a, b, c and 2 more", few.format(3) + " (This is about a.)")
    assert grouped_notes([("a", [UNLIKE + " the training classes (p < 0.0001)."])], 1) == []


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        ([0.402, 0.598], "nearly the same (0.2 points apart)"),
        ([0.45, 0.55], "stays nearer to the shares in training, which is its bias"),
        ([0.2, 0.8], "is 20.0 points away from the estimates."),
    ],
)
def test_the_caption_on_counting_follows_the_numbers(counted, said):
    analysis = make_analysis()
    shares = replace(analysis.overall.estimate, shares=np.array([0.4, 0.6]))
    overall = replace(
        analysis.overall, estimate=shares, classify_and_count=np.array(counted), name=None
    )
    changed = replace(analysis, overall=overall, training=np.array([0.5, 0.5]))
    assert about_counting(changed).endswith(said) or said in about_counting(changed)
    assert ("bias" in about_counting(changed)) == ("bias" in said)
    bare = replace(overall, classify_and_count=None)
    assert about_counting(replace(changed, overall=bare)) == ""


def test_numbers_that_rounding_puts_above_one_are_drawn():
    analysis = make_analysis()
    above = np.zeros(20)
    above[3] = 1 + 1e-12
    histogram = replace(analysis.histograms[1], mixture=above, sample=above)
    html = page(
        replace(
            analysis,
            histograms=(analysis.histograms[0], histogram),
            training=np.array([np.nan, np.nan]),
        )
    )
    drawn = re.findall(r"<svg.*?</svg>", html, flags=re.S)
    assert drawn
    assert not any("nan" in chart for chart in drawn)


def test_a_page_of_accuracies():
    html = accuracies(make_accuracies())
    said = visible(html)
    read(html)
    assert "On 900 new items the accuracy is about 0." in said
    assert "Yes: no sign" in said
    assert "Over time" in said
    assert html.count('class="truth"') == 2 + 1 + 3  # legends, all items, months
    assert len(embedded(html)["analysis"]["groups"]) == 3
    for word in ("mixture", "posterior", "prior shift"):
        assert word not in said.lower()


def test_accuracies_that_are_not_to_be_relied_on():
    html = accuracies(make_accuracies(odd="2024-02", known=False))
    assert html.count('<tr class="muted">') == 1
    assert html.count("▲") == 1
    broken = accuracies(make_accuracies(odd="all", metric="f1"))
    said = visible(broken)
    assert said.index("We cannot say what the f1 is") < said.index("0.")
    assert '<section class="muted">' in broken
    assert "What to do" in said


def test_a_page_of_accuracies_is_written(tmp_path):
    make_accuracies().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with pytest.raises(hc.HeadcountError, match=r"must end in \.html"):
        make_accuracies().report(tmp_path / "page.txt")
