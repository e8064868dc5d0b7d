"""Files of evaluation tools, written by them; openai.jsonl follows the documentation."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import polars as pl
import pytest

import headcount as hc
from headcount.errors import HeadcountError
from headcount.tables.eval_logs import read_eval_log

LOGS = Path(__file__).parent / "eval_logs"


@pytest.mark.parametrize(
    ("file", "tool", "column", "values"),
    [
        ("inspect.eval", "Inspect AI", "graded", ["incorrect", "correct"] * 2),
        ("inspect.json", "Inspect AI", "rubric helpful", [0.5, 0.6, 0.7, 0.8]),
        ("promptfoo.json", "promptfoo", "verdict", ["pass", "fail", "pass"]),
        ("deepeval.json", "DeepEval", "Short verdict", ["pass"] * 3 + ["fail"] * 3),
        ("samples_tiny.jsonl", "LM Evaluation Harness", "acc", [1.0, 1.0, 0.0, 1.0]),
        ("openai.jsonl", "OpenAI Evals", "verdict", ["pass", "fail"]),
    ],
)
def test_items_of_each_tool(file, tool, column, values):
    name, items = read_eval_log(LOGS / file)
    assert name == tool
    assert items[column].to_list() == values
    assert items["id"].n_unique() == len(values)


def test_other_columns():
    assert read_eval_log(LOGS / "inspect.eval")[1]["system"].unique().item() == "mockllm/model"
    promptfoo = read_eval_log(LOGS / "promptfoo.json")[1]
    assert promptfoo["human"].to_list() == ["pass", None, None]
    openai = read_eval_log(LOGS / "openai.jsonl")[1]
    assert openai["score"].to_list() == [None, 0.5]
    assert openai["system"].to_list() == ["gpt-4"] * 2


def test_an_archive_without_zstandard(tmp_path):
    log = json.loads((LOGS / "inspect.json").read_text())
    samples = log.pop("samples")
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert read_eval_log(tmp_path / "log.eval")[1].equals(
        read_eval_log(LOGS / "inspect.json")[1]
    )


def test_tables_are_not_logs(tmp_path):
    frame = pl.DataFrame({"judge": ["a", "b"], "human": ["a", None]})
    frame.write_ndjson(tmp_path / "items.jsonl")
    frame.write_csv(tmp_path / "items.csv")
    assert read_eval_log(tmp_path / "items.jsonl") is None
    assert read_eval_log(tmp_path / "items.csv") is None
    assert read_eval_log(tmp_path / "nothing.json") is None


def test_damaged_and_empty_logs(tmp_path):
    whole = (LOGS / "inspect.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[:4000])
    with pytest.raises(HeadcountError, match="cannot be read as a log of Inspect AI"):
        read_eval_log(tmp_path / "cut.eval")
    (tmp_path / "damaged.eval").write_bytes(whole.replace(b"\x28\xb5\x2f\xfd", b"\0\0\0\0"))
    with pytest.raises(HeadcountError, match="cannot be read as a log of Inspect AI"):
        read_eval_log(tmp_path / "damaged.eval")
    (tmp_path / "empty.json").write_text('{"testCases": []}')
    with pytest.raises(HeadcountError, match="DeepEval without judged items"):
        read_eval_log(tmp_path / "empty.json")
    (tmp_path / "odd.json").write_text('{"results": 3}')
    assert read_eval_log(tmp_path / "odd.json") is None
    (tmp_path / "cases.json").write_text('{"testCases": [{"metricsData": [{}]}]}')
    with pytest.raises(HeadcountError, match="looks like a file of DeepEval"):
        read_eval_log(tmp_path / "cases.json")
    (tmp_path / "list.json").write_text('{"results": [1, 2]}')
    assert read_eval_log(tmp_path / "list.json") is None


def many(tmp_path, n=200):
    """A file of promptfoo with many results, of which every third has a human verdict."""
    content = json.loads((LOGS / "promptfoo.json").read_text())
    first = content["results"]["results"][0]
    rows = []
    for i in range(n):
        row = json.loads(json.dumps(first)) | {"testIdx": i, "success": i % 5 > 0}
        row["vars"] = {"question": f"q{i}"} | (
            {"human": "pass" if i % 4 else "fail"} if i % 3 == 0 else {}
        )
        rows.append(row)
    content["results"]["results"] = rows
    (tmp_path / "results.json").write_text(json.dumps(content))
    return rows


def test_judge_of_a_log_finds_its_columns(tmp_path):
    many(tmp_path)
    result = hc.judge(tmp_path / "results.json", verdict="verdict")
    assert result.groups[0].n_gold == 67
    assert result.data_facts["Written by"] == "promptfoo"
    assert "gold human" in result.data_facts["Columns"]


def test_gold_labels_of_another_table(tmp_path):
    rows = many(tmp_path)
    shutil.copy(tmp_path / "results.json", tmp_path / "log.json")
    labelled = [row for row in rows if "human" in row["vars"]]
    gold = pl.DataFrame(
        {
            "id": [row["testIdx"] for row in labelled][::-1],
            "reviewed": [row["vars"]["human"] for row in labelled][::-1],
        }
    )
    gold.write_csv(tmp_path / "gold.csv")
    joined = hc.judge(
        tmp_path / "log.json", verdict="verdict", gold_table=tmp_path / "gold.csv"
    )
    same = hc.judge(tmp_path / "log.json", verdict="verdict", gold="human")
    assert joined.groups[0].shares.tolist() == same.groups[0].shares.tolist()
    with pytest.raises(HeadcountError, match="two rows for item 0"):
        hc.judge(
            tmp_path / "log.json", verdict="verdict", gold_table=pl.concat([gold, gold.tail(1)])
        )
    moved = gold.with_columns(id=pl.when(pl.col("id") == 0).then(999).otherwise("id"))
    with pytest.raises(HeadcountError, match="1 of 67 items"):
        hc.judge(tmp_path / "log.json", verdict="verdict", gold_table=moved)
    wide = gold.with_columns(note=pl.lit("x"))
    with pytest.raises(HeadcountError, match="several columns besides id"):
        hc.judge(tmp_path / "log.json", verdict="verdict", gold_table=wide)
