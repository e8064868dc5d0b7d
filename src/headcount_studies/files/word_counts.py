"""Word counts of texts, computed once, and tf-idf weights fitted on any part of them."""

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
    """Counts of each word in each text of a pool.

    Attributes
    ----------
    counts : sparse array of shape (n, W)
        Counts, with one row per text and one column per word of the pool.
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
        """Compute tf-idf weights on a training set, and scale texts to unit length.

        The vocabulary and the weights depend on the training set alone.

        Parameters
        ----------
        train : ndarray of int
            Rows of the training set in the pool.
        *others : ndarray of int
            Rows of other sets, transformed with the same weights.
        least : int, default=3
            Smallest frequency of a word in the training set.
        count : {"words", "texts"}, default="words"
            Unit of the frequency: occurrences of the word, or texts that contain it.

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
                f"least is {least}, but no word is that frequent in the training set: lower it."
            )
        weights = TfidfTransformer().fit(chosen[:, kept])
        parts = [chosen, *(self.counts[rows] for rows in others)]
        return tuple(sparse.csr_matrix(weights.transform(part[:, kept])) for part in parts)


def count_words(texts: Sequence[str] | NDArray[Any]) -> Words:
    """Count the words of texts: runs of two or more letters or digits, in lower case.

    Parameters
    ----------
    texts : sequence of str
        Texts of a pool.

    Returns
    -------
    Words
        Counts of the words.

    Examples
    --------
    >>> from headcount_studies.files.word_counts import count_words
    >>> words = count_words(["good, good book", "bad book", "good film"])
    >>> train, test = words.tf_idf([0, 1], [2], least=2)
    >>> train.shape, test.toarray()
    ((2, 2), array([[0., 1.]]))
    """
    return Words(sparse.csr_matrix(CountVectorizer(dtype=np.float64).fit_transform(texts)))
