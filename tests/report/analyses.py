"""Analyses for tests: drifting groups of items with scores that are easy to make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import headcount as hc
from headcount.tables.accuracy import AccuracyAnalysis, analyse_accuracy
from headcount.tables.analysis import Analysis
from headcount.tables.from_items import analyse_items

NASTY = "<script>alert(1)</script>"


def scored(codes: np.ndarray, K: int, seed: int = 0) -> np.ndarray:
    """Posteriors that favour the true class."""
    logits = np.random.default_rng(seed).normal(size=(len(codes), K))
    logits[np.arange(len(codes)), codes] += 2
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def make_analysis(
    classes: Sequence[Any] = ("ham", "spam"),
    groups: Sequence[Any] | None = None,
    size: int = 60,
    quantifier: Any = None,
    **options: Any,
) -> Analysis:
    """Groups of one size each, whose first class grows."""
    K, rng = len(classes), np.random.default_rng(1)
    names = np.array(classes)
    codes = np.arange(600) % K
    labelled = hc.Scored(scored(codes, K), classes=names)
    fitted = (quantifier or hc.PACC(random_state=0)).fit(labelled, names[codes])
    n = size * len(groups or [0])
    later = np.where(rng.random(n) < np.linspace(0, 0.8, n), 0, rng.integers(0, K, n))
    scores = hc.Scored(scored(later, K, 2), classes=names)
    labels = None if groups is None else np.repeat(np.array(groups), size)
    return analyse_items(fitted, scores, groups=labels, **options)


def broken_analysis(**options: Any) -> Analysis:
    """Two classes and three groups, with scores that no mixture of the classes has."""
    names, codes = np.array(["ham", "spam"]), np.arange(600) % 2
    fitted = hc.PACC(random_state=0).fit(hc.Scored(scored(codes, 2), names), names[codes])
    middling = np.full((300, 2), 0.5) + np.linspace(-0.05, 0.05, 300)[:, None] * [1, -1]
    groups = np.repeat(["Bonn", "Köln", "Ulm"], 100)
    return analyse_items(fitted, hc.Scored(middling, names), groups=groups, **options)


def make_accuracies(*, odd: str = "", known: bool = True, **options: Any) -> AccuracyAnalysis:
    """Accuracies in three months; the scores of one, or of all, can be like no others."""
    rng = np.random.default_rng(0)
    late = rng.random(1500) < 0.4
    yes = rng.beta(1 + 3 * late, 1 + 3 * ~late)
    month = np.repeat(["before", "2024-01", "2024-02", "2024-03"], [600, 300, 300, 300])
    yes = np.where(
        (month == odd) | ((odd == "all") & (month != "before")), 0.5 + 0.02 * yes, yes
    )
    table = pl.DataFrame({"yes": yes, "late": np.where(late, "yes", "no"), "month": month})
    new = table[600:] if known else table[600:].drop("late")
    reference = table[:600].drop("month")
    return analyse_accuracy(new, reference=reference, target="late", by="month", **options)
