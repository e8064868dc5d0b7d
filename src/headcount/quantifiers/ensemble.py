"""Copies of one quantifier, each trained on a sample with different shares of the classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import KDTree
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import PredefinedSplit
from sklearn.utils.parallel import Parallel, delayed

from headcount import metrics
from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.execution import base_seeds
from headcount._support.parameters import check_choice, check_count
from headcount.errors import HeadcountError
from headcount.items.arrays import Scored, Verdicts, check_lengths, count_rows, take_rows
from headcount.parts.classifier_outputs import Histograms
from headcount.parts.fitted import Fitted, Input, ItemSource, MemberItems, MethodInfo
from headcount.parts.solvers import Solution
from headcount.parts.training import Embedding, Training
from headcount.quantifiers.adjusted import PACC
from headcount.quantifiers.base import Quantifier, is_simple, labelled_items, seeded
from headcount.quantifiers.committees import (
    Committee,
    check_jobs,
    check_keep,
    combined,
    mean_error,
    number_kept,
)
from headcount.quantifiers.one_vs_rest import base_scorer
from headcount.samples.protocols import nearest_counts, uniform_shares
from headcount.samples.samples import Samples
from headcount.scores.folds import allows_nan, check_cv, make_folds
from headcount.scores.scorer import ItemScorer

# Policies that choose members by their errors, and policies that do not use scores to choose.
BY_ERROR = ("ae", "rae")
WITHOUT_SCORES = ("all", "ptr")
# Smallest number of items per class in a sample, so that there are folds.
_LEAST_PER_CLASS = 5
_LARGEST_SAMPLE = 1000
# Largest number of training scores that an ensemble keeps for its estimates: 160 MB.
_MOST_SCORES = 20_000_000
_BINS = 10


@dataclass(frozen=True, eq=False)
class MemberSamples:
    """Draws the training samples of members."""

    by_class: Sequence[Ints]
    allowed: Sequence[int]
    codes: Ints
    size: int

    @classmethod
    def checked(
        cls, training: Training, classes: Array, size: Any, halve: bool
    ) -> MemberSamples:
        """Check the size; `halve` leaves half of each class out of every sample."""
        K, codes = training.n_classes, training.codes
        weighted = (
            codes if training.weights is None else np.where(training.weights > 0, codes, -1)
        )
        by_class = [np.flatnonzero(weighted == j) for j in range(K)]
        counts = [len(rows) for rows in by_class]
        if halve and min(counts) < 2:
            label = classes.tolist()[int(np.argmin(counts))]
            raise HeadcountError(
                f"scoring is 'left-out', but class {label!r} has a single item, which cannot "
                "be both trained on and left out: label more, or set scoring to 'folds'."
            )
        if size is None:
            size = max(min(sum(counts), _LARGEST_SAMPLE), _LEAST_PER_CLASS * K)
        size = check_count("size", size, K)
        allowed = [(count + 1) // 2 if halve else count for count in counts]
        return cls(by_class, allowed, codes, size)

    def draw(self, n_samples: int, share_seed: int, item_seed: int) -> Samples:
        """Samples with a few items of each class and shares uniform on the simplex."""
        K, numbers = len(self.by_class), np.arange(n_samples)
        least = min(_LEAST_PER_CLASS, self.size // K)
        shares = uniform_shares(share_seed, numbers, K)
        free = np.full(n_samples, self.size - K * least)
        counts = least + nearest_counts(shares, free, numbers)
        rng = np.random.default_rng(item_seed)
        samples = [
            # Items are repeated in turn if more are wanted than allowed.
            np.concatenate(
                [
                    np.resize(rng.permutation(rows)[:most], count)
                    for rows, most, count in zip(self.by_class, self.allowed, row, strict=True)
                ]
            )
            for row in counts
        ]
        return Samples.from_arrays(samples, n_pool=len(self.codes), y=self.codes)


@dataclass(frozen=True, eq=False)
class TrainedMember:
    """Trained member of an ensemble."""

    fitted: Fitted
    target: Floats
    error: float
    items: Any
    known: Array


@dataclass(frozen=True, eq=False)
class MemberTraining:
    """Trains members of an ensemble."""

    base: Quantifier
    training: Training
    classes: Array
    draws: Samples
    scoring: str | None
    policy: str
    groups: Array | None = None

    @property
    def _learns_from_scores(self) -> bool:
        return self.base._learns_from_scores() or self.policy not in WITHOUT_SCORES

    def train(self, number: int, seed: int) -> TrainedMember:
        """Train one member."""
        member, rows = seeded(self.base, seed), self.draws[number]
        if self.scoring is None:
            scorer, items = None, self.training.items
            scored_rows = np.arange(len(self.training.codes))
            training = self._drawn(rows)
        else:
            scorer, items, scored_rows = self._scored(member, rows, seed)
            learnt = (items, scored_rows) if self._learns_from_scores else (None, rows)
            training = self._weighted_as(rows, *learnt)
        fitted = member._learnt(training, member._source(self.classes, scorer))
        # Members return no estimates with intervals; the ensemble keeps the scores it needs.
        fitted = replace(fitted, training=None, tested=None, by_folds=False)
        target = training.prior
        if self.policy == "ds":
            scored: Any = training.items
            scores = histograms(scored, training.n_classes)
            target = scores.means(Samples.whole(len(training.codes)), training.weights)[0]
        error = 0.0
        if self.policy in BY_ERROR:
            error = self._error(number, fitted, items, scored_rows)
        return TrainedMember(fitted, target, error, items, scored_rows)

    def _scored(self, member: Quantifier, rows: Array, seed: int) -> tuple[Any, Array, Array]:
        """Scorer of the member, scores of items it was not trained on, and their rows."""
        training, labels = self.training, member._takes() == "labels"
        scorer = member._scorer()
        # Methods that do not learn from scores need folds only for estimates.
        out_of_fold = self._learns_from_scores or self.base._cv() is not None
        folds = out_of_fold and self.scoring == "folds"
        if folds:
            self._fold_by_item(base_scorer(scorer), rows, seed)
        scorer.fit(
            take_rows(training.items, rows),
            self.classes[training.codes[rows]],
            None if training.weights is None else training.weights[rows],
            out_of_fold=folds,
            posteriors=not labels,
        )
        X = training.items
        scored_rows = np.arange(len(training.codes))
        if not folds:
            scored_rows = np.setdiff1d(scored_rows, rows)
            X = take_rows(X, scored_rows)
        score = scorer.labels if labels else scorer.posteriors
        scores = np.array(score(X)) if len(scored_rows) else np.empty((0, len(self.classes)))
        if folds:
            scores[rows] = scorer.labels_ if labels else scorer.posteriors_
            if self.groups is not None:
                # The classifier has seen the groups of the sample.
                unseen = ~np.isin(self.groups, self.groups[rows])
                unseen[rows] = True
                scored_rows, scores = np.flatnonzero(unseen), scores[unseen]
        return scorer, member._source(self.classes).arranged(scores), scored_rows

    def _fold_by_item(self, scorer: Any, rows: Array, seed: int) -> None:
        """Set the folds of a scorer so that all copies of an item are in one fold."""
        check_cv(scorer.cv)
        items, place = np.unique(rows, return_inverse=True)
        features = take_rows(self.training.items, items)
        codes = self.training.codes[items]
        groups = None if self.groups is None else self.groups[items]
        folds = make_folds(scorer.cv, features, codes, self.classes, seed, groups)
        if folds is None:
            return
        number = np.empty(len(items), np.int64)
        for fold, (_, test) in enumerate(folds):
            number[test] = fold
        scorer.set_params(cv=PredefinedSplit(number[place]))

    def _drawn(self, rows: Array) -> Training:
        """Items of a sample."""
        items, weights = self.training.items, self.training.weights
        return Training(
            None if items is None else take_rows(items, rows),
            self.training.codes[rows],
            self.training.n_classes,
            None if weights is None else weights[rows],
        )

    def _weighted_as(self, rows: Array, items: Any, rows_of_items: Array) -> Training:
        """Items that are known, weighted so that the classes have the shares of a sample."""
        codes, K = self.training.codes, self.training.n_classes
        weights = self.training.weights
        weights = np.ones(len(codes)) if weights is None else weights
        of_sample = np.bincount(codes[rows], weights[rows], K)
        of_known = np.bincount(codes[rows_of_items], weights[rows_of_items], K)
        return Training(
            items,
            codes[rows_of_items],
            K,
            weights[rows_of_items] * (of_sample / of_known)[codes[rows_of_items]],
        )

    def _error(self, number: int, member: Fitted, items: Any, scored_rows: Array) -> float:
        """Mean error on the known items in the samples of the other members."""
        position = np.full(len(self.training.codes), -1)
        position[scored_rows] = np.arange(len(scored_rows))
        samples_of_others = [position[rows] for i, rows in enumerate(self.draws) if i != number]
        samples_of_others = [rows[rows >= 0] for rows in samples_of_others]
        samples_of_others = [rows for rows in samples_of_others if len(rows)]
        if not samples_of_others:
            return 0.0
        codes = self.training.codes[scored_rows]
        samples = Samples.from_arrays(samples_of_others, n_pool=len(scored_rows), y=codes)
        return mean_error(member, items, samples, self.policy)


def scores_by_member(
    training: Training, trained: Sequence[TrainedMember], seed: int
) -> Training | None:
    """Training items as each member scores them, for estimates of the ensemble.

    An item that a member was trained on, without an out-of-fold score, gets the score of a
    similar item of the same class; similar are items with similar scores by another member.
    Items that no member has scored out of sample are left out. So is a random part of the
    training set if the scores of all items would take too much memory.
    """
    N, M = len(training.codes), len(trained)
    places = np.full((M, N), -1)
    for number, member in enumerate(trained):
        places[number, member.known] = np.arange(len(member.known))
        if len(np.unique(training.codes[member.known])) < training.n_classes:
            return None
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero((places >= 0).any(axis=0))
    most = max(1, _MOST_SCORES // (M * training.n_classes))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    codes, is_known = training.codes[rows], places[:, rows] >= 0
    # Rows that are not known are replaced when they are matched.
    scores = [member.items[places[m, rows]] for m, member in enumerate(trained)]
    items = [_matched(m, scores, is_known, codes, rng) for m in range(M)]
    weights = None if training.weights is None else training.weights[rows]
    return Training(items, codes, training.n_classes, weights)


def _matched(
    member: int,
    scores: Sequence[Array],
    is_scored: Bools,
    codes: Ints,
    rng: np.random.Generator,
) -> Array:
    """Scores by a member; those of items it was trained on come from similar items."""
    M = len(scores)
    matched = scores[member].copy()
    # For each item, the next member in cyclic order that has scored it out of sample.
    other_of = (member + is_scored[np.arange(member, member + M) % M].argmax(axis=0)) % M
    unknown = np.flatnonzero(~is_scored[member])
    for j, scorer in set(zip(codes[unknown].tolist(), other_of[unknown].tolist(), strict=True)):
        missing = unknown[(codes[unknown] == j) & (other_of[unknown] == scorer)]
        present = is_scored[member] & (codes == j)
        shared = np.flatnonzero(present & is_scored[scorer])
        if len(shared) == 0:
            matched[missing] = scores[member][rng.choice(np.flatnonzero(present), len(missing))]
            continue
        nearest = KDTree(_with_ties_broken(scores[scorer][shared], rng)).query(
            _with_ties_broken(scores[scorer][missing], rng)
        )[1]
        matched[missing] = scores[member][shared[nearest]]
    return matched


def _with_ties_broken(scores: Array, rng: np.random.Generator) -> Floats:
    """Scores as points, with one more coordinate that orders equal points at random."""
    return np.column_stack([scores.astype(np.float64), 1e-6 * rng.random(len(scores))])


def histograms(items: Array, n_classes: int) -> Embedding:
    """Histograms of the scores of each class; predicted classes are scores of 0 and 1."""
    if items.ndim == 1:
        items = items[:, None] == np.arange(n_classes)
    return Histograms((_BINS,)).embed(items.astype(np.float64))


_POLICIES = ("all", "ptr", "ds", "ae", "rae")
_BATCH_SAMPLES = 4096


@dataclass(eq=False, repr=False)
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

    Weights of items apply in every sample that an item is drawn into. Items are drawn
    regardless of their weights, unless these are 0. Folds do not divide the groups of `fit`,
    and items outside the sample of a member are not used if their group is in it.
    ``scoring="left-out"`` takes no groups.

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

    quantifier: Any = None
    _: KW_ONLY
    n_members: int = 50
    size: int | None = None
    scoring: str = "folds"
    policy: str = "all"
    keep: float = 0.5
    combine: str = "mean"
    n_jobs: int | None = None
    random_state: Any = None

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
        groups: Array | None = None,
    ) -> Fitted:
        """Draw the samples and train the members."""
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
        members = [member_training.fitted for member_training in trained]
        errors = np.array([member_training.error for member_training in trained])
        weights, n_kept = np.ones(n_members), number_kept(keep, n_members)
        if policy in BY_ERROR:
            weights[np.argsort(errors, kind="stable")[n_kept:]] = 0
        model = Committee(members, "shared" if scoring is None else "own", combine, weights)
        if policy in ("ptr", "ds"):
            targets = np.stack([member_training.target for member_training in trained])
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
    """For each sample, the members whose training samples are most like it."""

    targets: Floats
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


def _score_gaps(items: Array, samples: Samples, target: Floats, n_classes: int) -> Floats:
    """Squared Hellinger distance of the scores of each sample, summed over the classes."""
    scores = histograms(items, n_classes)
    gaps = []
    for start in range(0, len(samples), _BATCH_SAMPLES):
        means = scores.means(samples[start : start + _BATCH_SAMPLES])
        gaps.append(((np.sqrt(means) - np.sqrt(target)) ** 2).sum(axis=1))
    return np.concatenate(gaps)
