from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from PIL import Image

from headcount.errors import HeadcountError
from headcount_studies.engine.store import Store
from headcount_studies.engine.task import Section
from headcount_studies.page import duration, study_parts, study_table, write_study
from tests.report.analyses import NASTY
from tests.report.browser import Browser, find_chromium
from tests.studies import fabricated, study_fixture

needs_browser = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium")
_EMPTY = {"meta", "img"}


class Reader(HTMLParser):
    """Elements of a page, and all its text; complains where tags do not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.text = [], [], {}
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        where = self.open[-1] if self.open else ""
        self.text.setdefault(where, []).append(data)


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    spec = study_fixture.make_spec()
    store = fabricated.make_store(
        folder / "store", spec, study_fixture.make_results(spec), undone=1
    )
    return write_study(store, folder / "out" / "deep")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    spec = replace(fabricated.binary_spec(), metrics=("tae",))
    store = fabricated.make_store(folder / "store", spec, fabricated.make_results(spec))
    return write_study(store, folder / "out")


@pytest.fixture(scope="module")
def html(nasty):
    return nasty.page.read_text(encoding="utf-8")


def test_all_files_are_there_and_nothing_else(nasty):
    folder = nasty.page.parent
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    names = ("errors-of-b-all-b", "many")
    assert there == {
        "report.html",
        *(f"figures/a-figure.{ending}" for ending in ("png", "pdf", "svg")),
        *(f"figures/a-figure-2.{ending}" for ending in ("png", "pdf", "svg")),
        *(f"tables/{name}.{ending}" for name in names for ending in ("md", "tex", "csv")),
    }
    assert {str(path.relative_to(folder)) for path in nasty.tables + nasty.figures} == (
        there - {"report.html"}
    )


def test_names_are_nothing_but_text(html):
    reader = Reader(html)
    names = [name for name, _ in reader.elements]
    assert names.count("script") == 2
    assert names.count("style") == 1
    assert not {"i", "b", "iframe", "link", "object"} & set(names)
    for name, attributes in reader.elements:
        assert not any(key.startswith("on") for key in attributes)
        assert name != "img" or attributes["src"].startswith("data:image/png;base64,")
    assert NASTY in reader.text["th"]
    assert reader.text["title"] == [f"{NASTY} & <i>"]
    assert "</td><b>gone</b>" in reader.text["td"]
    assert "Errors of <b>all</b>" in reader.text["h2"]
    assert any("</style>" in text for text in reader.text["td"])


def test_the_page_says_what_was_run_and_what_was_not(html):
    text = Reader(html).text["p"]
    assert "3 methods on 1 dataset, 2 samples each: 6 runs." in text
    assert "They took 2.0 s (0.5 s of the processor), 3 runs per second." in text
    assert "Not done: 1 of 2 tasks." in text
    assert "4 runs failed (67%)." in text
    assert text.count("Second & last.") == 1
    assert "Not complete" in text


def test_only_our_own_style_and_script_may_run_and_nothing_is_loaded(html):
    reader = Reader(html)
    policy = next(
        attributes["content"]
        for _, attributes in reader.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "img-src data:;" in policy
    assert all("style" not in attributes for _, attributes in reader.elements)
    outside = [
        attributes["href"]
        for _, attributes in reader.elements
        if not attributes.get("href", "#").startswith("#")
    ]
    assert outside == []
    links = {a["href"][1:] for name, a in reader.elements if name == "a"}
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert links <= set(ids)
    assert len(ids) == len(set(ids))


def test_downloads_hold_the_tables(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    data = json.loads(found[1])
    text = gzip.decompress(base64.b64decode(data["csv_gzip"])).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == ["table", "row", "column", "value"]
    assert ["Errors of <b>all</b>", "one", NASTY, "0.25"] in rows
    assert ["Many", "row 9", "x", "10.0"] in rows
    table = data["analysis"]["tables"]["Errors of <b>all</b>"]
    assert table[1] == {
        "dataset": NASTY, NASTY: 0.5, "a|b_c & 5%": None, "items": 7, "said": "=SUM(A1)",
    }  # fmt: skip
    assert 'name = "nasty"' in data["analysis"]["spec"]


def test_tables_in_all_forms():
    table = study_table(study_fixture.errors())
    assert table.to_markdown().splitlines() == [
        r"| dataset | \<script\>alert(1)\</script\> | a\|b\_c & 5% | items | said |",
        "| --- | ---: | ---: | ---: | --- |",
        r"| one\* | 0.250 | **0.125** | 12,345 | fine |",
        r"| \<script\>alert(1)\</script\> | 0.500† | - | 7 | =SUM(A1) |",
        "| mean | 0.375 | 0.125 | - |  |",
        "| mean rank | 1.50 | 12.00 | - |  |",
    ]
    latex = table.to_latex().splitlines()
    assert latex[0] == r"\begin{tabular}{lrrrl}"
    assert latex[2].startswith(r"dataset & \textless{}script\textgreater{}alert(1)")
    assert latex[4] == r"one\textsuperscript{*} & 0.250 & \textbf{0.125} & 12,345 & fine \\"
    assert r"0.500$^{\dagger}$ & - & 7" in latex[5]
    assert latex[6] == r"\midrule"
    (part,) = study_parts([study_fixture.errors()])
    rows = list(csv.reader(io.StringIO(part.tables()["csv"], newline="")))
    assert rows[0] == ["dataset", NASTY, "a|b_c & 5%", "items", "said"]
    assert rows[1:3] == [["one", "0.25", "0.125", "12345", "fine"],
                         [NASTY, "0.5", "", "7", "'=SUM(A1)"]]  # fmt: skip


@pytest.mark.parametrize(
    ("largest", "text"),
    [(0.01234, "0.0123"), (0.9, "0.900"), (12.0, "12.00"), (1234.5, "1234.5")],
)
def test_numbers_have_the_decimals_they_deserve(largest, text):
    import polars as pl

    frame = pl.DataFrame({"x": ["a", "b"], "y": [largest, float("nan")]})
    table = study_table(Section("t", table=frame))
    assert [row[1].text for row in table.rows] == [text, ""]


def test_figures_are_pictures_at_full_size(nasty):
    pictures = [path for path in nasty.figures if path.suffix == ".png"]
    assert len(pictures) == len(nasty.figures) / 3
    for path in pictures:
        with Image.open(path) as image:
            assert image.size == (800, 400)
            assert len(image.convert("RGB").getcolors(100_000)) > 2
        pdf, svg = (path.with_suffix(ending).read_bytes() for ending in (".pdf", ".svg"))
        assert pdf.startswith(b"%PDF")
        assert b"CreationDate" not in pdf
        assert b"<svg" in svg
        assert b"dc:date" not in svg


def test_titles_make_names_that_do_not_collide():
    titles = ["Über uns", "…", "Failures", "how", "x" * 300, "x" * 300]
    names = [part.name for part in study_parts(Section(title) for title in titles)]
    assert len(set(names)) == len(names)
    assert not {"failures", "how", ""} & set(names)
    assert all(re.fullmatch(r"[a-z0-9-]{1,90}", name) for name in names)


def test_a_report_is_written_over_the_last_and_leaves_other_files_alone(tmp_path):
    spec = study_fixture.make_spec()
    store = fabricated.make_store(tmp_path / "store", spec, study_fixture.make_results(spec))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out" / "report.html").write_text("old")
    report = write_study(store, tmp_path / "out", published=tmp_path)
    assert "Complete" in report.page.read_text()
    assert f"{tmp_path}" in report.page.read_text()
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    assert not list((tmp_path / "out").rglob(".*"))


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, nasty):
    spec = study_fixture.make_spec()
    store = fabricated.make_store(tmp_path / "store", spec, study_fixture.make_results(spec))
    with pytest.raises(HeadcountError, match=r"published is .* which is not a folder"):
        write_study(store, tmp_path / "out", published=tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadcountError, match=r"The folder .* cannot be made"):
        write_study(store, tmp_path / "file" / "out")
    with pytest.raises(HeadcountError, match="There is no folder"):
        write_study(Store(tmp_path / "none"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_durations():
    assert [duration(s) for s in (0.04, 9.96, 59.7, 3599, 3600, 90_061)] == [
        "0.0 s", "10 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "25 h 1 min",
    ]  # fmt: skip


def test_a_whole_comparison_is_well_under_two_megabytes(comparison):
    assert comparison.page.stat().st_size < 1_000_000
    assert {path.suffix for path in comparison.tables} == {".md", ".tex", ".csv"}
    assert len(comparison.figures) == 24
    text = comparison.page.read_text(encoding="utf-8")
    assert "24 methods on 5 datasets, 576 samples each: 69,120 runs." in text
    assert "No convergence after 100 steps." in text


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_pages_load_quietly_alone_and_fit(browser, nasty, comparison, width, theme):
    for report in (nasty, comparison):
        browser.prefer(theme)
        browser.open(report.page, width=width)
        asked = [address for address in browser.requests() if not address.startswith("data:")]
        assert asked == [report.page.as_uri()]
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") <= width
        sizes = browser.run(
            "Array.from(document.images, (image) => [image.naturalWidth, image.width])"
        )
        assert sizes
        assert all(natural > 0 and shown > 300 for natural, shown in sizes)


@needs_browser
def test_a_table_of_24_methods_fits_a_wide_page(browser, comparison):
    browser.open(comparison.page, width=1600)
    hidden = browser.run(
        """(() => { const part = document.querySelector("#mean-absolute-error .scroll");
        return part.scrollWidth - part.clientWidth; })()"""
    )
    assert hidden <= 0


@needs_browser
def test_tables_sort_and_their_means_stay_below(browser, comparison):
    browser.open(comparison.page)
    column = """(number) => Array.from(
        document.querySelector("#mean-absolute-error tbody").rows,
        (row) => row.cells[number].textContent)"""
    heading = "document.querySelectorAll('#mean-absolute-error thead button')"
    before = [float(cell) for cell in browser.run(f"({column})(1)")]
    browser.run(f"{heading}[1].click()")
    rising = [float(cell) for cell in browser.run(f"({column})(1)")]
    assert rising == sorted(before) != before
    browser.run(f"{heading}[1].click()")
    assert [float(cell) for cell in browser.run(f"({column})(1)")] == rising[::-1]
    browser.run(f"{heading}[0].click()")
    assert browser.run(f"({column})(0)") == sorted(fabricated.DATASETS)
    foot = browser.run(
        """Array.from(document.querySelector("#mean-absolute-error tfoot").rows,
        (row) => row.cells[0].textContent)"""
    )
    assert foot == ["mean", "mean rank"]
    assert browser.complaints() == []


@needs_browser
def test_the_best_stand_out_and_marks_are_not_part_of_the_numbers(browser, nasty):
    browser.open(nasty.page)
    weight, other, shown, text = browser.run(
        """(() => { const best = document.querySelector("td.best");
        const mark = document.querySelector("td sup"), marked = mark.parentElement;
        return [getComputedStyle(best).fontWeight,
            getComputedStyle(marked).fontWeight,
            mark.textContent, marked.firstChild.textContent]; })()"""
    )
    assert (weight, other) == ("700", "400")
    assert (shown, text) == ("†", "0.500")


@needs_browser
def test_figures_turn_dark_with_the_page_and_print_as_they_are(browser, nasty):
    look = "getComputedStyle(document.images[0]).filter"
    browser.prefer("light")
    browser.open(nasty.page)
    assert browser.run(look) == "none"
    browser.run("document.getElementById('theme').click()")
    assert "invert(1)" in browser.run(look)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.run(look) == "none"
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
