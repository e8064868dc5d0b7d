"""The kind of study: what it is asked to do, and who does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headcount.study.quacc import planning, running, settings, showing
from headcount.study.quacc.texts import file_of
from headcount.study.sections import Section
from headcount.study.spec import Spec
from headcount.study.task import Task

if TYPE_CHECKING:
    import polars as pl

__all__ = ["AccuracyPrediction", "experiment"]


class AccuracyPrediction:
    """Models trained at many prevalences, their accuracy predicted at many others."""

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""
        settings.check(spec)

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """One task a dataset and training prevalence."""
        return planning.plan(spec)

    def present(self, spec: Spec, data: Path) -> list[str]:
        """The collections that are there."""
        return [dataset for dataset in spec.datasets if (data / file_of(dataset)).is_file()]

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """What all methods predict of one model on all test samples."""
        return running.run(spec, task, data)

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """Errors by dataset, method and measure; pictures; what was chosen."""
        return showing.sections(spec, results, published)


experiment = AccuracyPrediction()
