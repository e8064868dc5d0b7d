"""Quantifiers written as their formulas: one sample at a time, plain and slow.

Each takes training scores (n, K), training codes (n,) and the scores of one sample, and
returns K shares. Minimisers are found by looking, not by the solvers of the library.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar

# Minimisers


def least_on_segment(cost, left=0.0, right=1.0):
    """The minimiser of a convex function: a grid, then a bracket around its best point."""
    if right - left < 1e-12:
        return left
    grid = np.linspace(left, right, 41)
    best = int(np.argmin([cost(a) for a in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    inner = minimize_scalar(
        cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    candidates = [left, right, grid[best], inner.x]
    return float(min(candidates, key=cost))


def least_on_simplex(cost, K):
    """The minimiser of a convex function of K = 2 or 3 shares, one share inside another."""
    if K == 2:
        a = least_on_segment(lambda a: cost(np.array([1 - a, a])))
        return np.array([1 - a, a])

    def second(first):
        return least_on_segment(
            lambda a: cost(np.array([first, a, 1 - first - a])), 0.0, 1 - first
        )

    def best_with(first):
        a = second(first)
        return cost(np.array([first, a, 1 - first - a]))

    first = least_on_segment(best_with)
    a = second(first)
    return np.array([first, a, 1 - first - a])


def quadratic_on_simplex(H, c):
    """The minimiser of p'Hp - 2c'p: every face of the simplex in turn, the best kept."""
    K = len(c)
    best, least = None, np.inf
    for size in range(1, K + 1):
        for face in map(list, combinations(range(K), size)):
            # Stationary on the plane of the face: 2Hp - 2c + m = 0, sum p = 1.
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = 2 * H[np.ix_(face, face)]
            system[size, size] = 0
            found = np.linalg.lstsq(system, np.append(2 * c[face], 1), rcond=None)[0][:size]
            p = np.zeros(K)
            p[face] = found
            value = p @ H @ p - 2 * c @ p
            if (found >= -1e-12).all() and value < least - 1e-15:
                best, least = p, value
    return best


def least_squares(profiles, seen):
    return quadratic_on_simplex(profiles @ profiles.T, profiles @ seen)


# Pieces


def priors(codes, K):
    return np.array([np.mean(codes == j) for j in range(K)])


def class_means(vectors, codes, K):
    return np.array([vectors[codes == j].mean(axis=0) for j in range(K)])


def one_hot_predictions(scores):
    return np.eye(scores.shape[1])[scores.argmax(axis=1)]


def adjusted(count, false_rate, true_rate):
    if true_rate == false_rate:
        return count
    return float(np.clip((count - false_rate) / (true_rate - false_rate), 0, 1))


def two(positive):
    return np.array([1 - positive, positive])


def histogram(values, bins):
    counts = np.zeros(bins)
    for value in values:
        counts[min(int(value * bins), bins - 1)] += 1
    return counts / len(values)


def balanced_score(score, codes):
    """Posterior of the second class if both had been equally common in training."""
    prior = np.mean(codes)
    odds = score / (1 - score) * (1 - prior) / prior if score < 1 else np.inf
    return 1.0 if odds == np.inf else odds / (1 + odds)


def squared_hellinger(q, m):
    return 1 - np.sum(np.sqrt(q * m))


def topsoe(q, m):
    def from_middle(a, b):
        there = a > 0
        return np.sum(a[there] * np.log(2 * a[there] / (a + b)[there]))

    return from_middle(q, m) + from_middle(m, q)


def probsymm(q, m):
    there = q + m > 0
    return np.sum(2 * (q - m)[there] ** 2 / (q + m)[there])


DIVERGENCES = {
    "hellinger": squared_hellinger,
    "topsoe": topsoe,
    "probsymm": probsymm,
    "l1": lambda q, m: np.abs(q - m).sum(),
    "l2": lambda q, m: ((q - m) ** 2).sum(),
}


# Counting and adjusting


def cc(train, codes, sample):
    return one_hot_predictions(sample).mean(axis=0)


def pcc(train, codes, sample):
    return sample.mean(axis=0)


def _adjusted_means(vectors, codes, seen):
    K = vectors.shape[1]
    means = class_means(vectors, codes, K)
    if K == 2:
        return two(adjusted(seen[1], means[0, 1], means[1, 1]))
    return least_squares(means, seen)


def acc(train, codes, sample):
    return _adjusted_means(one_hot_predictions(train), codes, cc(train, codes, sample))


def pacc(train, codes, sample):
    return _adjusted_means(train, codes, pcc(train, codes, sample))


def smm(train, codes, sample):
    low, high = train[codes == 0, 1].mean(), train[codes == 1, 1].mean()
    seen = sample[:, 1].mean()
    return two(least_on_segment(lambda a: abs(seen - (1 - a) * low - a * high)))


def gac(train, codes, sample):
    K = train.shape[1]
    means = class_means(one_hot_predictions(train), codes, K)
    return least_squares(means, cc(train, codes, sample))


def gpac(train, codes, sample):
    K = train.shape[1]
    return least_squares(class_means(train, codes, K), pcc(train, codes, sample))


def debias(train, codes, sample):
    """Friedman's formula for two classes."""
    prior, scores = np.mean(codes == 1), train[:, 1]
    spread = np.mean((scores - prior) ** 2) / (prior * (1 - prior))
    return two(np.clip(prior + (sample[:, 1].mean() - prior) / spread, 0, 1))


