"""Official figures of a submission, and the published table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from headcount import metrics
from headcount.errors import HeadcountError
from headcount_studies.data.lequa import LequaTask

PUBLISHED_FILE = "lequa2024.csv"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """An error: mean, and population standard deviation over samples (or over bins)."""

    name: str
    measure: str
    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.name}: {self.mean:.5f} ~ {self.deviation:.5f}"


@dataclass(frozen=True, eq=False)
class Score:
    """Scores of a submission; the figure with the last bin closed is not official."""

    task: LequaTask
    figures: tuple[Figure, ...]
    closed: Figure | None
    samples: pl.DataFrame
    bins: Floats | None = None

    @property
    def named(self) -> dict[str, Figure]:
        """Figures by name."""
        named = {figure.name: figure for figure in self.figures}
        if self.closed is not None:
            named[f"{self.closed.name}, last bin closed"] = self.closed
        return named

    def to_text(self) -> str:
        """Figures as the official script prints them, one per line."""
        lines = [str(figure) for figure in self.figures]
        if self.closed is not None:
            lines.append(f"{self.closed} (last bin closed, not official)")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Figures by name, and what they are of."""
        return {
            "task": self.task.name,
            "samples": len(self.samples),
            "figures": {
                name: {"mean": measured.mean, "deviation": measured.deviation}
                for name, measured in self.named.items()
            },
        }


def score(
    task: LequaTask, true: Floats, estimated: Floats, *, size: int | None = None
) -> Score:
    """Score estimates as the organisers do.

    >>> from headcount_studies.data.lequa import find_task
    >>> true = np.array([[0.5, 0.5], [0.2, 0.8]])
    >>> print(score(find_task("T1"), true, true + [0.1, -0.1]).to_text())
    MRAE: 0.25454 ~ 0.05533
    MAE: 0.10000 ~ 0.00000
    """
    closed, by_bin = None, None
    if task.metric == "nmd":
        errors = {"nmd": np.asarray(metrics.nmd(true, estimated))}
        by_bin = metrics.nmd_by_bin(true, estimated)
        of_closed = metrics.nmd_by_bin(true, estimated, last_bin_closed=True)
        macro, closed = (_figure("macro-NMD", "Macro-NMD", x) for x in (by_bin, of_closed))
        figures = (_figure("MNMD", "NMD", errors["nmd"]), macro)
    else:
        errors = {
            "rae": np.asarray(metrics.rae(true, estimated, size=size or task.size)),
            "ae": np.asarray(metrics.ae(true, estimated)),
        }
        figures = (_figure("MRAE", "RAE", errors["rae"]), _figure("MAE", "AE", errors["ae"]))
    table = pl.DataFrame(
        {
            "id": np.arange(len(true)),
            **errors,
            **{f"true_{k}": true[:, k] for k in range(true.shape[1])},
            **{f"estimate_{k}": estimated[:, k] for k in range(true.shape[1])},
        }
    )
    return Score(task, figures, closed, table, by_bin)


def _figure(name: str, measure: str, values: Floats) -> Figure:
    return Figure(name, measure, float(values.mean()), float(values.std()))


def read_published_runs(folder: Path, task: LequaTask) -> pl.DataFrame:
    """Published results of a task."""
    path = folder / PUBLISHED_FILE
    try:
        table = pl.read_csv(path)
        return table.filter(pl.col("task") == task.name).select(
            "rank", "run", "kind", "measure1", "mean1", "sd1", "measure2", "mean2", "sd2"
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HeadcountError(
            f"the published results {str(path)!r} cannot be read ({error}): pass a folder "
            f"with {PUBLISHED_FILE}."
        ) from None
