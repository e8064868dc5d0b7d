"""Scores of real networks: errors of SLD by calibration, and of AutoQuantifier.

Logits of eight networks for the 10,000 test images of CIFAR-10 (and of four for CIFAR-100, for
the time). A part of the items is the labelled set that calibrations and methods learn from;
samples of 1,000 are drawn from the others, with shares from a symmetric Dirichlet distribution
or with one class at 50% or 90% and equal shares of the others ("tweak-one"). The best
calibration in hindsight is the best of five for each network, labelled set and kind of shares,
with the maximum of the likelihood. AutoQuantifier returns the best shares for each metric, as
`evaluate` asks for them.

    HEADCOUNT_DATA=folder python benchmarks/logits.py [--networks 8] [--output results.md]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

import headcount as hc
from environment import RESULTS, describe_machine
from headcount.quantifiers import Quantifier
from real_datasets import data_folder

LABELLED, SIZE, CALIBRATIONS = (200, 500, 2000), 1000, (None, "ts", "nbvs", "bcts", "vs")
SHARES = (0.1, 1.0, 10.0, "tweak-one")
METRICS = ("ae", "rae")


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of a network."""
    with np.load(path) as arrays:
        return arrays["logits"].astype(np.float64), arrays["labels"].astype(np.int64)


def mixes(shares: float | str, n: int, K: int, rng: np.random.Generator) -> np.ndarray:
    """Shares of samples."""
    if shares != "tweak-one":
        return rng.dirichlet(np.full(K, shares), n)
    large = rng.choice([0.5, 0.9], n)
    drawn = np.repeat(((1 - large) / (K - 1))[:, None], K, axis=1)
    drawn[np.arange(n), rng.integers(K, size=n)] = large
    return drawn


def quantifiers() -> dict[str, Quantifier]:
    """Methods by name."""
    fixed = {
        f"SLD({calibration})": hc.SLD(calibration=calibration, stop="converged")
        for calibration in CALIBRATIONS
    }
    chosen = {
        "SLD(auto)": hc.SLD(calibration="auto"),
        "AutoQuantifier": hc.AutoQuantifier(random_state=0),
    }
    return fixed | chosen


def measure(path: Path, n_labelled: int, n_samples: int, seed: int) -> dict:
    """Mean errors by method and metric, and coverage of AutoQuantifier, by kind of shares."""
    logits, labels = load(path)
    rng = np.random.default_rng([seed, n_labelled])
    order = rng.permutation(len(labels))
    known, pool = order[:n_labelled], order[n_labelled:]
    scored = hc.Scored(logits=logits[pool])
    methods = {
        name: method.fit(hc.Scored(logits=logits[known]), labels[known])
        for name, method in quantifiers().items()
    }
    results = {}
    for shares in SHARES:
        drawn = mixes(shares, n_samples, logits.shape[1], rng)
        protocol = hc.Prevalences(drawn, size=SIZE, random_state=int(rng.integers(2**31)))
        samples = protocol.draw(labels[pool])
        evaluation = hc.evaluate(methods, scored, labels[pool], samples, metrics=METRICS)
        frame = evaluation.to_frame()
        errors = {
            name: frame.filter(frame["method"] == name).select(METRICS).mean().row(0)
            for name in methods
        }
        results[shares] = errors, coverage(methods["AutoQuantifier"], scored, samples)
    return results


def coverage(quantifier: Quantifier, pool: hc.Scored, samples) -> float:
    """Share of 95% intervals that contain the share."""
    hits = [
        (interval.low <= true) & (true <= interval.high)
        for estimate, true in zip(
            quantifier.estimate_many(pool, samples), samples.prevalence, strict=True
        )
        for interval in [estimate.interval()]
    ]
    return float(np.mean(hits))


