"""Collections of tweets as weights of words, and samples of every mix of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount.evaluation.search import LabelledPool, Split, labelled
from headcount.samples.protocols import APP
from headcount.samples.samples import Samples
from headcount_studies.data.texts import TWEETS_FILE, Tweets, Words, count_words, load_tweets
from headcount_studies.data.vectors import Vectors, load_tweet_vectors, vector_files
from headcount_studies.engine.spec import Spec
from headcount_studies.tweets.spec import has_vectors

CLASSES = ("negative", "neutral", "positive")


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """Files of a collection: texts of all are in one, vectors have one per part."""
    if has_vectors(spec):
        return [data / file for file in vector_files(dataset).values()]
    return [data / TWEETS_FILE]


def describe(spec: Spec, dataset: str, data: Path) -> list[dict[str, Any]]:
    """Numbers of tweets of a collection, shares of its classes, and shift of its test set."""
    tweets = _tweets(dataset, data, has_vectors(spec))[0]
    labels, parts = tweets.labels, tweets.parts
    shares = {
        part: np.array([(labels[rows] == name).mean() for name in CLASSES[::-1]])
        for part, rows in (("L", parts != "test"), ("U", parts == "test"))
    }
    counts = {part: int((parts == part).sum()) for part in ("train", "validation", "test")}
    return [
        {
            "dataset": dataset,
            "training": counts["train"],
            "validation": counts["validation"],
            "test": counts["test"],
            "total": len(labels),
            "shift": round(float(np.abs(shares["L"] - shares["U"]).mean()), 4),
        }
        | {
            f"{name}, {part}": round(float(share), 4)
            for part, of_part in shares.items()
            for name, share in zip(CLASSES[::-1], of_part, strict=True)
        }
    ]


@dataclass(frozen=True, eq=False)
class TweetCollection:
    """A collection of tweets in three parts: training, validation and test."""

    tweets: Tweets
    words: Words | Vectors

    def training_and_test(self, least: int) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """Items and labels of training and validation, then items and labels of the test."""
        development, test = np.concatenate(self._development()), self.tweets.rows("test")
        X, pool = self.words.tf_idf(development, test, least=least, count="texts")
        return X, self.tweets.labels[development], pool, self.tweets.labels[test]

    def selection(self, spec: Spec, seed: int) -> tuple[LabelledPool, Split]:
        """Items to select settings on: trained on one part, tested on samples of the other."""
        train, held = self._development()
        tables = self.words.tf_idf(train, held, least=spec.protocol["least"], count="texts")
        X = sparse.vstack(tables, format="csr")
        items = labelled(X, self.tweets.labels[np.concatenate([train, held])], None)
        samples = draw_samples(spec, self.tweets.labels[held], spec.selection, seed)
        rows = np.arange(len(train)), len(train) + np.arange(len(held))
        return items, Split(*rows, samples)

    def _development(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.tweets.rows("train"), self.tweets.rows("validation")


@lru_cache(maxsize=2)
def load_collection(dataset: str, data: Path, vectors: bool = False) -> TweetCollection:
    """Read a collection and count its words, or read its vectors."""
    return TweetCollection(*_tweets(dataset, data, vectors, counted=True))


def _tweets(dataset: str, data: Path, vectors: bool, *, counted: bool = False) -> Any:
    if vectors:
        return load_tweet_vectors(dataset, data)
    tweets = load_tweets(dataset, data)
    return tweets, count_words(tweets.texts) if counted else None


def draw_samples(spec: Spec, labels: NDArray[Any], given: dict[str, Any], seed: int) -> Samples:
    """Samples of every mix of the classes; `given` has their number per mix and their size."""
    protocol = APP(
        repeats=given["repeats"],
        size=given["size"],
        step=spec.protocol["step"],
        random_state=seed,
    )
    return protocol.draw(labels, classes=np.array(CLASSES))
