"""Starts a study again and again and kills it at random moments, whole process group.

Libraries are loaded once, before anything has threads, and each run is a fork of that: most
of the kills so fall into the study, not into the start of Python.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from headcount_studies.engine.run import run_study
from tests.studies.engine.toy import estimated, experiment, samples, toy_spec

SPEC = toy_spec(draws=30, pause=0.02)


def run(folder, workers):
    try:
        run_study(SPEC, folder / "store", data=folder, workers=workers, resume=True)
    finally:
        os._exit(0)


def kill_once(folder, workers, rng):
    """Kill a run after a few more results, and a while; tell how it ended.

    It may end by itself before, if this process does not get the processor in time.
    """
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        run(folder, workers)
    os.setpgid(child, child)  # here too, as the child may not have come to it yet
    more = n_results(folder) + rng.randrange(4)
    while n_results(folder) < more and not has_ended(child):
        time.sleep(0.002)
    time.sleep(rng.random() * 0.1)
    # A process that has ended is there until it is waited for.
    os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status)


def has_ended(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def n_results(folder):
    return len(list(folder.glob("store/results/*.parquet")))


def warm_up():
    task = experiment.plan(SPEC, Path())[0]
    for _, sample, train in samples(SPEC, task):
        for method in SPEC.methods:
            estimated(method, train, sample)


if __name__ == "__main__":
    warm_up()
    where, seed = Path(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    for number in range(10):
        workers = 2 if number % 5 == 4 else 1
        sys.stdout.write(f"{kill_once(where, workers, rng)} {n_results(where)}\n")
        sys.stdout.flush()
