from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from headcount import distributed as _dask
from headcount.errors import HeadcountError
from headcount_studies.engine import run as studied
from headcount_studies.engine.run import run_study
from tests.studies.engine.test_run import LIMITS
from tests.studies.engine.toy import result_bytes, toy_spec

distributed = pytest.importorskip("distributed", reason="dask is not installed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as running:
        yield running


def test_a_worker_is_killed_in_the_middle(cluster, undisturbed, tmp_path):
    spec = toy_spec(dies=["ants-1"], refuses=["bees-2"])
    done = run_study(
        spec, tmp_path / "store", data=tmp_path, scheduler=cluster.scheduler_address
    )
    assert (tmp_path / "ants-1.died").exists()
    assert done.done == 5
    assert [(each.task, each.reason) for each in done.failures] == [
        ("bees-2", "The sample is empty: draw more.")
    ]
    here, there = result_bytes(done.store.folder), result_bytes(undisturbed.folder)
    files = [name for name in there if name.endswith(".parquet") and "bees-2" not in name]
    assert len(files) == 5
    assert {name: here[name] for name in files} == {name: there[name] for name in files}
    assert done.store.status().failed == 1


@contextmanager
def dask(program, *options):
    call = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *options]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(call, env=os.environ | LIMITS, **quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def started_address(path, process):
    while not path.exists() or not path.read_text().endswith("}"):
        assert process.poll() is None
        time.sleep(0.05)
    return json.loads(path.read_text())["address"]


def test_the_scheduler_is_killed_in_the_middle(undisturbed, tmp_path):
    """In one sentence, without a traceback; what is finished is kept, and it goes on."""
    spec = toy_spec(draws=3, waits=True)
    (tmp_path / "toy.toml").write_text(spec.to_toml())
    command = [sys.executable, "-m", "headcount", "study", "run", "toy.toml"]
    command += ["--data", ".", "--allow-imports"]
    results = tmp_path / "toy-results" / "results"
    file = tmp_path / "scheduler.json"
    with dask("scheduler", "--port", "0", "--scheduler-file", str(file)) as scheduler:
        address = started_address(file, scheduler)
        with (
            dask("worker", address, "--nthreads", "1", "--no-nanny"),
            subprocess.Popen(
                [*command, "--scheduler", address],
                cwd=tmp_path,
                env=os.environ | LIMITS,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as study,
        ):
            while not list(results.glob("*.parquet")):
                assert study.poll() is None, study.stderr.read()
                time.sleep(0.02)
            scheduler.kill()
            out, said = study.communicate()
    kept = len(list(results.glob("*.parquet")))
    assert (study.returncode, out) == (2, "")
    assert said == (
        f"headcount: The connection to the scheduler was lost, but {kept} of 6 tasks are done "
        "and kept in 'toy-results': run it again with --resume (resume=True) to go on.\n"
    )
    assert kept == 1
    (tmp_path / "go").touch()
    again = run_study(spec, results.parent, data=tmp_path, workers=1, resume=True)
    assert again.done == 5
    assert again.store.results().equals(undisturbed.results())


def test_data_that_workers_do_not_see(cluster):
    address = cluster.scheduler_address
    with (
        pytest.raises(HeadcountError, match=r"sees no folder '/nowhere'"),
        studied.connected(address, studied.Path("/nowhere"), toy_spec()),
    ):
        pass


def test_workers_with_other_versions(cluster, tmp_path, monkeypatch):
    ours = studied.code_versions(toy_spec()) | {"numpy": "0.1"}
    monkeypatch.setattr(studied, "code_versions", lambda spec: ours)
    address = cluster.scheduler_address
    with (
        pytest.raises(HeadcountError, match=r"has numpy .* this process has 0\.1"),
        studied.connected(address, tmp_path, toy_spec()),
    ):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "127.0.0.1"])
def test_no_scheduler(tmp_path, monkeypatch, address):
    monkeypatch.setattr(_dask, "PATIENCE", 0.2)
    with pytest.raises(HeadcountError, match="cannot be reached") as refused:
        run_study(toy_spec(), tmp_path / "store", data=tmp_path, scheduler=address)
    assert not (tmp_path / "store").exists()
    assert "\n" not in str(refused.value)


def test_no_workers(tmp_path, monkeypatch):
    # Only the wait is short: a busy machine may take longer to connect.
    waits = distributed.Client.wait_for_workers
    monkeypatch.setattr(
        distributed.Client, "wait_for_workers", lambda self, n, timeout: waits(self, n, 0.2)
    )
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        pytest.raises(HeadcountError, match="has no workers"),
    ):
        run_study(
            toy_spec(), tmp_path / "store", data=tmp_path, scheduler=empty.scheduler_address
        )


def test_dask_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(HeadcountError, match=r"install headcount\[cluster\]"):
        run_study(toy_spec(), tmp_path / "store", data=tmp_path, scheduler="tcp://a:1")


def test_dask_is_imported_by_those_who_ask_for_it():
    script = "import sys, headcount_studies.engine.run; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
