"""From tables to results: shares of classes in groups of items, and accuracy of a model."""

from __future__ import annotations

from headcount.analysis.analysis import Analysis, Part
from headcount.analysis.facts import MethodFacts
from headcount.analysis.from_items import analyse_items
from headcount.analysis.from_tables import analyse
from headcount.analysis.groups import Groups
from headcount.analysis.histograms import ScoreHistogram
from headcount.analysis.judge_analysis import JudgeAnalysis, judge
from headcount.analysis.label_plan import plan_labels
from headcount.analysis.models import ScoreModel, TableModel
from headcount.analysis.verdict import Verdict

__all__ = [
    "Analysis",
    "Groups",
    "JudgeAnalysis",
    "MethodFacts",
    "Part",
    "ScoreHistogram",
    "ScoreModel",
    "TableModel",
    "Verdict",
    "analyse",
    "analyse_items",
    "judge",
    "plan_labels",
]
