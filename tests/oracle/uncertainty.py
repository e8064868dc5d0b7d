"""Conditioning on simulated samples, slow and obvious."""

from __future__ import annotations

import math

import numpy as np

from tests.oracle.stratified_draws import below, mix, words

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def draw_resampled(seed, counts, strata, n_resampled, weights=None, foreign=0.0):
    """Items of one simulated sample: each class is resampled, then items of it are drawn."""
    stream = words(seed)
    everything = [item for items in strata for item in items]
    drawn = []
    for j, items in enumerate(strata):
        start = mix(seed ^ mix(((j + 1) * _GOLDEN) & _MASK))
        own = words(start)
        resampled = []
        for number in range(n_resampled[j] + _poisson(foreign, mix(start))):
            chosen_from = items if number < n_resampled[j] else everything
            word = next(own)
            if weights is None:
                resampled.append(chosen_from[(word >> 32) * len(chosen_from) >> 32])
            else:
                aim = (word >> 11) / 2**53 * sum(weights[item] for item in chosen_from)
                resampled.append(_at(aim, chosen_from, weights))
        drawn += [resampled[below(stream, len(resampled))] for _ in range(counts[j])]
    return drawn


def _poisson(mean, word):
    """The number at which the probabilities, added up, pass a uniform made of the word."""
    uniform, passed = (word >> 11) / 2**53, 0.0
    for number in range(20):
        passed += math.exp(-mean) * mean**number / math.factorial(number)
        if uniform < passed:
            return number
    return 20


def _at(aim, items, weights):
    """The item at which the weights, added up one after the other, pass the aim."""
    passed = 0.0
    for item in items:
        passed += weights[item]
        if passed > aim:
            return item
    return items[-1]


def given(answers, truths, answer, members=0):
    """Draws of the truth and their weights, given an answer."""
    answers, truths = np.asarray(answers, float), np.asarray(truths, float)
    even = np.ones(len(answers))
    slopes = _ridge(answers, truths, even / even.sum(), 1e-6)[1]
    gaps = [float((((row - answer) @ slopes) ** 2).sum()) for row in answers]
    reach = sorted(gaps)[min(len(gaps) // 10, len(gaps) - 1)]
    near = [i for i, gap in enumerate(gaps) if gap <= reach]
    weights = np.array([max(1 - gaps[i] / reach, 1e-9) if reach > 0 else 1.0 for i in near])
    weights /= weights.sum()
    answers, truths, K = answers[near], truths[near], truths.shape[1]
    if members == 0:
        return _by_regression(answers, truths, answer, weights)[0], weights
    candidates = []
    for m in range(members):
        own, at = answers[:, m * K : (m + 1) * K], answer[m * K : (m + 1) * K]
        for by in (_by_errors, _by_regression):
            draws, error = by(own, truths, at, weights)
            candidates.append((draws, error * (1 if m == 0 else 1.1)))
    if members > 1:
        draws, error = _by_regression(answers, truths, answer, weights)
        candidates.append((draws, 1.1 * error))
    least = min(error for _, error in candidates)
    shares = [math.exp(-10 * (error / least - 1)) for _, error in candidates]
    mixed = sum(share * draws for share, (draws, _) in zip(shares, candidates, strict=True))
    return mixed / sum(shares), weights


def _by_regression(answers, truths, answer, weights):
    at_mean, slopes = _ridge(answers, truths, weights, 1e-3)
    line = lambda a: at_mean + (a - weights @ answers) @ slopes  # noqa: E731
    # As many items of equal weight as the weights are worth, less one for each slope.
    worth, width = 1 / sum(weight**2 for weight in weights), len(answer)
    inflation = math.sqrt(worth / max(worth - width, worth / 4))
    fitted = np.array([line(row) for row in answers])
    residuals = inflation * (truths - fitted)
    error = math.sqrt(1 + width / worth) * float(weights @ abs(residuals).mean(axis=1))
    moved = moved_errors(residuals, fitted, line(answer), weights)
    return line(answer) + moved, error if width <= worth / 4 else math.inf


def _by_errors(answers, truths, answer, weights):
    errors = truths - answers
    bias = weights @ errors
    error = float(weights @ abs(errors - bias).mean(axis=1))
    return answer + bias + moved_errors(errors - bias, answers, answer, weights), error


def moved_errors(errors, places, place, weights):
    """Errors at places as they would be at one place, by a line through their squares."""
    K = errors.shape[1]
    if K < 3:
        return errors
    there, scale = np.empty(K), np.empty(errors.shape)
    for k in range(K):
        x, y = places[:, k], errors[:, k] ** 2
        x_mean, y_mean = np.average(x, weights=weights), np.average(y, weights=weights)
        covariance = np.average((x - x_mean) * (y - y_mean), weights=weights)
        slope = covariance / (np.average((x - x_mean) ** 2, weights=weights) + 1e-12)
        line = lambda at: max(y_mean + slope * (at - x_mean), 0.1 * y_mean + 1e-12)  # noqa: B023,E731
        there[k] = line(min(max(place[k], x.min()), x.max()))
        scale[:, k] = [math.sqrt(there[k] / line(at)) for at in x]
    moved = errors * scale
    shift = (errors.sum(axis=1) - moved.sum(axis=1)) / there.sum()
    return moved + np.outer(shift, there)


def _ridge(x, y, weights, strength):
    """Value at the mean of x, and slopes, of the weighted regression of y on x.

    The ridge is relative to the mean variance of the columns of x, and written as rows of
    data: one for each slope, which it should not exceed 0.
    """
    x_mean, y_mean = weights @ x, weights @ y
    away = x - x_mean
    variance = np.mean([weights @ column**2 for column in away.T])
    root = math.sqrt(strength * variance + 1e-12)
    rows = np.vstack([np.sqrt(weights)[:, None] * away, root * np.eye(x.shape[1])])
    goal = np.vstack(
        [np.sqrt(weights)[:, None] * (y - y_mean), np.zeros((x.shape[1], y.shape[1]))]
    )
    return y_mean, np.linalg.lstsq(rows, goal, rcond=None)[0]


def simulated_size(size):
    """The nearest of 20, 22, 24.2, ... on the scale of logarithms, rounded; at most 20,000."""
    if size <= 20:
        return size
    grid = [20 * 1.1**k for k in range(200)]
    nearest = min(grid, key=lambda each: abs(math.log(size) - math.log(each)))
    return min(round(nearest), 20_000)


def standard_error(shares, counts, size):
    """Up to a factor: noise of the classes in training, and of a sample."""
    return math.sqrt(sum(p**2 / n for p, n in zip(shares, counts, strict=True)) + 1 / size)


def over(sample, n_pool, copies):
    """Rows of a sample in a pool that is repeated."""
    return [copy * n_pool + row for copy in range(copies) for row in sample]
