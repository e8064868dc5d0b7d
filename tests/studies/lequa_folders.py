"""Small folders in the format of LeQua."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from headcount_studies.data.lequa import write_prevalences
from headcount_studies.data.lequa_generator import generate

WORDS = {0: ["bad", "poor", "broken", "refund"], 1: ["good", "great", "love", "perfect"]}


def make_task(
    folder: Path, task: str = "T1", *, n_dev: int = 6, n_test: int = 5, **more
) -> Path:
    """Vectors of a task, few of them."""
    given = {"n_train": 300, "size": 40} | more
    return generate(folder, task, n_dev=n_dev, n_test=n_test, **given)


def make_texts(folder: Path, *, n_dev: int = 6, n_test: int = 5, size: int = 20) -> Path:
    """Texts of T2A, with commas, quotes and line ends in them."""
    rng = np.random.default_rng(0)
    public = folder / "T2A" / "public"
    public.mkdir(parents=True)
    (public / "label_map.txt").write_text("negative 0\npositive 1\n")

    def text(label: int) -> str:
        words = [*rng.choice(WORDS[label], 4), *rng.choice(["it", "was", "the", "thing"], 3)]
        return ", ".join(words) + ' said ""so""\nyes'

    labels = rng.integers(2, size=200)
    rows = [f'{label},"{text(label)}"' for label in labels]
    (public / "training_data.txt").write_text("\n".join(["label,text", *rows]) + "\n")
    for part, count in (("dev", n_dev), ("test", n_test)):
        (public / f"{part}_samples").mkdir()
        shares = []
        for number in range(count):
            labels = (rng.random(size) < rng.random()).astype(int)
            rows = [f'"{text(label)}"' for label in labels]
            path = public / f"{part}_samples" / f"{number}.txt"
            path.write_text("\n".join(["text", *rows]) + "\n")
            shares.append([1 - labels.mean(), labels.mean()])
        write_prevalences(public / f"{part}_prevalences.txt", np.array(shares))
    return public


def make_zips(folder: Path, public: Path, target: Path) -> None:
    """The zips of the organisers from an unpacked folder of T1."""
    target.mkdir()
    kinds = {
        "train_dev": [
            "training_data.txt",
            "label_map.txt",
            "dev_samples",
            "dev_prevalences.txt",
        ],
        "test": ["test_samples"],
        "test_prevalences": ["test_prevalences.txt"],
    }
    for kind, names in kinds.items():
        with zipfile.ZipFile(target / f"T1.{kind}.zip", "w") as archive:
            for name in names:
                path = public / name
                for each in sorted(path.iterdir()) if path.is_dir() else [path]:
                    archive.write(each, each.relative_to(folder))
