"""Newer methods and those of their peers: the same scores, the same answers, times.

python benchmarks/frontier_peers.py
"""

from __future__ import annotations

from environment import command_line, describe_machine, start
from tables import bullets


def main() -> None:
    options = start(command_line(__doc__ or ""))
    from frontier_pairs import described, table

    parts = [
        "# Newer methods compared with their peers",
        described(),
        bullets(describe_machine()),
    ]
    text = "\n\n".join([*parts, table()])
    (options.output / "frontier_peers.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
