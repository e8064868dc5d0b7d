"""A quantifier on the scores of the model: the shares of the true classes in samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.accuracy.judging import Judged, Reference
from headcount.data import count_rows
from headcount.errors import HeadcountError, warn
from headcount.quantify import KDEyML, Quantifier
from headcount.representation import Training
from headcount.sampling import Samples

__all__ = ["Counter", "Shares", "among", "learn_shares"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counter:
    """A fitted quantifier that answers to samples of a pool, or of its own training items.

    Attributes
    ----------
    quantifier : Quantifier
        The quantifier.
    model : Any
        Its model, cross-fitted; None for the one that `predict` uses.
    by_folds : bool or None
        Whether the classifiers of the folds score items; None for what `predict` does.
    training : Training or None
        Training items that samples are of, whatever pool is given.
    """

    quantifier: Quantifier
    model: Any = None
    by_folds: bool | None = None
    training: Training | None = None

    def cross_fitted(self) -> tuple[Counter, Counter]:
        """Counters of new items and of the training items, which answer alike to both."""
        answering = self.quantifier._answering()
        training = answering._training
        if training is None or training.items is None:
            return self, self  # its classifier was not trained on these items
        model = answering.model_.cross_fitted(training)
        of_new = Counter(answering, model, answering._scores_by_folds())
        return of_new, replace(of_new, training=training)

    def shares(self, X: Any, samples: Samples) -> Floats:
        """Shares of the quantifier's classes in samples of items."""
        if self.training is not None:
            return self._of_training(samples)
        items = self.quantifier.items_of(X, by_folds=self.by_folds)
        return self._solve(items, samples)

    def shares_of_scores(self, scores: Floats, samples: Samples) -> Floats:
        """Shares of the quantifier's classes in samples of scored items."""
        if self.training is not None:
            return self._of_training(samples)
        return self._solve(self.quantifier._scored_items(scores), samples)

    def _solve(self, items: Any, samples: Samples) -> Floats:
        if self.model is None:
            return self.quantifier._solve(items, samples).prevalence
        found: Floats = self.model.solve(items, samples.over(count_rows(items))).prevalence
        return found

    def _of_training(self, samples: Samples) -> Floats:
        assert self.training is not None
        rows = Samples.unchecked(samples.indices, samples.offsets, len(self.training.codes))
        found: Floats = self.model.solve_training(self.training, rows).prevalence
        return found


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of all classes in samples, by a quantifier that knows those of the reference.

    Attributes
    ----------
    counter : Counter or None
        The quantifier; None if the reference has a single class.
    present : ndarray of int
        The classes the quantifier knows; the shares of others are 0.
    n_classes : int
        Number of classes.
    """

    counter: Counter | None
    present: NDArray[np.int64]
    n_classes: int

    def of(self, pool: Judged, samples: Samples) -> Floats:
        """Shares of the classes in each sample, one row per sample."""
        found = np.zeros((len(samples), self.n_classes))
        found[:, self.present] = 1.0 if self.counter is None else self._known(pool, samples)
        return found

    def cross_fitted(self) -> tuple[Shares, Shares]:
        """The same for new items and for those of the reference, answered alike."""
        if self.counter is None:
            return self, self
        of_new, of_reference = self.counter.cross_fitted()
        return replace(self, counter=of_new), replace(self, counter=of_reference)

    def _known(self, pool: Judged, samples: Samples) -> Floats:
        assert self.counter is not None
        quantifier = self.counter.quantifier
        if quantifier.scorer_ is None and quantifier._input() != "features":
            scores = among(pool.posteriors, self.present)
            return self.counter.shares_of_scores(scores, samples)
        if pool.X is None:
            raise HeadcountError(_NEEDS_ITEMS.format(type(quantifier).__name__))
        return self.counter.shares(pool.X, samples)


_NEEDS_ITEMS = (
    "quantifier is {}, which looks at the items themselves, but only their scores were given: "
    "use fit and predict, or choose a quantifier of scores such as KDEyML()."
)


def learn_shares(quantifier: Any, reference: Reference) -> Shares:
    """Fit a copy of a quantifier on the scores of the reference, which are held out already.

    Parameters
    ----------
    quantifier : Quantifier or None
        What estimates the shares of the classes; `KDEyML` by default. One that takes no
        scores is fitted on the items.
    reference : Reference
        The labelled items.

    Returns
    -------
    Shares
    """
    chosen = KDEyML() if quantifier is None else quantifier
    if not isinstance(chosen, Quantifier):
        raise HeadcountError(
            f"quantifier is {chosen!r}; it must be a quantifier of this library, such as "
            "SLD() or KDEyML()."
        )
    present, K = reference.present, reference.n_classes
    if len(present) < K:
        missing = np.setdiff1d(np.arange(K), present)[0]
        warn(
            f"The labelled items have none of class {reference.classes.tolist()[missing]!r}: "
            "its share is taken to be 0 in every sample; add items of it."
        )
    if len(present) == 1:
        return Shares(None, present, K)
    return Shares(Counter(_fit(clone(chosen), reference)), present, K)


def _fit(quantifier: Any, reference: Reference) -> Quantifier:
    judged = reference.judged
    labels = np.searchsorted(reference.present, reference.codes)
    if hasattr(quantifier, "fit_scores"):
        scores = among(judged.posteriors, reference.present)
        fitted: Quantifier = quantifier.fit_scores(scores, labels)
        return fitted
    if judged.X is None:
        raise HeadcountError(_NEEDS_ITEMS.format(type(quantifier).__name__))
    fitted = quantifier.fit(judged.X, labels)
    return fitted


def among(posteriors: Floats, present: NDArray[np.int64]) -> Floats:
    """Posteriors given that the class is one of these; even where none is possible."""
    if len(present) == posteriors.shape[1]:
        return posteriors
    kept = posteriors[:, present]
    total = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, total, out=np.full_like(kept, 1 / len(present)), where=total > 0)
