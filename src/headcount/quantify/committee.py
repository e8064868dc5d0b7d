"""Several fitted quantifiers that answer as one."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from headcount import metrics
from headcount._parameters import check_choice
from headcount.data import check_features, count_rows
from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Model
from headcount.quantify.base import Quantifier
from headcount.representation import Training
from headcount.sampling import UPP, Samples
from headcount.scores import ScoredPool, Scorer
from headcount.scores.checks import as_numbers
from headcount.solve import Solution

__all__ = [
    "Committee",
    "Reader",
    "Weighing",
    "check_jobs",
    "check_keep",
    "combined",
    "fold_items",
    "item_pool",
    "mean_error",
    "number_kept",
    "own_items",
    "seeded",
    "solved",
    "solved_training",
]

Reader = Callable[[Quantifier, Any], Any]
"""From a member and the items as they came, to the items as the member takes them."""

_Seeded = TypeVar("_Seeded", Quantifier, Scorer)

_RULES = ("ae", "rae")
_TRIAL_SAMPLES = 200
_TRIAL_ITEMS = 500
_SMALLEST_ERROR = 1e-9
# Weights are sums of rounded numbers: so close to a half counts as a half.
_HALF_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Committee(Model):
    """Fitted quantifiers that are all heard, and what is made of their answers.

    Attributes
    ----------
    members : sequence of Quantifier
        Fitted.
    read : callable
        How a member takes the items.
    weights : ndarray of shape (M,)
        How much each member counts; not negative, not all zero.
    combine : {"mean", "median"}
        What is made of their answers.
    """

    members: Sequence[Quantifier]
    read: Reader
    weights: NDArray[np.float64]
    combine: str

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return self._combined(
            samples,
            [solved(self.members[i], self.read, items, samples) for i in self._counting],
        )

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares in samples of the training items, of which each member has its own scores."""
        return self._combined(
            samples,
            [solved_training(self.members[i], training, i, samples) for i in self._counting],
        )

    def cross_fitted(self, training: Training) -> Committee:
        """Members that score new items as the training items were scored."""
        return replace(self, read=fold_items) if self.read is own_items else self

    @property
    def _counting(self) -> NDArray[np.int64]:
        """Members with a weight above 0."""
        return np.flatnonzero(self.weights > 0)

    def _combined(self, samples: Samples, parts: Sequence[Solution]) -> Solution:
        weights = self.weights[self._counting]
        return combined(parts, np.repeat(weights[:, None], len(samples), axis=1), self.combine)


def solved(member: Quantifier, read: Reader, items: Any, samples: Samples) -> Solution:
    """Shares that a member finds in samples of the items."""
    own = read(member, items)
    return member.model_.solve(own, samples.over(count_rows(own)))


def solved_training(
    member: Quantifier, training: Training, number: int, samples: Samples
) -> Solution:
    """Shares that a member finds in samples of the training items, with its own scores."""
    scores: Any = training.items
    return member.model_.solve_training(replace(training, items=scores[number]), samples)


def combined(parts: Sequence[Solution], weights: NDArray[np.float64], how: str) -> Solution:
    """One answer a sample of those of M members; `weights` has the shape (M, S)."""
    shares = [part.prevalence for part in parts]
    return Solution(
        _mean(shares, weights) if how == "mean" else _median(shares, weights),
        np.all([part.converged for part in parts], axis=0),
        np.max([part.iterations for part in parts], axis=0),
        np.mean([part.objective for part in parts], axis=0),
    )


