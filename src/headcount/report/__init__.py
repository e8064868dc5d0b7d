"""Pages for people: an analysis or a study as one HTML file that needs nothing else."""

from __future__ import annotations

from headcount.report.accuracy_page import accuracy_page
from headcount.report.judge_page import judge_page
from headcount.report.page import page
from headcount.report.tags_page import tags_page

__all__ = ["accuracy_page", "judge_page", "page", "tags_page"]
