from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from headcount.errors import HeadcountError
from headcount.study import cluster as studied
from headcount.study import run_study
from tests.study.toy import result_bytes, toy_spec

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


def test_data_that_workers_do_not_see(cluster):
    address = cluster.scheduler_address
    with (
        pytest.raises(HeadcountError, match=r"sees no folder '/nowhere'"),
        studied.connected(address, studied.Path("/nowhere")),
    ):
        pass


def test_workers_with_other_versions(cluster, tmp_path, monkeypatch):
    ours = studied.versions() | {"numpy": "0.1"}
    monkeypatch.setattr(studied, "versions", lambda: ours)
    address = cluster.scheduler_address
    with (
        pytest.raises(HeadcountError, match=r"has numpy .* this process has 0\.1"),
        studied.connected(address, tmp_path),
    ):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "127.0.0.1"])
def test_no_scheduler(tmp_path, monkeypatch, address):
    monkeypatch.setattr(studied, "_PATIENCE", 0.2)
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
    script = "import sys, headcount.study.run; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
