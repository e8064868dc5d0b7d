"""Posterior distributions of the shares under the likelihood of a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows
from headcount.errors import HeadcountError
from headcount.quantify.fitted import Fitted, PoolSamples
from headcount.representation import Binned, Training
from headcount.representation.binning import Bins
from headcount.scores import one_fold_each
from headcount.uncertainty import (
    SharePosterior,
    check_dirichlet,
    posteriors_from_counts,
    posteriors_from_ratios,
)

# Bins of the positive score of two classes, and of the largest posterior of the items
# predicted as each of more classes.
_BINS, _BINS_PER_CLASS = 4, 2


def share_posteriors(
    fitted: Fitted, reduced: PoolSamples, prior: Any, seed: int
) -> list[SharePosterior]:
    """Posterior distribution of the realised shares in samples of a pool.

    The likelihood is that of predicted classes or binned scores, whose rates in each class are
    unknown too, or of the items, taken as known. `prior` are the parameters of a Dirichlet
    distribution; None is the uniform one.
    """
    kind = fitted.likelihood
    if not kind or fitted.settings.get("smoothness"):
        smooth = " with a smoothness" if kind else ""
        raise HeadcountError(
            f"posterior is True, but {fitted.method}{smooth} has no likelihood and prior of "
            "its own: use ACC, PACC, GAC, GPAC, DyS, HDy, SLD or KDEyML, or leave posterior "
            "out."
        )
    concentration = check_dirichlet(prior, len(fitted.classes))
    items, samples = _scored_once(fitted, reduced.X), reduced.samples
    if kind == "likelihood":
        model: Any = fitted.model
        return posteriors_from_ratios(
            model.likelihood.ratios(items), samples, concentration, seed
        )
    training = fitted.simulation_items()
    n_bins, bin_of = training.n_classes, _predicted
    if kind == "scores":
        bins = _ScoreBins.learn(training)
        n_bins, bin_of = bins.n_bins, bins.of
    in_training, in_pool = (
        Binned(bin_of(np.asarray(items_of_one))[:, None], n_bins)
        for items_of_one in (training.items, items)
    )
    rates = training.class_means(in_training) * training.class_sizes[:, None]
    counts = np.rint(in_pool.means(samples) * samples.sizes[:, None]).astype(np.int64)
    return posteriors_from_counts(rates, counts, concentration, seed)


def _predicted(items: NDArray[Any]) -> NDArray[np.int32]:
    """Predicted classes, as bins."""
    return items.astype(np.int32)


def _scored_once(fitted: Fitted, X: Any) -> NDArray[Any]:
    """Items scored as training items are: each by the classifier of one fold."""
    items = fitted.source.items(X, by_folds=fitted.source.has_folds)
    n = count_rows(X)
    if len(items) == n:
        return np.asarray(items)
    return one_fold_each(items.reshape(-1, n, *items.shape[1:]))


@dataclass(frozen=True, eq=False)
class _ScoreBins:
    """Bins of posteriors with about equal numbers of training items.

    Two classes are divided by the positive score. More classes are divided by the predicted
    class and then by its posterior.
    """

    n_classes: int
    groups: tuple[Bins | None, ...]

    @classmethod
    def learn(cls, training: Training) -> _ScoreBins:
        group, scores = _grouped(np.asarray(training.items))
        count = _BINS if training.n_classes == 2 else _BINS_PER_CLASS
        weighted = training.class_weights > 0
        groups = []
        for g in range(1 if training.n_classes == 2 else training.n_classes):
            rows = (group == g) & weighted
            weights = None if training.weights is None else training.weights[rows]
            items = Training(
                scores[rows, None], training.codes[rows], training.n_classes, weights
            )
            groups.append(Bins.learn(items, count) if rows.any() else None)
        return cls(training.n_classes, tuple(groups))

    @property
    def sizes(self) -> list[int]:
        """Number of bins of each group."""
        return [1 if bins is None else int(bins.edges[-1]) for bins in self.groups]

    @property
    def n_bins(self) -> int:
        """Number of bins of all groups."""
        return sum(self.sizes)

    def of(self, items: NDArray[Any]) -> NDArray[np.int32]:
        """Bin of each item, numbered over all groups."""
        group, scores = _grouped(items)
        places = np.concatenate([[0], np.cumsum(self.sizes)])[group].astype(np.int32)
        for g, bins in enumerate(self.groups):
            rows = group == g
            if bins is not None and rows.any():
                places[rows] += bins.codes(scores[rows, None])[:, 0]
        return places


def _grouped(items: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Group of each item, and the score that divides the group."""
    if items.shape[1] == 2:
        return np.zeros(len(items), np.int64), items[:, 1]
    return items.argmax(axis=1), items.max(axis=1)
