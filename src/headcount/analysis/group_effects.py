"""Differences between groups that posteriors do not know, learnt from labels.

The classes of an item have the odds that its posteriors give, times factors of its group. The
logarithms of these factors, the effects of the group, are normal with mean zero. Their standard
deviation follows from the labels of all groups, and the effects of a group from its own labels,
as far as they are worth it (as in small area estimation: Fay & Herriot, JASA 74, 1979; for
shares of classes with Laplace's approximation: Tierney & Kadane, JASA 81, 1986).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Standard deviations of effects, and one that is usual: the scale of a half-Cauchy prior
# (Gelman, Bayesian Analysis 1, 2006).
_SPREADS, _USUAL = np.geomspace(0.02, 4, 16), 0.3
# Newton's method: steps at most, the longest one, and the step at which it ends.
_STEPS, _LONGEST, _SHORTEST = 30, 2.0, 1e-6
_DRAWS = 1000
# Items of a group that the shares are computed from, and numbers that are in memory at a time.
_MOST_ITEMS, _AT_ONCE = 1000, 2**21
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Effects of groups on the odds of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0, 1], 500)
    >>> labels = (rng.random(1000) < np.where(groups == 0, 0.3, 0.7)).astype(int)
    >>> effects = GroupEffects.of(np.full((1000, 2), 0.5), labels, groups, 2)
    >>> draws = effects.shares(np.full((200, 2), 0.5), np.ones((1, 2)), 1, seed=0)
    >>> float(draws[:, 1].mean().round(1))
    0.7
    """

    modes: Floats
    roots: Floats
    chances: Floats

    @classmethod
    def of(
        cls, posteriors: Floats, codes: NDArray[np.int64], groups: NDArray[np.int64], n: int
    ) -> GroupEffects:
        """Effects that labels show."""
        logs, labels = np.log(np.maximum(posteriors, _TINY)), np.eye(posteriors.shape[1])[codes]
        order = np.argsort(groups, kind="stable")
        members = np.split(order, np.searchsorted(groups[order], np.arange(1, n)))
        effects = [_effects_of_one(logs[rows], labels[rows]) for rows in members]
        modes, roots, likelihoods = (np.stack(arrays) for arrays in zip(*effects, strict=True))
        log = likelihoods.sum(axis=0)
        # The standard deviations are evenly spaced in logarithms.
        chances = np.exp(log - log.max()) * _SPREADS / (1 + (_SPREADS / _USUAL) ** 2)
        return cls(modes, roots, chances / chances.sum())

    def shares(self, posteriors: Floats, odds: Floats, group: int, seed: int) -> Floats:
        """Draws of the shares of the classes among new items of a group."""
        rng = np.random.default_rng(seed)
        n, K = posteriors.shape
        moved = (
            self._draws(group, K, rng)
            + np.log(np.maximum(odds, _TINY))[np.arange(_DRAWS) % len(odds)]
        )
        sample = posteriors
        if n > _MOST_ITEMS:
            # Evenly spaced among items in the order of their predicted class and its posterior.
            order = np.lexsort((posteriors.max(axis=1), posteriors.argmax(axis=1)))
            sample = posteriors[order[np.linspace(0, n - 1, _MOST_ITEMS).round().astype(int)]]
        logs = np.log(np.maximum(sample, _TINY))
        draws = np.empty((_DRAWS, K))
        step = max(1, _AT_ONCE // logs.size)
        for first in range(0, _DRAWS, step):
            batch = slice(first, first + step)
            chances = _softmax(logs + moved[batch, None])
            ends = np.cumsum(chances, axis=2)[:, :, :-1]
            classes = (rng.random((*ends.shape[:2], 1)) > ends).sum(axis=2)
            counts = np.stack([(classes == k).mean(axis=1) for k in range(K)], axis=1)
            means = chances.mean(axis=1)
            # Chance is that of all items, and their mean posteriors differ from those of some.
            draws[batch] = means + (counts - means) * np.sqrt(len(sample) / n)
        draws = np.maximum(draws + posteriors.mean(axis=0) - sample.mean(axis=0), 0.0)
        return np.asarray(draws / draws.sum(axis=1, keepdims=True))

    def _draws(self, group: int, K: int, rng: np.random.Generator) -> Floats:
        """Draws of the effects of a group."""
        spread = rng.choice(len(_SPREADS), _DRAWS, p=self.chances)
        normal = rng.standard_normal((_DRAWS, K))
        if group < 0:
            return np.asarray(_SPREADS[spread, None] * normal)
        away = np.einsum("dkl,dl->dk", self.roots[group, spread], normal)
        return np.asarray(self.modes[group, spread] + away)


def _effects_of_one(logs: Floats, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """Effects of a group, roots of their covariances, and log-likelihoods, by spread."""
    K = logs.shape[1]
    precision = _SPREADS**-2.0
    effects = np.zeros((len(_SPREADS), K))
    for _ in range(_STEPS):
        chances = _softmax(logs + effects[:, None])
        slope = (labels - chances).sum(axis=1) - effects * precision[:, None]
        step = np.linalg.solve(_curvature(chances, precision), slope[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        effects += step * np.minimum(1, _LONGEST / np.maximum(longest, _TINY))
        if longest.max() < _SHORTEST:
            break
    chances = _softmax(logs + effects[:, None])
    curvature = _curvature(chances, precision)
    fit = (labels * np.log(np.maximum(chances, _TINY))).sum(axis=(1, 2))
    prior = 0.5 * K * np.log(precision) - 0.5 * precision * (effects**2).sum(axis=1)
    likelihoods = fit + prior - 0.5 * np.linalg.slogdet(curvature)[1]
    return effects, np.linalg.cholesky(np.linalg.inv(curvature)), likelihoods


def _curvature(chances: Floats, precision: Floats) -> Floats:
    """Second derivatives of the negative log-posterior of effects, (T, K, K)."""
    curvature = -np.einsum("tnk,tnl->tkl", chances, chances)
    diagonal = np.arange(chances.shape[2])
    curvature[:, diagonal, diagonal] += chances.sum(axis=1) + precision[:, None]
    return curvature


def _softmax(logs: Floats) -> Floats:
    values = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(values / values.sum(axis=-1, keepdims=True))
