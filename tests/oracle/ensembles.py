"""What ensembles do, one sample and one member at a time."""

from __future__ import annotations

import numpy as np


def median_of_repeated(values, times):
    """The median of values of which each is written down so many times."""
    return float(np.median(np.repeat(values, times)))


def mean_of(answers):
    return sum(answers) / len(answers)


def median_of(answers):
    middle = np.array(
        [np.median([answer[j] for answer in answers]) for j in range(len(answers[0]))]
    )
    return middle / middle.sum() if middle.sum() > 0 else mean_of(answers)


def bin_shares(scores, n_bins=10):
    """Share of the scores in each bin of equal width, one class after the other."""
    found = []
    for column in np.asarray(scores, dtype=float).T:
        counts = [0] * n_bins
        for score in column:
            for b in range(n_bins):
                last = b == n_bins - 1
                if b / n_bins <= score < (b + 1) / n_bins or (last and score == 1):
                    counts[b] += 1
        found += [count / len(column) for count in counts]
    return np.array(found)


def weighted_bin_shares(scores, weights, n_bins=10):
    """The same for items that count more or less."""
    scores, weights = np.asarray(scores, dtype=float), np.asarray(weights)
    found = []
    for column in scores.T:
        for b in range(n_bins):
            inside = (column >= b / n_bins) & (column < (b + 1) / n_bins)
            if b == n_bins - 1:
                inside |= column == 1
            found.append(weights[inside].sum() / weights.sum())
    return np.array(found)


def hellinger(p, q):
    """Between two histograms, or several set end to end."""
    return float(
        np.sqrt(sum((np.sqrt(a) - np.sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)))
    )


def nearest_by_shares(answers, priors, n_kept):
    """Members whose training shares are nearest to the mean of all answers."""
    centre = mean_of(answers)
    gaps = [np.abs(prior - centre).mean() for prior in priors]
    return sorted(range(len(gaps)), key=lambda m: gaps[m])[:n_kept]


def nearest_by_scores(seen, histograms, n_kept):
    """Members whose training scores are distributed most like those seen of the sample."""
    gaps = [
        hellinger(bin_shares(scores), h) for scores, h in zip(seen, histograms, strict=True)
    ]
    return sorted(range(len(gaps)), key=lambda m: gaps[m])[:n_kept]


def absolute_error(true, found, size):
    return float(np.mean([abs(a - b) for a, b in zip(true, found, strict=True)]))


def relative_error(true, found, size):
    eps = 1 / (2 * size)
    true, found = ((np.asarray(p) + eps) / (1 + len(p) * eps) for p in (true, found))
    return float(np.mean([abs(a - b) / a for a, b in zip(true, found, strict=True)]))


def mean_errors(answer, samples, codes, error):
    """Mean error of each member on the samples of the others.

    ``answer(m, rows)`` gives the shares that member m finds among these rows, and the rows
    that it may be asked about.
    """
    K = codes.max() + 1
    found = []
    for m in range(len(samples)):
        each = []
        for other, rows in enumerate(samples):
            if other != m:
                shares, asked = answer(m, rows)
                true = np.bincount(codes[asked], minlength=K) / len(asked)
                each.append(error(true, shares, len(asked)))
        found.append(np.mean(each))
    return np.array(found)
