"""How the members of an ensemble are drawn and trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.model_selection import PredefinedSplit

from headcount._parameters import check_count
from headcount.data import take_rows
from headcount.errors import HeadcountError
from headcount.quantify.base import Quantifier
from headcount.quantify.ensembles.committee import mean_error
from headcount.quantify.one_vs_rest import base_scorer
from headcount.quantify.seeds import seeded
from headcount.representation import Embedding, Histograms, Training
from headcount.sampling import Samples
from headcount.sampling._shares import nearest_counts, uniform_shares
from headcount.scores.folds import check_cv, make_folds

__all__ = [
    "BY_ERROR",
    "WITHOUT_SCORES",
    "Drawing",
    "Learnt",
    "Lesson",
    "histograms",
    "scores_by_member",
]

# Policies that choose members by their errors, and those that look at no scores to choose.
BY_ERROR = ("ae", "rae")
WITHOUT_SCORES = ("all", "ptr")
# Items of each class that a sample has at least, so that there are folds.
_HANDFUL = 5
_LARGEST_SAMPLE = 1000
# Scores of training items that an ensemble keeps for its estimates: 160 MB.
_MOST_SCORES = 20_000_000
_BINS = 10


@dataclass(frozen=True, eq=False)
class Drawing:
    """Items to draw from, by class, and how many of each class may be drawn."""

    by_class: Sequence[NDArray[np.int64]]
    allowed: Sequence[int]
    codes: NDArray[np.int64]
    sample_size: int

    @classmethod
    def of(
        cls, training: Training, classes: NDArray[Any], sample_size: Any, halve: bool
    ) -> Drawing:
        """Check the sample size; `halve` leaves a half of each class out of every sample."""
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
        if sample_size is None:
            sample_size = max(min(sum(counts), _LARGEST_SAMPLE), _HANDFUL * K)
        sample_size = check_count("sample_size", sample_size, K)
        allowed = [(count + 1) // 2 if halve else count for count in counts]
        return cls(by_class, allowed, codes, sample_size)

    def draw(self, n_samples: int, share_seed: int, item_seed: int) -> Samples:
        """Samples with shares uniform on the simplex, above a handful of each class."""
        K, numbers = len(self.by_class), np.arange(n_samples)
        least = min(_HANDFUL, self.sample_size // K)
        shares = uniform_shares(share_seed, numbers, K)
        free = np.full(n_samples, self.sample_size - K * least)
        counts = least + nearest_counts(shares, free, numbers)
        rng = np.random.default_rng(item_seed)
        samples = [
            # Goes through the class again and again where more is wanted than allowed.
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
class Learnt:
    """A trained member.

    Attributes
    ----------
    member : Quantifier
        Fitted.
    target : ndarray
        What a sample is to be like for the member to be chosen; may be empty.
    error : float
        Mean error on the samples of the others, if it is wanted.
    items : Any
        Training items as the member takes them, which it was not trained on.
    known : ndarray of int
        Rows of these items.
    """

    member: Quantifier
    target: NDArray[np.float64]
    error: float
    items: Any
    known: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Lesson:
    """All that it takes to train any of the members.

    Attributes
    ----------
    base : Quantifier
        What members are copies of.
    training : Training
        All labelled items: as they came, or as the quantifier takes them.
    classes : ndarray of shape (K,)
        The classes.
    draws : Samples
        The training items of each member.
    scoring : {"folds", "left-out", None}
        How members score the items; None if they are not to train classifiers.
    policy : str
        How members will be chosen.
    """

    base: Quantifier
    training: Training
    classes: NDArray[Any]
    draws: Samples
    scoring: str | None
    policy: str

    @property
    def _learns_from_scores(self) -> bool:
        return self.base._learns_from_scores() or self.policy not in WITHOUT_SCORES

    def learn(self, number: int, seed: int) -> Learnt:
        """Train one member."""
        member, rows = seeded(self.base, seed), self.draws[number]
        if self.scoring is None:
            scorer, items = None, self.training.items
            known = np.arange(len(self.training.codes))
            training = self._drawn(rows)
        else:
            scorer, items, known = self._scored(member, rows, seed)
            learnt_from = (items, known) if self._learns_from_scores else (None, rows)
            training = self._standing_for(rows, *learnt_from)
        member._learn(training, self.classes, scorer)
        # Members give no estimates of their own; the ensemble keeps the scores it needs.
        member._training = None
        target = training.prior
        if self.policy == "ds":
            scored: Any = training.items
            scores = histograms(scored, training.n_classes)
            target = scores.means(Samples.whole(len(training.codes)), training.weights)[0]
        error = 0.0
        if self.policy in BY_ERROR:
            error = self._error(number, member, items, known)
        return Learnt(member, target, error, items, known)

    def _scored(
        self, member: Quantifier, rows: NDArray[Any], seed: int
    ) -> tuple[Any, NDArray[Any], NDArray[Any]]:
        """A scorer of the member's own, scores of items it was not trained on, their rows."""
        training, labels = self.training, member._input() == "labels"
        scorer = member._scorer()
        # Methods that do not learn from scores need those by folds for estimates alone.
        wanted = self._learns_from_scores or self.base._cv() is not None
        folds = wanted and self.scoring == "folds"
        if folds:
            self._fold_by_item(base_scorer(scorer), rows, seed)
        scorer.fit(
            take_rows(training.items, rows),
            self.classes[training.codes[rows]],
            None if training.weights is None else training.weights[rows],
            out_of_fold=folds,
            posteriors=not labels,
        )
        everything = training.items
        known = np.arange(len(training.codes))
        if not folds:
            known = np.setdiff1d(known, rows)
            everything = take_rows(everything, known)
        score = scorer.labels if labels else scorer.posteriors
        scores = np.array(score(everything)) if len(known) else np.empty((0, len(self.classes)))
        if folds:
            scores[rows] = member._out_of_fold(scorer)
        return scorer, member._arranged(scores, training.n_classes), known

    def _fold_by_item(self, scorer: Any, rows: NDArray[Any], seed: int) -> None:
        """Let a scorer cross-fit so that it never sees a copy of an item that it scores."""
        check_cv(scorer.cv)
        items, place = np.unique(rows, return_inverse=True)
        features = take_rows(self.training.items, items)
        folds = make_folds(scorer.cv, features, self.training.codes[items], self.classes, seed)
        if folds is None:
            return
        number = np.empty(len(items), np.int64)
        for fold, (_, test) in enumerate(folds):
            number[test] = fold
        scorer.set_params(cv=PredefinedSplit(number[place]))

    def _drawn(self, rows: NDArray[Any]) -> Training:
        """The items of a sample."""
        items, weights = self.training.items, self.training.weights
        return Training(
            None if items is None else take_rows(items, rows),
            self.training.codes[rows],
            self.training.n_classes,
            None if weights is None else weights[rows],
        )

    def _standing_for(self, rows: NDArray[Any], items: Any, known: NDArray[Any]) -> Training:
        """Known items, weighted so that the classes have the shares of a sample."""
        codes, K = self.training.codes, self.training.n_classes
        weights = self.training.weights
        weights = np.ones(len(codes)) if weights is None else weights
        wanted = np.bincount(codes[rows], weights[rows], K)
        there = np.bincount(codes[known], weights[known], K)
        return Training(items, codes[known], K, weights[known] * (wanted / there)[codes[known]])

    def _error(self, number: int, member: Quantifier, items: Any, known: NDArray[Any]) -> float:
        """Mean error on what is known of the samples of the other members."""
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
    training: Training, learnt: Sequence[Learnt], seed: int
) -> Training | None:
    """Training items as each member scores them, for estimates of the ensemble.

    Items that a member was trained on, and has no out-of-fold scores of, get its score of the
    item of the same class that another member takes for the most similar. Items that no
    member knows are left out, and so is a random part of a training set for which all scores
    would take too much memory.

    Parameters
    ----------
    training : Training
        All labelled items.
    learnt : sequence of Learnt
        The members.
    seed : int
        Random seed.

    Returns
    -------
    Training or None
        Its ``items`` are a list with the scores by each member. None if a member knows no
        item of some class.
    """
    N, M = len(training.codes), len(learnt)
    places = np.full((M, N), -1)
    for number, each in enumerate(learnt):
        places[number, each.known] = np.arange(len(each.known))
        if len(np.unique(training.codes[each.known])) < training.n_classes:
            return None
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero((places >= 0).any(axis=0))
    most = max(1, _MOST_SCORES // (M * training.n_classes))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    codes, known = training.codes[rows], places[:, rows] >= 0
    scores = []
    for number, each in enumerate(learnt):
        # Rows that are not known hold anything until they are matched.
        scores.append(each.items[places[number, rows]])
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
    """Scores by a member, those of items it was trained on from similar ones."""
    M = len(scores)
    own = scores[member].copy()
    # The next member in cyclic order that knows an item.
    judge = (member + known[np.arange(member, member + M) % M].argmax(axis=0)) % M
    unknown = np.flatnonzero(~known[member])
    for j, other in set(zip(codes[unknown].tolist(), judge[unknown].tolist(), strict=True)):
        wanted = unknown[(codes[unknown] == j) & (judge[unknown] == other)]
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
    """Scores as points, with a coordinate that decides at random among equal ones."""
    return np.column_stack([scores.astype(np.float64), 1e-6 * rng.random(len(scores))])


def histograms(items: NDArray[Any], n_classes: int) -> Embedding:
    """Histograms of the scores of each class; predicted classes are scores of 0 and 1."""
    if items.ndim == 1:
        items = items[:, None] == np.arange(n_classes)
    return Histograms((_BINS,)).embed(items.astype(np.float64))
