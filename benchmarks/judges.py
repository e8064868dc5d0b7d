"""Corrected rates of LLM judges on real verdicts with human labels, beside other packages.

    HEADCOUNT_DATA=folder python judges.py [--draws 300] [--peers PYTHON]

Each slice is a system, a task or a subset with the verdicts of one judge. Items are drawn from
it with replacement, so that its true rate is known; a random part of them gets gold labels.
``--peers`` names a Python with headcount and the other packages, which see the same draws.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from environment import RESULTS, describe_machine, pin_blas_threads

pin_blas_threads()

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

from headcount.estimates.labels.difference import ConfidenceSequence  # noqa: E402
from headcount.estimates.labels.judge_rates import correct_verdicts  # noqa: E402
from real_datasets import data_folder  # noqa: E402
from tables import bullets, markdown_table, write_json  # noqa: E402

N_ITEMS, GOLD = 1000, (50, 100, 200)
LEVEL = 0.95
Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Slice:
    """Verdicts of a judge on the items of a slice, and whether each has the class asked for."""

    dataset: str
    name: str
    verdicts: np.ndarray
    gold: np.ndarray

    @property
    def raw(self) -> np.ndarray:
        """1 where the verdict is that of the class asked for."""
        return (self.verdicts == 1).astype(float)


def slices() -> Iterator[Slice]:
    """Slices of the datasets, those with both classes and 60 items or more."""
    for dataset, frame, verdict, gold, positive, by in _tables():
        for keys, part in frame.drop_nulls([verdict, gold]).group_by(by, maintain_order=True):
            truth = (part[gold] == positive).to_numpy().astype(int)
            kinds = part[verdict].to_numpy()
            codes = np.where(kinds == positive, 1, 2 + np.unique(kinds, return_inverse=True)[1])
            if len(part) >= 60 and 0 < truth.mean() < 1:
                yield Slice(dataset, f"{verdict} {' '.join(map(str, keys))}", codes, truth)


def _tables() -> Iterator[tuple[str, pl.DataFrame, str, str, Any, list[str]]]:
    folder = data_folder() / "dated"
    read = {
        name: pl.read_parquet(folder / f"judge_{name}.parquet")
        for name in ("xstest", "pandalm", "llmbar", "judgebench", "panchen")
    }
    for verdict in ("gpt_label", "strmatch_label"):
        yield (
            "xstest", read["xstest"], verdict, "final_label", "2_full_refusal",
            ["responder_set"],
        )  # fmt: skip
    for verdict in ("gpt_result", "pandalm_result"):
        yield "pandalm", read["pandalm"], verdict, "human_majority", "response1", ["cmp_key"]
    llmbar = read["llmbar"].filter(pl.col("prompting") == "Vanilla")
    yield "llmbar", llmbar, "w_ab", "label", "1", ["judge", "subset"]
    for column in read["judgebench"].columns:
        if column.startswith("judge_") and not column.endswith("_swapped"):
            yield "judgebench", read["judgebench"], column, "label", "A>B", ["domain"]
    panchen = read["panchen"].with_columns(pl.all().cast(pl.Int64, strict=False))
    yield "panchen", panchen, "pred_countyWrong", "countyWrong", 1, ["prevalence"]


def draws(part: Slice, n_draws: int) -> Iterator[tuple[np.ndarray, dict[int, np.ndarray]]]:
    """Items drawn from a slice, and the places of those with gold labels by their number."""
    rng = np.random.default_rng(len(part.name))
    for _ in range(n_draws):
        rows = rng.integers(0, len(part.gold), N_ITEMS)
        order = rng.permutation(N_ITEMS)
        yield rows, {n: order[:n] for n in GOLD}


def headcount(part: Slice, rows: np.ndarray, labelled: np.ndarray) -> Interval:
    gold = np.full(len(rows), None, object)
    gold[labelled] = part.gold[rows[labelled]]
    [group] = correct_verdicts(part.verdicts[rows], gold).groups
    return group.interval(LEVEL)[1]


def ppi(part: Slice, rows: np.ndarray, labelled: np.ndarray) -> Interval:
    from ppi_py import ppi_mean_ci

    rest = np.setdiff1d(np.arange(len(rows)), labelled)
    raw, truth = part.raw[rows], part.gold[rows].astype(float)
    low, high = ppi_mean_ci(truth[labelled], raw[labelled], raw[rest], alpha=1 - LEVEL)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def truescore(part: Slice, rows: np.ndarray, labelled: np.ndarray) -> Interval:
    import truescore as package

    estimate = package.ppi_estimate(
        part.raw[rows], part.gold[rows][labelled], labelled, alpha=1 - LEVEL
    )
    return float(estimate.low), float(estimate.high)


def evalstats(part: Slice, rows: np.ndarray, labelled: np.ndarray) -> Interval:
    import evalstats as package

    human = np.full(len(rows), np.nan)
    human[labelled] = part.gold[rows][labelled]
    result = package.judge_debias_mean_ci(
        part.raw[rows], human, alpha=1 - LEVEL, rng=np.random.default_rng(0)
    )
    return float(result.ci_low), float(result.ci_high)


def cje(part: Slice, rows: np.ndarray, labelled: np.ndarray) -> Interval:
    from cje import calibrated_mean_ci

    mask = np.zeros(len(rows), bool)
    mask[labelled] = True
    oracle = np.where(mask, part.gold[rows].astype(float), np.nan)
    result = calibrated_mean_ci(part.raw[rows], oracle, mask, alpha=1 - LEVEL)
    return float(result.ci[0]), float(result.ci[1])


OURS: dict[str, Callable[..., Interval]] = {"headcount": headcount}
PEERS: dict[str, Callable[..., Interval]] = {
    "ppi-python": ppi, "truescore": truescore, "evalstats": evalstats, "cje-eval": cje
}  # fmt: skip


def measure(packages: dict[str, Callable[..., Interval]], n_draws: int) -> list[dict[str, Any]]:
    """Coverage, mean width, failures and time of packages, by slice and number of labels."""
    rows_of_table = []
    for part in slices():
        truth = float(part.gold.mean())
        cells: dict[tuple[str, int], list[tuple[bool, float, float]]] = {}
        failures: dict[tuple[str, int], int] = {}
        for rows, labelled in draws(part, n_draws):
            for n, places in labelled.items():
                for name, interval in packages.items():
                    start = time.perf_counter()
                    try:
                        low, high = interval(part, rows, places)
                    except (ValueError, ZeroDivisionError, ArithmeticError):
                        failures[name, n] = failures.get((name, n), 0) + 1
                        continue
                    seconds = time.perf_counter() - start
                    covered = low - 1e-9 <= truth <= high + 1e-9
                    width = min(high, 1) - max(low, 0)
                    cells.setdefault((name, n), []).append((covered, width, seconds))
        for (name, n), values in cells.items():
            covered, width, seconds = np.mean(np.array(values, float), axis=0)
            rows_of_table.append(
                {"dataset": part.dataset, "slice": part.name, "package": name, "gold": n,
                 "coverage": covered, "width": width, "seconds": seconds,
                 "failures": failures.get((name, n), 0), "draws": n_draws}
            )  # fmt: skip
    return rows_of_table


def sequential(n_streams: int) -> dict[str, float]:
    """Part of streams of labels whose interval ever misses, and lengths at the end."""
    parts = list(slices())
    rng = np.random.default_rng(1)
    missed, widths = 0, []
    for stream in range(n_streams):
        part = parts[stream % len(parts)]
        rows = rng.integers(0, len(part.gold), N_ITEMS)
        verdicts = np.unique(part.verdicts[rows], return_inverse=True)[1]
        truth = part.gold[rows].astype(float)
        labelled = rng.permutation(N_ITEMS)[:400]
        outcomes = np.column_stack([1 - truth, truth])[labelled]
        ever = False
        for n in range(20, 401, 20):
            sequence = ConfidenceSequence.of(
                outcomes[:n], verdicts[labelled[:n]], np.bincount(verdicts)
            )
            low, high = sequence.ends(LEVEL)
            ever |= not low[1] <= truth.mean() <= high[1]
        missed += ever
        widths.append(high[1] - low[1])
    return {"streams": n_streams, "missed": missed / n_streams, "width": float(np.mean(widths))}


def _summary(frame: pl.DataFrame) -> list[list[str]]:
    by = frame.group_by("package", "gold", maintain_order=True).agg(
        coverage=pl.col("coverage").mean(),
        least=pl.col("coverage").min(),
        below=(pl.col("coverage") < 0.93).mean(),
        width=pl.col("width").mean(),
        milliseconds=1000 * pl.col("seconds").mean(),
        failures=pl.col("failures").sum(),
    )
    return [
        [package, str(n), f"{coverage:.1%}", f"{least:.0%}", f"{below:.0%}", f"{width:.3f}",
         f"{time:.1f}", f"{failures:,}"]
        for package, n, coverage, least, below, width, time, failures in by.sort(
            "gold", maintain_order=True
        ).iter_rows()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--peer-draws", type=int, default=60)
    parser.add_argument("--peers", help="Python with headcount and the other packages")
    parser.add_argument("--only-peers", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.only_peers:
        print(json.dumps(measure(PEERS | OURS, options.peer_draws)))
        return
    everything = pl.DataFrame(measure(OURS, options.draws))
    streams = sequential(1000)
    side_by_side = None
    if options.peers:
        command = [
            options.peers,
            __file__,
            "--only-peers",
            "--peer-draws",
            str(options.peer_draws),
        ]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        side_by_side = pl.DataFrame(json.loads(printed.splitlines()[-1]))
    write_json(
        RESULTS / "judges.json",
        {
            "headcount": everything.to_dicts(),
            "sequential": streams,
            "side by side": [] if side_by_side is None else side_by_side.to_dicts(),
        },
    )
    n_slices = everything.select("dataset", "slice").n_unique()
    columns = ["package", "gold labels", "coverage", "least slice", "slices below 93%",
               "width", "ms", "failures"]  # fmt: skip
    parts = [
        "# Judges", "", bullets(describe_machine()), "",
        f"{n_slices} slices of five datasets of verdicts with human labels, {N_ITEMS:,} items "
        f"drawn with replacement, 95% intervals of the rate of one class. Coverage and width "
        f"are means over slices, with {options.draws} draws each; a slice whose intervals "
        "cover 95% lies below 93% by chance in one of eight cases.", "",
        markdown_table(columns, _summary(everything)),
    ]  # fmt: skip
    if side_by_side is not None:
        parts += [
            "", f"Beside other packages, on the same {options.peer_draws} draws of each slice:",
            "", markdown_table(columns, _summary(side_by_side)),
        ]  # fmt: skip
    parts += [
        "", f"Sequential intervals: of {streams['streams']:,} streams of 400 labels, looked at "
        f"after every 20, {streams['missed']:.1%} ever missed the rate among the items; mean "
        f"width at the end {streams['width']:.3f}.", "",
    ]  # fmt: skip
    (RESULTS / "judges.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
