"""``headcount accuracy``: options in, text out."""

from __future__ import annotations

from typing import Annotated

import typer

from headcount.cli.options import (
    BY,
    DATE_COLUMN,
    DATE_ORDER,
    HISTORY,
    JSON,
    LEARNING,
    LEVEL,
    METHOD,
    OUTPUT,
    REPORT,
    SEED,
    SEPARATOR,
    STRICT,
    check_inputs,
    check_outputs,
    finish,
    option,
    plain_separator,
)

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
        LEARNING,
    ),
]
_TARGET = Annotated[str, option("Column of the labels, in the reference.", "COLUMN", LEARNING)]
_PREDICTION = Annotated[
    str | None,
    option(
        "Column of the predicted classes, in both tables; the likeliest by default.",
        "COLUMN",
        LEARNING,
    ),
]
_METRIC = Annotated[
    str,
    option("accuracy, f1, precision, recall, balanced_accuracy, mcc ...", "NAME", METHOD),
]
_METHOD = Annotated[
    str,
    option("LEAP and others for a new mix of classes, CBPE for new inputs.", "NAME", METHOD),
]


def accuracy(
    new: _NEW,
    reference: _REFERENCE,
    target: _TARGET,
    prediction: _PREDICTION = None,
    metric: _METRIC = "accuracy",
    method: _METHOD = "LEAP",
    by: BY = None,
    date_column: DATE_COLUMN = None,
    date_order: DATE_ORDER = None,
    history: HISTORY = "auto",
    level: LEVEL = 0.95,
    seed: SEED = 0,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    json: JSON = False,
    strict: STRICT = False,
) -> tuple[str, int]:
    """Predict a model's accuracy without labels."""
    # Before anything heavy is imported.
    check_inputs(new, reference)
    check_outputs(output, report, sources=(new, reference))
    from headcount.tables.accuracy import analyse_accuracy

    analysis = analyse_accuracy(
        new,
        reference=reference,
        target=target,
        prediction=prediction,
        metric=metric,
        method=method,
        by=by,
        date_column=date_column,
        date_order=date_order,
        history=history,
        level=level,
        random_state=seed,
        separator=plain_separator(separator),
    )
    text = "" if json else analysis.to_text()
    return finish(analysis, text, output=output, report=report, json=json, strict=strict)
