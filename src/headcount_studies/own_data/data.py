"""Tables of the spec: features, labels and groups; training sets and samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

from headcount.errors import HeadcountError, warn
from headcount.items.arrays import dense_if_narrow
from headcount.samples.samples import Samples
from headcount.shift.experiments import ShiftedSamples
from headcount.shift.shift_protocols import ConceptShift
from headcount.tables.preparation import Preparation, prepare
from headcount.tables.readers import open_table
from headcount.tables.roles import header_rows, read_labels, stripped
from headcount_studies.engine.spec import Spec


def files(spec: Spec, dataset: str, data: Path) -> list[Path]:
    """File of a table."""
    return [data / spec.data[dataset]["file"]]


@dataclass(frozen=True, eq=False)
class TableTrial:
    """A training set and test samples."""

    X: Any
    y: NDArray[Any]
    pool: Any
    samples: Samples
    degree: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A labelled table, and the treatment of its columns."""

    name: str
    frame: pl.DataFrame
    preparation: Preparation
    y: NDArray[Any]
    groups: NDArray[Any] | None

    def split(self, protocol: Any, share: float, seed: int) -> TableTrial:
        """Divide the table into a training set and a pool, and draw samples of the pool.

        Groups, if there are any, are not divided.
        """
        options = {"n_splits": 1, "train_size": share, "random_state": seed}
        splitter: Any = StratifiedShuffleSplit(**options)
        if self.groups is not None:
            splitter = GroupShuffleSplit(**options)
        train, pool = next(splitter.split(self.y, self.y, self.groups))
        classes = np.unique(self.y)
        for rows in (train, pool):
            lacking = np.setdiff1d(classes, self.y[rows])
            if len(lacking):
                raise HeadcountError(
                    f"a split of {self.name!r} has no item of class {lacking.tolist()[0]!r} on "
                    "one side: use a larger table, another share, or smaller groups."
                )
        rows = np.sort(pool)
        samples = protocol.draw(self.y[rows], classes=classes)
        return self._trial(np.sort(train), self.y[np.sort(train)], rows, samples, None)

    def draw_shift(self, spec: Spec, protocol: Any) -> ShiftedSamples:
        """Training sets and samples of a protocol of dataset shift.

        The target has ratings if the protocol cuts them.
        """
        is_cut = isinstance(protocol, ConceptShift) or "cut_point" in spec.protocol
        target = {"ratings" if is_cut else "y": self.y}
        samples: ShiftedSamples = protocol.draw(groups=self.groups, **target)
        return samples

    def shifted(self, spec: Spec, protocol: Any, number: int) -> TableTrial:
        """Training set of a protocol of dataset shift, and its samples."""
        experiments = self.draw_shift(spec, protocol)
        experiment = experiments[number]
        rows = experiments.test_items
        return self._trial(
            experiment.train[0],
            experiment.train_labels,
            rows,
            experiment.test.within(rows),
            experiment.degree,
        )

    def _trial(
        self,
        train: NDArray[Any],
        labels: NDArray[Any],
        rows: NDArray[Any],
        samples: Samples,
        degree: NDArray[np.float64] | None,
    ) -> TableTrial:
        """Features learn from the training set alone, such as words and medians."""
        learned = self.preparation.pipeline().fit(self.frame[train])
        X, pool = (
            dense_if_narrow(learned.transform(self.frame[subset])) for subset in (train, rows)
        )
        return TableTrial(X, labels, pool, samples, degree)


def load_table(spec: Spec, dataset: str, data: Path) -> OwnTable:
    """Read and prepare a table of the spec."""
    settings, path = spec.data[dataset], files(spec, dataset, data)[0]
    open_table(path, separator=settings.get("separator"))  # refuses what is not a table
    changed = path.stat().st_mtime_ns
    drop = tuple(settings.get("drop", ()))
    names = (settings["target"], settings.get("group"), drop, settings.get("separator"))
    return _load(dataset, path, changed, *names, settings.get("text_labels", False))


@lru_cache(maxsize=2)
def _load(
    dataset: str,
    path: Path,
    changed: int,
    target: str,
    group: str | None,
    drop: tuple[str, ...],
    separator: str | None,
    text_labels: bool,
) -> OwnTable:
    table = open_table(path, separator=separator)
    group_columns = [] if group is None else [group]
    table.require([target, *group_columns, *drop], f"which [data.{dataset}] names")
    frame = table.read()
    if text_labels:
        frame = frame.with_columns(stripped(frame[target].cast(str))).drop_nulls(target)
        y = frame[target].to_numpy()
    else:
        headers = header_rows(table, frame[target])
        y, rows, notes = read_labels(frame[target], table.name, headers)
        frame = frame[rows]
        for note in notes:
            warn(note)
    groups = None if group is None else np.asarray(frame[group].cast(str).fill_null(""), str)
    out = dict.fromkeys(drop, "dropped by the spec") | dict.fromkeys(group_columns, "the group")
    preparation = prepare(frame.drop(target), leave_out=out, name=repr(table.name))
    features = preparation.conform(frame)
    return OwnTable(dataset, features, preparation, y, groups)
