from __future__ import annotations

import numpy as np
import pytest

from headcount.errors import HeadcountError
from headcount_studies.data.lequa import check_prevalences, read_prevalences, write_prevalences

GOOD = ["id,0,1,2", "0,0.2,0.3,0.5", "1,0,0,1", "2,0.3333,0.3333,0.3333"]


def problems(lines, **more):
    given = {"n_classes": 3, "lengths": (3,)} | more
    return [str(each) for each in check_prevalences("\n".join(lines).encode(), **given)]


def changed(number, line):
    return [line if i == number - 1 else each for i, each in enumerate(GOOD)]


def test_right_files_pass():
    assert problems(GOOD) == []
    assert problems([*GOOD, ""]) == []
    assert problems([GOOD[0], GOOD[2], GOOD[1], GOOD[3]]) == []  # in any order
    assert problems(["id,0,1,2", "0.0,1,0,0"], lengths=(1,)) == []
    rows = [f"{i},0.5,0.5" for i in range(1000)]
    assert check_prevalences("\n".join(["id,0,1", *rows]).encode()) == []


WRONG = {
    "index": (changed(1, ",0,1,2"), "line 1: the first column is ''"),
    "classes": (changed(1, "id,0,1,3"), "line 1: the classes are '0,1,3'"),
    "names of classes": (changed(1, "id,a,b,c"), "line 1: the classes are 'a,b,c'"),
    "id twice": (changed(3, "0,0,0,1"), "line 3: the id 0 was given before"),
    "id not a number": (changed(3, "x,0,0,1"), "line 3: the id is 'x'"),
    "gap": (changed(4, "3,0,0,1"), "line 4: the id 3 is above 2"),
    "NaN": (changed(3, "1,nan,0,1"), "line 3: the value of class 0 is 'nan', not a number"),
    "empty value": (changed(3, "1,,0,1"), "line 3: the value of class 0 is '', not a number"),
    "negative": (changed(3, "1,-0.1,0,1"), "class 0 is '-0.1', outside [0, 1]"),
    "above one": (changed(3, "1,0,0,1.1"), "class 2 is '1.1', outside [0, 1]"),
    "sum": (changed(3, "1,0,0.1,0.8"), "line 3: the values of id 1 sum to 0.9"),
    "too few values": (changed(3, "1,0,1"), "line 3: there are 2 values"),
    "rows": (GOOD[:3], "line 3: there are 2 rows, but must be 3"),
    "no rows": (GOOD[:1], "line 1: there are no rows"),
    "empty file": ([], "there are no rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_explained(case):
    lines, message = WRONG[case]
    found = problems(lines)
    assert any(message in each for each in found), found


def test_number_of_classes_is_that_of_the_task():
    assert problems(GOOD, n_classes=5) == ["line 1: there are 3 classes, but the task has 5"]
    assert problems(GOOD, n_classes=None) == []


def test_all_problems_are_found_in_the_order_of_the_checks():
    lines = ["id,0,1,9", "0,2,0,0", "1,0,0,0.5", "1,0,0,1"]
    found = problems(lines)
    assert [each.split(":")[0] for each in found] == [
        "line 1",  # classes
        "line 4",  # id twice
        "line 4",  # one is missing
        "line 2",  # outside
        "line 3",  # sum
    ]


def test_sums_are_allowed_to_differ_a_little():
    assert problems(changed(3, "1,0,0,0.9991")) == []
    assert problems(changed(3, "1,0,0,0.9989"))


def test_reading_and_writing(tmp_path):
    path = tmp_path / "submission.txt"
    shares = np.random.default_rng(0).dirichlet(np.ones(4), 7)
    write_prevalences(path, shares)
    assert path.read_text().splitlines()[0] == "id,0,1,2,3"
    found = read_prevalences(path.read_bytes(), str(path), n_classes=4, n_samples=7)
    np.testing.assert_array_equal(found, shares)
    with pytest.raises(HeadcountError, match="line 8: there are 7 rows, but must be 8"):
        read_prevalences(path.read_bytes(), str(path), n_classes=4, n_samples=8)
    unordered = b"id,0,1\n1,0,1\n0,1,0\n"
    found = read_prevalences(unordered, "x", n_classes=2)
    np.testing.assert_array_equal(found, [[1, 0], [0, 1]])
