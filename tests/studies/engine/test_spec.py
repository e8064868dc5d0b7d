from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount._support.files import toml_text
from headcount.errors import HeadcountError
from headcount_studies.engine.spec import (
    MethodSpec,
    Spec,
    built_in_specs,
    check_keys,
    check_known,
    parse_spec,
    read_spec,
)
from headcount_studies.engine.task import (
    Task,
    datasets_there,
    find_experiment,
    study_kinds,
    task_seed,
)
from tests.studies.engine.toy import KIND, Toy, toy_spec

TEXT = """
name = "mine"
kind = "comparison"
seed = 3
datasets = ["adult", "wine"]
metrics = ["tae", "nkld"]

[protocol]
splits = [0.1, 0.3]

[[methods]]
name = "AC"
quantifier = "ACC"

[[methods]]
name = "SLD"
parameters = { tol = 1e-6 }
options = { draws = 1 }
"""


def test_a_spec_from_a_text():
    spec = parse_spec(TEXT)
    assert (spec.name, spec.kind, spec.seed) == ("mine", "comparison", 3)
    assert spec.datasets == ("adult", "wine")
    assert spec.metrics == ("tae", "nkld")
    assert spec.protocol == {"splits": [0.1, 0.3]}
    assert spec.selection == {}
    assert spec.methods == (
        MethodSpec("AC", "ACC"),
        MethodSpec("SLD", "SLD", {"tol": 1e-6}, {"draws": 1}),
    )
    assert parse_spec(spec.to_toml()) == spec


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('name = "mine"', 'name = "mi ne"', "letters, digits"),
        ('name = "mine"', "name = 3", "name is 3"),
        ('kind = "comparison"', 'kind = ""', "kind is ''"),
        ("seed = 3", "seed = -1", "seed is -1"),
        ("seed = 3", "seed = 1.5", "seed is 1.5"),
        ("seed = 3", "seed = true", "seed is True"),
        ("seed = 3", "sed = 3", "unknown key 'sed': did you mean 'seed'"),
        ("seed = 3", "zzzz = 3", "unknown key 'zzzz': it must be one of"),
        ("seed = 3", "title = 3", "title is 3"),
        ('datasets = ["adult", "wine"]', "", "no 'datasets'"),
        ('["adult", "wine"]', "[]", "datasets is empty"),
        ('["adult", "wine"]', '"adult"', "list of names"),
        ('["adult", "wine"]', '["adult", 3]', "an entry of datasets is 3"),
        ('["adult", "wine"]', '["adult", "adult"]', "'adult' twice"),
        ('name = "SLD"', 'name = "AC"', "'AC' twice"),
        ('name = "SLD"', "", r"\[\[methods\]\] has no 'name'"),
        ('quantifier = "ACC"', 'quantifer = "ACC"', "did you mean 'quantifier'"),
        ('quantifier = "ACC"', "quantifier = 3", "quantifier of method 'AC' is 3"),
        ("{ tol = 1e-6 }", "3", "parameters of method 'SLD' is 3; it must be a table"),
        ("{ tol = 1e-6 }", "{ day = 2024-01-01 }", "may hold texts, numbers"),
        ("[protocol]\nsplits = [0.1, 0.3]", "protocol = 3", "protocol is 3"),
        ("seed = 3", "seed = ", "not valid TOML"),
    ],
)
def test_bad_specs(before, after, sentence):
    assert before in TEXT
    with pytest.raises(HeadcountError, match=sentence) as refused:
        parse_spec(TEXT.replace(before, after), where="my.toml")
    said = str(refused.value)
    assert "my.toml" in said
    assert "\n" not in said
    assert said.endswith(".")


def test_methods_that_are_not_tables():
    head, _, _ = TEXT.partition("[protocol]")
    with pytest.raises(HeadcountError, match=r"headed \[\[methods\]\]"):
        parse_spec(head + 'methods = ["AC"]')


def test_restricting_keeps_the_order():
    spec = parse_spec(TEXT)
    assert spec.restricted(datasets=["wine", "adult"]) == spec
    assert spec.restricted(methods=["SLD"]).methods == (spec.methods[1],)
    assert spec.restricted(datasets=["wine"]).datasets == ("wine",)
    with pytest.raises(HeadcountError, match="no dataset 'wien': did you mean 'wine'"):
        spec.restricted(datasets=["wien"])
    with pytest.raises(HeadcountError, match="no method 'sld': did you mean 'SLD'"):
        spec.restricted(methods=["sld"])
    with pytest.raises(HeadcountError, match="name at least one"):
        spec.restricted(methods=[])


