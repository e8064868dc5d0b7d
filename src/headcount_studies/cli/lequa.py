"""``headcount lequa``: options in, text out."""

from __future__ import annotations

import json as json_text
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcount._support.text import printable, text_table
from headcount.cli.options import DONE, JSON, SEED, WRONG
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount_studies.data.lequa import LequaTask
    from headcount_studies.lequa2024.study import Submission

lequa = typer.Typer(
    name="lequa",
    help="Take part in the LeQua data challenges: run, check, score, generate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_TASK = Annotated[
    str, typer.Option("--task", help="T1, T2, T3, T4 (2024), T1A, T1B, T2A or T2B (2022).")
]
_CACHE = Annotated[
    Path | None,
    typer.Option("--cache", help="Folder of parsed samples; .headcount-cache in DATA."),
]
_SUBMISSION = Annotated[
    Path, typer.Argument(metavar="SUBMISSION", help="File with one row per sample.")
]
_MOST_PROBLEMS = 100


@lequa.command()
def run(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Folder or zips of the organisers.")
    ],
    task: _TASK,
    output: Annotated[
        Path,
        typer.Option(
            "--output", help="Submission to write; a folder of them for several methods."
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="A name such as SLD, names with commas between them, all, or auto: the best "
            "on the development samples.",
        ),
    ] = "auto",
    select: Annotated[
        str,
        typer.Option(
            "--select", help="dev: select settings on the development samples; or none."
        ),
    ] = "dev",
    split: Annotated[
        str, typer.Option("--part", help="Samples to estimate: test or dev.")
    ] = "test",
    dev_samples: Annotated[
        int | None,
        typer.Option("--dev-samples", min=1, help="Select by so many samples; all by default."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = 1,
    cache: _CACHE = None,
    seed: SEED = 0,
    json: JSON = False,
) -> str:
    """Estimate the samples of a task and write a submission."""
    from headcount._support.parameters import check_choice
    from headcount_studies.datasets import lequa as load
    from headcount_studies.lequa2024.study import make_submissions

    check_choice("--select", select, ("dev", "none"))
    check_choice("--part", split, ("test", "dev"))
    several = method == "all" or "," in method
    _check_output(output, several)
    submissions = make_submissions(
        load(data, task, cache=cache),
        method,
        split=split,
        selected=select == "dev",
        n_dev=dev_samples,
        n_jobs=workers,
        seed=seed,
    )
    written = _write(submissions, output, several)
    return _runs_text(submissions, written, as_json=json)


@lequa.command()
def check(
    submission: _SUBMISSION,
    task: Annotated[
        str | None,
        typer.Option("--task", help="Task whose number of classes is checked as well."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=1, help="Number of rows; 1,000 or 5,000 by default."),
    ] = None,
    json: JSON = False,
) -> tuple[str, int]:
    """Check the format of a submission; exit code 2 if it is wrong."""
    from headcount_studies.data.lequa import N_DEV, N_TEST, check_prevalences, find_task

    problems = check_prevalences(
        _content(submission),
        n_classes=None if task is None else find_task(task).n_classes,
        lengths=(N_DEV, N_TEST) if samples is None else (samples,),
    )
    code = WRONG if problems else DONE
    if json:
        listed = [{"line": problem.line, "problem": problem.text} for problem in problems]
        return json_text.dumps({"passed": not problems, "problems": listed}, indent=2), code
    lines = [printable(f"{submission}, {problem}") for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"and {len(problems) - _MOST_PROBLEMS:,} more: add --json to see all")
    lines.append(f"Format check: [{'not passed' if problems else 'passed'}]")
    return "\n".join(lines), code


@lequa.command()
def score(
    submission: _SUBMISSION,
    task: _TASK,
    truth: Annotated[
        Path | None,
        typer.Option("--truth", help="File of the true prevalences; or name --data."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder or zips with the true prevalences.")
    ] = None,
    split: Annotated[
        str, typer.Option("--part", help="With --data: the samples, test or dev.")
    ] = "test",
    size: Annotated[
        int | None,
        typer.Option("--size", min=1, help="Items in a sample; that of the task by default."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Table with one row per sample, such as errors.csv."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page, as HTML.")
    ] = None,
    published: Annotated[
        Path | None,
        typer.Option("--published", help="Folder with lequa2024.csv, to compare with."),
    ] = None,
    json: JSON = False,
) -> str:
    """Score a submission with the official figures."""
    from headcount._support.files import TABLE_ENDINGS, check_writable
    from headcount.tables.readers import write_table
    from headcount_studies.data.lequa import find_task, read_prevalences
    from headcount_studies.lequa2024.official import score as official

    lequa_task = find_task(task)
    for path, option, endings in (
        (output, "--output", TABLE_ENDINGS),
        (report, "--report", (".html", ".htm")),
    ):
        if path is not None:
            check_writable(path, option, endings)
    true = _truth(truth, data, lequa_task, split)
    estimated = read_prevalences(
        _content(submission),
        str(submission),
        n_classes=lequa_task.n_classes,
        n_samples=len(true),
    )
    result = official(lequa_task, true, estimated, size=size)
    if output is not None:
        write_table(result.samples, output)
    if report is not None:
        from headcount_studies.page import write_score

        write_score(result, report, name=submission.name, published=published)
    if json:
        return json_text.dumps(result.to_dict(), indent=2)
    return result.to_text()


@lequa.command()
def generate(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Gets TASK/public, which must not exist.")
    ],
    task: _TASK,
    train: Annotated[
        int | None, typer.Option("--train", min=1, help="Labelled items; as in the task.")
    ] = None,
    dev: Annotated[int, typer.Option("--dev", min=1, help="Development samples.")] = 1000,
    test: Annotated[int, typer.Option("--test", min=1, help="Test samples.")] = 5000,
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="Items in a sample; as in the task.")
    ] = None,
    seed: SEED = 0,
) -> str:
    """Write synthetic data with the format and the difficulty of a task."""
    from headcount_studies.data.lequa_generator import generate as write

    path = write(folder, task, n_train=train, n_dev=dev, n_test=test, size=size, seed=seed)
    return f"Data: {path.resolve()}"


