"""The only caller of classifiers: cross-fitted scores, checks of scores, calibration."""

from __future__ import annotations

from headcount.scores.calibration import CALIBRATIONS, fit_calibrator
from headcount.scores.checks import check_scores
from headcount.scores.inputs import Scored, Verdicts
from headcount.scores.pool import ScoredPool
from headcount.scores.scorer import ItemScorer, Scorer, one_fold_each
from headcount.scores.sharing import equal_scorers

__all__ = [
    "CALIBRATIONS",
    "ItemScorer",
    "Scored",
    "ScoredPool",
    "Scorer",
    "Verdicts",
    "check_scores",
    "equal_scorers",
    "fit_calibrator",
    "one_fold_each",
]