def test_reading_files(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert read_spec(path) == read_spec(str(path)) == parse_spec(TEXT)
    with pytest.raises(HeadcountError, match="no file"):
        read_spec(tmp_path / "other.toml")
    with pytest.raises(HeadcountError, match="cannot be read"):
        read_spec(_folder(tmp_path / "folder.toml"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(HeadcountError, match="not a text"):
        read_spec(path)
    with pytest.raises(HeadcountError, match="no built-in study 'mine'"):
        read_spec("mine")


def _folder(path):
    path.mkdir()
    return path


@pytest.mark.parametrize("name", built_in_specs())
def test_built_in_specs_are_sound(name):
    spec = read_spec(name)
    assert spec.name == name
    assert spec.kind in study_kinds() or spec.kind.startswith("headcount_studies.")
    assert spec.title
    find_experiment(spec.kind).check(spec)
    assert parse_spec(spec.to_toml()) == spec


def test_the_specs_are_at_the_root_too():
    root = Path(__file__).parents[3]
    if (root / "studies").exists():
        assert sorted((root / "studies").glob("*.toml"))[0].stem in built_in_specs()


def test_kinds():
    assert find_experiment(KIND).plan(toy_spec(), Path())
    with pytest.raises(HeadcountError, match="did you mean 'comparison'"):
        find_experiment("comparision")
    with pytest.raises(HeadcountError, match="cannot be imported"):
        find_experiment("no_such_module:experiment")
    with pytest.raises(HeadcountError, match="cannot be imported"):
        find_experiment("tests.studies.engine.toy:other")
    with pytest.raises(HeadcountError, match="cannot be imported"):
        find_experiment(":")
    with pytest.raises(HeadcountError, match=r"has no check\(\)"):
        find_experiment("math:pi")


def test_which_datasets_are_there(tmp_path, monkeypatch):
    spec = toy_spec(datasets=("cats", "ants", "bees"))
    assert datasets_there(spec, tmp_path) is None
    for name in ("bees", "cats"):
        (tmp_path / name).touch()
    files = lambda toy, spec, dataset, data: [data / dataset]  # noqa: E731
    monkeypatch.setattr(Toy, "files", files, raising=False)
    assert datasets_there(spec, tmp_path) == ["cats", "bees"]


def test_names_that_are_close():
    assert check_known("thing", "a", ["a"]) == "a"
    with pytest.raises(HeadcountError, match="none are known"):
        check_known("thing", "a", [])
    with pytest.raises(HeadcountError, match=r"'t0', .*'t11', \.\.\.\."):
        check_known("thing", "zebra", [f"t{i}" for i in range(20)])
    with pytest.raises(HeadcountError, match=r"\[here\] has an unknown key 'drws'"):
        check_keys("[here]", ["drws"], ["draws"])


PLAIN = st.text() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100)
@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_toml_says_what_was_meant(content):
    assert tomllib.loads(toml_text(content)) == content


def test_not_a_number_in_toml():
    assert math.isnan(tomllib.loads(toml_text({"a": math.nan}))["a"])


@pytest.mark.parametrize("value", [None, object(), 1j])
def test_toml_of_other_things(value):
    with pytest.raises(HeadcountError, match="may hold"):
        toml_text({"a": value})
    with pytest.raises(HeadcountError, match="must be a text"):
        toml_text({value: 1})


def test_seeds_of_tasks():
    seeds = {task_seed(0), task_seed(1), task_seed(0, "a"), task_seed(0, "a", 1)}
    assert len(seeds | {task_seed(0, "a1"), task_seed(0, "a", 10)}) == 6
    assert task_seed(0, "wine", 3) == 1467544101
    assert all(0 <= seed < 2**32 for seed in seeds)


@pytest.mark.parametrize("key", ["", "a/b", ".a", "a b", "ä", "a" * 201, 3.5j])
def test_keys_name_files(key):
    with pytest.raises(HeadcountError, match="key of a task"):
        Task(key, "wine")


def test_tasks_as_lines():
    task = Task("a-1", "wine", {"draw": 1, "shares": [0.5, 0.5], "name": "ä"}, 2.5, 7)
    assert Task.from_json(task.to_json()) == task
    with pytest.raises(HeadcountError, match="cost of task 'a'"):
        Task("a", "wine", cost=0)
    with pytest.raises(HeadcountError, match="runs of task 'a'"):
        Task("a", "wine", runs=-1)


def test_specs_that_are_made_in_python():
    with pytest.raises(HeadcountError, match="name is"):
        Spec("a b", "comparison", ("wine",), (MethodSpec("CC"),), ("ae",))
    spec = Spec("a", "comparison", ["wine"], [MethodSpec("CC")], ["ae"])
    assert spec.datasets == ("wine",)
    assert parse_spec(spec.to_toml()) == spec
