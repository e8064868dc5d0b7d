"""Everything that is checked of an estimate, and what a person is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice
from headcount.diagnose.fit_test import FitTest, MixtureTest, said
from headcount.errors import HeadcountError
from headcount.representation import Dense, Training
from headcount.sampling import Samples

__all__ = [
    "AT_BOUNDARY",
    "BROKEN_LEVEL",
    "FEW_ITEMS",
    "HARDLY_APART",
    "MUCH_OUTSIDE",
    "Diagnosis",
    "Diagnostics",
    "Separation",
    "assumption_warnings",
]

BROKEN_LEVEL = 0.01
"""A p-value below which the assumption is said to look broken."""
FEW_ITEMS = 30
"""Items below which a sample is said to have too few."""
HARDLY_APART = 0.5
"""Standard deviations below which classes are said to be hardly told apart."""
AT_BOUNDARY = 1e-6
"""Distance from 0 or 1 at which a share counts as being there."""
MUCH_OUTSIDE = 0.05
"""Part of a sample's scores beyond those of training above which that is said."""

_SHIFTS = ("prior", "covariate", "none")


class Diagnosis(NamedTuple):
    """What was found out about one estimate."""

    fit_test: FitTest | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Separation:
    """How well scores tell the classes apart.

    Attributes
    ----------
    distance : float
        Standard deviations between the means of the two classes, or groups of classes,
        that are hardest to tell apart.
    condition : float
        Condition number of the class means: how much noise they can magnify; infinite if some
        class is a mixture of others.
    pair : tuple of int
        The two classes that matter most in it.
    """

    distance: float
    condition: float
    pair: tuple[int, int]

    @classmethod
    def of(cls, means: NDArray[np.float64]) -> Separation:
        """Of class means in units of the standard deviation within classes, one row per class.

        Examples
        --------
        >>> import numpy as np
        >>> apart = Separation.of(np.array([[0.0, 0.0], [0.3, 0.4], [3.0, -3.0]]))
        >>> apart.pair, round(apart.distance, 1)
        ((0, 1), 0.5)
        """
        K = len(means)
        # The vector of ones comes out as the last, with nothing to its name.
        contrasts, sizes, _ = np.linalg.svd(means - means.mean(axis=0))
        sizes = np.concatenate([sizes, np.zeros(K)])[: K - 1]
        worst = contrasts[:, K - 2]
        first, second = sorted((int(worst.argmin()), int(worst.argmax())))
        # Of two classes: contrast (1, -1) / sqrt 2, which is their distance / sqrt 2.
        condition = sizes[0] / sizes[-1] if sizes[-1] > 0 else np.inf
        return cls(float(np.sqrt(2) * sizes[-1]), float(condition), (first, second))


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What is learnt from training items to judge estimates by.

    Attributes
    ----------
    classes : tuple
        Names of the classes.
    mixture : MixtureTest
        The test of the assumption.
    separation : Separation
        How well the scores tell the classes apart.
    low, high : ndarray of shape (K,)
        The least and the greatest posterior of each class among the training items.
    n_training : int
        Number of training items.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> codes = np.repeat([0, 1], 500)
    >>> positive = 1 / (1 + np.exp(1 - rng.normal(2 * codes)))
    >>> P = np.column_stack([1 - positive, positive])
    >>> diagnostics = Diagnostics.learn(Training(P, codes, 2), ["ham", "spam"])
    >>> samples = Samples.from_arrays([[3, 4, 600]], n_pool=1000)
    >>> diagnosis, = diagnostics.examine(P, samples, np.array([[0.7, 0.3]]))
    >>> diagnosis.fit_test.rejects()
    False
    >>> diagnosis.warnings
    ('The sample has 3 items, fewer than 30: its shares are little more than a guess; add ...',)
    """

    classes: tuple[Any, ...]
    mixture: MixtureTest
    separation: Separation
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n_training: int

    @classmethod
    def learn(cls, training: Training, classes: Sequence[Any]) -> Diagnostics:
        """Learn from labelled items with their out-of-fold or held-out posteriors."""
        posteriors = np.asarray(training.items, np.float64)
        if posteriors.ndim != 2 or posteriors.shape[1] != len(classes):
            raise HeadcountError(
                f"training has items of shape {posteriors.shape}, but diagnostics need their "
                f"posteriors, one column for each of the {len(classes)} classes."
            )
        mixture = MixtureTest.of_posteriors(training)
        return cls(
            tuple(np.asarray(classes).tolist()),
            mixture,
            Separation.of(mixture.means),
            posteriors.min(axis=0),
            posteriors.max(axis=0),
            len(posteriors),
        )

    def outside(self, posteriors: NDArray[np.float64], samples: Samples) -> NDArray[np.float64]:
        """Part of each sample's items with a posterior beyond those of training."""
        beyond = np.any((posteriors < self.low) | (posteriors > self.high), axis=1)
        return Dense(beyond.astype(np.float64).reshape(-1, 1)).means(samples)[:, 0]

    def examine(
        self,
        posteriors: NDArray[np.float64],
        samples: Samples,
        prevalence: NDArray[np.float64],
        *,
        shift: str = "prior",
    ) -> list[Diagnosis]:
        """Test and warn about the estimates of many samples.

        Parameters
        ----------
        posteriors : ndarray of shape (m, K)
            Posteriors of the pool, made as those of the training items were: see `fit_test`.
        samples : Samples
            The samples.
        prevalence : ndarray of shape (S, K)
            The estimated shares.
        shift : {"prior", "covariate", "none"}, default="prior"
            What the method assumes, its ``info.shift``.

        Returns
        -------
        list of Diagnosis
            One per sample.
        """
        tests = self.mixture.test(posteriors, samples)
        outside = self.outside(posteriors, samples)
        # Of N training items, a new one exceeds either end in one of N + 1 cases.
        usual = 2 * max(1, len(self.classes) - 1) / (self.n_training + 1)
        return [
            Diagnosis(test, self._warnings(test, shares, float(part - usual), shift))
            for test, shares, part in zip(tests, prevalence, outside, strict=True)
        ]

    def _warnings(
        self, test: FitTest, shares: NDArray[np.float64], outside: float, shift: str
    ) -> tuple[str, ...]:
        return assumption_warnings(
            shares,
            self.classes,
            n=test.n,
            fit_test=test,
            separation=self.separation,
            outside=outside,
            shift=shift,
        )


