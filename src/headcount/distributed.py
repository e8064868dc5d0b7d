"""Connection to a Dask cluster, with errors in one sentence."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import polars as pl

from headcount._support.documentation import documented
from headcount._support.files import input_files
from headcount.errors import HeadcountError
from headcount.estimates.statistics.statistics import Statistics, summarise_batches
from headcount.estimates.statistics.streams import BatchReader

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import DataFrame

__all__ = ["dask", "spark"]


PATIENCE = 10.0
"""Seconds to wait for a scheduler or a worker."""


class SchedulerLostError(HeadcountError):
    """The connection to the scheduler broke while tasks were running."""


@contextmanager
def dask_client(scheduler: str) -> Iterator[Client]:
    """Connect to a scheduler."""
    if importlib.util.find_spec("distributed") is None:
        raise HeadcountError(
            "A scheduler needs Dask, which is not installed: install headcount[cluster]."
        )
    with _quiet_logs(), _client(scheduler) as client:
        wait_for_workers(client)
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


def _client(scheduler: str) -> Client:
    from distributed import Client

    try:
        _check_reachable(scheduler)
        return Client(scheduler, timeout=PATIENCE, set_as_default=False)
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
    socket.create_connection((address.hostname, address.port), timeout=PATIENCE).close()


def wait_for_workers(client: Client) -> None:
    """Raise an error if no worker comes."""
    from distributed import TimeoutError as TooLong

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TooLong:
        raise HeadcountError(
            "The cluster has no workers: start some, with dask worker."
        ) from None


_PARQUET = (".parquet", ".pq")
_ENDINGS = (*_PARQUET, ".feather", ".arrow", ".ipc")


@documented(Statistics, Statistics.update_stream)
def dask(
    parts: Any,
    model: Any,
    *,
    scheduler: str | Client,
    by: str | None = None,
    reader: BatchReader | None = None,
) -> Statistics:
    """Statistics of files or of a Dask collection, read by the workers of a cluster.

    A part whose worker dies is read again by another one. The result does not depend on it,
    nor on the number of workers, bit by bit.

    Parameters
    ----------
    parts : path, pattern, sequence of them, or Dask collection
        Files in Parquet or Arrow format that all workers see under the same path, one task
        for each; or an object with ``to_delayed``, such as a Dask DataFrame.
    scheduler : str or distributed.Client
        Address of the scheduler, such as ``tcp://10.0.0.1:8786``, or a connection to it.
    """
    tasks = _tasks(parts)
    statistics = Statistics(model)
    connection = (
        dask_client(scheduler) if isinstance(scheduler, str) else nullcontext(scheduler)
    )
    with connection as client:
        wait_for_workers(client)
        for content in _computed(client, tasks, model, by, reader):
            if content is not None:
                statistics.merge(Statistics.from_bytes(content))
    return statistics


@documented(dask)
def spark(
    frame: DataFrame, model: Any, *, by: str | None = None, reader: BatchReader | None = None
) -> Statistics:
    """Statistics of a Spark DataFrame, made by its executors.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table, which is read once with ``mapInArrow``.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise HeadcountError(
            "Spark is not installed: install headcount[spark], and Java 17 or newer."
        )
    statistics = Statistics(model)
    if by is not None and by not in frame.columns:
        raise HeadcountError(
            f"by is {by!r}, which is not a column of the table; it has "
            f"{', '.join(map(repr, frame.columns[:6]))}."
        )
    summarise = partial(_summarise_partition, model=model, by=by, reader=reader)
    with _errors_of_executors():
        rows = frame.mapInArrow(summarise, "statistics binary").toLocalIterator()
        contents = [bytes(row["statistics"]) for row in rows]
    for content in contents:
        statistics.merge(Statistics.from_bytes(content))
    return statistics


