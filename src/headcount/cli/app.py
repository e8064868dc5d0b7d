"""The commands and their options: parsing only. Commands return what is to be printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headcount.cli.accuracy import accuracy
from headcount.cli.study import study

__all__ = ["app"]

app = typer.Typer(
    name="headcount",
    help="How much of each class is in a set of items nobody has labelled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(study)
app.command()(accuracy)


def _version(wanted: bool) -> None:
    if wanted:
        from headcount import __version__

        typer.echo(f"headcount {__version__}")
        raise typer.Exit()


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


_As = typer.Option
_JSON = Annotated[bool, _As("--json", help="Print JSON, for machines.")]
_SEED = Annotated[int, _As("--seed", min=0, help="Of all that is drawn at random.")]


@app.command()
def estimate(
    new: Annotated[
        Path,
        typer.Argument(metavar="NEW", help="Table of the items to count, without labels."),
    ],
    train: Annotated[
        Path | None, _As("--train", help="Table of labelled items to learn from.")
    ] = None,
    scores: Annotated[
        Path | None,
        _As(
            "--scores",
            help="Instead of --train: a table of labelled items with a classifier's "
            "posteriors, made out-of-sample, in a column for each class, or in one for the "
            "positive class. NEW then has the same columns.",
        ),
    ] = None,
    model: Annotated[
        Path | None, _As("--model", help="Instead of --train: what --save has written.")
    ] = None,
    target: Annotated[
        str | None, _As("--target", help="Column of the labels, in the labelled table.")
    ] = None,
    by: Annotated[
        str | None,
        _As("--by", help="Also by group: a column, or year, quarter, month, week or day."),
    ] = None,
    date: Annotated[
        str | None, _As("--date", help="Column of the dates that --by month goes by.")
    ] = None,
    method: Annotated[
        str, _As("--method", help="See headcount methods; auto tries the best ones.")
    ] = "auto",
    classifier: Annotated[
        str, _As("--classifier", help="What tells the classes apart: logistic or forest.")
    ] = "logistic",
    level: Annotated[float, _As("--level", help="Of the intervals.")] = 0.95,
    seed: _SEED = 0,
    separator: Annotated[
        str | None, _As("--separator", help="Between columns of CSV files; a comma by default.")
    ] = None,
    report: Annotated[
        Path | None, _As("--report", help="Write a page to show to others, as HTML.")
    ] = None,
    output: Annotated[
        Path | None,
        _As("--output", help="Write the shares as .csv, .tsv, .parquet, .feather or .jsonl."),
    ] = None,
    save: Annotated[
        Path | None, _As("--save", help="Write what was learnt, for --model.")
    ] = None,
    json: _JSON = False,
    verbose: Annotated[
        bool, _As("--verbose", "-v", help="Say what was done with each column.")
    ] = False,
) -> str:
    """Estimate the share of each class among new items, with intervals."""
    from headcount.cli.estimating import Wishes, estimate_files

    wishes = Wishes(
        new=new, train=train, scores=scores, model=model, target=target, by=by, date=date,
        method=method, classifier=classifier, level=level, seed=seed,
        separator=separator, report=report, output=output, save=save,
    )  # fmt: skip
    return estimate_files(wishes).text(as_json=json, verbose=verbose)


@app.command()
def methods(json: _JSON = False) -> str:
    """List the methods."""
    from headcount.cli.listing import list_methods

    return list_methods(as_json=json)


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write the tables and the page.")
    ] = Path("headcount-demo"),
    json: _JSON = False,
    seed: _SEED = 0,
) -> str:
    """Estimate from real items, beside the truth; write tables, pages and a picture."""
    from headcount.cli.demo import run_demo

    return run_demo(folder, seed=seed).text(as_json=json)
