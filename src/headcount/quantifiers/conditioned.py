"""Shares conditioned on the answers of quantifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from headcount._support.arrays import Floats, Ints
from headcount._support.documentation import documented
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_flag
from headcount.errors import HeadcountError
from headcount.estimates.conditioning import Prior, ShareConditioning
from headcount.estimates.estimation import EstimateOptions, conditioning
from headcount.items.arrays import Scored, Verdicts, check_features
from headcount.parts.aggregation import Model
from headcount.parts.fitted import Fitted, Input, MemberItems, MethodInfo, PoolSamples
from headcount.parts.solvers import Solution
from headcount.parts.training import Reduced, Reduction, Training
from headcount.quantifiers.adjusted import GPAC
from headcount.quantifiers.base import Quantifier, ScoringPlan, seeded
from headcount.quantifiers.kernels import KDEyML
from headcount.quantifiers.likelihood import SLD
from headcount.quantifiers.ordinal import OrdinalPACC
from headcount.samples.samples import Samples
from headcount.scores.scorer import ItemScorer, ScoredPool, equal_scorers


@documented(Quantifier.estimate)
@dataclass(eq=False, repr=False)
class Conditioned(Quantifier):
    """Shares that lead to the answers of one or several quantifiers.

    Samples with known shares are simulated from the training items, and the quantifiers
    answer to each of them. The shares that lead to similar answers as those for a new sample
    are a better estimate than the answers themselves: bias is removed, and answers of several
    quantifiers are combined by what they are worth. Of these shares, those with the least
    expected absolute error are returned; `evaluate` and `GridSearch` ask for those that are
    best for their metric. `estimate` of any quantifier returns the same with intervals; this
    class is for `evaluate`, `GridSearch` and studies, and for several quantifiers together.

    Parameters
    ----------
    quantifier : Quantifier or sequence of Quantifier, default=None
        By default maximum likelihood with and without calibration, and adjusted probabilistic
        counts: ``[SLD(), SLD(calibration=None), GPAC()]``. Quantifiers with
        equal classifiers share their scores; those with different ones are combined, too. The
        first counts for more than others that err as much in simulated samples.
    replicates : int, default=4000
        Number of simulated samples for each sample size.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the simulations, and of quantifiers that have none.

    Attributes
    ----------
    members_ : list of Quantifier
        The fitted quantifiers.

    References
    ----------
    Beaumont, Zhang & Balding, Genetics 162 (2002), for the regression adjustment.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from headcount import Conditioned, GPAC
    >>> X, y = load_iris(return_X_y=True)
    >>> quantifier = Conditioned(GPAC(), random_state=0).fit(X[::2], y[::2])
    >>> quantifier.predict(X[75:125]).round(1)
    array([0. , 0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="shares given the answers of quantifiers",
        family="meta",
        input="any",
        reference="headcount",
        inconsistency="means over simulated samples",
        depends_on_size=True,
        resamples=True,
    )

    quantifier: Quantifier | Sequence[Quantifier] | None = None
    _: KW_ONLY
    prior: Any = None
    replicates: int = 4000
    random_state: Any = None

    def _given(self) -> Sequence[Any]:
        """The quantifiers as the user gave them."""
        quantifiers: Any = self.quantifier
        if quantifiers is None:
            return [SLD(), SLD(calibration=None), GPAC()]
        return quantifiers if isinstance(quantifiers, list | tuple) else [quantifiers]

    def _unfitted(self) -> list[Quantifier]:
        quantifiers = self._given()
        if not quantifiers or not all(
            isinstance(quantifier, Quantifier) for quantifier in quantifiers
        ):
            raise HeadcountError(
                f"quantifier is {quantifiers!r}; it must be a quantifier or a list of "
                "quantifiers, such as [SLD(), GPAC()]."
            )
        seed = base_seeds(self.random_state, 1)[0]
        return [seeded(clone(quantifier), seed) for quantifier in quantifiers]

    def _takes(self) -> Input:
        inputs = {
            quantifier._takes()
            for quantifier in self._given()
            if isinstance(quantifier, Quantifier)
        }
        return inputs.pop() if len(inputs) == 1 else "posteriors"

    def _why_no_scores(self) -> str:
        for quantifier in self._given():
            reason = quantifier._why_no_scores() if isinstance(quantifier, Quantifier) else ""
            if reason:
                return f"has {type(quantifier).__name__}, which {reason}"
        return ""

    def _scorer(self) -> Any:
        """The scorer of all members; None if they have different ones."""
        scorers = [ScoringPlan(member).scorer() for member in self._unfitted()]
        return scorers[0] if len(equal_scorers(scorers)) == 1 else None

    def _share_prior(self, prior: Floats) -> Any:
        """Prior distribution of the shares, given those of the training set."""
        return self.prior

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        if isinstance(X, Scored | Verdicts):
            self._source(np.empty(0)).check_classified(X)
        members = self._fit_members(X, y, sample_weight, groups)
        fitted = self._combined([member.fitted_ for member in members])
        self.members_ = members
        return fitted

    def _fit_members(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[Quantifier]:
        """The quantifiers, those with equal classifiers fitted on shared scores."""
        members = self._unfitted()
        if isinstance(X, Scored | Verdicts):
            return [member.fit(X, y, sample_weight) for member in members]
        if isinstance(X, ItemScorer):
            return [member.fit_scorer(X) for member in members]
        scorers = [ScoringPlan(member).scorer() for member in members]
        for places in equal_scorers(scorers):
            scorer = scorers[places[0]]
            if scorer is not None:
                scorer.fit(X, y, sample_weight, groups=groups)
            for i in places:
                if scorer is None:
                    members[i].fit(X, y, sample_weight, groups)
                else:
                    members[i].fit_scorer(scorer)
        return members

    def _combined(self, members: Sequence[Fitted]) -> Fitted:
        """The members as one method, whose answers are conditioned on theirs."""
        first = members[0]
        training_sets = [member.simulation_items() for member in members]
        items: Any = [training.items for training in training_sets]
        joint = _Joint(
            members,
            [
                member.model.cross_fitted(training)
                for member, training in zip(members, training_sets, strict=True)
            ],
        )
        noisy = [member.noisy for member in members]
        source = _SharedPool(
            method=type(self).__name__,
            takes=self._takes(),
            classes=first.classes,
            # The first of several scorers: what the assumption is tested on.
            scorer=first.scorer,
            refusal=self._why_no_scores(),
            members=members,
        )
        tested = [member.tested for member in members if member.tested is not None]
        fitted = self._made(
            source,
            joint,
            first.prior,
            replace(training_sets[0], items=items),
            noisy=noisy if any(noisy) else False,
            tested=tested[0] if tested else None,
            share_prior=self._share_prior(first.prior),
        )
        options = EstimateOptions(
            prior=self.prior, replicates=self.replicates, random_state=self.random_state
        )
        shares = conditioning(fitted, joint, options)
        return replace(fitted, model=_Points(joint, shares), conditioning=shares)


@dataclass(frozen=True, eq=False)
class _SharedPool(MemberItems):
    """A pool that keeps its scores, so that members with equal classifiers share them."""

    def items(self, X: Any, *, by_folds: bool) -> Any:
        """The pool itself: each member takes its items from it."""
        if isinstance(X, Scored | Verdicts):
            self._check_one_classifier()
        if isinstance(X, ScoredPool | Scored | Verdicts):
            return X
        return ScoredPool(check_features(X, allow_nan=True, any_shape=True))

    def _check_one_classifier(self) -> None:
        scorers = [member.scorer for member in self.members if member.scorer is not None]
        # Members that share a scorer have copies of it, with the same classifiers.
        if len({id(scorer.judge_) for scorer in scorers}) > 1:
            raise HeadcountError(
                f"{self.method} was fitted with several classifiers, and X holds what "
                "one of them returned: pass the items themselves."
            )


@dataclass(frozen=True, eq=False)
class _Joint(Model):
    """Answers of several quantifiers in a row."""

    members: Sequence[Fitted]
    models: Sequence[Model]

    @property
    def copies_only(self) -> bool:
        return any(model.copies_only for model in self.models)

    def solve(self, items: Any, samples: Samples) -> Solution:
        pool = PoolSamples(items, samples)
        return _in_a_row(
            [
                member.answer(pool, model, by_folds=member.source.has_folds)
                for member, model in zip(self.members, self.models, strict=True)
            ]
        )

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        items: Any = training.items
        return _in_a_row(
            [
                model.solve_training(replace(training, items=scores), samples)
                for model, scores in zip(self.models, items, strict=True)
            ]
        )

    def reduction(self) -> tuple[Reduction, ...] | None:
        by_model = [model.reduction() for model in self.models]
        reductions = [of_model for of_model in by_model if of_model is not None]
        if len(reductions) < len(by_model):
            return None
        return tuple(chain.from_iterable(reductions))

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        answers, first = [], 0
        for model in self.models:
            stop = first + len(model.reduction() or ())
            answers.append(model.solve_reduced(reduced[first:stop], sizes))
            first = stop
        return _in_a_row(answers)


def _in_a_row(answers: Sequence[Solution]) -> Solution:
    return Solution.combined(np.hstack([answer.prevalence for answer in answers]), answers)


@dataclass(frozen=True, eq=False)
class _Points(Model):
    """Shares with the least expected error by a metric, given the answers of a model."""

    answers: _Joint
    shares: ShareConditioning
    metric: str = "ae"

    def solve(self, items: Any, samples: Samples) -> Solution:
        solution = self.answers.solve(items, samples)
        return self._given(solution, samples.n_items)

    def for_metric(self, metric: str) -> Model:
        return self if metric == self.metric else replace(self, metric=metric)

    def _given(self, solution: Solution, sizes: Ints) -> Solution:
        points = self.shares.points(solution.prevalence, sizes, self.metric)
        return replace(solution, prevalence=points)

    def cross_fitted(self, training: Training) -> Model:
        return self.answers

    def reduction(self) -> tuple[Reduction, ...] | None:
        return self.answers.reduction()

    def solve_reduced(self, reduced: Reduced, sizes: Ints) -> Solution:
        return self._given(self.answers.solve_reduced(reduced, sizes), sizes)


# Simulated samples that errors are reported for, and their items at most.
_TRIALS, _LARGEST_TRIAL = 200, 20_000


@documented(Conditioned, Quantifier)
@dataclass(eq=False, repr=False)
class AutoQuantifier(Conditioned):
    """Strong methods over one or several classifiers, combined by conditioning.

    Maximum likelihood, adjusted probabilistic counts and kernel densities answer to samples
    simulated from the training set. The shares are averages of those that fit the answer of
    each of them, and all of their answers together, weighted by their errors in similar
    samples: see `Conditioned`. Each classifier is cross-fitted once.

    Parameters
    ----------
    classifier : scikit-learn classifier, or sequence of them, default=None
        Logistic regression by default. Of several classifiers, all answers count.
    ordered : bool, default=False
        True if the classes are ordered, such as grades. Then the count of `OrdinalPACC` is
        combined with the others, and half of the simulated samples have shares like those of
        training, moved up or down along the classes or concentrated, much or little.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the folds and the simulations.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import headcount as hc
    >>> X, y = make_classification(600, random_state=0)
    >>> q = hc.AutoQuantifier(random_state=0).fit(X[:400], y[:400])
    >>> q.predict(X[400:]).round(1)
    array([0.5, 0.5])
    >>> print(q.explain())
    SLD, GPAC and KDEyML combined. Mean absolute error in simulated samples of ...
    """

    info: ClassVar = MethodInfo(
        title="strong methods combined by conditioning",
        family="meta",
        reference="headcount",
        inconsistency="means over simulated samples",
        depends_on_size=True,
        resamples=True,
        aliases=("auto",),
    )

    quantifier: Any = field(init=False)  # several, made of the classifiers
    classifier: Any = None
    _: KW_ONLY
    cv: Any = 5
    ordered: bool = False

    def _given(self) -> Sequence[Quantifier]:
        several = isinstance(self.classifier, list | tuple)
        classifiers: Any = self.classifier if several else [self.classifier]
        if not classifiers:
            raise HeadcountError(
                "classifier is an empty list; it must be a scikit-learn classifier, or a list "
                "with at least one."
            )
        ordered = check_flag("ordered", self.ordered)
        return [
            method
            for classifier in classifiers
            for method in (
                SLD(classifier, cv=self.cv),
                GPAC(classifier, cv=self.cv),
                KDEyML(classifier, cv=self.cv),
                *((OrdinalPACC(classifier, cv=self.cv),) if ordered else ()),
            )
        ]

    def _share_prior(self, prior: Floats) -> Any:
        if self.prior is not None or not self.ordered:
            return self.prior
        return ordered_shares(prior)

    def _unfitted(self) -> list[Quantifier]:
        # Nothing but the folds is seeded: classifiers are used as they are.
        folds = self.random_state
        if folds is None:
            folds = base_seeds(None, 1)[0] % 2**32
        return [clone(method.set_params(random_state=folds)) for method in self._given()]

    def _takes(self) -> Input:
        return "posteriors"

    @documented(Quantifier.explain)
    def explain(self, size: int = 500) -> str:
        """Methods that are combined, and their errors in simulated samples."""
        check_is_fitted(self, "fitted_")
        model: Any = self.fitted_.model
        size = min(size, _LARGEST_TRIAL)
        items, trials = model.shares.trials(_TRIALS, size, model.shares.prior)
        answers = model.answers.solve_training(items, trials.samples).prevalence
        combined = model.shares.points(answers, np.full(len(answers), size))
        counted = trials.samples.prevalence_of(
            items.items[0].argmax(axis=1), len(self.classes_)
        )
        names = [type(member).__name__ for member in self.members_]
        alone = np.split(answers, len(names), axis=1)
        errors = ", ".join(
            f"{name} {_error(shares, trials.shares)}"
            for name, shares in zip(names, alone, strict=True)
        )
        listed = " and ".join([", ".join(names[:-1]), names[-1]])
        ordered = " for ordered classes" if self.ordered else ""
        return (
            f"{listed} combined{ordered}. Mean absolute error in simulated samples of "
            f"{size:,} items: {_error(combined, trials.shares)} combined; alone {errors}; "
            f"classify and count {_error(counted, trials.shares)}."
        )


def ordered_shares(training: Floats, n: int = 4000) -> Floats:
    """Shares of ordered classes that are thought possible, as a prior.

    Half are the default of `estimate`. For the others, the classes are intervals of a normal
    variable with the training shares, whose mean and standard deviation change: by as much as
    between the lowest and the highest grades, or hardly at all.

    >>> import numpy as np
    >>> ordered_shares(np.array([0.2, 0.5, 0.3])).shape
    (4000, 3)
    """
    rng = np.random.default_rng(0)
    cuts = norm.ppf(np.clip(np.cumsum(training)[:-1], 1e-6, 1 - 1e-6))
    half = n // 2
    # From hardly any change to a great one.
    degree = rng.uniform(0.05, 1.2, (half, 1))
    moved = degree * rng.normal(size=(half, 1))
    scale = np.exp(0.35 * degree * rng.normal(size=(half, 1)))
    below = norm.cdf((cuts - moved) / scale)
    ends = [np.zeros((half, 1)), below, np.ones((half, 1))]
    smooth = np.diff(np.concatenate(ends, axis=1), axis=1)
    # Single classes differ by a little.
    noisy = rng.standard_gamma(200 * smooth + 0.05)
    noisy /= noisy.sum(axis=1, keepdims=True)
    return np.concatenate([Prior().draw(n - half, training, rng), noisy])


def _error(shares: Any, true: Any) -> str:
    return f"{np.abs(shares - true).mean():.4f}"
