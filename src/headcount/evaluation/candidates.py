"""Try quantifiers on samples of items they were not fitted on, training as little as can be.

Candidates whose classifier, folds and seed agree share one training and one scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount._progress import track
from headcount.data import take_rows
from headcount.quantify import Quantifier
from headcount.sampling import Samples
from headcount.scores import Scored, ScoredPool, Verdicts, equal_scorers

__all__ = ["Errors", "Labelled", "Outcome", "Split", "try_candidates"]

Errors = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], Any]
"""From true shares, estimated shares and sizes: one error per sample."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Items with labels."""

    X: Any
    classes: NDArray[Any]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64] | None

    @property
    def classified(self) -> bool:
        """True if the items are given by scores or decisions."""
        return isinstance(self.X, Scored | Verdicts)

    def take(self, rows: NDArray[np.int64]) -> Labelled:
        """Items at some positions."""
        weights = None if self.weights is None else self.weights[rows]
        X = self.X.take(rows) if self.classified else take_rows(self.X, rows)
        return Labelled(X, self.classes, self.codes[rows], weights)


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
    scorers = [None if items.classified else _scorer(candidate) for candidate in candidates]
    groups = equal_scorers(scorers)
    tasks = [(members, split) for split in splits for members in groups]
    work = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_try_group)([candidates[i] for i in members], items, split, measure)
        for members, split in tasks
    )
    found: list[list[Outcome]] = [[] for _ in candidates]
    done = track(zip(tasks, work, strict=True), len(tasks), "Trying settings", show=progress)
    for (members, _), outcomes in done:
        for i, outcome in zip(members, outcomes, strict=True):
            found[i].append(outcome)
    return [_joined(outcomes) for outcomes in found]


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome over all splits; it failed if it failed on one."""
    errors = []
    for outcome in outcomes:
        if outcome.errors is None:
            return outcome
        errors.append(outcome.errors)
    return Outcome(np.concatenate(errors))


def _scorer(candidate: Quantifier) -> Any:
    """Unfitted scorer of a candidate; None if it has no single one, or a wrong parameter."""
    try:
        return candidate.unfitted_scorer()
    except ValueError:
        return None  # fitting it raises the error


def _try_group(
    candidates: Sequence[Quantifier], items: Labelled, split: Split, measure: Errors
) -> list[Outcome]:
    train, test = items.take(split.train), items.take(split.test)
    pool = test.X if items.classified else ScoredPool(test.X)
    scorer = None
    if len(candidates) > 1 and not items.classified:
        scorer = _scorer(candidates[0])
        needed = {
            "out_of_fold": any(candidate.learns_from_scores for candidate in candidates),
            "posteriors": any(candidate.takes != "labels" for candidate in candidates),
        }
        try:
            scorer.fit(train.X, train.classes[train.codes], train.weights, **needed)
        except Exception as error:
            return [_failed(error)] * len(candidates)
    outcomes = []
    for candidate in candidates:
        try:
            estimated = _estimates(clone(candidate), train, pool, split.samples, scorer)
            true = split.samples.prevalence
            assert true is not None  # protocols tell the shares they drew
            outcomes.append(Outcome(np.asarray(measure(true, estimated, split.samples.sizes))))
        except Exception as error:
            outcomes.append(_failed(error))
    return outcomes


def _estimates(
    candidate: Quantifier, train: Labelled, pool: Any, samples: Samples, scorer: Any
) -> NDArray[np.float64]:
    y = train.classes[train.codes]
    if scorer is None:
        candidate.fit(train.X, y, train.weights)
    else:
        candidate.fit_scorer(scorer)
    return candidate.predict_many(pool, samples)


def _failed(error: Exception) -> Outcome:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return Outcome(None, f"{kind}{error}")
