"""Reference of a monitor: labelled items, scored like those of the chunks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount.analysis.label_columns import read_labelled
from headcount.analysis.model_files import load_model
from headcount.analysis.models import TableModel
from headcount.analysis.options import as_table
from headcount.analysis.score_columns import find_score_columns
from headcount.data.readers import TableFile
from headcount.errors import HeadcountError, warn
from headcount.monitor.deliveries import LABEL, VERDICT, as_frame, class_codes
from headcount.monitor.spec import MonitorSpec
from headcount.scores import Scored, Verdicts

__all__ = ["Reference", "read_reference"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """Labelled items, scored like those of the chunks.

    Attributes
    ----------
    scores : ndarray of shape (n, K) or (n, 1)
        Posteriors, or codes of decisions.
    predictions : ndarray of int64, shape (n,)
        Codes of the predicted classes; -1 for the likeliest.
    labels : ndarray of int64, shape (n,)
        Codes of the classes.
    """

    scores: Floats
    predictions: NDArray[np.int64]
    labels: NDArray[np.int64]

    def to_bytes(self) -> bytes:
        """Parquet file."""
        columns = {f"score {j}": column for j, column in enumerate(self.scores.T)}
        frame = pl.DataFrame({**columns, "prediction": self.predictions, "label": self.labels})
        file = BytesIO()
        frame.write_parquet(file, compression="zstd", statistics=False)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Reference:
        """Reference of a Parquet file."""
        frame = pl.read_parquet(BytesIO(content))
        scores = [frame[f"score {j}"].to_numpy() for j in range(frame.width - 2)]
        predictions, labels = frame["prediction"].to_numpy(), frame["label"].to_numpy()
        return cls(np.column_stack(scores), predictions, labels)


def read_reference(
    spec: MonitorSpec, reference: Any, target: Any, verdict: str | None, separator: str | None
) -> tuple[MonitorSpec, Reference, TableModel | None]:
    """Read the reference of a new monitor.

    Parameters
    ----------
    spec : MonitorSpec
        Settings so far.
    reference, target, verdict, separator
        As for `Monitor.create`.

    Returns
    -------
    spec : MonitorSpec
        Settings, with those that the reference decides.
    reference : Reference
        The labelled items.
    model : TableModel or None
        Model that scores items, if the reference is one.
    """
    model = _model(reference)
    if model is not None:
        return _of_model(spec, model)
    if isinstance(reference, Scored | Verdicts):
        if target is None or isinstance(target, str):
            raise HeadcountError("`target` must be the labels of the items, one per item.")
        if spec.date == "" and spec.by:
            spec = replace(spec, date="date")
        if isinstance(reference, Verdicts):
            verdict = VERDICT
        elif reference.predictions is not None:
            spec = replace(spec, prediction="prediction")
        reference, target = as_frame(reference, labels=target), LABEL
    if not isinstance(target, str):
        raise HeadcountError("`target` must name the column of the labels in the reference.")
    table = as_table(reference, "reference", separator)
    table.require([target], "which `target` names")
    found = read_labelled(table, target)
    labels, table = found.labels, found.table
    for note in found.notes:
        warn(note)
    classes, codes = np.unique(labels, return_inverse=True)
    spec = replace(spec, target=target, classes=tuple(classes.tolist()))
    made = _of_scores if verdict is None else partial(_of_verdicts, verdict=verdict)
    return *made(spec, table, codes), None


def _of_verdicts(
    spec: MonitorSpec, table: TableFile, codes: NDArray[np.int64], verdict: str
) -> tuple[MonitorSpec, Reference]:
    table.require([verdict], "which `verdict` names")
    spec = replace(spec, kind="verdicts", columns=(verdict,))
    given = class_codes(table.read([verdict])[verdict], spec.classes, table.name, missing=False)
    return spec, Reference(given.astype(np.float64)[:, None], given, codes)


def _of_scores(
    spec: MonitorSpec, table: TableFile, codes: NDArray[np.int64]
) -> tuple[MonitorSpec, Reference]:
    names = (spec.prediction, spec.date, spec.group, spec.key)
    others = [name for name in names if name in table.columns]
    columns = find_score_columns(table, spec.target, list(spec.classes), others)
    predictions = np.full(len(codes), -1, np.int64)
    if spec.prediction:
        table.require([spec.prediction], "which `prediction` names")
        column = table.read([spec.prediction])[spec.prediction]
        predictions = class_codes(column, spec.classes, table.name, missing=False)
    spec = replace(spec, columns=columns.names, positive=columns.positive)
    return spec, Reference(columns.read(table), predictions, codes)


def _model(reference: Any) -> TableModel | None:
    """Model that a reference is, or is the file of."""
    if isinstance(reference, TableModel):
        return reference
    if not isinstance(reference, str | os.PathLike) or Path(reference).suffix != ".skops":
        return None
    found = load_model(Path(reference))
    if not isinstance(found, TableModel):
        raise HeadcountError(
            "`reference` is a model of scores: pass the labelled table of scores instead."
        )
    return found


def _of_model(
    spec: MonitorSpec, model: TableModel
) -> tuple[MonitorSpec, Reference, TableModel]:
    scorer = model.quantifier.fitted_.scorer
    if scorer is None or not scorer.has_posteriors_:
        raise HeadcountError(
            "`reference` is a model without out-of-fold posteriors: save one of a method that "
            "uses a single classifier, such as SLD or PACC."
        )
    spec = replace(
        spec, kind="items", target=model.target, classes=tuple(scorer.classes_.tolist())
    )
    codes = np.asarray(scorer.codes_, np.int64)
    return spec, Reference(scorer.posteriors_, np.full(len(codes), -1), codes), model
