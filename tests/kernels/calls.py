"""Kernels as functions that return what they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount._kernels.accumulation import (
    bin_entries,
    count_codes,
    count_entries,
    sum_rows,
    weighted_means,
)
from headcount._kernels.density import kernel_sums, kernel_values
from headcount._kernels.distances import (
    add_distances,
    add_mean_distances,
    add_sparse_distances,
    squared_norms,
)
from headcount._kernels.divergence import HELLINGER, LIKELIHOOD, PROBSYMM, TOPSOE
from headcount._kernels.draws import draw_from_counts, draw_from_ratios, draw_resampled
from headcount._kernels.expectation_maximisation import maximise_by_em
from headcount._kernels.matching import match_two, match_two_absolute
from headcount._kernels.quadratic_programs import minimise_quadratics
from headcount._kernels.score_order import (
    iterate_threshold,
    label_in_turn,
    match_distributions,
    match_quantiles,
    median_sweep,
    quantile_means,
)

KINDS = {"hellinger": HELLINGER, "topsoe": TOPSOE, "probsymm": PROBSYMM}

Array = NDArray[np.float64]
_NO_WEIGHTS = np.empty(0)


class Match(NamedTuple):
    shares: Array
    steps: NDArray[np.int32]
    gaps: Array
    values: Array


def plain(kernel: Callable) -> Callable:
    """The kernel as it was written, whether it has been compiled or not."""
    return getattr(kernel, "py_func", kernel)


def layout(arrays: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Samples as the library passes them to kernels: index arrays that are read-only."""
    offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
    indices = np.concatenate(arrays).astype(np.int32)
    for array in (indices, offsets):
        array.setflags(write=False)
    return indices, offsets


def means(values, arrays, weights=None, kernel=sum_rows):
    indices, offsets = layout(arrays)
    out = np.full((len(arrays), values.shape[1]), np.nan)
    weights = np.empty(0) if weights is None else weights
    kernel(values, weights, indices, offsets, 0, len(arrays), out)
    return out


def shares_of_codes(codes, n_codes, arrays, weights=None, kernel=count_codes):
    indices, offsets = layout(arrays)
    out = np.full((len(arrays), n_codes), np.nan)
    weights = np.empty(0) if weights is None else weights
    kernel(codes.astype(np.int32), weights, indices, offsets, 0, len(arrays), out)
    return out


def quadratics(H, linear, *, on_simplex, kernel=minimise_quadratics):
    """Minimisers for each row of `linear`, the rounds taken and the values."""
    S, K = linear.shape
    out, rounds, values = np.full((S, K), np.nan), np.empty(S, np.int32), np.empty(S)
    base = np.zeros(K)
    kernel(H, base, np.eye(K), linear, on_simplex, 0, S, out, rounds, values)
    return out, rounds, values


def match(kernel, kind, profiles, seen, *, Q=None, em_steps=0, tol=1e-10, max_iter=100):
    """Histogram matching by `match_two` or `match_mixtures`."""
    none = np.empty(0, np.int32), np.empty(0, np.int64)
    K = len(profiles)
    return _match(
        kernel, kind, profiles, seen, *none, _NO_WEIGHTS, K, Q, em_steps, tol, max_iter
    )


def most_likely(
    kernel,
    ratios,
    arrays,
    *,
    weights=_NO_WEIGHTS,
    before=None,
    Q=None,
    em_steps=5,
    tol=1e-10,
    max_iter=100,
):
    """Likelihoods by `match_two` or `match_mixtures`; `before` counts items of each class."""
    K = ratios.shape[1]
    seen = np.empty((0, 0)) if before is None else np.array([before], dtype=float)
    rule = (em_steps, tol, max_iter)
    return _match(kernel, LIKELIHOOD, ratios, seen, *layout(arrays), weights, K, Q, *rule)


def _match(
    kernel, kind, profiles, seen, indices, offsets, weights, K, Q, em_steps, tol, max_iter
):
    S = len(seen) if kind != LIKELIHOOD else len(offsets) - 1
    out = Match(np.full((S, K), np.nan), np.empty(S, np.int32), np.empty(S), np.empty(S))
    Q = np.zeros((K, K)) if Q is None else Q
    early = () if kernel in (match_two, plain(match_two)) else (em_steps,)
    problem = (kind, profiles, seen, indices, offsets, weights, Q)
    kernel(*problem, *early, tol, max_iter, 0, S, *out)
    return out


