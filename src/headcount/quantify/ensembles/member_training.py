"""Training samples and training of the members of an `Ensemble`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.model_selection import PredefinedSplit

from headcount._parameters import check_count
from headcount.data import take_rows
from headcount.errors import HeadcountError
from headcount.quantify.base import Quantifier, seeded
from headcount.quantify.ensembles.committee import mean_error
from headcount.quantify.fitted import Fitted
from headcount.quantify.one_vs_rest import base_scorer
from headcount.representation import Embedding, Histograms, Training
from headcount.sampling import Samples
from headcount.sampling._shares import nearest_counts, uniform_shares
from headcount.scores.folds import check_cv, make_folds

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
    """Draws the training samples of members.

    Attributes
    ----------
    by_class : sequence of ndarray
        Rows of each class.
    allowed : sequence of int
        Largest number of different items of each class in a sample.
    codes : ndarray of shape (n,)
        Classes of all items.
    size : int
        Items in each sample.
    """

    by_class: Sequence[NDArray[np.int64]]
    allowed: Sequence[int]
    codes: NDArray[np.int64]
    size: int

    @classmethod
    def checked(
        cls, training: Training, classes: NDArray[Any], size: Any, halve: bool
    ) -> MemberSamples:
        """Check the size; `halve` leaves half of each class out of every sample."""
        K, codes = training.n_classes, training.codes
        there = codes if training.weights is None else np.where(training.weights > 0, codes, -1)
        by_class = [np.flatnonzero(there == j) for j in range(K)]
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
    """Trained member of an ensemble.

    Attributes
    ----------
    fitted : Fitted
        The fitted member.
    target : ndarray
        Shares, or histograms of scores, of its training sample.
    error : float
        Mean error on the samples of the other members, if the policy needs it.
    items : Any
        Training items as the member takes them, scored out of sample.
    known : ndarray of int
        Rows of these items.
    """

    fitted: Fitted
    target: NDArray[np.float64]
    error: float
    items: Any
    known: NDArray[Any]


@dataclass(frozen=True, eq=False)
class MemberTraining:
    """Trains members of an ensemble.

    Attributes
    ----------
    base : Quantifier
        Unfitted quantifier that members are copies of.
    training : Training
        All labelled items: features, or scores in the form that the quantifier takes.
    classes : ndarray of shape (K,)
        The classes.
    draws : Samples
        Training items of each member.
    scoring : {"folds", "left-out", None}
        Source of the scores that members learn from; None if they train no classifiers.
    policy : str
        Policy of the ensemble for choosing members.
    groups : ndarray of shape (n,) or None
        Groups of the items, which folds do not divide.
    """

    base: Quantifier
    training: Training
    classes: NDArray[Any]
    draws: Samples
    scoring: str | None
    policy: str
    groups: NDArray[Any] | None = None

    @property
    def _learns_from_scores(self) -> bool:
        return self.base._learns_from_scores() or self.policy not in WITHOUT_SCORES

    def train(self, number: int, seed: int) -> TrainedMember:
        """Train one member."""
        member, rows = seeded(self.base, seed), self.draws[number]
        if self.scoring is None:
            scorer, items = None, self.training.items
            known = np.arange(len(self.training.codes))
            training = self._drawn(rows)
        else:
            scorer, items, known = self._scored(member, rows, seed)
            learnt = (items, known) if self._learns_from_scores else (None, rows)
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
            error = self._error(number, fitted, items, known)
        return TrainedMember(fitted, target, error, items, known)

    def _scored(
        self, member: Quantifier, rows: NDArray[Any], seed: int
    ) -> tuple[Any, NDArray[Any], NDArray[Any]]:
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
        known = np.arange(len(training.codes))
        if not folds:
            known = np.setdiff1d(known, rows)
            X = take_rows(X, known)
        score = scorer.labels if labels else scorer.posteriors
        scores = np.array(score(X)) if len(known) else np.empty((0, len(self.classes)))
        if folds:
            scores[rows] = scorer.labels_ if labels else scorer.posteriors_
            if self.groups is not None:
                # The classifier has seen the groups of the sample.
                unseen = ~np.isin(self.groups, self.groups[rows])
                unseen[rows] = True
                known, scores = np.flatnonzero(unseen), scores[unseen]
        return scorer, member._source(self.classes).arranged(scores), known

    def _fold_by_item(self, scorer: Any, rows: NDArray[Any], seed: int) -> None:
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

    def _drawn(self, rows: NDArray[Any]) -> Training:
        """Items of a sample."""
        items, weights = self.training.items, self.training.weights
        return Training(
            None if items is None else take_rows(items, rows),
            self.training.codes[rows],
            self.training.n_classes,
            None if weights is None else weights[rows],
        )

    def _weighted_as(self, rows: NDArray[Any], items: Any, known: NDArray[Any]) -> Training:
        """Items that are known, weighted so that the classes have the shares of a sample."""
        codes, K = self.training.codes, self.training.n_classes
        weights = self.training.weights
        weights = np.ones(len(codes)) if weights is None else weights
        wanted = np.bincount(codes[rows], weights[rows], K)
        there = np.bincount(codes[known], weights[known], K)
        return Training(items, codes[known], K, weights[known] * (wanted / there)[codes[known]])

    def _error(self, number: int, member: Fitted, items: Any, known: NDArray[Any]) -> float:
        """Mean error on the known items in the samples of the other members."""
        position = np.full(len(self.training.codes), -1)
        position[known] = np.arange(len(known))
        others = [position[rows] for i, rows in enumerate(self.draws) if i != number]
        others = [rows[rows >= 0] for rows in others]
        others = [rows for rows in others if len(rows)]
        if not others:
            return 0.0
        codes = self.training.codes[known]
        samples = Samples.from_arrays(others, n_pool=len(known), y=codes)
        return mean_error(member, items, samples, self.policy)


def scores_by_member(
    training: Training, trained: Sequence[TrainedMember], seed: int
) -> Training | None:
    """Training items as each member scores them, for estimates of the ensemble.

    An item that a member was trained on, without an out-of-fold score, gets the score of a
    similar item of the same class; similar are items with similar scores by another member.
    Items that no member has scored out of sample are left out. So is a random part of the
    training set if the scores of all items would take too much memory.

    Parameters
    ----------
    training : Training
        All labelled items.
    trained : sequence of TrainedMember
        The members.
    seed : int
        Random seed.

    Returns
    -------
    Training or None
        Its ``items`` are a list with one array of scores per member. None if a member has
        scored no item of some class out of sample.
    """
    N, M = len(training.codes), len(trained)
    places = np.full((M, N), -1)
    for number, each in enumerate(trained):
        places[number, each.known] = np.arange(len(each.known))
        if len(np.unique(training.codes[each.known])) < training.n_classes:
            return None
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero((places >= 0).any(axis=0))
    most = max(1, _MOST_SCORES // (M * training.n_classes))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    codes, known = training.codes[rows], places[:, rows] >= 0
    # Rows that are not known are replaced when they are matched.
    scores = [each.items[places[m, rows]] for m, each in enumerate(trained)]
    items = [_matched(m, scores, known, codes, rng) for m in range(M)]
    weights = None if training.weights is None else training.weights[rows]
    return Training(items, codes, training.n_classes, weights)  # type: ignore[arg-type]


def _matched(
    member: int,
    scores: Sequence[NDArray[Any]],
    known: NDArray[np.bool_],
    codes: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Scores by a member; those of items it was trained on come from similar items."""
    M = len(scores)
    own = scores[member].copy()
    # For each item, the next member in cyclic order that has scored it out of sample.
    other_of = (member + known[np.arange(member, member + M) % M].argmax(axis=0)) % M
    unknown = np.flatnonzero(~known[member])
    for j, other in set(zip(codes[unknown].tolist(), other_of[unknown].tolist(), strict=True)):
        wanted = unknown[(codes[unknown] == j) & (other_of[unknown] == other)]
        there = known[member] & (codes == j)
        both = np.flatnonzero(there & known[other])
        if len(both) == 0:
            own[wanted] = scores[member][rng.choice(np.flatnonzero(there), len(wanted))]
            continue
        nearest = KDTree(_with_ties_broken(scores[other][both], rng)).query(
            _with_ties_broken(scores[other][wanted], rng)
        )[1]
        own[wanted] = scores[member][both[nearest]]
    return own


def _with_ties_broken(scores: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    """Scores as points, with one more coordinate that orders equal points at random."""
    return np.column_stack([scores.astype(np.float64), 1e-6 * rng.random(len(scores))])


def histograms(items: NDArray[Any], n_classes: int) -> Embedding:
    """Histograms of the scores of each class; predicted classes are scores of 0 and 1."""
    if items.ndim == 1:
        items = items[:, None] == np.arange(n_classes)
    return Histograms((_BINS,)).embed(items.astype(np.float64))
