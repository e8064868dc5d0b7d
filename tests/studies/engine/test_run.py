from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from headcount.errors import HeadcountError, HeadcountWarning
from headcount_studies.engine.run import (
    TaskOutcome,
    _longest_first,
    _manner,
    execute_task,
    one_thread,
    run_study,
    track_tasks,
)
from headcount_studies.engine.store import Entry, Store
from headcount_studies.engine.task import Task
from tests.studies.engine import toy
from tests.studies.engine.toy import result_bytes, toy_spec

ROOT = Path(__file__).parents[3]
PATHS = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
LIMITS = {"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def test_one_process(undisturbed, tmp_path):
    done = run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1)
    assert (done.tasks, done.done, done.runs, done.failed_runs) == (6, 6, 24, 0)
    assert done.failures == ()
    assert result_bytes(done.store.folder) == result_bytes(undisturbed.folder)


def test_processes_of_which_one_is_killed(undisturbed, tmp_path, capfd):
    spec = toy_spec(raises=["bees-1"], dies=["bees-0"])
    done = run_study(spec, tmp_path / "store", data=tmp_path, workers=2)
    reasons = {failure.task: failure.reason for failure in done.failures}
    assert reasons.keys() == {"bees-0", "bees-1"}
    assert "by SIGKILL, often for want of memory" in reasons["bees-0"]
    assert reasons["bees-1"] == "KeyError: 'no such\\nthing'"
    assert (done.done, done.runs) == (4, 16)
    assert done.store.status().failed == 2
    assert capfd.readouterr().err == ""
    # What failed is tried again, and the rest is as if nothing had happened.
    again = run_study(spec, done.store, data=tmp_path, workers=1, resume=True)
    assert (again.done, [failure.task for failure in again.failures]) == (1, ["bees-1"])
    alike = [path.relative_to(done.store.folder) for path in done.store.folder.rglob("*-*.p*")]
    assert len(alike) == 5
    for path in alike:
        assert (done.store.folder / path).read_bytes() == (
            undisturbed.folder / path
        ).read_bytes()


def test_the_environment_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("HEADCOUNT_NUM_THREADS", "2")
    before = dict(os.environ)
    with one_thread():
        assert os.environ["HEADCOUNT_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"workers": 0}, "workers is 0"),
        ({"workers": 2, "scheduler": "tcp://a:1"}, "both given"),
        ({"datasets": ["antz"]}, "no dataset 'antz': did you mean 'ants'"),
        ({"data": "nowhere"}, "'nowhere' does not exist"),
        ({"spec": "no-such-study"}, "no built-in study"),
        ({"spec": toy_spec(datasets=("dogs",))}, "no dataset 'dogs'"),
        ({"spec": toy_spec(methods=("SLDD",))}, "SLDD"),
        ({"spec": toy_spec(drws=3)}, "did you mean 'draws'"),
        ({"spec": replace(toy_spec(), kind="toy")}, "no kind of study 'toy'"),
    ],
)
def test_bad_calls_leave_no_folder(tmp_path, options, sentence):
    call = {"spec": toy_spec(), "data": tmp_path} | options
    with pytest.raises(HeadcountError, match=sentence) as refused:
        run_study(call.pop("spec"), tmp_path / "store", **call)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("tasks", "sentence"),
    [
        ([Task("a", "ants"), Task("A", "ants")], "task 'A' twice"),
        ([Task("a", "dogs")], "not a dataset of 'toy'"),
        ([], "has none of those of 'toy'"),
    ],
)
def test_plans_that_are_none(tmp_path, monkeypatch, tasks, sentence):
    monkeypatch.setattr(toy.Toy, "plan", lambda *_: tasks)
    with pytest.raises(HeadcountError, match=sentence):
        run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1)
    assert not (tmp_path / "store").exists()


def test_datasets_without_tasks_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(toy.Toy, "plan", lambda *_: [Task("a", "bees", {"draw": 0})])
    with pytest.warns(HeadcountWarning, match="nothing to run on ants"):
        run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pl.DataFrame({"dataset": ["a"], "method": ["m"], "ae": [0.1]}), "column 'failure'"),
        (
            pl.DataFrame(
                {"dataset": ["a"], "method": ["m"], "failure": [None], "ae": [0.1], "x": [None]}
            ),
            "'x' .* has no type",
        ),
    ],
)
def test_results_that_cannot_be_kept(tmp_path, monkeypatch, frame, reason):
    monkeypatch.setattr(toy.Toy, "run", lambda *_: frame)
    outcome = execute_task(toy_spec(), Task("a", "ants"), tmp_path)
    assert outcome.content is None
    assert pl.Series([outcome.entry.reason]).str.contains(reason).all()


def test_types_of_columns_do_not_depend_on_what_they_hold(tmp_path, monkeypatch):
    frame = pl.DataFrame({"dataset": ["a"], "method": ["m"], "failure": [None], "ae": [None]})
    monkeypatch.setattr(toy.Toy, "run", lambda *_: frame)
    outcome = execute_task(toy_spec(), Task("a", "ants"), tmp_path)
    kept = pl.read_parquet(outcome.content)
    assert kept.dtypes == [pl.String, pl.String, pl.String, pl.Float64]


def test_other_versions_are_noted(undisturbed, tmp_path):
    store = run_study(
        toy_spec(), tmp_path / "store", data=tmp_path, workers=1, datasets=["ants"]
    ).store
    journal = store.folder / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"numpy": "', '"numpy": "0.'))
    with pytest.warns(HeadcountWarning, match="begun with other versions"):
        run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert result_bytes(store.folder) == result_bytes(undisturbed.folder)


