"""Collections of texts as weights of words, and training sets and samples drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount.accuracy.search import held_out_rows
from headcount.errors import HeadcountError
from headcount.samples.protocols import APP, UPP, Prevalences
from headcount.samples.samples import Samples
from headcount_studies.data.folder import data_file
from headcount_studies.engine.spec import MethodSpec, Spec, check_known
from headcount_studies.engine.task import task_seed
from headcount_studies.quacc.spec import (
    DATASETS,
    Classes,
    is_uniform,
    n_samples,
    repeats_of,
)

_FILES = {
    "imdb": "imdb50k.parquet",
    "reuters": "reuters21578.parquet",
    "newsgroups": "newsgroups20.parquet",
}
# As scikit-learn's fetch_rcv1 keeps it in the folder that it is given as data_home.
_RCV1 = tuple(
    f"RCV1/{name}_py3.pkl" for name in ("samples", "sample_id", "sample_topics", "topics_names")
)
_FEWEST = 5  # items of a class in a training set of random shares


@dataclass(frozen=True, eq=False)
class TextCollection:
    """Texts as weights of words, in a training part and a test part."""

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    n_classes: int = 2

    def shares(self) -> NDArray[np.float64]:
        """Shares of the classes in the training part."""
        return np.bincount(self.y, minlength=self.n_classes) / len(self.y)


@lru_cache(maxsize=1)
def load_collection(name: str, data: Path, least: int) -> TextCollection:
    """Read a collection."""
    classes = DATASETS[check_known("dataset", name, DATASETS)]
    X, X_test, topics, topics_test = _weighed(classes.source, data, least)
    rows, y = labelled(topics, classes)
    rows_test, y_test = labelled(topics_test, classes)
    return TextCollection(X[rows], y, X_test[rows_test], y_test, classes.n_classes)


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """Files of a dataset."""
    source = DATASETS[check_known("dataset", dataset, DATASETS)].source
    return [data / name for name in (_RCV1 if source == "rcv1" else [_FILES[source]])]


def labelled(
    topics: NDArray[Any], classes: Classes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the texts that have a class, and their classes.

    >>> import numpy as np
    >>> topics = np.array(["C11|CCAT", "ECAT", "CCAT|GCAT", ""])
    >>> labelled(topics, Classes("rcv1", ("CCAT",)))
    (array([0, 1, 2, 3]), array([1, 0, 1, 0]))
    >>> labelled(topics, Classes("rcv1", ("CCAT", "ECAT", "GCAT", "MCAT")))
    (array([0, 1]), array([0, 1]))
    """
    # Few of the lists of topics differ.
    kinds, kind = np.unique(topics, return_inverse=True)
    has = np.array(
        [
            [any(topic.startswith(label) for topic in kind.split("|")) for kind in kinds]
            for label in classes.labels
        ]
    )
    if len(classes.labels) == 1:
        return np.arange(len(topics)), has[0, kind].astype(np.int64)
    rows = np.flatnonzero(has.sum(axis=0)[kind] == 1)
    return rows, has.argmax(axis=0)[kind[rows]].astype(np.int64)