def _mean(
    shares: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    # Member by member: numpy's own sums depend on the number of samples in the last bit.
    sums = np.zeros_like(shares[0])
    total = np.zeros(len(sums))
    for part, weight in zip(shares, weights, strict=True):
        sums += weight[:, None] * part
        total += weight
    return np.asarray(sums / total[:, None], dtype=np.float64)


def _median(
    shares: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted medians class by class, divided by their sum; the mean if all are zero."""
    values = np.stack(shares)
    order = np.argsort(values, axis=0, kind="stable")
    values = np.take_along_axis(values, order, axis=0)
    heavy = np.take_along_axis(np.broadcast_to(weights[:, :, None], order.shape), order, axis=0)
    below = np.cumsum(heavy, axis=0)
    below /= below[-1]
    # Where the weight up to a value is just a half, the median lies between it and the next.
    lower = np.argmax(below >= 0.5 - _HALF_TOLERANCE, axis=0)
    upper = np.argmax(below > 0.5 + _HALF_TOLERANCE, axis=0)
    middle = sum(np.take_along_axis(values, at[None], axis=0)[0] for at in (lower, upper)) / 2
    total = middle.sum(axis=1, keepdims=True)
    return np.divide(middle, total, out=_mean(shares, weights), where=total > 0)


@dataclass(frozen=True, eq=False)
class Weighing:
    """How members are weighed.

    Attributes
    ----------
    given : ndarray of shape (M,)
        Weights as long as no errors are known.
    rule : str
        The error that decides; empty if none does.
    keep : float
        Share of the members with the least errors to listen to.
    protocol : protocol or None
        Draws the samples to measure errors on.
    """

    given: NDArray[np.float64]
    rule: str
    keep: float
    protocol: Any

    @classmethod
    def of(cls, weights: Any, keep: Any, protocol: Any, n_members: int) -> Weighing:
        """Check the parameters that say how to weigh."""
        rule = check_choice("weights", weights, _RULES) if isinstance(weights, str) else ""
        keep = check_keep(keep)
        if keep < 1 and not rule:
            raise HeadcountError(
                f"keep is {keep!r}, but without errors nobody is best: set weights to 'ae' or "
                "'rae', or keep to 1."
            )
        draws = hasattr(protocol, "draw") and not isinstance(protocol, type)
        if protocol is not None and not draws:
            raise HeadcountError(
                f"protocol is {protocol!r}; it must be one that draws samples: pass for "
                "instance UPP(n_samples=200, size=500)."
            )
        given = np.ones(n_members) if rule else _checked_weights(weights, n_members)
        return cls(given, rule, keep, protocol)

    def trials(self, training: Training, seed: int) -> Samples:
        """Samples of the training items to measure errors on."""
        protocol = self.protocol
        if protocol is None:
            size = min(_TRIAL_ITEMS, len(training.codes))
            protocol = UPP(n_samples=_TRIAL_SAMPLES, size=size, random_state=seed)
        drawn: Samples = protocol.draw(training.codes, classes=np.arange(training.n_classes))
        return drawn

    def weights(self, errors: Sequence[float] | None) -> NDArray[np.float64]:
        """What members count, given their errors where these decide."""
        weights = self.given
        if errors is not None:
            weights = 1 / np.maximum(errors, _SMALLEST_ERROR)
            ranked = np.argsort(errors, kind="stable")
            weights[ranked[number_kept(self.keep, len(ranked)) :]] = 0
        return np.asarray(weights / weights.sum(), dtype=np.float64)


def _checked_weights(weights: Any, n_members: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_members)
    found = as_numbers(weights, "weights")
    fine = found.shape == (n_members,) and np.isfinite(found).all() and (found >= 0).all()
    if not fine or not found.sum() > 0:
        raise HeadcountError(
            f"weights is {weights!r}; it must be None, 'ae', 'rae', or one number of at least "
            f"0 for each of the {n_members} members, not all 0."
        )
    return found


def mean_error(member: Quantifier, items: Any, samples: Samples, metric: str) -> float:
    """The mean error of a fitted member on samples whose shares are known."""
    measure = metrics.by_name(metric)
    smoothing = {"size": samples.sizes} if metric in metrics.SMOOTHED else {}
    found = member.model_.solve(items, samples).prevalence
    assert samples.prevalence is not None
    return float(np.mean(measure(samples.prevalence, found, **smoothing)))


def item_pool(X: Any) -> Any:
    """Items that every member scores itself, and then checks more closely."""
    return X if isinstance(X, ScoredPool) else check_features(X, allow_nan=True)


def own_items(member: Quantifier, X: Any) -> Any:
    """Items as the member scores them itself."""
    return member.items_of(X)


def fold_items(member: Quantifier, X: Any) -> Any:
    """Items as the member scores them by its folds, or by its classifier if it has none."""
    return member.items_of(X, by_folds=member.scorer_.n_folds_ > 0)


def seeded(estimator: _Seeded, seed: int) -> _Seeded:
    """A copy in which the sources of chance that were left open are decided."""
    twin: Any = clone(estimator)
    left_open = [
        name
        for name, value in twin.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    ]
    # As large as scikit-learn takes them.
    return twin.set_params(**dict.fromkeys(left_open, seed % 2**32))


def check_keep(keep: Any) -> float:
    """A share of the members, some at least."""
    is_number = isinstance(keep, numbers.Real) and not isinstance(keep, bool)
    if not is_number or not 0 < keep <= 1:
        raise HeadcountError(
            f"keep is {keep!r}; it must be a share of the members above 0 and up to 1, such as "
            "0.5."
        )
    return float(keep)


def number_kept(keep: float, n_members: int) -> int:
    """How many members a share of them is; one at least."""
    return max(1, round(keep * n_members))


def check_jobs(n_jobs: Any) -> int | None:
    """How many processes to train in, as joblib takes it."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise HeadcountError(
            f"n_jobs is {n_jobs!r}; it must be None, or a whole number other than 0: -1 trains "
            "on all cores."
        )
    return None if n_jobs is None else int(n_jobs)
