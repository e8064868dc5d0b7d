"""nannyml's side of accuracy_versus_nannyml.py, in an environment that has nannyml.

    python accuracy_nannyml.py WORKLOAD.npz ANSWERS.json

The workload holds scores and labels of a reference, and scores of chunks of one size, one
after the other; the answers are nannyml's estimates for each chunk, with bands and alerts.
"""

from __future__ import annotations

import os

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd


def frame(scores, labels=None):
    columns = {"score": scores[:, 1], "predicted": scores.argmax(axis=1)}
    return pd.DataFrame(columns if labels is None else columns | {"label": labels})


def main(workload, answers):
    import nannyml

    content = np.load(workload)
    size = int(content["size"])
    estimator = nannyml.CBPE(
        problem_type="classification_binary",
        y_pred_proba="score",
        y_pred="predicted",
        y_true="label",
        metrics=["accuracy", "f1"],
        chunk_size=size,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(frame(content["reference"], content["labels"]))
        found = estimator.estimate(frame(content["chunks"])).filter(period="analysis")
    seconds = time.perf_counter() - start
    table = found.to_df()
    said = {name: table[(name, "value")].tolist() for name in ("accuracy", "f1")}
    for name, column in (
        ("low", "lower_confidence_boundary"),
        ("high", "upper_confidence_boundary"),
        ("alert", "alert"),
    ):
        said[name] = table[("accuracy", column)].tolist()
    said |= {"seconds": seconds, "nannyml": version("nannyml")}
    Path(answers).write_text(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
