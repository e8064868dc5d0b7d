"""Shifts of one class or one group among several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._parameters import check_choice
from headcount.data import encode_labels
from headcount.errors import HeadcountError
from headcount.shift._cells import Cells
from headcount.shift._checks import check_lengths, check_shares, read_labels
from headcount.shift._design import Design, Side, counts_near
from headcount.shift._protocol import TENTHS, ShiftProtocol

__all__ = ["KnockOut", "TweakOne"]

Shares: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]


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
    train_size, test_size, repeats, test_repeats, split, replace, random_state
        As in :class:`PriorShift`.

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

    def _pairs(self) -> NDArray[np.bool_]:
        check_choice("others", self.others, ("proportional", "even"))
        return np.ones((1, len(check_shares("prevalences", self.prevalences))), np.bool_)

    def _plan(
        self, y: ArrayLike | None, groups: ArrayLike | None, ratings: ArrayLike | None
    ) -> tuple[Cells, Design]:
        cells = _class_cells(*read_labels(y, "TweakOne"))
        chosen = _position(self.label, cells.classes, "label", "y")
        pool = cells.sizes / cells.sizes.sum()
        shares = check_shares("prevalences", self.prevalences)
        rest = pool.copy() if self.others == "proportional" else np.ones(len(pool))
        rest[chosen] = 0
        test = np.outer(1 - shares, rest / rest.sum())
        test[:, chosen] = shares
        labels = np.arange(len(pool))
        return cells, Design(
            _side(pool[None, :], self.train_size, labels, {"train_prevalence": pool[[chosen]]}),
            _side(test, self.test_size, labels, {"test_prevalence": shares}),
            (shares - pool[chosen])[None, :],
            self._pairs(),
        )


@dataclass(frozen=True, eq=False)
class KnockOut(ShiftProtocol):
    """A part of one class, or of one group, is missing from training but not from tests.

    The "knock-out shift" of Lipton, Wang and Smola (2018). Training sets are drawn from a
    pool without a share of the items of one class or of one group. Test samples have the
    shares of the pool. Knocking out a class is a prior shift. Knocking out a group is a
    covariate shift, and also a prior shift if the group has other class shares. The degree
    is the share that is missing.

    Parameters
    ----------
    value : label
        Class or group to knock out.
    removed : sequence of float, default=(0, 0.1, ..., 0.9)
        Shares of the class or group that are missing from training.
    by : {"class", "group"}, default="class"
        Kind of ``value``.
    train_size, test_size, repeats, test_repeats, split, replace, random_state
        As in :class:`PriorShift`. Training sets always have ``train_size`` items.

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

    def _pairs(self) -> NDArray[np.bool_]:
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
            _side(train, self.train_size, labels, {"removed": removed}),
            _side(pool[None, :], self.test_size, labels, {}),
            removed[:, None],
            self._pairs(),
        )

    def _by_group(self, cells: Cells, groups: ArrayLike | None) -> Cells:
        """Divide each class into the items of the group and all others."""
        if groups is None:
            raise HeadcountError(
                'KnockOut with by="group" needs the group of each item: pass groups=.'
            )
        known, members = encode_labels(groups, name="groups")
        check_lengths(y=cells.codes, groups=members)
        others = members != _position(self.value, known, "value", "groups")
        if not others.any():
            raise HeadcountError(
                f"groups has only the group {self.value!r}, so that no items would be left: "
                "pass at least two groups."
            )
        places = (f"group {self.value!r}", "the other groups")
        names = [f"{name} in {place}" for place in places for name in cells.names]
        return Cells(others * len(cells.classes) + cells.codes, tuple(names), cells.classes)


def _class_cells(classes: NDArray[Any], codes: NDArray[np.int64]) -> Cells:
    return Cells(codes, tuple(f"class {name!r}" for name in classes.tolist()), classes)


def _position(value: Any, found: NDArray[Any], name: str, column: str) -> int:
    known = found.tolist()
    if value not in known:
        some = ", ".join(map(repr, known[:3])) + (" and others" if len(known) > 3 else "")
        raise HeadcountError(
            f"{name} is {value!r}, but {column} has no such item: it has {some}."
        )
    return known.index(value)


def _side(
    shares: NDArray[np.float64],
    size: int,
    labels: NDArray[np.int64],
    columns: dict[str, NDArray[Any]],
) -> Side:
    counts = counts_near(shares, size)
    return Side(counts, np.broadcast_to(labels, counts.shape), columns)
