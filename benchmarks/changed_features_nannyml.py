"""nannyml's side of changed_features.py, in an environment that has nannyml.

    python changed_features_nannyml.py FOLDER

The folder holds pairs of tables, i-old.parquet and i-new.parquet; answers.json gets the ranking
of the columns of each pair and those with alerts in at least half of the chunks.
"""

from __future__ import annotations

import os

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"

import json
import sys
import warnings
from pathlib import Path

import pandas as pd

CHUNKS = 8  # of the reference


def main(folder):
    import nannyml

    answers = {}
    for path in sorted(folder.glob("*-old.parquet")):
        number = path.name.split("-")[0]
        old, new = (
            pd.read_parquet(folder / f"{number}-{side}.parquet") for side in ("old", "new")
        )
        for name in old.columns:
            if not pd.api.types.is_numeric_dtype(old[name]):
                old[name] = old[name].astype(object).where(old[name].notna(), "missing")
                new[name] = new[name].astype(object).where(new[name].notna(), "missing")
                old[name], new[name] = (
                    old[name].astype("category"),
                    new[name].astype("category"),
                )
        calculator = nannyml.UnivariateDriftCalculator(
            column_names=list(old.columns),
            continuous_methods=["jensen_shannon"],
            categorical_methods=["jensen_shannon"],
            chunk_size=len(old) // CHUNKS,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calculator.fit(old)
            table = calculator.calculate(new).filter(period="analysis").to_df()
        alerts, distances = {}, {}
        for name in old.columns:
            part = table[name]["jensen_shannon"]
            alerts[name] = float(part["alert"].fillna(False).mean())
            distances[name] = float(part["value"].fillna(0).mean())
        answers[number] = {
            "ranking": sorted(old.columns, key=lambda name: (-alerts[name], -distances[name])),
            "alerted": [name for name in old.columns if alerts[name] >= 0.5],
        }
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
