"""Shares conditioned on the answers of quantifiers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from headcount._random import base_seeds
from headcount.data import check_features, count_rows
from headcount.errors import HeadcountError
from headcount.quantify.adjusted import GPAC
from headcount.quantify.aggregation import Model
from headcount.quantify.base import Quantifier
from headcount.quantify.estimation import conditioning
from headcount.quantify.info import Input, MethodInfo
from headcount.quantify.likelihood import SLD
from headcount.quantify.seeds import seeded
from headcount.quantify.statistics_parts import ScoredItems
from headcount.representation import Reduced, Reduction, Training
from headcount.sampling import Samples
from headcount.scores import Scored, ScoredPool, Verdicts, equal_scorers
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

    model_: _Means

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
        given: Any = self.quantifier
        if given is None:
            return [SLD(calibration="bcts"), SLD(), GPAC()]
        return given if isinstance(given, list | tuple) else [given]

    def _unfitted(self) -> list[Quantifier]:
        given = self._given()
        if not given or not all(isinstance(each, Quantifier) for each in given):
            raise HeadcountError(
                f"quantifier is {given!r}; it must be a quantifier or a list of quantifiers, "
                "such as [SLD(), GPAC()]."
            )
        seed = base_seeds(self.random_state, 1)[0]
        return [seeded(clone(each), seed) for each in given]

    @property
    def takes(self) -> Input:
        """Kind of items that the quantifier inside works on."""
        inputs = {each.takes for each in self._given() if isinstance(each, Quantifier)}
        return inputs.pop() if len(inputs) == 1 else "posteriors"

    def _why_no_scores(self) -> str:
        for each in self._given():
            reason = each._why_no_scores() if isinstance(each, Quantifier) else ""
            if reason:
                return f"has {type(each).__name__}, which {reason}"
        return ""

    def _scorer(self) -> Any:
        """The scorer of all members; None if they have different ones."""
        scorers = [each.unfitted_scorer() for each in self._unfitted()]
        return scorers[0] if len(equal_scorers(scorers)) == 1 else None

    def _prior(self) -> Any:
        return self.prior

    def _training_posteriors(self) -> Training | None:
        found = (member._training_posteriors() for member in self.members_)
        return next((training for training in found if training is not None), None)

    def _known_conditioning(self) -> ShareConditioning | None:
        model: Any = self.model_
        # While it is fitted, the model has no simulations yet.
        return model.shares if isinstance(model, _Means) else None

    def _items_are_posteriors(self) -> bool | list[Any]:
        each = [member._items_are_posteriors() for member in self.members_]
        return each if any(each) else False

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the quantifiers, those with equal classifiers on shared scores.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            Items, as the classifiers take them, or classified elsewhere.
        y : array-like of shape (n,)
            Labels of the items, of any kind.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items.
        groups : array-like of shape (n,), default=None
            Groups of the items, for cross-fitting: handed to the splitter ``cv``. With a
            number of folds, no group is divided.

        Returns
        -------
        Conditioned
            This quantifier, fitted.
        """
        if isinstance(X, Scored | Verdicts):
            return self._fit_classified(X, y, sample_weight)
        members = self._unfitted()
        scorers = [member.unfitted_scorer() for member in members]
        with self._while_fitting():
            for group in equal_scorers(scorers):
                scorer = scorers[group[0]]
                if scorer is not None:
                    scorer.fit(X, y, sample_weight, groups=groups)
                for i in group:
                    if scorer is None:
                        members[i].fit(X, y, sample_weight, groups)
                    else:
                        members[i].fit_scorer(scorer)
        return self._gather(members)

    def _fit_classified(self, X: Scored | Verdicts, y: ArrayLike, sample_weight: Any) -> Self:
        self._check_classified(X)
        with self._while_fitting():
            members = [member.fit(X, y, sample_weight) for member in self._unfitted()]
        return self._gather(members)

    def fit_scorer(self, scorer: Any) -> Self:
        """Fit all quantifiers on the scores of one scorer.

        Parameters
        ----------
        scorer : Scorer
            Fitted on labelled items.

        Returns
        -------
        Conditioned
            This quantifier, fitted.
        """
        self._check_takes_scores()
        with self._while_fitting():
            members = [member.fit_scorer(scorer) for member in self._unfitted()]
        return self._gather(members)

    def _while_fitting(self) -> AbstractContextManager[None]:
        """Context in which the members are fitted."""
        return nullcontext()

    def _gather(self, members: list[Quantifier]) -> Self:
        first = members[0]
        parts = [member._simulation_items() for member in members]
        items: Any = [part.items for part in parts]
        training = replace(parts[0], items=items)
        joint = _Joint(
            members,
            [
                member.model_.cross_fitted(part)
                for member, part in zip(members, parts, strict=True)
            ],
        )
        # On a copy first: a fit that fails leaves this quantifier as it was.
        fitted = copy(self)
        fitted.members_ = members
        # The first of several scorers: what the assumption is tested on.
        fitted._keep(joint, first.classes_, first.prior_, first.scorer_, training)
        shares = conditioning(fitted, joint, self.prior, self.replicates, self.random_state)
        fitted.model_ = _Means(joint, shares)
        self.__dict__.update(fitted.__dict__)
        return self

    def items_of(self, X: Any, *, by_folds: bool | None = None) -> Any:
        """The pool itself, checked: each member takes its items from it.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.
        by_folds : bool, default=None
            No effect: the members decide.

        Returns
        -------
        ScoredPool, Scored or Verdicts
        """
        if isinstance(X, Scored | Verdicts):
            self._check_one_classifier()
        if isinstance(X, ScoredPool | Scored | Verdicts):
            return X
        return ScoredPool(check_features(X, allow_nan=True, any_shape=True))

    def _check_one_classifier(self) -> None:
        scorers = [member.scorer_ for member in self.members_ if member.scorer_ is not None]
        # Members that share a scorer have copies of it, with the same classifiers.
        if len({id(scorer.judge_) for scorer in scorers}) > 1:
            raise HeadcountError(
                f"{type(self).__name__} was fitted with several classifiers, and X holds what "
                "one of them returned: pass the items themselves."
            )

    @property
    def scores_by_folds(self) -> bool:
        """True if the classifiers of the folds score the items of estimates."""
        return False  # each member does

    def statistics_sources(self, by_folds: bool) -> list[ScoredItems]:
        """Makers of the items of the members.

        Parameters
        ----------
        by_folds : bool
            No effect: the members decide.

        Returns
        -------
        list of ScoredItems
        """
        return [
            source
            for member in self.members_
            for source in member.statistics_sources(member.scores_by_folds)
        ]


