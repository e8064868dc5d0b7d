"""Real datasets for `real_data.py`: tables, texts and digits, 2 to 20 classes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer

from environment import PROJECT
from headcount_studies.data.folder import data_file
from headcount_studies.data.tables import load_dataset
from headcount_studies.data.texts import load_reviews, load_tweets

__all__ = [
    "ALL",
    "DEVELOPMENT",
    "FINAL",
    "Items",
    "SelectWords",
    "data_folder",
    "load",
    "prepared",
    "replace_file",
]

# Rules and defaults were chosen on these. Look at them as often as you like.
DEVELOPMENT = (
    "adult", "avila", "bike", "contra", "dota", "drugs", "ener", "fifa", "mush", "musk",
    "news_part", "nurse", "occup", "spam", "thrm_h0", "vgame", "wine", "cars",
    "imdb50k", "imdb50k_binary", "womens_clothing_reviews", "amazon_blitzer", "newsgroups20",
    "mnist", "elec2", "nycflights13", "blog",
)  # fmt: skip

# Looked at once, at the end. No rule, default or constant may be chosen by their results.
FINAL = (
    "phish", "ccard", "magic", "yeast", "turk", "diam", "election_tweets_2016",
    "amazon_musical", "semeval2016", "acs_employment_ma", "reuters21578", "covid_testing",
)  # fmt: skip

ALL = DEVELOPMENT + FINAL

FEWEST_IN_CLASS = 60  # A class with fewer items in the whole dataset is dropped.
MOST_ITEMS = 30_000  # A larger dataset is cut to this many items, drawn at random once.
MIN_DOCUMENTS = 3  # A word counts if it is in at least this many documents.
MOST_WORDS = 20_000
N_TOPICS = 10


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one dataset and their classes, 0 to K - 1.

    ``X`` is an array, or for texts a sparse matrix of word counts.
    """

    name: str
    X: Any
    y: np.ndarray
    kind: str

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.y)

    @property
    def n_classes(self) -> int:
        return len(self.counts)


class SelectWords(TransformerMixin, BaseEstimator):
    """The commonest columns of a matrix of word counts, among the documents it is fitted on.

    Followed by a TfidfTransformer it equals a TfidfVectorizer, but texts are split into words
    once per dataset. As a part of the classifier it is fitted within each fold, so that
    training and new documents are treated alike.
    """

    def fit(self, X: Any, y: Any = None) -> SelectWords:
        documents = np.bincount(X.indices[X.data > 0], minlength=X.shape[1])
        common = np.flatnonzero(documents >= MIN_DOCUMENTS)
        if len(common) > MOST_WORDS:
            common = np.sort(common[np.argsort(-documents[common], kind="stable")[:MOST_WORDS]])
        self.columns_ = common
        return self

    def transform(self, X: Any) -> Any:
        return X[:, self.columns_]


def data_folder() -> Path:
    """The folder HEADCOUNT_DATA, or ../shared/data relative to the project."""
    return Path(os.environ.get("HEADCOUNT_DATA", PROJECT.parent / "shared" / "data"))


def load(name: str) -> Items:
    """Read a dataset, drop small classes, cut it to ``MOST_ITEMS``."""
    X, labels, kind = _READERS[name](data_folder())
    _, y, counts = np.unique(labels, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[y] >= FEWEST_IN_CLASS)
    if len(kept) > MOST_ITEMS:
        rng = np.random.default_rng(crc32(name.encode()))
        kept = np.sort(rng.permutation(kept)[:MOST_ITEMS])
    y = np.unique(y[kept], return_inverse=True)[1]
    if kind == "text":
        words = CountVectorizer(min_df=MIN_DOCUMENTS, dtype=np.float64)
        X = words.fit_transform([X[row] for row in kept]).tocsr()
    else:
        X = np.ascontiguousarray(X[kept], dtype=np.float64)
    return Items(name, X, y, kind)


def prepared(name: str, folder: Path) -> Items:
    """A dataset as `load` returns it, kept in a file for later tasks."""
    path = folder / f"{name}.pickle"
    if not path.exists():
        replace_file(path, pickle.dumps(load(name), protocol=5))
    return pickle.loads(path.read_bytes())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically: it is complete or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(path)


_Read = tuple[Any, Any, str]


def _recipe(name: str, task: str = "binary") -> Callable[[Path], _Read]:
    def read(folder: Path) -> _Read:
        found = load_dataset(name, task, folder)
        return found.X, found.y, "table"

    return read


def _reviews(name: str) -> Callable[[Path], _Read]:
    def read(folder: Path) -> _Read:
        found = load_reviews(name, folder)
        return found.texts, found.stars, "text"

    return read


def _texts(
    file: str, text: str, label: str, keep: pl.Expr | None = None
) -> Callable[[Path], _Read]:
    def read(folder: Path) -> _Read:
        table = pl.read_parquet(data_file(folder, f"{file}.parquet"))
        if keep is not None:
            table = table.filter(keep)
        table = table.drop_nulls([text, label]).unique(text, keep="first", maintain_order=True)
        return table[text].to_list(), table[label].cast(pl.String).to_numpy(), "text"

    return read


