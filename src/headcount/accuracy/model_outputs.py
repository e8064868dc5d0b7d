"""Outputs of a classifier, and labelled items that its accuracy is learnt from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.execution import base_seeds
from headcount.errors import HeadcountError
from headcount.items.arrays import (
    Scored,
    Verdicts,
    as_narwhals,
    check_features,
    count_rows,
    take_rows,
)
from headcount.parts.fitted import ItemSource, ScoredItems
from headcount.parts.training import Training
from headcount.samples.samples import Samples
from headcount.scores.folds import Fold, allows_nan, predict_codes, score
from headcount.scores.scorer import ScoredPool


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """`Scored` or `Verdicts` in the order of the classes, and the items where they are known.

    ``scores`` are None if only decisions are known, and ``labels`` are positions of the
    predicted classes.

    >>> import numpy as np
    >>> len(ModelOutputs(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1])))
    2
    """

    scores: Floats | None
    labels: Ints
    X: Any = None

    @classmethod
    def of(cls, X: Scored | Verdicts, classes: Array) -> ModelOutputs:
        """Outputs of items that were classified elsewhere."""
        scores = X.posteriors_of(classes) if isinstance(X, Scored) else None
        return cls(scores, X.codes_of(classes))

    def __len__(self) -> int:
        return len(self.labels)

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
class Reference(Training):
    """Training items of a predictor: outputs of a classifier that was not trained on them.

    A class may have no items.

    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
    >>> outputs = ModelOutputs(P, P.argmax(axis=1))
    >>> Reference(outputs, np.array([0, 0, 1, 1]), 2).table
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """

    items: ModelOutputs

    @property
    def cells(self) -> Ints:
        """Cell of the table that each item belongs to: true class x K + predicted class."""
        return self.codes * self.n_classes + self.items.labels

    @cached_property
    def table(self) -> Floats:
        """Shares of the items by true and predicted class."""
        return self.tables(Samples.whole(len(self)))[0]

    @property
    def rates(self) -> Floats:
        """Shares of the predicted classes within each class; zeros for one without items."""
        prior = self.prior[:, None]
        return np.divide(self.table, prior, out=np.zeros_like(self.table), where=prior > 0)

    @cached_property
    def present(self) -> Ints:
        """Classes with at least one item."""
        return np.flatnonzero(self.class_sizes)

    @cached_property
    def posteriors(self) -> Training:
        """Posteriors of the items among the present classes, and positions in these."""
        codes = np.searchsorted(self.present, self.codes)
        return Training(among(self.items.posteriors, self.present), codes, len(self.present))

    def take(self, rows: NDArray[np.integer[Any]]) -> Reference:
        """Some of the items."""
        return Reference(self.items.take(rows), self.codes[rows], self.n_classes)

    def tables(self, samples: Samples) -> Floats:
        """Table of each sample of the items, (S, K, K)."""
        K = self.n_classes
        return samples.prevalence_of(self.cells, K * K).reshape(-1, K, K)


@dataclass(frozen=True, eq=False)
class OutputSource(ItemSource):
    """Maker of the outputs of a classifier, its ``scorer``, for the items of a pool."""

    deciding: ClassVar[str] = "Naive, or LEAP, OLEAP or SLEAP with quantifier=hc.ACC()"

    def items(self, X: Any, *, by_folds: bool = False) -> ModelOutputs:
        """Outputs for a pool."""
        if not isinstance(X, Scored | Verdicts):
            self.check_scorer()
            outputs: ModelOutputs = self.scorer.outputs(X)
            return outputs
        self.check_classified(X)
        return ModelOutputs.of(X, self.classes)


@dataclass(frozen=True, eq=False)
class OutputItems(ScoredItems):
    """Outputs of a classifier as statistics are taken of them."""

    by_folds: bool = False

    def identity(self) -> Any:
        """The classifier."""
        return self.source.identity("outputs", self.by_folds)

    def take(self, items: ModelOutputs, rows: slice) -> ModelOutputs:
        """Consecutive rows."""
        scores = None if items.scores is None else items.scores[rows]
        return ModelOutputs(scores, items.labels[rows])


class FittedClassifier:
    """Fitted classifier, which is used and never changed.

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

    def labels(self, X: Any) -> Ints:
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
        expected = getattr(self.classifier, "n_features_in_", None)
        width = X.shape[1] if len(X.shape) == 2 else None
        if expected is not None and width is not None and width != expected:
            raise HeadcountError(
                f"X has {width} columns, but the classifier was trained on {expected}: pass "
                f"the same columns in the same order ({count_rows(X):,} rows were given)."
            )


def among(posteriors: Floats, present: Ints) -> Floats:
    """Posteriors given that the class is one of these; uniform where none is possible."""
    if len(present) == posteriors.shape[1]:
        return posteriors
    among_present = posteriors[:, present]
    total = among_present.sum(axis=1, keepdims=True)
    even = np.full_like(among_present, 1 / len(present))
    return np.divide(among_present, total, out=even, where=total > 0)


def _check_classifier(classifier: Any) -> None:
    """Refuse what is not a fitted classifier with posteriors."""
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


def features_of(X: Any, model: Any = None) -> Any:
    """Items as numbers, dense or CSR; with a pipeline, the input of its last step."""
    inside = model.estimator if isinstance(model, FrozenEstimator) else model
    if isinstance(inside, Pipeline) and len(inside) > 1:
        X = inside[:-1].transform(X)
    if sparse.issparse(X):
        return X.tocsr()
    frame = as_narwhals(X, "X")
    if isinstance(frame, nw.DataFrame):
        X = frame.to_numpy()
    numbers = np.asarray(X)
    if numbers.ndim != 2 or numbers.dtype.kind not in "biuf":
        raise HeadcountError(
            "X is not a table of numbers, which the method computes with: use a pipeline as "
            "the classifier (the input of its last step is taken), or encode X."
        )
    return numbers


@dataclass(frozen=True)
class CellFolds:
    """Folds for classes of any size: items of a class are assigned to the folds in turn."""

    n_splits: int
    random_state: Any = None

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Fold]:
        """Yield the rows to train on and those to score, fold by fold."""
        labels = np.asarray(y)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        shuffled = rng.permutation(len(labels))
        by_cell = shuffled[np.argsort(labels[shuffled], kind="stable")]
        fold = np.empty(len(labels), np.int64)
        fold[by_cell] = np.arange(len(labels)) % self.n_splits
        for number in range(min(self.n_splits, len(labels))):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
