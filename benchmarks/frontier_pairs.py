"""Pairs of methods for `frontier_peers.py`.

Both sides get the same training scores and the same scores of the samples, without a
classifier. The largest difference of a share over all samples is shown, and the time per
sample once fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from mlquantify.matching import SORD
from quantificationlib.baselines.ac import PAC
from quantificationlib.binary.debias import DeBias
from quantificationlib.binary.emd import SORDy
from quantificationlib.binary.quantiles import QUANTy
from quantificationlib.decomposition.ordinal import FrankAndHallQuantifier
from quantificationlib.ordinal.pdf import PDFOrdinaly
from quapy.method.aggregative import KDEyML

import headcount as hc
from real_data_peers import PosteriorsAsFeatures
from tables import markdown_table

N_TRAINING, N_POOL, N_SAMPLES, SIZE = 500, 4000, 40, 300

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Pair:
    """A method of headcount, the same one of a peer, and why they may differ."""

    name: str
    n_classes: int
    ours: Any
    peer: str
    theirs: Callable[[np.ndarray, np.ndarray], Predict]
    remark: str = ""


def pairs() -> list[Pair]:
    def kdey(**given: Any) -> Callable[..., Predict]:
        return _estimator(lambda: KDEyML(PosteriorsAsFeatures(), bandwidth=0.5, **given))

    found = [
        Pair("DeBias", 2, hc.DeBias(), "quantificationlib", _library(DeBias)),
        Pair("SORD", 2, hc.SORD(), "quantificationlib", _library(SORDy),
             "golden sections to 1e-5"),
        Pair("SORD", 2, hc.SORD(), "mlquantify",
             _estimator(lambda: SORD(PosteriorsAsFeatures())), "grid of 101 shares"),
        Pair("QUANTy", 2, hc.QUANTy(), "quantificationlib", _library(QUANTy),
             "golden sections to 1e-5"),
        Pair("FrankHall(PACC)", 4, hc.FrankHall(hc.PACC()), "quantificationlib",
             _frank_hall(FrankAndHallQuantifier, PAC)),
    ]  # fmt: skip
    for distance, name in (("emd", "EMD"), ("hellinger", "HD"), ("l2", "L2")):
        ours, title = hc.OrdinalPDF(distance=distance), f"OrdinalPDF({distance})"
        theirs = _library(PDFOrdinaly, method="full_probabilistic", n_bins=8, distance=name)
        remark = "its solver stops earlier" if name == "HD" else ""
        found.append(Pair(title, 4, ours, "quantificationlib", theirs, remark))
    for K in (2, 4):
        for kernel, shrinkage in (("aitchison", 0.0), ("ilr", 0.0), ("ilr", 0.1)):
            given = {"kernel": kernel, "shrinkage": shrinkage}
            name = f"KDEyML({kernel}, shrinkage {shrinkage})"
            ours = hc.KDEyML(bandwidth=0.5, stop="converged", **given)
            found.append(
                Pair(name, K, ours, "quapy", kdey(**given), "adds 1e-12 to every density")
            )
    return found


def _library(made: Any, **settings: Any) -> Callable[..., Predict]:
    def fit(train: np.ndarray, y: np.ndarray) -> Predict:
        model = made(**settings)
        model.fit(train, y, predictions_train=train)
        return lambda scores: np.ravel(model.predict(None, predictions_test=scores))

    return fit


def _estimator(make: Callable[[], Any]) -> Callable[..., Predict]:
    """Of QuaPy or mlquantify, whose answers may be mappings of classes to shares."""

    def fit(train: np.ndarray, y: np.ndarray) -> Predict:
        model = make().fit(train, y)

        def predict(scores: np.ndarray) -> np.ndarray:
            found = model.predict(scores)
            if isinstance(found, dict):
                found = [found[key] for key in sorted(found)]
            return np.asarray(found)

        return predict

    return fit


def _frank_hall(method: Any, base: Any) -> Callable[..., Predict]:
    """The peer takes the posteriors of the classes up to each one."""

    def upto(scores: np.ndarray) -> np.ndarray:
        return np.cumsum(scores, axis=1)[:, :-1]

    def fit(train: np.ndarray, y: np.ndarray) -> Predict:
        model = method(quantifier=base())
        model.fit(None, y, predictions_train=upto(train))
        return lambda scores: model.predict(None, predictions_test=upto(scores))

    return fit


def scores_of(K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Posteriors of ordered classes that overlap, and samples with shares of their own."""
    rng = np.random.default_rng(K)
    y = rng.choice(K, N_TRAINING + N_POOL, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum())
    x = 1.5 * y + rng.normal(size=len(y))
    scores = np.exp(-((x[:, None] - 1.5 * np.arange(K)) ** 2) / 2)
    scores /= scores.sum(axis=1, keepdims=True)
    codes = y[N_TRAINING:]
    samples = []
    for _ in range(N_SAMPLES):
        chances = rng.dirichlet(np.ones(K))[codes] / np.bincount(codes)[codes]
        samples.append(rng.choice(N_POOL, SIZE, p=chances / chances.sum()))
    return scores[:N_TRAINING], y[:N_TRAINING], scores[N_TRAINING:], samples


def compare(pair: Pair) -> list[str]:
    train, y, pool, samples = scores_of(pair.n_classes)
    ours = pair.ours.fit(hc.Scored(train), y)
    ours.predict_many(hc.Scored(pool), samples)  # compiles
    begin = perf_counter()
    found = ours.predict_many(hc.Scored(pool), samples)
    middle = perf_counter()
    theirs = pair.theirs(train, y)
    fitted = perf_counter()
    expected = np.array([theirs(pool[rows]) for rows in samples])
    end = perf_counter()
    gap = np.abs(found - expected).max(axis=1)
    return [
        pair.name, str(pair.n_classes), pair.peer, f"{gap.max():.1e}", f"{np.median(gap):.1e}",
        f"{1e3 * (middle - begin) / N_SAMPLES:.3f}", f"{1e3 * (end - fitted) / N_SAMPLES:.3f}",
        pair.remark,
    ]  # fmt: skip


def described() -> str:
    """Caption of the table."""
    return (
        f"Written by `benchmarks/frontier_peers.py`: {N_TRAINING} training items, {N_SAMPLES} "
        f"samples of {SIZE} items. Both sides get the same scores. A sample's difference is "
        "the largest one of its shares; the largest and the median over the samples."
    )


def table() -> str:
    """One row per pair."""
    head = ["method", "classes", "peer", "largest difference", "median difference",
            "ms per sample", "ms of the peer", "remark"]  # fmt: skip
    return markdown_table(head, [compare(pair) for pair in pairs()])
