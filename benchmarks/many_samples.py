"""Time and memory of `estimate_many` for very many samples and classes.

Made-up posteriors, samples of 20 items, PACC on one thread. Each case runs in a process of its
own. CPU time and peak memory are those of `estimate_many`; `interval()` is measured apart.

    python benchmarks/many_samples.py [CLASSES SAMPLES]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

from environment import RESULTS, describe_machine

CASES = ((2, 50_000), (52, 500), (52, 5_000))
SIZE = 20


def measure(K: int, S: int) -> str:
    """Row of the table for one case."""
    import numpy as np

    import headcount as hc

    rng = np.random.default_rng(0)

    def scores(y: np.ndarray) -> hc.Scored:
        Z = rng.normal(size=(len(y), K))
        Z[np.arange(len(y)), y] += 3
        P = np.exp(Z)
        return hc.Scored(P / P.sum(axis=1, keepdims=True))

    y = rng.integers(0, K, max(3000, 60 * K))
    quantifier = hc.PACC(random_state=0).fit(scores(y), y)
    pool = scores(rng.integers(0, K, S * SIZE))
    samples = list(np.arange(S * SIZE).reshape(S, SIZE))
    start = time.process_time()
    estimates = quantifier.estimate_many(pool, samples, random_state=0)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    for estimate in estimates[:200]:
        estimate.interval()
    each = 1000 * (time.process_time() - start) / 200
    return f"| {K} | {S:,} | {seconds:.0f} | {memory:,.0f} | {each:.1f} |"


def main() -> None:
    if len(sys.argv) > 1:
        print(measure(int(sys.argv[1]), int(sys.argv[2])))
        return
    lines = [
        "| classes | samples | CPU seconds | peak MB | interval (ms) |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for K, S in CASES:
        command = [sys.executable, __file__, str(K), str(S)]
        alone = os.environ | {"HEADCOUNT_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=alone, check=True, capture_output=True, text=True)
        lines.append(done.stdout.strip())
        print(lines[-1], flush=True)
    facts = describe_machine()
    known = "; ".join(f"{name}: {facts[name]}" for name in ("date", "machine", "load"))
    text = "\n".join(lines)
    (RESULTS / "many_samples.md").write_text(f"# Very many samples\n\n{known}.\n\n{text}\n")


if __name__ == "__main__":
    main()
