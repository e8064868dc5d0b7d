"""Tasks on a Dask cluster; their results are sent back and written by the caller."""

from __future__ import annotations

import importlib.util
import logging
import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headcount.errors import HeadcountError
from headcount.study.execute import Outcome, execute_task, use_one_thread
from headcount.study.provenance import code_versions
from headcount.study.spec import Spec
from headcount.study.task import Task

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["SchedulerLostError", "connected", "run_on_cluster"]

_PATIENCE = 10.0  # seconds


class SchedulerLostError(HeadcountError):
    """The connection to the scheduler broke while tasks were running."""


@contextmanager
def connected(scheduler: str, data: Path, spec: Spec) -> Iterator[Client]:
    """Connect to a cluster whose workers can execute the tasks of a study.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler, such as ``tcp://10.0.0.1:8786``.
    data : Path
        Folder of the datasets, under the same path on all workers.
    spec : Spec
        The study, whose modules workers must have.

    Yields
    ------
    distributed.Client
    """
    _check_installed()
    with _quiet_logs(), _client(scheduler) as client:
        _check_workers(client, data, spec)
        yield client


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep Dask from logging tracebacks: what is lost is reported in one sentence."""
    import distributed  # noqa: F401  (sets the levels of its loggers)

    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_installed() -> None:
    if importlib.util.find_spec("distributed") is None:
        raise HeadcountError(
            "--scheduler needs Dask, which is not installed: install headcount[cluster]."
        )


def _client(scheduler: str) -> Client:
    from distributed import Client

    try:
        _check_reachable(scheduler)
        return Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise HeadcountError(
            f"The scheduler {scheduler!r} cannot be reached ({what}): check the address, such "
            "as tcp://host:8786, and that it runs."
        ) from None


def _check_reachable(scheduler: str) -> None:
    """Open and close a plain connection; a client that fails leaves threads behind."""
    address = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
    if address.scheme not in ("tcp", "tls"):
        return
    if not address.hostname or address.port is None:
        raise ValueError("it has no host and port")
    socket.create_connection((address.hostname, address.port), timeout=_PATIENCE).close()


def _check_workers(client: Client, data: Path, spec: Spec) -> None:
    from distributed import TimeoutError as TooLong

    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TooLong:
        raise HeadcountError(
            "The cluster has no workers: start some, with dask worker."
        ) from None
    ours = code_versions(spec)
    for worker, (sees_data, theirs) in client.run(_inspect_worker, str(data), spec).items():
        if not sees_data:
            raise HeadcountError(
                f"The worker {worker} sees no folder {str(data)!r}: put the datasets where all "
                "workers see them under the same path."
            )
        for name, number in ours.items():
            if theirs[name] != number:
                raise HeadcountError(
                    f"The worker {worker} has {name} {theirs[name]} and this process has "
                    f"{number}, so that results may differ: install the same."
                )


def _inspect_worker(data: str, spec: Spec) -> tuple[bool, dict[str, str]]:
    """Presence of the data folder on a worker, and its versions of the libraries."""
    return Path(data).is_dir(), code_versions(spec)


def run_on_cluster(
    client: Client, spec: Spec, tasks: Sequence[Task], data: Path
) -> Generator[Outcome]:
    """Execute tasks on the workers of a cluster; tasks of a worker that dies are reassigned.

    Parameters
    ----------
    client : distributed.Client
        Client that `connected` returned.
    spec : Spec
        The study.
    tasks : sequence of Task
        Tasks in the order of their priority.
    data : Path
        Folder of the datasets.

    Yields
    ------
    Outcome
        In the order in which tasks finish.
    """
    from distributed import CancelledError, as_completed

    nonce = token_hex(8)  # Dask takes two tasks of the same key for one
    futures: dict[Any, Task] = {}
    try:
        for place, task in enumerate(tasks):
            key = f"{task.name}-{nonce}"
            future = client.submit(
                _execute, spec, task, data, key=key, priority=-place, pure=False
            )
            futures[future] = task
        for future in as_completed(list(futures), loop=client.loop):
            task = futures.pop(future)
            yield _outcome(future, task)
            future.release()
    except (CancelledError, OSError):
        raise SchedulerLostError("The connection to the scheduler was lost.") from None
    finally:
        with suppress(Exception):  # a scheduler that is lost has nothing to cancel
            client.cancel(list(futures))


def _execute(spec: Spec, task: Task, data: Path) -> Outcome:
    use_one_thread()
    return execute_task(spec, task, data)


def _outcome(future: Any, task: Task) -> Outcome:
    error = future.exception()
    if error is None:
        return future.result()
    # Dask itself has already tried it on other workers.
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    return Outcome(task.name, 0.0, reason=reason)
