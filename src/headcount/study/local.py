"""Tasks on the cores of this machine, a process each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from time import perf_counter
from typing import cast

from headcount.errors import HeadcountError
from headcount.study.spec import Spec
from headcount.study.task import Task
from headcount.study.work import (
    Outcome,
    do_task,
    one_thread,
    one_thread_in_children,
    stay_on_one_thread,
)

__all__ = ["run_here", "run_in_processes"]

_READY = "ready"


def run_here(spec: Spec, tasks: Sequence[Task], data: Path) -> Generator[Outcome]:
    """Do the tasks in this process, one after the other.

    Parameters
    ----------
    spec : Spec
        The study.
    tasks : sequence of Task
        In the order in which to do them.
    data : Path
        Folder of the datasets.

    Yields
    ------
    Outcome
    """
    with one_thread():
        for task in tasks:
            yield do_task(spec, task, data)


def run_in_processes(
    spec: Spec, tasks: Sequence[Task], data: Path, workers: int
) -> Generator[Outcome]:
    """Do the tasks in several processes; each takes the next task when it is free.

    A process that dies takes only its own task with it.

    Parameters
    ----------
    spec, tasks, data
        As in `run_here`.
    workers : int
        How many processes.

    Yields
    ------
    Outcome
        As they come.
    """
    waiting = deque(tasks)
    crew: list[_Worker] = []
    try:
        for _ in range(min(workers, len(waiting))):
            crew.append(_Worker.start(spec, data))
        while any(worker.task for worker in crew) or waiting:
            for worker in _heard_of(crew):
                outcome = worker.receive()
                if not worker.alive:
                    crew.remove(worker)
                    if waiting:
                        crew.append(_Worker.start(spec, data))
                elif waiting:
                    worker.give(waiting.popleft())
                if outcome is not None:
                    yield outcome
    finally:
        for worker in crew:
            worker.stop()


def _heard_of(crew: Sequence[_Worker]) -> list[_Worker]:
    """Those that have something to say, or have died."""
    ready = wait([worker.line for worker in crew])
    return [worker for worker in crew if worker.line in ready]


@dataclass
class _Worker:
    """A process, the line to it, and what it is doing."""

    process: SpawnProcess
    line: Connection
    task: Task | None = None
    since: float = 0.0
    is_ready: bool = False
    alive: bool = True

    @classmethod
    def start(cls, spec: Spec, data: Path) -> _Worker:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, spec, data), daemon=True)
        with one_thread_in_children(), _interrupts_held():
            process.start()
        there.close()
        return cls(process, here)

    def give(self, task: Task) -> None:
        self.task, self.since = task, perf_counter()
        with suppress(OSError):  # it has died: that is noticed when it is listened to
            self.line.send(task)

    def receive(self) -> Outcome | None:
        """What became of its task; None if it only says that it is ready."""
        try:
            heard = self.line.recv()
        except (EOFError, OSError):
            return self._died()
        if heard == _READY:
            self.is_ready = True
            return None
        self.task = None
        return cast("Outcome", heard)

    def _died(self) -> Outcome | None:
        self.process.join(1.0)
        self.stop()
        self.alive = False
        if not self.is_ready:
            raise HeadcountError(
                "The processes of the study cannot start: call run_study below "
                "if __name__ == '__main__', or with workers=1."
            )
        task, self.task = self.task, None
        if task is None:
            return None
        reason = f"the process that ran it ended {_manner(self.process.exitcode)}"
        return Outcome(task.key, perf_counter() - self.since, reason=reason)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


def _manner(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "by SIGKILL, often for want of memory: use fewer workers"
    if code is not None and code < 0:
        return f"by {signal.Signals(-code).name}"
    return f"with exit code {code}"


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """What starts meanwhile never hears Ctrl-C: its parent does, and ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(line: Connection, spec: Spec, data: Path) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    stay_on_one_thread()
    line.send(_READY)
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        line.send(do_task(spec, task, data))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
