"""Tasks on a Dask cluster; their results are sent back and written by the caller."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from headcount._dask import SchedulerLostError, dask_client
from headcount.errors import HeadcountError
from headcount_studies.engine.execute import Outcome, execute_task, use_one_thread
from headcount_studies.engine.provenance import code_versions
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Task

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["connected", "run_on_cluster"]


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
    with dask_client(scheduler) as client:
        _check_workers(client, data, spec)
        yield client


def _check_workers(client: Client, data: Path, spec: Spec) -> None:
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
