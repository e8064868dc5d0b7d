"""Files that commands write, and the text that they print."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Any

from headcount._files import TABLE_ENDINGS, check_writable
from headcount.cli.exit_codes import DONE, UNRELIABLE

__all__ = ["check_outputs", "finish"]


def check_outputs(output: Path | None, report: Path | None, save: Path | None = None) -> None:
    """Raise an error if a file cannot be written, before anything heavy is imported."""
    for path, option, endings in (
        (output, "--output", TABLE_ENDINGS),
        (report, "--report", (".html", ".htm")),
        (save, "--save", (".skops",)),
    ):
        if path is not None:
            check_writable(path, option, endings)


def finish(
    found: Any,
    text: str,
    *,
    output: Path | None,
    report: Path | None,
    json: bool,
    strict: bool,
) -> tuple[str, int]:
    """Write the table and the page of a result; text or JSON to print, and the exit code."""
    if output is not None:
        from headcount.data.writers import write_table

        write_table(found.to_frame(), output)
    if report is not None:
        found.report(report)
    if json:
        text = json_text.dumps(found.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
    return text, UNRELIABLE if strict and not found.is_reliable else DONE
