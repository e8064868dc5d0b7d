"""Base of all quantifiers: from items to shares."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Array, Floats, Ints
from headcount._support.documentation import documented, parametrised, with_example
from headcount._support.parameters import check_not_negative
from headcount.errors import HeadcountError
from headcount.estimates.estimate import Estimate
from headcount.estimates.estimates import Estimates
from headcount.estimates.estimation import (
    EstimateOptions,
    estimate_groups,
    estimate_pool,
    plan_labels,
)
from headcount.estimates.labels.plan import LabelPlan, PlanOptions
from headcount.items.arrays import (
    Scored,
    Verdicts,
    check_features,
    check_labels,
    check_lengths,
    check_weights,
    class_shares,
    count_rows,
)
from headcount.parts.aggregation import Aggregation, Model
from headcount.parts.fitted import Fitted, Input, ItemSource, MethodInfo
from headcount.parts.training import Training
from headcount.scores.scorer import ItemScorer, Scorer


class ShareEstimator(BaseEstimator):
    """Base of all estimators of shares: a subclass implements ``_fit``, which makes a `Fitted`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, in the order of the columns of every result.
    prior_ : ndarray of shape (K,)
        Shares of the classes in the training set.
    fitted_ : Fitted
        What `fit` made: model, scorer and training items, for other packages.
    """

    classes_: Array
    prior_: Floats
    fitted_: Fitted

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        """The fitted method, learnt from labelled items."""
        raise NotImplementedError

    def _keep(self, fitted: Fitted) -> Self:
        """Remember what was learnt: the last step of every fit, so that none is half done."""
        self.fitted_ = fitted
        self.classes_ = fitted.classes
        self.prior_ = fitted.prior
        return self

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
        return self._keep(self._fit(X, y, sample_weight, groups))

    def predict(self, X: Any) -> Floats:
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

    def predict_many(self, X: Any, samples: Any) -> Floats:
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
        check_is_fitted(self, "fitted_")
        return self.fitted_.solve_many(X, samples).prevalence

    @documented(predict)
    def estimate(
        self,
        X: Any,
        *,
        labelled: Any = None,
        design: LabelPlan | None = None,
        guarantee: str = "approximate",
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        estimand: str = "realised",
        prior: Any = None,
        posterior: bool = False,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> Estimate:
        """Estimate the shares of the classes among the items, with intervals.

        Samples with known shares are simulated from the training items, and the quantifier
        answers to each of them. The shares that lead to answers like the one for X are the
        estimate: the shares with the least expected absolute error among them, their
        quantiles, and any region of them. This holds under prior shift. With labels of some
        items it holds under any shift.

        Parameters
        ----------
        labelled : pair of array-like, default=None
            Rows of X that have a label, and their labels. The rows must have been drawn at
            random: by `plan_labels`, or as a simple random sample.
        design : LabelPlan, default=None
            Plan that the labelled rows were drawn by. None for a simple random sample.
        guarantee : {"approximate", "exact"}, default="approximate"
            Kind of intervals from labels. Exact ones hold in finite samples, and are wider.
        weights : array-like of shape (n,), default=None
            Survey weights of the items: how many items of the population each stands for.
        clusters : array-like of shape (n,), default=None
            Cluster of each item, such as an author or a conversation. Items of one cluster may
            be alike.
        estimand : {"realised", "expected"}, default="realised"
            Shares among these very items, or of the population that they are a random
            sample of, which are less certain.
        prior : None, float, array-like of shape (K,) or (M, K), default=None
            Prior distribution of the shares: parameters of a Dirichlet distribution, or draws
            from any other one. None is a mixture of the uniform distribution (half), one that
            prefers rare classes, and one around the training shares (a quarter each).
        posterior : bool, default=False
            Draw from the posterior under the method's own likelihood instead, by default with
            a uniform prior: binned scores or predicted classes with unknown rates (ACC, PACC,
            GAC, GPAC, DyS, HDy), or likelihoods of the items (SLD, KDEyML), raised to a power
            such that intervals cover 95% of the shares of simulated samples.
        replicates : int, default=4000
            Number of simulated samples; fewer if the sample has more than 5,000 items.
        random_state : int, RandomState, Generator or None, default=None
            Random seed; None takes the quantifier's own, if that is a number.

        Returns
        -------
        Estimate
            With ``prevalence`` by class, ``raw`` (the answer of `predict`), ``draws``, and
            ``interval(level)``, ``region(level)`` and ``counts(level)`` at any level; prints
            as a table. With labels a `LabelledEstimate`, which has ``agreement`` and
            ``under_shift`` besides.
        """
        return self.estimate_many(
            X,
            None,
            labelled=labelled,
            design=design,
            guarantee=guarantee,
            weights=weights,
            clusters=clusters,
            estimand=estimand,
            prior=prior,
            posterior=posterior,
            replicates=replicates,
            random_state=random_state,
        )[0]

    @documented(predict_many, estimate)
    def estimate_many(
        self,
        X: Any,
        samples: Any,
        *,
        labelled: Any = None,
        design: LabelPlan | None = None,
        guarantee: str = "approximate",
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        estimand: str = "realised",
        prior: Any = None,
        posterior: bool = False,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> list[Estimate]:
        """Estimate the shares in many samples of a pool, such as months or groups.

        The prior may also be "shared": it is then learnt from the samples themselves, if there
        are ten or more with at most 200 items in the median: sites or products that are alike.

        Parameters
        ----------
        labelled : pair of array-like, default=None
            Rows of the pool that have a label, and their labels. Each sample is estimated
            from the labels of its own items.
        design : LabelPlan, default=None
            Plan that the labelled rows were drawn by, with the samples as its groups. None
            for a simple random sample of the pool.

        Returns
        -------
        list of Estimate
            One per sample. Samples of similar size share their simulations.
        """
        check_is_fitted(self, "fitted_")
        return estimate_pool(
            self.fitted_,
            X,
            samples,
            EstimateOptions(estimand, prior, posterior, replicates, random_state),
            labelled=labelled,
            design=design,
            guarantee=guarantee,
            weights=weights,
            clusters=clusters,
        )


@documented(ShareEstimator)
class Quantifier(ShareEstimator):
    """Base of methods that estimate the shares of classes in samples of unlabelled items.

    A method is a subclass with an ``info`` and an ``_aggregation``. Posteriors, predicted
    labels or features are computed here, as ``info.input`` demands. A method with parameters
    of its own is a dataclass, as an `AggregativeQuantifier` is. A method made of others has
    ``_fit`` instead.

    Parameters
    ----------
    classifier : scikit-learn classifier, default=None
        Logistic regression by default.
    cv : int, splitter, list of splits or None, default=5
        Folds for scoring the training items. None saves the folds of methods that do not
        learn from scores, which then have no estimates with intervals.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds.
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

    def fit_scorer(self, scorer: Any) -> Self:
        """Learn from a fitted `Scorer`, so that many quantifiers share one scoring.

        Parameters
        ----------
        scorer : Scorer
            Fitted on labelled items; it also scores the items of later samples.

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
        self._source(np.empty(0)).check_takes_scores()
        if not isinstance(scorer, ItemScorer):
            raise HeadcountError(
                f"scorer is {scorer!r}; it must be a fitted Scorer: pass for instance "
                "Scorer(LogisticRegression()).fit(X, y)."
            )
        check_is_fitted(scorer)
        return self._keep(self._fit(scorer, None, None, None))

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

    @documented(ShareEstimator.estimate)
    def estimate_statistics(
        self,
        statistics: Any,
        *,
        by: str | None = None,
        estimand: str = "realised",
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> Estimates:
        """Estimate the shares in groups of items from their statistics.

        Parameters
        ----------
        statistics : Statistics, or frame of pandas, polars or pyarrow
            Statistics of the items, made with this quantifier. For two classes also the
            result of the query of ``headcount statistics sql``: one row per group and cell,
            with the columns cell, items and total.
        by : str, default=None
            Column of the groups in such a frame; by default the only other one.

        Returns
        -------
        Estimates
            Estimates by the name of the group, computed when they are read.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> import headcount as hc
        >>> X, y = make_classification(1000, class_sep=2, random_state=0)
        >>> q = hc.SLD(random_state=0).fit(X[:500], y[:500])
        >>> months = ["January"] * 300 + ["February"] * 200
        >>> statistics = hc.Statistics(q).update(X[500:], groups=months)
        >>> estimates = q.estimate_statistics(statistics)
        >>> list(estimates)
        ['February', 'January']
        >>> estimates["January"].n_items
        300

        Scores that a database has counted:

        >>> import polars as pl
        >>> q = hc.PACC().fit(hc.Scored([0.1, 0.3, 0.8, 0.9]), ["ham", "ham", "spam", "spam"])
        >>> cells = pl.DataFrame({"cell": [464, 559], "items": [60, 40], "total": [12.0, 32.0]})
        >>> q.estimate_statistics(cells).raw.round(2)
        array([[0.63, 0.37]])
        """
        check_is_fitted(self, "fitted_")
        options = EstimateOptions(
            estimand, prior, replicates=replicates, random_state=random_state
        )
        return estimate_groups(self.fitted_, statistics, by, options)

    @documented(ShareEstimator.estimate)
    def plan_labels(
        self,
        X: Any,
        *,
        precision: float | None = None,
        budget: int | None = None,
        positive: Any = None,
        groups: ArrayLike | None = None,
        strata: int = 5,
        estimand: str = "realised",
        level: float = 0.95,
        random_state: Any = None,
    ) -> LabelPlan:
        """Choose items to label, at random, so that few labels buy much precision.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool whose shares are wanted.
        precision : float, default=None
            Half the width that the widest interval should have, such as 0.01.
        budget : int, default=None
            Number of labels. Pass either precision or budget.
        positive : Any, default=None
            The only class whose share matters: precision is that of its interval, and labels
            serve it more than the others. All classes by default.
        groups : array-like of shape (n,), default=None
            Group of each item, such as its month. Precision and budget are then those of each
            group, and `estimate_many` can use the labels for the groups.
        strata : int, default=5
            Number of strata at most, in each group. Items that the scores leave uncertain are
            in strata that get more labels. 1 draws a simple random sample.
        estimand : {"realised", "expected"}, default="realised"
            Shares that the precision is for: those of the pool, or of its population.
        level : float, default=0.95
            Level of the intervals.

        Returns
        -------
        LabelPlan
            With ``rows`` to label and ``to_frame()``. Prints the precision that several
            budgets buy. Pass it to `estimate` as ``design``, with the labels.
        """
        check_is_fitted(self, "fitted_")
        options = PlanOptions(precision, budget, positive, strata, estimand, level)
        return plan_labels(self.fitted_, X, groups, options, random_state)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the training items, if they are a table."""
        check_is_fitted(self, "fitted_")
        return int(self.fitted_.column_fact("n_features_in_"))

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns of the training items, if they are a frame."""
        check_is_fitted(self, "fitted_")
        return np.asarray(self.fitted_.column_fact("feature_names_in_"))

    def __sklearn_tags__(self) -> Any:
        return with_input_of(
            self.get_params(deep=False).get("classifier"), super().__sklearn_tags__()
        )

    # What a method defines.

    def _aggregation(self) -> Aggregation:
        """Unfitted aggregation with checked parameters."""
        raise HeadcountError(
            f"{type(self).__name__} is not made of one classifier and what is done with its "
            "scores: it cannot be a part of another quantifier."
        )

    def _learns_from_scores(self) -> bool:
        """True if out-of-fold scores of the training items are needed."""
        return True

    def _takes(self) -> Input:
        """Kind of items that the method works on: see ``info.input``."""
        return self.info.input

    def _scorer(self) -> Any:
        """Unfitted scorer; None if there is no single classifier."""
        return Scorer(self.classifier, cv=self.cv, random_state=self.random_state)

    def _cv(self) -> Any:
        """The folds; None if training items are not scored without need."""
        return self.get_params().get("cv", 5)

    def _why_no_scores(self) -> str:
        """Reason why the quantifier takes no scores, for messages; empty if it takes them."""
        if self._takes() == "features":
            return "works on the features, not on a classifier's scores"
        return self.info.no_scores

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        """Fitted method, learnt from items, from `Scored` or `Verdicts`, or from a scorer."""
        training, source = self._labelled(X, y, sample_weight, groups)
        return self._learnt(training, source)

    # Steps of `_fit`.

    def _labelled(
        self, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[Training, ItemSource]:
        """Training items in the form that the method learns from, and their maker."""
        if isinstance(X, Scored | Verdicts):
            self._source(np.empty(0)).check_classified(X)
            classes, codes = check_labels(y, classes=X.classes)
            check_lengths("X", len(X), codes)
            source = self._source(classes)
            items = source.arranged(source.classified(X))
            return weighted_training(items, codes, classes, sample_weight), source
        if isinstance(X, ItemScorer):
            # A copy, so that fitting the scorer again does not change this quantifier.
            scorer: Any = copy(X)
        elif self._takes() == "features":
            training, classes = labelled_items(X, y, sample_weight)
            return training, self._source(classes)
        else:
            scorer = self._scorer()
            scorer.fit(
                X,
                y,
                sample_weight,
                groups=groups,
                out_of_fold=self._learns_from_scores() or self._cv() is not None,
                posteriors=self._takes() != "labels",
            )
        source = self._source(scorer.classes_, scorer)
        needed = self._learns_from_scores() or scorer.n_folds_ > 0
        items = source.arranged(source.out_of_fold() if needed else None)
        return Training(items, scorer.codes_, len(scorer.classes_), scorer.weights_), source

    def _source(self, classes: Array, scorer: Any = None) -> ItemSource:
        """Maker of the items that the model takes."""
        return ItemSource(
            method=type(self).__name__,
            takes=self._takes(),
            classes=classes,
            scorer=scorer,
            refusal=self._why_no_scores(),
            by_class=self._by_class(),
        )

    def _by_class(self) -> bool:
        """True if predicted classes are taken as one column per class."""
        return False

    def _noisy(self) -> bool:
        """True if training items are posteriors, which simulations move a little."""
        return self._takes() == "posteriors"

    def _learnt(self, training: Training, source: ItemSource) -> Fitted:
        """Fitted method whose aggregation has learnt from training items."""
        classes, scorer = source.classes, source.scorer
        if self.info.multiclass == "one-vs-rest" and len(classes) > 2:
            name = type(self).__name__
            raise HeadcountError(
                f"{name} works with two classes, but y has {len(classes)}: wrap it as "
                f"OneVsRest({name}())."
            )
        return self._made(
            source,
            self._aggregation().fit(training),
            training.prior,
            training,
            by_folds=self._predicts_by_folds(scorer),
        )

    def _predicts_by_folds(self, scorer: Any) -> bool:
        """True if the classifiers of the folds score the items of `predict`."""
        scores_by_folds = scorer is None or scorer.fold_scoring
        return scores_by_folds and self.info.scoring == "folds" and self._learns_from_scores()

    def _made(
        self,
        source: ItemSource,
        model: Model,
        prior: Floats,
        training: Training | None,
        **more: Any,
    ) -> Fitted:
        """`Fitted` with the facts about this quantifier."""
        made_elsewhere = (
            training is not None
            and source.scorer is None
            and source.takes != "features"
            and training.are_posteriors
        )
        facts = {
            "noisy": self._noisy(),
            "tested": training if made_elsewhere else None,
            "likelihood": self.posterior_kind,
        }
        return Fitted(
            method=type(self).__name__,
            info=self.info,
            settings=self.get_params(deep=False),
            classes=source.classes,
            prior=prior,
            source=source,
            model=model,
            training=training,
            **facts | more,
        )


@dataclass(frozen=True, eq=False)
class ScoringPlan:
    """Scoring that an unfitted quantifier plans, so that several can share a classifier."""

    quantifier: Quantifier

    @property
    def takes(self) -> Input:
        """Kind of items that the method works on."""
        return self.quantifier._takes()

    @property
    def takes_scores(self) -> bool:
        """True if `fit` accepts `Scored`; a method on features does not."""
        return not self.quantifier._why_no_scores()

    @property
    def learns(self) -> bool:
        """True if `fit` needs out-of-fold scores of the training items."""
        return self.quantifier._learns_from_scores()

    def scorer(self) -> Any:
        """Scorer that `fit` trains; None if the items are not scored by one classifier."""
        return None if self.takes == "features" else self.quantifier._scorer()


_Method = TypeVar("_Method", bound=type[Quantifier])
_TWO_CLASSES = """\
>>> from sklearn.datasets import make_classification
>>> from {home} import {name}
>>> X, y = make_classification(400, random_state=0)
>>> {name}({seed}).fit(X[:200], y[:200]).predict(X[200:]).round(1)
array([0.5, 0.5])"""
_THREE_CLASSES = """\
>>> from sklearn.datasets import load_iris
>>> from {home} import {name}
>>> X, y = load_iris(return_X_y=True)
>>> {name}({seed}).fit(X[::2], y[::2]).predict(X[75:125]).round(1)
array([0. , 0.5, 0.5])"""


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def quantifier_class(cls: _Method) -> _Method:
    """Make a method of a class: see `parametrised`; the docstring gets an example as well."""
    example = _TWO_CLASSES if cls.info.multiclass == "one-vs-rest" else _THREE_CLASSES
    return with_example(parametrised(cls), example)


@dataclass(eq=False, repr=False)
class AggregativeQuantifier(Quantifier):
    """Base of methods on top of a classifier whose own parameters are fields of a dataclass."""

    classifier: Any = None
    _: KW_ONLY
    cv: Any = 5
    random_state: Any = None


def with_input_of(classifier: Any, tags: Any) -> Any:
    """Tags of an estimator that accepts what its classifier does; None is the default one."""
    tags.input_tags.sparse = True
    if hasattr(classifier, "__sklearn_tags__"):
        tags.input_tags = get_tags(classifier).input_tags
    return tags


def is_simple(quantifier: Any) -> bool:
    """True if a quantifier has one classifier and an aggregation, to build others on."""
    if not isinstance(quantifier, Quantifier):
        return False
    return type(quantifier)._aggregation is not Quantifier._aggregation


def labelled_items(
    X: Any,
    y: ArrayLike,
    sample_weight: Any,
    *,
    allow_nan: bool = False,
    any_shape: bool = False,
) -> tuple[Training, Array]:
    """Labelled items as they came, checked, and the classes."""
    X = check_features(X, allow_nan=allow_nan, any_shape=any_shape)
    classes, codes = check_labels(y)
    check_lengths("X", count_rows(X), codes)
    return weighted_training(X, codes, classes, sample_weight), classes


def weighted_training(items: Any, codes: Ints, classes: Array, sample_weight: Any) -> Training:
    """Training items with checked weights."""
    weights = check_weights(sample_weight, len(codes), name="sample_weight")
    class_shares(codes, weights, classes)
    return Training(items, codes, len(classes), None if sample_weight is None else weights)


_Seeded = TypeVar("_Seeded", Quantifier, Scorer)


def seeded(estimator: _Seeded, seed: int) -> _Seeded:
    """Copy of the estimator in which every `random_state` of None is replaced by a seed."""
    copied: Any = clone(estimator)
    unset = [
        name
        for name, value in copied.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    ]
    # scikit-learn takes seeds below 2**32.
    return copied.set_params(**dict.fromkeys(unset, seed % 2**32))


@parametrised
class WithSmoothness(AggregativeQuantifier):
    """Base of methods that can expect smooth shares along ordered classes.

    Parameters
    ----------
    smoothness : float, default=0.0
        For ordered classes, in the order of ``classes_``: smoothness/2 times the sum of
        (p_{j-1} - 2 p_j + p_{j+1})^2 is added to what is minimised.
    """

    smoothness: float = 0.0

    def _checked_smoothness(self) -> float:
        return check_not_negative("smoothness", self.smoothness)
