"""Vectors of all samples of a part in one file of float32, parsed once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._files import write_bytes
from headcount._progress import track
from headcount._threads import thread_count
from headcount.errors import HeadcountError
from headcount_studies.lequa.files import TaskFiles
from headcount_studies.lequa.items import parse_vectors

__all__ = ["CachedVectors", "cached_vectors"]

_FORMAT = 1


@dataclass(frozen=True, eq=False)
class CachedVectors:
    """Vectors of the samples of a part, one sample after the other, on disk.

    Attributes
    ----------
    path : Path
        File of float32 numbers.
    sizes : ndarray of shape (S,)
        Number of items in each sample.
    n_features : int
        Length of the vectors.
    """

    path: Path
    sizes: NDArray[np.int64]
    n_features: int

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        """Rows from `start` to `stop`, as an array of their own."""
        width = self.n_features
        return np.fromfile(
            self.path, np.float32, (stop - start) * width, offset=4 * start * width
        ).reshape(-1, width)

    def mapped(self) -> NDArray[np.float32]:
        """All rows as an array that is read from disk when it is used."""
        shape = (len(self), self.n_features)
        return np.memmap(self.path, np.float32, mode="r", shape=shape)


def cached_vectors(
    files: TaskFiles, part: str, folder: Path, *, progress: bool | None = None
) -> CachedVectors:
    """Open the vectors of a part; parse its samples if that has not been done.

    The cache is used as long as the files have the same size and time (in zips: the same
    checksum). Another one is written atomically and replaces it. Memory does not depend on
    the number of samples.

    Parameters
    ----------
    files : TaskFiles
        Files of the task.
    part : {"dev", "test"}
        Part of the data.
    folder : Path
        Folder of the cache; created if it is missing.
    progress : bool, default=None
        Show a bar; by default on a terminal only.

    Returns
    -------
    CachedVectors
    """
    names = files.sample_names(part)
    width = files.task.n_features
    assert width is not None
    stem = f"{files.task.name}-{part}-"
    key = f"{stem}{files.fingerprint(names)}"
    facts, data = folder / f"{key}.json", folder / f"{key}.f32"
    known = _known(facts, data, width)
    if known is not None:
        return known
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{stem}*"):
            old.unlink(missing_ok=True)
        sizes = _write(data, _parsed(files, names, progress), files, part)
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
        found = CachedVectors(data, np.array(content["sizes"], np.int64), width)
        whole = data.stat().st_size == 4 * width * len(found)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if whole and content.get("format") == _FORMAT else None


def _write(
    data: Path, arrays: Iterator[NDArray[np.float32]], files: TaskFiles, part: str
) -> list[int]:
    """Write arrays one after the other; returns their lengths."""
    sizes = []
    partial = data.with_name(f".{token_hex(8)}.part")
    try:
        with open(partial, "xb") as file:
            for array in arrays:
                file.write(array.data)
                sizes.append(len(array))
            file.flush()
            os.fsync(file.fileno())
        if not sizes:
            raise HeadcountError(
                f"task {files.task.name} has no samples in {part}_samples of "
                f"{str(files.folder or files.root)!r}: unpack them there."
            )
        partial.replace(data)
    finally:
        partial.unlink(missing_ok=True)
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
