"""Results as Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["bullets", "markdown_table", "write_json"]


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
