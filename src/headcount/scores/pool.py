"""Pool of items for many quantifiers, scored once by each distinct classifier."""

from __future__ import annotations

from collections.abc import Callable
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from headcount.data import count_rows

__all__ = ["ScoredPool"]


class ScoredPool:
    """Items with the scores that each classifier gave them.

    Quantifiers take one wherever they take items. Classifiers that were fitted apart but
    came out the same (the same kind, settings and training items) count as one.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, or sequence of texts
        The items. They must not change as long as the pool is used.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> from headcount.scores import ScoredPool
    >>> X, y = make_classification(400, random_state=0)
    >>> pool = ScoredPool(X[200:])
    >>> pacc, sld = hc.PACC().fit(X[:200], y[:200]), hc.SLD().fit(X[:200], y[:200])
    >>> pacc.predict(pool).round(1), sld.predict(pool).round(1)
    (array([0.5, 0.5]), array([0.5, 0.5]))
    >>> pool.n_scorings  # by the classifiers of the folds for PACC, by the final one for SLD
    2
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self._made: dict[tuple[str, str], NDArray[Any]] = {}
        # The judges are kept so that no other object can come to have their identity.
        self._names: dict[int, tuple[Any, str]] = {}

    def __len__(self) -> int:
        return count_rows(self.X)

    @property
    def n_scorings(self) -> int:
        """Number of times that the items were scored."""
        return len(self._made)

    def posteriors(self, scorer: Any) -> NDArray[np.float64]:
        """`scorer.posteriors` of the items."""
        return self._remembered("posteriors", scorer.judge_, scorer.posteriors)

    def labels(self, scorer: Any) -> NDArray[np.int64]:
        """`scorer.labels` of the items."""
        return self._remembered("labels", scorer.judge_, scorer.labels)

    def fold_posteriors(self, scorer: Any) -> NDArray[np.float64]:
        """`scorer.fold_posteriors` of the items."""
        return self._remembered("posteriors", scorer.fold_judge_, scorer.fold_posteriors)

    def fold_labels(self, scorer: Any) -> NDArray[np.int64]:
        """`scorer.fold_labels` of the items."""
        return self._remembered("labels", scorer.fold_judge_, scorer.fold_labels)

    def _remembered(
        self, kind: str, judge: Any, make: Callable[[Any], NDArray[Any]]
    ) -> NDArray[Any]:
        key = (kind, self._name(judge))
        if key not in self._made:
            made = make(self.X)
            made.flags.writeable = False
            self._made[key] = made
        return self._made[key]

    def _name(self, judge: Any) -> str:
        """The same for judges that give the same scores."""
        if id(judge) not in self._names:
            try:
                name = joblib.hash(judge)
            except (PicklingError, TypeError, AttributeError):
                # What cannot be pickled cannot be compared; it is itself, at least.
                name = f"unlike any other: {id(judge)}"
            self._names[id(judge)] = (judge, name)
        return self._names[id(judge)][1]
