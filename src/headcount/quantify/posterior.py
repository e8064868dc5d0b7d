"""Posterior distributions of the shares under the likelihood of a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows
from headcount.errors import HeadcountError
from headcount.representation import Binned, Training
from headcount.representation.binning import Bins
from headcount.sampling import Samples
from headcount.scores import one_fold_each

if TYPE_CHECKING:
    from headcount.quantify.base import Quantifier
    from headcount.uncertainty import SharePosterior

__all__ = ["posteriors_of"]

# Bins of the positive score of two classes, and of the largest posterior of the items
# predicted as each of more classes.
_BINS, _BINS_PER_CLASS = 4, 2


def posteriors_of(
    quantifier: Quantifier, X: Any, samples: Samples, prior: Any, seed: int
) -> list[SharePosterior]:
    """Posterior distribution of the realised shares in samples of a pool.

    Parameters
    ----------
    quantifier : Quantifier
        Fitted, with a likelihood: predicted classes or binned scores, whose rates in each
        class are unknown too, or likelihoods of the items, which are taken as known.
    X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
        The pool.
    samples : Samples
        Rows of the pool.
    prior : None, float or array-like of shape (K,)
        Parameters of a Dirichlet distribution; None is the uniform one.
    seed : int
        Random seed.

    Returns
    -------
    list of SharePosterior
    """
    from headcount.uncertainty import (
        check_dirichlet,
        posteriors_from_counts,
        posteriors_from_ratios,
    )

    kind, name = quantifier.posterior_kind, type(quantifier).__name__
    if not kind or quantifier.get_params(deep=False).get("smoothness"):
        smooth = " with a smoothness" if kind else ""
        raise HeadcountError(
            f"posterior is True, but {name}{smooth} has no likelihood and prior of its own: "
            "use ACC, PACC, GAC, GPAC, DyS, HDy, SLD or KDEyML, or leave posterior out."
        )
    concentration = check_dirichlet(prior, len(quantifier.classes_))
    items = _scored_once(quantifier, X)
    if kind == "likelihood":
        model: Any = quantifier.model_
        return posteriors_from_ratios(
            model.likelihood.ratios(items), samples, concentration, seed
        )
    training = quantifier._simulation_items()
    n_bins, bin_of = training.n_classes, _predicted
    if kind == "scores":
        bins = _ScoreBins.learn(training)
        n_bins, bin_of = bins.n_bins, bins.of
    known, seen = (
        Binned(bin_of(np.asarray(each))[:, None], n_bins) for each in (training.items, items)
    )
    counts = training.class_means(known) * training.class_sizes[:, None]
    found = np.rint(seen.means(samples) * samples.sizes[:, None]).astype(np.int64)
    return posteriors_from_counts(counts, found, concentration, seed)


def _predicted(items: NDArray[Any]) -> NDArray[np.int32]:
    """Predicted classes, as bins."""
    return items.astype(np.int32)


def _scored_once(quantifier: Quantifier, X: Any) -> NDArray[Any]:
    """Items scored as training items are: each by the classifier of one fold."""
    items = quantifier.items_of(X, by_folds=quantifier.scores_by_folds)
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
        there = training.class_weights > 0
        found = []
        for g in range(1 if training.n_classes == 2 else training.n_classes):
            own = (group == g) & there
            weights = None if training.weights is None else training.weights[own]
            part = Training(scores[own, None], training.codes[own], training.n_classes, weights)
            found.append(Bins.learn(part, count) if own.any() else None)
        return cls(training.n_classes, tuple(found))

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
        found = np.concatenate([[0], np.cumsum(self.sizes)])[group].astype(np.int32)
        for g, bins in enumerate(self.groups):
            own = group == g
            if bins is not None and own.any():
                found[own] += bins.codes(scores[own, None])[:, 0]
        return found


def _grouped(items: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Group of each item, and the score that divides the group."""
    if items.shape[1] == 2:
        return np.zeros(len(items), np.int64), items[:, 1]
    return items.argmax(axis=1), items.max(axis=1)
