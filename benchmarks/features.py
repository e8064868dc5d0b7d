"""Methods on features compared with quantificationlib's: seconds, errors, memory of ED.

    python benchmarks/features.py [--output benchmarks/results] [--budget 5] [--no-venv]

HDx of both sides gets features with eight values, each in a bin of its own; the peer's sum of
squared Hellinger distances is our default. Two minutes at most.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from environment import command_line, core_count, describe_machine, start

_LEVELS = 8
_HEADER = [
    "workload",
    "method",
    "peer",
    "peer, s",
    "ours, s (1 thread)",
    "ours, s (all)",
    "ratio (1 thread)",
    "largest difference",
    "mean difference",
    "MAE ours",
    "MAE peer",
]


def clouds(n_classes: int, n_features: int, n_train: int, n_pool: int):
    """Training data and a pool: one cloud of unit variance per class."""
    import numpy as np

    rng = np.random.default_rng(20_240_610 + n_classes)
    centres = rng.normal(size=(n_classes, n_features)) * 0.4
    parts = []
    for n in (n_train, n_pool):
        y = rng.integers(n_classes, size=n)
        parts += [centres[y] + rng.standard_normal((n, n_features)), y]
    return parts


def levels(X, *tables):
    """Tables as whole numbers, cut at quantiles of the training items X, so that all occur."""
    import numpy as np

    cuts = np.quantile(X, np.arange(1, _LEVELS) / _LEVELS, axis=0).T
    for table in (X, *tables):
        columns = zip(cuts, table.T, strict=True)
        yield np.column_stack([np.searchsorted(*column) for column in columns]).astype(float)


def compare(name: str, budget: float, n_classes: int) -> dict:
    """One method of both sides on the same items and samples."""
    import numpy as np

    import headcount as hc
    from comparison import compare_estimates, spread
    from timing import best_of_three, timed

    X, y, X_pool, y_pool = clouds(n_classes, 20, 5_000, 20_000)
    if name == "HDx":
        from quantificationlib.multiclass.df import HDX

        X, X_pool = levels(X, X_pool)
        ours, theirs = hc.HDx(bins=_LEVELS), HDX(n_bins=_LEVELS)
    else:
        from quantificationlib.multiclass.energy import EDX

        ours, theirs = hc.ED(), EDX()
    samples = hc.UPP(n_samples=2_100, size=500, random_state=0).draw(y_pool)
    ours.fit(X, y)
    theirs.fit(X, y)

    def predict(numbers):
        return np.array([np.ravel(theirs.predict(X_pool[samples[int(i)]])) for i in numbers])

    predict([0])
    one, _ = timed(lambda: predict([1, 2, 3]))
    n = int(np.clip(budget / (one / 3), 5, len(samples)))
    chosen = spread(len(samples), n)
    peer_seconds, estimates = timed(lambda: predict(chosen))
    seconds = {}
    for threads in (1, core_count()):
        os.environ["HEADCOUNT_NUM_THREADS"] = str(threads)
        seconds[threads], found = best_of_three(lambda: ours.predict_many(X_pool, samples))
    peer_seconds *= len(samples) / n
    return {
        "workload": f"{n_classes} classes, training 5,000 x 20, pool 20,000, 2,100 of 500",
        "method": name,
        "peer": f"quantificationlib {type(theirs).__name__}",
        "peer_samples_timed": n,
        "peer_seconds": peer_seconds,
        "our_seconds_one_thread": seconds[1],
        "our_seconds_all_threads": seconds[core_count()],
        "ratio_one_thread": peer_seconds / seconds[1],
        **compare_estimates(samples.prevalence[chosen], found[chosen], estimates),
    }


def shown(record: dict) -> list[str]:
    """Row of a record in the table."""
    return [
        record["workload"],
        record["method"],
        f"{record['peer']} (timed on {record['peer_samples_timed']})",
        f"{record['peer_seconds']:.1f}",
        f"{record['our_seconds_one_thread']:.2f}",
        f"{record['our_seconds_all_threads']:.2f}",
        f"{record['ratio_one_thread']:.0f}",
        f"{record['largest_difference']:.1e}",
        f"{record['mean_difference']:.1e}",
        f"{record['our_mae']:.4f}",
        f"{record['peer_mae']:.4f}",
    ]


def large(name: str) -> dict:
    """20,000 training items and a pool of 50,000, of 50 features: seconds and peak memory."""
    import resource

    import numpy as np

    import headcount as hc
    from timing import timed

    unit = 1 if sys.platform == "darwin" else 1024
    X, y, X_pool, y_pool = clouds(2, 50, 20_000, 50_000)
    samples = hc.APP(n_prevalences=21, repeats=100, size=500, random_state=0).draw(y_pool)
    method = hc.method(name)()
    method.fit(X[:100], y[:100]).predict(X[:10])  # compiles
    fit_seconds, _ = timed(lambda: method.fit(X, y))
    seconds, shares = timed(lambda: method.predict_many(X_pool, samples))
    return {
        "method": name,
        "fit_seconds": fit_seconds,
        "seconds": seconds,
        "mae": float(np.abs(shares - samples.prevalence).mean()),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    }


def large_in_fresh_process(name: str) -> dict:
    environment = {**os.environ, "HEADCOUNT_NUM_THREADS": str(core_count())}
    command = [sys.executable, __file__, "--no-venv", "--large", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def report(budget: float, output: Path) -> None:
    from tables import bullets, markdown_table, write_json

    records = []
    for name, n_classes in (("HDx", 2), ("HDx", 5), ("ED", 2), ("ED", 5)):
        records.append(compare(name, budget, n_classes))
        print(*shown(records[-1]), sep="  ", flush=True)
    sizes = [large_in_fresh_process(name) for name in ("HDx", "ReadMe", "ED")]
    rows = [
        [
            size["method"],
            f"{size['fit_seconds']:.2f}",
            f"{size['seconds']:.2f}",
            f"{size['mae']:.4f}",
            f"{size['peak'] / 1e9:.2f}",
            "pass" if size["peak"] < 2e9 else "FAIL",
        ]
        for size in sizes
    ]
    for row in rows:
        print(*row, sep="  ")
    header = ["method", "fit, s", "2,100 samples, s", "MAE", "peak memory, GB", "< 2"]
    head = describe_machine()
    (output / "features.md").write_text(
        f"# Methods on features\n\n{bullets(head)}\n\n## Compared with quantificationlib\n\n"
        f"{markdown_table(_HEADER, [shown(record) for record in records])}\n\n"
        "## Training 20,000 x 50, pool 50,000, all threads\n\n"
        f"{markdown_table(header, rows)}\n"
    )
    write_json(output / "features.json", {"head": head, "results": records, "large": sizes})


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds for each peer")
    parser.add_argument("--large", help=argparse.SUPPRESS)
    options = start(parser)
    if options.large:
        print(json.dumps(large(options.large)))
    else:
        report(options.budget, options.output)


if __name__ == "__main__":
    main()
