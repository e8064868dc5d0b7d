from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest

from headcount_studies.engine.run import run_study
from headcount_studies.engine.store import Store
from tests.studies.engine.killed import SPEC
from tests.studies.engine.test_run import LIMITS
from tests.studies.engine.toy import result_bytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_ten_kills_leave_no_trace(tmp_path):
    seed = random.randrange(10**6)
    done = subprocess.run(
        [sys.executable, "-m", "tests.studies.engine.killed", str(tmp_path), str(seed)],
        env=os.environ | LIMITS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (seed, done.stderr)
    ends = [line.split() for line in done.stdout.splitlines()]
    counts = [int(count) for _, count in ends]
    assert counts == sorted(counts), seed
    assert 5 < counts[-1] <= 60, seed
    # Only a run that finished, on a machine too busy to kill it before, ended by itself.
    killed = [int(end) == signal.SIGKILL for end, _ in ends]
    assert all(end or count == 60 for end, count in zip(killed, counts, strict=True)), seed
    assert len(killed) == 10
    assert killed[0], seed
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}

    resumed = run_study(SPEC, tmp_path / "store", data=tmp_path, workers=1, resume=True)
    assert resumed.done == 60 - counts[-1], seed
    assert {path: path.stat().st_mtime_ns for path in before} == before, seed
    whole = run_study(SPEC, tmp_path / "whole", data=tmp_path, workers=1)
    assert result_bytes(tmp_path / "store") == result_bytes(tmp_path / "whole"), seed
    assert resumed.store.results().equals(whole.store.results())
    assert Store(tmp_path / "store").status().done == 60
