"""Items of a quantifier: features, posteriors or predicted classes, made here or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.data import check_features
from headcount.errors import HeadcountError
from headcount.quantify.info import Input, MethodInfo
from headcount.scores import Scored, ScoredPool, Verdicts

__all__ = ["ItemsMixin"]


class ItemsMixin:
    """Items of a pool in the form that the model of a fitted quantifier takes."""

    info: ClassVar[MethodInfo]
    classes_: NDArray[Any]
    scorer_: Any
    _by_folds: bool

    def _why_no_scores(self) -> str:
        """Reason why the quantifier takes no scores, for messages; empty if it takes them."""
        if self.takes == "features":
            return "works on the features, not on a classifier's scores"
        return self.info.no_scores

    @property
    def takes(self) -> Input:
        """Kind of items that the method works on: see ``info.input``."""
        return self.info.input

    @property
    def takes_scores(self) -> bool:
        """True if `fit` accepts `Scored`; a method on features does not."""
        return not self._why_no_scores()

    def items_of(self, X: Any, *, by_folds: bool | None = None) -> Any:
        """Items of a pool in the form the model takes.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.
        by_folds : bool, default=None
            True scores the pool by the classifier of every fold: the result then has the
            pool once per fold, one copy after the other. None does what `predict` does.

        Returns
        -------
        ndarray, or whatever the model takes
        """
        by_folds = self._by_folds if by_folds is None else by_folds
        if not isinstance(X, Scored | Verdicts):
            return self._items(X, by_folds=by_folds)
        self._check_classified(X)
        if isinstance(self.scorer_, tuple):
            raise HeadcountError(
                f"{type(self).__name__} was fitted with several classifiers, and X holds what "
                "one of them returned: pass the items themselves."
            )
        folds = X.folds if by_folds and isinstance(X, Scored) else ()
        given: Sequence[Any] = folds or [X]
        parts = [self._classified(part, self.classes_) for part in given]
        items = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._arranged(items, len(self.classes_))

    def _items(self, X: Any, *, by_folds: bool = False) -> Any:
        """`items_of` for a pool that the quantifier itself scores."""
        pool = X if isinstance(X, ScoredPool) else None
        if self.takes == "features":
            return check_features(X if pool is None else pool.X)
        if self.scorer_ is None:
            raise HeadcountError(
                f"{type(self).__name__} was fitted on scores or decisions and has no "
                "classifier for X: classify the items and pass hc.Scored(posteriors) or "
                "hc.Verdicts(labels)."
            )
        scored_by = self.scorer_ if pool is None else pool
        given = X if pool is None else self.scorer_
        if self.takes == "labels":
            scored = scored_by.fold_labels(given) if by_folds else scored_by.labels(given)
        elif by_folds:
            scored = scored_by.fold_posteriors(given)
        else:
            scored = scored_by.posteriors(given)
        if by_folds:
            scored = scored.reshape(-1, *scored.shape[2:])
        return self._arranged(scored, len(self.classes_))

    def _prepared(self, X: Any) -> Any:
        """Items as the classifier takes them; a hook for searches over pipelines."""
        return X

    def _check_takes_scores(self) -> None:
        reason = self._why_no_scores()
        if reason:
            raise HeadcountError(
                f"{type(self).__name__} {reason}: pass the items themselves to fit and predict."
            )

    def _check_classified(self, X: Scored | Verdicts) -> None:
        self._check_takes_scores()
        if isinstance(X, Verdicts) and self.takes == "posteriors":
            raise HeadcountError(
                f"{type(self).__name__} needs posteriors, and Verdicts are decisions alone: "
                "pass hc.Scored(posteriors), or use a method that takes decisions, such as "
                "CC, ACC or GAC."
            )

    def _classified(self, X: Scored | Verdicts, classes: NDArray[Any]) -> NDArray[Any]:
        if isinstance(X, Verdicts) or self.takes == "labels":
            return X.codes_of(classes)
        return X.posteriors_of(classes)

    def _arranged(self, items: Any, K: int) -> Any:
        """The scored items as the aggregation wants them; a hook for wrappers."""
        return items
