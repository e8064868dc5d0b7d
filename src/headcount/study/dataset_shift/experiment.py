"""The kind of study: what it is asked to do, and who does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headcount.study.dataset_shift import planning, running, settings, showing
from headcount.study.sections import Section
from headcount.study.spec import Spec
from headcount.study.task import Task

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DatasetShift", "experiment"]


class DatasetShift:
    """Prior, covariate (global and local) and concept shift, on reviews with stars."""

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""
        settings.check(spec)

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """One task a dataset, protocol and training set."""
        return planning.plan(spec, data)

    def present(self, spec: Spec, data: Path) -> list[str]:
        """The datasets that are there."""
        return [name for name in spec.datasets if (data / f"{name}.parquet").is_file()]

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """Results of all methods on the test samples of one training set."""
        return running.run(spec, task, data)

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """Errors by degree of shift, protocol by protocol."""
        return showing.sections(spec, results, published)


experiment = DatasetShift()