def _table(
    file: str, label: str, drop: tuple[str, ...], one_hot: tuple[str, ...] = ()
) -> Callable[[Path], _Read]:
    """A table without ``drop``; ``one_hot`` columns become a column per value."""

    def read(folder: Path) -> _Read:
        frame = _frame(folder, file).drop(drop)
        spread = [pl.col(column).cast(pl.String).fill_null("missing") for column in one_hot]
        frame = frame.with_columns(spread).drop_nulls()
        features = frame.drop(label)
        X = features.to_dummies(list(one_hot)) if one_hot else features
        return X.cast(pl.Float64).to_numpy(), frame[label].cast(pl.String).to_numpy(), "table"

    return read


def _frame(folder: Path, file: str) -> pl.DataFrame:
    if (folder / f"{file}.parquet").is_file():
        return pl.read_parquet(data_file(folder, f"{file}.parquet"))
    return pl.read_csv(data_file(folder, f"{file}.csv.gz"), infer_schema_length=None)


def _mnist(folder: Path) -> _Read:
    """Digits, the mean of each square of 2 x 2 pixels."""
    with np.load(data_file(folder, "mnist.npz")) as file:
        X = np.concatenate([file["X_train"], file["X_test"]]).reshape(-1, 14, 2, 14, 2)
        y = np.concatenate([file["y_train"], file["y_test"]])
    return X.mean(axis=(2, 4)).reshape(len(X), 196), y, "digits"


def _tweets(folder: Path) -> _Read:
    found = load_tweets("semeval2016", folder)
    return found.texts, found.labels, "text"


def _reuters(folder: Path) -> _Read:
    """News with a single topic, one of the ten commonest."""
    table = pl.read_parquet(data_file(folder, "reuters21578.parquet"))
    table = table.filter((pl.col("n_topics") == 1) & (pl.col("body").str.len_chars() > 0))
    topics = table["topics"].value_counts(sort=True)["topics"].head(N_TOPICS).to_list()
    table = table.filter(pl.col("topics").is_in(topics))
    table = table.unique("body", keep="first", maintain_order=True)
    texts = (table["title"].fill_null("") + " " + table["body"]).to_list()
    return texts, table["topics"].to_numpy(), "text"


_BINARY = (
    "adult", "dota", "mush", "musk", "occup", "spam", "phish", "ccard", "magic",
)  # fmt: skip
_MULTICLASS = (
    "bike", "contra", "drugs", "ener", "fifa", "nurse", "vgame", "wine", "blog", "yeast",
    "turk", "diam",
)  # fmt: skip
_FLIGHTS_DROP = (
    "year", "dep_time", "arr_time", "arr_delay", "sched_arr_time", "flight", "dest",
    "air_time", "minute", "time_hour",
)  # fmt: skip
_ACS_ONE_HOT = (
    "SCHL", "MAR", "RELP", "DIS", "ESP", "CIT", "MIG", "MIL", "ANC", "NATIVITY", "DEAR",
    "DEYE", "DREM", "SEX", "RAC1P",
)  # fmt: skip
_COVID_ONE_HOT = ("gender", "demo_group", "payor_group", "patient_class")
_CARS = ("Buying", "Maint", "Doors", "Persons", "Lug_boot", "Safety")

_READERS: dict[str, Callable[[Path], _Read]] = {
    **{name: _recipe(name) for name in _BINARY},
    **{name: _recipe(name, "multiclass") for name in _MULTICLASS},
    "thrm_h0": _recipe("thrm"),
    "news_part": _recipe("news", "multiclass"),
    "avila": _table("avila", "Class", ("split",)),
    "cars": _table("cars", "Acceptability", (), _CARS),
    "elec2": _table("elec2", "target", ("date",)),
    "nycflights13": _table("nycflights13", "delayed", _FLIGHTS_DROP, ("carrier", "origin")),
    "mnist": _mnist,
    "imdb50k": _texts("imdb50k", "text", "rating"),
    "imdb50k_binary": _texts("imdb50k", "text", "label"),
    "womens_clothing_reviews": _reviews("womens_clothing_reviews"),
    "amazon_blitzer": _reviews("amazon_blitzer"),
    "newsgroups20": _texts("newsgroups20", "Text", "Category"),
    "election_tweets_2016": _texts("election_tweets_2016", "Content", "Author"),
    "amazon_musical": _texts("amazon_musical", "reviewText", "overall"),
    "semeval2016": _tweets,
    "acs_employment_ma": _table(
        "acs_employment_ma",
        "employed",
        ("id", "year", "prediction", "predicted_probability"),
        _ACS_ONE_HOT,
    ),
    "reuters21578": _reuters,
    "covid_testing": _table(
        "covid_testing",
        "result",
        ("subject_id", "test_id", "clinic_name", "ct_result", "orderset"),
        _COVID_ONE_HOT,
    ),
}
