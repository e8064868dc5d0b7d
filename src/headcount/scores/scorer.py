"""Scorers fit a classifier and score items, training items out-of-fold; pools share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from pickle import PicklingError
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_random_state
from headcount.errors import HeadcountError
from headcount.items.arrays import (
    NotThereError,
    Scored,
    check_codes,
    check_features,
    check_item_shape,
    check_labels,
    check_lengths,
    check_scores,
    check_weights,
    class_shares,
    column_names,
    count_rows,
    made_by_fit,
    take_rows,
)
from headcount.scores.folds import (
    Crossed,
    CrossFits,
    DecisionScaling,
    allows_nan,
    calling,
    check_classifier,
    check_cv,
    fit_decisions,
    held_out_split,
    last_step,
    make_folds,
    output_of,
    predict_codes,
    score,
)
from headcount.scores.logistic import stacked_posteriors


class ItemScorer(BaseEstimator):
    """Base of estimators that score items: once fitted, they have these attributes."""

    classes_: Array
    codes_: Ints
    weights_: Floats | None


@dataclass(eq=False, repr=False)
class Scorer(ItemScorer):
    """Fits a classifier and scores items with it, the training items out-of-fold.

    Rates and score distributions of the classes are only right if they come from items the
    classifier was not trained on. So training items are scored by cross-fitting: each fold
    by a classifier trained on the others. New items are scored by the classifier trained on
    everything, or by the classifiers of the folds.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression (``max_iter=1000``) by default. It is cloned, never changed. One
        wrapped in scikit-learn's ``FrozenEstimator`` is used as it is, and ``fit`` then
        takes a held-out set, whose scores need no folds.

        scikit-learn's logistic regression with an L2 penalty is fitted to convergence, on
        everything and on the folds, in less time than by separate fits. Where that fails, and
        for other parameters and classifiers, the classifier's own ``fit`` is used.

        If it has no ``predict_proba``, posteriors are learnt from its out-of-fold
        ``decision_function``: by Platt's sigmoid for two classes, and for more by one
        multinomial logistic model with a slope for the decision value and a bias for each
        class. If it has neither, there are labels but no posteriors.

        One that refuses the labels is trained on their positions in ``classes_``, as XGBoost
        demands.
    cv : int, splitter, list of pairs of row numbers, float, or pair, default=5
        Folds of the cross-fitting. A number means stratified, shuffled folds; a class with
        fewer items reduces it, with a warning, and a class with one item leaves nothing but
        in-sample scores, with a warning. A splitter, or a list of training and test folds,
        must test every row exactly once and have all classes in every training fold.

        A float is the share of each class that is held out, a pair of row numbers the
        rows to train on and to hold out, and a splitter of one split, such as
        ``ShuffleSplit(1)``, makes such a pair: the classifier is trained once, on the others,
        and all the rest is learnt from its scores of the items held out.
    fold_scoring : bool, default=True
        Let quantifiers that learn from out-of-fold scores have new items scored by the
        classifiers of the folds, as the training items were. False scores them by the
        classifier trained on everything, as published results do.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds. None is a fixed seed, so every fit gives the same answer.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, sorted; the order of all columns.
    codes_ : ndarray of shape (n,)
        The training labels as positions in ``classes_``.
    weights_ : ndarray of shape (n,) or None
        The sample weights.
    prior_ : ndarray of shape (K,)
        The (weighted) shares of the classes in the training set.
    classifier_ : classifier
        The one that scores new items, trained on everything unless frozen.
    posteriors_ : ndarray of shape (n, K)
        Out-of-fold posteriors of the training items.
    labels_ : ndarray of shape (n,)
        Out-of-fold predictions of the training items, by the classifiers' own ``predict``,
        as positions in ``classes_``.
    judge_, fold_judge_ : tuple
        Everything that scores of new items depend on, by the classifier and by the folds.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount.scores import Scorer
    >>> X, y = make_classification(random_state=0)
    >>> scorer = Scorer(LogisticRegression(), random_state=0).fit(X, y)
    >>> scorer.posteriors_.shape, scorer.prior_
    ((100, 2), array([0.5, 0.5]))
    >>> scorer.labels(X[:3])
    array([0, 0, 1])
    """

    classifier: Any = None
    _: KW_ONLY
    cv: Any = 5
    fold_scoring: bool = True
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        out_of_fold: bool = True,
        posteriors: bool = True,
    ) -> Self:
        """Fit the classifier and score the training items.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, or sequence of texts
            The items. Missing numbers are allowed if the classifier takes them.
        y : array-like of shape (n,)
            Their labels, of any kind.
        sample_weight : array-like of shape (n,), optional
            Weights, handed to the classifier and used in ``prior_``.
        groups : array-like of shape (n,), optional
            Groups of the items, handed to a splitter. With a number of folds, no group is
            divided.
        out_of_fold : bool, default=True
            Whether to score the training items. False saves the cross-fitting where
            ``posteriors_`` and ``labels_`` are not needed. Posteriors learnt from decision
            values take cross-fitting all the same.
        posteriors : bool, default=True
            True if posteriors will be needed. With ``out_of_fold=False`` as well, False
            saves the cross-fitting that learning them from decision values takes.
        """
        # On a copy first: a fit that fails leaves this scorer, and those who use it, alone.
        fitted = copy(self)
        fitted._fit(X, y, sample_weight, groups, out_of_fold, posteriors)
        self.__dict__.update(fitted.__dict__)
        return self

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        out_of_fold: bool,
        posteriors: bool,
    ) -> None:
        classifier = check_classifier(self.classifier)
        if out_of_fold or self.cv is not None:
            check_cv(self.cv, held_out=True)
        check_random_state(self.random_state)
        X = check_features(X, allow_nan=allows_nan(classifier), any_shape=True)
        self._shape, self._names = tuple(X.shape[1:]), column_names(X)
        self.classes_, self.codes_ = check_labels(y)
        check_lengths("X", count_rows(X), self.codes_)
        self._groups = None if groups is None else np.asarray(groups)
        if self._groups is not None:
            check_lengths("groups", len(self._groups), self.codes_)
        weights = check_weights(sample_weight, len(self.codes_), name="sample_weight")
        self.weights_ = None if sample_weight is None else weights
        self.prior_ = class_shares(self.codes_, weights, self.classes_)
        split = held_out_split(
            self.cv, X, self.codes_, self.classes_, self.random_state, self._groups
        )
        fits = self._cross_fits(classifier, X)
        if split is not None:
            X, weights, fits = self._divided(classifier, X, weights, *split)
        self.classifier_ = fits.whole(with_folds=out_of_fold and split is None)
        self._targets = fits.targets
        self._scaling: DecisionScaling | None = None
        self._posteriors: Floats | None = None
        self._labels: Ints | None = None
        self._fold_models: list[Any] | None = None
        if out_of_fold or (posteriors and output_of(self.classifier_) == "decisions"):
            crossed = fits.crossed() if split is None else [(self.classifier_, slice(None))]
            self._score_training_items(crossed, X, weights)
        self._set_judges()

    def _divided(
        self,
        classifier: Any,
        X: Any,
        weights: Floats,
        train: NDArray[np.intp],
        held_out: NDArray[np.intp],
    ) -> tuple[Any, Floats, CrossFits]:
        """Items that are held out, which alone are learnt from, and a fit on the others."""
        codes, with_weights = self.codes_, self.weights_ is not None
        fits = CrossFits(
            classifier,
            take_rows(X, train),
            self.classes_,
            codes[train],
            weights[train] if with_weights else None,
            lambda: None,
        )
        self.codes_, weights = codes[held_out], weights[held_out]
        self.weights_ = weights if with_weights else None
        self.prior_ = class_shares(self.codes_, weights, self.classes_)
        return take_rows(X, held_out), weights, fits

    def _cross_fits(self, classifier: Any, X: Any) -> CrossFits:
        """Classifiers of all items and of the folds, to be fitted."""
        return CrossFits(
            classifier,
            X,
            self.classes_,
            self.codes_,
            self.weights_,
            lambda: make_folds(
                self.cv, X, self.codes_, self.classes_, self.random_state, self._groups
            ),
        )

    def _score(self, model: Any, X: Any) -> Floats:
        """Posteriors or decision values of items by one model."""
        return score(model, X, self._targets)

    def _predict(self, model: Any, X: Any) -> Ints:
        """Predicted classes of items by one model."""
        return predict_codes(model, X, self._targets)

    def _last_step(self, model: Any, X: Any) -> tuple[Any, Any]:
        """Classifier of a pipeline, and items as its other steps transform them."""
        return last_step(model, X)

    def _held_out(self, X: Any, rows: NDArray[np.intp] | slice) -> Any:
        """Training items that a model scores."""
        return X if isinstance(rows, slice) else take_rows(X, rows)

    def _set_judges(self) -> None:
        self.judge_ = (self.classifier_, self._scaling, self.classes_)
        self.fold_judge_ = (self._fold_models, self._scaling, self.classes_)

    def stripped(self) -> Scorer:
        """Copy without what `checked` computes, to be written to a file."""
        check_is_fitted(self, "classifier_")
        stripped = copy(self)
        del stripped.prior_, stripped.judge_, stripped.fold_judge_
        stripped._groups = None
        return stripped

    def checked(self) -> Scorer:
        """Copy of a scorer that was read from a file, with a checked and complete state.

        The classifiers themselves are not checked.
        """
        scorer = copy(self)
        scorer.classes_, codes = check_labels(self.classes_)
        n_classes = len(codes)
        if not np.array_equal(scorer.classes_, self.classes_):
            raise HeadcountError("classes_ of the scorer are not sorted.")
        targets = (scorer.classes_, np.arange(n_classes))
        if not any(np.array_equal(self._targets, target) for target in targets):
            raise HeadcountError("The labels of the classifiers are not those of the scorer.")
        scorer.codes_ = check_codes(self.codes_, n_classes)
        n = len(scorer.codes_)
        weights = check_weights(self.weights_, n)
        scorer.prior_ = class_shares(scorer.codes_, weights, scorer.classes_)
        scorer.weights_ = None if self.weights_ is None else weights
        if self._labels is not None:
            scorer._labels = check_codes(self._labels, n_classes)
            check_lengths("labels_", len(scorer._labels), scorer.codes_)
        if self._posteriors is not None:
            # Of a classifier that predicts labels only, they are not used.
            has_scores = output_of(self.classifier_) != "labels"
            scorer._posteriors = (
                check_scores(self._posteriors, n_classes) if has_scores else None
            )
            if scorer._posteriors is not None:
                check_lengths("posteriors_", len(scorer._posteriors), scorer.codes_)
        if self._scaling is not None:
            scorer._scaling = self._scaling.checked(n_classes)
        if not np.array_equal(self._targets, scorer.classes_):
            scorer._targets = np.arange(n_classes)
        scorer._set_judges()
        return scorer

    def posteriors(self, X: Any) -> Floats:
        """Score items.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, or sequence of texts
            The items.

        Returns
        -------
        ndarray of shape (n, K)
            Posteriors, columns in the order of ``classes_``, rows summing to 1.
        """
        check_is_fitted(self, "classifier_")
        self._require_scores()
        scores = self._score(self.classifier_, self.check_items(X))
        return scores if self._scaling is None else self._scaling.posteriors(scores)

    @documented(posteriors)
    def score(self, X: Any, *, predictions: bool = False) -> Scored:
        """Score items in every way that quantifiers may need.

        Parameters
        ----------
        predictions : bool, default=False
            Call the classifiers' own ``predict`` too, for methods that count predicted
            classes. Without them, the class with the highest posterior counts as predicted.

        Returns
        -------
        Scored
            Posteriors by the classifier and, in ``folds``, by the classifier of every fold.
        """
        score_tables = [self.posteriors(X), *(self.fold_posteriors(X) if self.n_folds_ else ())]
        codes: list[Any] = [None] * len(score_tables)
        if predictions:
            codes = [self.labels(X), *(self.fold_labels(X) if self.n_folds_ else ())]
        by_all, *folds = (
            Scored(table, self.classes_, None if code is None else self.classes_[code])
            for table, code in zip(score_tables, codes, strict=True)
        )
        return replace(by_all, folds=tuple(folds))

    @documented(posteriors)
    def fold_posteriors(self, X: Any) -> Floats:
        """Score items by the classifier of every fold.

        The training items were scored by these classifiers, not by the one that was trained
        on everything: what is learnt from ``posteriors_`` suits these scores.

        Returns
        -------
        ndarray of shape (F, n, K)
            Posteriors by the classifier of each of the ``n_folds_`` folds.
        """
        check_is_fitted(self, "classifier_")
        self._require_scores()
        models = made_by_fit(self._fold_models, "fold_posteriors")
        X = self.check_items(X)
        with calling("predict_proba of the classifiers of the folds"):
            stacked = stacked_posteriors(models, X, self._targets)
        if stacked is not None:
            return stacked
        scores = [self._score(model, X) for model in models]
        if self._scaling is not None:
            scores = [self._scaling.posteriors(decisions) for decisions in scores]
        return np.stack(scores)

    @documented(posteriors)
    def fold_labels(self, X: Any) -> Ints:
        """Predict the classes of items by the classifier of every fold.

        Returns
        -------
        ndarray of shape (F, n)
            Positions in ``classes_``.
        """
        check_is_fitted(self, "classifier_")
        models = made_by_fit(self._fold_models, "fold_labels")
        X = self.check_items(X)
        return np.stack([self._predict(model, X) for model in models])

    @property
    def has_posteriors_(self) -> bool:
        """True if there are out-of-fold posteriors of the training items."""
        return self.n_folds_ > 0 and output_of(self.classifier_) != "labels"

    @property
    def fold_classifiers_(self) -> list[Any]:
        """Classifiers of the folds, which scored the training items."""
        check_is_fitted(self, "classifier_")
        return made_by_fit(self._fold_models, "fold_classifiers_")

    @property
    def n_folds_(self) -> int:
        """Number of classifiers that scored the training items; 0 if none did."""
        check_is_fitted(self, "classifier_")
        return 0 if self._fold_models is None else len(self._fold_models)

    @documented(posteriors)
    def labels(self, X: Any) -> Ints:
        """Predict the classes of items by the classifier's own ``predict``.

        Returns
        -------
        ndarray of shape (n,)
            Positions in ``classes_``.
        """
        check_is_fitted(self, "classifier_")
        return self._predict(self.classifier_, self.check_items(X))

    @property
    def posteriors_(self) -> Floats:
        """Out-of-fold posteriors of the training items."""
        check_is_fitted(self, "classifier_")
        self._require_scores()
        return made_by_fit(self._posteriors, "posteriors_")

    @property
    def labels_(self) -> Ints:
        """Out-of-fold predictions of the training items, as positions in ``classes_``."""
        check_is_fitted(self, "classifier_")
        return made_by_fit(self._labels, "labels_")

    @documented(posteriors)
    def check_items(self, X: Any) -> Any:
        """Items to score, if they have the columns of the training items.

        Returns
        -------
        array, sparse matrix or frame
        """
        X = check_features(X, allow_nan=allows_nan(self.classifier_), any_shape=True)
        check_item_shape(tuple(X.shape[1:]), self._shape, self.classifier_)
        return X

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the items that the scorer was fitted on, if they have any."""
        check_is_fitted(self, "classifier_")
        if len(self._shape) != 1:
            raise NotThereError("n_features_in_ is for tables of items, not texts or images.")
        return self._shape[0]

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns of the frame that the scorer was fitted on."""
        check_is_fitted(self, "classifier_")
        if self._names is None:
            raise NotThereError("feature_names_in_ is for frames with named columns.")
        return self._names

    def _score_training_items(
        self, crossed: Iterable[Crossed], X: Any, weights: Floats
    ) -> None:
        output = output_of(self.classifier_)
        labels = np.empty(len(self.codes_), dtype=np.int64)
        scores = np.empty((len(labels), len(self.classes_)))
        models = []
        for model, rows in crossed:
            models.append(model)
            classifier, items = self._last_step(model, self._held_out(X, rows))
            labels[rows] = self._predict(classifier, items)
            if output != "labels":
                scores[rows] = self._score(classifier, items)
        if output == "decisions":
            self._scaling = fit_decisions(scores, self.codes_, weights)
            scores = self._scaling.posteriors(scores)
        self._posteriors, self._labels, self._fold_models = scores, labels, models

    def _require_scores(self) -> None:
        output = output_of(self.classifier_)
        if output == "decisions" and self._scaling is None:
            raise NotThereError(
                "posteriors were not learnt from the decision values, as fit was called with "
                "posteriors=False: fit again with posteriors=True."
            )
        if output == "labels":
            raise NotThereError(
                f"{type(self.classifier_).__name__} has neither predict_proba nor "
                "decision_function, so there are no posteriors: choose another classifier, "
                "or a method that needs labels only."
            )


def equal_scorers(
    scorers: Sequence[Any], kinds: Sequence[Any] | None = None
) -> list[list[int]]:
    """Group scorers with the same classifier, folds and seed.

    >>> from headcount.scores import Scorer, equal_scorers
    >>> equal_scorers([Scorer(cv=3), None, Scorer(cv=3), Scorer(cv=4)])
    [[0, 2], [1], [3]]
    """
    groups: dict[Any, list[int]] = {}
    for i, scorer in enumerate(scorers):
        try:
            key = None if scorer is None else joblib.hash(scorer)
        except (PicklingError, TypeError, AttributeError, ValueError):
            key = None
        group_key = i if key is None else (key, None if kinds is None else kinds[i])
        groups.setdefault(group_key, []).append(i)
    return list(groups.values())


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
        self._made: dict[tuple[str, str], Array] = {}
        # The judges are kept so that no other object can come to have their identity.
        self._names: dict[int, tuple[Any, str]] = {}

    def __len__(self) -> int:
        return count_rows(self.X)

    @property
    def n_scorings(self) -> int:
        """Number of times that the items were scored."""
        return len(self._made)

    def posteriors(self, scorer: Any) -> Floats:
        """`scorer.posteriors` of the items."""
        return self._remembered("posteriors", scorer.judge_, scorer.posteriors)

    def labels(self, scorer: Any) -> Ints:
        """`scorer.labels` of the items."""
        return self._remembered("labels", scorer.judge_, scorer.labels)

    def fold_posteriors(self, scorer: Any) -> Floats:
        """`scorer.fold_posteriors` of the items."""
        return self._remembered("posteriors", scorer.fold_judge_, scorer.fold_posteriors)

    def fold_labels(self, scorer: Any) -> Ints:
        """`scorer.fold_labels` of the items."""
        return self._remembered("labels", scorer.fold_judge_, scorer.fold_labels)

    def _remembered(self, kind: str, judge: Any, make: Callable[[Any], Array]) -> Array:
        key = (kind, self._name(judge))
        if key not in self._made:
            scores = make(self.X)
            scores.flags.writeable = False
            self._made[key] = scores
        return self._made[key]

    def _name(self, judge: Any) -> str:
        """The same for judges that give the same scores."""
        if id(judge) not in self._names:
            try:
                name = joblib.hash(judge)
            except (PicklingError, TypeError, AttributeError, ValueError):
                # What cannot be pickled or hashed, such as the masked arrays of a search of
                # scikit-learn, cannot be compared; it is itself, at least.
                name = f"unlike any other: {id(judge)}"
            self._names[id(judge)] = (judge, name)
        return self._names[id(judge)][1]
