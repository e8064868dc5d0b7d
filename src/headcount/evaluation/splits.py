"""Splits of labelled items that settings of a quantifier are tried on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from headcount._parameters import check_count
from headcount.data import check_features, count_rows
from headcount.errors import HeadcountError
from headcount.evaluation.candidates import Labelled, Split
from headcount.sampling import UPP
from headcount.sampling._streams import base_seeds
from headcount.scores import Scored, Verdicts
from headcount.scores.checks import check_labels, check_lengths, check_weights, class_shares
from headcount.scores.folds import make_folds

# Items in a sample that a search draws by default: as many as there are, at most.
_LARGEST = 500


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
    group_names = None if groups is None else np.asarray(groups)
    if group_names is not None:
        check_lengths("groups", len(group_names), codes)
    return Labelled(X, names, codes, None if sample_weight is None else weights, group_names)


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
        samples = _protocol(protocol, len(test), draw_seed).draw(
            items.codes[test], classes=np.arange(len(counts))
        )
        splits.append(Split(train, test, samples))
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
    made_folds = make_folds(
        splitter, items.codes, items.codes, items.classes, None, groups=items.groups
    )
    yield from (made_folds or [])[:number]


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
    held_out = places < np.repeat(held, counts)
    yield np.sort(by_class[~held_out]), np.sort(by_class[held_out])
