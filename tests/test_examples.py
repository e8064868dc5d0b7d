"""The examples run without warnings, stay short, and print what the test expects of them."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from matplotlib.axes import Axes

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
# A line that each prints, in words: the part of the story that must stay true.
STORIES = {
    "01_two_tables": r"Reithrodontomys  true 12\.8%  headcount +\d.*counted +0\.0%",
    "02_reviews_as_text": r"true 59\.6%, counted 3\d",
    "03_any_classifier": r"SLD +0\.02\d+\*",
    "04_scores_from_elsewhere": r"true 0\.700  estimated 0\.(69|7)",
    "05_is_the_assumption_met": r"away .*does not look like a mixture",
    "06_backtest": r"relies mainly on\s+mean posteriors",
    "07_a_few_labels": r"labels disagree with the estimate under prior shift",
    "08_monitor_a_model": r"open share of '1' rose .* since 2026-03-21",
    "09_llm_judge": r"tuned +pass +79\.1%",
    "10_compare_methods": r"(DyS|KDEyML|SLD|PACC) .* best",
    "11_your_own_method": r"(GPAC|TwoMoments) +0\.\d+\*",
}


def test_every_example_has_a_story():
    assert [path.stem for path in EXAMPLES] == sorted(STORIES)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_runs_and_draws(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    module = ModuleType(f"example_{path.stem}")
    # Dataclasses look up the module they are defined in by its name.
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, str(path), "exec"), vars(module))
    assert re.search(STORIES[path.stem], printed.getvalue()), printed.getvalue()
    assert isinstance(module.ax, Axes)
    assert not list(tmp_path.iterdir()), "examples leave no files behind"
