"""The peers in `real_data.py`, on the same scores and samples, through their public calls.

A peer gets what its user would have: out-of-fold posteriors of the training items, and the full
classifier's posteriors of the pool. QuaPy and mlquantify take them as features of a classifier
that returns its input; their own cross-validation then changes nothing. Settings are the peers'
defaults. Where methods for two classes meet more, each class is compared with the rest
by its posterior and the shares are normalised, as headcount's OneVsRest does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["PEERS", "WITH_INTERVALS", "measure_peer"]

LEVEL = 0.95


class PosteriorsAsFeatures(ClassifierMixin, BaseEstimator):
    """A classifier whose features are posteriors already."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> PosteriorsAsFeatures:
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Log odds of the second of two classes, as of a logistic regression."""
        p = np.clip(np.asarray(X)[:, 1], 1e-12, 1 - 1e-12)
        return np.log(p) - np.log1p(-p)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[np.asarray(X).argmax(axis=1)]


@dataclass(frozen=True)
class Peer:
    """A peer's method and the methods of headcount it is compared with."""

    library: str
    path: str
    same_as: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    two_classes: bool = False
    bootstrap: bool = False

    @property
    def name(self) -> str:
        method = self.path.rsplit(".", 1)[-1]
        settings = ", ".join(v for v in self.settings.values() if isinstance(v, str))
        method += f"({settings})" if settings else ""
        return f"{self.library} {'bootstrap ' if self.bootstrap else ''}{method}"

    def make(self) -> Any:
        module, name = f"{self.library}.{self.path}".rsplit(".", 1)
        made = getattr(import_module(module), name)
        if self.library == "quantificationlib":
            return made(**self.settings)
        return made(PosteriorsAsFeatures(), **self.settings)


def _quapy(name: str, *same_as: str, **options: Any) -> Peer:
    return Peer("quapy", f"method.aggregative.{name}", same_as, **options)


def _library(path: str, *same_as: str) -> Peer:
    return Peer("quantificationlib", path, same_as)


def _mlquantify(path: str, *same_as: str, **options: Any) -> Peer:
    return Peer("mlquantify", path, same_as, **options)


_METHODS = (
    _quapy("CC", "CC"),
    _quapy("PCC", "PCC"),
    _quapy("ACC", "ACC", "GAC"),
    _quapy("PACC", "PACC", "GPAC"),
    _quapy("EMQ", "SLD"),
    _quapy("EMQ", "SLD(bcts)", settings={"calib": "bcts", "val_split": 5}),
    _quapy("KDEyML", "KDEyML"),
    _quapy("DMy", "DM"),
    _quapy("EDy", "EDy"),
    _quapy("RLLS", "RLLS"),
    _quapy("DyS", "DyS", two_classes=True),
    _quapy("HDy", "HDy", two_classes=True),
    _quapy("MS2", "MS2", two_classes=True),
    _quapy("MAX", "TMAX", two_classes=True),
    _quapy("T50", "T50", two_classes=True),
    _quapy("SMM", "SMM", two_classes=True),
    _library("baselines.ac.AC", "ACC", "GAC"),
    _library("baselines.ac.PAC", "PACC", "GPAC"),
    _library("multiclass.em.EM", "SLD"),
    _library("multiclass.df.HDy", "DM"),
    _library("multiclass.energy.EDy", "EDy"),
    _library("multiclass.energy.CvMy", "CvMy"),
    _library("multiclass.friedman.FriedmanME", "FM"),
    _mlquantify("counting.ACC", "ACC", two_classes=True),
    _mlquantify("counting.GACC", "GAC"),
    _mlquantify("counting.GPACC", "GPAC", "PACC"),
    _mlquantify("likelihood.EMQ", "SLD"),
    _mlquantify("likelihood.EMQ", "SLD(bcts)", settings={"calib_function": "bcts"}),
    _mlquantify("matching.KDEyML", "KDEyML"),
    _mlquantify("matching.GHDy", "DM"),
    _mlquantify("matching.EDy", "EDy"),
    _mlquantify("matching.DyS", "DyS", two_classes=True),
    _mlquantify("matching.HDy", "HDy", two_classes=True),
    _mlquantify("matching.SMM", "SMM", two_classes=True),
    _mlquantify("counting.MS2", "MS2", two_classes=True),
    _mlquantify("counting.TMAX", "TMAX", two_classes=True),
    _mlquantify("counting.T50", "T50", two_classes=True),
    _mlquantify("counting.FM", "FM"),
)
_INTERVALS = (
    _quapy("PACC", "PACC", bootstrap=True),
    _quapy("EMQ", "SLD", bootstrap=True),
    _quapy("EMQ", "SLD(bcts)", bootstrap=True, settings={"calib": "bcts", "val_split": 5}),
    Peer("quapy", "method.confidence.BayesianCC", ("ACC", "GAC")),
)
_BY_NAME = {peer.name: peer for peer in (*_METHODS, *_INTERVALS)}
PEERS = tuple(peer.name for peer in _METHODS)
WITH_INTERVALS = tuple(peer.name for peer in _INTERVALS)

