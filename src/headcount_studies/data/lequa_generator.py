"""Generated data with the format and about the difficulty of the LeQua tasks.

A latent vector z has the structure of a task: classes, groups of classes, products, domains.
It is turned into a vector of many numbers by ``x = B z + 0.5 B2 tanh(z G) + 0.1 noise``, whose
order is permuted. Baselines on logistic regression have about the errors on these vectors that
the organisers report for theirs.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

from headcount._support.execution import thread_count, track
from headcount._support.files import new_folder, write_bytes
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError
from headcount_studies.data.lequa import N_DEV, N_TEST, LequaTask, find_task, write_prevalences

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rng = np.random.Generator
_NOISE = 0.1


def make_sampler(task: LequaTask, seed: int) -> Sampler:
    """Distribution of a task.

    >>> vectors, labels = make_sampler(find_task("T1"), 0).sample(np.random.default_rng(0), 9)
    >>> vectors.shape, labels.shape
    ((9, 256), (9,))
    """
    if task.n_features is None:
        raise HeadcountError(
            f"task {task.name} has texts, which are not generated: choose a task of vectors, "
            "such as T1."
        )
    rng = np.random.default_rng([seed, *task.name.encode()])
    if task.in_bags:
        return _Ordinal.make(rng, task.n_features)
    if task.n_classes > 2:
        return _Topics.make(rng, task.n_features, task.n_classes)
    return _Binary.make(rng, task.n_features, domains=2 if task.name == "T4" else 1)


@dataclass(frozen=True, eq=False)
class _Rendering:
    """From latent vectors to the vectors of the files."""

    linear: Floats
    curved: Floats
    gate: Floats

    @classmethod
    def make(cls, rng: Rng, n_features: int, rank: int) -> _Rendering:
        order = rng.permutation(n_features)
        linear, curved = (
            np.linalg.qr(rng.normal(size=(n_features, rank)))[0][order].T for _ in range(2)
        )
        return cls(linear, curved, rng.normal(size=(rank, rank)) / np.sqrt(rank))

    @property
    def rank(self) -> int:
        return len(self.gate)

    def vectors(self, rng: Rng, z: Floats) -> NDArray[np.float32]:
        x = z @ self.linear + 0.5 * np.tanh(z @ self.gate) @ self.curved
        noise = rng.standard_normal(x.shape, dtype=np.float32)
        return np.asarray(x, np.float32) + np.float32(_NOISE) * noise


@dataclass(frozen=True, eq=False)
class _Binary:
    """Two classes along three directions, of four clusters each; one or two domains.

    Classes of the second domain, which is rare in training, differ along a turned direction.
    """

    rendering: _Rendering
    means: Floats  # (domains, classes, rank)
    clusters: Floats  # (classes, clusters, rank)
    spread: Floats

    # Distance between the classes, by domain.
    APART = (2.1,)
    APART_OF_TWO = (2.3, 1.9)
    PRIOR = 0.78
    FIRST_DOMAIN = 0.9
    TURNED = 0.2
    AWAY = 2.0

    @classmethod
    def make(cls, rng: Rng, n_features: int, *, domains: int) -> _Binary:
        rendering = _Rendering.make(rng, n_features, 24)
        rank = rendering.rank
        direction = np.zeros(rank)
        direction[:3] = np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33])
        clusters = np.zeros((2, 4, rank))
        clusters[:, :, 3:9] = rng.normal(scale=0.8, size=(2, 4, 6))
        # Centred, so that the classes of any seed are equally far apart.
        clusters -= clusters.mean(axis=1, keepdims=True)
        spread = np.concatenate([np.ones(3), np.arange(4, rank + 1) ** -0.5])
        if domains == 1:
            means = _opposite(direction, cls.APART[0])[None]
        else:
            turn = rng.normal(size=rank)
            turn -= direction * (turn @ direction)
            turned = direction + turn * cls.TURNED / np.linalg.norm(turn)
            away = np.zeros(rank)
            away[9:15] = rng.normal(size=6)
            away *= cls.AWAY / np.linalg.norm(away)
            first, second = cls.APART_OF_TWO
            means = np.stack([_opposite(direction, first), _opposite(turned, second) + away])
        return cls(rendering, means, clusters, spread)

    def _vectors(self, rng: Rng, labels: Codes, domains: Codes) -> NDArray[np.float32]:
        cluster = rng.integers(self.clusters.shape[1], size=len(labels))
        z = self.means[domains, labels] + self.clusters[labels, cluster]
        z += rng.normal(size=z.shape) * self.spread
        return self.rendering.vectors(rng, z)

    def training(self, rng: Rng, n: int) -> tuple[NDArray[np.float32], Codes]:
        labels = _counted(rng, n, [1 - self.PRIOR, self.PRIOR])
        domains = _domains(rng, n, len(self.means), self.FIRST_DOMAIN)
        return self._vectors(rng, labels, domains), labels

    def sample(self, rng: Rng, size: int) -> tuple[NDArray[np.float32], Codes]:
        labels, domains = self._codes(rng, size)
        return self._vectors(rng, labels, domains), labels

    def _codes(self, rng: Rng, size: int) -> tuple[Codes, Codes]:
        share = rng.random()
        labels = _counted(rng, size, [1 - share, share])
        return labels, _domains(rng, size, len(self.means), rng.random())

    def domains(self, rng: Rng, size: int) -> Floats:
        """Shares of the domains in the sample that the same stream gives."""
        _, domains = self._codes(rng, size)
        return np.asarray(np.bincount(domains, minlength=len(self.means)) / size)


@dataclass(frozen=True, eq=False)
class _Topics:
    """Many classes in seven groups, with very different natural shares.

    Items of samples are of another time than those of training: their means have moved.
    """

    rendering: _Rendering
    means: Floats
    moved: Floats
    natural: Floats

    GROUPS = 7
    GROUP_APART = 1.2
    CLASS_APART = 0.45
    MOVED = 0.3
    SHRUNK = 0.26
    POWER = -1.2

    @classmethod
    def make(cls, rng: Rng, n_features: int, n_classes: int) -> _Topics:
        rendering = _Rendering.make(rng, n_features, 32)
        rank = rendering.rank
        # Of the same strength for every seed.
        groups = _directions(rng, cls.GROUPS, rank) * cls.GROUP_APART
        levels = norm.ppf((np.arange(n_classes) + 0.5) / n_classes)
        apart = rng.permutation(cls.CLASS_APART * np.exp(0.6 * levels))
        offsets = _directions(rng, n_classes, rank) * apart[:, None]
        means = groups[np.arange(n_classes) % cls.GROUPS] + offsets
        moved = means + rng.normal(scale=cls.MOVED, size=means.shape)
        natural = rng.permutation(np.arange(1, n_classes + 1) ** cls.POWER)
        return cls(rendering, means, moved, natural / natural.sum())

    def _vectors(self, rng: Rng, means: Floats, labels: Codes) -> NDArray[np.float32]:
        z = means[labels]
        z[rng.random(len(labels)) < self.SHRUNK] *= 0.15
        z += rng.normal(size=z.shape)
        return self.rendering.vectors(rng, z)

    def training(self, rng: Rng, n: int) -> tuple[NDArray[np.float32], Codes]:
        labels = _counted(rng, n, self.natural)
        return self._vectors(rng, self.means, labels), labels

    def sample(self, rng: Rng, size: int) -> tuple[NDArray[np.float32], Codes]:
        # Uniform on the simplex.
        labels = _counted(rng, size, rng.dirichlet(np.ones(len(self.natural))))
        return self._vectors(rng, self.moved, labels), labels


@dataclass(frozen=True, eq=False)
class _Ordinal:
    """Stars of the reviews of one product; products differ by more than their stars."""

    rendering: _Rendering
    curvature: Floats

    CUTS = (-1.2, -0.6, 0.0, 0.9)
    HEAVY = (0.6, 0.1, 0.08, 0.08, 0.14)
    STEP = 0.95
    CURVATURE = 0.1
    OFFSET = 0.6

    @classmethod
    def make(cls, rng: Rng, n_features: int) -> _Ordinal:
        rendering = _Rendering.make(rng, n_features, 16)
        bent = rng.normal(size=(5, rendering.rank))
        bent -= bent.mean(axis=0)
        # Of the same strength for every seed.
        return cls(rendering, cls.CURVATURE * bent / np.sqrt((bent**2).mean()))

    def _shares(self, rng: Rng) -> Floats:
        quality = rng.normal(1.1, 0.4)
        below = 1 / (1 + np.exp(-(np.array(self.CUTS) - quality) / 0.6))
        natural = np.diff(np.concatenate([[0.0], below, [1.0]]))
        weight = rng.beta(1.2, 12)
        mixed = (1 - weight) * natural + weight * np.array(self.HEAVY)
        return rng.dirichlet(60 * mixed)

    def sample(self, rng: Rng, size: int) -> tuple[NDArray[np.float32], Codes]:
        labels = _shuffled(rng, rng.multinomial(size, self._shares(rng)))
        z = self.curvature[labels] + rng.normal(size=(size, self.rendering.rank))
        z[:, 0] += self.STEP * (labels - 2)
        z[:, :4] += rng.normal(size=4) * self.OFFSET * np.array([1, 0.6, 0.6, 0.6])
        return self.rendering.vectors(rng, z), labels

    training = sample


Sampler = _Binary | _Topics | _Ordinal
"""Source of labelled items with natural shares, and of samples with other shares."""


def _opposite(direction: Floats, apart: float) -> Floats:
    """Means of two classes, at the given distance."""
    unit = direction / np.linalg.norm(direction)
    return np.stack([-unit, unit]) * apart / 2


def _directions(rng: Rng, n: int, rank: int) -> Floats:
    """Random vectors of the length that means of classes and groups are multiples of."""
    directions = rng.normal(size=(n, rank))
    return directions * np.sqrt(8) / np.linalg.norm(directions, axis=1, keepdims=True)


def _counted(rng: Rng, n: int, shares: Any) -> Codes:
    """Labels with the given shares, up to rounding, in random order."""
    exact = np.asarray(shares) * n
    counts = np.floor(exact).astype(np.int64)
    # The largest remainders get the rest.
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
    return _shuffled(rng, counts)


def _shuffled(rng: Rng, counts: Any) -> Codes:
    return rng.permutation(np.repeat(np.arange(len(counts)), counts))


def _domains(rng: Rng, n: int, n_domains: int, first: float) -> Codes:
    if n_domains == 1:
        return np.zeros(n, np.int64)
    return _counted(rng, n, [first, 1 - first])


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

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(os.listdir(generate(folder, "T1", n_train=10, n_dev=1, n_test=1)))
    ['dev_prevalences.txt', 'dev_samples', 'label_map.txt', 'test_prevalences.txt',
     'test_samples', 'training_data.txt']
    """
    lequa_task = find_task(task)
    n_train = check_count("n_train", lequa_task.n_train if n_train is None else n_train)
    size = check_count("size", lequa_task.size if size is None else size)
    counts = {"dev": check_count("n_dev", n_dev), "test": check_count("n_test", n_test)}
    check_count("seed", seed, 0)
    sampler = make_sampler(lequa_task, seed)
    target = Path(folder) / lequa_task.name / "public"
    if target.exists():
        raise HeadcountError(f"{str(target)!r} exists: name another folder, or remove it.")
    K = lequa_task.n_classes
    with new_folder(target) as making:
        _write_label_map(making, lequa_task)
        if lequa_task.in_bags:
            counts["training"] = -(-n_train // size)
        else:
            rng = _stream(seed, "training", 0)
            _write_items(making / "training_data.txt", *sampler.training(rng, n_train))
        for split, count in counts.items():
            (making / f"{split}_samples").mkdir()
            write = partial(_write_sample, making, split, sampler, size, seed, K)
            what = f"Writing {lequa_task.name} {split}"
            with ThreadPoolExecutor(thread_count()) as pool:
                written = pool.map(write, range(count))
                shares = np.stack(list(track(written, count, what, show=progress)))
            write_prevalences(making / f"{split}_prevalences.txt", shares)
        if isinstance(sampler, _Binary) and len(sampler.means) > 1:
            streams = (_stream(seed, "test", number) for number in range(n_test))
            domains = np.stack([sampler.domains(rng, size) for rng in streams])
            write_prevalences(making / "test_domains.txt", domains)
    (target / "lock").unlink(missing_ok=True)
    return target


def _write_sample(
    folder: Path,
    split: str,
    sampler: Sampler,
    size: int,
    seed: int,
    n_classes: int,
    number: int,
) -> NDArray[np.float64]:
    """Write one sample; returns its shares."""
    vectors, labels = sampler.sample(_stream(seed, split, number), size)
    path = folder / f"{split}_samples" / f"{number}.txt"
    _write_items(path, vectors, labels if split == "training" else None)
    return np.asarray(np.bincount(labels, minlength=n_classes) / size)


def _write_items(
    path: Path, vectors: NDArray[np.float32], labels: NDArray[np.int64] | None = None
) -> None:
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


def _stream(seed: int, split: str, number: int) -> np.random.Generator:
    return np.random.default_rng([seed, _PARTS.index(split), number])
