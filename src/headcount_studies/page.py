"""Report page of a study, with its tables and figures as files; page of a LeQua score."""

from __future__ import annotations

import base64
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from headcount._support.execution import versions
from headcount._support.files import write_bytes
from headcount._support.text import Cell, Table, csv_text, first_of
from headcount.errors import HeadcountError
from headcount.report.page import packed_csv, rendered, rounded
from headcount_studies.data.folder import make_folder
from headcount_studies.engine.spec import Spec, duration
from headcount_studies.engine.store import Status, Store, with_metrics
from headcount_studies.engine.task import Section, find_experiment
from headcount_studies.lequa2024.official import Score
from headcount_studies.lequa2024.report import score_sections

# Rows that summarise the others stay below them, however those are sorted.
_MEAN, _RANK = "mean", "mean rank"
_BEST = "best"


def study_table(section: Section) -> Table:
    """Table of a section, its numbers with as many decimals as they need.

    >>> errors = pl.DataFrame({"method": ["MS", "CC"], "error": [0.04, 0.31]})
    >>> section = Section("Errors", table=errors, marks={(0, "error"): "best"})
    >>> print(study_table(section).to_markdown())
    | method | error |
    | --- | ---: |
    | MS | **0.040** |
    | CC | 0.310 |
    """
    frame = section.table
    assert frame is not None
    n_body = len(frame) - _foot_length(frame)
    marks = section.marks or {}
    foot = [str(name) for name in frame.to_series(0)[n_body:]] if frame.width else []
    decimals = None
    if section.marks is not None:
        # Columns of errors, one per method, are compared with each other.
        floats = [column for column in frame[:n_body] if column.dtype.is_float()]
        decimals = max((_decimals(column) for column in floats), default=None)
    columns = [_column(column, foot, marks, decimals) for column in frame]
    rows = tuple(zip(*columns, strict=True))
    numeric = tuple(dtype.is_numeric() for dtype in frame.dtypes)
    return Table(frame.columns, rows[:n_body], numeric, rows[n_body:])


def _foot_length(frame: pl.DataFrame) -> int:
    names = [str(name) for name in frame.to_series(0)][::-1] if frame.width else []
    return next((i for i, name in enumerate(names) if name not in (_MEAN, _RANK)), 0)


def _column(
    column: pl.Series,
    foot: Sequence[str],
    marks: Mapping[tuple[int, str], str],
    decimals: int | None,
) -> list[Cell]:
    body = column[: len(column) - len(foot)]
    usual, of_ranks = _writer(body, decimals), _writer(column, decimals=2)
    writers = [usual] * len(body) + [of_ranks if name == _RANK else usual for name in foot]
    cells = []
    for i, (value, write) in enumerate(zip(column, writers, strict=True)):
        mark = marks.get((i, column.name), "")
        best = mark == _BEST
        cells.append(Cell(write(value), best, "" if best else mark))
    return cells


def _writer(column: pl.Series, decimals: int | None = None) -> Callable[[Any], str]:
    if column.dtype.is_float():
        if decimals is None:
            decimals = _decimals(column)
        return lambda x: "" if x is None or not np.isfinite(x) else f"{x:.{decimals}f}"
    if column.dtype.is_integer():
        return lambda x: "" if x is None else f"{x:,}"
    return _words


def _words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "yes" if value else ""
    return str(value)


def _decimals(column: pl.Series) -> int:
    """Three, or what shows three digits of the largest number."""
    values = column.drop_nulls().to_numpy()
    sizes = np.abs(values[np.isfinite(values)])
    largest = sizes.max(initial=0.0)
    return 1 if largest >= 100 else 2 if largest >= 10 else 3 if largest >= 0.1 else 4


_DPI = 200
_SHOWN = 130  # pixels of a page for an inch of a figure: letters of 7 points are readable
_COLOURS = 256


