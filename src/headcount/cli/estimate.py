"""``headcount estimate``, ``backtest`` and ``label``: options in, text out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.options import (
    BY,
    CLUSTER,
    DATE_COLUMN,
    DATE_ORDER,
    HISTORY,
    JSON,
    LEARNING,
    LEVEL,
    METHOD,
    MODEL,
    OUTPUT,
    REPORT,
    RESULTS,
    SEED,
    SEPARATOR,
    STATISTICS_ENDING,
    STRICT,
    WEIGHT,
    as_json,
    check_inputs,
    check_outputs,
    finish,
    plain_separator,
)
from headcount.errors import HeadcountError

LEAVE_OUT = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="COLUMN",
        help="Do not learn from this column; repeatable.",
        rich_help_panel=LEARNING,
    ),
]
METHOD_NAME = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="See headcount methods; auto combines strong ones.",
        rich_help_panel=METHOD,
    ),
]
CLASSIFIER = Annotated[
    str,
    typer.Option(
        "--classifier",
        metavar="NAME",
        help="Classifier of the columns: logistic, forest, boosting, or auto for the best of "
        "logistic and boosting by log loss.",
        rich_help_panel=METHOD,
    ),
]
TITLE = Annotated[
    str | None,
    typer.Option(
        "--title", metavar="TEXT", help="Heading of the page.", rich_help_panel=RESULTS
    ),
]


def estimate(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="NEW",
            help="Table of the items to count, without labels: files, patterns, a folder, or - "
            "for standard input; or statistics that headcount statistics wrote, as .hcs.",
        ),
    ],
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="TABLE",
            help="Table of labelled items to learn from; repeatable. Without it, rows of NEW "
            "with a label are learnt from, and the others counted.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(
            "--scores",
            metavar="TABLE",
            help="Instead of --train: a table of labelled items with a classifier's "
            "posteriors, made out-of-sample, in a column for each class, or in one for the "
            "positive class. NEW then has the same columns.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Instead of --train: a file that --save wrote.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="Column of the labels, in the labelled table, or a pattern of columns of tags "
            'such as "tag_*".',
            rich_help_panel=LEARNING,
        ),
    ] = None,
    by: BY = None,
    date_column: DATE_COLUMN = None,
    date_order: DATE_ORDER = None,
    history: HISTORY = "auto",
    leave_out: LEAVE_OUT = None,
    labelled: Annotated[
        Path | None,
        typer.Option(
            "--labelled",
            metavar="TABLE",
            help="Labels of some rows of NEW: the table of headcount label, filled in. The "
            "shares are then valid whatever has changed.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    random_labels: Annotated[
        bool,
        typer.Option(
            "--random-labels",
            help="The rows with labels, in --labelled or in the column --target of NEW, are a "
            "simple random sample.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    weight: WEIGHT = None,
    cluster: CLUSTER = None,
    method: METHOD_NAME = "auto",
    classifier: CLASSIFIER = "logistic",
    level: LEVEL = 0.95,
    seed: SEED = 0,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    title: TITLE = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Write the fitted model, for --model.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    json: JSON = False,
    strict: STRICT = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Print the treatment of each column.",
            rich_help_panel=RESULTS,
        ),
    ] = False,
) -> tuple[str, int]:
    """Estimate the share of each class, with intervals."""
    # Before anything heavy is imported.
    check_inputs(new, train, scores)
    sources = (new, train, scores, model, labelled)
    check_outputs(output, report, save, sources=sources)
    from headcount.tables.from_tables import analyse, analyse_files

    if all(name.lower().endswith(STATISTICS_ENDING) for name in new):
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
        date_column=date_column,
        date_order=date_order,
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
        history=history,
    )
    if save is not None:
        analysis.save(save)
    text = "" if json else analysis.to_text(verbose=verbose)
    return finish(analysis, text, output=output, report=report, json=json, strict=strict)


def _check_statistics(model: Path | None, *options: object) -> None:
    """Raise an error if options do not fit files of statistics."""
    if model is None:
        raise HeadcountError("`model` is missing: pass the model of the statistics.")
    if any(option is not None for option in options):
        raise HeadcountError(
            "`by`, `labelled`, `weight`, `cluster` and `save` are for tables, not for files of "
            "statistics: leave them out."
        )


def backtest(
    labelled: Annotated[
        list[str],
        typer.Argument(
            metavar="LABELLED", help="Table of labelled items: files, patterns or a folder."
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            "--target", metavar="COLUMN", help="Column of the labels.", rich_help_panel=LEARNING
        ),
    ],
    by: BY = None,
    date_column: DATE_COLUMN = None,
    date_order: DATE_ORDER = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="The other columns hold a classifier's posteriors, made out-of-sample.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    leave_out: LEAVE_OUT = None,
    method: METHOD_NAME = "auto",
    classifier: CLASSIFIER = "logistic",
    level: LEVEL = 0.95,
    seed: SEED = 0,
    separator: SEPARATOR = None,
    report: REPORT = None,
    output: OUTPUT = None,
    title: TITLE = None,
    json: JSON = False,
) -> str:
    """Test the estimates on labelled months or groups."""
    check_inputs(labelled)
    check_outputs(output, report, sources=[labelled])
    from headcount.tables.backtests import backtest as run
    from headcount.tables.readers import write_table

    result = run(
        labelled,
        target=target,
        by=by,
        scores=scores,
        date_column=date_column,
        date_order=date_order,
        method=method,
        classifier=classifier,
        leave_out=leave_out or (),
        level=level,
        random_state=seed,
        separator=plain_separator(separator),
        title=title,
    )
    if output is not None:
        write_table(result.to_frame(level), output)
    if report is not None:
        result.report(report)
    return as_json(result.to_dict()) if json else result.to_text()


def label(
    new: Annotated[
        Path,
        typer.Argument(metavar="NEW", help="Table of the items whose shares are wanted."),
    ],
    model: MODEL,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Table of the rows to label; .csv, .xlsx or another.",
        ),
    ],
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            metavar="X",
            help="Half the width that intervals should have, as 0.01.",
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", help="Instead of --precision: number of labels."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="CLASS",
            help="The only class whose share matters; all classes by default.",
        ),
    ] = None,
    by: BY = None,
    date_column: DATE_COLUMN = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="COLUMN",
            help="Column of NEW that people need to see to label a row; repeatable. All "
            "columns by default, except those that hold scores or labels.",
        ),
    ] = None,
    level: LEVEL = 0.95,
    seed: SEED = 0,
    separator: SEPARATOR = None,
    json: JSON = False,
) -> str:
    """Choose new items to label, at random."""
    check_outputs(output, sources=(new, model))
    from headcount.tables.from_tables import plan_labels
    from headcount.tables.label_columns import check_unlabelled
    from headcount.tables.readers import write_table

    check_unlabelled(output)

    plan, table = plan_labels(
        new,
        model=model,
        precision=precision,
        budget=budget,
        positive=positive,
        by=by,
        date_column=date_column,
        show=show,
        level=level,
        random_state=seed,
        separator=plain_separator(separator),
    )
    check_unlabelled(output)  # again, as people may have begun meanwhile
    write_table(table, output)
    if json:
        return as_json(plan.to_dict() | {"output": str(output)})
    return (
        f"{plan!r}\nFill in the column label of {output.name}, keep all its rows, and pass it "
        f"to headcount estimate as --labelled."
    )
