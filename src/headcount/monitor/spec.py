"""Specification of a monitor: what is read, and when an alert is raised."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from headcount._toml import toml_text
from headcount.errors import HeadcountError

__all__ = ["MonitorSpec"]

FORMAT = 1


@dataclass(frozen=True)
class MonitorSpec:
    """Settings of a monitor, kept in ``spec.toml``.

    Attributes
    ----------
    kind : {"scores", "verdicts", "items"}
        Form of the rows: posteriors, decisions, or items that a saved model scores.
    classes : tuple
        The classes.
    target : str
        Column of the labels.
    columns : tuple of str
        Columns with posteriors, or the column with decisions.
    positive : int
        Class that a single column of posteriors is of.
    prediction : str
        Column of the predicted classes; empty for the likeliest class.
    by : str
        Period of a chunk, or column that names it; empty if `chunk_size` is used.
    date : str
        Column of the dates; empty if it is found by its type.
    chunk_size : int
        Rows of a chunk; 0 if `by` is used.
    group : str
        Column of the streams; empty for one stream.
    key : str
        Column that identifies a row; empty if rows are identified by their content.
    method : str
        Quantifier.
    metric : str
        Measure of accuracy.
    accuracy_floor : float
        Least accuracy that is accepted; -1 for none.
    false_alarms : float
        Mean number of chunks between false alarms, over all streams together.
    labels : {"complete", "random"}
        Rows that get labels: in the end all, or a random sample.
    maturity : int
        Number of later chunks after which the labels of a chunk count.
    checksum : str
        Checksum of the reference and the model.
    """

    kind: Literal["scores", "verdicts", "items"]
    classes: tuple[Any, ...]
    target: str
    columns: tuple[str, ...] = ()
    positive: int = 1
    prediction: str = ""
    by: str = ""
    date: str = ""
    chunk_size: int = 0
    group: str = ""
    key: str = ""
    method: str = "PACC"
    metric: str = "accuracy"
    accuracy_floor: float = -1.0
    false_alarms: float = 365.0
    labels: str = "complete"
    maturity: int = 0
    checksum: str = ""

    @property
    def metric_name(self) -> str:
        """Name of the measure in sentences."""
        return "AUROC" if self.metric == "auroc" else self.metric.replace("_", " ")

    def to_toml(self) -> str:
        """Text of the file."""
        return toml_text({"format": FORMAT, **asdict(self)}) + "\n"

    @classmethod
    def read(cls, path: Path) -> MonitorSpec:
        """Read the file of a monitor."""
        try:
            content = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise HeadcountError(
                f"There is no monitor in {str(path.parent)!r}: create one first."
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise HeadcountError(f"{str(path)!r} cannot be read ({error}).") from None
        found = content.pop("format", None)
        if found != FORMAT:
            raise HeadcountError(
                f"{str(path)!r} has format {found!r}, but this version reads {FORMAT}: use the "
                "version of headcount that wrote it."
            )
        names = {each.name for each in fields(cls)}
        if strange := set(content) - names:
            raise HeadcountError(f"{str(path)!r} has an unknown key {min(strange)!r}.")
        lists = {key: tuple(value) for key, value in content.items() if isinstance(value, list)}
        return cls(**{**content, **lists})
