"""Intervals of headcount and of QuaPy on the same scores and samples of real data.

Default intervals (conditioning) and posterior draws by likelihood of five methods, compared
with QuaPy's bootstrap and its Bayesian methods, which draw by MCMC. Needs QuaPy with its extra
`bayes`; jax 0.6.2, numpyro 0.18.0 and pystan 3.10.0 work together with QuaPy 0.2.3, while its
BayesianCC fails with jax 0.10. Methods that cannot be run are named in the result. Peers get
out-of-fold posteriors of the training items and posteriors of the samples by the full
classifier, with their default settings. The data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from importlib.metadata import version
from time import perf_counter, process_time
from typing import Any

import numpy as np
from joblib import parallel_config
from quapy.method import AGGREGATIVE_METHODS
from quapy.method.aggregative import EMQ, PACC, KDEyML
from quapy.method.confidence import AggregativeBootstrap
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.metrics import coverage, width, winkler
from real_data_peers import PosteriorsAsFeatures
from real_datasets import DEVELOPMENT, load
from tables import bullets, markdown_table

DATASETS = ("adult", "bike", "contra", "drugs", "fifa", "musk", "spam", "wine")
N_TRAIN, SIZE, N_SETS, N_SAMPLES = 300, 200, 2, 5
OURS = ("ACC", "PACC", "GPAC", "SLD", "KDEyML")
BAYESIAN = ("BayesianCC", "BayesianKDEy", "BayesianMAPLS", "PQ")
FOR_TWO_CLASSES = ("PQ",)
IN_OTHER_PROCESSES = ("PQ",)  # draws there, so that elapsed time is reported
MODEL_BASED = {"n_train_samples": 25, "n_test_samples": 20}
BESIDE_PQ = (
    "headcount PACC", "headcount PACC, posterior", "headcount SLD", "QuaPy PACC, bootstrap",
    "QuaPy PQ",
)  # fmt: skip
FAILED: dict[str, str] = {}
HEAD = (
    "method", "datasets", "error", "coverage", "± SE", "lowest dataset", "width", "Winkler",
    "seconds per sample",
)  # fmt: skip


def ours(scorer: Any, X: Any, samples: list[np.ndarray]) -> dict[str, list[tuple]]:
    """Shares, ends and seconds of headcount, by method."""
    found = {}
    for name in OURS:
        quantifier = hc.method(name)(random_state=0).fit_scorer(scorer)
        for posterior in (False, True):
            begin = process_time()
            answers = quantifier.estimate_many(X, samples, posterior=posterior, random_state=0)
            ends = [(each.shares, each.interval()) for each in answers]
            spent = (process_time() - begin) / len(samples)
            title = f"headcount {name}" + (", posterior" if posterior else "")
            found[title] = [(shares, iv.low, iv.high, spent) for shares, iv in ends]
    return found


def methods_of_quapy(n_classes: int) -> dict[str, Any]:
    """QuaPy's methods with intervals, by the name of their row."""
    made = {
        f"QuaPy {method.__name__}, bootstrap": AggregativeBootstrap(
            method(PosteriorsAsFeatures()), random_state=0
        )
        for method in (PACC, EMQ, KDEyML)
    }
    made["QuaPy PACC, bootstrap of training too"] = AggregativeBootstrap(
        PACC(PosteriorsAsFeatures()), random_state=0, **MODEL_BASED
    )
    known = {method.__name__: method for method in AGGREGATIVE_METHODS}
    for name in BAYESIAN:
        if name in FOR_TWO_CLASSES and n_classes > 2:
            continue
        try:
            made[f"QuaPy {name}"] = known[name](PosteriorsAsFeatures())
        except ImportError as error:
            FAILED[name] = str(error)
    return made


def theirs(scorer: Any, scores: np.ndarray, samples: list[np.ndarray]) -> dict:
    """Shares, ends and seconds of QuaPy, by method."""
    found = {}
    for name, model in methods_of_quapy(len(scorer.classes_)).items():
        clock = perf_counter if name.split()[1] in IN_OTHER_PROCESSES else process_time
        begin = clock()
        try:
            model.fit(scorer.posteriors_, scorer.codes_)
            with parallel_config(backend="sequential"):
                answers = [model.predict_conf(scores[sample]) for sample in samples]
        except Exception as error:  # of versions of its packages that do not fit
            FAILED[name] = f"{type(error).__name__} in QuaPy ({str(error)[:80]})"
            continue
        spent = (clock() - begin) / len(samples)
        found[name] = [
            (np.ravel(shares), np.ravel(region.I_low), np.ravel(region.I_high), spent)
            for shares, region in answers
        ]
        sys.stderr.write(f"  {name} {spent:.2f} s\n")
    return found


