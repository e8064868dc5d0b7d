"""Errors of OpenSet with items of classes that were never seen, compared with SLD.

Some classes of a dataset are left out of training. Samples of 500 items have 0% to 40% of
their items from these classes, and random shares of the known ones. SLD ignores that there are
unseen items. Errors of the known shares are those of shares among known items. Digits are those
of scikit-learn; the other data are read from HEADCOUNT_DATA.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.errors import HeadcountWarning
from real_datasets import SelectWords, load
from tables import bullets, markdown_table

UNSEEN = (0.0, 0.1, 0.2, 0.3, 0.4)
SIZE, N_SAMPLES = 500, 20
COLUMNS = (
    "SLD", "SLD, estimate", "OpenSet", "OpenSet, estimate", "other: OpenSet",
    "other: estimate", "in 95% interval", "width", "p < 0.01",
)  # fmt: skip


def problems() -> Iterator[tuple[str, Any, np.ndarray, Any, int, list[int]]]:
    """Name, items, labels, classifier, labelled items, and numbers of unseen classes."""
    X, y = load_digits(return_X_y=True)
    table = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    yield "digits", X, y, table, 600, [1, 2, 3, 4]
    found, pixels = load("mnist"), LogisticRegression(C=0.1)
    yield "mnist", found.X[:12_000] / 255, found.y[:12_000], pixels, 2000, [2, 4]
    found = load("newsgroups20")
    text = make_pipeline(
        SelectWords(), TfidfTransformer(sublinear_tf=True), LogisticRegression(C=10, tol=1e-3)
    )
    yield "newsgroups20", found.X, found.y, text, 3000, [10]


def rows_of(
    X: Any, y: np.ndarray, classifier: Any, n_train: int, n_unseen: int, seed: int
) -> list[list[float]]:
    """Errors, coverage and width for each share of unseen items."""
    rng = np.random.default_rng(seed)
    unseen = rng.permutation(y.max() + 1)[:n_unseen]
    is_new = np.isin(y, unseen)
    known = rng.permutation(np.flatnonzero(~is_new))
    train, pool = known[:n_train], np.concatenate([known[n_train:], np.flatnonzero(is_new)])
    closed = hc.SLD(classifier, random_state=0).fit(X[train], y[train])
    opened = hc.OpenSet(hc.SLD(classifier, random_state=0)).fit(X[train], y[train])
    K = len(closed.classes_)
    codes = np.where(is_new[pool], K, np.searchsorted(closed.classes_, y[pool]))
    rows = []
    for share in UNSEEN:
        samples, truths = [], []
        for _ in range(N_SAMPLES):
            n_new = round(share * SIZE)
            counts = [*rng.multinomial(SIZE - n_new, rng.dirichlet(np.ones(K))), n_new]
            samples.append(
                np.concatenate(
                    [rng.choice(np.flatnonzero(codes == j), n) for j, n in enumerate(counts)]
                )
            )
            truths.append(np.array(counts) / SIZE)
        truth = np.array(truths)
        among_known = truth[:, :K] / truth[:, :K].sum(axis=1, keepdims=True)
        plain = closed.estimate_many(X[pool], samples)
        found = opened.estimate_many(X[pool], samples)
        shares = [np.array([e.shares for e in each]) for each in (plain, found)]
        raw = [np.array([e.raw for e in each]) for each in (plain, found)]
        errors = [
            100 * np.abs(_known(each, K) - among_known).mean()
            for each in (raw[0], shares[0], raw[1], shares[1])
        ]
        errors += [
            100 * np.abs(each[:, K] - truth[:, K]).mean() for each in (raw[1], shares[1])
        ]
        ends = np.array([e.interval()[opened.other] for e in found])
        inside = (ends[:, 0] <= truth[:, K] + 1e-9) & (truth[:, K] <= ends[:, 1] + 1e-9)
        rejected = np.mean([e.fit_test.p_value < 0.01 for e in plain])
        rows.append([*errors, 100 * inside.mean(), 100 * np.ptp(ends, axis=1).mean(),
                     100 * rejected])  # fmt: skip
    return rows


def _known(shares: np.ndarray, K: int) -> np.ndarray:
    """Shares among the known classes."""
    known = shares[:, :K]
    return known / np.maximum(known.sum(axis=1, keepdims=True), 1e-9)


def main(only: list[str], n_seeds: int = 1) -> None:
    warnings.simplefilter("ignore", HeadcountWarning)
    table = []
    for name, X, y, classifier, n_train, numbers in problems():
        if only and name not in only:
            continue
        found = [
            rows_of(X, y, classifier, n_train, n, seed)
            for n in numbers
            for seed in range(n_seeds)
        ]
        means = np.mean(found, axis=0)
        for share, own in zip(UNSEEN, means, strict=True):
            cells = [*(f"{value:.2f}" for value in own[:6]), *(f"{v:.0f}" for v in own[6:7])]
            cells += [f"{own[7]:.1f}", f"{own[8]:.0f}"]
            table.append([name, f"{share:.0%}", *cells])
            sys.stderr.write(f"{table[-1]}\n")
        _write(table)


def _write(table: list[list[str]]) -> None:
    text = (
        "# An unknown class\n\n"
        "Samples of 500 items, a part of them of classes that were never seen in training (1 "
        f"to 4 of 10 digits, 2 or 4 of 10 digits of mnist, 10 of 20 news groups; {N_SAMPLES} "
        f"samples for each number of unseen classes). The first four columns are the mean "
        "absolute error of the shares among the known items, in percentage points: of `SLD`, "
        "which ignores unseen items, and of `OpenSet(SLD)`, by `predict` and by `estimate`. "
        'Then the error of the share of "other", how often its 95% interval contains the truth '
        "and how wide it is in points, and how often the test of SLD's assumption rejects.\n\n"
        + markdown_table(["dataset", "unseen", *COLUMNS], table)
        + "\n\n"
        + bullets(describe_machine())
        + "\n"
    )
    (RESULTS / "open_set.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
