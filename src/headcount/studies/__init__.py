"""Published studies: one folder per paper.

Each folder has the same modules: ``spec`` (settings and plan), ``data`` (datasets and
samples), ``run`` (execution of one task) and ``report`` (tables, figures, comparison with
the published figures).
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from headcount.study import Section, Spec, Task

__all__ = ["PublishedStudy"]


class PublishedStudy:
    """Experiment of one folder, whose modules are imported when they are needed.

    Parameters
    ----------
    package : str
        Name of the package that has the modules.

    Examples
    --------
    >>> from headcount.studies.tweets import experiment
    >>> from headcount.study import read_spec
    >>> len(experiment.plan(read_spec("tweets"), data=None))
    64
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""
        self._module("spec").check(spec)

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """Divide the study into tasks."""
        tasks: list[Task] = self._module("spec").plan(spec, data)
        return tasks

    def present(self, spec: Spec, data: Path) -> list[str]:
        """List the datasets of the study that the folder has."""
        names: list[str] = self._module("data").present(spec, data)
        return names

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """Execute one task."""
        rows: pl.DataFrame = self._module("run").run(spec, task, data)
        return rows

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """Sections of the report."""
        found: list[Section] = self._module("report").sections(spec, results, published)
        return found

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self._package}.{name}")
