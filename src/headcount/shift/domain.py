"""Domain shift: the items of a sample come from two domains in changing proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount.errors import HeadcountError
from headcount.sampling._checks import check_share_rows
from headcount.sampling._shares import nearest_counts
from headcount.shift._cells import Cells
from headcount.shift._checks import check_lengths, check_shares, read_labels, read_two_groups
from headcount.shift._design import Design, Side, share_of
from headcount.shift._protocol import TENTHS, ShiftProtocol

__all__ = ["DomainMixer"]

Shares: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]


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
        Shares of domain B in test samples.
    prevalence : array-like of shape (K,), default=None
        Shares of the classes in training sets and test samples. By default those of domain A
        in the pool.
    categories : pair of groups, optional
        Domain A and domain B. Items of other groups are left out. By default the two groups
        of the pool, sorted.
    train_size, test_size, repeats, test_repeats, split, replace, random_state
        As in :class:`PriorShift`.

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

    def _pairs(self) -> NDArray[np.bool_]:
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
        train = _side(shares, np.zeros(1), self.train_size, "train")
        test = _side(shares, mixtures, self.test_size, "test")
        cells = Cells(codes, tuple(names), classes)
        return cells, Design(train, test, mixtures[None, :], self._pairs())

    def _shares(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Shares of the classes; `counts` are those of domain A."""
        if self.prevalence is None:
            return np.asarray(counts / counts.sum(), dtype=np.float64)
        (given,) = check_share_rows(
            np.atleast_2d(np.asarray(self.prevalence)), name="prevalence"
        )
        if len(given) != len(counts):
            raise HeadcountError(
                f"prevalence has {len(given)} shares, but there are {len(counts)} classes: "
                "pass one share per class."
            )
        return given


def _side(
    shares: NDArray[np.float64], mixtures: NDArray[np.float64], size: int, which: str
) -> Side:
    """Counts of the classes of domain A, then of domain B, one row per mixture."""
    K = len(shares)
    second = np.array([share_of(float(mixture), size) for mixture in mixtures])
    rows = np.tile(shares, (len(mixtures), 1))
    # The same rounding in every row, so that mixtures differ in nothing else.
    ties = np.zeros(len(mixtures), np.int64)
    counts = [nearest_counts(rows, each, ties) for each in (size - second, second)]
    labels = np.broadcast_to(np.tile(np.arange(K), 2), (len(mixtures), 2 * K))
    return Side(np.hstack(counts), labels, {f"{which}_mixture": mixtures})
