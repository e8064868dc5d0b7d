"""Methods on the scores of logistic regression: one training serves them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from headcount.sampling import Samples
from headcount.study.comparison.draws import Trial
from headcount.study.comparison.estimates import attempted
from headcount.study.comparison.groups import Answers, Bench, made, wanted
from headcount.study.comparison.logistic import LinearModel, cross_fit, stratified_folds
from headcount.study.spec import MethodSpec

__all__ = ["by_scores"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Scored:
    """Posteriors of the training items, out of fold, and of the pool."""

    training: Floats
    pool: Floats
    codes: Codes


class _Trainer:
    """Trains on one training set after the other, each from the last one's solution."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.last: dict[int | None, LinearModel] = {}

    def scored(self, rows: Codes, against_rest: int | None) -> Scored:
        """Scores of all classes, or of one class against the others."""
        X, y = self.bench.dataset.X, self.bench.dataset.y[rows]
        codes = y if against_rest is None else (y == against_rest).astype(np.int64)
        start = self.last.pop(against_rest, None)
        fitted = cross_fit(X[rows], codes, stratified_folds(codes, _FOLDS), start=start)
        self.last[against_rest] = fitted.model
        return Scored(fitted.posteriors, fitted.model.posteriors(X), codes)


def by_scores(
    bench: Bench, trials: Sequence[Trial], methods: Sequence[MethodSpec]
) -> Iterator[Answers]:
    """Estimates of all methods that are fitted on scores."""
    trainer, K = _Trainer(bench), bench.dataset.n_classes
    for trial in trials:
        rows, samples = bench.drawer.draw(trial)
        # Trained when first asked for: what goes wrong then is a failure of the method.
        scored = lru_cache(partial(trainer.scored, rows))
        found = {
            method.name: attempted(partial(_estimate, method, scored, K), samples, K)
            for method in wanted(methods, trial)
        }
        yield Answers(trial, len(rows), samples, found)


def _estimate(
    method: MethodSpec, scored: Callable[[int | None], Scored], K: int, samples: Samples
) -> Floats:
    """Shares of all classes at once, or of each against the rest, brought to sum 1."""
    if K == 2 or not method.options.get("one_vs_rest"):
        return _from_scores(method, scored(None), samples)
    positive = np.column_stack(
        [_from_scores(method, scored(j), samples)[:, 1] for j in range(K)]
    )
    total = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, total, out=np.full_like(positive, 1 / K), where=total > 0)


def _from_scores(method: MethodSpec, scored: Scored, samples: Samples) -> Floats:
    training, pool = scored.training, scored.pool
    if method.options.get("decisions"):
        training, pool = _decisions(training, pool, method.options.get("decimals"))
    quantifier = made(method)
    if method.options.get("predictions"):
        # What the classifier says is all the features there are.
        said, pooled = training.argmax(axis=1)[:, None], pool.argmax(axis=1)[:, None]
        return quantifier.fit(said, scored.codes).predict_many(pooled, samples)
    quantifier.fit_scores(training, scored.codes)
    return quantifier.predict_many_scores(pool, samples)


def _decisions(training: Floats, pool: Floats, decimals: int | None) -> tuple[Floats, Floats]:
    """Decision values of two classes in place of posteriors.

    They are stretched to [0, 1], from the least to the largest of the training items, so that
    bins of equal width are such of decision values; those beyond are moved to the ends.
    Thresholds do not mind.
    """
    values = [_log_odds(scores) for scores in (training, pool)]
    if decimals is not None:
        values = [each.round(decimals) for each in values]
    low, high = values[0].min(), values[0].max()
    stretched = [np.clip((each - low) / ((high - low) or 1.0), 0, 1) for each in values]
    first, second = (np.column_stack([1 - each, each]) for each in stretched)
    return first, second


def _log_odds(scores: Floats) -> Floats:
    tiny = np.finfo(np.float64).tiny
    return np.asarray(np.log(scores[:, 1] + tiny) - np.log(scores[:, 0] + tiny))
