"""Files that are found, written atomically, locked, or written as TOML."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any

import tomli_w
from filelock import FileLock, Timeout

from headcount._support.text import first_of
from headcount.errors import HeadcountError

STANDARD_INPUT = "-"
"""Name that stands for what is piped into the program."""
TABLE_ENDINGS = (
    ".csv", ".tsv", ".xlsx", ".parquet", ".feather", ".arrow", ".jsonl", ".ndjson",
)  # fmt: skip
"""Endings of tables that can be written."""
_SHEET = re.compile(r"(.+\.xlsx)#(.+)", re.IGNORECASE | re.DOTALL)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Advice on a mistyped name, "did you mean 'Churn'? "; empty if nothing is similar."""
    folded = {candidate.casefold(): candidate for candidate in names}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f"did you mean {folded[close[0]]!r}? " if close else ""


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """Path of a file, and the sheet that is named behind a spreadsheet: ``a.xlsx#2024``."""
    named = _SHEET.match(str(path))
    if named is None or path.exists():
        return path, None
    return Path(named[1]), named[2]


def input_files(source: str | os.PathLike[str], endings: Sequence[str]) -> list[Path]:
    """Files that a path, a pattern or a folder stands for, each of which can be read."""
    workbook, sheet = sheet_of(Path(source))
    if sheet is not None:
        _files_of(workbook, endings)
        return [Path(source)]
    return _files_of(source, endings)


def each_once(paths: Iterable[Path]) -> tuple[list[Path], str]:
    """Files without those that were named before, as by a pattern, and a note on the latter."""
    first: dict[str, Path] = {}
    repeated: dict[str, None] = {}
    for path in paths:
        if (place := os.path.realpath(path)) in first:
            repeated[path.name] = None
        first.setdefault(place, path)
    note = f"{first_of(repeated, 3)}: named more than once, and read once." if repeated else ""
    return list(first.values()), note


def _files_of(source: str | os.PathLike[str], endings: Sequence[str]) -> list[Path]:
    name = os.fspath(source)
    if _ADDRESS.match(name):
        raise HeadcountError(f"{name!r} is an address: download the file, then pass its path.")
    path = Path(name)
    if name == STANDARD_INPUT:
        return [path]
    try:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file())
            files = [file for file in inside if _has_ending(file, endings)]
            if not files:
                raise HeadcountError(
                    f"{name!r} is a folder without tables: pass a file, or a folder with files "
                    f"that end in {', '.join(endings[:4])} ..."
                )
            return files
        if not path.exists() and glob.has_magic(name):
            files = [file for file in map(Path, sorted(glob.glob(name))) if file.is_file()]
            if not files:
                raise HeadcountError(f"No file matches {name!r}: check the pattern.")
            return files
        if path.is_fifo():
            raise HeadcountError(
                f"{name!r} is a pipe, which can be read once only: pass - and redirect it to "
                "the standard input."
            )
        with open(path, "rb"):
            return [path]
    except FileNotFoundError:
        raise HeadcountError(
            f"There is no file {name!r}: {_other_file(path)}check the path."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HeadcountError(f"{name!r} cannot be read ({reason}).") from None


def _has_ending(path: Path, endings: Sequence[str]) -> bool:
    name = path.name.lower()
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    return name.endswith(tuple(endings)) and not path.name.startswith((".", "~"))


def _other_file(path: Path) -> str:
    try:
        return did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return ""


def check_writable(path: Path, name: str, endings: Sequence[str] = ()) -> None:
    """Raise an error if a file cannot be written, before any work is done."""
    folder = path.parent
    if endings and path.suffix.lower() not in endings and not is_device(path):
        raise HeadcountError(f"{name} is {str(path)!r}; it must end in {' or '.join(endings)}.")
    if path.is_dir():
        raise HeadcountError(f"{name} is {str(path)!r}, a folder: add the name of a file.")
    if not folder.is_dir():
        raise HeadcountError(
            f"{name} is {str(path)!r}, but there is no folder {str(folder)!r}: make it first."
        )
    if not os.access(path if is_device(path) else folder, os.W_OK):
        raise HeadcountError(
            f"{name} is {str(path)!r}, where you may not write: choose another place."
        )


def check_other_file(path: Path, name: str, sources: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an error if a file to write is one that is read."""
    if not path.is_file():
        return
    for source in sources:
        if os.fspath(source) == STANDARD_INPUT:
            continue
        files = [sheet_of(file)[0] for file in input_files(source, ("",))]
        if any(path.samefile(file) for file in files):
            raise HeadcountError(
                f"{name} is {str(path)!r}, which is read as well and would be lost: choose "
                "another name."
            )


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: it is complete, or as it was before. Its mode stays."""
    try:
        if is_device(path):
            path.write_bytes(content)
            return
        target = path.resolve()
        # In the same folder, as renaming is atomic only within a file system.
        partial = target.with_name(f".{token_hex(8)}.part")
        try:
            with open(partial, "xb") as file:
                if target.exists():
                    os.chmod(partial, stat.S_IMODE(target.stat().st_mode))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError for links in a circle
        reason = getattr(error, "strerror", None) or error
        raise HeadcountError(
            f"{str(path)!r} cannot be written ({reason}): choose a "
            "folder that is writable and has room."
        ) from None


def is_device(path: Path) -> bool:
    """Return True for pipes, terminals and other files that cannot be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def clear_parts(folder: Path) -> None:
    """Remove the partial files that killed processes have left in a folder."""
    for partial in folder.glob(".*.part"):
        partial.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Folder that becomes a new one when it is complete; what killed processes left goes."""
    partial = path.with_name(f".{token_hex(8)}.part")
    with _clear_folder_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{'[0-9a-f]' * 16}.part/"):
            with suppress(HeadcountError, OSError), locked(left / "lock"):
                rmtree(left)
        partial.mkdir()
    try:
        with locked(partial / "lock"):
            yield partial
        with _clear_folder_errors(path):
            if path.is_dir():
                path.rmdir()  # it is empty
            partial.rename(path)
    finally:
        rmtree(partial, ignore_errors=True)


@contextmanager
def _clear_folder_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HeadcountError(
            f"{str(path)!r} cannot be made ({error.strerror or error}): choose another place."
        ) from None


@contextmanager
def locked(path: Path, wait: float = 0) -> Iterator[None]:
    """Hold a lock file; refuse if another process holds it for longer than some seconds."""
    lock = FileLock(path, timeout=wait)
    try:
        lock.acquire()
    except Timeout:
        holder = ""
        with suppress(OSError):
            holder = path.read_text("ascii", "replace").strip()
        raise HeadcountError(
            f"The store {str(path.parent)!r} is being written by another run (process "
            f"{holder or 'unknown'}): wait for it, or stop it first."
        ) from None
    try:
        # Where a locked file cannot be written, the holder is unknown.
        with suppress(OSError):
            path.write_text(f"{os.getpid()}\n", "ascii")
        yield
        with suppress(OSError):
            path.write_text("")
    finally:
        lock.release()


def toml_text(content: Mapping[str, Any]) -> str:
    """Write texts, numbers, booleans, lists and tables as TOML."""
    _check_plain(content)
    return tomli_w.dumps(content).rstrip("\n")


def _check_plain(value: Any) -> None:
    """Refuse values that a TOML file cannot hold."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise HeadcountError(f"The key {key!r} of a spec must be a text.")
            _check_plain(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            _check_plain(entry)
    elif not isinstance(value, bool | int | float | str):
        raise HeadcountError(
            f"A spec holds {value!r}; it may hold texts, numbers, booleans, lists and tables."
        )
