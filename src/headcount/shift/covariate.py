"""Covariate shift: the shares of two groups change, in both classes or in one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._parameters import check_count, check_flag, check_fraction
from headcount.errors import HeadcountError
from headcount.shift._cells import Cells
from headcount.shift._checks import (
    check_lengths,
    check_shares,
    read_classes,
    read_two_groups,
)
from headcount.shift._design import DECIMALS, Design, Side, share_of
from headcount.shift._protocol import TENTHS, ShiftProtocol

__all__ = ["GlobalCovariateShift", "LocalCovariateShift"]

Shares: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]

_TWENTIETHS = tuple(step / 20 for step in range(5, 16))
# Items are drawn cell by cell. The cell that local shift varies is the last one, so that the
# tests of one repetition have the items of all others in common.
_GROUPS = np.array([0, 1, 1, 0])
_LABELS = np.array([0, 0, 1, 1])
_CELL_OF = np.array([[0, 3], [1, 2]])  # by group, then by label


@dataclass(frozen=True, eq=False, kw_only=True)
class _TwoGroups(ShiftProtocol):
    """Draws from the positives and negatives of a group A and a group B."""

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
    categories : pair of groups, optional
        Group A and group B. Items of other groups are left out. By default the two groups
        of the pool, sorted.
    cut_point, train_size, test_size, repeats, test_repeats, split, replace, random_state
        As in :class:`PriorShift`.

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

    def _pairs(self) -> NDArray[np.bool_]:
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

    def _kinds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


@dataclass(frozen=True, eq=False)
class LocalCovariateShift(_TwoGroups):
    """The number of positives of one group changes; P(X|Y=0) and the other group stay.

    Algorithm 3 of González, Moreo and Sebastiani (2024), whose settings are the defaults.
    Training sets are half positive and half from each group. Two thirds of their positives
    are from group A, and two thirds of their negatives from group B. A test sample of
    ``test_size`` items has the same composition at first. Positives of A are then added or
    removed until it has its prevalence, so that its size varies from 333 to 1,000 items by
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
    categories, cut_point, train_size, test_size, repeats, test_repeats, split, replace, \
random_state
        As in :class:`GlobalCovariateShift`.

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

    def _pairs(self) -> NDArray[np.bool_]:
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

    def _alike(self, size: int) -> NDArray[np.int64]:
        """Counts of a sample with the composition of the training sets."""
        positives = size // 2
        first = share_of(self.skew, positives)
        second = share_of(self.skew, size - positives)
        return np.array([size - positives - second, second, positives - first, first])

    @staticmethod
    def _added(share: float, others: NDArray[np.int64]) -> int:
        """Number of positives of A for a share of positives in the whole sample."""
        missing = share * int(others.sum()) - int(others[2])
        return max(0, round(round(missing / (1 - share), DECIMALS)))


def _mixed_side(
    prevalences: NDArray[np.float64], alphas: NDArray[np.float64], size: int, which: str
) -> Side:
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
