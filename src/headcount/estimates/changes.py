"""Columns that changed beyond what a change of the class mix explains.

Under prior shift the new items of a class look like its labelled items. Every column of the new
items is then a mixture of its class distributions, with the same shares in all columns. Each
column is compared with the mixture that the *other* columns imply. The shares are estimated
from a score that is a sum over columns, so that leaving out a column is a subtraction, and the
covariance of its misfit is known. A changed column biases the shares and makes others look
changed. Changed columns are therefore removed from the score one by one, the one first without
which the others fit best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.stats import f as f_distribution

from headcount._support.arrays import Bools, Floats, Ints
from headcount._support.parameters import check_fraction
from headcount._support.text import Table, chance, html_result, percent, printable
from headcount.errors import HeadcountError
from headcount.estimates.column_features import (
    MISSING,
    ONCE,
    OTHER,
    Coded,
    CodedItems,
    code_column,
    features_of,
)
from headcount.items.arrays import check_labels
from headcount.metrics.agreement import corrected_by_holm

# Values that are expected fewer times are merged with the most frequent value.
_FEWEST_EXPECTED = 5
_FOLDS = 5
# Labelled items that covariances are computed from.
_MOST_ITEMS = 5_000
_STEPS = 3
# Least part of the variance of a frequency that remains if other columns determine it.
_LEAST_VARIANCE = 0.02
# Features that are tried as the next to be removed, removed one by one, and rounds in which all
# that still do not fit are removed at once.
_TRIED, _MOST_SINGLY, _ROUNDS = 6, 10, 3
# Columns that a sentence names, and words of a column that are listed.
_NAMED, _LISTED = 3, 20

LENGTH = "number of words"


class NothingVariesError(HeadcountError):
    """No column can have changed, as none varies."""


@dataclass(frozen=True)
class ValueDifference:
    """Difference of the frequency of a value or word from what the mix explains.

    Attributes
    ----------
    value : str
        The value or word, a range of numbers, or "missing".
    expected, observed : float
        Share of the new items with it, expected under the new mix and observed.
    size : float
        Share of the new items that must change to turn the expected into the observed
        distribution: of the whole feature, so that it is at least the difference.
    p_value : float
        Adjusted for the number of features and columns.
    in_training : bool
        False if no labelled item has the value.
    """

    value: str
    expected: float
    observed: float
    size: float
    p_value: float
    in_training: bool = True

    def __str__(self) -> str:
        quoted = self.value if self.value in (OTHER, ONCE, MISSING) else f"“{self.value}”"
        new = "" if self.in_training else ", never seen in training"
        return f"{quoted} {percent(self.expected)} → {percent(self.observed)}{new}"


@dataclass(frozen=True)
class ColumnChange:
    """Change of one column beyond the change of the mix.

    Attributes
    ----------
    column : str
        Name of the column.
    kind : {"number", "category", "text"}
        Kind of the column.
    size : float
        Share of the new items whose values must change to turn the distribution that is
        expected under the new mix into the observed one. Of texts, that of the word or of the
        number of words with the strongest evidence.
    p_value : float
        Probability of such a misfit in any column by chance (Holm's adjustment).
    is_changed : bool
        True if the p-value is below the level.
    largest : ValueDifference
        The value or word that differs most.
    means : tuple of float, default=None
        Of numbers, and of texts whose length changed: the expected and the observed mean.
    words : tuple of ValueDifference
        Of texts, the words that changed, those with the strongest evidence first.
    """

    column: str
    kind: Literal["number", "category", "text"]
    size: float
    p_value: float
    is_changed: bool
    largest: ValueDifference
    means: tuple[float, float] | None = None
    words: tuple[ValueDifference, ...] = ()

    @property
    def direction(self) -> str:
        """Change in words: expected under the mix, then observed.

        >>> share = ValueDifference("12 to 20", 0.1, 0.3, 0.25, 0.001)
        >>> ColumnChange("age", "number", 0.25, 0.001, True, share, (41.2, 55.0)).direction
        'mean 41.2 → 55'
        """
        if self.means is None or self.largest.value == MISSING:
            return str(self.largest)
        what = LENGTH if self.kind == "text" else "mean"
        expected, observed = (f"{mean:.4g}" for mean in self.means)
        if expected == observed:
            return str(self.largest)
        return f"{what} {expected} → {observed}"


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """Columns ranked by how much they changed beyond the change of the mix.

    Prints as a table. Changed columns come first, the largest change at the top. The others
    follow by their p-values.

    Attributes
    ----------
    columns : tuple of ColumnChange
        All compared columns, ranked.
    classes : tuple
        Names of the classes.
    shares : ndarray of shape (K,)
        Shares of the classes that the columns are compared under. They are fitted to the
        columns that did not change, and are less precise than those of a quantifier.
    level : float
        Probability of blaming any column although only the mix changed.
    left_out : dict of str to str
        Columns that were not compared, and why.
    notes : tuple of str
        Sentences about the data.
    """

    columns: tuple[ColumnChange, ...]
    classes: tuple[Any, ...]
    shares: Floats
    level: float
    left_out: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the columns that changed, the largest change first."""
        return tuple(row.column for row in self.columns if row.is_changed)

    @property
    def sentence(self) -> str:
        """Changes in a sentence or two."""
        changed, n = [row for row in self.columns if row.is_changed], len(self.columns)
        columns = f"{n} column{'' if n == 1 else 's'}"
        if not changed:
            return (
                "No column changed beyond what a change of the mix explains "
                f"({columns} compared)."
            )
        large = [row for row in changed[:_NAMED] if 2 * row.size >= changed[0].size]
        mainly = _listed([row.column for row in large])
        which = mainly if len(large) == len(changed) else f"mainly {mainly}"
        text = f"{len(changed)} of {columns} changed beyond what the mix explains: {which}."
        if n > 2 and 2 * len(changed) >= n:
            text += " With so many, it is uncertain which changed and which follow the mix."
        return text

    def to_frame(self, *, words: bool = False) -> Any:
        """Return a polars frame with one row per column, ranked, or per changed word."""
        if words:
            return pl.DataFrame(
                [
                    (row.column, word.value, word.expected, word.observed, word.p_value)
                    for row in self.columns
                    for word in row.words
                ],
                schema={
                    "column": pl.String,
                    "word": pl.String,
                    "expected": pl.Float64,
                    "observed": pl.Float64,
                    "p_value": pl.Float64,
                },
                orient="row",
            )
        return pl.DataFrame(
            [
                (
                    row.column, row.kind, row.is_changed, row.size, row.p_value,
                    row.largest.value, row.largest.expected, row.largest.observed,
                    *(row.means or (None, None)), row.direction,
                )
                for row in self.columns
            ],
            schema={
                "column": pl.String, "kind": pl.String, "changed": pl.Boolean,
                "size": pl.Float64, "p_value": pl.Float64, "value": pl.String,
                "expected": pl.Float64, "observed": pl.Float64,
                "expected_mean": pl.Float64, "observed_mean": pl.Float64,
                "direction": pl.String,
            },
            orient="row",
        )  # fmt: skip

    def to_table(self, most: int = 10) -> Table:
        """Table that `print` shows: the changed columns, or the first of the others."""
        rows = [row for row in self.columns if row.is_changed] or self.columns[:1]
        cells = [
            [row.column, percent(row.size), row.direction, chance(row.p_value)]
            for row in rows[:most]
        ]
        head = ["column", "items moved", "expected under the mix → observed", "by chance"]
        return Table.of(head, cells, [False, True, False, False])

    def __repr__(self) -> str:
        lines = [self.sentence, self.to_table().to_text(ruled=False)]
        lines += [f"{printable(name)}: {text}" for name, text in self._words().items()]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        words = [f"{name}: {text}" for name, text in self._words().items()]
        return str(html_result(self.sentence, [self.to_table()], [*words, *self.notes]))

    def _words(self) -> dict[str, str]:
        return {
            row.column: ", ".join(map(str, row.words[:5])) for row in self.columns if row.words
        }


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def find_changes(
    old: Mapping[str, Any],
    y: ArrayLike,
    new: Mapping[str, Any],
    *,
    texts: Collection[str] = (),
    shares: ArrayLike | None = None,
    level: float = 0.05,
    random_state: int = 0,
) -> Changes:
    """Rank columns by how much they changed beyond what a change of the mix explains.

    Parameters
    ----------
    old : mapping of str to array-like or polars Series
        Columns of the labelled items. Numbers are compared in bins of equal frequency, all
        others value by value. NaN and null are missing values, which count as a value.
    y : array-like of shape (n,)
        Labels of these items.
    new : mapping of str to array-like or polars Series
        The same columns of the new items.
    texts : collection of str, default=()
        Columns of texts, which are compared word by word.
    shares : array-like of shape (K,), default=None
        Shares of the classes in the new items, in sorted order, if they are known. By default
        they are fitted to the columns that did not change.
    level : float, default=0.05
        Probability of blaming any column although only the mix changed.
    random_state : int, default=0
        Random seed of folds and of a sample of many labelled items.

    Examples
    --------
    >>> import numpy as np
    >>> from headcount.estimates import find_changes
    >>> rng = np.random.default_rng(0)
    >>> def items(n, share, moved):
    ...     spam = rng.random(n) < share
    ...     columns = {name: rng.normal(spam) for name in ("links", "length", "capitals")}
    ...     return columns | {"hour": rng.normal(12 + moved, 4, n)}, spam
    >>> old, y = items(2000, 0.2, 0)
    >>> new, _ = items(2000, 0.7, 2)
    >>> find_changes(old, y, new).changed
    ('hour',)
    >>> find_changes(old, y, items(2000, 0.7, 0)[0]).changed
    ()
    """
    check_fraction("level", level)
    classes, codes = check_labels(y)
    columns = _checked(old, len(codes), new, texts)
    coded = [code_column(name, *pair, is_text=name in texts) for name, pair in columns.items()]
    comparison = _ComparedFeatures.of(
        features_of(coded),
        codes,
        len(next(iter(columns.values()))[1]),
        None if shares is None else _checked_shares(shares, len(classes)),
        random_state,
    )
    column_of = np.concatenate(
        [
            np.flatnonzero([column.numbered is not None for column in coded]),
            *(np.full(len(column.words), i) for i, column in enumerate(coded)),
        ]
    ).astype(np.int64)
    if not len(column_of):
        raise NothingVariesError("old and new have no column that varies: pass other columns.")
    # Bonferroni's adjustment within a column, Holm's over columns.
    n_features = np.bincount(column_of, minlength=len(coded))
    result = comparison.search(level / (n_features[column_of] * len(coded)))
    ranked = _ranked(coded, comparison, result, column_of, codes, level)
    return Changes(ranked, tuple(classes.tolist()), result.shares, level, {})


def _checked(
    old: Mapping[str, Any], n_labels: int, new: Mapping[str, Any], texts: Collection[str]
) -> dict[str, tuple[pl.Series, pl.Series]]:
    """Columns of both tables, each with as many values as there are items."""
    if not old:
        raise HeadcountError("old has no columns: pass at least one.")
    if missing := [name for name in (*old, *texts) if name not in new]:
        raise HeadcountError(f"new lacks the column {missing[0]!r}: pass the columns of old.")
    columns = {name: (_series(old[name]), _series(new[name])) for name in old}
    for i, what in enumerate(("old", "new")):
        sizes = {name: len(pair[i]) for name, pair in columns.items()}
        n = n_labels if i == 0 else next(iter(sizes.values()))
        wrong = next((name for name, size in sizes.items() if size != n), None)
        if wrong is not None:
            raise HeadcountError(
                f"Column {wrong!r} of {what} has {sizes[wrong]:,} items, but there are {n:,} "
                f"{'labels' if i == 0 else 'in another column'}: pass one value per item."
            )
        if n == 0:
            raise HeadcountError(f"{what} has no items: pass at least one.")
    return columns


def _series(values: Any) -> pl.Series:
    series = values if isinstance(values, pl.Series) else pl.Series(np.asarray(values))
    if series.dtype.is_numeric():
        numbers = series.cast(pl.Float64).fill_nan(None)
        return numbers.set(numbers.is_infinite().fill_null(False), None)
    return series.cast(pl.String)


def _checked_shares(shares: ArrayLike, n_classes: int) -> Floats:
    array = np.asarray(shares, np.float64)
    if array.shape != (n_classes,) or array.min() < 0 or abs(array.sum() - 1) > 1e-6:
        raise HeadcountError(
            f"shares is {shares!r}; it must have {n_classes} shares from 0 to 1 that add up "
            "to 1, one per class."
        )
    return array / array.sum()


# The comparison. Arrays have the axes j (features), b (values other than the reference),
# c (columns of the score, one less than classes) and k (classes).


@dataclass(frozen=True, eq=False)
class _Block:
    """Statistics of features that are compared together."""

    items: CodedItems  # those of a sample of the labelled items
    item_frequencies: Floats  # (j, b, k) of values in the classes of this sample
    frequencies: Floats  # (j, b, k) of values in the classes of all labelled items
    observed: Floats  # (j, b) of values in the new items
    weights: Floats  # (j, b, c) of values in the score
    class_scores: Floats  # (j, c, k) mean parts of the score, of labelled items out of fold
    new_scores: Floats  # (j, c) mean parts of the score, of the new items
    is_value: Bools  # (j, b)

    @classmethod
    def of(
        cls, old: CodedItems, new: CodedItems, n_new: int, codes: Ints, folds: Ints, rows: Ints
    ) -> _Block:
        K = int(codes.max()) + 1
        counts = old.counts(folds * K + codes, _FOLDS * K)
        counts = np.moveaxis(counts.reshape(*counts.shape[:2], _FOLDS, K), 2, 0)
        sizes = np.bincount(folds * K + codes, minlength=_FOLDS * K).reshape(_FOLDS, K)
        every = counts.sum(axis=0)
        weights = np.stack(
            [
                _value_weights(every - own_counts, sizes.sum(axis=0) - size)
                for own_counts, size in zip(counts, sizes, strict=True)
            ]
        )
        observed = new.counts(np.zeros(n_new, np.int64), 1)[:, :, 0] / n_new
        items = old.of(rows)
        return cls(
            items,
            items.counts(codes[rows], K) / np.bincount(codes[rows]),
            every / sizes.sum(axis=0),
            observed,
            weights.mean(axis=0),
            np.einsum("fjbk,fjbc->jck", counts, weights) / sizes.sum(axis=0),
            np.einsum("jb,jbc->jc", observed, weights.mean(axis=0)),
            np.arange(every.shape[1]) < old.n_values[:, None] - 1,
        )


def _value_weights(counts: Floats, sizes: Floats) -> Floats:
    """Weights of values: their frequency in a class relative to the mean of all classes.

    They are relative to the reference, and shrunk by the part of a feature's association
    with the classes that chance explains.
    """
    table = np.concatenate([counts, sizes - counts.sum(axis=1, keepdims=True)], axis=1)
    pooled = table.sum(axis=2, keepdims=True) / sizes.sum()
    frequencies = (table + pooled) / (sizes + 1)
    mean = frequencies.mean(axis=2, keepdims=True)
    ratios = np.divide(frequencies, mean, out=np.ones_like(table), where=mean > 0)
    expected = pooled * sizes
    terms = np.divide(
        (table - expected) ** 2, expected, out=np.zeros_like(table), where=expected > 0
    )
    by_chance = (len(sizes) - 1) * ((pooled[:, :, 0] > 0).sum(axis=1) - 1)
    shrinkage = np.maximum(0.0, 1 - by_chance / np.maximum(terms.sum(axis=(1, 2)), 1e-300))
    weights = (ratios[:, :-1, :-1] - ratios[:, -1:, :-1]) * shrinkage[:, None, None]
    return np.where(pooled[:, :-1] > 0, weights, 0.0)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Misfit of all features under the shares that the active ones imply."""

    shares: Floats
    statistics: Floats
    df: Ints
    log_p: Floats
    expected: list[Floats]

    @cached_property
    def ratios(self) -> Floats:
        """Statistics divided by their mean by chance."""
        return self.statistics / np.maximum(self.df, 1)


@dataclass(frozen=True, eq=False)
class _ComparedFeatures:
    """Features of labelled and new items, and a prior of the shares of the latter."""

    blocks: list[_Block]
    codes: Ints  # classes of the sample of labelled items
    sizes: Floats
    n_new: int
    prior_mean: Floats
    prior_covariance: Floats

    @classmethod
    def of(
        cls,
        features: list[tuple[CodedItems, CodedItems]],
        codes: Ints,
        n_new: int,
        shares: Floats | None,
        seed: int,
    ) -> _ComparedFeatures:
        rng = np.random.default_rng(seed)
        n, K = len(codes), int(codes.max()) + 1
        order = np.lexsort((rng.random(n), codes))
        sizes = np.bincount(codes).astype(np.float64)
        # Place of an item in its class, in random order.
        place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes.astype(np.int64))
        folds = np.empty(n, np.int64)
        folds[order] = place % _FOLDS
        rows = np.sort(order[place < max(200, _MOST_ITEMS // K)])
        blocks = [_Block.of(old, new, n_new, codes, folds, rows) for old, new in features]
        # A normal prior that is wider than the simplex.
        vague = 2 * (np.eye(K) / K - 1 / K**2)
        mean = np.full(K, 1 / K) if shares is None else shares
        covariance = vague if shares is None else np.zeros((K, K))
        return cls(blocks, codes[rows], sizes, n_new, mean, covariance)

    @property
    def n_features(self) -> int:
        return sum(len(block.observed) for block in self.blocks)

    def search(self, levels: Floats) -> _Fit:
        """Fit without the features that changed, removed until the others fit."""
        active = np.ones(self.n_features, np.bool_)
        fit = self.fit(active)
        for _ in range(_MOST_SINGLY):
            bad = active & (fit.log_p < np.log(levels))
            if not bad.any() or active.sum() <= 2:
                return fit
            tried = np.flatnonzero(bad)[np.argsort(-fit.ratios[bad], kind="stable")[:_TRIED]]
            trials = [self.fit(_without(active, j)) for j in tried]
            # The logarithm lets a few large misfits count less than many small ones.
            losses = [
                np.log1p(trial.ratios)[_without(active, j)].sum()
                for trial, j in zip(trials, tried, strict=True)
            ]
            best = int(np.argmin(losses))
            active, fit = _without(active, tried[best]), trials[best]
        for _ in range(_ROUNDS):
            bad = active & (fit.log_p < np.log(levels))
            if not bad.any() or 2 * (active & ~bad).sum() < len(active):
                break
            active = active & ~bad
            fit = self.fit(active)
        return fit

    def fit(self, active: Bools) -> _Fit:
        """Compare each feature with the mixture that the other active ones imply."""
        ends = np.cumsum([len(block.observed) for block in self.blocks])[:-1]
        masks = [mask[:, None, None] for mask in np.split(active.astype(np.float64), ends)]
        pairs = list(zip(self.blocks, masks, strict=True))
        K, n_items = len(self.sizes), np.bincount(self.codes)
        scores = np.sum(
            [block.items.scores(block.weights * mask) for block, mask in pairs], axis=0
        )
        members = np.eye(K)[self.codes]
        centred = scores - ((members.T @ scores) / n_items[:, None])[self.codes]
        class_scores = np.sum(
            [(block.class_scores * mask).sum(axis=0) for block, mask in pairs], axis=0
        )
        new_scores = np.sum(
            [(block.new_scores * mask[:, 0]).sum(axis=0) for block, mask in pairs], axis=0
        )
        shares = self.sizes / self.sizes.sum()
        for _ in range(_STEPS):
            variances = shares / self.n_new + shares**2 / self.sizes
            weighted = centred * (variances / np.maximum(n_items - 1, 1))[self.codes, None]
            noise = weighted.T @ centred
            gain = _gain(self.prior_covariance, class_scores[None], noise[None])[0]
            shares = self.prior_mean + gain @ (new_scores - class_scores @ self.prior_mean)
            shares = np.maximum(shares, 0) / np.maximum(shares, 0).sum()
        common = _Common(
            shares,
            variances * n_items / np.maximum(n_items - 1, 1),
            weighted,
            noise,
            class_scores,
            new_scores,
        )
        misfits = [self._misfits(block, mask, common) for block, mask in pairs]
        statistics, df, expected = zip(*misfits, strict=True)
        statistic, degrees = np.concatenate(statistics), np.concatenate(df)
        # Hotelling's correction for the degrees of freedom of the estimated covariance.
        spare = variances.sum() ** 2 / (variances**2 / np.maximum(self.sizes - 1, 1)).sum()
        first, second = np.maximum(degrees, 1), np.maximum(spare - degrees + 1, 1)
        log_p = f_distribution.logsf(statistic * second / (spare * first), first, second)
        return _Fit(
            shares, statistic, degrees, np.where(degrees > 0, log_p, 0.0), list(expected)
        )

    def _misfits(
        self, block: _Block, mask: Floats, common: _Common
    ) -> tuple[Floats, Ints, Floats]:
        """Statistics, degrees of freedom and expected frequencies of a block."""
        F, f, prior = block.frequencies, block.item_frequencies, self.prior_covariance
        # Covariance of frequencies V, with the score C; of the score without a feature S.
        V = -np.einsum("k,jbk,jdk->jbd", common.variances, f, f)
        diagonal = np.arange(V.shape[1])
        V[:, diagonal, diagonal] += f @ common.variances
        C = block.items.sums(common.weighted)
        weights = block.weights * mask
        weighted = V @ weights
        cross = weights.transpose(0, 2, 1) @ C
        S = (
            common.noise
            - cross
            - cross.transpose(0, 2, 1)
            + weights.transpose(0, 2, 1) @ weighted
        )
        C = C - weighted
        M = common.class_scores - block.class_scores * mask
        s = common.new_scores - block.new_scores * mask[:, 0]
        gain = _gain(prior, M, S)
        shares = self.prior_mean + _times(gain, s - M @ self.prior_mean)
        expected = _times(F, shares)
        FG = F @ gain
        residual, mixed = F - FG @ M, FG @ C.transpose(0, 2, 1)
        U = (1 + _LEAST_VARIANCE) * V - mixed - mixed.transpose(0, 2, 1)
        U += residual @ prior @ residual.transpose(0, 2, 1) + FG @ S @ FG.transpose(0, 2, 1)
        n_old = 1 / (common.shares**2 / self.sizes).sum()
        # A rare value may be more frequent than in the sample of labelled items, and the new
        # items tell as much about its frequency as the labelled ones.
        rare = np.maximum((F - f) @ common.variances, 0.0)
        rare += np.maximum(block.observed - expected, 0.0) / n_old
        U[:, diagonal, diagonal] += rare
        pooled = (self.n_new * block.observed + n_old * np.maximum(expected, 0.0)) / (
            self.n_new + n_old
        )
        tested = block.is_value & (pooled * min(n_old, self.n_new) >= _FEWEST_EXPECTED)
        misfit = np.where(tested, block.observed - expected, 0.0)
        return _squared(misfit, U, tested), tested.sum(axis=1), expected


@dataclass(frozen=True, eq=False)
class _Common:
    """Facts that the comparisons of all features share."""

    shares: Floats
    variances: Floats  # of the mean of a variable with variance 1 in each class
    weighted: Floats  # centred scores of items, weighted so that sums are covariances
    noise: Floats
    class_scores: Floats
    new_scores: Floats


def _gain(prior: Floats, class_scores: Floats, noise: Floats) -> Floats:
    """Change of the estimated shares per unit of the score, given a normal prior."""
    along = class_scores @ prior
    total = along @ class_scores.transpose(0, 2, 1) + noise
    least = 1e-10 * np.einsum("jcc->j", total)[:, None, None] + 1e-300
    return np.linalg.solve(total + least * np.eye(total.shape[1]), along).transpose(0, 2, 1)


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _squared(misfit: Floats, covariance: Floats, tested: Bools) -> Floats:
    """Squared length of a misfit in standard errors, over the tested values."""
    V = covariance * (tested[:, :, None] & tested[:, None, :])
    diagonal = np.arange(V.shape[1])
    V[:, diagonal, diagonal] = np.where(
        tested, V[:, diagonal, diagonal] * (1 + 1e-9) + 1e-300, 1
    )
    return np.einsum("jb,jb->j", misfit, np.linalg.solve(V, misfit[:, :, None])[:, :, 0])


def _without(active: Bools, feature: int) -> Bools:
    mask = active.copy()
    mask[feature] = False
    return mask


# From fits to ranked columns.


@dataclass(frozen=True, eq=False)
class _Feature:
    """A feature with what was expected and observed, the reference included."""

    expected: Floats
    observed: Floats
    in_training: Bools
    log_p: float
    ratio: float

    @property
    def size(self) -> float:
        """Total variation distance of observed and expected frequencies."""
        return 0.5 * float(np.abs(self.observed - self.expected).sum())

    def difference(
        self, labels: Sequence[str], n_tests: int, place: int | None = None
    ) -> ValueDifference:
        """Value that differs most, or the one at a place; p-value of the feature."""
        if place is None:
            place = int(np.abs(self.observed - self.expected).argmax())
        return ValueDifference(
            labels[place],
            float(np.clip(self.expected[place], 0.0, 1.0)),
            float(self.observed[place]),
            self.size,
            min(1.0, n_tests * float(np.exp(self.log_p))),
            bool(self.in_training[place]),
        )


def _features(comparison: _ComparedFeatures, fit: _Fit) -> list[_Feature]:
    features: list[_Feature] = []
    for block, expected in zip(comparison.blocks, fit.expected, strict=True):
        has_values = block.frequencies.sum(axis=2) > 0
        for j, is_value in enumerate(block.is_value):
            means, shares = expected[j, is_value], block.observed[j, is_value]
            features.append(
                _Feature(
                    np.append(means, 1 - means.sum()),
                    np.append(shares, 1 - shares.sum()),
                    np.append(has_values[j, is_value], True),
                    float(fit.log_p[len(features)]),
                    float(fit.ratios[len(features)]),
                )
            )
    return features


def _ranked(
    coded: Sequence[Coded],
    comparison: _ComparedFeatures,
    fit: _Fit,
    column_of: Ints,
    codes: Ints,
    level: float,
) -> tuple[ColumnChange, ...]:
    """All columns, the changed ones first."""
    features = _features(comparison, fit)
    of_column = [
        [features[j] for j in np.flatnonzero(column_of == i)] for i in range(len(coded))
    ]
    log_p = [
        min((feature.log_p for feature in features), default=0.0)
        + np.log(max(len(features), 1))
        for features in of_column
    ]
    p_values = corrected_by_holm(np.exp(np.minimum(log_p, 0.0)))
    rows = [
        _column_change(column, features, len(coded), float(p), codes, fit.shares, level)
        for column, features, p in zip(coded, of_column, p_values, strict=True)
    ]
    order = sorted(
        range(len(rows)),
        key=lambda i: (
            not rows[i].is_changed,
            -rows[i].size if rows[i].is_changed else log_p[i],
            rows[i].column,
        ),
    )
    return tuple(rows[i] for i in order)


def _column_change(
    column: Coded,
    features: Sequence[_Feature],
    n_columns: int,
    p_value: float,
    codes: Ints,
    shares: Floats,
    level: float,
) -> ColumnChange:
    if not features:
        same = ValueDifference("the same value", 1.0, 1.0, 0.0, 1.0)
        return ColumnChange(column.name, column.kind, 0.0, 1.0, False, same)
    n_tests = len(features) * n_columns
    strongest = min(range(len(features)), key=lambda i: (features[i].log_p, -features[i].ratio))
    n_numbered = int(column.numbered is not None)
    words = [
        feature.difference((word, ""), n_tests, 0)
        for word, feature in zip(column.words, features[n_numbered:], strict=True)
    ]
    changed = [
        words[i]
        for i in sorted(
            range(len(words)), key=lambda i: (features[n_numbered + i].log_p, words[i].value)
        )
        if words[i].p_value < level
    ]
    means = None
    if strongest < n_numbered and column.numbered is not None:
        largest = features[strongest].difference(column.numbered.labels, n_tests)
        means = column.numbers and _means(*column.numbers, codes, shares)
    else:
        largest = words[strongest - n_numbered]
    return ColumnChange(
        column.name, column.kind, features[strongest].size, p_value, p_value < level, largest,
        means, tuple(changed[:_LISTED]),
    )  # fmt: skip


def _means(old: Floats, new: Floats, codes: Ints, shares: Floats) -> tuple[float, float] | None:
    """Mean of a column expected under the shares, and observed; None without any value."""
    amount = (shares / np.bincount(codes))[codes] * ~np.isnan(old)
    if not amount.sum() > 0 or np.isnan(new).all():
        return None
    return float(amount @ np.nan_to_num(old) / amount.sum()), float(np.nanmean(new))
