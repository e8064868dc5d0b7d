"""Many copies of one quantifier, each trained on another mix of the classes."""

from __future__ import annotations

from collections.abc import Sequence
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
from headcount.quantify.aggregation import Model
from headcount.quantify.base import Quantifier, is_simple
from headcount.quantify.committee import (
    Committee,
    Reader,
    check_jobs,
    check_keep,
    combined,
    fold_items,
    item_pool,
    number_kept,
    own_items,
)
from headcount.quantify.info import Input, MethodInfo
from headcount.quantify.members import (
    BY_ERROR,
    WITHOUT_SCORES,
    Drawing,
    Lesson,
    histograms,
    scores_by_member,
    trainer,
)
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds
from headcount.scores import Scored, Verdicts
from headcount.scores.traits import allows_nan
from headcount.solve import Solution

__all__ = ["Ensemble"]

_POLICIES = ("all", "ptr", "ds", "ae", "rae")
_BATCH_SAMPLES = 4096


class Ensemble(Quantifier):
    """Many copies of one quantifier, each trained on a sample with another mix of classes.

    Members are trained on samples of the training items whose shares are uniform on the
    simplex, but with at least five items of each class (fewer only if samples are smaller
    than that). No item is taken twice as long as its class has enough; beyond that, all of
    the class are taken equally often.

    The rates and score distributions of the classes are learnt from items that a member's
    classifier was not trained on, weighted so that the classes have the shares of its
    sample: see ``scoring``. Scores made elsewhere, those of a classifier in a
    ``FrozenEstimator`` and features are the same for all members, which then learn from
    their samples alone.

    Parameters
    ----------
    quantifier : Quantifier, default=None
        What the members are copies of, `PACC` by default.
    size : int, default=50
        Number of members.
    sample_size : int or None, default=None
        Items in each sample. None is the number of training items, 1,000 at most (but five
        for each class).
    scoring : {"folds", "left-out"}, default="folds"
        "folds" cross-fits each member along the quantifier's own ``cv``, with all copies of
        an item in one fold; items outside the sample are scored by its classifier.
        "left-out" draws each sample from a random half of every class and scores the items
        outside of it: with five folds, a sixth of the training, for a little accuracy
        where items are few.
    policy : {"all", "ptr", "ds", "ae", "rae"}, default="all"
        Which members are listened to: all; those whose shares in training ("ptr") are
        nearest to the mean estimate of all, or whose distribution of scores ("ds") is
        nearest to the sample's, chosen anew for each sample; or those with the least mean
        error, absolute ("ae") or relative ("rae"), on the samples of the other members,
        chosen once.
    keep : float, default=0.5
        Share of the members that a policy other than "all" chooses.
    combine : {"mean", "median"}, default="mean"
        What is made of their answers; medians class by class, divided by their sum.
    n_jobs : int or None, default=None
        Processes to train in; None is one, -1 as many as there are cores. Results do not
        depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Draws samples and folds, and decides for quantifiers and classifiers whose own is
        None.

    Attributes
    ----------
    members_ : list of Quantifier
        The fitted members.
    samples_ : Samples
        The training items of each.
    errors_ : ndarray of shape (size,) or None
        Their mean errors, if these decide.
    scorer_ : Scorer, tuple of Scorer, or None
        What scores items, for each member if each has its own classifier.

    Notes
    -----
    For "ds", scores are counted in ten bins of equal width for each class and compared by
    Hellinger distance; predicted classes, for quantifiers that count them, by how often
    each is predicted. Quantifiers on features have neither. For "ptr", shares are compared
    by absolute error.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from headcount import Ensemble, PACC
    >>> X, y = make_classification(400, random_state=0)
    >>> ensemble = Ensemble(PACC(), size=10, policy="ptr", random_state=0)
    >>> ensemble.fit(X[:200], y[:200]).predict(X[200:]).round(1)
    array([0.5, 0.5])
    """

    info: ClassVar = MethodInfo(
        title="members trained on varied mixes",
        family="ensemble",
        input="any",
        multiclass="native",
        shift="prior",
        reference="Pérez-Gállego et al., Information Fusion 34 (2017) and 45 (2019)",
    )

    def __init__(
        self,
        quantifier: Quantifier | None = None,
        *,
        size: int = 50,
        sample_size: int | None = None,
        scoring: str = "folds",
        policy: str = "all",
        keep: float = 0.5,
        combine: str = "mean",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.quantifier = quantifier
        self.size = size
        self.sample_size = sample_size
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

    def _input(self) -> Input:
        # Whether the quantifier is one at all is checked when it is used.
        base: Any = self.quantifier
        return base._input() if isinstance(base, Quantifier) else "posteriors"

    def _learns_from_scores(self) -> bool:
        return self._base()._learns_from_scores() or self.policy not in WITHOUT_SCORES

    def _items_are_posteriors(self) -> bool | list[Any]:
        return self._base()._items_are_posteriors()

    def _arranged(self, items: Any, K: int) -> Any:
        return self._base()._arranged(items, K)

    def _scorer(self) -> Any:
        """One for all members if the classifier is not to be trained; None otherwise."""
        scorer = self._base()._scorer()
        frozen = isinstance(trainer(scorer).classifier, FrozenEstimator)
        return scorer if frozen else None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or a list of texts
            Items, as the classifier takes them.
        y : array-like of shape (n,)
            Their labels, of any kind.
        sample_weight : array-like of shape (n,), default=None
            Weights of the items. They weigh in every sample an item is drawn into; items
            are drawn without regard to them, unless they are 0.

        Returns
        -------
        Ensemble
            This one, fitted.
        """
        base = self._base()
        classified = isinstance(X, Scored | Verdicts)
        if classified or base._input() == "features" or self._scorer() is not None:
            return super().fit(X, y, sample_weight)
        takes_nan = allows_nan(trainer(base._scorer()).classifier)
        training, classes = self._labelled(X, y, sample_weight, allow_nan=takes_nan)
        scoring = check_choice("scoring", self.scoring, ("folds", "left-out"))
        return self._gather(training, classes, None, scoring)

    def _learn(self, training: Training, classes: NDArray[Any], scorer: Any) -> Self:
        return self._gather(training, classes, scorer, None)

    def _gather(
        self, training: Training, classes: NDArray[Any], scorer: Any, scoring: str | None
    ) -> Self:
        """Draw the samples and train the members, with classifiers of their own if scored."""
        base, policy, keep = self._base(), self._checked_policy(), check_keep(self.keep)
        combine = check_choice("combine", self.combine, ("mean", "median"))
        n_jobs = check_jobs(self.n_jobs)
        size = check_count("size", self.size)
        share_seed, item_seed, *seeds = base_seeds(self.random_state, 2 + size)
        drawing = Drawing.of(training, classes, self.sample_size, scoring == "left-out")
        draws = drawing.draw(size, share_seed, item_seed)
        lesson = Lesson(base, training, classes, draws, scoring, policy)
        learnt = Parallel(n_jobs=n_jobs)(
            delayed(lesson.learn)(number, seed) for number, seed in enumerate(seeds)
        )
        members = [each.member for each in learnt]
        errors = np.array([each.error for each in learnt])
        kept = number_kept(keep, size)
        read = _as_given if scoring is None else own_items
        model: Model
        if policy in ("ptr", "ds"):
            targets = np.stack([each.target for each in learnt])
            model = _Nearest(members, read, targets, policy, kept, combine)
        else:
            weights = np.ones(size)
            if policy != "all":
                weights[np.argsort(errors, kind="stable")[kept:]] = 0
            model = Committee(members, read, weights, combine)
        self.members_ = members
        self.samples_ = draws
        self.errors_ = errors if policy in BY_ERROR else None
        if scoring is None:
            same: Any = [training.items] * size
            alike = replace(training, items=same)
            return self._keep(model, classes, training.prior, scorer, alike)
        scorers = tuple(member.scorer_ for member in members)
        own = scores_by_member(training, learnt, item_seed)
        return self._keep(model, classes, training.prior, scorers, own)

    def _checked_policy(self) -> str:
        policy = check_choice("policy", self.policy, _POLICIES)
        if policy == "ds" and self._input() == "features":
            raise HeadcountError(
                f"policy is 'ds', which compares scores, but {type(self._base()).__name__} "
                "looks at the features: choose another policy, such as 'ptr'."
            )
        return policy

    def _items(self, X: Any, *, by_folds: bool = False) -> Any:
        if isinstance(self.scorer_, tuple):
            return item_pool(X)
        return super()._items(X, by_folds=by_folds)


def _as_given(member: Quantifier, items: Any) -> Any:
    return items


@dataclass(frozen=True, eq=False)
class _Nearest(Model):
    """For each sample, the members that were trained on something like it.

    Attributes
    ----------
    members : sequence of Quantifier
        Fitted.
    read : callable
        How a member takes the items.
    targets : ndarray of shape (M, d)
        Shares ("ptr") or histograms of scores ("ds") in the training sample of each.
    policy : {"ptr", "ds"}
        What is compared.
    n_kept : int
        How many members are listened to.
    combine : {"mean", "median"}
        What is made of their answers.
    """

    members: Sequence[Quantifier]
    read: Reader
    targets: NDArray[np.float64]
    policy: str
    n_kept: int
    combine: str

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return self._combined([self.read(member, items) for member in self.members], samples)

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares in samples of the training items, of which each member has its own scores."""
        scores: Any = training.items
        return self._combined(scores, samples)

    def cross_fitted(self, training: Training) -> _Nearest:
        """Members that score new items as the training items were scored."""
        return replace(self, read=fold_items) if self.read is own_items else self

    def _combined(self, by_member: Sequence[Any], samples: Samples) -> Solution:
        parts, gaps = [], []
        for member, target, seen in zip(self.members, self.targets, by_member, strict=True):
            drawn = samples.over(count_rows(seen))
            parts.append(member.model_.solve(seen, drawn))
            if self.policy == "ds":
                gaps.append(_score_gaps(seen, drawn, target, len(member.classes_)))
        everyone = np.ones((len(parts), len(samples)))
        if self.policy == "ptr":
            centre = combined(parts, everyone, "mean").prevalence
            gaps = [np.asarray(metrics.ae(target, centre)) for target in self.targets]
        nearest = np.argsort(gaps, axis=0, kind="stable")[: self.n_kept]
        weights = np.zeros_like(everyone)
        np.put_along_axis(weights, nearest, 1.0, axis=0)
        return combined(parts, weights, self.combine)


def _score_gaps(
    items: NDArray[Any], samples: Samples, target: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Squared Hellinger distance of the scores of each sample, added up over classes."""
    scores = histograms(items, n_classes)
    gaps = []
    for start in range(0, len(samples), _BATCH_SAMPLES):
        seen = scores.means(samples[start : start + _BATCH_SAMPLES])
        gaps.append(((np.sqrt(seen) - np.sqrt(target)) ** 2).sum(axis=1))
    return np.concatenate(gaps)
