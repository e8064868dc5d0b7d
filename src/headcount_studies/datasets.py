"""Datasets by name from their publishers, and those that come with samples: LeQua."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount._support.files import did_you_mean
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError
from headcount.samples.samples import Samples
from headcount_studies.data.folder import CATALOGUE, data_folder, download
from headcount_studies.data.lequa import (
    CachedVectors,
    LequaTask,
    TaskFiles,
    cached_vectors,
    find_files,
    parse_label_map,
    parse_texts,
    parse_vectors,
    read_prevalences,
)

__all__ = ["LequaData", "LequaSamples", "catalogue", "fetch", "lequa"]


_CACHE = ".headcount-cache"


def catalogue() -> pl.DataFrame:
    """Datasets that `fetch` can download.

    Columns are name, title, terms (the licence, or what is known of it), page (where the
    publisher describes the data and their terms) and files (their number).

    Examples
    --------
    >>> from headcount_studies import datasets
    >>> datasets.catalogue().columns
    ['name', 'title', 'terms', 'page', 'files']
    """
    rows = [
        (name, source.title, source.terms, source.page, len(source.urls))
        for name, source in CATALOGUE.items()
    ]
    return pl.DataFrame(rows, ["name", "title", "terms", "page", "files"], orient="row")


def fetch(
    name: str, folder: str | os.PathLike[str] | None = None, *, accept_terms: bool = False
) -> Path:
    """Download a dataset from its publisher, unless it is there already.

    Files are kept as they are published, in a folder with the name of the dataset. An
    interrupted download is continued by the next call. The SHA-256 of the first download is
    recorded in ``checksums.json``, and later calls compare with it.

    Parameters
    ----------
    name : str
        Name in `catalogue`, such as "lequa2024-T1".
    folder : str or path, default=None
        Folder of all datasets; by default that of the environment variable HEADCOUNT_DATA.
    accept_terms : bool, default=False
        Must be True for data without an open licence: read the terms on their page first.

    Examples
    --------
    >>> from headcount_studies import datasets
    >>> folder = datasets.fetch("lequa2024-T1", "data", accept_terms=True)  # doctest: +SKIP
    >>> data = datasets.lequa(folder, "T1")  # doctest: +SKIP
    """
    key: Any = name
    source = CATALOGUE.get(key) if isinstance(key, str) else None
    if source is None:
        raise HeadcountError(
            f"name is {name!r}, which is not a dataset: {did_you_mean(str(name), CATALOGUE)}"
            "headcount_studies.datasets.catalogue() lists them all."
        )
    if not (source.open or accept_terms is True):
        raise HeadcountError(
            f"{name!r} has no open licence ({source.terms}): read {source.page}, then pass "
            "accept_terms=True."
        )
    target = data_folder(folder) / name
    checksums = dict(source.sha256)
    for url in source.urls:
        file = posixpath.basename(url)
        download(url, target / file, sha256=checksums.get(file))
    return target


@dataclass(frozen=True, eq=False, repr=False)
class LequaSamples:
    """Development or test samples of a task, with their items on disk.

    Attributes
    ----------
    samples : Samples
        The samples, as rows of the pool, in the order of their ids; with the true shares,
        where the organisers publish them.
    """

    samples: Samples
    _files: TaskFiles
    _names: list[str]
    _vectors: CachedVectors | None

    def __len__(self) -> int:
        return len(self.samples)

    def __repr__(self) -> str:
        return f"LequaSamples({self.samples!r})"

    @property
    def X(self) -> Any:  # noqa: N802
        """Items of all samples: vectors that are read when they are used, or texts."""
        if self._vectors is not None:
            return self._vectors.mapped()
        return [text for texts, _ in self.blocks(1 << 20) for text in texts]

    def blocks(
        self, max_items: int = 100_000, *, first: int | None = None
    ) -> Iterator[tuple[Any, Samples]]:
        """Read the samples in blocks, so that memory does not depend on their number.

        Parameters
        ----------
        max_items : int, default=100_000
            Largest number of items in a block. A larger sample is a block of its own.
        first : int, default=None
            Read only so many samples.
        """
        check_count("max_items", max_items)
        done = 0
        for chunk in self.samples[:first].chunks(max_items):
            offsets = chunk.offsets
            start = int(self.samples.offsets[done])
            stop = start + int(offsets[-1])
            if self._vectors is not None:
                items: Any = np.array(self._vectors.mapped()[start:stop])
            else:
                items = _texts(self._files, self._names[done : done + len(chunk)])
            done += len(chunk)
            yield items, _consecutive(np.diff(offsets), chunk.prevalence, chunk.classes)


@dataclass(frozen=True, eq=False, repr=False)
class LequaData:
    """Data of one task of LeQua.

    Attributes
    ----------
    task : LequaTask
        The task.
    classes : ndarray of shape (K,)
        Codes of the classes, as in all files.
    class_names : list of str
        Names of the classes in the order of the codes.
    X : ndarray of shape (n, d), or list of texts
        Labelled items.
    y : ndarray of shape (n,)
        Codes of their classes.
    train_samples : Samples or None
        Samples that the labelled items come in (T3), as rows of ``X``.
    """

    task: LequaTask
    class_names: list[str]
    X: Any
    y: NDArray[np.int64]
    train_samples: Samples | None
    _files: TaskFiles
    _cache: Path
    _progress: bool | None

    @property
    def classes(self) -> NDArray[np.int64]:
        """Codes of the classes."""
        return np.arange(self.task.n_classes)

    @property
    def first_domain(self) -> NDArray[np.float64] | None:
        """Share of the first domain (T4: books) in each test sample.

        None if the task has no ``test_domains.txt``, of the format of the prevalences: the
        organisers' own files need not have it, generated ones have.
        """
        name = "test_domains.txt"
        if not self._files.has(name):
            return None
        content = self._files.read(name)
        return read_prevalences(content, self._files.where(name), n_classes=2)[:, 0]

    @cached_property
    def dev(self) -> LequaSamples:
        """Development samples, with true shares. They are parsed once."""
        dev = self._samples("dev")
        if dev.samples.prevalence is None:
            self._files.read("dev_prevalences.txt")  # raises the error
        return dev

    @cached_property
    def test(self) -> LequaSamples:
        """Test samples, with true shares if those have been published."""
        return self._samples("test")

    def _samples(self, split: str) -> LequaSamples:
        names = self._files.sample_names(split)
        if not names:
            self._files.read(f"{split}_samples/0.txt")  # raises the error
        vectors = None
        if self.task.n_features is None:
            sizes = [len(_texts(self._files, [name])) for name in names]
        else:
            vectors = cached_vectors(self._files, split, self._cache, progress=self._progress)
            sizes = vectors.sizes.tolist()
        shares = _prevalences(self._files, split, len(names), self.task.n_classes)
        samples = _consecutive(np.array(sizes, np.int64), shares, self.classes)
        return LequaSamples(samples, self._files, names, vectors)

    def __repr__(self) -> str:
        return f"LequaData({self.task.name}, {len(self.y):,} labelled items)"


def lequa(
    path: str | os.PathLike[str],
    task: str,
    *,
    cache: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> LequaData:
    """Read the data of a task of LeQua 2022 or 2024.

    Samples are parsed when they are first used, into a file of float32 numbers that later
    calls read instead. Memory does not depend on their number.

    Parameters
    ----------
    path : str or path
        Folder with the unpacked data (``<task>/public/...``), or with the organisers' zips.
    task : str
        T1, T2, T3 or T4 (2024), T1A, T1B, T2A or T2B (2022).
    cache : str or path, default=None
        Folder of the parsed samples; by default ``.headcount-cache`` in `path`.
    progress : bool, default=None
        Show a bar while samples are parsed; by default on a terminal only.

    Examples
    --------
    >>> import tempfile
    >>> import headcount as hc
    >>> from headcount_studies import datasets
    >>> from headcount_studies.data.lequa_generator import generate
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = generate(folder, "T1", n_train=200, n_dev=3, n_test=4)
    ...     data = datasets.lequa(folder, "T1")
    ...     quantifier = hc.SLD().fit(data.X, data.y)
    ...     quantifier.predict_many(data.dev.X, data.dev.samples).shape
    (3, 2)
    """
    files = find_files(path, task)
    names = parse_label_map(
        files.read("label_map.txt"), files.where("label_map.txt"), files.task
    )
    folder = files.root / _CACHE if cache is None else Path(cache)
    if files.task.in_bags:
        X, y, samples = _training_bags(files)
    else:
        X, y = _labelled(files, "training_data.txt")
        samples = None
    return LequaData(files.task, names, X, y, samples, files, folder, progress)


def _labelled(files: TaskFiles, name: str) -> tuple[Any, NDArray[np.int64]]:
    content, where = files.read(name), files.where(name)
    items: Any
    if files.task.n_features is None:
        items, codes = parse_texts(content, where, files.task, labelled=True)
    else:
        # Classifiers are trained in double precision.
        items, codes = parse_vectors(
            content, where, files.task, labelled=True, dtype=np.float64
        )
    assert codes is not None
    return items, codes


def _training_bags(files: TaskFiles) -> tuple[Any, NDArray[np.int64], Samples]:
    names = files.sample_names("training")
    if not names:
        files.read("training_samples/0.txt")  # raises the error
    bags = [_labelled(files, name) for name in names]
    y = np.concatenate([codes for _, codes in bags])
    sizes = np.array([len(codes) for _, codes in bags])
    K = files.task.n_classes
    samples = _consecutive(sizes, None, None)
    shares = samples.prevalence_of(y, K)
    published = _prevalences(files, "training", len(names), K)
    if published is not None:
        # Published shares are rounded; a larger difference is a mistake in the files.
        apart = np.abs(published - shares).max(axis=1)
        if apart.max() > 1e-3:
            number = int(apart.argmax())
            raise HeadcountError(
                f"{files.where('training_prevalences.txt')!r}, line {number + 2}: the shares "
                f"of sample {number} are not those of its labels: download the files again."
            )
    return (
        np.concatenate([items for items, _ in bags]),
        y,
        _consecutive(sizes, shares, np.arange(K)),
    )


def _texts(files: TaskFiles, names: list[str]) -> list[str]:
    texts: list[str] = []
    for name in names:
        texts += parse_texts(files.read(name), files.where(name), files.task, labelled=False)[0]
    return texts


def _prevalences(
    files: TaskFiles, split: str, n_samples: int, n_classes: int
) -> NDArray[np.float64] | None:
    name = f"{split}_prevalences.txt"
    if not files.has(name):
        return None
    return read_prevalences(
        files.read(name), files.where(name), n_classes=n_classes, n_samples=n_samples
    )


def _consecutive(
    sizes: NDArray[np.int64],
    prevalence: NDArray[np.float64] | None,
    classes: NDArray[Any] | None,
) -> Samples:
    """Samples one after the other in their pool."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    names = None if prevalence is None else classes
    return Samples(np.arange(n), offsets, n_pool=n, prevalence=prevalence, classes=names)