@contextmanager
def _errors_of_executors() -> Iterator[None]:
    """Turn an error of an executor into one sentence."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        # The last lines of tracebacks in Python, between those of Java.
        lines = re.findall(r"^[\w.]*?(\w+Error: .+)$", str(error), re.MULTILINE)
        messages = [line for line in lines if line.startswith("HeadcountError: ")]
        text = (messages or lines or [type(error).__name__])[-1].removeprefix(
            "HeadcountError: "
        )
        if "No module named 'headcount'" in str(error):
            text = (
                "headcount is not installed in the Python of the executors: install it there, "
                "or name another Python by the variable PYSPARK_PYTHON."
            )
        raise HeadcountError(f"Spark: {text}") from None


def _summarise_partition(
    batches: Iterator[Any], *, model: Any, by: str | None, reader: BatchReader | None
) -> Iterator[Any]:
    """Arrow batches of a partition in, one batch with their statistics out."""
    import pyarrow as pa

    content = _content(summarise_batches(model, batches, by=by, reader=reader))
    if content is not None:
        yield pa.RecordBatch.from_pydict({"statistics": [content]})


def _summarise_part(
    partition: Any, model: Any, by: str | None, reader: BatchReader | None
) -> bytes | None:
    """Statistics of a file or of a partition of a collection."""
    if isinstance(partition, str):
        scan = pl.scan_parquet if partition.endswith(_PARQUET) else pl.scan_ipc
        partition = scan(partition)
    elif not hasattr(partition, "__arrow_c_stream__"):
        partition = pl.from_pandas(partition)
    return _content(summarise_batches(model, partition, by=by, reader=reader))


def _content(statistics: Statistics) -> bytes | None:
    return statistics.to_bytes() if statistics.n else None


def _tasks(parts: Any) -> list[Any]:
    if hasattr(parts, "to_delayed"):
        return list(parts.to_delayed())
    named = [parts] if isinstance(parts, str | os.PathLike) else parts
    if not isinstance(named, Sequence) or not named:
        raise HeadcountError(
            f"parts is of type {type(parts).__name__}; pass files, patterns, or a Dask "
            "collection such as a DataFrame."
        )
    paths = [path for name in named for path in input_files(name, _ENDINGS)]
    files = [str(path.resolve()) for path in paths]
    for name in files:
        if not name.endswith(_ENDINGS):
            raise HeadcountError(
                f"{Path(name).name!r} is not a Parquet or Arrow file, which workers read in "
                "batches: convert it."
            )
    return files


def _computed(
    client: Client, tasks: Sequence[Any], model: Any, by: str | None, reader: BatchReader | None
) -> Iterator[bytes | None]:
    """Statistics of the parts as they are finished."""
    from distributed import CancelledError, as_completed
    from distributed.scheduler import KilledWorker

    nonce = token_hex(8)
    # A task of its own, so that the model is sent again if the worker that has it dies.
    shared = client.submit(_same, model, key=f"model-{nonce}", pure=False)
    futures = {}
    try:
        for number, task in enumerate(tasks):
            source = task if isinstance(task, str) else client.compute(task)
            key = f"statistics-{number}-{nonce}"
            future = client.submit(
                _summarise_part, source, shared, by, reader, key=key, pure=False
            )
            futures[future] = Path(task).name if isinstance(task, str) else f"part {number + 1}"
        for future in as_completed(list(futures), loop=client.loop):
            name = futures.pop(future)
            error = future.exception()
            if isinstance(error, KilledWorker):
                raise HeadcountError(
                    f"{name}: the workers that read it died, one after the other: give them "
                    "more memory, or divide it into smaller files."
                )
            if error is not None:
                raise HeadcountError(f"{name}: {' '.join(str(error).split())}")
            yield future.result()
    except (CancelledError, OSError):
        raise SchedulerLostError("The connection to the scheduler was lost.") from None
    finally:
        with suppress(Exception):  # a scheduler that is lost has nothing to cancel
            client.cancel([*futures, shared])


def _same(model: Any) -> Any:
    return model
