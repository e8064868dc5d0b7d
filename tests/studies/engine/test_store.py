from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from headcount._support.files import locked
from headcount.errors import HeadcountError
from headcount_studies.engine.run import run_study
from headcount_studies.engine.store import Entry, Failure, Journal, Store, with_metrics
from headcount_studies.engine.task import Task
from tests.studies.engine.toy import result_bytes, toy_spec


@pytest.fixture
def store(tmp_path):
    return run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1).store


def test_what_is_in_a_store(undisturbed):
    assert undisturbed.spec == toy_spec()
    assert [task.key for task in undisturbed.tasks] == [
        f"{name}-{draw}" for name in ("ants", "bees") for draw in range(3)
    ]
    assert undisturbed.finished() == undisturbed.tasks
    frame = undisturbed.results()
    assert frame.columns == ["dataset", "method", "failure", "ae", "draw"]
    assert frame.height == 6 * 2 * 2
    assert frame["dataset"].to_list() == ["ants"] * 12 + ["bees"] * 12
    assert frame["failure"].dtype == pl.String
    names = {path.name for path in undisturbed.folder.iterdir()}
    assert names == {"spec.toml", "plan.jsonl", "results", "journal.jsonl", "lock"}
    assert undisturbed.data == {}


def test_status_of_a_whole_run(undisturbed):
    status = undisturbed.status()
    assert (status.tasks, status.done, status.failed, status.missing) == (6, 6, 0, 0)
    assert [each.dataset for each in status.datasets] == ["ants", "bees"]
    assert [each.runs for each in status.datasets] == [12, 12]
    assert status.runs == 24
    assert status.failures == ()
    assert status.runs_per_second == pytest.approx(24 / status.seconds)
    assert all(0 < each.seconds <= status.seconds for each in status.datasets)
    assert all(each.processor > 0 for each in status.datasets)
    assert status.processor == sum(each.processor for each in status.datasets)


def test_results_in_the_order_of_the_plan_whatever_the_order_of_the_runs(store, tmp_path):
    spec = toy_spec(datasets=("cats", "ants", "bees"))
    first = run_study(spec, tmp_path / "a", data=tmp_path, workers=1, datasets=["bees"]).store
    assert first.spec.datasets == ("bees",)
    run_study(spec, first, data=tmp_path, workers=1, datasets=["ants"], resume=True)
    assert first.spec.datasets == ("ants", "bees")
    assert first.results().equals(store.results())
    run_study(spec, first, data=tmp_path, workers=1, resume=True)
    whole = run_study(spec, tmp_path / "b", data=tmp_path, workers=1).store
    assert result_bytes(first.folder) == result_bytes(whole.folder)
    assert first.results()["dataset"].unique(maintain_order=True).to_list() == [
        "cats",
        "ants",
        "bees",
    ]


def test_datasets_that_a_spec_no_longer_has_stay(store, tmp_path):
    spec = toy_spec(datasets=("cats",))
    run_study(spec, store, data=tmp_path, workers=1, resume=True)
    assert store.spec.datasets == ("cats", "ants", "bees")
    assert store.status().done == 9


def test_nothing_is_done_twice(store, tmp_path):
    before = result_bytes(store.folder)
    times = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.parquet")}
    journal = (store.folder / "journal.jsonl").read_bytes()
    again = run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert (again.tasks, again.done, again.runs) == (6, 0, 0)
    assert result_bytes(store.folder) == before
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert (store.folder / "journal.jsonl").read_bytes() == journal


def test_only_what_is_missing_is_done(store, tmp_path):
    before = result_bytes(store.folder)
    (store.folder / "results" / "ants-1.parquet").unlink()
    assert store.status().missing == 1
    assert store.results().height == 20
    again = run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert (again.done, again.runs) == (1, 4)
    assert result_bytes(store.folder) == before


def test_leftovers_of_killed_writers_are_ignored_and_cleared(store, tmp_path):
    before = result_bytes(store.folder)
    frame = store.results()
    (store.folder / "results" / ".0123.part").write_bytes(b"PAR1 half")
    (store.folder / ".4567.part").write_bytes(b"half")
    assert store.results().equals(frame)
    assert store.status().done == 6
    run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert result_bytes(store.folder) == before


def test_killed_before_there_was_a_spec(tmp_path):
    folder = tmp_path / "store"
    (folder / "results").mkdir(parents=True)
    (folder / "lock").write_text("123\n")
    (folder / "plan.jsonl").write_text('{"key": "torn')
    (folder / ".89.part").touch()
    store = run_study(toy_spec(), folder, data=tmp_path, workers=1).store
    assert store.status().done == 6


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "'seed'"),
        ({"name": "other"}, "'name'"),
        ({"protocol": {"draws": 4}}, "'protocol'"),
        ({"metrics": ("ae", "rae")}, "'metrics': .* study report --metric"),
        ({"selection": {"folds": 3}}, "'selection'"),
    ],
)
def test_a_store_of_another_spec_is_refused_and_unchanged(store, tmp_path, change, named):
    before = result_bytes(store.folder)
    spec = replace(toy_spec(), **change)
    with pytest.raises(HeadcountError, match=f"made by a spec with another {named}"):
        run_study(spec, store, data=tmp_path, workers=1, resume=True)
    assert result_bytes(store.folder) == before


