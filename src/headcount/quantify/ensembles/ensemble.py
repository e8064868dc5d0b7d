"""Copies of one quantifier, each trained on a sample with different shares of the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.parallel import Parallel, delayed

from headcount import metrics
from headcount._parameters import check_choice, check_count
from headcount.data import count_rows
from headcount.errors import HeadcountError
from headcount.quantify.adjusted import PACC
from headcount.quantify.base import Quantifier, is_simple, labelled_items, seeded
from headcount.quantify.ensembles.committee import (
    Committee,
    check_jobs,
    check_keep,
    combined,
    number_kept,
)
from headcount.quantify.ensembles.member_training import (
    BY_ERROR,
    WITHOUT_SCORES,
    MemberSamples,
    MemberTraining,
    histograms,
    scores_by_member,
)
from headcount.quantify.fitted import Fitted, ItemSource, MemberItems
from headcount.quantify.info import Input, MethodInfo
from headcount.quantify.one_vs_rest import base_scorer
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.scores import ItemScorer, Scored, Verdicts
from headcount.scores.checks import check_lengths
from headcount.scores.outputs import allows_nan
from headcount.solve import Solution

__all__ = ["Ensemble"]

_POLICIES = ("all", "ptr", "ds", "ae", "rae")
_BATCH_SAMPLES = 4096


class Ensemble(Quantifier):
    """Copies of one quantifier, each trained on a sample with different shares of the classes.

    The shares of the samples are uniform on the simplex, but every sample has at least five
    items of each class (fewer only if samples are smaller than that). No item is taken twice
    as long as its class has enough items. Beyond that, all items of the class are taken
    equally often.

    The rates and score distributions of the classes are learnt from items that a member's
    classifier was not trained on, weighted so that the classes have the shares of its
    sample: see ``scoring``. If scores were made elsewhere or by a classifier in a
    ``FrozenEstimator``, or if the quantifier works on features, members train no classifiers
    and learn from their samples only.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        Quantifier that the members are copies of, `PACC` by default.
    n_members : int, default=50
        Number of members.
    size : int or None, default=None
        Items in each sample. None is the number of training items, but at most 1,000 and at
        least five per class.
    scoring : {"folds", "left-out"}, default="folds"
        "folds" cross-fits each member on the folds of the quantifier's ``cv``, with all copies
        of an item in one fold; items outside the sample are scored by its classifier.
        "left-out" draws each sample from a random half of every class and scores the items
        outside of it: with five folds, a sixth of the training time, and slightly less
        accurate if there are few items.
    policy : {"all", "ptr", "ds", "ae", "rae"}, default="all"
        Members to use. "all" uses all of them. "ptr" uses those whose training shares are
        nearest to the mean estimate of all, and "ds" those whose distribution of scores in
        training is nearest to that of the sample; both choose for each sample. "ae" and "rae"
        use those with the smallest mean absolute or relative error on the samples of the
        other members, chosen once.
    keep : float, default=0.5
        Share of the members that a policy other than "all" chooses.
    combine : {"mean", "median"}, default="mean"
        Rule that combines their estimates; medians are taken for each class and divided by
        their sum.
    n_jobs : int or None, default=None
        Number of processes to train in; None is one, -1 as many as there are cores. Results
        do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of samples and folds, and of quantifiers and classifiers that have none.

    Attributes
    ----------
    members_ : list of Quantifier
        The fitted members.
    samples_ : Samples
        The training items of each.
    errors_ : ndarray of shape (n_members,) or None
        Their mean errors, if the policy needs them.

    Notes
    -----
    For "ds", scores are counted in ten bins of equal width for each class and compared by
    Hellinger distance. Predicted classes, for quantifiers that count them, are compared by
    their frequencies. Quantifiers on features have neither. For "ptr", shares are compared
    by absolute error.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import Ensemble, PACC
    >>> X, y = make_classification(400, random_state=0)
    >>> ensemble = Ensemble(PACC(), n_members=10, policy="ptr", random_state=0)
    >>> ensemble.fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="members trained on varied shares",
        family="ensemble",
        input="any",
        reference="Pérez-Gállego et al., Information Fusion 34 (2017) and 45 (2019)",
        inconsistency="members learn from samples of the training items",
        resamples=True,
    )

    def __init__(
        self,
        quantifier: Quantifier | None = None,
        *,
        n_members: int = 50,
        size: int | None = None,
        scoring: str = "folds",
        policy: str = "all",
        keep: float = 0.5,
        combine: str = "mean",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.quantifier = quantifier
        self.n_members = n_members
        self.size = size
        self.scoring = scoring
        self.policy = policy
        self.keep = keep
        self.combine = combine
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _base(self) -> Quantifier:
        base: Any = PACC() if self.quantifier is None else self.quantifier
        if not is_simple(base):
            raise HeadcountError(
                f"quantifier is {self.quantifier!r}; it must be a quantifier, other than one "
                "that trains several classifiers: pass for instance PACC()."
            )
        return base

    def _takes(self) -> Input:
        # Wrong quantifiers are refused when they are used.
        base: Any = self.quantifier
        return base._takes() if isinstance(base, Quantifier) else "posteriors"

    def _learns_from_scores(self) -> bool:
        return self._base()._learns_from_scores() or self.policy not in WITHOUT_SCORES

    def _noisy(self) -> bool:
        return self._base()._noisy()

    def _by_class(self) -> bool:
        base: Any = self.quantifier
        return isinstance(base, Quantifier) and base._by_class()

    def _scorer(self) -> Any:
        """One for all members if the classifier is not to be trained; None otherwise."""
        scorer = self._base()._scorer()
        frozen = isinstance(base_scorer(scorer).classifier, FrozenEstimator)
        return scorer if frozen else None

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the members.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            Items, as the classifier takes them.
        y : array-like of shape (n,)
            Their labels, of any kind.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items. They apply in every sample that an item is drawn into.
            Items are drawn regardless of their weights, unless these are 0.
        groups : array-like of shape (n,), default=None
            Groups of the items. Folds do not divide them, and items outside the sample of a
            member are not used if their group is in it. Not for ``scoring="left-out"``.

        Returns
        -------
        Ensemble
            This one, fitted.
        """
        return super().fit(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Fitted:
        base = self._base()
        scored = isinstance(X, Scored | Verdicts | ItemScorer)
        if scored or base._takes() == "features" or self._scorer() is not None:
            training, source = self._labelled(X, y, sample_weight, groups)
            return self._of_members(training, source, None)
        takes_nan = allows_nan(base_scorer(base._scorer()).classifier)
        training, classes = labelled_items(
            X, y, sample_weight, allow_nan=takes_nan, any_shape=True
        )
        scoring = check_choice("scoring", self.scoring, ("folds", "left-out"))
        group_names = None if groups is None else np.asarray(groups)
        if group_names is not None:
            check_lengths("groups", len(group_names), training.codes)
            if scoring == "left-out":
                raise HeadcountError(
                    "groups was given, but scoring is 'left-out', which divides groups: set "
                    "scoring to 'folds', or leave groups out."
                )
        return self._of_members(training, self._source(classes), scoring, group_names)

    def _of_members(
        self,
        training: Training,
        source: ItemSource,
        scoring: str | None,
        groups: NDArray[Any] | None = None,
    ) -> Fitted:
        """Draw the samples and train the members.

        They train classifiers if there is a `scoring`.
        """
        base, policy, keep = self._base(), self._checked_policy(), check_keep(self.keep)
        combine = check_choice("combine", self.combine, ("mean", "median"))
        n_jobs = check_jobs(self.n_jobs)
        n_members = check_count("n_members", self.n_members)
        share_seed, item_seed, *seeds = base_seeds(self.random_state, 2 + n_members)
        classes = source.classes
        sampler = MemberSamples.checked(training, classes, self.size, scoring == "left-out")
        draws = sampler.draw(n_members, share_seed, item_seed)
        trainer = MemberTraining(base, training, classes, draws, scoring, policy, groups)
        trained = Parallel(n_jobs=n_jobs)(
            delayed(trainer.train)(number, seed) for number, seed in enumerate(seeds)
        )
        members = [each.fitted for each in trained]
        errors = np.array([each.error for each in trained])
        weights, n_kept = np.ones(n_members), number_kept(keep, n_members)
        if policy in BY_ERROR:
            weights[np.argsort(errors, kind="stable")[n_kept:]] = 0
        model = Committee(members, "shared" if scoring is None else "own", combine, weights)
        if policy in ("ptr", "ds"):
            targets = np.stack([each.target for each in trained])
            model = _NearestMembers(
                members, model.input, combine, weights, targets, policy, n_kept
            )
        self.members_ = [
            seeded(base, seed)._keep(member)
            for seed, member in zip(seeds, members, strict=True)
        ]
        self.samples_ = draws
        self.errors_ = errors if policy in BY_ERROR else None
        if scoring is None:
            same: Any = [training.items] * n_members
            shared = replace(training, items=same)
            by_folds = self._predicts_by_folds(source.scorer)
            return self._made(source, model, training.prior, shared, by_folds=by_folds)
        scores = scores_by_member(training, trained, item_seed)
        pool = MemberItems(
            method=source.method,
            takes=source.takes,
            classes=classes,
            refusal=source.refusal,
            members=members,
        )
        return self._made(pool, model, training.prior, scores)

    def _checked_policy(self) -> str:
        policy = check_choice("policy", self.policy, _POLICIES)
        if policy == "ds" and self._takes() == "features":
            raise HeadcountError(
                f"policy is 'ds', which compares scores, but {type(self._base()).__name__} "
                "works on features: choose another policy, such as 'ptr'."
            )
        return policy


@dataclass(frozen=True, eq=False)
class _NearestMembers(Committee):
    """For each sample, the members whose training samples are most like it.

    Attributes
    ----------
    targets : ndarray of shape (M, d)
        Shares ("ptr") or histograms of scores ("ds") in the training sample of each member.
    policy : {"ptr", "ds"}
        Description that is compared.
    n_kept : int
        Number of members to use.
    """

    targets: NDArray[np.float64]
    policy: str
    n_kept: int

    def _combined(self, items_of: Callable[[int], Any], samples: Samples) -> Solution:
        solutions, gaps = [], []
        for i, (member, target) in enumerate(zip(self.members, self.targets, strict=True)):
            items = items_of(i)
            copies = samples.over(count_rows(items))
            solutions.append(member.model.solve(items, copies))
            if self.policy == "ds":
                gaps.append(_score_gaps(items, copies, target, len(member.classes)))
        all_members = np.ones((len(solutions), len(samples)))
        if self.policy == "ptr":
            centre = combined(solutions, all_members, "mean").prevalence
            gaps = [np.asarray(metrics.ae(target, centre)) for target in self.targets]
        nearest = np.argsort(gaps, axis=0, kind="stable")[: self.n_kept]
        weights = np.zeros_like(all_members)
        np.put_along_axis(weights, nearest, 1.0, axis=0)
        return combined(solutions, weights, self.combine)


def _score_gaps(
    items: NDArray[Any], samples: Samples, target: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Squared Hellinger distance of the scores of each sample, summed over the classes."""
    scores = histograms(items, n_classes)
    gaps = []
    for start in range(0, len(samples), _BATCH_SAMPLES):
        seen = scores.means(samples[start : start + _BATCH_SAMPLES])
        gaps.append(((np.sqrt(seen) - np.sqrt(target)) ** 2).sum(axis=1))
    return np.concatenate(gaps)
