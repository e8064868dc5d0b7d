"""Parts of `few_labels.py`: real data, plans, clusters, judges, agreement, speed."""

from __future__ import annotations

import time
from functools import cache
from itertools import product

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from few_labels import (
    DESIGNS,
    DISTANCES,
    LABELS,
    LEVEL,
    SETS,
    SHARES,
    Cuts,
    clouds,
    ends_of,
    note,
    posteriors_of,
    shares_of,
    summary,
)
from headcount.estimates.labels.difference import clopper_pearson, share_ends
from headcount.estimates.labels.from_labels import of_population, share_difference
from headcount.estimates.labels.judge_rates import correct_verdicts
from headcount.estimates.labels.plan import make_plan
from headcount.estimates.labels.pool import PoolPosteriors
from headcount.estimates.labels.sample import LabelSample
from headcount.items.arrays import check_clusters

# Name, training items, and how pools differ: by time, or by a shift that is made.
REAL = {
    "breast cancer": ("sklearn", 200, "made"),
    "digits": ("sklearn", 500, "made"),
    "adult": ("folder", 1000, "made"),
    "womens_clothing_reviews": ("folder", 2000, "made"),
    "elec2": ("folder", 3000, "time"),
    "nycflights13": ("folder", 3000, "time"),
}
POOLS = 20


@cache
def dataset(name):
    if REAL[name][0] == "sklearn":
        X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
        return X, y, "table"
    from real_datasets import load

    items = load(name)
    return items.X, items.y, items.kind


def classifier(kind):
    if kind == "text":
        return make_pipeline(TfidfTransformer(), LogisticRegression(max_iter=1000))
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def real_pool(name, shift, number):
    """Fitted quantifier, items of a pool and their classes."""
    X, y, kind = dataset(name)
    rng = np.random.default_rng([3, number])
    n_training = REAL[name][1]
    if REAL[name][2] == "time":
        training = np.arange(n_training)
        size = (len(y) - n_training) // POOLS
        pool = n_training + number * size + np.arange(size)
    else:
        order = rng.permutation(len(y))
        training, pool = order[:n_training], order[n_training:]
        pool = pool[:5000]
    q = hc.SLD(classifier(kind), random_state=0).fit(X[training], y[training])
    items, truth = X[pool], y[pool]
    last = truth.max()
    if shift == "prior":  # most of the last class is left out
        kept = (truth != last) | (rng.random(len(truth)) < 0.2)
        items, truth = items[kept], truth[kept]
    elif shift == "moved":  # half of the last class has features of the first
        rows = np.arange(len(truth))
        own = np.flatnonzero((truth == last) & (rng.random(len(truth)) < 0.5))
        rows[own] = rng.choice(np.flatnonzero(truth == 0), len(own))
        items = items[rows]
    return q, items, truth


