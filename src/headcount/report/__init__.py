"""One page for people: shares, how sure they are, and whether to believe them."""

from __future__ import annotations

from headcount.report.analysis import Analysis, MethodFacts, Part
from headcount.report.histograms import ScoreHistogram
from headcount.report.making import analyse, analyse_scores
from headcount.report.page import page

__all__ = [
    "Analysis",
    "MethodFacts",
    "Part",
    "ScoreHistogram",
    "analyse",
    "analyse_scores",
    "page",
]