def test_methods_are_added_later(undisturbed, tmp_path):
    spec = toy_spec(methods=("PCC", "SLD", "CC"))
    whole = run_study(spec, tmp_path / "whole", data=tmp_path, workers=1).store
    store = run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1).store
    before = {path: path.read_bytes() for path in store.folder.rglob("*.parquet")}
    done = run_study(spec, store, data=tmp_path, workers=1, resume=True)
    assert (done.tasks, done.done, done.runs) == (12, 6, 12)
    assert {path: path.read_bytes() for path in before} == before
    assert [task.name for task in store.tasks[:6]] == [
        *(f"ants-{draw}" for draw in range(3)),
        *(f"ants-{draw}.added-1" for draw in range(3)),
    ]
    assert [method.name for method in store.spec.methods] == ["PCC", "SLD", "CC"]
    # The same results as if all methods had been there from the beginning.
    columns = ["dataset", "draw", "method", "ae"]
    assert (
        store.results().select(columns).sort(columns).equals(
            whole.results().select(columns).sort(columns)
        )
    )  # fmt: skip
    assert store.status().runs == whole.status().runs


def test_methods_and_datasets_are_added_in_any_order(tmp_path):
    options = {"data": tmp_path, "workers": 1}
    spec = toy_spec(methods=("CC", "PCC", "SLD"))
    store = run_study(spec, tmp_path / "s", methods=["SLD"], datasets=["ants"], **options).store
    run_study(spec, store, methods=["CC"], datasets=["bees"], resume=True, **options)
    assert store.status().runs == 2 * 6
    done = run_study(spec, store, resume=True, **options)
    assert done.runs == 2 * 6 * 2
    counts = store.results().group_by("dataset", "method").len()
    assert sorted(counts.rows()) == [
        (dataset, method, 6) for dataset in ("ants", "bees") for method in ("CC", "PCC", "SLD")
    ]
    # Methods that a spec no longer has stay.
    run_study(toy_spec(methods=("PCC",)), store, resume=True, **options)
    assert [method.name for method in store.spec.methods] == ["PCC", "CC", "SLD"]
    assert store.status().runs == 36


def test_tasks_of_added_methods_are_resumed(tmp_path):
    run_study(toy_spec(methods=("CC",)), tmp_path / "s", data=tmp_path, workers=1)
    spec = toy_spec(methods=("CC", "PCC"))
    store = run_study(spec, tmp_path / "s", data=tmp_path, workers=1, resume=True).store
    before = result_bytes(store.folder)
    (store.folder / "results" / "bees-1.added-1.parquet").unlink()
    (store.folder / "results" / "bees-2.parquet").unlink()
    assert run_study(spec, store, data=tmp_path, workers=1, resume=True).done == 2
    assert result_bytes(store.folder) == before


def test_a_method_with_other_parameters_is_refused(store, tmp_path):
    first, second = toy_spec().methods
    spec = replace(toy_spec(), methods=(first, replace(second, parameters={"cv": 3})))
    with pytest.raises(HeadcountError, match="results of 'PCC' with other settings"):
        run_study(spec, store, data=tmp_path, workers=1, resume=True)


def test_a_title_may_change(store, tmp_path):
    spec = replace(toy_spec(), title="Another title")
    run_study(spec, store, data=tmp_path, workers=1, resume=True)
    assert store.spec == spec


def test_another_plan_is_refused_and_nothing_changed(store, tmp_path):
    lines = (store.folder / "plan.jsonl").read_text().splitlines()
    lines[2] = replace(Task.from_json(lines[2]), cost=9.0).to_json()
    (store.folder / "plan.jsonl").write_text("\n".join(lines) + "\n")
    before = result_bytes(store.folder)
    with pytest.raises(HeadcountError, match="task 'ants-2' differs"):
        run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert result_bytes(store.folder) == before


def test_a_store_that_is_there_needs_resume(store, tmp_path):
    before = result_bytes(store.folder)
    with pytest.raises(HeadcountError, match="add `resume`"):
        run_study(toy_spec(), store, data=tmp_path, workers=1)
    assert result_bytes(store.folder) == before


def test_folders_that_are_no_stores(tmp_path):
    with pytest.raises(HeadcountError, match="There is no folder"):
        Store(tmp_path / "none").results()
    with pytest.raises(HeadcountError, match="not the store of a study"):
        Store(tmp_path).status()
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-anna.txt").touch()
    with pytest.raises(HeadcountError, match=r"other files in it \('to-anna.txt'\)"):
        run_study(toy_spec(), tmp_path / "letters", data=tmp_path, resume=True)
    assert os.listdir(tmp_path / "letters") == ["to-anna.txt"]
    with pytest.raises(HeadcountError, match="is a file"):
        run_study(toy_spec(), tmp_path / "letters" / "to-anna.txt", data=tmp_path)
    with pytest.raises(HeadcountError, match="cannot be made"):
        run_study(toy_spec(), tmp_path / "letters" / "to-anna.txt" / "a", data=tmp_path)