@lru_cache(maxsize=1)
def _weighed(
    source: str, data: Path, least: int
) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Weights of words and topics of a source: training part, then test part."""
    if source == "rcv1":
        return _rcv1(data)
    from sklearn.feature_extraction.text import TfidfVectorizer

    readers = {"imdb": _imdb, "reuters": _reuters, "newsgroups": _newsgroups}
    train, test = readers[source](data)
    words = TfidfVectorizer(min_df=least, sublinear_tf=True)
    X = words.fit_transform(train["text"].to_list()).tocsr()
    X_test = words.transform(test["text"].to_list()).tocsr()
    return X, X_test, train["label"].to_numpy(), test["label"].to_numpy()


def _rcv1(data: Path) -> tuple[Any, Any, NDArray[Any], NDArray[Any]]:
    """Weights that scikit-learn downloads; topics that contain others come with them."""
    from sklearn.datasets import fetch_rcv1

    parts: list[Any] = []
    for subset in ("train", "test"):
        bunch = fetch_rcv1(data_home=data, subset=subset, download_if_missing=False)
        topics = bunch.target.tocsr()
        names = np.asarray(bunch.target_names, dtype=str)
        listed = [
            "|".join(names[topics.indices[start:end]])
            for start, end in pairwise(topics.indptr.tolist())
        ]
        parts.append((bunch.data.tocsr(), np.array(listed)))
    (X, train), (X_test, test) = parts
    return X, X_test, train, test


def _imdb(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    table = pl.read_parquet(data_file(data, _FILES["imdb"]), columns=["split", "label", "text"])
    return _parted(table, "train", "test")


def _newsgroups(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    table = pl.read_parquet(data_file(data, _FILES["newsgroups"])).select(
        "split", pl.col("Category").alias("label"), pl.col("Text").fill_null("").alias("text")
    )
    return _parted(table, "train", "test")


def _reuters(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """News that the file marks as training or test; the others are not used."""
    table = pl.read_parquet(data_file(data, _FILES["reuters"])).select(
        pl.col("lewissplit").alias("split"),
        pl.col("topics").fill_null("").alias("label"),
        pl.concat_str(pl.col("title", "body").fill_null(""), separator=" ").alias("text"),
    )
    return _parted(table, "TRAIN", "TEST")


def _parted(table: pl.DataFrame, train: str, test: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    return table.filter(pl.col("split") == train), table.filter(pl.col("split") == test)


@dataclass(frozen=True, eq=False)
class TrainingSets:
    """Rows of the training set and of the labelled set, with the shares of both."""

    train: NDArray[np.int64]
    reference: NDArray[np.int64]
    shares: NDArray[np.float64]


def draw_training_and_reference(
    spec: Spec, collection: TextCollection, setting: Mapping[str, Any], seed: int
) -> TrainingSets:
    """Training set and labelled set, of the same size and shares, from two halves.

    On a grid of prevalences the size is the largest at which neither class runs out at any
    prevalence from 0.1 to 0.9. With shares drawn uniformly it is half of a half; items of
    classes that run out are drawn repeatedly, and shares that leave a class with fewer than
    five items are drawn again.
    """
    in_second = held_out_rows(collection.y, 0.5, task_seed(seed, "halves"))
    halves = [np.flatnonzero(~in_second), np.flatnonzero(in_second)]
    if "set" in setting:
        name, size = setting["set"], min(len(half) // 2 for half in halves)
        shares = _random_shares(collection.n_classes, size, task_seed(seed, "shares", name))
        sizes = [size, size]
    else:
        name = setting["prevalence"]
        shares = np.array([1 - name, name])
        rarest = [min(y.mean(), 1 - y.mean()) for y in (collection.y[half] for half in halves)]
        sizes = [
            int(len(half) * share * 10 / 9) for half, share in zip(halves, rarest, strict=True)
        ]
    drawn_rows = []
    for number, (half, size) in enumerate(zip(halves, sizes, strict=True)):
        protocol = Prevalences(
            [shares], size=size, random_state=task_seed(seed, "sets", number, name)
        )
        drawn_rows.append(half[protocol.draw(collection.y[half])[0]])
    return TrainingSets(drawn_rows[0], drawn_rows[1], shares)


def _random_shares(n_classes: int, size: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    if size < _FEWEST * n_classes:
        raise HeadcountError(
            f"training sets would have {size} items, which are too few for {n_classes} "
            "classes: use a larger collection."
        )
    while True:
        shares = rng.dirichlet(np.ones(n_classes))
        if shares.min() * size >= _FEWEST:
            return np.asarray(shares)


def draw_test_samples(spec: Spec, collection: TextCollection, seed: int) -> Samples:
    """Samples of the test part, at every prevalence or of uniformly drawn shares."""
    random_state, size = task_seed(seed, "test"), spec.protocol["size"]
    protocol: APP | UPP
    if is_uniform(spec):
        protocol = UPP(n_samples=n_samples(spec), size=size, random_state=random_state)
    else:
        protocol = APP(
            n_prevalences=spec.protocol["test_prevalences"],
            repeats=spec.protocol["repeats"],
            size=size,
            random_state=random_state,
        )
    return protocol.draw(collection.y_test)


def sample_rows(spec: Spec, method: MethodSpec) -> NDArray[np.int64]:
    """Samples that a method is run on: the first few, of each prevalence if there is a grid."""
    every = n_samples(spec) if is_uniform(spec) else spec.protocol["repeats"]
    numbers = np.arange(n_samples(spec))
    return numbers[numbers % every < repeats_of(spec, method)]
