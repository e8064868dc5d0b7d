"""Methods of other packages: found by entry points, checked by the shipped checks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import headcount as hc
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantifiers import quantifiers
from headcount.quantifiers.registry import ENTRY_POINTS, installed_methods
from headcount.testing import check_quantifier

PLUGIN = Path(__file__).parents[1] / "plugin"
SOURCE = Path(hc.__file__).parents[1]


def install(folder: Path, module: str, text: str, entries: dict[str, str]) -> None:
    """Write a module and the metadata that an installer writes for it."""
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    metadata = folder / f"{module}-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module}\nVersion: 0.1\n", encoding="utf-8"
    )
    lines = [f"[{ENTRY_POINTS}]", *(f"{name} = {value}" for name, value in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder with the package of tests/plugin, which is importable and installed."""
    text = (PLUGIN / "two_moments.py").read_text(encoding="utf-8")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(tmp_path, "two_moments", text, project["entry-points"][ENTRY_POINTS])
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("two_moments", None)


def run(folder, *arguments):
    """Run Python in a new process that has the package."""
    path = os.pathsep.join([str(folder), str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def command(folder, *arguments):
    call = "import sys; from headcount.cli import main; sys.exit(main())"
    return run(folder, "-c", call, *arguments)


def test_the_package_has_fewer_than_thirty_lines():
    assert len((PLUGIN / "two_moments.py").read_text(encoding="utf-8").splitlines()) < 30


def test_it_is_found_by_name(folder):
    found = hc.method("two-moments")
    assert found.__module__ == "two_moments"
    assert "TwoMoments" in hc.methods()
    assert list(hc.methods()) == sorted(hc.methods(), key=str.lower)
    assert installed_methods() == {"TwoMoments": found}
    assert "TwoMoments" not in quantifiers()
    with pytest.raises(HeadcountError, match="did you mean TwoMoments"):
        hc.method("TwoMomnts")


def test_without_it_nothing_is_found():
    assert "TwoMoments" not in hc.methods()


def test_it_passes_the_checks(folder):
    report = check_quantifier(hc.method("TwoMoments")())
    assert not report.with_status("failed")
    assert len(report.with_status("passed")) > 120


def test_the_command_line_lists_it(folder):
    lines = command(folder, "methods").splitlines()
    assert any(re.match(r"TwoMoments +first two moments", line) for line in lines)


def shop(n=300):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    x = rng.normal(2 * y, 1)
    return pl.DataFrame({"x": x, "z": rng.normal(size=n), "kind": np.array(["a", "b", "c"])[y]})


def test_it_runs_in_a_study(folder):
    shop().write_csv(folder / "shop.csv")
    (folder / "mine.toml").write_text(
        """
        name = "mine"
        kind = "own-data"
        metrics = ["ae"]
        [data.shop]
        file = "shop.csv"
        target = "kind"
        [protocol]
        name = "UPP"
        n_samples = 20
        size = 50
        [[methods]]
        name = "CC"
        [[methods]]
        name = "two moments"
        quantifier = "TwoMoments"
        """,
        encoding="utf-8",
    )
    command(folder, "study", "run", "mine.toml", "--workers", "2")
    results = pl.concat(pl.read_parquet(path) for path in folder.glob("mine-results/results/*"))
    errors = dict(results.group_by("method").agg(pl.col("ae").mean()).iter_rows())
    assert results["failure"].is_null().all()
    assert errors["two moments"] < errors["CC"]


def test_its_models_are_saved_and_read(folder):
    table = shop()
    table.write_csv(folder / "labelled.csv")
    table.drop("kind").write_csv(folder / "new.csv")
    trained = ("--train", "labelled.csv", "--target", "kind", "--method", "TwoMoments")
    first = command(folder, "estimate", "new.csv", *trained, "--save", "m.skops", "--json")
    again = command(folder, "estimate", "new.csv", "--model", "m.skops", "--json")
    assert json.loads(first)["overall"] == json.loads(again)["overall"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module", "odd:Odd cannot be imported (ModuleNotFoundError: No module"),
        ("raise RuntimeError('no\\nlicence')", "(RuntimeError: no licence)"),
        ("Odd = 3", "odd:Odd is not a subclass of Quantifier"),
        (
            "from headcount.quantifiers import Quantifier\nclass Odd(Quantifier): pass",
            "has no info",
        ),
        ("from headcount import SLD\nclass Odd(SLD): pass", "has no info"),
        (
            "from headcount import SLD\nfrom headcount.parts import MethodInfo\n"
            "class Odd(SLD):\n    info = MethodInfo('t', 'f', 'r', aliases=('e-m-q',))",
            "another method has the name 'e-m-q'",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_left_out(tmp_path, monkeypatch, text, message):
    install(tmp_path, "odd", text, {"Odd": "odd:Odd"})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(HeadcountWarning, match=re.escape(message)) as caught:
        assert "Odd" not in hc.methods()
    assert str(caught[0].message).startswith(
        "The method 'Odd' of the package 'odd' is left out:"
    )
    with pytest.warns(HeadcountWarning), pytest.raises(HeadcountError, match="is not a method"):
        hc.method("Odd")
    sys.modules.pop("odd", None)


def test_names_of_the_library_are_not_replaced(tmp_path, monkeypatch):
    text = "import headcount as hc\nclass SLD(hc.CC):\n    info = hc.CC.info"
    install(tmp_path, "odd", text, {"SLD": "odd:SLD"})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(HeadcountWarning, match="another method has the name 'SLD'"):
        assert hc.method("SLD") is hc.SLD
    sys.modules.pop("odd", None)
