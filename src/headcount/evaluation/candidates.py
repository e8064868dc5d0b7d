"""Try quantifiers on samples of items they were not fitted on, training as little as can be.

Candidates whose classifier, folds and seed agree share one training and one scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount._progress import track
from headcount.data import take_rows
from headcount.evaluation.fitting import fit_together, is_pipeline, unfitted_scorer
from headcount.quantify import Quantifier
from headcount.sampling import Samples
from headcount.scores import Scored, ScoredPool, Verdicts, equal_scorers

Errors = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], Any]
"""From true shares, estimated shares and sizes: one error per sample."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Items with labels."""

    X: Any
    classes: NDArray[Any]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    groups: NDArray[Any] | None = None

    @property
    def classified(self) -> bool:
        """True if the items are given by scores or decisions."""
        return isinstance(self.X, Scored | Verdicts)

    def take(self, rows: NDArray[np.int64]) -> Labelled:
        """Items at some positions."""
        weights = None if self.weights is None else self.weights[rows]
        X = self.X.take(rows) if self.classified else take_rows(self.X, rows)
        groups = None if self.groups is None else self.groups[rows]
        return Labelled(X, self.classes, self.codes[rows], weights, groups)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on, rows to draw samples from, and the samples (of the latter's rows)."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    samples: Samples


@dataclass(frozen=True)
class Outcome:
    """Result of a candidate: one error per sample, or the reason why there is none."""

    errors: NDArray[np.float64] | None
    problem: str = ""


def try_candidates(
    candidates: Sequence[Quantifier],
    items: Labelled,
    splits: Sequence[Split],
    measure: Errors,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[Outcome]:
    """Fit every candidate on every split and measure it; one outcome per candidate."""
    classified = items.classified
    scorers = [None if classified else unfitted_scorer(candidate) for candidate in candidates]
    groups = equal_scorers(scorers)
    tasks = [(members, split) for split in splits for members in groups]
    work = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_try_group)([candidates[i] for i in members], items, split, measure)
        for members, split in tasks
    )
    by_candidate: list[list[Outcome]] = [[] for _ in candidates]
    done = track(zip(tasks, work, strict=True), len(tasks), "Trying settings", show=progress)
    for (members, _), outcomes in done:
        for i, outcome in zip(members, outcomes, strict=True):
            by_candidate[i].append(outcome)
    return [_joined(outcomes) for outcomes in by_candidate]


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome over all splits; it failed if it failed on one."""
    errors = []
    for outcome in outcomes:
        if outcome.errors is None:
            return outcome
        errors.append(outcome.errors)
    return Outcome(np.concatenate(errors))


def _try_group(
    candidates: Sequence[Quantifier], items: Labelled, split: Split, measure: Errors
) -> list[Outcome]:
    train, test = items.take(split.train), items.take(split.test)
    try:
        candidates, train, test = _prepared(candidates, train, test)
    except Exception as error:
        return [_failed(error)] * len(candidates)
    pool = test.X if items.classified else ScoredPool(test.X)
    true = split.samples.prevalence
    assert true is not None  # protocols tell the shares they drew
    outcomes = [Outcome(None, "not tried")] * len(candidates)
    named = dict(enumerate(candidates))
    y = train.classes[train.codes]
    fits = fit_together(named, train.X, y, train.weights, train.groups)
    for i, fitted in fits:
        try:
            if fitted.error is not None:
                raise fitted.error
            estimated = fitted.quantifier.predict_many(pool, split.samples)
            errors = measure(true, estimated, split.samples.sizes)
            outcomes[i] = Outcome(np.asarray(errors))
        except Exception as error:
            outcomes[i] = _failed(error)
    return outcomes


def _prepared(
    candidates: Sequence[Any], train: Labelled, test: Labelled
) -> tuple[Sequence[Quantifier], Labelled, Labelled]:
    """Last step of a pipeline, and the items as its other steps make them."""
    first = candidates[0]
    if not is_pipeline(first):
        return candidates, train, test
    if len(first) > 1:
        steps = clone(first[:-1])
        items = steps.fit_transform(train.X, train.classes[train.codes])
        train, test = replace(train, X=items), replace(test, X=steps.transform(test.X))
    return [first[-1]], train, test


def _failed(error: Exception) -> Outcome:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return Outcome(None, f"{kind}{error}")
