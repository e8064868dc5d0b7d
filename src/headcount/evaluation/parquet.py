"""Evaluations as Parquet files: the table of results, and the rest in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount._versions import versions
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

    from headcount.evaluation.evaluation import Evaluation

__all__ = ["read_parquet", "write_parquet"]

_KEY = "headcount"


def write_parquet(evaluation: Evaluation, path: str | Path) -> None:
    """Write an evaluation to a file.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation.
    path : str or Path
        The file; one that is there is overwritten.
    """
    import polars as pl

    labels, priors = evaluation.classes.tolist(), evaluation.priors
    by_sample = priors.ndim == 3
    head = {
        "methods": evaluation.methods,
        "classes": labels,
        "dtype": evaluation.classes.dtype.str,
        "priors": None if by_sample else priors.tolist(),
        "metrics": list(evaluation.metrics),
        "seconds": evaluation.seconds.tolist(),
        "parameters": dict(evaluation.parameters),
        "failures": dict(evaluation.failures),
        "versions": versions(),
    }
    frame = evaluation.to_frame()
    if by_sample:
        columns = zip(labels, np.moveaxis(priors, -1, 0), strict=True)
        frame = frame.with_columns(
            pl.Series(f"prior_{label}", column.ravel()) for label, column in columns
        )
    frame.write_parquet(path, metadata={_KEY: json.dumps(head)})


def read_parquet(path: str | Path) -> dict[str, Any]:
    """Read the fields of an evaluation from a file.

    Parameters
    ----------
    path : str or Path
        File that `write_parquet` wrote.

    Returns
    -------
    dict of str to object
    """
    import polars as pl

    written = pl.read_parquet_metadata(path).get(_KEY)
    if written is None:
        raise HeadcountError(
            f"{path} is a table, but not one written by Evaluation.to_parquet: read it "
            "with polars.read_parquet."
        )
    head, frame = json.loads(written), pl.read_parquet(path)
    labels, shape = head["classes"], (len(head["methods"]), -1)
    first = frame[: len(frame) // shape[0]]
    by_sample = head["priors"] is None
    return {
        "methods": tuple(head["methods"]),
        "classes": np.array(labels, dtype=head["dtype"]),
        "true": _columns(first, "true", labels),
        "estimated": _columns(frame, "estimated", labels).reshape(*shape, len(labels)),
        "sizes": first["size"].to_numpy(),
        "priors": _columns(frame, "prior", labels).reshape(*shape, len(labels))
        if by_sample
        else np.array(head["priors"]),
        "metrics": {name: frame[name].to_numpy().reshape(shape) for name in head["metrics"]},
        "seconds": np.array(head["seconds"]),
        "parameters": head["parameters"],
        "failures": head["failures"],
    }


def _columns(frame: pl.DataFrame, what: str, labels: list[Any]) -> NDArray[np.float64]:
    return np.column_stack([frame[f"{what}_{label}"].to_numpy() for label in labels])
