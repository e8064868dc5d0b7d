from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from inspect import signature
from types import SimpleNamespace

import polars as pl
import pytest
from typer.main import get_command

import headcount as hc
from headcount import tables
from headcount.cli import accuracy as cli_accuracy
from headcount.cli import estimate, judge, monitor, statistics
from headcount.cli.execute import app
from headcount.cli.options import arguments
from headcount.tables import accuracy, backtests, from_tables, judges


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


def test_commands_that_read_dates_can_be_told_their_order():
    """Messages on dates such as 03/04/2024 advise the option --date-order."""

    def commands(command):
        nested = getattr(command, "commands", {}).values()
        return (
            [command] if not nested else [leaf for inner in nested for leaf in commands(inner)]
        )

    options = [{option.name for option in leaf.params} for leaf in commands(get_command(app))]
    dated = [names for names in options if "date_column" in names]
    assert len(dated) > 4
    assert all("date_order" in names for names in dated)


def test_other_packages_add_commands(call, refused, monkeypatch):
    def greet(name: str = "you") -> str:
        return f"hello {name}"

    entries = {
        "greet": SimpleNamespace(name="greet", value="there:greet", load=lambda: greet),
        "gone": EntryPoint("gone", "headcount.none:gone", "headcount.commands"),
    }
    monkeypatch.setattr("headcount.cli.execute._added_commands", lambda: entries)
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


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo on few animals and years."""
    from headcount_studies.demo import run

    def some(tables, column, values):
        labelled, new = tables
        new = new.filter(pl.col(column).is_in(values))
        return labelled, new.filter(pl.int_range(pl.len()).over(column) < 300)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "N_LABELS", 50)
        plots = some(run.plot_tables(0), "plot", [7, 10, 16])
        years = some(run.year_tables(0), "year", [1986, 2000])
        patch.setattr(run, "plot_tables", lambda seed: plots)
        patch.setattr(run, "year_tables", lambda seed: years)
        return run.run_demo(tmp_path_factory.mktemp("demo") / "a" / "b")


def test_the_demo_writes_its_files_and_tells_the_story(demo):
    assert {path.name for path in demo.folder.iterdir()} == {
        "backtest.html", "plots-labelled.csv", "plots-new.csv", "plots-shares.csv",
        "report.html", "rodents-dark.png", "rodents.png", "years-dark.png",
        "years-labelled.csv", "years-new.csv", "years-to-label.csv", "years.html", "years.png",
        "years-with-labels.html",
    }  # fmt: skip
    text = demo.text()
    assert text.index("FENCES") < text.index("Over 3 plots") < text.index("YEARS")
    assert "Backtest on" in text
    assert f"page:        {demo.folder / 'report.html'}" in text
    assert len(pl.read_csv(demo.folder / "years-to-label.csv")) == 100


def test_the_demo_counts_as_its_tables_do(demo):
    from headcount_studies.demo.run import Score

    table = pl.read_csv(demo.folder / "plots-shares.csv").filter(pl.col("group").is_not_null())
    score = Score.of(demo.plots)
    assert score.n_intervals == len(table) == 3 * 7
    assert score.error == pytest.approx((table["share"] - table["truth"]).abs().mean())
    inside = table["truth"].is_between(table["low"], table["high"])
    assert score.n_contained == inside.sum()
    assert score.error < score.counted_error
    assert Score.of(demo.with_labels).error < Score.of(demo.mix_only).error


def test_the_demo_as_json(demo):
    content = json.loads(demo.text(as_json=True))
    assert set(content) == {"plots", "mix_only", "past", "default", "with_labels"}
    assert "Dipodomys" in content["plots"]["classes"]


def test_rodents_are_shipped_with_the_package():
    from headcount_studies.demo.run import plot_tables, year_tables

    labelled, fenced = plot_tables(0)
    assert (len(labelled), len(fenced)) == (1000, 16_561)
    assert fenced["plot"].n_unique() == 16
    assert set(labelled["plot"]).isdisjoint(fenced["plot"])
    early, later = year_tables(0)
    assert early["year"].max() <= 1985 < later["year"].min()


def test_pictures_have_a_light_and_a_dark_form(demo):
    from matplotlib.image import imread

    for name in ("rodents", "years"):
        light, dark = (imread(demo.folder / f"{name}{ending}.png") for ending in ("", "-dark"))
        assert dark[:, :, :3].mean() < 0.3 < light[:, :, :3].mean()


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


def test_the_functions_behind_commands_take_their_options():
    """An option that a function does not take would have no effect."""
    handled = {"json", "output", "report", "save", "strict", "verbose", "new", "watch"}
    handled |= {"half_width", "judge_price", "human_price", "seed"}
    functions = {
        estimate.estimate: from_tables.analyse,
        estimate.backtest: backtests.backtest,
        estimate.label: from_tables.plan_labels,
        judge.judge: judges.judge,
        monitor.create: hc.Monitor.create,
        cli_accuracy.accuracy: accuracy.analyse_accuracy,
        statistics.make: from_tables.summarise,
    }
    for command, function in functions.items():
        options = signature(command).parameters.keys() - handled
        assert options <= signature(function).parameters.keys(), command
        kept = arguments(function, dict.fromkeys(options, 0) | {"seed": 7, "by": None})
        assert "by" not in kept
        assert kept.get("random_state", 7) == 7
