from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headcount.evaluation import Evaluations
from headcount_studies.engine.spec import built_in_specs
from headcount_studies.engine.store import Store
from tests.studies.engine.toy import result_bytes, toy_spec
from tests.studies.test_own_data import customers, documented

ROOT = Path(__file__).parents[2]
RUN = ("study", "run", "toy.toml", "--allow-imports", "--data", ".", "--workers", "1")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A folder, which is where we are, with a spec."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADCOUNT_DATA", raising=False)
    Path("toy.toml").write_text(toy_spec().to_toml())
    return tmp_path


def test_list(toy, call):
    code, out, _ = call("study", "list")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()[1:] if line][:-1]
    assert names == list(built_in_specs())
    assert "set HEADCOUNT_DATA" in out
    code, out, _ = call("study", "list", "--json", "--data", ".")
    assert [each["name"] for each in json.loads(out)] == names
    assert all(each["datasets"] and each["methods"] for each in json.loads(out))


def test_run_look_and_report(toy, call):
    code, out, err = call(*RUN)
    assert (code, err) == (0, "")
    assert out.startswith("6 of 6 tasks done now, 0 before; 24 runs in")
    assert out.endswith(f"Results: {toy / 'toy-results'}\n")
    code, out, _ = call("study", "status", "toy-results")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "toy: 6 of 6 tasks done, 0 failed, 0 missing."
    assert lines[3].split() == [
        "dataset",
        "tasks",
        "done",
        "failed",
        "missing",
        "runs",
        "seconds",
    ]
    assert lines[4].split()[:6] == ["ants", "3", "3", "0", "0", "12"]
    code, out, _ = call("study", "report", "toy-results", "--allow-imports", "--json")
    assert code == 0
    written = json.loads(out)
    assert written["study"] == "toy"
    assert Path(written["page"]).parent == Path("toy-results/report")
    assert "Mean errors." in Path(written["page"]).read_text()
    code, out, _ = call(
        "study", "report", "toy-results", "--allow-imports", "--output", "elsewhere"
    )
    assert code == 0
    assert out.startswith(f"Page: {toy / 'elsewhere'}")


def test_json(toy, call):
    code, out, _ = call(*RUN, "--store", "s", "--datasets", "bees", "--json")
    assert code == 0
    done = json.loads(out)
    assert (done["store"], done["tasks"], done["runs"], done["failures"]) == ("s", 3, 12, [])
    code, out, _ = call("study", "status", "s", "--json")
    assert code == 0
    status = json.loads(out)
    assert (status["study"], status["done"], status["missing"]) == ("toy", 3, 0)
    assert status["datasets"][0]["dataset"] == "bees"


def test_restrict_then_widen(toy, call):
    assert call(*RUN, "--store", "whole")[0] == 0
    assert call(*RUN, "--store", "s", "--datasets", "bees")[0] == 0
    code, out, _ = call(*RUN, "--store", "s", "--resume")
    assert code == 0
    assert out.startswith("3 of 6 tasks done now, 3 before")
    assert result_bytes(toy / "s") == result_bytes(toy / "whole")


def test_fewer_methods_then_the_others(toy, call):
    code, out, _ = call(*RUN, "--store", "s", "--methods", "PCC")
    assert code == 0
    assert "12 runs" in out
    code, out, _ = call(*RUN, "--store", "s", "--resume")
    assert code == 0
    assert out.startswith("6 of 12 tasks done now, 6 before; 12 runs")
    code, out, _ = call(*RUN, "--store", "s", "--resume")
    assert out.startswith("0 of 12 tasks done now, 12 before")


def test_failures_are_listed_and_exit_with_4(toy, call):
    spec = toy_spec(refuses=["ants-0", "ants-2"], raises=["bees-1"])
    methods = (spec.methods[0], replace(spec.methods[1], options={"fails": True}))
    Path("toy.toml").write_text(replace(spec, methods=methods).to_toml())
    code, out, _ = call(*RUN)
    assert code == 4
    assert "3 of 6 tasks done now" in out
    assert "6 runs failed" in out
    assert "3 tasks failed; --resume tries them again" in out
    assert "ants, whole tasks, 8 runs: The sample is empty: draw more." in out
    assert r"bees, whole tasks (bees-1), 4 runs: KeyError: 'no such\nthing'" in out
    code, out, _ = call("study", "status", "toy-results")
    assert code == 0
    assert "bees, PCC, 4 runs: it has no heart" in out
    assert "ants, whole tasks, 8 runs" in out


