"""Updates of a monitor that are killed at random moments: the files must be the same.

    python monitor_kills.py [--kills 200]

Days are delivered one by one. Each update runs in a process of its own and is killed several
times before it may finish. In the end the folder is compared, byte by byte, with that of a
monitor that was never disturbed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import headcount as hc

PER_DAY = 10
UPDATE = """import sys
import headcount as hc
monitor = hc.Monitor.open(sys.argv[1])
sys.stdout.write("ready")
sys.stdout.flush()
monitor.update(sys.argv[2])
"""


def scored(rng, n, share):
    fraud = rng.random(n) < share
    score = rng.beta(1 + 3 * fraud, 1 + 3 * ~fraud)
    return pl.DataFrame({"fraud": score, "label": np.where(fraud, "fraud", "ok")})


def content(folder):
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(f.relative_to(folder)): f.read_bytes() for f in files if f.name != "lock"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    folder = Path(tempfile.mkdtemp())
    reference = scored(rng, 2000, 0.3)
    disturbed = hc.Monitor.create(folder / "a", reference, target="label", by="day")
    quiet = hc.Monitor.create(folder / "b", reference, target="label", by="day")
    killed = finished = 0
    for day in range(-(-given.kills // PER_DAY)):
        file = folder / f"{day}.csv"
        date = f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}"
        scored(rng, 20_000, 0.2).drop("label").with_columns(day=pl.lit(date)).write_csv(file)
        start = time.perf_counter()
        quiet.update(file)
        lasting = time.perf_counter() - start
        for _ in range(PER_DAY):
            command = [sys.executable, "-c", UPDATE, str(disturbed.path), str(file)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                child.stdout.read(5)
                time.sleep(rng.uniform(0, 1.5 * lasting))
                ended = child.poll() is not None
                child.kill()
            finished, killed = finished + ended, killed + (not ended)
        disturbed.update(file)
    same = content(disturbed.path) == content(quiet.path)
    print(f"{killed} updates killed, {finished} finished before; files identical: {same}")
    sys.exit(not same)


if __name__ == "__main__":
    main()