def elsa(train, codes, sample, steps=1):
    """The efficient function by repeated substitution, and shares that match its means."""
    K, prior = train.shape[1], priors(codes, train.shape[1])
    r = len(sample) / len(train)
    shares = gpac(train, codes, sample)
    for _ in range(steps):
        likely = (len(sample) * shares + 1) / (len(sample) + K)
        w = likely / prior

        def under(scores, w=w):
            weighted = scores * w
            return weighted / weighted.sum(axis=1, keepdims=True)

        means = np.zeros((K, K))  # of the function in each class, one column per share

        def function(scores, means=means, w=w, likely=likely, under=under):
            p = under(scores)
            score = p / likely - 1
            return (score + r * p @ (w[:, None] * means)) / (1 + r * p @ w)[:, None]

        for _ in range(500):
            means[:] = class_means(function(train), codes, K)
        # Shares that sum to 1 and match all means, then the nearest on the simplex.
        system = np.vstack([means.T, np.ones(K)])
        wanted = np.append(function(sample).mean(axis=0), 1.0)
        found = np.linalg.lstsq(system, wanted, rcond=None)[0]
        shares = quadratic_on_simplex(np.eye(K), found)
    return shares


def run(train, codes, sample):
    """The likelihood of the counts of predicted classes, without a penalty."""
    rates = class_means(one_hot_predictions(train), codes, train.shape[1])
    counts = one_hot_predictions(sample).mean(axis=0)

    def cost(p):
        return -sum(
            c * np.log(max(m, 1e-300)) for c, m in zip(counts, p @ rates, strict=True) if c
        )

    return least_on_simplex(cost, train.shape[1])


def fm(train, codes, sample):
    K = train.shape[1]
    prior = priors(codes, K)
    above = (train > prior).astype(float)
    return least_squares(class_means(above, codes, K), (sample > prior).mean(axis=0))


# Thresholds


def rates(train, codes, decimals=None, place="scores"):
    """(threshold, true positive rate, false positive rate), thresholds rising."""
    scores = train[:, 1]
    thresholds = sorted(set(scores if decimals is None else scores.round(decimals)))
    if place == "between":
        lower = [thresholds[0], *thresholds[:-1]]
        thresholds = [(a + b) / 2 for a, b in zip(lower, thresholds, strict=True)]
    if place == "even":
        thresholds = [k / 10**decimals for k in range(10**decimals + 1)]
    return [
        (t, np.mean(scores[codes == 1] >= t), np.mean(scores[codes == 0] >= t))
        for t in thresholds
    ]


def _at_threshold(train, codes, sample, cost, decimals, midpoints=False):
    best = None
    place = "between" if midpoints else "scores"
    for t, true_rate, false_rate in rates(train, codes, decimals, place):
        price = cost(true_rate, false_rate)
        if best is None or price < best[0] - 1e-12:
            best = (price, t, true_rate, false_rate)
    _, t, true_rate, false_rate = best
    return two(adjusted(np.mean(sample[:, 1] >= t), false_rate, true_rate))


def t50(train, codes, sample, decimals=2):
    return _at_threshold(train, codes, sample, lambda t, f: abs(t - 0.5), decimals)


def tmax(train, codes, sample, decimals=None, midpoints=True):
    return _at_threshold(train, codes, sample, lambda t, f: f - t, decimals, midpoints)


def tx(train, codes, sample, decimals=None):
    return _at_threshold(train, codes, sample, lambda t, f: abs(t - (1 - f)), decimals)