def test_no_results_yet(store):
    for path in store.folder.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(HeadcountError, match="no results yet"):
        store.results()
    status = store.status()
    assert status.missing == 6
    assert status.runs_per_second is None


def test_results_that_say_different_things(store):
    path = store.folder / "results" / "bees-0.parquet"
    pl.read_parquet(path).with_columns(degree=pl.lit(0.5)).write_parquet(path)
    frame = store.results()
    assert frame.columns[-1] == "degree"
    assert frame["degree"].null_count() == 20


def test_two_writers(store, tmp_path):
    before = result_bytes(store.folder)
    (store.folder / "results" / "ants-1.parquet").unlink()
    with store.writing(), pytest.raises(HeadcountError, match="another run") as refused:
        run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert str(os.getpid()) in str(refused.value)
    assert "ants-1.parquet" not in os.listdir(store.folder / "results")
    run_study(toy_spec(), store, data=tmp_path, workers=1, resume=True)
    assert result_bytes(store.folder) == before


HOLDER = """
import sys, time
from pathlib import Path
from headcount._support.files import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_keeps_nobody_out(tmp_path):
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(HeadcountError, match=f"process {holder.pid}"), locked(path):
            pass
        holder.kill()
    assert path.read_text() == f"{holder.pid}\n"
    with locked(path):
        assert path.read_text() == f"{os.getpid()}\n"
    assert path.read_text() == ""


def test_a_torn_journal(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    assert journal.runs() == []
    first, second = (Entry(key, 1.0, 2.0, 3, 0) for key in "ab")
    journal.begin({"workers": 1})
    journal.note(first)
    with open(tmp_path / "journal.jsonl", "ab") as file:
        file.write(json.dumps({"task": "ä"}, ensure_ascii=False).encode()[:11])
    assert journal.runs() == [({"workers": 1}, [first])]
    journal.begin({"workers": 2})
    journal.note(second)
    assert journal.runs() == [({"workers": 1}, [first]), ({"workers": 2}, [second])]


def test_failures_are_told_apart(tmp_path):
    spec = toy_spec(raises=["ants-1"], refuses=["bees-0", "bees-2"])
    methods = (spec.methods[0], replace(spec.methods[1], options={"fails": True}))
    spec = replace(spec, methods=methods)
    store = run_study(spec, tmp_path / "store", data=tmp_path, workers=1).store
    status = store.status()
    assert [(each.done, each.failed, each.missing) for each in status.datasets] == [
        (2, 1, 0),
        (1, 2, 0),
    ]
    said = "The sample is empty: draw more."
    assert status.failures == (
        Failure("ants", None, "ants-1", 4, "KeyError: 'no such\\nthing'"),
        Failure("bees", None, "bees-0", 4, said),
        Failure("bees", None, "bees-2", 4, said),
        Failure("ants", "PCC", None, 4, "it has no heart"),
        Failure("bees", "PCC", None, 2, "it has no heart"),
    )
    assert status.runs == 12


def test_studies_without_shares_take_no_metrics(undisturbed):
    with pytest.raises(HeadcountError, match="no true and estimated shares"):
        with_metrics(undisturbed.results(), ["nkld"])
    with pytest.raises(HeadcountError, match="no true and estimated shares"):
        undisturbed.evaluations()


def test_datasets_are_described_once_for_the_report(tmp_path, monkeypatch):
    from headcount_studies.page import DATASETS, study_sections
    from tests.studies.engine import toy

    asked = []

    def describe(self, spec, dataset, data):
        asked.append(dataset)
        return [{"dataset": dataset, "legs": 6}]

    monkeypatch.setattr(toy.Toy, "describe", describe, raising=False)
    spec = toy_spec()
    store = run_study(
        spec, tmp_path / "store", data=tmp_path, workers=1, datasets=["bees"]
    ).store
    run_study(spec, store, data=tmp_path, workers=1, resume=True)
    assert asked == ["bees", "ants"]
    assert store.descriptions["ants"] == [{"dataset": "ants", "legs": 6}]
    first, *_ = study_sections(store, store.spec, store.results(), None)
    assert first.title == DATASETS
    assert first.table.rows() == [("ants", 6), ("bees", 6)]


def test_the_commit_of_the_sources_is_recorded(tmp_path, monkeypatch):
    from headcount_studies.engine import run, store

    monkeypatch.setattr(run, "code_commit", lambda: "abc1234")
    done = run_study(toy_spec(), tmp_path / "store", data=tmp_path, workers=1)
    ((facts, _),) = done.store.journal.runs()
    assert facts["commit"] == "abc1234"
    monkeypatch.setattr(store, "__file__", str(tmp_path / "nowhere.py"))
    assert store.code_commit() is None  # not a file of a checkout