Predict = Callable[[np.ndarray], np.ndarray]


def measure_peer(name: str, case: Any) -> list[dict[str, Any]]:
    """Rows of one peer method: one per sample."""
    peer = _BY_NAME[name]
    posteriors, pool = case.scorer.posteriors_, case.pool_posteriors
    start = perf_counter()
    if name in WITH_INTERVALS:
        answer = _with_intervals(peer, posteriors, case.y)
    else:
        predict = _fitted(peer, posteriors, case.y, case.n_classes)
        answer = lambda scores: {"plain": predict(scores)}  # noqa: E731
    fitting = (perf_counter() - start) / sum(len(drawn) for drawn in case.draws)
    rows = []
    for drawn in case.draws:
        for sample, row in zip(drawn.samples, drawn.rows(), strict=True):
            start = perf_counter()
            found = answer(pool[sample])
            row |= found | {
                "library": peer.library, "method": name, "counterpart": ",".join(peer.same_as),
                "seconds_fit": fitting, "seconds_predict": perf_counter() - start,
            }  # fmt: skip
            rows.append(row)
    return rows


def _fitted(peer: Peer, posteriors: np.ndarray, y: np.ndarray, n_classes: int) -> Predict:
    if not peer.two_classes or n_classes == 2:
        return _one(peer, posteriors, y)
    parts = [
        _one(peer, _against_rest(posteriors, j), (y == j).astype(int)) for j in range(n_classes)
    ]

    def predict(scores: np.ndarray) -> np.ndarray:
        shares = np.array([part(_against_rest(scores, j))[1] for j, part in enumerate(parts)])
        total = shares.sum()
        return shares / total if total > 0 else np.full(n_classes, 1 / n_classes)

    return predict


def _against_rest(scores: np.ndarray, j: int) -> np.ndarray:
    return np.column_stack([1 - scores[:, j], scores[:, j]])


def _one(peer: Peer, posteriors: np.ndarray, y: np.ndarray) -> Predict:
    model = peer.make()
    if peer.library == "quantificationlib":
        model.fit(posteriors, y, predictions_train=posteriors)
        return lambda scores: np.ravel(model.predict(None, predictions_test=scores))
    model.fit(posteriors, y)
    return lambda scores: _vector(model.predict(scores))


def _vector(answer: Any) -> np.ndarray:
    """Shares in the order of the classes; mlquantify returns a mapping."""
    if isinstance(answer, dict):
        answer = [answer[key] for key in sorted(answer)]
    return np.ravel(np.asarray(answer, dtype=float))


def _with_intervals(peer: Peer, posteriors: np.ndarray, y: np.ndarray) -> Callable:
    model = peer.make()
    if peer.bootstrap:
        confidence = import_module("quapy.method.confidence")
        model = confidence.AggregativeBootstrap(
            model, n_test_samples=500, confidence_level=LEVEL, random_state=0
        )
    model.fit(posteriors, y)

    def answer(scores: np.ndarray) -> dict[str, Any]:
        shares, region = model.predict_conf(scores)
        low, high = np.ravel(region.I_low), np.ravel(region.I_high)
        return {"plain": np.ravel(shares), "low": low, "high": high}

    return answer
