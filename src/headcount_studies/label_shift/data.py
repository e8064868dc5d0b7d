"""Posteriors of networks, and the samples drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from headcount.errors import HeadcountError
from headcount.samples.protocols import Prevalences
from headcount_studies.data.folder import data_file
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import task_seed
from headcount_studies.label_shift.spec import conditions, shares_of


@dataclass(frozen=True, eq=False)
class Network:
    """Posteriors of a network for images, and the classes of these."""

    posteriors: NDArray[np.float64]
    y: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.posteriors.shape[1]


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows of the source, and of one sample per kind of shift."""

    source: NDArray[np.int64]
    samples: list[NDArray[np.int64]]


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a network."""
    return [data / "logits" / f"{dataset}.npz"]


@lru_cache(maxsize=2)
def load_network(dataset: str, data: Path) -> Network:
    """Read the logits of a network."""
    path = data_file(data, f"logits/{dataset}.npz")
    with np.load(path, allow_pickle=False) as archive:
        if not {"logits", "labels"} <= set(archive.files):
            raise HeadcountError(f"The file {str(path)!r} must have logits and labels.")
        logits, labels = archive["logits"].astype(np.float64), archive["labels"]
    if logits.ndim != 2 or labels.shape != logits.shape[:1] or not np.isfinite(logits).all():
        raise HeadcountError(
            f"The file {str(path)!r} has logits of shape {logits.shape} and labels of shape "
            f"{labels.shape}: it must have one finite row of logits per label."
        )
    return Network(softmax(logits, axis=1), labels.astype(np.int64))


def draw_trial(spec: Spec, network: Network, dataset: str, size: int, number: int) -> Trial:
    """Source from one half of the images, samples from the other.

    Items of a class that runs out are drawn repeatedly.
    """
    seed = task_seed(spec.seed, dataset, size, number)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(network.y))
    first, second = np.split(order, [len(order) // 2])
    if size > len(first):
        raise HeadcountError(
            f"sizes of [protocol] has {size:,}, but half of the images of {dataset!r} are "
            f"{len(first):,}."
        )
    samples = []
    for kind, alpha in conditions(spec):
        shares = shares_of(spec, kind, alpha, network.n_classes, rng)
        protocol = Prevalences([shares], size=size, random_state=task_seed(seed, kind, alpha))
        classes = np.arange(network.n_classes)
        samples.append(second[protocol.draw(network.y[second], classes=classes)[0]])
    return Trial(first[:size], samples)
