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
from headcount.analysis.statistics_files import analyse_files, merge_files, summarise
from headcount.analysis.tags import TagAnalysis
from headcount.analysis.verdict import Verdict
from headcount.analysis.warehouse import counting_query

# The American spellings.
analyze, summarize = analyse, summarise

__all__ = [
    "Analysis",
    "Groups",
    "JudgeAnalysis",
    "MethodFacts",
    "Part",
    "ScoreHistogram",
    "ScoreModel",
    "TableModel",
    "TagAnalysis",
    "Verdict",
    "analyse",
    "analyse_files",
    "analyse_items",
    "counting_query",
    "judge",
    "merge_files",
    "plan_labels",
    "summarise",
]
