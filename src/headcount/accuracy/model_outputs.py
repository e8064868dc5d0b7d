"""Outputs of a classifier, and labelled items that its accuracy is learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from headcount.data import check_features, count_rows, take_rows
from headcount.errors import HeadcountError, warn
from headcount.sampling import Samples, as_samples
from headcount.scores import Scored, ScoredPool, Verdicts
from headcount.scores.outputs import allows_nan, predict_codes, score

__all__ = ["FittedClassifier", "ModelOutputs", "Reference", "among", "check_classified"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """Posteriors and predicted classes of items.

    Attributes
    ----------
    scores : ndarray of shape (n, K) or None
        Posteriors; None if only the predicted classes are known.
    labels : ndarray of int64, shape (n,)
        Predicted classes, as positions in the list of classes.
    X : Any
        The items; None if only the outputs are known.

    Examples
    --------
    >>> import numpy as np
    >>> len(ModelOutputs(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1])))
    2
    """

    scores: Floats | None
    labels: NDArray[np.int64]
    X: Any = None

    @classmethod
    def of(cls, given: Scored | Verdicts, classes: NDArray[Any]) -> ModelOutputs:
        """Outputs of items that were classified elsewhere."""
        scores = given.posteriors_of(classes) if isinstance(given, Scored) else None
        return cls(scores, given.codes_of(classes))

    def __len__(self) -> int:
        return len(self.labels)

    def samples(self, given: Any) -> Samples:
        """Samples of these items, checked; one of all items for None."""
        return Samples.whole(len(self)) if given is None else as_samples(given, len(self))

    @property
    def posteriors(self) -> Floats:
        """Posteriors, which must be known."""
        assert self.scores is not None
        return self.scores

    @property
    def confidence(self) -> Floats:
        """Highest posterior of each item."""
        return np.asarray(self.posteriors.max(axis=1))

    @property
    def negative_entropy(self) -> Floats:
        """Sum of p log p: 0 where the classifier is certain, negative elsewhere."""
        logs = np.log(np.where(self.posteriors > 0, self.posteriors, 1.0))
        return np.asarray((self.posteriors * logs).sum(axis=1))

    def take(self, rows: NDArray[np.integer[Any]]) -> ModelOutputs:
        """Outputs of some of the items."""
        return ModelOutputs(
            None if self.scores is None else self.scores[rows],
            self.labels[rows],
            None if self.X is None else take_rows(self.X, rows),
        )


@dataclass(frozen=True, eq=False)
class Reference:
    """Labelled items that the classifier was not trained on.

    Attributes
    ----------
    outputs : ModelOutputs
        Outputs of the classifier.
    codes : ndarray of int64, shape (n,)
        True classes, as positions in ``classes``.
    classes : ndarray of shape (K,)
        The classes; some may have no items.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
    >>> outputs = ModelOutputs(P, P.argmax(axis=1))
    >>> Reference(outputs, np.array([0, 0, 1, 1]), np.arange(2)).table
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """

    outputs: ModelOutputs
    codes: NDArray[np.int64]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes, including those without items."""
        return len(self.classes)

    @property
    def cells(self) -> NDArray[np.int64]:
        """Cell of the table that each item belongs to: true class x K + predicted class."""
        return self.codes * self.n_classes + self.outputs.labels

    @cached_property
    def table(self) -> Floats:
        """Shares of the items by true and predicted class."""
        K = self.n_classes
        counts = np.bincount(self.cells, minlength=K * K)
        return np.asarray(counts / len(self)).reshape(K, K)

    @property
    def prior(self) -> Floats:
        """Shares of the classes."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def rates(self) -> Floats:
        """Shares of the predicted classes within each class; zeros for one without items."""
        prior = self.prior[:, None]
        return np.divide(self.table, prior, out=np.zeros_like(self.table), where=prior > 0)

    @cached_property
    def present(self) -> NDArray[np.int64]:
        """Classes with at least one item."""
        return np.flatnonzero(np.bincount(self.codes, minlength=self.n_classes))

    def take(self, rows: NDArray[np.integer[Any]]) -> Reference:
        """Some of the items."""
        return Reference(self.outputs.take(rows), self.codes[rows], self.classes)

    def tables(self, samples: Any) -> Floats:
        """Table of each sample of the items, (S, K, K)."""
        K = self.n_classes
        found: Floats = samples.prevalence_of(self.cells, K * K)
        return found.reshape(-1, K, K)

    def warn_of_absent_classes(self) -> None:
        """Warn if a class has no items."""
        absent = np.setdiff1d(np.arange(self.n_classes), self.present)
        if len(absent):
            warn(
                f"The labelled items have none of class {self.classes.tolist()[absent[0]]!r}: "
                "its share is taken to be 0 in every sample; add items of it."
            )


class FittedClassifier:
    """Fitted classifier, which is used and never changed.

    Parameters
    ----------
    classifier : scikit-learn classifier
        Fitted, with ``predict_proba`` and ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(random_state=0)
    >>> classifier = FittedClassifier(LogisticRegression().fit(X, y))
    >>> classifier.outputs(X[:3]).labels
    array([0, 0, 1])
    """

    def __init__(self, classifier: Any) -> None:
        _check_classifier(classifier)
        self.classifier = classifier
        self.classes = np.asarray(classifier.classes_)
        # Equal to that of a scorer with this classifier: a pool then scores once for both.
        self.judge_ = (classifier, None, self.classes)

    def posteriors(self, X: Any) -> Floats:
        """Posteriors of the items, one column per class."""
        return score(self.classifier, X, self.classes)

    def labels(self, X: Any) -> NDArray[np.int64]:
        """Classes that ``predict`` of the classifier returns, as codes."""
        return predict_codes(self.classifier, X, self.classes)

    def outputs(self, X: Any) -> ModelOutputs:
        """Outputs for items; those of a `ScoredPool` are computed once."""
        pool = X if isinstance(X, ScoredPool) else None
        items = check_features(
            X if pool is None else pool.X, allow_nan=allows_nan(self.classifier)
        )
        self._check_width(items)
        if pool is not None:
            return ModelOutputs(pool.posteriors(self), pool.labels(self), items)
        return ModelOutputs(self.posteriors(items), self.labels(items), items)

    def _check_width(self, X: Any) -> None:
        wanted = getattr(self.classifier, "n_features_in_", None)
        width = X.shape[1] if len(X.shape) == 2 else None
        if wanted is not None and width is not None and width != wanted:
            raise HeadcountError(
                f"X has {width} columns, but the classifier was trained on {wanted}: pass the "
                f"same columns in the same order ({count_rows(X):,} rows were given)."
            )


def among(posteriors: Floats, present: NDArray[np.int64]) -> Floats:
    """Posteriors given that the class is one of these; uniform where none is possible."""
    if len(present) == posteriors.shape[1]:
        return posteriors
    kept = posteriors[:, present]
    total = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, total, out=np.full_like(kept, 1 / len(present)), where=total > 0)


def _check_classifier(classifier: Any) -> None:
    name = type(classifier).__name__
    if classifier is None:
        raise HeadcountError(
            "classifier is None, so X cannot be classified: pass the fitted classifier whose "
            "accuracy is to be predicted, or its outputs as hc.Scored(posteriors)."
        )
    if isinstance(classifier, type) or not hasattr(classifier, "predict"):
        raise HeadcountError(
            f"classifier is {classifier!r}; it must be a fitted scikit-learn classifier: pass "
            "the one whose accuracy is to be predicted."
        )
    try:
        check_is_fitted(classifier)
        fitted = hasattr(classifier, "classes_")
    except (NotFittedError, TypeError):
        fitted = False
    if not fitted:
        raise HeadcountError(
            f"classifier is a {name} that was never fitted: pass the trained classifier whose "
            "accuracy is to be predicted, as it is used and not trained here."
        )
    if not hasattr(classifier, "predict_proba"):
        raise HeadcountError(
            f"classifier is a {name}, which has no predict_proba, and accuracy is predicted "
            "from posteriors: wrap it in scikit-learn's CalibratedClassifierCV, or pass its "
            "predicted labels as hc.Verdicts(labels) to a method that works on them, such as "
            "LEAP(quantifier=hc.ACC())."
        )


def check_classified(method: str, learns_from: str, takes: str, X: Scored | Verdicts) -> None:
    """Refuse items that were classified elsewhere in a form that a method cannot use."""
    if learns_from == "features":
        raise HeadcountError(
            f"{method} trains classifiers on the items, and {type(X).__name__} holds only "
            "the outputs of the classifier: pass the items themselves, or use LEAP."
        )
    if isinstance(X, Verdicts) and takes == "posteriors":
        raise HeadcountError(
            f"{method} needs posteriors, and Verdicts are decisions alone: pass "
            "hc.Scored(posteriors), or use a method that takes decisions: Naive, or LEAP, "
            "OLEAP or SLEAP with quantifier=hc.ACC()."
        )
