"""Updates of a monitor that are killed at random moments: the files must be the same.

    python monitor_kills.py [--kills 200]

Days are delivered one by one, half of the rows of a day with the next day, and labels two days
late. Each update runs in a process of its own and is killed (SIGKILL) at random moments, until
one finishes earlier or ten were killed. Only updates that were killed count. In the end the
folder is compared, byte by byte, with that of a monitor that was never disturbed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import headcount as hc

MOST_PER_UPDATE, FEWEST_PER_UPDATE = 10, 2


def scored(rng, n, share):
    fraud = rng.random(n) < share
    score = rng.beta(1 + 3 * fraud, 1 + 3 * ~fraud)
    return pl.DataFrame({"fraud": score, "label": np.where(fraud, "fraud", "ok")})


def make_files(folder, n_updates):
    """Two monitors without rows, and the files of each update."""
    rng = np.random.default_rng(0)
    options = {"target": "label", "by": "day", "key": "id"}
    hc.Monitor.create(folder / "disturbed", scored(rng, 2000, 0.3), **options)
    shutil.copytree(folder / "disturbed", folder / "quiet")
    days, n = [], 2000
    for day in range(n_updates):
        rows = scored(rng, n, 0.2 if day < n_updates // 2 else 0.25).with_columns(
            day=pl.lit(f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}"),
            id=pl.int_range(n) + day * n,
        )
        days.append(rows)
        late = [] if day == 0 else [days[day - 1][n // 2 :]]
        pl.concat([rows[: n // 2], *late]).drop("label").write_csv(folder / f"{day}.csv")
        if day >= 2:
            days[day - 2].select("id", "label").write_csv(folder / f"{day}-labels.csv")


def update(path, file, labels, begun):
    monitor = hc.Monitor.open(path)
    begun.set()
    monitor.update(file, labels if labels.exists() else None)


def content(folder):
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(f.relative_to(folder)): f.read_bytes() for f in files if f.name != "lock"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    rng, folder = np.random.default_rng(1), Path(tempfile.mkdtemp())
    n_updates = -(-given.kills // FEWEST_PER_UPDATE)
    # Children of a server that has imported everything, and has done nothing else.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["headcount", "headcount.monitor"])

    def started(name, number):
        begun = context.Event()
        files = (folder / f"{number}.csv", folder / f"{number}-labels.csv")
        child = context.Process(target=update, args=(folder / name, *files, begun))
        child.start()
        begun.wait()
        return child

    maker = context.Process(target=make_files, args=(folder, n_updates))
    maker.start()
    maker.join()
    killed = finished = number = 0
    while killed < given.kills:
        child = started("quiet", number)
        start = time.perf_counter()
        child.join()
        lasting = time.perf_counter() - start
        for _ in range(min(MOST_PER_UPDATE, given.kills - killed)):
            child = started("disturbed", number)
            child.join(rng.uniform(0, lasting))
            ended = child.exitcode is not None
            child.kill()
            child.join()
            finished, killed = finished + ended, killed + (not ended)
            if ended:
                break
        started("disturbed", number).join()
        number += 1
    same = content(folder / "disturbed") == content(folder / "quiet")
    n_files = len(content(folder / "quiet"))
    print(f"{number} updates, killed {killed} times; {finished} finished before")
    print(f"{n_files} files identical: {same}")
    shutil.rmtree(folder)
    sys.exit(not same)


if __name__ == "__main__":
    main()
