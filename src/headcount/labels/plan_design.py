"""Plans of labels: how many, and which items, drawn by strata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count, check_fraction
from headcount.errors import HeadcountError
from headcount.labels.plan import Budget, LabelPlan
from headcount.labels.posteriors import PoolPosteriors
from headcount.labels.strata import Strata, suitable_strata

# Budgets for which the precision is listed.
_BUDGETS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


def make_plan(
    pool: PoolPosteriors,
    key: str,
    *,
    precision: float | None,
    budget: int | None,
    n_strata: int,
    estimand: str,
    level: float,
    rng: np.random.Generator,
    positive: int | None = None,
) -> LabelPlan:
    """Draw the items to label.

    Parameters
    ----------
    pool : PoolPosteriors
        Corrected posteriors of the pool.
    key : str
        Key of the pool.
    precision, budget, estimand, level, rng
        As for `plan_labels` of a quantifier.
    n_strata : int
        Number of strata at most; 1 for a simple random sample.
    positive : int, default=None
        Position of the only class whose share matters; all by default.

    Returns
    -------
    LabelPlan
    """
    n_pool, K = pool.values.shape
    check_choice("estimand", estimand, ("realised", "expected"))
    level = check_fraction("level", level)
    n_strata = check_count("strata", n_strata)
    least = min(max(K, 4), n_pool)
    made: dict[int, Strata] = {}

    def strata_for(n: int) -> Strata:
        wanted = suitable_strata(n_strata, n, n_pool)
        if wanted not in made:
            made[wanted] = Strata.of(pool, wanted, positive)
        return made[wanted]

    def precision_of(n: int) -> float:
        return strata_for(n).precision(n, level, expected=estimand == "expected")

    if (precision is None) == (budget is None):
        raise HeadcountError(
            "pass either precision, such as precision=0.01, or budget, such as budget=200."
        )
    if budget is None:
        n = _fewest(precision_of, check_fraction("precision", precision), least, n_pool)
    else:
        n = check_count("budget", budget, least)
        if n > n_pool:
            raise HeadcountError(
                f"budget is {n:,}, but X has {n_pool:,} items: label all of them, or fewer."
            )
    strata = strata_for(n)
    rows = strata.draw(strata.allocate(n, level), rng)
    listed = sorted({n, *(each for each in _BUDGETS if least <= each < n_pool)})
    listed = [each for each in listed if n / 12 <= each <= 12 * n]
    budgets = tuple(Budget(each, precision_of(each)) for each in listed)
    return LabelPlan(
        rows, strata.codes[rows], strata.sizes, key, budgets, precision_of(n), level, estimand
    )


def join_plans(
    plans: Sequence[LabelPlan],
    items: Sequence[NDArray[np.integer[Any]]],
    key: str,
    rng: np.random.Generator,
) -> LabelPlan:
    """One plan of those of groups, whose rows in the pool are given, in a new random order.

    Strata of one group are not those of another.
    """
    first = np.cumsum([0, *(len(plan.sizes) for plan in plans)])
    rows = np.concatenate([own[plan.rows] for plan, own in zip(plans, items, strict=True)])
    strata = np.concatenate([first[i] + plan.strata for i, plan in enumerate(plans)])
    order = rng.permutation(len(rows))
    common = set.intersection(*({each.n for each in plan.budgets} for plan in plans))
    found: dict[int, list[float]] = {n: [] for n in sorted(common)}
    for plan in plans:
        for each in plan.budgets:
            if each.n in found:
                found[each.n].append(each.precision)
    return LabelPlan(
        rows[order].astype(np.int64),
        strata[order],
        np.concatenate([plan.sizes for plan in plans]),
        key,
        tuple(Budget(n, max(precisions)) for n, precisions in found.items()),
        max(plan.precision for plan in plans if plan.precision is not None),
        plans[0].level,
        plans[0].estimand,
        len(plans),
    )


def _fewest(precision_of: Callable[[int], float], wanted: float, least: int, most: int) -> int:
    """Fewest labels that reach a precision."""
    if precision_of(most) > wanted:
        raise HeadcountError(
            f"precision is {wanted}, but even labels for all {most:,} items give "
            f"{precision_of(most):.2g} for the population behind them: choose a larger one, or "
            "estimand='realised'."
        )
    low, high = least, most
    while low < high:
        middle = (low + high) // 2
        if precision_of(middle) <= wanted:
            high = middle
        else:
            low = middle + 1
    return low
