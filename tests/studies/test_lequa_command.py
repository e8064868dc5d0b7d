from __future__ import annotations

import json

import pytest

from tests.studies.lequa_folders import make_task


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder, which is where we are, with a small task."""
    monkeypatch.chdir(tmp_path)
    make_task(tmp_path)
    return tmp_path


def test_run_check_and_score(data, call):
    code, out, err = call(
        "lequa", "run", ".", "--task", "T1", "--method", "SLD", "--output", "sub.txt"
    )
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "Submission: sub.txt"
    code, out, _ = call("lequa", "check", "sub.txt", "--task", "T1", "--samples", "5")
    assert (code, out) == (0, "Format check: [passed]\n")
    score = ("lequa", "score", "sub.txt", "--task", "T1", "--data", ".")
    code, out, _ = call(*score, "--output", "errors.csv", "--report", "page.html")
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()] == ["MRAE", "MAE"]
    assert len((data / "errors.csv").read_text().splitlines()) == 6
    assert "Official figures" in (data / "page.html").read_text()
    truth = data / "T1" / "public" / "test_prevalences.txt"
    code, same, _ = call("lequa", "score", "sub.txt", "--task", "T1", "--truth", truth)
    assert same == out
    code, out, _ = call(*score, "--json")
    assert json.loads(out)["samples"] == 5


def test_several_methods_make_a_folder(data, call):
    run = ("lequa", "run", ".", "--task", "T1", "--output", "subs", "--select", "none")
    code, out, _ = call(*run, "--method", "CC,PCC", "--part", "dev", "--json")
    assert code == 0
    assert {each["method"] for each in json.loads(out)} == {"CC", "PCC"}
    assert sorted(path.name for path in (data / "subs").iterdir()) == ["CC.txt", "PCC.txt"]
    assert len((data / "subs" / "CC.txt").read_text().splitlines()) == 7


def test_generate(data, call, refused):
    generate = ("lequa", "generate", "new", "--task", "T4", "--train", "50", "--dev", "2")
    code, out, _ = call(*generate, "--test", "2", "--size", "10")
    assert code == 0
    assert out.startswith("Data: ")
    assert (data / "new" / "T4" / "public" / "dev_samples" / "1.txt").is_file()
    assert "exists" in refused(*generate)


def test_check_names_every_problem_and_fails(data, call):
    (data / "bad.txt").write_text("id,0,1\n0,0.5,0.6\n2,nan,1\n")
    code, out, err = call("lequa", "check", "bad.txt", "--task", "T2")
    assert code == 2
    assert err == ""
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "bad.txt, line 1",
        "bad.txt, line 3",
        "bad.txt, line 3",
        "bad.txt, line 3",
        "bad.txt, line 3",
        "bad.txt, line 2",
        "Format check",
    ]
    assert out.endswith("Format check: [not passed]\n")
    code, out, _ = call("lequa", "check", "bad.txt", "--json")
    assert code == 2
    assert json.loads(out)["passed"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "none", "--task", "T1", "--output", "s.txt"), "there is no folder"),
        (("run", ".", "--task", "T7", "--output", "s.txt"), "one of T1, T2"),
        (("run", ".", "--task", "T2", "--output", "s.txt"), "has only T1, not T2"),
        (("run", ".", "--task", "T1", "--output", "no/s.txt"), "there is no folder 'no'"),
        (("run", ".", "--task", "T1", "--output", "s", "--select", "all"), "--select"),
        (("run", ".", "--task", "T1", "--output", "s", "--part", "all"), "--part"),
        (("run", ".", "--task", "T1", "--output", "s", "--method", "nothing"), "nothing"),
        (("check", "none.txt"), "'none.txt' cannot be read"),
        (("score", "s.txt", "--task", "T1"), "either --truth or --data"),
        (("score", "short.txt", "--task", "T1", "--data", "."), "'short.txt', line 2"),
        (("score", "short.txt", "--task", "T3", "--data", "."), "not T3"),
        (("score", "x", "--task", "T1", "--data", ".", "--report", "p.txt"), "--report"),
    ],
)
def test_bad_calls(data, refused, arguments, message):
    (data / "short.txt").write_text("id,0,1\n0,0.5,0.5\n")
    sentence = refused("lequa", *arguments)
    assert message in sentence
    assert len(sentence) <= 300