def test_many_failures_are_cut_short(toy, call):
    draws = range(30)
    spec = toy_spec(datasets=("ants",), draws=30, raises=[f"ants-{i}" for i in draws])
    Path("toy.toml").write_text(spec.to_toml())
    _, out, _ = call(*RUN)
    assert out.count("KeyError") == 1
    assert "30 tasks failed" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "comparison-binry"), "did you mean 'comparison-binary'"),
        (("run", "none.toml"), "no file 'none.toml'"),
        (("run", "toy.toml", "--allow-imports"), "set HEADCOUNT_DATA"),
        (("run", "toy.toml", "--allow-imports", "--data", "none"), "'none' does not exist"),
        (
            ("run", "toy.toml", "--allow-imports", "--data", ".", "--datasets", "antz"),
            "did you mean 'ants'",
        ),
        (
            ("run", "toy.toml", "--allow-imports", "--data", ".", "--methods", "cc"),
            "did you mean 'CC'",
        ),
        (
            ("run", "toy.toml", "--allow-imports", "--data", ".", "--methods", ","),
            "at least one",
        ),
        (("run", "toy.toml", "--allow-imports", "--workers", "0"), "--workers"),
        (
            (
                "run",
                "toy.toml",
                "--allow-imports",
                "--workers",
                "2",
                "--scheduler",
                "tcp://a:1",
            ),
            "both",
        ),
        (("run",), "SPEC"),
        (("run", "bad.toml", "--data", "."), "not valid TOML"),
        (
            ("run", "toy.toml", "--allow-imports", "--data", ".", "--store", "full"),
            "other files in it",
        ),
        (("status", "none"), "no folder 'none'"),
        (("status", "full"), "not the store of a study"),
        (("report", "none"), "no folder 'none'"),
        (("list", "--data", "none"), "'none' does not exist"),
        (("lst",), "lst"),
    ],
)
def test_bad_calls(toy, refused, arguments, sentence):
    Path("bad.toml").write_text("name =")
    Path("full").mkdir()
    Path("full/letter.txt").touch()
    assert sentence in refused("study", *arguments)
    assert not Path("toy-results").exists()


def test_a_store_that_is_there(toy, call, refused):
    assert call(*RUN)[0] == 0
    assert "add --resume" in refused(*RUN)
    assert "published is" in refused(
        "study", "report", "toy-results", "--allow-imports", "--published", "none"
    )


def test_another_run_is_writing(toy, call, refused):
    assert call(*RUN, "--datasets", "ants")[0] == 0
    with Store("toy-results").writing():
        assert "another run" in refused(*RUN, "--resume")


def test_interrupted(toy):
    Path("toy.toml").write_text(toy_spec(draws=200, pause=0.1).to_toml())
    command = (sys.executable, "-m", "headcount", *RUN)
    with subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        while not list(toy.glob("toy-results/results/*.parquet")):
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "of 400 tasks are done and kept in 'toy-results'" in err
    assert "--resume" in err


def test_on_a_terminal_progress_is_shown(toy, call, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    code, _, err = call(*RUN)
    assert code == 0
    assert "6 of 6 tasks" in err


def test_the_documented_study_of_own_data(toy, call):
    customers().write_csv("shop.csv")
    Path("mine.toml").write_text(documented())
    code, out, err = call("study", "run", "mine.toml", "--workers", "1")
    assert (code, err) == (0, "")
    assert "3 of 3 tasks done now, 0 before; 1,800 runs" in out
    code, _, err = call("study", "report", "mine-results", "--metric", "nkld")
    assert (code, err) == (0, "")
    tables = {path.name: path.read_text() for path in Path("mine-results/report").rglob("*.md")}
    assert tables.keys() == {"ae.md", "rae.md", "nkld.md", "settings.md"}
    assert "| shop |" in tables["nkld.md"]
    assert "bandwidth=0." in tables["settings.md"]
    page = Path("mine-results/report/report.html").read_text()
    assert "Files of the data" in page
    assert "By method" in page
    # A method is added, and only it is run.
    Path("mine.toml").write_text(documented() + '\n[[methods]]\nname = "SLD"\n')
    code, out, _ = call("study", "run", "mine.toml", "--workers", "1", "--resume")
    assert code == 0
    assert "3 of 6 tasks done now, 3 before; 600 runs" in out
    found = Evaluations(Store("mine-results").evaluations())
    assert found.methods == ("CC", "PACC", "KDEy", "SLD")
    assert len(found["shop"]) == 3 * 200
    assert r"\begin{tabular}" in found.to_latex()
