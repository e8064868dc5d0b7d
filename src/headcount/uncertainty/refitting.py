"""Models fitted on many training sets drawn anew: each by itself, or faster all at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from headcount.data import count_rows
from headcount.errors import HeadcountWarning
from headcount.representation import Training
from headcount.sampling import Samples
from headcount.solve import Solution

__all__ = ["affordable", "has_densities", "refits"]

Floats = NDArray[np.float64]

_RIDGE = 1e-9
# Kernel values, or densities, held at a time: 128 MB.
_BLOCK_NUMBERS = 1 << 24
# Products of kernels and weights that training sets may take, and the fewest sets to draw.
_MOST_PRODUCTS = 8e9
_FEWEST = 50


def affordable(model: Any, training: Training, n_items: int, n: int) -> int:
    """How many of `n` training sets to draw: fewer of large ones where densities are costly."""
    if not has_densities(model):
        return n
    most = int(_MOST_PRODUCTS / (len(training.codes) * n_items))
    return min(n, max(most, _FEWEST))


def has_densities(model: Any) -> bool:
    """Whether the likelihoods of the model are kernel densities."""
    likelihood = getattr(model, "likelihood", None)
    return hasattr(getattr(likelihood, "fitted", None), "bandwidth")


def refits(
    model: Any, training: Training, weights: Floats, items: Any
) -> Iterator[tuple[Any, Any]]:
    """Models fitted with each row of weights, and the items in the form they take them.

    ``items`` None stands for the training items themselves. A kernel density at one of
    these is then that of the others, as no item of a sample is in a training set.
    """
    likelihood: Any = getattr(model, "likelihood", None)
    pool = training.items if items is None else items
    if has_densities(model):
        bandwidth = likelihood.fitted.bandwidth
        solver = model.solver(model.prior)
        step = max(1, _BLOCK_NUMBERS // (count_rows(pool) * training.n_classes))
        for first in range(0, len(weights), step):
            for ratios in _densities(training, weights[first : first + step], items, bandwidth):
                yield _Known(solver), ratios
        return
    scaled = getattr(getattr(likelihood, "calibrator", None), "rule", None)
    if hasattr(scaled, "scaling"):
        for likelihood_ in _recalibrated(likelihood, training, weights):
            yield replace(model, likelihood=likelihood_), pool
        return
    for row in weights:
        with warnings.catch_warnings():
            # What there is to say of the training set was said when it was fitted.
            warnings.simplefilter("ignore", HeadcountWarning)
            yield model.fit(replace(training, weights=row)), pool


@dataclass(frozen=True, eq=False)
class _Known:
    """A mixture whose items come as likelihoods already."""

    solver: Any

    def solve(self, items: Floats, samples: Samples) -> Solution:
        solution: Solution = self.solver.solve(items, samples)
        return solution


def _densities(training: Training, weights: Floats, items: Any, bandwidth: float) -> Floats:
    """Kernel densities of the classes at the items, for each row of weights.

    Densities are linear in the weights: kernels are computed once for all rows.
    """
    centres = np.asarray(training.items, dtype=np.float64)
    points = centres if items is None else np.asarray(items, dtype=np.float64)
    rows = [np.flatnonzero(training.codes == j) for j in range(training.n_classes)]
    shared = [np.ascontiguousarray(weights[:, members].T) for members in rows]
    mass = np.stack([part.sum(axis=0) for part in shared])
    found = np.empty((len(weights), len(points), len(rows)))
    norms = np.einsum("ik,ik->i", centres, centres)
    step = max(1, _BLOCK_NUMBERS // len(centres))
    for first in range(0, len(points), step):
        block = slice(first, first + step)
        here = points[block]
        exponents = 2 * here @ centres.T - norms
        if items is None:
            exponents[np.arange(len(here)), first + np.arange(len(here))] = -np.inf
        # The scale of a row does not matter; so shifted, its largest kernel is 1.
        exponents -= exponents.max(axis=1, keepdims=True)
        exponents *= 0.5 / bandwidth**2
        kernels = np.exp(exponents, out=exponents)
        for j, members in enumerate(rows):
            found[:, block, j] = (kernels[:, members] @ shared[j]).T / mass[j][:, None]
    if items is None:
        own = weights / mass[training.codes].T
        left = np.where(own < 1, 1 - own, 1.0)
        found[:, np.arange(len(points)), training.codes] /= left
    return found


def _recalibrated(likelihood: Any, training: Training, weights: Floats) -> Iterator[Any]:
    """Likelihoods whose scaled logits took one Newton step towards each row of weights.

    From the fit on the whole training set, one step is as good as the optimum but for a
    term of the order of one over the number of items.
    """
    rule, method = likelihood.calibrator.rule, likelihood.calibration
    values = np.log(np.maximum(np.asarray(training.items, np.float64), rule.floor))
    (n, K), one_slope = values.shape, method in ("ts", "bcts")
    slopes = values[:, :, None] if one_slope else values[:, :, None] * np.eye(K)
    biases = np.broadcast_to(np.eye(K), (n, K, K))
    loads = np.concatenate([slopes, biases], axis=2) if method in ("bcts", "vs") else slopes
    said = softmax(values * rule.scaling.slopes + rule.scaling.biases, axis=1)
    residual = said - np.eye(K)[training.codes]
    gradients = np.einsum("ik,ikp->ip", residual, loads)
    mean = np.einsum("ik,ikp->ip", said, loads)
    curvatures = np.einsum("ik,ikp,ikr->ipr", said, loads, loads)
    curvatures -= mean[:, :, None] * mean[:, None, :]
    P = loads.shape[2]
    total = weights.sum(axis=1, keepdims=True)
    slope = weights @ gradients / total
    bend = (weights @ curvatures.reshape(n, P * P) / total).reshape(-1, P, P)
    steps = -np.linalg.solve(bend + _RIDGE * np.eye(P), slope[:, :, None])[:, :, 0]
    S = 1 if one_slope else K
    for step in steps:
        moved = replace(
            rule.scaling,
            slopes=rule.scaling.slopes + step[:S],
            biases=rule.scaling.biases + (step[S:] if P > S else 0.0),
        )
        calibrator = replace(likelihood.calibrator, rule=replace(rule, scaling=moved))
        yield replace(likelihood, calibrator=calibrator)
