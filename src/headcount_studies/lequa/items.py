"""Files of items: vectors or texts, with or without labels."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headcount.errors import HeadcountError
from headcount_studies.lequa.tasks import LequaTask

__all__ = ["parse_label_map", "parse_texts", "parse_vectors"]


def parse_vectors(
    content: bytes,
    where: str,
    task: LequaTask,
    *,
    labelled: bool,
    dtype: DTypeLike = np.float32,
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Vectors of a file, and their labels.

    Parameters
    ----------
    content : bytes
        Content of the file: a header, then one row per item.
    where : str
        Path of the file, for messages.
    task : LequaTask
        The task, which determines the number of columns.
    labelled : bool
        True if the first column has labels.
    dtype : dtype, default=float32
        Type of the vectors.

    Returns
    -------
    vectors : ndarray of shape (n, d)
    labels : ndarray of shape (n,) or None
    """
    import polars as pl

    assert task.n_features is not None
    width = task.n_features + labelled
    header, _, rows = content.partition(b"\n")
    names = header.decode("utf-8", "replace").strip().split(",")
    _check_header(names, where, task, width, labelled=labelled)
    if not rows.strip():
        raise HeadcountError(f"{where!r} has a header but no items: it is incomplete.")
    kind = pl.Float32 if np.dtype(dtype) == np.float32 else pl.Float64
    columns = {f"c{i}": kind for i in range(width)}
    try:
        # A width that differs from the schema is an error; too few fields are null, then NaN.
        table = pl.read_csv(
            io.BytesIO(content), schema=columns, has_header=False, skip_lines=1
        ).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise _fault(content, where, width, str(error)) from None
    if not np.isfinite(table).all():
        raise _fault(content, where, width, "a value is not a finite number")
    vectors = np.ascontiguousarray(table[:, labelled:], dtype=dtype)
    return vectors, _codes(table[:, 0], where, task) if labelled else None


def parse_texts(
    content: bytes, where: str, task: LequaTask, *, labelled: bool
) -> tuple[list[str], NDArray[np.int64] | None]:
    """Texts of a file, and their labels.

    Parameters
    ----------
    content : bytes
        Content of the file: a header with ``text``, then one row per item.
    where : str
        Path of the file, for messages.
    task : LequaTask
        The task.
    labelled : bool
        True if there is a column ``label``.

    Returns
    -------
    texts : list of str
    labels : ndarray of shape (n,) or None
    """
    import polars as pl

    try:
        table = pl.read_csv(io.BytesIO(content), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise HeadcountError(f"{where!r} is not a table of texts ({error}).") from None
    wanted = ["label", "text"] if labelled else ["text"]
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise HeadcountError(
            f"{where!r}, line 1: the header is {','.join(table.columns)[:60]!r}, but must be "
            f"{','.join(wanted)!r}."
        )
    if table.is_empty():
        raise HeadcountError(f"{where!r} has a header but no items: it is incomplete.")
    texts = table["text"].fill_null("").to_list()
    if not labelled:
        return texts, None
    numbers = table["label"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return texts, _codes(numbers, where, task)


def parse_label_map(content: bytes, where: str, task: LequaTask) -> list[str]:
    """Names of the classes in the order of their codes.

    Parameters
    ----------
    content : bytes
        One line per class: a name and a code, separated by blanks.
    where : str
        Path of the file, for messages.
    task : LequaTask
        The task, which determines the number of classes.

    Returns
    -------
    list of str
    """
    names: dict[int, str] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        *name, code = line.split()
        if not name or not code.isdigit() or int(code) in names:
            raise HeadcountError(
                f"{where!r}, line {number}: {line[:60]!r} is not the name of a class and a "
                "code of its own."
            )
        names[int(code)] = " ".join(name)
    if len(names) != task.n_classes:
        raise HeadcountError(
            f"{where!r} has {len(names)} classes, but task {task.name} has {task.n_classes}: "
            "name the task that the folder is of."
        )
    if set(names) != set(range(len(names))):
        raise HeadcountError(f"{where!r}: the codes must be 0 to {len(names) - 1}.")
    return [names[code] for code in range(len(names))]


def _check_header(
    header: Sequence[str], where: str, task: LequaTask, width: int, *, labelled: bool
) -> None:
    if len(header) != width:
        raise HeadcountError(
            f"{where!r}, line 1: the header has {len(header)} columns, but task {task.name} "
            f"has {task.n_features} numbers per item{' and a label' if labelled else ''} "
            f"({width} columns): name the task that the folder is of."
        )
    first = "label" if labelled else "0"
    if header[0].strip() != first:
        raise HeadcountError(
            f"{where!r}, line 1: the header starts with {header[0][:30]!r}, but must start "
            f"with {first!r}."
        )


def _codes(values: NDArray[Any], where: str, task: LequaTask) -> NDArray[np.int64]:
    codes = np.nan_to_num(values, nan=-1.0).astype(np.int64)
    wrong = np.flatnonzero((codes != values) | (codes < 0) | (codes >= task.n_classes))
    if len(wrong):
        raise HeadcountError(
            f"{where!r}, line {wrong[0] + 2}: the label is {values[wrong[0]]:g}, but labels of "
            f"task {task.name} are 0 to {task.n_classes - 1}."
        )
    return codes


def _fault(content: bytes, where: str, width: int, otherwise: str) -> HeadcountError:
    """Error that names the first line that cannot be read."""
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines()[1:], 2):
        fields = line.split(",")
        if len(fields) != width:
            return HeadcountError(
                f"{where!r}, line {number}: {len(fields)} values instead of {width}."
            )
        for place, field in enumerate(fields):
            try:
                finite = np.isfinite(float(field))
            except ValueError:
                finite = False
            if not finite:
                return HeadcountError(
                    f"{where!r}, line {number}, column {place + 1}: {field[:30]!r} is not a "
                    "finite number."
                )
    return HeadcountError(f"{where!r} cannot be read: {otherwise[:150]}.")
