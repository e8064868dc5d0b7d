"""Posterior distributions of the shares under a likelihood, by Markov chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._kernels.posterior_draws import draw_from_counts, draw_from_ratios
from headcount._threads import each_range
from headcount.errors import HeadcountError
from headcount.sampling import Samples
from headcount.uncertainty.prior import check_prior
from headcount.uncertainty.shares import SharePosterior

Floats = NDArray[np.float64]

# Draws of each sample, and steps of its chain before the first of them.
_N_DRAWS, _WARM_UP = 1000, 200
# Parameter of the flat Dirichlet distribution of the rates of the bins in a class.
_FLAT = 1.0
# Steps between two draws: more if the sample, whose classes are drawn too, is large compared
# with the training set.
_LEAST_THINNING, _MOST_THINNING = 2, 50


def posteriors_from_ratios(
    ratios: Floats, samples: Samples, prior: Floats, seed: int
) -> list[SharePosterior]:
    """Distribution of the realised shares of samples whose items have known likelihoods.

    The shares of the population have a Dirichlet prior. Pairs of them are renewed by slice
    sampling, and the classes of the items are drawn given the shares.

    Parameters
    ----------
    ratios : ndarray of shape (n, K)
        Likelihood of each item of the pool under each class, each row up to a factor.
    samples : Samples
        Rows of the pool.
    prior : ndarray of shape (K,)
        Parameters of the Dirichlet distribution.
    seed : int
        Random seed. Each sample has the same draws alone as among others.

    Returns
    -------
    list of SharePosterior

    Examples
    --------
    >>> import numpy as np
    >>> ratios = np.repeat([[9.0, 1.0], [1.0, 9.0]], [66, 34], axis=0)
    >>> found = posteriors_from_ratios(ratios, Samples.whole(100), np.ones(2), 0)
    >>> found[0].mean.round(1)
    array([0.7, 0.3])
    """
    largest = ratios.max(axis=1, keepdims=True)
    # An item that is impossible under every class is equally likely under each.
    scaled = np.divide(ratios, largest, out=np.ones_like(ratios), where=largest > 0)
    out = np.empty((len(samples), _N_DRAWS, ratios.shape[1]))

    def work(start: int, stop: int) -> None:
        # Here, as other threads do not inherit it: the kernel relies on overflow.
        with np.errstate(over="ignore"):
            draw_from_ratios(
                scaled, samples.indices, samples.offsets, prior, np.uint64(seed), _WARM_UP,
                start, stop, out,
            )  # fmt: skip

    each_range(work, len(samples), grain=1)
    return _equally_likely(out)


def posteriors_from_counts(
    known: Floats, seen: NDArray[np.int64], prior: Floats, seed: int
) -> list[SharePosterior]:
    """Distribution of the realised shares of samples that are counts in bins.

    The rates of the bins in each class are unknown as well: their prior is flat, and they are
    learnt from the training items and from the sample (Gibbs sampling).

    Parameters
    ----------
    known : ndarray of shape (K, B)
        Numbers of training items of each class in each bin.
    seen : ndarray of int64, shape (S, B)
        Numbers of items of each sample in each bin.
    prior : ndarray of shape (K,)
        Parameters of the Dirichlet distribution of the shares of the population.
    seed : int
        Random seed. Each sample has the same draws alone as among others.

    Returns
    -------
    list of SharePosterior

    Examples
    --------
    >>> import numpy as np
    >>> known = np.array([[900.0, 100.0], [100.0, 900.0]])
    >>> found = posteriors_from_counts(known, np.array([[420, 580]]), np.ones(2), 0)
    >>> found[0].mean.round(1)
    array([0.4, 0.6])
    """
    out = np.empty((len(seen), _N_DRAWS, len(known)))
    steps = np.ceil(2 * (1 + seen.sum(axis=1) / known.sum())).astype(np.int64)
    thinning = np.clip(steps, _LEAST_THINNING, _MOST_THINNING)

    def work(start: int, stop: int) -> None:
        with np.errstate(over="ignore"):
            draw_from_counts(
                known, seen, prior, _FLAT, np.uint64(seed), _WARM_UP, thinning, start, stop, out
            )

    each_range(work, len(seen), grain=1)
    return _equally_likely(out)


def check_dirichlet(prior: Any, n_classes: int) -> Floats:
    """Check a user's prior for a posterior: parameters of a Dirichlet distribution.

    Parameters
    ----------
    prior : None, float or array-like of shape (K,)
        None for the uniform distribution.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (K,)

    Examples
    --------
    >>> check_dirichlet(0.5, 3)
    array([0.5, 0.5, 0.5])
    """
    if prior is None:
        return np.ones(n_classes)
    concentration = check_prior(prior, n_classes).concentration
    if concentration is None:
        raise HeadcountError(
            "prior holds draws, but the posterior under a likelihood needs the parameters of a "
            "Dirichlet distribution: pass a positive number or one per class."
        )
    return concentration


def _equally_likely(draws: Floats) -> list[SharePosterior]:
    weights = np.full(draws.shape[1], 1 / draws.shape[1])
    return [SharePosterior(of_sample, weights) for of_sample in draws]
