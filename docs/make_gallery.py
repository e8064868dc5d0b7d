"""Make the pictures of gallery.md by running its code.

python docs/make_gallery.py

A picture is the value of ``ax`` or ``figure`` after the preceding block.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

PAGE = Path(__file__).with_name("gallery.md")
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[[^\]]*\]\((?P<path>[^)]+)\)$", re.MULTILINE)
DPI = 100


def main() -> None:
    """Run the blocks in order, and save their figures."""
    page = PAGE.read_text(encoding="utf-8").split("## In a paper")[0]
    blocks = list(BLOCK.finditer(page))
    namespace: dict[str, Any] = {}
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        namespace.update(ax=None, figure=None)
        exec(block["code"], namespace)
        until = len(page) if following is None else following.start()
        picture = PICTURE.search(page, block.end(), until)
        if picture is None:
            continue
        drawn = namespace["figure"] or namespace["ax"].figure
        save(drawn, PAGE.parent / picture["path"])


def save(figure: Figure, path: Path) -> None:
    """Write a small PNG without a date, so that it is reproducible."""
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


if __name__ == "__main__":
    main()
