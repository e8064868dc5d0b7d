"""A quantifier on the scores of the model: the shares of the true classes in samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.accuracy.judging import Judged, Reference
from headcount.errors import HeadcountError, warn
from headcount.quantify import KDEyML, Quantifier
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.uncertainty.refitting import affordable, refits

__all__ = ["Shares", "among", "learn_shares"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of all classes in samples, by a model that knows those of the reference.

    Attributes
    ----------
    model : Any
        Has ``solve(items, samples)``; None if the reference has a single class.
    quantifier : Quantifier or None
        Where the model is from.
    present : ndarray of int
        The classes the model knows; the shares of others are 0.
    n_classes : int
        Number of classes.
    items : ndarray or None
        The items as this model takes them, whatever pool is asked about; None if they are
        made of the pool.
    """

    model: Any
    quantifier: Quantifier | None
    present: NDArray[np.int64]
    n_classes: int
    items: Any = None

    def of(self, pool: Judged, samples: Samples) -> Floats:
        """Shares of the classes in each sample, one row a sample."""
        found = np.zeros((len(samples), self.n_classes))
        if self.model is None:
            found[:, self.present] = 1.0
            return found
        items = self._items(pool) if self.items is None else self.items
        found[:, self.present] = self.model.solve(items, samples).prevalence
        return found

    def refits(self, weights: Floats, pool: Judged | None, judged: Judged) -> Iterator[Shares]:
        """The same learnt from the reference with each row of weights.

        ``judged`` are its items; ``pool`` None asks about these.
        """
        training = self._training()
        if training is None:
            items = None if self.model is None else self._items(pool or judged)
            for _ in weights:
                yield Shares(self.model, self.quantifier, self.present, self.n_classes, items)
            return
        items = None if pool is None else self._items(pool)
        for model, made in refits(self.model, training, weights, items):
            yield Shares(model, self.quantifier, self.present, self.n_classes, made)

    @property
    def relearns(self) -> bool:
        """Whether the quantifier can be fitted on the reference drawn anew."""
        return self.model is None or self._training() is not None

    def affordable(self, n: int, n_items: int) -> int:
        """How many of `n` references to draw anew."""
        training = self._training()
        return n if training is None else affordable(self.model, training, n_items, n)

    def _training(self) -> Training | None:
        if self.quantifier is None:
            return None
        answering = self.quantifier._answering()
        training = answering._training
        trains = answering.info.family == "learner"
        return None if trains or training is None or training.items is None else training

    def _items(self, pool: Judged) -> Any:
        assert self.quantifier is not None
        if self.quantifier.scorer_ is None and self.quantifier._input() != "features":
            return self.quantifier._scored_items(among(pool.posteriors, self.present))
        if pool.X is None:
            raise HeadcountError(_NEEDS_ITEMS.format(type(self.quantifier).__name__))
        return self.quantifier._items(pool.X)


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
        return Shares(None, None, present, K)
    fitted = _fit(clone(chosen), reference)
    return Shares(fitted._answering().model_, fitted, present, K)


def _fit(quantifier: Any, reference: Reference) -> Quantifier:
    judged, weights = reference.judged, reference.weights
    labels = np.searchsorted(reference.present, reference.codes)
    if hasattr(quantifier, "fit_scores"):
        scores = among(judged.posteriors, reference.present)
        fitted: Quantifier = quantifier.fit_scores(scores, labels, weights)
        return fitted
    if judged.X is None:
        raise HeadcountError(_NEEDS_ITEMS.format(type(quantifier).__name__))
    fitted = quantifier.fit(judged.X, labels, weights)
    return fitted


def among(posteriors: Floats, present: NDArray[np.int64]) -> Floats:
    """Posteriors given that the class is one of these; even where none is possible."""
    if len(present) == posteriors.shape[1]:
        return posteriors
    kept = posteriors[:, present]
    total = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, total, out=np.full_like(kept, 1 / len(present)), where=total > 0)
