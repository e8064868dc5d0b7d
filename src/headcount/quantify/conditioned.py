"""Shares conditioned on the answers of quantifiers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount.data import check_features
from headcount.errors import HeadcountError
from headcount.quantify.adjusted import GPAC
from headcount.quantify.aggregation import Model
from headcount.quantify.base import Quantifier, ScoringPlan, seeded
from headcount.quantify.estimation import EstimateOptions, conditioning
from headcount.quantify.fitted import Fitted, MemberItems, PoolSamples
from headcount.quantify.info import Input, MethodInfo
from headcount.quantify.likelihood import SLD
from headcount.representation import Reduced, Reduction, Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.scores import ItemScorer, Scored, ScoredPool, Verdicts, equal_scorers
from headcount.solve import Solution
from headcount.uncertainty import ShareConditioning

__all__ = ["Conditioned"]


class Conditioned(Quantifier):
    """Mean of the shares that lead to the answers of one or several quantifiers.

    Samples with known shares are simulated from the training items, and the quantifiers
    answer to each of them. The mean of the shares that lead to similar answers as those for
    a new sample is a better estimate than the answers themselves: bias is removed, and
    answers of several quantifiers are combined by what they are worth. `estimate` of any
    quantifier returns this mean with intervals; this class is for `evaluate`, `GridSearch`
    and studies, and for several quantifiers together.

    Parameters
    ----------
    quantifier : Quantifier or sequence of Quantifier, default=None
        By default maximum likelihood with and without calibration, and adjusted probabilistic
        counts: ``[SLD(calibration="bcts"), SLD(), GPAC()]``. Quantifiers with equal
        classifiers share their scores; those with different classifiers are combined, too.
    prior : None, float, array-like of shape (K,) or (M, K), default=None
        Prior distribution of the shares, as for `estimate`.
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

    def __init__(
        self,
        quantifier: Quantifier | Sequence[Quantifier] | None = None,
        *,
        prior: Any = None,
        replicates: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.quantifier = quantifier
        self.prior = prior
        self.replicates = replicates
        self.random_state = random_state

    def _given(self) -> Sequence[Any]:
        """The quantifiers as the user gave them."""
        quantifiers: Any = self.quantifier
        if quantifiers is None:
            return [SLD(calibration="bcts"), SLD(), GPAC()]
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

    def _share_prior(self, prior: NDArray[np.float64]) -> Any:
        """Prior distribution of the shares, given those of the training set."""
        return self.prior

    def _while_fitting(self) -> AbstractContextManager[None]:
        """Context in which the members are fitted."""
        return nullcontext()

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        if isinstance(X, Scored | Verdicts):
            self._source(np.empty(0)).check_classified(X)
        with self._while_fitting():
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
        return replace(fitted, model=_Means(joint, shares), conditioning=shares)


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

    def solve_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Solution:
        answers, first = [], 0
        for model in self.models:
            stop = first + len(model.reduction() or ())
            answers.append(model.solve_reduced(reduced[first:stop], sizes))
            first = stop
        return _in_a_row(answers)


def _in_a_row(answers: Sequence[Solution]) -> Solution:
    return Solution(
        np.concatenate([answer.prevalence for answer in answers], axis=1),
        np.all([answer.converged for answer in answers], axis=0),
        np.max([answer.iterations for answer in answers], axis=0),
        np.mean([answer.objective for answer in answers], axis=0),
    )


@dataclass(frozen=True, eq=False)
class _Means(Model):
    """Mean shares given the answers of a model."""

    answers: _Joint
    shares: ShareConditioning

    def solve(self, items: Any, samples: Samples) -> Solution:
        solution = self.answers.solve(items, samples)
        means = self.shares.means(solution.prevalence, samples.n_items)
        return replace(solution, prevalence=means)

    def cross_fitted(self, training: Training) -> Model:
        return self.answers

    def reduction(self) -> tuple[Reduction, ...] | None:
        return self.answers.reduction()

    def solve_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Solution:
        solution = self.answers.solve_reduced(reduced, sizes)
        return replace(solution, prevalence=self.shares.means(solution.prevalence, sizes))