def table(results: list[dict], shares: float | str) -> list[str]:
    """Row of a table for one kind of shares: errors, and ratios to the best in hindsight."""
    errors = {
        name: np.array([result[shares][0][name] for result in results])
        for name in results[0][shares][0]
    }
    fixed = [f"SLD({calibration})" for calibration in CALIBRATIONS]
    best = np.min([errors[name] for name in fixed], axis=0)
    cells = []
    for name in ("SLD(None)", "SLD(bcts)", "SLD(ts)", "SLD(auto)", "AutoQuantifier"):
        ae, rae = np.exp(np.log(errors[name] / best).mean(axis=0))
        cells.append(f"{ae:.2f} / {rae:.2f}")
    ae, rae = best.mean(axis=0)
    cells = [f"{ae:.4f} / {rae:.3f}", *cells]
    return [*cells, f"{np.mean([result[shares][1] for result in results]):.3f}"]


def many_classes(folder: Path) -> list[str]:
    """Seconds and errors with 100 classes."""
    logits, labels = load(folder / "cifar100_resnet32.npz")
    order = np.random.default_rng(0).permutation(len(labels))
    known, pool = order[:5000], order[5000:]
    rows = []
    methods = {
        "SLD(auto)": hc.SLD(calibration="auto"),
        "AutoQuantifier": hc.AutoQuantifier(random_state=0),
    }
    for name, method in methods.items():
        started = perf_counter()
        fitted = method.fit(hc.Scored(logits=logits[known]), labels[known])
        fit = perf_counter() - started
        scored = hc.Scored(logits=logits)
        started = perf_counter()
        fitted.predict(scored)
        predict = perf_counter() - started
        started = perf_counter()
        fitted.estimate(scored)
        estimate = perf_counter() - started
        rng = np.random.default_rng(1)
        protocol = hc.Prevalences(rng.dirichlet(np.ones(100), 20), size=2000, random_state=1)
        samples = protocol.draw(labels[pool])
        shares = fitted.predict_many(hc.Scored(logits=logits[pool]), samples)
        error = np.abs(shares - samples.prevalence).mean()
        rows.append(f"| {name} | {fit:.1f} | {predict:.1f} | {estimate:.1f} | {error:.5f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--networks", type=int, default=8)
    parser.add_argument("--samples", type=int, default=25, help="per kind of shares")
    parser.add_argument("--output", type=Path, default=RESULTS / "logits.md")
    options = parser.parse_args()
    # Calibrations of 200 items may separate a class perfectly.
    warnings.simplefilter("ignore", hc.HeadcountWarning)
    folder = data_folder() / "logits"
    paths = sorted(folder.glob("cifar10_*.npz"))[: options.networks]
    machine = describe_machine()
    lines = [
        "# Scores of networks",
        "",
        *__doc__.split("\n    HEAD")[0].split("\n")[2:],
        f"{len(paths)} networks, {options.samples} samples of {SIZE:,} items per network, "
        f"labelled set and kind of shares. {machine['date']}, {machine['machine']}.",
        "",
        "AE / RAE of the best calibration in hindsight, and geometric means of the ratios of "
        "methods to it; coverage of the 95% intervals of AutoQuantifier.",
        "",
        "| labelled | shares | best in hindsight | SLD(None) | SLD(bcts) | SLD(ts) | "
        "SLD(auto) | AutoQuantifier | coverage |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n_labelled in LABELLED:
        results = [measure(path, n_labelled, options.samples, 0) for path in paths]
        for shares in SHARES:
            cells = " | ".join(table(results, shares))
            lines.append(f"| {n_labelled:,} | {shares} | {cells} |")
            print(lines[-1], flush=True)
    lines += [
        "",
        "## 100 classes",
        "",
        "ResNet-32 for CIFAR-100, 5,000 labelled items. Seconds of `fit`, and of `predict` and "
        "`estimate` of 10,000 items; AE of 20 samples of 2,000 items.",
        "",
        "| method | fit | predict | estimate | AE |",
        "| --- | --- | --- | --- | --- |",
        *many_classes(folder),
        "",
    ]
    options.output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
