"""Fit quantifiers together: those with equal classifiers share one training."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from headcount.items.arrays import Scored, Verdicts
from headcount.quantifiers.base import Quantifier, ScoringPlan
from headcount.scores.scorer import equal_scorers

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted quantifier, or the reason why there is none."""

    quantifier: Any
    error: Exception | None
    seconds: float


def fit_together(
    quantifiers: Mapping[Name, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    groups: Any = None,
) -> Iterator[tuple[Name, FitResult]]:
    """Fit copies of quantifiers on the same items, each classifier once."""
    names = list(quantifiers)
    classified = isinstance(X, Scored | Verdicts)
    scorers = [None if classified else unfitted_scorer(quantifiers[name]) for name in names]
    for group in equal_scorers(scorers):
        members = {names[i]: quantifiers[names[i]] for i in group}
        shared = scorers[group[0]] if len(group) > 1 else None
        options = {"sample_weight": sample_weight, "groups": groups}
        arguments = {name: value for name, value in options.items() if value is not None}
        yield from _fit_group(members, shared, X, y, arguments)


def is_pipeline(quantifier: Any) -> bool:
    """True for a pipeline that ends in a quantifier."""
    return isinstance(quantifier, Pipeline) and isinstance(quantifier[-1], Quantifier)


def unfitted_scorer(quantifier: Any) -> Any:
    """Scorer that a quantifier would fit; None if it has no single one."""
    if not isinstance(quantifier, Quantifier):
        return None
    try:
        return ScoringPlan(quantifier).scorer()
    except ValueError:
        return None  # fitting it raises the error


def _fit_group(
    members: Mapping[Name, Any], scorer: Any, X: Any, y: Any, labelled: Mapping[str, Any]
) -> Iterator[tuple[Name, FitResult]]:
    shared = 0.0
    if scorer is not None:
        start = perf_counter()
        try:
            scorer.fit(
                X,
                y,
                **labelled,
                out_of_fold=any(ScoringPlan(member).learns for member in members.values()),
                posteriors=any(
                    ScoringPlan(member).takes != "labels" for member in members.values()
                ),
            )
        except Exception as error:
            for name in members:
                yield name, FitResult(None, error, perf_counter() - start)
            return
        shared = perf_counter() - start
    for name, quantifier in members.items():
        start = perf_counter()
        try:
            copy = clone(quantifier)
            fitted = copy.fit(X, y, **labelled) if scorer is None else copy.fit_scorer(scorer)
        except Exception as error:
            yield name, FitResult(None, error, shared + perf_counter() - start)
        else:
            yield name, FitResult(fitted, None, shared + perf_counter() - start)
