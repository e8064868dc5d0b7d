"""Files of one task, in folders as the organisers packed them, or in their zips."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headcount.errors import HeadcountError
from headcount_studies.lequa.tasks import TASKS, LequaTask, find_task

__all__ = ["TaskFiles", "find_files"]

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
    """Files of one task. Names are relative to its folder ``public``.

    Attributes
    ----------
    task : LequaTask
        The task.
    root : Path
        Folder that the user named.
    folder : Path or None
        Folder of the unpacked files.
    zips : tuple of Path
        Zips with further files.
    """

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
        found = {}
        prefix = f"{self.task.name}/public/"
        for path, archive in self._archives.items():
            for each in archive.infolist():
                # Some zips have the folder of the task at their top, some do not.
                name = each.filename.removeprefix(prefix).removeprefix("public/")
                if not each.is_dir() and not name.startswith("__MACOSX"):
                    stamp = (each.file_size, each.CRC)
                    found[name] = _Entry(name, path, each.filename, stamp)
        return found

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

    def sample_names(self, part: str) -> list[str]:
        """Files of the samples of a part in the order of their ids, which have no gaps.

        Parameters
        ----------
        part : {"training", "dev", "test"}
            Part of the data.

        Returns
        -------
        list of str
            ``<part>_samples/0.txt`` and so on; empty if the part is not there.
        """
        folder = f"{part}_samples"
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
    """Find the files of a task.

    Parameters
    ----------
    path : str or path
        Folder with ``<task>/public``, with the zips of the task, or one of the folders
        ``<task>`` and ``public`` itself.
    task : str or LequaTask
        The task.

    Returns
    -------
    TaskFiles
    """
    wanted = task if isinstance(task, LequaTask) else find_task(task)
    root = Path(path)
    if not root.is_dir():
        raise HeadcountError(
            f"there is no folder {str(root)!r}: name the one with the files of LeQua."
        )
    folder = _public(root, wanted.name)
    zips = tuple(
        found for kind in _ZIPS if (found := root / f"{wanted.name}.{kind}.zip").is_file()
    )
    if folder is None and not zips:
        others = [name for name in TASKS if _public(root, name, named=True) is not None]
        others += [name for name in TASKS if (root / f"{name}.train_dev.zip").is_file()]
        there = f"only {', '.join(dict.fromkeys(others))}" if others else "no task at all"
        raise HeadcountError(
            f"{str(root)!r} has {there}, not {wanted.name}: it must have "
            f"{wanted.name}/public or {wanted.name}.train_dev.zip."
        )
    return TaskFiles(wanted, root, folder, zips)


def _public(root: Path, name: str, *, named: bool = False) -> Path | None:
    """Folder of the unpacked files; None if there is none."""
    if (root / name / "public").is_dir():
        return root / name / "public"
    above = root.parent.name if root.name == "public" else root.name
    if named or (above in TASKS and above != name):
        return None
    if (root / "public").is_dir():
        return root / "public"
    known = ("training_data.txt", "training_samples", "dev_samples", "test_samples")
    return root if any((root / each).exists() for each in known) else None
