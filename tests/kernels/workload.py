"""A small problem for every kernel, solved; run as a script it saves what it got.

The test that compares compiled and uncompiled kernels runs it both ways.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray
from tests.kernels import calls

from headcount._kernels.divergence import HELLINGER, curvatures, slopes, total
from headcount._kernels.matching import match_mixtures, match_two


def run() -> dict[str, NDArray[np.generic]]:
    rng = np.random.default_rng(0)
    arrays = [[0, 3, 3, 1], [2], [4, 5, 0]]
    found: dict[str, tuple[NDArray[np.generic], ...]] = {}
    rows, weights = rng.dirichlet(np.ones(3), 6), rng.random(6)
    found["sum_rows"] = calls.means(rows, arrays), calls.means(rows, arrays, weights)
    codes = rng.integers(0, 4, (6, 2))
    found["count_codes"] = (
        calls.shares_of_codes(codes, 4, arrays),
        calls.shares_of_codes(codes, 4, arrays, weights),
    )
    for K in (2, 3):
        profiles = rng.dirichlet(np.full(5, 0.5), K)
        seen = rng.dirichlet(np.ones(5), 2)
        ratios = rng.dirichlet(np.ones(K), 6) / rng.dirichlet(np.ones(K))
        Q = np.eye(K) * 0.1
        kernel = match_two if K == 2 else match_mixtures
        for name, kind in calls.KINDS.items():
            found[f"{name} {K}"] = calls.match(kernel, kind, profiles, seen, Q=Q)
        found[f"likelihood {K}"] = calls.most_likely(kernel, ratios, arrays)
        found[f"likelihood and belief {K}"] = calls.most_likely(
            kernel, ratios, arrays, before=np.arange(K) / 2, Q=Q, em_steps=0
        )
        found[f"expectation {K}"] = calls.expectation(
            ratios, arrays, np.full(K, 1 / K), by_norm=K == 2, tol=1e-3
        )
        for on_simplex in (True, False):
            found[f"quadratic {K} {on_simplex}"] = calls.quadratics(
                profiles @ profiles.T, seen @ profiles.T, on_simplex=on_simplex
            )
        if K == 2:
            found["absolute"] = calls.absolute(profiles, seen)
    points, centres = rng.random((3, 2)), rng.random((7, 2))
    of_class = np.array([0, 1, 1, 0, 1, 0, 1])
    of_centre = np.where(of_class == 0, 1 / 3, 1 / 4)
    found["kernel_sums"] = calls.sums(points, centres, of_class, of_centre, 2, 50.0)
    found["kernel_values"] = (calls.values_at(points, centres, 50.0),)
    found["distances"] = (
        calls.mean_distances(points[:, 0], centres[:, 0], of_class, of_centre, 2),
    )
    places = np.vstack([centres[1:4], rng.random((2, 2))])  # some of them centres
    to_classes = centres, np.array([0, 3, 7]), np.repeat([1 / 3, 1 / 4], [3, 4])
    found["euclidean"] = (
        calls.euclidean(places, *to_classes),
        calls.sparse_euclidean(places, *to_classes),
    )
    values, columns = np.array([0.5, -1.0, 2.0, 0.5]), np.array([0, 1, 1, 2])
    cuts, edges = np.array([0.0, 0.5, 1.0]), np.array([0, 2, 3, 3])
    of_entries = calls.entry_bins(values, columns, cuts, edges) + np.array([0, 3, 5])[columns]
    zeros = np.array([0, 3, 5])
    given = (np.array([0, 1, 3, 3, 4, 4, 4]), of_entries, zeros[columns], zeros, 6, arrays)
    found["entries"] = (
        of_entries,
        calls.entry_shares(*given),
        calls.entry_shares(*given, weights),
    )
    used, spreads = np.array([0, 1, 3]), np.array([0.5, 0.25, -0.5])
    found["median_sweep"] = (
        calls.sweep(codes[:, 0], arrays, used, np.array([0.1, 0.2, 0.3]), spreads, 5),
    )
    found["iterate"] = calls.iterated(rows[:, 1], arrays, 0.3, tol=1e-6, max_iter=50)
    prior = np.array([0.5, 0.2, 0.3])
    found["labelling"] = (
        calls.labelled_in_turn(rows, arrays, prior, threshold=0.6),
        calls.labelled_in_turn(rows, arrays, prior, share=0.5, soft=True),
    )
    seeds = np.array([7, 2**64 - 5], dtype=np.uint64)
    strata = [np.array([0, 2, 5]), np.array([1, 3, 4])]
    drawn = (seeds, np.array([[3, 2], [1, 4]]), strata, np.array([2, 4]))
    found["resampled"] = calls.resampled(*drawn), calls.resampled(*drawn, weights)
    q, m = np.array([0.2, 0.8, 0.0]), np.array([0.4, 0.5, 0.1])
    first, second = np.empty(3), np.empty(3)
    slopes(HELLINGER, q, m, first)
    curvatures(HELLINGER, q, m, second)
    found["divergence"] = np.array(total(HELLINGER, q, m)), first, second
    scores, of_item = rng.random(9), np.array([0, 0, 1, 0, 1, 1, 1, 0, 1])
    found["areas"] = calls.areas(scores, of_item, rng.random(6), arrays)
    found["quantiles"] = calls.quantiles(scores, of_item, rng.random(6), arrays, 3)
    found["efficient"] = calls.efficient(
        rng.dirichlet(np.ones(3), 9),
        np.array([0, 0, 1, 2, 1, 2, 1, 0, 1]),
        rows,
        arrays,
        rng.dirichlet(np.ones(3), 3),
    )
    belief = np.array([1.0, 0.5, 2.0])
    found["posterior of ratios"] = (calls.posterior_of_ratios(rows, arrays, belief, 4),)
    found["posterior of counts"] = (
        calls.posterior_of_counts(
            rng.integers(1, 9, (3, 4)).astype(float), rng.integers(0, 90, (2, 4)), belief, 4
        ),
    )
    return {
        f"{name} [{i}]": np.asarray(array)
        for name, outputs in found.items()
        for i, array in enumerate(outputs)
    }


if __name__ == "__main__":
    assert not hasattr(match_two, "py_func"), "this run was to be without the compiler"
    np.savez(sys.argv[1], **run())
