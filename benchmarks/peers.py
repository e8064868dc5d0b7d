"""The peers through their public calls, with one interface."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version

import numpy as np

from classifier import new_classifier
from methods import Row
from timing import best_of_three, timed
from workloads import Workload

__all__ = ["PeerTiming", "peer_for"]

_FEWEST = 5


@dataclass(frozen=True)
class PeerTiming:
    """Seconds for the complete workload, and the number of samples that were timed."""

    seconds: float
    n_timed: int
    own_mae: float | None


def peer_for(row: Row, workload: Workload, scores: tuple[np.ndarray, np.ndarray]):
    """Quantifier of a peer for a row, not yet fitted."""
    return {"quapy": Quapy, "quantificationlib": Quantificationlib}[row.peer](
        row, workload, scores
    )


class _Peer:
    package: str

    def __init__(self, row: Row, workload: Workload, scores: tuple[np.ndarray, np.ndarray]):
        self.row = row
        self.workload = workload
        self.training_scores, self.pool_scores = scores

    @property
    def label(self) -> str:
        return f"{self.package} {version(self.package)}"

    def estimates(self, index_arrays) -> np.ndarray:
        """Estimates for given samples, from scores that are computed once."""
        return np.array([self.estimate(self.classified[index]) for index in index_arrays])

    def affordable(self, budget: float, most: int) -> int:
        """Number of samples that the budget allows, by the time of three random ones."""
        rng = np.random.default_rng(0)
        size = (3, self.workload.sample_size)
        rows = rng.integers(len(self.workload.y_pool), size=size)
        self.estimates(rows[:1])
        seconds, _ = timed(lambda: self.estimates(rows))
        return int(np.clip(budget / (seconds / len(rows)), min(_FEWEST, most), most))


class Quapy(_Peer):
    """quapy, evaluated by its own protocols and with its own speed-up."""

    package = "quapy"

    def fit(self) -> float:
        methods = import_module("quapy.method.aggregative")
        quantifier = getattr(methods, self.row.theirs)
        self.model = quantifier(new_classifier(), **self.row.their_settings)
        seconds, _ = timed(lambda: self.model.fit(self.workload.X, self.workload.y))
        self.classified = self.model.classify(self.workload.X_pool)
        return seconds

    def estimate(self, scores) -> np.ndarray:
        return self.model.aggregate(scores)

    def evaluate(self, budget: float) -> PeerTiming:
        """Time quapy while it draws its own samples and predicts them.

        For a part of the workload the speed-up is forced, as quapy would choose it for the
        complete one. Classification of the pool counts once, the rest in proportion.
        """
        from quapy.evaluation import prediction

        points = self.workload.n_prevalences or 1
        repeats = self.affordable(budget, self.workload.n_samples) // points
        repeats = max(repeats, 1)
        whole = repeats == self.workload.repeats
        protocol = self._protocol(repeats)
        seconds, (true, estimated) = best_of_three(
            lambda: prediction(self.model, protocol, aggr_speedup="auto" if whole else "force")
        )
        if not whole:
            once, _ = best_of_three(lambda: self.model.classify(self.workload.X_pool))
            seconds = once + max(seconds - once, 0.0) * self.workload.repeats / repeats
        return PeerTiming(seconds, repeats * points, float(np.abs(true - estimated).mean()))

    def _protocol(self, repeats: int):
        from quapy.data import LabelledCollection
        from quapy.protocol import APP, UPP

        work = self.workload
        pool = LabelledCollection(work.X_pool, work.y_pool)
        common = {"sample_size": work.sample_size, "repeats": repeats, "random_state": 0}
        if work.n_prevalences:
            return APP(pool, n_prevalences=work.n_prevalences, **common)
        return UPP(pool, **common)


class Quantificationlib(_Peer):
    """quantificationlib: its predictions are timed, without a protocol."""

    package = "quantificationlib"

    def fit(self) -> float:
        module, name = self.row.theirs.rsplit(".", 1)
        quantifier = getattr(import_module(f"quantificationlib.{module}"), name)
        self.model = quantifier(**self.row.their_settings)
        work, scores = self.workload, self.training_scores
        seconds, _ = timed(lambda: self.model.fit(work.X, work.y, predictions_train=scores))
        self.classifier = new_classifier().fit(work.X, work.y)
        self.classified = self.pool_scores
        return seconds

    def estimate(self, scores) -> np.ndarray:
        return np.ravel(self.model.predict(None, predictions_test=scores))

    def evaluate(self, budget: float) -> PeerTiming:
        """Time classification of the pool once, and the predictions in proportion."""
        work = self.workload
        n = self.affordable(budget, work.n_samples)
        rng = np.random.default_rng(0)
        rows = rng.integers(len(work.y_pool), size=(n, work.sample_size))
        seconds, _ = best_of_three(lambda: self.estimates(rows))
        once, _ = best_of_three(lambda: self.classifier.predict_proba(work.X_pool))
        return PeerTiming(once + seconds * work.n_samples / n, n, None)
