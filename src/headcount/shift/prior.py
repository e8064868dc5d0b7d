"""Prior probability shift: class shares change, the distribution within a class does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headcount._parameters import check_count
from headcount.errors import HeadcountError
from headcount.sampling._checks import check_share_rows
from headcount.shift._cells import Cells
from headcount.shift._checks import check_shares, read_classes
from headcount.shift._design import Design, Side, counts_near
from headcount.shift._protocol import TENTHS, ShiftProtocol

__all__ = ["PriorShift"]

Prevalences: TypeAlias = Sequence[float] | Sequence[Sequence[float]] | NDArray[np.floating[Any]]


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
    train_size : int, default=5000
        Number of items in a training set.
    test_size : int, default=500
        Number of items in a test sample.
    repeats : int, default=10
        Number of training sets of each kind.
    test_repeats : int, default=50
        Number of test samples of each kind per training set.
    split : float, default=0.6
        Share of the pool from which training sets are drawn.
    replace : bool, default=False
        Draw with replacement where the pool has too few items. Otherwise an error is raised.
    random_state : int, Generator, RandomState or None, default=None
        Random seed. None uses a new seed for each draw. A numpy generator provides one
        integer for each draw.

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

    def _pairs(self) -> NDArray[np.bool_]:
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
            _side(train, self.train_size, names, "train"),
            _side(test, self.test_size, names, "test"),
            # Zero is added because a rounded degree may be -0.
            np.round(degree, self.decimals) + 0.0,
            self._pairs(),
        )


def _shares(prevalences: Any, name: str) -> NDArray[np.float64]:
    if np.ndim(prevalences) == 2:
        return check_share_rows(prevalences, name=name)
    positive = check_shares(name, prevalences)
    return np.stack([1 - positive, positive], axis=1)


def _side(shares: NDArray[np.float64], size: int, names: list[Any], which: str) -> Side:
    counts = counts_near(shares, size)
    if len(names) == 2:
        columns = {f"{which}_prevalence": shares[:, 1]}
    else:
        columns = {f"{which}_{name}": shares[:, k] for k, name in enumerate(names)}
    return Side(counts, np.broadcast_to(np.arange(len(names)), counts.shape), columns)
