"""Reviews and tweets, as texts with weights of words, or as published vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_files
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from headcount._support.parameters import check_choice, check_count
from headcount.errors import HeadcountError
from headcount_studies.data.folder import data_file
from headcount_studies.engine.spec import check_known


@dataclass(frozen=True, eq=False)
class Words:
    """Counts of each word in each text of a pool."""

    counts: sparse.csr_matrix

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def tf_idf(
        self,
        train: NDArray[np.integer[Any]],
        *further: NDArray[np.integer[Any]],
        least: int = 3,
        count: str = "words",
    ) -> tuple[sparse.csr_matrix, ...]:
        """Compute tf-idf weights on a training set, and scale texts to unit length.

        The vocabulary and the weights depend on the training set alone.
        """
        check_count("least", least)
        check_choice("count", count, ("words", "texts"))
        training = self.counts[train]
        frequency = training.sum(axis=0) if count == "words" else training.getnnz(axis=0)
        frequent = np.flatnonzero(np.asarray(frequency).ravel() >= least)
        if not len(frequent):
            raise HeadcountError(
                f"least is {least}, but no word is that frequent in the training set: lower it."
            )
        weights = TfidfTransformer().fit(training[:, frequent])
        tables = [training, *(self.counts[rows] for rows in further)]
        return tuple(
            sparse.csr_matrix(weights.transform(counts[:, frequent])) for counts in tables
        )


def count_words(texts: Sequence[str] | NDArray[Any]) -> Words:
    """Count the words of texts: runs of two or more letters or digits, in lower case.

    >>> words = count_words(["good, good book", "bad book", "good film"])
    >>> train, test = words.tf_idf([0, 1], [2], least=2)
    >>> train.shape, test.toarray()
    ((2, 2), array([[0., 1.]]))
    """
    return Words(sparse.csr_matrix(CountVectorizer(dtype=np.float64).fit_transform(texts)))


TWEETS_FILE = "tweets_text8.parquet"
_SHARES = (0.6, 0.1, 0.3)  # training, validation and test of collections without parts
_LABELS = {
    **{label: label for label in ("negative", "neutral", "positive")},
    # In OMD, the viewers' votes on a debate. These give the shares that the paper reports.
    **dict.fromkeys(("tie", "mixed"), "neutral"),
}
_TRAINED_ELSEWHERE = {"semeval2014": "semeval2013", "semeval2015": "semeval2013"}
_PARTS = dict.fromkeys(
    ("hcr", "semeval2013", "semeval2014", "semeval2015"), ("train", "dev", "test")
) | {"semeval2016": ("train", "dev", "devtest")}


@dataclass(frozen=True, eq=False)
class Reviews:
    """Texts with stars, and optionally the group of each text."""

    name: str
    texts: NDArray[Any]
    stars: NDArray[np.int64]
    groups: NDArray[Any] | None = None
    pair: tuple[str, str] | None = None

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class Tweets:
    """A collection of tweets: texts, labels and parts."""

    name: str
    texts: NDArray[Any]
    labels: NDArray[Any]
    splits: NDArray[Any]

    def rows(self, split: str) -> NDArray[np.int64]:
        """Rows of the tweets of a part."""
        return np.flatnonzero(self.splits == split)


@dataclass(frozen=True)
class _Source:
    """Columns of a file of reviews, and their conversion."""

    text: str
    stars: str
    group: str | None = None
    pair: tuple[str, str] | None = None
    first: tuple[str, ...] = ()
    stars_of: Callable[[float], int] = round


def _out_of_five(rating: float) -> int:
    """Convert a rating from 1 to 10 to stars."""
    return (round(rating) + 1) // 2


REVIEWS = {
    "amazon_books_electronics": _Source(
        "text", "stars", "category", ("books", "electronics"), ("books",)
    ),
    "amazon_5cat_small": _Source("reviewText", "overall"),
    "amazon_blitzer": _Source("text", "rating", "domain", ("media", "goods"), ("books", "dvd")),
    "womens_clothing_reviews": _Source(
        "Review Text", "Rating", "Department Name", ("tops", "others"), ("Tops",)
    ),
    "imdb50k": _Source("text", "rating", stars_of=_out_of_five),
}
"""Datasets of reviews.

