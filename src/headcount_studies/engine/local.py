"""Tasks on the cores of this machine, one process per core."""

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
from headcount_studies.engine.execute import (
    Outcome,
    execute_task,
    one_thread,
    one_thread_in_children,
    use_one_thread,
)
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Task

__all__ = ["run_here", "run_in_processes"]

_READY = "ready"


def run_here(spec: Spec, tasks: Sequence[Task], data: Path) -> Generator[Outcome]:
    """Execute tasks in this process, one after the other.

    Parameters
    ----------
    spec : Spec
        The study.
    tasks : sequence of Task
        Tasks in the order of execution.
    data : Path
        Folder of the datasets.

    Yields
    ------
    Outcome
    """
    with one_thread():
        for task in tasks:
            yield execute_task(spec, task, data)


def run_in_processes(
    spec: Spec, tasks: Sequence[Task], data: Path, workers: int
) -> Generator[Outcome]:
    """Execute tasks in several processes; each takes the next task when it is free.

    If a process dies, only its current task fails.

    Parameters
    ----------
    spec, tasks, data
        As in `run_here`.
    workers : int
        Number of processes.

    Yields
    ------
    Outcome
        In the order in which tasks finish.
    """
    waiting = deque(tasks)
    crew: list[_Worker] = []
    try:
        for _ in range(min(workers, len(waiting))):
            crew.append(_Worker.start(spec, data))
        while any(worker.task for worker in crew) or waiting:
            for worker in _ready(crew):
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


def _ready(crew: Sequence[_Worker]) -> list[_Worker]:
    """Wait for workers that have sent a message or have died."""
    ready = wait([worker.line for worker in crew])
    return [worker for worker in crew if worker.line in ready]


@dataclass
class _Worker:
    """A process, the connection to it, and its current task."""

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
        with suppress(OSError):  # it has died: `receive` notices
            self.line.send(task)

    def receive(self) -> Outcome | None:
        """Outcome of its task; None if the message is only that it is ready."""
        try:
            message = self.line.recv()
        except (EOFError, OSError):
            return self._died()
        if message == _READY:
            self.is_ready = True
            return None
        self.task = None
        return cast("Outcome", message)

    def _died(self) -> Outcome | None:
        self.process.join(10.0)
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
        return Outcome(task.name, perf_counter() - self.since, reason=reason)

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
    """Block Ctrl-C for processes started within the context: their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(line: Connection, spec: Spec, data: Path) -> None:
    """Receive tasks and send outcomes until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_thread()
    line.send(_READY)
    while True:
        try:
            task = line.recv()
        except EOFError:
            return
        line.send(execute_task(spec, task, data))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
