"""Protocols of prior probability shift, covariate shift, domain shift and concept shift."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._support.arrays import Array, Bools, Floats, Ints
from headcount._support.documentation import documented
from headcount._support.parameters import check_choice, check_count, check_flag, check_fraction
from headcount._support.text import first_of
from headcount.errors import HeadcountError
from headcount.items.arrays import encode_labels
from headcount.samples.protocols import nearest_counts
from headcount.samples.samples import check_share_rows
from headcount.shift.experiments import (
    DECIMALS,
    TENTHS,
    Cells,
    Design,
    ShiftProtocol,
    Side,
    check_lengths,
    check_numbers,
    check_shares,
    counts_near,
    cut,
    read_classes,
    read_labels,
    read_ratings,
    read_two_groups,
    share_of,
)

Prevalences: TypeAlias = Sequence[float] | Sequence[Sequence[float]] | NDArray[np.floating[Any]]


@documented(ShiftProtocol)
@dataclass(frozen=True, eq=False)
class PriorShift(ShiftProtocol):
    """Class shares differ between training and test; P(X|Y) stays.

    Algorithm 1 of González, Moreo and Sebastiani (2024), whose settings are the defaults:
    11 prevalences in training and 11 in tests, 10 training sets of each kind and 50 samples
    of each kind, in total 60,500 samples. The pool is first split at random in two parts,
    class by class. Training sets are drawn from one part and test samples from the other,
    without replacement within each.

    The degree of shift is the requested prevalence of the positive class in the test minus
    that in training, rounded to one decimal as in the tables of the paper. With more than
    two classes it is the mean absolute difference of the shares, which has no sign.

    Parameters
    ----------
    train_prevalences : sequence of float, or array-like of shape (R, K)
        Shares of the positive class (the last one) in training sets, or rows with one share
        per class. By default 0.02, 0.1, 0.2, ..., 0.9, 0.98.
    test_prevalences : sequence of float, or array-like of shape (R, K)
        Shares in test samples, likewise. By default 0, 0.1, ..., 1.
    cut_point : float, default=3
        Rating at which classes are separated if no labels are given. Items above are class 1,
        items below class 0. Items with exactly this rating are left out.
    decimals : int, default=1
        Number of decimals of the degree.

    Examples
    --------
    >>> import headcount.shift as hs
    >>> hs.PriorShift().n_samples
    60500
    >>> protocol = hs.PriorShift(train_size=200, test_size=100, random_state=0)
    >>> experiment = protocol.draw(["bad", "good"] * 500)[3]
    >>> experiment.train.prevalence
    array([[0.7, 0.3]])
    >>> experiment.degree[:11]
    array([-0.3, -0.2, -0.1,  0. ,  0.1,  0.2,  0.3,  0.4,  0.5,  0.6,  0.7])
    """

    train_prevalences: Prevalences = (0.02, *TENTHS[1:-1], 0.98)
    test_prevalences: Prevalences = TENTHS
    _: KW_ONLY
    cut_point: float = 3
    decimals: int = 1

    def _pairs(self) -> Bools:
        check_count("decimals", self.decimals, least=0)
        n_train = len(_shares(self.train_prevalences, "train_prevalences"))
        n_test = len(_shares(self.test_prevalences, "test_prevalences"))
        return np.ones((n_train, n_test), np.bool_)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        classes, codes = read_classes(y, ratings, self.cut_point, "PriorShift")
        names = classes.tolist()
        cells = Cells(codes, tuple(f"class {name!r}" for name in names), classes)
        train = _shares(self.train_prevalences, "train_prevalences")
        test = _shares(self.test_prevalences, "test_prevalences")
        for name, shares in (("train_prevalences", train), ("test_prevalences", test)):
            if shares.shape[1] != len(names):
                raise HeadcountError(
                    f"{name} is for {shares.shape[1]} classes, but there are {len(names)}: "
                    "pass rows with one share per class."
                )
        change = test[None, :, :] - train[:, None, :]
        degree = change[..., 1] if len(names) == 2 else np.abs(change).mean(axis=2)
        return cells, Design(
            _prior_side(train, self.train_size, names, "train"),
            _prior_side(test, self.test_size, names, "test"),
            # Zero is added because a rounded degree may be -0.
            np.round(degree, self.decimals) + 0.0,
            self._pairs(),
        )


def _shares(prevalences: Any, name: str) -> Floats:
    if np.ndim(prevalences) == 2:
        return check_share_rows(prevalences, name=name)
    positive = check_shares(name, prevalences)
    return np.stack([1 - positive, positive], axis=1)


def _prior_side(shares: Floats, size: int, names: list[Any], which: str) -> Side:
    counts = counts_near(shares, size)
    if len(names) == 2:
        columns = {f"{which}_prevalence": shares[:, 1]}
    else:
        columns = {f"{which}_{name}": shares[:, k] for k, name in enumerate(names)}
    return Side(counts, np.broadcast_to(np.arange(len(names)), counts.shape), columns)


Shares: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]

_TWENTIETHS = tuple(step / 20 for step in range(5, 16))
# Items are drawn cell by cell. The cell that local shift varies is the last one, so that the
# tests of one repetition have the items of all others in common.
_GROUPS = np.array([0, 1, 1, 0])
_LABELS = np.array([0, 0, 1, 1])
_CELL_OF = np.array([[0, 3], [1, 2]])  # by group, then by label


@documented(PriorShift)
@dataclass(frozen=True, eq=False, kw_only=True)
class _TwoGroups(ShiftProtocol):
    """Draws from the positives and negatives of a group A and a group B.

    Parameters
    ----------
    categories : pair of groups, optional
        Group A and group B. Items of other groups are left out. By default the two groups
        of the pool, sorted.
    """

    categories: Sequence[Any] | None = None
    cut_point: float = 3

    def _cells(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> Cells:
        name = type(self).__name__
        classes, labels = read_classes(y, ratings, self.cut_point, name)
        if len(classes) != 2:
            raise HeadcountError(
                f"y has {len(classes)} classes, but {name} is for two: merge or drop classes, "
                "or pass ratings and a cut_point instead of y."
            )
        pair, members = read_two_groups(groups, self.categories, name)
        check_lengths(labels=labels, groups=members)
        codes = np.where((labels < 0) | (members < 0), -1, _CELL_OF[members, labels])
        names = [
            f"class {classes.tolist()[label]!r} in group {pair[group]!r}"
            for group, label in zip(_GROUPS, _LABELS, strict=True)
        ]
        return Cells(codes, tuple(names), classes)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        return self._cells(y, groups, ratings), self._design()

    @abstractmethod
    def _design(self) -> Design:
        """Return the number of items of each of the four cells."""


@documented(_TwoGroups, ShiftProtocol)
@dataclass(frozen=True, eq=False)
class GlobalCovariateShift(_TwoGroups):
    """The shares of two groups change equally in both classes; P(Y|X) stays.

    Algorithm 2 of González, Moreo and Sebastiani (2024), whose settings are the defaults:
    shares of group A of 0, 0.1, ..., 1 and prevalences of 0.25, 0.5 and 0.75, in training
    and in tests independently, 10 training sets of each kind and 50 samples of each kind:
    544,500 samples. Both groups of a sample have the prevalence of the whole sample, up to
    rounding. The shift is *pure* where training and test have the same prevalence (181,500
    samples), and *mixed* where they differ (363,000).

    The degree of shift is the share of group A in training minus that in the test.

    Parameters
    ----------
    alphas : sequence of float, default=(0, 0.1, ..., 1)
        Shares of group A, in training and in tests.
    prevalences : sequence of float, default=(0.25, 0.5, 0.75)
        Shares of the positive class, in training and in tests.
    pure : bool or None, default=None
        True for pure shift only, False for mixed shift only, None for both.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount.shift as hs
    >>> hs.GlobalCovariateShift().n_samples, hs.GlobalCovariateShift(pure=True).n_samples
    (544500, 181500)
    >>> y, groups = np.arange(4000) % 2, np.repeat(["books", "music"], 2000)
    >>> protocol = hs.GlobalCovariateShift(train_size=200, test_size=100, pure=True,
    ...     random_state=0)
    >>> experiment = protocol.draw(y, groups)[2]  # one fifth books
    >>> (groups[experiment.train[0]] == "books").mean()
    np.float64(0.2)
    >>> experiment.degree[:4]
    array([ 0.2,  0.1,  0. , -0.1])
    """

    alphas: Shares = TENTHS
    prevalences: Shares = (0.25, 0.5, 0.75)
    _: KW_ONLY
    pure: bool | None = None

    def _pairs(self) -> Bools:
        prevalences, _ = self._kinds()
        alike = prevalences[:, None] == prevalences
        if self.pure is None:
            return np.ones(alike.shape, np.bool_)
        if check_flag("pure", self.pure):
            return alike
        if alike.all():
            raise HeadcountError(
                "pure is False, but prevalences has a single one: pass at least two for mixed "
                "shift."
            )
        return ~alike

    def _kinds(self) -> tuple[Floats, Floats]:
        """Prevalence and share of group A of each kind of set, in the paper's order."""
        alphas = check_shares("alphas", self.alphas)
        prevalences = check_shares("prevalences", self.prevalences)
        return np.repeat(prevalences, len(alphas)), np.tile(alphas, len(prevalences))

    def _design(self) -> Design:
        prevalences, alphas = self._kinds()
        return Design(
            _mixed_side(prevalences, alphas, self.train_size, "train"),
            _mixed_side(prevalences, alphas, self.test_size, "test"),
            np.round(alphas[:, None] - alphas, DECIMALS) + 0.0,
            self._pairs(),
        )


