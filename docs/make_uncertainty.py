"""Make the picture of uncertainty.md: simulated results, and the shares given one of them.

python docs/make_uncertainty.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from make_gallery import save
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc
from headcount.plots._style import INK, method_styles

# Few features, so that the classifier has visible errors.
_FEATURES, _TRAINING, _NEW = [0, 1], 200, 120


def main() -> None:
    """Draw the picture from a quantifier's own simulations."""
    data = load_breast_cancer()
    rows = np.random.default_rng(1).permutation(len(data.target))
    X, y = data.data[rows][:, _FEATURES], data.target[rows]
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    quantifier = hc.Conditioned(hc.CC(classifier), random_state=0)
    quantifier.fit(X[:_TRAINING], y[:_TRAINING])
    rest = np.arange(_TRAINING, len(y))
    mixed = [rest[y[rest] == 0][: 3 * _NEW // 4], rest[y[rest] == 1][: _NEW // 4]]
    new = np.concatenate(mixed)  # a quarter is benign; in training nearly two thirds are
    estimate = quantifier.members_[0].estimate(X[new], random_state=0)
    shares = quantifier.fitted_.model.shares
    simulated = shares._simulate(shares.training, _NEW)
    answer = float(estimate.raw[1])
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.4, 3.2), sharey=True, gridspec_kw={"width_ratios": [2.2, 1]}
    )
    colours = method_styles(["simulated", "near"])
    answers, truths = simulated.answers[:, 1], simulated.truths[:, 1]
    near = np.abs(answers - answer) < 0.03
    left.plot(answers[~near], truths[~near], ".", ms=2, color="#b8bec6")
    left.plot(answers[near], truths[near], ".", ms=3, color=colours["simulated"].colour)
    left.plot([0, 1], [0, 1], "--", lw=0.8, color=INK)
    left.axvline(answer, lw=1, color=INK)
    left.annotate(
        f"answer for the new items: {answer:.2f}",
        (answer, 0.93),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=INK,
    )
    left.set_xlabel("answer of classify and count")
    left.set_ylabel("true share of the simulated sample")
    draws = estimate.draws[:, 1]
    right.hist(
        draws, bins=30, orientation="horizontal", color=colours["simulated"].colour, alpha=0.8
    )
    low, high = estimate.interval()[1]
    for end in (low, high):
        right.axhline(end, lw=1, ls="--", color=INK)
    right.axhline(estimate.shares[1], lw=1.2, color=INK)
    right.text(1, high + 0.02, "95% interval", fontsize=8, color=INK)
    true = float(y[new].mean())
    right.plot([2], [true], "D", ms=5, color="white", markeredgecolor=INK)
    right.annotate(
        f"true share {true:.2f}",
        (2, true),
        xytext=(4, -44),
        textcoords="offset points",
        fontsize=8,
        color=INK,
        arrowprops={"arrowstyle": "-", "lw": 0.6, "color": INK},
    )
    right.set_xlabel("shares given that answer")
    right.set_xticks([])
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    figure.tight_layout()
    save(figure, Path(__file__).with_name("images") / "conditioning.png")


if __name__ == "__main__":
    main()
