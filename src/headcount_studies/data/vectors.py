"""The papers' own tweets: vectors in the svmlight format, as their publisher packs them.

The folder ``tweet_sentiment_quantification_snam`` has ``train`` and ``test``, and in these one
file per collection and part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_files

from headcount.errors import HeadcountError
from headcount_studies.data.folder import data_file
from headcount_studies.data.texts import Tweets

FOLDER = "tweet_sentiment_quantification_snam"
"""Folder of the vectors, in that of the datasets."""

VECTOR_TWEETS = (
    "gasp", "hcr", "omd", "sanders", "semeval2013", "semeval2014", "semeval2015", "semeval2016",
    "sst", "wa", "wb",
)  # fmt: skip
"""Collections that the paper has, by our names."""

_CLASSES = ("negative", "neutral", "positive")


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of items, weighed by their publisher."""

    values: sparse.csr_matrix

    def tf_idf(
        self,
        train: NDArray[np.integer[Any]],
        *others: NDArray[np.integer[Any]],
        least: int = 3,
        count: str = "texts",
    ) -> tuple[sparse.csr_matrix, ...]:
        """Columns that enough training items have; their values stay as they are."""
        frequent = np.flatnonzero(self.values[train].getnnz(axis=0) >= least)
        return tuple(
            sparse.csr_matrix(self.values[rows][:, frequent]) for rows in (train, *others)
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
    if len(values) != len(_CLASSES):
        raise HeadcountError(
            f"The vectors of {name!r} have {len(values)} labels; they must have three numbers, "
            "for negative, neutral and positive."
        )
    parts = np.repeat(list(files), [len(y) for y in numbers])
    names = np.array(_CLASSES)[np.searchsorted(values, labels)]
    texts = np.full(len(labels), None, dtype=object)
    return Tweets(name, texts, names, parts), Vectors(sparse.vstack(tables, format="csr"))
