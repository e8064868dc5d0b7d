"""Tasks of LeQua 2022 and 2024: their files, formats of items and shares, and a cache."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from headcount._support.execution import thread_count, track
from headcount._support.files import write_bytes
from headcount.errors import HeadcountError

N_DEV, N_TEST = 1000, 5000
"""Number of development and of test samples of every task."""


@dataclass(frozen=True)
class LequaTask:
    """A task of the challenges."""

    name: str
    year: int
    n_classes: int
    n_features: int | None
    n_train: int
    size: int
    metric: str = "rae"
    in_bags: bool = False


_ALL = (
    LequaTask("T1", 2024, 2, 256, 5_000, 250),
    LequaTask("T2", 2024, 28, 256, 20_000, 1_000),
    LequaTask("T3", 2024, 5, 256, 20_000, 200, "nmd", in_bags=True),
    LequaTask("T4", 2024, 2, 256, 5_000, 250),
    LequaTask("T1A", 2022, 2, 300, 5_000, 250),
    LequaTask("T1B", 2022, 28, 300, 20_000, 1_000),
    LequaTask("T2A", 2022, 2, None, 5_000, 250),
    LequaTask("T2B", 2022, 28, None, 20_000, 1_000),
)
TASKS = {task.name: task for task in _ALL}
"""The tasks by name."""


def find_task(name: str) -> LequaTask:
    """Return a task by its name.

    >>> find_task("t2").n_classes
    28
    """
    task = TASKS.get(str(name).upper())
    if task is None:
        raise HeadcountError(f"task is {name!r}; it must be one of {', '.join(TASKS)}.")
    return task


_ZIPS = ("train_dev", "test", "test_prevalences")
_NUMBER = re.compile(r"(0|[1-9]\d*)\.txt")


@dataclass(frozen=True)
class _Entry:
    """A file or a member of a zip: where it is, and what changes when its content does."""

    name: str
    path: Path
    member: str | None
    stamp: tuple[int, int]


@dataclass(frozen=True)
class TaskFiles:
    """Files of one task. Names are relative to its folder ``public``."""

    task: LequaTask
    root: Path
    folder: Path | None
    zips: tuple[Path, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the open zips, for other processes.
        return TaskFiles, (self.task, self.root, self.folder, self.zips)

    @cached_property
    def _archives(self) -> dict[Path, zipfile.ZipFile]:
        opened = {}
        for path in self.zips:
            try:
                opened[path] = zipfile.ZipFile(path)
            except (OSError, zipfile.BadZipFile) as error:
                raise HeadcountError(
                    f"{str(path)!r} cannot be read as a zip ({error}): download it again."
                ) from None
        return opened

    @cached_property
    def _members(self) -> dict[str, _Entry]:
        entries = {}
        prefix = f"{self.task.name}/public/"
        for path, archive in self._archives.items():
            for member in archive.infolist():
                # Some zips have the folder of the task at their top, some do not.
                name = member.filename.removeprefix(prefix).removeprefix("public/")
                if not member.is_dir() and not name.startswith("__MACOSX"):
                    stamp = (member.file_size, member.CRC)
                    entries[name] = _Entry(name, path, member.filename, stamp)
        return entries

    def _entry(self, name: str) -> _Entry | None:
        if self.folder is not None and (path := self.folder / name).is_file():
            status = path.stat()
            return _Entry(name, path, None, (status.st_size, status.st_mtime_ns))
        return self._members.get(name)

    def has(self, name: str) -> bool:
        """True if there is such a file."""
        return self._entry(name) is not None

    def where(self, name: str) -> str:
        """Path of a file, for messages."""
        entry = self._entry(name)
        if entry is None:
            return str((self.folder or self.root) / name)
        return str(entry.path) if entry.member is None else f"{entry.path}:{entry.member}"

    def read(self, name: str) -> bytes:
        """Content of a file, or an error that names it."""
        entry = self._entry(name)
        if entry is None:
            raise HeadcountError(
                f"task {self.task.name} has no file {name!r} in {self._place()}: unpack or put "
                "it there."
            )
        try:
            if entry.member is None:
                return entry.path.read_bytes()
            return self._archives[entry.path].read(entry.member)
        except (OSError, zipfile.BadZipFile) as error:
            raise HeadcountError(
                f"{self.where(name)!r} cannot be read ({error}): download it again."
            ) from None

    def sample_names(self, split: str) -> list[str]:
        """Files of the samples of a part in the order of their ids, which have no gaps."""
        folder = f"{split}_samples"
        ids = set()
        for name in self._listed(folder):
            number = _NUMBER.fullmatch(name)
            if number is None:
                raise HeadcountError(
                    f"{self.where(f'{folder}/{name}')!r} is not named by the id of a sample: "
                    "samples are 0.txt, 1.txt and so on; remove it."
                )
            ids.add(int(number[1]))
        gap = next((i for i in range(len(ids)) if i not in ids), None)
        if gap is not None:
            raise HeadcountError(
                f"{self.where(f'{folder}/{gap}.txt')!r} is missing, but there are samples with "
                f"higher ids (up to {max(ids)}): unpack all of them."
            )
        return [f"{folder}/{number}.txt" for number in range(len(ids))]

    def _listed(self, folder: str) -> list[str]:
        path = None if self.folder is None else self.folder / folder
        if path is not None and path.is_dir():
            return [name for name in os.listdir(path) if not name.startswith(".")]
        start = f"{folder}/"
        return [name.removeprefix(start) for name in self._members if name.startswith(start)]

    def fingerprint(self, names: Sequence[str]) -> str:
        """Text that changes with the content of files: size and time, or checksum in zips."""
        digest = hashlib.sha256()
        for name in names:
            entry = self._entry(name)
            assert entry is not None
            digest.update(f"{name} {entry.stamp}\n".encode())
        return digest.hexdigest()[:16]

    def _place(self) -> str:
        places = [*([] if self.folder is None else [self.folder]), *self.zips]
        return " or ".join(repr(str(place)) for place in places)


def find_files(path: str | os.PathLike[str], task: str | LequaTask) -> TaskFiles:
    """Find the files of a task."""
    lequa_task = task if isinstance(task, LequaTask) else find_task(task)
    root = Path(path)
    if not root.is_dir():
        raise HeadcountError(
            f"there is no folder {str(root)!r}: name the one with the files of LeQua."
        )
    folder = _public(root, lequa_task.name)
    zips = tuple(
        archive
        for kind in _ZIPS
        if (archive := root / f"{lequa_task.name}.{kind}.zip").is_file()
    )
    if folder is None and not zips:
        other_tasks = [name for name in TASKS if _public(root, name, named=True) is not None]
        other_tasks += [name for name in TASKS if (root / f"{name}.train_dev.zip").is_file()]
        content = (
            f"only {', '.join(dict.fromkeys(other_tasks))}" if other_tasks else "no task at all"
        )
        raise HeadcountError(
            f"{str(root)!r} has {content}, not {lequa_task.name}: it must have "
            f"{lequa_task.name}/public or {lequa_task.name}.train_dev.zip."
        )
    return TaskFiles(lequa_task, root, folder, zips)


def _public(root: Path, name: str, *, named: bool = False) -> Path | None:
    """Folder of the unpacked files; None if there is none."""
    if (root / name / "public").is_dir():
        return root / name / "public"
    above = root.parent.name if root.name == "public" else root.name
    if named or (above in TASKS and above != name):
        return None
    if (root / "public").is_dir():
        return root / "public"
    names = ("training_data.txt", "training_samples", "dev_samples", "test_samples")
    return root if any((root / file_name).exists() for file_name in names) else None


def parse_vectors(
    content: bytes,
    where: str,
    task: LequaTask,
    *,
    labelled: bool,
    dtype: DTypeLike = np.float32,
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Vectors of a file, and their labels."""
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
    """Texts of a file, and their labels."""
    try:
        table = pl.read_csv(io.BytesIO(content), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise HeadcountError(f"{where!r} is not a table of texts ({error}).") from None
    columns = ["label", "text"] if labelled else ["text"]
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise HeadcountError(
            f"{where!r}, line 1: the header is {','.join(table.columns)[:60]!r}, but must be "
            f"{','.join(columns)!r}."
        )
    if table.is_empty():
        raise HeadcountError(f"{where!r} has a header but no items: it is incomplete.")
    texts = table["text"].fill_null("").to_list()
    if not labelled:
        return texts, None
    numbers = table["label"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return texts, _codes(numbers, where, task)


def parse_label_map(content: bytes, where: str, task: LequaTask) -> list[str]:
    """Names of the classes in the order of their codes."""
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


TOLERANCE = 1e-3
"""Largest distance of the sum of a row from 1."""


@dataclass(frozen=True)
class Problem:
    """Violation of the format."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def check_prevalences(
    content: bytes, *, n_classes: int | None = None, lengths: Sequence[int] = (N_DEV, N_TEST)
) -> list[Problem]:
    r"""Check a submission as the official checker does, and a few things more.

    In this order: the first column is ``id``; the others are 0 to K - 1; there are rows; as
    many as there are samples; ids are 0 to N - 1, each once; values are in [0, 1]; rows sum
    to 1 within 1e-3. Beyond the official checker: K is that of the task, values are numbers,
    and all problems are found.

    >>> print(*check_prevalences(b"id,0,1\n0,0.5,0.6\n", lengths=(1,)))
    line 2: the values of id 0 sum to 1.1, not to 1 within 0.001
    """
    return parse_prevalences(content, n_classes=n_classes, lengths=lengths)[1]


def parse_prevalences(
    content: bytes, *, n_classes: int | None = None, lengths: Sequence[int] | None = None
) -> tuple[NDArray[np.float64], list[Problem]]:
    """Values of a file by id, and the problems found, in the order of the checks."""
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
    """Read prevalences in the order of the ids; the first problem is an error."""
    lengths = None if n_samples is None else (n_samples,)
    values, problems = parse_prevalences(content, n_classes=n_classes, lengths=lengths)
    if problems:
        more = f" ({len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
        raise HeadcountError(f"{where!r}, {problems[0]}{more}: see headcount lequa check.")
    return values


def write_prevalences(path: Path, values: NDArray[np.float64]) -> None:
    """Write prevalences, such as a submission, atomically."""
    columns: dict[str, Any] = {"id": np.arange(len(values))}
    columns |= {str(k): values[:, k] for k in range(values.shape[1])}
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_csv(buffer)
    write_bytes(path, buffer.getvalue())


def _header_problems(header: Sequence[str], n_classes: int | None) -> list[Problem]:
    first, *classes = [name.strip() for name in header] or [""]
    problems = []
    if first != "id":
        problems.append(Problem(1, f"the first column is {first[:30]!r}, but must be 'id'"))
    if len(classes) < 2 or classes != [str(k) for k in range(len(classes))]:
        listed = ",".join(classes)
        listed = listed if len(listed) <= 40 else f"{listed[:37]}..."
        problems.append(Problem(1, f"the classes are {listed!r}, but must be 0,1,...,K-1"))
    if n_classes is not None and len(classes) != n_classes:
        problems.append(
            Problem(1, f"there are {len(classes)} classes, but the task has {n_classes}")
        )
    return problems


def _id_problems(rows: Sequence[tuple[int, list[str]]]) -> list[Problem]:
    problems, numbers = [], set()
    for at, (text, *_) in rows:
        # Spreadsheets and pandas write whole numbers with a point at times.
        number = text.strip().removesuffix(".0")
        if not number.isdecimal():
            problems.append(Problem(at, f"the id is {text[:30]!r}, but must be a whole number"))
        elif int(number) in numbers:
            problems.append(Problem(at, f"the id {int(number)} was given before"))
        elif int(number) >= len(rows):
            problems.append(
                Problem(
                    at, f"the id {int(number)} is above {len(rows) - 1}, so one is left out"
                )
            )
        else:
            numbers.add(int(number))
    missing = [number for number in range(len(rows)) if number not in numbers]
    if missing:
        listed = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        problems.append(Problem(rows[-1][0], f"{len(missing)} ids are missing: {listed}"))
    return problems


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


_FORMAT = 1


@dataclass(frozen=True, eq=False)
class CachedVectors:
    """Vectors of the samples of a part, one sample after the other, on disk."""

    path: Path
    sizes: NDArray[np.int64]
    n_features: int

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def mapped(self) -> NDArray[np.float32]:
        """All rows as an array that is read from disk when it is used."""
        shape = (len(self), self.n_features)
        return np.memmap(self.path, np.float32, mode="r", shape=shape)


def cached_vectors(
    files: TaskFiles, split: str, folder: Path, *, progress: bool | None = None
) -> CachedVectors:
    """Open the vectors of a part; parse its samples if that has not been done.

    The cache is used as long as the files have the same size and time (in zips: the same
    checksum). Another one is written atomically and replaces it. Memory does not depend on
    the number of samples.
    """
    names = files.sample_names(split)
    width = files.task.n_features
    assert width is not None
    stem = f"{files.task.name}-{split}-"
    key = f"{stem}{files.fingerprint(names)}"
    facts, data = folder / f"{key}.json", folder / f"{key}.f32"
    cached = _known(facts, data, width)
    if cached is not None:
        return cached
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{stem}*"):
            old.unlink(missing_ok=True)
        sizes = _write(data, _parsed(files, names, progress), files, split)
    except OSError as error:
        raise HeadcountError(
            f"the cache of the vectors cannot be written to {str(folder)!r} "
            f"({error.strerror or error}): pass `cache`, a folder with room."
        ) from None
    content = {"format": _FORMAT, "n_features": width, "sizes": sizes}
    write_bytes(facts, json.dumps(content).encode())
    return CachedVectors(data, np.array(sizes, np.int64), width)


def _known(facts: Path, data: Path, width: int) -> CachedVectors | None:
    """Complete cache; None if there is none."""
    try:
        content: dict[str, Any] = json.loads(facts.read_bytes())
        vectors = CachedVectors(data, np.array(content["sizes"], np.int64), width)
        complete = data.stat().st_size == 4 * width * len(vectors)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return vectors if complete and content.get("format") == _FORMAT else None


def _write(
    data: Path, arrays: Iterator[NDArray[np.float32]], files: TaskFiles, split: str
) -> list[int]:
    """Write arrays one after the other; returns their lengths."""
    sizes = []
    unfinished = data.with_name(f".{token_hex(8)}.part")
    try:
        with open(unfinished, "xb") as file:
            for array in arrays:
                file.write(array.data)
                sizes.append(len(array))
            file.flush()
            os.fsync(file.fileno())
        if not sizes:
            raise HeadcountError(
                f"task {files.task.name} has no samples in {split}_samples of "
                f"{str(files.folder or files.root)!r}: unpack them there."
            )
        unfinished.replace(data)
    finally:
        unfinished.unlink(missing_ok=True)
    return sizes


def _parsed(
    files: TaskFiles, names: Sequence[str], progress: bool | None
) -> Iterator[NDArray[np.float32]]:
    """Vectors of each sample, in order; a few samples are parsed at a time."""

    def parse(name: str) -> NDArray[np.float32]:
        content = files.read(name)
        return parse_vectors(content, files.where(name), files.task, labelled=False)[0]

    threads = thread_count()
    coming = iter(track(names, len(names), f"Reading {files.task.name}", show=progress))
    with ThreadPoolExecutor(threads) as pool:
        while several := list(islice(coming, 8 * threads)):
            yield from pool.map(parse, several)