Books and DVDs are one group of `amazon_blitzer`, electronics and kitchenware the other. Tops
are one group of `womens_clothing_reviews`, all other clothes the other. The five categories of
`amazon_5cat_small` are not used as groups, as a category has only about 80 negative reviews.
"""

VECTOR_TWEETS = (
    "gasp", "hcr", "omd", "sanders", "semeval2013", "semeval2014", "semeval2015", "semeval2016",
    "sst", "wa", "wb",
)  # fmt: skip
"""Collections of tweets of the paper, by our names, which it shares as vectors."""

TWEETS = tuple(name for name in VECTOR_TWEETS if name not in ("gasp", "wa", "wb"))
"""Collections of which there are texts."""


def reviews_file(name: str, data: Path) -> Path:
    """File of reviews: Parquet, or CSV, plain or compressed, where there is such a one."""
    paths = [data / f"{name}.{ending}" for ending in ("parquet", "csv", "csv.gz")]
    return next((path for path in paths if path.is_file()), paths[0])


@lru_cache(maxsize=4)
def load_reviews(name: str, data: Path) -> Reviews:
    """Load reviews by name. Repeated ones and those without a text or group are left out."""
    source = REVIEWS[check_known("dataset of reviews", name, REVIEWS)]
    columns = [column for column in (source.text, source.stars, source.group) if column]
    path = data_file(data, reviews_file(name, data).name)
    read = pl.read_parquet if path.suffix == ".parquet" else pl.read_csv
    try:
        table = read(path, columns=columns).drop_nulls()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HeadcountError(
            f"{str(path)!r} cannot be read ({str(error).splitlines()[0]}): it must have the "
            f"columns {', '.join(columns)}."
        ) from None
    table = table.filter(pl.col(source.text).str.strip_chars() != "")
    table = table.unique(source.text, keep="first", maintain_order=True)
    stars = [source.stars_of(rating) for rating in table[source.stars].to_list()]
    texts = np.array(table[source.text].to_list(), dtype=object)
    groups = None
    if source.group and source.pair:
        lowered = [group.lower() for group in source.first]
        first = table[source.group].str.to_lowercase().is_in(lowered).to_numpy()
        groups = np.where(first, *source.pair)
    return Reviews(name, texts, np.array(stars, np.int64), groups, source.pair)


@lru_cache(maxsize=2)
def load_tweets(name: str, data: Path) -> Tweets:
    """Load a collection of tweets with three labels. Tweets with other labels are left out.

    Collections that have parts keep them. SemEval 2014 and 2015 are test sets for training on
    SemEval 2013, as in the competitions. Others are divided at random, label by label: 60%
    for training, 10% for validation, 30% for tests.
    """
    check_known("collection of tweets", name, TWEETS)
    table = pl.read_parquet(data_file(data, TWEETS_FILE))
    table = table.with_columns(pl.col("label").replace_strict(_LABELS, default=None))
    table = table.drop_nulls("label")
    tweets = table.filter(pl.col("dataset") == name)
    if name not in _PARTS:
        tweets = tweets.unique("text", keep="first", maintain_order=True)
        return _collection(name, tweets, _divided(tweets["label"].to_numpy()))
    elsewhere = table.filter(pl.col("dataset") == _TRAINED_ELSEWHERE.get(name, name))
    splits = [
        (tweets if split_name == "test" else elsewhere)
        .filter(pl.col("split") == split)
        .with_columns(pl.lit(split_name).alias("split"))
        for split_name, split in zip(("train", "validation", "test"), _PARTS[name], strict=True)
    ]
    # A tweet in two parts stays in the test set, which comes first here.
    distinct = pl.concat(splits[::-1]).unique("text", keep="first", maintain_order=True)
    return _collection(name, distinct, distinct["split"].to_numpy())


def _collection(name: str, table: pl.DataFrame, splits: NDArray[Any]) -> Tweets:
    texts = np.array(table["text"].to_list(), dtype=object)
    return Tweets(name, texts, np.array(table["label"].to_list()), np.array(splits, dtype=str))


def _divided(labels: NDArray[Any]) -> NDArray[Any]:
    """Part of each item, at random with a fixed seed and with equal shares of every label."""
    rng = np.random.default_rng(0)
    splits = np.full(len(labels), "validation", dtype=object)
    for label in np.unique(labels.astype(str)):
        rows = rng.permutation(np.flatnonzero(labels == label))
        n_train, n_test = (round(share * len(rows)) for share in (_SHARES[0], _SHARES[2]))
        splits[rows[:n_train]] = "train"
        splits[rows[n_train : n_train + n_test]] = "test"
    return splits


FOLDER = "tweet_sentiment_quantification_snam"
"""Folder of the vectors, in that of the datasets."""

TWEET_CLASSES = ("negative", "neutral", "positive")


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of items, weighed by their publisher."""

    values: sparse.csr_matrix

    def tf_idf(
        self,
        train: NDArray[np.integer[Any]],
        *further: NDArray[np.integer[Any]],
        least: int = 3,
        count: str = "texts",
    ) -> tuple[sparse.csr_matrix, ...]:
        """Columns that enough training items have; their values stay as they are."""
        frequent = np.flatnonzero(self.values[train].getnnz(axis=0) >= least)
        return tuple(
            sparse.csr_matrix(self.values[rows][:, frequent]) for rows in (train, *further)
        )


