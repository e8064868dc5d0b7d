"""Base of all methods that predict the accuracy of a classifier without labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented, parametrised, with_example
from headcount.accuracy.estimates import (
    AccuracyEstimate,
    AccuracyOptions,
    Observed,
    accuracy_estimates,
    accuracy_from_labels,
)
from headcount.accuracy.fitted import FittedPredictor, MetricModel
from headcount.accuracy.history import AccuracyHistory
from headcount.accuracy.metrics import (
    FittedClassifier,
    Metric,
    ModelOutputs,
    OutputSource,
    Reference,
)
from headcount.errors import HeadcountError, HeadcountWarning, warn
from headcount.estimates.backtest import LabelledGroups, group_members
from headcount.estimates.estimate import Estimand
from headcount.estimates.estimates import Estimates
from headcount.estimates.labels.plan import LabelPlan
from headcount.items.arrays import Scored, Verdicts, check_labels, check_lengths, encode_labels
from headcount.parts.fitted import GroupStatistics, Input, MethodInfo, Shift, pool_samples
from headcount.quantifiers.registry import MethodTable, find_methods
from headcount.samples.samples import Samples

_FACTS = ("title", "input", "gives", "shift", "reference")


@dataclass(eq=False, repr=False)
class Predictor(BaseEstimator):
    """Predicts the accuracy of a trained classifier on items without labels.

    A method is a subclass with an ``info`` and a ``_learn``, which returns a model fitted on
    labelled items.

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
    fitted_ : FittedPredictor
        The fitted method, with its labelled items.
    """

    info: ClassVar[MethodInfo]
    # True if a sample is taken to be a mixture of the classes of the reference.
    _mixes_classes: ClassVar[bool] = False

    classifier: Any = None

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        # A clone of the classifier would be untrained.
        copies = {
            name: value if name == "classifier" else clone(value, safe=False)
            for name, value in parameters.items()
        }
        return type(self)(**copies)

    def _learn(self, reference: Reference) -> MetricModel:
        """Check the parameters and fit a model on labelled items."""
        raise NotImplementedError

    def _shift(self) -> Shift:
        """Change since the reference under which this setting is correct."""
        return self.info.shift

    def _takes(self) -> Input:
        """Kind of items that this setting works on."""
        return self.info.input

    def _fit(self, reference: Reference, source: OutputSource) -> FittedPredictor:
        """The fitted method."""
        absent = np.delete(source.classes, reference.present).tolist()
        if absent and self._mixes_classes:
            warn(
                f"The labelled items have none of class {absent[0]!r}: "
                "its share is taken to be 0 in every sample; add items of it."
            )
        return FittedPredictor(
            type(self).__name__,
            self.info,
            self.get_params(deep=False),
            source.classes,
            reference.prior,
            source=source,
            training=reference,
            model=self._learn(reference),
            shift=self._shift(),
        )

    def fit(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, ordered: Any = "auto"
    ) -> Self:
        """Learn from labelled items that the classifier was not trained on.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, ScoredPool, \
