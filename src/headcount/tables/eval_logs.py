"""Tables of verdicts from the files of evaluation tools.

Inspect AI (``.eval`` and ``.json`` logs), promptfoo (``--output results.json``), DeepEval (test
runs), the LM Evaluation Harness (``samples_*.jsonl``) and OpenAI Evals (``.jsonl`` records)
become tables with one row per judged item: ``id``, ``system``, and one column per score.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from headcount.errors import HeadcountError

Rows = list[dict[str, Any]]

# Letters that Inspect AI writes for correct, incorrect, partial and no answer.
_INSPECT_GRADES = {"C": "correct", "I": "incorrect", "P": "partial", "N": "no answer"}


def read_eval_log(path: str | Path) -> tuple[str, pl.DataFrame] | None:
    """Name of the tool that wrote a file, and its items; None if it is a table of its own."""
    path = Path(path)
    if not path.is_file() or path.suffix.lower() not in (".eval", ".json", ".jsonl"):
        return None
    try:
        content = _content(path)
    except (
        ValueError,
        KeyError,
        OSError,
        NotImplementedError,
        struct.error,
        zipfile.BadZipFile,
        pl.exceptions.PolarsError,
    ) as error:
        if path.suffix.lower() == ".eval":
            raise HeadcountError(
                f"{path.name!r} cannot be read as a log of Inspect AI: {error}."
            ) from None
        return None
    for tool, (matches, rows_of) in _TOOLS.items():
        if not matches(content):
            continue
        try:
            rows = rows_of(content)
        except (AttributeError, KeyError, TypeError) as error:
            raise HeadcountError(
                f"{path.name!r} looks like a file of {tool}, but cannot be read: {error}."
            ) from None
        if not rows:
            raise HeadcountError(
                f"{path.name!r} is a file of {tool} without judged items: run the evaluation "
                "to its end first."
            )
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: _one_type([row.get(name) for row in rows]) for name in names}
        return tool, pl.DataFrame(columns, strict=False)
    return None


def _content(path: Path) -> Any:
    """Parsed content of a file: an object, or a list of the objects of its lines."""
    if path.suffix.lower() == ".eval":
        with zipfile.ZipFile(path) as archive:
            log = json.loads(_member(path, archive.getinfo("header.json"), archive))
            entries = [
                item for item in archive.infolist() if item.filename.startswith("samples/")
            ]
            samples = [json.loads(_member(path, entry, archive)) for entry in entries]
            return log | {"samples": samples}
    text = path.read_text("utf-8")
    if path.suffix.lower() == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return json.loads(text)


# Number of the compression by Zstandard in archives, and size of the header of a member.
_ZSTANDARD, _HEADER = 93, 30


def _member(path: Path, entry: zipfile.ZipInfo, archive: zipfile.ZipFile) -> str:
    """Text of a member of an archive. Zstandard is read by polars, as older Pythons cannot."""
    if entry.compress_type != _ZSTANDARD:
        return archive.read(entry).decode("utf-8")
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        lengths = struct.unpack("<HH", file.read(_HEADER)[-4:])
        file.seek(sum(lengths), os.SEEK_CUR)
        packed = file.read(entry.compress_size)
    # JSON has no raw control characters, so each line is one cell.
    lines = pl.read_csv(
        packed, has_header=False, separator="\x01", quote_char=None, infer_schema=False
    )
    return "\n".join(lines.to_series().fill_null(""))


def _one_type(values: list[Any]) -> list[Any]:
    """Values of a column: numbers if all are, truth values as texts, or texts."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return values
    return [value if value is None else _text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "pass" if value else "fail"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _is_object(content: Any, *keys: str) -> bool:
    return isinstance(content, Mapping) and all(key in content for key in keys)


def _lines_have(content: Any, *keys: str) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and any(_is_object(line, *keys) for line in content)
    )


