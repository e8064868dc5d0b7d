"""Intervals of headcount and of QuaPy on the same scores and samples of real data.

Default intervals (conditioning) and posteriors by likelihood of PACC, SLD and KDEyML, compared
with QuaPy's bootstrap and its Bayesian methods, which draw by MCMC. Needs QuaPy with its extra
`bayes` (jax, numpyro, pystan); methods that cannot be made are left out by name. Peers get
out-of-fold posteriors of the training items and posteriors of the samples by the full
classifier, with their default settings. The data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from time import process_time
from typing import Any

import numpy as np
from joblib import parallel_config
from quapy.method import AGGREGATIVE_METHODS
from quapy.method.aggregative import EMQ, PACC
from quapy.method.confidence import AggregativeBootstrap
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.metrics import coverage, width, winkler
from real_data_peers import PosteriorsAsFeatures
from real_datasets import load
from tables import bullets, markdown_table

DATASETS = ("adult", "contra", "spam", "wine")
N_TRAIN, SIZE, N_SAMPLES = 300, 200, 5
BAYESIAN = ("BayesianCC", "BayesianKDEy", "BayesianMAPLS", "PQ")
FAILED: dict[str, str] = {}
HEAD = ("method", "datasets", "error", "coverage", "width", "Winkler", "seconds per sample")


def ours(scorer: Any, X: Any, samples: list[np.ndarray]) -> dict[str, list[tuple]]:
    """Shares, ends and seconds of headcount, by method."""
    found = {}
    for name, method in (("PACC", hc.PACC), ("SLD", hc.SLD), ("KDEyML", hc.KDEyML)):
        quantifier = method(random_state=0).fit_scorer(scorer)
        for posterior in (False, True):
            begin = process_time()
            answers = quantifier.estimate_many(X, samples, posterior=posterior, random_state=0)
            ends = [(each.shares, each.interval()) for each in answers]
            spent = (process_time() - begin) / len(samples)
            title = f"headcount {name}" + (", posterior" if posterior else "")
            found[title] = [(shares, iv.low, iv.high, spent) for shares, iv in ends]
    return found


def theirs(scorer: Any, scores: np.ndarray, samples: list[np.ndarray], K: int) -> dict:
    """Shares, ends and seconds of QuaPy, by method."""
    made = {
        f"QuaPy {method.__name__}, bootstrap": AggregativeBootstrap(
            method(PosteriorsAsFeatures()), random_state=0
        )
        for method in (PACC, EMQ)
    }
    known = {method.__name__: method for method in AGGREGATIVE_METHODS}
    for name in BAYESIAN:
        if name == "PQ" and K > 2:
            continue  # for two classes
        try:
            made[f"QuaPy {name}"] = known[name](PosteriorsAsFeatures())
        except ImportError as error:
            sys.stderr.write(f"{name} is left out: {error}\n")
    found = {}
    for name, model in made.items():
        begin = process_time()
        rows = []
        try:
            model.fit(scorer.posteriors_, scorer.codes_)
            with parallel_config(backend="sequential"):
                answers = [model.predict_conf(scores[sample]) for sample in samples]
        except Exception as error:  # of versions of its packages that do not fit
            FAILED[name] = type(error).__name__
            sys.stderr.write(f"  {name}: {type(error).__name__}\n")
            continue
        for shares, region in answers:
            rows.append((np.ravel(shares), np.ravel(region.I_low), np.ravel(region.I_high)))
        spent = (process_time() - begin) / len(samples)
        found[name] = [(*row, spent) for row in rows]
        sys.stderr.write(f"  {name} {spent:.2f} s\n")
    return found


def measured(name: str) -> dict[str, list[float]]:
    """Mean error, coverage, width, Winkler score and seconds of each method on a dataset."""
    data = load(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data.y))
    train, rest = order[:N_TRAIN], order[N_TRAIN:]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scorer = hc.Scorer(classifier, random_state=0).fit(data.X[train], data.y[train])
    K = len(scorer.classes_)
    samples = list(hc.UPP(n_samples=N_SAMPLES, size=SIZE, random_state=0).draw(data.y[rest]))
    X, y = data.X[rest], np.searchsorted(scorer.classes_, data.y[rest])
    truth = np.array([np.bincount(y[rows], minlength=K) / SIZE for rows in samples])
    scores = scorer.posteriors(X)
    table = {}
    for method, rows in (ours(scorer, X, samples) | theirs(scorer, scores, samples, K)).items():
        shares, low, high = (np.array([row[i] for row in rows]) for i in range(3))
        table[method] = [
            100 * np.abs(shares - truth).mean(),
            100 * np.mean(coverage(truth, low, high)),
            100 * np.mean(width(truth, low, high)),
            100 * np.mean(winkler(truth, low, high)),
            rows[0][3],
        ]
    return table


def main(only: list[str]) -> None:
    warnings.simplefilter("ignore")
    found: dict[str, list[list[float]]] = defaultdict(list)
    names = only or list(DATASETS)
    for i, name in enumerate(names):
        sys.stderr.write(f"{name}\n")
        for method, row in measured(name).items():
            found[method].append(row)
        write(found, names[: i + 1])


def write(found: dict[str, list[list[float]]], names: list[str]) -> None:
    cells = []
    for method, rows in found.items():
        error, covered, wide, score, spent = np.mean(rows, axis=0)
        cells.append([
            method, str(len(rows)), f"{error:.2f}", f"{covered:.0f}%", f"{wide:.1f}",
            f"{score:.1f}", f"{spent:.2f}",
        ])  # fmt: skip
    failed = "".join(f"{name} raised {error} here.\n\n" for name, error in FAILED.items())
    text = (
        "# Intervals of headcount and QuaPy\n\n"
        f"Written by `benchmarks/frontier_intervals.py`. Datasets: {', '.join(names)}. "
        f"{N_TRAIN} labelled items, logistic regression, {N_SAMPLES} samples of {SIZE} items "
        "with uniform random shares, the same scores for all methods. Mean absolute error, "
        "width and Winkler score (smaller is better) in percentage points; coverage of 95% "
        "intervals, mean over classes. PQ takes two classes only, so its row is of fewer "
        "datasets. CPU seconds include fitting.\n\n"
        + failed
        + markdown_table(list(HEAD), cells)
        + "\n\n"
        + bullets(describe_machine())
        + "\n"
    )
    (RESULTS / "frontier_intervals.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
