"""Texts as counts of words, counted once; weights of words learnt from any part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from headcount._parameters import check_choice, check_count
from headcount.errors import HeadcountError

__all__ = ["Words", "count_words"]


@dataclass(frozen=True, eq=False)
class Words:
    """How often each word is in each text of a pool.

    Attributes
    ----------
    counts : sparse array of shape (n, W)
        One row per text, one column per word of the pool.
    """

    counts: sparse.csr_matrix

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def tf_idf(
        self,
        train: NDArray[np.integer[Any]],
        *others: NDArray[np.integer[Any]],
        least: int = 3,
        count: str = "words",
    ) -> tuple[sparse.csr_matrix, ...]:
        """Weigh words by how rare they are in a training set, and make texts unit vectors.

        Nothing but the training set decides which words there are and what they weigh, as if
        its texts had been counted alone.

        Parameters
        ----------
        train : ndarray of int
            The texts of the training set, as rows of the pool.
        *others : ndarray of int
            Other texts to weigh alike.
        least : int, default=3
            How often a word must be in the training set.
        count : {"words", "texts"}, default="words"
            Whether that counts every time it is written, or every text it is in.

        Returns
        -------
        tuple of sparse matrices
            The training set, then the others.
        """
        check_count("least", least)
        check_choice("count", count, ("words", "texts"))
        chosen = self.counts[train]
        seen = chosen.sum(axis=0) if count == "words" else chosen.getnnz(axis=0)
        kept = np.flatnonzero(np.asarray(seen).ravel() >= least)
        if not len(kept):
            raise HeadcountError(
                f"least is {least}, but no word is that often in the training set: lower it."
            )
        weights = TfidfTransformer().fit(chosen[:, kept])
        parts = [chosen, *(self.counts[rows] for rows in others)]
        return tuple(sparse.csr_matrix(weights.transform(part[:, kept])) for part in parts)


def count_words(texts: Sequence[str] | NDArray[Any]) -> Words:
    """Count the words of texts: runs of two or more letters or digits, in small letters.

    Parameters
    ----------
    texts : sequence of str
        The texts of a pool.

    Returns
    -------
    Words
        Their counts.

    Examples
    --------
    >>> from headcount.data.datasets.texts_words import count_words
    >>> words = count_words(["good, good book", "bad book", "good film"])
    >>> train, test = words.tf_idf([0, 1], [2], least=2)
    >>> train.shape, test.toarray()
    ((2, 2), array([[0., 1.]]))
    """
    return Words(sparse.csr_matrix(CountVectorizer(dtype=np.float64).fit_transform(texts)))
