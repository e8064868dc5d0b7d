"""From a fitted method and samples to estimates with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._parameters import check_choice, check_count
from headcount.sampling._streams import RandomState, base_seeds
from headcount.uncertainty.delta import delta_rule
from headcount.uncertainty.estimate import Estimate
from headcount.uncertainty.inversion import inverted
from headcount.uncertainty.jackknife import accelerations
from headcount.uncertainty.posterior import posterior_rule
from headcount.uncertainty.profile import profile_rule
from headcount.uncertainty.replicates import Problem, Target, replicate
from headcount.uncertainty.rules import BCa, Centred, Percentile, Rule

__all__ = ["make_estimates"]

# Replicates whose mean is so many of their standard deviations off show a bias.
_SPREADS = 1.0
_LEAST_BIAS = 0.01
# Items that the replicates of a sample have in all: beyond it they become fewer, down to a
# number that still tells the ends of an interval.
_MOST_ITEMS = 100_000_000
_FEWEST = 200


def make_estimates(
    problem: Problem,
    *,
    method: str,
    classes: NDArray[Any],
    target: str = "realised",
    replicates: int = 1000,
    training_replicates: int = 200,
    random_state: RandomState = None,
    warnings: Sequence[str] = (),
) -> list[Estimate]:
    """An estimate for each sample of a problem.

    Parameters
    ----------
    problem : Problem
        The fitted method, its training set, and the samples.
    method : str
        Its name.
    classes : ndarray of shape (K,)
        The classes.
    target : {"realised", "expected"}, default="realised"
        Whose shares the intervals are for.
    replicates : int, default=1000
        Replicates of each sample; of samples above 100,000 items there are fewer, down to
        200.
    training_replicates : int, default=200
        Training sets drawn anew, which all samples share; 0 to leave their noise out.
    random_state : int, RandomState, Generator or None, default=None
        Draws the replicates.
    warnings : sequence of str, default=()
        What the reader ought to know, whatever comes out.

    Returns
    -------
    list of Estimate
    """
    wanted: Target = check_choice("target", target, ("realised", "expected"))  # type: ignore[assignment]
    n = check_count("replicates", replicates, 2)
    n = min(n, max(_FEWEST, _MOST_ITEMS // int(problem.samples.sizes.max())))
    n_training = check_count("training_replicates", training_replicates, 0)
    draw_seed, other_seed = base_seeds(random_state, 2)
    rng = np.random.default_rng(draw_seed)
    drawn = replicate(problem, wanted, n, n_training, rng)
    lopsided = accelerations(problem, wanted, n_training, rng)
    inverts = _inverts(problem, n_training)
    righted = inverted(problem, wanted, n, n_training, drawn, rng) if inverts else None
    said = (*warnings, *_left_out(problem, n_training))
    found = []
    for i, shares in enumerate(problem.shares):
        acceleration = None if lopsided is None else lopsided[i]
        rules = _rules(problem, i, wanted, drawn[i], acceleration, other_seed)
        if righted is not None:
            rules = {"inverted": Percentile(righted[i])} | rules
        about = drawn[i] if righted is None else righted[i]
        bias = _biased(drawn[i], shares, classes, made_up_for=righted is not None)
        size = int(problem.samples.sizes[i])
        found.append(
            Estimate(method, classes, shares, size, wanted, about, rules, None, (*said, *bias))
        )
    return found


def _inverts(problem: Problem, n_training: int) -> bool:
    """Whether what the method is off by can be found out, and is not small by nature.

    What a calibration is off by is small beside the noise of training: where that is left
    out, so is this.
    """
    biased = not (problem.consistent and problem.learns)
    slightly = problem.calibrates and n_training > 0
    return problem.shift == "prior" and problem.relearns and (biased or slightly)


def _rules(
    problem: Problem,
    number: int,
    target: Target,
    drawn: NDArray[np.float64],
    acceleration: NDArray[np.float64] | None,
    seed: int,
) -> dict[str, Rule]:
    """The ways to make intervals, first the one that measured best: see docs/uncertainty.md."""
    shares = problem.shares[number]
    linear = delta_rule(problem, number, target)
    first = "percentile" if linear is not None or problem.shift != "prior" else "centred"
    rules: dict[str, Rule | None] = {
        "percentile": Percentile(drawn),
        "centred": Centred(drawn, shares),
        "bca": BCa(drawn, shares, acceleration),
        "delta": linear,
        "profile": profile_rule(problem, number, drawn.std(axis=0)),
        "bayes": posterior_rule(problem, number, target, seed),
    }
    there = {name: rule for name, rule in rules.items() if rule is not None}
    return {first: there[first]} | there


def _biased(
    drawn: NDArray[np.float64],
    shares: NDArray[np.float64],
    classes: NDArray[Any],
    *,
    made_up_for: bool = False,
) -> list[str]:
    """A word on replicates that are far from what they were made from."""
    off = drawn.mean(axis=0) - shares
    # What little there is of a class that is hardly there is not worth a word.
    doubtful = np.abs(off) > np.maximum(_SPREADS * drawn.std(axis=0), _LEAST_BIAS)
    if not doubtful.any():
        return []
    worst = int(np.argmax(np.abs(off)))
    label, side = classes.tolist()[worst], "high" if off[worst] > 0 else "low"
    so = "the intervals make up for it" if made_up_for else "the intervals may miss the truth"
    return [
        f"in samples made to have these shares, the method finds that of class {label!r} "
        f"{abs(off[worst]):.1%} too {side}: it is biased here, and {so}."
    ]


def _left_out(problem: Problem, n_training: int) -> list[str]:
    """What the intervals do not cover."""
    if problem.shift == "none":
        return [
            "this method does not correct for a shift since training: its bias is not in "
            "the intervals."
        ]
    if problem.shift == "covariate":
        return [
            "this method takes the posteriors to be right: what they are wrong by is not in "
            "the intervals."
        ]
    if not problem.relearns:
        return [
            "what the method learnt cannot be drawn anew: the noise of training is not in the "
            "intervals."
        ]
    if not n_training:
        return ["training_replicates is 0: the noise of training is not in the intervals."]
    return []
