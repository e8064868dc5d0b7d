"""Tasks of LeQua 2022 and LeQua 2024."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.errors import HeadcountError

__all__ = ["N_DEV", "N_TEST", "TASKS", "LequaTask", "find_task"]

N_DEV, N_TEST = 1000, 5000
"""Number of development and of test samples of every task."""


@dataclass(frozen=True)
class LequaTask:
    """A task of the challenges.

    Attributes
    ----------
    name : str
        Name, such as "T1".
    year : int
        2022 or 2024.
    n_classes : int
        Number of classes.
    n_features : int or None
        Length of the vectors; None if the items are texts.
    n_train : int
        Number of labelled items.
    size : int
        Number of items in a sample.
    metric : str
        Error that ranks the systems: "rae", or "nmd" for ordered classes.
    in_bags : bool
        True if the labelled items come in training samples.
    """

    name: str
    year: int
    n_classes: int
    n_features: int | None
    n_train: int
    size: int
    metric: str = "rae"
    in_bags: bool = False


_ALL = (
    LequaTask("T1", 2024, 2, 256, 5_000, 250),
    LequaTask("T2", 2024, 28, 256, 20_000, 1_000),
    LequaTask("T3", 2024, 5, 256, 20_000, 200, "nmd", in_bags=True),
    LequaTask("T4", 2024, 2, 256, 5_000, 250),
    LequaTask("T1A", 2022, 2, 300, 5_000, 250),
    LequaTask("T1B", 2022, 28, 300, 20_000, 1_000),
    LequaTask("T2A", 2022, 2, None, 5_000, 250),
    LequaTask("T2B", 2022, 28, None, 20_000, 1_000),
)
TASKS = {task.name: task for task in _ALL}
"""The tasks by name."""


def find_task(name: str) -> LequaTask:
    """Return a task by its name.

    Parameters
    ----------
    name : str
        One of ``TASKS``, in capitals or not.

    Returns
    -------
    LequaTask

    Examples
    --------
    >>> from headcount_studies.lequa import find_task
    >>> find_task("t2").n_classes
    28
    """
    found = TASKS.get(str(name).upper())
    if found is None:
        raise HeadcountError(f"task is {name!r}; it must be one of {', '.join(TASKS)}.")
    return found
