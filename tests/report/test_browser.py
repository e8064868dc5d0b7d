"""The page in a real browser: nothing asked for, nothing complained of, everything works."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

import headcount as hc
from tests.monitor.conftest import Stream
from tests.report.analyses import NASTY, broken_analysis, make_accuracies, make_analysis
from tests.report.browser import Browser, find_chromium

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium")

MONTHS = [f"2024-{month:02d}" for month in range(1, 13)]
COLUMN = """(number) => Array.from(document.querySelector("#groups tbody").rows,
    (row) => row.cells[number].textContent)"""
HEADING = "document.querySelectorAll('#groups thead button')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    analyses = {
        "months": make_analysis(groups=MONTHS),
        "shops": make_analysis((NASTY, "b", "a " * 60), ["Köln", "=1+1", "Bonn " * 20]),
        "many": make_analysis([f"class {j}" for j in range(10)], list(range(100)), size=40),
        "single": make_analysis(),
        "broken": broken_analysis(),
        "accuracies": make_accuracies(odd="2024-02"),
    }
    for name, analysis in analyses.items():
        analysis.report(folder / f"{name}.html")
    make_monitor(folder / "watch").report(folder / "monitor.html")
    make_long_monitor(folder / "years").report(folder / "long_monitor.html")
    return folder


def make_monitor(folder):
    """A monitor with an alert, and labels of some chunks."""
    stream = Stream()
    watch = hc.Monitor.create(
        folder, stream.rows(600, 0.3).drop("id"), target="label", by="day", key="id"
    )
    rows = stream.days([0.1] * 30 + [0.4] * 20)
    watch.update(rows.drop("label"))
    watch.update(labels=rows.select("id", "label")[:4000])
    assert watch.status().open
    return watch


def make_long_monitor(folder):
    """A monitor of two groups with hundreds of chunks each, more than a page shows."""
    stream = Stream()
    watch = hc.Monitor.create(
        folder, stream.rows(600, 0.3).drop("id"), target="label", by="day", group="region"
    )
    shares = [0.1] * 200 + [0.3] * 30 + [0.1] * 200
    north = stream.days(shares, n=60).with_columns(region=pl.lit("north"))
    south = stream.days([0.2] * 300, n=60).with_columns(region=pl.lit("south"))
    watch.update(pl.concat([north, south]).drop("id", "label"))
    assert len(watch.to_frame()) == 730
    return watch


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
@pytest.mark.parametrize(
    "name",
    ["months", "shops", "many", "single", "broken", "accuracies", "monitor", "long_monitor"],
)
def test_it_loads_quietly_alone_and_fits(browser, pages, name, width, theme):
    path = pages / f"{name}.html"
    browser.prefer(theme)
    browser.open(path, width=width)
    assert browser.requests() == [path.as_uri()]
    assert browser.complaints() == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelector('main').getBoundingClientRect().height") > 300
    # No words are cut off at the sides, but for those in parts that scroll.
    outside = browser.run(
        """Array.from(document.querySelectorAll("p, h1, h2, li, figcaption, button"))
        .filter((part) => part.offsetParent && !part.closest(".scroll"))
        .filter((part) => part.getBoundingClientRect().right > innerWidth + 1).length"""
    )
    assert outside == 0
    numbers = """Array.from(document.querySelectorAll("svg, svg *"))
        .flatMap((part) => Array.from(part.attributes, (each) => each.value))
        .filter((text) => /nan|infinity/i.test(text) && /\\d|^nan|[ML]/i.test(text)).length"""
    assert browser.run(numbers) == 0
    # What scrolls says so, and nothing else does.
    wrong = """Array.from(document.querySelectorAll(".scroll"))
        .filter((part) => part.offsetParent)
        .filter((part) => (part.scrollWidth > part.clientWidth + 1
            || part.scrollHeight > part.clientHeight + 1)
            === part.previousElementSibling.hidden).length"""
    assert browser.run(wrong) == 0
    if name == "accuracies":
        assert browser.run("document.querySelectorAll('.hint:not([hidden])').length > 0") == (
            width == 390
        )


def background(browser):
    return browser.run("getComputedStyle(document.body).backgroundColor")


def test_themes_follow_the_reader_and_the_button(browser, pages):
    colours = {}
    for theme in ("light", "dark"):
        browser.prefer(theme)
        browser.open(pages / "months.html")
        colours[theme] = background(browser)
    assert colours["light"] != colours["dark"]
    assert browser.run("document.getElementById('theme').textContent") == "Light"
    browser.run("document.getElementById('theme').click()")
    assert background(browser) == colours["light"]
    browser.run("document.getElementById('theme').click()")
    assert background(browser) == colours["dark"]


def test_tables_sort_by_numbers_and_names_both_ways(browser, pages):
    browser.prefer("light")
    browser.open(pages / "months.html")
    before = browser.run(f"({COLUMN})(1)")
    browser.run(f"{HEADING}[1].click()")
    rising = [float(cell.rstrip("%")) for cell in browser.run(f"({COLUMN})(1)")]
    assert rising == sorted(float(cell.rstrip("%")) for cell in before)
    assert rising != [float(cell.rstrip("%")) for cell in before]
    assert browser.run(f"{HEADING}[1].parentNode.ariaSort") == "ascending"
    browser.run(f"{HEADING}[1].click()")
    falling = [float(cell.rstrip("%")) for cell in browser.run(f"({COLUMN})(1)")]
    assert falling == rising[::-1]
    browser.run(f"{HEADING}[0].click()")
    assert browser.run(f"({COLUMN})(0)") == sorted(MONTHS)
    assert browser.run("document.querySelectorAll('th[aria-sort]').length") == 1


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_downloads_have_everything(browser, pages, tmp_path, kind):
    browser.open(pages / "shops.html")
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.run(f"document.getElementById('{kind}').click()")
    while not any(
        event["method"] == "Page.downloadProgress" and event["params"]["state"] == "completed"
        for event in browser.events
    ):
        browser.events.append(browser._next())
    text = (tmp_path / f"headcount.{kind}").read_bytes().decode("utf-8-sig")
    if kind == "json":
        data = json.loads(text)
        assert data["classes"][0] == NASTY
        assert len(data["groups"]) == 3
    else:
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert len(rows) == 1 + 3 * 4
        assert {row[0] for row in rows[4:]} == {"Köln", "'=1+1", "Bonn " * 20}
    assert browser.complaints() == []


def test_hovering_tells_the_numbers(browser, pages):
    browser.open(pages / "months.html")
    x, y = browser.run(
        """(() => { const dot = document.querySelectorAll(".trend .mark .estimate")[4];
        dot.scrollIntoView({block: "center"});
        const box = dot.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]; })()"""
    )
    assert browser.run("document.getElementById('tip').hidden")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    said = browser.run("document.getElementById('tip').textContent")
    assert said.startswith("2024-05: ")
    assert "classify and count: " in said


def test_classify_and_count_can_be_hidden(browser, pages):
    browser.open(pages / "months.html")
    shown = "document.querySelector('.trend .cc').getClientRects().length"
    assert browser.run(shown)
    browser.run("document.getElementById('show-cc').click()")
    assert not browser.run(shown)


def test_it_can_be_read_without_scripts_and_printed(browser, pages):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages / "months.html")
        document = browser.call("DOM.getDocument", depth=-1)
        found = browser.call(
            "DOM.querySelectorAll",
            nodeId=document["root"]["nodeId"],
            selector="#groups tbody tr, .trend .mark title",
        )
        assert len(found["nodeIds"]) == 12 + 12
        tools = browser.call(
            "DOM.querySelector", nodeId=document["root"]["nodeId"], selector=".tools[hidden]"
        )
        assert tools["nodeId"]
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.call("Page.printToPDF")["data"]


def test_dark_pages_print_on_white(browser, pages):
    browser.open(pages / "months.html")
    browser.run("document.documentElement.dataset.theme = 'dark'")
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert background(browser) == "rgb(255, 255, 255)"
        assert browser.run("document.querySelector('.tools').offsetParent") is None
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_no_script_but_ours_can_run(browser, pages):
    browser.open(pages / "shops.html")
    browser.run(
        """(() => { const script = document.createElement("script");
        script.textContent = "window.pwned = true"; document.body.append(script); })()"""
    )
    assert browser.run("window.pwned") is None
    assert any("Content Security Policy" in text for text in browser.complaints())