Scored or Verdicts
            Items, as the classifier takes them, or classified elsewhere.
        y : array-like of shape (n,)
            Labels of the items. A class of the classifier may have no items.
        groups : array-like of shape (n,), default=None
            Group of each item, such as its month or site. Estimates then follow what held in
            them: the accuracy of the past, the confidence of the classifier, or the method.
        ordered : {"auto"} or bool, default="auto"
            True if the groups are a sequence in time: each is estimated from earlier ones only,
            and the accuracy of the last one is one more reading. "auto" takes dates for a
            sequence.

        Returns
        -------
        Predictor
            This predictor, fitted. Fitted on `Scored` or `Verdicts`, it takes later items in
            the same form.
        """
        if isinstance(X, Scored | Verdicts):
            classes, codes = check_labels(y, classes=X.classes)
            source = self._source(classes)
            outputs = source.items(X)
        else:
            classifier = FittedClassifier(self.classifier)
            source = self._source(classifier.classes, classifier)
            outputs = source.items(X)
            codes = encode_labels(y, classes=source.classes)[1]
        check_lengths("X", len(outputs), codes)
        reference = Reference(outputs, codes, len(source.classes))
        self._fitted_on(reference, source)
        if groups is not None:
            self._follow(groups, ordered)
        return self

    def _source(
        self, classes: Array, classifier: FittedClassifier | None = None
    ) -> OutputSource:
        """Maker of the outputs that models take."""
        on_items = self.info.input == "features"
        return OutputSource(
            method=type(self).__name__,
            takes=self._takes(),
            classes=classes,
            scorer=classifier,
            refusal="works on the items, not on outputs of a classifier" if on_items else "",
        )

    def _fitted_on(self, reference: Reference, source: OutputSource) -> Self:
        """Fit on labelled items whose outputs are known."""
        self.fitted_ = self._fit(reference, source)
        self.classes_ = self.fitted_.classes
        return self

    def _follow(
        self,
        groups: ArrayLike,
        ordered: Any,
        names: Sequence[Any] | None = None,
        noun: str = "group",
    ) -> None:
        """Fit methods on some of the groups to estimate the others; estimates follow them."""
        fitted = self.fitted_
        reference, source = fitted.training, fitted.source

        def fit(rows: Ints) -> FittedPredictor:
            subset = Reference(
                reference.items.take(rows), reference.codes[rows], reference.n_classes
            )
            with warnings.catch_warnings():
                # About a part of the items: the model of all of them has its own.
                warnings.simplefilter("ignore", HeadcountWarning)
                return clone(self)._fit(subset, source)

        in_order, members, is_sequence = group_members(groups, len(reference), ordered, names)
        labelled = LabelledGroups(
            None, reference.codes, members, in_order, source.classes, is_sequence, fit
        )
        past = AccuracyHistory.of(labelled, reference, noun)
        self.fitted_ = replace(fitted, past=past)

    @property
    def has_table(self) -> bool:
        """True if the fitted method gives the table of true and predicted classes."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.has_table

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
        """
        return float(self.predict_many(X, None, metric)[0])

    @documented(predict)
    def supports(self, metric: Metric) -> bool:
        """True if the fitted method gives a metric."""
        check_is_fitted(self, "fitted_")
        return not self.fitted_.metric_obstacle(metric)

    @documented(predict)
    def predict_table(self, X: Any) -> Floats:
        """Predict the shares of the items by true and predicted class.

        Returns
        -------
        ndarray of shape (K, K)
            Rows true, columns predicted, in the order of ``classes_``; sums to 1.
        """
        return self.predict_tables(X, None)[0]

    @documented(predict)
    def predict_many(self, X: Any, samples: Any, metric: Metric = "accuracy") -> Floats:
        """Predict a metric on many samples of a pool, which is classified once.

        Parameters
        ----------
        X
            The pool, in any form that `predict` takes.
        samples : Samples, iterable of index arrays, or None
            The samples, as rows of the pool; None for one sample of all rows.

        Returns
        -------
        ndarray of shape (S,)
        """
        return self.predict_metrics(X, samples, [metric])[0]

    @documented(predict_many)
    def predict_metrics(self, X: Any, samples: Any, metrics: Sequence[Metric]) -> Floats:
        """Predict several metrics on many samples of a pool, which are processed once.

        Parameters
        ----------
        metrics : sequence of str or callable
            Names of metrics, results of `cost`, or functions of the table.

        Returns
        -------
        ndarray of shape (M, S)
            One row per metric.
        """
        check_is_fitted(self, "fitted_")
        checked = [self.fitted_.checked(metric) for metric in metrics]
        return self.fitted_.metrics(X, samples, checked)

    @documented(predict_many)
    def predict_tables(self, X: Any, samples: Any) -> Floats:
        """Predict the shares by true and predicted class in many samples of a pool.

        Returns
        -------
        ndarray of shape (S, K, K)
            Rows true, columns predicted.
        """
        check_is_fitted(self, "fitted_")
        return self.fitted_.tables(X, samples)

    @documented(predict)
    def estimate(
        self,
        X: Any,
        metric: Metric = "accuracy",
        *,
        labelled: Any = None,
        design: LabelPlan | None = None,
        estimand: Estimand = "realised",
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

    @documented(predict_many, estimate)
    def estimate_many(
        self,
        X: Any,
        samples: Any,
        metric: Metric = "accuracy",
        *,
        labelled: Any = None,
        design: LabelPlan | None = None,
        estimand: Estimand = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
        groups: Sequence[Any] | None = None,
    ) -> list[AccuracyEstimate]:
        """Estimate a metric, with intervals, on many samples of a pool.

        Parameters
        ----------
        groups : sequence of length S, default=None
            Names of the samples, in the order of time if the groups of `fit` were. Those of
            `fit` have labelled items of their own.

        Returns
        -------
        list of AccuracyEstimate
            One per sample. Samples of similar size share their simulations.
        """
        check_is_fitted(self, "fitted_")
        checked, pool = self.fitted_.checked(metric), self.fitted_.source.items(X)
        samples = pool_samples(samples, pool)
        options = AccuracyOptions(estimand, prior, replicates, level, random_state)
        if labelled is None and design is not None:
            raise HeadcountError("design is for labels of some items: pass it with labelled.")

        def estimate(
            fitted: FittedPredictor, items: ModelOutputs, chosen: Samples
        ) -> list[AccuracyEstimate]:
            observed = Observed.of_samples(fitted, items, chosen, checked)
            return accuracy_estimates(fitted, checked, observed, options)

        answers = estimate(self.fitted_, pool, samples)
        if labelled is not None:
            return accuracy_from_labels(self.fitted_, pool, samples, answers, labelled, design)
        past, has_range = self.fitted_.past, np.isfinite(checked.high - checked.low)
        if past is None or not has_range:
            return answers
        learnt = past.learn(checked, estimate)
        return list(learnt.estimates(self.fitted_, answers, pool, samples, groups))

    @documented(estimate)
    def estimate_statistics(
        self,
        statistics: GroupStatistics,
        metric: Metric = "accuracy",
        *,
        estimand: Estimand = "realised",
        prior: Any = None,
        replicates: int = 4000,
        level: float = 0.95,
        random_state: Any = None,
    ) -> Estimates[AccuracyEstimate]:
        """Estimate a metric, with intervals, on groups of items from their statistics.

        Parameters
        ----------
        statistics : Statistics
            Statistics of the items, made with this predictor.

        Returns
        -------
        Estimates
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
        check_is_fitted(self, "fitted_")
        checked = self.fitted_.checked(metric)
        options = AccuracyOptions(estimand, prior, replicates, level, random_state)
        observed = Observed.of_groups(self.fitted_, statistics, checked)
        estimates = accuracy_estimates(self.fitted_, checked, observed, options)
        return Estimates(dict(zip(statistics.groups, estimates, strict=True)))


