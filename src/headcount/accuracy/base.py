"""The base of all methods: how a model's accuracy is predicted without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from headcount.accuracy.estimates import EstimateOptions
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Judge, Judged, Reference
from headcount.accuracy.tables import Metric, TableMetric, as_metric
from headcount.data import count_rows, encode_labels
from headcount.errors import HeadcountError
from headcount.quantify.info import Shift
from headcount.sampling import Samples, as_samples
from headcount.scores import ScoredPool, check_scores
from headcount.scores.checks import check_labels, check_lengths

if TYPE_CHECKING:
    from headcount.accuracy.estimates import AccuracyEstimate

__all__ = ["Model", "Predictor", "TableModel"]

Floats = NDArray[np.float64]


class Model:
    """Result of learning from labelled items; a model has to write ``values``."""

    def values(self, pool: Judged, samples: Samples, metric: TableMetric) -> Floats:
        """The measure on each sample of the pool."""
        raise NotImplementedError

    def cross_fitted(self) -> tuple[Model, Model]:
        """Models of new items and of the items of the reference, which answer alike to both.

        Itself twice, unless it trains classifiers on the reference.
        """
        return self, self


class TableModel(Model):
    """A model that gives tables: the measures are taken from these."""

    def tables(self, pool: Judged, samples: Samples) -> Floats:
        """Table of each sample, (S, K, K): shares, rows true and columns predicted."""
        raise NotImplementedError

    def values(self, pool: Judged, samples: Samples, metric: TableMetric) -> Floats:
        """The measure on each sample of the pool."""
        return metric(self.tables(pool, samples))


def _takes_scores(predictor: Predictor) -> bool:
    if predictor.info.needs == "features":
        raise AttributeError(
            f"{type(predictor).__name__} trains classifiers on the items themselves, for which "
            "scores do not suffice: use fit and predict."
        )
    return True


class Predictor(BaseEstimator):
    """Predicts how well a trained classifier does on items nobody has labelled.

    A method is a subclass with an ``info`` and a ``_learn``, which makes a model of labelled
    items; one that gives no table, or not every measure, says so in ``_why_no_table`` and
    ``_why_not``.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The model whose accuracy is wanted. It is never trained or changed, and kept as it is
        by ``clone``. None if only its scores are used.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of rows and columns of every table. Of two, the second is
        the positive one of F1, precision and recall.
    model_ : Model
        What was learnt.
    reference_ : Reference
        What it was learnt from.
    """

    info: ClassVar[AccuracyInfo]
    # Simulated samples that the method answers to at most.
    _most_simulations: ClassVar[int] = 1_000_000

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        # A clone of the model would not be trained, and so not be the model any more.
        copies = {
            name: value if name == "classifier" else clone(value, safe=False)
            for name, value in parameters.items()
        }
        return type(self)(**copies)

    def _learn(self, reference: Reference) -> Model:
        """A model made of labelled items; checks the parameters."""
        raise NotImplementedError

    def _shift(self) -> Shift:
        """The change since the reference under which the method is right."""
        return self.info.shift

    def _why_no_table(self) -> str:
        """What is said of a fitted method that gives no table; empty if it does."""
        return ""

    def _why_not(self, metric: TableMetric) -> str:
        """What is said of a fitted method that cannot give a measure; empty if it can."""
        return ""

    def _simulation_rows(self) -> NDArray[np.int64]:
        """Items of the reference that samples for estimates are simulated from."""
        return np.arange(len(self.reference_))

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from labelled items that the classifier was not trained on.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            Items, as the classifier takes them.
        y : array-like of shape (n,)
            Their labels. A class the classifier knows may be missing.

        Returns
        -------
        Predictor
            This one, fitted.
        """
        judge = Judge(self.classifier)
        judged = judge.ask(X)
        codes = encode_labels(y, classes=judge.classes)[1]
        check_lengths("X", len(judged), codes)
        return self._keep(Reference(judged, codes, judge.classes), judge)

    @available_if(_takes_scores)
    def fit_scores(
        self,
        scores: Any,
        y: ArrayLike,
        *,
        predictions: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled items that a model elsewhere has scored.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors of the model, which was not trained on these items. With two classes,
            a vector of the second one's posteriors will do.
        y : array-like of shape (n,)
            Labels of the items.
        predictions : array-like of shape (n,), default=None
            Classes the model predicts; those with the greatest posterior by default.
        classes : array-like of shape (K,), default=None
            Classes in the order of the columns; by default the labels in ``y``, sorted.

        Returns
        -------
        Predictor
            This one, fitted. Samples are then given by their scores, too.
        """
        names, codes = check_labels(y, classes=classes)
        judged = _judged(scores, predictions, names)
        check_lengths("scores", len(judged), codes)
        return self._keep(Reference(judged, codes, names), None)

    def _keep(self, reference: Reference, judge: Judge | None) -> Self:
        # Any, as each method knows what its own model can do.
        self.model_: Any = self._learn(reference)
        self.classes_ = reference.classes
        self.reference_ = reference
        self._judge = judge
        return self

    def predict(self, X: Any, metric: Metric = "accuracy") -> float:
        """How well the classifier does on the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            One sample.
        metric : str or callable, default="accuracy"
            "accuracy", "error", "f1", "macro_f1", "precision", "recall",
            "balanced_accuracy", "mcc", or a function of the K x K table, rows true and
            columns predicted. "f1", "precision" and "recall" are those of the second of two
            classes, and means over the classes if there are more.

        Returns
        -------
        float
        """
        return float(self.predict_many(X, None, metric)[0])

    def predict_table(self, X: Any) -> Floats:
        """Shares of the items by true and predicted class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            One sample.

        Returns
        -------
        ndarray of shape (K, K)
            Rows true, columns predicted, in the order of ``classes_``; sums to 1.
        """
        return self.predict_tables(X, None)[0]

    def predict_many(self, X: Any, samples: Any, metric: Metric = "accuracy") -> Floats:
        """How well the classifier does on many samples of a pool, judged once.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        metric : str or callable, default="accuracy"
            As for `predict`.

        Returns
        -------
        ndarray of shape (S,)
        """
        wanted = self._checked(metric)
        return self._values(self._asked(X), samples, wanted)

    def predict_tables(self, X: Any, samples: Any) -> Floats:
        """Shares by true and predicted class of many samples of a pool.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.

        Returns
        -------
        ndarray of shape (S, K, K)
            Rows true, columns predicted.
        """
        self._check_table()
        return self._tables(self._asked(X), samples)

    @available_if(_takes_scores)
    def predict_scores(
        self,
        scores: Any,
        metric: Metric = "accuracy",
        *,
        predictions: ArrayLike | None = None,
    ) -> float:
        """Like `predict`, for items that a model elsewhere has scored.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors of the items, columns in the order of ``classes_``.
        metric : str or callable, default="accuracy"
            As for `predict`.
        predictions : array-like of shape (n,), default=None
            Classes the model predicts; those with the greatest posterior by default.

        Returns
        -------
        float
        """
        return float(self.predict_many_scores(scores, None, metric, predictions=predictions)[0])

    @available_if(_takes_scores)
    def predict_table_scores(
        self, scores: Any, *, predictions: ArrayLike | None = None
    ) -> Floats:
        """Like `predict_table`, for items that a model elsewhere has scored."""
        return self.predict_tables_scores(scores, None, predictions=predictions)[0]

    @available_if(_takes_scores)
    def predict_many_scores(
        self,
        scores: Any,
        samples: Any,
        metric: Metric = "accuracy",
        *,
        predictions: ArrayLike | None = None,
    ) -> Floats:
        """Like `predict_many`, for a pool that a model elsewhere has scored.

        Parameters
        ----------
        scores : array-like or frame of shape (n, K)
            Posteriors of the pool, columns in the order of ``classes_``.
        samples, metric
            As for `predict_many`.
        predictions : array-like of shape (n,), default=None
            Classes the model predicts; those with the greatest posterior by default.

        Returns
        -------
        ndarray of shape (S,)
        """
        wanted = self._checked(metric)
        return self._values(_judged(scores, predictions, self.classes_), samples, wanted)

    @available_if(_takes_scores)
    def predict_tables_scores(
        self, scores: Any, samples: Any, *, predictions: ArrayLike | None = None
    ) -> Floats:
        """Like `predict_tables`, for a pool that a model elsewhere has scored."""
        self._check_table()
        return self._tables(_judged(scores, predictions, self.classes_), samples)

    def estimate(
        self,
        X: Any,
        metric: Metric = "accuracy",
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> AccuracyEstimate:
        """Estimate how well the classifier does on the items, with an interval.

        Samples are simulated from the labelled items, with all kinds of shares of the classes,
        and the method answers to each of them. The true measures of the samples with answers
        like that for X are the estimate: their mean and their quantiles.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            One sample.
        metric : str or callable, default="accuracy"
            As for `predict`.
        target : {"realised", "expected"}, default="realised"
            Measure on these very items, or on the population that they are a random sample
            of, which is less certain.
        prior : None, float, array-like of shape (K,) or (M, K), default=None
            Prior distribution of the shares of the classes that the reference has: parameters
            of a Dirichlet distribution, or draws from any other one. None is a mixture of the
            uniform distribution (half), one that prefers rare classes, and one around the
            shares of the reference (a quarter each).
        replicates : int, default=4000
            Number of simulated samples; fewer if the sample has more than 5,000 items, or if
            the method trains a classifier for each sample.
        level : float, default=0.95
            Level of the interval that is shown.
        random_state : int, RandomState, Generator or None, default=None
            Random seed.

        Returns
        -------
        AccuracyEstimate
            With ``value``, ``raw`` (the answer of `predict`), ``draws``, ``interval(level)``
            and ``table``; prints in a few lines.
        """
        return self.estimate_many(
            X,
            None,
            metric,
            target=target,
            prior=prior,
            replicates=replicates,
            level=level,
            random_state=random_state,
        )[0]

    def estimate_many(
        self,
        X: Any,
        samples: Any,
        metric: Metric = "accuracy",
        *,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> list[AccuracyEstimate]:
        """Like `estimate`, for many samples of a pool, such as weeks or groups.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, or ScoredPool
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        metric : str or callable, default="accuracy"
            As for `predict`.
        target : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        level : float, default=0.95
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        list of AccuracyEstimate
            One per sample. Samples of similar size share their simulations.
        """
        wanted = self._checked(metric)
        options = EstimateOptions(target, prior, replicates, level, random_state)
        return self._estimates(self._asked(X), samples, wanted, options)

    @available_if(_takes_scores)
    def estimate_scores(
        self,
        scores: Any,
        metric: Metric = "accuracy",
        *,
        predictions: ArrayLike | None = None,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> AccuracyEstimate:
        """Like `estimate`, for items that a model elsewhere has scored."""
        return self.estimate_many_scores(
            scores,
            None,
            metric,
            predictions=predictions,
            target=target,
            prior=prior,
            replicates=replicates,
            level=level,
            random_state=random_state,
        )[0]

    @available_if(_takes_scores)
    def estimate_many_scores(
        self,
        scores: Any,
        samples: Any,
        metric: Metric = "accuracy",
        *,
        predictions: ArrayLike | None = None,
        target: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> list[AccuracyEstimate]:
        """Like `estimate_many`, for a pool that a model elsewhere has scored."""
        wanted = self._checked(metric)
        pool = _judged(scores, predictions, self.classes_)
        options = EstimateOptions(target, prior, replicates, level, random_state)
        return self._estimates(pool, samples, wanted, options)

    def _estimates(
        self, pool: Judged, samples: Any, metric: TableMetric, options: EstimateOptions
    ) -> list[AccuracyEstimate]:
        # Imported here, as predictions do not need it.
        from headcount.accuracy.estimating import estimate_samples

        return estimate_samples(self, pool, _drawn(samples, len(pool)), metric, options)

    def _values(self, pool: Judged, samples: Any, metric: TableMetric) -> Floats:
        found = self.model_.values(pool, _drawn(samples, len(pool)), metric)
        return np.asarray(found, dtype=np.float64)

    def _tables(self, pool: Judged, samples: Any) -> Floats:
        found = self.model_.tables(pool, _drawn(samples, len(pool)))
        return np.asarray(found, dtype=np.float64)

    def _asked(self, X: Any) -> Judged:
        if self._judge is None:
            raise HeadcountError(
                f"{type(self).__name__} was fitted on scores and has no classifier for X: "
                "score the items and use the methods that end in _scores."
            )
        return self._judge.ask(X)

    def _checked(self, metric: Metric) -> TableMetric:
        check_is_fitted(self, "model_")
        wanted = as_metric(metric)
        reason = self._why_not(wanted)
        if reason:
            raise HeadcountError(f"metric is {wanted.name!r}, but {reason}")
        return wanted

    def _check_table(self) -> None:
        check_is_fitted(self, "model_")
        reason = self._why_no_table()
        if reason:
            raise HeadcountError(f"{type(self).__name__} gives no table: {reason}")


def _drawn(samples: Any, n_pool: int) -> Samples:
    return Samples.whole(n_pool) if samples is None else as_samples(samples, n_pool)


def _judged(scores: Any, predictions: ArrayLike | None, classes: NDArray[Any]) -> Judged:
    """Scores made elsewhere, checked, with the classes that were predicted."""
    if isinstance(scores, ScoredPool):
        raise HeadcountError(
            "scores is a ScoredPool, which holds items: pass it to a method without _scores."
        )
    posteriors = check_scores(scores, len(classes))
    if predictions is None:
        return Judged(posteriors, posteriors.argmax(axis=1))
    labels = encode_labels(predictions, name="predictions", classes=classes)[1]
    if len(labels) != count_rows(posteriors):
        raise HeadcountError(
            f"predictions has {len(labels):,} entries, but scores has {len(posteriors):,} "
            "rows: pass one prediction a row."
        )
    return Judged(posteriors, labels)
