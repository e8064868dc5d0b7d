"""Accuracy without labels beside nannyml's CBPE, on the same chunks.

    python accuracy_versus_nannyml.py [--nannyml PYTHON] [--out results] [--quick]

Two questions. Under prior shift, with a reference of which 20% are positive: is the error of
LEAP, SLEAP and QuAcc at most a third of CBPE's? Under pure covariate shift: is our CBPE no
worse than nannyml's? nannyml runs in another process, by the Python that --nannyml names; its
reports of use over the network are switched off. Real data is looked for in the folder that
HEADCOUNT_DATA names, or in ../shared/data. Seeds are those in SEEDS.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path

from environment import describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402

import headcount as hc  # noqa: E402
from accuracy_workloads import adult, clouds, covariate_chunks, prior_chunks  # noqa: E402
from headcount import accuracy  # noqa: E402
from tables import markdown_table  # noqa: E402

SIZE = 1000
SEEDS = (0, 1, 2)
PROMISED = ("LEAP(KDEy)", "LEAP(SLD)", "SLEAP(KDEy)", "SLEAP(SLD)", "QuAcc(KDEy)", "QuAcc(SLD)")
WORKLOADS = {
    "adult": adult,
    "adult, boosted": lambda seed: adult(seed, boosted=True),
    "clouds": clouds,
}


def methods(model):
    """What is compared: the model's scores alone, but for QuAcc, which sees the features."""
    by_likelihood = hc.SLD(calibration="bcts")
    return {
        "CBPE": accuracy.CBPE(model),
        "CBPE, prior shift": accuracy.CBPE(model, correction="prior"),
        "LEAP(KDEy)": accuracy.LEAP(model),
        "LEAP(SLD)": accuracy.LEAP(model, quantifier=by_likelihood),
        "SLEAP(KDEy)": accuracy.SLEAP(model),
        "SLEAP(SLD)": accuracy.SLEAP(model, quantifier=by_likelihood),
        "QuAcc(KDEy)": accuracy.QuAcc(model, quantifier=hc.KDEyML(random_state=0)),
        "QuAcc(SLD)": accuracy.QuAcc(model),
        "Naive": accuracy.Naive(model),
    }


def nannyml(python, workload, samples):
    """nannyml's estimates for the chunks, its seconds and its version."""
    scores = workload.model.predict_proba(workload.X_pool)
    with tempfile.TemporaryDirectory() as folder:
        given, said = Path(folder) / "workload.npz", Path(folder) / "answers.json"
        np.savez(
            given,
            reference=workload.model.predict_proba(workload.X),
            labels=workload.y,
            chunks=scores[samples.indices],
            size=SIZE,
        )
        script = Path(__file__).with_name("accuracy_nannyml.py")
        subprocess.run([python, str(script), str(given), str(said)], check=True)
        return json.loads(said.read_text())


def truths(workload, samples):
    predicted = workload.model.predict(workload.X_pool)
    cells = samples.prevalence_of(workload.y_pool * 2 + predicted, 4).reshape(-1, 2, 2)
    return {name: accuracy.METRICS[name](cells) for name in ("accuracy", "f1")}


def measured(python, name, kind, seed, *, repeats):
    """One row a method: mean absolute errors over the chunks."""
    workload = WORKLOADS[name](seed)
    draw = prior_chunks if kind == "prior" else covariate_chunks
    samples = draw(workload, size=SIZE, repeats=repeats, seed=seed)
    true = truths(workload, samples)
    theirs = nannyml(python, workload, samples)
    found = [_row(name, kind, seed, "CBPE of nannyml", theirs, true, theirs["seconds"])]
    for method, predictor in methods(workload.model).items():
        start = time.perf_counter()
        tables = predictor.fit(workload.X, workload.y).predict_tables(workload.X_pool, samples)
        seconds = time.perf_counter() - start
        ours = {metric: accuracy.METRICS[metric](tables) for metric in true}
        found.append(_row(name, kind, seed, method, ours, true, seconds))
    return found, theirs["nannyml"]


def _row(data, kind, seed, method, said, true, seconds):
    errors = {
        f"{metric} error": float(np.abs(np.asarray(said[metric]) - true[metric]).mean())
        for metric in true
    }
    chunks = len(true["accuracy"])
    return {"data": data, "shift": kind, "seed": seed, "method": method, "chunks": chunks,
            **errors, "seconds": seconds}  # fmt: skip


def means(rows):
    """Mean errors over the seeds, and the ratio to nannyml's."""
    found = {}
    for row in rows:
        key = (row["shift"], row["data"], row["method"])
        found.setdefault(key, []).append((row["accuracy error"], row["f1 error"]))
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def table(rows):
    """Markdown: one row a shift, data and method."""
    mean = means(rows)
    lines = []
    for (shift, data, method), (error, f1) in mean.items():
        theirs = mean[shift, data, "CBPE of nannyml"][0]
        lines.append(
            [shift, data, method, f"{error:.4f}", f"{error / theirs:.2f}", f"{f1:.4f}"]
        )
    header = ["shift", "data", "method", "accuracy error", "of nannyml's", "F1 error"]
    return markdown_table(header, lines)


def verdicts(rows):
    """Whether the promises hold, data by data."""
    mean = means(rows)
    found = []
    for data in dict.fromkeys(row["data"] for row in rows):
        prior = {m: v[0] for (s, d, m), v in mean.items() if (s, d) == ("prior", data)}
        covariate = {m: v[0] for (s, d, m), v in mean.items() if (s, d) == ("covariate", data)}
        third = min(prior["CBPE"], prior["CBPE of nannyml"]) / 3
        found.append(
            {
                "data": data,
                "at most a third of CBPE's": {
                    name: bool(prior[name] <= third) for name in PROMISED
                },
                "CBPE under covariate shift": [covariate["CBPE"], covariate["CBPE of nannyml"]],
            }
        )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nannyml", default=sys.executable, help="a Python that has nannyml")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    seeds, repeats = ((0,), 2) if given.quick else (SEEDS, 5)
    warnings.simplefilter("ignore")
    rows = []
    for name, seed in product(WORKLOADS, seeds):
        for kind in ("prior", "covariate"):
            found, version = measured(given.nannyml, name, kind, seed, repeats=repeats)
            rows += found
        print(table(rows), flush=True)
        if not given.quick:
            head = describe_machine() | {
                "nannyml": version,
                "chunk": SIZE,
                "seeds": sorted({row["seed"] for row in rows}),
            }
            content = {"head": head, "verdicts": verdicts(rows), "rows": rows}
            text = json.dumps(content, indent=1) + "\n"
            (given.out / "accuracy_versus_nannyml.json").write_text(text)
            (given.out / "accuracy_versus_nannyml.md").write_text(table(rows) + "\n")
    print(json.dumps(verdicts(rows), indent=1))


if __name__ == "__main__":
    main()
