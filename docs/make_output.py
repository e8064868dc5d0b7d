"""Renew what the code in documents prints, where it differs from what they say.

    python docs/make_output.py [README.md docs/history.md ...]

All documents by default. A block that shortens its output by "..." is left to a person.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from textwrap import fill
from types import ModuleType

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_docs import DOCUMENTS, PRINTED_WIDTH, WIDTH, blocks, near, run  # noqa: E402


def renew(path: Path) -> None:
    """Run the code of a document and write what it prints."""
    text = path.read_text(encoding="utf-8")
    # Classes find the module they are defined in by its name.
    module = sys.modules["document"] = ModuleType("document")
    end = 0
    for block in list(blocks(text)):
        printed = run(block, path, vars(module))
        end = text.index(block.code, end) + len(block.code)
        if block.prints is None or near(block.prints, printed):
            continue
        if "..." in block.prints:
            print(f"{path.name}, line {block.line}: the output is shortened, and differs")
            continue
        start = text.index(block.prints, end)
        text = text[:start] + fitted(printed) + text[start + len(block.prints) :]
        print(f"{path.name}, line {block.line}: renewed")
    path.write_text(text, encoding="utf-8")


def fitted(printed: str) -> str:
    """The output with sentences that are too long for the page divided."""
    lines = printed.rstrip("\n").split("\n")
    return "".join(
        f"{fill(line, WIDTH) if len(line) > PRINTED_WIDTH else line}\n" for line in lines
    )


def main() -> None:
    """Renew the documents that are named, or all."""
    paths = [Path(name).resolve() for name in sys.argv[1:]] or DOCUMENTS
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            renew(path)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
