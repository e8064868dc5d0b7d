"""``headcount estimate``: options in, text out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import (
    BY,
    CLUSTER,
    DATE,
    DATES,
    JSON,
    LEVEL,
    OUTPUT,
    REPORT,
    SEED,
    SEPARATOR,
    STRICT,
    WEIGHT,
    check_inputs,
    plain_separator,
)
from headcount.cli.outputs import check_outputs, finish
from headcount.cli.summarise import ENDING

__all__ = ["estimate"]


def estimate(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="NEW",
            help="Table of the items to count, without labels: files, patterns, a folder, or - "
            "for standard input; or statistics that headcount summarise wrote, as .hcs.",
        ),
    ],
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            help="Table of labelled items to learn from; repeatable. Without it, rows of NEW "
            "with a label are learnt from, and the others counted.",
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(
            "--scores",
            help="Instead of --train: a table of labelled items with a classifier's "
            "posteriors, made out-of-sample, in a column for each class, or in one for the "
            "positive class. NEW then has the same columns.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Instead of --train: a file that --save wrote."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="Column of the labels, in the labelled table, or a pattern of columns of tags "
            'such as "tag_*".',
        ),
    ] = None,
    by: BY = None,
    date: DATE = None,
    dates: DATES = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            "--leave-out", metavar="COLUMN", help="Do not learn from this column; repeatable."
        ),
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            "--labelled",
            help="Labels of some rows of NEW: the table of headcount label, filled in. The "
            "shares then hold whatever has changed.",
        ),
    ] = None,
    random_labels: Annotated[
        bool,
        typer.Option(
            "--random-labels",
            help="The rows with labels, in --labelled or in the column --target of NEW, are a "
            "simple random sample.",
        ),
    ] = False,
    weight: WEIGHT = None,
    cluster: CLUSTER = None,
    method: Annotated[
        str, typer.Option("--method", help="See headcount methods; auto combines strong ones.")
    ] = "auto",
    classifier: Annotated[
        str,
        typer.Option(
            "--classifier",
            help="Classifier of the columns: logistic, forest, boosting, or auto for the best "
            "of logistic and boosting by log loss.",
        ),
    ] = "logistic",
    level: LEVEL = 0.95,
    seed: SEED = 0,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the fitted model, for --model.")
    ] = None,
    json: JSON = False,
    strict: STRICT = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the treatment of each column.")
    ] = False,
) -> tuple[str, int]:
    """Estimate the share of each class among new items, with intervals."""
    # Before anything heavy is imported.
    check_inputs(new, train, scores)
    check_outputs(output, report, save)
    from headcount.analysis import analyse, analyse_files

    if all(name.lower().endswith(ENDING) for name in new):
        _check_statistics(model, by, labelled, weight, cluster, save)
        merged = analyse_files(new, model=model, level=level, random_state=seed, title=title)
        text = "" if json else merged.to_text(verbose=verbose)
        return finish(merged, text, output=output, report=report, json=json, strict=strict)
    analysis = analyse(
        new,
        train=train or None,
        scores=scores or None,
        model=model,
        target=target,
        by=by,
        date=date,
        dates=dates,
        method=method,
        classifier=classifier,
        leave_out=leave_out or (),
        labelled=labelled,
        random_labels=random_labels,
        weight=weight,
        cluster=cluster,
        level=level,
        random_state=seed,
        separator=plain_separator(separator),
        title=title,
    )
    if save is not None:
        analysis.save(save)
    text = "" if json else analysis.to_text(verbose=verbose)
    return finish(analysis, text, output=output, report=report, json=json, strict=strict)


def _check_statistics(model: Path | None, *others: object) -> None:
    """Raise an error if options do not fit files of statistics."""
    from headcount.errors import HeadcountError

    if model is None:
        raise HeadcountError("`model` is missing: pass the model of the statistics.")
    if any(given is not None for given in others):
        raise HeadcountError(
            "`by`, `labelled`, `weight`, `cluster` and `save` are for tables, not for files of "
            "statistics: leave them out."
        )
