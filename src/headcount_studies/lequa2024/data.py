"""Tasks of the challenge that the folder of datasets has, and their data."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from headcount.errors import HeadcountError
from headcount_studies.data.lequa import find_files
from headcount_studies.datasets import LequaData, lequa
from headcount_studies.engine.spec import Spec


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File that shows that a task is there: a small one, or the zip it is in."""
    try:
        task_files = find_files(data, dataset)
    except HeadcountError:
        return [data / dataset / "public" / "label_map.txt"]
    return [
        task_files.zips[0] if task_files.folder is None else task_files.folder / "label_map.txt"
    ]


def present(spec: Spec, data: Path) -> list[str]:
    """Tasks of the challenge that the folder has."""
    names = []
    for name in spec.datasets:
        try:
            find_files(data, name)
        except HeadcountError:
            continue
        names.append(name)
    return names


def describe(spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
    """Numbers of labelled items and samples of a task, and the size of a sample."""
    loaded = load_task(dataset, data)
    bags, dev = loaded.train_samples, loaded.dev.samples
    return [
        {
            "dataset": dataset,
            "classes": loaded.task.n_classes,
            "labelled items": len(loaded.y),
            "training samples": None if bags is None else len(bags),
            "development samples": len(dev),
            "of these used": len(dev[: spec.selection["n_dev"] or None]),
            "test samples": len(loaded.test.samples),
            "items of a sample": int(dev.sizes[0]),
        }
    ]


@lru_cache(maxsize=2)
def load_task(name: str, data: Path) -> LequaData:
    """Read the data of a task; samples are parsed when they are used."""
    return lequa(data, name, progress=False)
