"""Report of a study: one page, and files of its tables and figures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from headcount._files import write_bytes
from headcount._text import Table
from headcount._versions import versions
from headcount.errors import HeadcountError
from headcount.report.assets import packed_csv, rendered, rounded
from headcount_studies.engine.kinds import find_experiment
from headcount_studies.engine.shares import with_metrics
from headcount_studies.page.facts import (
    dataset_table,
    failure_table,
    file_table,
    is_complete,
    method_table,
    study_facts,
    summary,
)
from headcount_studies.page.parts import StudyPart, study_parts

if TYPE_CHECKING:
    import polars as pl

    from headcount_studies.engine.store import Store

__all__ = ["StudyReport", "write_study"]

# Tables with more columns have small letters.
_MOST_NORMAL = 12


@dataclass(frozen=True)
class StudyReport:
    """Files that were written.

    Attributes
    ----------
    page : Path
        Report as one HTML file that needs nothing else.
    tables : tuple of Path
        Each table in Markdown, LaTeX and CSV.
    figures : tuple of Path
        Each figure as PNG.
    """

    page: Path
    tables: tuple[Path, ...]
    figures: tuple[Path, ...]


def write_study(
    store: Store,
    folder: str | os.PathLike[str],
    *,
    published: str | os.PathLike[str] | None = None,
    metrics: Sequence[str] = (),
) -> StudyReport:
    """Write the report of a study, finished or not, into a folder.

    Parameters
    ----------
    store : Store
        With results.
    folder : str or path
        Created if it does not exist. Gets ``report.html``, ``tables`` and ``figures``; files
        of the same names are replaced, each atomically.
    published : str or path, default=None
        Folder with published figures to compare with.
    metrics : sequence of str, default=()
        Metrics besides those of the spec, computed from the true and estimated shares.

    Returns
    -------
    StudyReport
        The files.

    Examples
    --------
    >>> from headcount_studies import Store
    >>> write_study(Store("results-of-none"), "report")
    Traceback (most recent call last):
        ...
    headcount.errors.HeadcountError: There is no folder 'results-of-none': ...
    """
    theirs = None if published is None else _folder_of_published(Path(published))
    spec, results = store.spec, store.results()
    added = tuple(dict.fromkeys(name for name in metrics if name not in spec.metrics))
    if added:
        results = with_metrics(results, added)
        spec = replace(spec, metrics=(*spec.metrics, *added))
    parts = study_parts(find_experiment(spec.kind).sections(spec, results, theirs))
    target = Path(folder)
    tables = {
        target / "tables" / f"{part.name}.{ending}": text.encode("utf-8", "replace")
        for part in parts
        for ending, text in part.tables().items()
    }
    figures = {
        target / "figures" / f"{part.name}.png": part.picture.png
        for part in parts
        if part.picture is not None
    }
    page = target / "report.html"
    html = _page(store, results, parts).encode("utf-8", "replace")
    # The page comes last: once it exists, so do the other files.
    for path, content in (tables | figures | {page: html}).items():
        _make(path.parent)
        write_bytes(path, content)
    return StudyReport(page, tuple(tables), tuple(figures))


def _folder_of_published(path: Path) -> Path:
    if not path.is_dir():
        raise HeadcountError(
            f"published is {str(path)!r}, which is not a folder: name the one with the tables "
            "of published figures."
        )
    return path


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadcountError(
            f"The folder {str(folder)!r} cannot be made ({error.strerror or error}): choose a "
            "place where you may write."
        ) from None


def _page(store: Store, results: pl.DataFrame, parts: Sequence[StudyPart]) -> str:
    spec, status = store.spec, store.status()
    toml = spec.to_toml()
    values = {
        "title": spec.title or spec.name,
        "spec": spec,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "complete": is_complete(status),
        "summary": summary(spec, status, results),
        "parts": parts,
        "failures": failure_table(status),
        "datasets": dataset_table(status),
        "methods": method_table(store.method_seconds()),
        "files": file_table(store.data),
        "study_facts": study_facts(spec, status, store.journal.runs()),
        "versions": versions(),
        "toml": toml,
    }
    return rendered(
        "study.html",
        values,
        data=_embedded(toml, parts),
        filters={"in_html": _in_html},
        styles=("page.css", "study.css"),
        images=True,
    )


def _in_html(table: Table, label: str) -> Markup:
    dense = " dense" * (len(table.columns) > _MOST_NORMAL)
    return table.to_html(css_class=f"data sortable{dense}", label=label)


def _embedded(toml: str, parts: Sequence[StudyPart]) -> dict[str, Any]:
    """Content of the downloads: all tables, once as CSV, once with the spec."""
    frames = {part.title: part.frame for part in parts if part.frame is not None}
    tables = {
        title: [dict(zip(frame.columns, row, strict=True)) for row in _rows(frame)]
        for title, frame in frames.items()
    }
    packed = packed_csv(["table", "row", "column", "value"], _long(parts))
    return {"csv_gzip": packed, "analysis": {"spec": toml, "tables": tables}}


def _long(parts: Sequence[StudyPart]) -> Iterator[tuple[Any, ...]]:
    for part in parts:
        if part.frame is None:
            continue
        _, *columns = part.frame.columns
        for first, *values in _rows(part.frame):
            for column, value in zip(columns, values, strict=True):
                yield part.title, first, column, value


def _rows(frame: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    for row in frame.fill_nan(None).rows():
        yield tuple(rounded(row))
