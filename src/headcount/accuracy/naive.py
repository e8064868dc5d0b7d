"""Accuracy on the reference, without any correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.accuracy.base import Predictor, TableModel
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.representation import Reduced, Reduction
from headcount.sampling import Samples

__all__ = ["Naive"]


class Naive(Predictor):
    """Accuracy on the reference, for every sample: correct if nothing has changed.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(600, random_state=0)
    >>> model = LogisticRegression().fit(X[:200], y[:200])
    >>> round(accuracy.Naive(model).fit(X[200:400], y[200:400]).predict(X[400:]), 2)
    0.91
    """

    info: ClassVar = AccuracyInfo(
        title="accuracy on the reference",
        input="labels",
        gives="table",
        shift="none",
        reference="Volpi et al., Intelligenza Artificiale (2025)",
    )

    def _learn(self, reference: Reference) -> TableModel:
        return _Constant(reference.table)


@dataclass(frozen=True, eq=False)
class _Constant(TableModel):
    """The same table for every sample."""

    table: NDArray[np.float64]

    def reduction(self) -> tuple[Reduction, ...]:
        return ()

    def reduced_statistics(
        self, reduced: Reduced, sizes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        return np.tile(self.table, (len(sizes), 1, 1))

    def tables(self, pool: ModelOutputs, samples: Samples) -> NDArray[np.float64]:
        return np.tile(self.table, (len(samples), 1, 1))
