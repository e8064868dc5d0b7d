"""Peak memory of the 28-class workload as the number of samples grows: it should stay flat.

python benchmarks/memory.py [--methods KDEyML SLD GPAC DM] [--no-venv]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from environment import PROJECT, describe_machine, enter_venv, pin_blas_threads

_SAMPLES = (250, 1_000, 4_000)
_GOAL = 1.5e9
_METHODS = ["GPAC", "SLD", "DM", "KDEyML"]


def measure(method: str, n_samples: int) -> dict[str, float]:
    """Run one method in this process and tell its peak resident memory, in bytes."""
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
    command = [sys.executable, "-W", "ignore", __file__, "--one", method, str(n_samples)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(methods: list[str], output: Path) -> None:
    from writing import markdown_table

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
    text = "\n".join(f"- {key}: {value}" for key, value in head.items())
    output.mkdir(parents=True, exist_ok=True)
    (output / "memory.md").write_text(
        f"# Peak memory, 28 classes\n\n{text}\n\n{markdown_table(header, rows)}\n"
    )
    (output / "memory.json").write_text(
        json.dumps({"head": head, "results": records}, indent=1) + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=_METHODS)
    parser.add_argument("--output", type=Path, default=PROJECT / "benchmarks" / "results")
    parser.add_argument("--no-venv", action="store_true", help="use this interpreter as it is")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.no_venv or options.one):
        enter_venv()
    pin_blas_threads()
    if options.one:
        method, n_samples = options.one
        print(json.dumps(measure(method, int(n_samples))))
    else:
        report(options.methods, options.output)


if __name__ == "__main__":
    main()
