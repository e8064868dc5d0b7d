"""Folders with synthetic data in the format, and with the difficulty, of LeQua."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._files import write_bytes
from headcount._parameters import check_count
from headcount._progress import track
from headcount._threads import thread_count
from headcount.errors import HeadcountError
from headcount_studies.lequa.prevalences import write_prevalences
from headcount_studies.lequa.synthetic import Sampler, make_sampler
from headcount_studies.lequa.tasks import N_DEV, N_TEST, LequaTask, find_task

__all__ = ["generate"]

_STARS = ("1-Star", "2-Stars", "3-Stars", "4-Stars", "5-Stars")
_PARTS = ("training", "dev", "test")


def generate(
    folder: str | os.PathLike[str],
    task: str,
    *,
    n_train: int | None = None,
    n_dev: int = N_DEV,
    n_test: int = N_TEST,
    size: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Path:
    """Write synthetic data of a task in the format of the organisers.

    Parameters
    ----------
    folder : str or path
        Gets ``<task>/public``, which must not exist.
    task : str
        Task whose items are vectors: T1, T2, T3, T4, T1A or T1B.
    n_train : int, default=None
        Number of labelled items, by default that of the task; rounded up to whole samples in
        T3.
    n_dev, n_test : int, default=1000 and 5000
        Number of samples.
    size : int, default=None
        Number of items in a sample; that of the task by default.
    seed : int, default=0
        Random seed. A sample depends on the seed and on its id only.
    progress : bool, default=None
        Show a bar; by default on a terminal only.

    Returns
    -------
    Path
        The folder ``<task>/public``.

    Examples
    --------
    >>> import os, tempfile
    >>> from headcount_studies.lequa.generate import generate
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(os.listdir(generate(folder, "T1", n_train=10, n_dev=1, n_test=1)))
    ['dev_prevalences.txt', 'dev_samples', 'label_map.txt', 'test_prevalences.txt',
     'test_samples', 'training_data.txt']
    """
    wanted = find_task(task)
    n_train = check_count("n_train", wanted.n_train if n_train is None else n_train)
    size = check_count("size", wanted.size if size is None else size)
    counts = {"dev": check_count("n_dev", n_dev), "test": check_count("n_test", n_test)}
    check_count("seed", seed, 0)
    sampler = make_sampler(wanted, seed)
    target = Path(folder) / wanted.name / "public"
    if target.exists():
        raise HeadcountError(f"{str(target)!r} exists: name another folder, or remove it.")
    # Renamed at the end, so that a folder is complete or not there.
    making = target.with_name("public.part")
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir(parents=True)
    except OSError as error:
        raise HeadcountError(
            f"the folder {str(making)!r} cannot be made ({error.strerror or error})."
        ) from None
    _write_label_map(making, wanted)
    if wanted.in_bags:
        counts["training"] = -(-n_train // size)
    else:
        rng = _stream(seed, "training", 0)
        _write_items(making / "training_data.txt", *sampler.training(rng, n_train))
    for part, count in counts.items():
        (making / f"{part}_samples").mkdir()
        write = partial(_write_sample, making, part, sampler, size, seed, wanted.n_classes)
        shares = _each(write, count, f"Writing {wanted.name} {part}", progress)
        write_prevalences(making / f"{part}_prevalences.txt", np.stack(list(shares)))
    making.rename(target)
    return target


def _each(
    write: Callable[[int], NDArray[np.float64]], count: int, what: str, progress: bool | None
) -> Iterable[NDArray[np.float64]]:
    with ThreadPoolExecutor(thread_count()) as pool:
        yield from track(pool.map(write, range(count)), count, what, show=progress)


def _write_sample(
    folder: Path,
    part: str,
    sampler: Sampler,
    size: int,
    seed: int,
    n_classes: int,
    number: int,
) -> NDArray[np.float64]:
    """Write one sample; returns its shares."""
    vectors, labels = sampler.sample(_stream(seed, part, number), size)
    path = folder / f"{part}_samples" / f"{number}.txt"
    _write_items(path, vectors, labels if part == "training" else None)
    return np.asarray(np.bincount(labels, minlength=n_classes) / size)


def _write_items(
    path: Path, vectors: NDArray[np.float32], labels: NDArray[np.int64] | None = None
) -> None:
    import polars as pl

    names = [str(i) for i in range(vectors.shape[1])]
    table = pl.DataFrame(np.asfortranarray(vectors), schema=names, orient="row")
    if labels is not None:
        table.insert_column(0, pl.Series("label", labels))
    buffer: Any = io.BytesIO()
    table.write_csv(buffer)
    path.write_bytes(buffer.getvalue())


def _write_label_map(folder: Path, task: LequaTask) -> None:
    names: Iterable[str] = ("negative", "positive")
    if task.in_bags:
        names = _STARS
    elif task.n_classes > 2:
        names = (f"topic{code}" for code in range(task.n_classes))
    lines = [f"{name} {code}\n" for code, name in enumerate(names)]
    write_bytes(folder / "label_map.txt", "".join(lines).encode())


def _stream(seed: int, part: str, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, _PARTS.index(part), number])
