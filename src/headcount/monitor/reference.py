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
from numpy.typing import ArrayLike, NDArray

from headcount._support.arrays import Floats, Ints
from headcount.errors import HeadcountError, warn
from headcount.items.arrays import Scored, Verdicts
from headcount.monitor.deliveries import LABEL, VERDICT, MonitorSpec, as_frame, class_codes
from headcount.monitor.folder import Rows, parquet_bytes
from headcount.tables.model_files import load_model
from headcount.tables.models import TableModel
from headcount.tables.readers import TableFile, as_table
from headcount.tables.roles import (
    PERIODS,
    find_score_columns,
    group_names,
    only_date,
    read_labelled,
)


@dataclass(frozen=True, eq=False)
class MonitorReference:
    """Labelled items, scored like those of the chunks."""

    scores: Floats  # posteriors, or codes of decisions
    predictions: Ints  # codes of the predicted classes; -1 for the likeliest
    labels: Ints  # codes of the classes
    periods: NDArray[np.str_] | None = None  # names of their chunks; empty for no date

    def to_bytes(self) -> bytes:
        """Parquet file."""
        columns: dict[str, Any] = {"prediction": self.predictions, "label": self.labels}
        if self.periods is not None:
            columns["period"] = pl.Series(self.periods.tolist(), dtype=pl.String)
        return parquet_bytes(self.scores, columns)

    @classmethod
    def from_bytes(cls, content: bytes) -> MonitorReference:
        """Reference of a Parquet file."""
        frame = pl.read_parquet(BytesIO(content))
        scores = frame.select(pl.col("^score \\d+$")).to_numpy()
        predictions, labels = frame["prediction"].to_numpy(), frame["label"].to_numpy()
        periods = np.array(frame["period"].to_list(), str) if "period" in frame else None
        return cls(np.ascontiguousarray(scores), predictions, labels, periods)

    def to_rows(self) -> Rows:
        """The items as rows of a chunk."""
        n = len(self.labels)
        keys, no_label = np.arange(n, dtype=np.uint64), np.zeros(n, bool)
        return Rows(keys, self.scores, self.predictions, self.labels, no_label)

    def in_periods(self) -> list[Ints]:
        """Rows of each period, in the order of time."""
        if self.periods is None:
            return []
        names = [name for name in np.unique(self.periods).tolist() if name]
        return [np.flatnonzero(self.periods == name) for name in names]


def read_reference(
    spec: MonitorSpec,
    reference: Any,
    target: Any,
    verdict: str | None,
    separator: str | None,
    dates: ArrayLike | None,
) -> tuple[MonitorSpec, MonitorReference, TableModel | None]:
    """Read the reference of a new monitor."""
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
        reference, target = as_frame(reference, labels=target, dates=dates), LABEL
    elif dates is not None:
        raise HeadcountError(
            "`dates` is for a reference of Scored or Verdicts: in a table, it is a column."
        )
    if not isinstance(target, str):
        raise HeadcountError("`target` must name the column of the labels in the reference.")
    table = as_table(reference, "reference", separator)
    table.require([target], "which `target` names")
    labelled = read_labelled(table, target)
    labels, table = labelled.labels, labelled.table
    for note in labelled.notes:
        warn(note)
    classes, codes = np.unique(labels, return_inverse=True)
    spec = replace(spec, target=target, classes=tuple(classes.tolist()))
    maker = _of_scores if verdict is None else partial(_of_verdicts, verdict=verdict)
    spec, items = maker(spec, table, codes)
    return spec, replace(items, periods=_periods(spec, table)), None


def _periods(spec: MonitorSpec, table: TableFile) -> NDArray[np.str_] | None:
    """Names of the chunks that the labelled rows would be in; None if they have no dates."""
    if spec.date or spec.by in table.columns:
        column = spec.date or spec.by
    elif spec.by not in PERIODS:
        return None
    else:
        try:
            column = only_date(table, spec.by)
        except HeadcountError:
            return None  # a reference needs no dates
    if column not in table.columns:
        return None
    values = table.read([column])[column]
    names, notes = group_names(values, spec.by, table.name, spec.date_order or None)
    for note in notes:
        warn(note)
    return np.array(names.fill_null("").to_list(), str)


def _of_verdicts(
    spec: MonitorSpec, table: TableFile, codes: Ints, verdict: str
) -> tuple[MonitorSpec, MonitorReference]:
    table.require([verdict], "which `verdict` names")
    spec = replace(spec, kind="verdicts", columns=(verdict,))
    verdicts = class_codes(
        table.read([verdict])[verdict], spec.classes, table.name, missing=False
    )
    return spec, MonitorReference(verdicts.astype(np.float64)[:, None], verdicts, codes)


def _of_scores(
    spec: MonitorSpec, table: TableFile, codes: Ints
) -> tuple[MonitorSpec, MonitorReference]:
    names = (spec.prediction, spec.date, spec.group, spec.key)
    other_columns = [name for name in names if name in table.columns]
    columns = find_score_columns(table, spec.target, list(spec.classes), codes, other_columns)
    if columns.positive == 0 and columns.names[0] != str(spec.classes[0]):
        warn(
            f"Column {columns.names[0]!r} was taken for the score of class "
            f"{spec.classes[0]!r}, whose rows have the higher scores."
        )
    predictions = np.full(len(codes), -1, np.int64)
    if spec.prediction:
        table.require([spec.prediction], "which `prediction` names")
        column = table.read([spec.prediction])[spec.prediction]
        predictions = class_codes(column, spec.classes, table.name, missing=False)
    spec = replace(spec, columns=columns.names, positive=columns.positive)
    return spec, MonitorReference(columns.read(table), predictions, codes)


def _model(reference: Any) -> TableModel | None:
    """Model that a reference is, or is the file of."""
    if isinstance(reference, TableModel):
        return reference
    if not isinstance(reference, str | os.PathLike) or Path(reference).suffix != ".skops":
        return None
    model = load_model(Path(reference))
    if not isinstance(model, TableModel):
        raise HeadcountError(
            "`reference` is a model of scores: pass the labelled table of scores instead."
        )
    return model


def _of_model(
    spec: MonitorSpec, model: TableModel
) -> tuple[MonitorSpec, MonitorReference, TableModel]:
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
    return spec, MonitorReference(scorer.posteriors_, np.full(len(codes), -1), codes), model
