"""Analyses for tests: drifting groups of items with scores that are easy to make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import headcount as hc
from headcount.analysis import Analysis, analyse_items

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
