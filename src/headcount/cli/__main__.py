"""``python -m headcount.cli``."""

from __future__ import annotations

from headcount.cli import main

main()
