"""CPU time of one estimate with intervals, and of 1,000 samples of 500 items.

Made-up posteriors of 5,000 training items, 2 and 5 classes, one thread. The first estimate of a
quantifier simulates the samples that later ones share, so each is of a new quantifier. Times do
not contain compilation.

    python benchmarks/estimate_speed.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from environment import RESULTS, describe_machine, pin_blas_threads

TRAINING, SIZE, SAMPLES, REPEATS = 5_000, 500, 1_000, 3
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "PACC": ("PACC", {}),
    "SLD": ("SLD", {}),
    "SLD(bcts)": ("SLD", {"calibration": "bcts"}),
    "KDEyML": ("KDEyML", {}),
    "EDy": ("EDy", {}),
    "AutoQuantifier": ("AutoQuantifier", {}),
}


def seconds(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(name: str, K: int) -> tuple[float, float]:
    """CPU seconds of one estimate, the least of several, and of many."""
    import numpy as np

    import headcount as hc
    from headcount.samples.samples import Samples

    rng = np.random.default_rng(0)

    def scored(y: np.ndarray) -> hc.Scored:
        Z = rng.normal(size=(len(y), K))
        Z[np.arange(len(y)), y] += 1.5
        P = np.exp(Z)
        return hc.Scored(P / P.sum(axis=1, keepdims=True))

    y, pool_y = rng.integers(0, K, TRAINING), rng.integers(0, K, 20_000)
    training, pool = scored(y), scored(pool_y)
    single = hc.Scored(pool.posteriors[:SIZE])
    method, options = METHODS[name]

    def fitted() -> Any:
        return getattr(hc, method)(**options, random_state=0).fit(training, y)

    fitted().estimate(single)  # Compiles.
    quantifiers = [fitted() for _ in range(REPEATS)]
    one = [seconds(lambda q=q: q.estimate(single, random_state=0)) for q in quantifiers]
    rows = [rng.integers(0, len(pool_y), SIZE) for _ in range(SAMPLES)]
    samples = Samples.from_arrays(rows, n_pool=len(pool_y))
    last = fitted()
    return min(one), seconds(lambda: last.estimate_many(pool, samples, random_state=0))


def main() -> None:
    pin_blas_threads()
    os.environ["HEADCOUNT_NUM_THREADS"] = "1"
    lines = [
        "| classes | method | one estimate | 1,000 samples |",
        "| ---: | --- | ---: | ---: |",
    ]
    for K in (2, 5):
        for name in METHODS:
            one, many = measure(name, K)
            lines.append(f"| {K} | {name} | {one:.2f} | {many:.1f} |")
            print(lines[-1], flush=True)
    facts = describe_machine()
    known = "; ".join(f"{name}: {facts[name]}" for name in ("date", "machine", "load"))
    title = "# CPU seconds of estimates with intervals"
    about = "5,000 training items, samples of 500 items, one thread."
    text = "\n".join([title, "", f"{known}.", "", about, "", *lines, ""])
    (RESULTS / "estimate_speed.md").write_text(text)


if __name__ == "__main__":
    main()