def _sweep(train, codes, sample, allowed, decimals, place="scores"):
    ratios = [
        (np.mean(sample[:, 1] >= t) - false_rate) / (true_rate - false_rate)
        for t, true_rate, false_rate in rates(train, codes, decimals, place)
        if allowed(true_rate - false_rate)
    ]
    return two(float(np.clip(np.median(ratios), 0, 1)))


def ms(train, codes, sample, decimals=2):
    return _sweep(train, codes, sample, lambda spread: abs(spread) > 1e-9, decimals)


def ms2(train, codes, sample, decimals=2, thresholds="even"):
    return _sweep(train, codes, sample, lambda spread: spread > 0.25, decimals, thresholds)


# Matching distributions


def dys_cost(train, codes, sample, bins=12, divergence="topsoe", balanced=True):
    train, sample = train[:, 1], sample[:, 1]
    if balanced:
        train = np.array([balanced_score(score, codes) for score in train])
        sample = np.array([balanced_score(score, codes) for score in sample])
    classes = np.array([histogram(train[codes == j], bins) for j in (0, 1)])
    seen = histogram(sample, bins)
    return lambda p: DIVERGENCES[divergence](seen, p @ classes)


def dys(train, codes, sample, bins=12, divergence="topsoe", balanced=True):
    return least_on_simplex(dys_cost(train, codes, sample, bins, divergence, balanced), 2)


def hdy(train, codes, sample, bins=(12,), balanced=True):
    each = [dys(train, codes, sample, count, "hellinger", balanced)[1] for count in bins]
    return two(float(np.median(each)))


def dm_cost(train, codes, sample, bins=8, divergence="hellinger"):
    """Divergence summed over the histograms of the posteriors of all classes."""
    K = train.shape[1]
    classes = [
        np.array([histogram(train[codes == j, column], bins) for j in range(K)])
        for column in range(K)
    ]
    seen = [histogram(sample[:, column], bins) for column in range(K)]
    compare = DIVERGENCES[divergence]
    return lambda p: sum(compare(q, p @ m) for q, m in zip(seen, classes, strict=True))


def dm(train, codes, sample, bins=8, divergence="hellinger"):
    cost = dm_cost(train, codes, sample, bins, divergence)
    return least_on_simplex(cost, train.shape[1])


def fmm(train, codes, sample, levels=100):
    classes = np.array([histogram(train[codes == j, 1], levels).cumsum() for j in (0, 1)])
    seen = histogram(sample[:, 1], levels).cumsum()
    return least_on_simplex(lambda p: np.abs(seen - p @ classes).sum(), 2)


# Likelihood


def em(ratios, start, stop, max_iter):
    p = start
    for step in range(1, max_iter + 1):
        joint = ratios * p
        after = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        change, p = after - p, after
        if stop(step, change):
            break
    return p


def likeliest(ratios):
    def cost(p):
        return -np.log(np.maximum(ratios @ p, 1e-300)).mean()

    return least_on_simplex(cost, ratios.shape[1])


def sld(train, codes, sample):
    return likeliest(sample / priors(codes, train.shape[1]))


def em_classic(ratios, prior, tol, partial=False):
    def stop(step, move):
        moves.append(move)
        return step >= 12 and np.abs(move).mean() < tol

    moves = []
    shares = em(ratios, prior, stop, 1000)
    if not partial or len(moves) == 12:
        return shares
    before, last = (np.log(np.abs(move).mean()) for move in moves[-2:])
    return shares - (np.log(tol) - last) / (before - last) * moves[-1]


def noise_tolerance(noise, codes, sample):
    return max(1e-4, noise / len(sample) + noise / len(codes))


def sld_classic(train, codes, sample, tol=1e-4):
    prior = priors(codes, train.shape[1])
    return em_classic(sample / prior, prior, tol)


def sld_noise(train, codes, sample, noise=0.4):
    prior = priors(codes, train.shape[1])
    tol = noise_tolerance(noise, codes, sample)
    return em_classic(sample / prior, prior, tol, partial=True)


def sld_norm(train, codes, sample):
    prior = priors(codes, train.shape[1])
    return em(sample / prior, prior, lambda _, move: np.sqrt((move**2).sum()) < 1e-6, 1000)


# Order of the scores


def sord_cost(train, codes, sample):
    """Area between the distribution functions of the sample and of the mixture."""
    at = np.sort(np.concatenate([train[:, 1], sample[:, 1]]))

    def upto(scores):
        return np.array([np.mean(scores <= place) for place in at])

    low, high, seen = (
        upto(s) for s in (train[codes == 0, 1], train[codes == 1, 1], sample[:, 1])
    )
    return lambda a: np.sum(np.diff(at) * np.abs(seen - (1 - a) * low - a * high)[:-1])


