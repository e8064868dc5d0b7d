"""A classifier trained on what the model says of a sample, tried on the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from headcount._parameters import check_count
from headcount.accuracy.base import Predictor
from headcount.accuracy.info import AccuracyInfo
from headcount.accuracy.judging import Judged, Reference
from headcount.accuracy.regressed import Regressed, drawn_samples, split
from headcount.data import take_rows
from headcount.errors import HeadcountError
from headcount.sampling import Samples
from headcount.sampling._streams import base_seeds

__all__ = ["RCA", "RCAStar"]

Floats = NDArray[np.float64]
_REFERENCE = "Elsahar & Galle, EMNLP 2019"


class _Reverse(Predictor):
    """What both have in common: learners of pseudo-labels, and a regression."""

    # A learner is trained for each of them.
    _most_simulations: ClassVar[int] = 500

    def __init__(
        self,
        classifier: Any = None,
        *,
        learner: Any = None,
        n_samples: int = 100,
        size: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.learner = learner
        self.n_samples = n_samples
        self.size = size
        self.random_state = random_state

    def _compared_with(
        self, reference: Reference, kept: NDArray[np.int64], learner: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the reference to try learners on, and what they should say of them."""
        raise NotImplementedError

    def _learn(self, reference: Reference) -> Regressed:
        n_samples = check_count("n_samples", self.n_samples, 2)
        size = check_count("size", self.size)
        rng = np.random.default_rng(base_seeds(self.random_state, 1)[0])
        learner = self._learner()
        kept, rest = split(reference, rng)
        rows, said = self._compared_with(reference, kept, learner)
        telling = _Discrepancy(learner, take_rows(reference.judged.X, rows), said)
        samples = drawn_samples(reference, rest, n_samples, size, rng)
        K = reference.n_classes
        tables = samples.prevalence_of(reference.cells, K * K).reshape(-1, K, K)
        base = reference.take(kept).table
        return Regressed(telling, telling(reference.judged, samples), tables, base, rest)

    def _learner(self) -> Any:
        if self.learner is None:
            model = self.classifier
            return model.estimator if isinstance(model, FrozenEstimator) else model
        if isinstance(self.learner, type) or not hasattr(self.learner, "fit"):
            raise HeadcountError(
                f"learner is {self.learner!r}; it must be a scikit-learn classifier, such as "
                "LogisticRegression()."
            )
        return self.learner

    def _simulation_rows(self) -> NDArray[np.int64]:
        # Learners are tried on the other items, and must not be trained on them.
        rows: NDArray[np.int64] = self.model_.rows
        return rows

    def _why_no_table(self) -> str:
        return "it regresses one measure at a time; use LEAP, QuAcc or CBPE."


class RCA(_Reverse):
    """Reverse classification accuracy: whether what the model says teaches the same.

    A learner is trained on the sample with the classes the model predicts; how often it and
    the model say different things of held-out labelled items tells how much the sample has
    changed. The measure is regressed on that, with samples of all kinds of shares drawn from
    the reference. One learner is trained for each sample.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The model whose accuracy is wanted.
    learner : scikit-learn classifier, default=None
        What is trained on predicted classes; the same kind as the model by default.
    n_samples : int, default=100
        Samples of the reference to regress on, with shares uniform on the simplex.
    size : int, default=1000
        Items in each of them, drawn with replacement.
    random_state : int, RandomState, Generator or None, default=None
        Splits the reference and draws the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(1500, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> rca = accuracy.RCA(model, n_samples=20, size=200, random_state=0)
    >>> round(rca.fit(X[500:1000], y[500:1000]).predict(X[1000:]), 1)
    0.8
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the disagreement with a learner of pseudo-labels",
        shift="prior",
        gives="metrics",
        needs="features",
        reference=_REFERENCE,
    )

    def _compared_with(
        self, reference: Reference, kept: NDArray[np.int64], learner: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return kept, reference.judged.labels[kept]


class RCAStar(_Reverse):
    """`RCA` without what the detour alone does: both sides are learners of pseudo-labels.

    A learner of the sample is compared not with the model but with a learner of what the
    model says of one half of the held-out items, on the other half: errors that training on
    predicted classes adds are then on both sides.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier
        The model whose accuracy is wanted.
    learner : scikit-learn classifier, default=None
        What is trained on predicted classes; the same kind as the model by default.
    n_samples : int, default=100
        Samples of the reference to regress on, with shares uniform on the simplex.
    size : int, default=1000
        Items in each of them, drawn with replacement.
    random_state : int, RandomState, Generator or None, default=None
        Splits the reference and draws the samples.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from headcount import accuracy
    >>> X, y = make_classification(1500, flip_y=0.2, random_state=0)
    >>> model = LogisticRegression().fit(X[:500], y[:500])
    >>> rca = accuracy.RCAStar(model, n_samples=20, size=200, random_state=0)
    >>> round(rca.fit(X[500:1000], y[500:1000]).predict(X[1000:]), 1)
    0.8
    """

    info: ClassVar = AccuracyInfo(
        title="regression on the disagreement of two learners of pseudo-labels",
        shift="prior",
        gives="metrics",
        needs="features",
        reference=_REFERENCE,
    )

    def _compared_with(
        self, reference: Reference, kept: NDArray[np.int64], learner: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        taught, tried = kept[::2], kept[1::2]
        X, labels = reference.judged.X, reference.judged.labels
        said = _taught(learner, take_rows(X, taught), labels[taught], take_rows(X, tried))
        return tried, said


@dataclass(frozen=True, eq=False)
class _Discrepancy:
    """How often a learner of each sample's predicted classes says something else."""

    learner: Any
    X: Any
    said: NDArray[np.int64]

    def __call__(self, pool: Judged, samples: Samples) -> Floats:
        found = np.empty(len(samples))
        for number, rows in enumerate(samples):
            said = _taught(self.learner, take_rows(pool.X, rows), pool.labels[rows], self.X)
            found[number] = np.mean(said != self.said)
        return found


def _taught(learner: Any, X: Any, labels: NDArray[np.int64], asked: Any) -> NDArray[np.int64]:
    """What a learner trained on these labels says of other items."""
    if (labels == labels[0]).all():
        return np.full(asked.shape[0], labels[0])
    return np.asarray(clone(learner).fit(X, labels).predict(asked), dtype=np.int64)
