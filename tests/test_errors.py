from __future__ import annotations

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.errors import HeadcountError

SOURCES = sorted((Path(__file__).parents[1] / "src" / "headcount").rglob("*.py"))
MOST = 300


def fixed_length(node):
    """Characters of a message that do not depend on values."""
    constants = (each for each in ast.walk(node) if isinstance(each, ast.Constant))
    return sum(len(each.value) for each in constants if isinstance(each.value, str))


def messages():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", "")
                if name == "HeadcountError" or name.endswith("Error"):
                    yield path.name, node.lineno, fixed_length(node.args[0])


def test_no_message_is_too_long_without_its_values():
    found = list(messages())
    assert len(found) > 400
    # Room for values, so that short ones are never cut.
    too_long = [f"{name}, line {line}: {n}" for name, line, n in found if n > MOST - 20]
    assert not too_long


def test_long_values_are_cut_and_the_advice_stays():
    with pytest.raises(HeadcountError) as refused:
        hc.SLD(cv=list(range(5000))).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    said = str(refused.value)
    assert len(said) == MOST
    assert said.startswith("cv is [0, 1, 2, 3, ")
    assert said.endswith("or a list of pairs of row numbers: pass for instance cv=5.")
    assert str(pickle.loads(pickle.dumps(refused.value))) == said


def test_short_messages_are_left_alone():
    assert str(HeadcountError("x" * MOST)) == "x" * MOST
    assert str(HeadcountError()) == ""
