"""Errors of PCC with and without multicalibration under covariate shift.

Items of a pool are drawn with a probability that depends on one feature, so that the relation
of features and classes stays as it is: pure covariate shift. Half of the samples prefer large
values of the feature, half small ones. SLD assumes prior shift instead. The last columns show
how often `compare_shifts` finds that prior shift explains the change, here and in samples in
which the share of the classes is what has changed. The data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.errors import HeadcountWarning
from headcount.learn import MulticalibratedClassifier
from headcount.quantifiers import compare_shifts
from headcount.scores import fit_calibrator
from real_datasets import load
from tables import bullets, markdown_table

DATASETS = ("bike", "elec2", "adult", "spam", "ener", "nycflights13", "fifa")
N_TRAIN, SIZE, N_SETS, N_SAMPLES, N_COMPARED = 2000, 1000, 2, 24, 2
HEAD = (
    "dataset", "change of shares", "SLD", "PCC", "PCC, bcts", "PCC, boosting", "PCC, multi",
    "prior explains covariate shift", "prior explains prior shift",
)  # fmt: skip


def shifted(X: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Samples of rows that prefer large or small values of a feature."""
    varied = np.flatnonzero([len(np.unique(column)) > 10 for column in X.T])
    samples = []
    for i in range(N_SAMPLES):
        column = X[:, rng.choice(varied)]
        rank = np.argsort(np.argsort(column + 1e-9 * rng.random(len(column)))) / len(column)
        chance = np.exp((-1) ** i * 4 * rank)
        samples.append(rng.choice(len(X), SIZE, replace=False, p=chance / chance.sum()))
    return samples


def row_of(name: str, seed: int) -> list[float]:
    found = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(found.y))
    train, pool = order[:N_TRAIN], order[N_TRAIN:]
    X, y, X_pool, y_pool = found.X[train], found.y[train], found.X[pool], found.y[pool]
    K = found.n_classes
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    multi = MulticalibratedClassifier(linear, random_state=0)
    boosting = HistGradientBoostingClassifier(random_state=0)
    samples = shifted(X_pool, rng)
    truth = np.array([np.bincount(y_pool[rows], minlength=K) / SIZE for rows in samples])
    scorer = hc.Scorer(linear, random_state=0).fit(X, y)
    calibrator = fit_calibrator("bcts", scorer.posteriors_, scorer.codes_)
    calibrated = calibrator.transform(scorer.posteriors(X_pool))
    answers = [
        hc.SLD(linear, random_state=0).fit(X, y).predict_many(X_pool, samples),
        hc.PCC(linear, cv=None).fit(X, y).predict_many(X_pool, samples),
        np.array([calibrated[rows].mean(axis=0) for rows in samples]),
        hc.PCC(boosting, cv=None).fit(X, y).predict_many(X_pool, samples),
        hc.PCC(multi, cv=None).fit(X, y).predict_many(X_pool, samples),
    ]
    change = 100 * np.abs(truth - np.bincount(y) / len(y)).mean()
    errors = [100 * np.abs(answer - truth).mean() for answer in answers]
    drawn = hc.UPP(n_samples=N_COMPARED, size=SIZE, random_state=seed).draw(y_pool)
    explained = [
        100 * np.mean([
            compare_shifts(X, y, X_pool[rows], classifier=linear, random_state=0).prior_fits
            for rows in each
        ])
        for each in (samples[:N_COMPARED], drawn)
    ]  # fmt: skip
    return [change, *errors, *explained]


def main(only: list[str]) -> None:
    warnings.simplefilter("ignore", HeadcountWarning)
    rows: list[list[Any]] = []
    for name in only or DATASETS:
        rows.append([name, *np.mean([row_of(name, seed) for seed in range(N_SETS)], axis=0)])
        sys.stderr.write(f"{rows[-1]}\n")
        write(rows)


def write(rows: list[list[Any]]) -> None:
    """Write the table of the datasets that are done, and their mean."""
    mean = ["mean", *np.mean([row[1:] for row in rows], axis=0)]
    cells = [
        [row[0], *(f"{value:.2f}" for value in row[1:7]), *(f"{v:.0f}%" for v in row[7:])]
        for row in (*rows, mean)
    ]
    text = (
        "# Covariate shift\n\n"
        f"Mean absolute error of the shares in percentage points, with {N_TRAIN:,} labelled "
        f"items and logistic regression: {N_SETS} training sets, for each {N_SAMPLES} samples "
        f"of {SIZE} items that prefer large or small values of one feature. The second column "
        "is the mean change of the shares since training. `bcts` is calibrated on average, "
        "`boosting` has gradient boosting as its classifier, `multi` is multicalibrated "
        "logistic regression. The last two columns: how often `compare_shifts` finds that "
        f"prior shift explains the change, for each training set in {N_COMPARED} of these "
        f"samples and in {N_COMPARED} samples with random shares of the classes, in which it "
        "does.\n\n"
        + markdown_table(list(HEAD), cells)
        + "\n\n"
        + bullets(describe_machine())
        + "\n"
    )
    (RESULTS / "covariate_shift.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
