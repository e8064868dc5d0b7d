"""Execution of one task: results as the bytes of a Parquet file, or a reason of failure."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError
from headcount_studies.engine.kinds import find_experiment
from headcount_studies.engine.spec import Spec
from headcount_studies.engine.task import Task

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcome", "execute_task", "one_thread", "one_thread_in_children", "use_one_thread"]

# Most are read when a library is loaded: they reach new processes only.
_VARIABLES = (
    "HEADCOUNT_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)

_SECONDS = "seconds"


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task.

    Parameters
    ----------
    key : str
        Name of the task.
    seconds : float
        Duration.
    content : bytes or None
        Results as a Parquet file.
    failures : int
        Number of results that are failures.
    reason : str or None
        Reason if there are no results.
    methods : dict of str to float
        Seconds that each method took, if the kind of study measures them.
    """

    key: str
    seconds: float
    content: bytes | None = None
    failures: int = 0
    reason: str | None = None
    methods: dict[str, float] = field(default_factory=dict)


def execute_task(spec: Spec, task: Task, data: Path) -> Outcome:
    """Execute a task; an exception becomes the reason of its failure.

    Parameters
    ----------
    spec : Spec
        The study.
    task : Task
        Task of its plan.
    data : Path
        Folder of the datasets.

    Returns
    -------
    Outcome
    """
    start = perf_counter()
    try:
        experiment = find_experiment(spec.kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = spec.with_methods(task.methods) if task.methods else spec
            frame = _checked(experiment.run(own, task, data), spec, task)
            seconds, frame = _taken_out(frame)
    except Exception as error:
        return Outcome(task.name, perf_counter() - start, reason=_reason(error))
    return Outcome(
        task.name,
        perf_counter() - start,
        content=_parquet(frame),
        failures=frame.height - frame["failure"].null_count(),
        methods=seconds,
    )


def _checked(frame: pl.DataFrame, spec: Spec, task: Task) -> pl.DataFrame:
    """The same rows, in columns whose types do not depend on their values."""
    import polars as pl

    wanted: dict[str, type[pl.DataType]] = dict.fromkeys(
        ("dataset", "method", "failure"), pl.String
    )
    wanted |= dict.fromkeys(spec.metrics, pl.Float64)
    for name in wanted:
        if name not in frame.columns:
            raise HeadcountError(f"The results of task {task.key!r} have no column {name!r}.")
    frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in wanted.items())
    for name, kind in frame.schema.items():
        if kind == pl.Null:
            raise HeadcountError(
                f"Column {name!r} of the results of task {task.key!r} has no type: cast it."
            )
    return frame


def _taken_out(frame: pl.DataFrame) -> tuple[dict[str, float], pl.DataFrame]:
    """Seconds by method, and the frame without them."""
    import polars as pl

    if _SECONDS not in frame.columns:
        return {}, frame
    sums = frame.group_by("method", maintain_order=True).agg(pl.col(_SECONDS).sum().round(4))
    return dict(sums.iter_rows()), frame.drop(_SECONDS)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _reason(error: Exception) -> str:
    said = " ".join(str(error).split())
    if not isinstance(error, HeadcountError):
        said = f"{type(error).__name__}: {said}"
    return said[:500]


def use_one_thread() -> None:
    """Limit this process to one thread.

    There are as many processes as cores. Besides, rounding may depend on the number of
    threads, and results must not.
    """
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    _limits()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit this process to one thread within a context."""
    with one_thread_in_children(), _limits():
        yield


def _limits() -> AbstractContextManager[Any]:
    """Limit libraries that are loaded already: they no longer read the environment."""
    import sklearn.linear_model  # noqa: F401  (loads those that matter)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


@contextmanager
def one_thread_in_children() -> Iterator[None]:
    """Limit processes that are started within the context to one thread."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