def assumption_warnings(
    prevalence: NDArray[np.float64],
    classes: Sequence[Any],
    *,
    n: int,
    fit_test: FitTest | None = None,
    separation: Separation | None = None,
    outside: float = 0.0,
    shift: str = "prior",
) -> tuple[str, ...]:
    """Say what a person ought to know before trusting an estimate, a sentence each.

    Parameters
    ----------
    prevalence : array of shape (K,)
        The estimated shares.
    classes : sequence of length K
        Names of the classes.
    n : int
        Number of items in the sample.
    fit_test : FitTest, default=None
        The test of the assumption, if there was one.
    separation : Separation, default=None
        How well scores tell the classes apart, if that is known.
    outside : float, default=0.0
        Part of the sample's scores that are beyond those of training.
    shift : {"prior", "covariate", "none"}, default="prior"
        What the method assumes.

    Returns
    -------
    tuple of str
        Empty if nothing is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> assumption_warnings(np.array([0.3, 0.7]), ["ham", "spam"], n=500)
    ()
    >>> for sentence in assumption_warnings(np.array([0.0, 1.0]), ["ham", "spam"], n=12):
    ...     print(sentence)
    The sample has 12 items, fewer than 30: its shares are little more than a guess; add items.
    The share of class 'ham' is estimated as 0, the end of its range: it may be rare, not
    absent; read the interval, not the share.
    """
    check_choice("shift", shift, _SHIFTS)
    said_of = [
        _broken(fit_test, shift),
        _few(n),
        _hardly_apart(separation, classes),
        _at_boundary(prevalence, classes),
        _outside(outside),
    ]
    return tuple(sentence for sentence in said_of if sentence)


def _broken(test: FitTest | None, shift: str) -> str:
    # PCC and its like do not assume what the test is of.
    if test is None or shift == "covariate" or not test.p_value < BROKEN_LEVEL:
        return ""
    return (
        f"The sample does not look like a mixture of the training classes ({said(test)}), so "
        "that shares estimated under prior shift may be far off: label a few of its items, or "
        "retrain; if only the inputs have changed and not what they mean (pure covariate "
        "shift), PCC().predict remains sensible."
    )


def _few(n: int) -> str:
    if n >= FEW_ITEMS:
        return ""
    return (
        f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}: its shares "
        "are little more than a guess; add items."
    )


def _hardly_apart(separation: Separation | None, classes: Sequence[Any]) -> str:
    if separation is None or separation.distance >= HARDLY_APART:
        return ""
    first, second = (classes[j] for j in separation.pair)
    return (
        f"The scores hardly tell class {first!r} from class {second!r} (their means are "
        f"{separation.distance:.2g} standard deviations apart): how the two share what they "
        "have together is uncertain; use a better classifier, or merge them."
    )


def _at_boundary(prevalence: NDArray[np.float64], classes: Sequence[Any]) -> str:
    empty = [repr(name) for name, share in zip(classes, prevalence, strict=True)
             if share <= AT_BOUNDARY]  # fmt: skip
    if not empty:
        return ""
    named = ", ".join(empty[:3]) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
    one = len(empty) == 1
    return (
        f"The share of class{'' if one else 'es'} {named} is estimated as 0, the end of its "
        f"range: {'it' if one else 'they'} may be rare, not absent; read the interval, not the "
        "share."
    )


def _outside(part: float) -> str:
    if part <= MUCH_OUTSIDE:
        return ""
    return (
        f"Of the sample's items {part:.0%} have scores beyond all those of the training items: "
        "their classes are extrapolated; look at some of them."
    )