@documented(_TwoGroups, ShiftProtocol)
@dataclass(frozen=True, eq=False)
class LocalCovariateShift(_TwoGroups):
    """The number of positives of one group changes; P(X|Y=0) and the other group stay.

    Algorithm 3 of González, Moreo and Sebastiani (2024), whose settings are the defaults.
    Training sets are half positive and half from each group. Two thirds of their positives
    are from group A, and two thirds of their negatives from group B. A test sample of
    ``test_size`` items has the same composition at first. Positives of A are then added or
    removed until it has its prevalence, so its size varies from 333 to 1,000 items by
    default. Tests of one repetition have all other items in common, and positives of A as
    far as their numbers agree.

    11 prevalences, 10 training sets and 50 samples of each kind make 5,500 samples. The paper
    reports 60,500, eleven times as many, for which its algorithm has no loop.
    ``test_repeats=550`` draws that many.

    The degree of shift is the prevalence in the test minus that in training, 0.5, rounded to
    two decimals.

    Parameters
    ----------
    test_prevalences : sequence of float, default=(0.25, 0.3, ..., 0.75)
        Shares of the positive class in tests. The smallest possible share is that without
        positives of A, 0.25 by default.
    skew : float, default=2/3
        Share of group A among training positives, and of group B among training negatives.
    control : bool, default=False
        Create prior shift for comparison: the positives of both groups change in proportion,
        with the same numbers of positives and negatives. Training sets and negatives are
        the same for the same ``random_state``.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount.shift as hs
    >>> y, groups = np.arange(8000) % 2, np.repeat(["books", "music"], 4000)
    >>> protocol = hs.LocalCovariateShift([0.25, 0.5, 0.75], train_size=600, random_state=0)
    >>> experiment = protocol.draw(y, groups)[0]
    >>> experiment.test.sizes[:3], experiment.degree[:3]
    (array([ 333,  500, 1000]), array([-0.25,  0.  ,  0.25]))
    """

    test_prevalences: Shares = _TWENTIETHS
    _: KW_ONLY
    skew: float = 2 / 3
    control: bool = False

    def _pairs(self) -> Bools:
        check_flag("control", self.control)
        skew = check_fraction("skew", self.skew)
        least = round((1 - skew) / (2 - skew), DECIMALS)
        shares = check_shares("test_prevalences", self.test_prevalences, least=least)
        if shares.max() == 1:
            raise HeadcountError(
                "test_prevalences has the entry 1, but local shift keeps the negatives: choose "
                "prevalences below 1."
            )
        return np.ones((1, len(shares)), np.bool_)

    def _design(self) -> Design:
        train = self._alike(check_count("train_size", self.train_size))
        test = self._alike(check_count("test_size", self.test_size))
        shares = np.asarray(self.test_prevalences, np.float64)
        counts = np.tile(test, (len(shares), 1))
        counts[:, 3] = [self._added(share, counts[0, :3]) for share in shares]
        if self.control:
            positives = counts[:, 2:].sum(axis=1)
            counts[:, 3] = [share_of(self.skew, number) for number in positives]
            counts[:, 2] = positives - counts[:, 3]
        return Design(
            Side(train[None, :], _LABELS[None, :], {}),
            Side(counts, np.broadcast_to(_LABELS, counts.shape), {"test_prevalence": shares}),
            np.round(shares - 0.5, 2)[None, :] + 0.0,
            self._pairs(),
            nested=True,
        )

    def _alike(self, size: int) -> Ints:
        """Counts of a sample with the composition of the training sets."""
        positives = size // 2
        first = share_of(self.skew, positives)
        second = share_of(self.skew, size - positives)
        return np.array([size - positives - second, second, positives - first, first])

    @staticmethod
    def _added(share: float, other_counts: Ints) -> int:
        """Number of positives of A for a share of positives in the whole sample."""
        missing = share * int(other_counts.sum()) - int(other_counts[2])
        return max(0, round(round(missing / (1 - share), DECIMALS)))