@dataclass(frozen=True)
class Picture:
    """A figure as PNG, its size in a page, and the same as PDF and SVG."""

    png: bytes
    width: int
    height: int
    pdf: bytes
    svg: bytes

    @property
    def base64(self) -> str:
        """Content for a data URL."""
        return base64.b64encode(self.png).decode()


@dataclass(frozen=True)
class StudyPart:
    """Section whose table and figure are printed and drawn."""

    name: str
    title: str
    paragraphs: tuple[str, ...]
    frame: pl.DataFrame | None
    table: Table | None
    picture: Picture | None

    def tables(self) -> dict[str, str]:
        """The table in every format, by the ending of its file; empty if there is none."""
        if self.table is None or self.frame is None:
            return {}
        return {
            "md": f"{self.table.to_markdown()}\n",
            "tex": f"{replace(self.table, title=self.title).to_latex()}\n",
            "csv": csv_text(self.frame.columns, self.frame.rows()),
        }


def study_parts(sections: Iterable[Section]) -> list[StudyPart]:
    """Print and draw sections.

    >>> [part.name for part in study_parts([Section("Mean NKLD"), Section("Mean, NKLD!")])]
    ['mean-nkld', 'mean-nkld-2']
    """
    printed_sections: list[StudyPart] = []
    for section in sections:
        name = _file_name(section.title, {printed.name for printed in printed_sections})
        table = None if section.table is None else study_table(section)
        picture = None if section.figure is None else _picture(section.figure())
        paragraphs = tuple(text.strip() for text in re.split(r"\n\s*\n", section.text))
        paragraphs = tuple(text for text in paragraphs if text)
        printed_sections.append(
            StudyPart(name, section.title, paragraphs, section.table, table, picture)
        )
    return printed_sections


def _file_name(title: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:80] or "section"
    # Parts of the page itself have names as well.
    taken = taken | {"failures", "how", "csv", "json", "theme", "tip", "data"}
    names = [plain, *(f"{plain}-{i}" for i in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)


def _picture(figure: Figure) -> Picture:
    import matplotlib as mpl
    from PIL import Image

    png, pdf, svg = io.BytesIO(), io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=_DPI, facecolor="white")
    # Without dates and random names, so that files are the same every time.
    with mpl.rc_context({"svg.hashsalt": "headcount"}):
        figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
        figure.savefig(svg, format="svg", metadata={"Date": None})
    with Image.open(png) as image:
        # Plots have few colours: with a palette they take a third of the place.
        small = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    small.save(packed, format="png", optimize=True)
    width, height = (round(_SHOWN * side / _DPI) for side in small.size)
    return Picture(packed.getvalue(), width, height, pdf.getvalue(), svg.getvalue())


_MOST_NAMES = 5
DATASETS = "Datasets of the study"


def summary(spec: Spec, status: Status, results: pl.DataFrame) -> list[str]:
    """Sentences on the runs, their speed, and failures."""
    ran = [dataset for dataset in status.datasets if dataset.runs]
    samples = results.lazy().group_by("dataset", "method").len().collect()["len"]
    largest = int(samples.to_numpy().max(initial=0))
    at_most = "up to " if samples.n_unique() > 1 else ""
    quick = "This is a small part of the study (--quick): its figures say little. "
    sentences = [
        f"{quick * spec.is_quick}{_counted(len(spec.methods), 'method')} on "
        f"{_counted(len(ran), 'dataset')}, {at_most}{_counted(largest, 'sample')} "
        f"each: {_counted(status.runs, 'run')}."
    ]
    if status.runs_per_second is not None:
        measured = status.processor > 0  # stores of earlier releases do not have it
        processor = f" ({duration(status.processor)} of the processor)" * measured
        sentences.append(
            f"They took {duration(status.seconds)}{processor}, "
            f"{_rate(status.runs_per_second)} runs per second."
        )
    if status.done < status.tasks:
        failed = f", {status.failed:,} of which failed" if status.failed else ""
        sentences.append(
            f"Not done: {status.tasks - status.done:,} of {_counted(status.tasks, 'task')}"
            f"{failed}."
        )
    lost = sum(failure.runs for failure in status.failures if failure.method is not None)
    sentences.append(
        f"{_counted(lost, 'run')} failed ({100 * lost / max(status.runs, 1):.2g}%)."
        if lost
        else "No run failed."
    )
    return sentences


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def _table(rows: Sequence[Sequence[Any]], *columns: str) -> Table | None:
    """Table of rows; None without rows."""
    if not rows:
        return None
    return study_table(Section("", table=pl.DataFrame(rows, columns, orient="row")))


