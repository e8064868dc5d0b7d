"""Results as Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["bullets", "markdown_table", "replace_between", "write_json"]


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """Table of cells that are text already."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def bullets(facts: dict[str, str]) -> str:
    """List of facts, such as those of `describe_machine`."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def replace_between(file: Path, mark: str, text: str) -> None:
    """Replace what is between the comments ``<!-- mark -->`` and ``<!-- end of mark -->``."""
    before, start, rest = file.read_text("utf-8").partition(f"<!-- {mark} -->\n")
    _, end, after = rest.partition(f"<!-- end of {mark} -->")
    if not end:
        raise ValueError(f"{file} has no comments of {mark!r}.")
    file.write_text(f"{before}{start}{text}\n{end}{after}", encoding="utf-8")
