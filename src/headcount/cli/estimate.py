"""``headcount estimate``, ``backtest`` and ``label``: options in, text out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli import options as shared
from headcount.cli.options import flag, option
from headcount.errors import HeadcountError

LEAVE_OUT = Annotated[
    list[str] | None,
    option("Do not learn from this column; repeatable.", "COLUMN", shared.LEARNING),
]
METHOD_NAME = Annotated[
    str, option("See headcount methods; auto combines strong ones.", "NAME", shared.METHOD)
]
CLASSIFIER = Annotated[
    str,
    option(
        "Classifier of the columns: logistic, forest, boosting, or auto for the best of "
        "logistic and boosting by log loss.",
        "NAME",
        shared.METHOD,
    ),
]
TITLE = Annotated[str | None, option("Heading of the page.", "TEXT", shared.RESULTS)]


_NEW = Annotated[
    list[str],
    typer.Argument(
        metavar="NEW",
        help="Table of the items to count, without labels: files, patterns, a folder, or - "
        "for standard input; or statistics that headcount statistics wrote, as .hcs.",
    ),
]
_TRAIN = Annotated[
    list[str] | None,
    option(
        "Table of labelled items to learn from; repeatable. Without it, rows of NEW with a "
        "label are learnt from, and the others counted.",
        "TABLE",
        shared.LEARNING,
    ),
]
_SCORES = Annotated[
    list[str] | None,
    option(
        "Instead of --train: a table of labelled items with a classifier's posteriors, "
        "made out-of-sample, in a column for each class, or in one for the positive class. "
        "NEW then has the same columns.",
        "TABLE",
        shared.LEARNING,
    ),
]
_MODEL = Annotated[
    Path | None,
    option("Instead of --train: a file that --save wrote.", "FILE", shared.LEARNING),
]
_TARGET = Annotated[
    str | None,
    option(
        "Column of the labels, in the labelled table, or a pattern of columns of tags such "
        'as "tag_*".',
        "COLUMN",
        shared.LEARNING,
    ),
]
_LABELLED = Annotated[
    Path | None,
    option(
        "Labels of some rows of NEW: the table of headcount label, filled in. The shares "
        "are then valid whatever has changed.",
        "TABLE",
        shared.LEARNING,
    ),
]
_RANDOM_LABELS = Annotated[
    bool,
    flag(
        "--random-labels",
        "The rows with labels, in --labelled or in the column --target of NEW, are a "
        "simple random sample.",
        shared.LEARNING,
    ),
]
_SAVE = Annotated[
    Path | None, option("Write the fitted model, for --model.", "FILE", shared.RESULTS)
]
_VERBOSE = Annotated[
    bool, flag("--verbose -v", "Print the treatment of each column.", shared.RESULTS)
]


def estimate(
    new: _NEW,
    train: _TRAIN = None,
    scores: _SCORES = None,
    model: _MODEL = None,
    target: _TARGET = None,
    by: shared.BY = None,
    date_column: shared.DATE_COLUMN = None,
    date_order: shared.DATE_ORDER = None,
    history: shared.HISTORY = "auto",
    leave_out: LEAVE_OUT = None,
    labelled: _LABELLED = None,
    random_labels: _RANDOM_LABELS = False,
    weight: shared.WEIGHT = None,
    cluster: shared.CLUSTER = None,
    method: METHOD_NAME = "auto",
    classifier: CLASSIFIER = "logistic",
    level: shared.LEVEL = 0.95,
    seed: shared.SEED = 0,
    separator: shared.SEPARATOR = None,
    report: shared.REPORT = None,
    output: shared.OUTPUT = None,
    title: TITLE = None,
    save: _SAVE = None,
    json: shared.JSON = False,
    strict: shared.STRICT = False,
    verbose: _VERBOSE = False,
) -> tuple[str, int]:
    """Estimate the share of each class, with intervals."""
    options = locals()
    # Before anything heavy is imported.
    shared.check_inputs(new, train, scores)
    sources = (new, train, scores, model, labelled)
    shared.check_outputs(output, report, save, sources=sources)
    from headcount.tables.from_tables import analyse, analyse_files

    if all(name.lower().endswith(shared.STATISTICS_ENDING) for name in new):
        _check_statistics(model, by, labelled, weight, cluster, save)
        merged = analyse_files(new, **shared.arguments(analyse_files, options))
        text = "" if json else merged.to_text(verbose=verbose)
        return shared.finish(
            merged, text, output=output, report=report, json=json, strict=strict
        )
    analysis = analyse(**shared.arguments(analyse, options))
    if save is not None:
        analysis.save(save)
    text = "" if json else analysis.to_text(verbose=verbose)
    return shared.finish(analysis, text, output=output, report=report, json=json, strict=strict)


def _check_statistics(model: Path | None, *options: object) -> None:
    """Raise an error if options do not fit files of statistics."""
    if model is None:
        raise HeadcountError("`model` is missing: pass the model of the statistics.")
    if any(option is not None for option in options):
        raise HeadcountError(
            "`by`, `labelled`, `weight`, `cluster` and `save` are for tables, not for files of "
            "statistics: leave them out."
        )


_LABELLED_OF_BACKTEST = Annotated[
    list[str],
    typer.Argument(
        metavar="LABELLED", help="Table of labelled items: files, patterns or a folder."
    ),
]
_SCORES_OF_BACKTEST = Annotated[
    bool,
    flag(
        "--scores",
        "The other columns hold a classifier's posteriors, made out-of-sample.",
        shared.LEARNING,
    ),
]


def backtest(
    labelled: _LABELLED_OF_BACKTEST,
    target: Annotated[str, option("Column of the labels.", "COLUMN", shared.LEARNING)],
    by: shared.BY = None,
    date_column: shared.DATE_COLUMN = None,
    date_order: shared.DATE_ORDER = None,
    scores: _SCORES_OF_BACKTEST = False,
    leave_out: LEAVE_OUT = None,
    method: METHOD_NAME = "auto",
    classifier: CLASSIFIER = "logistic",
    level: shared.LEVEL = 0.95,
    seed: shared.SEED = 0,
    separator: shared.SEPARATOR = None,
    report: shared.REPORT = None,
    output: shared.OUTPUT = None,
    title: TITLE = None,
    json: shared.JSON = False,
) -> str:
    """Test the estimates on labelled months or groups."""
    options = locals()
    shared.check_inputs(labelled)
    shared.check_outputs(output, report, sources=[labelled])
    from headcount.tables.backtests import backtest as run
    from headcount.tables.readers import write_table

    result = run(**shared.arguments(run, options))
    if output is not None:
        write_table(result.to_frame(level), output)
    if report is not None:
        result.report(report)
    return shared.as_json(result.to_dict()) if json else result.to_text()


_NEW_OF_LABEL = Annotated[
    Path, typer.Argument(metavar="NEW", help="Table of the items whose shares are wanted.")
]
_OUTPUT = Annotated[Path, option("Table of the rows to label; .csv, .xlsx or another.", "FILE")]
_PRECISION = Annotated[
    float | None, option("Half the width that intervals should have, as 0.01.", "X")
]
_BUDGET = Annotated[int | None, option("Instead of --precision: number of labels.", "N")]
_POSITIVE = Annotated[
    str | None,
    option("The only class whose share matters; all classes by default.", "CLASS"),
]
_SHOW = Annotated[
    list[str] | None,
    option(
        "Column of NEW that people need to see to label a row; repeatable. All columns by "
        "default, except those that hold scores or labels.",
        "COLUMN",
    ),
]


def label(
    new: _NEW_OF_LABEL,
    model: shared.MODEL,
    output: _OUTPUT,
    precision: _PRECISION = None,
    budget: _BUDGET = None,
    positive: _POSITIVE = None,
    by: shared.BY = None,
    date_column: shared.DATE_COLUMN = None,
    date_order: shared.DATE_ORDER = None,
    show: _SHOW = None,
    level: shared.LEVEL = 0.95,
    seed: shared.SEED = 0,
    separator: shared.SEPARATOR = None,
    json: shared.JSON = False,
) -> str:
    """Choose new items to label, at random."""
    options = locals()
    shared.check_outputs(output, sources=(new, model))
    from headcount.tables.from_tables import plan_labels
    from headcount.tables.readers import write_table
    from headcount.tables.roles import check_unlabelled

    check_unlabelled(output)

    plan, table = plan_labels(**shared.arguments(plan_labels, options))
    check_unlabelled(output)  # again, as people may have begun meanwhile
    write_table(table, output)
    if json:
        return shared.as_json(plan.to_dict() | {"output": str(output)})
    return (
        f"{plan!r}\nFill in the column label of {output.name}, keep all its rows, and pass it "
        f"to headcount estimate as --labelled."
    )
