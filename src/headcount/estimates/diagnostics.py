"""Checks of an estimate, and the warnings that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headcount._kernels.accumulation import add_outside
from headcount._support.arrays import Floats, Ints
from headcount._support.parameters import check_choice
from headcount.errors import HeadcountError
from headcount.estimates.assumption import FitTest, FitTests, MixtureTest, format_p_value
from headcount.parts.training import Dense, MeanOf, Training
from headcount.samples.samples import Samples

BROKEN_LEVEL = 0.01
"""P-value below which a warning reports that the assumption is violated."""
WEAK_LEVEL = 0.05
"""P-value below which there is weak evidence that it is."""
FEW_ITEMS = 30
"""Number of items below which a warning reports that a sample is small."""
HARDLY_APART = 0.5
"""Distance of classes, in standard deviations, below which there is a warning."""
AT_BOUNDARY = 1e-6
"""Distance from 0 or 1 at which a share counts as 0 or 1."""
MUCH_OUTSIDE = 0.05
"""Share of scores outside the range of training above which there is a warning."""

UNLIKE = "The sample does not look like a mixture of"
"""Start of the warnings that report a violated assumption."""

_SHIFTS = ("prior", "covariate", "none")


class Diagnosis(NamedTuple):
    """Test and warnings of one estimate."""

    fit_test: FitTest | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Separation:
    """Separation of the classes by the scores."""

    distance: float
    condition: float
    pair: tuple[int, int]

    @classmethod
    def of(cls, means: Floats) -> Separation:
        """Compute it from class means, in standard deviations within classes.

        >>> import numpy as np
        >>> apart = Separation.of(np.array([[0.0, 0.0], [0.3, 0.4], [3.0, -3.0]]))
        >>> apart.pair, round(apart.distance, 1)
        ((0, 1), 0.5)
        """
        K = len(means)
        # The last contrast is the vector of ones, with singular value 0.
        contrasts, sizes, _ = np.linalg.svd(means - means.mean(axis=0))
        sizes = np.concatenate([sizes, np.zeros(K)])[: K - 1]
        worst = contrasts[:, K - 2]
        first, second = sorted((int(worst.argmin()), int(worst.argmax())))
        # For two classes, the contrast (1, -1) / sqrt 2 is their distance / sqrt 2.
        condition = sizes[0] / sizes[-1] if sizes[-1] > 0 else np.inf
        return cls(float(np.sqrt(2) * sizes[-1]), float(condition), (first, second))


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Statistics of the training items, for checks of estimates.

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
    ('The sample has 3 items, fewer than 30, so its shares are very uncertain: add ...',)
    """

    classes: tuple[Any, ...]
    mixture: MixtureTest
    separation: Separation
    low: Floats
    high: Floats
    n_training: int

    @classmethod
    def learn(cls, training: Training, classes: Sequence[Any]) -> Diagnostics:
        """Compute the statistics of labelled items with out-of-sample posteriors."""
        posteriors = np.asarray(training.items, np.float64)
        if posteriors.ndim != 2 or posteriors.shape[1] != len(classes):
            raise HeadcountError(
                f"training has items of shape {posteriors.shape}, but diagnostics need "
                f"posteriors: pass one column for each of the {len(classes)} classes."
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

    @property
    def reduction(self) -> tuple[MeanOf, MeanOf]:
        """Statistics of a sample that `examine_means` takes."""
        assert self.mixture.representation is not None
        return MeanOf(self.mixture.representation), MeanOf(_Outside(self.low, self.high))

    def outside(self, posteriors: Floats, samples: Samples) -> Floats:
        """Share of the items of each sample with a posterior outside those of training."""
        return _Outside(self.low, self.high).embed(posteriors).means(samples)[:, 0]

    def means(self, posteriors: Floats, samples: Samples) -> tuple[Floats, Floats]:
        """Means of each `reduction` in samples of a pool, as `examine_means` takes them."""
        return self.mixture.sample_means(posteriors, samples), self.outside(
            posteriors, samples
        )[:, None]

    def examine(
        self, posteriors: Floats, samples: Samples, prevalence: Floats, *, shift: str = "prior"
    ) -> list[Diagnosis]:
        """Test and warn about the estimates of many samples."""
        means, outside = self.means(posteriors, samples)
        return self.examine_means(means, outside, samples.sizes, prevalence, shift=shift)

    def examine_means(
        self,
        seen: Floats,
        outside: Floats,
        sizes: Ints,
        prevalence: Floats,
        *,
        shift: str = "prior",
    ) -> list[Diagnosis]:
        """Test and warn about the estimates of samples given by their statistics."""
        tests = self.mixture.test_means(seen, sizes)
        return self._examined(tests, outside[:, 0], prevalence, shift)

    def _examined(
        self, tests: FitTests, outside: Floats, prevalence: Floats, shift: str
    ) -> list[Diagnosis]:
        # A new item exceeds either end of N training items with probability 1 / (N + 1).
        usual = 2 * max(1, len(self.classes) - 1) / (self.n_training + 1)
        return [
            Diagnosis(test, self._warnings(test, shares, float(share_outside - usual), shift))
            for test, shares, share_outside in zip(tests, prevalence, outside, strict=True)
        ]

    def _warnings(
        self, test: FitTest, shares: Floats, outside: float, shift: str
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


@dataclass(frozen=True, eq=False)
class _Outside:
    """Indicator of items with a posterior outside the range of training."""

    low: Floats
    high: Floats

    def embed(self, items: Floats) -> _OutsideEmbedding:
        return _OutsideEmbedding(self.low, self.high, items)


@dataclass(frozen=True, eq=False)
class _OutsideEmbedding:
    """The indicator for items, computed when it is used."""

    low: Floats
    high: Floats
    items: Floats

    @property
    def width(self) -> int:
        return 1

    def means(self, samples: Samples, weights: Floats | None = None) -> Floats:
        beyond = np.any((self.items < self.low) | (self.items > self.high), axis=1)
        return Dense(beyond.astype(np.float64).reshape(-1, 1)).means(samples, weights)

    def add_sums(self, groups: Ints, sums: Ints) -> None:
        items = np.ascontiguousarray(self.items, dtype=np.float64)
        add_outside(items, self.low, self.high, groups, sums)


def assumption_warnings(
    prevalence: Floats,
    classes: Sequence[Any],
    *,
    n: int,
    fit_test: FitTest | None = None,
    separation: Separation | None = None,
    outside: float = 0.0,
    shift: str = "prior",
) -> tuple[str, ...]:
    """Return warnings about an estimate, one sentence each.

    >>> import numpy as np
    >>> assumption_warnings(np.array([0.3, 0.7]), ["ham", "spam"], n=500)
    ()
    >>> for sentence in assumption_warnings(np.array([0.0, 1.0]), ["ham", "spam"], n=12):
    ...     print(sentence)
    The sample has 12 items, fewer than 30, so its shares are very uncertain: add items.
    The share of class 'ham' is estimated as 0, the end of its range: it may be rare, not
    absent, so read the interval.
    """
    check_choice("shift", shift, _SHIFTS)
    warnings = [
        _broken(fit_test, shift),
        _few(n),
        _hardly_apart(separation, classes),
        _at_boundary(prevalence, classes),
        _outside(outside),
    ]
    return tuple(sentence for sentence in warnings if sentence)


def _broken(test: FitTest | None, shift: str) -> str:
    # PCC and similar methods do not assume prior shift.
    if test is None or shift == "covariate" or not test.p_value < BROKEN_LEVEL:
        return ""
    return (
        f"{UNLIKE} the training classes ({format_p_value(test)}), so shares estimated "
        "under prior shift may be far off: label a few of its items, or retrain; if only the "
        "inputs have changed and not their relation to the classes (pure covariate shift), use "
        "the method PCC."
    )


def _few(n: int) -> str:
    if n >= FEW_ITEMS:
        return ""
    return (
        f"The sample has {n} item{'' if n == 1 else 's'}, fewer than {FEW_ITEMS}, so its "
        "shares are very uncertain: add items."
    )


def _hardly_apart(separation: Separation | None, classes: Sequence[Any]) -> str:
    if separation is None or separation.distance >= HARDLY_APART:
        return ""
    first, second = (classes[j] for j in separation.pair)
    return (
        f"The scores hardly distinguish class {first!r} from class {second!r} (their means are "
        f"{separation.distance:.2g} standard deviations apart), so only their total is "
        "reliable: use a better classifier, or merge them."
    )


def _at_boundary(prevalence: Floats, classes: Sequence[Any]) -> str:
    empty = [repr(name) for name, share in zip(classes, prevalence, strict=True)
             if share <= AT_BOUNDARY]  # fmt: skip
    if not empty:
        return ""
    named = ", ".join(empty[:3]) + (f" and {len(empty) - 3} more" if len(empty) > 3 else "")
    one = len(empty) == 1
    return (
        f"The share of class{'' if one else 'es'} {named} is estimated as 0, the end of its "
        f"range: {'it' if one else 'they'} may be rare, not absent, so read the interval."
    )


def _outside(part: float) -> str:
    if part <= MUCH_OUTSIDE:
        return ""
    return (
        f"{part:.0%} of the sample's items have scores outside the range of training, so "
        "their classes are extrapolated: inspect some of them."
    )
