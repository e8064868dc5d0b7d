"""Why QuAcc errs more on IMDB than its paper: the first posterior, the films, or the selection.

    python quacc_imdb.py DATA [--out results] [--repeats 10]

Models and labelled sets of the study `quacc` at five training prevalences, and samples of 1,000
at 21 prevalences. Settings of QuAcc are fixed (C = 1, all covariates, one quantifier for the
four cells) unless the row says otherwise. Rows differ in one thing:

- as in the study: posteriors of all classes but the first, samples of the test part;
- all posteriors: the first one as well;
- films mixed: training and test part are put together and divided at random, so both have the
  same films;
- best C for the samples: of .1, 1 and 10, chosen by the errors on the samples themselves, which
  no selection can surpass.

A second table has the errors of QuAcc(SLD) with other settings at one training prevalence
(``--settings 0.5``): on samples of the test part, and as a selection sees them, learnt from 60%
of the labelled set and tried on samples of the other 40%.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

os.environ.setdefault("HEADCOUNT_NUM_THREADS", "1")

from environment import describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from headcount import SLD, KDEyML, accuracy  # noqa: E402
from headcount.accuracy import quacc as cells  # noqa: E402
from headcount.accuracy.metrics import METRICS  # noqa: E402
from headcount.accuracy.search import held_out_rows  # noqa: E402
from headcount.samples.protocols import APP  # noqa: E402
from headcount.scores.scorer import ScoredPool  # noqa: E402
from headcount_studies.engine.spec import read_spec  # noqa: E402
from headcount_studies.quacc.study import (  # noqa: E402
    draw_training_and_reference,
    load_collection,
)
from tables import markdown_table  # noqa: E402

PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9)
COSTS = (0.1, 1.0, 10.0)
ROWS = ("as in the study", "all posteriors", "films mixed", "best C for the samples")
METHODS = ("QuAcc(SLD)", "QuAcc(KDEy)", "LEAP", "DoC")
ONE_LESS = cells.inputs


def all_posteriors(X, posteriors, *, covariates):
    """Inputs with the first posterior as well."""
    padded = np.hstack([np.zeros((len(posteriors), 1)), posteriors])
    made = ONE_LESS(X, padded, covariates=False)
    if not covariates:
        return made
    extra = cells.confidences(posteriors)
    if sparse.issparse(made):
        return sparse.hstack([made, sparse.csr_matrix(extra)], format="csr")
    return np.hstack([made, extra])


def mixed(collection):
    """Training and test part put together and divided at random."""
    X = sparse.vstack([collection.X, collection.X_test], format="csr")
    y = np.concatenate([collection.y, collection.y_test])
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [len(collection.y)])
    return replace(collection, X=X[train], y=y[train], X_test=X[test], y_test=y[test])


def predictors(model, C):
    logistic = LogisticRegression(C=C, max_iter=1000)
    sld = SLD(logistic, calibration="bcts", stop="classic", random_state=0)
    kde = KDEyML(logistic, bandwidth=0.1, random_state=0)
    made = {
        "QuAcc(SLD)": accuracy.QuAcc(model, quantifier=sld),
        "QuAcc(KDEy)": accuracy.QuAcc(model, quantifier=kde),
    }
    if C == 1:
        made["LEAP"] = accuracy.LEAP(model, quantifier=KDEyML())
        made["DoC"] = accuracy.DoC(model, random_state=0)
    return made


def errors(collection, prevalence, repeats, costs):
    """Absolute errors of accuracy and F1, and their bias for accuracy, by C and method."""
    spec = read_spec("quacc")
    sets = draw_training_and_reference(spec, collection, {"prevalence": prevalence}, 0)
    model = LogisticRegression(max_iter=1000)
    model.fit(collection.X[sets.train], collection.y[sets.train])
    samples = APP(n_prevalences=21, repeats=repeats, size=1000, random_state=1)
    samples = samples.draw(collection.y_test)
    codes = 2 * collection.y_test + model.predict(collection.X_test)
    true = samples.prevalence_of(codes, 4).reshape(-1, 2, 2)
    pool, rows = ScoredPool(collection.X_test), []
    for C in costs:
        for name, predictor in predictors(model, C).items():
            reference = collection.X[sets.reference], collection.y[sets.reference]
            predictor.fit(*reference)
            values = predictor.predict_metrics(pool, samples, ["accuracy", "f1"])
            for metric, estimated in zip(("accuracy", "f1"), values, strict=True):
                difference = np.asarray(estimated) - METRICS[metric](true)
                rows.append(
                    {
                        "prevalence": prevalence, "C": C, "method": name, "metric": metric,
                        "error": float(np.abs(difference).mean()),
                        "bias": float(difference.mean()),
                    }
                )  # fmt: skip
    return rows


def settings_table(collection, prevalence, repeats):
    """Errors of QuAcc(SLD) by setting, on the test part and on held-out items."""
    spec = read_spec("quacc")
    sets = draw_training_and_reference(spec, collection, {"prevalence": prevalence}, 0)
    model = LogisticRegression(max_iter=1000)
    model.fit(collection.X[sets.train], collection.y[sets.train])
    X, y = collection.X[sets.reference], collection.y[sets.reference]
    held = held_out_rows(y, 0.4, 0)
    drawn = APP(n_prevalences=21, repeats=repeats, size=500, random_state=1)
    targets = {
        "test part": ((X, y), (collection.X_test, collection.y_test)),
        "held out": ((X[~held], y[~held]), (X[held], y[held])),
    }
    rows = []
    for variant, weight, calibration in product(
        ("1xn2", "nxn", "1xn+1"), (None, "balanced"), (None, "bcts")
    ):
        logistic = LogisticRegression(class_weight=weight, max_iter=1000)
        sld = SLD(logistic, calibration=calibration, stop="classic", random_state=0)
        row = {"variant": variant, "weight": weight, "calibration": calibration}
        for name, (reference, (items, classes)) in targets.items():
            samples = drawn.draw(classes)
            codes = 2 * classes + model.predict(items)
            true = samples.prevalence_of(codes, 4).reshape(-1, 2, 2)
            predictor = accuracy.QuAcc(model, quantifier=sld, variant=variant).fit(*reference)
            metrics = ["accuracy", "f1"]
            values = predictor.predict_metrics(ScoredPool(items), samples, metrics)
            for metric, estimated in zip(metrics, values, strict=True):
                difference = np.asarray(estimated) - METRICS[metric](true)
                row[f"{name}, {metric}"] = float(np.abs(difference).mean())
        rows.append(row)
        print(row, flush=True)
    columns = ["variant", "weight", "calibration"]
    measured = [f"{name}, {metric}" for metric in ("accuracy", "f1") for name in targets]
    lines = [
        [*(str(row[name] or "none") for name in columns), *(f"{row[m]:.4f}" for m in measured)]
        for row in rows
    ]
    return rows, markdown_table([*columns, *measured], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--settings", type=float)
    given = parser.parse_args()
    collection = load_collection("imdb", given.data, 5)
    warnings.simplefilter("ignore")
    if given.settings is not None:
        rows, text = settings_table(collection, given.settings, given.repeats)
        content = {"head": describe_machine(), "prevalence": given.settings, "rows": rows}
        (given.out / "quacc_imdb_settings.json").write_text(
            json.dumps(content, indent=1) + "\n"
        )
        (given.out / "quacc_imdb_settings.md").write_text(text + "\n")
        return
    rows = []
    for prevalence in PREVALENCES:
        for variant in ROWS[:3]:
            cells.inputs = all_posteriors if variant == ROWS[1] else ONE_LESS
            source = mixed(collection) if variant == ROWS[2] else collection
            costs = COSTS if variant == ROWS[0] else (1.0,)
            for row in errors(source, prevalence, given.repeats, costs):
                rows.append({"variant": variant} | row)
        print(prevalence, flush=True)
        content = {"head": describe_machine(), "repeats": given.repeats, "rows": rows}
        (given.out / "quacc_imdb.json").write_text(json.dumps(content, indent=1) + "\n")
        (given.out / "quacc_imdb.md").write_text(table(rows) + "\n")
    print(table(rows))


def table(rows):
    """Markdown: mean error (and bias) over the training prevalences."""
    lines = []
    for metric in ("accuracy", "f1"):
        for variant in ROWS:
            found = [cell(rows, metric, variant, method) for method in METHODS]
            lines.append([metric, variant, *found])
    return markdown_table(["metric", "", *METHODS], lines)


def cell(rows, metric, variant, method):
    chosen = []
    for prevalence in dict.fromkeys(row["prevalence"] for row in rows):
        part = [
            row
            for row in rows
            if (row["metric"], row["method"], row["prevalence"]) == (metric, method, prevalence)
            and row["variant"] == (variant if variant in ROWS[:3] else ROWS[0])
            and (variant == ROWS[3] or row["C"] == 1)
        ]
        chosen.append(min(part, key=lambda row: row["error"]))
    error, bias = (np.mean([row[name] for row in chosen]) for name in ("error", "bias"))
    return f"{error:.4f} ({bias:+.4f})"


if __name__ == "__main__":
    main()