@dataclass(frozen=True, eq=False)
class _Joint(Model):
    """Answers of several quantifiers in a row."""

    members: Sequence[Quantifier]
    models: Sequence[Model]

    def solve(self, items: Any, samples: Samples) -> Solution:
        answers = []
        for member, model in zip(self.members, self.models, strict=True):
            own = member.items_of(items, by_folds=member.scores_by_folds)
            answers.append(model.solve(own, samples.over(count_rows(own))))
        return _in_a_row(answers)

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        items: Any = training.items
        return _in_a_row(
            [
                model.solve_training(replace(training, items=own), samples)
                for model, own in zip(self.models, items, strict=True)
            ]
        )

    def reduction(self) -> tuple[Reduction, ...] | None:
        each = [model.reduction() for model in self.models]
        known = [reductions for reductions in each if reductions is not None]
        if len(known) < len(each):
            return None
        return tuple(reduction for reductions in known for reduction in reductions)

    def solve_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Solution:
        answers, first = [], 0
        for model in self.models:
            stop = first + len(model.reduction() or ())
            answers.append(model.solve_reduced(reduced[first:stop], sizes))
            first = stop
        return _in_a_row(answers)


def _in_a_row(answers: Sequence[Solution]) -> Solution:
    return Solution(
        np.concatenate([each.prevalence for each in answers], axis=1),
        np.all([each.converged for each in answers], axis=0),
        np.max([each.iterations for each in answers], axis=0),
        np.mean([each.objective for each in answers], axis=0),
    )


@dataclass(frozen=True, eq=False)
class _Means(Model):
    """Mean shares given the answers of a model."""

    answers: _Joint
    shares: ShareConditioning

    def solve(self, items: Any, samples: Samples) -> Solution:
        found = self.answers.solve(items, samples)
        means = self.shares.means(found.prevalence, samples.n_items)
        return replace(found, prevalence=means)

    def cross_fitted(self, training: Training) -> Model:
        return self.answers

    def reduction(self) -> tuple[Reduction, ...] | None:
        return self.answers.reduction()

    def solve_reduced(self, reduced: Reduced, sizes: NDArray[np.int64]) -> Solution:
        found = self.answers.solve_reduced(reduced, sizes)
        return replace(found, prevalence=self.shares.means(found.prevalence, sizes))
