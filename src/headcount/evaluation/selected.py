"""Base of searches: once fitted, they predict by the quantifier they selected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from headcount._parameters import check_count
from headcount._random import base_seeds
from headcount.data import check_features, count_rows
from headcount.errors import HeadcountError
from headcount.evaluation.candidates import Labelled, Split
from headcount.quantify import Quantifier
from headcount.quantify.info import Input, MethodInfo
from headcount.representation import Training
from headcount.sampling import UPP, Samples
from headcount.scores import Scored, ScoredPool, Verdicts
from headcount.scores.checks import check_labels, check_lengths, check_weights, class_shares
from headcount.scores.folds import make_folds
from headcount.solve import Solution

__all__ = ["Selected", "labelled", "make_splits"]

# Items in a sample that a search draws where nothing is said: as many as there are, at most.
_LARGEST = 500


class Selected(Quantifier):
    """A quantifier that chose another one, ``best_quantifier_``, and answers with it."""

    info: ClassVar = MethodInfo(
        title="chosen on samples of the training set",
        family="meta",
        input="any",
        multiclass="native",
        shift="prior",
        reference="",
    )

    best_quantifier_: Quantifier
    preparation_: Any = None

    def _take_on(self, chosen: Quantifier) -> Self:
        self.best_quantifier_ = chosen
        self._keep(chosen.model_, chosen.classes_, chosen.prior_, chosen.scorer_)
        self._by_folds = chosen._by_folds
        return self

    @property
    def takes(self) -> Input:
        """Kind of items that the quantifier inside works on."""
        chosen = getattr(self, "best_quantifier_", None)
        return "posteriors" if chosen is None else chosen.takes

    def items_of(self, X: Any, *, by_folds: bool | None = None) -> Any:
        """Items of a pool in the form that the chosen quantifier takes.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), list of texts, Scored, Verdicts
            The pool.
        by_folds : bool, default=None
            Score the pool by the classifier of every fold.

        Returns
        -------
        ndarray, or whatever the model takes
        """
        return self.best_quantifier_.items_of(self._prepared(X), by_folds=by_folds)

    def _prepared(self, X: Any) -> Any:
        """Items as the steps of a pipeline before the quantifier make them."""
        if self.preparation_ is None or isinstance(X, Scored | Verdicts | _PreparedPool):
            return X
        given = X.X if isinstance(X, ScoredPool) else X
        return _PreparedPool(self.preparation_.transform(given))

    def _scorer(self) -> Any:
        return None  # the candidates have theirs

    def _simulation_items(self) -> Training:
        return self.best_quantifier_._simulation_items()

    def _items_are_posteriors(self) -> bool | list[Any]:
        return self.best_quantifier_._items_are_posteriors()

    @property
    def scores_by_folds(self) -> bool:
        """True if the classifiers of the folds score the items of estimates."""
        return self.best_quantifier_.scores_by_folds

    @property
    def answering_(self) -> Quantifier:
        """Fitted quantifier whose model answers."""
        return self.best_quantifier_.answering_

    def _solve(self, items: NDArray[Any], samples: Samples) -> Solution:
        return self.best_quantifier_._solve(items, samples)


class _PreparedPool(ScoredPool):
    """Pool that the steps of a pipeline have made."""


def labelled(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None = None
) -> Labelled:
    """Items with labels, and their groups, checked."""
    classified = isinstance(X, Scored | Verdicts)
    names, codes = check_labels(y, classes=X.classes if classified else None)
    # Classifiers check for missing numbers themselves: some accept them.
    X = X if classified else check_features(X, allow_nan=True, any_shape=True)
    check_lengths("X", count_rows(X), codes)
    weights = check_weights(sample_weight, len(codes), name="sample_weight")
    class_shares(codes, weights, names)
    members = None if groups is None else np.asarray(groups)
    if members is not None:
        check_lengths("groups", len(members), codes)
    return Labelled(X, names, codes, None if sample_weight is None else weights, members)


def make_splits(
    items: Labelled, protocol: Any, holdout: Any, folds: Any, random_state: Any
) -> list[Split]:
    """Rows to fit on and samples of the other rows: held out once, or fold by fold."""
    split_seed, draw_seed = (seed % 2**32 for seed in base_seeds(random_state, 2))
    counts = np.bincount(items.codes, minlength=len(items.classes))
    if counts.min() < 2:
        label = items.classes.tolist()[counts.argmin()]
        raise HeadcountError(
            f"y has a single item of class {label!r}: a search needs at least two of each "
            "class, to fit on and to draw from."
        )
    splits = []
    rows = _rows(items.codes, counts, holdout, folds, split_seed)
    if items.groups is not None:
        rows = _rows_of_groups(items, holdout, folds, split_seed)
    for train, test in rows:
        drawn = _protocol(protocol, len(test), draw_seed).draw(
            items.codes[test], classes=np.arange(len(counts))
        )
        splits.append(Split(train, test, drawn))
    return splits


def _protocol(protocol: Any, n_items: int, seed: int) -> Any:
    if protocol is None:
        return UPP(n_samples=1000, size=min(_LARGEST, n_items), random_state=seed)
    if not hasattr(protocol, "draw"):
        raise HeadcountError(
            f"protocol is {protocol!r}; it must be one that draws samples: pass for instance "
            "UPP(n_samples=1000, size=500)."
        )
    return protocol


def _rows_of_groups(
    items: Labelled, holdout: float, folds: int | None, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to fit on and rows to draw from, which have no group in common."""
    n = round(1 / holdout) if folds is None else folds
    splitter = StratifiedGroupKFold(max(2, n), shuffle=True, random_state=seed)
    number = None if folds is not None else 1
    found = make_folds(
        splitter, items.codes, items.codes, items.classes, None, groups=items.groups
    )
    yield from (found or [])[:number]


def _rows(
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    holdout: Any,
    folds: Any,
    seed: int,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to fit on and rows to draw from, with every class among both."""
    if folds is not None:
        if check_count("folds", folds, 2) > counts.min():
            raise HeadcountError(
                f"folds is {folds}, but the smallest class has {counts.min()} items: it must "
                "be at most that."
            )
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes)
        return
    if not isinstance(holdout, int | float) or not 0 < holdout < 1:
        raise HeadcountError(
            f"holdout is {holdout!r}; it must be a share of the items between 0 and 1, such "
            "as 0.4."
        )
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    held = np.clip(np.round(holdout * counts).astype(np.int64), 1, counts - 1)
    # The place of each item among those of its class, in the shuffled order.
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    places = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = places < np.repeat(held, counts)
    yield np.sort(by_class[~chosen]), np.sort(by_class[chosen])
