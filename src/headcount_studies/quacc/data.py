"""Collections of texts as weights of words, and training sets and samples drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.search import held_out_rows
from headcount.samples.protocols import APP, Prevalences
from headcount.samples.samples import Samples
from headcount_studies.data.folder import data_file
from headcount_studies.engine.spec import MethodSpec, Spec, check_known
from headcount_studies.engine.task import task_seed
from headcount_studies.quacc.spec import DATASETS, repeats_of

if TYPE_CHECKING:
    import polars as pl

_FILES = {"imdb": "imdb50k.parquet", "reuters": "reuters21578.parquet"}


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Texts as weights of words, in a training part and a test part."""

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]


@lru_cache(maxsize=1)
def load_collection(name: str, data: Path, least: int) -> TextCollection:
    """Read a collection."""
    check_known("dataset", name, DATASETS)
    X, X_test, labels, labels_test = _weighed(_source(name), data, least)
    topic = "pos" if name == "imdb" else name.partition("-")[2]
    return TextCollection(X, _about(labels, topic), X_test, _about(labels_test, topic))


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a dataset."""
    return [data / _FILES[_source(dataset)]]


def _source(name: str) -> str:
    return name.partition("-")[0]


def _about(topics: NDArray[Any], topic: str) -> NDArray[np.int64]:
    return np.array([topic in listed.split("|") for listed in topics], dtype=np.int64)


@lru_cache(maxsize=1)
def _weighed(
    source: str, data: Path, least: int
) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Weights of words and labels of a file: training part, then test part."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    train, test = (_imdb if source == "imdb" else _reuters)(data)
    words = TfidfVectorizer(min_df=least, sublinear_tf=True)
    X = words.fit_transform(train["text"].to_list()).tocsr()
    X_test = words.transform(test["text"].to_list()).tocsr()
    return X, X_test, train["label"].to_numpy(), test["label"].to_numpy()


def _imdb(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    import polars as pl

    table = pl.read_parquet(data_file(data, _FILES["imdb"]), columns=["split", "label", "text"])
    return _parted(table, "train", "test")


def _reuters(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """News that the file marks as training or test; the others are not used."""
    import polars as pl

    table = pl.read_parquet(data_file(data, _FILES["reuters"])).select(
        pl.col("lewissplit").alias("split"),
        pl.col("topics").fill_null("").alias("label"),
        pl.concat_str(pl.col("title", "body").fill_null(""), separator=" ").alias("text"),
    )
    return _parted(table, "TRAIN", "TEST")


def _parted(table: pl.DataFrame, train: str, test: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    import polars as pl

    return table.filter(pl.col("split") == train), table.filter(pl.col("split") == test)


def draw_training_and_reference(
    collection: TextCollection, prevalence: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the training set and of the labelled set, of the same size and prevalence.

    They come from two halves of the collection; the size is the largest at which neither
    class runs out at any prevalence from 0.1 to 0.9.
    """
    halves = held_out_rows(collection.y, 0.5, task_seed(seed, "halves"))
    drawn_rows = []
    for number, half in enumerate((np.flatnonzero(~halves), np.flatnonzero(halves))):
        y = collection.y[half]
        share = y.mean()
        size = int(len(half) * min(share, 1 - share) * 10 / 9)
        protocol = Prevalences(
            [[1 - prevalence, prevalence]],
            size=size,
            random_state=task_seed(seed, "sets", number, prevalence),
        )
        drawn_rows.append(half[protocol.draw(y)[0]])
    return drawn_rows[0], drawn_rows[1]


def draw_test_samples(spec: Spec, collection: TextCollection, seed: int) -> Samples:
    """Samples of the test part at every prevalence."""
    protocol = APP(
        n_prevalences=spec.protocol["test_prevalences"],
        repeats=spec.protocol["repeats"],
        size=spec.protocol["size"],
        random_state=task_seed(seed, "test"),
    )
    return protocol.draw(collection.y_test)


def sample_rows(spec: Spec, method: MethodSpec) -> NDArray[np.int64]:
    """Samples that a method is run on: the first few of each prevalence, or all."""
    repeats = spec.protocol["repeats"]
    numbers = np.arange(spec.protocol["test_prevalences"] * repeats)
    return numbers[numbers % repeats < repeats_of(spec, method)]
