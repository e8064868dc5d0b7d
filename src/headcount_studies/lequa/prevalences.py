"""Files of prevalences: those of the organisers, and submissions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._files import write_bytes
from headcount.errors import HeadcountError
from headcount_studies.lequa.tasks import N_DEV, N_TEST

__all__ = [
    "Problem",
    "check_prevalences",
    "parse_prevalences",
    "read_prevalences",
    "write_prevalences",
]

TOLERANCE = 1e-3
"""Largest distance of the sum of a row from 1."""


@dataclass(frozen=True)
class Problem:
    """Violation of the format.

    Attributes
    ----------
    line : int
        Number of the line, from 1.
    text : str
        Description.
    """

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def check_prevalences(
    content: bytes,
    *,
    n_classes: int | None = None,
    lengths: Sequence[int] = (N_DEV, N_TEST),
) -> list[Problem]:
    r"""Check a submission as the official checker does, and a few things more.

    In this order: the first column is ``id``; the others are 0 to K - 1; there are rows; as
    many as there are samples; ids are 0 to N - 1, each once; values are in [0, 1]; rows sum
    to 1 within 1e-3. Beyond the official checker: K is that of the task, values are numbers,
    and all problems are found.

    Parameters
    ----------
    content : bytes
        Content of the file.
    n_classes : int, default=None
        Number of classes of the task; any number by default.
    lengths : sequence of int, default=(1000, 5000)
        Allowed numbers of rows.

    Returns
    -------
    list of Problem
        Empty if the file is right.

    Examples
    --------
    >>> from headcount_studies.lequa import check_prevalences
    >>> print(*check_prevalences(b"id,0,1\n0,0.5,0.6\n", lengths=(1,)))
    line 2: the values of id 0 sum to 1.1, not to 1 within 0.001
    """
    return parse_prevalences(content, n_classes=n_classes, lengths=lengths)[1]


def parse_prevalences(
    content: bytes, *, n_classes: int | None = None, lengths: Sequence[int] | None = None
) -> tuple[NDArray[np.float64], list[Problem]]:
    """Values of a file by id, and the problems found, in the order of the checks.

    Parameters
    ----------
    content : bytes
        Content of the file.
    n_classes : int, default=None
        Number of classes; any by default.
    lengths : sequence of int, default=None
        Allowed numbers of rows; any but zero by default.

    Returns
    -------
    values : ndarray of shape (N, K)
        To be used only if there are no problems.
    problems : list of Problem
    """
    lines = content.decode("utf-8", "replace").splitlines()
    header = lines[0].split(",") if lines else []
    problems = _header_problems(header, n_classes)
    rows = [(at, line.split(",")) for at, line in enumerate(lines[1:], 2) if line.strip()]
    if not rows:
        problems.append(Problem(max(len(lines), 1), "there are no rows after the header"))
    elif lengths is not None and len(rows) not in lengths:
        expected = " or ".join(f"{length:,}" for length in lengths)
        problems.append(
            Problem(len(lines), f"there are {len(rows):,} rows, but must be {expected}")
        )
    problems += _id_problems(rows)
    values, wrong = _values(rows, max(len(header) - 1, 0))
    problems += wrong
    return values, problems


def read_prevalences(
    content: bytes, where: str, *, n_classes: int, n_samples: int | None = None
) -> NDArray[np.float64]:
    """Read prevalences in the order of the ids; the first problem is an error.

    Parameters
    ----------
    content : bytes
        Content of the file.
    where : str
        Path of the file, for messages.
    n_classes : int
        Number of classes.
    n_samples : int, default=None
        Number of samples; any by default.

    Returns
    -------
    ndarray of shape (N, K)
    """
    lengths = None if n_samples is None else (n_samples,)
    values, problems = parse_prevalences(content, n_classes=n_classes, lengths=lengths)
    if problems:
        more = f" ({len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
        raise HeadcountError(f"{where!r}, {problems[0]}{more}: see headcount lequa check.")
    return values


def write_prevalences(path: Path, values: NDArray[np.float64]) -> None:
    """Write prevalences, such as a submission, atomically.

    Parameters
    ----------
    path : Path
        Replaced if it exists.
    values : ndarray of shape (N, K)
        One row per sample, in the order of the ids.
    """
    import polars as pl

    columns: dict[str, Any] = {"id": np.arange(len(values))}
    columns |= {str(k): values[:, k] for k in range(values.shape[1])}
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_csv(buffer)
    write_bytes(path, buffer.getvalue())


def _header_problems(header: Sequence[str], n_classes: int | None) -> list[Problem]:
    first, *classes = [name.strip() for name in header] or [""]
    found = []
    if first != "id":
        found.append(Problem(1, f"the first column is {first[:30]!r}, but must be 'id'"))
    if len(classes) < 2 or classes != [str(k) for k in range(len(classes))]:
        shown = ",".join(classes)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        found.append(Problem(1, f"the classes are {shown!r}, but must be 0,1,...,K-1"))
    if n_classes is not None and len(classes) != n_classes:
        found.append(
            Problem(1, f"there are {len(classes)} classes, but the task has {n_classes}")
        )
    return found


def _id_problems(rows: Sequence[tuple[int, list[str]]]) -> list[Problem]:
    found, seen = [], set()
    for at, (text, *_) in rows:
        # Spreadsheets and pandas write whole numbers with a point at times.
        number = text.strip().removesuffix(".0")
        if not number.isdecimal():
            found.append(Problem(at, f"the id is {text[:30]!r}, but must be a whole number"))
        elif int(number) in seen:
            found.append(Problem(at, f"the id {int(number)} was given before"))
        elif int(number) >= len(rows):
            found.append(
                Problem(
                    at,
                    f"the id {int(number)} is above {len(rows) - 1}, so that one is left out",
                )
            )
        else:
            seen.add(int(number))
    missing = [number for number in range(len(rows)) if number not in seen]
    if missing:
        shown = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        found.append(Problem(rows[-1][0], f"{len(missing)} ids are missing: {shown}"))
    return found


def _values(
    rows: Sequence[tuple[int, list[str]]], n_classes: int
) -> tuple[NDArray[np.float64], list[Problem]]:
    """Values in the order of the ids, and the problems they have."""
    values = np.zeros((len(rows), n_classes))
    outside, sums = [], []
    for at, (id_, *fields) in rows:
        row, problem = _row(fields, n_classes)
        if problem:
            outside.append(Problem(at, problem))
            continue
        total = float(row.sum())
        if abs(total - 1) > TOLERANCE:
            text = f"the values of id {id_.strip()[:20]} sum to {total:.6g}, not to 1 within "
            sums.append(Problem(at, f"{text}{TOLERANCE}"))
        number = id_.strip().removesuffix(".0")
        if number.isdecimal() and int(number) < len(rows):
            values[int(number)] = row
    return values, outside + sums


def _row(fields: Sequence[str], n_classes: int) -> tuple[NDArray[np.float64], str]:
    """Values of a row, or what is wrong with them."""
    row = np.empty(n_classes)
    if len(fields) != n_classes:
        return row, f"there are {len(fields)} values, but {n_classes} classes in the header"
    for k, field in enumerate(fields):
        try:
            row[k] = float(field)
        except ValueError:
            row[k] = np.nan
        if not 0 <= row[k] <= 1:
            kind = "not a number" if np.isnan(row[k]) else "outside [0, 1]"
            return row, f"the value of class {k} is {field.strip()[:30]!r}, {kind}"
    return row, ""