def real_cell(name, shift, replications):
    found: dict = {}
    each = max(replications // POOLS, 1)
    misses = []
    for number in range(POOLS):
        q, X, y = real_pool(name, shift, number)
        K = len(q.classes_)
        truth = np.bincount(y, minlength=K) / len(y)
        pool = posteriors_of(q, X)
        cuts = Cuts(pool)
        misses.append(abs(q.predict(X) - truth).max())
        for draw in range(each):
            rng = np.random.default_rng([4, number, draw])
            for n in (n for n in LABELS if n < len(y) / 2):
                for design in DESIGNS:
                    sample, _ = cuts.draw(n, design, rng)
                    codes = y[sample.rows]
                    low, high = ends_of(pool, sample, codes, "realised")
                    note(found, f"{design} {n}", low, high, truth)
                    if design == "uniform":
                        counts = np.bincount(codes, minlength=K)
                        ends = clopper_pearson(counts, n, LEVEL)
                        note(found, f"Clopper-Pearson {n}", *ends, truth)
    cells = {name: summary(rows) for name, rows in found.items()}
    cells["error of SLD"] = {"largest error": float(np.mean(misses))}
    return cells


def real(store, replications):
    for name, (_, _, kind) in REAL.items():
        for shift in ("none", "prior", "moved") if kind == "made" else ("time",):
            store.measure(f"real|{name}|{shift}", real_cell, name, shift, replications)


def optimum_cell(n_classes, distance, share):
    """Fall of the errors if each item has its best chance of being drawn (Neyman)."""
    gains = []
    for number in range(SETS):
        made, rng = clouds(n_classes, distance, number), np.random.default_rng([12, number])
        X, _ = made.pool(5000, shares_of(n_classes, share), "prior", True, rng)
        last = posteriors_of(made.quantifier, X).values[:, -1]
        variances = last * (1 - last)
        gains.append(1 - np.sqrt(variances).mean() / np.sqrt(variances.mean()))
    return {"gain": float(np.mean(gains))}


def optimum(store, replications):
    for n_classes, distance, share in product((2, 5), DISTANCES, SHARES[:2]):
        name = f"optimum|{n_classes}|{distance}|{share}"
        store.measure(name, optimum_cell, n_classes, distance, share)


def plan_cell(source, setting, precision, design, replications):
    """Planned labels compared with those that reach the precision."""
    if source == "clouds":
        n_classes, distance, share = setting
        made = clouds(n_classes, distance, 0)
        rng = np.random.default_rng([5, n_classes, int(1000 * share)])
        X, y = made.pool(20_000, shares_of(n_classes, share), "prior", True, rng)
        pool = posteriors_of(made.quantifier, X)
    else:
        q, X, y = real_pool(setting, "none", 0)
        pool = posteriors_of(q, X)
        rng = np.random.default_rng(5)
    strata = 5 if design == "planned" else 1
    plan = make_plan(pool, "", precision=precision, budget=None, n_strata=strata,
                     estimand="realised", level=LEVEL, rng=rng)  # fmt: skip

    cuts = Cuts(pool)

    def reached(n):
        halves = []
        for draw in range(max(replications // 10, 10)):
            sample, _ = cuts.draw(n, design, np.random.default_rng([6, draw]))
            low, high = ends_of(pool, sample, y[sample.rows], "realised")
            halves.append((high - low) / 2)
        return float(np.mean(halves, axis=0).max())

    low, high = max(int(plan.n / 2), 20), min(2 * plan.n, len(y))
    while high - low > max(0.01 * plan.n, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) <= precision else (middle, high)
    return {"planned": plan.n, "needed": high, "ratio": plan.n / high}


def plans(store, replications):
    for distance, n_classes in product(DISTANCES[:1], (2, 5)):
        for share, precision, design in product((0.02, 0.1, 0.5), (0.05, 0.02), DESIGNS):
            name = f"plans|{n_classes}|{distance}|{share}|{precision}|{design}"
            store.measure(name, plan_cell, "clouds", (n_classes, distance, share), precision,
                          design, replications)  # fmt: skip
    for name in ("adult", "womens_clothing_reviews", "digits"):
        for design in DESIGNS:
            store.measure(f"plans|{name}|0.03|{design}", plan_cell, "real", name, 0.03,
                          design, replications)  # fmt: skip


def clustered_truth(n_clusters, size, share, rng, correlation=0.3):
    """Classes of items in clusters, with a given intra-class correlation."""
    total = 1 / correlation - 1
    chances = rng.beta(share * total, (1 - share) * total, n_clusters)
    y = (rng.random((n_clusters, size)) < chances[:, None]).astype(int)
    return y.ravel(), np.repeat(np.arange(n_clusters), size)


def cluster_cell(share, n_clusters, target, replications):
    """Labels of whole clusters of ten items, with and without regard to clusters."""
    found: dict = {}
    made = clouds(2, 2.0, 0)
    for number in range(replications):
        rng = np.random.default_rng([7, int(1000 * share), n_clusters, number])
        y, clusters = clustered_truth(300, 10, share, rng)
        X = made.centres[y] + rng.standard_normal((len(y), 2))
        pool = posteriors_of(made.quantifier, X)
        chosen = rng.choice(300, n_clusters, replace=False)
        rows = np.flatnonzero(np.isin(clusters, chosen))
        truth = np.bincount(y, minlength=2) / len(y)
        if target == "expected":
            truth = np.array([1 - share, share])
        for name, groups in (("clusters", check_clusters(clusters, len(y))), ("ignored", None)):
            sample = LabelSample.simple(rows, len(y), None, groups)
            difference = share_difference(pool, sample, y[rows])
            if target == "expected":
                difference = of_population(difference, pool, sample, y[rows], None, groups)
            note(found, name, *share_ends(difference, len(y), LEVEL), truth)
            # Labels alone, whose residuals are the classes themselves.
            alone = PoolPosteriors.none(len(y), np.array([1 - share, share]))
            difference = share_difference(alone, sample, y[rows])
            if target == "expected":
                difference = of_population(difference, alone, sample, y[rows], None, groups)
            note(found, f"{name}, no scores", *share_ends(difference, len(y), LEVEL), truth)
    return {name: summary(rows) for name, rows in found.items()}


def clusters(store, replications):
    for share in (0.1, 0.5):
        for n_clusters in (10, 20, 50):
            for target in ("realised", "expected"):
                name = f"clusters|{share}|{n_clusters}|{target}"
                store.measure(name, cluster_cell, share, n_clusters, target, replications)


def verdicts_on(y, rates, rng):
    """Verdicts with given probabilities by class."""
    edges = np.cumsum(np.asarray(rates)[y], axis=1)
    return np.minimum((rng.random((len(y), 1)) > edges).sum(axis=1), len(rates) - 1)


# Probability of each verdict by class: a good judge, a poor one, and one of three classes.
JUDGES = {
    "good": [[0.9, 0.1], [0.1, 0.9]],
    "poor": [[0.7, 0.3], [0.25, 0.75]],
    "three classes": [[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]],
}


def judge_cell(kind, setting, share, replications):
    """Gold labels of the target, or a calibration set, with and without shift between them.

    "none": the same shares and errors; "shares": half of the calibration set is of the last
    class; "errors": the judge errs more on the target, which gold of the target corrects.
    """
    found: dict = {}
    rates = np.array(JUDGES[kind])
    K = len(rates)
    shares = np.array(shares_of(K, share))
    for number in range(replications):
        rng = np.random.default_rng([8, list(JUDGES).index(kind), int(1000 * share), number])
        y = rng.choice(K, 2000, p=shares)
        on_target = 0.8 * rates + 0.2 / K if setting == "errors" else rates
        verdicts = verdicts_on(y, on_target, rng)
        other = rng.choice(K, 300, p=np.full(K, 1 / K) if setting == "shares" else shares)
        while np.bincount(other, minlength=K).min() < 2:
            other = rng.choice(K, 300, p=shares)
        calibration = (verdicts_on(other, rates, rng), other)
        for n_gold in (0, 50, 200):
            gold = np.full(2000, -1)
            rows = rng.choice(2000, n_gold, replace=False)
            gold[rows] = y[rows]
            marked = np.where(gold < 0, np.nan, gold)
            if n_gold and len(np.unique(y[rows])) < 2:
                continue
            result = correct_verdicts(verdicts, marked, calibration=calibration)
            if n_gold == 0 and setting == "errors":
                continue  # rates of the calibration set do not hold
            ends = result.groups[0].interval(LEVEL)
            note(found, f"{'gold' if n_gold else 'calibration'} {n_gold or 300}",
                 ends.low, ends.high, shares)  # fmt: skip
        half = np.repeat(["a", "b"], 1000)
        marked = np.where(rng.random(2000) < 0.15, y, np.nan)
        if min(len(set(y[(half == g) & ~np.isnan(marked)])) for g in "ab") == K:
            pair = correct_verdicts(verdicts, marked, by=half).differences(LEVEL)[0]
            note(found, "difference of two groups", pair.low, pair.high, np.zeros(K))
        if setting != "errors":
            nothing = np.full(2000, np.nan)
            result = correct_verdicts(verdicts, nothing, by=half, calibration=calibration)
            pair = result.differences(LEVEL)[0]
            note(found, "difference, calibration", pair.low, pair.high, np.zeros(K))
    return {name: summary(rows) for name, rows in found.items()}


def judge_cluster_cell(share, n_clusters, replications):
    """Gold labels of whole conversations of ten items; rates of the population."""
    found: dict = {}
    for number in range(replications):
        rng = np.random.default_rng([9, int(1000 * share), n_clusters, number])
        y, conversation = clustered_truth(200, 10, share, rng)
        verdicts = verdicts_on(y, JUDGES["good"], rng)
        labelled = np.isin(conversation, rng.choice(200, n_clusters, replace=False))
        if len(np.unique(y[labelled])) < 2:
            continue
        gold = np.where(labelled, y, np.nan)
        truth = np.array([1 - share, share])
        for name, groups in (("clusters", conversation), ("ignored", None)):
            ends = correct_verdicts(verdicts, gold, clusters=groups).groups[0].interval(LEVEL)
            note(found, name, ends.low, ends.high, truth)
    return {name: summary(rows) for name, rows in found.items()}


def judge(store, replications):
    for share in (0.1, 0.5):
        for n_clusters in (20, 50):
            name = f"judge clusters|{share}|{n_clusters}"
            store.measure(name, judge_cluster_cell, share, n_clusters, replications)
    for kind in JUDGES:
        for setting in ("none", "shares", "errors"):
            for share in (0.1, 0.5):
                name = f"judge|{kind}|{setting}|{share}"
                store.measure(name, judge_cell, kind, setting, share, replications)


# Judges whose errors 50 labels may not show: they miss half, or most, of a rare class.
MISSES = {
    "misses half": [[0.99, 0.01], [0.5, 0.5]],
    "misses most": [[0.995, 0.005], [0.7, 0.3]],
}


def misses_cell(rates, share, replications):
    """50 gold labels of the target, of a judge whose errors they may not show."""
    found: dict = {}
    rates, K = np.array(rates), len(rates)
    shares = np.array(shares_of(K, share))
    for number in range(replications):
        rng = np.random.default_rng([11, int(1000 * share), number])
        y = rng.choice(K, 2000, p=shares)
        verdicts = verdicts_on(y, rates, rng)
        gold = np.full(2000, np.nan)
        rows = rng.choice(2000, 50, replace=False)
        gold[rows] = y[rows]
        if len(np.unique(y[rows])) < K:
            continue
        ends = correct_verdicts(verdicts, gold).groups[0].interval(LEVEL)
        note(found, "gold 50", ends.low, ends.high, shares)
    return {name: summary(rows) for name, rows in found.items()}


def misses(store, replications):
    for (kind, rates), share in product(MISSES.items(), (0.1, 0.12)):
        store.measure(f"misses|{kind}|{share}", misses_cell, rates, share, replications)


def agreement_cell(n_classes, shift, n, replications):
    """Part of the draws in which the test of agreement rejects at 5%."""
    p_values = []
    for number in range(max(replications // 5, 10)):
        rng = np.random.default_rng([10, n_classes, n, number])
        made = clouds(n_classes, 2.0, number % 10)
        X, y = made.pool(3000, shares_of(n_classes, 0.3), shift, True, rng)
        rows = rng.choice(3000, n, replace=False)
        estimate = made.quantifier.estimate(
            X, labelled=(rows, y[rows]), replicates=500, random_state=0
        )
        p_values.append(estimate.agreement.p_value)
    return {"rejected": float(np.mean(np.array(p_values) < 0.05)), "n": len(p_values)}


def agreement(store, replications):
    for n_classes in (2, 5):
        for shift in ("prior", "moved", "concept"):
            for n in (50, 100, 300):
                name = f"agreement|{n_classes}|{shift}|{n}"
                store.measure(name, agreement_cell, n_classes, shift, n, replications)


def speed_cell(n_classes):
    rng = np.random.default_rng(0)

    def scored(n):
        y = rng.integers(n_classes, size=n)
        scores = rng.normal(size=(n, n_classes))
        scores[np.arange(n), y] += 2
        odds = np.exp(scores)
        return hc.Scored(odds / odds.sum(axis=1, keepdims=True)), y

    training, y = scored(2000)
    q = hc.SLD(random_state=0).fit(training, y)
    pool, _ = scored(1_000_000)
    q.plan_labels(scored(1000)[0], budget=50)  # compiled
    begun, used = time.perf_counter(), time.process_time()
    plan = q.plan_labels(pool, precision=0.01)
    return {
        "seconds": time.perf_counter() - begun,
        "CPU seconds": time.process_time() - used,
        "labels": plan.n,
    }


def speed(store, replications):
    for n_classes in (2, 5):
        store.measure(f"speed|{n_classes}", speed_cell, n_classes)
