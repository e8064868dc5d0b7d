"""``python -m headcount``."""

from __future__ import annotations

from headcount.cli import main

main()
