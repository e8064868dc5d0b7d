"""What the model says of items, and the labelled items that its accuracy is learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from headcount.data import check_features, count_rows
from headcount.errors import HeadcountError
from headcount.scores import ScoredPool
from headcount.scores.outputs import predict_codes, score
from headcount.scores.traits import allows_nan

__all__ = ["Judge", "Judged", "Reference"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Judged:
    """Items as the model sees them.

    Attributes
    ----------
    posteriors : ndarray of shape (n, K)
        The model's posteriors.
    labels : ndarray of int64, shape (n,)
        The classes it predicts, as positions in the list of classes.
    X : Any
        The items themselves; None if only their scores are known.

    Examples
    --------
    >>> import numpy as np
    >>> len(Judged(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1])))
    2
    """

    posteriors: Floats
    labels: NDArray[np.int64]
    X: Any = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def confidence(self) -> Floats:
        """The greatest posterior of each item."""
        return np.asarray(self.posteriors.max(axis=1))

    @property
    def negative_entropy(self) -> Floats:
        """Sum of p log p: 0 where the model is certain, less where it is not."""
        logs = np.log(np.where(self.posteriors > 0, self.posteriors, 1.0))
        return np.asarray((self.posteriors * logs).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Reference:
    """Labelled items that the model was not trained on (V).

    Attributes
    ----------
    judged : Judged
        The items.
    codes : ndarray of int64, shape (n,)
        Their true classes, as positions in ``classes``.
    classes : ndarray of shape (K,)
        The classes; the items need not have all of them.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
    >>> reference = Reference(Judged(P, P.argmax(axis=1)), np.array([0, 0, 1, 1]), np.arange(2))
    >>> reference.table
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """

    judged: Judged
    codes: NDArray[np.int64]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """Number of classes, with those the items have none of."""
        return len(self.classes)

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cell of the table each item is in: true class x K + predicted class."""
        return self.codes * self.n_classes + self.judged.labels

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
        """How the items of each class are predicted; a row of zeros for a class without any."""
        prior = self.prior[:, None]
        return np.divide(self.table, prior, out=np.zeros_like(self.table), where=prior > 0)

    @cached_property
    def present(self) -> NDArray[np.int64]:
        """The classes that some item is of."""
        return np.flatnonzero(np.bincount(self.codes, minlength=self.n_classes))

    def take(self, rows: NDArray[np.integer[Any]]) -> Reference:
        """Some of the items."""
        from headcount.data import take_rows

        judged = self.judged
        X = None if judged.X is None else take_rows(judged.X, rows)
        part = Judged(judged.posteriors[rows], judged.labels[rows], X)
        return Reference(part, self.codes[rows], self.classes)


class Judge:
    """Asks a fitted classifier, which is never changed; `ScoredPool` remembers its answers.

    Parameters
    ----------
    classifier : scikit-learn classifier
        Fitted, with ``predict_proba`` and ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(random_state=0)
    >>> judge = Judge(LogisticRegression().fit(X, y))
    >>> judge.ask(X[:3]).labels
    array([0, 0, 1])
    """

    def __init__(self, classifier: Any) -> None:
        _check_classifier(classifier)
        self.classifier = classifier
        self.classes = np.asarray(classifier.classes_)
        # The same name as a scorer of this classifier has: a pool then scores for both once.
        self.judge_ = (classifier, None, self.classes)

    def posteriors(self, X: Any) -> Floats:
        """The classifier's posteriors, one column a class."""
        return score(self.classifier, X, self.classes)

    def labels(self, X: Any) -> NDArray[np.int64]:
        """The classes the classifier predicts, by its own ``predict``."""
        return predict_codes(self.classifier, X, self.classes)

    def ask(self, X: Any) -> Judged:
        """What the classifier says of items, or of those of a `ScoredPool`."""
        pool = X if isinstance(X, ScoredPool) else None
        items = check_features(X if pool is None else pool.X, allow_nan=self._allows_nan)
        self._check_width(items)
        if pool is not None:
            return Judged(pool.posteriors(self), pool.labels(self), items)
        return Judged(self.posteriors(items), self.labels(items), items)

    @property
    def _allows_nan(self) -> bool:
        return allows_nan(self.classifier)

    def _check_width(self, X: Any) -> None:
        wanted = getattr(self.classifier, "n_features_in_", None)
        width = X.shape[1] if len(X.shape) == 2 else None
        if wanted is not None and width is not None and width != wanted:
            raise HeadcountError(
                f"X has {width} columns, but the classifier was trained on {wanted}: pass the "
                f"same columns in the same order ({count_rows(X):,} rows were given)."
            )


def _check_classifier(classifier: Any) -> None:
    name = type(classifier).__name__
    if classifier is None:
        raise HeadcountError(
            "classifier is None, so X cannot be judged: pass the fitted model whose accuracy "
            "is wanted, or use fit_scores and the methods that end in _scores."
        )
    if isinstance(classifier, type) or not hasattr(classifier, "predict"):
        raise HeadcountError(
            f"classifier is {classifier!r}, but must be a fitted scikit-learn classifier: pass "
            "the model whose accuracy is wanted."
        )
    try:
        check_is_fitted(classifier)
        fitted = hasattr(classifier, "classes_")
    except (NotFittedError, TypeError):
        fitted = False
    if not fitted:
        raise HeadcountError(
            f"classifier is a {name} that was never fitted: pass the trained model whose "
            "accuracy is wanted, as it is used and never trained here."
        )
    if not hasattr(classifier, "predict_proba"):
        raise HeadcountError(
            f"classifier is a {name}, which has no predict_proba, and accuracy is predicted "
            "from posteriors: wrap it in scikit-learn's CalibratedClassifierCV, or score the "
            "items yourself and use fit_scores."
        )
