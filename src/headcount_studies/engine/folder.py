"""Kinds of study: one folder per published paper, and one for data of your own.

Each folder has the same modules: ``spec`` (settings and plan), ``data`` (datasets and
samples), ``run`` (execution of one task) and ``report`` (tables, figures, comparison with
the published figures, if there are any).
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError

if TYPE_CHECKING:
    import polars as pl

    from headcount_studies.engine.sections import Section
    from headcount_studies.engine.spec import Spec
    from headcount_studies.engine.task import Task

__all__ = ["FolderStudy"]


class FolderStudy:
    """Experiment of one folder, whose modules are imported when they are needed.

    Parameters
    ----------
    package : str
        Name of the package that has the modules.
    takes_files : bool, default=False
        True if a spec names its files and classifier, as ``[data]`` and ``[classifier]``.

    Examples
    --------
    >>> from headcount_studies.tweets import experiment
    >>> from headcount_studies import read_spec
    >>> len(experiment.plan(read_spec("tweets"), data=None))
    72
    """

    def __init__(self, package: str, *, takes_files: bool = False) -> None:
        self._package = package
        self._takes_files = takes_files

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""
        given = [name for name in ("data", "classifier") if getattr(spec, name)]
        if given and not self._takes_files:
            raise HeadcountError(
                f"[{given[0]}] is for studies of your own data: set kind = 'own-data', or "
                "leave it out."
            )
        self._module("spec").check(spec)

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """Divide the study into tasks."""
        tasks: list[Task] = self._module("spec").plan(spec, data)
        return tasks

    def files(self, spec: Spec, dataset: str, data: Path) -> list[Path]:
        """Files that a dataset is read from, whether they are there or not."""
        paths: list[Path] = self._module("data").files(spec, dataset, data)
        return paths

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
