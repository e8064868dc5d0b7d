from __future__ import annotations

import json
import subprocess
import sys

import polars as pl

import headcount as hc


def test_version(call):
    assert call("--version")[:2] == (0, f"headcount {hc.__version__}\n")


def test_version_needs_no_heavy_imports():
    script = (
        "import sys\nfrom headcount.cli.running import run\nrun(['--version'])\n"
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
    assert code == 2


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


def test_demo(tmp_path, call):
    folder = tmp_path / "a" / "b"
    code, out, _ = call("demo", folder)
    assert code == 0
    assert "2024-03" in out
    assert "true share" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "labelled.csv", "new.csv", "report.html", "shares.csv",
    ]  # fmt: skip
    shares = pl.read_csv(folder / "shares.csv").filter(pl.col("class") == "eight")
    assert (shares["share"] - shares["truth"]).abs().max() < 0.15


def test_nothing_but_json_on_standard_output(tmp_path, call):
    code, out, _ = call("demo", tmp_path, "--json")
    assert code == 0
    assert json.loads(out)["classes"] == ["eight", "other"]
