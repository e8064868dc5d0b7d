"""Several fitted quantifiers whose estimates are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headcount import metrics
from headcount._parameters import check_choice
from headcount.data import count_rows
from headcount.errors import HeadcountError
from headcount.quantify.aggregation import Model
from headcount.quantify.fitted import Fitted, ItemSource
from headcount.representation import Training
from headcount.sampling import UPP, Samples
from headcount.scores.checks import as_numbers
from headcount.solve import Solution

MemberInput = Literal["shared", "posteriors", "own", "folds"]
"""Items of members: shared by all; made of shared posteriors; scored by each member's own
classifier; scored by the classifiers of each member's folds."""

_RULES = ("ae", "rae")
_TRIAL_SAMPLES = 200
_TRIAL_ITEMS = 500
_SMALLEST_ERROR = 1e-9
# Weights are sums of rounded numbers: cumulative weights this close to a half count as a half.
_HALF_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Committee(Model):
    """Fitted quantifiers and a rule that combines their estimates.

    Attributes
    ----------
    members : sequence of Fitted
        Fitted methods.
    input : {"shared", "posteriors", "own", "folds"}
        Form in which members take the items.
    combine : {"mean", "median"}
        Rule that combines the estimates.
    weights : ndarray of shape (M,)
        Weights of the members; not negative, not all zero.
    """

    members: Sequence[Fitted]
    input: MemberInput
    combine: str
    weights: NDArray[np.float64]

    def solve(self, items: Any, samples: Samples) -> Solution:
        """Shares of the classes in each sample of the items."""
        return self._combined(
            lambda i: member_items(self.members[i], items, self.input), samples
        )

    def solve_training(self, training: Training, samples: Samples) -> Solution:
        """Shares in samples of the training items, of which there is one form per member."""
        scores: Any = training.items
        return self._combined(lambda i: scores[i], samples)

    def cross_fitted(self, training: Training) -> Committee:
        """Members that score new items as the training items were scored."""
        return replace(self, input="folds") if self.input == "own" else self

    def _combined(self, items_of: Callable[[int], Any], samples: Samples) -> Solution:
        places = np.flatnonzero(self.weights > 0)
        solutions = []
        for i in places.tolist():
            items = items_of(i)
            copies = samples.over(count_rows(items))
            solutions.append(self.members[i].model.solve(items, copies))
        weights = np.repeat(self.weights[places][:, None], len(samples), axis=1)
        return combined(solutions, weights, self.combine)


def member_items(member: Fitted, items: Any, form: MemberInput) -> Any:
    """Items in the form that a member takes."""
    if form == "posteriors":
        return items_of_posteriors(member.source, items)
    if form == "own":
        return member.source.items(items, by_folds=member.by_folds)
    if form == "folds":
        return member.source.items(items, by_folds=member.scorer.n_folds_ > 0)
    return items


def items_of_posteriors(source: ItemSource, posteriors: NDArray[np.float64]) -> Any:
    """Posteriors, or the classes with the largest, as a method takes them."""
    takes_labels = source.takes == "labels"
    return source.arranged(posteriors.argmax(axis=1) if takes_labels else posteriors)


def combined(
    solutions: Sequence[Solution], weights: NDArray[np.float64], rule: str
) -> Solution:
    """Combine the estimates of M members for each of S samples.

    `weights` has the shape (M, S); `rule` is "mean" or "median".
    """
    shares = [solution.prevalence for solution in solutions]
    return Solution(
        _mean(shares, weights) if rule == "mean" else _median(shares, weights),
        np.all([solution.converged for solution in solutions], axis=0),
        np.max([solution.iterations for solution in solutions], axis=0),
        np.mean([solution.objective for solution in solutions], axis=0),
    )


