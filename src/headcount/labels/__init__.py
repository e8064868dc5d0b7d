"""A few labels from the target: which items to label, and estimates that use the labels."""

from __future__ import annotations

from headcount.labels.cells import LabelledTable, MetricEnds
from headcount.labels.corrected_rates import correct_verdicts
from headcount.labels.difference import Difference, share_ends
from headcount.labels.exact import clopper_pearson
from headcount.labels.from_labels import (
    check_design,
    check_enough,
    check_labelled,
    check_labelled_rows,
    draw_of,
    estimates_from_labels,
    of_population,
    places_within,
    share_difference,
)
from headcount.labels.judge_result import GroupDifference, JudgedEstimate, JudgeResult
from headcount.labels.labelled_estimate import Agreement, LabelledEstimate
from headcount.labels.plan import Budget, LabelPlan, pool_key
from headcount.labels.plan_design import join_plans, make_plan
from headcount.labels.posteriors import PoolPosteriors
from headcount.labels.sample import LabelSample, check_clusters
from headcount.labels.strata import Strata, suitable_strata
from headcount.labels.weighting import effective_size, weighted_rows

__all__ = [
    "Agreement",
    "Budget",
    "Difference",
    "GroupDifference",
    "JudgeResult",
    "JudgedEstimate",
    "LabelPlan",
    "LabelSample",
    "LabelledEstimate",
    "LabelledTable",
    "MetricEnds",
    "PoolPosteriors",
    "Strata",
    "check_clusters",
    "check_design",
    "check_enough",
    "check_labelled",
    "check_labelled_rows",
    "clopper_pearson",
    "correct_verdicts",
    "draw_of",
    "effective_size",
    "estimates_from_labels",
    "join_plans",
    "make_plan",
    "of_population",
    "places_within",
    "pool_key",
    "share_difference",
    "share_ends",
    "suitable_strata",
    "weighted_rows",
]
