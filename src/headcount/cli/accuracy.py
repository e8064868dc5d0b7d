"""``headcount accuracy``: options in, text out."""

from __future__ import annotations

from typing import Annotated

import typer

from headcount.cli import options as shared
from headcount.cli.options import option

_NEW = Annotated[
    list[str],
    typer.Argument(metavar="NEW", help="Table of new items with the model's scores."),
]
_REFERENCE = Annotated[
    list[str],
    option(
        "Table of labelled items the model was not trained on, with its posteriors in a "
        "column for each class, or in one for the positive class.",
        "TABLE",
        shared.LEARNING,
    ),
]
_TARGET = Annotated[
    str, option("Column of the labels, in the reference.", "COLUMN", shared.LEARNING)
]
_PREDICTION = Annotated[
    str | None,
    option(
        "Column of the predicted classes, in both tables; the likeliest by default.",
        "COLUMN",
        shared.LEARNING,
    ),
]
_METRIC = Annotated[
    str,
    option(
        "accuracy, f1, precision, recall, balanced_accuracy, mcc ...", "NAME", shared.METHOD
    ),
]
_METHOD = Annotated[
    str,
    option(
        "LEAP and others for a new mix of classes, CBPE for new inputs.", "NAME", shared.METHOD
    ),
]


def accuracy(
    new: _NEW,
    reference: _REFERENCE,
    target: _TARGET,
    prediction: _PREDICTION = None,
    metric: _METRIC = "accuracy",
    method: _METHOD = "LEAP",
    by: shared.BY = None,
    date_column: shared.DATE_COLUMN = None,
    date_order: shared.DATE_ORDER = None,
    history: shared.HISTORY = "auto",
    level: shared.LEVEL = 0.95,
    seed: shared.SEED = 0,
    separator: shared.SEPARATOR = None,
    report: shared.REPORT = None,
    output: shared.OUTPUT = None,
    json: shared.JSON = False,
    strict: shared.STRICT = False,
) -> tuple[str, int]:
    """Predict a model's accuracy without labels."""
    options = locals()
    # Before anything heavy is imported.
    shared.check_inputs(new, reference)
    shared.check_outputs(output, report, sources=(new, reference))
    from headcount.tables.accuracy import analyse_accuracy

    analysis = analyse_accuracy(**shared.arguments(analyse_accuracy, options))
    text = "" if json else analysis.to_text()
    return shared.finish(analysis, text, output=output, report=report, json=json, strict=strict)
