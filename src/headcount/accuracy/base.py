"""Base of all methods that predict the accuracy of a classifier without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.metrics import Metric, as_metric
from headcount.accuracy.model import Model, TableModel
from headcount.accuracy.model_outputs import (
    FittedClassifier,
    ModelOutputs,
    Reference,
    check_classified,
)
from headcount.accuracy.rankings import RANKINGS
from headcount.accuracy.tables import TableMetric
from headcount.data import encode_labels
from headcount.errors import HeadcountError
from headcount.quantify.info import Input, Shift
from headcount.quantify.statistics_parts import Form, GroupStatistics, NeedsStatistics, Part
from headcount.scores import Scored, Verdicts
from headcount.scores.checks import check_labels, check_lengths

if TYPE_CHECKING:
    from headcount.accuracy.estimates import AccuracyEstimate
    from headcount.labels import LabelPlan

__all__ = ["Model", "Predictor", "TableModel"]

Floats = NDArray[np.float64]


class Predictor(NeedsStatistics, BaseEstimator):
    """Predicts the accuracy of a trained classifier on items without labels.

    A method is a subclass with an ``info`` and a ``_learn``, which returns a `Model` fitted
    on labelled items. Methods that give no table, or not every metric, return the reason in
    ``_table_obstacle`` and ``_metric_obstacle``.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted. It is never trained or changed, and
        `clone` keeps it as it is. None if only its outputs are used.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of rows and columns of every table. Of two classes, the
        second is the positive one of F1, precision and recall.
    model_ : Model
        The fitted method.
    reference_ : Reference
        The labelled items.
    """

    info: ClassVar[AccuracyInfo]
    # Largest number of simulated samples.
    _most_simulations: ClassVar[int] = 1_000_000

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        # A clone of the classifier would be untrained.
        copies = {
            name: value if name == "classifier" else clone(value, safe=False)
            for name, value in parameters.items()
        }
        return type(self)(**copies)

    def _learn(self, reference: Reference) -> Model:
        """Check the parameters and fit a model on labelled items."""
        raise NotImplementedError

    def _table_obstacle(self) -> str:
        """Reason why the fitted method gives no table; empty if it does."""
        return ""

    def _metric_obstacle(self, metric: TableMetric) -> str:
        """Reason why the fitted method does not give a metric; empty if it does."""
        return ""

    def _simulation_rows(self) -> NDArray[np.int64]:
        """Items of the reference that samples for estimates are simulated from."""
        return np.arange(len(self.reference_))

    @property
    def shift(self) -> Shift:
        """Change since the reference under which the method is correct: see ``info``."""
        return self.info.shift

    @property
    def takes(self) -> Input:
        """Kind of items that the method works on: see ``info.input``."""
        return self.info.input

    @property
    def has_table(self) -> bool:
        """True if the fitted method gives the table of true and predicted classes."""
        check_is_fitted(self, "model_")
        return not self._table_obstacle()

    def supports(self, metric: Metric) -> bool:
        """True if the fitted method gives a metric.

        Parameters
        ----------
        metric : str or callable
            As for `predict`.

        Returns
        -------
        bool
        """
        check_is_fitted(self, "model_")
        return not self._obstacle(metric)

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from labelled items that the classifier was not trained on.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            Items, as the classifier takes them, or classified elsewhere.
        y : array-like of shape (n,)
            Labels of the items. A class of the classifier may have no items.

        Returns
        -------
        Predictor
            This predictor, fitted. Fitted on `Scored` or `Verdicts`, it takes later items in
            the same form.
        """
        if isinstance(X, Scored | Verdicts):
            classifier = None
            classes, codes = check_labels(y, classes=X.classes)
            outputs = self._classified(X, classes)
        else:
            classifier = FittedClassifier(self.classifier)
            classes, outputs = classifier.classes, classifier.outputs(X)
            codes = encode_labels(y, classes=classes)[1]
        check_lengths("X", len(outputs), codes)
        return self._keep(Reference(outputs, codes, classes), classifier)

    def _keep(self, reference: Reference, classifier: FittedClassifier | None) -> Self:
        # Any, as methods use attributes of their own models.
        self.model_: Any = self._learn(reference)
        self.classes_ = reference.classes
        self.reference_ = reference
        self._fitted_classifier = classifier
        return self

    def predict(self, X: Any, metric: Metric = "accuracy") -> float:
        """Predict the accuracy of the classifier, or another metric, on the items.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            One sample.
        metric : str or callable, default="accuracy"
            "accuracy", "error", "f1", "macro_f1", "precision", "recall",
            "balanced_accuracy", "mcc", "kappa", "auroc", "average_precision", the result of
            `cost`, or a function of the K x K table, rows true and columns predicted. "f1",
            "precision", "recall", "auroc" and "average_precision" are those of the second of
            two classes, and means over the classes if there are more.

        Returns
        -------
        float
        """
        return float(self.predict_many(X, None, metric)[0])

    def predict_table(self, X: Any) -> Floats:
        """Predict the shares of the items by true and predicted class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            One sample.

        Returns
        -------
        ndarray of shape (K, K)
            Rows true, columns predicted, in the order of ``classes_``; sums to 1.
        """
        return self.predict_tables(X, None)[0]

    def predict_many(self, X: Any, samples: Any, metric: Metric = "accuracy") -> Floats:
        """Predict a metric on many samples of a pool, which is classified once.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        metric : str or callable, default="accuracy"
            As for `predict`.

        Returns
        -------
        ndarray of shape (S,)
        """
        return self.predict_metrics(X, samples, [metric])[0]

    def predict_metrics(self, X: Any, samples: Any, metrics: Sequence[Metric]) -> Floats:
        """Predict several metrics on many samples of a pool, which are processed once.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        metrics : sequence of str or callable
            As for `predict`.

        Returns
        -------
        ndarray of shape (M, S)
            One row per metric.
        """
        check_is_fitted(self, "model_")
        wanted = [self._checked(metric) for metric in metrics]
        pool = self._outputs(X)
        drawn = pool.samples(samples)
        statistics = self.model_.statistics(pool, drawn)
        found = [self.model_.answers(pool, drawn, metric, statistics) for metric in wanted]
        return np.asarray(found, dtype=np.float64).reshape(len(wanted), len(drawn))

    def predict_tables(self, X: Any, samples: Any) -> Floats:
        """Predict the shares by true and predicted class in many samples of a pool.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.

        Returns
        -------
        ndarray of shape (S, K, K)
            Rows true, columns predicted.
        """
        if not self.has_table:
            raise HeadcountError(
                f"{type(self).__name__} gives no table: {self._table_obstacle()}"
            )
        pool = self._outputs(X)
        found = self.model_.statistics(pool, pool.samples(samples))
        return np.asarray(found, dtype=np.float64)

    def estimate(
        self,
        X: Any,
        metric: Metric = "accuracy",
        *,
        labelled: Any = None,
        design: LabelPlan | None = None,
        estimand: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> AccuracyEstimate:
        """Estimate the accuracy of the classifier, or another metric, with an interval.

        Samples with known labels are simulated from the reference, with shares of the classes
        drawn from a prior, and the method is applied to each of them. The true metrics of
        those with answers like that for X are the estimate: their mean and their quantiles.
        With labels of some items it holds under any shift.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            One sample.
        metric : str or callable, default="accuracy"
            As for `predict`.
        labelled : pair of array-like, default=None
            Rows of X that have a label, and their labels. The rows must have been drawn at
            random: by ``plan_labels`` of a quantifier, or as a simple random sample.
        design : LabelPlan, default=None
            Plan that the labelled rows were drawn by. None for a simple random sample.
        estimand : {"realised", "expected"}, default="realised"
            Metric on these very items, or on the population that they are a random sample
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
            and ``table``; prints in a few lines. With labels a `LabelledAccuracy`, which has
            ``agreement`` and ``under_shift`` besides.
        """
        return self.estimate_many(
            X,
            None,
            metric,
            labelled=labelled,
            design=design,
            estimand=estimand,
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
        labelled: Any = None,
        design: LabelPlan | None = None,
        estimand: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> list[AccuracyEstimate]:
        """Estimate a metric, with intervals, on many samples of a pool.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            The pool.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.
        metric : str or callable, default="accuracy"
            As for `predict`.
        labelled : pair of array-like, default=None
        design : LabelPlan, default=None
        estimand : {"realised", "expected"}, default="realised"
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
        # Imported here, as predictions do not need it.
        from headcount.accuracy.estimation import estimate_samples

        check_is_fitted(self, "model_")
        wanted, pool = self._checked(metric), self._outputs(X)
        drawn = pool.samples(samples)
        if labelled is None and design is not None:
            raise HeadcountError("design is for labels of some items: pass it with labelled.")
        found = estimate_samples(
            self,
            pool,
            drawn,
            wanted,
            estimand=estimand,
            prior=prior,
            replicates=replicates,
            level=level,
            random_state=random_state,
        )
        if labelled is None:
            return found
        from headcount.accuracy.labelled import accuracy_from_labels

        return accuracy_from_labels(self, pool, drawn, found, labelled, design)

    def statistics_parts(self, form: Form) -> list[Part]:
        """Statistics that estimates need, for items of a form.

        Parameters
        ----------
        form : {"items", "scored", "verdicts"}
            Form of the items.

        Returns
        -------
        list of Part
        """
        from headcount.accuracy.from_statistics import Needs

        needs = Needs.of(self, form)
        return [*needs.answers, *needs.raw, *needs.test]

    def estimate_statistics(
        self,
        statistics: GroupStatistics,
        metric: Metric = "accuracy",
        *,
        estimand: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> dict[Any, AccuracyEstimate]:
        """Estimate a metric, with intervals, on groups of items from their statistics.

        Parameters
        ----------
        statistics : Statistics
            Statistics of the items, made with this predictor.
        metric : str or callable, default="accuracy"
            As for `predict`.
        estimand : {"realised", "expected"}, default="realised"
        prior : None, float, array-like of shape (K,) or (M, K), default=None
        replicates : int, default=4000
        level : float, default=0.95
        random_state : int, RandomState, Generator or None, default=None
            As for `estimate`.

        Returns
        -------
        dict
            Estimates by the name of the group.

        Examples
        --------
        >>> import headcount as hc
        >>> scored, y = hc.Scored([0.1, 0.2, 0.6, 0.3, 0.8, 0.9]), [0, 0, 1, 0, 1, 1]
        >>> cbpe = hc.accuracy.CBPE(calibration=None).fit(scored, y)
        >>> statistics = hc.Statistics(cbpe).update(hc.Scored([0.2, 0.4, 0.9]))
        >>> round(cbpe.estimate_statistics(statistics, random_state=0)[None].raw, 2)
        0.77
        """
        from headcount.accuracy.from_statistics import estimate_groups

        check_is_fitted(self, "model_")
        return estimate_groups(
            self,
            statistics,
            self._checked(metric),
            estimand=estimand,
            prior=prior,
            replicates=replicates,
            level=level,
            random_state=random_state,
        )

    def _outputs(self, X: Any) -> ModelOutputs:
        """Outputs of the classifier for a pool."""
        if isinstance(X, Scored | Verdicts):
            return self._classified(X, self.classes_)
        if self._fitted_classifier is None:
            raise HeadcountError(
                f"{type(self).__name__} was fitted on scores or decisions and has no "
                "classifier for X: classify the items and pass hc.Scored(posteriors) or "
                "hc.Verdicts(labels)."
            )
        return self._fitted_classifier.outputs(X)

    def _classified(self, X: Scored | Verdicts, classes: NDArray[Any]) -> ModelOutputs:
        """Outputs for items that were classified elsewhere."""
        check_classified(type(self).__name__, self.info.input, self.takes, X)
        return ModelOutputs.of(X, classes)

    def _checked(self, metric: Metric) -> TableMetric:
        if obstacle := self._obstacle(metric):
            name = metric if isinstance(metric, str) else as_metric(metric).name
            raise HeadcountError(f"metric is {name!r}, but {obstacle}")
        return as_metric(metric, self.reference_)

    def _obstacle(self, metric: Metric) -> str:
        ranked = isinstance(metric, str) and metric in RANKINGS
        if ranked and self.reference_.outputs.scores is None:
            return "it ranks items by posteriors, and there are decisions alone."
        return self._metric_obstacle(as_metric(metric, self.reference_))
