"""What a kind of study must be able to do, and the pieces of work it is cut into."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headcount._parameters import check_count, check_positive
from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

    from headcount.study.sections import Section
    from headcount.study.spec import Spec

__all__ = ["Experiment", "Task", "task_seed"]

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class Task:
    """A piece of a study that is run at one go, and whose results make one file.

    Parameters
    ----------
    key : str
        Tells it from all others; names its file: letters, digits, ``.``, ``_`` and ``-``.
    dataset : str
        Which dataset it is about.
    settings : dict
        What it is to do: texts, numbers, truths, and lists of them.
    cost : float, default=1.0
        How long it will take, in any unit: the longest go first.
    runs : int, default=1
        How many results, a method on a sample each, it will make.

    Examples
    --------
    >>> from headcount.study import Task
    >>> Task("wine-0", "wine", {"draw": 0}).runs
    1
    """

    key: str
    dataset: str
    settings: dict[str, Any] = field(default_factory=dict)
    cost: float = 1.0
    runs: int = 1

    def __post_init__(self) -> None:
        _check_key(self.key)
        check_positive(f"cost of task {self.key!r}", self.cost)
        check_count(f"runs of task {self.key!r}", self.runs, least=0)

    def to_json(self) -> str:
        """As one line of JSON.

        Returns
        -------
        str
        """
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Task:
        """The task of which this is the line.

        Parameters
        ----------
        line : str
            As `to_json` made it.

        Returns
        -------
        Task
        """
        content: Mapping[str, Any] = json.loads(line)
        return cls(**content)


def _check_key(key: Any) -> None:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise HeadcountError(
            f"key of a task is {key!r}; it must be made of letters, digits, '.', '_' and '-', "
            "200 at most, and not begin with a dot."
        )


class Experiment(Protocol):
    """A kind of study: one object a module, which keeps nothing between calls.

    It may also have ``present(spec, data)``, which names the datasets that the folder has
    without reading them; ``headcount study list`` asks for it.
    """

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """Cut the study into tasks.

        The same spec and data give the same tasks, and the tasks of a dataset do not depend
        on which other datasets there are.
        """

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """Do one task.

        Gives the same rows in whatever order, process or machine the tasks run. Columns:
        ``dataset``, ``method``, ``failure`` (the reason, or null), the metrics, and what the
        kind has to say beside.
        """

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """What the report shows, in order; beside the published figures if they are there."""


def task_seed(seed: int, *names: object) -> int:
    """A seed for one purpose, made from that of the study and from names.

    Parameters
    ----------
    seed : int
        That of the spec.
    *names : object
        Texts and numbers that say what it is for.

    Returns
    -------
    int
        Below 2 ** 32; the same on every machine.

    Examples
    --------
    >>> from headcount.study import task_seed
    >>> task_seed(0, "wine", 3) == task_seed(0, "wine", 3) != task_seed(0, "wine", 4)
    True
    """
    text = json.dumps([seed, *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