def absolute(profiles, seen, kernel=match_two_absolute):
    out, values = np.full((len(seen), 2), np.nan), np.empty(len(seen))
    kernel(profiles, seen, 0, len(seen), out, values)
    return out, values


def expectation(
    ratios,
    arrays,
    origin,
    *,
    by_norm,
    tol,
    min_iter=1,
    max_iter=1000,
    partial=False,
    weights=_NO_WEIGHTS,
    kernel=maximise_by_em,
):
    S, K = len(arrays), ratios.shape[1]
    indices, offsets = layout(arrays)
    out = Match(np.full((S, K), np.nan), np.empty(S, np.int32), np.empty(S), np.empty(S))
    rule = (by_norm, np.full(S, tol), min_iter, max_iter, partial)
    kernel(ratios, indices, offsets, weights, origin, *rule, 0, S, *out)
    return out


def padded(centres, scale):
    """Centres with columns of zeros up to a multiple of four, and their scaled norms."""
    wide = np.pad(centres, ((0, 0), (0, -centres.shape[1] % 4)))
    return np.ascontiguousarray(wide), scale * (centres**2).sum(axis=1)


def sums(points, centres, codes, weights, n_classes, scale, kernel=kernel_sums):
    """Kernel sums and shifts, centres given in any order."""
    order = np.argsort(codes, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    out, shifts = np.full((len(points), n_classes), np.nan), np.empty(len(points))
    given = (*padded(centres[order], scale), weights[order], edges, scale)
    kernel(points, *given, 0, len(points), out, shifts)
    return out, shifts


def values_at(points, centres, scale, kernel=kernel_values):
    out = np.full((len(points), len(centres)), np.nan)
    kernel(points, *padded(centres, scale), scale, 0, len(points), out)
    return out


def mean_distances(points, centres, codes, weights, n_classes, kernel=add_mean_distances):
    """Mean distances along one line; the weights of a class sum to 1."""
    out = np.zeros((len(points), n_classes))
    order = np.argsort(centres, kind="stable")
    sweep = np.argsort(points, kind="stable")
    kernel(points, sweep, centres[order], codes[order], weights[order], out)
    return out


def sweep(codes, arrays, used, false_rates, spreads, n_codes, kernel=median_sweep):
    indices, offsets = layout(arrays)
    out = np.full(len(arrays), np.nan)
    rates = (used, false_rates, spreads)
    kernel(codes, indices, offsets, *rates, n_codes, 0, len(arrays), out)
    return out


def iterated(scores, arrays, prior, *, tol, max_iter, kernel=iterate_threshold):
    indices, offsets = layout(arrays)
    S = len(arrays)
    out, steps, changes = np.full(S, np.nan), np.empty(S, np.int32), np.empty(S)
    kernel(scores, indices, offsets, prior, tol, max_iter, 0, S, out, steps, changes)
    return out, steps, changes


def labelled_in_turn(
    posteriors,
    arrays,
    prior,
    *,
    threshold=np.inf,
    share=0.0,
    soft=False,
    kernel=label_in_turn,
):
    indices, offsets = layout(arrays)
    confidence = posteriors.max(axis=1)
    order = np.argsort(-confidence, kind="stable")
    ranks = np.unique(-confidence[order], return_inverse=True)[1]
    n_sure = int(np.sum(confidence >= threshold))
    out = np.full((len(arrays), len(prior)), np.nan)
    given = (posteriors[order], ranks, np.argsort(order), indices, offsets, prior)
    kernel(*given, n_sure, share, soft, 0, len(arrays), out)
    return out


def resampled(
    seeds, counts, strata, n_resampled, weights=None, foreign=0.8, kernel=draw_resampled
):
    """Samples of one size, of strata that are first resampled."""
    items = np.concatenate(strata)
    mass = np.empty(0)
    if weights is not None:
        mass = np.concatenate([[0.0], np.cumsum(weights[items])])
    edges = np.cumsum([0, *map(len, strata)])
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    drawn = np.full(offsets[-1], -1)
    given = (seeds, counts, items, edges, n_resampled, foreign, mass, offsets)
    with np.errstate(over="ignore"):
        kernel(0, len(counts), *given, drawn)
    return drawn.reshape(len(counts), -1)


def euclidean(points, centres, edges, weights, kernel=add_distances):
    """Mean distances to the centres of each class, given class by class."""
    n, width = centres.shape
    out = np.zeros((len(points), len(edges) - 1))
    filled = np.pad(centres, ((0, n % 2), (0, -width % 4)))
    kernel(points, filled, np.pad(weights, (0, n % 2)), edges, 0, len(points), out)
    return out


def sparse_euclidean(points, centres, edges, weights, kernel=add_sparse_distances):
    points, centres = sparse.csr_array(points), sparse.csr_array(centres)
    norms = [
        squared_norms(table.indptr.astype(np.int64), table.data) for table in (points, centres)
    ]
    entries = [
        part
        for table in (points, centres, sparse.csc_array(centres))
        for part in (table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)
    ]
    out = np.zeros((points.shape[0], len(edges) - 1))
    kernel(*entries, *norms, weights, edges, 0, len(out), out)
    return out


def entry_bins(values, columns, cuts, edges, kernel=bin_entries):
    out = np.empty(len(values), np.int32)
    kernel(values, columns.astype(np.int32), cuts, edges, out)
    return out


def entry_shares(
    rows, codes, homes, zeros, n_codes, arrays, weights=None, kernel=count_entries
):
    indices, offsets = layout(arrays)
    out = np.full((len(arrays), n_codes), np.nan)
    weights = np.empty(0) if weights is None else weights
    codes, homes, zeros = (part.astype(np.int32) for part in (codes, homes, zeros))
    kernel(rows, codes, homes, zeros, weights, indices, offsets, 0, len(arrays), out)
    return out


def ordered_scores(scores, codes):
    """Scores of two classes in order, and their masses in each class."""
    order = np.argsort(scores)
    own = codes[order, None] == np.arange(2)
    return scores[order], own / own.sum(axis=0)


def areas(scores, codes, pool, arrays, kernel=match_distributions):
    indices, offsets = layout(arrays)
    out, values = np.empty(len(arrays)), np.empty(len(arrays))
    kernel(*ordered_scores(scores, codes), pool, indices, offsets, 0, len(arrays), out, values)
    return out, values


def quantiles(scores, codes, pool, arrays, n_groups, kernel=match_quantiles):
    indices, offsets = layout(arrays)
    centres, masses = ordered_scores(scores, codes)
    grid = np.empty((11, n_groups))
    for share, row in zip(np.linspace(0, 1, 11), grid, strict=True):
        quantile_means(centres, masses, share, row)
    out, values = np.empty(len(arrays)), np.empty(len(arrays))
    steps = np.empty(len(arrays), np.int32)
    kernel(
        centres, masses, grid, 1e-6, pool, indices, offsets, 0, len(arrays), out, steps, values
    )
    return out, steps, values


def efficient(train, codes, pool, arrays, weights, kernel=weighted_means):
    indices, offsets = layout(arrays)
    sizes = np.bincount(codes)
    S, K = len(arrays), len(sizes)
    profiles, seen = np.empty((S, K, K)), np.empty((S, K))
    kernel(
        train, codes, 1 / sizes[codes], pool, indices, offsets, weights,
        np.diff(offsets) / len(train), 0, S, profiles, seen,
    )  # fmt: skip
    return profiles, seen


def posterior_of_ratios(ratios, arrays, prior, n_draws, kernel=draw_from_ratios):
    indices, offsets = layout(arrays)
    out = np.empty((len(arrays), n_draws, ratios.shape[1]))
    with np.errstate(over="ignore"):
        powers = 1 / (1.0 + np.arange(len(arrays)))
        kernel(ratios, indices, offsets, powers, prior, np.uint64(5), 3, 0, len(arrays), out)
    return out


def posterior_of_counts(known, seen, prior, n_draws, kernel=draw_from_counts):
    out = np.empty((len(seen), n_draws, len(known)))
    thinning = np.full(len(seen), 2)
    with np.errstate(over="ignore"):
        kernel(known, seen, prior, 1.0, np.uint64(5), 3, thinning, 0, len(seen), out)
    return out
