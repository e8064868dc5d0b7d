"""One task done, wherever that is: results as the bytes of a file, or the reason why not."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError
from headcount.study.kinds import find_experiment
from headcount.study.spec import Spec
from headcount.study.task import Task

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcome", "do_task", "one_thread", "one_thread_in_children", "stay_on_one_thread"]

# Most are read when a library is loaded: they reach new processes only.
_VARIABLES = (
    "HEADCOUNT_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    Parameters
    ----------
    key : str
        Which task.
    seconds : float
        How long it took.
    content : bytes or None
        Its results as a Parquet file.
    failures : int
        How many of its results are failures.
    reason : str or None
        Why there are no results.
    """

    key: str
    seconds: float
    content: bytes | None = None
    failures: int = 0
    reason: str | None = None


def do_task(spec: Spec, task: Task, data: Path) -> Outcome:
    """Do a task; what it raises becomes the reason of its failure.

    Parameters
    ----------
    spec : Spec
        The study.
    task : Task
        Of its plan.
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
            frame = _checked(experiment.run(spec, task, data), spec, task)
    except Exception as error:
        return Outcome(task.key, perf_counter() - start, reason=_reason(error))
    return Outcome(
        task.key,
        perf_counter() - start,
        content=_parquet(frame),
        failures=frame.height - frame["failure"].null_count(),
    )


def _checked(frame: pl.DataFrame, spec: Spec, task: Task) -> pl.DataFrame:
    """The same rows, in columns whose types do not depend on what they hold."""
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


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _reason(error: Exception) -> str:
    said = " ".join(str(error).split())
    if not isinstance(error, HeadcountError):
        said = f"{type(error).__name__}: {said}"
    return said[:500]


def stay_on_one_thread() -> None:
    """Have this process use one thread from now on.

    There are as many processes as cores; and rounding may depend on the number of threads,
    which results must not.
    """
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    _limits()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have this process use one thread for a while."""
    with one_thread_in_children(), _limits():
        yield


def _limits() -> AbstractContextManager[Any]:
    """For libraries that are loaded already: what the environment says comes too late."""
    import sklearn.linear_model  # noqa: F401  (loads those that matter)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


@contextmanager
def one_thread_in_children() -> Iterator[None]:
    """Have processes that are started meanwhile use one thread."""
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