def vector_files(name: str) -> dict[str, str]:
    """Files of the parts of a collection, within the folder of the datasets.

    >>> vector_files("semeval2014")["train"]
    'tweet_sentiment_quantification_snam/train/semeval.train.feature.txt'
    """
    short = name.replace("20", "", 1) if name.startswith("semeval20") else name
    # Three test sets of SemEval have one training set.
    trained = "semeval" if short in ("semeval13", "semeval14", "semeval15") else short
    test = "dev-test" if short == "semeval16" else "test"
    return {
        "train": f"{FOLDER}/train/{trained}.train.feature.txt",
        "validation": f"{FOLDER}/test/{trained}.dev.feature.txt",
        "test": f"{FOLDER}/test/{short}.{test}.feature.txt",
    }


@lru_cache(maxsize=2)
def load_tweet_vectors(name: str, data: Path) -> tuple[Tweets, Vectors]:
    """Labels, parts and vectors of a collection.

    Labels are numbers: the least is negative, the middle one neutral, the largest positive.
    """
    files = vector_files(name)
    paths = [data_file(data, file) for file in files.values()]
    try:
        loaded = load_svmlight_files([str(path) for path in paths], zero_based=False)
    except ValueError as error:
        raise HeadcountError(
            f"The vectors of {name!r} cannot be read ({error}): download "
            "https://zenodo.org/records/4255764 again, or correct the svmlight file."
        ) from None
    tables, numbers = loaded[0::2], loaded[1::2]
    labels = np.concatenate(numbers)
    values = np.unique(labels)
    if len(values) != len(TWEET_CLASSES):
        raise HeadcountError(
            f"The vectors of {name!r} have {len(values)} labels; they must have three numbers, "
            "for negative, neutral and positive."
        )
    splits = np.repeat(list(files), [len(y) for y in numbers])
    names = np.array(TWEET_CLASSES)[np.searchsorted(values, labels)]
    texts = np.full(len(labels), None, dtype=object)
    return Tweets(name, texts, names, splits), Vectors(sparse.vstack(tables, format="csr"))
