# ruff: noqa: T201 (a script for people to watch)
"""How many eights? A tour of headcount on data that comes with scikit-learn.

    python examples/quickstart.py [--output FOLDER]

One digit in ten of the training set is an eight. Then come thousands of samples in which
every share from none to all are eights. Prints a table, and writes a picture
(quickstart.png). `headcount demo` shows shares over time, with intervals and a page.
"""

from __future__ import annotations

import argparse
import io
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from time import perf_counter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import headcount as hc

# Blues and oranges are told apart with every kind of colour vision.
COLOURS = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "faint": "#6e7781",
    "SLD": "#0072B2",
    "CC": "#D55E00",
}
SHOWN = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
CAPTION = "Mean estimated share of eights, by true share"


@dataclass(frozen=True)
class Outcome:
    """What the methods said of the samples."""

    n_train: int
    training_share: float
    accuracy: float
    samples: hc.Samples
    estimates: dict[str, np.ndarray]
    seconds: dict[str, float]

    @property
    def true_share(self) -> np.ndarray:
        """Share of eights in each sample."""
        return self.samples.prevalence[:, 1]

    def error(self, method: str) -> float:
        """Mean absolute error of a method."""
        return float(np.abs(self.estimates[method] - self.true_share).mean())

    def mean_at(self, method: str, share: float) -> float:
        """Mean estimate over the samples that have this share."""
        return float(self.estimates[method][np.isclose(self.true_share, share)].mean())

    def rows(self) -> list[list[str]]:
        """The table: one row a method."""
        return [
            [
                method,
                *(f"{self.mean_at(method, share):.1%}" for share in SHOWN),
                f"{100 * self.error(method):.1f} points",
                f"{1000 * self.seconds[method]:.0f} ms",
            ]
            for method in self.estimates
        ]

    def columns(self) -> list[str]:
        """Head of the table."""
        return ["true share", *(f"{share:.0%}" for share in SHOWN), "mean error", "time"]

    def story(self) -> str:
        """What happened, in a few sentences."""
        half = {method: self.mean_at(method, 0.5) for method in ("CC", "SLD")}
        return (
            f"A logistic regression learnt from {self.n_train:,} handwritten digits, "
            f"{self.training_share:.0%} of them eights, to tell eights from the rest. It is "
            f"right on {self.accuracy:.0%} of new digits. Yet where half of a sample are "
            f"eights, counting its answers finds {half['CC']:.0%}; the same answers read by "
            f"SLD find {half['SLD']:.0%}."
        )

    def note(self) -> str:
        """What the numbers stand for."""
        size = int(self.samples.sizes[0])
        return (
            f"{len(self.samples):,} samples of {size} digits, drawn from "
            f"{self.samples.n_pool:,} that were not trained on; every share from 0% to 100% "
            "in steps of 5%. Mean error: mean absolute error over all samples, in percentage "
            "points. Time: to classify the digits once and estimate all samples, after a "
            "first call that compiles."
        )


def run() -> Outcome:
    """Train on a third of the digits and quantify samples of the others."""
    digits = load_digits()
    X_train, X_pool, y_train, y_pool = train_test_split(
        digits.data,
        np.where(digits.target == 8, "eight", "other"),
        train_size=600,
        stratify=digits.target,
        random_state=0,
    )
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scorer = hc.Scorer(classifier, random_state=0).fit(X_train, y_train)
    samples = hc.APP(n_prevalences=21, repeats=200, size=100, random_state=0).draw(
        y_pool, classes=["other", "eight"]
    )
    estimates, seconds = {}, {}
    eight = list(scorer.classes_).index("eight")
    for quantifier in (hc.CC(), hc.PACC(), hc.DyS(), hc.KDEyML(), hc.SLD()):
        quantifier.fit_scorer(scorer)
        quantifier.predict_many(X_pool, samples[:2])  # compiles, on the first run only
        start = perf_counter()
        shares = quantifier.predict_many(X_pool, samples)
        name = type(quantifier).__name__
        estimates[name], seconds[name] = shares[:, eight], perf_counter() - start
    right = scorer.classes_[scorer.labels(X_pool)] == y_pool
    training_share = float(scorer.prior_[eight])
    return Outcome(
        len(y_train), training_share, float(right.mean()), samples, estimates, seconds
    )


def draw(outcome: Outcome) -> bytes:
    """True against estimated shares, as a PNG."""
    figure = Figure(figsize=(6.4, 5.4), layout="constrained", facecolor=COLOURS["paper"])
    axes = figure.add_subplot(facecolor=COLOURS["paper"])
    shares = np.unique(outcome.true_share)
    for method in ("CC", "SLD"):
        at = [outcome.estimates[method][outcome.true_share == share] for share in shares]
        low, middle, high = np.array([np.quantile(each, (0.05, 0.5, 0.95)) for each in at]).T
        axes.fill_between(shares, low, high, color=COLOURS[method], alpha=0.25, linewidth=0)
        axes.plot(shares, middle, color=COLOURS[method], linewidth=2.4)
    axes.plot([0, 1], [0, 1], color=COLOURS["ink"], linestyle=(0, (4, 3)), linewidth=1)
    axes.axvline(outcome.training_share, color=COLOURS["faint"], linewidth=1, linestyle=":")
    label(axes, outcome)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.tick_params(colors=COLOURS["ink"], length=3)
    for side in axes.spines:
        axes.spines[side].set_visible(side in ("left", "bottom"))
        axes.spines[side].set_color(COLOURS["faint"])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def label(axes: Axes, outcome: Outcome) -> None:
    """Write the words of the picture next to what they name."""
    big = {"fontsize": 14, "fontweight": "bold"}
    axes.text(0.66, 0.78, "SLD", color=COLOURS["SLD"], ha="right", **big)
    axes.text(0.99, 0.41, "classify\nand count (CC)", color=COLOURS["CC"], ha="right", **big)
    axes.text(
        0.36, 0.44, "estimate = truth", color=COLOURS["faint"], ha="center", rotation=45,
        rotation_mode="anchor", transform_rotates_text=True,
    )  # fmt: skip
    axes.text(
        outcome.training_share, 0.99, " share in\n training", color=COLOURS["faint"], va="top"
    )
    axes.text(0.99, 0.02, "bands hold 90% of samples", color=COLOURS["faint"], ha="right")
    axes.set_xlabel("true share of eights in the sample", color=COLOURS["ink"], fontsize=12)
    axes.set_ylabel("estimated share", color=COLOURS["ink"], fontsize=12)
    title = f"One classifier, right on {outcome.accuracy:.0%} of digits, read in two ways"
    axes.set_title(title, color=COLOURS["ink"], fontsize=12, loc="left", pad=12)


def table(outcome: Outcome) -> str:
    """The same table for a terminal."""
    lines = [outcome.columns(), *outcome.rows()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        line[0].ljust(widths[0])
        + "".join(
            "  " + cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)
        )
        for line in lines
    )


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(), help="folder to write to")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    outcome = run()
    print(fill(outcome.story(), 88), CAPTION + ":", table(outcome), sep="\n\n")
    print("\n" + fill(outcome.note(), 88) + "\n")
    picture = options.output / "quickstart.png"
    picture.write_bytes(draw(outcome))
    print("picture:", picture.resolve())


if __name__ == "__main__":
    main()