def test_long_tasks_first_and_datasets_together():
    costs = {"a1": 1, "a2": 9, "b1": 5, "b2": 7, "c1": 8}
    tasks = [Task(key, key[0], cost=cost) for key, cost in costs.items()]
    assert [task.key for task in _longest_first(tasks)] == ["a2", "a1", "c1", "b2", "b1"]


def test_how_processes_end():
    assert "memory" in _manner(-signal.SIGKILL)
    assert _manner(-signal.SIGSEGV) == "by SIGSEGV"
    assert _manner(3) == "with exit code 3"


def test_progress_is_for_terminals(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    tasks = [Task(key, "ants", cost=2, runs=5) for key in "abc"]
    outcomes = [
        TaskOutcome(Entry("a", 1.0)),
        TaskOutcome(Entry("b", 1.0, reason="no")),
        TaskOutcome(Entry("c", 1.0)),
    ]
    assert list(track_tasks(iter(outcomes), tasks)) == outcomes
    assert capsys.readouterr().err == ""
    assert list(track_tasks(iter(outcomes), tasks, show=True)) == outcomes
    shown = capsys.readouterr().err
    assert "3 of 3 tasks" in shown
    assert "1 failed" in shown
    assert "0:00:00" in shown


SCRIPT = """
{first}
from tests.studies.engine.toy import toy_spec
from headcount_studies import run_study

if __name__ == "__main__":
    run_study(toy_spec(draws=200, pause=0.1), "store", data=".", workers=2)
"""


def started(folder, first=""):
    (folder / "script.py").write_text(SCRIPT.format(first=first))
    return subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env=os.environ | LIMITS,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_interrupted(tmp_path):
    store = Store(tmp_path / "store")
    with started(tmp_path) as process:
        while not list(store.folder.glob("results/*.parquet")):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        said = process.stderr.read()
    assert said.count("Traceback") == 1
    assert "KeyboardInterrupt: " in said
    done = store.status().done
    assert f"{done} of 400 tasks are done and kept in 'store'" in said
    assert "resume=True" in said
    assert 0 < done < 400
    assert store.results().height == 4 * done
    assert not list(store.folder.rglob("*.part"))


def test_interrupted_in_one_process(undisturbed, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(toy, "misbehave", stop_at("ants-1"))
        with pytest.raises(KeyboardInterrupt, match="4 of 6 tasks are done and kept in"):
            run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1)
    run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1, resume=True)
    assert result_bytes(tmp_path / "store") == result_bytes(undisturbed.folder)


def stop_at(wanted):
    def misbehave(protocol, key, data):
        if key == wanted:
            raise KeyboardInterrupt

    return misbehave


def test_processes_that_cannot_start(tmp_path):
    with started(tmp_path, "if __name__ == '__mp_main__': raise SystemExit(3)") as process:
        said = process.stderr.read()
    assert process.returncode == 1
    assert "if __name__ == '__main__'" in said.strip().splitlines()[-1]


def test_methods_that_failed_are_tried_again(tmp_path, monkeypatch):
    whole = run_study(toy_spec(), tmp_path / "whole", data=tmp_path, workers=1)
    estimated = toy.estimated
    name = toy_spec().methods[0].name

    def fails(method, train, sample):
        return None if method.name == name else estimated(method, train, sample)

    monkeypatch.setattr(toy, "estimated", fails)
    done = run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1)
    assert done.failed_runs == 12
    monkeypatch.setattr(toy, "estimated", estimated)
    again = run_study(toy_spec(), done.store, data=tmp_path, workers=1, resume=True)
    assert (again.done, again.failed_runs) == (6, 0)
    assert result_bytes(done.store.folder) == result_bytes(whole.store.folder)
    last = run_study(toy_spec(), done.store, data=tmp_path, workers=1, resume=True)
    assert (last.tasks, last.done) == (6, 0)


def test_a_quick_run_is_a_marked_part(tmp_path):
    spec = toy_spec()
    with pytest.raises(HeadcountError, match=r"has no \[quick\]"):
        run_study(spec, tmp_path / "store", data=tmp_path, workers=1, quick=True)
    small = {"datasets": ["bees"], "protocol": {"draws": 1}}
    spec = replace(spec, quick=small)
    done = run_study(spec, tmp_path / "store", data=tmp_path, workers=1, quick=True)
    assert done.store.spec.is_quick
    assert (done.tasks, done.store.spec.datasets) == (1, ("bees",))
    with pytest.raises(HeadcountError, match="another"):
        run_study(spec, done.store, data=tmp_path, workers=1, resume=True)


def test_a_quick_run_takes_any_dataset_of_the_study(tmp_path):
    spec = replace(toy_spec(), quick={"datasets": ["bees"], "protocol": {"draws": 1}})
    options = {"data": tmp_path, "workers": 1, "quick": True}
    done = run_study(spec, tmp_path / "store", datasets=["ants"], **options)
    assert (done.tasks, done.store.spec.datasets) == (1, ("ants",))
    more = run_study(spec, done.store, resume=True, **options)
    assert more.store.spec.datasets == ("bees", "ants")


@pytest.mark.parametrize(
    "name", ["tweets", "tweets-vectors", "quacc", "dataset-shift", "comparison-binary"]
)
def test_an_empty_folder_ends_in_one_sentence(name, tmp_path):
    sentence = rf"it lacks .* \(headcount study data {name} "
    # Errors are shortened in the middle: the folder has a short name.
    with TemporaryDirectory() as data, pytest.raises(HeadcountError, match=sentence) as refused:
        run_study(name, tmp_path / "store", data=data, workers=1)
    assert re.search(r"\w \.\.\. \w", str(refused.value)) is None
    assert not (tmp_path / "store").exists()