def sord(train, codes, sample):
    return two(least_on_segment(sord_cost(train, codes, sample)))


def group_means(scores, weights, n_groups):
    """Mean score of each of some groups of equal mass, of scores in order."""
    order = np.argsort(scores)
    ends = np.cumsum(weights[order])
    starts = ends - weights[order]
    means = []
    for g in range(n_groups):
        left, right = g / n_groups, (g + 1) / n_groups
        inside = np.clip(np.minimum(ends, right) - np.maximum(starts, left), 0, None)
        means.append(n_groups * (inside @ scores[order]))
    return np.array(means)


def quanty(train, codes, sample, n_quantiles=8):
    sizes = np.bincount(codes)
    seen = group_means(sample[:, 1], np.full(len(sample), 1 / len(sample)), n_quantiles)

    def cost(a):
        weights = np.where(codes == 1, a / sizes[1], (1 - a) / sizes[0])
        return np.sum((group_means(train[:, 1], weights, n_quantiles) - seen) ** 2)

    return two(least_on_segment(cost))


def ordinal_pdf_cost(train, codes, sample, bins=8, distance="emd"):
    K = train.shape[1]
    place = np.arange(K) / (K - 1)

    def shares(scores):
        found = histogram(scores @ place, bins * (K - 1))
        return np.cumsum(found) if distance == "emd" else found

    classes = np.array([shares(train[codes == j]) for j in range(K)])
    seen = shares(sample)
    measure = {
        "emd": lambda q, m: np.abs(q - m).sum(),
        "l2": lambda q, m: ((q - m) ** 2).sum(),
        "hellinger": squared_hellinger,
    }[distance]
    return lambda p: measure(seen, p @ classes)


def frank_hall(method, train, codes, sample):
    """Cumulative shares from K - 1 problems of two classes."""
    upto = []
    for j in range(train.shape[1] - 1):
        sides = [
            np.column_stack([scores[:, : j + 1].sum(axis=1), scores[:, j + 1 :].sum(axis=1)])
            for scores in (train, sample)
        ]
        upto.append(method(sides[0], (codes > j).astype(int), sides[1])[0])
    upto = [(max(upto[: j + 1]) + min(upto[j:])) / 2 for j in range(len(upto))]
    return np.diff([0.0, *upto, 1.0])


# Kernels


def clr(scores, shrinkage=0.0):
    """Centred log-ratios of scores moved towards equal ones."""
    K = scores.shape[1]
    moved = (1 - shrinkage) * scores + shrinkage / K + 1e-12
    return np.log(moved) - np.log(moved).mean(axis=1, keepdims=True)


def kernel(a, b, bandwidth):
    """Gaussian kernel between all rows of a and all of b, without its constant."""
    squares = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * bandwidth**2))


def class_kernels(points, train, codes, bandwidth):
    K = train.shape[1]
    return np.column_stack(
        [kernel(points, train[codes == j], bandwidth).mean(axis=1) for j in range(K)]
    )


def kdeyml(train, codes, sample, bandwidth=0.1):
    return likeliest(class_kernels(sample, train, codes, bandwidth))


def kdeyml_noise(train, codes, sample, bandwidth=0.1):
    ratios = class_kernels(sample, train, codes, bandwidth)
    prior = priors(codes, train.shape[1])
    return em_classic(ratios, prior, noise_tolerance(1.0, codes, sample), partial=True)


def kdeyhd(train, codes, sample, bandwidth=0.1, along=None):
    """The integral as a sum over a fine grid on the plane (the line) of posteriors."""
    K = train.shape[1]
    if K == 2:
        along = np.linspace(-1, 2, 1501) if along is None else along
        points = np.column_stack([train[0].sum() - along, along])
    else:
        first, second = np.meshgrid(np.linspace(-0.6, 1.6, 111), np.linspace(-0.6, 1.6, 111))
        points = np.column_stack([first.ravel(), second.ravel(), 1 - (first + second).ravel()])
    classes = class_kernels(points, train, codes, bandwidth).T
    seen = kernel(points, sample, bandwidth).mean(axis=1)
    constant = seen.sum()
    return least_on_simplex(lambda p: -np.sqrt(seen * (p @ classes)).sum() / constant, K)