def _mixed_side(prevalences: Floats, alphas: Floats, size: int, which: str) -> Side:
    counts = np.array([_mixed(size, p, a) for p, a in zip(prevalences, alphas, strict=True)])
    return Side(
        counts,
        np.broadcast_to(_LABELS, counts.shape),
        {f"{which}_prevalence": prevalences, f"{which}_alpha": alphas},
    )


def _mixed(size: int, prevalence: float, alpha: float) -> list[int]:
    """Counts with the share ``alpha`` of A, rounded up, and the nearest prevalence in both."""
    n_first = ceil(round(alpha * size, DECIMALS))
    first = share_of(prevalence, n_first)
    # The rest of all positives, so that the prevalence of the whole is also the nearest.
    second = share_of(prevalence, size) - first
    return [n_first - first, size - n_first - second, second, first]


@documented(ShiftProtocol)
@dataclass(frozen=True, eq=False)
class TweakOne(ShiftProtocol):
    """The share of one class varies in tests, with the others reduced; P(X|Y) stays.

    The "tweak-one shift" of Lipton, Wang and Smola (2018). Training sets have the shares
    of the pool. The degree is the share of the class in the test minus that in the pool.

    Parameters
    ----------
    label : label
        Class whose share varies.
    prevalences : sequence of float, default=(0, 0.1, ..., 1)
        Shares of the class in test samples.
    others : {"proportional", "even"}, default="proportional"
        Shares of the other classes: in the proportions of the pool, or equal as in the
        paper.

    Examples
    --------
    >>> import headcount.shift as hs
    >>> y = ["ant", "bee", "bee", "cow"] * 100
    >>> protocol = hs.TweakOne("cow", [0.1, 0.7], train_size=40, test_size=20, random_state=0)
    >>> protocol.draw(y)[0].test.prevalence[:2]
    array([[0.3, 0.6, 0.1],
           [0.1, 0.2, 0.7]])
    """

    label: Any
    prevalences: Shares = TENTHS
    _: KW_ONLY
    others: str = "proportional"

    def _pairs(self) -> Bools:
        check_choice("others", self.others, ("proportional", "even"))
        return np.ones((1, len(check_shares("prevalences", self.prevalences))), np.bool_)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        cells = _class_cells(*read_labels(y, "TweakOne"))
        tweaked = _position(self.label, cells.classes, "label", "y")
        pool = cells.sizes / cells.sizes.sum()
        shares = check_shares("prevalences", self.prevalences)
        weights = pool.copy() if self.others == "proportional" else np.ones(len(pool))
        weights[tweaked] = 0
        test = np.outer(1 - shares, weights / weights.sum())
        test[:, tweaked] = shares
        labels = np.arange(len(pool))
        return cells, Design(
            _multiclass_side(
                pool[None, :], self.train_size, labels, {"train_prevalence": pool[[tweaked]]}
            ),
            _multiclass_side(test, self.test_size, labels, {"test_prevalence": shares}),
            (shares - pool[tweaked])[None, :],
            self._pairs(),
        )


