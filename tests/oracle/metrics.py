"""The errors of one estimate, term by term as they are defined, in plain Python."""

from __future__ import annotations

from math import exp, floor, log, sqrt


def smooth(p, eps):
    return [(share + eps) / (1 + len(p) * eps) for share in p]


def ae(p, q):
    return tae(p, q) / len(p)


def tae(p, q):
    return sum(abs(a - b) for a, b in zip(p, q, strict=True))


def nae(p, q):
    return tae(p, q) / (2 * (1 - min(p)))


def rae(p, q):
    return sum(abs(a - b) / a for a, b in zip(p, q, strict=True)) / len(p)


def nrae(p, q):
    # The worst estimate puts everything on the rarest class.
    rarest = list(p).index(min(p))
    worst = [1.0 if i == rarest else 0.0 for i in range(len(p))]
    return rae(p, q) / rae(p, worst)


def se(p, q):
    return sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) / len(p)


def kld(p, q):
    return sum(a * log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def nkld(p, q):
    power = exp(kld(p, q))
    return 2 * power / (1 + power) - 1


def nmd(p, q):
    moved = [abs(sum(q[: j + 1]) - sum(p[: j + 1])) for j in range(len(p) - 1)]
    return sum(moved) / (len(p) - 1)


def macro_nmd(P, Q, last_bin_closed=False):
    K = len(P[0])
    bins = {low: [] for low in range(1, K)}
    for p, q in zip(P, Q, strict=True):
        mean_label = round(sum((j + 1) * share for j, share in enumerate(p)), 9)
        low = floor(mean_label)
        if low == K and last_bin_closed:
            low = K - 1
        if low < K:
            bins[low].append(nmd(p, q))
    return sum(sum(each) / len(each) for each in bins.values() if each) / (K - 1)


def rnod(p, q):
    K = len(p)
    occurring = [i for i in range(K) if p[i] > 0]
    weighted = [sum(abs(i - j) * (p[j] - q[j]) ** 2 for j in range(K)) for i in occurring]
    return sqrt(sum(weighted) / (len(occurring) * (K - 1)))


def jaggedness(p):
    return sum((-p[i - 1] + 2 * p[i] - p[i + 1]) ** 2 for i in range(1, len(p) - 1)) / 2


def md(p, q):
    return (len(p) - 1) * nmd(p, q)


def cvm(p, q):
    return sum((sum(q[: j + 1]) - sum(p[: j + 1])) ** 2 for j in range(len(p) - 1)) / (
        len(p) - 1
    )


def hellinger(p, q):
    return sqrt(sum((sqrt(a) - sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)) / 2)


def topsoe(p, q):
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return kld(p, middle) + kld(q, middle)


def jsd(p, q):
    return topsoe(p, q) / 2


def bray_curtis(p, q):
    shared = sum(min(a, b) for a, b in zip(p, q, strict=True))
    return 1 - 2 * shared / (sum(p) + sum(q))


def aitchison(p, q):
    # By all pairs of classes, without means of logarithms.
    K = len(p)
    pairs = [(log(p[i] / p[j]) - log(q[i] / q[j])) ** 2 for i in range(K) for j in range(K)]
    return sqrt(sum(pairs) / (2 * K))


def sre(p, q, train):
    return sum((a / t - b / t) ** 2 for a, b, t in zip(p, q, train, strict=True)) / len(p)


def winkler(p, low, high, level):
    total = 0.0
    for share, lower, upper in zip(p, low, high, strict=True):
        total += upper - lower
        if share < lower:
            total += 2 / (1 - level) * (lower - share)
        elif share > upper:
            total += 2 / (1 - level) * (share - upper)
    return total / len(p)