def failure_table(status: Status) -> Table | None:
    """Failures by method and reason, with runs and datasets; None without failures."""
    lost: dict[tuple[str, str], dict[str, int]] = {}
    for failure in status.failures:
        about = lost.setdefault((failure.method or "whole tasks", failure.reason), {})
        about[failure.dataset] = about.get(failure.dataset, 0) + failure.runs
    rows = [
        (method, sum(runs.values()), first_of(runs, _MOST_NAMES), reason)
        for (method, reason), runs in lost.items()
    ]
    return _table(rows, "method", "runs", "datasets", "reason")


def study_facts(
    spec: Spec, status: Status, runs: Sequence[tuple[dict[str, Any], Any]]
) -> dict[str, str]:
    """Facts about a study by name."""
    facts = {"paper": spec.paper} if spec.paper else {}
    facts |= {"extent": "a small part (--quick)"} if spec.is_quick else {}
    facts |= {
        "methods": ", ".join(method.name for method in spec.methods),
        "metrics": ", ".join(spec.metrics),
        "seed": str(spec.seed),
        "tasks": f"{status.done:,} of {status.tasks:,} done",
    }
    started = [run for run, _ in runs]
    if started:
        first = str(started[0].get("at", "unknown"))
        first = first.replace("T", " ").replace("+00:00", " UTC")
        facts["started"] = f"{_counted(len(started), 'time')}, first {first}"
        version_texts = {
            ", ".join(f"{name} {number}" for name, number in run.get("versions", {}).items())
            for run in started
        }
        facts["versions of the runs"] = "; ".join(sorted(version_texts - {""}))
        workers = dict.fromkeys(str(run["workers"]) for run in started if "workers" in run)
        if workers:
            facts["worker processes"] = ", ".join(workers)
    return {name: value for name, value in facts.items() if value}


# Tables with more columns have small letters.
_MOST_NORMAL = 12


