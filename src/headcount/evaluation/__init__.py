"""Evaluation over samples, significance tests and model selection."""

from __future__ import annotations

from headcount.evaluation.evaluation import Evaluation, Evaluations
from headcount.evaluation.run import evaluate
from headcount.evaluation.search import GridSearch
from headcount.evaluation.significance import Comparison, compare
from headcount.evaluation.summary import Summary

__all__ = [
    "Comparison",
    "Evaluation",
    "Evaluations",
    "GridSearch",
    "Summary",
    "compare",
    "evaluate",
]
