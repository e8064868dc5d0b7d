"""Made-up data with prior, covariate and concept shift, one on top of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headcount._support.arrays import Bools, Floats, Ints
from headcount._support.execution import RandomState, base_seeds
from headcount._support.parameters import (
    check_count,
    check_not_negative,
    check_positive,
    check_share,
)
from headcount.errors import HeadcountError
from headcount.samples.samples import Samples, check_share_rows


@dataclass(frozen=True, eq=False)
class SyntheticShift:
    """Training set, pool and samples with known shift.

    Attributes
    ----------
    X, y : ndarray of shape (n, d) and (n,)
        Training set.
    X_pool, y_pool : ndarray of shape (S x size, d) and (S x size,)
        Items of all samples, with the labels that hold in their sample.
    samples : Samples
        The samples, as rows of the pool.
    centres : ndarray of shape (K, d)
        Means of the classes in training. Their covariance is the identity.
    tilts : ndarray of shape (S, d)
        Covariate shift of each sample: density ratios are proportional to exp(tilt . x).
    changed : ndarray of bool, shape (S x size,)
        Items of the pool whose label concept shift has changed.
    """

    X: Floats
    y: Ints
    X_pool: Floats
    y_pool: Ints
    samples: Samples
    centres: Floats
    tilts: Floats
    changed: Bools

    def posteriors(self, X: ArrayLike) -> Floats:
        """Probability of each class given the features, as it is in training.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The items.

        Returns
        -------
        ndarray of shape (n, K)
        """
        shares = np.bincount(self.y, minlength=len(self.centres)) / len(self.y)
        squares = ((np.asarray(X)[:, None] - self.centres) ** 2).sum(axis=2)
        density = shares * np.exp(-(squares - squares.min(axis=1, keepdims=True)) / 2)
        return np.asarray(density / density.sum(axis=1, keepdims=True))

    def __repr__(self) -> str:
        return f"SyntheticShift({len(self.y):,} training items, {self.samples!r})"


def make_shift(
    *,
    prior: float = 0.0,
    covariate: float = 0.0,
    concept: float = 0.0,
    n_classes: int = 2,
    n_features: int = 5,
    separation: float = 2.0,
    shares: ArrayLike | None = None,
    n_train: int = 1000,
    n_samples: int = 100,
    size: int = 500,
    random_state: RandomState = None,
) -> SyntheticShift:
    """Make data in which prior, covariate and concept shift are stacked.

    Classes are normal clouds. For each sample, first the shares of the classes change and the
    clouds stay (prior shift). Then items are preferred that lie in a random direction, while
    the probability of the classes at each point stays (covariate shift, which changes the
    shares once more). Last, some items on one side of a random plane change their class
    (concept shift). With a single shift the others are off, so methods can be compared under
    each and under all.

    Parameters
    ----------
    prior : float, default=0.0
        Strength of prior shift, from 0 to 1: shares are those of training times 1 - prior,
        plus uniform random shares times prior.
    covariate : float, default=0.0
        Strength of covariate shift: distance that it moves the clouds, in their standard
        deviations.
    concept : float, default=0.0
        Strength of concept shift, from 0 to 1: probability that an item on one side of the
        plane gets the label of the next class.
    n_classes, n_features : int, default=2 and 5
        Numbers of classes and of features.
    separation : float, default=2.0
        Mean distance of the centres of two classes.
    shares : array-like of shape (K,), default=None
        Shares of the classes in training; equal by default.
    n_train, n_samples, size : int, default=1000, 100 and 500
        Numbers of training items, of samples and of items of a sample.
    random_state : int, RandomState, Generator or None, default=None
        Random seed.

    Examples
    --------
    >>> import headcount as hc
    >>> made = hc.shift.make_shift(prior=1.0, concept=0.1, n_samples=20, random_state=0)
    >>> made.X.shape, made.X_pool.shape, len(made.samples)
    ((1000, 5), (10000, 5), 20)
    >>> q = hc.SLD().fit(made.X, made.y)
    >>> found = hc.evaluate({"SLD": q}, made.X_pool, made.y_pool, made.samples, progress=False)
    >>> bool(found.to_frame()["ae"].mean() > 0.02)
    True
    """
    check_share("prior", prior)
    check_not_negative("covariate", covariate)
    check_share("concept", concept)
    K, d = check_count("n_classes", n_classes, 2), check_count("n_features", n_features)
    S, size = check_count("n_samples", n_samples), check_count("size", size)
    n_train = check_count("n_train", n_train, 2 * K)
    trained = _check_training_shares(shares, K)
    rng = np.random.default_rng(base_seeds(random_state, 1)[0])
    centres = rng.normal(size=(K, d))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= check_positive("separation", separation) / gaps[np.triu_indices(K, 1)].mean()
    y = np.concatenate([np.repeat(np.arange(K), 2), rng.choice(K, n_train - 2 * K, p=trained)])
    X = centres[y] + rng.normal(size=(n_train, d))
    tilts = covariate * _directions(S, d, rng)
    priors = (1 - prior) * trained + prior * rng.dirichlet(np.ones(K), S)
    # A normal cloud that is tilted by exp(tilt . x) is the same cloud, moved by the tilt.
    logs = tilts @ centres.T
    tilted = priors * np.exp(logs - logs.max(axis=1, keepdims=True))
    tilted /= tilted.sum(axis=1, keepdims=True)
    y_pool = np.concatenate(
        [rng.choice(K, size, p=shares_of_sample) for shares_of_sample in tilted]
    )
    number = np.repeat(np.arange(S), size)
    X_pool = centres[y_pool] + tilts[number] + rng.normal(size=(S * size, d))
    planes = _directions(S, d, rng)
    beyond = ((X_pool - centres.mean(axis=0)) * planes[number]).sum(axis=1) > 0
    changed = beyond & (rng.random(S * size) < concept)
    y_pool = np.where(changed, (y_pool + 1) % K, y_pool)
    samples = Samples.from_arrays(np.arange(S * size).reshape(S, size), n_pool=S * size)
    return SyntheticShift(X, y, X_pool, y_pool, samples, centres, tilts, changed)


def _directions(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Random vectors of length 1."""
    vectors = rng.normal(size=(n, d))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _check_training_shares(shares: Any, K: int) -> Floats:
    if shares is None:
        return np.full(K, 1 / K)
    (checked,) = check_share_rows(np.atleast_2d(np.asarray(shares)), name="shares")
    if len(checked) != K:
        raise HeadcountError(
            f"shares has {len(checked)} shares, but n_classes is {K}: pass one share per class."
        )
    return checked
