"""Base of all quantifiers: from items to shares."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from headcount.data import check_features, column_names, count_rows
from headcount.errors import HeadcountError, warn
from headcount.quantify.aggregation import Aggregation, Model
from headcount.quantify.estimation import EstimationMixin, pool_samples
from headcount.quantify.from_statistics import FromStatistics
from headcount.quantify.info import MethodInfo
from headcount.quantify.items import ItemsMixin
from headcount.quantify.statistics_parts import ScoredItems
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.scores import ItemScorer, Scored, Scorer, Verdicts
from headcount.scores.checks import check_labels, check_lengths, check_weights, class_shares
from headcount.solve import Solution

if TYPE_CHECKING:
    from headcount.uncertainty import ShareConditioning

__all__ = ["AggregativeQuantifier", "Quantifier", "is_simple"]


class Quantifier(ItemsMixin, EstimationMixin, FromStatistics, BaseEstimator):
    """Base of methods that estimate the shares of classes in samples of unlabelled items.

    A method is a subclass with an ``info`` and an ``_aggregation``. Posteriors, predicted
    labels or features are computed here, as ``info.input`` demands. A method with parameters
    of its own has an ``__init__``.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int, splitter, list of splits or None, default=5
        Folds for scoring the training items. None saves the folds of methods that do not
        learn from scores, which then have no estimates with intervals.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of the columns of every result.
    prior_ : ndarray of shape (K,)
        Shares of the classes in the training set.
    model_ : Model
        The fitted model.
    scorer_ : Scorer or None
        Scorer of the items; None if the quantifier was fitted on scores or features.
    """

    info: ClassVar[MethodInfo]
    # Likelihood of a posterior: of predicted "classes", of binned "scores", or "likelihood" of
    # the items; empty if there is none.
    posterior_kind: ClassVar[str] = ""

    def __init__(
        self, classifier: Any = None, *, cv: Any = 5, random_state: Any = None
    ) -> None:
        self.classifier = classifier
        self.cv = cv
        self.random_state = random_state

    def _aggregation(self) -> Aggregation:
        """Unfitted aggregation with checked parameters."""
        raise HeadcountError(
            f"{type(self).__name__} is not made of one classifier and what is done with its "
            "scores: it cannot be a part of another quantifier."
        )

    def _learns_from_scores(self) -> bool:
        """True if out-of-fold scores of the training items are needed."""
        return True

    def _scorer(self) -> Any:
        """Unfitted scorer; None if there is no single classifier."""
        return Scorer(self.classifier, cv=self.cv, random_state=self.random_state)

    @property
    def learns_from_scores(self) -> bool:
        """True if `fit` needs out-of-fold scores of the training items."""
        return self._learns_from_scores()

    def unfitted_scorer(self) -> Any:
        """Scorer that `fit` trains, so that quantifiers with equal ones can share it.

        Returns
        -------
        Scorer or None
            None if the items are not scored by one classifier.
        """
        return None if self.takes == "features" else self._scorer()

    @property
    def answering_(self) -> Quantifier:
        """Fitted quantifier whose model answers: this one, unless it selected another."""
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the training items, if they are a table."""
        return int(self._seen("n_features_in_"))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of the training items, if they are a frame."""
        return np.asarray(self._seen("feature_names_in_"))

    def _seen(self, name: str) -> Any:
        """Attribute of the scorer, or of the items if they were not scored."""
        check_is_fitted(self, "model_")
        scorer = self.scorer_[0] if isinstance(self.scorer_, tuple) else self.scorer_
        if scorer is not None:
            return getattr(scorer, name)
        items = None if self.training_ is None else self.training_.items
        found = None
        if self.takes == "features" and items is not None:
            found = column_names(items) if name == "feature_names_in_" else items.shape[1]
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no {name}.")
        return found

    @property
    def training_(self) -> Training | None:
        """Labelled items in the form the method learnt from them; None if it kept none."""
        return self.answering_._training

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
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            Items, as the classifier takes them, or classified elsewhere. With a classifier
            in a ``FrozenEstimator``, items it was not trained on.
        y : array-like of shape (n,)
            Labels of the items, of any kind.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items.
        groups : array-like of shape (n,), default=None
            Groups of the items, for cross-fitting: handed to the splitter ``cv``. With a
            number of folds, no group is divided.

        Returns
        -------
        Quantifier
            This quantifier, fitted. Fitted on `Scored` or `Verdicts`, it takes later items
            in the same form.
        """
        if isinstance(X, Scored | Verdicts):
            return self._fit_classified(X, y, sample_weight)
        if self.takes == "features":
            training, classes = self._labelled(X, y, sample_weight)
            return self._learn(training, classes, None)
        scorer = self._scorer()
        scorer.fit(
            X,
            y,
            sample_weight,
            groups=groups,
            out_of_fold=self._learns_from_scores() or self._cv() is not None,
            posteriors=self.takes != "labels",
        )
        return self.fit_scorer(scorer)

    def _fit_classified(self, X: Scored | Verdicts, y: ArrayLike, sample_weight: Any) -> Self:
        self._check_classified(X)
        classes, codes = check_labels(y, classes=X.classes)
        check_lengths("X", len(X), codes)
        items = self._arranged(self._classified(X, classes), len(classes))
        return self._learn(_training(items, codes, classes, sample_weight), classes, None)

    def fit_scorer(self, scorer: Any) -> Self:
        """Learn from a fitted `Scorer`, so that many quantifiers share one scoring.

        Parameters
        ----------
        scorer : Scorer
            Fitted on labelled items; it also scores the items of later samples.

        Returns
        -------
        Quantifier
            This quantifier, fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> import headcount as hc
        >>> X, y = make_classification(400, random_state=0)
        >>> scorer = hc.Scorer(random_state=0).fit(X[:200], y[:200])
        >>> quantifiers = [q.fit_scorer(scorer) for q in (hc.PACC(), hc.DyS(), hc.SLD())]
        >>> [q.predict(X[200:]).round(1).tolist() for q in quantifiers]
        [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
        """
        self._check_takes_scores()
        if not isinstance(scorer, ItemScorer):
            raise HeadcountError(
                f"scorer is {scorer!r}; it must be a fitted Scorer: pass for instance "
                "Scorer(LogisticRegression()).fit(X, y)."
            )
        check_is_fitted(scorer)
        needed = self._learns_from_scores() or scorer.n_folds_ > 0
        items = self._out_of_fold(scorer) if needed else None
        K = len(scorer.classes_)
        training = Training(self._arranged(items, K), scorer.codes_, K, scorer.weights_)
        # A copy, so that fitting the scorer again does not change this quantifier.
        self._learn(training, scorer.classes_, copy(scorer))
        by_folds = scorer.fold_scoring and self.info.scoring == "folds"
        self._by_folds = by_folds and self._learns_from_scores()
        return self

    def trained_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays that take long to compute, for `fit_trained`; none where `fit` is quick."""
        return {}

    def fit_trained(self, X: Any, y: ArrayLike, arrays: dict[str, NDArray[Any]]) -> Self:
        """Repeat `fit`, but for the computation of ``arrays``.

        Parameters
        ----------
        X, y
            Labelled items that a quantifier with these parameters was fitted on.
        arrays : dict of str to ndarray
            Its `trained_arrays`.

        Returns
        -------
        Quantifier
            This quantifier, fitted.
        """
        return self.fit(X, y)

    def explain(self, size: int = 500) -> str:
        """Reason for the choice of methods or settings.

        Parameters
        ----------
        size : int, default=500
            Number of items of a sample, for errors that depend on it.

        Returns
        -------
        str
            Empty if the quantifier chooses nothing.
        """
        return ""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Shares of the classes among the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            One sample: the items whose shares are wanted.

        Returns
        -------
        ndarray of shape (K,)
            Shares in the order of ``classes_``, on the simplex.
        """
        return self.predict_many(X, None)[0]

    def predict_many(self, X: Any, samples: Any) -> NDArray[np.float64]:
        """Shares of the classes in many samples of a pool, scored once.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.

        Returns
        -------
        ndarray of shape (S, K)
            Shares, one row per sample, in the order of ``classes_``.
        """
        return self.solve_many(X, samples).prevalence

    def solve_many(self, X: Any, samples: Any) -> Solution:
        """Like `predict_many`, with the diagnostics of the solver.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.

        Returns
        -------
        Solution
            ``prevalence``, ``converged``, ``iterations`` and ``objective`` by sample.
        """
        check_is_fitted(self, "model_")
        items = self.items_of(X)
        return self._solve(items, pool_samples(samples, X))

    def _learn(self, training: Training, classes: NDArray[Any], scorer: Any) -> Self:
        if self.info.multiclass == "one-vs-rest" and len(classes) > 2:
            name = type(self).__name__
            raise HeadcountError(
                f"{name} works with two classes, but y has {len(classes)}: wrap it as "
                f"OneVsRest({name}())."
            )
        model = self._aggregation().fit(training)
        return self._keep(model, classes, training.prior, scorer, training)

    def _keep(
        self,
        model: Model,
        classes: NDArray[Any],
        prior: NDArray[np.float64],
        scorer: Any,
        training: Training | None = None,
    ) -> Self:
        """Remember what was learnt: the last step of every fit, so that none is half done."""
        self.model_ = model
        self.classes_ = classes
        self.prior_ = prior
        self.scorer_ = scorer
        # Samples for estimates are simulated from it.
        self._training = training
        # Whether the classifiers of the folds score items for predict.
        self._by_folds = False
        return self

    def _labelled(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: Any,
        *,
        allow_nan: bool = False,
        any_shape: bool = False,
    ) -> tuple[Training, NDArray[Any]]:
        """Labelled items as they came, checked, and the classes."""
        X = check_features(X, allow_nan=allow_nan, any_shape=any_shape)
        classes, codes = check_labels(y)
        check_lengths("X", count_rows(X), codes)
        return _training(X, codes, classes, sample_weight), classes

    def _out_of_fold(self, scorer: Any) -> NDArray[Any]:
        """Out-of-fold predictions or posteriors of the items that a scorer was fitted on."""
        return scorer.labels_ if self.takes == "labels" else scorer.posteriors_

    def _simulation_items(self) -> Training:
        """Labelled items that samples for estimates are simulated from."""
        items: Any = None if self._training is None else self._training.items
        if items is None or (isinstance(items, list) and any(part is None for part in items)):
            raise HeadcountError(
                f"{type(self).__name__} has no out-of-fold scores of its training items, from "
                "which samples are simulated for estimates: set cv=5, or fit the scorer with "
                "out_of_fold=True."
            )
        assert self._training is not None
        return self._training

    def _items_are_posteriors(self) -> bool | list[Any]:
        """True if the items for simulations are posteriors that sum to 1.

        A list if the items are a list and only some entries are; False if none is.
        """
        return self.takes == "posteriors"

    def _cv(self) -> Any:
        """The folds; None if training items are not scored without need."""
        return self.get_params().get("cv", 5)

    def _prior(self) -> Any:
        """Prior distribution of the shares for estimates, if none is given."""
        return None

    def _training_posteriors(self) -> Training | None:
        """Training items by the posteriors that were given for them; None if none were."""
        training = self._training
        return training if training is not None and training.are_posteriors else None

    def _known_conditioning(self) -> ShareConditioning | None:
        """Simulations that `predict` uses; None if it needs none."""
        return None

    @property
    def scores_by_folds(self) -> bool:
        """True if the classifiers of the folds score the items of estimates."""
        one_scorer = self.scorer_ is not None and not isinstance(self.scorer_, tuple)
        return one_scorer and self.takes != "features"

    @property
    def predicts_by_folds(self) -> bool:
        """True if the classifiers of the folds score the items of `predict`."""
        return self._by_folds

    def statistics_sources(self, by_folds: bool) -> list[ScoredItems]:
        """Makers of the items of each reduction of the model.

        Parameters
        ----------
        by_folds : bool
            True if items are scored by the classifiers of all folds.

        Returns
        -------
        list of ScoredItems
        """
        return [ScoredItems(self, by_folds)] * len(self.model_.reduction() or ())

    def _solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        solution = self.model_.solve(items, samples.over(count_rows(items)))
        self._warn_of_failures(solution)
        return solution

    def _warn_of_failures(self, solution: Solution) -> None:
        """Warn if the solver did not converge on some samples."""
        failed = int(np.count_nonzero(~solution.converged))
        if failed:
            limited = "max_iter" in self.get_params(deep=False)
            advice = "raise max_iter, or " if limited else ""
            warn(
                f"{type(self).__name__} did not converge on {failed:,} of "
                f"{len(solution.converged):,} samples: their shares are the last ones "
                f"reached; {advice}see which by solve_many(...).converged."
            )


@dataclass(eq=False, repr=False)
class AggregativeQuantifier(Quantifier):
    """Base of methods on top of a classifier whose own parameters are fields of a dataclass."""

    classifier: Any = None
    _: KW_ONLY
    cv: Any = 5
    random_state: Any = None


def is_simple(quantifier: Any) -> bool:
    """True if a quantifier has one classifier and an aggregation, to build others on."""
    if not isinstance(quantifier, Quantifier):
        return False
    return type(quantifier)._aggregation is not Quantifier._aggregation


def _training(
    items: Any, codes: NDArray[np.int64], classes: NDArray[Any], sample_weight: Any
) -> Training:
    weights = check_weights(sample_weight, len(codes), name="sample_weight")
    class_shares(codes, weights, classes)
    return Training(items, codes, len(classes), None if sample_weight is None else weights)
