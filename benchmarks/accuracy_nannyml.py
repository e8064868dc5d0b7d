"""nannyml's side of accuracy_versus_nannyml.py, in an environment that has nannyml.

    python accuracy_nannyml.py WORKLOAD.npz ANSWERS.json

The workload holds scores and labels of a reference, and scores of chunks of one size, one
after the other, or of weeks, with the days of all rows; the answers are nannyml's estimates for
each chunk, with bands and alerts.
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


def frame(scores, labels=None, days=None):
    columns = {"score": scores[:, 1], "predicted": scores.argmax(axis=1)}
    if labels is not None:
        columns["label"] = labels
    if days is not None:
        columns["day"] = days
    return pd.DataFrame(columns)


def main(workload, answers):
    import nannyml

    content = np.load(workload)
    days = [content.get(f"{part}_days") for part in ("reference", "chunks")]
    if days[0] is None:
        by = {"chunk_size": int(content["size"])}
    else:
        by = {"chunk_period": "W", "timestamp_column_name": "day"}
    estimator = nannyml.CBPE(
        problem_type="classification_binary",
        y_pred_proba="score",
        y_pred="predicted",
        y_true="label",
        metrics=["accuracy", "f1"],
        **by,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(frame(content["reference"], content["labels"], days[0]))
        found = estimator.estimate(frame(content["chunks"], days=days[1]))
        found = found.filter(period="analysis")
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
