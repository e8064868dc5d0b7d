"""Concept shift: the same items, but the definition of the positive class changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._parameters import check_flag, check_fraction
from headcount.shift._cells import Cells
from headcount.shift._checks import (
    check_numbers,
    cut,
    read_ratings,
)
from headcount.shift._design import Design, Side, counts_near, share_of
from headcount.shift._protocol import ShiftProtocol

__all__ = ["ConceptShift"]

CutPoints: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]


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
    train_size, test_size, repeats, test_repeats, split, replace, random_state
        As in :class:`PriorShift`.

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

    def _pairs(self) -> NDArray[np.bool_]:
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


def _counts(
    shares: NDArray[np.float64], labels: NDArray[np.int64], prevalence: float | None, size: int
) -> NDArray[np.int64]:
    """Counts of ratings in proportion to ``shares``, overall or within each class."""
    if prevalence is None:
        return _near(np.where(labels < 0, 0, shares), size)
    positives = share_of(prevalence, size)
    counts = _near(np.where(labels == 1, shares, 0), positives)
    return counts + _near(np.where(labels == 0, shares, 0), size - positives)


def _near(wanted: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    return counts_near(wanted / wanted.sum(axis=1, keepdims=True), size)