def _mean(
    shares: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    # Member by member: the last bit of numpy's own sums depends on the number of samples.
    sums = np.zeros_like(shares[0])
    total = np.zeros(len(sums))
    for part, weight in zip(shares, weights, strict=True):
        sums += weight[:, None] * part
        total += weight
    return np.asarray(sums / total[:, None], dtype=np.float64)


def _median(
    shares: Sequence[NDArray[np.float64]], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted medians of each class, divided by their sum; the mean if all are zero."""
    values = np.stack(shares)
    order = np.argsort(values, axis=0, kind="stable")
    values = np.take_along_axis(values, order, axis=0)
    mass = np.take_along_axis(np.broadcast_to(weights[:, :, None], order.shape), order, axis=0)
    below = np.cumsum(mass, axis=0)
    below /= below[-1]
    # Where the weight up to a value is exactly a half, the median lies between it and the next.
    lower = np.argmax(below >= 0.5 - _HALF_TOLERANCE, axis=0)
    upper = np.argmax(below > 0.5 + _HALF_TOLERANCE, axis=0)
    middle = sum(np.take_along_axis(values, at[None], axis=0)[0] for at in (lower, upper)) / 2
    total = middle.sum(axis=1, keepdims=True)
    return np.divide(middle, total, out=_mean(shares, weights), where=total > 0)


@dataclass(frozen=True, eq=False)
class Weighting:
    """Rule for the weights of members.

    Attributes
    ----------
    given : ndarray of shape (M,)
        Weights, unless errors decide.
    metric : {"ae", "rae", ""}
        Error that decides; empty if the weights are given.
    keep : float
        Share of the members to keep, those with the smallest errors.
    protocol : protocol or None
        Draws the samples that errors are measured on.
    """

    given: NDArray[np.float64]
    metric: str
    keep: float
    protocol: Any

    @classmethod
    def checked(cls, weights: Any, keep: Any, protocol: Any, n_members: int) -> Weighting:
        """Check the parameters of a quantifier with members."""
        metric = check_choice("weights", weights, _RULES) if isinstance(weights, str) else ""
        keep = check_keep(keep)
        if keep < 1 and not metric:
            raise HeadcountError(
                f"keep is {keep!r}, but without errors no member is best: set weights to 'ae' "
                "or 'rae', or keep to 1."
            )
        draws = hasattr(protocol, "draw") and not isinstance(protocol, type)
        if protocol is not None and not draws:
            raise HeadcountError(
                f"protocol is {protocol!r}; it must be one that draws samples: pass for "
                "instance UPP(n_samples=200, size=500)."
            )
        given = np.ones(n_members) if metric else _checked_weights(weights, n_members)
        return cls(given, metric, keep, protocol)

    def weights(
        self, members: Sequence[Fitted], items: Sequence[Any], training: Training, seed: int
    ) -> NDArray[np.float64]:
        """Weights of fitted members, with a sum of 1.

        `items` has the training items as each member takes them.
        """
        weights = self.given
        if self.metric:
            trials = self._trials(training, seed)
            errors = [
                mean_error(member, scores, trials, self.metric)
                for member, scores in zip(members, items, strict=True)
            ]
            weights = 1 / np.maximum(errors, _SMALLEST_ERROR)
            ranked = np.argsort(errors, kind="stable")
            weights[ranked[number_kept(self.keep, len(ranked)) :]] = 0
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def _trials(self, training: Training, seed: int) -> Samples:
        """Samples of the training items that errors are measured on."""
        protocol = self.protocol
        if protocol is None:
            size = min(_TRIAL_ITEMS, len(training.codes))
            protocol = UPP(n_samples=_TRIAL_SAMPLES, size=size, random_state=seed)
        trials: Samples = protocol.draw(training.codes, classes=np.arange(training.n_classes))
        return trials


def _checked_weights(weights: Any, n_members: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_members)
    numbers = as_numbers(weights, "weights")
    fine = numbers.shape == (n_members,) and np.isfinite(numbers).all() and (numbers >= 0).all()
    if not fine or not numbers.sum() > 0:
        raise HeadcountError(
            f"weights is {weights!r}; it must be None, 'ae', 'rae', or one number of at least "
            f"0 for each of the {n_members} members, not all 0."
        )
    return numbers


def mean_error(member: Fitted, items: Any, samples: Samples, metric: str) -> float:
    """Mean error of a fitted member on samples whose shares are known."""
    measure = metrics.by_name(metric)
    smoothing = {"size": samples.sizes} if metric in metrics.SMOOTHED else {}
    estimated = member.model.solve(items, samples).prevalence
    assert samples.prevalence is not None
    return float(np.mean(measure(samples.prevalence, estimated, **smoothing)))


def check_keep(keep: Any) -> float:
    """A share of the members, above 0."""
    is_number = isinstance(keep, Real) and not isinstance(keep, bool)
    if not is_number or not 0 < keep <= 1:
        raise HeadcountError(
            f"keep is {keep!r}; it must be a share of the members above 0 and up to 1, such as "
            "0.5."
        )
    return float(keep)


def number_kept(keep: float, n_members: int) -> int:
    """Number of members that a share of them is; at least one."""
    return max(1, round(keep * n_members))


def check_jobs(n_jobs: Any) -> int | None:
    """Number of processes to train in, as joblib takes it."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise HeadcountError(
            f"n_jobs is {n_jobs!r}; it must be None, or a whole number other than 0: -1 trains "
            "on all cores."
        )
    return None if n_jobs is None else int(n_jobs)
