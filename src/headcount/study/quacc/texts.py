"""The collections: reviews of films, and news by topic, as weights of words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headcount.data.datasets.folder import data_file
from headcount.study.checking import check_known

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DATASETS", "Collection", "file_of", "load"]

_TOPICS = ("earn", "acq", "money-fx")
DATASETS = ("imdb", *(f"reuters-{topic}" for topic in _TOPICS))
"""Reviews, positive or negative; and news, about a topic or not."""

_FILES = {"imdb": "imdb50k.parquet", "reuters": "reuters21578.parquet"}


@dataclass(frozen=True, eq=False)
class Collection:
    """Texts as weights of words, some to learn from and some to test on.

    Attributes
    ----------
    X, X_test : CSR matrices
        One row a text; the weights are those of the texts to learn from.
    y, y_test : ndarray of int
        1 for the positive class, 0 for the other.
    """

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]


@lru_cache(maxsize=1)
def load(name: str, data: Path, least: int) -> Collection:
    """A collection by name.

    Parameters
    ----------
    name : str
        One of ``DATASETS``.
    data : Path
        The folder with the files.
    least : int
        How many texts to learn from must have a word.

    Returns
    -------
    Collection
        Divided as the collection comes.
    """
    check_known("dataset", name, DATASETS)
    X, X_test, labels, labels_test = _weighed(_source(name), data, least)
    topic = "pos" if name == "imdb" else name.partition("-")[2]
    return Collection(X, _about(labels, topic), X_test, _about(labels_test, topic))


def file_of(name: str) -> str:
    """The file that has a collection."""
    return _FILES[_source(name)]


def _source(name: str) -> str:
    return name.partition("-")[0]


def _about(topics: NDArray[Any], topic: str) -> NDArray[np.int64]:
    return np.array([topic in each.split("|") for each in topics], dtype=np.int64)


@lru_cache(maxsize=1)
def _weighed(
    source: str, data: Path, least: int
) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Words of the texts of a file, and their labels: to learn from, and to test on."""
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
    """News that the file marks as for training and for tests; the others are not used."""
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
