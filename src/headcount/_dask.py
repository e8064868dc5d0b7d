"""Connection to a Dask cluster, with errors in one sentence."""

from __future__ import annotations

import importlib.util
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    from distributed import Client

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
