"""Results as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, fields
from pathlib import Path

from comparison import Result
from methods import rows_for

__all__ = ["markdown_table", "write_results"]


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


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
    (folder / "versus_peers.json").write_text(json.dumps(document, indent=1) + "\n")
    parts = ["# headcount beside its peers", "\n".join(f"- {k}: {v}" for k, v in head.items())]
    parts.append(_NOTES)
    for workload, description in descriptions.items():
        chosen = [result for result in results if result.workload == workload]
        parts.append(_section(workload, description, chosen))
    (folder / "versus_peers.md").write_text("\n\n".join(parts) + "\n")
