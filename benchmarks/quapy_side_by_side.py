"""Errors of headcount and QuaPy, each method as it is used by default, on the same samples.

Both libraries get the same training items and unfitted classifier, logistic regression; folds,
calibration and stopping rules are the defaults of each. Samples of 250 items have uniform
shares, shares from a Dirichlet distribution with parameter 0.3, half of the classes absent, or
the shares of the data. AutoQuantifier is compared with the best method of QuaPy in hindsight,
for each dataset, kind of shares and metric. It answers with the best shares for each metric, as
`evaluate` asks for them.

    HEADCOUNT_DATA=folder python benchmarks/quapy_side_by_side.py
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import quapy
from quapy.method import aggregative
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from absent_classes import read
from environment import RESULTS, describe_machine
from headcount.samples import Samples
from real_datasets import SelectWords, data_folder, load
from tables import markdown_table

DATASETS = (
    "imdb50k_binary", "elec2", "womens_clothing_reviews", "satellite", "dry-bean", "mnist",
    "newsgroups20", "letter",
)  # fmt: skip
KINDS = ("uniform", "Dirichlet(.3)", "half absent", "natural")
METRICS = ("ae", "rae")
N_TRAIN, SIZE, FEWEST = 1000, 250, 5
PAIRS = {
    "CC": "CC", "PCC": "PCC", "ACC": "ACC", "PACC": "PACC", "DM": "DMy", "KDEyML": "KDEyML",
    "SLD": "EMQ", "HDy": "HDy", "DyS": "DyS",
}  # fmt: skip
OF_TWO_CLASSES = ("HDy", "DyS")
MARGIN = 0.02


def split(name: str) -> tuple[Any, ...]:
    """Training items, pool, their classes, and a classifier."""
    table = data_folder() / "uci_multiclass" / f"{name}.parquet"
    kind = "table"
    if table.exists():
        X, labels = read(table)
        y = np.unique(labels, return_inverse=True)[1]
    else:
        items = load(name)
        X, y, kind = items.X, items.y, items.kind
    order = np.random.default_rng(0).permutation(len(y))
    train, pool = order[:N_TRAIN], order[N_TRAIN:]
    counts = np.bincount(y[train], minlength=y.max() + 1)
    frequent = np.flatnonzero(counts >= FEWEST)
    train, pool = (rows[np.isin(y[rows], frequent)] for rows in (train, pool))
    codes = np.searchsorted(frequent, y)
    regression = LogisticRegression(max_iter=1000)
    steps = (SelectWords(), TfidfTransformer()) if kind == "text" else (StandardScaler(),)
    classifier = make_pipeline(*steps, regression)
    return X[train], codes[train], X[pool], codes[pool], classifier


def draw(y: np.ndarray, n_samples: int, rng: np.random.Generator) -> Samples:
    """Samples of every kind of shares, in the order of the kinds."""
    K = int(y.max()) + 1
    by_class = [np.flatnonzero(y == j) for j in range(K)]
    rows = []
    for kind in KINDS:
        for _ in range(n_samples):
            shares = rng.dirichlet(np.full(K, 0.3 if kind == "Dirichlet(.3)" else 1.0))
            if kind == "half absent":
                shares[rng.permutation(K)[: K // 2]] = 0
            if kind == "natural":
                shares = np.bincount(y) / len(y)
            counts = rng.multinomial(SIZE, shares / shares.sum()).tolist()
            parts = zip(by_class, counts, strict=True)
            rows.append(
                np.concatenate([rng.choice(of, m, replace=m > len(of)) for of, m in parts])
            )
    return Samples.from_arrays(rows, n_pool=len(y))


def errors(name: str, n_samples: int) -> dict[tuple[str, str], np.ndarray]:
    """Errors of every method by sample, of shape (samples, metrics), by library and method."""
    X, y, X_pool, y_pool, classifier = split(name)
    samples = draw(y_pool, n_samples, np.random.default_rng(1))
    names = [pair for pair in PAIRS if y.max() == 1 or pair not in OF_TWO_CLASSES]
    methods = {
        pair: getattr(hc, pair)(classifier, random_state=0)
        for pair in names
        if pair not in ("CC", "PCC")
    }
    methods |= {pair: getattr(hc, pair)(classifier) for pair in ("CC", "PCC")}
    if y.max() > 1:
        methods["ACC"] = hc.GAC(classifier, random_state=0)
        methods["PACC"] = hc.GPAC(classifier, random_state=0)
    methods["AutoQuantifier"] = hc.AutoQuantifier(classifier, random_state=0)
    for method in methods.values():
        method.fit(X, y)
    frame = hc.evaluate(methods, X_pool, y_pool, samples, metrics=METRICS).to_frame()
    result = {
        ("headcount", method): frame.filter(frame["method"] == method)
        .select(METRICS)
        .to_numpy()
        for method in methods
    }
    true = samples.prevalence_of(y_pool, int(y_pool.max()) + 1)
    for pair in names:
        peer = getattr(aggregative, PAIRS[pair])(clone(classifier))
        peer.fit(X, y)
        shares = np.array([peer.predict(X_pool[index]) for index in samples])
        ae = hc.metrics.ae(true, shares)
        rae = hc.metrics.rae(true, shares, size=SIZE)
        result["QuaPy", pair] = np.column_stack([ae, rae])
    return result


def cells(
    results: dict[str, dict],
) -> Iterator[tuple[str, str, str, int, np.ndarray, np.ndarray]]:
    """Dataset, kind, method and metric of a cell, with the errors of both libraries."""
    for name, of_methods in results.items():
        n_samples = len(of_methods["headcount", "CC"]) // len(KINDS)
        for place, kind in enumerate(KINDS):
            rows = slice(place * n_samples, (place + 1) * n_samples)
            peers = {
                pair: e[rows] for (library, pair), e in of_methods.items() if library == "QuaPy"
            }
            for metric in range(len(METRICS)):
                for pair, of_peer in peers.items():
                    ours = of_methods["headcount", pair][rows, metric]
                    yield name, kind, pair, metric, ours, of_peer[:, metric]
                best = min(peers.values(), key=lambda e, metric=metric: e[:, metric].mean())
                auto = of_methods["headcount", "AutoQuantifier"][rows, metric]
                yield name, kind, "AutoQuantifier", metric, auto, best[:, metric]


def verdict(ours: np.ndarray, theirs: np.ndarray) -> int:
    """1 if ours is worse beyond 2% and two standard errors, -1 if better, 0 otherwise."""
    gap = ours - theirs
    mean, error = gap.mean(), gap.std(ddof=1) / np.sqrt(len(gap))
    beyond = abs(mean) > max(2 * error, MARGIN * theirs.mean())
    return int(np.sign(mean)) if beyond else 0


def report(results: dict[str, dict], n_samples: int) -> str:
    """The document."""
    rows = [
        (*cell[:4], cell[4].mean() / max(cell[5].mean(), 1e-12), verdict(*cell[4:]))
        for cell in cells(results)
    ]
    text = []
    for metric, label in enumerate(("AE", "RAE")):
        table = []
        for method in (*PAIRS, "AutoQuantifier"):
            of_method = [row for row in rows if row[2] == method and row[3] == metric]
            line = [method]
            for kind in KINDS:
                of_kind = [row for row in of_method if row[1] == kind]
                ratio = np.median([row[4] for row in of_kind])
                line.append(f"{ratio:.2f}")
            worse = sorted({row[0] for row in of_method if row[5] > 0})
            line += [
                str(sum(row[5] < 0 for row in of_method)),
                str(sum(row[5] > 0 for row in of_method)), ", ".join(worse),
            ]  # fmt: skip
            table.append(line)
        head = ["method", *KINDS, "better", "worse", "worse on"]
        text += [f"## {label}", "", markdown_table(head, table), ""]
    machine = describe_machine()
    return "\n".join([
        "# headcount and QuaPy, as used by default", "",
        *__doc__.split("\n    HEAD")[0].split("\n")[2:],
        f"{n_samples} samples of each kind for each of {len(results)} datasets: "
        f"{', '.join(results)}; {N_TRAIN:,} training items. QuaPy {quapy.__version__}. "
        f"{machine['date']}, {machine['machine']}.", "",
        "Medians over the datasets of the ratio of the mean errors, headcount to QuaPy; "
        "numbers of cells (dataset and kind of shares) where it is better or worse by more "
        "than 2% and two standard errors of the paired difference. `ACC` and `PACC` are "
        "`GAC` and `GPAC` with more than two classes, `HDy` and `DyS` are for two.", "", *text,
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=25, help="of each kind of shares")
    parser.add_argument("--output", type=Path, default=RESULTS / "quapy_side_by_side.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    results = {}
    for name in DATASETS:
        results[name] = errors(name, options.samples)
        print(name, flush=True)
        options.output.write_text(report(results, options.samples))


if __name__ == "__main__":
    main()