@documented(ShiftProtocol)
@dataclass(frozen=True, eq=False)
class KnockOut(ShiftProtocol):
    """A part of one class, or of one group, is missing from training but not from tests.

    The "knock-out shift" of Lipton, Wang and Smola (2018). Training sets are drawn from a
    pool without a share of the items of one class or of one group. Test samples have the
    shares of the pool. Knocking out a class is a prior shift. Knocking out a group is a
    covariate shift, and also a prior shift if the group has other class shares. The degree
    is the share that is missing. Training sets always have ``train_size`` items.

    Parameters
    ----------
    value : label
        Class or group to knock out.
    removed : sequence of float, default=(0, 0.1, ..., 0.9)
        Shares of the class or group that are missing from training.
    by : {"class", "group"}, default="class"
        Kind of ``value``.

    Examples
    --------
    >>> import headcount.shift as hs
    >>> y = ["ant", "bee", "bee", "cow"] * 100
    >>> protocol = hs.KnockOut("bee", [0, 0.5], train_size=60, test_size=20, random_state=0)
    >>> [experiment.train.prevalence.round(2).tolist() for experiment in protocol.draw(y)][:2]
    [[[0.25, 0.5, 0.25]], [[0.33, 0.33, 0.33]]]
    """

    value: Any
    removed: Shares = TENTHS[:-1]
    _: KW_ONLY
    by: str = "class"

    def _pairs(self) -> Bools:
        check_choice("by", self.by, ("class", "group"))
        return np.ones((len(check_shares("removed", self.removed)), 1), np.bool_)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        cells = _class_cells(*read_labels(y, "KnockOut"))
        numbers, n_classes = np.arange(len(cells.classes)), len(cells.classes)
        if self.by == "class":
            labels, hit = numbers, numbers == _position(self.value, cells.classes, "value", "y")
        else:
            cells = self._by_group(cells, groups)
            labels, hit = np.tile(numbers, 2), np.repeat([True, False], n_classes)
        removed = check_shares("removed", self.removed)
        pool = cells.sizes / cells.sizes.sum()
        train = np.where(hit, np.outer(1 - removed, pool), pool)
        train /= train.sum(axis=1, keepdims=True)
        return cells, Design(
            _multiclass_side(train, self.train_size, labels, {"removed": removed}),
            _multiclass_side(pool[None, :], self.test_size, labels, {}),
            removed[:, None],
            self._pairs(),
        )

    def _by_group(self, cells: Cells, groups: ArrayLike | None) -> Cells:
        """Divide each class into the items of the group and all others."""
        if groups is None:
            raise HeadcountError(
                'KnockOut with by="group" needs the group of each item: pass groups=.'
            )
        group_names, members = encode_labels(groups, name="groups")
        check_lengths(y=cells.codes, groups=members)
        outside = members != _position(self.value, group_names, "value", "groups")
        if not outside.any():
            raise HeadcountError(
                f"groups has only the group {self.value!r}, so no items would be left: "
                "pass at least two groups."
            )
        places = (f"group {self.value!r}", "the other groups")
        names = [f"{name} in {place}" for place in places for name in cells.names]
        return Cells(outside * len(cells.classes) + cells.codes, tuple(names), cells.classes)


