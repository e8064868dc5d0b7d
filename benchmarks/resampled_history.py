"""Control of dated.py: labelled and new groups of real tables that differ in their mix alone.

Groups are drawn from the rows of a table by class, so nothing drifts. New groups have mixes
that are normal around those of the table (0.4 in log odds, "mild") or uniform ("strong"). The
labelled table has no groups, eight groups with such mixes, or eight with the mix of the table
("stable past"). Errors and intervals are compared with those of the prior-shift estimate of the
same run, which is what `history="no"` returns. Scores are weak where they leave more than 65%
of the variance of the classes unexplained. Settings were chosen on the first datasets; the
others were looked at once, at the end.

    HEADCOUNT_DATA=folder python benchmarks/resampled_history.py [--only adult] [--repeats 2]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.estimates.backtest import usual_history
from headcount.estimates.history import unexplained_variance
from real_datasets import load

DEVELOPMENT = (
    "adult", "bike", "contra", "dota", "drugs", "ener", "fifa", "mush", "news_part", "nurse",
    "occup", "spam", "thrm_h0", "vgame", "wine", "cars", "musk", "blog",
)  # fmt: skip
SET_ASIDE = ("phish", "ccard", "magic", "yeast", "turk", "diam")
MOST_CLASSES, MOST_COLUMNS = 4, 60
N_LABELLED, LABELLED_SIZE, N_NEW, NEW_SIZE = 8, 120, 5, 200
WEAK = 0.65
CASES = (
    ("mild", "no groups"), ("mild", "groups"), ("strong", "no groups"), ("strong", "groups"),
    ("strong", "stable past"),
)  # fmt: skip


def draw(rng: np.random.Generator, y: np.ndarray, rows: np.ndarray, shares: Any, n: int) -> Any:
    """Rows with given shares of the classes, with replacement."""
    counts = rng.multinomial(n, shares)
    parts = [rng.choice(rows[y[rows] == j], count) for j, count in enumerate(counts)]
    return np.concatenate(parts)


def rows_of(name: str, repeats: int) -> Iterator[dict[str, Any]]:
    """Errors and coverage of each new group of a dataset."""
    items = load(name)
    counts = np.bincount(items.y)
    classes = np.sort(np.argsort(-counts)[:MOST_CLASSES])
    rows = np.flatnonzero(np.isin(items.y, classes))
    y, K = np.searchsorted(classes, items.y), len(classes)
    prior = np.bincount(y[rows], minlength=K) / len(rows)
    X = items.X.toarray() if hasattr(items.X, "toarray") else items.X
    X = X[:, np.argsort(-X.std(axis=0))[:MOST_COLUMNS]]

    def table(parts: list[Any], prefix: str) -> pl.DataFrame:
        chosen = np.concatenate(parts)
        groups = [f"{prefix}{i}" for i, part in enumerate(parts) for _ in part]
        columns = {f"x{i}": column for i, column in enumerate(X[chosen].T)}
        return pl.DataFrame(columns | {"label": [f"c{j}" for j in y[chosen]], "group": groups})

    for repeat in range(repeats):
        for shift, past in CASES:
            rng = np.random.default_rng([repeat, len(name), int(counts.sum())])
            order = rng.permutation(rows)
            pool, labelled = np.split(order, [len(order) // 2])

            def mix(rng: np.random.Generator = rng, shift: str = shift) -> Any:
                if shift == "strong":
                    return rng.dirichlet(np.ones(K))
                shares = prior * np.exp(0.4 * rng.standard_normal(K))
                return shares / shares.sum()

            old = [
                draw(rng, y, labelled, mix() if past == "groups" else prior, LABELLED_SIZE)
                for _ in range(N_LABELLED)
            ]
            new = [draw(rng, y, pool, mix(), NEW_SIZE) for _ in range(N_NEW)]
            train = table(old, "a")
            if past == "no groups":
                train = train.drop("group")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                analysis = hc.analyse(
                    table(new, "b"), train=train, target="label", by="group",
                    method="SLD(bcts)",
                )  # fmt: skip
            usual = usual_history(analysis.model.quantifier.fitted_)
            weak = unexplained_variance(usual.uncertainty, usual.past) > WEAK
            for item in analysis.groups:
                before = item.estimate.under_shift
                ends = before.interval(0.95)
                yield {
                    "name": name, "case": f"{shift}, {past}", "weak": weak,
                    "error": np.abs(item.estimate.shares - item.truth).mean(),
                    "before": np.abs(before.shares - item.truth).mean(),
                    "inside": _inside(item.low, item.high, item.truth),
                    "inside_before": _inside(ends.low, ends.high, item.truth),
                    "width": (item.high - item.low).mean(),
                    "width_before": (ends.high - ends.low).mean(),
                }  # fmt: skip


def _inside(low: Any, high: Any, truth: Any) -> float:
    return float(((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean())


def summary(rows: list[dict[str, Any]], title: str) -> str:
    """Table of the cases, over all datasets."""
    frame = pl.DataFrame(rows)
    lines = [
        f"## {title}", "",
        "| mix, past | scores | datasets | error relative to prior shift | coverage | width "
        "| of prior shift: coverage | width |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    keys = (*(f"{shift}, {past}" for shift, past in CASES),)
    scores: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("all", lambda: pl.lit(True)), ("sharp", lambda: ~pl.col("weak")),
        ("weak", lambda: pl.col("weak")),
    )  # fmt: skip
    for case in keys:
        for which, chosen in scores:
            means = (
                frame.filter(pl.col("case") == case, chosen())
                .group_by("name")
                .agg(pl.col(pl.Float64).mean())
            )
            if not len(means):
                continue
            ratio = float(np.exp((means["error"] / means["before"]).log().mean()))
            columns = ("inside", "width", "inside_before", "width_before")
            inside, width, inside_before, width_before = means.select(columns).mean().row(0)
            lines.append(
                f"| {case} | {which} | {len(means)} | {ratio:.2f} | {inside:.1%} | "
                f"{width:.3f} | {inside_before:.1%} | {width_before:.3f} |"
            )
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS / "resampled_history.md")
    options = parser.parse_args()
    facts = describe_machine()
    described = f"{facts['date']}, {facts['machine']}, Python {facts['python']}."
    parts = ["# Resampled history", "", __doc__.split("\n\n")[1], "", described, ""]
    for names, title in ((DEVELOPMENT, "development"), (SET_ASIDE, "set aside")):
        rows: list[dict[str, Any]] = []
        for name in names:
            if options.only is None or name in options.only:
                rows += rows_of(name, options.repeats)
                print(name, flush=True)
        if rows:
            parts.append(summary(rows, f"Datasets {title}"))
    options.output.write_text("\n".join(parts))
    print(options.output.read_text())


if __name__ == "__main__":
    main()
