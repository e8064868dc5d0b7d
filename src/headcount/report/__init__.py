"""Pages for people: an analysis or a study as one HTML file that needs nothing else."""

from __future__ import annotations

from headcount.report.accuracy_page import accuracy_page
from headcount.report.page import page

__all__ = ["accuracy_page", "page"]