def _between(train, codes, sample, bandwidth):
    """Mean kernel between classes, and between the sample and each class."""
    K = train.shape[1]
    to_class = class_kernels(train, train, codes, bandwidth)
    to_sample = class_kernels(sample, train, codes, bandwidth)
    return class_means(to_class, codes, K), to_sample.mean(axis=0)


def kdeycs(train, codes, sample, bandwidth=0.1):
    # Two kernels of this bandwidth, multiplied and integrated, are one of sqrt 2 times it.
    B, a = _between(train, codes, sample, np.sqrt(2) * bandwidth)
    return least_on_simplex(lambda p: -np.log(a @ p) + np.log(p @ B @ p) / 2, len(a))


def kmm(train, codes, sample, bandwidth=0.2):
    B, a = _between(train, codes, sample, bandwidth)
    return quadratic_on_simplex(B, a)


# Distances


def mean_distance(a, b):
    return np.mean([np.abs(x - y).sum() for x in a for y in b])


def _least_energy(train, codes, sample):
    """Over all classes but the last: min p'Bp - 2 p't, for the energy distance."""
    K = train.shape[1]
    A = np.array(
        [
            [mean_distance(train[codes == i], train[codes == j]) for j in range(K)]
            for i in range(K)
        ]
    )
    s = np.array([mean_distance(sample, train[codes == j]) for j in range(K)])
    if K == 2:
        B = -A[0, 0] + 2 * A[0, 1] - A[1, 1]
        t = -s[0] + A[0, 1] + s[1] - A[1, 1]
        return two(1 - float(np.clip(t / B, 0, 1)))
    return least_on_simplex(lambda p: 2 * s @ p - p @ A @ p, K)


def edy(train, codes, sample):
    return _least_energy(train, codes, sample)


def cvmy(train, codes, sample):
    def ranks(values):
        columns = []
        for column, reference in zip(values.T, train.T, strict=True):
            below = [np.mean(reference < value) for value in column]
            tied = [np.mean(reference == value) for value in column]
            columns.append(np.array(below) + np.array(tied) / 2)
        return np.column_stack(columns)

    return _least_energy(ranks(train), codes, ranks(sample))


# Iterating


def cde(train, codes, sample, tol=1e-6, max_iter=1000):
    prior = np.mean(codes == 1)
    threshold = 0.5
    for _ in range(max_iter):
        share = np.mean(sample[:, 1] > threshold)
        c0, c1 = (1 - share) / (1 - prior), share / prior
        threshold, before = c0 / (c0 + c1), threshold
        if abs(threshold - before) <= tol:
            break
    return two(share)


def one_vs_rest(method, train, codes, sample):
    def against(scores, j):
        return np.column_stack([1 - scores[:, j], scores[:, j]])

    shares = np.array(
        [
            method(against(train, j), (codes == j).astype(int), against(sample, j))[1]
            for j in range(train.shape[1])
        ]
    )
    if shares.sum() == 0:
        return np.full(len(shares), 1 / len(shares))
    return shares / shares.sum()


def one_vs_one(method, train, codes, sample):
    """Ratios of the pairs, coupled by the second method of Wu, Lin & Weng."""
    K = train.shape[1]
    ratio = np.zeros((K, K))
    for i in range(K):
        for j in range(i + 1, K):
            ours = np.isin(codes, (i, j))
            sides = [scores[:, [i, j]] / scores[:, [i, j]].sum(axis=1)[:, None]
                     for scores in (train[ours], sample)]  # fmt: skip
            shares = method(sides[0], (codes[ours] == j).astype(int), sides[1])
            ratio[i, j], ratio[j, i] = shares

    def cost(p):
        return sum(
            (ratio[j, i] * p[i] - ratio[i, j] * p[j]) ** 2 for i in range(K) for j in range(i)
        )

    return least_on_simplex(cost, K)


def quadapt(train, codes, sample, overlaps):
    """DyS on the synthetic scores whose best mixture is nearest, both classes being equal."""
    sample = np.column_stack([1 - sample[:, 1], sample[:, 1]])
    sample[:, 1] = [balanced_score(score, codes) for score in sample[:, 1]]
    best = np.inf
    for overlap in overlaps:
        positive = ((np.arange(1004) + 0.5) / 1004) ** overlap
        scores = np.concatenate([positive, 1 - positive])
        cost = dys_cost(
            np.column_stack([1 - scores, scores]), np.repeat([1, 0], 1004), sample,
            balanced=False,
        )  # fmt: skip
        shares = least_on_simplex(cost, 2)
        if cost(shares) < best:
            best, nearest = cost(shares), shares
    return nearest
