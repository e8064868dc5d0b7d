"""Put the figures of the last full run into the README: python benchmarks/readme_table.py."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "versus_peers.json"
BEGIN, END = "<!-- benchmark table -->", "<!-- /benchmark table -->"


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


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


def table(report: dict) -> str:
    """The rows against the main peer, both workloads side by side."""
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
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    made = table(json.loads(RESULTS.read_text(encoding="utf-8")))
    readme.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