def measured(data: Any, seed: int) -> dict[str, list[float]]:
    """Mean error, coverage, width, Winkler score and seconds of each method."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    train, rest = order[:N_TRAIN], order[N_TRAIN:]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scorer = hc.Scorer(classifier, random_state=0).fit(data.X[train], data.y[train])
    rest = rest[np.isin(data.y[rest], scorer.classes_)]
    X, y = data.X[rest], np.searchsorted(scorer.classes_, data.y[rest])
    samples = list(hc.UPP(n_samples=N_SAMPLES, size=SIZE, random_state=seed).draw(y))
    truth = np.array([np.bincount(y[rows], minlength=len(scorer.classes_)) for rows in samples])
    truth = truth / SIZE
    scores = scorer.posteriors(X)
    table = {}
    for method, rows in (ours(scorer, X, samples) | theirs(scorer, scores, samples)).items():
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
    found: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    names = only or list(DATASETS)
    if not set(names) <= set(DEVELOPMENT):
        raise SystemExit("This benchmark is run on datasets for development only.")
    for i, name in enumerate(names):
        data = load(name)
        for seed in range(N_SETS):
            sys.stderr.write(f"{name} {seed}\n")
            for method, row in measured(data, seed).items():
                found[method][name].append(row)
        write(found, names[: i + 1])


def line(method: str, by_dataset: dict[str, list[list[float]]]) -> list[str]:
    """Means over datasets; the error of coverage is that of the training sets' means."""
    error, covered, wide, score, spent = np.mean(
        [np.mean(rows, axis=0) for rows in by_dataset.values()], axis=0
    )
    each = np.array([row[1] for rows in by_dataset.values() for row in rows])
    lowest = min(np.mean(rows, axis=0)[1] for rows in by_dataset.values())
    return [
        method, str(len(by_dataset)), f"{error:.2f}", f"{covered:.0f}%",
        f"{each.std(ddof=1) / np.sqrt(len(each)):.0f}", f"{lowest:.0f}%", f"{wide:.1f}",
        f"{score:.1f}", f"{spent:.2f}",
    ]  # fmt: skip


def two_classes(found: dict[str, dict[str, list[list[float]]]]) -> str:
    """Table of the datasets with two classes, on which PQ can be run."""
    names = found["QuaPy PQ"]
    if not names:
        return ""
    cells = [
        line(method, {name: found[method][name] for name in names})
        for method in BESIDE_PQ
        if method in found
    ]
    title = f"The datasets with two classes alone ({', '.join(names)}):\n\n"
    return title + markdown_table(list(HEAD), cells) + "\n\n"


def write(found: dict[str, dict[str, list[list[float]]]], names: list[str]) -> None:
    failed = "".join(f"{name} was not run: {error}.\n\n" for name, error in FAILED.items())
    packages = ", ".join(f"{name} {version(name)}" for name in ("jax", "numpyro", "pystan"))
    text = (
        "# Intervals of headcount and QuaPy\n\n"
        f"Written by `benchmarks/frontier_intervals.py`. Datasets: {', '.join(names)}. "
        f"{N_TRAIN} labelled items, logistic regression, {N_SETS} training sets, for each "
        f"{N_SAMPLES} samples of {SIZE} items with uniform random shares. Out-of-fold scores "
        "and samples are the same for all methods, settings are their defaults; the bootstrap "
        f"of training too resamples {MODEL_BASED['n_train_samples']} x "
        f"{MODEL_BASED['n_test_samples']} times. Mean absolute error, width and Winkler score "
        "(smaller is better) in percentage points. Coverage of 95% intervals, mean over "
        "classes, its standard error over training sets, and the lowest mean of a dataset. PQ "
        "takes two classes only, so its row is of fewer datasets. The shares to cover are "
        "those of the items in the sample, which the intervals of headcount and PQ are for; "
        "others of QuaPy are for the population that the sample is from, and wider. CPU "
        "seconds include fitting; those of PQ are elapsed, as it draws in other processes, and "
        "without building its model (about 80 s, once for a machine).\n\n"
        + failed
        + markdown_table(list(HEAD), [line(method, rows) for method, rows in found.items()])
        + "\n\n"
        + two_classes(found)
        + bullets(describe_machine())
        + f"\n- packages of QuaPy's Bayesian methods: {packages}\n"
    )
    (RESULTS / "frontier_intervals.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