def _class_cells(classes: Array, codes: Ints) -> Cells:
    return Cells(codes, tuple(f"class {name!r}" for name in classes.tolist()), classes)


def _position(value: Any, values: Array, name: str, column: str) -> int:
    names = values.tolist()
    if value not in names:
        raise HeadcountError(
            f"{name} is {value!r}, but {column} has no such item: it has "
            f"{first_of(map(repr, names), 3)}."
        )
    return names.index(value)


def _multiclass_side(
    shares: Floats, size: int, labels: Ints, columns: dict[str, Array]
) -> Side:
    counts = counts_near(shares, size)
    return Side(counts, np.broadcast_to(labels, counts.shape), columns)


@documented(_TwoGroups, ShiftProtocol)
@dataclass(frozen=True, eq=False)
class DomainMixer(ShiftProtocol):
    """Mixtures of two domains with the same class shares; P(X|Y) changes, P(Y) does not.

    Training sets come from domain A alone. A test sample has a share of items from domain B,
    such as reviews of other products or patients of another hospital. Both parts of a sample
    have the same shares of the classes, up to rounding, with any number of classes.

    The degree of shift is the share of domain B in the test.

    Parameters
    ----------
    mixtures : sequence of float, default=(0, 0.1, ..., 1)
        Shares of domain B, the second group, in test samples.
    prevalence : array-like of shape (K,), default=None
        Shares of the classes in training sets and test samples. By default those of domain A
        in the pool.

    Examples
    --------
    >>> import numpy as np
    >>> import headcount.shift as hs
    >>> y, groups = np.arange(4000) % 2, np.repeat(["books", "music"], 2000)
    >>> protocol = hs.DomainMixer((0.0, 0.5), train_size=200, test_size=100, random_state=0)
    >>> experiment = protocol.draw(y, groups)[0]
    >>> set(groups[experiment.train[0]].tolist())
    {'books'}
    >>> (groups[experiment.test[-1]] == "music").mean(), experiment.degree[-1]
    (np.float64(0.5), np.float64(0.5))
    """

    mixtures: Shares = TENTHS
    _: KW_ONLY
    prevalence: ArrayLike | None = None
    categories: Sequence[Any] | None = None

    def _pairs(self) -> Bools:
        return np.ones((1, len(check_shares("mixtures", self.mixtures))), np.bool_)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        classes, labels = read_labels(y, "DomainMixer")
        domains, members = read_two_groups(groups, self.categories, "DomainMixer")
        check_lengths(y=labels, groups=members)
        K = len(classes)
        codes = np.where(members < 0, -1, members * K + labels)
        names = [
            f"class {name!r} in group {domain!r}"
            for domain in domains
            for name in classes.tolist()
        ]
        shares = self._shares(np.bincount(labels[members == 0], minlength=K))
        mixtures = check_shares("mixtures", self.mixtures)
        train = _domain_side(shares, np.zeros(1), self.train_size, "train")
        test = _domain_side(shares, mixtures, self.test_size, "test")
        cells = Cells(codes, tuple(names), classes)
        return cells, Design(train, test, mixtures[None, :], self._pairs())

    def _shares(self, counts: Ints) -> Floats:
        """Shares of the classes; `counts` are those of domain A."""
        if self.prevalence is None:
            return np.asarray(counts / counts.sum(), dtype=np.float64)
        (shares,) = check_share_rows(
            np.atleast_2d(np.asarray(self.prevalence)), name="prevalence"
        )
        if len(shares) != len(counts):
            raise HeadcountError(
                f"prevalence has {len(shares)} shares, but there are {len(counts)} classes: "
                "pass one share per class."
            )
        return shares


