"""Peak memory of the 28-class workload by number of samples, which should not change it.

python benchmarks/memory.py [--methods KDEyML SLD GPAC DM] [--no-venv]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from environment import command_line, describe_machine, start

_SAMPLES = (250, 1_000, 4_000)
_GOAL = 1.5e9
_METHODS = ["GPAC", "SLD", "DM", "KDEyML"]


def measure(method: str, n_samples: int) -> dict[str, float]:
    """Run one method in this process and return its peak resident memory, in bytes."""
    import resource
    from dataclasses import replace

    from workloads import make

    unit = 1 if sys.platform == "darwin" else 1024

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

    workload = replace(make("multiclass"), repeats=n_samples)
    from sklearn.linear_model import LogisticRegression

    import headcount as hc
    from ours import protocol

    model = getattr(hc, method)(LogisticRegression(max_iter=1000))
    before = peak()
    model.fit(workload.X, workload.y)
    fitted = peak()
    samples = protocol(workload).draw(workload.y_pool)
    estimates = model.predict_many(workload.X_pool, samples)
    error = abs(estimates - samples.prevalence).mean()
    return {"data": before, "fitted": fitted, "peak": peak(), "mae": float(error)}


def in_fresh_process(method: str, n_samples: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--no-venv", "--one", method, str(n_samples)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(methods: list[str], output: Path) -> None:
    from tables import bullets, markdown_table, write_json

    rows, records = [], []
    for method in methods:
        for n_samples in _SAMPLES:
            measured = in_fresh_process(method, n_samples)
            records.append({"method": method, "samples": n_samples, **measured})
            verdict = "pass" if measured["peak"] < _GOAL else "FAIL"
            sizes = [f"{measured[name] / 1e9:.2f}" for name in ("data", "fitted", "peak")]
            rows.append([method, f"{n_samples:,}", *sizes, verdict])
            print(*rows[-1], sep="\t", flush=True)
    header = [
        "method",
        "samples",
        "with the data, GB",
        "after fit, GB",
        "peak, GB",
        "< 1.5",
    ]
    head = describe_machine()
    (output / "memory.md").write_text(
        f"# Peak memory, 28 classes\n\n{bullets(head)}\n\n{markdown_table(header, rows)}\n"
    )
    write_json(output / "memory.json", {"head": head, "results": records})


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--methods", nargs="+", default=_METHODS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = start(parser)
    if options.one:
        method, n_samples = options.one
        print(json.dumps(measure(method, int(n_samples))))
    else:
        report(options.methods, options.output)


if __name__ == "__main__":
    main()
