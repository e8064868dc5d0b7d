"""Metrics regressed on how well a sample is separated into predicted classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.model_outputs import ModelOutputs, Reference
from headcount.accuracy.quacc_inputs import features_of
from headcount.accuracy.regression import RegressionPredictor, Rows, Statistic
from headcount.representation import Dense
from headcount.sampling import Samples

__all__ = ["DispersionScore", "NuclearNorm"]

Floats = NDArray[np.float64]

# Squared distances below this are zero up to rounding.
_LEAST_DISTANCE = 1e-12


class NuclearNorm(RegressionPredictor):
    """Metrics regressed on the nuclear norm of the posteriors of a sample.

    The norm, the sum of singular values, is high if the posteriors are confident and the
    predicted classes are many. The reference is split, 60 to 40. For samples with various
    shares drawn from the 40%, the difference of the metric to that on the 60% is regressed on
    the norm.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier, default=None
        The classifier whose accuracy is predicted; None if only its outputs are used.
    n_samples : int, default=100
        Number of samples for the regression, with shares uniform on the simplex.
    size : int, default=1000
        Number of items in each of these samples.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the split and of the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> norm = accuracy.NuclearNorm(model, random_state=0).fit(X[500:1500], y[500:1500])
    >>> round(norm.predict(X[1500:]), 1)
    0.9
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the nuclear norm of the posteriors",
        input="posteriors",
        gives="metrics",
        shift="prior",
        reference="Deng et al., ICML 2023",
    )

    def _statistic(self, reference: Reference, kept: Rows) -> Statistic:
        return nuclear_norms


def nuclear_norms(pool: ModelOutputs, samples: Samples) -> Floats:
    """Sum of the singular values of the posteriors of each sample, at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> certain = ModelOutputs(np.eye(2), np.arange(2))
    >>> nuclear_norms(certain, Samples.whole(2)).round(6)
    array([1.])
    """
    P = pool.posteriors
    K = P.shape[1]
    products = np.empty((len(samples), K, K))
    for j in range(K):
        products[:, :, j] = Dense(P * P[:, [j]]).means(samples)
    squares = np.maximum(np.linalg.eigvalsh(products), 0.0)
    return np.asarray(np.sqrt(squares).sum(axis=1) / np.sqrt(np.minimum(samples.sizes, K)))


class DispersionScore(RegressionPredictor):
    """Metrics regressed on the distances between predicted classes.

    The score is the logarithm of the mean squared distance between the centre of the features
    of a sample and those of its predicted classes. Metrics are regressed on it as in
    `NuclearNorm`. Features are divided by their standard deviations on the reference, unless
    they are sparse. The published score counts items where this one uses shares, so that
    samples of any size can be compared.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The classifier whose accuracy is predicted. Of a pipeline, the features are the input
        of its last step.
    n_samples : int, default=100
        Number of samples for the regression, with shares uniform on the simplex.
    size : int, default=1000
        Number of items in each of these samples.
    random_state : int, RandomState, Generator or None, default=None
        Random seed of the split and of the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> score = accuracy.DispersionScore(model, random_state=0).fit(X[500:1500], y[500:1500])
    >>> round(score.predict(X[1500:]), 1)
    0.9
    """

    info: ClassVar = AccuracyInfo(
        title="regression on distances between predicted classes",
        input="features",
        gives="metrics",
        shift="prior",
        reference="Xie et al., NeurIPS 2023",
    )

    def _statistic(self, reference: Reference, kept: Rows) -> Statistic:
        X = features_of(reference.outputs.X, self.classifier)
        scale = np.ones(X.shape[1])
        if not sparse.issparse(X):
            spread = X.std(axis=0)
            scale = np.where(spread > 0, spread, 1.0)
        return _Dispersion(self.classifier, scale)


@dataclass(frozen=True, eq=False)
class _Dispersion:
    """Logarithm of the mean squared distance of predicted classes to the centre."""

    classifier: Any
    scale: Floats

    def __call__(self, pool: ModelOutputs, samples: Samples) -> Floats:
        X, found = features_of(pool.X, self.classifier), np.empty(len(samples))
        for number, rows in enumerate(samples):
            classes, codes = np.unique(pool.labels[rows], return_inverse=True)
            members = sparse.csr_matrix(
                (np.ones(len(rows)), (codes, np.arange(len(rows)))), (len(classes), len(rows))
            )
            sums = members @ X[rows]
            sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
            counts = np.bincount(codes)
            away = (sums / counts[:, None] - sums.sum(axis=0) / len(rows)) / self.scale
            distance = counts @ (away**2).sum(axis=1) / len(rows)
            found[number] = np.log(max(distance, _LEAST_DISTANCE))
        return found