_Class = TypeVar("_Class", bound=type[Predictor])
_EXAMPLE = """\
>>> from sklearn.datasets import make_classification
>>> from sklearn.linear_model import LogisticRegression
>>> from {home}.accuracy import {name}
>>> X, y = make_classification(1200, flip_y=0.15, random_state=0)
>>> model = LogisticRegression().fit(X[:400], y[:400])
>>> predictor = {name}(model{more}).fit(X[400:800], y[400:800])
>>> round(predictor.predict(X[800:]), 1)
0.8"""


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def predictor_class(cls: _Class) -> _Class:
    """Make a predictor of a class: see `parametrised`; its docstring gets an example too."""
    return with_example(parametrised(cls), _EXAMPLE)


def predictors() -> dict[str, type[Predictor]]:
    """Every method of accuracy prediction by name.

    Returns
    -------
    dict of str to type
        Sorted by name, ignoring case.

    Examples
    --------
    >>> from headcount import accuracy
    >>> accuracy.predictors()["LEAP"].info.shift
    'prior'
    """
    return find_methods("headcount.accuracy", Predictor)


def methods() -> MethodTable:
    """All methods: input, output, assumed shift and reference.

    Returns
    -------
    MethodTable
        One row per method. Prints as a table; ``.to_frame()`` returns a Polars frame.

    Examples
    --------
    >>> from headcount import accuracy
    >>> accuracy.methods().to_frame().columns
    ['method', 'title', 'input', 'gives', 'shift', 'reference']
    """
    return MethodTable.of(predictors(), _FACTS)
