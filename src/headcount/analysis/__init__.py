"""From tables to results: shares of classes in groups of items, and accuracy of a model."""

from __future__ import annotations

from headcount.analysis.analysis import Analysis, ScoreHistogram, Slice
from headcount.analysis.from_items import analyse_items
from headcount.analysis.from_tables import (
    analyse,
    analyse_files,
    counting_query,
    merge_files,
    plan_labels,
    summarise,
)
from headcount.analysis.groups import Groups
from headcount.analysis.judge_analysis import JudgeAnalysis, judge
from headcount.analysis.models import ScoreModel, TableModel
from headcount.analysis.tags import TagAnalysis
from headcount.analysis.words import MethodFacts, Verdict

# The American spellings.
analyze, summarize = analyse, summarise

__all__ = [
    "Analysis",
    "Groups",
    "JudgeAnalysis",
    "MethodFacts",
    "ScoreHistogram",
    "ScoreModel",
    "Slice",
    "TableModel",
    "TagAnalysis",
    "Verdict",
    "analyse",
    "analyse_files",
    "analyse_items",
    "analyze",
    "counting_query",
    "judge",
    "merge_files",
    "plan_labels",
    "summarise",
    "summarize",
]
