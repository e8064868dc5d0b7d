"""What the classifier said of the items, and of the training items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.quantify import Quantifier
from headcount.representation import Training
from headcount.scores import ScoredPool

__all__ = ["Evidence", "evidence_of_items", "evidence_of_scores"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known beside the estimates; None for what is not.

    Attributes
    ----------
    posteriors : ndarray of shape (n, K) or None
        Of the items.
    labels : ndarray of shape (n,) or None
        Predicted classes of the items, as positions in the list of classes.
    training : Training or None
        Labelled items with posteriors that are out-of-fold or held-out.
    n_training : int or None
        Number of training items.
    """

    posteriors: NDArray[np.float64] | None = None
    labels: NDArray[np.int64] | None = None
    training: Training | None = None
    n_training: int | None = None


def evidence_of_items(quantifier: Quantifier, pool: ScoredPool) -> Evidence:
    """Of a quantifier that has a classifier; what the pool remembers is not made again.

    Parameters
    ----------
    quantifier : Quantifier
        A fitted one.
    pool : ScoredPool
        The items.

    Returns
    -------
    Evidence
    """
    scorer: Any = quantifier.scorer_
    kept = getattr(quantifier._answering(), "_training", None)
    n_training = None if kept is None else len(kept.codes)
    if not hasattr(scorer, "posteriors"):
        return Evidence(n_training=n_training)
    posteriors = _said(pool.posteriors, scorer)
    by_labels = posteriors is None or quantifier._answering()._input() == "labels"
    labels = pool.labels(scorer) if by_labels else posteriors.argmax(axis=1)
    if labels.ndim == 2:
        # A classifier for each class: none of them says which class an item is of.
        labels = None if posteriors is None else posteriors.argmax(axis=1)
    training = None
    if posteriors is not None and hasattr(scorer, "posteriors_"):
        training = Training(
            scorer.posteriors_, scorer.codes_, len(quantifier.classes_), scorer.weights_
        )
    return Evidence(posteriors, labels, training, len(scorer.codes_))


def _said(make: Any, scorer: Any) -> Any:
    try:
        return make(scorer)
    except AttributeError:  # a classifier with labels only
        return None


def evidence_of_scores(quantifier: Quantifier, posteriors: NDArray[np.float64]) -> Evidence:
    """Of a quantifier that was fitted on scores.

    Parameters
    ----------
    quantifier : Quantifier
        A fitted one.
    posteriors : ndarray of shape (n, K)
        Scores of the items.

    Returns
    -------
    Evidence
    """
    kept = getattr(quantifier._answering(), "_training", None)
    known = kept is not None and _are_posteriors(kept.items, posteriors.shape[1])
    return Evidence(
        posteriors,
        posteriors.argmax(axis=1),
        kept if known else None,
        None if kept is None else len(kept.codes),
    )


def _are_posteriors(items: Any, K: int) -> bool:
    return (
        isinstance(items, np.ndarray)
        and items.dtype.kind == "f"
        and items.ndim == 2
        and items.shape[1] == K
    )
