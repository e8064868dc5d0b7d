"""Lines and files of the source by package, in two versions.

python source_size.py OLD/src [NEW/src]
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tables import markdown_table
from versions import SOURCE


def count(source: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines and files by package; modules of the root count as one package."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for file in source.rglob("*.py"):
        top, *inside = file.relative_to(source).parts
        package = top if top != "headcount" or len(inside) == 1 else f"headcount.{inside[0]}"
        lines[package] += len(file.read_text(encoding="utf-8").splitlines())
        files[package] += 1
    return lines, files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="source folder of the old version")
    parser.add_argument("new", type=Path, nargs="?", default=SOURCE, help="default: this tree")
    given = parser.parse_args()
    (old_lines, old_files), (lines, files) = count(given.old), count(given.new)
    rows = [
        [package, *(f"{each[package]:,}" for each in (old_lines, lines, old_files, files)),
         f"{lines[package] - old_lines[package]:+,}"]
        for package in sorted(old_lines | lines)
    ]  # fmt: skip
    totals = [each.total() for each in (old_lines, lines, old_files, files)]
    change = f"{totals[1] - totals[0]:+,}"
    rows.append(["**all**", *(f"{total:,}" for total in totals), change])
    header = ["package", "lines before", "after", "files before", "after", "change of lines"]
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
