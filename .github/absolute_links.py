"""Make a release for a package index: absolute links in the README, addresses of the project.

python .github/absolute_links.py ADDRESS TAG

The address of the repository is that of the one which releases, so a fork names itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PICTURE = re.compile(r'(src|srcset)="(?!https?:)([^"]+)"')
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


def absolute(readme: str, address: str, tag: str) -> str:
    """README whose links and pictures lead to the files of a tag."""
    readme = PICTURE.sub(rf'\1="{address}/raw/{tag}/\2"', readme)
    return LINK.sub(rf"]({address}/blob/{tag}/\1)", readme)


def with_addresses(pyproject: str, address: str) -> str:
    """Project file with the addresses that an index shows beside the package."""
    table = f"""[project.urls]
Documentation = "{address}/tree/main/docs"
Source = "{address}"
Issues = "{address}/issues"
Changelog = "{address}/blob/main/CHANGELOG.md"

"""
    return pyproject.replace("[project.scripts]\n", f"{table}[project.scripts]\n", 1)


if __name__ == "__main__":
    address, tag = sys.argv[1:]
    for name, change in (
        ("README.md", lambda text: absolute(text, address, tag)),
        ("pyproject.toml", lambda text: with_addresses(text, address)),
    ):
        path = Path(name)
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
