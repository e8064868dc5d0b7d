"""Draw the kinds of shift for shift.md: items, P(x) and P(x | y) in training and in a sample.

python docs/make_shift.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

import headcount as hc

PICTURE = Path(__file__).with_name("images") / "shift-illustrated.png"
COLOURS = ("#0072B2", "#E69F00")  # negative, positive
TRAINING, SAMPLE = "training", "sample"
BINS = np.linspace(-5, 5, 41)


def made(share: float, **strengths: Any) -> tuple[Any, Any, Any, Any]:
    """Training items and a sample of `make_shift`, of two features.

    Of many samples it is the one whose share of positives is nearest to a given one.
    """
    data = hc.shift.make_shift(
        n_features=2, n_train=4000, n_samples=40, size=4000, separation=3.5, random_state=3,
        **strengths,
    )  # fmt: skip
    rows = min(data.samples, key=lambda rows: abs(data.y_pool[rows].mean() - share))
    return data.X, data.y, data.X_pool[rows], data.y_pool[rows]


def local() -> tuple[Any, Any, Any, Any]:
    """Two clusters per class; positives of the first group become more."""
    rng = np.random.default_rng(0)
    y, groups = rng.integers(0, 2, 40_000), rng.integers(0, 2, 40_000)
    centres = np.array([[[-2.0, -1.5], [-1.0, 2.0]], [[1.5, -1.5], [2.5, 2.0]]])
    X = centres[y, groups] + 0.7 * rng.normal(size=(40_000, 2))
    protocol = hc.shift.LocalCovariateShift(
        [0.75], train_size=2000, test_size=2000, repeats=1, test_repeats=1, random_state=0
    )
    experiment = protocol.draw(y, groups=groups)[0]
    rows = experiment.train[0], experiment.test[0]
    return X[rows[0]], y[rows[0]], X[rows[1]], y[rows[1]]


KINDS = {
    "prior shift": lambda: made(0.2, prior=1.0),
    "covariate shift": lambda: made(0.3, covariate=1.2),
    "local covariate shift": local,
    "concept shift": lambda: made(0.7, concept=0.8),
}


def draw() -> Figure:
    """One row per kind: training items, items of the sample, P(x), P(x | y)."""
    figure = Figure(figsize=(9, 8.6), layout="constrained")
    grid = figure.subplots(len(KINDS), 4, squeeze=False)
    for axes, (kind, make) in zip(grid, KINDS.items(), strict=True):
        X, y, X_sample, y_sample = make()
        line = LogisticRegression().fit(X, y)
        # Along the direction in which the classes differ, or the groups of local shift.
        along = line.coef_[0] if kind != "local covariate shift" else np.array([0.0, 1.0])
        along = along / np.linalg.norm(along)
        middle = -float(X.mean(axis=0) @ along)
        for ax, items, labels in ((axes[0], X, y), (axes[1], X_sample, y_sample)):
            scatter(ax, items, labels, line, X.mean(axis=0))
        values = X @ along + middle, X_sample @ along + middle
        for part, style, numbers, labels in (
            (TRAINING, "-", values[0], y),
            (SAMPLE, "--", values[1], y_sample),
        ):
            outline(axes[2], numbers, "#1f2328", style, part)
            for label, colour in enumerate(COLOURS):
                outline(axes[3], numbers[labels == label], colour, style, part)
        axes[0].set_ylabel(kind)
    for ax, title in zip(grid[0], ("training", "sample", "P(x)", "P(x | y)"), strict=True):
        ax.set_title(title, fontsize=10)
    grid[0][2].legend(fontsize=7, frameon=False)
    return figure


def scatter(ax: Any, X: Any, y: Any, line: Any, centre: Any) -> None:
    """Items by class, and the line that a classifier learnt in training."""
    rows = np.random.default_rng(0).permutation(len(y))[:500]
    ax.scatter(*X[rows].T, c=np.array(COLOURS)[y[rows]], s=4, linewidths=0, alpha=0.7)
    x = np.array([-12.0, 12.0])
    ax.plot(x, -(x * line.coef_[0][0] + line.intercept_[0]) / line.coef_[0][1], "k--", lw=0.8)
    across, up = centre
    ax.set(xlim=(across - 5, across + 5), ylim=(up - 5, up + 5), xticks=[], yticks=[])


def outline(ax: Any, values: Any, colour: str, style: str, part: str) -> None:
    """Density of values."""
    density, _ = np.histogram(values, BINS, density=True)
    ax.plot(
        (BINS[1:] + BINS[:-1]) / 2, density, color=colour, linestyle=style, label=part, lw=1.2
    )
    ax.set(xticks=[], yticks=[])
    ax.spines[["top", "right", "left"]].set_visible(False)


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=140, metadata={"Software": None})
