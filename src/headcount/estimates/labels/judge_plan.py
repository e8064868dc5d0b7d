"""Items to label next, and how many verdicts and labels an evaluation needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from headcount._support.arrays import Floats, Ints
from headcount._support.parameters import check_fraction
from headcount.errors import HeadcountError


class NextLabels(NamedTuple):
    """Labels to take next among the items of one group with one verdict."""

    group: object
    verdict: object
    unlabelled: int
    labels: int


def next_labels(items: Ints, labelled: Ints, outcomes: Floats, n: int) -> Ints:
    """Numbers of labels, of n, that shorten the intervals of groups most, by group and verdict.

    ``items`` and ``labelled`` (G, V) are numbers of items, ``outcomes`` (G, V, K) sums of the
    labels. One label after the other goes where it lowers the sum of variances most.

    >>> import numpy as np
    >>> items, labelled = np.array([[900, 100]]), np.array([[20, 20]])
    >>> next_labels(items, labelled, np.array([[[10, 10], [1, 19]]]), 10)
    array([[10,  0]])
    """
    K = outcomes.shape[-1]
    overall = outcomes.sum(axis=(0, 1)) + 1.0
    means = (outcomes + 2 * overall / overall.sum()) / (labelled[..., None] + 2)
    variances = (means * (1 - means)).sum(axis=-1) / 2 + 0.25 / (labelled + K)
    weights = (items / np.maximum(items.sum(axis=1, keepdims=True), 1)) ** 2 * variances
    added = np.zeros_like(labelled)
    for _ in range(n):
        sizes = labelled + added
        gain = np.where(sizes < items, weights / np.maximum(sizes * (sizes + 1), 0.5), -1.0)
        best = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[best] < 0:
            break
        added[best] += 1
    return added


@dataclass(frozen=True)
class CostPlan:
    """Cheapest numbers of verdicts and labels for an interval of some half-width.

    Attributes
    ----------
    n_items, n_gold : int
        Items to judge, and how many of them to label.
    cost : float
        What this costs.
    n_alone, cost_alone : int, float
        Labels that are needed without a judge, and what they cost.
    half_width : float
        Half-width of the interval, in units of the rate or mean.
    """

    n_items: int
    n_gold: int
    cost: float
    n_alone: int
    cost_alone: float
    half_width: float

    def sentence(self) -> str:
        """The plan in words."""
        if self.n_gold >= self.n_alone or self.cost >= self.cost_alone:
            return (
                f"For an interval of ±{self.half_width:.3g}, labels alone are cheapest: "
                f"{self.n_alone:,} of them, for {self.cost_alone:,.2f}."
            )
        return (
            f"For an interval of ±{self.half_width:.3g}, judge {self.n_items:,} items and "
            f"label {self.n_gold:,} of them, for {self.cost:,.2f}. Labels alone: "
            f"{self.n_alone:,}, for {self.cost_alone:,.2f}."
        )


def cost_plan(
    variance: float,
    left: float,
    half_width: float,
    *,
    judge_price: float,
    human_price: float,
    level: float = 0.95,
) -> CostPlan:
    """Cheapest plan for a half-width, by two-phase sampling.

    ``variance`` is that of the gold labels, ``left`` the part of it that verdicts do not
    explain. The variance of the estimate is ``left / n_gold + (variance - left) / n_items``.

    >>> plan = cost_plan(0.21, 0.07, 0.03, judge_price=0.01, human_price=1.0)
    >>> plan.n_items, plan.n_gold, plan.n_alone
    (4823, 342, 897)
    """
    level = check_fraction("level", level)
    for name, value in (
        ("half_width", half_width),
        ("judge_price", judge_price),
        ("human_price", human_price),
    ):
        if not (np.isfinite(value) and value > 0):
            raise HeadcountError(f"{name} is {value!r}; it must be a number above 0.")
    target = (half_width / float(special.ndtri((1 + level) / 2))) ** 2
    explained = max(variance - left, 0.0)
    n_alone = max(int(np.ceil(variance / target)), 2)
    alone = n_alone * human_price
    prices = np.sqrt(judge_price), np.sqrt(human_price)
    total = np.sqrt(left) * prices[1] + np.sqrt(explained) * prices[0]
    n_gold = max(int(np.ceil(np.sqrt(left) / prices[1] * total / target)), 2)
    n_items = max(int(np.ceil(np.sqrt(explained) / prices[0] * total / target)), n_gold)
    cost = n_gold * human_price + n_items * judge_price
    return CostPlan(n_items, n_gold, cost, n_alone, alone, half_width)
