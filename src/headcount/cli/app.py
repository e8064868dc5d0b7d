"""The commands and their options. Commands return the text to print."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.accuracy import accuracy
from headcount.cli.exit_codes import DONE, UNRELIABLE
from headcount.cli.options import (
    BY,
    DATE,
    DATES,
    JSON,
    LEVEL,
    OUTPUT,
    REPORT,
    SEED,
    SEPARATOR,
    STRICT,
    check_inputs,
    plain_separator,
)
from headcount.cli.study import study

__all__ = ["app"]

app = typer.Typer(
    name="headcount",
    help="How much of each class is in a set of items nobody has labelled.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(study)
app.command()(accuracy)

_AUTO = ["auto", "strong methods combined, see AutoQuantifier", "native", "prior"]


def _version(wanted: bool) -> None:
    if wanted:
        from headcount import __version__

        typer.echo(f"headcount {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def estimate(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="NEW",
            help="Table of the items to count, without labels: files, patterns, a folder, or - "
            "for standard input.",
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
        typer.Option("--target", help="Column of the labels, in the labelled table."),
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
    from headcount._files import TABLE_ENDINGS, check_writable

    # Before anything heavy is imported.
    check_inputs(new, train, scores)
    for path, option, endings in (
        (output, "--output", TABLE_ENDINGS),
        (report, "--report", (".html", ".htm")),
        (save, "--save", (".skops",)),
    ):
        if path is not None:
            check_writable(path, option, endings)
    from headcount.analysis import analyse
    from headcount.data.writers import write_table

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
        level=level,
        random_state=seed,
        separator=plain_separator(separator),
        title=title,
    )
    if output is not None:
        write_table(analysis.to_frame(), output)
    if report is not None:
        analysis.report(report)
    if save is not None:
        analysis.save(save)
    if json:
        content = analysis.to_dict()
        text = json_text.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    else:
        text = analysis.to_text(verbose=verbose)
    return text, UNRELIABLE if strict and not analysis.is_reliable else DONE


@app.command()
def methods(json: JSON = False) -> str:
    """List the methods."""
    import headcount as hc
    from headcount._text import text_table

    rows = hc.methods().to_frame().to_dicts()
    if json:
        return json_text.dumps(rows, ensure_ascii=False, indent=2)
    shown = [
        [str(row[name]) for name in ("method", "title", "multiclass", "shift")] for row in rows
    ]
    head = ["method", "title", "more than two classes", "assumed shift"]
    return "\n".join(text_table(head, [_AUTO, *shown], n_texts=4))


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the tables and the page.")
    ] = Path("headcount-demo"),
    json: JSON = False,
    seed: SEED = 0,
) -> str:
    """Estimate from real items and compare with the truth; write tables, pages, a picture."""
    from headcount.cli.demo import run_demo

    return run_demo(folder, seed=seed).text(as_json=json)
