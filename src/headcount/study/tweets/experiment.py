"""The kind of study: what it is asked to do, and who does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headcount.data.datasets.texts import TWEETS_FILE
from headcount.study.sections import Section
from headcount.study.spec import Spec
from headcount.study.task import Task
from headcount.study.tweets import planning, running, settings, showing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TweetSentiment", "experiment"]


class TweetSentiment:
    """Positive, neutral and negative tweets in every mix, all methods on the same samples."""

    def check(self, spec: Spec) -> None:
        """Refuse, in one sentence, a spec that cannot be run."""
        settings.check(spec)

    def plan(self, spec: Spec, data: Path) -> list[Task]:
        """One task a dataset and group of methods that share a training."""
        return planning.plan(spec, data)

    def present(self, spec: Spec, data: Path) -> list[str]:
        """The collections that are there: all are in one file."""
        return list(spec.datasets) if (data / TWEETS_FILE).is_file() else []

    def run(self, spec: Spec, task: Task, data: Path) -> pl.DataFrame:
        """Results of some methods on the test samples of a collection."""
        return running.run(spec, task, data)

    def sections(
        self, spec: Spec, results: pl.DataFrame, published: Path | None
    ) -> list[Section]:
        """Errors by collection and method, for each measure."""
        return showing.sections(spec, results, published)


experiment = TweetSentiment()
