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

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.report import page
from headcount.report.assets import script_json
from headcount.report.svg import tag
from tests.report.analyses import NASTY, make_analysis

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
    analysis = make_analysis(groups=list(range(1100)), size=2)
    html = page(analysis)
    assert "200 more rows are in the downloads" in html
    assert len(embedded(html)["analysis"]["groups"]) == 1100


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
from headcount._files import write_bytes
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
    assert 'class="warned"' not in page(plain)
    truth = ["ham", "spam"] * 60
    html = page(make_analysis(groups=groups, truth=truth))
    assert "of 2 intervals." in html
    assert html.count('class="truth"') == 2 + 2 + 2  # legends, classes, groups
    tested = replace(plain.groups[0].estimate.fit_test, p_value=1e-9)
    broken = replace(
        plain.groups[0], estimate=replace(plain.groups[0].estimate, fit_test=tested)
    )
    html = page(replace(plain, groups=(broken, *plain.groups[1:])))
    assert html.count('class="warned"') == 1 + 1  # legend, group
    assert "unlike a mixture of the training classes" in html
