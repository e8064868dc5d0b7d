"""Seconds for predicting accuracy on 2,100 samples of 1,000 items, after fitting.

    python accuracy_speed.py [--out results]

Clouds of two classes, 5 features (accuracy_workloads.py): a labelled reference of 5,000, a pool
of 20,000, samples at 21 prevalences. One thread; the best of three, the pool judged in each.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("HEADCOUNT_NUM_THREADS", "1")

from environment import describe_machine, pin_blas_threads

pin_blas_threads()

import headcount as hc  # noqa: E402
from accuracy_workloads import clouds  # noqa: E402
from headcount import accuracy  # noqa: E402
from tables import markdown_table  # noqa: E402
from timing import best_of_three  # noqa: E402

GOALS = {"LEAP(SLD)": 1.0, "QuAcc(KDEyML)": 20.0}
N_REFERENCE, N_POOL = 5000, 20000


def methods(model):
    return {
        "Naive": accuracy.Naive(model),
        "CBPE": accuracy.CBPE(model),
        "ATC": accuracy.ATC(model),
        "DoC": accuracy.DoC(model, random_state=0),
        "Mandoline": accuracy.Mandoline(model),
        "SLEAP(SLD)": accuracy.SLEAP(model, quantifier=hc.SLD()),
        "LEAP(SLD)": accuracy.LEAP(model, quantifier=hc.SLD()),
        "OLEAP(SLD)": accuracy.OLEAP(model, quantifier=hc.SLD()),
        "LEAP(KDEyML)": accuracy.LEAP(model, quantifier=hc.KDEyML()),
        "QuAcc(SLD)": accuracy.QuAcc(model, quantifier=hc.SLD(random_state=0)),
        "QuAcc(KDEyML)": accuracy.QuAcc(model, quantifier=hc.KDEyML(random_state=0)),
        "QuAcc(KDEyML), nxn": accuracy.QuAcc(
            model, quantifier=hc.KDEyML(random_state=0), variant="nxn"
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    workload = clouds(0)
    X, y = workload.X[:N_REFERENCE], workload.y[:N_REFERENCE]
    pool, labels = workload.X_pool[:N_POOL], workload.y_pool[:N_POOL]
    samples = hc.APP(n_prevalences=21, repeats=100, size=1000, random_state=0).draw(labels)
    rows = []
    for name, predictor in methods(workload.model).items():
        start = time.perf_counter()
        predictor.fit(X, y)
        fitting = time.perf_counter() - start
        predictor.predict_many(pool, samples[:2])  # compiles what is not compiled yet
        seconds, _ = best_of_three(lambda p=predictor: p.predict_many(pool, samples))
        goal = GOALS.get(name)
        met = None if goal is None else bool(seconds < goal)
        rows.append(
            {"method": name, "fit": fitting, "predict": seconds, "goal": goal, "met": met}
        )
        print(rows[-1], flush=True)
    content = {"head": describe_machine(), "rows": rows}
    (given.out / "accuracy_speed.json").write_text(json.dumps(content, indent=1) + "\n")
    lines = [
        [row["method"], f"{row['fit']:.2f}", f"{row['predict']:.2f}",
         "" if row["goal"] is None else f"under {row['goal']:g}"]
        for row in rows
    ]  # fmt: skip
    table = markdown_table(["method", "fit, s", "2,100 samples of 1,000, s", "goal"], lines)
    (given.out / "accuracy_speed.md").write_text(table + "\n")
    print(table)


if __name__ == "__main__":
    main()