def _inspect(log: Mapping[str, Any]) -> Rows:
    rows = []
    about = log["eval"]
    for sample in log.get("samples") or []:
        row = {
            "id": sample.get("id"),
            "epoch": sample.get("epoch"),
            "system": about.get("model"),
            "task": about.get("task"),
            "target": sample.get("target"),
        }
        for scorer, score in (sample.get("scores") or {}).items():
            value = score.get("value")
            grades = value if isinstance(value, Mapping) else {"": value}
            for key, grade in grades.items():
                name = f"{scorer} {key}".rstrip()
                row[name] = (
                    _INSPECT_GRADES.get(grade, grade) if isinstance(grade, str) else grade
                )
        rows.append(row)
    return rows


def _promptfoo_results(content: Any) -> list[Any]:
    results = content.get("results") if isinstance(content, Mapping) else None
    results = results.get("results") if isinstance(results, Mapping) else results
    return results if isinstance(results, list) and _lines_have(results, "success") else []


def _promptfoo(content: Mapping[str, Any]) -> Rows:
    rows = []
    for result in _promptfoo_results(content):
        provider = result.get("provider") or {}
        names = provider if isinstance(provider, Mapping) else {"id": provider}
        row = {
            "id": result.get("testIdx"),
            "system": names.get("label") or names.get("id"),
            "prompt": result.get("promptIdx"),
            "verdict": result.get("success"),
            "score": result.get("score"),
        }
        variables = result.get("vars") or (result.get("testCase") or {}).get("vars") or {}
        rows.append(row | dict(result.get("namedScores") or {}) | _plain(variables, row))
    return rows


def _deepeval(content: Mapping[str, Any]) -> Rows:
    rows = []
    for place, case in enumerate(content["testCases"]):
        row = {
            "id": case.get("name") or place,
            "verdict": case.get("success"),
            "input": case.get("input"),
        }
        for metric in case.get("metricsData") or []:
            row[f"{metric['name']} verdict"] = metric.get("success")
            row[f"{metric['name']} score"] = metric.get("score")
        rows.append(row | _plain(case.get("additionalMetadata") or {}, row))
    return rows


def _harness(lines: Iterable[Mapping[str, Any]]) -> Rows:
    rows = []
    for line in lines:
        metrics = line.get("metrics") or [
            name for name in line if isinstance(line[name], int | float) and name != "doc_id"
        ]
        row = {"id": line["doc_id"], "filter": line.get("filter"), "target": line.get("target")}
        rows.append(row | {name: line.get(name) for name in metrics})
    return rows


def _openai(lines: Iterable[Mapping[str, Any]]) -> Rows:
    rows: dict[str, dict[str, Any]] = {}
    system = None
    for line in lines:
        if "spec" in line:
            completions = line["spec"].get("completion_fns")
            system = ", ".join(completions) if completions else None
        if line.get("type") in ("match", "metrics") and line.get("sample_id") is not None:
            row = rows.setdefault(
                line["sample_id"], {"id": line["sample_id"], "system": system}
            )
            data = line.get("data") or {}
            if "correct" in data:
                row["verdict"] = data["correct"]
            row.update({name: value for name, value in data.items() if _is_plain(value)})
    return list(rows.values())


def _plain(values: Mapping[str, Any], used_names: Mapping[str, Any]) -> dict[str, Any]:
    """Values that fit into cells, under names that are free."""
    return {
        name if name not in used_names else f"{name} (variable)": value
        for name, value in values.items()
        if _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


_TOOLS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Rows]]] = {
    "Inspect AI": (lambda c: _is_object(c, "eval", "samples"), _inspect),
    "promptfoo": (lambda c: bool(_promptfoo_results(c)), _promptfoo),
    "DeepEval": (lambda c: _is_object(c, "testCases"), _deepeval),
    "LM Evaluation Harness": (lambda c: _lines_have(c, "doc_id", "resps"), _harness),
    "OpenAI Evals": (lambda c: _lines_have(c, "run_id", "event_id"), _openai),
}