def _domain_side(shares: Floats, mixtures: Floats, size: int, which: str) -> Side:
    """Counts of the classes of domain A, then of domain B, one row per mixture."""
    K = len(shares)
    second = np.array([share_of(float(mixture), size) for mixture in mixtures])
    rows = np.tile(shares, (len(mixtures), 1))
    # The same rounding in every row, so that mixtures differ in nothing else.
    ties = np.zeros(len(mixtures), np.int64)
    counts = [nearest_counts(rows, totals, ties) for totals in (size - second, second)]
    labels = np.broadcast_to(np.tile(np.arange(K), 2), (len(mixtures), 2 * K))
    return Side(np.hstack(counts), labels, {f"{which}_mixture": mixtures})


CutPoints: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]


@documented(ShiftProtocol)
@dataclass(frozen=True, eq=False)
class ConceptShift(ShiftProtocol):
    """The cut between negative and positive ratings moves; P(X) stays, P(Y|X) changes.

    Algorithm 4 of González, Moreo and Sebastiani (2024), whose settings are the defaults.
    An item is of class 1 if its rating is above a cut point, and of class 0 if it is below.
    There are 4 cut points in training and 4 in tests, 10 training sets of each kind and 50
    samples of each kind: 8,000 samples. All ratings are equally frequent in all samples.
    With five ratings, the prevalences are 0.8, 0.6, 0.4 and 0.2.

    The degree of shift is the cut point of training minus that of the test. Labels depend
    on the cut point: take them from ``train_labels`` and ``test_labels`` of an experiment.

    Parameters
    ----------
    cut_points : sequence of float, default=(1.5, 2.5, 3.5, 4.5)
        Ratings at which classes are separated, in training and in tests. Items with exactly
        this rating are left out.
    balanced : bool, default=True
        Draw all ratings with equal frequency. Otherwise they are as frequent as in the pool.
    train_prevalence : float, optional
        Share of the positive class in training sets for every cut point, with ratings in
        proportion within each class. P(X) is then not the same for all sets.
    test_prevalence : float, optional
        Share of the positive class in test samples, likewise.

    Examples
    --------
    >>> import headcount.shift as hs
    >>> hs.ConceptShift().n_samples
    8000
    >>> protocol = hs.ConceptShift(train_size=500, test_size=100, random_state=0)
    >>> experiment = protocol.draw(ratings=[1, 2, 3, 4, 5] * 500)[1]
    >>> experiment.settings["train_cut_point"], experiment.train.prevalence
    (2.5, array([[0.4, 0.6]]))
    >>> experiment.degree[:4], experiment.test.prevalence[:4, 1]
    (array([ 1.,  0., -1., -2.]), array([0.8, 0.6, 0.4, 0.2]))
    """

    cut_points: CutPoints = (1.5, 2.5, 3.5, 4.5)
    _: KW_ONLY
    balanced: bool = True
    train_prevalence: float | None = None
    test_prevalence: float | None = None

    def _pairs(self) -> Bools:
        check_flag("balanced", self.balanced)
        for name in ("train_prevalence", "test_prevalence"):
            if getattr(self, name) is not None:
                check_fraction(name, getattr(self, name))
        n = len(check_numbers("cut_points", self.cut_points))
        return np.ones((n, n), np.bool_)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        values, codes = read_ratings(ratings, "ConceptShift")
        names = tuple(f"rating {value:g}" for value in values)
        cells = Cells(codes, names, np.array([0, 1]))
        points = check_numbers("cut_points", self.cut_points)
        labels = np.stack([cut(values, point, "an entry of cut_points") for point in points])
        shares = np.ones(len(values)) if self.balanced else cells.sizes.astype(np.float64)
        train = _counts(shares, labels, self.train_prevalence, self.train_size)
        test = _counts(shares, labels, self.test_prevalence, self.test_size)
        return cells, Design(
            Side(train, labels, {"train_cut_point": points}),
            Side(test, labels, {"test_cut_point": points}),
            points[:, None] - points,
            self._pairs(),
        )


def _counts(shares: Floats, labels: Ints, prevalence: float | None, size: int) -> Ints:
    """Counts of ratings in proportion to ``shares``, overall or within each class."""
    if prevalence is None:
        return _near(np.where(labels < 0, 0, shares), size)
    positives = share_of(prevalence, size)
    counts = _near(np.where(labels == 1, shares, 0), positives)
    return counts + _near(np.where(labels == 0, shares, 0), size - positives)


def _near(shares: Floats, size: int) -> Ints:
    return counts_near(shares / shares.sum(axis=1, keepdims=True), size)
