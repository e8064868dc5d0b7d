"""Results of versus_peers.py as Markdown, CSV and JSON.

python benchmarks/versus_peers_report.py      # writes the table of the README
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, fields
from pathlib import Path

from comparison import Result
from environment import PROJECT, RESULTS
from methods import rows_for
from tables import bullets, markdown_table, write_json

__all__ = ["write_results"]

BEGIN, END = "<!-- benchmark table -->", "<!-- /benchmark table -->"


def _number(value: float | None, form: str = ".3g") -> str:
    return "" if value is None else format(value, form)


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"


def _timed_on(result: Result) -> str:
    if result.peer_samples_timed >= result.n_samples:
        return "all"
    return f"peer timed on {result.peer_samples_timed:,} of {result.n_samples:,} samples"


_SPEED = {
    "method": lambda r: r.method,
    "peer": lambda r: r.peer,
    "peer s": lambda r: _seconds(r.peer_seconds),
    "samples timed": _timed_on,
    "ours s, 1 thread": lambda r: _seconds(r.our_seconds_one_thread),
    "ours s, all threads": lambda r: _seconds(r.our_seconds_all_threads),
    "ratio, 1 thread": lambda r: _times(r.ratio_one_thread),
    "ratio, all threads": lambda r: _times(r.ratio_all_threads),
    "goal": lambda r: _times(r.goal),
    "speed": lambda r: r.speed,
    "first call ever s": lambda r: _seconds(r.cold_seconds),
    "second process s": lambda r: _seconds(r.second_process_seconds),
    "peer fit s": lambda r: _seconds(r.peer_fit_seconds),
    "our fit s": lambda r: _seconds(r.our_fit_seconds),
}

_ACCURACY = {
    "method": lambda r: r.method,
    "peer": lambda r: r.peer,
    "samples": lambda r: _number(r.samples_compared, ",d"),
    "peer MAE": lambda r: _number(r.peer_mae, ".5f"),
    "our MAE": lambda r: _number(r.our_mae, ".5f"),
    "ours - peer": lambda r: _number(r.mae_excess, "+.1e"),
    "standard error": lambda r: _number(r.mae_excess_error, ".1e"),
    "accuracy": lambda r: r.accuracy,
    "largest difference": lambda r: _number(r.largest_difference, ".1e"),
    "mean difference": lambda r: _number(r.mean_difference, ".1e"),
    "peer MAE on its own samples": lambda r: _number(r.peer_own_mae, ".5f"),
    "our MAE on all samples": lambda r: _number(r.our_mae_on_all, ".5f"),
    "known differences": lambda r: r.why,
}


def _table(columns: dict, results: list[Result]) -> str:
    return markdown_table(
        list(columns), [[show(result) for show in columns.values()] for result in results]
    )


def _settings(workload: str, methods: set[str]) -> str:
    rows = [
        [row.name, f"`{row.call('ours')}`", f"{row.peer} `{row.call('theirs')}`"]
        for row in rows_for(workload)
        if row.name in methods
    ]
    return markdown_table(["method", "headcount", "peer"], rows)


def _section(workload: str, description: str, results: list[Result]) -> str:
    return "\n\n".join(
        [
            f"## {workload}",
            description,
            "### Speed: draw the samples, classify the pool, predict every sample",
            _table(_SPEED, results),
            "### Estimates on the same samples",
            _table(_ACCURACY, results),
            "### Settings",
            _settings(workload, {result.method for result in results}),
        ]
    )


_NOTES = """\
Seconds are the best of three runs (of one, when it takes 10 s or more), warm. quapy draws
its own samples by its own protocol and predicts them with its own speed-up; quantificationlib
predicts drawn samples (drawing not counted). A peer timed on fewer samples is scaled up in
proportion to their number, its classification of the pool counted once. The first call ever
and the second process are whole: import, fit on scores, draw and predict, in a fresh process,
the first with nothing compiled. Fit times leave the classifier's own fits out: they are the
same on both sides. Differences and errors compare both sides on the very same samples; `same`
means within two standard errors of the paired difference, or 1e-5. A star: a second peer."""


def write_results(
    folder: Path, head: dict[str, str], descriptions: dict[str, str], results: list[Result]
) -> None:
    """Write versus_peers.md, .csv and .json into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "versus_peers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Result)])
        writer.writeheader()
        writer.writerows(asdict(result) for result in results)
    document = {
        "head": head,
        "workloads": descriptions,
        "results": [asdict(result) for result in results],
    }
    write_json(folder / "versus_peers.json", document)
    parts = ["# headcount compared with its peers", bullets(head), _NOTES]
    for workload, description in descriptions.items():
        chosen = [result for result in results if result.workload == workload]
        parts.append(_section(workload, description, chosen))
    (folder / "versus_peers.md").write_text("\n\n".join(parts) + "\n")


def _cell(row: dict | None) -> str:
    if row is None:
        return "| | | | |"
    part = row["peer_samples_timed"] < row["n_samples"]
    return (
        f"| {_seconds(row['peer_seconds'])}{' †' if part else ''} "
        f"| {_seconds(row['our_seconds_one_thread'])} "
        f"| {row['ratio_one_thread']:,.0f}x / {row['ratio_all_threads']:,.0f}x "
        f"| {row['our_mae']:.4f} / {row['peer_mae']:.4f} |"
    )


def _readme_table(report: dict) -> str:
    """Rows of the main peer: one row per method, both workloads in columns."""
    rows = [row for row in report["results"] if not row["method"].endswith("*")]
    names = list(dict.fromkeys(row["method"] for row in rows))
    by_key = {(row["method"], row["workload"]): row for row in rows}
    peers = {row["peer"] for row in rows}
    head = report["head"]
    lines = [
        f"{head['machine']}; {head['date']}; BLAS on one thread. Seconds to draw the samples, "
        "classify the pool and predict every sample, warm. *Times faster*: headcount on one "
        "thread / on all cores. *Error*: mean absolute error on the same samples, ours / the "
        f"peer's. Peers: {', '.join(sorted(peers))} (CvMy: quantificationlib). † timed on some "
        "of the samples and scaled up. All columns, a second peer, cold starts and settings: "
        "[benchmarks/results](benchmarks/results/versus_peers.md).",
        "",
        "| | 2 classes, 2,100 samples of 500 | | | "
        "| 28 classes, 1,000 samples of 1,000 | | | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| **method** | **peer s** | **ours s** | **times faster** | **error** "
        "| **peer s** | **ours s** | **times faster** | **error** |",
    ]
    for name in names:
        left = _cell(by_key.get((name, "binary")))
        right = _cell(by_key.get((name, "multiclass")))
        lines.append(f"| {name} {left}{right[1:]}")
    return "\n".join(lines)


def main() -> None:
    """Write the figures of the last complete run into the README."""
    readme = PROJECT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    results = (RESULTS / "versus_peers.json").read_text(encoding="utf-8")
    made = _readme_table(json.loads(results))
    readme.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