@dataclass(frozen=True)
class StudyReport:
    """Files that were written."""

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

    >>> write_study(Store("results-of-none"), "report")
    Traceback (most recent call last):
        ...
    headcount.errors.HeadcountError: There is no folder 'results-of-none': ...
    """
    source = None if published is None else Path(published)
    if source is not None and not source.is_dir():
        raise HeadcountError(
            f"published is {str(source)!r}, which is not a folder: name the one with the "
            "tables of published figures."
        )
    spec, results = store.spec, store.results()
    added = tuple(dict.fromkeys(name for name in metrics if name not in spec.metrics))
    if added:
        results = with_metrics(results, added)
        spec = replace(spec, metrics=(*spec.metrics, *added))
    printed = study_parts(study_sections(store, spec, results, source))
    target = Path(folder)
    tables = {
        target / "tables" / f"{section.name}.{ending}": text.encode("utf-8", "replace")
        for section in printed
        for ending, text in section.tables().items()
    }
    figures = {
        target / "figures" / f"{section.name}.{ending}": getattr(section.picture, ending)
        for section in printed
        if section.picture is not None
        for ending in ("png", "pdf", "svg")
    }
    page = target / "report.html"
    html = _page(store, results, printed).encode("utf-8", "replace")
    # The page comes last: once it exists, so do the other files.
    for path, content in (tables | figures | {page: html}).items():
        make_folder(path.parent)
        write_bytes(path, content)
    return StudyReport(page, tuple(tables), tuple(figures))


def study_sections(
    store: Store, spec: Spec, results: pl.DataFrame, published: Path | None
) -> list[Section]:
    """Sections of the report: those of the kind of study, after facts about its datasets."""
    rows = [row for name in spec.datasets for row in store.descriptions.get(name, [])]
    facts = (
        [Section(DATASETS, table=pl.DataFrame(rows, infer_schema_length=None))] if rows else []
    )
    return facts + find_experiment(spec.kind).sections(spec, results, published)


def _page(store: Store, results: pl.DataFrame, printed: Sequence[StudyPart]) -> str:
    spec, status = store.spec, store.status()
    toml, worked = spec.to_toml(), "seconds of work"
    seconds: Counter[str] = Counter()
    for of_dataset in store.method_seconds().values():
        seconds.update(of_dataset)
    files = [(name, *file) for name, sums in store.data.items() for file in sums.items()]
    tasks = [
        (of.dataset, of.tasks, of.done, of.failed, of.runs, round(of.seconds))
        for of in status.datasets
    ]
    values = {
        "title": spec.title or spec.name,
        "spec": spec,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "complete": status.done == status.tasks,
        "summary": summary(spec, status, results),
        "parts": printed,
        "failures": failure_table(status),
        "datasets": _table(tasks, "dataset", "tasks", "done", "failed", "runs", worked),
        "methods": _table(list(seconds.items()), "method", worked),
        "files": _table(files, "dataset", "file", "SHA-256"),
        "study_facts": study_facts(spec, status, store.journal.runs()),
        "versions": versions(),
        "toml": toml,
    }
    return rendered(
        "study.html",
        values,
        data=_embedded(toml, printed),
        filters={"in_html": _in_html},
        styles=("page.css", "study.css"),
        images=True,
    )


def _in_html(table: Table, label: str) -> Markup:
    dense = " dense" * (len(table.columns) > _MOST_NORMAL)
    return table.to_html(css_class=f"data sortable{dense}", label=label)


def _embedded(toml: str, printed: Sequence[StudyPart]) -> dict[str, Any]:
    """Content of the downloads: all tables, once as CSV, once with the spec."""
    frames = {section.title: section.frame for section in printed if section.frame is not None}
    tables = {
        title: [dict(zip(frame.columns, row, strict=True)) for row in _rows(frame)]
        for title, frame in frames.items()
    }
    packed = packed_csv(["table", "row", "column", "value"], _long(printed))
    return {"csv_gzip": packed, "analysis": {"spec": toml, "tables": tables}}


def _long(printed: Sequence[StudyPart]) -> Iterator[tuple[Any, ...]]:
    for section in printed:
        if section.frame is None:
            continue
        _, *columns = section.frame.columns
        for first, *values in _rows(section.frame):
            for column, value in zip(columns, values, strict=True):
                yield section.title, first, column, value


def _rows(frame: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    for row in frame.fill_nan(None).rows():
        yield tuple(rounded(row))


def write_score(
    score: Score,
    path: str | os.PathLike[str],
    *,
    name: str = "",
    published: str | os.PathLike[str] | None = None,
) -> None:
    """Write the scores of a submission as one HTML page, atomically.

    >>> import tempfile
    >>> from headcount_studies.data.lequa import find_task
    >>> from headcount_studies.lequa2024.official import score
    >>> true = np.array([[0.5, 0.5], [0.2, 0.8]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_score(score(find_task("T1"), true, true), f"{folder}/page.html")
    """
    folder = None if published is None else Path(published)
    html = rendered(
        "lequa.html",
        {
            "title": f"Scores of {name or 'a submission'}",
            "task": score.task,
            "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "figures": score.to_text().splitlines(),
            "parts": study_parts(score_sections(score.task, score, folder)),
        },
        data={
            "csv_gzip": packed_csv(score.samples.columns, score.samples.rows()),
            "analysis": score.to_dict(),
        },
        filters={"in_html": _in_html},
        styles=("page.css", "study.css"),
        images=True,
    )
    write_bytes(Path(path), html.encode("utf-8", "replace"))
