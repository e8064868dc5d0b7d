"""The GitHub Action: its script runs the command as a workflow would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="the action runs in bash")
@pytest.mark.parametrize(("width", "status"), [(0.5, 0), (0.01, 3)])
def test_the_action_writes_a_page_and_fails_if_results_cannot_be_relied_on(
    tmp_path, width, status
):
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(600) < 0.7, "pass", "fail")
    judge = np.where(rng.random(600) < 0.15, rng.choice(["pass", "fail"], 600), truth)
    human = np.where(np.arange(600) < 100, truth, None).tolist()
    pl.DataFrame({"judge": judge, "its human": human}).write_csv(tmp_path / "my items.csv")
    command = tmp_path / "headcount"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headcount "$@"\n')
    command.chmod(0o755)
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    values = {name: item.get("default", "") for name, item in action["inputs"].items()}
    values |= {
        "items": "my items.csv",
        "options": f"--verdict judge --gold 'its human' --half-width {width}",
    }
    step = action["runs"]["steps"][-1]
    given = {
        name: values[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, text in step["env"].items()
    }
    paths = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    summary = tmp_path / "summary.md"
    run = subprocess.run(
        [BASH, "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={**os.environ, **given, "PATH": paths, "GITHUB_STEP_SUMMARY": str(summary)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == status, run.stderr
    assert (tmp_path / "judge.html").stat().st_size > 10_000
    assert "Corrected rates of 600 items" in summary.read_text()
