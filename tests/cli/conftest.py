from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from headcount.cli.execute import execute


def customers(n, share, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    days = np.datetime64("2024-01-01") + rng.integers(0, 90, n)
    age = rng.normal(40 + 12 * y, 10).round(1)
    return pl.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "age": np.where(rng.random(n) < 0.02, np.nan, age),
            "city": np.where(rng.random(n) < 0.3 + 0.4 * y, "Rome", "Oslo"),
            "member": rng.random(n) < 0.4 + 0.2 * y,
            "day": days.astype(str),
            "churn": np.where(y, "yes", "no"),
        }
    ).with_columns(pl.col("age").fill_nan(None))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder, which is where we are, with a labelled table and a new one."""
    monkeypatch.chdir(tmp_path)
    customers(600, 0.2, 1).write_csv("labelled.csv")
    customers(500, 0.6, 2).drop("churn").write_csv("new.csv")
    return tmp_path


@pytest.fixture
def call(capfd):
    """Runs a command; gives exit code, output and errors."""

    def called(*arguments):
        code = execute([str(each) for each in arguments])
        said = capfd.readouterr()
        return code, said.out, said.err

    return called


@pytest.fixture
def refused(call):
    """Runs a command that must fail with exit code 2 and one sentence, which it returns."""

    def called(*arguments):
        code, out, err = call(*arguments)
        assert code == 2, (out, err)
        assert out == ""
        sentence = err.removeprefix("headcount: ").rstrip("\n")
        assert "Traceback" not in err
        assert "\n" not in sentence, err
        assert sentence.endswith(".")
        assert not re.search(r"\b[a-z_]+=|\bNone\b|\bhc\.", sentence), "Python words"
        return sentence

    return called


LEARN = ("--train", "labelled.csv", "--target", "churn", "--method", "PACC")
