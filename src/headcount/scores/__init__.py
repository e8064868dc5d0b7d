"""The only caller of classifiers: cross-fitted scores, checks of scores, calibration."""

from __future__ import annotations

from headcount.scores.calibration import CALIBRATIONS, fit_calibrator
from headcount.scores.checks import check_scores
from headcount.scores.folds import one_fold_each
from headcount.scores.inputs import Scored, Verdicts
from headcount.scores.outputs import numeric_space
from headcount.scores.scorer import ItemScorer, ScoredPool, Scorer, equal_scorers
from headcount.scores.tags import TagScorer, check_tags

__all__ = [
    "CALIBRATIONS",
    "ItemScorer",
    "Scored",
    "ScoredPool",
    "Scorer",
    "TagScorer",
    "Verdicts",
    "check_scores",
    "check_tags",
    "equal_scorers",
    "fit_calibrator",
    "numeric_space",
    "one_fold_each",
]
