"""Classifier that adapts its posteriors to the shares of the classes in new items."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from headcount._support.arrays import Array, Floats, divided_by_sums
from headcount._support.documentation import documented
from headcount.errors import HeadcountError
from headcount.items.arrays import check_scores
from headcount.quantifiers.base import Quantifier, ScoringPlan, ShareEstimator, with_input_of
from headcount.quantifiers.likelihood import SLD
from headcount.scores.scorer import Scorer

_LOOSELY = {"accept_sparse": True, "dtype": None, "ensure_all_finite": False}


@dataclass(eq=False, repr=False)
class AdaptedClassifier(ClassifierMixin, BaseEstimator):
    """Classifier with posteriors corrected for the class shares of new, unlabelled items.

    A quantifier estimates the shares of the classes among new items, and each posterior
    is multiplied by the ratio of the estimated share to the training share of its class. If
    only the shares have changed, these are the posteriors of a classifier trained under the
    new shares. The classifier is trained once and also used by the quantifier.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default. Its posteriors should be calibrated. One in a
        ``FrozenEstimator`` is used as it is, and ``fit`` then takes a held-out set with the
        same shares as the one it was trained on.
    quantifier : Quantifier, default=None
        Quantifier that estimates the shares, `SLD` by default. It is fitted on the scores of
        the classifier above instead of its own; one that works on features is fitted on those.
    cv : int, splitter or list of folds, default=5
        Folds for scoring the training items, if the quantifier learns from their scores.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of the columns of posteriors.
    prior_ : ndarray of shape (K,)
        Their shares in training.
    adapted_prior_ : ndarray of shape (K,)
        The shares that predictions are adapted to; those in training before `adapt`.
    quantifier_ : Quantifier
        The fitted quantifier.
    scorer_ : Scorer
        Scores items with the fitted classifier, ``scorer_.classifier_``.
    n_features_in_ : int
        Number of columns of ``X``, if it has any.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, if ``X`` had any.

    Notes
    -----
    Labels are those of the largest adapted posterior. A class whose estimated share is 0
    is never predicted; an item that only such classes are possible for gets the estimated
    shares as its posteriors.

    Examples
    --------
    >>> import headcount as hc
    >>> from headcount.quantifiers import AdaptedClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(4000, class_sep=0.7, random_state=0)
    >>> new = hc.Prevalences([[0.9, 0.1]], size=1000, random_state=0).draw(y[2000:])[0] + 2000
    >>> classifier = AdaptedClassifier().fit(X[:2000], y[:2000])
    >>> before = classifier.score(X[new], y[new])
    >>> classifier.adapt(X[new]).adapted_prior_.round(1)
    array([0.9, 0.1])
    >>> bool(classifier.score(X[new], y[new]) > before + 0.04)
    True
    """

    classifier: Any = None
    quantifier: Any = None
    _: KW_ONLY
    cv: Any = 5
    random_state: Any = None

    @documented(ShareEstimator.fit)
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            Items, as the classifier takes them.

        Returns
        -------
        AdaptedClassifier
            This one, adapted to the shares of these items.
        """
        y = self._checked_labels(X, y)
        quantifier = self._unfitted_quantifier()
        scorer = Scorer(self.classifier, cv=self.cv, random_state=self.random_state)
        scoring = ScoringPlan(quantifier)
        shares_scores = scoring.takes_scores
        needed = shares_scores and scoring.learns
        scorer.fit(X, y, sample_weight, groups=groups, out_of_fold=needed)
        if shares_scores:
            quantifier.fit_scorer(scorer)
        else:
            quantifier.fit(X, y, sample_weight, groups)
        self.scorer_, self.quantifier_ = scorer, quantifier
        self.classes_, self.prior_ = scorer.classes_, scorer.prior_
        self.adapted_prior_ = self.prior_
        return self

    def adapt(self, X: Any = None, *, prior: ArrayLike | None = None) -> Self:
        """Adapt predictions to the shares in new items, or to known shares.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            Unlabelled items whose shares are estimated.
        prior : array-like of shape (K,), default=None
            The shares themselves, in the order of ``classes_``, in place of ``X``.

        Returns
        -------
        AdaptedClassifier
            This one; ``adapted_prior_`` are the shares it is adapted to.
        """
        check_is_fitted(self, "scorer_")
        if (X is None) == (prior is None):
            raise HeadcountError(
                "adapt takes either X, items whose shares are estimated, or prior, the shares "
                "themselves: pass one of them."
            )
        if prior is None:
            self._check_new(X)
            self.adapted_prior_ = self.quantifier_.predict(X)
        else:
            row = np.asarray(prior)[None]
            self.adapted_prior_ = check_scores(row, len(self.classes_), name="prior")[0]
        return self

    @documented(fit)
    def predict_proba(self, X: Any) -> Floats:
        """Posteriors under the adapted shares.

        Returns
        -------
        ndarray of shape (n, K)
            Posteriors, columns in the order of ``classes_``, rows summing to 1.
        """
        check_is_fitted(self, "scorer_")
        self._check_new(X)
        posteriors = self.scorer_.posteriors(X)
        return _corrected(posteriors, self.prior_, self.adapted_prior_)

    @documented(fit)
    def predict(self, X: Any) -> Array:
        """Labels of the largest adapted posteriors; the first class on a tie.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def __sklearn_tags__(self) -> Any:
        return with_input_of(self.classifier, super().__sklearn_tags__())

    def _unfitted_quantifier(self) -> Quantifier:
        if self.quantifier is None:
            return SLD(self.classifier, calibration=None)
        if not isinstance(self.quantifier, Quantifier):
            raise HeadcountError(
                f"quantifier is {self.quantifier!r}; it must be a quantifier: pass for "
                "instance SLD()."
            )
        return clone(self.quantifier)

    # Tables and labels are checked as in scikit-learn's own classifiers. The scorer then checks
    # values, frames and texts.

    def _checked_labels(self, X: Any, y: Any) -> Any:
        if _is_table(X):
            return validate_data(self, X, y, ensure_min_samples=2, **_LOOSELY)[1]
        return validate_data(self, X, y, skip_check_array=True)[1]

    def _check_new(self, X: Any) -> None:
        how = _LOOSELY if _is_table(X) else {"skip_check_array": True}
        validate_data(self, X, reset=False, **how)


def _is_table(X: Any) -> bool:
    """True for a matrix or lists of numbers; False for a frame or texts."""
    if hasattr(X, "columns"):
        return False
    first = next(iter(X), None) if hasattr(X, "__len__") and not issparse(X) else None
    return not isinstance(first, str)


def _corrected(posteriors: Floats, prior: Floats, new_prior: Floats) -> Floats:
    """Posteriors for another prior than that of the training items."""
    if np.array_equal(prior, new_prior):
        return posteriors
    return divided_by_sums(posteriors * (new_prior / prior), new_prior)