def _check_output(output: Path, several: bool) -> None:
    from headcount._support.files import check_writable

    if not several:
        check_writable(output, "--output")
    elif output.is_file():
        raise HeadcountError(f"--output is {str(output)!r}, a file: name a folder.")
    elif not output.parent.is_dir():
        raise HeadcountError(
            f"--output is {str(output)!r}, but there is no folder {str(output.parent)!r}: make "
            "it first."
        )


def _write(submissions: list[Submission], output: Path, several: bool) -> dict[str, Path]:
    """Write the submissions of methods that did not fail; returns their files by method."""
    from headcount_studies.data.lequa import write_prevalences

    paths = {}
    for submission in submissions:
        if submission.shares is not None:
            path = output / f"{submission.method}.txt" if several else output
            path.parent.mkdir(exist_ok=True)
            write_prevalences(path, submission.shares)
            paths[submission.method] = path
    return paths


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HeadcountError(
            f"{str(path)!r} cannot be read ({error.strerror or error}): check its name."
        ) from None


def _truth(truth: Path | None, data: Path | None, task: LequaTask, split: str) -> NDArray[Any]:
    from headcount._support.parameters import check_choice
    from headcount_studies.data.lequa import find_files, read_prevalences

    if (truth is None) == (data is None):
        raise HeadcountError("Name the true prevalences: either --truth or --data.")
    if truth is not None:
        return read_prevalences(_content(truth), str(truth), n_classes=task.n_classes)
    check_choice("--part", split, ("test", "dev"))
    assert data is not None
    files, name = find_files(data, task), f"{split}_prevalences.txt"
    return read_prevalences(files.read(name), files.where(name), n_classes=task.n_classes)


def _runs_text(
    submissions: list[Submission], written: dict[str, Path], *, as_json: bool
) -> str:
    rows: list[dict[str, Any]] = [
        {
            "method": submission.method,
            "dev_error": None if math.isnan(submission.dev_error) else submission.dev_error,
            "setting": submission.setting,
            "failure": submission.failure,
            "submission": str(path) if (path := written.get(submission.method)) else None,
        }
        for submission in submissions
    ]
    if as_json:
        return json_text.dumps(rows, indent=2)
    cells = [
        [row["method"], row["failure"] or row["setting"],
         "-" if row["dev_error"] is None else f"{row['dev_error']:.5f}"]
        for row in rows
    ]  # fmt: skip
    lines = text_table(["method", "setting", "error on dev"], cells, n_texts=2)
    return "\n".join([*lines, "", *(f"Submission: {path}" for path in written.values())])
